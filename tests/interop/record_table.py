#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The section OPTIONS OF PERF of perch-record(1) has each option of perf record (perf_record_options.txt: those of perf 7.2), and perch
does with it what the section says: it takes the ones of the list, and refuses the ones of the second list with what to use instead."""
import os
import re
import subprocess
import sys
import tempfile

import cases

SOURCE = os.environ.get("PERCH_SOURCE_ROOT", ".")
PERCH = os.path.abspath(os.environ["PERCH"])


def answer(name):
    """What perch says to the option: the first line, or "" if it has the option."""
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run([PERCH, "record", "--dry-run", name, "--", "true"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              cwd=work, check=False)
    line = (done.stderr.splitlines() or [""])[0]
    return line if f"unknown option '{name}'" in line or f"no option {name}" in line else ""


def names_in(text):
    """The options whose names are marked, but not the ones in a sentence about another option."""
    return {name.replace("\\", "") for name in re.findall(r"\*(-{1,2}[A-Za-z][\w-]*)\*", text)}


def main():
    with open(os.path.join(SOURCE, "tests/interop/perf_record_options.txt"), encoding="utf-8") as file:
        options = {name for line in file for name in line.split()}
    with open(os.path.join(SOURCE, "man/perch-record.1.scd"), encoding="utf-8") as file:
        section = re.search(r"^# OPTIONS OF PERF\n(.*?)(?=^# )", file.read(), re.M | re.S)[1]
    listed, _, table = section.partition("\n- ")
    rows = re.findall(r"^- (.*?): (.*)$", "\n- " + table, re.M)
    same = names_in(listed)
    accepted = {name for names, text in rows if not text.startswith("refused: ") for name in names_in(names)}
    refused = {name for names, text in rows if text.startswith("refused: ") for name in names_in(names)}
    cases.report(sorted(options ^ (same | accepted | refused)), f"the page has the {len(options)} names of options of perf record")
    cases.report(sorted(f"{name}: {answer(name)}" for name in same | accepted if answer(name)), "perch has the options of the list")
    hints = {name: answer(name) for name in refused}
    cases.report(sorted(f"{name}: '{line}'" for name, line in hints.items() if not re.search(r"'?: \S.*\. 'perch help record'", line)),
                 "perch refuses the options of the second list, with what to use instead")
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
