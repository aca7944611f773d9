#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The commands of perch-script(1) that find system calls that block, on a program that sleeps and reads a pipe."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
from cases import check

SOURCE = os.environ.get("PERCH_SOURCE_ROOT", ".")
PERCH = os.path.abspath(os.environ.get("PERCH", "perch"))
NAP, LONG_NAP = 0.2, 0.48
# The child writes three bytes, each after a sleep; the parent reads them and the end of the pipe, and sleeps longer. A third process
# makes calls that do not block.
PROGRAM = """#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>
static void nap(long ms) { syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &(struct timespec){ 0, ms * 1000000 }, 0); }
int main(void)
{
	int fd[2];
	char byte;

	if (pipe(fd))
		return 1;
	if (!fork()) {
		close(fd[0]);
		for (int i = 0; i < 3; i++) {
			nap(200);
			if (write(fd[1], "x", 1) != 1)
				return 1;
		}
		return 0;
	}
	close(fd[1]);
	while (read(fd[0], &byte, 1) > 0)
		;
	nap(480);
	wait(0);
	if (!fork()) {
		for (int i = 0; i < 20000; i++)
			syscall(SYS_getppid);
		return 0;
	}
	wait(0);
	return 0;
}
"""


def number(name):
    text = subprocess.run(["cc", "-E", "-dM", "-"], input="#include <sys/syscall.h>\n", capture_output=True, text=True, check=True).stdout
    return re.search(fr"^#define __NR_{name} (\d+)$", text, re.M)[1]


def commands(path):
    """The commands of the page."""
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        blocks = re.findall(r"^```\n(.*?)^```$", file.read(), re.M | re.S)
    block = next(block for block in blocks if "raw_syscalls:*" in block)
    block = re.sub(r"^\$ ", "", block, flags=re.M)
    return block[:block.index("sort -rnk3") + len("sort -rnk3\n")]


def main():
    if not shutil.which("cc"):
        print("# skipped: no cc to build the program")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "program.c"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["cc", "-O1", "-o", "program", "program.c"], cwd=directory, check=True)
        script = commands("man/perch-script.1.scd")
        environment = dict(os.environ, PATH=os.path.dirname(PERCH) + ":" + os.environ["PATH"])
        result = subprocess.run(["sh", "-ec", script], cwd=directory, env=environment, capture_output=True, text=True)
        if not os.path.exists(os.path.join(directory, "perf.data")):
            print(f"# skipped: cannot record tracepoints: {result.stderr.strip()[-200:]}")
            sys.exit(77)
        if "records were lost" in result.stderr:
            print("# skipped: records were lost on a busy machine")
            sys.exit(77)
    rows = {}
    for line in result.stdout.splitlines():
        call, nr, total, longest = line.split()
        rows[call] = int(nr), float(total), float(longest)
    read, sleep, write, busy = (number(name) for name in ("read", "clock_nanosleep", "write", "getppid"))
    check(rows.get(sleep, (0,))[0] == 4, "four sleeps block", result.stdout + result.stderr)
    check(sleep in rows and rows[sleep][1] >= 3 * NAP + LONG_NAP and LONG_NAP <= rows[sleep][2] < rows[sleep][1], "... for their time",
          result.stdout)
    check(3 <= rows.get(read, (0,))[0] <= 4, "the reads of an empty pipe block", result.stdout)
    check(read in rows and rows[read][1] >= 3 * NAP * 0.9 and rows[read][2] >= NAP * 0.9, "... until it is written", result.stdout)
    check(write not in rows and busy not in rows, "calls that do not sleep are left out", result.stdout)
    order = [float(line.split()[2]) for line in result.stdout.splitlines()]
    check(order == sorted(order, reverse=True), "the longest time is first", result.stdout)
    return cases.failed


sys.exit(main())
