#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The symbol index: output is the same without it, with a new one, and with one that was there; whatever is wrong with its files."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import cases
from cases import check

PERCH = os.environ["PERCH"]
PROGRAM = """
#include <stdint.h>
volatile uint64_t sum;
static inline __attribute__((always_inline)) void NAME_inner(int n) { for (int i = 0; i < n; i++) sum += i; }
static __attribute__((noinline)) void NAME_outer(int n) { for (int i = 0; i < n; i++) NAME_inner(100); sum++; }
%s
int main(void) { for (int i = 0; i < 20000; i++) NAME_outer(1000); return (int)(sum & 1 & !sum); }
"""
OPTIONS = [
    ["report", "--stdio"], ["report", "--stdio", "-g", "none", "--no-children"], ["report", "--stdio", "--no-inline"],
    ["report", "--stdio", "-s", "srcline,sym", "-g", "none"], ["report", "--stdio", "-g", "caller,address,0.1"], ["report", "-j"],
    ["script"], ["script", "-F", "ip,sym,symoff,srcline,dso"], ["script", "--no-inline"], ["annotate", "--stdio", "NAME_outer"],
    ["export", "--format", "folded"], ["export", "--format", "pprof"],
]


def environment(home, **more):
    result = {key: value for key, value in os.environ.items() if key not in ("PERCH_CACHE", "XDG_CACHE_HOME", "DEBUGINFOD_URLS")}
    return dict(result, HOME=home, **more)


def run(options, data, env):
    extra = ["-o", "-"] if options[0] == "export" else []
    done = subprocess.run([PERCH, *options, *extra, "-i", data], env=env, capture_output=True)
    return done.returncode, done.stdout, done.stderr


class Fixture:
    def __init__(self, work):
        self.work = work
        self.home = os.path.join(work, "home")
        self.symbols = os.path.join(self.home, ".cache/perch/symbols")
        self.env, self.off = environment(self.home), environment(self.home, PERCH_CACHE="off")
        self.program, self.data = os.path.join(work, "program"), os.path.join(work, "data")
        os.mkdir(self.home)

    def build(self, name, split=False):
        """Compiles a program with enough functions for an index. Waits until it may have one."""
        source = os.path.join(self.work, "program.c")
        with open(source, "w") as file:
            file.write((PROGRAM % "\n".join(f"void unused_{i}(void) {{ sum += {i}; }}" for i in range(300))).replace("NAME", name))
        flags = ["-gsplit-dwarf"] if split else []
        subprocess.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", *flags, "-o", self.program, source], check=True, cwd=self.work)

    def record(self):
        subprocess.run([PERCH, "record", "-q", "-F", "2000", "-g", "-o", self.data, self.program], env=self.env, check=True,
                       stderr=subprocess.DEVNULL)

    @staticmethod
    def settle():
        time.sleep(2.5)

    def files(self):
        return sorted(os.path.join(self.symbols, name) for name in os.listdir(self.symbols)) if os.path.isdir(self.symbols) else []

    def clear(self):
        shutil.rmtree(self.symbols, ignore_errors=True)

    def times(self):
        return {path: os.stat(path).st_ino for path in self.files()}


def same_output(fixture):
    for options in OPTIONS:
        options = [option.replace("NAME", "first") for option in options]
        fixture.clear()
        plain = run(options, fixture.data, fixture.off)
        check(not fixture.files(), f"{' '.join(options)}: PERCH_CACHE=off writes nothing")
        new = run(options, fixture.data, fixture.env)
        files_before = fixture.times()
        again = run(options, fixture.data, fixture.env)
        check(plain[0] == 0 and plain == new, f"{' '.join(options)}: the same while the index is made", plain[2], new[2])
        check(plain == again, f"{' '.join(options)}: the same with the index", plain[2], again[2])
        check(fixture.times() == files_before, f"{' '.join(options)}: the second run writes nothing")
    check(b"first_inner" in run(["script"], fixture.data, fixture.env)[1], "inlined functions are among what was compared")


def mixed(fixture):
    """Each command finds what the others stored."""
    fixture.clear()
    for number in range(2):
        for options in OPTIONS:
            options = [option.replace("NAME", "first") for option in options]
            found, plain = run(options, fixture.data, fixture.env), run(options, fixture.data, fixture.off)
            check(found == plain, f"{' '.join(options)}: the same in round {number + 1} of all", found[2], plain[2])


def damaged(fixture):
    plain = run(["script"], fixture.data, fixture.off)

    def ignored(what, change):
        fixture.clear()
        run(["script"], fixture.data, fixture.env)
        before = fixture.files()
        for path in before:
            change(path)
        check(before and run(["script"], fixture.data, fixture.env) == plain, f"ignored: {what}")
        check(run(["script"], fixture.data, fixture.env) == plain and
              all(os.path.isfile(path) and not os.path.islink(path) and os.stat(path).st_mode & 0o777 == 0o600 for path in before),
              f"replaced: {what}")

    def flip(path):
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 2)
            byte = file.read(1)
            file.seek(-1, 1)
            file.write(bytes([byte[0] ^ 255]))

    def link(path):
        os.rename(path, os.path.join(fixture.work, "elsewhere"))
        os.symlink(os.path.join(fixture.work, "elsewhere"), path)

    ignored("a byte that changed", flip)
    ignored("a cut file", lambda path: os.truncate(path, os.path.getsize(path) - 1))
    ignored("an empty file", lambda path: os.truncate(path, 0))
    ignored("a file of zeros", lambda path: open(path, "wb").write(bytes(5000)))
    ignored("a file that others can read", lambda path: os.chmod(path, 0o644))
    ignored("a symbolic link", link)
    if os.geteuid() == 0:
        ignored("a file of another user", lambda path: os.chown(path, 12345, 12345))


def replaced(fixture):
    """Another program at the same path has its own names, also when it has the same size."""
    fixture.clear()
    run(["script"], fixture.data, fixture.env)
    fixture.build("other")
    fixture.record()
    for number in range(2):
        found, plain = run(["script"], fixture.data, fixture.env), run(["script"], fixture.data, fixture.off)
        check(found == plain and b"other_outer" in found[1] and b"first_outer" not in found[1],
              f"another program at the same path, run {number + 1}", found[2], plain[2])


def split(fixture):
    """Files with a part of the debug information are not in the key, so there is no index of frames."""
    fixture.build("apart", split=True)
    fixture.record()
    fixture.settle()
    fixture.clear()
    run(["script"], fixture.data, fixture.env)
    for name in os.listdir(fixture.work):
        if name.endswith(".dwo"):
            os.unlink(os.path.join(fixture.work, name))
    found, plain = run(["script"], fixture.data, fixture.env), run(["script"], fixture.data, fixture.off)
    check(found == plain, "a .dwo file that was removed", found[2], plain[2])


def at_once(fixture):
    """Several processes make the index at the same time."""
    plain = run(["script"], fixture.data, fixture.off)
    fixture.clear()
    running = [subprocess.Popen([PERCH, "script", "-i", fixture.data], env=fixture.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for _ in range(8)]
    outputs = [process.communicate() for process in running]
    check(all(output == plain[1:] for output in outputs), "8 processes at once")
    check(run(["script"], fixture.data, fixture.env) == plain, "one process after them")
    check(all(not os.path.basename(path).startswith(".") for path in fixture.files()), "no temporary file stays", fixture.files())


def main():
    with tempfile.TemporaryDirectory() as work:
        fixture = Fixture(work)
        fixture.build("first")
        fixture.record()
        fixture.clear()
        run(["script"], fixture.data, fixture.env)
        fixture.settle()
        same_output(fixture)
        mixed(fixture)
        damaged(fixture)
        at_once(fixture)
        replaced(fixture)
        split(fixture)
    return int(cases.failed)


sys.exit(main())
