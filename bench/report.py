#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares perch report and perch script with perf's, on recordings of gcc of several sizes, and on
one with deep stacks.

Usage: report.py [BUILD]. PERF_DATA names an existing recording to use."""
import os
import subprocess
import tempfile

import compare
from recordings import build_deep, build_gcc, count_samples, record_program

SAMPLES = 20 if compare.SMOKE else 500000
FREQUENCY = 20000


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
