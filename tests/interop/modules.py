#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Functions, inlined functions and lines of kernel modules, from their files: plain and compressed, stripped with separate debug
files, from the build id cache. The module is made here, and is not loaded: records of a mapping say where it was."""
import gzip
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import peer
import cases
from cases import check
from peer import output

PERCH = os.environ["PERCH"]
PERF = shutil.which("perf")
LINES = os.path.join(os.environ["PERCH_BUILD_ROOT"], "tests", "interop", "module_lines")
RELEASE = "9.9.9-perch"
KERNEL, START, LENGTH = 0xffffffff81000000, 0xffffffffc0100000, 0x8000
TREE = f"lib/modules/{RELEASE}/kernel/fs"
SOURCE = """
#define IN(name) __attribute__((used, noinline, section(name)))
static volatile int x;
IN(".init.text") int init_module(void) { x = 1; return 0; }
static inline __attribute__((always_inline)) int inner(int a)
{
	x += a;
	x *= 3;
	return x;
}
static inline __attribute__((always_inline)) int outer(int a)
{
	x ^= a;
	return inner(a) - 1;
}
__attribute__((noinline, used)) int first(int a) { return outer(a) + 1; }
__attribute__((noinline, used)) int second(int a)
{
	x = a;
	return first(a) * 2;
}
IN(".text.unlikely") int rare(int a)
{
	x -= a;
	return inner(x);
}
IN(".static_call.text") void call(void) { x = 7; }
IN(".exit.text") void cleanup_module(void) { x = 0; }
IN(".text.last") int last(int a) { return outer(a); }
__attribute__((section(".modinfo"), used)) static const char info[] =
	"license=GPL\\0name=perch_mod\\0vermagic=%s SMP preempt %s ";
__attribute__((section(".gnu.linkonce.this_module"), used)) static char module[64];
"""


# ---- the module ----

def make(path, unload="mod_unload"):
    with open("m.c", "w", encoding="ascii") as file:
        file.write(SOURCE % (RELEASE, unload))
    output("gcc", "-O2", "-g", "-fno-pic", "-fcf-protection=none" if os.uname().machine == "x86_64" else "-g",
        *(["-mcmodel=kernel"] if os.uname().machine == "x86_64" else []), "-c", "m.c", "-o", "m.o")
    output("ld", "-r", "--build-id", "m.o", "-o", path)


def build_id_of(path):
    return re.search(r"Build ID: (\w+)", output("readelf", "-n", path))[1]


def layout(path, without=()):
    """{section with code: where the kernel puts it}."""
    at, found = 0, {}
    for line in output("readelf", "-SW", path).splitlines():
        word = re.sub(r"^ *\[ *\d+\] ", "", line).split()
        if len(word) < 10 or "X" not in word[6] or word[0].startswith((".init", *without)):
            continue
        align = int(word[-1])
        at = (at + align - 1) // align * align
        found[word[0]] = START + at
        at += int(word[4], 16)
    return found


def instructions(path, starts):
    """{recorded address: (section, offset)} of the instructions."""
    found, section = {}, None
    for line in output("objdump", "-d", "--no-show-raw-insn", path).splitlines():
        if line.startswith("Disassembly of section "):
            section = line.split()[-1].rstrip(":")
        address, _, instruction = line.partition(":")
        if line.startswith(" ") and section in starts and not re.search(r"\bnop|xchg +%ax,%ax", instruction):
            found[starts[section] + int(address, 16)] = (section, int(address, 16))
    return found


def expected_frames(path, where):
    """{address: [(function, line)]} of addr2line."""
    frames = {}
    for section in {section for section, _ in where.values()}:
        inside = {offset: address for address, (at, offset) in where.items() if at == section}
        text = output("addr2line", "-i", "-f", "-a", "-j", section, "-e", path, input="".join("%x\n" % offset for offset in inside))
        lines = iter(text.splitlines())
        for line in lines:
            if line.startswith("0x"):
                current = frames.setdefault(inside[int(line, 16)], [])
            else:
                current.append((line, os.path.basename(next(lines).split(" (")[0])))
    return frames


def found_frames(root, path, addresses, build_id, release=RELEASE):
    text = output(LINES, root, path, "%x" % START, release, build_id, input="".join("%x\n" % address for address in addresses))
    frames = {}
    for line in text.splitlines():
        if not line.startswith("\t"):
            current = frames.setdefault(int(line, 16), [])
        else:
            name, _, source = line.strip().partition(" ")
            current.append((name, os.path.basename(source)))
    return frames


# ---- recordings ----

def record(kind, misc, body):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


def feature(number, text):
    text += b"\0" * (64 - len(text))
    return record(80, 0, struct.pack("=QI", number, len(text)) + text)


def mapping(start, length, name, page_offset=0):
    return record(1, 1, struct.pack("=iIQQQ", -1, 0, start, length, page_offset) + name.encode() + b"\0")


def make_recording(path, name, addresses, build_id="", release=RELEASE, length=LENGTH):
    """A piped recording of another machine."""
    attr = struct.pack("=IIQQQQQ16x", 1, 64, 0, 1000, 3, 0, 0)
    records = [record(64, 0, attr + struct.pack("=Q", 7)), feature(3, b"another-host"), feature(4, release.encode()),
               feature(6, os.uname().machine.encode()), mapping(KERNEL, 0x1000000, "[kernel.kallsyms]_text", KERNEL)]
    if build_id:
        bytes_ = bytes.fromhex(build_id)
        records.append(record(67, 1, struct.pack("=i20sB3x", -1, bytes_, len(bytes_)) + name.encode() + b"\0"))
    records.append(mapping(START, length, name))
    records += [record(9, 1, struct.pack("=QII", address, 1, 1)) for address in addresses]
    with open(path, "wb") as file:
        file.write(struct.pack("=QQ", 0x32454c4946524550, 16) + b"".join(records))


def names(*words):
    """{address: function+offset} and the notes."""
    done = peer.run([*words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    return ({int(found[1], 16): found[2] for found in re.finditer(r"\b(ffffffffc01\w+) (\S+) \(", done.stdout)}, done.stderr)


def perch_names(*options, path="data"):
    return names(PERCH, "script", "-i", path, *options)


def perf_names(*options, path="data"):
    return names(PERF, *options, "script", "-i", path, "-F", "ip,sym,symoff,dso", "--max-blocks", "0")[0]


def all_named(found, where):
    return set(found) == set(where) and all("+0x" in name for name in found.values())


def none_named(found, where):
    return set(found) == set(where) and all(name == "[unknown]" for name in found.values())


# ---- the tests ----

def compressed_forms():
    """{suffix: function that makes the file}"""
    def write(opener):
        def make_file(path, to):
            with open(path, "rb") as file, opener(to, "wb") as out:
                out.write(file.read())
        return make_file

    forms = {"": shutil.copy, ".gz": write(gzip.open), ".xz": write(lzma.open)}
    if shutil.which("zstd"):
        forms[".zst"] = lambda path, to: output("zstd", "-q", "-f", path, "-o", to)
    return forms


@peer.part
def compare_names(found, where, suffix):
    theirs = {at: name for at, name in perf_names().items() if where[at][0] == ".text" and "+0x" in name}
    check(all(found[at] == name for at, name in theirs.items()) and (theirs or suffix), f"functions of .ko{suffix} as in perf",
          [(hex(at), name, found[at]) for at, name in theirs.items() if found[at] != name][:5])


def check_forms(where, build_id, expected):
    for suffix, make_file in compressed_forms().items():
        path = os.path.abspath("perch-mod.ko" + suffix)
        if suffix:
            make_file("perch-mod.ko", path)
        make_recording("data", path, where, build_id)
        found, notes = perch_names()
        check(all_named(found, where) and all(name.split("+")[0] == expected[at][-1][0] for at, name in found.items()),
              f"functions of .ko{suffix}", (found, notes))
        frames = found_frames("", path, where, build_id)
        check(frames == expected, f"lines and inlined functions of .ko{suffix} as by addr2line",
              [(hex(at), frames.get(at), expected[at]) for at in expected if frames.get(at) != expected[at]][:5])
        if PERF and suffix in ("", ".gz", ".xz"):
            compare_names(found, where, suffix)
    other = ("00" if build_id[:2] != "00" else "01") + build_id[2:]
    make_recording("data", os.path.abspath("perch-mod.ko"), where, other)
    found, notes = perch_names()
    check(none_named(found, where) and "is another build of the module" in notes, "a module of another build has no names", (found, notes))
    make_recording("data", os.path.abspath("perch-mod.ko"), where, build_id, length=64)
    found, notes = perch_names()
    check(not any("+0x" in name for name in found.values()), "a module that is larger than the recorded one has no names", found)


def check_damaged(where, build_id):
    with open("perch-mod.ko.xz", "rb") as file:
        content = file.read()
    for what, bytes_ in (("truncated", content[:len(content) // 2]), ("damaged", content[:40] + b"\xa5" * 200 + content[240:]), ("empty", b"")):
        with open("broken.ko.xz", "wb") as file:
            file.write(bytes_)
        make_recording("data", os.path.abspath("broken.ko.xz"), where, build_id)
        found, notes = perch_names()
        check(none_named(found, where), f"a {what} .ko.xz has no names", (found, notes))


def check_expansion(where, build_id):
    """A small file cannot make perch write a large one."""
    with open("perch-mod.ko", "rb") as file:
        content = file.read()
    for size, named in ((4 << 20, True), (64 << 20, False)):
        with gzip.open("zeros.ko.gz", "wb") as file:
            file.write(content + b"\0" * size)
        make_recording("data", os.path.abspath("zeros.ko.gz"), where, build_id)
        found, notes = perch_names()
        check((all_named if named else none_named)(found, where) and ("when it is decompressed" in notes) != named,
              f"a .ko.gz with {size >> 20} MiB of zeros: {'names' if named else 'no names, and why'}", (found, notes))


def check_repeated_relocations(where, build_id, expected):
    """Many relocation sections of the same bytes are not a module that a linker makes: it would take minutes."""
    with open("perch-mod.ko", "rb") as file:
        content = file.read()
    at, number = struct.unpack_from("=Q", content, 40)[0], struct.unpack_from("=H", content, 60)[0]
    headers = [content[at + 64 * i:at + 64 * (i + 1)] for i in range(number)]
    texts = content[struct.unpack_from("=Q", headers[struct.unpack_from("=H", content, 62)[0]], 24)[0]:]
    named = {texts[struct.unpack_from("=I", header)[0]:].split(b"\0")[0]: header for header in headers}
    headers += 4000 * [named[b".rela.debug_info"]]
    content = bytearray(content + b"\0" * (-len(content) % 8))
    struct.pack_into("=Q", content, 40, len(content))
    struct.pack_into("=H", content, 60, len(headers))
    with open("repeated.ko", "wb") as file:
        file.write(content + b"".join(headers))
    frames = found_frames("", os.path.abspath("repeated.ko"), where, build_id)
    check(all(frames[at] == [(expected[at][-1][0], "??:0")] for at in where), "repeated relocations: functions, and no lines", frames)


def check_releases(where, build_id, expected):
    os.makedirs(f"root/{TREE}")
    shutil.copy("perch-mod.ko.xz", f"root/{TREE}")
    with open(f"root/lib/modules/{RELEASE}/modules.dep", "w", encoding="ascii") as file:
        file.write("kernel/fs/other.ko: kernel/fs/perch-mod.ko.xz\nkernel/fs/perch-mod.ko.xz:\n")
    for build, release, named in (("", RELEASE, True), (build_id, RELEASE, True), ("", "9.9.9-other", False), (build_id, "9.9.9-other", False),
                                  ("", "../../" + RELEASE, False)):
        make_recording("data", "[perch_mod]", where, build, release)
        found, notes = perch_names("--symfs", "root")
        check((all_named if named else none_named)(found, where),
              f"release {release}, {'with' if build else 'without'} a build id: {'names' if named else 'no names'}", (found, notes))
    make_recording("data", f"/{TREE}/perch-mod.ko.xz", where, "", "9.9.9-other")
    found, notes = perch_names("--symfs", "root")
    check(none_named(found, where), "a file of another release has no names without a build id", (found, notes))
    frames = found_frames("root", "[perch_mod]", where, "")
    check(frames == expected, "lines of a module of the recorded release", frames)


def check_debug_files(where, build_id, expected):
    output("objcopy", "--only-keep-debug", "perch-mod.ko", "perch-mod.debug")
    output("objcopy", "--strip-debug", "perch-mod.ko", f"root/{TREE}/perch-mod.ko")
    os.remove(f"root/{TREE}/perch-mod.ko.xz")
    path = f"/{TREE}/perch-mod.ko"
    nothing = found_frames("root", path, where, build_id)
    check(all(frames == [(expected[at][-1][0], "??:0")] for at, frames in nothing.items()) and set(nothing) == set(where),
          "a stripped module has functions, and no lines", nothing)
    for debug in (f"usr/lib/debug/{TREE}/perch-mod.ko", f"usr/lib/debug/{TREE}/perch-mod.ko.debug", f"usr/lib/debug/usr/{TREE}/perch-mod.ko",
                  f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug", f".debug/.build-id/{build_id[:2]}/{build_id[2:]}/debug"):
        os.makedirs(os.path.dirname("root/" + debug), exist_ok=True)
        shutil.copy("perch-mod.debug", "root/" + debug)
        frames = found_frames("root", path, where, build_id)
        check(frames == expected, "lines from /" + debug.replace(build_id[2:], "..."), frames)
        if debug.startswith(".debug"):
            break
        os.remove("root/" + debug)
    # the debug file alone does not say whether the kernel keeps .exit.text
    os.remove("root" + path)
    before = {at: at_section for at, at_section in where.items() if at_section[0] not in (".exit.text", ".text.last")}
    frames = found_frames("root", path, where, build_id)
    check(all(frames[at] == expected[at] for at in before) and all(name == "??" for at in set(where) - set(before) for name, _ in frames[at]),
          "a debug file without the module", frames)


def check_cache(where, build_id):
    cache = os.path.abspath("cache")
    path = os.path.abspath("perch-mod.ko.xz")
    shutil.copy(path, "saved.xz")
    make_recording("data", path, where, build_id)
    for program in (PERCH, PERF) if PERF else (PERCH,):
        shutil.rmtree(cache, ignore_errors=True)
        shutil.copy("saved.xz", path)
        check_cache_of(program, cache, path, where, build_id)
    shutil.copy("saved.xz", path)


@peer.part
def check_cache_of(program, cache, path, where, build_id):
    peer.run([program, "--buildid-dir", cache, "buildid-cache", "-a", path])
    os.remove(path)
    check(build_id in output(PERCH, "--buildid-dir", cache, "buildid-cache", "-l"), f"{os.path.basename(program)} adds a module to the cache")
    found, notes = names(PERCH, "--buildid-dir", cache, "script", "-i", "data")
    check(all_named(found, where), f"functions of a module that {os.path.basename(program)} added to the cache", (found, notes))
    theirs = perf_names("--buildid-dir", cache) if PERF else {}
    check(all(found[at] == name for at, name in theirs.items() if where[at][0] == ".text" and "+0x" in name),
          "and perf's are the same", theirs)


def check_without_unload():
    make("keeps.ko", "modversions")
    where = instructions("keeps.ko", layout("keeps.ko", (".exit",)))
    expected = expected_frames("keeps.ko", where)
    frames = found_frames("", os.path.abspath("keeps.ko"), where, build_id_of("keeps.ko"))
    check(frames == expected and len(where) > 10, "a kernel without CONFIG_MODULE_UNLOAD does not keep .exit.text", frames)


def main():
    for tool in ("gcc", "ld", "objcopy", "objdump", "readelf", "addr2line"):
        if not shutil.which(tool):
            print("skipped: no " + tool)
            return 77
    if os.uname().machine not in ("x86_64", "aarch64"):
        print("skipped: the layout of modules is named for x86-64 and arm64")
        return 77
    make("perch-mod.ko")
    where = instructions("perch-mod.ko", layout("perch-mod.ko"))
    build_id = build_id_of("perch-mod.ko")
    expected = expected_frames("perch-mod.ko", where)
    check(len(expected) > 30 and any(len(frames) == 3 for frames in expected.values()), "the module has inlined functions", expected)
    check_forms(where, build_id, expected)
    check_damaged(where, build_id)
    check_expansion(where, build_id)
    check_repeated_relocations(where, build_id, expected)
    check_cache(where, build_id)
    check_releases(where, build_id, expected)
    check_debug_files(where, build_id, expected)
    check_without_unload()
    return int(cases.failed)


with tempfile.TemporaryDirectory(prefix="perch-modules-") as directory:
    os.environ["HOME"] = directory
    os.chdir(directory)
    sys.exit(main())
