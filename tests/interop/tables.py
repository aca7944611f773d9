#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch lock, kwork, kmem and block: their numbers are those of perf on the same file, recorded by either, and what programs count themselves.

PERF names the perf to compare with (perf).
"""
import collections
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import cases
import peer
from cases import check, limit

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")
SOURCE = os.environ.get("PERCH_SOURCE_ROOT", ".")

# Threads that fight over a mutex, and print how long they waited for it in all, in ns.
MUTEX = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long waited;

static long ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000L + time.tv_nsec;
}

static inline __attribute__((always_inline)) void take(void)
{
	pthread_mutex_lock(&mutex);
}

__attribute__((noinline)) static void hold(void)
{
	long start = ns();

	take();
	waited += ns() - start;
	usleep(3000);
	pthread_mutex_unlock(&mutex);
}

static void *work(void *none)
{
	for (int i = 0; i < 20; i++)
		hold();
	return none;
}

int main(void)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	printf("%ld\n", waited);
	return 0;
}
"""


def perch(work, *words, **options):
    return subprocess.run([PERCH, *words], cwd=work, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          timeout=limit(100), check=False, **options)


def perf(work, *words):
    # memory that is freed keeps its bytes: perf kwork reads names there
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = peer.run([PERF, *words], cwd=work, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, env=environment)
    return done.stdout + done.stderr


def rows(work, *words):
    """The rows of a command of perch, as JSON."""
    done = perch(work, *words, "-j")
    check(done.returncode == 0, f"perch {' '.join(words[:6])}", done)
    return [json.loads(line) for line in done.stdout.splitlines()]


UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 6e10, "h": 3.6e12}


def is_near(ns, number, unit):
    """Whether perf prints these ns as the number, which has two digits, or none for ns."""
    return abs(ns - float(number) * UNITS[unit]) <= 0.0101 * UNITS[unit]


# ---- lock ----

def check_lock_rows(work, name, words, key_of_perf, key_of_perch, own=()):
    """Each row of perf is one of perch, and the other way round."""
    expected = {}
    for line in perf(work, "lock", "contention", "-i", name, *words).splitlines():
        match = re.match(r"\s*(\d+)\s+" + r"([\d.]+) (\w+)\s+" * 3 + r"(.*)$", line)
        if match:
            expected.setdefault((key_of_perf(match[8]), int(match[1])), []).append(match.groups())
    missing, extra = [], dict(expected)
    found = [row for row in rows(work, "lock", "contention", "-i", name, *words, *own) if row["wait_total"]]
    for row in found:
        # perf has no name for a chain that goes on in a program without a mapping
        near = [values for key in (key_of_perch(row), f"{row.get('type')} Unknown") for values in expected.get((key, row["contended"]), [])
                if is_near(row["wait_total"], values[1], values[2]) and is_near(row["wait_max"], values[3], values[4])]
        if not near:
            missing.append(str(row))
        extra.pop((key_of_perch(row), row["contended"]), None)
    extra = [values for key, values in extra.items() if any(float(one[1]) for one in values) and "Unknown" not in str(key[0])]
    check(found and not missing and not extra, f"perf lock contention {' '.join(words)} of {name} has the {len(found)} rows of perch",
          missing[:5], str(extra[:5]), str(len(expected)))


def check_wakers(work):
    """The rows of -o have the threads that woke waiters, as the events say."""
    waits, wakers = {}, collections.Counter()
    for line in perch(work, "dump", "--json", "--time", "-i", "wakers.data").stdout.splitlines():
        record = json.loads(line)
        if record["type"] != "SAMPLE":
            if record["type"] == "LOST":
                print("ok - wakers # skip events were lost")
                return
            continue
        own, tid = record["tracepoint"], record["fields"]["tid"]
        if record["event"].startswith("lock:contention_begin"):
            # of nested waits the last one is woken
            waits.setdefault((tid, own["lock_addr"]["value"]), [None, own["flags"]["value"]])
        elif record["event"].startswith("lock:contention_end"):
            waker, _ = waits.pop((tid, own["lock_addr"]["value"]), (None, 0))
            if waker is not None:
                wakers[waker] += 1
        else:
            asleep = [key for key, (_, flags) in waits.items() if key[0] == own["pid"]["value"] and not int(flags) & 1]
            if asleep:
                waits[asleep[-1]][0] = tid
    found = collections.Counter()
    for row in rows(work, "lock", "contention", "-o", "-i", "wakers.data"):
        found[row["tid"]] += row["contended"]
    check(found == wakers, f"the {len(wakers)} threads that woke waiters", found - wakers, wakers - found)


def check_lock(work):
    skip = "4" if int(re.search(r"version (\d+)", perf(work, "version"))[1]) > 6 else "3"
    command = ["perf", "bench", "sched", "messaging", "-g", "4", "-l", "100"]
    perf(work, "lock", "record", "-a", "-o", "lock.perf", "--", *command)
    done = perch(work, "lock", "record", "-a", "-o", "lock.perch", "--", *command)
    check(done.returncode == 0, "perch lock record", done)
    for name in ("lock.perf", "lock.perch"):
        check_lock_rows(work, name, ["-t"], lambda text: int(text.split()[0]), lambda row: row["pid"])
        check_lock_rows(work, name, [], lambda text: " ".join(text.split()), lambda row: f"{row['type']} {row['caller']}",
                        ["--stack-skip", skip])
    count = sum(row["contended"] for row in rows(work, "lock", "contention", "-i", "lock.perf"))
    for words in (["-l"], ["-t"], ["--max-stack", "2"]):
        check(sum(row["contended"] for row in rows(work, "lock", "contention", "-i", "lock.perf", *words)) == count,
              f"the rows of {' '.join(words)} are the same waits")
    types = {row["type"] for row in rows(work, "lock", "contention", "-i", "lock.perf")}
    parts = sum(row["contended"] for kind in types for row in rows(work, "lock", "contention", "-i", "lock.perf", "-Y", kind))
    check(parts == count, f"-Y divides the waits by type: {' '.join(sorted(types))}")
    done = perch(work, "lock", "-o", "record", "-a", "-o", "wakers.data", "--", *command)
    check(done.returncode == 0, "perch lock -o record", done)
    check_wakers(work)
    done = perch(work, "lock", "contention", "-i", "lock.perf", "-E", "2", "-x", ";")
    check(re.fullmatch(r"# contended;wait_total;.*;caller\n(\d+;\d+;.*\n){2}", done.stdout), "-x prints numbers", done)
    check(perch(work, "lock", "contention", "-Y", "none").returncode == 2, "-Y refuses an unknown type")
    check(perch(work, "lock", "contention", "-F", "none").returncode == 2, "-F refuses an unknown column")


def check_lock_functions(work):
    """The functions that are skipped are of the kernel's sections for locks."""
    with open("/proc/kallsyms", encoding="ascii") as file:
        symbols = [(int(address, 16), kind, name) for address, kind, name in (line.split()[:3] for line in file)]
    marks = {name: address for address, _, name in symbols if re.fullmatch(r"__(sched|lock)_text_(start|end)", name)}
    if len(marks) != 4 or not marks["__sched_text_start"]:
        print("ok - names of functions # skip /proc/kallsyms hides addresses")
        return
    with open(os.path.join(SOURCE, "src/cli/tables/lock_functions.c"), encoding="utf-8") as file:
        names = re.findall(r'"(\w+\*?)"', re.search(r"kernel_names\[\] = \{(.*?)\};", file.read(), re.S)[1])
    pattern = re.compile("|".join(rf"{name[:-1]}.*" if name.endswith("*") else rf"{name}(\..*)?" for name in names))
    inside = [name for address, kind, name in symbols
              if kind in "tTwW" and not name.startswith("__pfx_") and name not in marks and not name.startswith(".") and
              (marks["__sched_text_start"] <= address < marks["__sched_text_end"] or
               marks["__lock_text_start"] <= address < marks["__lock_text_end"])]
    unknown = [name for name in inside if not pattern.fullmatch(name)]
    check(len(unknown) <= len(inside) / 20, f"of {len(inside)} functions for locks of this kernel at most 5 % are unknown", unknown)


def check_lock_names(work):
    """Locks have the names of variables in a kallsyms that lists all of them; one that lists a few has none to give."""
    address = int(rows(work, "lock", "contention", "-l", "-i", "lock.perch")[0]["address"], 16)
    with open("/proc/kallsyms", encoding="ascii") as file:
        text = [line for line in file if line.split()[1] in "tT"]
    if not any(line.split()[2] == "_text" and int(line.split()[0], 16) for line in text):
        print("ok - names of locks # skip /proc/kallsyms hides addresses")
        return
    for others, expected in ((2000, "own_lock+0x8"), (10, "")):
        with open(os.path.join(work, "kallsyms"), "w", encoding="ascii") as file:
            file.writelines(text)
            file.writelines(f"{address + 0x1000 + 16 * i:016x} d other_{i}\n" for i in range(others))
            file.write(f"{address - 8:016x} D own_lock\n")
        words = ["lock", "contention", "-l", "-i", "lock.perch", "--kallsyms", "kallsyms"]
        found = [row["symbol"] for row in rows(work, *words) if int(row["address"], 16) == address]
        check(len(found) == 1 and found[0].startswith(f"{expected} (" if expected else "("), f"a lock with {others} other variables", str(found))
    done = perch(work, "lock", "contention", "-l", "-i", "lock.perch", "--kallsyms", "kallsyms", "-L", hex(address), "-j")
    check(len(done.stdout.splitlines()) == 1, "-L selects a lock by its address", done)


def check_user_locks(work):
    with open(os.path.join(work, "mutex.c"), "w", encoding="ascii") as file:
        file.write(MUTEX)
    subprocess.run(["cc", "-O1", "-g", "-pthread", "-o", "mutex", "mutex.c"], cwd=work, check=True)
    done = perch(work, "lock", "contention", "-U", "-j", "--", "./mutex")
    check(done.returncode == 0, "perch lock contention -U PROGRAM", done)
    lines = done.stdout.splitlines()
    waited = int(next(line for line in lines if line.isdigit()))
    own = [json.loads(line) for line in lines if line.startswith("{")]
    own = [row for row in own if "hold+" in row["caller"]]
    check(own and own[0]["caller"].startswith("take (inlined in hold+"), "the caller is the function that is inlined", str(own))
    total = sum(row["wait_total"] for row in own)
    check(0.5 * waited < total < 1.05 * waited, "the waits for a mutex are what the program measures", f"{total} of {waited}", done)
    check(own and own[0]["waker"].startswith("hold+"), "the waker is the one that had the mutex", str(own))
    check(own and "mutex_lock" in own[0]["function"], "the function of the library has its name", str(own))
    done = perch(work, "lock", "-U", "record", "-o", "user.data", "--", "./mutex")
    check(done.returncode == 0, "perch lock -U record", done)
    owners = [row for row in rows(work, "lock", "contention", "-U", "-o", "-i", "user.data") if "hold+" in row["caller"]]
    addresses = rows(work, "lock", "contention", "-U", "-l", "-i", "user.data")
    check(owners and addresses and owners[0]["contended"] <= addresses[0]["contended"], "rows by owner and by address", str(owners))
    check(addresses and addresses[0]["symbol"] == "mutex (futex)", "a mutex that is a variable has its name", str(addresses[:2]))
    named = rows(work, "lock", "contention", "-U", "-l", "-L", "mutex", "-i", "user.data")
    check([row["address"] for row in named] == [addresses[0]["address"]], "-L takes the name", str(named))
    done = perch(work, "lock", "contention", "-i", "user.data")
    check(done.returncode == 1 and "lock record" in done.stderr, "a file without the events is refused with what records them", done)


# A library whose stack is longer than what is recorded: the chains of its waits end there.
FAR = r"""
#include <pthread.h>

void far_lock(pthread_mutex_t *mutex);
void far_lock(pthread_mutex_t *mutex)
{
	volatile char stack[65536];

	stack[0] = stack[65535] = 1;
	pthread_mutex_lock(mutex);
	stack[1] = 1;
}
"""
NEAR = r"""
#include <pthread.h>
#include <unistd.h>

pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

void far_lock(pthread_mutex_t *mutex);

static void *work(void *is_far)
{
	for (int i = 0; i < 20; i++) {
		if (is_far)
			far_lock(&shared);
		else
			pthread_mutex_lock(&shared);
		usleep(3000);
		pthread_mutex_unlock(&shared);
		usleep(10);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, work, i ? &shared : NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
"""


def check_names_of_other_waits(work):
    """A wait whose chain has no code of the program is for the lock that other waits name."""
    for name, text, words in (("far", FAR, ["-shared", "-fPIC", "-o", "libfar.so"]), ("near", NEAR, ["-pthread", "-o", "near"])):
        with open(os.path.join(work, name + ".c"), "w", encoding="ascii") as file:
            file.write(text)
        libraries = [] if name == "far" else ["-L.", "-lfar", "-Wl,-rpath," + work]
        subprocess.run(["cc", "-O1", "-g", *words, name + ".c", *libraries], cwd=work, check=True)
    done = perch(work, "lock", "-U", "record", "-q", "-o", "far.data", "--", "./near")
    check(done.returncode == 0, "perch lock -U record ./near", done)
    named = rows(work, "lock", "contention", "-U", "-t", "-L", "shared", "-i", "far.data")
    lock = [row for row in rows(work, "lock", "contention", "-U", "-l", "-i", "far.data") if row["symbol"].startswith("shared ")]
    if not named:
        print("ok - names of other waits # skip no wait has a name")
        return
    check(len(lock) == 1 and sum(row["contended"] for row in named) == lock[0]["contended"],
          "a lock has the name that any of its waits has, with -l and -L", str(named), str(lock))


# ---- kwork ----

def kwork_rows(text):
    """The rows of perf kwork: name, CPU, time, count and maximum."""
    found = re.findall(r"^\s*(\S.*?)\s*\|\s*(\d+) \|\s*([\d.]+) ms \|\s*(\d+) \|\s*([\d.]+) ms \|", text, re.M)
    return sorted((name, int(cpu), int(count), float(spent), float(most)) for name, cpu, spent, count, most in found)


def other_kwork(ours, theirs):
    """The rows without an equal one on the other side. perf rounds to 0.001 ms, and its names of works are in memory
    that it has freed."""
    rest, missing = list(theirs), []
    for row in ours:
        near = [one for one in rest if (one[0] == row[0] or one[0][:3] == row[0][:3] == "(w)") and one[1:3] == row[1:3] and
                abs(one[3] - row[3]) < 0.00101 and abs(one[4] - row[4]) < 0.00101]
        if near:
            rest.remove(near[0])
        else:
            missing.append(row)
    return missing, rest


def without_joined(ours, theirs):
    """Rows that are left of both. perf adds up works that had the same address one after the other, under one name."""
    theirs = list(theirs)
    for joined in list(theirs):
        here = [row for row in ours if row[0][:3] == joined[0][:3] == "(w)" and row[1] == joined[1]]
        parts = next((part for nr in (2, 3) for part in itertools.combinations(here, nr)
                      if sum(row[2] for row in part) == joined[2] and abs(sum(row[3] for row in part) - joined[3]) < 0.00101), None)
        if parts:
            theirs.remove(joined)
            ours = [row for row in ours if row not in parts]
    return ours, theirs


def check_kwork(work):
    load = ["sh", "-c", "dd if=/dev/zero of=written bs=1M count=32 conv=fsync 2>/dev/null; sleep 0.3"]
    perf(work, "kwork", "record", "-o", "kwork.perf", "--", *load)
    done = perch(work, "kwork", "record", "-o", "kwork.perch", "--", *load)
    check(done.returncode == 0, "perch kwork record", done)
    for name in ("kwork.perf", "kwork.perch"):
        theirs = kwork_rows(perf(work, "kwork", "report", "-i", name))
        ours = sorted((row["name"], row["cpu"], row["count"], row["runtime"] / 1e6, row["max"] / 1e6)
                      for row in rows(work, "kwork", "report", "-i", name) if row["count"])
        # perf does not see a work that moves to another CPU while it runs
        missing, rest = without_joined(*other_kwork(ours, theirs))
        check(ours and not rest and all(row[0].startswith("(w)") for row in missing) and len(missing) <= 2 + len(ours) / 20,
              f"perf kwork report of {name} has the {len(ours)} rows of perch", str((missing, rest)))
        theirs = [row for row in kwork_rows(perf(work, "kwork", "latency", "-i", name)) if row[0].startswith("(s)")]
        ours = sorted((row["name"], row["cpu"], row["count"], row["avg"] / 1e6, row["max"] / 1e6)
                      for row in rows(work, "kwork", "latency", "-i", name) if row["name"].startswith("(s)"))
        # perf 6.1 keeps all raises before an entry, and takes an old one for a later entry: then it has more
        missing, rest = other_kwork(ours, theirs)
        more = {(one[0], one[1]) for one in rest if any(row[:2] == one[:2] and row[2] < one[2] for row in missing)}
        check(ours and all(row[:2] in more for row in missing + rest), f"perf kwork latency of {name} has the {len(ours)} softirqs of perch",
              str((missing, rest)))
    line = re.compile(r"^\s*([\d.]+)\s+([\d.]+)\s+\[(\d+)\]\s+(\S+)\s+([\d.]+)(?:\s+([\d.]+))?\s*$", re.M)
    theirs = line.findall(perf(work, "kwork", "timehist", "-i", "kwork.perf"))
    ours = line.findall(perch(work, "kwork", "timehist", "-i", "kwork.perf").stdout)
    plain = [collections.Counter((*one[:3], *one[4:5]) for one in lines) for lines in (ours, theirs)]
    extra = [one for one in ours if (*one[:3], *one[4:5]) in plain[0] - plain[1]]
    check(ours and not plain[1] - plain[0] and all(one[3].startswith("(w)") for one in extra) and len(extra) <= 2 + len(ours) / 20,
          f"perf kwork timehist has the {len(ours)} lines of perch", str(plain[1] - plain[0]), str(extra))
    listed = [json.loads(one) for one in perch(work, "kwork", "timehist", "-i", "kwork.perf", "-j").stdout.splitlines()]
    check(len(listed) == len(ours) and all(one["end"] - one["start"] == one["runtime"] for one in listed), "timehist -j has the same")
    done = perch(work, "kwork", "-k", "softirq", "report", "-i", "kwork.perf", "-S")
    check("(w)" not in done.stdout and "Total runtime" in done.stdout, "-k selects a class, -S adds it up", done)
    names = {row["name"] for row in rows(work, "kwork", "report", "-i", "kwork.perf", "-n", "TIMER")}
    check(names == {"(s)TIMER:1"}, "-n selects a name", str(names))


def check_switches_of_some_threads(work):
    """Of a process alone there are the switches by which it leaves a CPU: what came next did not run until the next of them."""
    done = perch(work, "record", "-q", "-e", "sched:sched_switch", "-o", "some.data", "--", "sh", "-c", "for i in 1 2 3 4 5; do sleep 0.1; done",
                 preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
    check(done.returncode == 0, "perch record of the switches of a process", done)
    done = perch(work, "kwork", "top", "-i", "some.data", "-j")
    both = [json.loads(line) for line in done.stdout.splitlines()]
    # threads that run next, and sleep, do not leave the CPU at the end
    check(sum(row["uncertain"] for row in both if row["table"] == "cpu") > 0 and
          all(row["runtime"] < 3e8 for row in both if row["table"] == "thread" and row["name"].startswith("swapper")),
          "a thread does not run while another one leaves the CPU", done)
    check(all("irq" not in row and "softirq" not in row for row in both) and "has no irq:softirq_entry, irq:softirq_exit, irq:irq_handler_entry" in done.stderr,
          "interrupts that were not recorded are in no column", done)
    perch(work, "kwork", "record", "-q", "-o", "default.data", "--", "true")
    done = perch(work, "kwork", "top", "-i", "default.data")
    check(done.returncode == 1 and "perch kwork -k irq,softirq,sched record" in done.stderr, "top names the recording that it needs", done)


def check_kwork_top(work):
    """The times of threads without interrupts are those of perf, if it has the command (6.7)."""
    done = perch(work, "kwork", "-k", "irq,softirq,sched", "record", "-o", "top.data", "--", "sh", "-c",
                 "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; sleep 0.1")
    check(done.returncode == 0, "perch kwork record for top", done)
    both = rows(work, "kwork", "top", "-i", "top.data")
    threads, cpus = ([row for row in both if row["table"] == table] for table in ("thread", "cpu"))
    check(threads and cpus and all(row["busy"] <= 100 and row["irq"] + row["softirq"] <= 100 for row in cpus), "kwork top has threads and CPUs", str(both[-4:]))
    check({"irq", "softirq", "uncertain"} <= cpus[0].keys(), "CPUs have their interrupts, and what is uncertain", str(cpus[0]))
    check_switches_of_some_threads(work)
    inside = sum(row["time"] * (1 - (row["irq"] + row["softirq"]) / 100) for row in cpus)
    ran = sum(row["runtime"] for row in threads)
    check(abs(inside - ran) <= ran / 1000, f"what is no interrupt is a thread: {inside} {ran}")
    newest = os.environ.get("NEWEST_PERF", "newest-perf")
    text = subprocess.run([newest, "kwork", "top", "-i", "top.data"], cwd=work, capture_output=True, text=True, errors="replace",
                          check=False).stdout if shutil.which(newest) else ""
    theirs = {int(pid): float(ms) for pid, ms in re.findall(r"^ +(\d+) +[\d.]+ +([\d.]+) ms", text, re.M)}
    if not theirs:
        print("ok - kwork top as in perf # skip there is no newer perf")
        return
    ours = {row["pid"]: row["runtime"] / 1e6 for row in threads if not row["uncertain"]}
    # perf takes off an interrupt inside a softirq twice
    differing = [(pid, ms, ours[pid]) for pid, ms in theirs.items() if pid and pid in ours and not -0.0011 < ours[pid] - ms < max(0.0011, ms / 50)]
    check(not differing and len(theirs.keys() & ours.keys()) > len(theirs) / 2, f"perf kwork top has the runtimes of perch: {len(theirs)}", str(differing[:5]))


# ---- kmem ----

def check_kmem(work):
    load = ["ls", "-lR", "/usr/share/doc"]
    perf(work, "kmem", "--slab", "record", "-o", "slab.perf", "--", *load)
    done = perch(work, "kmem", "record", "-o", "slab.perch", "--", *load)
    check(done.returncode == 0, "perch kmem record", done)
    for name in ("slab.perf", "slab.perch"):
        text = perf(work, "kmem", "-i", name, "--slab", "--caller", "stat")
        theirs = sorted(map(lambda found: tuple(map(int, found)),
                            re.findall(r"\|\s+(\d+)/\d+\s+\|\s+(\d+)/\d+\s+\|\s+(\d+) \|\s+\d+ \|", text)))
        ours = rows(work, "kmem", "--caller", "stat", "-i", name)
        own = sorted((row["bytes"], row["bytes_req"], row["hit"]) for row in ours)
        check(own and own == theirs, f"perf kmem stat --caller of {name} has the {len(own)} rows of perch",
              str([row for row in own if row not in theirs][:4]), str([row for row in theirs if row not in own][:4]))
        sums = perch(work, "kmem", "stat", "-i", name).stdout
        for what in ("Total bytes requested", "Total bytes allocated", "Total bytes wasted on internal fragmentation"):
            number = [re.search(what + r":\s*([\d,]+)", one) for one in (text, sums)]
            check(all(number) and number[0][1].replace(",", "") == number[1][1], f"{what}, {name}", text[-600:], sums)
        objects = [row for row in rows(work, "kmem", "--alloc", "stat", "-i", name) if row["table"] == "alloc"]
        check(sum(row["hit"] for row in objects) == sum(row["hit"] for row in ours), f"--alloc has all of them, {name}")
    both = rows(work, "kmem", "--caller", "-s", "bytes", "-l", "3", "--alloc", "-s", "ptr", "-l", "2", "stat", "-i", "slab.perch")
    tables = [[row for row in both if row["table"] == table] for table in ("caller", "alloc")]
    check([len(table) for table in tables] == [3, 2] and all(
        column == sorted(column, reverse=order) for column, order in (([row["bytes"] for row in tables[0]], True), ([int(row["ptr"], 16) for row in tables[1]], False))),
          "-s and -l are about the table that the option before has chosen", str(both))
    perf(work, "kmem", "--page", "record", "-o", "page.perf", "--", *load)
    done = perch(work, "kmem", "--page", "record", "-o", "page.perch", "--", *load)
    check(done.returncode == 0, "perch kmem --page record", done)
    for name in ("page.perf", "page.perch"):
        text = [perf(work, "kmem", "-i", name, "--page", "stat"), perch(work, "kmem", "-i", name, "--page", "stat").stdout]
        sums = [re.findall(r"^Total (.*?) +: +(\d+)(?: +\[ +(\d+) KB)?", one, re.M) for one in text]
        check(len(sums[0]) == 6 and [one[:2] for one in sums[0]] == [one[:2] for one in sums[1]], f"the sums of pages, {name}",
              str(sums[0]), str(sums[1]))
        # perf has five types, in the order of their numbers
        orders = [[line.split()[:6] for line in re.findall(r"^ +\d+(?: +[\d,.]+){5,}$", one[one.index("allocation failures"):], re.M)] for one in text]
        check(len(orders[0]) >= 10 and orders[0] == orders[1][:len(orders[0])], f"the table of orders and types, {name}", *map(str, orders))
        own = rows(work, "kmem", "--page", "stat", "-i", name)
        check(sum(row["hit"] for row in own) == int(sums[0][0][1]) - int(sums[0][5][1]), f"rows have all pages, {name}")
        live = rows(work, "kmem", "--page", "--live", "stat", "-i", name)
        check(all(row["hit"] for row in live) and sum(row["hit"] for row in live) <= int(sums[0][3][1]), f"--live has only pages, {name}", sums[0])
        check(all("GFP_" in row["gfp"] or row["gfp"].startswith("0x") for row in own), f"flags have names, {name}", str(own[:2]))


# ---- block ----

def check_block(work):
    """Counts, bytes and latencies are what the lines of perf script give."""
    done = perch(work, "block", "frobnicate")
    check(done.returncode == 127 and "record or latency" in done.stderr, "a word that is no program is answered with the words", done)
    done = perch(work, "block", "record", "-o", "block.data", "--", "sh", "-c",
                 "dd if=/dev/zero of=written bs=1M count=16 conv=fsync 2>/dev/null; dd if=written of=/dev/null bs=64k iflag=direct 2>/dev/null")
    check(done.returncode == 0, "perch block record", done)
    kinds = {"R": "read", "W": "write", "D": "discard"}
    started, expected = {}, {}
    for line in perf(work, "script", "-i", "block.data", "--ns", "-F", "time,event,trace").splitlines():
        match = re.match(r"\s*(\d+)\.(\d{9}):\s+block:block_rq_(issue|complete): (\d+,\d+) F?(\w)\w* (?:(\d+) )?\(.*?\) (\d+) \+ (\d+)", line)
        if not match or match[5] not in kinds or match[8] == "0":
            continue
        key = (match[4], match[5], match[7])
        now = int(match[1]) * 10**9 + int(match[2])
        if match[3] == "issue":
            started[key] = (now, int(match[6]), int(match[8]))
        elif key in started and started[key][2] == int(match[8]):
            begin, size, _ = started.pop(key)
            expected.setdefault(kinds[match[5]], []).append((now - begin, size))
    found = {row["kind"]: row for row in rows(work, "block", "-i", "block.data")}
    if not expected:
        print("ok - perch block # skip no disk had requests here")
        return
    for kind, requests in expected.items():
        row = found.get(kind, {"count": 0, "bytes": 0, "total": 0, "max": 0, "p50": 0})
        times = sorted(spent for spent, _ in requests)
        check(row["count"] >= len(requests) and row["bytes"] >= sum(size for _, size in requests) and row["total"] >= sum(times),
              f"{kind}: count, bytes and latency of {len(requests)} requests", str(row), str(len(requests)))
        if row["count"] == len(requests):
            check(row["max"] == times[-1] and row["total"] == sum(times), f"{kind}: the same sum and maximum", str(row))
            middle = times[(len(times) + 1) // 2 - 1]
            check(abs(row["p50"] - middle) <= 0.017 * middle + 1, f"{kind}: half of them are as fast", str(row), str(middle))


def check_losses(work):
    """Intervals around lost events are counted separately, and no time is in both."""
    for _ in range(5):
        done = perch(work, "lock", "record", "-a", "-m", "1", "-o", "lost.data", "--", PERF, "bench", "sched", "messaging", "-g", "4", "-l", "100")
        if re.search(r"lost", perch(work, "lock", "contention", "-i", "lost.data").stderr):
            break
    else:
        print("ok - lost events # skip no event was lost")
        return
    done = perch(work, "lock", "contention", "-i", "lost.data")
    own = rows(work, "lock", "contention", "-t", "-i", "lost.data")
    uncertain = sum(row["uncertain"] for row in own)
    check(f"{uncertain} interval" in done.stderr or not uncertain, "a note says how many intervals may be wrong", done, str(uncertain))
    with open(os.path.join(work, "lost.data"), "rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as pipe:
        piped = subprocess.run([PERCH, "lock", "contention", "-t", "-j", "-i", "-"], stdin=pipe.stdout, capture_output=True, text=True,
                               errors="replace", timeout=limit(100), check=False)
    check([json.loads(line) for line in piped.stdout.splitlines()] == own and "twice" not in piped.stderr, "a pipe has the same rows", piped)
    # the same from the records: a loss is between the record before on its CPU and the LOST record
    losses, last, begun, waits = [], {}, {}, []
    for line in perch(work, "dump", "--json", "--time", "-i", "lost.data").stdout.splitlines():
        record = json.loads(line)
        fields = record["fields"]
        stamp = fields if record["type"] == "SAMPLE" else fields.get("sample_id", {})
        if not int(stamp.get("time", 0)) or "cpu" not in stamp:
            continue # of what was there before the recording
        now, cpu = int(stamp["time"]), stamp["cpu"]
        if record["type"] == "LOST":
            losses.append((last.get(cpu, 0), now))
        last[cpu] = now
        if record["type"] == "SAMPLE" and record["event"].startswith("lock:"):
            key = (fields["tid"], fields["tid"] or cpu, record["tracepoint"]["lock_addr"]["value"])
            if "begin" in record["event"]:
                begun.setdefault(key, now)
            elif key in begun:
                waits.append((begun.pop(key), now))
    doubtful = [wait for wait in waits if any(start <= wait[1] and end >= wait[0] for start, end in losses)]
    check(losses and len(doubtful) == uncertain, f"of {len(waits)} waits {uncertain} are around {len(losses)} losses", str(len(doubtful)), str(losses))
    total = sum(end - start for start, end in waits) - sum(end - start for start, end in doubtful)
    check(total == sum(row["wait_total"] for row in own), "the others are added up", str(total))
    check(sum(end - start for start, end in doubtful) == sum(row["uncertain_ns"] for row in own), "and they are, too")


def heed_signals():
    """A test in the background, or below nohup(1), inherits that they are ignored, and perch keeps that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def check_signals(work):
    """A signal ends the recording of -a: SIGINT with the table, SIGTERM without; nothing stays behind. SIGHUP is ignored after nohup(1)."""
    directory = os.path.join(work, "temporary")
    os.makedirs(directory, exist_ok=True)
    for before, number in (([], signal.SIGINT), ([], signal.SIGTERM), ([], signal.SIGHUP), (["nohup"], signal.SIGINT)):
        process = subprocess.Popen([*before, PERCH, "kwork", "report", "-a"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   env={**os.environ, "TMPDIR": directory}, preexec_fn=heed_signals)
        end = time.monotonic() + limit(30)
        while not any("perf.data" in files for _, _, files in os.walk(directory)) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.2)
        if before:
            process.send_signal(signal.SIGHUP)
            time.sleep(0.2)
            check(process.poll() is None, "a recording goes on after SIGHUP that nohup ignores", str(process.returncode))
        process.send_signal(number)
        out, err = process.communicate(timeout=limit(60))
        if number == signal.SIGINT:
            check(process.returncode == 0 and out.startswith("Kwork Name"), f"{' '.join([*before, 'SIGINT'])} ends a recording, and the table follows", str(process.returncode), out, err)
        else:
            check(process.returncode == -number and not out, f"{number.name} ends all", str(process.returncode), out, err)
        check(not os.listdir(directory), "no file stays behind", str(os.listdir(directory)))


def check_targets(work):
    """record is of all CPUs unless its options, not those of the program, name a target."""
    own = str(os.getpid())
    for words, is_all in (["--", "ls", "-p", "/none"], True), (["ls", "-C", "/none"], True), (["-m", "64", "ls", "-u"], True), (["-t", own, "true"], False), \
            (["--pid", own, "true"], False), (["--tid=" + own, "true"], False), (["--cpu", "0", "true"], False), (["-qp", own, "true"], False):
        perch(work, "kmem", "record", "-o", "target.data", *words)
        line = perch(work, "report", "--header-only", "-i", "target.data")
        found = re.search(r"cmdline : .*?record (-a )?", line.stdout)
        check(found and bool(found[1]) == is_all, f"kmem record {' '.join(words)} records {'all CPUs' if is_all else 'no more'}", line)


def check_usage(work):
    for words in (["lock"], ["lock", "info"], ["lock", "frobnicate"], ["kmem"], ["kmem", "--live", "stat"],
                  ["kwork", "timehist", "-E", "1"], ["kwork", "timehist", "-F", "name"], ["kwork", "timehist", "-s", "name"], ["kwork", "top", "-p", "1"],
                  ["kwork", "top", "--tid", "1"], ["kwork", "top", "-S"], ["kwork", "top", "-n", "TIMER"], ["kwork", "-k", "irq", "top"]):
        done = perch(work, *words)
        check(done.returncode == 2 and f"perch help {words[0]}" in done.stderr, f"perch {' '.join(words)} is refused", done)


def has_event(name):
    return any(os.path.exists(os.path.join(top, "events", name.replace(":", "/"), "format"))
               for top in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"))


def main():
    with tempfile.TemporaryDirectory() as work:
        check_usage(work)
        if not shutil.which(PERF) or not has_event("sched:sched_switch") or \
                perch(work, "record", "-a", "-q", "-o", "try.data", "-e", "sched:sched_switch", "--", "true").returncode:
            print("skipped: no perf, or this user may not record tracepoints on all CPUs")
            return int(cases.failed) or 77
        for name, function in (("lock:contention_begin", check_lock), ("lock:contention_begin", check_losses),
                               ("lock:contention_begin", check_lock_functions), ("lock:contention_begin", check_lock_names),
                               ("syscalls:sys_enter_futex", check_user_locks),
                               ("syscalls:sys_enter_futex", check_names_of_other_waits), ("irq:softirq_entry", check_kwork),
                               ("irq:softirq_entry", check_kwork_top), ("irq:softirq_entry", check_signals),
                               ("kmem:kmalloc", check_targets),
                               ("kmem:kmalloc", check_kmem), ("block:block_rq_issue", check_block)):
            if not has_event(name) or not shutil.which("cc"):
                print(f"ok - {function.__name__} # skip this kernel lacks {name}, or there is no compiler")
                continue
            try:
                function(work)
            except peer.Died as died:
                print(f"ok - {function.__name__} # skip {died}")
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
