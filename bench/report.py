#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares perch report and perch script with perf's, on recordings of gcc of several sizes, and on
one with deep stacks.

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


DEEP = """
#include <stdint.h>
#include <stdlib.h>
volatile uint64_t sum;
static uint64_t state = 88172645463325252u;
static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}
static void call(int depth);
%s
static void (*const function[])(int) = { %s };
static void call(int depth) { function[any() %% 16](depth); }
int main(int argc, char **argv)
{
	for (long i = atol(argv[argc - 1]); i; i--)
		call(24 + any() %% 4);
}
"""


def build_deep(directory):
    """Compiles a program whose stacks have about 26 frames of 16 functions, in any order."""
    source, program = os.path.join(directory, "deep.c"), os.path.join(directory, "deep")
    functions = "\n".join(f"static void f{i}(int n) {{ for (int i = 0; i < {200 + 7 * i}; i++) "
                          "sum += i; if (n) call(n - 1); sum++; }" for i in range(16))
    with open(source, "w", encoding="ascii") as out:
        out.write(DEEP % (functions, ", ".join(f"f{i}" for i in range(16))))
    # a call in tail position would be no frame
    subprocess.run(["gcc", "-O1", "-fno-inline", "-fno-omit-frame-pointer",
                    "-fno-optimize-sibling-calls", "-o", program, source], check=True)
    return [program, "50" if compare.SMOKE else "3500000"]


def build_gcc(functions):
    """Returns what makes a command that compiles this many functions."""
    def build(directory):
        source = os.path.join(directory, f"functions-{functions}.c")
        write_program(source, 3 if compare.SMOKE else functions)
        return ["gcc", "-O2", "-c", "-o", "/dev/null", source]
    return build


def record_program(perf, data, command, frequency, chains=("-g",)):
    """Records a program. Returns the number of samples."""
    print(f"recording {' '.join(command)}", file=sys.stderr)
    done = subprocess.run([perf, "record", "-q", *chains, "-e", "cpu-clock", "-F", str(frequency),
                           "-o", data, "--", *command],
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
    functions = 3000
    while True:
        samples = record_program(perf, data, build_gcc(functions)(directory), FREQUENCY)
        if samples >= SAMPLES:
            return data, samples
        functions = int(functions * SAMPLES / samples * 1.1)


# The recordings other than the large one: name, command, frequency, call chains, the rounds of -g
# and script, and the targets of the ratios to perf's wall times (flat, -g, script) and peak memory
# (-g). The second run of a command is meant, which has the symbol index.
SIZES = [
    ("small", build_gcc(5), 1000, ("-g",), 5, (0.05, 0.07, 0.07, 0.30)),
    ("middle", build_gcc(400), FREQUENCY, ("-g",), 3, (0.10, 0.07, 0.15, 0.10)),
    ("middle, dwarf", build_gcc(400), 4000, ("--call-graph", "dwarf"), 1, (None, 0.05, 0.08, 0.05)),
    ("deep", build_deep, 10000, ("-g",), 1, (0.10, 0.05, 0.10, 0.02)),
]
LARGE = (0.08, 0.04, 0.08, 0.06)


def compare_cells(perch, perf, name, data, rounds, targets):
    """Prints a row of the table of bench/README.md."""
    flat, graph, script, memory = targets
    report = ["report", "--stdio", "-i", data]
    if flat:
        compare.compare_command(f"{name}: report, flat", perch, perf,
                                [*report, "--no-children", "-g", "none"], 5, flat)
    compare.compare_command(f"{name}: report -g", perch, perf, [*report, "-g"], rounds, graph,
                            memory)
    compare.compare_command(f"{name}: script", perch, perf, ["script", "-i", data], rounds, script)


def compare_first_run(perch, data):
    """The first run makes the index. It takes little more time than a run without one."""
    with tempfile.TemporaryDirectory(prefix="perch-bench-cache-") as cache:
        environment = ["env", f"XDG_CACHE_HOME={cache}"]
        command = [perch, "report", "--stdio", "-i", data]
        # kallsyms is in the cache in both cases
        subprocess.run([*environment, *command], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
        clear = f"rm -rf {cache}/perch/symbols; exec \"$@\""
        first, second = compare.alternate(([*environment, "sh", "-c", clear, "sh", *command],
                                           [*environment, *command]), 5)
        print(f"small: the first run takes {first.cpu * 1e3:.1f} ms of CPU time, "
              f"the second {second.cpu * 1e3:.1f} ms", flush=True)


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


def compare_import(perch, data, directory):
    """samply makes the same file as the format firefox, but without names."""
    samply, reason = compare.peer("samply")
    if reason:
        print(f"samply import: not compared: {reason}")
        return
    exported, imported = (os.path.join(directory, name) for name in ("perch.json", "samply.json"))
    ours, theirs = compare.alternate(
        ([perch, "export", "--format", "firefox", "-i", data, "-o", exported],
         [samply, "import", "--save-only", "-o", imported, data]), 3)
    print(f"export firefox: perch/samply import wall {ours.wall / theirs.wall:.3f}, "
          f"CPU {ours.cpu / theirs.cpu:.3f}, peak memory {ours.peak / theirs.peak:.3f}", flush=True)


def main():
    perch, perf = compare.commands()
    with tempfile.TemporaryDirectory(prefix="perch-bench-") as directory:
        for name, build, frequency, chains, rounds, targets in SIZES:
            data = os.path.join(directory, "perf.data")
            samples = record_program(perf, data, build(directory), frequency, chains)
            print(f"{name}: {samples} samples, {os.path.getsize(data) / 1e6:.1f} MB")
            compare_cells(perch, perf, name, data, rounds, targets)
            if name == "small":
                compare_first_run(perch, data)
                # perf 6.1 of Debian finds few inlined functions, for which perch reads debug
                # information
                compare.compare_command("small: report --no-inline", perch, perf,
                                        ["report", "--stdio", "--no-inline", "-i", data], 5, 0.05)
        data = os.environ.get("PERF_DATA")
        samples = count_samples(perf, data) if data else 0
        if not data:
            data, samples = record_large(perf, directory)
        print(f"large: {samples} samples, {os.path.getsize(data) / 1e6:.0f} MB")
        compare_cells(perch, perf, "large", data, 3, LARGE)
        compare_exports(perch, data, directory)
        compare_import(perch, data, directory)


main()
