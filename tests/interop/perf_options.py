#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each option set of report, script, diff, annotate, evlist and buildid-list prints the rows of perf, on files of perf and of perch.

The sets are in perf_options.txt. PERF names the perf to compare with (perf). KEEP=DIR keeps the files there. ONLY=TEXT runs the
sets that have the text in their line. VERBOSE=1 prints the lines that differ.
"""
import datetime
import difflib
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import peer
import cases
from cases import check

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")
SOURCE = os.environ.get("PERCH_SOURCE_ROOT", ".")
TABLE = os.path.join(SOURCE, "tests/interop/perf_options.txt")
TOLERANCE = 0.011   # percentage points: the last digit is rounded

# Threads with names, a child process, page faults and system calls. Each thread runs for a fixed CPU time, so that it has samples on a
# busy machine too.
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) void spin(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		sink += i ^ sink;
}

__attribute__((noinline)) void touch(int pages)
{
	char *memory = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < pages; i++)
		memory[i * 4096] = 1;
	/* else it may have no sample */
	for (int i = 0; i < 4000; i++)
		sink += i ^ sink;
	munmap(memory, pages * 4096);
}

__attribute__((noinline)) void descend(int depth, unsigned long rounds)
{
	if (depth)
		descend(depth - 1, rounds);
	else
		spin(rounds);
	sink++;
}

__attribute__((noinline)) void work(double ms, int depth)
{
	struct timespec now, start;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do {
		descend(depth, 20000);
		touch(4);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - start.tv_sec) * 1e3 + (now.tv_nsec - start.tv_nsec) / 1e6 < ms);
}

static void *alpha(void *unused)
{
	prctl(PR_SET_NAME, "alpha");
	work(60, 2);
	return unused;
}

static void *beta(void *unused)
{
	prctl(PR_SET_NAME, "beta");
	work(30, 5);
	return unused;
}

/* Executes itself that many times: many samples are in execve(2), also behind the last mapping that it makes. */
static int execute(char **argv, int times)
{
	char left[20];

	if (!times)
		return 0;
	snprintf(left, sizeof(left), "%d", times - 1);
	execl(argv[0], argv[0], argv[1], left, NULL);
	return 1;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	pid_t child;

	if (argc > 2)
		return execute(argv, atoi(argv[2]));
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "child");
		work(40, 3);
		_exit(0);
	}
	pthread_create(&threads[0], NULL, alpha, NULL);
	pthread_create(&threads[1], NULL, beta, NULL);
	work(argc > 1 ? atoi(argv[1]) : 80, 1);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	waitpid(child, NULL, 0);
	return 0;
}
"""

# name: options of record, program
RECORDINGS = {
    "flat": ("-e cpu-clock -F 2000", "./work"),
    "other": ("--namespaces -e cpu-clock -F 2000", "./work 160"),
    "fp": ("-e cpu-clock -F 1000 -g", "./work"),
    # whole stacks, of the loader too: perch says where a copy ends, perf does not
    "dwarf": ("-e cpu-clock -F 300 --call-graph dwarf,16384", "./work"),
    "tp": ("-e sched:sched_switch,syscalls:sys_enter_munmap,sched:sched_process_fork", "./work 10"),
    "multi": ("-e cpu-clock,page-faults,context-switches -F 1000", "./work 40"),
    "group": ("-e '{cpu-clock,page-faults}' -c 500000", "./work"),
    "stat": ("-s -e cpu-clock,page-faults -F 1000", "./work 20"),
    "all": ("-a -e cpu-clock -F 500 -g", "./work"),
    "exec": ("-e cpu-clock -F 4000 -g", "./work exec 150"),
}


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def environment():
    """One in which neither command reads or writes files of the user."""
    here = os.getcwd()
    words = {"HOME": here, "PERF_CONFIG": "/dev/null", "PERF_BUILDID_DIR": os.path.join(here, "debug"), "DEBUGINFOD_URLS": "",
             "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": here, "PERF_PAGER": "cat", "PERCH_PAGER": ""}
    return dict(os.environ, **words)


def run(*words):
    return peer.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace",
                    env=environment())


# ---- differences that stay ----

def without(pattern):
    """Leaves out the lines that match, on both sides."""
    return lambda lines: [line for line in lines if not re.search(pattern, line)]


def replacing(pattern, text):
    return lambda lines: [re.sub(pattern, text, line) for line in lines]


def instructions(lines):
    """The values and addresses of the instructions that annotate shows, and the first line of each function."""
    found = [re.match(r"((?:[\d.]+ )+: [0-9a-f]+:)|Percent\b.*", line) for line in lines]
    return [match[1] or match[0] for match in found if match]


def without_names(lines):
    """Removes the names of branches, and the frames below them."""
    return [re.sub(r"(--\d+\.\d+%--).*", r"\1", line) for line in lines if "%" in line or line.startswith("#")]


def one_build(lines):
    """Temporary programs without their build ids, each path once."""
    return list(dict.fromkeys(re.sub(r"^[0-9a-f]{40} (/tmp/)", r"ID \1", line) for line in lines))


def without_graphs(lines):
    return [line for line in lines if line.startswith("#") or ROW.match(line)]


def rest(lines):
    """Replaces the names of the branches [...], which are the last ones of their level."""
    return [re.sub(r"--\S+%--.*", "--%--", line) if "%--" in line else line for line in lines]


# name in the table: (reason, what is changed in the lines of both before they are compared)
DIFFERENCES = {
    "objdump": ("the texts of instructions are those of capstone in perch, of objdump in perf, which shows source lines with others",
                instructions),
    "group-name": ("annotate calls a group by its events in perch", replacing(r"anon group \{ (.*?) \}", r"\1")),
    "rest": ("perf 6.1 prints any name instead of [...] in a fractal graph", rest),
    "ipc": ("perf adds columns of instructions per cycle, without values", replacing(r"( IPC \[IPC Coverage\]| - -)$", "")),
    "branch-order": ("perf 6.1 and 7.2 print branches before the outermost caller in a graph from the callers, the target of a branch before "
                     "its source, and leave out as many recorded callers as there are branches", without_graphs),
    "ties": ("which ones of branches with the same share are printed, up to a limit of their number, is undefined", without_names),
    "padding": ("perf 6.1 to 7.2 pads columns although -t is given, against its manual page", replacing(r" *([,:]) *", r"\1")),
    "no-group": ("perf calls the first event of a group alone events, too", replacing(r"of events '", "of event '")),
    "group-hint": ("perf 6.1 has no hint about -g of evlist; newer ones have", without(r"to show group information")),
    "baseline-only": ("perf's shares in the baseline are those of the rows that -b prints, perch's those of all samples",
                      replacing(r"^\d+\.\d+% ", "")),
    "call-line": ("perf prints the line after a call, perch that of the call", replacing(r" [\w./-]+\.[chS]:\d+\b", " LINE")),
    "padded": ("perf 6.1 to 7.2 pads columns with -t", replacing(r" *; *", ";")),
    "inode": ("perf prints a part of the build id as the inode of a mapping with a build id", replacing(r"( r-xp [0-9a-f]+) \d+ ", r"\1 ")),
    "zero": ("perf prints nothing for a weighted difference of 0", replacing(r"% 0 ", "% ")),
    "builds": ("perf lists one of several builds of a path, which may be those of programs that run at the same time", one_build),
}

# Differences that any recording may have.
ALWAYS = [
    ("perf takes the start of a PLT for _init, and does not name all its entries",
     replacing(r"\b_init\b(\+0x[0-9a-f]+)?|[\w@.]*@plt(\+0x[0-9a-f]+)?|\[unknown\] |\b0x0+1[0-9a-f]{3}\b", "PLT ")),
    ("perf gives a caller without a mapping the [k] or [.] of the row before it, perch that of its part of the call chain. Address 0 has no 0x",
     replacing(r"\[k\] ((?:0x)?(?!ffff)[0-9a-f]{16})\b", r"[.] \1")),
    ("perf names a caller in the loader by the address behind the call, perch by the call", replacing(r"\b(?:_dl_start_user|_start)(?:\+0x[0-9a-f]+)?(?![\w.])", "START")),
    ("perf prints control characters of names", replacing(r"[\x01-\x08\x0b-\x1f\x7f]", "?")),
    ("perf 6.1 counts threads by the key pid, perch by tid", replacing(r"\b[PT]id:Command", "Tid:Command")),
]

# With copies of the stack, perf leaves out the sampled address if it is outside of all mappings, as after exec; perch has it.
OUTSIDE = re.compile(r"^\s*[0-9a-f]+ (?:PLT |\[unknown\] )\(\[unknown\]\)$")

# ---- comparing ----

PERCENT = re.compile(r"[-+]?\d+\.\d+%")
ROW = re.compile(r"^[-+]?\d+\.\d+%")
# Comments of a report that must be the same. Others are titles, hints, and lines of dots whose length is that of the column.
COMMENTS = {"report": re.compile(r"^# (Samples|Event count|Total Lost Samples|Overhead|Children)|^# +\S*Overhead"),
            "diff": re.compile(r"^# (Event '|Data files|\[\d+\] .*\(Baseline\)|Baseline)")}


def lines_of(text, command, words):
    lines = []
    for line in text.splitlines():
        line = re.sub(r"\s+", " ", line).strip()
        # perf knows no number of the clock of samples that were recorded without -k
        line = re.sub(r"^(# clockid: |# reference time: .* \()\(not found\)", r"\1default", line)
        if command in COMMENTS and line.startswith("#") and not COMMENTS[command].match(line) and "--header-only" not in words:
            continue
        # perf knows no such feature
        if line and not line.startswith("# recording cost:"):
            lines.append(re.sub(r"perf evlist", "perch evlist", line))
    return lines


def parts(line):
    """A line without percentages, and its percentages."""
    return PERCENT.sub("%", line), [float(number[:-1]) for number in PERCENT.findall(line)]


def near(left, right):
    return len(left) == len(right) and all(abs(a - b) <= TOLERANCE for a, b in zip(left, right))


def ordered(lines):
    """The lines of a report with equal rows in one order: rows by their text, and lines of a call graph by theirs."""
    result, rows = [], []
    for line in lines + ["#"]:
        if line.startswith("#"):
            rows = [[row[0]] + sorted(row[1:], key=parts) for row in rows]
            # chains of the shape flat have a share in a line of its own
            for row in sorted(rows, key=lambda row: [parts(line) for line in row]):
                result += row
            rows = []
            result.append(line)
        elif ROW.match(line) or not rows:
            rows.append([line])
        else:
            rows[-1].append(line.lstrip("|- "))
    return result


def same_lines(theirs, ours):
    if len(theirs) != len(ours):
        return False
    for left, right in zip(theirs, ours):
        if left != right:
            (left, left_numbers), (right, right_numbers) = parts(left), parts(right)
            if left != right or not near(left_numbers, right_numbers):
                return False
    return True


def first_shares(lines):
    return [parts(line)[1][0] for line in lines if ROW.match(line)]


def words_of(options, recorder):
    return [re.sub(r"@(\w+)$", recorder + r"/\1.data", word) for word in shlex.split(options)]


@functools.lru_cache(maxsize=None)
def names_with_blanks(path):
    """Names of threads in the fields of a recording's tracepoints."""
    names = re.findall(r"\b(?:prev_|next_)?comm=(.*?) (?:prev_|next_)?pid=", run(PERCH, "script", "-i", path, "-F", "trace").stdout)
    return sorted((name for name in set(names) if " " in name), key=len, reverse=True)


def cut_names(lines, words):
    """perf cuts names in columns of tracepoint fields at the first blank."""
    for name in [name for word in words if word.endswith("/tp.data") for name in names_with_blanks(word)]:
        lines = [line.replace(name, name.split(" ")[0]) for line in lines]
    return lines


def cut_as_perf(theirs, ours):
    """perf cuts names to the width of a column that it has computed before, from other rows: cuts the same names of perch."""
    shown, words = ({word for line in lines for word in line.split()} for lines in (theirs, ours))
    cut = {}
    for word in words - shown:
        prefixes = [word[:length] for length in range(7, len(word)) if word[:length] in shown - words]
        if prefixes:
            cut[word] = prefixes[-1]
    return [" ".join(cut.get(word, word) for word in line.split()) for line in ours]


def same_date(theirs, ours):
    """
    perf has the modification time of the file, perch of its own recordings the time that was written last: that may be another second.
    """
    start = "# captured on : "
    for i, (left, right) in enumerate(zip(theirs, ours)):
        if left != right and left.startswith(start) and right.startswith(start):
            dates = [datetime.datetime.strptime(line[len(start):], "%a %b %d %H:%M:%S %Y") for line in (left, right)]
            if abs(dates[0] - dates[1]) <= datetime.timedelta(seconds=2):
                ours[i] = left


def outputs(command, directory, options):
    """What both print of the recordings in a directory; a message in place of it if one of them fails."""
    of_perf, _, of_perch = options.partition(" => ")
    words = words_of(of_perf, directory)
    theirs = run(PERF, command, *words)
    ours = run(PERCH, command, *words_of(of_perch or of_perf, directory))
    failed = ""
    if ours.returncode != 0 or theirs.returncode != 0:
        failed = "perf exits with %d, perch with %d: %s" % (theirs.returncode, ours.returncode,
                                                            (ours.stderr or theirs.stderr).strip().split("\n")[0])
    return words, lines_of(theirs.stdout, command, words), lines_of(ours.stdout, command, words), failed


def without_differences(command, options, difference, words, left, right):
    if command == "script" and "@dwarf" in options:
        left, right = ([line for line in lines if not OUTSIDE.match(line)] for lines in (left, right))
    left, right = cut_names(left, words), cut_names(right, words)
    for change in [change for _, change in ALWAYS] + [DIFFERENCES[name][1] for name in difference.split()]:
        left, right = change(left), change(right)
    left, right = [re.sub(" +", " ", line).strip() for line in left], [re.sub(" +", " ", line).strip() for line in right]
    same_date(left, right)
    return left, right


def compare_in(command, directory, options, difference):
    """Returns whether the output is the same, the number of lines of perch, and the lines that differ."""
    words, left, right, failed = outputs(command, directory, options)
    if failed:
        return False, len(right), [failed]
    left, right = without_differences(command, options, difference, words, left, right)
    same = bool(left) and same_lines(left, right)
    if not same and command == "report":
        right = cut_as_perf(left, right)
        same = same_lines(left, right)
    # rows with the same share have another order
    if not same and command in ("report", "diff"):
        in_order = near(first_shares(left), first_shares(right))
        left, right = ordered(left), ordered(right)
        same = in_order and same_lines(left, right)
    return same, len(right), [] if same else list(difflib.unified_diff(left, right, "perf", "perch", lineterm="",
                                                                       n=4 if command == "script" else 0))


def indented(lines):
    return ["    " + line[:200] for line in lines[:None if os.environ.get("VERBOSE") else 30]]


@peer.part
def compare(command, recorder, options, difference):
    """
    A sample can be where perf is wrong, at one instruction of the loader, for example. What differs once is compared again on new
    recordings.
    """
    same, nr, lines = compare_in(command, recorder, options, difference)
    again = recorder + "-again"
    if not same and (os.path.exists(again) or not write_recordings(again, PERF if recorder == "perf" else PERCH)):
        print("%s %s, recorded by %s: compared with new recordings, because of" % (command, options, recorder))
        print("\n".join(indented(lines)))
        same, nr, lines = compare_in(command, again, options, difference)
    reason = "".join("; " + DIFFERENCES[name][0] for name in difference.split())
    check(same, "%s %s, recorded by %s: %d lines%s" % (command, options, recorder, nr, reason))
    if not same:
        print("\n".join(indented(lines)))


def option_sets():
    """(command, options, names of differences) of each line of the table."""
    with open(TABLE, encoding="utf-8") as table:
        for line in table:
            line = line.rstrip("\n")
            if not line or line.startswith("#") or os.environ.get("ONLY", "") not in line:
                continue
            used, _, difference = line.partition(" | ")
            command, _, options = used.partition(" ")
            if command == "annotate" and not shutil.which("objdump"):
                continue
            yield command, options.strip(), difference


def write_branches(recorder):
    """Few machines record branch stacks, so the file is built."""
    writer = os.path.join(os.environ.get("PERCH_BUILD_ROOT", "build"), "tests/interop/call_stacks")
    subprocess.run([writer, os.path.join(recorder, "branches.data"), "branches"], check=True)


def write_recordings(directory, binary):
    """Returns a message if one cannot be made."""
    os.mkdir(directory)
    for name, (options, program) in RECORDINGS.items():
        data = os.path.join(directory, name + ".data")
        done = run(binary, "record", "-q", *shlex.split(options), "-o", data, "--", *program.split())
        if done.returncode:
            return "%s cannot record %s here: %s" % (binary, name, done.stderr.strip())
    write_branches(directory)
    return ""


@peer.part
def record(recorder, binary):
    message = write_recordings(recorder, binary)
    if message:
        skip(message)
    return True


def main():
    if not shutil.which(PERF):
        skip("no %s to compare with (environment variable PERF)" % PERF)
    if not shutil.which("gcc"):
        skip("no gcc for the program to record")
    directory = os.environ.get("KEEP") or tempfile.mkdtemp()
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    try:
        with open("work.c", "w", encoding="utf-8") as out:
            out.write(PROGRAM)
        # without a PLT: perf calls its start _init, perch calls it nothing, so that --hide-unresolved would keep other samples
        subprocess.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-plt", "-Wl,-z,now", "-pthread",
                        "work.c", "-o", "work"], check=True)
        recorders = ["perf", "perch"]
        if not os.path.exists("perch"):
            recorders = [recorder for recorder, binary in (("perf", PERF), ("perch", PERCH)) if record(recorder, binary)]
        number = 0
        for command, options, difference in option_sets():
            for recorder in recorders:
                compare(command, recorder, options, difference)
            number += 1
        if not os.environ.get("ONLY"):
            check(number >= 80, "%d option sets" % number)
    finally:
        if not os.environ.get("KEEP"):
            shutil.rmtree(directory, ignore_errors=True)
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
