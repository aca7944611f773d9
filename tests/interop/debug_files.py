#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names and lines of a recorded program whose symbols or debug information are compressed, in other files, or damaged."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
from cases import check, limit
from peer import output

PERCH = os.environ["PERCH"]
SOURCE = """
static volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long inner(unsigned long x)
{
	for (int i = 0; i < 1000; i++) x = x * 31 + i;
	return x;
}
static __attribute__((noinline)) unsigned long hidden(unsigned long x) { return inner(x) ^ 3; }
int main(void) { for (int i = 0; i < 200000; i++) sink = hidden(i); return 0; }
"""
BUILD_ID = "-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567"


def section(path, name):
    """Offset and size of a section."""
    line = re.search(r"\] +%s +\S+ +\S+ +(\S+) +(\S+)" % re.escape(name), output("readelf", "-SW", path))
    return int(line[1], 16), int(line[2], 16)


def damage(path, name, first=0):
    """Overwrites the end of a section, or all bytes from `first` on."""
    offset, size = section(path, name)
    with open(path, "r+b") as file:
        file.seek(offset + (first or size // 2))
        file.write(b"\xa5" * (size - (first or size // 2)))


def script(*options):
    """The samples and the notes."""
    result = subprocess.run([PERCH, "script", "-i", "data", *options],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return result.stdout, result.stderr


def has_name(text):
    return text.count(" hidden+0x") > 10


def has_inlined(text):
    return len(re.findall(r" inner\+0x\w+ \(inlined\)", text)) > 10


def install(path):
    """Replaces the recorded program."""
    shutil.copy(path, "new")
    os.replace("new", "program")


def mini_debug_info():
    """As Fedora makes it: the function symbols that are not in .dynsym, compressed."""
    output("objcopy", "--only-keep-debug", "full", "full.debug")
    symbols = [line.split() for line in output("nm", "full", "--format=posix", "--defined-only").splitlines()]
    with open("keep", "w") as file:
        file.writelines(word[0] + "\n" for word in symbols if word[1] in "Tt")
    output("objcopy", "-S", "--remove-section", ".comment", "--keep-symbols=keep", "full.debug", "mini")
    output("xz", "mini")
    output("objcopy", "--strip-all", "full", "stripped")
    output("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "stripped", "with-mini")
    install("stripped")
    text, notes = script()
    check(not has_name(text), "a stripped file has no names", text[:500])
    install("with-mini")
    text, notes = script()
    check(has_name(text) and not has_inlined(text) and "lack" not in notes, ".gnu_debugdata has names", text[:500] + notes)
    damage("with-mini", ".gnu_debugdata")
    install("with-mini")
    text, notes = script()
    check(not has_name(text) and re.search(
        r"\d+ address(?:es)? in \S+/program lacks? a name or line: its \.gnu_debugdata is damaged", notes),
        "damaged .gnu_debugdata is reported", text[:500] + notes)


def compressed():
    for kind in "zlib", "zstd":
        shutil.copy("full", kind)
        if subprocess.run(["objcopy", "--compress-debug-sections=" + kind, kind],
                          stderr=subprocess.DEVNULL, check=False).returncode:
            print("skipped %s: this objcopy cannot compress with it" % kind)
            continue
        install(kind)
        text, notes = script()
        check(has_name(text) and has_inlined(text) and "lack" not in notes, kind, text[:500] + notes)
        damage(kind, ".debug_info", 30)
        install(kind)
        text, notes = script()
        check(has_name(text) and not has_inlined(text) and re.search(
            r"\d+ address(?:es)? in \S+/program lacks? a name or line: its debug information is damaged; install it again", notes),
            "damaged %s keeps names, and is reported" % kind, text[:500] + notes)
        names, notes = script("--no-inline")
        check(has_name(names) and "lack" not in notes, "names alone do not need debug information", names[:500] + notes)


def unknown_version():
    """A version is a number of two bytes: 0x105 is not version 5."""
    shutil.copy("full", "version")
    with open("version", "r+b") as file:
        file.seek(section("version", ".debug_info")[0] + (5 if sys.byteorder == "little" else 4))
        file.write(b"\1")
    install("version")
    text, notes = script()
    check(has_name(text) and not has_inlined(text), "debug information of an unknown version is not read", text[:500] + notes)


def report(cpus):
    """A report on these CPUs: on several ones a thread decompresses."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    result = subprocess.run([PERCH, "report", "--stdio", "-i", "data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, check=False)
    os.sched_setaffinity(0, allowed)
    return result.stdout + result.stderr


def threads():
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        print("skipped threads: one CPU")
        return
    with open("large.c", "w") as file:
        file.write(SOURCE + "".join("struct type_%d { int a, b, c; };\n" % i for i in range(20000)))
    output("gcc", "-O2", "-g", "-fno-eliminate-unused-debug-types", "-fno-omit-frame-pointer", BUILD_ID, "-o", "large", "large.c")
    check(section("large", ".debug_info")[1] > 1 << 19, "debug information for which a thread starts")
    output("objcopy", "--compress-debug-sections=zlib", "large")
    install("large")
    text = report(cpus)
    check("inner (inlined)" in text and text == report({min(cpus)}), "debug information that a thread decompresses", text[:900])
    damage("large", ".debug_info", 30)
    install("large")
    text = report(cpus)
    check("its debug information is damaged" in text and text == report({min(cpus)}), "the same, damaged", text[-900:])


def claims(sections, ratio):
    """Sections whose headers claim many times as many bytes as they have. Returns the bytes, and what a report says."""
    total = 0
    for name in sections:
        offset, size = section("claims", name)
        with open("claims", "r+b") as file:
            file.seek(offset + 8)
            file.write((ratio * size).to_bytes(8, sys.byteorder))
        total += ratio * size
    install("claims")
    return total, report(os.sched_getaffinity(0))


def compressed_claims():
    output("gcc", "-O2", "-g", "-fno-omit-frame-pointer", BUILD_ID, "-o", "claims", "large.c",
           "-fno-eliminate-unused-debug-types", "-Wl,--compress-debug-sections=zlib")
    total, text = claims([".debug_info", ".debug_str"], 200)
    check("its compressed debug information is too large" in text and total > (16 << 20) + 64 * os.path.getsize("claims"),
          "sections that claim too many bytes together", text[-900:])
    text = claims([".debug_str"], 1) and claims([".debug_info"], 300)[1]
    check("its compressed debug information is too large" in text, "a section that claims too many bytes", text[-900:])


def shared():
    if not shutil.which("dwz"):
        print("skipped dwz: it is not installed")
        return
    shutil.copy("full", "one")
    shutil.copy("full", "two")
    output("dwz", "-m", "shared", "one", "two")
    install("one")
    text, notes = script()
    check(has_inlined(text) and "lack" not in notes, "dwz", text[:500] + notes)
    output(PERCH, "buildid-cache", "-a", "program")
    text, notes = script()
    check(has_inlined(text) and "lack" not in notes, "dwz, of a program in the build id cache", text[:500] + notes)
    shutil.rmtree(".debug")
    output("objcopy", "-R", ".debug_*", "shared")
    text, notes = script()
    check(has_name(text) and re.search(
        r"lack a name or line: the file shared, which has a part of its debug information \(dwz\), is stripped or damaged", notes),
        "a stripped file of dwz is not a missing one", text[:500] + notes)
    os.remove("shared")
    text, notes = script()
    check(has_name(text) and re.search(
        r"lack a name or line: the file shared, which has a part of its debug information \(dwz\), is missing", notes),
        "a missing file of dwz is reported", text[:500] + notes)


def list_inlined(path, *files):
    """Places of inlined functions: those of units whose .dwo file is missing are said to be missing, too."""
    whole = subprocess.run([PERCH, "list", "-x", path, "inner"], capture_output=True, text=True, check=False)
    check(whole.stdout.count("[inlined]") == 1 and not whole.stderr, "list -x of a program with .dwo files", whole.stdout + whole.stderr)
    for name in files:
        os.rename(name, name + ".moved")
    part = subprocess.run([PERCH, "list", "-x", path, "inner"], capture_output=True, text=True, check=False)
    check("[inlined]" not in part.stdout and "may have more inlined functions: the file " in part.stderr and files[0] in part.stderr,
          "list -x says that a .dwo file is missing", part.stdout + part.stderr)
    probe = subprocess.run([PERCH, "stat", "-e", f"uprobe:{path}:inner", "true"], capture_output=True, text=True, check=False)
    check("uprobe" in probe.stderr and "there is no PMU" in probe.stderr or "debug information is incomplete: the file " in probe.stderr,
          "and so does a probe on it", probe.stderr)
    for name in files:
        os.rename(name + ".moved", name)


def split():
    output("gcc", "-O2", "-g", "-gsplit-dwarf", "-fno-omit-frame-pointer", BUILD_ID, "-o", "split", "program.c")
    files = [name for name in os.listdir(".") if name.endswith(".dwo")]
    list_inlined("./split", *files)
    install("split")
    text, notes = script()
    check(has_inlined(text) and "lack" not in notes, ".dwo", text[:500] + notes)
    packs = bool(shutil.which("llvm-dwp")) and \
        not subprocess.run(["timeout", "30", "llvm-dwp", "-o", "program.dwp", *files], stderr=subprocess.DEVNULL,
                           check=False).returncode
    for name in files:
        os.rename(name, name + ".moved")
    if packs:
        text, notes = script()
        check(has_inlined(text) and "lack" not in notes, ".dwp", text[:500] + notes)
        damage("program.dwp", ".debug_cu_index", 16)
        text, notes = script()
        check(has_name(text) and re.search(r"program lacks? a name or line: its \.dwp file lacks a part", notes),
              "a damaged .dwp", text[:500] + notes)
    else:
        print("skipped .dwp: llvm-dwp does not pack the file")
    if os.path.exists("program.dwp"):
        os.remove("program.dwp")
    text, notes = script()
    check(has_name(text) and re.search(
        r"program lacks? a name or line: the file \S+\.dwo with its split debug information is missing", notes),
        "a missing .dwo file", text[:500] + notes)
    lines = script("-F", "ip,sym,srcline")[0]
    check(len(re.findall(r"^ +program\.c:\d+$", lines, re.M)) > 10, "lines without the .dwo file", lines[:500])
    for name in files:
        os.rename(name + ".moved", name)
        damage(name, ".debug_info.dwo", 1)
    text, notes = script()
    check(has_name(text) and re.search(
        r"program lacks? a name or line: the file \S+\.dwo does not have its split debug information", notes),
        "a damaged .dwo file", text[:500] + notes)
    for name in files:
        os.remove(name)


TYPES = """
#include <map>
#include <string>
volatile long sink;
static inline long step(const std::map<int, std::string> &names, int by)
{
	long sum = 0;

	for (auto &name : names)
		sum += name.second.size() * by;
	return sum;
}
__attribute__((noinline)) long outer(const std::map<int, std::string> &names)
{
	long sum = 0;

	for (int i = 0; i < 2000; i++)
		sum += step(names, i);
	return sum;
}
int main()
{
	std::map<int, std::string> names;

	for (int i = 0; i < 100; i++)
		names[i] = std::string(i, 'x');
	for (int i = 0; i < 200; i++)
		sink += outer(names);
}
"""


def split_types():
    """A .dwo file whose first units are types, and a .dwp file of it."""
    with open("types.cc", "w", encoding="ascii") as file:
        file.write(TYPES)
    options = ["g++", "-O2", "-g", "-gdwarf-5", "-gsplit-dwarf", "-fdebug-types-section"]
    if not shutil.which("g++") or not shutil.which("llvm-dwp"):
        print("skipped types in .dwo files: no g++ or no llvm-dwp")
        return
    output(*options, "-c", "-o", "types.o", "types.cc")
    output(*options, "-o", "types", "types.o")
    output(PERCH, "record", "-q", "-N", "-F", "999", "-e", "cpu-clock:u", "-g", "-o", "types.data", "./types")

    def printed(data="types.data"):
        done = subprocess.run([PERCH, "script", "-i", data], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False, timeout=limit(60))
        return done.stdout, done.stderr

    text, notes = printed()
    check(re.search(r" step\+\S+ \(inlined\)", text) and "lack" not in notes, "types in a .dwo file", text[:500] + notes)
    output("llvm-dwp", "-e", "types", "-o", "types.dwp")
    text, notes = printed()
    check(re.search(r" step\+\S+ \(inlined\)", text) and "lack" not in notes, "types in a .dwp file", text[:500] + notes)
    os.remove("types.dwp")
    os.mkdir("away")
    shutil.copy("types", "away")
    output(*options, "-DOTHER", "-O1", "-c", "-o", "away/types.o", "types.cc")
    output(PERCH, "record", "-q", "-N", "-F", "999", "-e", "cpu-clock:u", "-g", "-o", "away.data", "away/types")
    text, notes = printed("away.data")
    check(re.search(r" step\+\S+ \(inlined\)", text) and "lack" not in notes, "another .dwo file beside the program", text[:500] + notes)
    os.remove("types.dwo")
    text, notes = printed("away.data")
    check("the file types.dwo does not have its split debug information" in notes, "only another .dwo file", text[:500] + notes)
    os.mkfifo("types.dwo")
    text, notes = printed("away.data")
    check("the file types.dwo with its split debug information cannot be opened" in notes, "a FIFO for a .dwo file", text[:500] + notes)
    os.remove("types.dwo")
    text, notes = printed()
    check("the file types.dwo with its split debug information is missing" in notes, "types in a missing .dwo file", text[:500] + notes)


def cached():
    """The build id cache has the program with symbols; the debug information is in another file."""
    output("objcopy", "--only-keep-debug", "full", "program.debug")
    shutil.copy("full", "symbols")
    output("objcopy", "--strip-debug", "--add-gnu-debuglink=program.debug", "symbols")
    install("symbols")
    output(PERCH, "buildid-cache", "-a", "program")
    text, notes = script()
    check(has_name(text) and has_inlined(text) and "lack" not in notes, "a cached file with symbols alone",
          text[:500] + notes)
    output(PERCH, "buildid-cache", "-P")
    os.remove("program.debug")


def main():
    for tool in ["gcc", "objcopy", "readelf", "nm", "xz"]:
        if not shutil.which(tool):
            print("skipped: no " + tool)
            return 77
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        os.environ["HOME"] = directory    # of the build id cache
        with open("program.c", "w") as file:
            file.write(SOURCE)
        output("gcc", "-O2", "-g", "-fno-omit-frame-pointer", BUILD_ID, "-o", "full", "program.c")
        install("full")
        output(PERCH, "record", "-N", "-e", "cpu-clock:u", "-g", "-o", "data", os.path.join(directory, "program"))
        text, notes = script()
        check(has_name(text) and has_inlined(text) and "lack" not in notes, "the file itself", text[:500] + notes)
        mini_debug_info()
        compressed()
        unknown_version()
        threads()
        compressed_claims()
        shared()
        split()
        split_types()
        cached()
    return int(cases.failed)


sys.exit(main())
