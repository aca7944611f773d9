#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inlined functions in perch script and perch report, of a recorded C++ program with and without debug information."""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
from cases import check
from peer import output

PERCH = os.environ["PERCH"]
SOURCE = """
static volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long inner(unsigned long x)
{
	for (int i = 0; i < 1000; i++) x = x * 31 + i;
	return x;
}
namespace n { struct s {
	__attribute__((always_inline)) inline unsigned long middle(unsigned long x) { return inner(x) + 1; }
}; }
extern "C" __attribute__((noinline)) void nothing() { asm volatile(""); }
extern "C" __attribute__((noinline)) unsigned long outer(unsigned long x)
{
	n::s s;
	nothing(); /* a function that calls none has no frame pointer */
	return s.middle(x) ^ 3;
}
/* the call is the last instruction that belongs to caller: the address after it does not */
static inline __attribute__((always_inline)) void caller(unsigned long x) { sink = outer(x); }
int main() { for (int i = 0; i < 300000; i++) caller(i); return 0; }
"""
INTERNAL = r"""
#define WORK { for (int i = 0; i < 300; i++) x = x * 31 + i; return x; }
#define INLINE inline __attribute__((always_inline))
static volatile unsigned sink;
namespace red { static INLINE unsigned step(unsigned x) WORK }
namespace blue { static INLINE unsigned step(unsigned x) WORK }
namespace {
struct outer { struct inner; };
struct outer::inner { INLINE unsigned step(unsigned x) WORK };
namespace deep { INLINE unsigned step(unsigned x) WORK }
typedef struct { INLINE unsigned step(unsigned x) WORK } named;
template <class T> struct box { INLINE T step(T x) WORK };
}
static struct { INLINE unsigned step(unsigned x) WORK } unnamed;
static INLINE unsigned step(unsigned x) WORK
namespace n { static __attribute__((noinline)) unsigned around(unsigned x)
{
	struct local { INLINE unsigned step(unsigned x) WORK };
	return local().step(x);
} }
int main(int argc, char **)
{
	unsigned x = argc;
	auto one = [](unsigned x) __attribute__((always_inline)) WORK;
	auto two = [](auto x) __attribute__((always_inline)) WORK;

	for (int i = 0; i < 20000; i++) {
		outer::inner inner;
		named nm;
		box<unsigned> b;

		x = red::step(x) ^ blue::step(x) ^ inner.step(x) ^ deep::step(x) ^ nm.step(x) ^ b.step(x);
		x ^= unnamed.step(x) ^ step(x) ^ n::around(x) ^ one(x) ^ two(x);
	}
	sink = x;
	return 0;
}
"""
INTERNAL_NAMES = {"red::step", "blue::step", "(anonymous namespace)::outer::inner::step", "(anonymous namespace)::deep::step",
                  "(anonymous namespace)::box<unsigned int>::step", "step",
                  "n::around::local::step"}


def names_of(text, first):
    """The frames of most samples in a function, innermost first, without offsets. At the start of outer() the caller is unknown, and few
    samples are in outer() itself."""
    chains = collections.Counter()
    for sample in text.split("\n\n"):
        names = [line.split(None, 1)[1] for line in sample.splitlines() if line.startswith("\t")]
        names = [name.split("+0x")[0] + (" (inlined)" if name.endswith("(inlined)") else "") for name in names]
        if names[:1] == [first] and "outer" in names:
            chains[tuple(names)] += 1
    return list(chains.most_common(1)[0][0]) if chains else []


def check_selection():
    """Samples are selected by the names of inlined functions, too."""
    def samples(*options):
        return int(re.search(r"of event '.*'\n(?:.*\n)*", output(PERCH, "report", "-i", "with", "--stdio", "-n", "--no-children", "-g", "none",
                                                              "-F", "sample", *options))[0].split()[-1])

    inner, middle = samples("-S", "inner"), samples("-S", "n::s::middle")
    check(inner > 100 and middle >= inner, "-S: samples of inlined functions: %d, %d" % (inner, middle))
    check(samples("-S", "outer") >= middle, "-S: samples of the function that contains them")
    scripted = output(PERCH, "script", "-i", "with", "-S", "inner", "-F", "tid").splitlines()
    check(len(scripted) == inner, "script -S: %d samples, %d in report" % (len(scripted), inner))
    report = output(PERCH, "report", "-i", "with", "--stdio", "--no-children", "-g", "caller", "-S", "outer")
    check("[.] inner (inlined)\n" in report, "report -S outer: the column of functions")
    none = subprocess.run([PERCH, "report", "-i", "with", "--stdio", "-S", "inner", "--no-inline"], capture_output=True, text=True)
    check("no sample is in the function 'inner'" in none.stderr, "--no-inline: no name of inlined functions")
    similar = subprocess.run([PERCH, "report", "-i", "with", "--stdio", "-S", "middle"], capture_output=True, text=True)
    check("Did you mean n::s::middle?" in similar.stderr, "-S: a name that contains the word: " + similar.stderr)
    text = subprocess.run([PERCH, "annotate", "-i", "with", "--stdio", "inner"], capture_output=True, text=True)
    check(text.returncode == 0 and "<outer>:" in text.stdout and "'inner' is inlined into outer (" in text.stderr,
          "annotate: the function that it is inlined into: " + text.stderr)
    none = subprocess.run([PERCH, "annotate", "-i", "with", "--stdio", "--no-inline", "inner"], capture_output=True, text=True)
    check(none.returncode == 1 and not none.stdout and "no function 'inner' has samples" in none.stderr, "annotate --no-inline: " + none.stderr)
    none = subprocess.run([PERCH, "annotate", "-i", "with", "--stdio", "--no-inline", "-S", "inner"], capture_output=True, text=True)
    check("no sample is in the function 'inner'" in none.stderr and "<outer>:" not in none.stdout, "annotate --no-inline -S: " + none.stderr)
    marked = subprocess.run([PERCH, "annotate", "-i", "with", "--stdio", "inner (inlined)"], capture_output=True, text=True)
    check((marked.returncode, marked.stdout, marked.stderr) == (text.returncode, text.stdout, text.stderr),
          "annotate: a name as reports print it: " + marked.stderr)
    marked = subprocess.run([PERCH, "annotate", "-i", "with", "--stdio", "outer (inlined)"], capture_output=True, text=True)
    check(marked.returncode == 1 and not marked.stdout and "no inlined function 'outer' has samples" in marked.stderr,
          "annotate: a function that is not inlined: " + marked.stderr)
    text = subprocess.run([PERCH, "annotate", "-i", "with", "--stdio", "outer"], capture_output=True, text=True)
    check("is inlined" not in text.stderr and "is also" not in text.stderr, "annotate: no message for another function: " + text.stderr)


def line_of(text):
    return next(number for number, line in enumerate(INTERNAL.splitlines(), 1) if text in line)


def check_internal(label, *flags):
    """Functions that no other file can call: GCC writes no linkage names of them."""
    output("g++", "-O2", "-g", *flags, "-o", "internal", "internal.cc")
    output(PERCH, "record", "-N", "-e", "cpu-clock:u", "-F", "5000", "--call-graph", "fp", "-o", "internal.data", "./internal")
    report = output(PERCH, "report", "-i", "internal.data", "--stdio", "--no-children", "-g", "caller", "-s", "sym", "-d", "internal")
    found = set(re.findall(r"\[\.\] (.*) \(inlined\)", report))
    wanted = INTERNAL_NAMES | {
        "(unnamed struct at internal.cc:%d:15)::step" % line_of("} unnamed;"),
        "(anonymous namespace)::(unnamed struct at internal.cc:%d:16)::step" % line_of("} named;"),
        "main::(lambda at internal.cc:%d:14)::operator()" % line_of("auto one"),
        "main::(lambda at internal.cc:%d:14)::operator()<unsigned int>" % line_of("auto two")}
    check(found == wanted, "%s: names of internal functions: %s" % (label, sorted(found ^ wanted)))
    done = subprocess.run([PERCH, "annotate", "-i", "internal.data", "--stdio", "red::step"], capture_output=True, text=True)
    check("'red::step' is inlined into main (" in done.stderr, label + ": annotate: " + done.stderr)
    report = output(PERCH, "report", "-i", "internal.data", "--stdio", "--no-children", "-g", "caller", "-s", "sym", "-S", "blue::step")
    check("blue::step (inlined)" in report and "red::step" not in report, label + ": -S blue::step")
    report = output(PERCH, "report", "-i", "internal.data", "--stdio", "--no-children", "-g", "caller", "-s", "sym",
                 "--symbol-filter", "deep::step")
    check("deep::step (inlined)" in report and "red::step" not in report, label + ": --symbol-filter")


TYPES = """
volatile unsigned long sink;
namespace {
struct shown {
	__attribute__((always_inline)) void step() { for (int i = 0; i < 1000; i++) sink = sink * 3 + i; }
};
}
int main()
{
	shown s;
	for (int i = 0; i < 100000; i++)
		s.step();
}
"""


def check_type():
    """A type with a name, and with a linkage name that cannot be demangled: it takes the bytes of two other attributes."""
    with open("types.cc", "w") as file:
        file.write(TYPES)
    output("g++", "-O1", "-g", "-S", "-dA", "types.cc")
    with open("types.s") as file:
        text = file.read()
    text, entries = re.subn(r"(DIE \(0x\w+\) DW_TAG_structure_type\)\n.*DW_AT_name.*\n)\s+\.byte.*DW_AT_byte_size\n\s+\.byte.*DW_AT_decl_file.*\n",
                            r'\1\t.byte 0x51, 0\n', text)
    text, forms = re.subn(r"(TAG: DW_TAG_structure_type\)\n.*\n.*DW_AT_name\)\n.*\n).*DW_AT_byte_size\)\n.*DW_FORM_data1\)\n"
                          r".*DW_AT_decl_file\)\n.*DW_FORM_data1\)\n", r"\1\t.uleb128 0x6e\n\t.uleb128 0x8\n", text)
    if entries != 1 or forms != 1:
        print("skipped: this g++ describes a type by other attributes")
        return
    with open("types.s", "w") as file:
        file.write(text)
    output("g++", "-o", "types", "types.s")
    output(PERCH, "record", "-N", "-e", "cpu-clock:u", "-F", "5000", "--call-graph", "fp", "-o", "types.data", "./types")
    report = output(PERCH, "report", "-i", "types.data", "--stdio", "--no-children", "-g", "caller", "-s", "sym", "-d", "types")
    found = set(re.findall(r"\[\.\] (.*) \(inlined\)", report))
    check(found == {"(anonymous namespace)::shown::step"}, "a type whose linkage name cannot be demangled has its name: %s" % found)


def main():
    if not shutil.which("g++"):
        print("skipped: no g++")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        with open("program.cc", "w") as file:
            file.write(SOURCE)
        output("g++", "-O2", "-g", "-fno-omit-frame-pointer", "-fno-shrink-wrap",
            "-o", "program", "program.cc")
        output(PERCH, "record", "-N", "-e", "cpu-clock:u", "-F", "1000", "-g", "-o", "with", "./program")
        names = names_of(output(PERCH, "script", "-i", "with"), "inner (inlined)")
        check(names[:3] == ["inner (inlined)", "n::s::middle (inlined)", "outer"], "script: %s" % names)
        check(names[3:5] == ["caller (inlined)", "main"], "script: the call, not the address after it")
        check(names_of(output(PERCH, "script", "-i", "with", "--no-inline"), "outer")[:2] == ["outer", "main"],
              "script --no-inline")
        report = output(PERCH, "report", "-i", "with", "--stdio")
        for name in "inner", "n::s::middle", "caller":
            check("[.] %s (inlined)\n" % name in report, "report: row of " + name)
        # a sample in main() itself makes a branch with percentages
        branch = r"(?:[ |]*\n)*[ |]*(?:-+[0-9.]+%-+)?"
        calls = re.search("--main\n" + branch + r"caller \(inlined\)\n" + branch + "outer\n", report)
        check(calls is not None, "report: call graph" if calls else "report: call graph: " + report)
        check_selection()
        report = output(PERCH, "report", "-i", "with", "--stdio", "--no-inline")
        check("(inlined)" not in report and "[.] outer\n" in report, "report --no-inline")
        output(PERCH, "record", "-N", "-e", "cpu-clock:u", "-F", "1000", "-o", "flat", "./program")
        report = output(PERCH, "report", "-i", "flat", "--stdio")
        check("(inlined)" not in report and "[.] outer\n" in report, "report: no call chains")
        output("g++", "-O2", "-fomit-frame-pointer", "-o", "short", "program.cc")
        output(PERCH, "record", "-N", "-e", "cpu-clock:u", "-F", "1000", "-g", "-o", "short.data", "./short")
        for path, expected in ("short.data", True), ("with", False), ("flat", False):
            done = subprocess.run([PERCH, "report", "-i", path, "--stdio"], capture_output=True, text=True)
            check(("compiled without frame pointers" in done.stderr) == expected, "message about frame pointers: " + path)
        with open("internal.cc", "w") as file:
            file.write(INTERNAL)
        check_type()
        for label, *flags in ("DWARF 5", "-gdwarf-5"), ("DWARF 4", "-gdwarf-4"), ("split", "-gsplit-dwarf"), ("LTO", "-flto"):
            check_internal(label, *flags)
        output("strip", "--strip-debug", "program")
        report = output(PERCH, "report", "-i", "with", "--stdio", "-d", "program")
        check("(inlined)" not in report and "[.] outer\n" in report, "report: no debug information", report)
    return int(cases.failed)


sys.exit(main())
