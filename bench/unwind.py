#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares `script --no-inline` and `report --stdio --no-inline` of perch and perf on a recording
with copies of user stacks. The recorded program is gcc -O2, whose libraries have no frame pointers.

Usage: unwind.py [BUILD]"""
import os
import re
import subprocess
import tempfile

import compare

# About 16 KiB are one sample.
LEAST_BYTES = 100_000 if compare.SMOKE else 500_000_000
FRAME = re.compile(rb"^\t *([0-9a-f]+) ")
# The chain cannot be continued.
END = b"f" * 16


def write_program(path, functions):
    with open(path, "w", encoding="ascii") as out:
        for i in range(functions):
            out.write(f"int f{i}(int *a, int n) {{ int s = {i}; for (int i = 0; i < n; i++)"
                      f" s = s * 31 + a[i] / (s | 1); return s > n ? f{i}(a, n / 2) : s; }}\n")


def record(perf, directory):
    """Records gcc with programs that grow until the recording is large enough."""
    data, source = os.path.join(directory, "dwarf.data"), os.path.join(directory, "program.c")
    functions = 20 if compare.SMOKE else 1500
    while True:
        write_program(source, functions)
        command = [perf, "record", "-q", "-F", "8000", "-e", "cpu-clock", "--call-graph",
                   "dwarf,16384", "-o", data, "gcc", "-O2", "-c", source, "-o", os.devnull]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            print(done.stderr, end="")
            compare.end_by(command[:2], done.returncode)
        if os.path.getsize(data) >= LEAST_BYTES:
            return data
        functions *= 2


def count(path):
    """Returns the samples and the frames of the output of script."""
    samples = frames = 0
    with open(path, "rb") as file:
        for line in file:
            found = FRAME.match(line)
            frames += bool(found) and found[1] != END
            samples += b"cpu-clock" in line
    return samples, frames


def main():
    perch, perf = compare.commands()
    with tempfile.TemporaryDirectory(prefix="perch-bench-") as directory:
        data = record(perf, directory)
        script = ["script", "--no-inline", "-i", data]
        texts = [os.path.join(directory, name) for name in ("perch.txt", "perf.txt")]
        for command, path in zip((perch, perf), texts):
            with open(path, "wb") as out:
                done = subprocess.run([command, *script], stdout=out, stderr=subprocess.DEVNULL,
                                      check=False)
            if done.returncode:
                compare.end_by([command, *script], done.returncode)
        (samples, frames), (_, perf_frames) = count(texts[0]), count(texts[1])
        print(f"{samples} samples, {os.path.getsize(data) / 1e6:.0f} MB")
        cost = compare.compare_command("unwind: script", perch, perf, script, 3, 0.1, 0.5)
        rate = frames / cost.cpu / 1e6
        print(f"unwind: {rate:.2f} million frames a CPU second, with output (target >= 3"
              f"{'' if rate >= 3 or compare.SMOKE else ', MISSED'})")
        compare.compare_command("unwind: report", perch, perf,
                                ["report", "--stdio", "--no-inline", "-i", data], 3, 0.1, 0.5)
        missed = ", MISSED" if frames < perf_frames and not compare.SMOKE else ""
        print(f"unwind: {frames} frames, perf {perf_frames}{missed}")


main()
