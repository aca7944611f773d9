#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples of tracepoints are printed as perf script prints them, line by line."""
import os
import sys
import tempfile

import cases
import peer
from cases import check
from peer import result

PERF = os.environ.get("PERF", "perf")
EXAMPLE = os.path.join(os.environ.get("PERCH_BUILD_ROOT", "build"), "examples/trace-text")
# libtraceevent takes "flags & (a | b)" for "(flags & a) | b": perch prints their fields
WRONG = {"timer:timer_start", "kmem:mm_page_alloc_extfrag"}
PROGRAM = "ls /usr/include >/dev/null; sleep 0.05; dd if=/dev/zero of=$0 bs=4k count=10 conv=fsync 2>/dev/null; (kill -9 $$) & wait"


def without_wrong(events):
    """Replaces "system:*" by its events if some of them are in WRONG."""
    systems = {name.split(":")[0] for name in WRONG}
    names = []
    for event in events.split(","):
        system = event.split(":")[0]
        if system not in systems:
            names.append(event)
            continue
        directory = "/sys/kernel/tracing/events/" + system
        names += [system + ":" + name for name in sorted(os.listdir(directory)) if os.path.isdir(os.path.join(directory, name))]
    return ",".join(name for name in names if name not in WRONG)


@peer.part
def compare(directory, events):
    path = os.path.join(directory, "trace.data")
    # the program ends with a signal, which is perf's status then
    result(PERF, "record", "-q", "-B", "-o", path, "-e", without_wrong(events), "--", "sh", "-c", PROGRAM, os.path.join(directory, "file"))
    status, out, err = result(PERF, "script", "-f", "-i", path, "-F", "trace")
    if status or not out.strip():
        print("skipped: %s: %s" % (events, err.strip()[:200]))
        return
    theirs = [line.strip() for line in out.splitlines()]
    status, out, err = result(EXAMPLE, path)
    ours = [line.split(": ", 1)[1].strip() for line in out.splitlines()]
    differ = [pair for pair in zip(theirs, ours) if pair[0] != pair[1]]
    check(not status and len(ours) == len(theirs) and not differ, "%s: %d samples as perf prints them" % (events, len(theirs)),
          "%d samples, %d differ: %s\n%s" % (len(ours), len(differ), differ[:2], err))
    check("printed as their fields" not in err, events + ": by their print fmt", err)


def main():
    if not os.path.isdir("/sys/kernel/tracing/events") and os.geteuid() == 0:
        result("mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing")
    if not os.path.exists(EXAMPLE) or not os.access("/sys/kernel/tracing/events/sched", os.R_OK | os.X_OK):
        print("skipped: tracefs cannot be read")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        for events in ("sched:*", "kmem:*", "irq:*,timer:*", "signal:*,task:*", "writeback:*,block:*,filemap:*", "syscalls:sys_*_openat",
                       "rcu:*,workqueue:*"):
            compare(directory, events)
    return cases.failed


sys.exit(main())
