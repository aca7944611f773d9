#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares perch stat with the installed perf: the fields, their order, the columns of the table, and the counts."""
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import cases
from cases import check, limit
import peer

PERCH = os.environ["PERCH"]
PERF = shutil.which("perf")
EVENTS = "page-faults,task-clock,context-switches,cycles,dummy"


def skip_all(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def skip(name, reason):
    print(f"ok - {name} # skip {reason}")


def stat(command, options, program=("sleep", "0.05")):
    """Returns the lines of a result. Both commands write it to stderr."""
    done = peer.run([command, "stat", *options, "--", *program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                    timeout=limit(300))
    return [line for line in done.stderr.splitlines() if line.strip()]


NUMBER = re.compile(r"\s*[0-9]+(\.[0-9]+)?$")
RATE = re.compile(r"[KMG]?/sec$")


def shape(field):
    """Returns the kind of a field; names and units are returned as they are."""
    if NUMBER.match(field):
        return "number"
    if field.endswith("%") and NUMBER.match(field[:-1]):
        return "percentage"
    if RATE.search(field):
        return "rate"
    return field


def csv_shapes(lines):
    return [[shape(field) for field in line.split(",")] for line in lines]


def json_shapes(lines):
    shapes = []
    for line in lines:
        members = json.loads(line)
        shapes.append([(key, type(value).__name__, shape(str(value))) for key, value in members.items()])
    return shapes


def same_shapes(theirs, ours):
    """
    Returns True if all lines are the same. A sleeping target may run a little under one command only: then one line has a
    number, and the other '<not counted>' and no metric, which is no difference.
    """
    def uncounted(fields):
        return any("<not counted>" in str(field) for field in fields)

    if len(theirs) != len(ours):
        return False
    for one, other in zip(theirs, ours):
        if uncounted(one) != uncounted(other) and len(one) == len(other):
            continue
        if one != other:
            return False
    return True


def first_interval(lines, kind):
    """Returns the lines of the first interval. The number of intervals may differ."""
    def time_of(line):
        return json.loads(line)["interval"] if kind == "-j" else line.split(",")[0]

    return [line for line in lines if time_of(line) == time_of(lines[0])] if lines else []


def try_three_times(compare):
    """
    Returns the first result that is good, or the last one. Which counts a busy machine has differs from run to run; what
    differs between the commands does so each time.
    """
    for _ in range(3):
        good, *details = compare()
        if good:
            break
    return good, *details


@peer.part
def compare_fields(name, options, interval=False, program=("sleep", "0.05")):
    def compare(kind, shapes):
        theirs, ours = (stat(command, [kind, "-e", EVENTS, *options], program) for command in (PERF, PERCH))
        if interval:
            theirs, ours = first_interval(theirs, kind), first_interval(ours, kind)
        try:
            good = bool(theirs) and same_shapes(shapes(theirs), shapes(ours))
        except (ValueError, KeyError) as error:
            good = False
            ours.append(repr(error))
        return good, "perf:", *theirs, "perch:", *ours

    for kind, shapes in (("-x,", csv_shapes), ("-j", json_shapes)):
        good, *details = try_three_times(lambda kind=kind, shapes=shapes: compare(kind, shapes))
        check(good, f"the same fields as perf: {kind} {name}", *details)


@peer.part
def compare_tables(name, options):
    """Compares the columns of the table: the same text except for numbers and rates, at the same positions."""
    def columns(lines):
        rows = [line for line in lines if " # " in line or "<not " in line or "#           time" in line]
        return [re.sub(r"[0-9.]+", lambda found: "9" * len(found.group()), row.replace("(+-", "( +-")).split(" # ")[0]
                for row in rows]

    def blur(row):
        # numbers are right-aligned: only their ends are compared
        return re.sub(r" *9+", lambda found: "." * len(found.group()), row)

    def compare():
        theirs, ours = (stat(command, ["-e", EVENTS, *options]) for command in (PERF, PERCH))
        one, other = ([blur(row) for row in columns(lines)] for lines in (theirs, ours))
        return one and one == other, "perf:", *theirs, "perch:", *ours

    good, *details = try_three_times(compare)
    check(good, f"the same columns as perf: {name}", *details)


def busy():
    """Starts a process with one thread that is always running."""
    return subprocess.Popen(["sh", "-c", "while :; do :; done"])


def check_fields():
    compare_fields("a program", [])
    compare_fields("-r 2", ["-r", "2"])
    compare_fields("-I 20", ["-I", "20"], interval=True)
    compare_tables("a program", [])
    if not stat(PERCH, ["-x,", "-a", "-e", "dummy"])[0].startswith("0"):
        skip("the same fields as perf: -a", "not allowed here")
        return
    wide = [[], ["-A"], ["--per-socket"], ["--per-die"], ["--per-core"], ["--per-node"]]
    for options in wide:
        name = " ".join(["-a", *options])
        compare_fields(name, ["-a", *options])
        compare_fields(f"-I 20 {name}", ["-I", "20", "-a", *options], interval=True)
        compare_tables(name, ["-a", *options])
    compare_fields("-r 2 -a", ["-r", "2", "-a"])
    compare_fields("-r 2 -a -A", ["-r", "2", "-a", "-A"])
    compare_fields("-C 0", ["-C", "0"])


@peer.part
def check_threads():
    child = busy()
    try:
        target = ["--per-thread", "-p", str(child.pid)]
        compare_fields("--per-thread -p", target)
        compare_fields("-I 20 --per-thread -p", ["-I", "20", *target], interval=True)
        compare_tables("--per-thread -p", target)
        compare_fields("-p", ["-p", str(child.pid)])
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


def find_cgroup2():
    """Returns the mount point of a cgroup2 hierarchy in which the test can make cgroups, or None."""
    with open("/proc/self/mounts", encoding="ascii", errors="replace") as mounts:
        for line in mounts:
            path, kind = line.split()[1:3]
            if kind == "cgroup2" and os.access(path, os.W_OK):
                return path
    return None


@peer.part
def check_cgroups():
    root = find_cgroup2()
    names = [f"perch-test-{os.getpid()}-{letter}" for letter in "ab"]
    if not root or os.geteuid():
        skip("the same fields as perf: -G", "no cgroup2 hierarchy that this user may write")
        return
    try:
        for name in names:
            os.mkdir(os.path.join(root, name))
        # the shell and its children move into the first cgroup, which then has counts
        program = ("sh", "-c", f"echo $$ > {root}/{names[0]}/cgroup.procs; i=0; "
                               "while [ $i -lt 20000 ]; do i=$((i + 1)); done")
        compare_fields("-G one", ["-a", "-G", names[0]], program=program)
        compare_fields("-A -G one", ["-a", "-A", "-G", names[0]], program=program)
        compare_fields("--for-each-cgroup", ["-a", "--for-each-cgroup", ",".join(names)], program=program)
        counts = [json.loads(line) for line in stat(PERCH, ["-j", "-a", "-e", "task-clock,task-clock", "-G",
                                                            ",".join(names)], program)]
        check(float(counts[0]["counter-value"]) > 1 and counts[1]["counter-value"] == "<not counted>",
                "a program in one cgroup is counted only there", *counts)
    finally:
        for name in names:
            try:
                os.rmdir(os.path.join(root, name))
            except OSError:
                pass


SOURCE = "\n".join(f"int f{i}(int a, int b) {{ int s = 0; for (int i = a; i < b; i++) s += i * {i}; return s; }}"
                   for i in range(150))

# The least difference of means that is allowed, for page faults of the command itself, the resolution of the clock, and
# decisions of the scheduler.
FLOORS = {
    "page-faults": lambda mean: 0.005 * mean,
    "task-clock": lambda mean: 0.05 * mean,
    "context-switches": lambda mean: 10,
    "cpu-migrations": lambda mean: 5,
}


def batch(command, program):
    """Returns {event: (mean, standard error)} of five runs."""
    lines = stat(command, ["-e", ",".join(FLOORS), "-r", "5", "-j"], program)
    result = {}
    for line in lines:
        members = json.loads(line)
        mean = float(members["counter-value"])
        result[members["event"].removesuffix(":u")] = mean, mean * members["variance"] / 100
    return result


def pool(batches, event):
    """Returns mean and standard error of two batches, and their distance: the machine gets faster and slower."""
    (one, one_error), (other, other_error) = (result[event] for result in batches)
    return (one + other) / 2, math.hypot(one_error, other_error) / 2, abs(one - other)


def compare_batches(program):
    """Returns {event: (True if the counts agree, text)}, of two alternating batches of each command."""
    batches = {PERCH: [], PERF: []}
    found = {}
    for _ in range(2):
        for command, results in batches.items():
            results.append(batch(command, program))
    for event, floor in FLOORS.items():
        (ours, our_error, our_drift), (theirs, their_error, their_drift) = (pool(results, event)
                                                                           for results in batches.values())
        allowed = max(4 * math.hypot(our_error, their_error), our_drift, their_drift, floor(theirs))
        found[event] = (abs(ours - theirs) <= allowed, f"{event} of a compiler as counted by perf: {ours:.1f}, "
                                                       f"{theirs:.1f} (a difference of {allowed:.1f} is allowed)")
    return found


@peer.part
def check_counts():
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        skip("the same counts as perf", "no compiler here")
        return
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "source.c")
        with open(source, "w", encoding="ascii") as out:
            out.write(SOURCE)
        program = (compiler, "-O2", "-c", "-o", os.path.join(directory, "source.o"), source)
        subprocess.run(program, check=True)
        # other load of the machine comes and goes: a difference must occur three times
        found = {}
        for _ in range(3):
            for event, (good, text) in compare_batches(program).items():
                if not found.get(event, (False,))[0]:
                    found[event] = good, text
            if all(good for good, _ in found.values()):
                break
    for good, text in found.values():
        check(good, text)


@peer.part
def check_disturbance():
    """perch must not take the CPU away from the program: it may cause no more context switches than perf."""
    def compare():
        ours, theirs = (float(json.loads(stat(command, ["-r", "40", "-j", "-e", "context-switches"],
                                              ("sleep", "0.002"))[0])["counter-value"]) for command in (PERCH, PERF))
        return ours <= theirs + 0.4, ours, theirs

    good, ours, theirs = try_three_times(compare)
    check(good, f"context switches of a program are not more than with perf: {ours:.2f}, {theirs:.2f}")


def main():
    if not PERF:
        skip_all("perf is not installed")
    if not re.search(r"version 6\.1\.", peer.try_run([PERF, "--version"], capture_output=True, text=True).stdout):
        skip_all("the installed perf is not version 6.1")
    if not stat(PERCH, ["-x,", "-e", "dummy"])[0].startswith("0"):
        skip_all("cannot count here")
    check_fields()
    check_threads()
    check_cgroups()
    check_disturbance()
    check_counts()
    sys.exit(cases.failed)


main()
