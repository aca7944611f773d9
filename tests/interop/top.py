#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch top: the hot function of a program is on top, samples decay, options select, ended programs end it, memory is bounded."""
import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import cases
from cases import check, limit
from tmux import Terminal

PERCH = os.environ["PERCH"]
LIMIT = limit(60)  # seconds for a table to appear on a busy machine
EVENT = ("-e", "cpu-clock", "-F", "500")

# SIGUSR1 starts the second loop.
PROGRAM = r"""
#include <signal.h>
static volatile unsigned long sink;
static volatile sig_atomic_t second;
static void start_second(int number) { second = number; }
__attribute__((noinline)) void first_loop(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void second_loop(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void caller(unsigned long n) { first_loop(n); sink++; }
int main(void)
{
	signal(SIGUSR1, start_second);
	while (1) {
		if (second)
			second_loop(100000);
		else
			caller(100000);
	}
}
"""


class Top:
    """perch top whose output is a pipe."""

    def __init__(self, *words, user=None, priority=None):
        prefix = () if user is None else ("setpriv", "--reuid=%d" % user, "--regid=%d" % user, "--clear-groups")
        prefix += () if priority is None else ("nice", "-n", str(priority))
        self.process = subprocess.Popen(prefix + (PERCH, "top", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        atexit.register(stop, self.process)

    def table(self, wanted=lambda lines: True):
        """The lines of the next table that has what is wanted, or those up to the end."""
        end = time.monotonic() + LIMIT
        lines = []
        for line in self.process.stdout:
            if re.match(r"# \d\d:\d\d:\d\d ", line):
                if lines and wanted(lines):
                    break
                if time.monotonic() > end:
                    break
                lines = []
            lines.append(line.rstrip())
        return lines

    def end(self, number=signal.SIGINT):
        """Ends the command, and returns its status and messages."""
        self.process.send_signal(number)
        messages = self.process.communicate(timeout=LIMIT)[1]
        return self.process.returncode, messages


def rows_of(lines):
    """Pairs of percentage and the rest of each row."""
    found = (re.match(r" +(\d+\.\d\d)%  (.*)", line) for line in lines)
    return [(float(row[1]), re.sub(r" +", " ", row[2])) for row in found if row]


def share(lines, name):
    return next((percent for percent, rest in rows_of(lines) if re.search(r"\b%s$" % name, rest)), 0)


def start(*prefix):
    process = subprocess.Popen(prefix + ("./busy",))
    atexit.register(stop, process)
    return process


def wait_for_name(pid, name):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        with open("/proc/%d/comm" % pid, encoding="ascii") as file:
            if file.read().strip() == name:
                return
        time.sleep(0.01)


def stop(process):
    process.kill()
    process.wait()


def check_process():
    busy = start()
    top = Top("--stdio", "-d", "1", *EVENT, "-p", str(busy.pid))
    lines = top.table(rows_of)
    rows = rows_of(lines)
    check(rows and rows[0][1] == "busy [.] first_loop" and rows[0][0] > 80, "the hot function of -p is on top", "\n".join(lines))
    check(re.match(r"# \d\d:\d\d:\d\d  \d+ samples/s  kernel: [\d.]+%%  lost: 0/0  \[500 Hz cpu-clock(:u)?\]  \(processes: %d, " % busy.pid, lines[0]),
          "the first line has rate, lost samples, event and target", lines[0])
    status, messages = top.end()
    check(status == 0, "SIGINT ends it with status 0", messages)
    for name, words, wanted in (("-s comm,sym", ("-s", "comm,sym"), "busy [.] first_loop"),
                                ("-t", ("-t", str(busy.pid)), "busy [.] first_loop"),
                                ("--symbols", ("--symbols", "first_loop", "-s", "comm,sym"), "busy"),
                                ("-s +tid", ("-s", "+tid"), "busy [.] first_loop %d:busy" % busy.pid)):
        target = () if name == "-t" else ("-p", str(busy.pid))
        top = Top("-d", "1", "-E", "1", *EVENT, *target, *words)
        lines = top.table(rows_of)
        rows = rows_of(lines)
        check(len(rows) == 1 and rows[0][1] == wanted, name, "\n".join(lines))
        top.end()
    top = Top("-d", "1", "-U", *EVENT, "-p", str(busy.pid))
    lines = top.table()
    check(all("[k]" in row[1] for row in rows_of(lines)), "-U leaves out user space", "\n".join(lines))
    top.end()
    top = Top("-d", "1", "-n", "-g", *EVENT, "-p", str(busy.pid), "-s", "sym")
    lines = top.table(rows_of)
    text = "\n".join(lines)
    check(re.search(r"Children +Self +Samples +Symbol", text), "-g has children", text)
    stop(busy)
    top.process.wait(LIMIT)
    check(top.process.returncode == 0, "it ends when the process of -p has ended", top.end())


def check_jitdump():
    """A program of which the functions are made, and the jitdump is written, while it is shown."""
    program = os.path.join(os.environ["PERCH_BUILD_ROOT"], "tests/interop/jit_program")
    process = subprocess.Popen([program, "dump", ".", "anon", "stay"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(stop, process)
    top = Top("--stdio", "-d", "1", *EVENT, "-p", str(process.pid), "-s", "sym")
    top.table()
    process.stdin.write("\n")
    process.stdin.flush()
    lines = top.table(lambda lines: share(lines, "jit_moves") > 0)
    names = {"jit_first", "jit_second", "jit_moves"}
    check(names <= {rest.split()[-1] for _, rest in rows_of(lines)}, "functions of a jitdump that is written meanwhile", "\n".join(lines))
    check(not any("0x0000" in rest for _, rest in rows_of(lines)), "code of a jitdump has names everywhere", "\n".join(lines))
    top.end()
    stop(process)


def check_slow_reader():
    """It refreshes, and ends at a signal, also where the rings fill as fast as it reads."""
    spinners = [start() for _ in range(2 * len(os.sched_getaffinity(0)))]
    probe = subprocess.run([PERCH, "record", "-q", "-o", "/dev/null", "-a", *EVENT, "--", "true"], capture_output=True, text=True, check=False)
    targets = ["-a"] if probe.returncode == 0 else ["-p", ",".join(str(process.pid) for process in spinners)]
    top = Top("--stdio", "-d", "1", "-e", "cpu-clock:u", "-F", "4000", "-g", *targets, priority=10)
    lines = top.table(rows_of)
    check(rows_of(lines), "a table of a reader that has little CPU time", "\n".join(lines))
    status, messages = top.end(signal.SIGTERM)
    check(status == 0, "SIGTERM ends it", messages)
    for process in spinners:
        stop(process)


def first_is_replaced(*words):
    """The tables of a program whose second function has replaced the first one: before, when it is most of it, and later."""
    busy = start()
    top = Top("-d", "1", *EVENT, *words, "-p", str(busy.pid))
    tables = [top.table(lambda lines: share(lines, "first_loop") > 0)]
    busy.send_signal(signal.SIGUSR1)
    tables.append(top.table(lambda lines: share(lines, "second_loop") > 60))
    tables.append(top.table(lambda lines: share(lines, "first_loop") < 5))
    top.end()
    stop(busy)
    return tables, [share(table, "first_loop") for table in tables]


def check_decay():
    for words, name in (((), "samples decay"), (("-z",), "-z shows the last interval")):
        # an interval with little CPU time for the program, on a busy machine, has decayed soon
        for _ in range(5):
            tables, first = first_is_replaced(*words)
            if words or first[1] > 5:
                break
        check(first[0] > 80, name + ": the first function", "\n".join(tables[0]))
        check(first[1] < 40 and (words or first[1] > 5), name + ": the second function replaces it", "\n".join(tables[1]))
        check(first[2] < 5, name + ": the first one vanishes", "\n".join(tables[2]))


def check_system():
    probe = subprocess.run([PERCH, "record", "-q", "-o", "/dev/null", "-a", *EVENT, "--", "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        print("skipped: the system as a whole: " + probe.stderr.strip())
        return
    busy = start()
    top = Top("-d", "1", *EVENT, "-s", "comm,sym", "--comms", "busy")
    lines = top.table(rows_of)
    check(rows_of(lines)[0][1].endswith("[.] first_loop"), "the system, by --comms", "\n".join(lines))
    check("(all, " in lines[0], "the first line names the target", lines[0])
    top.end()
    top = Top("-d", "1", *EVENT, "-C", "0")
    check("(all, CPUs 0)" in top.table()[0], "-C 0")
    top.end(signal.SIGTERM)
    stop(busy)
    check_cgroups()
    check_new_program()
    check_memory()


def check_cgroups():
    root = next((line.split()[1] for line in open("/proc/mounts", encoding="ascii") if line.split()[2] == "cgroup2"), "/nosuch")
    name = "perch-top-%d" % os.getpid()
    path = os.path.join(root, name)
    try:
        os.mkdir(path)
    except OSError as why:
        print("skipped: no cgroup can be made: %s" % why)
        return
    clock = ("-e", "cpu-clock", "-e", "task-clock")
    for words, target in (((*EVENT, "-G", name), "(cgroup %s, " % name), ((*clock, "-G", name), "(cgroup %s, " % name),
                          ((*clock, "-G", "," + name), "(all, cgroup %s, " % name)):
        top = Top("-d", "1", *words)
        lines = top.table()
        status, messages = top.end()
        check(status == 0 and lines and target in lines[0], "the first line names what is sampled: " + target, "\n".join(lines[:1]) + messages)
    os.rmdir(path)


def check_new_program():
    """Programs that are built and started later have symbols."""
    top = Top("-d", "1", *EVENT, "-s", "comm,sym", "--comms", "later")
    top.table()
    subprocess.run(["gcc", "-O1", "-Wl,--build-id=none", "-o", "later", "busy.c"], check=True)
    later = subprocess.Popen(["./later"])
    atexit.register(stop, later)
    lines = top.table(lambda lines: share(lines, "first_loop") > 0)
    rows = rows_of(lines)
    check(rows and rows[0][1].endswith("first_loop"), "a program that is built later", "\n".join(lines))
    stop(later)
    top.end()


def resident(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def check_memory():
    """Thousands of processes leave nothing behind."""
    loop = "read go; i=0; while [ $i -lt 6000 ]; do /bin/true; i=$((i + 1)); done"
    shell = subprocess.Popen(["sh", "-c", loop], stdin=subprocess.PIPE)
    atexit.register(stop, shell)
    busy = start()
    top = Top("-d", "1", "-s", "pid,comm,dso,sym", *EVENT, "-p", "%d,%d" % (shell.pid, busy.pid))
    top.table(rows_of)
    before = resident(top.process.pid)
    shell.stdin.write(b"go\n")
    shell.stdin.close()
    most = 0
    while shell.poll() is None:
        top.table()
        most = max(most, resident(top.process.pid))
    # a process without bounds would keep 10 kB of each
    check(most < before + 30000, "6000 processes need no memory when they have ended", "%d kB, then %d kB" % (before, most))
    stop(busy)
    top.process.wait(LIMIT)


def check_user():
    """An ordinary user can watch its own process, and the refusal of others is explained."""
    if os.geteuid() != 0:
        print("skipped: an ordinary user: needs root to become one")
        return
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        paranoid = int(file.read())
    os.chmod(".", 0o755)
    words = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    busy = start(*words)
    wait_for_name(busy.pid, "busy")
    top = Top("-d", "1", *EVENT, "-p", str(busy.pid), user=65534)
    lines = top.table(rows_of)
    status, messages = top.end()
    if paranoid > 2:
        check(status == 1 and "perf_event_paranoid" in messages, "the refusal is explained to an ordinary user", messages)
    else:
        check(share(lines, "first_loop") > 80, "an ordinary user watches its own process", "\n".join(lines) + messages)
    stop(busy)
    if paranoid < 1:
        print("skipped: the refusal of the system: kernel.perf_event_paranoid is %d" % paranoid)
        return
    result = subprocess.run(words + (PERCH, "top", "--stdio", *EVENT), capture_output=True, text=True, check=False, timeout=LIMIT)
    check(result.returncode == 1 and "perf_event_paranoid" in result.stderr, "the refusal of the system is explained", result.stderr)


def rows_on(lines):
    """The names of the rows of a screen."""
    found = (re.match(r"[+-]? +\d+\.\d\d%.* (\S+)$", line) for line in lines)
    return [row[1] for row in found if row]


def check_browser():
    if not shutil.which("tmux"):
        print("skipped: the browser: tmux is not installed")
        return
    busy = start()
    terminal = Terminal((100, 24), "top", "-d", "1", "-g", *EVENT, "-p", str(busy.pid), "-s", "sym")
    lines = terminal.wait("the browser: rows", lambda lines: "first_loop" in rows_on(lines) and "main" in rows_on(lines))
    check(re.match(r"\d+ samples/s  kernel: [\d.]+%  lost: 0/0  \[500 Hz cpu-clock", lines[0]), "the browser: rate, lost samples, event", lines[0])
    terminal.keys(*["Down"] * rows_on(lines).index("main"))
    terminal.keys("e")
    unfolded = terminal.wait("the browser: e unfolds", lambda lines: any(re.match(r"- +[\d.]+% .* main$", line) for line in lines))
    terminal.wait("the browser: new rows, and the row stays unfolded",
                  lambda lines: lines[0] != unfolded[0] and any(re.match(r"- +[\d.]+% .* main$", line) for line in lines))
    terminal.keys("C", "Home")
    lines = terminal.wait("the browser: the first row again", lambda lines: "first_loop" in rows_on(lines))
    terminal.keys(*["Down"] * rows_on(lines).index("first_loop"), "a")
    listing = terminal.wait("the browser: a shows instructions",
                            lambda lines: any(re.match(r"^first_loop\b", line) for line in lines[:3]) and any(re.match(r" *[1-9][\d.]+ ", line) for line in lines[3:]))
    first = int(re.match(r"Samples: (\d+)", listing[0])[1])
    time.sleep(1.5)
    terminal.keys("q")
    lines = terminal.wait("the browser: q leaves instructions", lambda lines: "samples/s" in lines[0] and "first_loop" in rows_on(lines))
    check("lost: 0/0" in lines[0], "the browser: nothing was lost meanwhile", lines[0])
    terminal.keys("a")
    terminal.wait("the browser: a second a has more samples",
                  lambda lines: re.match(r"Samples: (\d+)", lines[0]) and int(re.match(r"Samples: (\d+)", lines[0])[1]) > first)
    terminal.keys("q")
    lines = terminal.wait("the browser: q leaves them", lambda lines: "samples/s" in lines[0] and "main" in rows_on(lines))
    terminal.keys("z")
    terminal.wait("the browser: z", lambda lines: lines[-1].startswith("Only the samples since the last refresh"))
    second = terminal.wait("the browser: z, rows of one interval", lambda lines: "last refresh" in lines[0] and "first_loop" in rows_on(lines))
    terminal.wait("the browser: z, rows of another interval", lambda lines: lines[0] != second[0] and "first_loop" in rows_on(lines))
    terminal.keys("Home", *["Down"] * rows_on(terminal.screen()).index("first_loop"), "a")
    terminal.wait("the browser: z, instructions of the rows that are shown",
                  lambda lines: any(re.match(r"^first_loop\b", line) for line in lines[:3]) and any(re.match(r" *[1-9][\d.]+ ", line) for line in lines[3:]))
    terminal.keys("q")
    terminal.wait("the browser: z, q leaves", lambda lines: "samples/s" in lines[0])
    terminal.keys("C", "/")
    terminal.wait("the browser: / asks", lambda lines: "name:" in lines[-1])
    terminal.text("second")
    terminal.keys("Enter")
    busy.send_signal(signal.SIGUSR1)
    terminal.wait("the browser: the filter has new rows", lambda lines: rows_on(lines) == ["second_loop"])
    terminal.keys("Escape", "h")
    terminal.wait("the browser: h shows help", lambda lines: any(line.startswith("q, Control-C ") for line in lines))
    terminal.keys("q")
    terminal.wait("the browser: q leaves help", lambda lines: "second_loop" in rows_on(lines))
    stop(busy)
    terminal.wait("the browser: the process ends", lambda lines: lines[0].startswith("ended  "))
    terminal.keys("q")
    terminal.wait("the browser: q leaves", lambda lines: any("status=0" in line for line in lines))
    terminal.close()


def check_end():
    """SIGTERM ends the command while instructions are shown."""
    if not shutil.which("tmux"):
        return
    busy = start()
    terminal = Terminal((100, 24), "top", "-d", "1", *EVENT, "-p", str(busy.pid), "-s", "sym", "--symbols", "first_loop")
    terminal.wait("the end: rows", lambda lines: rows_on(lines) == ["first_loop"])
    terminal.keys("a")
    terminal.wait("the end: instructions", lambda lines: any(re.match(r"^first_loop\b", line) for line in lines[:3]))
    os.kill(terminal.program(), signal.SIGTERM)
    terminal.wait("SIGTERM ends it while instructions are shown", lambda lines: any("status=0" in line for line in lines))
    terminal.close()
    stop(busy)


def check_terminal():
    if not shutil.which("tmux"):
        return
    busy = start()
    for variables, colored in (({}, True), ({"NO_COLOR": "1"}, False)):
        terminal = Terminal((80, 24), "top", "-d", "1", *EVENT, "-p", str(busy.pid), **variables)
        terminal.wait("%s: rows" % variables, lambda lines: "first_loop" in rows_on(lines))
        styles = "\n".join(terminal.screen(styles=True)).replace("\x1b[39m", "").replace("\x1b[49m", "")
        check(bool(re.search(r"\x1b\[[0-9;]*(3[0-79]|4[0-79])", styles)) == colored, "%s: %s" % (variables, "colors" if colored else "no colors"), repr(styles))
        terminal.keys("C-c")
        terminal.wait("%s: Control-C leaves" % variables, lambda lines: any("status=0" in line for line in lines))
        terminal.close()
    terminal = Terminal((80, 24), "top", "--stdio", "-d", "1", *EVENT, "-p", str(busy.pid))
    lines = terminal.wait("--stdio on a terminal", lambda lines: any(line.endswith("[.] first_loop") for line in lines))
    check(lines[0].startswith("# ") and "samples/s" in lines[0], "--stdio on a terminal clears the screen", "\n".join(lines))
    terminal.keys("q")
    terminal.wait("q ends --stdio", lambda lines: any("status=0" in line for line in lines))
    terminal.close()
    stop(busy)


def check_errors():
    for words, message in ((("-s", "nothing"), "no column 'nothing'"), (("-K", "-U"), "hide all samples"), (("-d", "0"), "-d"),
                           (("-F", "10", "-c", "10"), "exclude each other"), (("word",), "'word' is not an option"),
                           (("-p", "1x"), "-p 1x"), (("--call-graph", "fp,defer"), "fp,defer")):
        result = subprocess.run([PERCH, "top", "--stdio", *words], capture_output=True, text=True, check=False, timeout=LIMIT)
        check(result.returncode == 2 and message in result.stderr and result.stderr.startswith("perch top: "), " ".join(words) + " is a usage error",
              result.stderr)


def main():
    global PERCH
    PERCH = os.path.abspath(PERCH)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        status = run()
        os.chdir("/")
    return status


def run():
    with open("busy.c", "w", encoding="ascii") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-g", "-o", "busy", "busy.c"], check=True)
    probe = subprocess.run([PERCH, "record", "-q", "-o", "/dev/null", *EVENT, "--", "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        print("skipped: this user may not sample: " + probe.stderr.strip())
        return 77
    check_errors()
    check_process()
    check_browser()
    check_end()
    check_terminal()
    check_jitdump()
    check_slow_reader()
    check_decay()
    check_system()
    check_user()
    return int(cases.failed)


sys.exit(main())
