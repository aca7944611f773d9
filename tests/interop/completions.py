#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Completions of bash, zsh and fish in the shells themselves, from the directories in which they are installed, and what
`perch help --complete` offers. A shell that is not installed is skipped."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile

import cases
from cases import check

PERCH = os.environ["PERCH"]
SOURCE = os.environ.get("PERCH_SOURCE_ROOT", ".")
SECONDS = cases.limit(60)  # without output

# the line up to the cursor, and what it becomes: the last word, or several ones
LINES = [
    ("perch rec", ["record"]),
    ("perch help rec", ["record"]),
    ("perch --no-pager rec", ["record"]),
    ("perch record --call-g", ["--call-graph"]),
    ("perch record --call-graph ", ["dwarf", "fp", "fp,defer", "lbr", "no"]),
    ("perch record --call-graph=d", ["--call-graph=dwarf"]),
    ("perch record --call-graph=", ["--call-graph=dwarf", "--call-graph=fp", "--call-graph=fp,defer", "--call-graph=lbr", "--call-graph=no"]),
    ("perch record -j any,ind_", ["any,ind_call", "any,ind_jmp"]),
    ("perch record -jany_r", ["-jany_ret"]),
    ("perch record --inh", ["--inherit"]),
    ("perch record --no-inh", ["--no-inherit"]),
    ("perch record -e task-cl", ["task-clock"]),
    ("perch record -g -e page-faults,task-cl", ["page-faults,task-clock"]),
    ("perch record -o nam", ["name with blanks"]),
    ("perch record --output=nam", ["--output=name with blanks"]),
    ("perch report --symfs direct", ["directory"]),
    ("perch record -a -- shown_pro", ["shown_program"]),
    ("perch record -- shown_program nam", ["name with blanks"]),
    ("perch report --percentage ", ["absolute", "relative"]),
    ("perch report -s comm,parallel", ["comm,parallelism"]),
    ("perch script -F brstackd", ["brstackdisasm"]),
    ("perch config report.chi", ["report.children"]),
    ("perch record --threads=", ["--threads=core", "--threads=cpu", "--threads=numa", "--threads=package"]),
    ("perch dump nam", ["name with blanks"]),
    ("perch sched lat", ["latency"]),
    ("perch help sched tim", ["timehist"]),
    ("perch sched latency -s avg,ma", ["avg,max"]),
    ("perch sched record --call-g", ["--call-graph"]),
    ("perch lock contention --lock-o", ["--lock-owner"]),
    ("perch lock contention -k wait_to", ["wait_total"]),
    ("perch kwork top", ["top"]),
    ("perch kwork report -s runt", ["runtime"]),
    ("perch kwork top -s sha", ["share"]),
    ("perch kmem stat --page -s pf", ["pfn"]),
    ("perch kmem stat -s ping", ["pingpong"]),
    ("perch block latency -s queue_a", ["queue_avg"]),
    ("perch mem -t store rep", ["report"]),
    ("perch mem report -s symbol_d", ["symbol_daddr"]),
    ("perch c2c report -d l", ["lcl"]),
    ("perch agent --push-int", ["--push-interval"]),
    ("perch trace record --inh", ["--inherit"]),
    ("perch stat record", ["record", "record_shown"]),
    ("perch stat report --per-s", ["--per-socket"]),
    ("perch stat shown_pro", ["shown_program"]),
]
# of the recording of write_shown(), if there is one
NAMES = [
    ("perch report -i shown.data -S shown_f", ["shown_function"]),
    ("perch report -i shown.data --symbols=main,shown_f", ["--symbols=main,shown_function"]),
    ("perch script --input=shown.data --comms sho", ["shown"]),
    ("perch flamegraph -i shown.data --dsos sho", ["shown"]),
    ("perch annotate -i shown.data shown_f", ["shown_function"]),
]
if os.access("/sys/kernel/tracing/events/sched/sched_switch/id", os.R_OK):
    LINES.append(("perch record -e sched:sched_switc", ["sched:sched_switch"]))


class Shell:
    """A shell on a terminal, which inserts all completions of a line and then prints its words."""

    def __init__(self, arguments, setup, key, environment):
        self.key = key
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe(arguments[0], arguments, environment)
        os.write(self.terminal, setup.encode() + b"\nPS1='REA''DY> '\n")
        self.output = b""
        self.read_to(rb"READY> ")

    def read_to(self, end):
        while not (found := re.search(end, self.output, re.S)):
            if not select.select([self.terminal], [], [], SECONDS)[0]:
                raise TimeoutError(f"no {end!r} in {self.output!r}")
            self.output += os.read(self.terminal, 65536)
        self.output = self.output[found.end():]
        return found

    def complete(self, line):
        os.write(self.terminal, line.encode() + self.key + b"\001echo BE''GIN; printf '<%s>' \n")
        found = self.read_to(rb"BEGIN\r+\n(<.*?>)(?!.*<)[^<>]*READY> ")
        return [word.removesuffix("/") for word in re.findall(r"<([^>]*)>", found[1].decode())]

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def install(directory):
    """The scripts as meson installs them below datadir."""
    for path, name in (("bash-completion/completions/perch", "perch.bash"), ("zsh/site-functions/_perch", "_perch"),
                       ("fish/vendor_completions.d/perch.fish", "perch.fish")):
        os.makedirs(os.path.join(directory, os.path.dirname(path)))
        shutil.copy(os.path.join(SOURCE, "completions", name), os.path.join(directory, path))
    with open(os.path.join(SOURCE, "completions/meson.build"), encoding="utf-8") as file:
        text = file.read()
    check(all(part in text for part in ("bash-completion/completions", "zsh/site-functions", "fish/vendor_completions.d")),
          "these are the directories that meson installs them to")


def write_hostile():
    """A recording whose names of events are commands for shells and requests to the scripts."""
    names = [b"x" * 40, b"y" * 40]
    subprocess.run([PERCH, "record", "-q", "-e", ",".join(f"task-clock/name={name.decode()}/u" for name in names), "-o", "perf.data", "--", "true"],
                   check=True)
    with open("perf.data", "rb") as file:
        data = file.read()
    for name, text in zip(names, (b":program a[$(touch program)]", b"x$(touch substituted);`touch quoted`")):
        check(name in data, "the recording has the names")
        data = data.replace(name, text.ljust(40, b"\0"))
    with open("perf.data", "wb") as file:
        file.write(data)


def write_shown():
    """A recording of a function. Returns false if there is none."""
    with open("shown.c", "w", encoding="utf-8") as out:
        out.write("#include <time.h>\n__attribute__((noinline)) void shown_function(void) { for (volatile int i = 0; i < 100000; i++); }\n"
                  "int main(void) { while (clock() < CLOCKS_PER_SEC / 4) shown_function(); return 0; }\n")
    if not shutil.which("gcc"):
        return False
    subprocess.run(["gcc", "-O1", "-o", "shown", "shown.c"], check=True)
    done = subprocess.run([PERCH, "record", "-q", "-e", "cpu-clock:u", "-o", "shown.data", "--", "./shown"], check=False)
    os.remove("shown.c")
    return done.returncode == 0


def check_hostile(name, complete):
    words = complete("perch report --switch-on ")
    check(words == ["x$(touch substituted);`touch quoted`"], f"{name}: the names of events in a file are words", words)
    check(not set(os.listdir()) & {"program", "substituted", "quoted"}, f"{name}: and no commands", os.listdir())


def check_lines(name, complete):
    for line, expected in LINES:
        words = sorted(complete(line))
        check(words == expected, f"{name}: '{line}'", (words, expected))
    check_hostile(name, complete)


def last_words(shell, line):
    """The words in place of the last one."""
    return shell.complete(line)[len((line + "x").split()) - 1:]


def check_bash(directory, environment):
    shared = "/usr/share/bash-completion/bash_completion"
    ways = {"bash alone": f". {directory}/bash-completion/completions/perch"}
    if os.path.exists(shared):
        ways["bash-completion"] = f". {shared}"
    else:
        print("ok - bash-completion # skip it is not installed")
    for name, setup in ways.items():
        shell = Shell(["bash", "--norc", "--noprofile", "-i"], setup + "; bind 'set bell-style none'; bind 'set enable-bracketed-paste off'",
                      b"\033*", environment)
        for line, expected in LINES:
            words = last_words(shell, line)
            if "=" in line and len(expected) > 1:  # readline replaces what is behind the =
                words = [words[0]] + [line.split()[-1] + word for word in words[1:]]
            if line.endswith("program nam") and name == "bash alone":
                expected = ["nam"]  # only bash-completion has the completions of other programs
            check(sorted(words) == expected, f"{name}: '{line}'", (words, expected))
        check_hostile(name, lambda line: last_words(shell, line))
        shell.close()


def check_zsh(directory, environment):
    setup = (f"fpath=({directory}/zsh/site-functions $fpath); autoload -U compinit; compinit -u -D; unsetopt zle_bracketed_paste prompt_sp; "
             "zle -C all complete-word _generic; bindkey '^Xa' all; bindkey '^A' beginning-of-line; "
             "zstyle ':completion:all::::' completer _all_matches _complete; zstyle ':completion:all:*' insert yes")
    shell = Shell(["zsh", "-f", "-i"], setup, b"\030a", environment)
    check_lines("zsh", lambda line: last_words(shell, line))
    shell.close()


def check_fish(environment):
    def complete(line):
        text = subprocess.run(["fish", "-c", "complete -C \"$LINE\""], env=environment | {"LINE": line}, capture_output=True, text=True,
                              timeout=SECONDS, check=True).stdout
        return [re.sub(r"\\(.)|/$", r"\1", word.split("\t")[0]) for word in text.splitlines()]
    check_lines("fish", complete)


def offered(*words):
    text = subprocess.run([PERCH, "help", "--complete", *words], capture_output=True, text=True, check=True).stdout
    return [line.split("\t")[0] for line in text.splitlines()]


def check_tables():
    """All options and words of the help are offered."""
    commands = offered("")
    check(len(commands) > 15 and "record" in commands, "the commands are offered", commands)
    for command in sorted(set(commands) - {"help"}):
        text = subprocess.run([PERCH, "help", command], capture_output=True, text=True, check=True).stdout
        lines = [re.match(r"  (?:(-\S)(?:, )?|    )(--[\w-]+)?.*?(not supported)?$", line) for line in text.splitlines()]
        names = {name for line in lines if line and not line[3] for name in (line[1], line[2]) if name} | {"--help"}
        dashed = set(offered(command, "-"))
        check(len(names) > 1 and names == dashed, f"{command}: the options of the help are offered", names ^ dashed)
    check(offered("record", "--", "ls", "-") == [":program 3"] and offered("--no-pager", "record", "-a", "ls", "") == [":program 4"],
          "a program begins at the first operand")
    check(offered("record", "-e", "x", "--fr") == ["--freq"] and offered("record", "-e", "--fr") == [],
          "an argument that begins with dashes is an argument")
    check("--fields" in offered("report", "-g", "--fi") and offered("report", "-g", "ca") == ["caller", "callee"],
          "an argument that may be missing")
    with tempfile.TemporaryDirectory() as directory:
        data = os.path.join(directory, "some.data")
        subprocess.run([PERCH, "record", "-q", "-e", "task-clock:u,page-faults:u", "-o", data, "--", "true"], check=True)
        check(offered("report", "-i", data, "--switch-on", "") == ["task-clock:u", "page-faults:u"] and
              offered("export", f"--input={data}", "-etask") == ["-etask-clock:u"] and offered("export", "-i", "/dev/zero", "-e", "") == [],
              "the events of the recording of -i are offered")
    check(offered("nothing", "x") == [] and offered("nothing") == [] and offered() == [], "unknown commands have no words")


def main():
    check_tables()
    with tempfile.TemporaryDirectory() as directory:
        install(os.path.join(directory, "data"))
        os.makedirs(os.path.join(directory, "work/directory"))
        os.mkdir(os.path.join(directory, "bin"))
        os.symlink(PERCH, os.path.join(directory, "bin/perch"))
        for path in ("bin/shown_program", "bin/record_shown", "work/name with blanks"):
            with open(os.path.join(directory, path), "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n")
        for program in ("shown_program", "record_shown"):
            os.chmod(os.path.join(directory, "bin", program), 0o755)
        os.chdir(os.path.join(directory, "work"))
        write_hostile()
        if write_shown():
            LINES.extend(NAMES)
        else:
            print("ok - names in a recording # skip no gcc, or this user cannot record")
        environment = os.environ | {"PATH": directory + "/bin:" + os.environ["PATH"], "HOME": directory, "TERM": "xterm", "LC_ALL": "C.UTF-8",
                                    "XDG_DATA_HOME": directory + "/data", "XDG_CONFIG_HOME": directory + "/config", "COLUMNS": "10000",
                                    "XDG_DATA_DIRS": directory + "/data:" + os.environ.get("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
                                    "HISTFILE": "/dev/null"}
        for shell, check_shell in (("bash", lambda: check_bash(directory + "/data", environment)),
                                   ("zsh", lambda: check_zsh(directory + "/data", environment)), ("fish", lambda: check_fish(environment))):
            if shutil.which(shell):
                check_shell()
            else:
                print(f"ok - completions of {shell} # skip {shell} is not installed")
        os.chdir("/")
    return cases.failed


if __name__ == "__main__":
    sys.exit(main())
