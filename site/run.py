#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the commands of the guide: run.py BUILD [--write] [CHAPTER...]

The chapters are in site/guide. Their blocks of code are:

    ```console [lines=N] [status=N|any] [needs=NAME,...]
                    commands with their output. "$ " begins a command of an ordinary user, "# " in the first line one of root.
                    lines: those of the output that are shown; status: the exit status of the last command (0), any: that depends on the machine;
                    needs: what the machine must have, see NEEDS
    ```c NAME.c     a file, which later commands use
    others          only shown

A comment <!-- shows: PATTERN --> below a block has what its output must match, because the text is about it.

perch is installed to a temporary directory. Each chapter has a directory of its own. Run as root, the commands of the user are run as nobody. Without --write a
command that fails or shows something else ends the script with 1, and the chapters are not changed. With --write the outputs in the chapters are made
anew; names of the machine, the user and directories become those of nobody in particular.
"""
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

GUIDE = Path(__file__).resolve().parent / "guide"
BLOCK = re.compile(r"^```(?P<info>\w.*)\n(?P<body>(?:.*\n)*?)```\n(?:<!-- shows: (?P<shows>.*) -->\n)?", re.M)
USER, HOME = 65534, "/home/user"
PORT = "7099"   # of servers in the guide; a free one is used
YAMA = "/proc/sys/kernel/yama/ptrace_scope"     # 1: only parents may look at what a process waits for
SECONDS = 120   # that a command may take on a busy machine


def paranoid():
    try:
        return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii"))
    except OSError:     # a kernel without events
        return 9


# What blocks may need: True if the machine has it.
NEEDS = {
    "restricted": lambda: paranoid() >= 1,
    "tracepoints": lambda: os.access("/sys/kernel/tracing/events/sched/sched_switch/id", os.R_OK),
    "syscalls": lambda: os.access("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", os.R_OK),
    "uprobes": lambda: os.path.exists("/sys/bus/event_source/devices/uprobe/type"),
    "ptrace": lambda: not os.path.exists(YAMA) or Path(YAMA).read_text(encoding="ascii").strip() == "0",
    "curl": lambda: bool(shutil.which("curl")),
}


class Block:
    """A block of commands."""

    def __init__(self, match):
        self.options = dict(word.split("=", 1) for word in match["info"].split()[1:])
        lines = match["body"].rstrip("\n").split("\n")
        self.root = lines[0].startswith("# ")
        self.commands = []
        for number, line in enumerate(lines):
            if line.startswith("$ ") or number == 0 or self.commands and lines[number - 1].endswith("\\") and self.commands[-1].endswith(lines[number - 1]):
                if line.startswith(("$ ", "# ")):
                    self.commands.append(line)
                else:
                    self.commands[-1] += "\n" + line
        self.shows = match["shows"]

    def missing(self):
        """What the machine does not have for this block."""
        names = [name for name in self.options.get("needs", "").split(",") if name]
        return [name for name in names if not NEEDS[name]()] + (["root"] if self.root and os.geteuid() else [])


class Runner:
    def __init__(self, build, directory, seconds):
        self.directory, self.seconds = directory, seconds
        done = subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", directory / "root"], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit("guide: " + done.stderr + done.stdout)
        self.program = next((directory / "root").rglob("bin/perch"))
        library = next((directory / "root").rglob("libperch.so")).parent
        self.environment = {
            "PATH": f"{self.program.parent}:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "TERM": "dumb", "PERCH_PAGER": "", "DEBUGINFOD_URLS": "",
            "PKG_CONFIG_SYSROOT_DIR": str(directory / "root"), "PKG_CONFIG_PATH": str(library / "pkgconfig"), "LD_RUN_PATH": str(library)}
        directory.chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.port = str(server.getsockname()[1])

    def start(self, chapter):
        """Makes the directory of a chapter, which is the home of its user."""
        home = self.directory / chapter
        home.mkdir()
        if os.geteuid() == 0:
            os.chown(home, USER, USER)
        return home

    def run(self, home, command, root):
        """Returns the exit status and the output of a command; None if it takes too long."""
        words = ["bash", "-c", command[2:].replace(PORT, self.port)]
        if os.geteuid() == 0 and not root:
            words = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--", *words]
        child = subprocess.Popen(words, cwd=home, env=self.environment | {"HOME": str(home)}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        output = late = ""
        try:
            output, _ = child.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            late = f"[it ran for more than {self.seconds:.0f} s]\n"
        finally:    # also what a command leaves in the background
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        if late:
            with contextlib.suppress(subprocess.TimeoutExpired):    # a daemon may keep the pipe open
                output, _ = child.communicate(timeout=10)
            output += late
        for own, name in ((str(home), HOME), (str(self.program), "/usr/bin/perch"), (socket.gethostname(), "host"), (self.port, PORT)):
            output = output.replace(own, name)
        return None if late else child.returncode, output

    def why_not(self):
        """Why the user of the guide can count nothing, or ""."""
        status, output = self.run(self.start("first"), "$ perch stat -e cpu-clock:u -o /dev/null -- true", False)
        return (output.strip().splitlines() or ["perch stat fails"])[0] if status != 0 else ""

    def write_file(self, home, info, body):
        path = home / info.split()[1]
        path.write_text(body.replace(PORT, self.port), encoding="utf-8")
        if os.geteuid() == 0:
            os.chown(path, USER, USER)


def shown(block, outputs):
    """The block with these outputs."""
    most, text = int(block.options.get("lines", 0)), ""
    for command, output in zip(block.commands, outputs):
        lines = [line.rstrip() for line in output.split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        if most and len(lines) > most:
            lines[most:] = ["..."]
        text += "\n".join([command, *lines]) + "\n"
    return text


def run_chapter(runner, path, write, report):
    """Runs a chapter; report(problem, title) gets the result of each block. Returns the text with the new outputs."""
    home, text, out, at = runner.start(path.stem), path.read_text(encoding="utf-8"), [], 0
    for match in BLOCK.finditer(text):
        if re.match(r"\w+ \S+\.\w+$", match["info"]):
            runner.write_file(home, match["info"], match["body"])
        if not match["info"].startswith("console"):
            continue
        block = Block(match)
        title = f"{path.stem}: {block.commands[-1]}"
        if missing := block.missing():
            print(f"ok - {title} # skip: no {', '.join(missing)}")
            continue
        done = [runner.run(home, command, block.root) for command in block.commands]
        output, expected = "".join(text for _, text in done), block.options.get("status", "0")
        statuses = [status for status, _ in done]
        wrong = None in statuses or any(statuses[:-1]) or expected not in (str(statuses[-1]), "any")
        problem = [f"the exit status is {statuses[-1]}: {output}"] if wrong else []
        if block.shows and not re.search(block.shows, output):
            problem.append(f"the output has no {block.shows!r}: {output}")
        report(problem, title)
        if problem:     # it keeps its output
            continue
        out += [text[at:match.start("body")], shown(block, [text for _, text in done])]
        at = match.end("body")
    return "".join(out) + text[at:] if write else text


def run(build, chapters, report, write=False, seconds=SECONDS):
    with tempfile.TemporaryDirectory() as directory:
        runner = Runner(build, Path(directory), seconds)
        if reason := runner.why_not():
            print(f"ok - commands of the guide # skip: {reason}")
            return
        for path in sorted(GUIDE.glob("*.md")):
            if not chapters or path.stem in chapters:
                text = run_chapter(runner, path, write, report)
                if write:
                    path.write_text(text, encoding="utf-8")


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    if not words:
        sys.exit(__doc__)
    failed = []

    def report(problems, title):
        print(("not ok - " if problems else "ok - ") + title + "".join("\n    " + problem for problem in problems))
        failed.extend(problems)
    run(os.path.abspath(words[0]), words[1:], report, "--write" in sys.argv)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
