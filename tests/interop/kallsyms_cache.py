#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cache of /proc/kallsyms: it is used, and it is ignored if anything about it is wrong."""
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib
import cases
from cases import check

PERCH = os.environ["PERCH"]
HEAD = struct.Struct("=8s36sIQQQIIIIQ4096s")
MEMBERS = ("magic", "boot", "crc", "modules", "text_start", "stext", "nr", "names_size", "lines_size", "lines_crc", "first_size", "first")
INDEX = struct.Struct("=QII")  # start, names, crc
FUNCTION_SIZE = 16
BLOCK = 128


def environment(home, **more):
    result = {key: value for key, value in os.environ.items() if key not in ("PERCH_CACHE", "XDG_CACHE_HOME")}
    return dict(result, HOME=home, **more)


def report(data, env):
    run = subprocess.run([PERCH, "report", "--stdio", "-i", data], env=env, capture_output=True, text=True)
    return run.stdout


def kernel_function(text):
    found = re.search(r"\[k\] ([a-z][a-z0-9_]{6,})$", text, re.MULTILINE)
    return found and found[1]


class Cache:
    """The file of the cache, as its parts."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            bytes_ = file.read()
        for member, value in zip(MEMBERS, HEAD.unpack_from(bytes_)):
            setattr(self, member, value)
        at = HEAD.size
        blocks = (self.nr + BLOCK - 1) // BLOCK
        self.index = [list(INDEX.unpack_from(bytes_, at + i * INDEX.size)) for i in range(blocks + 1)]
        at += INDEX.size * (blocks + 1)
        self.functions = bytes_[at:at + FUNCTION_SIZE * self.nr]
        at += FUNCTION_SIZE * self.nr
        self.names = bytes_[at:at + self.names_size]
        self.lines = bytes_[at + self.names_size:]

    def block(self, i):
        """The functions and names of a block."""
        first, names, end = i * BLOCK, self.index[i][1], self.index[i + 1][1]
        return self.functions[first * FUNCTION_SIZE:(first + BLOCK) * FUNCTION_SIZE] + self.names[names:end]

    def head(self, crc):
        values = {member: getattr(self, member) for member in MEMBERS}
        return HEAD.pack(*dict(values, crc=crc).values())

    def write(self, crc=True, block_crc=True, mode=0o600):
        for i, index in enumerate(self.index[:-1]):
            index[2] = zlib.crc32(self.block(i)) if block_crc else index[2]
        index = b"".join(INDEX.pack(*entry) for entry in self.index)
        crc = zlib.crc32(index, zlib.crc32(self.head(0))) if crc else self.crc
        with open(self.path, "wb") as file:
            file.write(self.head(crc) + index + self.functions + self.names + self.lines)
        os.chmod(self.path, mode)


def main():
    work = tempfile.TemporaryDirectory()
    home, data = os.path.join(work.name, "home"), os.path.join(work.name, "data")
    os.mkdir(home)
    env = environment(home)
    path = os.path.join(home, ".cache/perch/kallsyms")
    subprocess.run([PERCH, "record", "-q", "-e", "cpu-clock:k", "-F", "5000", "-o", data, "dd", "if=/dev/zero", "of=/dev/null",
                    "bs=64k", "count=20000"], env=env, stderr=subprocess.DEVNULL)
    plain = report(data, environment(home, PERCH_CACHE="0"))
    function = kernel_function(plain)
    if not function:
        print("ok - the cache of /proc/kallsyms # skip this user cannot see kernel functions")
        return 0
    check(not os.path.exists(path), "PERCH_CACHE=0 writes no cache")
    check(report(data, env) == plain, "the report that writes the cache")
    check(os.path.exists(path) and os.stat(path).st_mode & 0o777 == 0o600, "a cache of mode 0600")
    check(report(data, env) == plain, "the report that uses the cache")

    changed = function[:-1] + ("X" if function[-1] != "X" else "Y")

    def change():
        """Makes a valid cache with another name: a report that has it used the cache."""
        cache = Cache(path)
        cache.names = cache.names.replace(f"\0{function}\0".encode(), f"\0{changed}\0".encode())
        return cache

    change().write()
    found = report(data, env)
    check(f"[k] {changed}\n" in found, "the names are those of the cache", function, changed, found)
    check(report(data, environment(home, PERCH_CACHE="0")) == plain, "PERCH_CACHE=0 does not use it")

    def ignored(name, prepare):
        if os.path.lexists(path):
            os.unlink(path)
        report(data, env)
        cache = change()
        prepare(cache)
        found = report(data, env)
        check(found == plain, f"ignored: {name}", found)

    def with_member(member, value):
        def prepare(cache):
            setattr(cache, member, value)
            cache.write()
        return prepare

    def boot(cache):
        cache.boot = cache.boot[::-1]
        cache.write()

    def first(cache):
        cache.first = b"0" * 16 + cache.first[16:]
        cache.first = bytes([cache.first[0] ^ 1]) + cache.first[1:]
        cache.write()

    def cut(cache):
        cache.write()
        os.truncate(path, os.stat(path).st_size // 2)

    def name_outside(cache):
        for i in range(cache.nr):
            at = i * FUNCTION_SIZE + 8
            cache.functions = cache.functions[:at] + b"\xff\xff\xff\x7f" + cache.functions[at + 4:] if i % BLOCK == 7 else cache.functions
        cache.write()

    def unsorted(cache):
        cache.functions = bytes(len(cache.functions))
        cache.write()

    def unsorted_index(cache):
        cache.index[5], cache.index[6] = cache.index[6], cache.index[5]
        cache.write()

    def link(cache):
        cache.path = path + "-other"
        cache.write()
        os.unlink(path)
        os.symlink(cache.path, path)

    def owner(cache):
        cache.write()
        os.chown(path, 12345, 12345)

    ignored("another boot", boot)
    ignored("other modules", with_member("modules", 12345))
    ignored("another beginning of /proc/kallsyms", first)
    ignored("another version", with_member("magic", b"PERCHKS1"))
    ignored("a wrong checksum", lambda cache: cache.write(crc=False))
    ignored("a wrong checksum of blocks", lambda cache: cache.write(block_crc=False))
    ignored("a wrong number of functions", with_member("nr", 0xffffffff))
    ignored("no functions", with_member("nr", 0))
    ignored("a wrong size", with_member("names_size", 0xfffffff0))
    ignored("a name outside of its block", name_outside)
    ignored("functions that are not sorted", unsorted)
    ignored("blocks that are not sorted", unsorted_index)
    ignored("a cut file", cut)
    ignored("an empty file", lambda cache: os.truncate(path, 0))
    ignored("a file that others can read", lambda cache: cache.write(mode=0o644))
    ignored("a symbolic link", link)
    if os.geteuid() == 0:
        ignored("a file of another user", owner)
    if os.geteuid() == 0:
        foreign = os.path.join(work.name, "foreign")
        os.mkdir(foreign)
        os.chown(foreign, 12345, 12345)
        found = report(data, environment(foreign))
        check(found == plain and not os.listdir(foreign), "nothing is written in the home directory of another user", found)
    report(data, env)
    check(os.stat(path).st_uid == os.geteuid() and not os.path.islink(path), "a cache that is ignored is replaced")
    names = set(os.listdir(os.path.dirname(path)))
    check(names <= {"kallsyms", "kallsyms-other", "sample-cost", "symbols"}, "no temporary file stays", *names)

    other = os.path.join(work.name, "other")
    check(report(data, environment(home, XDG_CACHE_HOME=other)) == plain and os.path.exists(os.path.join(other, "perch/kallsyms")),
          "XDG_CACHE_HOME")
    check(report(data, environment("/proc/none")) == plain, "a directory that cannot be made")
    return int(cases.failed)


sys.exit(main())
