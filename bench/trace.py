#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what perch trace, perf trace and strace cost the program, and the time to print a
recording: trace.py [BUILD].

The programs make getppid(2), and read and write of one byte, as fast as they can. The cost is the
time per call above that of the program alone: its wall time, which has what it waits for the tracer
and what the tracer takes of its CPU."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import compare

PROGRAM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int from = open("/dev/zero", O_RDONLY), to = open("/dev/null", O_WRONLY);
	long calls = atol(argv[2]);
	struct timespec start, end;
	char byte = argc;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < calls; i++) {
		if (argv[1][0] == 'g')
			syscall(SYS_getppid);
		else if (i % 2 ? write(to, &byte, 1) != 1 : read(from, &byte, 1) != 1)
			return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.1f\n", ((double)(end.tv_sec - start.tv_sec) * 1e9 +
			  (double)(end.tv_nsec - start.tv_nsec)) / (double)calls);
	return 0;
}
"""
CALLS = 1000 if compare.SMOKE else 1000000
SLOW_CALLS = 1000 if compare.SMOKE else 100000  # of the others, and of read and write
ROUNDS = 3


def time_of_call(tracer, kind, calls, program):
    """ns, of the fastest of some runs: the other runs have been disturbed."""
    best = None
    for _ in range(1 if compare.SMOKE else ROUNDS):
        done = subprocess.run([*tracer, program, kind, str(calls)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode:
            compare.end_by([*tracer, program], done.returncode)
        value = float(re.search(r"^[\d.]+$", done.stdout, re.M)[0])
        best = value if best is None else min(best, value)
    return best


def compare_costs(perch, perf, program):
    tracers = {"perch trace": [perch, "trace", "-o", "/dev/null"],
               "perf trace": [perf, "trace", "-o", "/dev/null"]}
    if shutil.which("strace"):
        tracers["strace"] = ["strace", "-o", "/dev/null"]
    for kind, calls in (("getppid", CALLS), ("read and write", SLOW_CALLS)):
        alone = time_of_call([], kind, calls, program)
        cost = {}
        for name, words in tracers.items():
            nr = calls if name == "perch trace" else SLOW_CALLS
            cost[name] = time_of_call(words, kind, nr, program) - alone
        text = ", ".join(f"{name} {ns:.0f} ns" for name, ns in cost.items())
        ratio = compare.describe_ratio(cost["perch trace"] / cost["perf trace"], 1 / 3)
        print(f"{kind}: perch/perf {ratio}, alone {alone:.0f} ns, more by {text}", flush=True)
        if "strace" in cost:
            ratio = compare.describe_ratio(cost["perch trace"] / cost["strace"], 1 / 30)
            print(f"{kind}: perch/strace {ratio}", flush=True)


def compare_printing(perch, perf, program, directory):
    path = os.path.join(directory, "calls.data")
    words = [perf, "trace", "record", "-m", "4096", "-o", path, program, "getppid", str(CALLS)]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if done.returncode:
        compare.end_by(words, done.returncode)
    ours, theirs = compare.alternate([[perch, "trace", "-i", path], [perf, "trace", "-i", path]],
                                     ROUNDS)
    print(f"trace -i of {CALLS} calls:"
          f" perch/perf CPU {compare.describe_ratio(ours.cpu / theirs.cpu, 1 / 8)},"
          f" {ours.cpu * 1e3:.0f} and {theirs.cpu * 1e3:.0f} ms,"
          f" peak memory {ours.peak / 1e3:.0f} and {theirs.peak / 1e3:.0f} MB", flush=True)


def main():
    perch, perf = compare.commands()
    for command, name in ((perch, "perch"), (perf, "perf")):
        if subprocess.run([command, "trace", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL,
                          check=False).returncode:
            compare.skip(f"{name} cannot trace system calls here")
    with tempfile.TemporaryDirectory(prefix="perch-bench-") as directory:
        source, program = os.path.join(directory, "calls.c"), os.path.join(directory, "calls")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["cc", "-O2", "-o", program, source], check=True)
        compare_costs(perch, perf, program)
        compare_printing(perch, perf, program, directory)


sys.exit(main())
