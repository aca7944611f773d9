#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Output on a terminal (a pseudoterminal): the pager, the widths of columns, trailing spaces."""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios

import cases
from cases import check

PERCH = os.environ["PERCH"]


def on_terminal(arguments, rows=24, columns=80, kill=None, **variables):
    """Runs perch on a terminal. Returns its output as lines and its exit status."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        for name in ("PERCH_PAGER", "PAGER", "LESS"):
            os.environ.pop(name, None)
        os.environ["TERM"] = "xterm"
        os.environ.update(variables)
        os.execv(PERCH, [PERCH] + arguments)
    output = b""
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        output += data
        if kill and b"waiting" in output:
            os.kill(pid, kill)
            kill = None
    os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    # progress is written to the same terminal, and cleared by a carriage return and spaces or an escape sequence
    text = output.decode().replace("\r\n", "\n")
    return [line.rpartition("\r")[2].removeprefix("\033[K") for line in text.split("\n")[:-1]], status


def piped(arguments):
    return subprocess.run([PERCH] + arguments, capture_output=True, text=True, check=True).stdout.splitlines()


MARK = "sed s/^/P:/"


def check_pager(data):
    long = piped(["dump", "-i", data])
    for command in (["dump", "-i", data], ["script", "-i", data], ["report", "--stdio", "-i", data], ["list"]):
        lines, status = on_terminal(command, rows=5, columns=300, PERCH_PAGER=MARK)
        check(status == 0 and len(lines) > 4 and all(line.startswith("P:") for line in lines),
              "%s: long output is paged" % command[0], lines)
    lines, _ = on_terminal(["dump", "-i", data], rows=5, columns=1000, PERCH_PAGER=MARK)
    check([line[2:] for line in lines] == long, "the pager gets all lines", lines)
    lines, _ = on_terminal(["dump", "-i", data], PAGER=MARK)
    check(lines[0].startswith("P:"), "PAGER is used without PERCH_PAGER", lines)
    lines, _ = on_terminal(["dump", "-i", data], PAGER=MARK, PERCH_PAGER="")
    check(not lines[0].startswith("P:"), "an empty PERCH_PAGER means none", lines)
    lines, _ = on_terminal(["dump", "-i", data], PERCH_PAGER="cat")
    check(len(lines) >= len(long), "cat means none", lines)
    lines, _ = on_terminal(["dump", "--no-pager", "-i", data], PERCH_PAGER=MARK)
    check(not lines[0].startswith("P:"), "--no-pager", lines)
    lines, _ = on_terminal(["--no-pager", "dump", "-i", data], PERCH_PAGER=MARK)
    check(lines and not lines[0].startswith("P:"), "--no-pager before the command", lines)
    lines, _ = on_terminal(["dump", "-i", data], TERM="dumb", PERCH_PAGER=MARK)
    check(not lines[0].startswith("P:"), "no pager on TERM=dumb", lines)
    lines, _ = on_terminal(["dump", "-n", "1", "-i", data], rows=50, columns=300, PERCH_PAGER=MARK)
    check(not lines[0].startswith("P:"), "no pager when all fits", lines)
    lines, _ = on_terminal(["dump", "-n", "3", "-i", data], rows=4, columns=300, PERCH_PAGER=MARK)
    lines, _ = on_terminal(["dump", "-n", "8", "-i", data], rows=9, columns=10, PERCH_PAGER=MARK)
    check(lines[0].startswith("P:"), "long lines take several rows", lines)


def check_exit(data):
    lines, status = on_terminal(["dump", "-i", data], rows=5, PERCH_PAGER="head -n 1")
    check(len(lines) == 1 and status in (0, -signal.SIGPIPE), "a pager that ends early ends the command", (lines, status))
    for command in ["dump", "-n", "4", "-i", data], ["dump", "-i", data], ["list"]:
        lines, status = on_terminal(command, rows=5, columns=300, PERCH_PAGER="no-such-pager-here")
        check(status == 0 and "no-such-pager-here" in lines[0] and
              lines[1:] == piped(command), "without the pager, %s shows all lines" % command[0], (len(lines), lines[:3]))
    lines, status = on_terminal(["report", "-i", "/nonexistent"], PERCH_PAGER=MARK)
    check(status == 1 and not lines[0].startswith("P:"), "an error is not paged", (lines, status))
    # the command waits for its pager also when a signal ends it
    lines, status = on_terminal(["dump", "-i", data], rows=5, kill=signal.SIGTERM,
                                PERCH_PAGER="trap '' TERM; cat >/dev/null; echo waiting; sleep 1; echo end")
    check(lines[-1:] == ["end"], "a signal waits for the pager", (lines, status))


def rows_of(lines):
    return [line for line in lines if re.match(r" +\d+\.\d\d%", line)]


def check_widths(data):
    plain = piped(["report", "-i", data, "-g", "none", "--no-children"])
    for columns in (60, 80, 120):
        lines, _ = on_terminal(["report", "--stdio", "--no-pager", "-i", data, "-g", "none", "--no-children"], columns=columns)
        rows = rows_of(lines)
        widest = max(len(row) for row in rows)
        check(len(rows) == len(rows_of(plain)) and widest <= columns,
              "rows fit into %d columns" % columns, widest)
    lines, _ = on_terminal(["report", "--stdio", "--no-pager", "-v", "-i", data, "-g", "none", "--no-children"], columns=40)
    check(rows_of(lines) == rows_of(plain), "-v prints columns in full", lines)
    wide = piped(["report", "-i", data, "-g", "none", "--no-children", "-w", "0,10,12,12"])
    cut = [row for row in rows_of(wide) if len(row.split("  ")[-1].strip()) > 12]
    check(not cut and any("..." in row for row in rows_of(wide)), "-w cuts columns in a pipe", wide)
    wide = rows_of(piped(["report", "-i", data, "-g", "none", "--no-children", "-w", "0,4096,4096"]))
    check(all(len(row) > 2 * 4096 for row in wide) and
          [row.split() for row in wide] == [row.split() for row in rows_of(plain)], "-w pads columns of the largest width", wide[:3])
    narrow = piped(["report", "-i", data, "-g", "none", "--no-children", "--percent-limit", "99"])
    title = [line for line in narrow if line.startswith("# Overhead")][0]
    check(rows_of(narrow) == [] and len(title) <= 45, "rows that are not printed do not widen columns", title)
    bad = subprocess.run([PERCH, "report", "-w", "5,x"], capture_output=True, text=True, check=False)
    check(bad.returncode == 2 and "-w '5,x'" in bad.stderr, "-w refuses what is no number", bad.stderr)


def check_trailing_spaces(data):
    for command in (["report", "-i", data], ["report", "--no-children", "-i", data], ["report", "--stats", "-i", data],
                    ["script", "-i", data], ["dump", "-i", data], ["list"]):
        lines = [line for line in piped(command) if line != line.rstrip()]
        check(not lines, "no trailing spaces: perch %s" % " ".join(command[:2]).replace(" -i", ""), "\n".join(map(repr, lines)))


with tempfile.TemporaryDirectory() as directory:
    data = os.path.join(directory, "perf.data")
    subprocess.run([PERCH, "record", "-o", data, "-g", "-e", "cpu-clock", "-F", "2000", "--", sys.executable, "-c",
                    "import os, time\nend = time.time() + 0.3\nwhile time.time() < end: os.listdir('/usr/bin')"],
                   check=True, capture_output=True)
    check_pager(data)
    check_exit(data)
    check_widths(data)
    check_trailing_spaces(data)
sys.exit(cases.failed)
