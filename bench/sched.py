#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares sched latency and sched timehist of perch and perf on one recording: sched.py [BUILD].

perf records two processes that wake each other, on all CPUs: about a million switches. PERF_DATA
names an existing recording."""
import os
import subprocess
import tempfile

import compare

LOOPS = 500 if compare.SMOKE else 500000
ROUNDS = 5
WALL, PEAK = 0.10, 0.20


def record(perf, path):
    done = subprocess.run([perf, "sched", "record", "-m", "8192", "-o", path, "--", perf, "bench",
                           "sched", "pipe", "-l", str(LOOPS)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode or not os.path.exists(path):
        compare.skip("perf cannot record the scheduler: " + done.stderr.strip()[-200:])


def main():
    perch, perf = compare.commands()
    with tempfile.TemporaryDirectory() as directory:
        path = os.environ.get("PERF_DATA")
        if not path:
            path = os.path.join(directory, "data")
            record(perf, path)
        lines = subprocess.run([perch, "sched", "map", "-i", path], capture_output=True,
                               check=True).stdout.count(b"\n")
        print(f"{lines} switches, {os.path.getsize(path) / 1e6:.0f} MB", flush=True)
        for command in ("latency", "timehist"):
            compare.compare_command(f"sched {command}", perch, perf,
                                    ["sched", command, "-f", "-i", path], ROUNDS, WALL, PEAK)


if __name__ == "__main__":
    main()
