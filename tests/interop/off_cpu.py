#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch record --off-cpu: the time off the CPU of each thread is its wall time less its CPU time, within 2 %; the call chains have what it
waits for; perf reads the samples; an ordinary user gets them as far as kernel.perf_event_paranoid allows.

PERF names the perf to compare with (perf). KEEP=DIR keeps the files there.
"""
import collections
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
import peer
from cases import check, limit

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")
PARANOID = "/proc/sys/kernel/perf_event_paranoid"

# Each thread waits in its own way, and prints its name, its thread, the time when it began and ended, and the time that it did not run.
PROGRAM = r"""
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000L + time.tv_nsec;
}

static int word, ends[2];

__attribute__((noinline)) static void sleeps(void)
{
	struct timespec time = { 0, 20000000 };

	for (int i = 0; i < 15; i++)
		nanosleep(&time, NULL);
}

__attribute__((noinline)) static void naps(void)
{
	struct timespec time = { 0, 100000 };

	for (int i = 0; i < 1500; i++)
		nanosleep(&time, NULL);
}

__attribute__((noinline)) static void futexes(void)
{
	struct timespec time = { 0, 30000000 };

	for (int i = 0; i < 10; i++)
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, NULL, 0);
}

__attribute__((noinline)) static void reads(void)
{
	char byte;

	while (read(ends[0], &byte, 1) == 1)
		;
}

__attribute__((noinline)) static void writes(void)
{
	struct timespec time = { 0, 40000000 };

	for (int i = 0; i < 8; i++) {
		nanosleep(&time, NULL);
		if (write(ends[1], "", 1) != 1)
			break;
	}
	close(ends[1]);
}

/* two threads on one CPU: each is preempted half of the time */
__attribute__((noinline)) static void competes(void)
{
	long end = ns(CLOCK_THREAD_CPUTIME_ID) + 300000000;

	while (ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static struct work {
	const char *name;
	void (*function)(void);
	pthread_t thread;
	long start, end, off;
	int tid;
} works[] = {
	{ "sleeps", sleeps }, { "naps", naps }, { "futexes", futexes }, { "reads", reads },
	{ "writes", writes }, { "competes", competes }, { "rival", competes },
};

static void *run(void *argument)
{
	struct work *work = argument;
	cpu_set_t first;
	long cpu;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (work->function == competes)
		sched_setaffinity(0, sizeof(first), &first);
	work->tid = (int)syscall(SYS_gettid);
	work->start = ns(CLOCK_MONOTONIC);
	cpu = ns(CLOCK_THREAD_CPUTIME_ID);
	work->function();
	cpu = ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	work->end = ns(CLOCK_MONOTONIC);
	work->off = work->end - work->start - cpu;
	return NULL;
}

#define NR (sizeof(works) / sizeof(works[0]))

int main(void)
{
	if (pipe(ends))
		return 1;
	for (size_t i = 0; i < NR; i++)
		pthread_create(&works[i].thread, NULL, run, &works[i]);
	for (size_t i = 0; i < NR; i++) {
		pthread_join(works[i].thread, NULL);
		printf("%s %d %ld %ld %ld\n", works[i].name, works[i].tid, works[i].start, works[i].end, works[i].off);
	}
	return 0;
}
"""

# What the call chain of a thread's waits has.
WAITS = {"sleeps": "nanosleep", "naps": "nanosleep", "futexes": "futex", "reads": "pipe", "writes": "nanosleep", "competes": "schedule"}


def record(work, *options, command=(), program=None, path="data"):
    done = subprocess.run([*command, PERCH, "record", "-o", path, *options, "--", program or os.path.join(work, "program")], cwd=work,
                          capture_output=True, text=True, timeout=limit(60), check=False)
    return done


def parse_program(text):
    return {name: (int(tid), int(start), int(end), int(off))
            for name, tid, start, end, off in re.findall(r"^(\w+) (\d+) (\d+) (\d+) (\d+)$", text, re.M)}


def samples_of(command, path):
    """The samples of off-CPU time: thread, time in ns, period."""
    done = peer.run([*command, "-i", path, "--ns", "-F", "tid,time,event,period"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    stdin=subprocess.DEVNULL, text=True, timeout=limit(60))
    found = re.findall(r"^ *(\d+) +(\d+)\.(\d{9}): +(\d+) +offcpu-time: *$", done.stdout, re.M)
    return [(int(tid), int(seconds) * 10**9 + int(ns), int(period)) for tid, seconds, ns, period in found], done


def printed(text):
    """Seconds, intervals, seconds in sums, intervals in sums."""
    found = re.search(r"off-CPU time: ([\d.]+) s in (\d+) intervals?(?: \(no call chains\))?, ([\d.]+) s of it in sums of (\d+) that are short", text)
    return (float(found[1]), int(found[2]), float(found[3]), int(found[4])) if found else (0, 0, 0, 0)


def check_times(work, threads, path, what):
    """Between the start and the end of its function, the intervals of a thread are what it did not run."""
    samples, done = samples_of([PERCH, "script"], os.path.join(work, path))
    for name, (tid, start, end, off) in threads.items():
        own = [period for thread, time, period in samples if thread == tid and start < time - period and time < end]
        sums = sum(own)
        # the kernel counts the time of a thread up to a moment after the record of its switch
        check(abs(sums - off) <= off * 0.02 + 2e6 + 20000 * len(own), f"{what}: {name} was off the CPU for {off / 1e6:.1f} ms: {sums / 1e6:.1f} ms", done)


def check_each(work):
    """Without a threshold each interval is a sample."""
    done = record(work, "--off-cpu=0", "-k", "monotonic", path="each.data")
    threads = parse_program(done.stdout)
    check(done.returncode == 0 and len(threads) == 7, "records a program", done)
    if "left out" in done.stderr:
        print("ok - the times of threads # skip switches were lost, because the recorder had no CPU in time")
        return
    check_times(work, threads, "each.data", "each interval")


def check_sums(work):
    """Short intervals are in sums; all numbers agree."""
    done = record(work, "--off-cpu", path="data")
    threads = parse_program(done.stdout)
    seconds, intervals, short, nr_short = printed(done.stderr)
    samples, script = samples_of([PERCH, "script"], os.path.join(work, "data"))
    total = sum(period for _, _, period in samples)
    check(abs(total / 1e9 - seconds) < 1e-5, f"the samples have the {seconds} s that are printed", done, script)
    check(nr_short >= 100 and 0.01 < short < seconds, f"{nr_short} short intervals, {short} s, are in sums", done)
    check(len(samples) < intervals - nr_short / 2, f"{intervals} intervals are {len(samples)} samples", done)
    for name in ("sleeps", "naps", "reads"):
        tid, _, _, off = threads[name]
        found = sum(period for thread, _, period in samples if thread == tid)
        check(off * 0.98 - 2e6 <= found, f"sums: {name} was off the CPU for {off / 1e6:.1f} ms: {found / 1e6:.1f} ms", script)
    return threads


def check_chains(work, threads):
    """The call chains of a thread's samples name what it waited for, and its function."""
    done = subprocess.run([PERCH, "script", "-i", os.path.join(work, "data"), "-F", "tid,event,ip,sym"], capture_output=True, text=True,
                          check=False)
    if "kernel addresses have no symbols" in done.stderr:
        print("ok - call chains # skip the kernel's symbols cannot be read")
        return
    chains = collections.defaultdict(str)
    for tid, chain in re.findall(r"^ *(\d+) +offcpu-time: *\n((?:[ \t]+[0-9a-f]+ .*\n)+)", done.stdout, re.M):
        chains[int(tid)] += chain
    for name, kernel in WAITS.items():
        chain = chains[threads[name][0]]
        # functions of libc may have no frame pointer: then the one that calls them is missing
        check(kernel in chain and "start_thread" in chain, f"the call chain of {name} has {kernel} and that of its thread", chain[:1000])


# What prev_state of sched:sched_switch says of each thread, most of the time.
STATES = {"sleeps": "sleeping", "naps": "sleeping", "futexes": "sleeping", "reads": "sleeping", "competes": "preempted"}


def has_tracepoints():
    return os.getuid() == 0 and os.access("/sys/kernel/tracing/events/sched/sched_switch/format", os.R_OK)


def check_states(work, threads):
    """Each thread waits in a known state; what runs is another one."""
    done = subprocess.run([PERCH, "report", "-i", os.path.join(work, "data"), "-j", "-g", "none", "--no-children", "-s", "tid,offcpu_state"],
                          capture_output=True, text=True, check=False)
    times = collections.Counter()
    one = subprocess.run([PERCH, "report", "-i", os.path.join(work, "data"), "-j", "-g", "none", "--no-children", "-s", "tid,offcpu_state", "-e", "offcpu-time"],
                         capture_output=True, text=True, check=False)
    check(one.returncode == 0 and one.stdout and
          one.stdout.splitlines() == [line for line in done.stdout.splitlines() if json.loads(line)["event"] == "offcpu-time"],
          "report -e has the rows of one event", one)
    other = subprocess.run([PERCH, "report", "-i", os.path.join(work, "data"), "-e", "cycles:x"], capture_output=True, text=True, check=False)
    check(other.returncode == 2 and "it has cpu-clock, offcpu-time" in other.stderr, "report -e names the events", other)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    check(rows and all((row["event"] == "offcpu-time") == (row["offcpu_state"] != "running") for row in rows),
          "samples of the other event are running", done)
    for row in rows:
        times[row["tid"], row["offcpu_state"]] += row["period"]
    for name, state in STATES.items():
        if not has_tracepoints() and state != "preempted":
            state = "blocked"
        tid = threads[name][0]
        own = {key[1]: period for key, period in times.items() if key[0] == tid and key[1] != "running"}
        check(not own or own.get(state, 0) > sum(own.values()) / 2, f"{name} is {state}: {own}", done)


def check_perf(work):
    """perf has the same samples."""
    if not shutil.which(PERF):
        print("ok - perf reads it # skip perf is not installed")
        return
    ours, first = samples_of([PERCH, "script"], os.path.join(work, "data"))
    try:
        theirs, second = samples_of([PERF, "script"], os.path.join(work, "data"))
    except peer.Died as died:
        print(f"ok - perf reads it # skip {died}")
        return
    check(ours and sorted(ours) == sorted(theirs), f"perf has the same {len(ours)} samples", first, second)


def check_export(work):
    """The period of the attr is no time between samples."""
    profile = os.path.join(work, "firefox.json.gz")
    done = subprocess.run([PERCH, "export", "-i", os.path.join(work, "data"), "-F", "firefox", "-e", "offcpu-time", "-o", profile], capture_output=True,
                          text=True, check=False)
    check(done.returncode == 0, "exports off-CPU time", done)
    with gzip.open(profile, "rt", encoding="utf-8") as file:
        meta = json.load(file)["meta"]
    check(meta["interval"] == 1, "samples of off-CPU time have no interval: 1 ms is the default of the Firefox Profiler", meta)


def check_targets(work):
    """Processes that run already, all CPUs, and a delay. What a target did before the start is not known, but that it did not run."""
    sleeper = subprocess.Popen(["sh", "-c", "sleep 0.7; sleep 100"])
    try:
        done = subprocess.run([PERCH, "record", "-o", os.path.join(work, "running.data"), "--off-cpu", "-p", str(sleeper.pid), "--", "sleep",
                               "1.5"], capture_output=True, text=True, timeout=limit(60), check=False)
        samples, script = samples_of([PERCH, "script"], os.path.join(work, "running.data"))
        check(done.returncode == 0 and sum(period for tid, _, period in samples if tid == sleeper.pid) > 1e9,
              "-p: intervals that had begun before, or not ended, are there", done, script)
        done = subprocess.run([PERCH, "record", "-o", os.path.join(work, "running.data"), "--off-cpu", "-p", str(sleeper.pid), "--", "sleep",
                               "0.5"], capture_output=True, text=True, timeout=limit(60), check=False)
        samples, script = samples_of([PERCH, "script"], os.path.join(work, "running.data"))
        check(done.returncode == 0 and sum(period for tid, _, period in samples if tid == sleeper.pid) > 0.2e9,
              "-p: a process that waits all the time is there", done, script)
        check_wait_before(work, sleeper.pid, done)
    finally:
        sleeper.kill()
        sleeper.wait()
    done = record(work, "--off-cpu", "-a", path="all.data")
    if "perf_event_paranoid" not in done.stderr:
        threads = parse_program(done.stdout)
        samples, script = samples_of([PERCH, "script"], os.path.join(work, "all.data"))
        tid, _, _, off = threads["sleeps"]
        found = sum(period for thread, _, period in samples if thread == tid)
        check(done.returncode == 0 and ("left out" in done.stderr or found >= off * 0.98 - 2e6), "-a has the program", done, script)
        # threads that end are no records that were lost
        threads = "import threading\nfor i in range(300):\n    t = threading.Thread(target=int); t.start(); t.join()"
        done = subprocess.run([PERCH, "record", "-o", os.path.join(work, "ends.data"), "--off-cpu", "-a", "--", sys.executable, "-c", threads],
                              capture_output=True, text=True, timeout=limit(60), check=False)
        check(done.returncode == 0 and "0 records of switches were lost" not in done.stderr, "-a: no interval is missing without a loss", done)
    done = record(work, "--off-cpu=0", "-D", "100", "-k", "monotonic", path="late.data")
    threads = parse_program(done.stdout)
    samples, script = samples_of([PERCH, "script"], os.path.join(work, "late.data"))
    tid, start, end, off = threads["futexes"]
    found = sum(period for thread, _, period in samples if thread == tid)
    check(done.returncode == 0 and 0 < found <= off + 2e6, f"-D 100: {found / 1e6:.1f} of {off / 1e6:.1f} ms", done, script)
    # the first thread waits while the events are disabled: that is not counted
    code = "import threading, time; threading.Thread(target=time.sleep, args=[1.4]).start(); time.sleep(0.1)"
    done = subprocess.run([PERCH, "record", "-o", os.path.join(work, "windows.data"), "--off-cpu", "-D", "300-400,900-1000", "--",
                           sys.executable, "-c", code], capture_output=True, text=True, timeout=limit(60), check=False)
    samples, script = samples_of([PERCH, "script"], os.path.join(work, "windows.data"))
    check(done.returncode == 0 and samples and all(period < 0.6e9 for _, _, period in samples),
          "-D 300-400,900-1000: what is between the windows is not counted", done, script)


def check_wait_before(work, tid, recorded):
    """A shell that waits for its child: where, is in /proc/TID/stack."""
    script = subprocess.run([PERCH, "script", "--json", "-i", os.path.join(work, "running.data")], capture_output=True, text=True, check=False)
    samples = [sample for sample in map(json.loads, script.stdout.splitlines()) if sample["event"] == "offcpu-time" and sample["tid"] == tid]
    names = [frame.get("sym", "") for sample in samples for frame in sample["callchain"]]
    try:
        with open(f"/proc/{tid}/stack", encoding="ascii") as file:
            readable = bool(file.read())
    except OSError:
        readable = False
    if not readable:
        check("waited already at the start" in recorded.stderr or "no call chains" in recorded.stderr, "-p: a message about waits before the start",
              recorded)
        check("[off the CPU before the recording]" in names, f"a frame says so: {names}", recorded)
    elif "kernel addresses have no symbols" not in script.stderr:
        check(any("wait" in name for name in names), f"-p: the wait before the start has its call chain: {names}", recorded, script)


def check_wakers(work):
    """The thread that writes into a pipe wakes the one that reads from it; a timer wakes by an interrupt."""
    done = record(work, "--off-cpu=1ms,waker", path="wakers.data")
    if not os.access("/sys/kernel/tracing/events/sched/sched_waking/format", os.R_OK):
        print("ok - wakers # skip tracefs cannot be read")
        return
    threads = parse_program(done.stdout)
    check(done.returncode == 0 and len(threads) == 7, "--off-cpu=1ms,waker records", done)
    script = subprocess.run([PERCH, "script", "--json", "-i", os.path.join(work, "wakers.data")], capture_output=True, text=True, check=False)
    samples = [sample for sample in map(json.loads, script.stdout.splitlines()) if "off-cpu" in sample]
    reader, writer = threads["reads"][0], threads["writes"][0]
    wakers = [sample["off-cpu"]["waker"] for sample in samples if sample["tid"] == reader and "waker" in sample["off-cpu"]]
    if "left out" not in done.stderr:
        check(len(wakers) >= 4, f"{len(wakers)} of 8 intervals of the reader have a waker", done)
    # an interrupt that stops a thread, as one of another CPU, may deliver what the writer began
    check(all(waker["tid"] == writer or waker["interrupt"] for waker in wakers), "it is the writer", str(wakers)[:1000])
    own = [waker for waker in wakers if not waker["interrupt"]]
    check(all(waker["comm"] == "program" and waker["callchain"] for waker in own), "its name and call chain are there", str(own)[:1000])
    names = " ".join(frame.get("sym", "") for waker in own for frame in waker["callchain"])
    check("pipe" in names or "kernel addresses have no symbols" in script.stderr, "the call chain has the write into the pipe", names[:1000])
    rows = subprocess.run([PERCH, "report", "-i", os.path.join(work, "wakers.data"), "-j", "-g", "none", "--no-children", "-s", "tid,waker"],
                          capture_output=True, text=True, check=False)
    column = [row["waker"] for row in map(json.loads, rows.stdout.splitlines()) if row["event"] == "offcpu-time" and row["tid"] == reader]
    check((f"{writer}:program" in column) == bool(own) and set(column) <= {f"{writer}:program", "[interrupt]", "[unknown]"},
          f"the column waker has it: {column}", rows)
    text = subprocess.run([PERCH, "script", "-i", os.path.join(work, "wakers.data"), "-F", "comm,tid,event,ip,sym,bpf-output"],
                          capture_output=True, text=True, check=False)
    check(not own or f"off-CPU: sleeping, woken by program {writer}\n" in text.stdout, "the text has it", text.stdout[:1000])


    check_joined(work, own, script.stdout)


def check_joined(work, own, samples):
    """Above the function that waited are those of the waker."""
    done = subprocess.run([PERCH, "export", "-F", "folded", "--wakers", "-e", "offcpu-time", "-i", os.path.join(work, "wakers.data")],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0 and ("[woken by program];" in done.stdout) == bool(own), "--wakers: the stacks have the waker", done)
    total = sum(int(line.rpartition(" ")[2]) for line in done.stdout.splitlines())
    check(total == sum(sample["period"] for sample in map(json.loads, samples.splitlines()) if sample["event"] == "offcpu-time"),
          "and the same time", done)
    states = subprocess.run([PERCH, "export", "-F", "folded", "--states", "-e", "offcpu-time", "-i", os.path.join(work, "wakers.data")],
                            capture_output=True, text=True, check=False)
    check(states.returncode == 0 and states.stdout and all(re.search(r";\[[a-z]+\] \d+$", line) for line in states.stdout.splitlines()),
          "--states: each stack ends with a state", states)
    for line in done.stdout.splitlines():
        thread, mark, waker = line.partition(";[woken by program];")
        if mark and "kernel addresses have no symbols" not in done.stderr:
            check("schedule" in thread and "schedule" not in waker and "wake" in waker, "the waker's functions are above the mark", line)
    done = subprocess.run([PERCH, "export", "-F", "folded", "--wakers", "-i", os.path.join(work, "data")], capture_output=True, text=True, check=False)
    check(done.returncode == 0 and "record with --off-cpu=waker" in done.stderr, "without wakers a message says so", done)


def check_refusals(work):
    for options, text in ((["--off-cpu", "--overwrite"], "exclude each other"), (["--off-cpu=x"], "use a time such as"),
                          (["--off-cpu=1h"], "use a time such as"), (["--off-cpu", "-a", "-e", "cpu-clock", "-G", "/"], "exclude each other"),
                          (["--off-cpu", "-b"], "exclude each other"), (["--off-cpu", "-j", "any"], "exclude each other"),
                          (["--off-cpu", "-C", "0"], "exclude each other"), (["--off-cpu", "-n"], "exclude each other")):
        done = record(work, *options)
        check(done.returncode == 2 and text in done.stderr, f"{' '.join(options)} is refused", done)


def check_without_chains(work):
    done = record(work, "--off-cpu", "--call-graph", "no", path="none", program="true")
    events = subprocess.run([PERCH, "evlist", "-v", "-i", os.path.join(work, "none")], capture_output=True, text=True, check=False).stdout
    check(done.returncode == 0 and {line.split(":")[0]: "CALLCHAIN" in line for line in events.splitlines()} ==
          {"cpu-clock": False, "offcpu-time": True}, "--call-graph no: only intervals have call chains", done, events)


def check_large_copies(work):
    """A record has 65,535 bytes: a copy of the stack that leaves no space for the rest would be left out as a whole."""
    done = record(work, "--off-cpu=0", "--call-graph", "dwarf,65528", path="large", program="true")
    script = subprocess.run([PERCH, "script", "--json", "-i", os.path.join(work, "large")], capture_output=True, text=True, check=False).stdout
    check(done.returncode == 0 and "at most 63488 bytes" in done.stderr, "dwarf,65528 has a message", done)
    events = subprocess.run([PERCH, "evlist", "-v", "-i", os.path.join(work, "large")], capture_output=True, text=True, check=False).stdout
    sizes = re.findall(r"^(\S+): .*sample_stack_user: (\d+)", events, re.M)
    check(dict(sizes) == {"cpu-clock": "65528", "offcpu-time": "63488"}, f"sizes of copies: {sizes}", events, script[:500])


def check_files(work):
    """--switch-output: what is printed for each file is what it has."""
    done = record(work, "--off-cpu=0", "--switch-output=100K", path="part")
    totals = [float(total) for total in re.findall(r"off-CPU time: ([\d.]+) s in", done.stderr)]
    files = sorted(glob.glob(os.path.join(work, "part.*")))
    found = [sum(period for _, _, period in samples_of([PERCH, "script"], path)[0]) / 1e9 for path in files]
    check(len(files) == len(totals) > 1 and all(abs(one - other) < 1e-5 for one, other in zip(totals, found)),
          f"--switch-output: {totals} are in the files: {found}", done)


def check_user(work):
    """An ordinary user has the times of threads; call chains if the kernel may be profiled."""
    if os.getuid() or not shutil.which("setpriv"):
        print("ok - an ordinary user # skip only root can become one")
        return
    with open(PARANOID, encoding="ascii") as file:
        paranoid = int(file.read())
    user = os.path.join(work, "user")
    os.mkdir(user)
    os.chmod(user, 0o777)
    os.chmod(work, 0o755)
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--", "env",
               f"HOME={user}"]
    copy = shutil.copy(PERCH, os.path.join(user, "perch"))
    if subprocess.run([*command, copy, "--version"], capture_output=True, check=False).returncode or paranoid > 2:
        print("ok - an ordinary user # skip a user cannot run perch, or not record, here")
        return
    done = subprocess.run([*command, copy, "record", "-o", os.path.join(user, "data"), "--off-cpu=0", "-k", "monotonic", "--",
                           os.path.join(work, "program")], capture_output=True, text=True, timeout=limit(60), check=False)
    threads = parse_program(done.stdout)
    check(done.returncode == 0 and len(threads) == 7, f"a user records at paranoid {paranoid}", done)
    start, _, end = done.stderr.partition("Woken up")
    check(("no call chains" in start) == ("no call chains" in end) == (paranoid >= 2), "at the start and the end, messages say if call chains are missing",
          done)
    os.chown(os.path.join(user, "data"), 0, 0)
    check_times(work, threads, "user/data", "a user")
    done = subprocess.run([*command, copy, "record", "-o", os.path.join(user, "copies"), "--off-cpu", "--call-graph", "dwarf", "--", "true"],
                          capture_output=True, text=True, timeout=limit(60), check=False)
    check(done.returncode == 0, "a user records with copies of stacks", done)


def main():
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "program.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        built = subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-o",
                                os.path.join(work, "program"), source], capture_output=True, text=True, check=False)
        if built.returncode:
            print("skipped: no compiler:", built.stderr)
            return 77
        check_refusals(work)
        if "kernel.perf_event_paranoid" in record(work, "--off-cpu", program="true").stderr:
            print("skipped: this user may not profile the kernel")
            return 77
        check_each(work)
        threads = check_sums(work)
        check_chains(work, threads)
        check_states(work, threads)
        check_without_chains(work)
        check_perf(work)
        check_export(work)
        check_targets(work)
        check_wakers(work)
        check_large_copies(work)
        check_files(work)
        check_user(work)
        if "KEEP" in os.environ:
            shutil.copytree(work, os.environ["KEEP"], dirs_exist_ok=True)
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
