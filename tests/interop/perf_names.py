#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each option of each command of the installed perf, negated too, is accepted by the command of perch, or refused with what to do.

The help of perf lists the options (perf COMMAND -h), perf_7_2_options.txt those of perf 7.2, and this file some of other releases.
Refused means: the message names another option or a way to do the same. For the options of perf 7.2, a similar name is no way, and the commands that
messages name exist. It also checks each option of perch's own help with --no- before it: no option ends the command.
"""
import os
import re
import shutil
import subprocess
import sys

import cases
import peer
from cases import check

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")
SOURCE = os.environ.get("PERCH_SOURCE_ROOT", ".")

COMMANDS = ["record", "stat", "top", "report", "script", "annotate", "diff", "evlist", "buildid-list", "buildid-cache", "list", "archive",
            "config", "version", "lock", "kwork", "kmem"]

# of releases before and after the installed one
OTHERS = {
    "record": "-A -f -l --append --force --bpf-aux-pause --pfm-events --off-cpu --off-cpu-thresh --setup-filter --latency --inherit --group",
    "stat": "--record-tpebs --tpebs-mode -b -H --hybrid-merge --bpf-attr-map --no-affinity --pfm-events --inherit --iostat",
    "top": "-D -W --group-sort-idx --inherit --source --no-bpf-event --data-type --pfm-events",
    "report": "--unwind-style --skip-empty",
    "script": "--unwind-style",
    "annotate": "--skip-empty",
    "list": "--raw-dump --unit -o --output",
    "lock": "-a -b -C -E -F -G -i -J -k -l -L -M -o -p -q -S -t -v -x -Y --all-cpus --use-bpf --cpu --entries --field --cgroup-filter --input "
            "--inject-delay --key --lock-addr --lock-filter --map-nr-entries --lock-owner --pid --callstack-filter --threads --verbose "
            "--field-separator --type-filter --lock-cgroup --max-stack --output --stack-skip --tid",
    "kwork": "-C -i -n -s -S -b -g -k --time --cpu --name --sort --with-summary --use-bpf --call-graph --max-stack --symfs",
    "kmem": "-f -i -l -s -v --alloc --caller --live --page --raw-ip --slab --time",
}
# of perf 7.2: perf --list-cmds
COMMANDS_OF_PERF = ("archive buildid-cache buildid-list check config c2c diff evlist help iostat kallsyms list record report bench stat "
                    "timechart top annotate version script sched probe kmem lock kvm test trace inject mem data ftrace daemon kwork")
# What words of hints stand for.
PLACEHOLDERS = {"N": "2", "CYCLES": "30", "EXPR": "id==1", "TIME": "1s", "PROGRAM": "true", "NAME": "name",
                "kvm:*": "cpu-clock", "raw_syscalls:*": "cpu-clock",
                "sched:sched_switch,sched:sched_waking": "cpu-clock", "uprobe:libc:malloc": "cpu-clock", "sched:*": "cpu-clock"}


def words_of(text):
    """The options of a help, short and long."""
    words = []
    for line in text.splitlines():
        match = re.match(r"^ +(-\w)?(?:, )?(--[\w-]+)?(?= |=|\[|$)", line)
        words += [word for word in match.groups() if word] if match else []
    return words


def forms(words):
    """With the negated forms of long options, and the positive forms of negated ones."""
    for word in words:
        yield word
        if word.startswith("--"):
            yield "--no-" + word[2:]
        if word.startswith("--no-"):
            yield "--" + word[5:]


def try_option(command, word):
    """Runs a command with an option; with the second --help, because an option may take the first one."""
    return subprocess.run([PERCH, *command.split(), word, "--help", "--help"], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)


def refusal(command, word):
    """The message if the option is refused without a way."""
    done = try_option(command, word)
    if done.returncode not in (0, 1, 2):
        return "ends with %d: %s" % (done.returncode, done.stderr)
    unknown = "unknown option" in done.stderr and not re.search(r"unknown option '[^']*'(: |\. Did you mean )", done.stderr)
    return done.stderr.strip() if unknown else None


def check_command(command, words, source):
    words = list(dict.fromkeys(forms(words)))
    bad = [why for why in (refusal(command, word) for word in words) if why]
    check(not bad, "%s: %d forms of options of %s are accepted, or refused with what to do" % (command, len(words), source), "\n".join(bad))


def try_hint(text):
    """Why a command line of a hint is none; None if it is one. With --help before the program, nothing is done."""
    words = [PLACEHOLDERS.get(word, re.sub("=TIME$", "=1s", word)) for word in text.split()[1:]]
    at = words.index("true") if "true" in words else len(words)
    words = words[:at] + ([] if words[-1] in ("-e", "version") else ["--help"])
    if words[-1] == "-e":
        words += ["cpu-clock", "--help"]
    done = subprocess.run([PERCH, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return None if done.returncode == 0 or "no event of this machine" in done.stderr else "%s: %s" % (words, done.stderr)


def check_newest():
    """Each option of perf 7.2 is there, or its message has a way, whose commands exist."""
    hints = {}
    with open(os.path.join(SOURCE, "tests/interop/perf_7_2_options.txt"), encoding="utf-8") as table:
        lines = [line.rstrip("\n").split(": ") for line in table if line.strip() and line[0] != "#"]
    for command, options in lines:
        words, bad = list(dict.fromkeys(forms(options.split()))), []
        for word in words:
            done = try_option(command, word)
            found = re.search(r"unknown option '[^']*': (.*?)\. 'perch help", done.stderr)
            if done.returncode not in (0, 1, 2) or "unknown option" in done.stderr and not found:
                bad.append(done.stderr.strip())
            elif found:
                hints[found[1]] = f"{command} {word}"
        check(words and not bad, f"{command}: {len(words)} forms of options of perf 7.2 are accepted, or refused with a way", "\n".join(bad))
    check(len(lines) > 30 and len(hints) > 50, f"{len(hints)} ways of options of {len(lines)} commands", lines)
    bad = [f"{option}: {why}" for hint, option in hints.items() for command in re.findall(r"'(perch [^']*)'", hint) if (why := try_hint(command))]
    check(not bad, "the commands of these ways exist", "\n".join(bad))


def check_perf_command(command):
    """A command of perf is one of perch, or help says in one line what to type instead."""
    done = subprocess.run([PERCH, "help", command], capture_output=True, text=True)
    if done.returncode == 0:
        check("Usage: perch " + command in done.stdout, "perf %s is perch %s" % (command, command), done.stdout)
        return
    check("unknown command '%s': " % command in done.stderr and done.stderr.count("\n") == 1, "help has a line about perf %s" % command, done.stderr)
    commands = re.findall(r"'(perch [^']*)'", done.stderr.replace("'perch help' lists", ""))
    check(not [why for why in map(try_hint, commands) if why], "the commands of this line exist: %s" % command, list(filter(None, map(try_hint, commands))))


def main():
    for command in COMMANDS:
        own = subprocess.run([PERCH, command, "--help"], capture_output=True, text=True).stdout
        check_command(command, words_of(own) + OTHERS.get(command, "").split(), "perch and of other releases")
        if not shutil.which(PERF):
            continue
        shown = peer.run([PERF, command, "-h"], capture_output=True, text=True, errors="replace")
        check_command(command, words_of(shown.stdout + shown.stderr), "perf")
    check_newest()
    for command in COMMANDS_OF_PERF.split():
        check_perf_command(command)
    return cases.failed


sys.exit(main())
