#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Functions of stripped programs in Go: their names, starts and ends equal the list of go tool nm of the same program with symbols.
Unwound stacks of a program with symbols end where the runtime switches stacks."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
from cases import check
from peer import output

FRAMES = os.path.join(os.environ["PERCH_BUILD_ROOT"], "examples", "source-lines")
PERCH = os.environ["PERCH"]
SOURCE = """package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"time"
)

type pair[T any] struct{ a, b T }

//go:noinline
func (p *pair[T]) swap() { p.a, p.b = p.b, p.a }

//go:noinline
func count[T any](x []T, less func(T, T) bool) int {
	n := 0
	for i := range x {
		if less(x[0], x[i]) {
			n++
		}
	}
	return n
}

//go:noinline
func leaf(n int) int {
	s := 0
	for i := 0; i < n; i++ {
		s += i * s
	}
	return s
}

//go:noinline
func clock() {
	for end := time.Now().Add(time.Second / 2); time.Now().Before(end); {
	}
}

func main() {
	if len(os.Args) > 1 {
		clock()
		return
	}
	words := strings.Fields("some words to sort")
	sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })
	(&pair[int]{1, 2}).swap()
	(&pair[string]{"a", "b"}).swap()
	n := count(words, func(a, b string) bool { return a < b })
	fmt.Println(n, leaf(200000000))
}
"""
STRIP = "-ldflags=-s -w"
# name, options of go build, options of the stripped program, how it is stripped
PROGRAMS = [
    ("a static program", [], [STRIP], None),
    ("a position-independent program", ["-buildmode=pie"], ["-buildmode=pie", STRIP], None),
    ("a program without section headers", [], [STRIP], "headers"),
    ("a position-independent program without section headers", ["-buildmode=pie"], ["-buildmode=pie", STRIP], "headers"),
    ("a program after strip", [], [], "strip"),
    ("a program of another linker", ["-ldflags=-linkmode=external"], ["-ldflags=-linkmode=external -s -w"], None),
    ("a position-independent program of another linker", ["-buildmode=pie", "-ldflags=-linkmode=external"],
     ["-buildmode=pie", "-ldflags=-linkmode=external -s -w"], None),
    ("a program for arm64", ["arm64"], ["arm64", STRIP], None),
    ("a program for mips (32-bit, big-endian)", ["mips"], ["mips", STRIP], None),
]
# functions of the runtime that switch stacks: their callers are on another one
SWITCHING = r"(runtime\.(mcall|systemstack|morestack|asmcgocall|nanotime1|walltime)|time\.now)(\.abi\w+)?$"


def build(output, options):
    """Builds the program. Returns the reason why that is not possible, or None."""
    env = dict(os.environ, GO111MODULE="off", GOFLAGS="", CGO_ENABLED="0", HOME=os.getcwd(), GOCACHE=os.path.join(os.getcwd(), "cache"))
    if options and not options[0].startswith("-"):
        env["GOARCH"], options = options[0], options[1:]
    done = subprocess.run(["go", "build", *options, "-o", output, "main.go"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=env, check=False)
    return None if done.returncode == 0 else "go build: " + (done.stdout.strip().splitlines() or ["failed"])[-1]


def remove_section_headers(path):
    with open(path, "r+b") as file:
        image = bytearray(file.read())
        wide = image[4] == 2
        at, numbers = (40, 60) if wide else (32, 48)
        image[at:at + (8 if wide else 4)] = bytes(8 if wide else 4)
        image[numbers:numbers + 4] = bytes(4)
        file.seek(0)
        file.write(image)


def functions_of(path):
    """{address: (names, size)} of the functions in Go, by go tool nm."""
    found, text = {}, {}
    for line in output("go", "tool", "nm", "-size", path).splitlines():
        match = re.match(r"\s*([0-9a-f]+)\s+(\d+) ([tT]) (.*)$", line)
        if match:
            names, size = found.get(int(match[1], 16), (set(), 0))
            # the end of the name is of the linker alone, which also writes . for the middle dot
            names.add(re.sub(r"\.abi(0|internal)$", "", match[4]))
            found[int(match[1], 16)] = (names, max(size, int(match[2])))
            text[match[4]] = int(match[1], 16)
    return {address: function for address, function in found.items() if text["runtime.text"] <= address < text["runtime.etext"]}


def segments_of(path):
    found = []
    for line in output("readelf", "-lW", path, stderr=subprocess.DEVNULL).splitlines():
        word = line.split()
        if word and word[0] == "LOAD":
            found.append((int(word[2], 16), int(word[1], 16), int(word[4], 16)))
    return found


def names_at(path, addresses):
    """{address: name}. Addresses without a function have the name '??'."""
    segments = segments_of(path)
    offsets = [next(address - start + offset for start, offset, size in segments if start <= address < start + size) for address in addresses]
    lines = output(FRAMES, path, "--no-demangle", input="".join("%x\n" % offset for offset in offsets), stderr=subprocess.DEVNULL).splitlines()
    return dict(zip(addresses, (line.strip() for line in lines[1::3])))


def same(found, names):
    """The runtime's table has [...] for the arguments of types, and of arrays."""
    found = found.replace("\u00b7", ".")
    return found in names or found in {re.sub(r"\[.*\]", "[...]", name) for name in names}


def check_names(name, number, options, stripped_options, how):
    full, stripped = (os.path.abspath(f"{kind}-{number}") for kind in ("full", "stripped"))
    why = build(full, options) or build(stripped, stripped_options)
    if why:
        print(f"ok - {name} # skip {why}")
        return
    if how == "strip":
        output("strip", stripped)
    elif how == "headers":
        remove_section_headers(stripped)
    functions = functions_of(full)
    starts = names_at(stripped, list(functions))
    ends = names_at(stripped, [address + size - 1 for address, (_, size) in functions.items() if size])
    wrong = [(hex(address), starts[address], names) for address, (names, _) in functions.items() if not same(starts[address], names)]
    cut = [(hex(address), names) for address, (names, size) in functions.items() if size and not same(ends[address + size - 1], names)]
    symbols = re.search(r"\.symtab", output("readelf", "-SW", stripped, stderr=subprocess.DEVNULL))
    check(len(functions) > 1000 and not wrong and not cut and not symbols,
          "%s: %d functions have their names" % (name, len(functions)), (len(wrong), wrong[:9], len(cut), cut[:9], symbols))


def check_report():
    stripped = os.path.abspath("stripped-0")
    done = subprocess.run([PERCH, "record", "-e", "cpu-clock", "-g", "-o", "data", stripped], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode:
        print("ok - a report # skip cannot record here: " + done.stderr.strip()[-200:])
        return
    done = subprocess.run([PERCH, "report", "-i", "data", "--stdio", "--no-children", "-g", "caller"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    check(re.search(r"stripped-0\s+\[\.\] main\.leaf", done.stdout) and "runtime.main" in done.stdout,
          "a report of a stripped program has the names of functions", done.stdout[:2000] + done.stderr)
    check("stripped" not in done.stderr, "no message about a stripped file if all functions have names", done.stderr)


def check_stripped_stacks():
    """A stripped program has no rules, but frame pointers."""
    stripped = os.path.abspath("stripped-0")
    done = subprocess.run([PERCH, "record", "-e", "cpu-clock", "-F", "500", "--call-graph", "dwarf,4096", "-o", "data", stripped],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print("ok - unwound stacks of a stripped program # skip cannot record here: " + done.stderr.strip()[-200:])
        return
    done = subprocess.run([PERCH, "report", "-i", "data", "--stdio"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if "no call frame information" in done.stderr:
        check(re.search(r"ends? in \S*/stripped-0: it has no call frame information there, as .*; record with --call-graph fp", done.stderr),
              "a message says how to record stripped programs in Go", done.stderr)
    else:
        print("ok - a message says how to record stripped programs in Go # skip they have call frame information")


def check_stacks():
    """Of the unwound stacks of a program with symbols, which reads the clock on the stack of the thread."""
    full = os.path.abspath("full-0")
    done = subprocess.run([PERCH, "record", "-e", "cpu-clock", "-F", "500", "--call-graph", "dwarf,4096", "-o", "data", full, "clock"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print("ok - unwound stacks # skip cannot record here: " + done.stderr.strip()[-200:])
        return
    done = subprocess.run([PERCH, "script", "-i", "data", "-F", "ip,sym", "--no-inline"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    stacks = [[line.split(None, 1)[-1] for line in stack.splitlines() if line.strip()] for stack in done.stdout.split("\n\n")]
    last = [stack for stack in stacks if stack and re.match(SWITCHING, stack[-1])]
    wrong = [stack for stack in stacks if any(re.match(SWITCHING, name) for name in stack[:-1])]
    check(last and not wrong, "unwound stacks end at functions of the runtime that switch stacks", (len(stacks), len(last), wrong[:5]))
    check("switch to another stack" in done.stderr, "a message has the number of these stacks", done.stderr)
    check(any(stack[-1].startswith("runtime.goexit") and "main.main" in stack for stack in stacks if stack),
          "other unwound stacks are complete", stacks[:5])


def main():
    if not shutil.which("go"):
        print("skip: go is not installed (Debian: golang-go)")
        return 77
    if not shutil.which("strip") or not shutil.which("readelf"):
        print("skip: strip or readelf is not installed (Debian: binutils)")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        with open("main.go", "w", encoding="ascii") as file:
            file.write(SOURCE)
        for number, program in enumerate(PROGRAMS):
            check_names(program[0], number, *program[1:])
        check_report()
        check_stripped_stacks()
        check_stacks()
        os.chdir("/")
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
