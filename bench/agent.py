#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares recorders of all CPUs, as an agent runs them: agent.py [BUILD].

perch and perf record all CPUs at 4000 Hz with call chains, with a busy program on each CPU. The
best round of each is the result. Then one thread of record --threads writes system calls of all
CPUs as fast as they are made."""
import os
import re
import subprocess
import tempfile
import time

import compare

SECONDS = 0.1 if compare.SMOKE else 4
CALLS = 2000 if compare.SMOKE else 2000000  # of each CPU
ROUNDS = 3
CPU_TARGET, MEMORY_TARGET, RATE_TARGET = 0.05, 0.34, 1.5e6


def peak(pid):
    """Peak memory in kB: wait4(2) includes that of this program before the execve(2)."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            found = re.search(r"^VmHWM:\s*(\d+)", file.read(), re.M)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def record(command, directory):
    """Runs it in a directory. Returns seconds of CPU time, peak memory in kB, and the messages."""
    with tempfile.TemporaryFile("w+") as text:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=text, stderr=text,
                                 cwd=directory)
        memory, pid = 0, 0
        while not pid:
            memory = max(memory, peak(child.pid))
            time.sleep(0.005)
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        child.returncode = os.waitstatus_to_exitcode(status)
        text.seek(0)
        messages = text.read()
    if child.returncode:
        compare.end_by(command, child.returncode)
    return usage.ru_utime + usage.ru_stime, memory, messages


def compare_all_cpus(perch, perfs, directory):
    def measure(program):
        return record([program, "record", "-a", "-g", "-e", "cpu-clock", "-F", "4000", "-o", "data",
                       "--", "sleep", str(SECONDS)], directory)[:2]

    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
    try:
        runs = compare.measure_alternately(measure, [perch, *(path for _, path in perfs)], ROUNDS)
    finally:
        for child in busy:
            child.kill()
            child.wait()
    (cpu, memory), *others = (tuple(map(min, zip(*each))) for each in runs)
    for (name, _), (other_cpu, other_memory) in zip(perfs, others):
        print(f"record -a -g, 4000 Hz, {SECONDS} s: perch {1000 * cpu:.0f} ms of CPU time,"
              f" {memory} kB; {name} {1000 * other_cpu:.0f} ms, {other_memory} kB: perch/{name} CPU"
              f" {compare.describe_ratio(cpu / other_cpu, CPU_TARGET)}, peak memory"
              f" {compare.describe_ratio(memory / max(other_memory, 1), MEMORY_TARGET)}",
              flush=True)


def measure_thread(perch, perf, directory):
    """The calls are those of perf bench, whose number is known."""
    cpus = f"0-{os.cpu_count() - 1}"
    # the CPU time of the program is not that of the recorder
    program = (f"for i in $(seq {os.cpu_count()}); do {perf} bench syscall basic -l {CALLS} &"
               " done; wait; times > times")
    start = time.perf_counter()
    cpu, _, messages = record([perch, "record", "-N", f"--threads={cpus}/{cpus}", "-e",
                               "raw_syscalls:sys_enter", "-c", "1", "-m", "8M", "-o", "threads",
                               "--", "sh", "-c", program], directory)
    seconds = time.perf_counter() - start
    samples = int(re.search(r"\((\d+) samples\)", messages)[1])
    lost = sum(map(int, re.findall(r"(\d+) records were lost", messages)))
    with open(f"{directory}/times", encoding="utf-8") as file:
        used = sum(60 * int(minutes) + float(rest)
                   for minutes, rest in re.findall(r"(\d+)m([\d.]+)s", file.read()))
    rate = samples / max(cpu - used, 1e-3)
    print(f"record --threads, one thread, {os.cpu_count()} CPUs:"
          f" {(samples + lost) / seconds / 1e6:.2f} million system calls a second,"
          f" {100 * lost / (samples + lost):.2f} % lost; {rate / 1e6:.1f} million samples in a CPU"
          f" second of the recorder (target >= {RATE_TARGET / 1e6}"
          f"{'' if rate >= RATE_TARGET else ', MISSED'})")


def main():
    perch, perf = compare.commands()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        newer = compare.newer_perf()
        compare_all_cpus(perch, [("perf", perf), *([newer] if newer else [])], directory)
        if os.access("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", os.R_OK):
            measure_thread(perch, perf, directory)
        else:
            print("record --threads, one thread: the tracepoint of system calls cannot be recorded")


if __name__ == "__main__":
    main()
