#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests files that are no recordings of samples: counts of perf stat record are printed as perf does; files of other tools are
named, with what reads them."""
import gzip
import os
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

FOREIGN = {
    "a recording of Java Flight Recorder": (b"FLR\0\0\2\0\0" + bytes(64), "jfr print"),
    "a trace.dat file of trace-cmd": (b"\x17\x08\x44tracing6\0\0\0" + bytes(64), "trace-cmd report"),
    "a capture of sysprof": (struct.pack("<I", 0xfdca975e) + bytes(252), "sysprof"),
    "a jitdump file": (struct.pack("=IIII", 0x4a695444, 1, 40, 62) + bytes(64), "recording of the program"),
    "a profile of callgrind": (b"# callgrind format\nversion: 1\n", "callgrind_annotate"),
    "a profile of pprof": (gzip.compress(bytes(64)), "pprof -top"),
    "a perf map": (b"7f0011223344 40 LazyCompile:~f /x.js:1\n", "/tmp/perf-PID.map"),
    "a zip archive": (b"PK\3\4\x14\0" + bytes(64), "unzip"),
    "a program or a library": (b"\x7fELF\2\1\1" + bytes(64), "Record it first"),
    "an HTML page": (b"<!DOCTYPE html>\n<html></html>", "browser"),
    "it does not start with PERFILE2": (b"nothing that is known", ""),
}


def run(*words):
    done = subprocess.run([PERCH, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit(60), check=False)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def perf(*words):
    return peer.run([PERF, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit(60))


def check_foreign():
    for what, (data, remedy) in FOREIGN.items():
        with open("foreign", "wb") as out:
            out.write(data)
        for command in "report", "script":
            status, _, err = run(command, "-i", "foreign")
            check(status == 1 and what in err and remedy in err, command + ": " + what, err)


def check_parts():
    """A file in a directory of --threads."""
    status, _, err = run("record", "-q", "--threads", "-e", "cpu-clock:u", "-o", "parts", "--", "sh", "-c", "exit")
    if status:
        print("ok - parts of a directory # skip", err.strip())
        return
    parts = sorted(os.listdir("parts"))
    check("data" in parts and "data.0" in parts, "a directory of files", parts)
    for part in (part for part in parts if os.path.getsize(f"parts/{part}")):
        status, _, err = run("report", "-i", f"parts/{part}")
        check(status == 1 and "part of a recording" in err and err.rstrip().endswith("Give the directory: parts."), f"parts/{part}", err)
    os.rename("parts/data", "parts/other")
    with open("parts/data.0", "wb") as out:
        out.write(b"nothing that is known")
    _, _, err = run("report", "-i", "parts/data.0")
    check("it does not start with PERFILE2" in err, "a name alone is no part", err)


def check_missing():
    """Commands that record name themselves."""
    for words, hint in ((["report"], "perch record"), (["lock", "contention"], "perch lock record"), (["sched", "latency"], "perch sched record"),
                        (["kwork", "report"], "perch kwork record"), (["trace"], "perch trace record"), (["c2c", "report"], "perch c2c record")):
        status, _, err = run(*words, "-i", "missing")
        check(status == 1 and f"Record one first: {hint} PROGRAM" in err, " ".join(words) + " without a file", err)


def counts(text):
    """(count, event) of each line; the time too if there is one."""
    lines = (re.match(r" +(?:([\d.]+) +)?([\d.]+|<not counted>) +(?:msec )? *([a-z]\S*)", line) for line in text.splitlines())
    return [match.groups() for match in lines if match and match[3] != "seconds"]


def check_counts():
    loop = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
    for what, options in (("", ()), (" of intervals", ("-I", "20"))):
        try:
            done = perf("stat", "record", *options, "-o", "counts", "-e", "task-clock:u,page-faults:u", "--", "sh", "-c", loop)
            if done.returncode:
                print("ok - counts of perf stat record # skip perf stat record failed")
                return
            reported = perf("stat", "report", "-i", "counts")
        except peer.Died as died:
            print("ok - counts of perf stat record # skip", died)
            return
        status, out, err = run("report", "-i", "counts")
        expected = counts(reported.stdout + reported.stderr)
        check(status == 0 and expected and counts(out) == expected, "counts of perf stat record are those of perf stat report" + what,
              "%s\n%s\n%s" % (out, reported.stderr, err))
        check("counts is from stat record: it has counts and no samples; perch stat report" in err and "longer" not in err,
              "report says what the file is" + what, err)
        status, _, err = run("script", "-i", "counts")
        check("it has counts and no samples; perch stat report prints them" in err, "script names what prints the counts" + what, err)


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        check_foreign()
        check_parts()
        check_missing()
        check_counts()
        os.chdir("/")
    return cases.failed


if __name__ == "__main__":
    sys.exit(main())
