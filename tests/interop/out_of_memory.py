#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Commands without memory: one allocation after the other fails, in a run of its own.

A run must neither crash nor hang. If it ends with success, its output is that of a run with memory, or a message says that memory
was short. If it fails, a message has the reason, and no file has a part of the output.

Every STEP-th allocation of the first 3000 fails, from a number that changes with the day; PERCH_EVERY_ALLOCATION=1 takes all of them
(make test-long). KEEP=DIR keeps the files there.
"""
import collections
import os
import subprocess
import sys
import tempfile
import time

import cases
from cases import check

PERCH = os.environ.get("PERCH", "perch")
ALLOCATOR = os.path.join(os.environ["PERCH_BUILD_ROOT"], "tests/interop/libfail_allocation.so")
MOST = 3000
STEP = 1 if os.environ.get("PERCH_EVERY_ALLOCATION") else 7
TIMEOUT = 120  # of one run, which takes milliseconds

PROGRAM = r"""
#include <stdlib.h>

volatile unsigned long sum;

static inline void inlined(int n)
{
	for (int i = 0; i < n; i++)
		sum += 3 * i;
}

__attribute__((noinline)) void hot(int n)
{
	inlined(n);
	sum++;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[argc - 1]); i++)
		hot(500000);
	return 0;
}
"""


def run(command, number, output):
    """Returns exit status (None: it hung), stdout, stderr, if the allocation was reached, and the output file's content."""
    report, write = os.pipe()
    environment = dict(os.environ, LD_PRELOAD=ALLOCATOR, FAIL_ALLOCATION=str(number), FAIL_ALLOCATION_FD=str(write),
                       PERCH_CACHE="0", ASAN_OPTIONS="verify_asan_link_order=0")
    if os.path.exists(output):
        os.unlink(output)
    try:
        done = subprocess.run(command, env=environment, pass_fds=[write], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT, check=False)
        status, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        status, out, err = None, b"", b""
    os.close(write)
    reached = os.read(report, 1) == b"f"
    os.close(report)
    content = None
    if os.path.exists(output):
        with open(output, "rb") as file:
            content = file.read()
    return status, out, err, reached, content


def fault_of(result, expected):
    """What is wrong with a run, or None. expected: the same run with memory; None if each run prints something else."""
    status, out, err, _, content = result
    explained = b"memory" in err
    if status is None:
        return "hangs"
    if status < 0 or status >= 128:
        return "crashes"
    if status and not explained:
        return "fails without a word"
    if status and expected and content is not None:
        return "leaves a part of its output"
    if not status and expected and not explained and (out, content) != (expected[1], expected[4]):
        return "prints something else without a word"
    return None


def try_command(name, command, output, same):
    """same: each run with memory has the same output."""
    expected = run(command, 0, output)
    if expected[0]:
        check(False, f"{name}: runs with memory", expected[2])
        return
    faults = collections.defaultdict(list)
    number, tried = 1 + int(time.time() // 86400) % STEP, 0
    while number <= MOST:
        result = run(command, number, output)
        if not result[3]:
            break
        tried += 1
        fault = fault_of(result, expected if same else None)
        if fault:
            faults[fault].append((number, result[2].decode(errors="replace").strip()[:200]))
        number += STEP
    check(tried > 0 and not faults, f"{name}: a failed allocation is no crash, no loss without a word ({tried} of the first {number} tried)",
          "\n".join(f"{fault}: {numbers[:8]}" for fault, numbers in faults.items()))


def record(directory, name, *options):
    path = os.path.join(directory, name)
    subprocess.run([PERCH, "record", "-q", "-o", path, *options], check=True, stdin=subprocess.DEVNULL)
    return path


def main():
    directory = os.environ.get("KEEP") or tempfile.mkdtemp()
    program, source = os.path.join(directory, "program"), os.path.join(directory, "program.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    if subprocess.run(["gcc", "-g", "-O1", "-o", program, source], check=False).returncode:
        print("out_of_memory: skipped: no compiler")
        return 77
    one = record(directory, "one.data", "-g", "-F", "997", "--", program, "300")
    two = record(directory, "two.data", "-F", "997", "--", program, "300")
    stacks = record(directory, "stacks.data", "--call-graph", "dwarf", "-F", "200", "--", program, "100")
    output = os.path.join(directory, "output")
    for name, same, command in (
            ("record", False, ["record", "-q", "-g", "-o", output, "--", "true"]),
            ("stat", False, ["stat", "--", "true"]),
            ("report", True, ["report", "--stdio", "-i", one]),
            ("report of copied stacks", True, ["report", "--stdio", "-i", stacks]),
            ("script", True, ["script", "-F", "comm,ip,sym,srcline", "-i", one]),
            ("annotate", True, ["annotate", "--stdio", "-i", one, "hot"]),
            ("diff", True, ["diff", one, two]),
            ("flamegraph", True, ["flamegraph", "-i", one, "-o", output]),
            ("export", True, ["export", "--format", "pprof", "-i", one, "-o", output]),
            ("dump", True, ["dump", "-i", one]),
            ("evlist", True, ["evlist", "-v", "-i", one])):
        try_command(name, [PERCH, *command], output, same)
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
