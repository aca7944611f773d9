#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The browser of perch report in a real terminal, tmux: keys are sent, and screens are compared with perch report --stdio."""
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import built
import cases
from cases import check, limit
from tmux import Terminal

PERCH = os.environ["PERCH"]

PROGRAM = r"""
static volatile unsigned long sink;
__attribute__((noinline)) void inner_loop(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void outer_call(unsigned long n) { inner_loop(n); sink++; }
__attribute__((noinline)) void other_call(unsigned long n) { inner_loop(n / 2); sink++; }
int main(void) { for (int i = 0; i < 40; i++) { outer_call(3000000); other_call(3000000); } return 0; }
"""


def rows_of(lines):
    """The rows of a report or screen, without the sign of the browser and with single spaces."""
    return [re.sub(r"\s+", " ", line.lstrip("+- ")).strip() for line in lines if re.match(r"^[+-]? *\d+\.\d\d%", line)]


def text_of(*words):
    return subprocess.run([PERCH, "report", "--stdio", "-g", "none", *words], capture_output=True, text=True, check=True).stdout.splitlines()


def is_row(shown, row):
    """True for a row of which texts are cut."""
    return re.fullmatch(re.escape(shown).replace(r"\.\.\.", ".*"), row) is not None


def check_rows(size):
    terminal = Terminal(size, "report", "-i", "graph")
    expected = rows_of(text_of("-i", "graph"))
    height = size[1] - 3
    screen = terminal.wait("%dx%d: rows" % size, lambda lines: len(rows_of(lines)) >= min(height, len(expected)))
    shown = rows_of(screen)
    check(all(is_row(part, row) for part, row in zip(shown, expected)) and shown, "%dx%d: the rows of --stdio" % size,
          "\n".join(shown + ["-"] + expected[:height]))
    check(all(len(line) <= size[0] for line in screen), "%dx%d: lines fit" % size, "\n".join(screen))
    terminal.keys("End")
    terminal.wait("%dx%d: End" % size, lambda lines: rows_of(lines)[-1:] and is_row(rows_of(lines)[-1], expected[-1]))
    terminal.keys("q")
    terminal.wait("%dx%d: q leaves" % size, lambda lines: any("status=0" in line for line in lines))
    terminal.close()


def check_call_graph():
    terminal = Terminal((120, 40), "report", "-i", "graph", "-s", "sym", "-g", "caller")
    terminal.wait("a browser with call graphs", lambda lines: any(re.match(r"^\+ .* main$", line) for line in lines))
    terminal.keys("/")
    terminal.wait("/ asks", lambda lines: "name:" in lines[-1])
    terminal.text("outer_call")
    terminal.keys("Enter")
    terminal.wait("/ selects functions", lambda lines: len(rows_of(lines)) == 1 and "symbol: outer_call" in lines[0]
                  and re.search(r", \d+\.\d\d% in 1 of \d+ rows", lines[0]))
    terminal.keys("/")
    terminal.wait("/ asks again", lambda lines: "outer_call_   Enter sets, Escape cancels, Control-U clears" in lines[-1])
    terminal.keys("Enter", "+")
    terminal.wait("+ unfolds", lambda lines: re.match(r"^- .*outer_call$", lines[2]) and len(lines[3].strip()) > 1)
    terminal.keys("+")
    terminal.wait("+ folds", lambda lines: re.match(r"^\+ .*outer_call$", lines[2]) and not lines[3].strip())
    terminal.keys("e")
    terminal.wait("e unfolds all", lambda lines: any("inner_loop" in line for line in lines[3:]))
    terminal.keys("C")
    terminal.wait("C folds", lambda lines: re.match(r"^\+ .*outer_call$", lines[2]) and not lines[3].strip())
    terminal.keys("E")
    terminal.wait("E unfolds", lambda lines: any("inner_loop" in line for line in lines[3:]))
    terminal.keys("C", "Escape")
    terminal.wait("Escape removes the filter", lambda lines: len(rows_of(lines)) > 1 and "symbol:" not in lines[0])
    terminal.keys("q")
    terminal.close()


def check_zooms():
    terminal = Terminal((120, 40), "report", "-i", "graph", "--no-children", "-g", "none")
    expected = rows_of(text_of("-i", "graph", "--no-children"))
    large = [row for row in expected if float(row.split("%")[0]) >= 99.9]
    own = [row for row in expected if " program [.]" in row]
    terminal.wait("the first row is the program's", lambda lines: "inner_loop" in lines[2])
    terminal.keys("d")
    terminal.wait("d zooms into the DSO", lambda lines: rows_of(lines) == own[:37] and "DSO:" in lines[0])
    terminal.keys("d", "L")
    terminal.wait("L asks", lambda lines: "percentage" in lines[-1])
    terminal.keys("BSpace")
    terminal.text("99.9")
    terminal.keys("Enter")
    terminal.wait("L limits rows", lambda lines: len(rows_of(lines)) == len(large) and "at least 99.9%" in lines[0])
    terminal.keys("Escape", "t")
    terminal.wait("t zooms into the thread", lambda lines: "thread: program" in lines[0])
    terminal.keys("t", "k")
    terminal.wait("k zooms into the kernel", lambda lines: ", kernel" in lines[0] and all("[k]" in row for row in rows_of(lines)))
    terminal.keys("k", "m")
    terminal.wait("m shows the menu", lambda lines: lines[0].startswith("Menu"))
    terminal.keys("q", "i")
    terminal.wait("i shows the header", lambda lines: any("captured on" in line for line in lines))
    terminal.keys("q", "h")
    terminal.wait("h shows the keys", lambda lines: lines[0].startswith("Keys"))
    terminal.keys("q", "P")
    terminal.wait("P writes a file", lambda lines: "written to perf.hist.0" in lines[-1])
    check(rows_of(open("perf.hist.0").read().splitlines()) == expected, "the file has the rows")
    terminal.keys("Home", "a")
    terminal.wait("a annotates", lambda lines: lines[1].startswith("inner_loop()") and any(re.match(r"^ *\d+\.\d\d ", line) for line in lines))
    terminal.keys("q")
    terminal.wait("q returns to the report", lambda lines: rows_of(lines) == expected[:37])
    terminal.keys("o", "C-u")
    terminal.text("dso,symbl")
    terminal.keys("Enter")
    terminal.wait("o refuses wrong columns", lambda lines: "There is no column 'symbl', perhaps sym" in lines[-1])
    terminal.keys("x")
    terminal.wait("an unknown key", lambda lines: "x is no key of this browser" in lines[-1])
    terminal.keys("o", "C-u")
    terminal.text("dso")
    terminal.keys("Enter")
    dsos = rows_of(text_of("-i", "graph", "--no-children", "-s", "dso"))
    terminal.wait("o groups by other columns", lambda lines: rows_of(lines) == dsos)
    terminal.tmux("resize-window", "-x", "60", "-y", "10")
    terminal.wait("the screen follows the size", lambda lines: len(lines) == 10 and rows_of(lines)[:1] == dsos[:1])
    terminal.keys("q")
    terminal.wait("q leaves", lambda lines: any("status=0" in line for line in lines))
    terminal.close()


def check_style_of_annotate():
    terminal = Terminal((120, 40), "report", "-i", "graph", "--no-children", "-g", "none", "-M", "intel", "--percent-type", "global-hits")
    terminal.wait("a report", rows_of)
    terminal.keys("Home", "a")
    terminal.wait("-M intel and --percent-type are those of annotate", lambda lines: lines[1].startswith("inner_loop()") and
                  "global hits" in "".join(lines[:3]) and any(re.match(r"^ *\d+\.\d\d .*\b[re][a-d][xi]\b", line) for line in lines) and
                  not any("%e" in line or "%r" in line for line in lines))
    terminal.close()


# step() runs by itself, and inlined in hot().
TWICE = """
static volatile unsigned long sink;
static inline __attribute__((always_inline)) void step(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void hot(unsigned long n) { step(n); sink++; }
static void (*volatile pointer)(unsigned long) = step;
int main(void) { for (int i = 0; i < 40; i++) { hot(3000000); pointer(3000000); } return 0; }
"""


def check_inlined_of_annotate():
    open("twice.c", "w").write(TWICE)
    subprocess.run(["cc", "-g", "-O1", "-o", "twice", "twice.c"], check=True)
    subprocess.run([PERCH, "record", "-q", "-N", "-o", "inlined", "-F", "2000", "-e", "cpu-clock:u", "./twice"], check=True)
    for option, low, high in (("--no-inline", 95, 101), ("--inline", 20, 80)):
        terminal = Terminal((120, 40), "report", "-i", "inlined", option, "-S", "step", "--percent-type", "global-hits")
        terminal.wait("a report " + option, rows_of)
        terminal.keys("/")
        terminal.text("step")
        terminal.keys("Enter")
        terminal.wait("the row of step() " + option, lambda lines: len(rows_of(lines)) == 1)
        terminal.keys("Home", "a")
        terminal.wait(option + ": a annotates the samples that the report selects", lambda lines: lines[1].startswith("step()") and
                      low < sum(float(share) for share in re.findall(r"^ *(\d+\.\d\d) ", "\n".join(lines), re.M)) < high)
        terminal.close()


LONG = "function_with_a_long_name_" + "x" * 60
LONG_PROGRAM = """
static volatile unsigned long sink;
__attribute__((noinline)) void %s(void) { for (unsigned long i = 0; i < 50000000; i++) sink += i; }
int main(void) { %s(); return 0; }
""" % (LONG, LONG)


def check_scrolling():
    """80 columns, and names that need more."""
    open("long.c", "w").write(LONG_PROGRAM)
    subprocess.run(["cc", "-g", "-fno-omit-frame-pointer", "-o", "a_program_with_a_long_name", "long.c"], check=True)
    subprocess.run([PERCH, "record", "-q", "-N", "-g", "-o", "long", "-F", "2000", "-e", "cpu-clock", "./a_program_with_a_long_name"], check=True)
    terminal = Terminal((80, 24), "report", "-i", "long", "-g", "caller")
    row = r"  a_prog\w*\.\.\.  a_prog\w*\.\.\.  \[\.\] function_with_a_long\w+\.\.\.$"
    shown = terminal.wait("long names: each column is cut", lambda lines: any(re.search(row, line) for line in lines))
    check(all(len(line) <= 80 for line in shown), "long names: lines fit", "\n".join(shown))
    terminal.keys("Right")
    terminal.wait("Right moves by a column", lambda lines: lines[1].split() == ["Self", "Command", "Shared", "Object", "Symbol"])
    terminal.keys("Right", "Right", "Right")
    terminal.wait("Right up to the last column", lambda lines: lines[1].split() == ["Symbol"] and any(LONG[:71] + "..." in line for line in lines))
    terminal.keys("Right", "Right", "Right", "Right")
    terminal.wait("Right moves the last column until its end is seen", lambda lines: any(line == "+ " + LONG[12:] for line in lines))
    terminal.keys("Left", "Left", "Left", "Left", "Left", "Left", "P")
    screen = terminal.wait("Left moves back", lambda lines: lines[1].split() == ["Children", "Self", "Command", "Shared", "Object", "Symbol"]
                  and "written to" in lines[-1])
    check(" a_program_with_a_long_name  [.] %s\n" % LONG in open(screen[-1].split()[-1]).read(), "P writes whole names")
    terminal.keys("E")
    terminal.wait("names in call graphs are cut", lambda lines: any(re.match(r"^ .* function_with_a_long_name_x+\.\.\.$", line) for line in lines))
    terminal.keys("C", "d")
    zoomed = terminal.wait("a zoom into a DSO", lambda lines: lines[1].startswith("DSO: "))
    check(re.search(r"'cpu-clock.*', \d+\.\d\d% in \d of \d+ rows,$", zoomed[0]) and re.search(r"/(a_program_with_a_long_name|libc\.so\.6)\b", zoomed[1])
          and zoomed[2].split()[0] == "Children", "a long first line goes on in the second one", "\n".join(zoomed))
    check(len(rows_of(zoomed)) > 0 and all(len(line) <= 80 for line in zoomed), "rows follow", "\n".join(zoomed))
    terminal.keys("d", "k")
    terminal.wait("a zoom", lambda lines: ", kernel" in lines[0])
    terminal.keys("Right", "Left", "Left")
    terminal.wait("Left at the first column removes the zoom", lambda lines: ", kernel" not in lines[0] and "Children" in lines[1])
    terminal.keys("Left", "x")
    terminal.wait("Left without a zoom does nothing", lambda lines: "x is no key" in lines[-1])
    terminal.close()
    terminal = Terminal((80, 24), "report", "-i", "two", "--no-group")
    terminal.wait("two events", lambda lines: "'cpu-clock" in lines[0])
    terminal.keys("Left")
    terminal.wait("Left shows the events", lambda lines: lines[0].startswith("Events and files"))
    terminal.close()


def check_order():
    """O sorts by Self, also with callees."""
    own = [row for row in rows_of(text_of("-i", "graph", "--children", "-s", "sym"))]
    own.sort(key=lambda row: -float(row.split("%")[1]))
    terminal = Terminal((120, 40), "report", "-i", "graph", "-g", "caller", "-s", "sym")
    terminal.wait("rows by Children", lambda lines: rows_of(lines) and re.match(r"\d+\.\d\d% 0\.00%", rows_of(lines)[0]))
    terminal.keys("O")
    terminal.wait("O sorts by Self", lambda lines: rows_of(lines)[:1] == own[:1] and "inner_loop" in lines[2] and "(Self)" in lines[-1])
    terminal.keys("O")
    terminal.wait("O sorts by Children again", lambda lines: re.match(r"\d+\.\d\d% 0\.00%", rows_of(lines)[0]) and "(Children)" in lines[-1])
    terminal.keys("q")
    terminal.close()


def check_trace_columns():
    """The columns of tracepoints are known to o."""
    result = subprocess.run([PERCH, "record", "-q", "-N", "-o", "trace", "-e", "sched:sched_process_exec", "true"], capture_output=True, text=True, check=False)
    if result.returncode:
        print("ok - columns of tracepoints # skip " + result.stderr.strip())
        return
    terminal = Terminal((120, 30), "report", "-i", "trace", "-s", "comm")
    terminal.wait("a tracepoint", lambda lines: rows_of(lines))
    for columns, title in (("trace", "Trace output"), ("comm,sched_process_exec.filename", "filename")):
        terminal.keys("o", "C-u")
        terminal.text(columns)
        terminal.keys("Enter")
        terminal.wait("o has the column " + columns, lambda lines, title=title: title in lines[1] and rows_of(lines))
    terminal.keys("o", "C-u")
    terminal.text("comm,sched_process_exec.nothing")
    terminal.keys("Enter")
    terminal.wait("o refuses a field that the event lacks", lambda lines: "nothing" in lines[-1] and "field" in lines[-1])
    terminal.close()


def check_events():
    shutil.copy("two", "copy.data")
    os.makedirs("threads.data", exist_ok=True)
    shutil.copy("two", "threads.data/data")
    with open("copy.data.cpu-clock.dump", "w", encoding="utf-8") as file:
        file.write("no recording, but its text\n")
    terminal = Terminal((120, 30), "report", "-i", "two", "--no-group")
    terminal.wait("the first event", lambda lines: "'cpu-clock" in lines[0])
    terminal.keys("Tab")
    terminal.wait("Tab shows the next event", lambda lines: "'task-clock" in lines[0])
    terminal.keys("BTab")
    terminal.wait("Back Tab shows the one before", lambda lines: "'cpu-clock" in lines[0])
    terminal.keys("s")
    terminal.wait("s lists events", lambda lines: any("event task-clock" in line for line in lines))
    files = [line.strip() for line in terminal.screen() if line.strip().startswith("file ")]
    check("file copy.data" in files and "file threads.data" in files, "s lists recordings", files)
    check("file copy.data.cpu-clock.dump" not in files, "s lists no other files", files)
    terminal.keys("Down", "Enter")
    terminal.wait("s shows the event", lambda lines: "'task-clock" in lines[0])
    terminal.keys("q")
    terminal.close()
    check_main_event()


def check_main_event():
    """The event with the most samples is shown first; events of the kinds of cores of a hybrid CPU are one for this."""
    names = ["cpu-clock", "cpu_atom/cycles/", "cpu_core/cycles/"]
    records = [built.comm(1, b"p"), built.mapping(1, 0x1000, 0x4000, 0, "/nowhere/p")]
    for event, samples in ((1, 3), (2, 2), (3, 2)):
        records += [built.sample([built.CONTEXT_USER, 0x1000 * event], event=event, period=1, time=1000 * event + i) for i in range(samples)]
    built.write("kinds.data", records, [(name, 0, i << 32) for i, name in enumerate(names)])
    terminal = Terminal((120, 30), "report", "-i", "kinds.data")
    terminal.wait("report begins with the event with the most samples", lambda lines: "'cpu_atom/cycles/" in lines[0])
    terminal.wait("... and says how many it leaves out", lambda lines: any("5 samples of other events: Tab" in line for line in lines))
    terminal.keys("q")
    terminal.close()


def write_large(path, source, copies):
    """Writes a recording with the records of another one many times: first the header, then the records, then the features."""
    with open(source, "rb") as file:
        data = file.read()
    start, size = struct.unpack_from("<QQ", data, 40)
    features = bytearray(data[start + size:])
    for number in range(sum(bin(word).count("1") for word in struct.unpack_from("<4Q", data, 72))):
        offset, = struct.unpack_from("<Q", features, 16 * number)
        struct.pack_into("<Q", features, 16 * number, offset + size * (copies - 1))
    with open(path, "wb") as file:
        file.write(data[:48] + struct.pack("<Q", size * copies) + data[56:start])
        for _ in range(copies):
            file.write(data[start:start + size])
        file.write(features)


# The clock of perch, which asks the test how many milliseconds have passed, and waits for its answer. When the test closes the
# connection, time passes by itself.
CLOCK = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
static int test = -1;
static long passed;
static struct timespec base;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((constructor)) static void start(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	unsetenv("LD_PRELOAD");
	strncpy(address.sun_path, getenv("PACED_CLOCK"), sizeof(address.sun_path) - 1);
	test = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(test, (struct sockaddr *)&address, sizeof(address)))
		_exit(99);
}
int clock_gettime(clockid_t clock, struct timespec *now)
{
	unsigned char ms;
	int rc = syscall(SYS_clock_gettime, clock, now);
	if (clock != CLOCK_MONOTONIC)
		return rc;
	pthread_mutex_lock(&lock);
	if (test >= 0) {
		if (send(test, "", 1, MSG_NOSIGNAL) == 1 && recv(test, &ms, 1, 0) == 1) {
			passed += ms;
		} else {
			close(test);
			test = -1;
			base = *now;
		}
	}
	if (test >= 0)
		*now = (struct timespec){ 1000 + passed / 1000, passed % 1000 * 1000000 };
	else
		now->tv_sec += 1001 + passed / 1000 - base.tv_sec;
	pthread_mutex_unlock(&lock);
	return rc;
}
"""


class Paced:
    """Starts perch in a terminal. Time passes for it only when the test says so, so that the order of what it shows does not depend on
    the speed of the machine: perch reads the clock after each 64 records, and in each part of the merging of samples."""

    def __init__(self, size, ms, *words):
        self.ms = bytes([ms])
        self.path = tempfile.mktemp(prefix="clock", dir=os.getcwd())
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(self.path)
        listening.listen()
        listening.settimeout(limit(60))
        self.terminal = Terminal(size, *words, LD_PRELOAD=os.path.abspath("clock.so"), PACED_CLOCK=self.path)
        try:
            self.perch = listening.accept()[0]
        except socket.timeout:
            check(False, "perch asks the test for the time", "\n".join(self.terminal.screen()))
            sys.exit(1)
        listening.close()
        self.waits = False

    def asks(self, seconds):
        """True if perch waits for the time, at most some seconds later: all that it did before is written."""
        self.perch.settimeout(seconds)
        try:
            self.waits = self.waits or self.perch.recv(1) == b"\0"
        except socket.timeout:
            pass
        return self.waits

    def step(self):
        self.perch.send(self.ms)
        self.waits = False

    def until(self, name, condition):
        """Lets 50 ms pass again and again until the screen meets a condition."""
        end = time.monotonic() + limit(60)
        while time.monotonic() < end:
            asks = self.asks(1)
            self.terminal.screen()  # tmux has then read what the next one shows
            screen = self.terminal.screen()
            if condition(screen):
                check(True, name)
                return screen
            for _ in range(50 // self.ms[0]):
                if not asks:
                    break
                self.step()
                asks = self.asks(1)
        check(False, name, "\n".join(screen))
        return screen

    def end(self):
        """From now on time passes by itself."""
        self.perch.close()


def count_records(path):
    with open(path, "rb") as file:
        data = file.read()
    at, size = struct.unpack_from("<QQ", data, 40)
    end, number = at + size, 0
    while at < end:
        at += struct.unpack_from("<H", data, at + 6)[0]
        number += 1
    return number


def check_reading():
    """A file that takes long: rows are shown before all is read."""
    # 15 seconds, of 10 ms for 64 records
    write_large("large", "graph", 1 + 96000 // count_records("graph"))
    expected = rows_of(text_of("-i", "large"))
    for stops in (False, True):
        paced = Paced((100, 30), 10, "report", "-i", "large")
        terminal = paced.terminal
        screen = paced.until("rows are shown while a file is read", lambda lines: re.match(r"Reading: \d+%, about \d+ s left \(q stops\)", lines[0])
                             and rows_of(lines))
        if stops:
            terminal.keys("q")
            paced.until("q stops", lambda lines: re.search(r"Stopped: the rows are of the first \d+% of the file", lines[-1])
                        and "Samples:" in lines[0])
            check(bool(rows_of(terminal.screen())), "the rows stay")
            paced.end()
            terminal.keys("q")
            terminal.wait("q leaves, and the message stays", lambda lines: any("reading was stopped" in line for line in lines)
                          and any("status=0" in line for line in lines))
        else:
            check(bool(rows_of(screen)), "there are rows", "\n".join(screen))
            paced.end()
            terminal.wait("then all rows are shown", lambda lines: "Samples:" in lines[0] and rows_of(lines) == expected[:27])
            terminal.keys("q")
            terminal.wait("q leaves", lambda lines: any("status=0" in line for line in lines))
        terminal.close()


def write_many(path, count):
    """Writes a recording of that many addresses, each sampled once."""
    sample_type, start = 1 | 2 | 4, 248  # IP | TID | TIME
    attr = struct.pack("<IIQQQQ", 1, 128, 0, 1000000, sample_type, 0) + bytes(88)
    samples = b"".join(struct.pack("<IHHQIIQ", 9, 2, 32, 0x400000 + 64 * number, 1, 1, number + 1) for number in range(count))
    with open(path, "wb") as file:
        file.write(b"PERFILE2" + struct.pack("<8Q", 104, 144, 104, 144, start, len(samples), 0, 0) + bytes(32) + attr + struct.pack("<QQ", 0, 0) + samples)


def check_quit():
    """q while samples are read and merged, before and after the first rows."""
    paced = Paced((100, 30), 10, "report", "-i", "large")
    terminal = paced.terminal
    paced.until("progress with a key and an estimate before the first rows",
                lambda lines: re.match(r"perch report: reading samples: \d+%, about \d+ s left \(q stops\)$", lines[0]))
    terminal.keys("q")
    screen = paced.until("q before the first rows stops reading", lambda lines: "Samples:" in lines[0] and rows_of(lines)
                         or any("stopped by the key q" in line for line in lines))
    paced.end()
    if "Samples:" in screen[0]:
        terminal.keys("q")
        terminal.wait("q leaves then", lambda lines: any("reading was stopped" in line for line in lines))
    terminal.wait("the status is 0", lambda lines: any("status=0" in line for line in lines))
    terminal.close()
    check_quit_merging()


def check_quit_merging():
    # 6 seconds, of 1 ms for 64 records; the 64,000 rows of the first one take most of another second
    write_many("many", 400000)
    paced = Paced((100, 30), 1, "report", "-i", "many", "-s", "sym,comm,pid,tid")
    terminal = paced.terminal
    merging = r"(perch report: )?merging samples: \d+%, about \d+ s left \(q stops\)$"
    paced.until("progress of merging, with an estimate", lambda lines: any(re.match(merging, line) for line in (lines[0], lines[-1])))
    terminal.keys("q")
    paced.until("q ends merging and leaves", lambda lines: any("status=0" in line for line in lines)
                and any("reading was stopped" in line or "stopped by the key q" in line for line in lines))
    paced.end()
    terminal.close()


def check_styles():
    for variables, colored in (({"TERM": "screen-256color"}, True), ({"TERM": "screen-256color", "NO_COLOR": "1"}, False), ({"TERM": "vt100"}, False)):
        terminal = Terminal((100, 24), "report", "-i", "graph", **variables)
        terminal.wait("%s: rows" % variables, lambda lines: rows_of(lines))
        styles = "\n".join(terminal.screen(styles=True))
        check(bool(re.search(r"\x1b\[[0-9;]*(3[0-79]|4[0-79])", styles.replace("\x1b[39m", "").replace("\x1b[49m", ""))) == colored,
              "%s: %s" % (variables, "colors" if colored else "no colors"), repr(styles[:400]))
        check("\x1b[7m" in styles or ";7m" in styles or colored, "%s: the cursor is seen" % variables, repr(styles[:400]))
        terminal.close()
    terminal = Terminal((100, 24), "report", "-i", "empty")
    terminal.wait("a recording without samples gets text", lambda lines: any("has no samples" in line for line in lines))
    terminal.close()
    terminal = Terminal((100, 24), "report", "-i", "graph", TERM="dumb", PERCH_PAGER="cat")
    terminal.wait("a terminal that cannot move the cursor gets text", lambda lines: any("status=0" in line for line in lines))
    terminal.close()


def main():
    if not shutil.which("tmux") or not shutil.which("cc"):
        print("ok - browser # skip tmux or cc is not installed")
        return 0
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        open("program.c", "w").write(PROGRAM)
        open("clock.c", "w").write(CLOCK)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", "clock.so", "clock.c"], check=True)
        subprocess.run(["cc", "-g", "-O0", "-fno-omit-frame-pointer", "-o", "program", "program.c"], check=True)
        for path, words in (("graph", ("-g", "-e", "cpu-clock")), ("two", ("-e", "cpu-clock,task-clock",))):
            subprocess.run([PERCH, "record", "-q", "-N", "-o", path, "-F", "2000", *words, "./program"], check=True)
        subprocess.run([PERCH, "record", "-q", "-N", "-o", "empty", "-e", "cpu-clock", "-c", "1000000000", "true"], check=True)
        check_rows((80, 24))
        check_rows((200, 60))
        check_call_graph()
        check_zooms()
        check_style_of_annotate()
        check_inlined_of_annotate()
        check_scrolling()
        check_order()
        check_trace_columns()
        check_events()
        check_styles()
        check_reading()
        check_quit()
        os.chdir("/")
    return int(cases.failed)


sys.exit(main())
