#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The output is the same for any number of threads: of a recording with many equal rows, and of one whose processes change all the
time."""
import itertools
import os
import random
import struct
import subprocess
import sys
import tempfile

import built
import cases
import large_recording
from cases import check

PERCH = os.environ.get("PERCH", "perch")
JOBS = ("1", "2", "3", "8")
REPORT = ("report", "--stdio")
OPTIONS = [
    (*REPORT,),
    (*REPORT, "-g", "caller,0.01"),
    (*REPORT, "-g", "callee,0,1000,caller,address"),
    (*REPORT, "--no-children", "-g", "none"),
    (*REPORT, "--no-children", "-s", "tid,cpu,dso,sym", "-g", "flat"),
    (*REPORT, "-s", "time,comm,srcline", "--max-stack", "3"),
    (*REPORT, "--hierarchy", "-s", "comm,dso,sym"),
    (*REPORT, "-s", "parent,sym", "-p", "work_item_00"),
    (*REPORT, "-t", ","),
    (*REPORT, "-n", "--comms", "worker-1,c3,c4,c5", "-S", "work_item_0001"),
    ("report", "--json"),
]


def task(kind, pid, parent):
    return built.record(kind, 0, struct.pack("=IIIIQ", pid, parent, pid, parent, 1) + built.TRAILER)


def change(chance, pids):
    """A record that changes processes, most often a mapping over a part of older ones."""
    pid, kind = chance.choice(pids), chance.randrange(8)
    if kind == 0:
        pids.append(100 + len(pids))
        return task(7, pids[-1], pid)
    if kind == 1:
        return built.record(3, 1 << 13, struct.pack("=II", pid, pid) + built.text(b"c%d" % chance.randrange(9)) + built.TRAILER)
    if kind == 2:
        symbol = struct.pack("=QIHH", 2 ** 63 + 4096 * chance.randrange(64), 4096, 1, chance.randrange(2))
        return built.record(17, 0, symbol + built.text(b"bpf_prog_%d" % chance.randrange(30)) + built.TRAILER)
    return built.mapping(pid, 4096 * chance.randrange(1, 60), 4096 * chance.randrange(1, 9), 4096 * chance.randrange(9),
                         f"/no/file/{chance.randrange(12)}")


def sample(chance, pids, time):
    def addresses(base):
        return [base + 4096 * chance.randrange(64) + 16 * chance.randrange(3) for _ in range(chance.randrange(1, 9))]
    chain = [built.CONTEXT_USER, *addresses(0)]
    misc = built.USER
    if chance.randrange(3) == 0:
        chain, misc = [built.CONTEXT_KERNEL, *addresses(2 ** 63), *chain], built.KERNEL
    return built.sample(chain, 1 + chance.randrange(2), chance.randrange(1, 4), chance.choice(pids), time=time, misc=misc)


def write_busy(path):
    """Two events. There are changes between many samples, and none between others."""
    chance, pids = random.Random(35), [100, 101]
    records = []
    for time in range(1, 30001):
        if time % 10000 < 6000 and chance.randrange(4) == 0:
            records.append(change(chance, pids)[:-len(built.TRAILER)] + struct.pack("=IIQIIQ", 1, 1, time, 0, 0, 1))
        records.append(sample(chance, pids[-40:], time))
    built.write(path, records, [("cycles", 0, 0), ("instructions", 0, 1)])


def run(jobs, options, data):
    done = subprocess.run([PERCH, *options, "--jobs", jobs, "-i", data], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def difference(first, other):
    """The first lines that differ."""
    return next((pair for pair in itertools.zip_longest(first.splitlines(), other.splitlines()) if pair[0] != pair[1]), None)


def check_file(name, data):
    for options in OPTIONS:
        results = {jobs: run(jobs, options, data) for jobs in JOBS}
        first = results[JOBS[0]]
        check(first[0] == 0 and first[1].count(b"\n") > 5 and all(result == first for result in results.values()),
              f"{name}: {' '.join(options)} is the same for {', '.join(JOBS)} threads",
              *(f"{jobs}: {result[0]} {difference(first[1], result[1])} {difference(first[2], result[2])}"
                for jobs, result in results.items()), first[2])


def main():
    with tempfile.TemporaryDirectory() as directory:
        data, busy = os.path.join(directory, "perf.data"), os.path.join(directory, "busy.data")
        large_recording.write(data, os.path.join(directory, "program"), 40000, 6000)
        check_file("equal rows", data)
        write_busy(busy)
        check_file("changes", busy)
        check(run("0", REPORT, data) == run("1", REPORT, data), "--jobs 0 is the default")
    return cases.failed


sys.exit(main())
