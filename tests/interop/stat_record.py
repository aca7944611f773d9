#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests perch stat record and report: perf and perch print the same counts of the same file; options that a file cannot have; files
that are cut or damaged."""
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

import cases
import peer
from cases import check, limit

PERCH = os.environ.get("PERCH", "perch")
PERF = os.environ.get("PERF", "perf")
EVENTS = "task-clock:u,page-faults:u,minor-faults:u"
LOOP = ["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"]


def run(*words, **options):
    return subprocess.run([PERCH, "stat", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit(60), check=False,
                          errors="replace", **options)


def counts(text):
    """(time or group, count, event) of each line."""
    lines = (re.match(r" *(.*?)(?<!\S)([\d.]+|<not counted>|<not supported>) +(?:msec )? *([a-z]\S*)(?: +#.*)?$", line.rstrip()) for line in text.splitlines())
    return [(match[1].split(), match[2], match[3]) for match in lines if match and match[3] != "seconds"]


def peer_counts(path, *options):
    """Those of perf stat report, or None without it."""
    try:
        done = peer.run([PERF, "stat", "report", "-i", path, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                        timeout=limit(60))
    except (peer.Died, OSError):
        return None
    return counts(done.stdout + done.stderr)


def check_same(what, path, options=(), peer_options=None):
    own = run("report", "-i", path, *options)
    theirs = peer_counts(path, *(options if peer_options is None else peer_options))
    if theirs is None:
        print("ok - perf prints the same counts:", what, "# skip no perf")
    else:
        check(own.returncode == 0 and theirs and counts(own.stdout) == theirs, "perf prints the same counts: " + what, own, str(theirs))


def running_sums(rows):
    """The rows of intervals as perf 7.2 prints them: with the counts up to then. Without clocks, whose sums are rounded."""
    sums = {}
    result = []
    for time, count, event in rows:
        if "clock" not in event:
            sums[event] = sums.get(event, 0) + int(count)
            result.append((time, str(sums[event]), event))
    return result


def check_program():
    done = run("record", "-o", "program", "-e", EVENTS, "--", *LOOP)
    live = counts(done.stderr)
    check(done.returncode == 0 and len(live) == 3, "record prints the counts", done)
    own = run("report", "-i", "program")
    check(counts(own.stdout) == live and not own.stderr, "report prints those of the run", own, done)
    check("stat record -o program" in own.stdout and " seconds time elapsed" in own.stdout, "report has command line and time", own)
    check_same("a program", "program")
    objects = [json.loads(line) for line in run("report", "-i", "program", "-j").stdout.splitlines()]
    check([one["event"] for one in objects] == [one[2] for one in live], "-j", str(objects))
    fields = run("report", "-i", "program", "-x", ";").stdout.splitlines()
    check([line.split(";")[0] for line in fields] == [one[1] for one in live], "-x", str(fields))
    of_report = subprocess.run([PERCH, "report", "-i", "program"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    check(of_report.stdout == own.stdout and "it has counts and no samples" in of_report.stderr, "perch report prints the same", of_report)


def check_unsupported():
    done = run("record", "-o", "unsupported", "-e", "task-clock:u,stalled-cycles-frontend:u,cycles:u", "--", "true")
    if "<not supported>" not in done.stderr:
        print("ok - events that are not supported # skip: all are")
        return
    own = counts(run("report", "-i", "unsupported").stdout)
    check(own == counts(done.stderr) and any(one[1] == "<not supported>" for one in own), "report prints which events were not supported", str(own), done)
    check_same("with events that are not supported", "unsupported")


def check_intervals():
    done = run("record", "-I", "20", "-o", "intervals", "-e", EVENTS, "--", *LOOP)
    check(done.returncode == 0 and counts(run("report", "-i", "intervals").stdout) == counts(done.stderr),
          "intervals of report are those of the run", done)
    theirs = peer_counts("intervals")
    own = counts(run("report", "-i", "intervals").stdout)
    if theirs is None:
        print("ok - perf prints the same counts: intervals # skip no perf")
    else:
        check(theirs and (theirs == own or [row for row in theirs if "clock" not in row[2]] == running_sums(own)),
              "perf prints the same counts: intervals", str(own), str(theirs))
    pipe = subprocess.run(f"{PERCH} stat record -o - -e {EVENTS} -- echo text | {PERCH} stat report -i -", shell=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit(60))
    check(len(counts(pipe.stdout)) == 3 and "text\n" in pipe.stderr, "a pipe has the counts, and stderr what the program prints", pipe)


def check_cpus():
    done = run("record", "-a", "-o", "cpus", "-e", "cpu-clock,context-switches", "--", "true")
    if done.returncode:
        print("ok - counts of CPUs # skip", done.stderr.strip())
        return
    for option in "", "-A", "--per-socket", "--per-core", "--per-die":
        options = [option] if option else []
        check_same("of CPUs " + option, "cpus", options)
    live = run("record", "-a", "--per-core", "-o", "cores", "-e", "cpu-clock,context-switches", "--", "true")
    check(counts(run("report", "-i", "cores").stdout) == counts(live.stderr), "report adds up as the recorder did", live)
    check_same("of cores", "cores", ["--per-core"])
    wrong = run("report", "-i", "cpus", "--per-thread")
    check(wrong.returncode == 2 and "of CPUs, not of threads" in wrong.stderr, "--per-thread of CPUs is refused", wrong)
    wrong = run("report", "-i", "cpus", "-A", "--per-core")
    check(wrong.returncode == 2 and "-A and --per-core exclude each other" in wrong.stderr, "two aggregations are refused", wrong)


def check_threads():
    child = subprocess.Popen(["sleep", "100"])
    done = run("record", "-p", str(child.pid), "--per-thread", "--timeout", "30", "-o", "threads", "-e", "task-clock:u")
    child.kill()
    child.wait()
    own = run("report", "-i", "threads")
    check(done.returncode == 0 and "sleep-%d" % child.pid in own.stdout, "threads have names", own, done)
    wrong = run("report", "-i", "threads", "--per-core")
    check(wrong.returncode == 2 and "of threads, not of CPUs" in wrong.stderr, "--per-core of threads is refused", wrong)


def check_refusals():
    for words, why in ((["-r", "2"], "-r has no place"), (["-n"], "-n has no place"), (["-a", "-e", "cpu-clock", "-G", "/"], "-G has no place"),
                       (["-a", "--for-each-cgroup", "/"], "--for-each-cgroup has no place"), (["--append"], "--append has no place")):
        done = run("record", *words, "-o", "none", "--", "true")
        check(done.returncode == 2 and why in done.stderr and not os.path.exists("none"), "record refuses " + " ".join(words), done)
    done = run("report", "-i", "program", "file")
    check(done.returncode == 2 and "name a file with -i" in done.stderr, "report has no operands", done)
    done = run("record", "-o", "/nonexistent/file", "--", "true")
    check(done.returncode == 1 and "/nonexistent/file" in done.stderr, "a file that cannot be made", done)
    os.makedirs("bin", exist_ok=True)
    with open("bin/record", "w", encoding="ascii") as script:
        script.write("#!/bin/sh\necho started\n")
    os.chmod("bin/record", 0o755)
    done = run("-e", "task-clock:u", "--", "record", env=dict(os.environ, PATH="bin:" + os.environ["PATH"]))
    check(done.stdout == "started\n", "after -- it is a program", done)


def check_scales():
    """A scale that no event has: clocks have the scale 1e-6."""
    with open("program", "rb") as file:
        whole = file.read()
    scale = struct.pack("=d", 1e-6)
    for wrong in math.nan, math.inf, 1e300, -1.0, 0.0:
        with open("scaled", "wb") as file:
            file.write(whole.replace(scale, struct.pack("=d", wrong)))
        done = run("report", "-i", "scaled")
        check(scale in whole and done.returncode == 0 and len(counts(done.stdout)) == 3 and "of task-clock:u is not used" in done.stderr,
              "the scale %g is not used" % wrong, done)


def check_damage():
    with open("intervals", "rb") as file:
        whole = file.read()
    generator = random.Random(1)
    bad = []
    for number in range(60):
        data = bytearray(whole)
        if number % 2:
            data = data[:generator.randrange(len(data))]
        for _ in range(generator.randrange(1, 20)):
            if data:
                data[generator.randrange(len(data))] = generator.randrange(256)
        with open("damaged", "wb") as file:
            file.write(data)
        done = run("report", "-i", "damaged")
        if done.returncode not in (0, 1) or (done.returncode and not done.stderr):
            bad.append("%d: exit status %d" % (number, done.returncode))
    cases.report(bad, "damaged files are read as far as they can be, or refused")


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        check_program()
        check_unsupported()
        check_intervals()
        check_cpus()
        check_threads()
        check_refusals()
        check_scales()
        check_damage()
        os.chdir("/")
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
