#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch lock, kwork, kmem and block: their numbers are those of perf on the same file, recorded by either, and what programs count themselves.

PERF names the perf to compare with (perf).
"""
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

__attribute__((noinline)) static void hold(void)
{
	long start = ns();

	pthread_mutex_lock(&mutex);
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
    done = peer.run([PERF, *words], cwd=work, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
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
        near = [values for values in expected.get((key_of_perch(row), row["contended"]), [])
                if is_near(row["wait_total"], values[1], values[2]) and is_near(row["wait_max"], values[3], values[4])]
        if not near:
            missing.append(str(row))
        extra.pop((key_of_perch(row), row["contended"]), None)
    extra = [values for key, values in extra.items() if any(float(one[1]) for one in values)]
    check(found and not missing and not extra, f"perf lock contention {' '.join(words)} of {name} has the {len(found)} rows of perch",
          missing[:5], str(extra[:5]), str(len(expected)))


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


def check_user_locks(work):
    with open(os.path.join(work, "mutex.c"), "w", encoding="ascii") as file:
        file.write(MUTEX)
    subprocess.run(["cc", "-O1", "-g", "-pthread", "-o", "mutex", "mutex.c"], cwd=work, check=True)
    done = perch(work, "lock", "contention", "-U", "-j", "--", "./mutex")
    check(done.returncode == 0, "perch lock contention -U PROGRAM", done)
    lines = done.stdout.splitlines()
    waited = int(next(line for line in lines if line.isdigit()))
    own = [json.loads(line) for line in lines if line.startswith("{")]
    own = [row for row in own if row["caller"].startswith("hold+")]
    total = sum(row["wait_total"] for row in own)
    check(0.5 * waited < total < 1.05 * waited, "the waits for a mutex are what the program measures", f"{total} of {waited}", done)
    check(own and own[0]["waker"].startswith("hold+"), "the waker is the one that had the mutex", str(own))
    check(own and "mutex_lock" in own[0]["function"], "the function of the library has its name", str(own))
    done = perch(work, "lock", "-U", "record", "-o", "user.data", "--", "./mutex")
    check(done.returncode == 0, "perch lock -U record", done)
    owners = [row for row in rows(work, "lock", "contention", "-U", "-o", "-i", "user.data") if row["caller"].startswith("hold+")]
    addresses = rows(work, "lock", "contention", "-U", "-l", "-i", "user.data")
    check(owners and addresses and owners[0]["contended"] <= addresses[0]["contended"], "rows by owner and by address", str(owners))
    done = perch(work, "lock", "contention", "-i", "user.data")
    check(done.returncode == 1 and "lock record" in done.stderr, "a file without the events is refused with what records them", done)


def check_usage(work):
    for words in (["lock"], ["lock", "info"], ["lock", "frobnicate"]):
        done = perch(work, *words)
        check(done.returncode == 2 and "perch help lock" in done.stderr, f"perch {' '.join(words)} is refused", done)


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
        if has_event("lock:contention_begin"):
            check_lock(work)
            check_lock_functions(work)
        else:
            print("ok - perch lock # skip this kernel lacks lock:contention_begin")
        if has_event("syscalls:sys_enter_futex") and shutil.which("cc"):
            check_user_locks(work)
        else:
            print("ok - perch lock -U # skip no tracepoints of system calls, or no compiler")
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
