#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch script -F metric prints the metrics of groups as perf script does. The groups are built, because few machines have counters of
hardware. perf computes each metric with the count of the group's last event; the numbers of larger groups are checked by arithmetic.
Rates are those of the clock of the group, which perf takes from elsewhere."""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import cases
import peer
from cases import check

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")
HARDWARE, SOFTWARE, CACHE = 0, 1, 3
SAMPLE_TYPE = 1 | 2 | 4 | 16 | 64 | 128  # IP, TID, TIME, READ, ID, CPU
READ_GROUP = 4 | 8
EVENTS = {"cycles": (HARDWARE, 0), "instructions": (HARDWARE, 1), "cache-references": (HARDWARE, 2), "cache-misses": (HARDWARE, 3),
          "branches": (HARDWARE, 4), "branch-misses": (HARDWARE, 5), "stalled-cycles-frontend": (HARDWARE, 7),
          "stalled-cycles-backend": (HARDWARE, 8), "task-clock": (SOFTWARE, 1), "page-faults": (SOFTWARE, 2),
          "L1-dcache-loads": (CACHE, 0), "L1-dcache-load-misses": (CACHE, 1 << 16)}


def words(*values):
    return struct.pack("<%dQ" % len(values), *values)


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def text(name):
    name = name.encode() + b"\0"
    name += bytes(-len(name) % 8)
    return struct.pack("<I", len(name)) + name


def write(path, names, samples):
    """A recording of one group. samples: (CPU, what each event counted since the last sample of the CPU)."""
    thread = struct.pack("<II", 70, 70)
    attrs, ids = b"", b""
    at = 104 + len(names) * (128 + 16)
    for number, name in enumerate(names):
        kind, config = EVENTS[name]
        attr = struct.pack("<IIQQQQQ", kind, 128, config, 0 if number else 1000, SAMPLE_TYPE, READ_GROUP, 1 << 18)
        attrs += attr + bytes(128 - len(attr)) + words(at + len(ids), 16)
        ids += words(10 * number + 1, 10 * number + 2)
    trailer = thread + words(1, 1) + struct.pack("<II", 0, 0)
    records = record(3, 0, thread + b"program\0" + trailer)
    totals = {cpu: [0] * len(names) for cpu, _ in samples}
    for number, (cpu, counts) in enumerate(samples):
        totals[cpu] = [total + count for total, count in zip(totals[cpu], counts)]
        values = b"".join(words(total, 10 * event + 1 + cpu) for event, total in enumerate(totals[cpu]))
        records += record(9, 2, words(0x401000 + number) + thread + words((number + 1) * 10**9, 1 + cpu) + struct.pack("<II", cpu, 0) +
                          words(len(names)) + values)
    description = struct.pack("<I", 1) + text("{anon_group}") + struct.pack("<II", 0, len(names))
    names_of = struct.pack("<II", len(names), 128)
    for number, name in enumerate(names):
        names_of += attrs[number * 144:number * 144 + 128] + struct.pack("<I", 2) + text(name) + words(10 * number + 1, 10 * number + 2)
    data = at + len(ids)
    features = data + len(records) + 32  # EVENT_DESC and GROUP_DESC
    header = b"PERFILE2" + words(104, 144, 104, len(attrs), data, len(records), 0, 0, 1 << 12 | 1 << 17, 0, 0, 0)
    open(path, "wb").write(header + attrs + ids + records + words(features, len(names_of), features + len(names_of), len(description)) +
                           names_of + description)


def script(program, path, *options):
    done = peer.run([program, "script", "-i", path, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    return [line.rstrip() for line in done.stdout.splitlines()], done


def once(line):
    """perf prints the start of a second metric of an event twice."""
    return re.sub(r"^(.*\tmetric: ).*\tmetric: ", r"\1", line)


def without_number(line):
    return re.sub(r"(\tmetric: ) *[0-9.]+", r"\1", line)


@peer.part
def same(path, fields, metrics, numbers=True):
    theirs, _ = script(PERF, path, "-F", fields)
    ours, done = script(PERCH, path, "-F", fields)
    theirs = [once(line) for line in theirs]
    if not numbers:
        ours, theirs = ([without_number(line) for line in lines] for lines in (ours, theirs))
    check(ours == theirs and sum("metric:" in line for line in ours) == metrics, "%s -F %s: %d metrics" % (path, fields, metrics),
          (done.stderr, "\n".join(ours[:24]), "perf:", "\n".join(theirs[:24])))


def compare():
    samples = [(i % 2, (1000 + i, 2000 + 7 * i)) for i in range(6)]
    write("ipc", ("cycles", "instructions"), samples)
    for fields in ("+metric", "comm,tid,event,metric", "time,ip,metric", "cpu,event,period,metric", "hw:comm,metric"):
        same("ipc", fields, 6)
    write("stalls", ("cycles", "instructions", "stalled-cycles-frontend", "stalled-cycles-backend"), [
        (i % 2, (1000, 1500 + i, 100 + i, 300 + i)) for i in range(5)])
    same("stalls", "+metric", 20, numbers=False)
    ours, done = metrics_of("stalls")
    expected = ["1.50  insn per cycle", "0.20  stalled cycles per insn", "10.00% frontend cycles idle", "30.00% backend cycles idle"]
    check(ours[4:8] == expected, "metrics of cycles", (ours[:8], done.stderr))
    write("ratios", ("branches", "branch-misses", "cache-references", "cache-misses", "L1-dcache-loads", "L1-dcache-load-misses"), [
        (0, (1000, 10 + i, 300, 20 + i, 900, 30 + i)) for i in range(5)])
    same("ratios", "+metric", 15, numbers=False)
    ours, done = metrics_of("ratios")
    expected = ["1.40% of all branches", "8.000 % of all cache refs", "3.78% of all L1-dcache accesses"]
    check(ours[-3:] == expected, "metrics of misses", (ours[-9:], done.stderr))
    write("none", ("branches", "cache-references"), [(0, (5, 6)), (0, (7, 8))])
    same("none", "+metric", 0)


def metrics_of(path, *options):
    lines, done = script(PERCH, path, "-F", "event,metric", *options)
    return [line.replace("metric:", "").strip(": \t") for line in lines], done


def clocks():
    write("clock", ("task-clock", "cycles", "page-faults"), [(0, (2000000, 5000000, 3)), (0, (1000000, 1000000, 0)), (1, (4000000, 2000000, 8))])
    expected = ["task-clock", "cycles", "page-faults", "2.500 GHz", "1.500 K/sec", "task-clock", "cycles", "1.000 GHz", "task-clock",
                "cycles", "page-faults", "0.500 GHz", "2.000 K/sec"]
    ours, done = metrics_of("clock")
    check(ours == expected, "rates of the time that the clock of the group counted",
          (ours, done.stderr))
    write("idle", ("cycles", "instructions"), [(0, (1000, 0)), (0, (1000, 500)), (0, (0, 500))])
    ours, done = metrics_of("idle")
    check(ours == ["cycles", "cycles", "instructions", "0.50  insn per cycle", "instructions"],
          "a sample in which an event counted nothing ends its group", (ours, done.stderr))
    write("damaged", ("cycles", "instructions", "branches", "branch-misses"), [(0, (1000 + i, 500, 70, 8)) for i in range(20)])
    content = open("damaged", "rb").read()
    statuses, lines = set(), 0
    for at in range(len(content) // 3, len(content), 41):
        with open("damaged", "wb") as file:
            file.write(content[:at] + bytes([content[at] ^ 0x11]) + content[at + 1:])
        ours, done = metrics_of("damaged")
        statuses.add(done.returncode)
        lines += len(ours)
    check(statuses <= {0, 1} and lines > 1000, "reads damaged counts", (statuses, lines))


def refusals():
    write("one", ("cycles",), [(0, (1000,))])
    content = open("one", "rb").read()
    # no counts in samples
    content = content.replace(words(SAMPLE_TYPE, READ_GROUP), words(SAMPLE_TYPE & ~16, 0))
    open("one", "wb").write(content)
    _, done = script(PERCH, "one", "-F", "+metric")
    check(done.returncode == 2 and "samples of cycles have no counts of their group; record with -e '{EVENT,EVENT}:S'" in done.stderr,
          "refused: samples without counts", done.stderr)
    _, done = script(PERCH, "ipc", "-j", "-F", "ip,metric")
    check(done.returncode == 2 and "remove the field metric, or -j" in done.stderr, "refused: -j", done.stderr)


def main():
    if not shutil.which(PERF):
        print("1..0 # skip no %s to compare with (environment variable PERF)" % PERF)
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        compare()
        clocks()
        refusals()
        os.chdir("/")
    sys.exit(cases.failed)


main()
