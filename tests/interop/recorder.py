#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perf reports the recording that a program has made of its own threads by perch/recorder.h (examples/record-myself.c)."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
from cases import check, limit
import peer

EXAMPLE = os.path.join(os.environ.get("PERCH_BUILD_ROOT", "build"), "examples/record-myself")
PERCH = os.environ.get("PERCH", "perch")


def shares(text):
    """The percentages of the names of threads in a report."""
    return {name: float(share) for share, name in re.findall(r"^ *([\d.]+)% +(\w+)", text, re.M)}


def by_command(program, path):
    return peer.run([program, "report", "--stdio", "--sort", "comm", "-i", path], stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=limit(60))


def check_report(program, path, name):
    """Both threads run the same loop."""
    done = by_command(program, path)
    found = shares(done.stdout)
    check(set(found) >= {"parser", "painter"} and min(found["parser"], found["painter"]) > 20, f"{name}: both threads", done)
    done = peer.run([program, "report", "--stdio", "--sort", "sym", "-i", path], stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=limit(60))
    check(re.search(r"^ *(?:9\d|100)\.\d+%.*\bwork\b", done.stdout, re.M), f"{name}: their function", done)


def main():
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "self.data")
        done = subprocess.run([EXAMPLE, path], capture_output=True, text=True, timeout=limit(60), check=False)
        samples = re.match(r"(\d+) samples in ", done.stdout)
        check(done.returncode == 0 and not done.stderr and samples and int(samples[1]) > 20, "the program records itself", done)
        check_report(PERCH, path, "perch report")
        listed = subprocess.run([PERCH, "buildid-list", "-i", path], capture_output=True, text=True, check=False)
        check(os.path.realpath(EXAMPLE) in listed.stdout and "[vdso]" in listed.stdout, "build ids of its files", listed)
        header = subprocess.run([PERCH, "report", "--header-only", "-i", path], capture_output=True, text=True, check=False)
        check("# hostname" in header.stdout and "time of first sample" in header.stdout, "the machine and the times", header)
        if not shutil.which("perf"):
            print("ok - perf report # skip perf is not installed")
            return int(cases.failed)
        try:
            check_report("perf", path, "perf report")
        except peer.Died as died:
            print(f"ok - perf report # skip {died}")
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
