#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what perch record --off-cpu costs a program that only switches: off-cpu.py [BUILD].

perf bench sched pipe runs alone, with samples of the CPU time, with off-CPU time as well, and with
the samples of perf that have the same call chains. CPU times are those of all processes, so other
programs of the machine disturb little."""
import os
import re
import resource
import subprocess
import tempfile

import compare

SMOKE = bool(os.environ.get("BENCH_SMOKE"))
LOOPS = 2000 if SMOKE else 200000
ROUNDS = 1 if SMOKE else 5
SHARE = 0.03  # of the machine, at 100,000 switches a second


def cpu_time(command):
    """Returns the seconds of CPU time of a command and its children, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        compare.end_by(command, done.returncode)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def number(pattern, text):
    found = re.search(pattern, text)
    return float(found[1]) if found else 0


def main():
    perch, perf = compare.commands()
    work = [perf, "bench", "sched", "pipe", "-l", str(LOOPS)]
    best, recorder, lost = {}, [], 0
    with tempfile.TemporaryDirectory() as directory:
        on = [perch, "record", "-v", "-F", "99", "-e", "cpu-clock", "-g", "-o", f"{directory}/on"]
        commands = {
            "alone": work,
            "on": [*on, "--", *work],
            "off": [*on, "--off-cpu", "--", *work],
            "perf": [perf, "record", "-e", "context-switches", "-c", "1", "-g", "--switch-events",
                     "-o", f"{directory}/perf", "--", *work],
        }
        for _ in range(ROUNDS):
            for name, command in commands.items():
                seconds, text = cpu_time(command)
                best[name] = min(best.get(name, seconds), seconds)
                if name == "off":
                    recorder.append(number(r"recorder itself took ([\d.]+) s", text))
                    lost = max(lost, int(number(r"(\d+) records of switches were lost", text)))
    switches = 2 * LOOPS
    each = {name: 1e6 * (seconds - best["alone"]) / switches for name, seconds in best.items()}
    more = 1e6 * (best["off"] - best["on"]) / switches
    share = more * 1e5 / 1e6 / os.cpu_count()
    print(f"off-cpu: {switches} switches: +{more:.2f} us each, the recorder itself"
          f" {1e6 * min(recorder) / switches:.2f} us; perf +{each['perf']:.2f} us;"
          f" perch/perf CPU {compare.describe_ratio(each['off'] / max(each['perf'], 0.01), 1.0)}")
    print(f"off-cpu: of {os.cpu_count()} CPUs at 100,000 switches a second:"
          f" {compare.describe_ratio(share, SHARE)}; lost {lost}", flush=True)


if __name__ == "__main__":
    main()
