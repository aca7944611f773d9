#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the ratios that a benchmark printed with those in figures.txt.

    figures.py check TABLE LOG...   the logs are runs of one benchmark; exits with 1 if a ratio is
                                    worse than in the table by more than 10 % in each of them
    figures.py write TABLE LOG...   puts the least ratios of the logs into the table

CPU time and peak memory are compared; wall time only where a line has no CPU time. Ratios depend on
the machine. On another CPU or kernel than that of the table they are printed and are no error.
"""
import os
import re
import sys
from pathlib import Path

LINE = re.compile(r"^(\S.*?)[:;,]? perch/(perf(?: [0-9]+\.[0-9]+)?|bare|strace)\b(.*)$", re.M)
FIGURES = re.compile(r": (?:perch |[+0-9]).*")   # between the name of a line and its ratio
NUMBER = r"\b{} ([0-9]+\.[0-9]+)"
WORSE = 1.10
ROUNDED = 0.002     # of ratios with three digits


def machine():
    model = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.M)
    return (f"{model[1] if model else 'unknown CPU'}, {os.cpu_count()} CPUs, "
            f"Linux {'.'.join(os.uname().release.split('.')[:2])}")


def ratios(log):
    """Returns the ratios of a log by name."""
    found = {}
    for name, peer, rest in LINE.findall(Path(log).read_text()):
        name = f"{FIGURES.sub('', name)}, to {peer}"
        cpu, peak = (re.search(NUMBER.format(word), rest) for word in ("CPU", "peak memory"))
        first = cpu or re.search(r" ([0-9]+\.[0-9]+)", rest)
        if first:
            found[f"{name}, {'CPU' if cpu else 'time'}"] = float(first[1])
        if peak:
            found[f"{name}, peak memory"] = float(peak[1])
    return found


def read(table):
    lines = Path(table).read_text().splitlines() if os.path.exists(table) else []
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    of = next((line[len("# of "):] for line in lines if line.startswith("# of ")), "")
    return of, {name: float(ratio) for name, ratio in rows}


def least(logs):
    found = {}
    for log in logs:
        for name, ratio in ratios(log).items():
            found[name] = min(ratio, found.get(name, ratio))
    return found


def check(table, logs):
    of, committed = read(table)
    worse = [(name, ratio, committed[name]) for name, ratio in least(logs).items()
             if name in committed and ratio > committed[name] * WORSE + ROUNDED]
    same = of == machine()
    for name, ratio, before in worse:
        print(f"bench: {name}: {ratio:.3f}, worse than {before:.3f} by more than 10 %"
              f"{'' if same else f' (that is of {of})'}")
    return 1 if worse and same else 0


def write(table, logs):
    _, figures = read(table)
    figures.update(least(logs))
    Path(table).write_text(
        "# Ratios of perch to its peers, which 'make bench' compares with its own (figures.py).\n"
        f"# of {machine()}\n" +
        "".join(f"{name}\t{ratio}\n" for name, ratio in sorted(figures.items())))
    return 0


if __name__ == "__main__":
    sys.exit({"check": check, "write": write}[sys.argv[1]](sys.argv[2], sys.argv[3:]))
