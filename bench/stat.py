#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch stat beside perf stat: stat.py [BUILD]. A short program's run, and the start-up: until the program runs."""
import statistics
import subprocess
import sys
import time

import compare

# All that the kernel counts by itself, as one group.
GROUP = ("{cpu-clock,task-clock,context-switches,cpu-migrations,page-faults,minor-faults,major-faults,alignment-faults,"
         "emulation-faults}")


def start_up(command, options):
    """Seconds until the program runs: it prints the time."""
    start = time.time()
    done = subprocess.run([command, "stat", *options, "--", "date", "+%s.%N"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command} stat {' '.join(options)}: exit status {done.returncode}")
    return float(done.stdout) - start


def compare_start_up(title, options, rounds, target=None):
    perch, perf = compare.commands()
    times = [], []
    for turn in range(rounds + 1):
        for command, seconds in zip((perch, perf), times):
            cost = start_up(command, options)
            if turn:
                seconds.append(cost)
    first, second = (statistics.median(seconds) for seconds in times)
    ratio = compare.verdict(first / second, target) if target else f"{first / second:.3f}"
    print(f"{title}: perch/perf until the program runs {ratio}, {first * 1e3:.1f} and {second * 1e3:.1f} ms", flush=True)


def main():
    perch, perf = compare.commands()
    compare.tell("stat true", *compare.alternate([perch, "stat", "true"], [perf, "stat", "true"], 41), 0.25)
    wide = ["stat", "-a", "-e", "dummy", "--", "true"]
    if subprocess.run([perch, *wide], stderr=subprocess.DEVNULL, check=False).returncode:
        print("stat -a: skipped, this user may not count on all CPUs")
        return
    wide = ["stat", "-a", "--", "true"]
    compare.tell("stat -a -- true", *compare.alternate([perch, *wide], [perf, *wide], 21), 0.25)
    wide = ["stat", "-a", "-e", GROUP, "--", "true"]
    compare.tell("stat -a -e {all software events} -- true",
                 *compare.alternate([perch, *wide], [perf, *wide], 21), 0.25)
    compare_start_up("stat -a -e {all software events}", ["-a", "-e", GROUP], 21, 0.25)
    # no target: most of it is the kernel's time to switch tracepoints on, for both
    compare_start_up("stat -a -e 'sched:*'", ["-a", "-e", "sched:*"], 5)


main()
