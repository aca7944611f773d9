#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch script selects the samples that perf script selects with the same options, and names what there is if there are none."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
import peer
from cases import check
from peer import result

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")

PROGRAM = "i=0; while [ $i -lt 40 ]; do head -c 200000 /dev/zero | gzip | md5sum; i=$((i + 1)); done >/dev/null"
# Recordings of all CPUs also have samples of tasks that have ended (":-1 -1": the kernel has taken away their ids), and of threads whose
# name is empty.
SAMPLE = re.compile(r"^\s*(\S.*\S|\S|)\s+(-?\d+)\s+\[(\d+)\]\s+(\d+\.\d+):")


def samples(program, path, *options):
    """The samples as (comm, tid, CPU, time), with their first line, and the messages."""
    force = ["-f"] if program == PERF else []
    status, out, err = result(program, "script", *force, "-i", path, *options)
    return [match.groups() for match in map(SAMPLE.match, out.splitlines()) if match], err if not status else "%d: %s" % (status, err)


@peer.part
def compare(path, expected_some, *options):
    ours, messages = samples(PERCH, path, *options)
    theirs, _ = samples(PERF, path, *options)
    check(ours == theirs and (ours or not expected_some), "the samples of perf: " + " ".join(options),
          "%d samples, perf %d\n%s" % (len(ours), len(theirs), messages))


def most_frequent(values):
    values = list(values)
    return max(sorted(set(values)), key=values.count)


def symbols(path, with_dso):
    """The functions of the samples, or their DSOs, by perf."""
    _, out, _ = result(PERF, "script", "-f", "-i", path, "-F", "ip,sym,dso")
    return re.findall(r"\((\S+)\)$", out, re.M) if with_dso else [
        name for name in re.findall(r"^\s*[0-9a-f]+ (\S+) \(", out, re.M) if name != "[unknown]" and "," not in name]


@peer.part
def compare_options(path):
    every, _ = samples(PERF, path)
    check(len(every) > 100, "a recording with samples", len(every))
    comm = most_frequent(sample[0] for sample in every)
    tid = most_frequent(sample[1] for sample in every)
    symbol = most_frequent(symbols(path, False))
    dso = most_frequent(name for name in symbols(path, True) if name.startswith("/"))
    start, middle = float(every[0][3]), float(every[len(every) // 2][3])
    for options in (["--comms", comm], ["--comm", "gzip,md5sum"], ["-c", "head"], ["--tid", tid], ["--pid", tid + ",1"],
                    ["-C", "0"], ["-S", symbol], ["--dsos", os.path.basename(dso)], ["--dsos", dso],
                    ["--dsos", "[kernel.kallsyms]"],
                    ["--time", "%.3f,%.3f" % (start + 0.01, middle)], ["--time", ",%.6f" % middle],
                    ["--time", "%.6f," % middle], ["--time", "10%-60%"], ["--time", "50%/2"], ["--time", "40%"],
                    ["--time", "0%-10%,30%-70.5%"], ["--time", "10%/1,10%/5,10%/6"],
                    ["--time", "%.3f,%.3f %.3f," % (start, start + 0.05, middle)],
                    ["--time", "0%-80%", "--comms", comm, "-C", every[0][2]]):
        if options[0] == "--dsos" and result(PERF, "script", "-f", "-i", path, *options)[0]:
            print("skipped: this perf script has no --dsos")
            continue
        compare(path, options[0] != "-C" and options[-2] != "-C" and options[0] != "--time", *options)
    ours, _ = samples(PERCH, path, "--reltime", "--time", "0,18446744071")
    check(len(ours) == len(every), "a relative time behind the last one", len(ours))
    early, late = ("%.6f" % (float(every[len(every) * part // 4][3]) - start) for part in (1, 3))
    for relative, absolute in ((early + "," + late, "+" + early + ",+" + late), ("," + late, ",+" + late), (early + ",", "+" + early + ",")):
        wanted, _ = samples(PERCH, path, "--reltime", "--time", relative)
        ours, _ = samples(PERCH, path, "--time", absolute)
        check(0 < len(ours) < len(every) and len(ours) == len(wanted), "--time " + absolute, (len(ours), len(wanted)))
    ours, _ = samples(PERCH, path, "-S", "file://" + path + ".names")
    with open(path + ".names", "w") as file:
        file.write(symbol + "\n")
    theirs, _ = samples(PERCH, path, "-S", symbol)
    check(not ours and theirs == samples(PERCH, path, "-S", "file://" + path + ".names")[0], "names in a file")


CPP_PROGRAM = """#include <ctime>
static volatile long sink;
namespace shapes {
struct Sum {
	__attribute__((noinline)) void add(int a) { for (int i = 0; i < 1000; i++) sink += a; }
	__attribute__((noinline)) void add(long a, int b) { for (int i = 0; i < 2000; i++) sink += a * b; }
};
template<class A, class B> struct Pair {
	__attribute__((noinline)) void add(A a, B b) { for (int i = 0; i < 3000; i++) sink += a * b; }
	__attribute__((noinline)) bool operator<(A a) { for (int i = 0; i < 1500; i++) sink += a; return sink; }
};
}
int main()
{
	shapes::Sum sum;
	shapes::Pair<int, char> pair;
	clock_t end = clock() + CLOCKS_PER_SEC / 4;

	while (clock() < end) {
		sum.add(1);
		sum.add(2, 3);
		pair.add(4, 5);
		sink += pair < 6;
	}
	return 0;
}
"""


@peer.part
def check_functions(directory):
    """The mangled names select the same samples as what perch report and perch annotate call the functions."""
    source, program, path, names = (os.path.join(directory, name) for name in ("shapes.cc", "shapes", "shapes.data", "names"))
    with open(source, "w") as file:
        file.write(CPP_PROGRAM)
    if not shutil.which("g++"):
        print("skipped: needs g++")
        return
    subprocess.run(["g++", "-O1", "-o", program, source], check=True)
    result(PERCH, "record", "-q", "-N", "-e", "cpu-clock:u", "-F", "2000", "--sample-cpu", "-o", path, program)
    functions = {"shapes::Sum::add(int)": "_ZN6shapes3Sum3addEi", "shapes::Sum::add(long, int)": "_ZN6shapes3Sum3addEli",
                 "shapes::Pair<int, char>::add": "_ZN6shapes4PairIicE3addEic",
                 "shapes::Pair<int, char>::operator<": "_ZN6shapes4PairIicEltEi"}
    wanted = {name: samples(PERCH, path, "-S", mangled)[0] for name, mangled in functions.items()}
    for name, found in wanted.items():
        for text in (name, name.replace(", ", ","), " " + name.replace("(", " ( ")):
            ours, messages = samples(PERCH, path, "-S", text)
            check(found and ours == found, "-S '%s'" % text, "%d samples, not %d\n%s" % (len(ours), len(found), messages))
    with open(names, "w") as file:
        file.write("\n".join(functions))
    for text in (",".join(functions), "file://" + names):
        ours, messages = samples(PERCH, path, "-S", text)
        check(len(ours) == sum(map(len, wanted.values())) and not messages, "-S " + text, (len(ours), messages))
    both, _ = samples(PERCH, path, "-S", "shapes::Sum::add")
    check(len(both) == sum(len(found) for name, found in wanted.items() if "Sum" in name), "an overloaded name", len(both))
    ours, messages = samples(PERCH, path, "-S", "shapes::Sum::add(char, int)")
    check(not ours and "'shapes::Sum::add(char, int)' (--symbols)" in messages, "parameters that no function has", messages)


def check_notes(path):
    _, out, err = result(PERCH, "script", "-i", path, "--comms", "gzpi")
    check(not out and "no sample is of a thread with the name 'gzpi'" in err and "Did you mean gzip?" in err and
          "md5sum (" in err, "names a similar name, and the others", err)
    _, out, err = result(PERCH, "script", "-i", path, "--time", "1,2")
    check(not out and re.search(r"samples are from \d+\.\d{9} to \d+\.\d{9}", err), "names the times", err)
    _, out, err = result(PERCH, "script", "-i", path, "--comms", "gzip", "--dsos", "/nosuch")
    check("'/nosuch' (--dsos). Samples that pass the other options are of: " in err, "names what is left", err)
    _, out, err = result(PERCH, "script", "-i", path, "--time", "1,")
    check(out and "all samples are in the time '1,'" in err, "says that a time selects all samples", err)
    for options, message in ((["--time", "5"], "no ',' between start and stop"), (["--time", "130%"], "up to 100"),
                             (["--pid", "gzip"], "is no process id"), (["-C", "a"], "is no CPU"), (["-S", ""], "names of functions")):
        status, out, err = result(PERCH, "script", "-i", path, *options)
        check(status == 2 and not out and message in err, "refuses " + " ".join(options), "%d: %s" % (status, err))


@peer.part
def compare_parents(path):
    """perf report -x counts the samples with a caller that matches; perch script prints them."""
    if result(PERF, "record", "-q", "-g", "--sample-cpu", "-e", "cpu-clock", "-F", "2000", "-o", path, "--", "sh", "-c", PROGRAM)[0]:
        return
    for expression in ("^do_syscall|^main$", "read$"):
        _, out, _ = result(PERF, "report", "-f", "-i", path, "--stdio", "--no-children", "-g", "none", "-x", "-p", expression,
                        "-s", "parent", "-n")
        theirs = sum(int(count) for count in re.findall(r"^ +[\d.]+% +(\d+) ", out, re.M))
        ours, messages = samples(PERCH, path, "--parent", expression)
        check(len(ours) == theirs, "the samples of perf report: -x -p " + expression,
              "%d samples, perf %d\n%s" % (len(ours), theirs, messages))
    _, out, err = result(PERCH, "script", "-i", path, "--parent", "no such caller")
    check(not out and "no call chain has a function that matches" in err and "There are: " in err, "no caller matches", err)
    _, out, err = result(PERCH, "script", "-i", path, "--parent", "do_syscal_64")
    check(not out and "Did you mean do_syscall_64?" in err, "a similar caller is named", err)


@peer.part
def cgroups(directory):
    """A program in a cgroup below another one; perf report counts the samples of each."""
    root = next((line.split()[1] for line in open("/proc/mounts") if line.split()[2] == "cgroup2"), None)
    outer = os.path.join(root or "/nosuch", "perch-filter-%d" % os.getpid())
    path = os.path.join(directory, "cgroups.data")
    try:
        os.makedirs(os.path.join(outer, "inner"))
    except OSError as why:
        print("skipped: no cgroup can be made: %s" % why)
        return
    program = ("for at in %s/inner %s; do sh -c 'echo 0 >$0/cgroup.procs; head -c 30000000 /dev/zero | md5sum' $at; done >/dev/null"
               % (outer, outer))
    status, _, err = result(PERF, "record", "-q", "-a", "--all-cgroups", "-e", "cpu-clock", "-F", "2000", "-o", path, "--", "sh", "-c",
                         program)
    os.rmdir(os.path.join(outer, "inner"))
    os.rmdir(outer)
    if status:
        print("skipped: perf record --all-cgroups: " + err.strip())
        return
    _, out, _ = result(PERF, "report", "-f", "-i", path, "--stdio", "-s", "cgroup", "-n")
    theirs = {name: int(count) for count, name in re.findall(r"^ +[\d.]+% +(\d+) +(/\S*)", out, re.M)}
    name = "/" + os.path.basename(outer)
    for options, count in ((name, theirs.get(name, 0) + theirs.get(name + "/inner", 0)), (name + "/inner", theirs.get(name + "/inner")),
                           ("/", sum(theirs.values()))):
        ours, messages = samples(PERCH, path, "--cgroup", options)
        check(len(ours) == count and count, "the samples of the cgroup " + options, "%d samples, perf %s\n%s" % (len(ours), theirs, messages))


def main():
    check(all(map(SAMPLE.match, (" :-1    -1 [000] 55652.836158:", " 13422 [001] 5.799563:", "a b 7 [000] 1.000000:"))), "lines of samples")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "perf.data")
        done = peer.try_run([PERF, "record", "-q", "-e", "cpu-clock:u" if os.geteuid() else "cpu-clock", "-F", "2000", "--sample-cpu",
                             "-o", path, "--", "sh", "-c", PROGRAM], capture_output=True, text=True, errors="replace")
        if done.returncode:
            print("skipped: perf record: " + done.stderr.strip())
            return 77
        compare_options(path)
        check_notes(path)
        check_functions(directory)
        compare_parents(os.path.join(directory, "chains.data"))
        cgroups(directory)
    return cases.failed


sys.exit(main())
