#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Options that have no effect without others, or in the place of others, are refused with the remedy, and the remedy is accepted;
words that are no numbers are refused by each option that takes a number."""
import os
import re
import subprocess
import sys
import tempfile

import cases
from cases import check

PERCH = os.environ["PERCH"]

# what is refused, a part of the message, and what is accepted instead
REFUSED = [
    ("record --user-callchains", "needs call chains: add -g", "record --user-callchains -g"),
    ("record --kernel-callchains --call-graph no", "needs call chains: add -g", "record -e cpu-clock/call-graph=fp/ --kernel-callchains"),
    ("record --strict-freq -c 1000", "--strict-freq needs a frequency", "record --strict-freq -F 99"),
    ("record --strict-freq -n", "--strict-freq needs a frequency", "record --strict-freq"),
    ("record --running-time", "needs counts: add -s", "record --running-time -s"),
    ("record --running-time -e cpu-clock", "the modifier S", "record --running-time -e {cpu-clock,page-faults}:S"),
    ("record --buildid-mmap -B", "exclude each other", "record -B"),
    ("record --per-thread --inherit", "exclude each other", "record --per-thread -i"),
    ("record -s -C 0", "-s .* has no effect with -C", "record -s"),
    ("record -i -C 0", "-i has no effect with -C", "record -i"),
    ("record --inherit -C 0", "--inherit has no effect with -C", "record --inherit"),
    ("record --no-timestamp", "cannot be negated: perch always does this", "record --timestamp"),
    ("stat -e cpu-clock -i -C 0", "-i has no effect with -C", "stat -e cpu-clock -i"),
    ("stat -e cpu-clock --no-csv-summary", "--no-csv-summary", "stat -e cpu-clock -x, -I 10 --summary --no-csv-summary"),
    ("report --show-on-off-events", "add one of them", "report --switch-on cpu-clock --show-on-off-events"),
    ("script --show-on-off-events", "add one of them", "script --switch-on cpu-clock --show-on-off-events"),
    ("report --ns", "add -s time", "report --ns -s time"),
    ("report --time-quantum 10ms -s comm", "add -s time", "report --time-quantum 10ms -s time,comm"),
    ("script --max-blocks 2", "add -F", "script"),
    ("export --format json --mark all", "--mark is for --format folded", "export --format folded --mark all"),
    ("export --format folded --addresses", "--addresses is for --format pprof or otlp", "export --format pprof --addresses -o pprof"),
    ("buildid-list -H -k", "choose one", "buildid-list -H"),
    ("buildid-list -k -m", "choose one", "buildid-list -k"),
    ("stat -r 1000001 -e cpu-clock", "-r 1000001: expected 1 to 1000000 runs", "stat -r 1 -e cpu-clock"),
    ("stat --timeout 5 -e cpu-clock", "--timeout 5: expected 10 to", "stat --timeout 10000 -e cpu-clock"),
    ("stat -D x -e cpu-clock", "-D x: expected milliseconds", "stat -D 1 -e cpu-clock"),
    ("stat -x, -j -e cpu-clock", "-x and -j exclude each other: choose one", "stat -j -e cpu-clock"),
    ("stat --table -e cpu-clock", "add -r N", "stat --table -r 2 -e cpu-clock"),
    ("stat --per-core -e cpu-clock", "add -a or -C CPUS", "stat -e cpu-clock"),
    ("script --reltime --deltatime", "exclude each other: choose one", "script --reltime"),
    ("report --hierarchy --json", "exclude each other: choose one", "report --json"),
    ("sched latency x", "'x' is not an option; name a file with -i", "help sched"),
    ("explain", "name a program, or add -p PID", "explain --causes"),
    ("doctor x", "'x' is not an option: it checks this machine", "help doctor"),
]

NUMBERS = {"N", "MSEC", "SECONDS", "P", "PRIO", "PAGES", "HZ|max", "MS", "BYTES", "FD", "PID", "PID[,PID]", "TID[,TID]", "TIME", "WIDTHS", "SIZE"}
NO_NUMBERS = ["x", "", "1x", "+1", " 1", "-2", "0x"]
PROGRAMS = {"record": ["-e", "cpu-clock", "-o", "other", "--", "true"], "stat": ["-e", "cpu-clock", "--", "true"]}


def run(words):
    return subprocess.run([PERCH, *words], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)


def check_refused():
    for refused, message, accepted in REFUSED:
        words, others = refused.split(), accepted.split()
        done = run(words + PROGRAMS.get(words[0], []))
        check(done.returncode == 2 and re.search(message, done.stderr) and not done.stdout, f"{refused}: is refused", done)
        done = run(others + PROGRAMS.get(others[0], []))
        check(done.returncode == 0, f"{accepted}: is accepted", done)


def check_numbers():
    for command in ("record", "stat", "report", "annotate", "script", "diff", "dump", "export", "explain", "buildid-cache"):
        text = run(["help", command]).stdout
        names = [match[1] for match in re.finditer(r"^  (?:-\S, |    )--([\w-]+)(?: |\[=)([^\s=]+(?<!=\]))(?= )", text, re.M) if match[2] in NUMBERS]
        if command == "report":
            names.append("samples")
        bad = [(name, word) for name in names for word in NO_NUMBERS
               if (done := run([command, f"--{name}={word}"] + PROGRAMS.get(command, []))).returncode != 2 or not done.stderr]
        cases.report([f"--{name}='{word}'" for name, word in bad], f"{command}: {len(names)} options refuse what is no number")
    done = run(["report", "--stdio", "--max-stack", "010"])
    check(done.returncode == 0 and run(["dump", "-n", "010", "-t", "SAMPLE"]).stdout == run(["dump", "-n", "10", "-t", "SAMPLE"]).stdout,
          "a number with zeros in front is decimal", done)


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        done = run(["record", "-e", "cpu-clock", "-F", "2000", "-g", "--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"])
        check(done.returncode == 0, "a recording", done)
        check_numbers()
        check_refused()
        os.chdir("/")
    return cases.failed


if __name__ == "__main__":
    sys.exit(main())
