#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the CPU time of perch top and perf top: top.py [BUILD].

Both print text into a file, at 1 kHz on all CPUs, on the same load: a shell that computes on each
CPU, and one that starts programs."""
import os
import signal
import subprocess
import sys
import tempfile
import time

import compare

SECONDS = 1.5 if compare.SMOKE else float(os.environ.get("SECONDS_EACH", "20"))
ROUNDS = 3
LOADS = ["while :; do :; done"] * (os.cpu_count() or 1)
LOADS.append("while :; do /bin/true; sleep 0.01; done")


def measure(command, options, directory):
    """Runs a command for some seconds. Returns (wall, CPU, peak)."""
    idle, other = os.pipe()  # perf reads keys
    with open(os.path.join(directory, "text"), "w", encoding="utf-8") as text:
        start = time.perf_counter()
        words = [command, "top", "--stdio", "-e", "cpu-clock", "-F", "1000", *options]
        child = subprocess.Popen(words, stdin=idle, stdout=text, stderr=subprocess.DEVNULL)
        time.sleep(SECONDS)
        child.send_signal(signal.SIGTERM)  # a shell lets background jobs ignore SIGINT
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    os.close(idle)
    os.close(other)
    if child.returncode not in (0, -signal.SIGTERM):
        compare.end_by([command, "top", *options], child.returncode)
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def compare_tops(title, options, directory):
    runs = compare.measure_alternately(lambda command: measure(command, options, directory),
                                       compare.commands(), ROUNDS)
    perch, perf = (compare.Cost(values) for values in runs)
    print(f"{title}: perch/perf CPU {compare.describe_ratio(perch.cpu / perf.cpu, 1.0)},"
          f" {perch.cpu * 1e3:.0f} and {perf.cpu * 1e3:.0f} ms in {SECONDS:g} s,"
          f" peak memory {perch.peak / 1e3:.0f} and {perf.peak / 1e3:.0f} MB", flush=True)


def main():
    perch, _ = compare.commands()
    wide = [perch, "record", "-q", "-o", "/dev/null", "-a", "-e", "cpu-clock", "--", "true"]
    if subprocess.run(wide, stderr=subprocess.DEVNULL, check=False).returncode:
        compare.skip("this user is not allowed to sample all CPUs")
    loads = [subprocess.Popen(["sh", "-c", load]) for load in LOADS]
    try:
        with tempfile.TemporaryDirectory(prefix="perch-bench-") as directory:
            compare_tops("top", [], directory)
            compare_tops("top -g", ["-g"], directory)
    finally:
        for load in loads:
            load.kill()
            load.wait()


sys.exit(main())
