#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch script --filter selects the samples that the kernel selects by the same expression."""
import os
import re
import shutil
import sys
import tempfile

import cases
from cases import check
from peer import captured

PERCH = os.environ.get("PERCH", "perch")
MARK = "mark%d" % os.getpid()      # a program of which no other test has the name: it runs at both ends
PROGRAM = "$0; i=0; while [ $i -lt 30 ]; do cat /etc/passwd /etc/group >/dev/null; ls -l / >/dev/null; i=$((i + 1)); done; $0"
# Of what a program does, some of these are true and some are false. The kernel does not find "*x" at the end of a char[16] that is not full.
EXPRESSIONS = {
    "sched:sched_switch": ("prev_pid == 0", "prev_pid != 0 && next_comm ~ \"*a*\"", "!(prev_state & 1) || next_prio > 120", "prev_comm == 'sh'",
                           "prev_state == 0x1 && (next_pid > 0 || prev_comm ~ '[a-l]?*')", "next_comm ~ \"!c?t\" && prev_pid >= 1",
                           "cpu == 0", "comm != \"swapper/0\" && !prev_pid == 0"),
    "syscalls:sys_exit_openat": ("ret < 0", "ret >= 3 && comm == cat", "ret == -2", "ret == -2 || comm ~ \"*l*\"", "common_pid & 1"),
}


def names(path, *options):
    done = captured(PERCH, "script", "-i", path, "-F", "event", *options)
    return [line.strip(" :") for line in done.stdout.splitlines()], done


def by_cpu(path, *options):
    """The times and traces of the samples of each CPU and event, the times of MARK in "all", and the perch that printed them."""
    done = captured(PERCH, "script", "-i", path, "--ns", "-F", "comm,cpu,time,event,trace", *options)
    traces, marks = {}, []
    for line in done.stdout.splitlines():
        found = re.match(r"\s*(.*?)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(all|some):\s*(.*)", line)
        if found:
            time = int(found[3] + found[4])
            traces.setdefault((found[2], found[5]), []).append((time, found[6]))
            if found[1] == MARK and found[5] == "all":
                marks.append(time)
    return traces, marks, done


def within(traces, marks):
    return [trace for time, trace in traces if min(marks) <= time <= max(marks)]


def same_but_ends(left, right):
    """The two samples of what happened at the time of a mark stand on both sides of this time: at each end one of the two may lack one."""
    cuts = [(first, last) for first in range(2) for last in range(2)]
    return any(left[a:len(left) - b] == right[c:len(right) - d] for a, b in cuts for c, d in cuts)


def as_the_kernel(directory, event, expression):
    """The event is recorded twice, once with a filter: the same samples of the other one match. The two are not enabled and
    disabled at one moment, and other programs run meanwhile: what counts stands between the marks."""
    path = os.path.join(directory, "filter.data")
    expression = expression.replace("== cat", '== "cat"')
    done = captured(PERCH, "record", "-q", "-m", "4M", "-o", path, "-e", event + "/name=all/", "-e", event + "/name=some/", "--filter", expression, "-a", "--",
               "sh", "-c", PROGRAM, os.path.join(directory, MARK))
    if done.returncode:
        print("skipped: %s: %s" % (event, done.stderr.strip()[:200]))
        return
    every, marks, _ = by_cpu(path)
    selected, _, done = by_cpu(path, "--filter", expression)
    cpus = {cpu for cpu, _ in every}
    of = {name: {cpu: within(traces.get((cpu, event), []), marks) for cpu in cpus}
          for name, traces, event in (("matching", selected, "all"), ("kernel", every, "some"), ("matching of kernel", selected, "some"))}
    nr = {name: sum(map(len, lists.values())) for name, lists in of.items()}
    nr_of_all = sum(len(within(traces, marks)) for (_, event), traces in every.items() if event == "all")
    check(of["matching of kernel"] == of["kernel"] and all(same_but_ends(of["matching"][cpu], of["kernel"][cpu]) for cpu in cpus)
          and not done.returncode, "%s: %s: %d of %d samples" % (event, expression, nr["matching"], nr_of_all), "%s\n%s" % (nr, done.stderr))


def of_several_events(directory):
    path = os.path.join(directory, "several.data")
    done = captured(PERCH, "record", "-q", "-o", path, "-e", "sched:sched_switch", "-e", "sched:sched_process_exit", "-e", "cpu-clock", "-a", "--", "sh",
               "-c", "true; ls >/dev/null")
    if done.returncode:
        print("skipped: two tracepoints: " + done.stderr.strip()[:200])
        return
    selected, _ = names(path, "--filter", "prio > 0")
    check(selected and set(selected) == {"sched:sched_process_exit"}, "samples of events with the field", selected[:5])
    selected, _ = names(path, "--filter", "prio > 0 || prev_prio > 0")
    check(set(selected) == {"sched:sched_process_exit", "sched:sched_switch"}, "of both events", set(selected))
    done = captured(PERCH, "report", "-i", path, "--stdio", "-s", "comm", "-n", "--filter", "prio > 0")
    check("event 'sched:sched_process_exit'" in done.stdout and not done.returncode, "perch report --filter", done.stderr)
    done = captured(PERCH, "export", "-F", "folded", "-e", "sched:sched_process_exit", "-i", path, "--filter", "prio > 0")
    ours = sum(int(line.rpartition(" ")[2]) for line in done.stdout.splitlines())
    selected, _ = names(path, "--filter", "prio > 0")
    check(ours == len(selected) > 0, "perch export --filter", (ours, len(selected), done.stderr))
    done = captured(PERCH, "script", "-i", path, "--filter", "prev_pid == 7777777")
    check(not done.stdout and "no sample of a tracepoint has fields for which 'prev_pid == 7777777' is true" in done.stderr,
          "says that no sample matches", done.stderr)
    check("The first one with such fields: prev_comm=" in done.stderr, "shows the fields of a sample", done.stderr)
    for expression, message in (("prev_pid", "expected an operator"), ("prev_pdi == 1", "Did you mean prev_pid?"),
                                ("prev_pid == \"a\"", "is a number"), ("next_comm == 3", "is text")):
        done = captured(PERCH, "script", "-i", path, "--filter", expression)
        check(done.returncode == 2 and not done.stdout and message in done.stderr, "refuses " + expression, done.stderr)
    captured(PERCH, "record", "-q", "-o", path, "-e", "cpu-clock", "true")
    done = captured(PERCH, "script", "-i", path, "--filter", "prev_pid == 1")
    check(done.returncode == 1 and "has no tracepoint" in done.stderr, "says that there is no tracepoint", done.stderr)


def main():
    if os.geteuid():
        print("skipped: only root records tracepoints of all processes")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(shutil.which("true"), os.path.join(directory, MARK))
        for event, expressions in EXPRESSIONS.items():
            for expression in expressions:
                as_the_kernel(directory, event, expression)
        of_several_events(directory)
    return cases.failed


sys.exit(main())
