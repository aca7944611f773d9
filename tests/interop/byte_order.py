#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests recordings that are converted to the other byte order: perch prints the same reports of both files.

perch and the installed perf (PERF) make recordings; PERCH_FIXTURES is a directory with others. other_order.py converts
them. perf reads both byte orders too, so it checks the conversion."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import other_order
import peer
import cases
from cases import check

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")
VIEWS = (("report", "--stdio"), ("script",), ("report", "--stats"), ("report", "--header-only", "-I"), ("dump",))
PROGRAM = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; ls / >/dev/null"


def output(*words):
    """Returns exit status and output, without the line of the file's modification time."""
    done = peer.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                          errors="replace")
    return done.returncode, [line for line in done.stdout.splitlines() if not line.startswith("# captured on")]


def without_bytes(lines):
    """Removes the bytes that perch dump prints in the byte order of the file: features of pipes, copies of stacks."""
    result, inside = [], False
    for line in lines:
        if not line.startswith(" "):
            inside = "FEATURE" in line
        if not line.strip().startswith(("data ", "user_stack.data ") if inside else "user_stack.data "):
            result.append(line)
    return result


def compare_perch(name, native, foreign):
    views = [view for view in VIEWS if view != ("dump",) or output(PERCH, "help", "dump")[0] == 0]
    for view in views:
        before, after = output(PERCH, *view, "-i", native), output(PERCH, *view, "-i", foreign)
        if view == ("dump",):
            before, after = (before[0], without_bytes(before[1])), (after[0], without_bytes(after[1]))
        where = next((i for i, (a, b) in enumerate(zip(before[1], after[1])) if a != b), None)
        check(before == after and before[0] == 0, f"perch {' '.join(view)} of {name}")
        if where is not None:
            print(f"  {before[1][where]}\n  {after[1][where]}")


@peer.part
def compare_perf(name, native, foreign):
    """Compares with perf. perf 6.1 cannot read old pipes of the other order, and does not unwind their stacks."""
    fields = ["-F", "comm,tid,time,event,ip" if "stacks" not in name else "comm,tid,time,event"]
    before, after = (output(PERF, "script", "-f", *fields, "-i", file) for file in (native, foreign))
    if before[0] or after[0]:
        print(f"ok - perf script of {name} # skip perf does not read the file")
    else:
        check(before == after, f"perf script of {name}")


def compare(name, native, work):
    foreign = os.path.join(work, "foreign")
    try:
        other_order.convert(native, foreign)
    except SystemExit as why:
        print(f"ok - {name} # skip {why}")
        return
    compare_perch(name, native, foreign)
    if shutil.which(PERF):
        compare_perf(name, native, foreign)


def recorded(work):
    """Tests files that are recorded on this machine."""
    path = os.path.join(work, "native")
    ways = [("perch record", [PERCH, "record", "-q", "-F", "999", "-e", "cpu-clock", "-o", path]),
            ("perch record -g of two events", [PERCH, "record", "-q", "-g", "-e", "cpu-clock,page-faults", "-o", path])]
    if shutil.which(PERF):
        base = [PERF, "record", "-q", "-o", path]
        ways += [("perf record -g", base + ["-g", "-e", "cpu-clock"]),
                 ("perf record of a group with reads", base + ["-e", "{cpu-clock,page-faults}:S", "-c", "50000"]),
                 ("perf record of stacks and registers", base + ["--call-graph", "dwarf,1024", "-e", "cpu-clock", "-F", "200"]),
                 ("perf record of many types", base + ["-e", "cpu-clock", "-adT", "--namespaces", "--switch-events", "--phys-data"]),
                 ("perf record of registers", base + ["-e", "cpu-clock", "-I", "--user-regs=ip,sp"])]
    for name, words in ways:
        if os.path.exists(path):
            os.unlink(path)
        done = peer.try_run(words + ["--", "sh", "-c", PROGRAM], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, text=True, errors="replace")
        if not peer.fault(done.returncode) and os.path.exists(path) and os.path.getsize(path) > 200:
            yield name, path
        else:
            print(f"ok - {name} # skip cannot record: {done.stderr.strip()[:100]!r}")


@peer.part
def piped(work):
    """Tests perf record -o -, by a file and by standard input."""
    path = os.path.join(work, "piped")
    with open(path, "wb") as stream:
        peer.run([PERF, "record", "-q", "-o", "-", "-e", "cpu-clock", "-g", "--", "sh", "-c", PROGRAM], stdout=stream,
                 stderr=subprocess.DEVNULL)
    if os.path.getsize(path) < 200:
        print("ok - perf record -o - # skip cannot record")
        return
    compare("perf record -o -", path, work)
    for view in VIEWS[:3]:
        for named in ([], ["-i", "-"]):
            with open(path, "rb") as stream, subprocess.Popen(["cat"], stdin=stream, stdout=subprocess.PIPE) as cat:
                done = subprocess.run([PERCH, *view, *named], stdin=cat.stdout, stdout=subprocess.PIPE, text=True,
                                      stderr=subprocess.DEVNULL, errors="replace", check=False)
            check(done.stdout.splitlines() == output(PERCH, *view, "-i", path)[1],
                   " ".join(["perf record -o - | perch", *view, *named]))


def directories(work):
    """Tests perf record --threads, also compressed, with the counts of perf."""
    for more in ([], ["-z"]):
        directory(work, more)


@peer.part
def directory(work, more):
    path = os.path.join(work, "threads" + "".join(more))
    name = " ".join(["perf record --threads", *more])
    peer.run([PERF, "record", "-q", "--threads", *more, "-o", path, "-a", "-e", "cpu-clock", "-F", "500", "--", "sh", "-c", PROGRAM],
             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not os.path.isdir(path):
        print(f"ok - {name} # skip perf has no --threads")
        return
    check(counts(PERF, path) == counts(PERCH, path), f"report --stats of {name}")
    # names of threads may have blanks and colons
    times = [float(time) for time in re.findall(r" (\d+\.\d+): +\d+ cpu-clock:", "\n".join(output(PERCH, "script", "-i", path)[1]))]
    check(len(times) > 0 and times == sorted(times), f"script of {name} is in the order of time")


def counts(command, path):
    words = (line.split() for line in output(command, "report", "--stats", "-i", path)[1])
    found = {}
    for word in words:
        if len(word) > 2 and word[1] == "events:" and word[0] not in found:
            found[word[0]] = word[2]
    return found


def main():
    with tempfile.TemporaryDirectory() as work:
        for name, path in recorded(work):
            compare(name, path, work)
        if shutil.which(PERF):
            piped(work)
            directories(work)
        fixtures = os.environ.get("PERCH_FIXTURES")
        for directory, _, files in sorted(os.walk(fixtures)) if fixtures else ():
            for file in sorted(files):
                path = os.path.join(directory, file)
                with open(path, "rb") as stream:
                    if stream.read(8) == other_order.MAGIC and "corrupted" not in file:
                        compare(file, path, work)
    sys.exit(cases.failed)


main()
