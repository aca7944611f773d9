#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch record --latency and perch report --latency: the number of running threads at each sample is that of the recorded switches, and rows are
those of perf where it has these columns.

PERF names the perf to compare with (perf): from Linux 6.15 on it has them. KEEP=DIR keeps the files there.
"""
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

import cases
import peer
from cases import check

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")

# Serial work, then threads, children, and a thread that starts another program.
PROGRAM = r"""
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double used(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline)) void serial(double seconds)
{
	double end = used() + seconds;

	while (used() < end)
		for (int i = 0; i < 20000; i++)
			sink += i;
}

__attribute__((noinline)) void parallel(double seconds)
{
	double end = used() + seconds;

	while (used() < end)
		for (int i = 0; i < 20000; i++)
			sink += 3 * i;
}

static void *work(void *unused)
{
	(void)unused;
	parallel(0.15);
	return NULL;
}

static void *start_program(void *path)
{
	parallel(0.03);
	execl(path, path, "last", (char *)NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[3];

	for (int round = 0; round < 2; round++) {
		serial(0.1);
		for (int i = 0; i < 3; i++)
			pthread_create(&thread[i], NULL, work, NULL);
		for (int i = 0; i < 3; i++)
			pthread_join(thread[i], NULL);
		if (!fork()) {
			parallel(0.05);
			_exit(0);
		}
		parallel(0.05);
		wait(NULL);
		usleep(1000);
	}
	if (argc > 1)
		return strcmp(argv[1], "last");
	pthread_create(&thread[0], NULL, work, NULL);
	pthread_create(&thread[1], NULL, start_program, argv[0]);
	parallel(1);
	return 1;
}
"""


def run(*command):
    words = {"HOME": os.getcwd(), "PERF_CONFIG": "/dev/null", "DEBUGINFOD_URLS": "", "LC_ALL": "C.UTF-8", "PERF_PAGER": "cat",
             "PERCH_PAGER": "", "XDG_CONFIG_HOME": os.getcwd()}
    return peer.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace",
                    env=dict(os.environ, **words))


def record(path, *options):
    done = run(PERCH, "record", "-q", "-N", "-e", "cpu-clock", "-o", path, *options)
    check(done.returncode == 0, f"record {path}: {' '.join(options)}", done.stderr)


def objects(path, *options):
    done = run(PERCH, "report", "-j", "-i", path, "-g", "none", "--no-children", *options)
    check(done.returncode == 0, f"report {path}: {' '.join(options)}", done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def threads_of(pid, out):
    return {int(tid) for tid in re.findall(rf"FORK\({pid}:(\d+)\)", out)}


def numbers_of_switches(path):
    """The samples by the number of threads that run: those between a switch in and a switch out. A thread whose first record is a sample or a
    switch out runs from the start on."""
    out = run(PERCH, "script", "--show-switch-events", "--show-task-events", "--ns", "-i", path, "-F", "comm,tid,time,event").stdout
    records = []
    for line in out.splitlines():
        tid, time, text = re.match(r".*? (-?\d+) +(\d+\.\d+): +(\S.*)$", line).groups()
        if float(time):
            records.append((int(tid), text))
    running, seen, ended, numbers = set(), set(), set(), collections.Counter()
    for tid, text in records:
        if tid not in seen and (" OUT" in text or not text.startswith("PERF_RECORD")):
            running.add(tid)
        if "SWITCH" in text or not text.startswith("PERF_RECORD"):
            seen.add(tid)
    running -= {tid for tid, text in records if "COMM exec" in text or "FORK" in text}
    for tid, text in records:
        if tid in ended:  # another thread of the process has its id, and calls exec
            running, ended = running - threads_of(tid, out) | {tid}, ended - {tid}
        exit_of = re.match(r"PERF_RECORD_EXIT\((\d+):(\d+)\)", text)
        if "SWITCH IN" in text:
            running.add(tid)
        elif "SWITCH OUT" in text:
            running.discard(tid)
        elif exit_of:
            running.discard(int(exit_of[2]))
            ended |= {int(exit_of[2])}
        elif "COMM exec" in text:
            # the other threads of the process have ended, also the one that called it
            running = running - threads_of(tid, out) | {tid}
        elif not text.startswith("PERF_RECORD"):
            running.add(tid)
            numbers[min(len(running), os.sysconf("SC_NPROCESSORS_CONF"))] += 1
    return dict(numbers)


def check_numbers(path):
    rows = objects(path, "-s", "parallelism", "-F", "+latency")
    numbers = {row["parallelism"]: row["sample"] for row in rows}
    check(numbers == numbers_of_switches(path), f"{path}: samples by the number of threads", f"{numbers} {numbers_of_switches(path)}")
    sums = {row["parallelism"]: row["period"] / row["parallelism"] for row in rows}
    check(all(abs(row["latency"] - 100 * sums[row["parallelism"]] / sum(sums.values())) < 0.006 for row in rows),
          f"{path}: latencies are periods divided by that number", rows)
    return numbers


def check_rows(path):
    parts = objects(path, "-s", "parallelism,sym", "-F", "+latency")
    for sort in ("sym", "comm,sym"):
        whole = objects(path, "-s", sort, "--latency")
        check([row["latency"] for row in whole] == sorted((row["latency"] for row in whole), reverse=True), f"{path}: -s {sort} --latency sorts")
    for row in objects(path, "-s", "sym", "--latency")[:2]:
        latency = sum(part["latency"] for part in parts if part["sym"] == row["sym"])
        check(abs(latency - row["latency"]) < 0.02, f"{path}: the latency of {row['sym']}", (latency, row))
    for option in ("1", "2-900", "1,2-3"):
        low, high = (1, 1) if option == "1" else (2, 900) if option == "2-900" else (1, 3)
        expected = [part for part in parts if low <= part["parallelism"] <= high]
        check(objects(path, "-s", "parallelism,sym", "-F", "+latency", "--parallelism", option) == expected, f"{path}: --parallelism {option}")


@peer.part
def compare(path, options):
    lines = [re.sub(r" +", " ", run(command, "report", "-i", path, "-q", "--stdio", "-g", "none", *options.split()).stdout).splitlines()
             for command in (PERF, PERCH)]
    rows = [sorted(line.strip() for line in part if line.strip()) for part in lines]
    check(rows[0] == rows[1] and (rows[0] or "--parallelism" in options), f"{path}: rows of perf: {options}", "\n".join(rows[0][:10] + ["perch:"] + rows[1][:10]))


def check_perf(path):
    if "parallelism" not in run(PERF, "report", "-h").stderr + run(PERF, "report", "-h").stdout:
        print(f"ok - {path}: rows of perf # skip {PERF} has no column parallelism")
        return
    for options in ("-s comm", "-s comm,dso", "-s latency,comm", "-s overhead,comm", "-s parallelism,comm", "-s comm --latency",
                    "-s comm,dso --latency -n", "-F overhead,latency,sample,comm", "-s parallelism --parallelism 2",
                    "-s comm --parallelism 1 --percentage relative", "-s latency,parallelism,comm --hierarchy"):
        compare(path, "--no-children " + options)


def check_columns(path, numbers):
    def titles(*options):
        return re.findall(r"\S+", next(line for line in run(PERCH, "report", "-i", path, "--stdio", "-g", "none", *options).stdout.splitlines()
                                       if line.startswith("# ") and "Command" in line)[2:])

    share = sum(samples for number, samples in numbers.items() if number > 1) / sum(numbers.values())
    if share < 0.009:
        check(titles("-s", "comm") == ["Overhead", "Command"], "without parallel samples the latency is no default column")
    if share > 0.011:
        check(titles("-s", "comm") == ["Overhead", "Latency", "Command"], "the latency is a default column", titles("-s", "comm"))
        check(titles("-s", "overhead,comm") == ["Overhead", "Command"], "-s overhead")
    check(titles("-s", "comm", "--latency") == ["Latency", "Overhead", "Command"], "--latency")
    check(titles("-s", "latency,comm") == ["Latency", "Command"], "-s latency")
    check(titles("-F", "comm,latency") == ["Command", "Latency"], "-F latency")


def check_children():
    done = run(PERCH, "report", "-i", "calls.data", "-q", "-g", "none", "-F", "latency_children,latency,sym", "-s", "sym", "--stdio")
    rows = {line.split()[-1]: [float(share.rstrip("%")) for share in line.split()[:2]] for line in done.stdout.splitlines() if line.strip()}
    check(abs(rows["main"][0] - 100) > 1 and rows["work"][1] == 0 and 0 < rows["work"][0] <= rows["parallel"][0] <= 100,
          "callers have the latency of their callees", done.stdout[:600])


def check_refused():
    for options in (["-a"], ["-C", "0"], ["-i"], ["--overwrite"]):
        done = run(PERCH, "record", "--latency", "-o", "none.data", *options, "true")
        check(done.returncode == 2 and "--latency" in done.stderr and not os.path.exists("none.data"), f"record --latency {options[0]}",
              done.stderr)
    record("plain.data", "true")
    record("cpus.data", "-a", "--switch-events", "sleep", "0.2")
    for path in ("plain.data", "cpus.data"):
        for options in (["--latency"], ["-s", "comm,parallelism"], ["-F", "+latency"], ["--parallelism", "1"]):
            done = run(PERCH, "report", "-i", path, *options)
            check(done.returncode == 1 and not re.search(r"^ +\d", done.stdout, re.M) and "with --latency" in done.stderr,
                  f"{path}: {' '.join(options)}", done.stdout[:300] + done.stderr)
        done = run(PERCH, "report", "-i", path, "-s", "comm", "-g", "none")
        check(done.returncode == 0 and "Latency" not in done.stdout, f"{path}: no default column", done.stdout[:600] + done.stderr)
    for option in ("0", "x", "3-2", "1,,2"):
        done = run(PERCH, "report", "-i", "threads.data", "--parallelism", option)
        check(done.returncode == 2 and "number of threads" in done.stderr, f"--parallelism {option}", done.stderr)
    done = run(PERCH, "report", "-i", "threads.data", "--parallelism", "60000", "-s", "comm")
    check(done.returncode == 0 and "no sample is with a number of running threads of '60000'" in done.stderr, "--parallelism 60000", done.stderr)


def check_lost():
    """A FORK record becomes a LOST record, which is as long."""
    fork, lost = 7, 2
    with open("threads.data", "rb") as file:
        data = bytearray(file.read())
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == fork:
            struct.pack_into("<IHHQQ", data, at, lost, 0, length, 0, 3)
            break
        at += length
    with open("lost.data", "wb") as file:
        file.write(data)
    for path, options, noted in (("lost.data", ["-s", "parallelism"], True), ("lost.data", ["--latency", "-s", "comm"], True),
                                 ("lost.data", ["-s", "overhead,comm"], False), ("threads.data", ["-s", "parallelism"], False)):
        done = run(PERCH, "report", "-i", path, *options)
        check(done.returncode == 0 and ("inexact" in done.stderr) == noted, f"{path}: lost records: {' '.join(options)}", done.stderr)


def check_attached():
    with subprocess.Popen(["./program", "last"]) as program:
        record("attached.data", "--latency", "-p", str(program.pid), "sleep", "0.3")
        program.wait()


def main():
    with open("program.c", "w", encoding="ascii") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", "program", "program.c"], check=True)
    record("threads.data", "--latency", "./program")
    record("calls.data", "-g", "--latency", "./program", "last")
    check_attached()
    for path in ("threads.data", "calls.data", "attached.data"):
        numbers = check_numbers(path)
        check_rows(path)
        if path != "attached.data":  # perf counts every thread that exists when the recording starts
            check_perf(path)
        if path == "threads.data":
            check_columns(path, numbers)
            check(len(numbers) > 1 or len(os.sched_getaffinity(0)) == 1, "threads ran at the same time", numbers)
    check_children()
    check_lost()
    check_refused()
    return cases.failed


if __name__ == "__main__":
    keep = os.environ.get("KEEP")
    if keep:
        os.makedirs(keep, exist_ok=True)
        os.chdir(keep)
        sys.exit(main())
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        sys.exit(main())
