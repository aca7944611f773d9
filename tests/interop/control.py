#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--control of perch record, stat and top: the commands and answers of perf, for the same client.

The client is that of pyperf: it opens two named pipes, and writes "enable" and "disable" around what it measures.
"""
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

import cases
from cases import check, limit
import peer

PERCH = os.environ.get("PERCH", "build/perch")
HAS_PERF = peer.version("perf") >= (5, 12)  # older ones have no fifo: or fewer commands

# Three functions run as long as each other; the client is in this program, as in a benchmark. The CPU time makes it independent of load.
PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static int failed;

#define SPIN(name) \
	__attribute__((noinline)) void name(void) \
	{ \
		struct timespec now, start; \
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start); \
		do { \
			for (int i = 0; i < 100000; i++) \
				sink += i; \
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); \
		} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 200); \
	}
SPIN(before) SPIN(inside) SPIN(after)

static void ask(FILE *to, FILE *from, const char *command)
{
	char line[200] = "", *at = line;

	fprintf(to, "%s\n", command);
	fflush(to);
	for (int c; (c = fgetc(from)) != '\n' && c != EOF && at < line + sizeof(line) - 1;)
		if (c)
			*at++ = c;
	*at = 0;
	printf("%s: %s\n", command, line);
	failed |= strcmp(line, "ack") != 0;
}

int main(int argc, char **argv)
{
	FILE *to = fopen(argv[1], "w"), *from = fopen(argv[2], "r");

	before();
	for (int i = 3; i < argc; i++) {
		ask(to, from, argv[i]);
		if (!strncmp(argv[i], "enable", 6))
			inside();
	}
	after();
	return failed;
}
"""


class Bracket:
    def __init__(self, work):
        self.work = work
        self.program = os.path.join(work, "bracket")
        source = self.program + ".c"
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run([os.environ.get("CC", "cc").split()[0], "-g", "-O1", "-fno-omit-frame-pointer", "-o", self.program, source],
                       check=True)
        self.ends = [os.path.join(work, name) for name in ("ctl", "ack")]
        for end in self.ends:
            os.mkfifo(end)

    def run(self, command, commands, form="fifo:"):
        """Runs a program under a command with --control, with these commands."""
        return peer.run([*command, "--control", f"{form}{','.join(self.ends)}", "--", self.program, *self.ends, *commands],
                        capture_output=True, text=True, timeout=limit(60))


def functions(tool, path):
    done = peer.run([tool, "script", "-F", "ip,sym", "-i", path], capture_output=True, text=True, timeout=limit(60))
    return [line.split()[1] for line in done.stdout.splitlines() if len(line.split()) > 1]


def check_bracket(bracket, form):
    """Only what runs between enable and disable has samples, in the files of both, for both readers."""
    path = os.path.join(bracket.work, "out.data")
    tools = [PERCH, *(["perf"] if HAS_PERF else [])]
    for tool in tools:
        done = bracket.run([tool, "record", "-D", "-1", "-e", "cpu-clock:u", "-F", "500", "-o", path],
                           ["ping", "enable", "disable"], form if tool == PERCH else "fifo:")
        name = os.path.basename(tool)
        check(done.stdout.split("\n")[:4] == ["ping: ack", "enable: ack", "disable: ack", ""],
              f"{name} record {form}: answers", done)
        for reader in tools if tool == PERCH else []:
            found = functions(reader, path)
            check(len(found) > 20 and found.count("inside") > 0.9 * len(found) and not {"before", "after"} & set(found),
                  f"{name} record {form}: {os.path.basename(reader)} finds samples of the bracket alone", found)


def check_events(bracket):
    """An event of several is enabled and disabled by its name."""
    path = os.path.join(bracket.work, "events.data")
    tools = [PERCH, *(["perf"] if HAS_PERF else [])]
    for tool in tools:
        done = bracket.run([tool, "record", "-D", "-1", "-e", "cpu-clock:u,task-clock:u", "-F", "500", "-o", path],
                           ["enable cpu-clock:u", "disable cpu-clock:u"])
        listed = peer.run([PERCH, "script", "-F", "event", "-i", path], capture_output=True, text=True, timeout=limit(60))
        found = {line.strip(" :") for line in listed.stdout.splitlines() if line.strip()}
        check(found == {"cpu-clock:u"}, f"{os.path.basename(tool)} record: an event by its name", done, listed)
    done = bracket.run([PERCH, "stat", "-x,", "-D", "-1", "-e", "cpu-clock:u,task-clock:u"], ["enable task-clock:u"])
    counts = dict((event, value) for value, event in re.findall(r"^([^,\n]*),[^,\n]*,([\w:-]+),", done.stderr, re.M))
    check(counts.get("cpu-clock:u") == "<not counted>" and float(counts["task-clock:u"]) > 150, "perch stat: an event by its name", done)


def check_groups(bracket):
    """All events of a group are enabled again, also one that was disabled by its name."""
    path = os.path.join(bracket.work, "group.data")
    commands = ["enable", "disable", "disable task-clock:u", "enable", "disable"]
    group = ["-D", "-1", "-e", "{cpu-clock:u,task-clock:u}"]
    done = bracket.run([PERCH, "record", *group, "-F", "500", "-o", path], commands)
    listed = peer.run([PERCH, "script", "-F", "event", "-i", path], capture_output=True, text=True, timeout=limit(60))
    found = [line.strip(" :") for line in listed.stdout.splitlines()]
    leader, member = found.count("cpu-clock:u"), found.count("task-clock:u")
    check(leader > 40 and member > 0.75 * leader, "perch record: enable means all events of a group", f"{leader} and {member} samples", done)
    done = bracket.run([PERCH, "stat", "-x,", *group], commands)
    counts = dict((event, float(value)) for value, event in re.findall(r"^([0-9.]+),[^,\n]*,([\w:-]+),", done.stderr, re.M))
    check(counts.get("task-clock:u", 0) > 0.75 * counts.get("cpu-clock:u", 1e9), "perch stat: enable means all events of a group", done)


def converse(command, script, seconds="100", output=None):
    """The answers of a command to a script; each within a time, or none. A function of the script is called."""
    commands, answers = os.pipe(), os.pipe()
    with subprocess.Popen([*command, "--control", f"fd:{commands[0]},{answers[1]}", *([] if command[1] == "top" else ["--", "sleep", seconds])], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, pass_fds=(commands[0], answers[1])) as process:
        os.close(commands[0])
        os.close(answers[1])
        found = []
        for line in script:
            if callable(line):
                line()
                continue
            os.write(commands[1], line.encode())
            ready = select.select([answers[0]], [], [], limit(20))[0]
            found.append(os.read(answers[0], 4096).decode() if ready else None)
        try:
            text, _ = process.communicate(timeout=limit(60))
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
            found.append("does not end")
        if output is not None:
            output.append(text)
        os.close(commands[1])
        os.close(answers[0])
        return found, process.returncode


def check_answers(work):
    """perf answers these, byte for byte as perch does; the others have an answer of perch alone."""
    same = ["ping\n", "enable\n", "evlist\n", "evlist -v\n", "evlist -g\n", "evlist -F\n", "disable task-clock\n", "enable task-clock\n",
            "disable\n", "ping\0", "ping"]
    wrong = ["frob\n", "enable nosuch\n", "evlist -x\n", "snapshot\n", "pingpong\n"]
    events = ["-e", "cpu-clock", "-e", "task-clock"]
    # a high rate may be refused on a busy machine
    subcommands = {"record": ["-q", "-F", "99", "-o", os.path.join(work, "answers.data")], "stat": [], "top": ["--stdio", "-F", "99"]}
    for name, options in subcommands.items():
        found, status = converse([PERCH, name, *events, *options], same + ["stop\n"])
        check(set(found) == {"ack\n\0"} and len(found) == len(same) + 1 and not status, f"perch {name}: each command is acknowledged, and stop ends it",
              found, f"exit status {status}")
        if name != "top" and HAS_PERF:
            theirs, _ = converse(["perf", name, *events, *options], same, "4")  # perf stat waits for the program after a stop
            check(theirs[:len(same)] == found[:len(same)], f"perf {name}: the same answers", theirs)
        found, status = converse([PERCH, name, *events, *options], wrong + ["stop\n"])
        check(all(answer and answer.startswith("error: ") and answer.endswith("\n\0") for answer in found[:-1]) and found[-1] == "ack\n\0",
              f"perch {name}: wrong commands have an answer", found)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def check_top_disabled():
    """perch top -D -1: the profile has no samples until the command enable."""
    # pylint: disable-next=consider-using-with
    program = subprocess.Popen(["sh", "-c", "while :; do :; done"])

    def work():
        end = cpu_seconds(program.pid) + 0.5
        while cpu_seconds(program.pid) < end:
            time.sleep(0.05)

    try:
        for first, some in (("ping\n", False), ("enable\n", True)):
            text = []
            found, status = converse([PERCH, "top", "-D", "-1", "--stdio", "-e", "cpu-clock:u", "-F", "99", "-p", str(program.pid)],
                                     [first, work, "stop\n"], output=text)
            rows = re.findall(r"^ +\d+\.\d+%", text[0], re.M)
            check(found == ["ack\n\0"] * 2 and not status and bool(rows) == some,
                  f"perch top -D -1: {'samples after' if some else 'no samples before'} the command enable", found, text)
    finally:
        program.kill()
        program.wait()


def check_snapshot(work):
    """Each snapshot is a file that is complete when it is acknowledged."""
    path = os.path.join(work, "snapshots")
    for options in (["--switch-output"], ["--switch-output", "--overwrite"]):
        os.makedirs(path, exist_ok=True)
        found, _ = converse([PERCH, "record", "-q", "-e", "cpu-clock", "-F", "99", *options, "-o", os.path.join(path, "x")],
                            ["snapshot\n", "snapshot\n", "stop\n"])
        files = sorted(name for name in os.listdir(path) if name.startswith("x.2"))
        headers = [subprocess.run([PERCH, "report", "--header-only", "-i", os.path.join(path, name)], capture_output=True, text=True,
                                  check=False).stderr for name in files]
        check(found == ["ack\n\0"] * 3 and len(files) == 3 and not any(headers), f"snapshots with {' '.join(options)}", found, files, headers)
        shutil.rmtree(path)


def main():
    with tempfile.TemporaryDirectory() as work:
        probe = subprocess.run([PERCH, "record", "-q", "-e", "cpu-clock:u", "-o", os.path.join(work, "probe"), "--", "true"],
                               capture_output=True, text=True, check=False)
        if probe.returncode:
            print(f"skipped: cannot record here: {probe.stderr.strip()}")
            return 77
        bracket = Bracket(work)
        for form in ("fifo:", ""):
            cases.try_part(check_bracket, bracket, form)
        cases.try_part(check_events, bracket)
        cases.try_part(check_groups, bracket)
        cases.try_part(check_answers, work)
        cases.try_part(check_top_disabled)
        cases.try_part(check_snapshot, work)
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
