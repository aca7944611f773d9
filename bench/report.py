#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares perch report and perch script with perf's, on a large recording of gcc.

Usage: report.py [BUILD]. PERF_DATA names an existing recording to use."""
import os
import subprocess
import sys
import tempfile

import compare

SAMPLES = 20 if compare.SMOKE else 500000
FREQUENCY = 20000


def write_program(path, functions):
    """Writes C that gcc -O2 compiles slowly: many functions with loops, branches and divisions."""
    with open(path, "w", encoding="ascii") as out:
        out.write("#include <string.h>\n")
        for i in range(functions):
            below = f" + f{i - 1}(a - 1, s)" if i else ""
            out.write(f"""int f{i}(int a, char *s)
{{
	int x = a * {i} + 1;
	for (int i = 0; i < a; i++) {{
		x += s[i] ^ i;
		if (x % {i + 3} == 2)
			x = x * 3 + strlen(s);
		else
			x -= a / {i + 1};
		switch (x & 7) {{
		case 0: x += 1; break;
		case 1: x ^= a; break;
		case 3: x -= i; break;
		default: x *= 3;
		}}
	}}
	return x{below};
}}
""")


def count_samples(perf, data):
    done = subprocess.run([perf, "report", "--stats", "-i", data], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode:
        compare.end_by(done.args, done.returncode)
    for line in done.stdout.splitlines():
        words = line.split()
        if words[:2] == ["SAMPLE", "events:"]:
            return int(words[2])
    return 0


def record(perf, directory):
    """Makes a recording of at least SAMPLES samples. The program grows until they are reached."""
    source = os.path.join(directory, "large.c")
    data = os.path.join(directory, "perf.data")
    functions = 3 if compare.SMOKE else 3000
    while True:
        write_program(source, functions)
        print(f"recording gcc -O2 with {functions} functions", file=sys.stderr)
        done = subprocess.run([perf, "record", "-q", "-g", "-e", "cpu-clock", "-F", str(FREQUENCY),
                               "-o", data, "--", "gcc", "-O2", "-c", "-o", "/dev/null", source],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode < 0:
            compare.end_by(done.args, done.returncode)
        samples = count_samples(perf, data) if done.returncode == 0 else 0
        if samples >= SAMPLES:
            return data, samples
        if not samples:
            compare.skip(f"perf record -F {FREQUENCY} does not work here: {done.stderr.strip()}")
        functions = int(functions * SAMPLES / samples * 1.1)


def main():
    perch, perf = compare.commands()
    with tempfile.TemporaryDirectory(prefix="perch-bench-") as directory:
        data = os.environ.get("PERF_DATA")
        samples = count_samples(perf, data) if data else 0
        if not data:
            data, samples = record(perf, directory)
        print(f"{samples} samples, {os.path.getsize(data) / 1e6:.0f} MB")
        report = ["report", "--stdio", "-i", data]
        times = compare.alternate([perch, *report], [perf, *report], 3)
        compare.print_comparison("report", *times, 0.10, 1)
        script = ["script", "-i", data]
        times = compare.alternate([perch, *script], [perf, *script], 5)
        compare.print_comparison("script", *times, 0.20)


main()
