#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares perch_symbols_frames() (examples/source-lines) with addr2line -i of binutils, that of
gimli (the Rust crate) and llvm-symbolizer: CPU time for 10,000 random addresses of a C++ program
with 50 MB of debug information. None of them demangles names. The first run of perch makes the
symbol index, the second one has it.

source-lines.py [BUILD]"""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import compare

SMOKE = compare.SMOKE
BUILD = os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else "build")
LINES = os.path.join(BUILD, "examples", "source-lines")
SETTLED = 2.5  # seconds until a file that changed can have an index
UNITS, ADDRESSES, ROUNDS = (2, 500, 1) if SMOKE else (40, 10000, 5)
WORK = """
namespace n%d {
struct item {
	int a;
	std::string s;
	bool operator<(const item &o) const { return a < o.a || (a == o.a && s < o.s); }
};
static inline int helper(int x) { return x * 31 ^ (x >> 3); }
__attribute__((noinline)) int work(int x)
{
	std::vector<item> v;
	std::map<std::string, item> m;
	for (int j = 0; j < x; j++) v.push_back({ helper(j), std::to_string(j) });
	std::sort(v.begin(), v.end());
	for (auto &e : v) m[e.s] = e;
	int t = 0;
	for (auto &e : m) t += e.second.a;
	std::function<int(int)> g = [&](int z) { return helper(z) + t; };
	std::ostringstream o;
	o << t;
	return g(t) + o.str().size();
}
}
"""


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def build():
    """Compiles one unit and links copies of it, whose functions are local."""
    parts = 2 if SMOKE else 12
    with open("unit.cc", "w") as file:
        file.write("".join("#include <%s>\n" % name for name in
                           ("algorithm", "functional", "map", "sstream", "string", "vector")))
        file.write("".join(WORK % part for part in range(parts)))
        calls = " + ".join("n%d::work(x)" % part for part in range(parts))
        file.write("extern \"C\" int start(int x) { return %s; }\n" % calls)
    run("g++", "-O2", "-g", "-fno-gnu-unique", "-c", "unit.cc")
    for unit in range(UNITS):
        run("objcopy", "--keep-global-symbol=start%d" % unit,
            "--redefine-sym", "start=start%d" % unit,
            "--remove-section=.group", "unit.o", "unit%d.o" % unit)
    with open("main.c", "w") as file:
        file.write("".join("int start%d(int);\n" % unit for unit in range(UNITS)))
        file.write("int main(int n, char **v) { (void)v; return %s; }\n" % " + ".join(
            "start%d(n)" % unit for unit in range(UNITS)))
    run("gcc", "-c", "main.c")
    run("g++", "-no-pie", "-o", "program", "main.o", *("unit%d.o" % unit for unit in range(UNITS)))


def layout():
    """Bytes of debug information, and address minus offset of the code."""
    size, code = 0, None
    for line in run("readelf", "-SW", "program").splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 5 and words[1].startswith(".debug_"):
            size += int(words[5], 16)
        if len(words) > 5 and words[1] == ".text":
            code = int(words[3], 16) - int(words[4], 16)
    return size, code


def least_time(command, text, prepare=lambda: None, **environment):
    """Returns the least CPU time of some runs, in seconds."""
    times = []
    with tempfile.TemporaryFile("w+") as addresses:
        addresses.write(text)
        addresses.flush()
        for _ in range(ROUNDS):
            prepare()
            addresses.seek(0)
            child = subprocess.Popen(command, stdin=addresses, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, env={**os.environ, **environment})
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode:
                sys.exit(f"{command[0]}: exit status {child.returncode}")
            times.append(usage.ru_utime + usage.ru_stime)
    return min(times)


def compare_peers(peers, text, cold, warm):
    """Compares the first run and the second one, which has the index, with the others."""
    for name, command, *targets in peers:
        if not shutil.which(command[0] or ""):
            print(f"source-lines: no {name}")
            continue
        other = least_time(command, text)
        print(f"source-lines: {name} {other:.3f} s", end="")
        for title, seconds, target in zip(("cold", "warm"), (cold, warm), targets):
            missed = " MISSED" if seconds / other > target and not SMOKE else ""
            print(f", {title} ratio {seconds / other:.4f} (target {target}){missed}", end="")
        print(flush=True)


def main():
    for tool in "g++", "addr2line", "objcopy", "objdump":
        if not shutil.which(tool):
            print("source-lines: no " + tool)
            return 77
    gimli, reason = compare.peer("addr2line")
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        build()
        size, bias = layout()
        code = run("objdump", "-d", "-j", ".text", "--no-show-raw-insn", "program")
        found = [line.split(":")[0].strip() for line in code.splitlines()
                 if line.startswith(" ") and ":" in line]
        found = random.Random(1).sample(found, min(ADDRESSES, len(found)))
        addresses = [int(text, 16) for text in found]
        print("source-lines: %d addresses, %.0f MB of debug information" % (
            len(addresses), size / 1e6))
        time.sleep(SETTLED)
        cache = os.path.join(directory, "cache")
        perch = ([LINES, os.path.join(directory, "program"), "--no-demangle"],
                 "".join("%x\n" % (address - bias) for address in addresses))
        cold = least_time(*perch, prepare=lambda: shutil.rmtree(cache, ignore_errors=True),
                          XDG_CACHE_HOME=cache)
        warm = least_time(*perch, XDG_CACHE_HOME=cache)
        print("source-lines: perch %.3f s, the second run %.4f s" % (cold, warm))
        peers = [("addr2line -i", ["addr2line", "-f", "-i", "-e", "program"], 0.05, 0.005),
                 ("llvm-symbolizer", ["llvm-symbolizer", "-f", "--inlining", "--no-demangle",
                                      "--obj=program"], 0.3),
                 (f"addr2line of gimli: {reason}" if reason else "addr2line of gimli",
                  [gimli, "-f", "-i", "-e", "program"], 0.7)]
        compare_peers(peers, "".join("0x%x\n" % address for address in addresses), cold, warm)
    return 0


sys.exit(main())
