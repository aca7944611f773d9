#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The browser of perch annotate in a real terminal, tmux, compared with perch annotate --stdio2."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
from cases import check
from tmux import Terminal

PERCH = os.path.abspath(os.environ["PERCH"])

PROGRAM = r"""
static volatile unsigned long sink;
__attribute__((noinline)) void cold(void) { sink += 3; }
__attribute__((noinline)) unsigned long down(unsigned long n)
{
	return n ? down(n - 1) + down(n / 2) * 3 : sink;
}
__attribute__((noinline)) void inner_loop(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		if (i % 3)
			sink += i;
		else
			sink ^= i * 7;
	}
	cold();
}
int main(void)
{
	for (int i = 0; i < 40; i++) {
		inner_loop(2000000);
		sink += down(100);
		for (int j = 0; j < 1000000; j++)
			sink--;
	}
	return 0;
}
"""

# Runs code in memory without a file, which has a name by the map file of JIT compilers.
COPIED = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) unsigned long copied(unsigned long n)
{
	volatile unsigned long sum = 0;
	while (n--)
		sum += n;
	return sum;
}
int main(void)
{
	char path[64];
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *map;
	memcpy(code, copied, 256);
	__builtin___clear_cache(code, code + 256);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	fprintf(map, "%lx 100 made_in_memory\n", (unsigned long)code);
	fclose(map);
	puts(path);
	((unsigned long (*)(unsigned long))code)(200000000);
	return 0;
}
"""

SHARE = re.compile(r"^ *(\d+\.\d\d) ")


def text_of(*words):
    """The rows of a function, without the titles."""
    lines = subprocess.run([PERCH, "annotate", "--stdio2", "-i", "data", *words], capture_output=True, text=True, check=True).stdout
    return [line.rstrip() for line in lines.splitlines() if line.strip()][3:]


def hot_lines(lines):
    """The lines with samples, the hottest first."""
    lines = [line for line in lines if SHARE.match(line)]
    return sorted(lines, key=lambda line: -float(SHARE.match(line)[1]))


def without_signs(line):
    return re.sub("[│┌└|+]", " ", line).rstrip()


def selected(terminal):
    """The line of the cursor, which has the colors of a selection."""
    for line in terminal.screen(styles=True)[2:]:
        if "\x1b[30m\x1b[43m" in line or re.search("\x1b\\[[0-9;]*43m", line):
            return without_signs(re.sub("\x1b\\[[0-9;]*m", "", line))
    return ""


def shows(name):
    return lambda lines: lines[1].startswith(name + "()")


def check_lines(size):
    terminal = Terminal(size, "annotate", "-i", "data", "inner_loop")
    expected = text_of("inner_loop")
    screen = terminal.wait("%dx%d: a function" % size, shows("inner_loop"))
    check("[percent: local period]" in screen[0] and screen[1].endswith("/program"), "%dx%d: what 100%% is, and the DSO" % size, "\n".join(screen[:2]))
    check(all(len(line) <= size[0] for line in screen), "%dx%d: lines fit" % size, "\n".join(screen))
    terminal.keys("Home")
    screen = terminal.wait("%dx%d: Home" % size,
                           lambda lines: len(lines) > 2 and without_signs(lines[2]) == expected[0][:size[0]].rstrip())
    shown = [without_signs(line) for line in screen[2:2 + min(size[1] - 3, len(expected))]]
    check(shown == [without_signs(line[:size[0]]) for line in expected[:size[1] - 3]], "%dx%d: the rows of --stdio2" % size,
          "\n".join(shown + ["-"] + expected))
    terminal.keys("q")
    terminal.wait("%dx%d: q leaves" % size, lambda lines: any("status=0" in line for line in lines))
    terminal.close()


def check_title():
    """A title that does not fit ends in dots, and never in a part of a number."""
    title = subprocess.run([PERCH, "annotate", "--stdio2", "-i", "data", "inner_loop"], capture_output=True, text=True, check=True).stdout
    period = re.search(r"Event count \(approx\.\): (\d+)", title)[1]
    terminal = Terminal((200, 60), "annotate", "-i", "data", "inner_loop")
    screen = terminal.wait("a title that fits", shows("inner_loop"))
    check(screen[0].endswith(": " + period), "it has the period", screen[0])
    width = len(screen[0]) - 2
    terminal.keys("q")
    terminal.close()
    terminal = Terminal((width, 60), "annotate", "-i", "data", "inner_loop")
    screen = terminal.wait("a title that does not fit", shows("inner_loop"))
    check(screen[0].endswith("..."), "it ends in dots", screen[0])
    terminal.tmux("resize-window", "-x", "100", "-y", "8")
    terminal.keys("End")
    terminal.wait("the end of a function", lambda lines: len(lines) <= 8 and not lines[2].endswith(text_of("inner_loop")[0]))
    terminal.tmux("resize-window", "-x", "100", "-y", "70")
    terminal.wait("a larger screen shows the whole function",
                  lambda lines: len(lines) > 60 and without_signs(lines[2]) == text_of("inner_loop")[0][:100].rstrip())
    terminal.close()


def check_reason():
    """The reason why there are no instructions is never cut: the end has the remedy."""
    with open("copied.c", "w", encoding="utf-8") as out:
        out.write(COPIED)
    subprocess.run(["gcc", "-O1", "-fcf-protection=none", "copied.c", "-o", "copied"], check=True)
    done = subprocess.run([PERCH, "record", "-q", "-e", "cpu-clock", "-F", "2000", "-o", "copied.data", "--", "./copied"],
                          capture_output=True, text=True, check=True)
    terminal = Terminal((60, 20), "annotate", "-i", "copied.data", "made_in_memory")
    terminal.wait("the reason has several lines", lambda lines: "No instructions:" in lines and
                  " ".join(line.strip() for line in lines[3:7]).strip().endswith("record with -k mono"))
    terminal.keys("q")
    terminal.close()
    os.remove(done.stdout.strip())


def wait_selected(terminal, name, line):
    terminal.wait(name, lambda _: selected(terminal) == without_signs(line))


def check_hottest():
    hot = hot_lines(text_of("inner_loop"))
    different = [line for line in hot if sum(SHARE.match(line)[1] == SHARE.match(other)[1] for other in hot) == 1]
    terminal = Terminal((120, 60), "annotate", "-i", "data", "inner_loop")
    terminal.wait("the browser", shows("inner_loop"))
    if different[:2] != hot[:2]:
        print("ok - the hottest line # skip the first lines have equal shares")
    else:
        wait_selected(terminal, "the cursor is on the hottest line", hot[0])
        terminal.keys("n")
        wait_selected(terminal, "n moves to the next one", hot[1])
        terminal.keys("N")
        wait_selected(terminal, "N moves back", hot[0])
        terminal.keys("Home", "H")
        wait_selected(terminal, "H moves to the hottest one", hot[0])
    terminal.keys("s")
    terminal.wait("s hides source lines", lambda lines: not any("sink ^=" in line for line in lines))
    terminal.keys("s")
    terminal.wait("s shows them", lambda lines: any("sink ^=" in line for line in lines))
    terminal.keys("t")
    terminal.wait("t shows periods", lambda lines: not any(SHARE.match(line) for line in lines))
    terminal.keys("t", "t")
    terminal.wait("t shows percentages again", lambda lines: any(SHARE.match(line) for line in lines))
    terminal.keys("p")
    terminal.wait("p shows percentages of the recording", lambda lines: "global period" in lines[0])
    terminal.keys("p", "/")
    terminal.text("ret")
    terminal.keys("Enter")
    terminal.wait("/ finds a line", lambda _: "ret" in selected(terminal))
    terminal.keys("P")
    terminal.wait("P writes a file", lambda lines: "written to perf.annotate.0" in lines[-1])
    with open("perf.annotate.0", encoding="utf-8") as file:
        check([line.rstrip() for line in file.read().splitlines()[2:]] == text_of("inner_loop"), "the file has the rows")
    terminal.close()


def jumps_of(lines):
    """Text of a jump inside of the function -> label of its target, if only one line has the text."""
    jumps = {}
    for line in lines:
        match = re.search(r"[↑↓] (\w+ +[0-9a-f]+)$", line)
        if match:
            jumps[line] = None if line in jumps else match[1].split()[-1]
    return {line: target for line, target in jumps.items() if target}


def check_jumps():
    jumps = jumps_of(text_of("inner_loop"))
    check(bool(jumps), "inner_loop has a jump")
    terminal = Terminal((120, 60), "annotate", "-i", "data", "inner_loop")
    terminal.wait("the browser", shows("inner_loop"))
    for line, target in list(jumps.items())[:1]:
        # searched from the top on: the text of the jump is in one line
        terminal.keys("Home", "/", "C-u")
        terminal.text(re.search(r"[↑↓] (.*)$", line)[1])
        terminal.keys("Enter")
        wait_selected(terminal, "a jump is found", line)
        terminal.wait("signs lead from it to its target", lambda lines: any("┌" in row for row in lines) and any("└" in row for row in lines))
        terminal.keys("Enter")
        terminal.wait("Enter follows a jump", lambda _, target=target: re.match(r"^[ \d.]* %s: " % target, selected(terminal)))
    terminal.keys("End", "Home", "/", "C-u")
    terminal.text("<cold>")
    terminal.keys("Enter")
    terminal.wait("a call is found", lambda _: "<cold>" in selected(terminal))
    terminal.keys("Enter")
    terminal.wait("Enter shows a function without samples", shows("cold"))
    terminal.keys("q")
    terminal.wait("q goes back", shows("inner_loop"))
    check("<cold>" in selected(terminal), "the cursor is on the call", selected(terminal))
    terminal.keys("q")
    terminal.wait("q leaves", lambda lines: any("status=0" in line for line in lines))
    terminal.close()
    terminal = Terminal((120, 60), "annotate", "-i", "data", "down")
    terminal.wait("a recursive function", shows("down"))
    terminal.keys("Home", "/", "C-u")
    terminal.text("call")
    terminal.keys("Enter")
    terminal.wait("its call of itself is found", lambda _: "call" in selected(terminal))
    call = selected(terminal)
    terminal.keys("Enter")
    terminal.wait("Enter shows its start", lambda _: "call" not in selected(terminal))
    terminal.keys("q")
    wait_selected(terminal, "q goes back to the call", call)
    terminal.keys("q")
    terminal.close()
    terminal = Terminal((120, 60), "annotate", "-i", "data", "inner_loop")
    terminal.wait("the browser again", shows("inner_loop"))
    terminal.keys(">")
    terminal.wait("> shows another function", lambda lines: not lines[1].startswith("inner_loop()"))
    terminal.keys("<")
    terminal.wait("< goes back", shows("inner_loop"))
    terminal.keys("f")
    screen = terminal.wait("f lists the functions", lambda lines: lines[0].startswith("Functions"))
    check(any("inner_loop  program" in line for line in screen), "the list has the function", "\n".join(screen))
    terminal.keys("q", "h")
    terminal.wait("h shows the keys", lambda lines: lines[0].startswith("Keys"))
    terminal.keys("q")
    terminal.tmux("resize-window", "-x", "50", "-y", "10")
    terminal.wait("the screen follows the size", lambda lines: len(lines) == 10 and "Function" in lines[-1])
    terminal.tmux("resize-window", "-x", "30", "-y", "10")
    terminal.wait("the end of the path is shown on a narrow screen",
                  lambda lines: re.match(r"inner_loop\(\) \.\.\.\w+/program$", lines[1]) and lines[0].endswith("[percent: loc..."))
    terminal.keys("q")
    terminal.wait("q leaves", lambda lines: any("status=0" in line for line in lines))
    terminal.close()


def check_source():
    """The reason why there are no source lines."""
    os.rename("program.c", "moved.c")
    terminal = Terminal((80, 24), "annotate", "-i", "data", "inner_loop")
    terminal.wait("a missing source file", shows("inner_loop"))
    terminal.keys("s")
    terminal.wait("s names the file", lambda lines: re.match(r"Cannot read \S*program\.c: try perch annotate --prefix DIR", lines[-1]))
    os.rename("moved.c", "program.c")
    terminal.keys("Right", "Left", "Left")
    terminal.wait("Left at the first column leaves", lambda lines: any("status=0" in line for line in lines))
    terminal.close()
    subprocess.run(["gcc", "-O1", "program.c", "-o", "stripped"], check=True)
    subprocess.run([PERCH, "record", "-q", "-e", "cpu-clock", "-F", "2000", "-o", "stripped.data", "--", "./stripped"], check=True)
    terminal = Terminal((80, 24), "annotate", "-i", "stripped.data", "inner_loop")
    terminal.wait("no debug information", shows("inner_loop"))
    terminal.keys("s")
    terminal.wait("s says so", lambda lines: lines[-1].startswith("No source lines: compile with -g"))
    terminal.close()


def check_rows_of_report():
    """Two libraries have a function of the same name; each row is annotated with its own, and with the samples of its event."""
    for name, end in (("one", "sink += i"), ("two", "sink ^= i * 3")):
        with open(name + ".c", "w", encoding="utf-8") as out:
            out.write("static volatile unsigned long sink;\n__attribute__((noinline)) static void work(unsigned long n)\n"
                      "{ for (unsigned long i = 0; i < n; i++) %s; }\nvoid %s(unsigned long n) { work(n); }\n" % (end, name))
        subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", name + ".c", "-o", "lib%s.so" % name], check=True)
    with open("both.c", "w", encoding="utf-8") as out:
        out.write("void one(unsigned long n); void two(unsigned long n);\n"
                  "int main(void) { for (int i = 0; i < 100; i++) { one(2000000); two(1000000); } return 0; }\n")
    subprocess.run(["gcc", "both.c", "-o", "both", "-L.", "-lone", "-ltwo", "-Wl,-rpath,."], check=True)
    subprocess.run([PERCH, "record", "-q", "-e", "cpu-clock,task-clock", "-c", "1000000", "-o", "both.data", "--", "./both"], check=True)
    for library, event in (("libone.so", "cpu-clock"), ("libtwo.so", "cpu-clock"), ("libtwo.so", "task-clock")):
        name = "a row of %s, %s" % (library, event)
        terminal = Terminal((120, 40), "report", "-i", "both.data", "-s", "dso,sym", "--dsos", "libone.so,libtwo.so", "-g", "none")
        terminal.wait(name, lambda lines: sum(" work" in line for line in lines) == 2)
        if event == "task-clock":
            terminal.keys("Tab")
            terminal.wait(name + ": its event", lambda lines: "task-clock" in lines[0] and sum(" work" in line for line in lines) == 2)
        screen = terminal.screen()
        row = next(number for number, line in enumerate(screen) if library in line and " work" in line)
        first = next(number for number, line in enumerate(screen) if " work" in line)
        terminal.keys("Home", *["Down"] * (row - first), "a")
        screen = terminal.wait(name + ": instructions", shows("work"))
        check(library in screen[1] and "'%s'" % event in screen[0], name + ": those of the row", "\n".join(screen[:2]))
        terminal.keys("q", "q")
        terminal.close()
    subprocess.run([PERCH, "record", "-q", "-e", "{cpu-clock,page-faults}", "-c", "1000000", "-o", "group.data", "--", "./program"], check=True)
    terminal = Terminal((120, 40), "annotate", "-i", "group.data", "inner_loop")
    terminal.wait("a function of a group", shows("inner_loop"))
    terminal.keys("f")
    screen = terminal.wait("f lists the functions of a group", lambda lines: lines[0].startswith("Functions"))
    shares = [float(match[1]) for match in (re.match(r" *(\d+\.\d\d)%  inner_loop ", line) for line in screen) if match]
    check(shares and shares[0] > 5, "they have shares of its first event", "\n".join(screen))
    terminal.keys("q", "q")
    terminal.close()


def check_other_terminals():
    terminal = Terminal((100, 40), "annotate", "-i", "data", "inner_loop", LC_ALL="C", NO_COLOR="1")
    screen = terminal.wait("a terminal without UTF-8", shows("inner_loop"))
    check(not any("?" in line or "~" in line for line in screen), "arrows are ASCII", "\n".join(screen))
    styled = "\n".join(terminal.screen(styles=True))
    check(not re.search("\x1b\\[[0-9;]*[34][0-7]m", styled), "NO_COLOR gives no colors", repr(styled[:400]))
    terminal.keys("q")
    terminal.close()
    terminal = Terminal((100, 40), "annotate", "-i", "data", "--stdio2", "inner_loop", TERM="dumb", PERCH_PAGER="cat")
    terminal.wait("--stdio2 prints", lambda lines: any("status=0" in line for line in lines))
    terminal.close()
    terminal = Terminal((100, 40), "annotate", "-i", "data", "--tui", TERM="dumb")
    terminal.wait("--tui needs a terminal", lambda lines: any("--tui needs a terminal" in line for line in lines)
                  and any("status=2" in line for line in lines))
    terminal.close()
    terminal = Terminal((100, 40), "annotate", "-i", "data", "inner_lop")
    terminal.wait("a function that does not exist", lambda lines: any("similar names: inner_loop" in line for line in lines)
                  and any("status=1" in line for line in lines))
    terminal.close()


def main():
    for program in ("tmux", "gcc"):
        if not shutil.which(program):
            print("skipped: %s is not installed" % program)
            return 77
    directory = tempfile.mkdtemp()
    try:
        os.chdir(directory)
        with open("program.c", "w", encoding="utf-8") as out:
            out.write(PROGRAM)
        subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "program.c", "-o", "program"], check=True)
        subprocess.run([PERCH, "record", "-q", "-e", "cpu-clock", "-F", "2000", "-o", "data", "--", "./program"], check=True)
        check_lines((80, 24))
        check_lines((200, 60))
        check_title()
        check_reason()
        check_hottest()
        check_jumps()
        check_source()
        check_rows_of_report()
        check_other_terminals()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
