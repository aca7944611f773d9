#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/test groups failed and skipped cases by their cause: the output of programs of all kinds."""
import os
import sys

import cases
from cases import check

sys.path.insert(0, os.path.join(os.environ["PERCH_SOURCE_ROOT"], "scripts"))
import grouping  # noqa: E402

CMOCKA = """[==========] Running 3 test(s).
[ RUN      ] first
[       OK ] first
[ RUN      ] counts
[  ERROR   ] --- 0 != %d
[   LINE   ] --- ../tests/kernel/exact.h:77: error: Failure!
[  FAILED  ] counts
[ RUN      ] other
skipped: breakpoints can be opened here and never fire
[  SKIPPED ] other
[==========] 3 test(s) run.
[  PASSED  ] 1 test(s).
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] other
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] counts
"""
CMOCKA_2 = CMOCKA.replace("] 1 test(s), listed", "] tests: 1 test(s), listed")
SCRIPT = """ok - one
not ok - two: 3 of 4
    the machine has 17 of /tmp/tmp.abc123/data
ok - three # skip breakpoints can be opened here and never fire
not ok - four
FAILED five
"""
TRACEBACK = """ok - one
Traceback (most recent call last):
  File "/src/x.py", line 3, in <module>
chromium.Failed: no answer: [1234] a message
"""
LEAK = """[==========] Running 1 test(s).
[ RUN      ] first
[       OK ] first
[==========] 1 test(s) run.
==123==ERROR: LeakSanitizer: detected memory leaks
"""


def main():
    groups = grouping.Groups()
    groups.add_test("build: perch:kernel / a", CMOCKA % 1, "FAIL", 1, 1)
    groups.add_test("build-asan: perch:kernel / a", CMOCKA_2 % 2, "FAIL", 1, 1)
    groups.add_test("build: perch:interop / b", SCRIPT, "FAIL", 3, 1)
    groups.add_test("build: perch:interop / c", TRACEBACK, "FAIL", 1, 0)
    groups.add_test("build-asan: perch:unit / d", LEAK, "FAIL", 1, 0)
    groups.add_test("build: perch:unit / e", "[==========] Running 9 test(s).\n[ RUN      ] slow\n", "TIMEOUT", 1, 0)
    groups.add_test("build: perch:unit / f", "skipped: this user may open no event\n", "SKIP", 0, 1)
    groups.add_test("build: perch:unit / g", "", "FAIL", 1, 0)
    failed, skipped = list(groups.lines("failed")), list(groups.lines("skipped"))
    check(failed[:3] == ["failed 2: N != N in exact.h", "    build: perch:kernel / a: counts", "    build-asan: perch:kernel / a: counts"],
          "the same error in two builds is one group, the largest first", "\n".join(failed))
    for group in (["failed 1: the machine has 17 of /tmp/tmp.abc123/data", "    build: perch:interop / b: two: 3 of 4"],
                  ["failed 1: four", "    build: perch:interop / b: four"],
                  ["failed 1: five", "    build: perch:interop / b: five"],
                  ["failed 1: chromium.Failed: no answer: [1234] a message", "    build: perch:interop / c: no case"],
                  ["failed 1: LeakSanitizer: detected memory leaks", "    build-asan: perch:unit / d: no case"],
                  ["failed 1: it ran into its limit of time", "    build: perch:unit / e: no case"],
                  ["failed 1: it printed nothing", "    build: perch:unit / g: no case"]):
        at = failed.index(group[0]) if group[0] in failed else 0
        check(failed[at:at + 2] == group, group[0], "\n".join(failed))
    check(len(failed) == 3 + 14, "there is nothing else", "\n".join(failed))
    check(skipped == ["skipped 3: breakpoints can be opened here and never fire", "    a, b", "skipped 1: this user may open no event", "    f"],
          "reasons of skipped cases", "\n".join(skipped))
    return cases.failed


sys.exit(main())
