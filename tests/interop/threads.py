#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perf and perch read the directories of perch record --threads: each sample that was written, in the order of time.

PERF_NEWEST names another version of perf.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import cases
from cases import check, limit
import peer

PERCH = os.environ.get("PERCH", "perch")
COPY = os.path.join(os.environ.get("PERCH_BUILD_ROOT", "build"), "tests/interop/plain_copy")
WORK = ["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do /bin/true; done; i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done"]
READERS = [PERCH, *filter(None, [os.environ.get("PERF_NEWEST"), shutil.which("perf")])]
CPUS = sorted(os.sched_getaffinity(0))


def run(*command):
    return peer.run(list(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace",
                    timeout=limit(120))


def record(path, *options, work=None):
    done = run(PERCH, "record", "-o", path, "-e", "cpu-clock", "-F", "2000", *options, "--", *(work or WORK))
    check(done.returncode == 0, f"record {' '.join(options)}", done)
    found = re.search(r"\((\d+) samples\)", done.stderr)
    return int(found[1]) if found else -1


def parts(path):
    return sorted(name for name in os.listdir(path) if name != "data")


def script(program, path):
    done = run(program, "script", "--no-inline", "-F", "comm,tid,time,event,ip,sym", "-i", path)
    return done, [line for line in done.stdout.splitlines() if line.strip()]


def compare(path, samples):
    """Each program prints the samples of the directory, and the same lines as of one file with the same records."""
    copied = run(COPY, path, "copy.data")
    check(copied.returncode == 0, f"{path}: a copy in one file", copied)
    for program in READERS:
        name = os.path.basename(program)
        try:
            done, lines = script(program, path)
            _, others = script(program, "copy.data")
        except peer.Died as died:
            print(f"ok - {path}: {name} # skip {died}")
            continue
        times = [float(time) for time in re.findall(r" (\d+\.\d+):", done.stdout)]
        check(done.returncode == 0 and len(times) == samples, f"{path}: {name} has all {samples} samples", done, str(len(times)))
        check(times == sorted(times), f"{path}: {name} has the order of time")
        # samples of one moment may be in either order
        check(sorted(lines) == sorted(others), f"{path}: {name} has the lines of one file", str(len(lines)), str(len(others)))


def check_kinds():
    for kind in ("cpu", "core", "package", "numa"):
        samples = record(f"{kind}.data", f"--threads={kind}", "-g")
        files = parts(f"{kind}.data")
        check(files and files == [f"data.{i}" for i in range(len(files))], f"{kind}: files of {len(files)} threads")
        compare(f"{kind}.data", samples)
    check(len(parts("cpu.data")) == os.cpu_count() or len(CPUS) < os.cpu_count(), "a thread for each CPU", parts("cpu.data"))
    head = run(PERCH, "report", "--header-only", "-i", "cpu.data")
    check("# directory data version : 1" in head.stdout and "# hostname" in head.stdout, "the header is that of a directory", head)


def check_compressed():
    samples = record("packed.data", "--threads", "-z", "-g")
    head = run(PERCH, "report", "--header-only", "-i", "packed.data").stdout
    found = re.search(r"^# compressed : Zstd, level = 1, ratio = (\d+)$", head, re.M)
    check(found and int(found[1]) > 1, "level and ratio of all files are in the header", head)
    compare("packed.data", samples)


def check_lists():
    with open("/sys/devices/system/cpu/online", encoding="ascii") as file:
        online = file.read().strip()
    samples = record("one.data", f"--threads={online}/{CPUS[0]}")
    check(parts("one.data") == ["data.0"], "one thread for all rings", parts("one.data"))
    compare("one.data", samples)
    for text, message in ((f"{CPUS[0]}", "no list of threads"), ("core,numa", "no list of threads"), ("", "no list of threads"),
                          (f"{online}/{online}:{CPUS[0]}/{online}", "in the lists of 2 threads"), ("9999/0", "in the lists of 0 threads")):
        done = run(PERCH, "record", f"--threads={text}", "-o", "never.data", "--", "true")
        check(done.returncode != 0 and message in done.stderr and not os.path.exists("never.data"), f"--threads={text} is refused", done)
    for option in ("--switch-output", "--overwrite", "--per-thread", "--durable", "-o-"):
        done = run(PERCH, "record", "--threads", option, "--", "true")
        check(done.returncode == 2 and "exclude each other" in done.stderr, f"--threads {option} is refused", done)


def check_names():
    """A directory is renamed as a file is, and removed only if it is a recording."""
    for first in ((), ("--threads", )):
        for second in ((), ("--threads", )):
            for options in (first, second, first):
                record("same.data", *options, work=["true"])
            check(os.path.isdir("same.data") == bool(first) and os.path.isdir("same.data.old") == bool(second),
                  f"{first or 'a file'} after {second or 'a file'}")
    os.mkdir("mine.data")
    with open("mine.data/data", "w", encoding="ascii") as file:
        file.write("my notes")
    for options in ((), ("--threads", )):
        done = run(PERCH, "record", *options, "-o", "mine.data", "--", "true")
        check(done.returncode != 0 and "is a directory" in done.stderr and os.listdir("mine.data") == ["data"],
              f"another directory is left alone {options}", done)
    os.rename("mine.data", "other.data.old")
    for options in ((), ("--threads", )):
        with open("other.data", "w", encoding="ascii") as file:
            file.write("mine, too")
        run(PERCH, "record", *options, "-o", "other.data", "--", "true")
        check(os.path.isfile("other.data.old/data"), f"a directory in the way of the old file is left alone {options}")


def check_targets():
    """The recording ends with the process that it records."""
    # it runs until it is recorded, then some more
    work = "while [ ! -e pid.data/data.0 ]; do :; done; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"
    with subprocess.Popen(["sh", "-c", work]) as target:
        try:
            done = run(PERCH, "record", "--threads", "-e", "cpu-clock", "-o", "pid.data", "-p", str(target.pid))
        finally:
            target.kill()
    check(done.returncode == 0 and re.search(r"\([1-9]\d* samples\)", done.stderr), "record --threads -p ends with the process", done)


def check_killed():
    with subprocess.Popen([PERCH, "record", "--threads", "-z", "-q", "-g", "-e", "cpu-clock", "-o", "killed.data", "--", "sh", "-c",
                           "while kill -0 $PPID; do /bin/true; done"], stderr=subprocess.DEVNULL) as recorder:
        end = time.monotonic() + limit(30)
        while time.monotonic() < end and not (os.path.exists("killed.data/data.0") and
                                              sum(os.path.getsize(f"killed.data/{name}") for name in parts("killed.data")) > 20000):
            time.sleep(0.05)
        recorder.send_signal(signal.SIGKILL)
    done, lines = script(PERCH, "killed.data")
    check(done.returncode == 0 and len(lines) > 20 and "is incomplete" in done.stderr, "perch reads what a killed recorder has written", done)


def check_full():
    """A thread that cannot write ends the recording, and what it has written is read."""
    done = run("bash", "-c", f"ulimit -f 40; exec '{PERCH}' record --threads -e cpu-clock -F 4000 -g -o full.data -- "
               "sh -c 'for i in $(seq 3000); do /bin/true; done'")
    check(done.returncode != 0 and "full.data/data" in done.stderr, "a file at its limit", done)
    done, lines = script(PERCH, "full.data")
    check(done.returncode == 0 and lines, "what fits is read", done)


def main():
    probe = subprocess.run([PERCH, "record", "-q", "-o", "/dev/null", "--", "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        print(f"skipped: cannot record here: {probe.stderr}")
        return 77
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        probe = subprocess.run([PERCH, "record", "-z", "-q", "-o", "probe.data", "--", "true"], capture_output=True, text=True, check=False)
        for part in (check_kinds, check_lists, check_names, check_targets, check_full, *([] if probe.returncode else
                                                                                         [check_compressed, check_killed])):
            part()
        os.chdir("/")
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
