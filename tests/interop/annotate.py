#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch annotate shows the addresses and shares of perf annotate --stdio (which needs objdump), of a C and a C++ program; and code of a
JIT compiler, with what is missing, and hostile source files.

PERF names the perf to compare with (perf). KEEP=DIR keeps the files there.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
from cases import check, limit
import peer
from peer import captured

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")
BUILD = os.environ.get("PERCH_BUILD_ROOT", "build")
TOLERANCE = 0.011   # percentage points: the last digit is rounded

C_PROGRAM = """#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) unsigned long mix(unsigned long n)
{
	unsigned long a = 1;

	for (unsigned long i = 0; i < n; i++) {
		if (a & 1)
			a = a * 6364136223846793005ul + i;
		else
			a ^= a >> 7;
	}
	return a;
}
__attribute__((noinline)) unsigned long divide(unsigned long n)
{
	unsigned long s = 0;

	for (unsigned long i = 0; i < n; i++)
		s += mix(50 + (i & 3)) / (i | 1);
	return s;
}
int main(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 4;

	while (clock() < end)
		sink += divide(1000);
	return 0;
}
"""
CPP_PROGRAM = """#include <ctime>
#include <map>
static volatile unsigned long sink;
namespace shapes {
struct Sum {
	std::map<int, int> values;
	__attribute__((noinline)) int add(int key) { return values[key % 1000] += key; }
	__attribute__((noinline)) int add(long key, int more) { return values[static_cast<int>(key % 77)] += more; }
};
}
int main()
{
	shapes::Sum sum;
	clock_t end = clock() + CLOCKS_PER_SEC / 4;

	for (int i = 0; clock() < end; i++)
		for (int j = 0; j < 1000; j++)
			sink += static_cast<unsigned long>(sum.add(j * 7) + sum.add(static_cast<long>(j), i));
	return 0;
}
"""
ROW = re.compile(r"^((?: +\d+(?:\.\d\d)?)+) : +([0-9a-f]+):\s+(\S.*)$")
TITLE = re.compile(r"^ (Percent|Samples|Period) +\|\tSource code & Disassembly of (.*) for (.*) \((\d+) samples, percent: (.*)\)$")


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def output(*words):
    done = captured(*words)
    if done.returncode:
        sys.exit("%s: exit status %d\n%s" % (" ".join(words), done.returncode, done.stderr))
    return done.stdout


def functions(text):
    """A list of (title, name, rows) of each function; a row is (address, [numbers])."""
    found = []
    for line in text.splitlines():
        title = TITLE.match(line)
        if title:
            found.append([title.groups(), None, []])
        elif found and not found[-1][1] and (name := re.search(r": (?:\d+)? *[0-9a-f]{8,16} <(.*)>:$", line)):
            found[-1][1] = name[1]
        elif found and (row := ROW.match(line)):
            found[-1][2].append((int(row[2], 16), [float(number) for number in row[1].split()]))
    return found


def same_rows(one, other):
    return len(one) == len(other) and all(
        a[0] == b[0] and len(a[1]) == len(b[1]) and all(abs(x - y) <= TOLERANCE for x, y in zip(a[1], b[1]))
        for a, b in zip(one, other))


@peer.part
def compare(what, data, *options, ignore_percent=False):
    """perf and perch print the same functions in the same order, with the same rows."""
    theirs = functions(captured(PERF, "annotate", "-i", data, "--stdio", *options).stdout)
    ours = functions(captured(PERCH, "annotate", "-i", data, "--stdio", *options).stdout)
    good = len(theirs) > 0 and [f[0] for f in theirs] == [f[0] for f in ours]
    for their, our in zip(theirs, ours):
        rows = our[2]
        if ignore_percent:
            good &= [row[0] for row in their[2]] == [row[0] for row in rows]
        else:
            good &= same_rows(their[2], rows)
    check(good, what)
    if not good:
        print([(f[0], len(f[2])) for f in theirs][:5], [(f[0], len(f[2])) for f in ours][:5])


@peer.part
def compare_all(data, program):
    """Without a symbol: the hottest functions first, those of perf."""
    def wanted(found):
        return [(title[2], title[3], rows) for title, name, rows in found if title[1] == program]
    theirs = wanted(functions(captured(PERF, "annotate", "-i", data, "--stdio").stdout))
    ours = wanted(functions(captured(PERCH, "annotate", "-i", data, "--stdio").stdout))
    key = lambda function: (function[0], -int(function[1]), function[2][0][0] if function[2] else 0)
    theirs.sort(key=key)
    good = ([function[1] for function in ours] == [function[1] for function in theirs] and
            all(same_rows(a[2], b[2]) for a, b in zip(sorted(ours, key=key), theirs)))
    check(good, "without a symbol, all functions of %s have the rows of perf, the hottest first" % program)
    if not good:
        print(*((function[:2], function[2][:3]) for function in theirs + ours), sep="\n")


@peer.part
def compare_c(data, group):
    for options in ([], ["--no-source"], ["-n"], ["--show-total-period"], ["-M", "intel"], ["--percent-type", "local-hits"],
                    ["-l"], ["-P"], ["-q"], ["-d", "program"], ["-s", "mix"]):
        names = [] if "-s" in options else ["mix"]
        compare("annotate %s" % " ".join(options + names), data, *options, *names)
    # perf 6.1 prints 0.00 for all shares of this kind
    compare("annotate --percent-type global-period mix has perf's addresses", data, "--percent-type", "global-period", "mix",
            ignore_percent=True)
    compare("annotate --group divide", data, "--group", "divide")
    compare("annotate divide, of a group", group, "divide")
    compare_all(data, "program")


def check_shares(data):
    row = {}
    for kind in ("local-period", "global-period"):
        text = output(PERCH, "annotate", "-i", data, "--stdio", "--percent-type", kind, "mix")
        row[kind] = sum(numbers[0] for _, numbers in functions(text)[0][2])
    report = captured(PERCH, "report", "-i", data, "--stdio", "-s", "sym").stdout
    share = float(re.search(r"([\d.]+)%  \[\.\] mix\s*$", report, re.M)[1])
    check(abs(row["local-period"] - 100) < 0.2, "local shares are 100 % together")
    check(abs(row["global-period"] - share) < 0.2, "global shares are together the function's share of the report")


def check_lines(data):
    text = output(PERCH, "annotate", "-i", data, "--stdio", "-l", "mix")
    lines = C_PROGRAM.splitlines()
    shown = re.findall(r"^ +: (\d+) +(\S.*)$", text, re.M)
    check(len(shown) > 5 and all(lines[int(number) - 1].strip() == line.strip() for number, line in shown),
          "source lines have their numbers")
    summary = re.findall(r"^ +([\d.]+) program\.c:(\d+)$", text.split(" Percent")[0], re.M)
    after = {}
    current = None
    where = {row["address"]: row.get("line") for row in
             json.loads(output(PERCH, "annotate", "-i", data, "-j", "mix").splitlines()[0])["instructions"]}
    for address, numbers in functions(text)[0][2]:
        current = where[hex(address)]
        after[current] = after.get(current, 0) + numbers[0]
    good = len(summary) > 1 and all(abs(float(share) - after[int(line)]) < 0.3 for share, line in summary)
    check(good and summary == sorted(summary, key=lambda line: -float(line[0])), "-l sums up the shares of lines")
    full = output(PERCH, "annotate", "-i", data, "--stdio", "-l", "-P", "mix")
    check(os.path.join(os.getcwd(), "program.c:") in full, "-P prints whole paths")


def check_source_files(data):
    note = captured(PERCH, "annotate", "-i", data, "--stdio", "mix").stderr
    check("newer" not in note, "a source file that is older than the binary causes no message")
    os.utime("program.c")
    note = captured(PERCH, "annotate", "-i", data, "--stdio", "mix").stderr
    check("program.c is newer than the binary" in note, "a newer source file causes a message")
    os.rename("program.c", "program.moved")
    done = captured(PERCH, "annotate", "-i", data, "--stdio", "mix")
    check("unsigned long" not in done.stdout and "annotate: 1 source file cannot be read, for example" in done.stderr and
          "its lines are left out" in done.stderr, "a missing source file causes a message: " + done.stderr)
    os.mkdir("moved")
    shutil.copy("program.moved", "moved/program.c")
    depth = len(os.getcwd().strip("/").split("/"))
    done = captured(PERCH, "annotate", "-i", data, "--stdio", "--prefix", os.path.join(os.getcwd(), "moved"), "--prefix-strip",
               str(depth), "mix")
    check("unsigned long a = 1" in done.stdout, "--prefix and --prefix-strip find moved source files")
    os.mkfifo("program.c")
    done = subprocess.run([PERCH, "annotate", "-i", data, "--stdio", "mix"], capture_output=True, text=True, timeout=limit(60))
    check(done.returncode == 0 and "cannot be read" in done.stderr, "a FIFO in the place of a source file is not read")
    os.remove("program.c")
    with open("program.c", "wb") as out:
        out.write(b"\n" * 6 + b"\x1b[2Jred\xff\xfe \xe2\x80\xae\n" * 9)
    os.utime("program.c", (1, 1))
    text = output(PERCH, "annotate", "-i", data, "--stdio", "mix")
    check("\x1b" not in text and "\u202e" not in text and "?[2Jred??" in text, "source text is cleaned")
    with open("program.c", "wb") as out:
        out.truncate(20 << 20)
    done = captured(PERCH, "annotate", "-i", data, "--stdio", "mix")
    check("too large" in done.stderr, "a source file that is too large is not read")
    os.rename("program.moved", "program.c")


def check_many_source_files():
    """Debug information can name any number of source files."""
    lines = "".join('#line 1 "f%d.c"\nx += %d;\n' % (i, i) for i in range(4500))
    with open("many.c", "w") as source:
        source.write("static volatile int x;\n__attribute__((noinline)) void many(void)\n{\n" + lines +
                     "}\nint main(void)\n{\nfor (int i = 0; i < 20000; i++) many();\nreturn 0;\n}\n")
    output("gcc", "-g", "-O1", "-o", "many", "many.c")
    output(PERCH, "record", "-q", "-F", "2000", "-N", "-e", "cpu-clock", "-o", "many.data", "./many")
    done = captured(PERCH, "annotate", "-i", "many.data", "--stdio", "-l", "many")
    check(done.returncode == 0 and "more than 4096 source files" in done.stderr, "more source files than are read cause a message")


def check_long_file_name():
    name = 5000 * "n" + ".c"
    with open("long.c", "w") as source:
        source.write('#line 1 "%s"\nint main(void)\n{\nfor (volatile long i = 0; i < 100000000; i++);\nreturn 0;\n}\n' % name)
    output("gcc", "-g", "-O1", "-o", "long", "long.c")
    output(PERCH, "record", "-q", "-F", "2000", "-N", "-e", "cpu-clock", "-o", "long.data", "./long")
    text = captured(PERCH, "annotate", "-i", "long.data", "--stdio", "-l", "main").stdout
    check(name + ":3\n" in text, "a long file name is printed whole, with its line")


def check_layouts(data):
    text = output(PERCH, "annotate", "-i", data, "--stdio2", "mix")
    labels = set(re.findall(r"^ *(?:[\d.]+)? +([0-9a-f]+): ", text, re.M))
    jumps = re.findall(r"([↓↑]) j\S* +([0-9a-f]+)$", text, re.M)
    check(len(jumps) > 2 and all(label in labels for _, label in jumps), "--stdio2: jumps lead to labels")
    check("← ret" in text and "→ call" in output(PERCH, "annotate", "-i", data, "--stdio2", "divide"),
          "--stdio2: calls and returns have arrows")
    text = output(PERCH, "annotate", "-i", data, "--stdio", "divide")
    check(re.search(r"call\S* +[0-9a-f]+ <mix>$", text, re.M) is not None, "targets of calls have names")
    one = json.loads(output(PERCH, "annotate", "-i", data, "-j", "mix").splitlines()[0])
    check(one["function"] == "mix" and sum(row["samples"][0] for row in one["instructions"] if "samples" in row) ==
          one["events"][0]["samples"] and any(row.get("line") for row in one["instructions"]), "-j prints JSON")
    raw = output(PERCH, "annotate", "-i", data, "--stdio", "--asm-raw", "--no-source", "mix")
    row = one["instructions"][0]
    check(" ".join(re.findall("..", row["bytes"])) in raw, "--asm-raw prints bytes")


COLORS = re.compile("\x1b\\[[0-9;]*m")


def colored(text):
    """Of each instruction: the colored shares with their column separator, and the color of the address and of the instruction."""
    return re.findall(r"^((?:(?:\x1b\[3\dm)? *[\d.]+(?:\x1b\[m)?)+ : \x1b\[3\dm *[0-9a-f]+:\x1b\[m\x1b\[3\dm) .*\x1b\[m$", text, re.M)


def check_colors(data):
    for options in ("mix",), ("-n", "mix"), ("--show-total-period", "divide"):
        arguments = ("annotate", "-i", data, "--stdio", "--stdio-color", "always") + options
        ours = colored(output(PERCH, *arguments))
        check(len(ours) > 3 and any("\x1b[31m" in line for line in ours), "colors: " + " ".join(options))
        theirs = colored(captured(PERF, *arguments).stdout)
        if theirs:
            check(ours == theirs, "colors are those of perf: " + " ".join(options))
    text = output(PERCH, "annotate", "-i", data, "--stdio", "-l", "--stdio-color", "always", "mix")
    check(re.search(r"^\x1b\[31m +[\d.]+\x1b\[m\x1b\[31m program\.c:\d+\x1b\[m$", text, re.M) is not None, "-l: the sums of lines have colors")
    check(re.search(r"\x1b\[m\x1b\[3[12]m // program\.c:\d+\x1b\[m$", text, re.M) is not None, "-l: lines have the colors of their shares")
    plain = output(PERCH, "annotate", "-i", data, "--stdio", "-l", "mix")
    check(COLORS.sub("", text) == plain, "without colors, the text is the same")
    for mode in "never", "auto":
        check("\x1b" not in output(PERCH, "annotate", "-i", data, "--stdio", "--stdio-color", mode, "mix"), "--stdio-color %s: no colors" % mode)
    done = captured(PERCH, "annotate", "-i", data, "--stdio", "--stdio-color=maybe", "mix")
    check(done.returncode == 2 and "always, never or auto" in done.stderr, "another --stdio-color is a usage error")


def check_parameters(data):
    """A name with the types of parameters is that of one function."""
    names = {types: "shapes::Sum::add(%s)" % types for types in ("int", "long, int")}
    shown = {types: functions(output(PERCH, "annotate", "-i", data, "--stdio", name)) for types, name in names.items()}
    starts = {types: found[0][2][0][0] for types, found in shown.items() if len(found) == 1}
    symbols = {int(line.split()[0], 16): line.split(None, 2)[2] for line in output("nm", "-C", "shapes").splitlines() if "::add" in line}
    check({types: symbols.get(start) for types, start in starts.items()} == names, "functions by their parameters: %s" % starts)
    spaced = functions(output(PERCH, "annotate", "-i", data, "--stdio", " shapes::Sum::add( long,int )"))
    check(len(spaced) == 1 and spaced == shown["long, int"], "parameters with other spaces")
    done = captured(PERCH, "annotate", "-i", data, "--stdio", "shapes::Sum::add(char)")
    check(done.returncode == 1 and "similar names" in done.stderr, "parameters that no function has")


def check_messages(data):
    done = captured(PERCH, "annotate", "-i", data, "--stdio", "mixx")
    check(done.returncode == 1 and "similar names: mix" in done.stderr, "an unknown symbol: similar names are printed")
    done = captured(PERCH, "annotate", "-i", data, "--stdio", "-d", "nosuch")
    check(done.returncode == 1 and "Samples are of: program" in done.stderr, "an unknown file: the files are printed")
    done = captured(PERCH, "annotate", "-i", data, "--percent-type", "half")
    check(done.returncode == 2 and "local-period" in done.stderr, "an unknown type of shares is a usage error")
    done = captured(PERCH, "annotate", "-i", data, "one", "two")
    check(done.returncode == 2, "two symbols are a usage error")
    done = captured(PERCH, "annotate", "mix", "--stdio", "-n", "-i", data)
    check(done.returncode == 0 and " Samples " in done.stdout, "options may follow the symbol")
    done = captured(PERCH, "annotate", "-i", data, "-M", "latin")
    check(done.returncode == 2 and "intel" in done.stderr, "an unknown syntax is a usage error")


def check_other_binary(data):
    """Of another build no instruction is shown."""
    shutil.copy("program", "program.first")
    with open("program.c") as source:
        text = source.read()
    with open("other.c", "w") as source:
        source.write(text.replace("a >> 7", "a >> 9"))
    os.remove("program")
    output("gcc", "-g", "-O2", "-o", "program", "other.c")
    done = captured(PERCH, "annotate", "-i", data, "--stdio", "mix")
    check(not functions(done.stdout), "a program of another build has no instructions")
    check(done.returncode == 1 or "no function" in done.stderr, "a message says that")
    os.remove("program")
    os.rename("program.first", "program")


def check_jit():
    program = os.path.join(BUILD, "tests/interop/jit_program")
    done = captured(PERCH, "record", "-q", "-e", "cpu-clock", "-F", "999", "-k", "mono", "-o", "jit.data", program, "dump", os.getcwd())
    if done.returncode == 77:
        return
    text = captured(PERCH, "annotate", "-i", "jit.data", "--stdio", "jit_first").stdout
    found = functions(text)
    check(len(found) == 1 and len(found[0][2]) == 6 and abs(sum(row[1][0] for row in found[0][2]) - 100) < 0.1,
          "code of a jitdump is shown")
    done = captured(PERCH, "record", "-q", "-e", "cpu-clock", "-F", "999", "-o", "map.data", program, "map", os.getcwd())
    shown = captured(PERCH, "annotate", "-i", "map.data", "--stdio", "-s", "jit_moves")
    check(shown.returncode == 1 and "of which a recording has no bytes" in shown.stderr, "without a jitdump a message says what is missing", shown)
    # not those of other tests: the program prints its process id
    os.remove("/tmp/perf-%s.map" % done.stdout.strip())


VECTORS = """
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void vectors(int run)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 5;

	while (clock() < end)
		for (int i = 0; i < 1000; i++)
			sink += (unsigned long)i;
	if (run) /* not every processor has these instructions, and capstone 4 does not decode all of them */
		__asm__ volatile("vfmadd132ps %zmm0,%zmm1,%zmm2; vpmovzxbw (%rax),%zmm1; vpsllw $1,%zmm1,%zmm0; vpermt2b %zmm1,%zmm3,%zmm0;"
				 "vcmpltps %ymm3,%ymm2,%k1; vpbroadcastw 0x12345(%rip),%zmm1; vfmadd213ph 64(%rdi,%rcx,2){1to16},%ymm0,%ymm0;"
				 "vmovw (%r12),%xmm1; vprold $7,(%rcx,%rdx,1),%zmm0; vprold $7,0x12345678(%r9,%r13,8),%ymm0; vmovw %xmm1,(%r13);"
				 "vpdpbusd (%rsp),%ymm1,%ymm2; {vex} vpdpbusd 8(%rsp),%ymm1,%ymm2; vaddps %zmm1,%zmm2,%zmm3; vzeroupper");
	sink += (unsigned long)run;
}
int main(int count, char **words)
{
	(void)words;
	vectors(count > 1);
	return 0;
}
"""


def check_vectors():
    """Instructions that capstone does not decode have the length that objdump finds."""
    if os.uname().machine != "x86_64":
        return
    with open("vectors.c", "w") as out:
        out.write(VECTORS)
    if captured("gcc", "-O2", "-o", "vectors", "vectors.c").returncode:
        print("skipped: the assembler has no AVX-512 FP16")
        return
    output(PERCH, "record", "-q", "-F", "2000", "-N", "-e", "cpu-clock", "-o", "vectors.data", "./vectors")
    done = captured(PERCH, "annotate", "-i", "vectors.data", "--stdio", "vectors")
    ours = [row[0] for row in functions(done.stdout)[0][2]]
    listed = output("objdump", "-d", "--no-show-raw-insn", "-w", "--disassemble=vectors", "vectors")
    theirs = [int(address, 16) for address in re.findall(r"^ +([0-9a-f]+):\t", listed, re.M)]
    check(len(theirs) > 30 and ours == theirs, "addresses of vector instructions: %s, objdump %s" % (ours, theirs))
    undecoded = done.stdout.count(" .byte ")
    check(not undecoded or "(%d AVX or AVX-512 instructions)" % undecoded in done.stderr, "a message has their number: " + done.stderr)


def check_kernel():
    output(PERCH, "record", "-q", "-e", "cpu-clock", "-F", "4000", "-o", "kernel.data", "dd", "if=/dev/zero", "of=/dev/null",
           "bs=4k", "count=100000")
    report = captured(PERCH, "report", "-i", "kernel.data", "--stdio", "-s", "sym").stdout
    names = re.findall(r"%  \[k\] (\S+)\s*$", report, re.M)
    if not names:
        print("skipped: no samples in the kernel")
        return
    done = captured(PERCH, "annotate", "-i", "kernel.data", "--stdio", names[0])
    found = functions(done.stdout)
    if os.access("/proc/kcore", os.R_OK):
        compare("annotate %s" % names[0], "kernel.data", names[0])
    else:
        check(found or "kcore" in done.stderr, "code of the kernel is shown, or a message says what is missing")


def main():
    if peer.try_run([PERF, "--version"], capture_output=True).returncode or not shutil.which("objdump"):
        skip("needs perf and objdump")
    keep = os.environ.get("KEEP")
    work = keep or tempfile.mkdtemp(prefix="perch-annotate-")
    os.makedirs(work, exist_ok=True)
    os.chdir(work)
    # neither command reads or writes a cache of the user
    os.environ.update(HOME=work, PERF_BUILDID_DIR=os.path.join(work, "debug"), PERF_CONFIG="/dev/null", XDG_CONFIG_HOME=work)
    try:
        with open("program.c", "w") as out:
            out.write(C_PROGRAM)
        with open("shapes.cc", "w") as out:
            out.write(CPP_PROGRAM)
        output("gcc", "-g", "-O2", "-o", "program", "program.c")
        output("g++", "-g", "-O2", "-o", "shapes", "shapes.cc")
        for data, events, program in (("c.data", "cpu-clock,page-faults", "./program"),
                                      ("group.data", "{cpu-clock,task-clock}", "./program"), ("cpp.data", "cpu-clock", "./shapes")):
            output(PERCH, "record", "-q", "-F", "2000", "-N", "-e", events, "-o", data, program)
        if "built without capstone" in captured(PERCH, "annotate", "-i", "c.data", "mix").stderr:
            skip("perch was built without capstone")
        compare_c("c.data", "group.data")
        compare("annotate of a C++ method", "cpp.data", "shapes::Sum::add")
        both = functions(output(PERCH, "annotate", "-i", "cpp.data", "--stdio", "shapes::Sum::add"))
        check(len(both) == 2, "all functions of a name are shown")
        check_parameters("cpp.data")
        check_shares("c.data")
        check_lines("c.data")
        check_vectors()
        check_layouts("c.data")
        check_colors("c.data")
        check_messages("c.data")
        check_source_files("c.data")
        check_many_source_files()
        check_long_file_name()
        check_other_binary("c.data")
        check_jit()
        check_kernel()
    finally:
        os.chdir("/")
        if not keep:
            shutil.rmtree(work)
    sys.exit(cases.failed)


main()
