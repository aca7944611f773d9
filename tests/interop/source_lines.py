#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares inlined functions and lines of C++ programs with addr2line -i and with libdw: DWARF 2 to 5, compressed, split,
shared (dwz) and separate debug information."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from cases import limit
from peer import output

LINES = os.path.join(os.environ["PERCH_BUILD_ROOT"], "examples", "source-lines")
SAME_LINES = os.path.join(os.environ["PERCH_BUILD_ROOT"], "tests", "interop", "same_lines")
SEED = int(os.environ.get("PERCH_SEED", "1"))
SOURCE = r"""
#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>
#define WORK(n)                                                                                  \
	namespace n {                                                                            \
	struct item {                                                                            \
		int a;                                                                           \
		std::string s;                                                                   \
		bool operator<(const item &o) const { return a < o.a || (a == o.a && s < o.s); } \
	};                                                                                       \
	static inline int helper(int x) { return x * 31 ^ (x >> 3); }                            \
	__attribute__((noinline)) int work(int x)                                                \
	{                                                                                        \
		std::vector<item> v;                                                             \
		std::map<std::string, item> m;                                                   \
		for (int j = 0; j < x; j++) v.push_back({ helper(j), std::to_string(j) });       \
		std::sort(v.begin(), v.end());                                                   \
		for (auto &e : v) m[e.s] = e;                                                    \
		int t = 0;                                                                       \
		for (auto &e : m) t += e.second.a;                                               \
		auto fn = [&](int q) {                                                           \
			struct local { int add(int z) { return helper(z) * z; } } l;             \
			std::function<int(int)> g = [&, q](int z) { return l.add(z) + q + t; };  \
			return g(q);                                                             \
		};                                                                               \
		std::ostringstream o;                                                            \
		o << t;                                                                          \
		return fn(t) + o.str().size();                                                   \
	}                                                                                        \
	}
WORK(one)
WORK(two)
WORK(three)
WORK(four)
int main(int argc, char **) { return one::work(argc) + two::work(argc) + three::work(argc) + four::work(argc); }
"""
NESTED = """volatile int sink;
static inline __attribute__((always_inline)) int square(int x) { sink = x * x; return sink + 3; }
__attribute__((noinline)) int outer(int n)
{
	int t = n;
	__attribute__((noinline)) int inner(int k) { return square(k + t) * square(k - t); }
	__attribute__((noinline)) void more(void) { t += sink; }
	for (int i = 0; i < n; i++) { t += inner(i); more(); }
	return t;
}
int main(int n, char **v) { (void)v; return outer(n); }
"""
failed = 0


def executable_segments(path):
    """(address, offset, size) of the segments with code."""
    found = []
    for line in output("readelf", "-lW", path).splitlines():
        word = line.split()
        if word and word[0] == "LOAD" and "E" in "".join(word[6:-1]):
            found.append((int(word[2], 16), int(word[1], 16), int(word[4], 16)))
    return found


def addresses_of(path, most):
    """Addresses of instructions, without the padding between functions."""
    found = []
    for line in output("objdump", "-d", "-j", ".text", "--no-show-raw-insn", path).splitlines():
        address, _, instruction = line.partition(":")
        if line.startswith(" ") and not re.search(r"\bnop|xchg +%ax,%ax", instruction):
            found.append(int(address, 16))
    random.Random(SEED).shuffle(found)
    return found[:most]



def expected_frames(path, addresses, tool):
    """[(linkage name, 'file:line')] of addr2line, by address."""
    text = output(tool, "-i", "-f", "-a", "-e", path,
               input="".join("%x\n" % address for address in addresses))
    frames, current = {}, None
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("0x"):
            current = frames.setdefault(int(line, 16), [])
        else:
            current.append((line, source_line(next(lines))))
    return frames


def source_line(text):
    text = os.path.basename(text.split(" (")[0])
    return "??" if text.startswith("?") or text.endswith((":0", ":?")) else text


def found_frames(path, addresses):
    segments = executable_segments(path)
    offsets = {}
    for address in addresses:
        for start, offset, size in segments:
            if start <= address < start + size:
                offsets[address - start + offset] = address
    text = output(LINES, path, input="".join("%x\n" % offset for offset in offsets))
    frames, current = {}, None
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith("\t"):
            current = frames.setdefault(offsets[int(line, 16)], [])
        else:
            current.append((line.strip().replace(" (inlined)", ""), source_line(next(lines).strip())))
    return frames


def demangled(names):
    """As perch prints a name: without parameters."""
    names = sorted(names)
    plain = output("c++filt", "-p", input="\n".join(names) + "\n").splitlines()
    return dict(zip(names, plain))


def is_equal(wanted, have):
    """Names of the last frames are not compared: perch has that of the symbol table. addr2line names the first frame by
    the symbol table, too, if the inlined function has no linkage name. It does not write the scopes of functions without one."""
    def same(name, found):
        return name == found or found.endswith("::" + name)

    return [line_of for _, line_of in wanted] == [line_of for _, line_of in have] and \
        all(same(name, found) for (name, _), (found, _) in zip(wanted[1:-1], have[1:-1])) and \
        (same(wanted[0][0], have[0][0]) or wanted[0][0] == have[-1][0])


def compare(label, path, most=2000, like=None, tool="addr2line", libdw_reads=True):
    """like: the same code with debug information that addr2line of every version reads. libdw_reads: libdw 0.188 does, too."""
    global failed
    addresses = addresses_of(path, most)
    expected, found = expected_frames(like or path, addresses, tool), found_frames(path, addresses)
    plain = demangled({name for frames in expected.values() for name, _ in frames})
    same, with_line, deepest, shown = 0, 0, 0, 0
    for address in addresses:
        wanted = [(plain[name], line_of) for name, line_of in expected[address]]
        have = found.get(address, [])
        equal = bool(have) and is_equal(wanted, have)
        same += equal
        with_line += wanted[0][1] != "??"
        deepest = max(deepest, len(have))
        if not equal and shown < 3 and os.environ.get("PERCH_VERBOSE"):
            shown += 1
            print("%x\n  wanted %s\n  have   %s" % (address, wanted, have))
    share = same / len(addresses)
    ok = share >= 0.995 and deepest > 3 and with_line > len(addresses) / 2
    print("%s %s: %d of %d addresses equal (%.2f %%), %d with a line, at most %d frames" % (
        "ok" if ok else "FAILED", label, same, len(addresses), 100 * share, with_line, deepest))
    failed += not ok
    if libdw_reads:
        compare_readers(label, path)


def compare_readers(label, path):
    """Compares the reader of perch with libdw, at all kinds of offsets."""
    global failed
    offsets = []
    for _, offset, size in executable_segments(path):
        offsets += range(offset, offset + size)
    random.Random(SEED).shuffle(offsets)
    result = subprocess.run([SAME_LINES, path], stdout=subprocess.PIPE, text=True,
                            input="".join("%x\n" % offset for offset in offsets[:2000]))
    ok = not result.returncode
    print("%s %s: %s" % ("ok" if ok else "FAILED", label, result.stdout.strip()))
    failed += not ok


def packs(tool, name):
    """llvm-dwp 14 does not end for some files."""
    try:
        return not subprocess.run([tool, "-e", name, "-o", name + ".dwp"], stderr=subprocess.DEVNULL,
                                  timeout=limit(20)).returncode
    except subprocess.TimeoutExpired:
        os.remove(name + ".dwp") if os.path.exists(name + ".dwp") else None
        return False


def packed():
    """Programs of two files whose split debug information is in a .dwp file."""
    tools = [tool for tool in ("dwp", "llvm-dwp") if shutil.which(tool)]
    if not tools:
        print("skipped .dwp: needs dwp or llvm-dwp")
    with open("second.cc", "w") as file:
        file.write("".join("#define %s second_%s\n" % (name, name) for name in ("one", "two", "three", "four", "main")) + SOURCE)
    for tool in tools:
        for compiler in ["g++"] if tool == "dwp" else ["clang++"]:
            for version in [4] if tool == "dwp" else [5]:
                label = "%s, %s, DWARF %d" % (tool, compiler, version)
                name = label.replace(", ", "-").replace(" ", "")
                if not shutil.which(compiler):
                    continue
                command = [compiler, "-O2", "-g", "-gdwarf-%d" % version, "-o", name, "program.cc", "second.cc"]
                output(*command, stderr=subprocess.DEVNULL)
                shutil.copy(name, name + "-whole")
                output(*command, "-gsplit-dwarf", stderr=subprocess.DEVNULL)
                if not packs(tool, name):
                    print("skipped %s: it cannot pack these files" % label)
                    continue
                for file in os.listdir("."):
                    if file.endswith(".dwo"):
                        os.remove(file)
                compare(label, os.path.abspath(name), like=name + "-whole",
                        tool="addr2line" if compiler == "g++" else "llvm-addr2line", libdw_reads=False)


def damaged(path, split=None, rounds=100):
    """Damaged debug information ends neither reader, and takes no time that grows with the depth of its entries. split: the
    file with it; its header and table of sections are damaged, too."""
    global failed
    with open(split or path, "rb") as file:
        original = file.read()
    sections = [(int(offset, 16), int(size, 16)) for offset, size in re.findall(
        r"\] \.debug_(?:info|abbrev)(?:\.dwo)? +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", output("readelf", "-SW", split or path))]
    if split:
        at = int.from_bytes(original[40:48], sys.byteorder)
        sections += [(0, 64)] + [(at, len(original) - at)] * len(sections)
    offsets = []
    for _, offset, size in executable_segments(path):
        offsets += range(offset, offset + size, 61)
    generator, text, wrong = random.Random(SEED), "".join("%x\n" % offset for offset in offsets), []
    for _ in range(rounds):
        changed = bytearray(original)
        for _ in range(generator.choice([1, 3, 10, 40])):
            start, size = generator.choice(sections)
            changed[start + generator.randrange(size)] = generator.choice([0, 1, 255, generator.randrange(256)])
        with open(split or "damaged", "wb") as file:
            file.write(changed)
        try:
            result = subprocess.run([SAME_LINES, path if split else os.path.abspath("damaged")], input=text, capture_output=True,
                                    text=True, timeout=limit(60))
            wrong += [result.returncode] if result.returncode < 0 else []
        except subprocess.TimeoutExpired:
            wrong.append("timeout")
            break
    print("%s damaged %sdebug information: %s" % ("FAILED" if wrong or not sections else "ok", "split " if split else "", wrong))
    failed += bool(wrong) or not sections


def relative():
    """Files that are compiled by a relative path have that of the directory, too."""
    global failed
    os.mkdir("work")
    os.mkdir("work/sub")
    with open("work/sub/one.c", "w") as file:
        file.write("#include \"one.h\"\n#include \"../two.h\"\nint main(int argc, char **argv) { return one(argc) + two(argc); }\n")
    with open("work/sub/one.h", "w") as file:
        file.write("static inline int one(int x) { return x * 3; }\n")
    with open("work/two.h", "w") as file:
        file.write("static inline int two(int x) { return x / 5; }\n")
    here = os.path.realpath("work")
    wanted = {os.path.join(here, name) for name in ("sub/one.c", "sub/one.h", "two.h")}
    for label, source, *flags in [("version %d, %s" % (version, source), source, "-gdwarf-%d" % version) for version in (4, 5)
                                  for source in ("sub/one.c", "./sub/one.c")] + [("split", "sub/one.c", "-gsplit-dwarf")]:
        output("gcc", "-O2", "-g", *flags, "-o", "program", source, cwd="work")
        path = os.path.join(here, "program")
        main_at = next(int(line.split()[0], 16) for line in output("nm", path).splitlines() if line.endswith(" main"))
        offsets = [main_at - start + offset for start, offset, size in executable_segments(path) if start <= main_at < start + size]
        text = output(LINES, path, input="".join("%x\n" % (offsets[0] + i) for i in range(10)))
        found = {os.path.normpath(line.strip().rsplit(":", 1)[0]) for line in text.splitlines() if line.startswith("\t") and "/" in line}
        ok = found == wanted and "/./" not in text
        print("%s relative paths, %s: %s" % ("ok" if ok else "FAILED", label, sorted(found ^ wanted)))
        failed += not ok
        compare_readers("relative paths, " + label, path)


def nested():
    """Functions in functions are not directly below the unit. With -Os no padding is between them."""
    global failed
    for label, option, source in [("%s%s" % (option, kind), option, source) for option in ("-O2", "-Os")
                                  for kind, source in (("", NESTED), (", one line", NESTED.replace("\n", " ")))]:
        with open("nested.c", "w") as file:
            file.write(source)
        if subprocess.run(["gcc", option, "-g", "-o", "nested", "nested.c"], stderr=subprocess.DEVNULL).returncode:
            print("skipped nested functions: the compiler does not have them")
            return
        path = os.path.abspath("nested")
        found = [[name for name, _ in frames] for frames in found_frames(path, addresses_of(path, 5000)).values()]
        inlined = sum(names[0] == "square" and names[-1].startswith("inner") for names in found)
        ok = inlined > 1
        print("%s nested functions, %s: %d addresses of a function that is inlined in one" % ("ok" if ok else "FAILED", label, inlined))
        failed += not ok
        compare_readers("nested functions, " + label, path)


def refuses_missing_file():
    global failed
    done = subprocess.run([LINES, "/no/such/file"], input="1\n", text=True, capture_output=True, check=False)
    ok = done.returncode == 1 and done.stderr == "/no/such/file: no such file\n"
    print(("ok " if ok else "FAILED ") + "a missing file", "" if ok else done)
    failed += not ok


def main():
    for tool in ["g++", "addr2line", "objdump", "readelf", "c++filt", "objcopy"]:
        if not shutil.which(tool):
            print("skipped: no " + tool)
            return 77
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        with open("program.cc", "w") as file:
            file.write(SOURCE)

        objects = {}

        def build(name, *flags, compiler="g++", link=()):
            """The compiler takes nearly all the time of this test: it runs once for each set of its flags."""
            if (compiler, flags) not in objects:
                objects[compiler, flags] = name + ".o"
                output(compiler, "-O2", "-g", "-c", "-o", name + ".o", "program.cc", *flags, stderr=subprocess.DEVNULL)
            output(compiler, "-o", name, objects[compiler, flags], *link, stderr=subprocess.DEVNULL)
            return os.path.abspath(name)

        refuses_missing_file()
        relative()
        nested()
        plain = build("default")
        compare("g++ -O2 -g", plain, 10000)
        damaged(plain)
        for version in range(2, 6):
            compare("DWARF %d" % version, build("dwarf%d" % version, "-gdwarf-%d" % version))
        compare("64-bit DWARF", build("dwarf64", "-gdwarf64"), like=plain)
        compare("units of types", build("types", "-fdebug-types-section", "-gdwarf-4"), like="dwarf4")
        compare("-no-pie", build("fixed", link=["-no-pie"]))
        compare("zlib", build("zlib", link=["-gz=zlib"]), like=plain)
        compare("zlib-gnu", build("zlib-gnu", link=["-gz=zlib-gnu"]), like=plain)
        output("cp", plain, "zstd")
        if subprocess.run(["objcopy", "--compress-debug-sections=zstd", "zstd"], stderr=subprocess.DEVNULL).returncode:
            print("skipped zstd: this objcopy cannot compress with it")
        else:
            compare("zstd", os.path.abspath("zstd"), like=plain, libdw_reads=False)
        compare("split, DWARF 4", build("split4", "-gsplit-dwarf", "-gdwarf-4"), like="dwarf4")
        compare("split, DWARF 5", build("split5", "-gsplit-dwarf", "-gdwarf-5"), like="dwarf5")
        compare("split, units of types, DWARF 5", build("split-types", "-gsplit-dwarf", "-gdwarf-5", "-fdebug-types-section"),
                like="dwarf5", libdw_reads=False)
        damaged(os.path.abspath("split-types"), "split-types.dwo", 20)
        packed()
        path = build("separate")
        output("objcopy", "--only-keep-debug", path, path + ".debug")
        output("objcopy", "--strip-debug", "--add-gnu-debuglink=separate.debug", path)
        compare("separate", path, like=plain)
        if shutil.which("clang++") and shutil.which("llvm-addr2line"):
            compare("clang++", build("clang", compiler="clang++"), tool="llvm-addr2line")
            compare("clang++ -gline-tables-only", build("line-tables", "-gline-tables-only", compiler="clang++"),
                    tool="llvm-addr2line")
        if shutil.which("dwz"):
            one, two = build("shared1"), build("shared2", "-DTWO")
            output("dwz", "-m", "shared", one, two)
            compare("dwz", one, like=plain)
            output("objcopy", "--compress-debug-sections=zlib", one)
            compare("dwz, zlib", one, like=plain)
            if not subprocess.run(["objcopy", "--compress-debug-sections=zstd", one],
                                  stderr=subprocess.DEVNULL).returncode:
                output("objcopy", "--compress-debug-sections=zstd", "shared")
                compare("dwz, zstd", one, like=plain, libdw_reads=False)
        else:
            print("skipped dwz: it is not installed")
    return 1 if failed else 0


sys.exit(main())
