#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares record -z and record --threads of perch and perf: compressed.py [BUILD].

They record all CPUs at 20 kHz, with a busy program on each CPU. CPU times are those of the
recorders, which run the same short sleep. The best round of each is the result."""
import os
import re
import subprocess
import tempfile

import compare

HZ = 1000 if compare.SMOKE else 20000
SECONDS = 0.1 if compare.SMOKE else 3
ROUNDS = 3
KINDS = (["-z"], ["--threads"], ["--threads", "-z"])


def record(program, options, directory):
    """Returns the seconds of CPU time of a recording, and how much smaller it is."""
    command = [program, "record", "-a", "-g", "-e", "cpu-clock", "-F", str(HZ), *options, "-o",
               f"{directory}/data", "--", "sleep", str(SECONDS)]
    with tempfile.TemporaryFile("w+") as text:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=text, stderr=text)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            compare.end_by(command, child.returncode)
        text.seek(0)
        found = re.search(r"ratio is ([\d.]+)", text.read())
    return usage.ru_utime + usage.ru_stime, float(found[1]) if found else 1


def lacks(perf, options):
    """True if this perf does not know the options, or was built without zstd."""
    done = subprocess.run([perf, "record", *options, "-e", "cpu-clock", "-o", "/dev/null", "--",
                           "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    return re.search("unknown|ignored|without|compiled|not (built|supported)", done.stderr.lower())


def compare_kind(perch, perf, options, directory):
    runs = compare.measure_alternately(lambda program: record(program, options, directory),
                                       [perch, perf], ROUNDS)
    (cpu, smaller), (other, others) = (
        tuple(best(column) for best, column in zip((min, max), zip(*each)))
        for each in runs)
    packed = f"; {smaller:.1f} times smaller, perf {others:.1f}" if "-z" in options else ""
    print(f"record {' '.join(options)}, {HZ} Hz: perch {1000 * cpu:.0f} ms of CPU time,"
          f" perf {1000 * other:.0f} ms: perch/perf CPU"
          f" {compare.describe_ratio(cpu / other, 1.0)}{packed}", flush=True)


def main():
    perch, perf = compare.commands()
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
    try:
        with tempfile.TemporaryDirectory() as directory:
            for options in KINDS:
                if lacks(perf, options):
                    print(f"record {' '.join(options)}: perf has not these options")
                else:
                    compare_kind(perch, perf, options, directory)
    finally:
        for child in busy:
            child.kill()
            child.wait()


if __name__ == "__main__":
    main()
