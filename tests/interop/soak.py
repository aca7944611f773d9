#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Long recordings: their memory stays flat, and each event is a sample, or counted as lost.

SOAK_SECONDS is how long they take (3; make test-long: half an hour). Two run at once: 500,000 events a second into a pipe, and
--switch-output=1s. Long ones are followed by 10 s with a million events a second from two processes. The program that is recorded
calls getppid(2) at a rate, and its calls are counted.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

import cases
from cases import check, limit

PERCH = os.environ.get("PERCH", "build/perch")
SECONDS = float(os.environ.get("SOAK_SECONDS", "3"))
# calls a second of each process, processes, seconds
LOADS = {"pipe": (500000, 1, SECONDS), "files": (20000, 1, SECONDS), "million": (500000, 2, 10)}
MOST_GROWTH = 512  # kB, from the second quarter of the time to the last one

# Calls in parts of a millisecond; what a busy machine misses in more than 20 ms is not made up for. Arguments: calls a second of each process, processes,
# seconds, a file for the number of calls. Without arguments: prints the number of the system call.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_LATE 0.02

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static long make_calls(long rate, double end)
{
	double next = now();
	long calls = 0;

	while (next < end) {
		for (long left = rate / 1000; left; left--, calls++)
			syscall(SYS_getppid);
		next += 1e-3;
		if (next > now())
			usleep((next - now()) * 1e6);
		else if (next < now() - MOST_LATE)
			next = now();
	}
	return calls;
}

int main(int argc, char **argv)
{
	long calls, all = 0;
	int ends[2];
	FILE *file;

	if (argc != 5)
		return printf("%d\n", SYS_getppid) < 0;
	double end = now() + atof(argv[3]);

	if (pipe(ends))
		return 1;
	for (int i = 0; i < atoi(argv[2]); i++)
		if (!fork()) {
			calls = make_calls(atol(argv[1]), end);
			return write(ends[1], &calls, sizeof(calls)) != sizeof(calls);
		}
	for (int i = 0; i < atoi(argv[2]); i++, all += calls)
		if (read(ends[0], &calls, sizeof(calls)) != sizeof(calls))
			return 1;
	file = fopen(argv[4], "w");
	return !file || fprintf(file, "%ld\n", all) < 0 || fclose(file);
}
"""


def resident(pid):
    """The memory of a process in kB, or None."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            found = re.search(r"^VmRSS:\s*(\d+) kB", file.read(), re.M)
    except OSError:
        return None
    return int(found[1]) if found else None


def release():
    return tuple(map(int, os.uname().release.split("-")[0].split(".")[:2]))


class Soak:
    """A recording that runs."""

    def __init__(self, work, program, event, name):
        self.name = name
        self.calls, self.messages, data = (os.path.join(work, f"{name}.{kind}") for kind in ("calls", "messages", "data"))
        self.memory = []  # kB
        rate, processes, self.seconds = LOADS[name]
        output = ["-o", "-"] if name != "files" else ["-o", data, "--switch-output=1s", "--switch-max-files=2"]
        with open(self.messages, "w", encoding="utf-8") as messages:
            # pylint: disable-next=consider-using-with
            self.recorder = subprocess.Popen([PERCH, "record", "-N", *event, *output, "--", program, str(rate), str(processes),
                                              str(self.seconds), self.calls],
                                             stdout=subprocess.PIPE, stderr=messages)
        # pylint: disable-next=consider-using-with
        self.reader = subprocess.Popen(["cat"], stdin=self.recorder.stdout, stdout=subprocess.DEVNULL)
        self.recorder.stdout.close()

    def running(self):
        memory = resident(self.recorder.pid)
        if memory:
            self.memory.append(memory)
        return self.recorder.poll() is None

    def check(self):
        self.reader.wait()
        with open(self.messages, encoding="utf-8") as file:
            text = file.read()
        status = self.recorder.returncode
        check(status == 0, f"{self.name}: it ends well", f"exit status {status}", text[-2000:])
        if status:
            return
        with open(self.calls, encoding="utf-8") as file:
            calls = int(file.read())
        samples = sum(map(int, re.findall(r"^perch record: (\d+) samples?$" if self.name == "files" else r"wrote (\d+) samples", text, re.M)))
        lost = sum(map(int, re.findall(r"(\d+) records were lost", text)))
        # before Linux 6.0 the kernel counts lost records only when the ring has space again; records of forks and exits may be among them
        more = samples + lost - calls
        counted = 0 <= more <= (8 if lost else 0) or (release() < (6, 0) and more <= 0)
        check(counted and samples > 0, f"{self.name}: {calls} events, {calls / self.seconds:.0f} a second, are samples ({samples}) or counted as lost "
              f"({100 * lost / max(calls, 1):.2f} %)", text[-2000:])
        if self.name == "files":
            files = text.count("[ perch record: Dump ")
            check(files >= SECONDS / 4, f"files: {files} in {SECONDS:.0f} s", text[-2000:])
        quarter = len(self.memory) // 4
        if not quarter:
            return
        before, after = max(self.memory[quarter:2 * quarter]), max(self.memory[-quarter:])
        check(after - before <= MOST_GROWTH, f"{self.name}: memory {before} kB in the second quarter of the time, {after} kB in the last one",
              self.memory[::max(1, len(self.memory) // 40)])


def build(work):
    program = os.path.join(work, "calls")
    with open(program + ".c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run([os.environ.get("CC", "cc").split()[0], "-O1", "-o", program, program + ".c"], check=True)
    number = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return program, ["-e", "raw_syscalls:sys_enter", "--filter", f"id == {number}", "-c", "1"]


def main():
    with tempfile.TemporaryDirectory() as work:
        program, event = build(work)
        tried = subprocess.run([PERCH, "record", "-N", *event, "-o", os.path.join(work, "try"), "--", "true"], capture_output=True, text=True,
                               timeout=limit(60), check=False)
        if tried.returncode:
            print("skipped: the tracepoint of system calls cannot be recorded here: " + tried.stderr)
            sys.exit(77)
        for names in (("pipe", "files"), ("million",)):
            if "million" in names and SECONDS < 10:
                continue
            soaks = [Soak(work, program, event, name) for name in names]
            while any([soak.running() for soak in soaks]):
                time.sleep(min(1, SECONDS / 100))
            for soak in soaks:
                soak.check()
    sys.exit(cases.failed)


if __name__ == "__main__":
    main()
