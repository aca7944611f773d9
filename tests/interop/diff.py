#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch diff: the summary and its error, files of different machines and events, and wrong options. perf_options.py compares its
tables with perf's."""
import json
import os
import re
import subprocess
import sys
import tempfile

from piped import feature, mapping, pipe, sample
import cases
from cases import check

PERCH = os.environ.get("PERCH", "perch")
HOSTNAME, OSRELEASE, CPUDESC = 3, 4, 8


def diff(*words):
    return subprocess.run([PERCH, "diff", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def write(path, samples, machine="one", kernel="6.1.0", cpu="CPU A", period=1000):
    """A recording of the machine, with these numbers of samples in the files a, b and so on."""
    texts = [feature(number, text.encode() + b"\0") for number, text in
             ((HOSTNAME, machine), (OSRELEASE, kernel), (CPUDESC, cpu))]
    maps = [mapping(1, 0x10000 * (i + 1), b"/" + name.encode()) for i, name in enumerate(samples)]
    parts = [sample(0x10000 * (i + 1)) * nr for i, nr in enumerate(samples.values())]
    with open(path, "wb") as file:
        file.write(pipe(texts + maps + parts, period))


def changes():
    write("old", {"a": 900, "b": 100})
    write("new", {"a": 1000, "b": 1000})
    done = diff("old", "new", "-s", "dso")
    rows = re.findall(r"^ +(\S+) +(\S+)  (\w)$", done.stdout, flags=re.M)
    check(rows in ([("90.00%", "-40.00%", "a"), ("10.00%", "+40.00%", "b")], [("10.00%", "+40.00%", "b"), ("90.00%", "-40.00%", "a")]),
           "the table has the shares", done)
    check("# Event count (approx.): 1000000 to 2000000 (ratio 2.000)\n" in done.stdout, "the ratio of all periods", done)
    # sqrt(0.9 * 0.1 / 1000 + 0.5 * 0.5 / 2000) = 1.46 points, a bit more with a sample added to both
    found = re.search(r"# Changed most: (\w): (\S+)% to (\S+)% \((\S+) points, standard error (\S+); (\d+) of (\d+) samples, "
                      r"(\d+) of (\d+)\)", done.stdout)
    check(found is not None and 1.45 < float(found[5]) < 1.48 and found[7] == "1000" and found[9] == "2000",
           "the row that changed most has a standard error", done)
    check("in any of the 2 rows: below 0.01%\n" in done.stdout, "a large change is not by chance", done)

    write("same", {"a": 18, "b": 3})
    done = diff("old", "same", "-s", "dso")
    chance = re.search(r"in any of the 2 rows: (\S+)%", done.stdout)
    check(chance is not None and float(chance[1]) > 30, "a change of few samples may be by chance", done)

    done = diff("old", "old", "-s", "dso")
    check("# No share has changed.\n" in done.stdout, "a file compared with itself has not changed", done)
    done = diff("old", "new", "same", "-s", "dso")
    check(done.stdout.count("Changed most") == 2 and "# [2] same\n" in done.stdout, "each of three files has a summary", done)
    done = diff("-q", "old", "new")
    check("#" not in done.stdout and done.stdout.count("\n") == 2, "-q prints only rows", done)


def nameless():
    """Addresses without names are rows of their own: perf adds up those of a DSO in one row, with the number of one of them."""
    for path, numbers in (("nameless1", {0x100: 60, 0x200: 40}), ("nameless2", {0x100: 30, 0x300: 70})):
        with open(path, "wb") as file:
            file.write(pipe([feature(HOSTNAME, b"one\0"), mapping(1, 0x10000, b"/a")] +
                            [sample(0x10000 + at) * nr for at, nr in numbers.items()], 1000))
    done = diff("nameless1", "nameless2", "-s", "sym")
    rows = {words[-1][-3:]: words[:-2] for words in map(str.split, done.stdout.splitlines()) if words and words[0] != "#"}
    check(rows == {"100": ["60.00%", "-30.00%"], "200": ["40.00%"], "300": ["+70.00%"]}, "addresses without names are rows", done)
    done = diff("nameless1", "nameless2", "-s", "sym", "-t", ",")
    check("60.00,-30.00%,[.] 0x" in done.stdout and " ," not in done.stdout, "-t does not pad", done)


def names():
    """A program in files of different names."""
    write("renamed", {"a": 100, "c": 900})
    done = diff("old", "renamed", "-s", "dso")
    check("-s sym" not in done.stderr, "no message about names without the key sym", done)
    with open("names.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    for name in ("one", "two"):
        built = subprocess.run(["gcc", "-O0", "names.c", "-o", name], capture_output=True, text=True, check=False)
        recorded = built.returncode or subprocess.run([PERCH, "record", "-q", "-N", "-e", "cpu-clock:u", "-o", name + ".data", "./" + name, "2", "1"],
                                                      capture_output=True, check=False).returncode
        if recorded:
            print("ok - names of programs # skip no gcc, or no recording")
            return
    done = diff("one.data", "two.data")
    check("most of the change from one.data to two.data is of functions with the same names in DSOs of other names: -s sym" in done.stderr,
           "programs with different names", done)
    for words in (("one.data", "one.data"), ("-s", "sym", "one.data", "two.data")):
        done = diff(*words)
        check(not done.returncode and "other names" not in done.stderr, "no message about names: " + " ".join(words), done)


def differences():
    write("other", {"a": 10}, machine="two\033[2J", kernel="6.2.0", cpu="CPU B", period=2000)
    done = diff("old", "other")
    for sentence in ("the machine differs: one in old, two?[2J in other\n", "the kernel differs: 6.1.0 in old, 6.2.0 in other\n",
                     "the CPU differs: CPU A in old, CPU B in other\n",
                     "cpu-clock has a period of 1000 in old and a period of 2000 in other\n"):
        check(sentence in done.stderr and not done.returncode, "says: " + repr(sentence.strip()), done)
    done = diff("old", "other", "--comms", "nothing")
    for name in ("old", "other"):
        check("perch diff: %s: no sample is " % name in done.stderr, "a message has the name of its file: " + name, done)
    write("empty", {})
    done = diff("old", "empty")
    check(not done.returncode and "Changed most" not in done.stdout, "a file without samples has no change", done)


def times():
    done = diff("old", "new", "--time", "1,2:3,4:")
    check(done.returncode == 1 or done.returncode == 2, "samples without a time cannot be chosen by it", done)


def wrong():
    for words, sentence in ((("-c", "rato"), "did you mean ratio?"), (("-c", "cycles"), "perch report --total-cycles"), (("-c", "delta:1"), "expected delta"),
                            (("-c", "wdiff"), "wdiff:1,2"), (("-c", "wdiff:1"), "wdiff:1,2"), (("-c", "wdiff:1,x"), "wdiff:1,2"),
                            (("-c", "wdiff:0,1"), "other than 0"), (("-c", "wdiff:1,0"), "other than 0"),
                            (("-c", "wdiff:99999999999999999999,1"), "64 bits"),
                            (("-c", "wdiff:,"), "wdiff:1,2"), (("-c", ""), "expected delta"),
                            (("-s", "symbl"), "perhaps sym"), (("-s", ""), "no key ''"), (("-s", "overhead_sys"), "a sum"),
                            (("-s", "symbol_from"), "a column of branches"),
                            (("-o", "2"), "expected 0"), (("-t", "ab"), "one character"), (("-t", "."), "one character"),
                            (("-t", ""), "one character"), (("--percentage", "half"), "relative or absolute"),
                            (("--percentag",), "needs an argument"), (("--nosuch",), "unknown option"), (("missing",), "no file 'missing'")):
        done = diff("old", "new", *words)
        check(done.returncode == 2 and sentence in done.stderr, "usage error: " + " ".join(words), done)
    done = diff("old", "new", "-s", "nothing")
    check("symbol_daddr" in done.stderr and "symbol_from" not in done.stderr, "the list of keys has no columns of branches", done)
    for words, sentence in (((), "no file 'perf.data.old'"), (("new",), "no file 'perf.data.old'"), (("-", "-"), "one file only"),
                            (["old"] * 33, "at most 32 files")):
        done = diff(*words)
        check(done.returncode == 2 and sentence in done.stderr, "usage error: %d files" % len(words), done)
    with open("text", "w", encoding="utf-8") as file:
        file.write("no recording\n")
    done = diff("old", "text")
    check(done.returncode == 1 and "not a perf.data file" in done.stderr, "a file that is no recording", done)
    os.rename("new", "perf.data")
    os.rename("old", "perf.data.old")
    done = diff("-s", "dso")
    check(not done.returncode and "+40.00%" in done.stdout, "the default is perf.data.old and perf.data", done)


PROGRAM = """
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void leaf(int n)
{
	for (int i = 0; i < n * 1000; i++)
		sink += i ^ sink;
}
__attribute__((noinline)) void first(int n)
{
	leaf(n);
	sink++;
}
__attribute__((noinline)) void second(int n)
{
	leaf(n);
	sink++;
}
int main(int argc, char **argv)
{
	struct timespec now;

	do {
		first(atoi(argv[1]));
		second(atoi(argv[2]));
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (argc == 3 && now.tv_sec * 1000 + now.tv_nsec / 1000000 < 300);
	return 0;
}
"""


def shares_of_callers(path):
    """{(function, callers from the innermost one): percent of all samples} by perch script -j."""
    done = subprocess.run([PERCH, "script", "-j", "-F", "event,period,ip,sym", "-i", path], capture_output=True, text=True, check=False)
    samples = json.loads(done.stdout) if done.stdout.startswith("[") else list(map(json.loads, done.stdout.splitlines()))
    total = sum(sample["period"] for sample in samples)
    shares = {}
    for sample in samples:
        names = tuple(frame.get("sym", "?") for frame in sample["callchain"])
        for nr in range(2, len(names) + 1):
            shares[names[:nr]] = shares.get(names[:nr], 0) + sample["period"]
    return {names: 100 * period / total for names, period in shares.items()}


def graphs():
    with open("program.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    built = subprocess.run(["gcc", "-O0", "-fno-omit-frame-pointer", "program.c", "-o", "program"],
                           capture_output=True, text=True, check=False)
    if built.returncode:
        print("ok - call graphs # skip gcc: " + built.stderr.strip()[:200])
        return
    for path, counts in (("before", ("90", "10")), ("after", ("40", "60"))):
        done = subprocess.run([PERCH, "record", "-N", "-q", "-g", "-F", "999", "-e", "cpu-clock:u", "-o", path, "./program", *counts], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            print("ok - call graphs # skip perch record: " + done.stderr.strip()[:200])
            return
    recorded = subprocess.run([PERCH, "record", "-N", "-q", "-F", "999", "-e", "cpu-clock:u,dummy:u", "-o", "more", "./program", "90", "10"],
                              capture_output=True, text=True, check=False)
    for files in (("before", "more"), ("more", "before")):
        done = diff("-s", "sym", *files)
        check(not recorded.returncode and not done.returncode and "dummy" not in done.stderr,
               "no note about an event without samples: %s %s" % files, done)
    done = diff("-g", "-s", "sym", "before", "after")
    lines = done.stdout.splitlines()
    # by the position of each column: a row of one file has an empty one, and callers are indented
    delta, text = (next(line.index(title) for line in lines if title in line) for title in ("Delta Abs", "Symbol"))
    path, ours = [], {}
    for line in lines:
        if not line or line[0] == "#":
            continue
        indent, name = re.match(r"( *)(?:<- )?(?:\[.\] )?(.*)", line[text:]).groups()
        path = path[:len(indent) // 2] + [name]
        if len(path) > 1:
            ours[tuple(path)] = tuple(part.strip() or None for part in (line[:delta], line[delta:text]))
    before, after = shares_of_callers("before"), shares_of_callers("after")
    theirs = {}
    for names in set(before) | set(after):
        old, new = before.get(names), after.get(names)
        # a caller below one that is not printed is not printed
        if all(abs(after.get(names[:nr], 0) - before.get(names[:nr], 0)) >= 0.5 for nr in range(2, len(names) + 1)):
            theirs[names] = ("%.2f%%" % old if old else None, "%+.2f%%" % (new - (old or 0)) if new else None)
    check(ours == theirs and ("leaf", "first") in ours and ours[("leaf", "second")][1][0] == "+", "-g: callers that have changed, as by script", done)
    if ours != theirs:
        print("    %s\n    %s" % (ours, theirs))
    done = diff("-g", "--graph-limit", "100", "-s", "sym", "before", "after")
    check("<-" not in done.stdout and "leaf" in done.stdout, "--graph-limit 100 prints no callers", done)
    for word in ("-1", "x", "101", ""):
        done = diff("--graph-limit", word, "before", "after")
        check(done.returncode == 2 and "is not a percentage from 0 to 100" in done.stderr, "usage error: --graph-limit " + word, done)


with tempfile.TemporaryDirectory() as directory:
    os.environ["PERCH"] = PERCH = os.path.abspath(PERCH) if os.path.exists(PERCH) else PERCH
    os.chdir(directory)
    changes()
    nameless()
    names()
    differences()
    times()
    wrong()
    graphs()
sys.exit(cases.failed)
