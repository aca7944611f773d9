#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perf and perch read compressed recordings (perch record -z) as they read a copy of the same records without compression.

PERF_NEWEST names a perf of 6.16 or later, which reads COMPRESSED2 too.
"""
import glob
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
NEWEST = os.environ.get("PERF_NEWEST")
VIEWS = (["script", "--no-inline", "-F", "comm,tid,time,event,ip,sym"], ["report", "--stdio", "--no-inline", "-s", "comm,dso,sym"])
# of a recording without features, names of the kernel depend on the machine
WITHOUT_NAMES = (["script", "--no-inline", "-F", "comm,tid,time,event,ip"], )


def run(*command, **options):
    return peer.run(list(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace",
                    timeout=limit(120), **options)


def readers(compressed2=False):
    """The programs that read the recording."""
    yield PERCH
    if NEWEST:
        yield NEWEST
    if shutil.which("perf") and (not compressed2 or peer.version("perf") >= (6, 16)):
        yield "perf"


def lines_of(text):
    """The lines that do not name the file. perf orders rows of one percentage by their addresses in its memory."""
    return [line for line in text.splitlines() if not line.startswith(("# cmdline", "# (Tip: ")) and ".data" not in line]


def compare(path, compressed2=False, views=VIEWS, least=20):
    """All programs print the same of the recording and of its copy."""
    copied = run(COPY, path, "copy.data")
    check(copied.returncode == 0, f"{path}: a copy without compression", copied)
    for program in readers(compressed2):
        for view in views:
            try:
                # perf fails for a recording with a ring of another name, so both have one name
                shutil.copy(path, "one.data")
                first = run(program, *view, "-i", "one.data")
                shutil.copy("copy.data", "one.data")
                second = run(program, *view, "-i", "one.data")
            except peer.Died as died:
                print(f"ok - {path}: {program} {view[0]} # skip {died}")
                continue
            lines, others = lines_of(first.stdout), lines_of(second.stdout)
            if view[0] == "report":
                lines, others = sorted(lines), sorted(others)
            different = [(a, b) for a, b in zip(lines, others) if a != b]
            check(first.returncode == second.returncode and (not first.returncode or not least) and len(lines) >= least and lines == others,
                  f"{path}: {os.path.basename(program)} {view[0]} has the same {len(lines)} lines without compression", first.stderr,
                  second.stderr, str(len(others)), str(different[:3]))


def record(path, *options, work=None):
    done = run(PERCH, "record", "-o", path, "-e", "cpu-clock", "-F", "2000", *options, "--", *(work or WORK))
    check(done.returncode == 0, f"record {' '.join(options)}", done)
    return done


def header(path):
    text = run(PERCH, "report", "--header-only", "-i", path).stdout
    return re.search(r"^# compressed : Zstd, level = (\d+), ratio = (\d+)$", text, re.M)


def stats(path):
    text = run(PERCH, "report", "--stats", "-i", path).stdout.split("stats:")[1]
    return {name: int(count) for name, count in re.findall(r"(\w+) events: +(\d+)", text)}


def check_types():
    for name, options, kind in (("old.data", ["-z", "-g"], "COMPRESSED"), ("new.data", ["-zcompressed2", "-g"], "COMPRESSED2"),
                                ("level.data", ["--compression-level=9,compressed2", "-g"], "COMPRESSED2")):
        done = record(name, *options)
        found = header(name)
        check(found and int(found[1]) == (9 if "9" in options[0] else 1) and int(found[2]) > 1, f"{name}: level and ratio in the header")
        check(re.search(r"compressed \(original [\d.]+ MB, ratio is [\d.]+\)", done.stderr), f"{name}: the ratio is printed", done.stderr)
        counts = stats(name)
        check(counts.get(kind) and len(counts.keys() & {"COMPRESSED", "COMPRESSED2"}) == 1, f"{name}: records are {kind}", str(counts))
        compare(name, kind == "COMPRESSED2")


def check_stacks():
    """Copies of stacks become at least 8 times smaller."""
    done = record("stacks.data", "--call-graph", "dwarf", "-z")
    found = re.search(r"original ([\d.]+) MB, ratio is ([\d.]+)", done.stderr)
    # little was recorded on a machine that is slow: then the build ids are most of the file
    check(found and (float(found[2]) >= 8 or float(found[1]) < 0.5), "copies of stacks: a ratio of 8", done.stderr)
    compare("stacks.data")


def check_pipe():
    with open("pipe.data", "wb") as to:
        done = subprocess.run([PERCH, "record", "-o", "-", "-z", "-q", "-e", "cpu-clock", "--", *WORK], stdout=to, stderr=subprocess.PIPE,
                              check=False, timeout=limit(60))
    check(done.returncode == 0, "record -z -o -", done)
    compare("pipe.data")


def check_several():
    """Each of several files, and each snapshot, is a stream of its own."""
    for name, options in (("several", ["--switch-output=20K"]), ("snapshot", ["--overwrite", "--switch-output=signal"])):
        record(f"{name}.data", "-z", "-g", *options, work=["sh", "-c", "for i in $(seq 50); do /bin/true; done; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"])
        files = sorted(glob.glob(f"{name}.data.2*"))
        check(files, f"{name}: {len(files)} files")
        for path in files[:2] + files[-1:]:
            check(header(path) is not None, f"{name}: a file is compressed")
            compare(path, least=0)      # a short one may have no samples


def check_killed():
    """A recorder that is killed leaves what it has written, for perf too."""
    with subprocess.Popen([PERCH, "record", "-z", "-q", "-g", "-e", "cpu-clock", "-o", "killed.data", "--", "sh", "-c",
                           "while kill -0 $PPID; do /bin/true; done"], stderr=subprocess.DEVNULL) as recorder:
        end = time.monotonic() + limit(30)
        while time.monotonic() < end and not (os.path.exists("killed.data") and os.path.getsize("killed.data") > 20000):
            time.sleep(0.05)
        recorder.send_signal(signal.SIGKILL)
    compare("killed.data", views=WITHOUT_NAMES)
    done = run(PERCH, "report", "--stdio", "-i", "killed.data")
    check("is incomplete" in done.stderr, "killed.data: perch says that it is incomplete", done.stderr)


def check_errors():
    for text, message in (("0", "from 1 (fast) to 22 (small)"), ("23", "from 1"), ("3,", "from 1"), ("3x", "from 1"), ("zip", "compressed2")):
        done = run(PERCH, "record", f"-z{text}", "-o", "never.data", "--", "true")
        check(done.returncode == 2 and message in done.stderr and not os.path.exists("never.data"), f"-z{text} is refused", done)
    done = run(PERCH, "record", "-z3", "--no-compression-level", "-q", "-o", "plain.data", "--", "true")
    check(done.returncode == 0 and not header("plain.data"), "--no-compression-level", done)


def main():
    probe = subprocess.run([PERCH, "record", "-z", "-q", "-o", "/dev/null", "--", "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        print(f"skipped: cannot record with compression here: {probe.stderr}")
        return 77
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for part in (check_types, check_stacks, check_pipe, check_several, check_killed, check_errors):
            part()
        os.chdir("/")
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
