#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares perch stat with perf stat: stat.py [BUILD].

Measures the whole run of a short program, and the time until it starts."""
import statistics
import subprocess
import sys
import time

import compare

# All software events of the kernel, as one group.
GROUP = ("{cpu-clock,task-clock,context-switches,cpu-migrations,page-faults,minor-faults,"
         "major-faults,alignment-faults,emulation-faults}")


def start_up(command, options):
    """Returns the seconds until the program runs: the program prints the time."""
    start = time.time()
    done = subprocess.run([command, "stat", *options, "--", "date", "+%s.%N"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode:
        compare.end_by([command, "stat", *options], done.returncode)
    return float(done.stdout) - start


def compare_start_up(title, options, rounds, target=None):
    times = compare.measure_alternately(lambda command: start_up(command, options),
                                        compare.commands(), rounds)
    first, second = (statistics.median(seconds) for seconds in times)
    ratio = compare.describe_ratio(first / second, target) if target else f"{first / second:.3f}"
    print(f"{title}: perch/perf until the program runs {ratio},"
          f" {first * 1e3:.1f} and {second * 1e3:.1f} ms", flush=True)


def main():
    perch, perf = compare.commands()
    costs = compare.alternate(([perch, "stat", "true"], [perf, "stat", "true"]), 41)
    compare.print_comparison("stat true", "perf", *costs, 0.25)
    wide = ["stat", "-a", "-e", "dummy", "--", "true"]
    if subprocess.run([perch, *wide], stderr=subprocess.DEVNULL, check=False).returncode:
        print("stat -a: not compared: this user is not allowed to count on all CPUs")
        return
    wide = ["stat", "-a", "--", "true"]
    costs = compare.alternate(([perch, *wide], [perf, *wide]), 21)
    compare.print_comparison("stat -a -- true", "perf", *costs, 0.25)
    wide = ["stat", "-a", "-e", GROUP, "--", "true"]
    compare.print_comparison("stat -a -e {all software events} -- true", "perf",
                 *compare.alternate(([perch, *wide], [perf, *wide]), 21), 0.25)
    compare_start_up("stat -a -e {all software events}", ["-a", "-e", GROUP], 21, 0.25)
    # No target: both spend most of the time in the kernel, which enables the tracepoints.
    compare_start_up("stat -a -e 'sched:*'", ["-a", "-e", "sched:*"], 5)


main()
