#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One thing has one name: report, script, exports and pages name threads and functions of one recording alike."""
import json
import os
import subprocess
import sys
import tempfile

import built
from cases import check
import cases

PERCH = os.environ.get("PERCH", "perch")


def run(*words):
    done = subprocess.run((PERCH, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        check(False, " ".join(words), done.stderr.decode())
    return done.stdout.decode(errors="replace")


def check_long_names():
    """Other recorders write names of threads that the kernel would cut."""
    name = "thread-" + "x" * 900 + "-7"
    built.write("long.data", [built.comm(1, name.encode()), built.sample([built.CONTEXT_USER, 0x1000])])
    texts = {
        "report": run("report", "-i", "long.data", "--stdio", "-s", "comm"),
        "report of threads": run("report", "-i", "long.data", "--stdio", "-s", "tid"),
        "report --tasks": run("report", "-i", "long.data", "--tasks"),
        "script": run("script", "-i", "long.data"),
        "script of lines": run("script", "-i", "long.data", "-F", "comm,ip", "--show-task-events"),
        "script -j": run("script", "-i", "long.data", "-j"),
        "folded": run("export", "-i", "long.data", "--format", "folded", "--with-tid"),
        "speedscope": run("export", "-i", "long.data", "--format", "speedscope"),
        "json": run("export", "-i", "long.data", "--format", "json"),
        "svg": run("flamegraph", "-i", "long.data", "--svg", "-o", "-"),
        "text as svg": run("flamegraph", "--svg", "-o", "-", "long.txt") if open("long.txt", "w").write(run("script", "-i", "long.data")) else "",
        "dump": run("dump", "-i", "long.data"),
    }
    for view, text in texts.items():
        check(name in text, f"{view} has the whole name of a thread of {len(name)} bytes", text[:400])
    without = run("report", "-i", "long.data", "--stdio", "-s", "comm_nodigit")
    check(name[:-1] + "<N>" in without, "the name without digits", without[:400])


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    check_long_names()
sys.exit(1 if cases.failed else 0)
