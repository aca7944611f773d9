#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares perch report and perch script with perf's, on a large recording of gcc and a small one.

Usage: report.py [BUILD]. PERF_DATA names an existing recording to use."""
import os
import subprocess
import sys
import tempfile

import compare

SAMPLES = 20 if compare.SMOKE else 500000
FREQUENCY = 20000
FEW_SAMPLES = 1000


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


def record_gcc(perf, directory, data, functions, frequency):
    """Records gcc compiling this many functions. Returns the number of samples."""
    source = os.path.join(directory, "large.c")
    write_program(source, functions)
    print(f"recording gcc -O2 with {functions} functions", file=sys.stderr)
    done = subprocess.run([perf, "record", "-q", "-g", "-e", "cpu-clock", "-F", str(frequency),
                           "-o", data, "--", "gcc", "-O2", "-c", "-o", "/dev/null", source],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode < 0:
        compare.end_by(done.args, done.returncode)
    samples = count_samples(perf, data) if done.returncode == 0 else 0
    if not samples:
        compare.skip(f"perf record -F {frequency} does not work here: {done.stderr.strip()}")
    return samples


def record_large(perf, directory):
    """Makes a recording of at least SAMPLES samples. The program grows until they are reached."""
    data = os.path.join(directory, "perf.data")
    functions = 3 if compare.SMOKE else 3000
    while True:
        samples = record_gcc(perf, directory, data, functions, FREQUENCY)
        if samples >= SAMPLES:
            return data, samples
        functions = int(functions * SAMPLES / samples * 1.1)


def record_small(perf, directory):
    """Makes a recording of fewer than FEW_SAMPLES samples. The frequency falls until it is one."""
    data = os.path.join(directory, "small.data")
    frequency = 1000
    while True:
        samples = record_gcc(perf, directory, data, 3 if compare.SMOKE else 30, frequency)
        if samples < FEW_SAMPLES:
            return data, samples
        frequency = int(frequency * FEW_SAMPLES / samples * 0.9)


def compare_exports(perch, data, directory):
    """Exports cost little more than a report of the same file. Those of pprof are small."""
    report = [perch, "report", "--stdio", "-i", data]
    for name in ("folded", "pprof", "firefox", "speedscope", "json"):
        path = os.path.join(directory, "exported")
        export = [perch, "export", "--format", name, "-i", data, "-o", path]
        exported, reported = compare.alternate((export, report), 3)
        ratio = compare.describe_ratio(exported.wall / reported.wall, 1.5)
        line = f"export {name}: export/report wall {ratio}"
        size = os.path.getsize(path) / 1e6
        if name == "pprof":
            print(f"{line}, MB {compare.describe_ratio(size, 3)}", flush=True)
        else:
            print(f"{line}, {size:.1f} MB", flush=True)


def main():
    perch, perf = compare.commands()
    with tempfile.TemporaryDirectory(prefix="perch-bench-") as directory:
        data = os.environ.get("PERF_DATA")
        samples = count_samples(perf, data) if data else 0
        if not data:
            data, samples = record_large(perf, directory)
        print(f"{samples} samples, {os.path.getsize(data) / 1e6:.0f} MB")
        report = ["report", "--stdio", "-i", data]
        compare.compare_command("report without children and call graph", perch, perf,
                                [*report, "--no-children", "-g", "none"], 5, 0.15)
        compare.compare_command("report", perch, perf, report, 3, 0.05, 0.10)
        compare.compare_command("script", perch, perf, ["script", "-i", data], 5, 0.15)
        compare_exports(perch, data, directory)
        small, samples = record_small(perf, directory)
        compare.compare_command(f"report of {samples} samples", perch, perf,
                                ["report", "--stdio", "-i", small], 5, 0.25)
        # perf 6.1 of Debian finds few inlined functions, for which perch reads debug information
        compare.compare_command(f"report --no-inline of {samples} samples", perch, perf,
                                ["report", "--stdio", "--no-inline", "-i", small], 5, 0.25)


main()
