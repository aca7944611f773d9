#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch sched and perf sched print the same numbers of the same recording, made by either: the runs, waits and delays of timehist, and
the delays of latency. Where the versions of perf differ, perch has what one of them has: perf 6.1 reads prev_state wrongly, so it has
no delays of preempted threads. Lines of perch that may be wrong have a question mark, and are counted apart."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
import peer

PERCH = os.environ.get("PERCH", "perch")
PERFS = [perf for perf in (os.environ.get("PERF", "perf"), os.environ.get("NEWEST_PERF", "newest-perf")) if shutil.which(perf)]
# the last one reads prev_state wrongly
VERSION = subprocess.run([PERFS[-1], "--version"], capture_output=True, text=True, check=False).stdout if PERFS else ""
OLD = [int(number) for number in re.findall(r"\d+", VERSION)[:2]] < [6, 9]
WORKLOAD = ["sh", "-c", "for i in 1 2 3 4 5 6; do (sleep 0.01; ls -R /etc >/dev/null 2>&1) & (seq 20000 | sort -n >/dev/null) & done; wait"]


def run(*words):
    return peer.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")


def lines_of(command, file, *options):
    """Of timehist: by time and CPU, the texts of wait, delay and run, and whether the line may be wrong."""
    result = run(command, "sched", "timehist", "-i", file, *options)
    lines = {}
    for match in re.finditer(r"^ *(\d+\.\d+) \[(\d+)\] .*? +(\d+\.\d+) +(\d+\.\d+) +(\d+\.\d+)(\??) *$", result.stdout, re.M):
        time, cpu, wait, delay, ran, doubt = match.groups()
        lines[time, int(cpu)] = (wait, delay, ran, doubt)
    return lines


def describe(command, file, times):
    """The lines of these times, and what the recording lacks."""
    text = run(command, "sched", "timehist", "-i", file).stdout.splitlines()
    lost = run(PERCH, "report", "--stats", "-i", file).stdout.splitlines()
    return [line for line in text if any(time in line for time, _ in times)] + [line.strip() for line in lost if "LOST" in line]


def compare_timehist(file, name, again=None, tries=3):
    """again: records anew, up to three times: a busy machine can make perf take records for disordered ones, which it then orders
    otherwise."""
    mine = lines_of(PERCH, file)
    theirs = [lines_of(perf, file) for perf in PERFS]
    certain = {key: line for key, line in mine.items() if not line[3]}
    cases.check(len(mine) > 50 and len(certain) > len(mine) * 0.7, f"{name}: most of the {len(mine)} lines are certain: {len(certain)}")
    for perf, lines in zip(PERFS, theirs):
        if not lines:
            print(f"skipped: {os.path.basename(perf)} does not read {name}")
            continue
        missing = [key for key in lines if key not in mine]
        more = [key for key in mine if key not in lines]
        same = len(missing) <= 3 + len(mine) // 100 and len(more) <= len(mine) // 20
        if not same and again and tries:
            print(f"{name}: recorded again, because lines differ: missing {len(missing)} {missing[:3]}, more {len(more)} {more[:3]}")
            again()
            compare_timehist(file, name, again, tries - 1)
            return
        details = [] if same else describe(perf, file, missing[:8]) + describe(PERCH, file, more[:8])
        cases.check(same, f"{name}: the lines of {os.path.basename(perf)}", f"missing {len(missing)}, more {len(more)}", *details)
    differing, unknown = [], 0
    for key, line in certain.items():
        others = [lines[key] for lines in theirs if key in lines]
        for column in range(3 if others else 0):
            values = {other[column] for other in others}
            if line[column] in values:
                continue
            # perf discards a thread when its EXIT record comes, before its last switch; and it takes no wakeup before the switch
            if column < 2 and "0.000" in values:
                unknown += 1
            else:
                differing.append(f"{key} {line} {others}")
    if len(differing) > len(certain) // 100 and again and tries:
        print(f"{name}: recorded again, because {len(differing)} of {len(certain)} lines differ: {differing[:3]}")
        again()
        compare_timehist(file, name, again, tries - 1)
        return
    cases.check(len(differing) <= len(certain) // 100, f"{name}: waits, delays and runs are those of perf", *differing[:5])
    cases.check(unknown <= len(certain) // 2, f"{name}: perf knows most waits and delays: all but {unknown} of {len(certain)}")


def rows_of(command, file):
    """Of latency -p: by thread, the runtime, the count, and the maximum."""
    output = run(command, "sched", "latency", "-p", "-i", file).stdout
    rows = collections.defaultdict(list)
    for match in re.finditer(r":(\d+) +\| +([\d.]+) ms \| +(\d+) \| avg: +([\d.]+) ms .*max: +([\d.]+) ms", output):
        rows[int(match[1])] = [float(match[2]), int(match[3]), float(match[4]), float(match[5]), "uncertain" in match.string[
            match.start():match.string.find("\n", match.start())]]
    return rows


def compare_latency(file, name):
    mine = rows_of(PERCH, file)
    theirs = rows_of(PERFS[-1], file)
    compared, equal, differing = 0, 0, []
    for tid, row in mine.items():
        if row[4] or tid not in theirs:
            continue
        other = theirs[tid]
        near = [abs(a - b) <= 0.0011 for a, b in zip(row[:4], other[:4])]
        compared += 1
        equal += all(near)
        # perf discards a thread when its EXIT record comes, and counts its last delay with 0 or not at all; before 6.9 it has no
        # delay after a preemption
        counted = other[1] - 2 <= row[1] and (OLD or row[1] <= other[1] + 2)
        if not near[0] or not counted or row[3] < other[3] - 0.0011:
            differing.append(f"{tid} {row} {other}")
    perf = os.path.basename(PERFS[-1])
    cases.check(compared > 5 and len(differing) <= compared // 20, f"{name}: {compared} rows of latency are near those of {perf}", *differing[:5])
    cases.check(OLD or equal >= compared // 2, f"{name}: at least half of them are equal: {equal} of {compared}")


def programs_read(file):
    rows = json.loads(run(PERCH, "sched", "latency", "-j", "-i", file).stdout)
    cases.check(all(row["p50_ns"] <= row["p90_ns"] <= row["p99_ns"] <= row["max_ns"] for row in rows),
                "percentiles grow up to the maximum")
    fields = [line.split(";") for line in run(PERCH, "sched", "latency", "-x", ";", "-i", file).stdout.splitlines()]
    cases.check(len(fields) == len(rows) + 1 and all(len(line) == len(fields[0]) for line in fields), "-x prints what -j prints")
    for name in ("latency", "timehist", "map"):
        fields = [line.split("s") for line in run(PERCH, "sched", name, "-x", "s", "-i", file).stdout.splitlines()[1:]]
        cases.check(len({len(line) for line in fields}) == 1, f"{name} -x: a separator in a name becomes a dot", fields[:3])
    cases.check(all(isinstance(row[key], int) for row in rows for key in ("max_start", "max_end")), "times are numbers")
    events = json.loads(run(PERCH, "sched", "timehist", "-j", "-wM", "-i", file).stdout)
    cases.check({event["event"] for event in events} >= {"run", "wakeup"}, "-j of timehist has runs and wakeups")
    runs = sum(event["run_ns"] for event in events if event["event"] == "run")
    summary = run(PERCH, "sched", "timehist", "-s", "-i", file).stdout
    total = float(re.search(r"Total run time \(msec\): +([\d.]+)", summary)[1])
    cases.check(abs(runs / 1e6 - total) < 0.01, f"the runs of -j add up to the sum of -s: {runs / 1e6} {total}")
    names = {f"{event['other_comm']}[{event['other_tid']}" for event in events if event["event"] == "run" and "other_comm" in event}
    nexts = re.findall(r" next: (\S.*?\[\d+)(?:/\d+)?\] *$", run(PERCH, "sched", "timehist", "-n", "-i", file).stdout, re.M)
    bare = re.findall(r" next: .*[^\] \n] *$", run(PERCH, "sched", "timehist", "-n", "--no-call-graph", "-i", file).stdout, re.M)
    cases.check(nexts and not [name for name in nexts if name not in names], "-n has whole names and ids of threads", nexts[:3])
    cases.check(all(line.rstrip().endswith("<idle>") for line in bare), "no name of -n is cut", bare[:3])
    lines = run(PERCH, "sched", "map", "-i", file).stdout.splitlines()
    cases.check(len(lines) > 50 and all("*" in line for line in lines), "each line of map marks a CPU")


def refusals():
    for word in ("replay", "stats"):
        result = run(PERCH, "sched", word)
        cases.check(result.returncode == 2 and "perch sched latency" in result.stderr, f"{word} is refused", result)
    for words in (("-s", "-j"), ("-s", "-x", ";"), ("-S", "-j"), ("-S", "-x", ";")):
        result = run(PERCH, "sched", "timehist", *words)
        cases.check(result.returncode == 2 and f"{words[0]} is for people" in result.stderr, f"timehist {' '.join(words)} is refused", result)
    for words in (("latency", "-t", "abc"), ("map", "-t", "5-9"), ("timehist", "-p", "1,")):
        result = run(PERCH, "sched", *words)
        cases.check(result.returncode == 2 and "expected numbers" in result.stderr, f"sched {' '.join(words)} is refused", result)
    result = run(PERCH, "help", "sched", "latency")
    cases.check(result.returncode == 0 and "--sort" in result.stdout, "help shows the options of a subcommand", result)
    cases.check("timehist" in run(PERCH, "help", "--complete", "sched", "").stdout.split(), "completions have the subcommands")
    result = run(PERCH, "sched", "latency", "-i", "none.data")
    cases.check(result.returncode == 1 and "none.data" in result.stderr, "a missing file is an error", result)


# Runs and sleeps, and prints its thread, and the times that it ran and was runnable, by the kernel.
PROGRAM = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct timespec pause = { 0, 2000000 }, now;
	char text[128];
	FILE *file;

	for (int i = 0; i < 150; i++) {
		clock_t start = clock();

		while (clock() - start < 5000)
			clock_gettime(CLOCK_MONOTONIC, &now);
		nanosleep(&pause, NULL);
	}
	file = fopen("/proc/self/schedstat", "r");
	if (file && fgets(text, sizeof(text), file))
		printf("%d %s", getpid(), text);
	return 0;
}
"""


def counts_of_the_kernel():
    """The times of a program by /proc/PID/schedstat. The kernel counts a delay from the moment when the thread is queued, which comes
    after its wakeup."""
    with open("program.c", "w", encoding="ascii") as file:
        file.write(PROGRAM)
    if subprocess.run(["cc", "-O1", "-o", "program", "program.c"], capture_output=True, check=False).returncode:
        print("skipped: no compiler")
        return
    if not any(count_once() for _ in range(4)):
        print("skipped: no recording without lost records, or no /proc/PID/schedstat")


def count_once():
    """Returns False if there is nothing to compare."""
    result = run(PERCH, "sched", "record", "-o", "program.data", "--", "./program")
    found = re.search(r"^(\d+) (\d+) (\d+) \d+$", result.stdout, re.M)
    if result.returncode or not found or "are recorded instead" in result.stderr:
        return False
    tid, ran, waited = (int(number) for number in found.groups())
    events = json.loads(run(PERCH, "sched", "timehist", "-j", "-t", str(tid), "-i", "program.data").stdout)
    runs = [event for event in events if event["event"] == "run" and event["tid"] == tid]
    rows = json.loads(run(PERCH, "sched", "latency", "-j", "-p", "-t", str(tid), "-i", "program.data").stdout)
    if any(event.get("uncertain") for event in runs) or "lost" in result.stderr:
        return False
    # exit, which is not counted in what the program printed, takes less than 1 ms
    mine = sum(event["run_ns"] for event in runs)
    cases.check(abs(mine - ran) < ran / 1000 + 1e6, f"the runs of a thread are the kernel's sum within 0.1 %: {mine} {ran}")
    cases.check(len(rows) == 1 and abs(rows[0]["runtime_ns"] - ran) < ran / 1000 + 1e6, "so is the runtime of latency", rows, ran)
    delay = sum(event["delay_ns"] for event in runs)
    cases.check(abs(delay - waited) < waited / 50 + 150 * 50e3, f"the delays are those of the kernel: {delay} {waited}")
    cases.check(rows and rows[0]["delay_ns"] == delay, "latency and timehist have the same delays", rows, delay)
    return True


def without_tracepoints():
    """A user who may not read tracepoints gets a recording of switches."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() or not setpriv:
        print("skipped: another user is needed")
        return
    os.chmod(".", 0o777)
    user = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/nonexistent"]
    result = run(*user, PERCH, "sched", "record", "-o", "user.data", "--", "sh", "-c", "sleep 0.02; seq 10000 | sort >/dev/null")
    if "are recorded instead" not in result.stderr or not os.path.exists("user.data"):
        print("skipped: this user may use tracepoints, or no events:", result.stderr)
        return
    cases.check("CAP_PERFMON" in result.stderr, "the note says what is needed", result.stderr)
    result = run(PERCH, "sched", "latency", "-f", "-j", "-i", "user.data")
    rows = json.loads(result.stdout)
    cases.check("has no wakeups" in result.stderr, "latency says that wakeups are missing", result.stderr)
    cases.check({row["comm"] for row in rows} >= {"sort"} and all(row["runtime_ns"] for row in rows if row["comm"] == "sort"),
                "latency works with records of switches", rows)
    events = json.loads(run(PERCH, "sched", "timehist", "-f", "-j", "-i", "user.data").stdout)
    cases.check(any(event["comm"] == "sleep" and event["wait_ns"] > 15e6 for event in events), "timehist has the time that sleep waits")


def in_a_namespace():
    """As in a container: ids of records are not those of tracepoints. Tried again if records were lost."""
    unshare = shutil.which("unshare")
    for _ in range(3 if unshare else 0):
        result = run(unshare, "-p", "-f", PERCH, "sched", "record", "-o", "namespace.data", "--", "sh", "-c",
                     "sleep 0.03; seq 10000 | sort >/dev/null")
        if result.returncode:
            print("skipped: no namespace of processes, or no recording in it:", result.stderr)
            return
        events = json.loads(run(PERCH, "sched", "timehist", "-j", "-i", "namespace.data").stdout)
        waits = [event for event in events if event["comm"] == "sleep" and event["wait_ns"] > 25e6]
        good = len(waits) == 1 and not waits[0].get("uncertain")
        if good:
            break
    else:
        cases.check(not unshare, "in a namespace, too, a thread is one thread")
        return
    cases.check(True, "in a namespace, too, a thread is one thread")


PING = """
import os
(a, b), (c, d) = os.pipe(), os.pipe()
child = os.fork()
for i in range(20000):
    if child:
        os.write(b, b"x"), os.read(c, 1)
    else:
        os.read(a, 1), os.write(d, b"x")
"""


def lost_records():
    """With rings of a page, records are lost: what may be wrong is marked, and what is certain is possible."""
    result = run(PERCH, "sched", "record", "-m", "1", "-o", "lost.data", "--", sys.executable, "-c", PING)
    report = run(PERCH, "sched", "latency", "-j", "-i", "lost.data")
    if result.returncode or "lost" not in result.stderr + report.stderr:
        print("skipped: no records are lost")
        return
    cases.check(report.returncode == 0 and "may be wrong" in report.stderr, "a message counts what may be wrong", report.stderr)
    rows = json.loads(report.stdout)
    cases.check(any(row["uncertain"] for row in rows), "delays that may be wrong are counted apart", rows)
    events = json.loads(run(PERCH, "sched", "timehist", "-j", "-i", "lost.data").stdout)
    ends, overlapping = {}, []
    for event in events:
        if event["event"] == "run" and not event.get("uncertain"):
            if event["time"] - event["run_ns"] < ends.get(event["cpu"], 0):
                overlapping.append(event)
            ends[event["cpu"]] = event["time"]
    cases.check(not overlapping, "no certain runs of a CPU overlap", overlapping[:3])


def of_tasks():
    """-p records a process, and not all CPUs, as perch record does; the words of a program are none of the recorder."""
    with subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.001)"]) as process:
        try:
            result = run(PERCH, "sched", "record", "-p", str(process.pid), "-o", "tasks.data", "--", "sleep", "0.2")
        finally:
            process.kill()
    if "are recorded instead" in result.stderr or "CAP_PERFMON" in result.stderr:
        print("skipped: this user may not use tracepoints:", result.stderr)
        return
    cases.check(result.returncode == 0, "sched record -p records a process", result)
    header = run(PERCH, "report", "--header-only", "-i", "tasks.data").stdout
    cases.check(" -a " not in header, "not all CPUs are recorded", header)
    result = run(PERCH, "sched", "record", "-o", "all.data", "--", "sh", "-c", "exit 0", "-p", "x")
    header = run(PERCH, "report", "--header-only", "-i", "all.data").stdout
    cases.check(result.returncode == 0 and "record -a " in header, "without -p they are, whatever the words of the program are", result, header)


def call_chains():
    if not record(PERCH, "chains.data", "-g"):
        return
    text = run(PERCH, "sched", "timehist", "-i", "chains.data").stdout
    cases.check(re.search(r"\d  \w+( <- \w+)+$", text, re.M) or "[unknown]" in text, "timehist prints call chains")
    plain = run(PERCH, "sched", "timehist", "--no-call-graph", "-i", "chains.data").stdout
    cases.check(" <- " not in plain, "--no-call-graph prints none")


def record(command, file, *options):
    result = run(command, "sched", "record", *options, "-o", file, "--", *WORKLOAD)
    # a user without tracepoints gets switches alone
    return result.returncode == 0 and os.path.exists(file) and "are recorded instead" not in result.stderr


def main():
    refusals()
    for part in (counts_of_the_kernel, without_tracepoints, in_a_namespace, lost_records, of_tasks, call_chains):
        cases.try_part(part)
    files = [(PERCH, "perch.data")] + [(perf, f"perf{i}.data") for i, perf in enumerate(PERFS)]
    for command, file in files:
        if not record(command, file):
            print(f"skipped: {os.path.basename(command)} cannot record tracepoints of the scheduler here")
            continue
        cases.try_part(programs_read, file)
        for part, more in ((compare_timehist, [lambda c=command, f=file: record(c, f)]), (compare_latency, [])) if PERFS else ():
            try:
                cases.try_part(part, file, file, *more)
            except peer.Died as died:
                print(f"skipped: {died}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        main()
        os.chdir("/")
    sys.exit(cases.failed)
