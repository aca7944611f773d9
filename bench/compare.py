# SPDX-License-Identifier: MIT
"""Runs perch and perf in turns and compares them: what each run cost is what wait4(2) says."""
import os
import shutil
import statistics
import subprocess
import sys
import time


class Cost:
    """Medians of several runs: wall and CPU seconds, peak memory in KiB."""

    def __init__(self, runs):
        self.wall, self.cpu, self.peak = (statistics.median(column) for column in zip(*runs))


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def commands():
    """The paths of perch and perf; perch is in the build directory that argv names."""
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    perch = os.path.realpath(os.path.join(build, "perch"))
    perf = shutil.which("perf")
    if not os.access(perch, os.X_OK):
        sys.exit(f"{perch} is not there: run 'make build' first")
    if not perf:
        skip("no perf here to compare with")
    return perch, perf


def run(command):
    """One run, its output thrown away: (wall, CPU, peak)."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(command)}: exit status {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def alternate(first, second, rounds):
    """Runs A B A B, after one run of each that only warms the caches."""
    runs = [], []
    for turn in range(rounds + 1):
        for command, costs in zip((first, second), runs):
            cost = run(command)
            if turn:
                costs.append(cost)
    return Cost(runs[0]), Cost(runs[1])


def verdict(ratio, target):
    return f"{ratio:.3f} (target <= {target:g}{'' if ratio <= target else ', MISSED'})"


def tell(title, perch, perf, wall_target, peak_target=None):
    line = f"{title}: perch/perf wall {verdict(perch.wall / perf.wall, wall_target)}"
    line += f", CPU {perch.cpu / perf.cpu:.3f}" if perf.cpu else ""
    if peak_target:
        line += f", peak memory {verdict(perch.peak / perf.peak, peak_target)}"
    print(line, flush=True)
