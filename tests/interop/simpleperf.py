#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests recordings of simpleperf, which have the names of the functions that samples hit: in the features FILE, FILE2 and
META_INFO. The files are made here, number by number."""
import os
import struct
import subprocess
import sys
import tempfile

import cases
from cases import check, limit

PERCH = os.environ.get("PERCH", "perch")
KERNEL, MODULE, ELF, DEX = range(4)
FILE, META_INFO, DEBUG_UNWIND, FILE2 = 128, 129, 130, 132
TYPE = 1 | 2 | 4 | 256  # ip, tid, time, period
BUILD_ID = bytes(range(1, 21))


def record(kind, misc, body):
    body += bytes(-len(body) % 8)
    return struct.pack("=IHH", kind, misc, len(body) + 8) + body


def mapping(start, length, offset, path, protection=5, kernel=False):
    if kernel:
        return record(1, 1, struct.pack("=iIQQQ", -1, 0, start, length, offset) + path + b"\0")
    return record(10, 2, struct.pack("=IIQQQIIQQII", 7, 7, start, length, offset, 8, 1, 99, 0, protection, 2) + path + b"\0")


def sample(address, kernel=False):
    return record(9, 1 if kernel else 2, struct.pack("=QIIQQ", address, 7, 7, 1000, 1))


def attr(kind, config):
    return struct.pack("=IIQQQQQ", kind, 112, config, 1000, TYPE, 0, 1 << 8) + bytes(112 - 48)


def recording(records, features, attrs=(attr(0, 0x77),)):
    """A file of these records and features by number."""
    table = b"".join(one + struct.pack("=QQ", 0, 0) for one in attrs)
    data = b"".join(records)
    start = 104 + len(table)
    at = start + len(data) + 16 * len(features)
    sections, bits, bodies = b"", 0, b""
    for number, body in sorted(features.items()):
        bits |= 1 << number
        sections += struct.pack("=QQ", at + len(bodies), len(body))
        bodies += body
    header = struct.pack("=8sQQQQQQQQ", b"PERFILE2", 104, 128, 104, len(table), start, len(data), 0, 0)
    return header + bits.to_bytes(32, sys.byteorder) + table + data + sections + bodies


def text(value):
    value += bytes(64 - len(value) % 64)
    return struct.pack("=I", len(value)) + value


def file_1(path, kind, address, functions, offset=None):
    body = path + b"\0" + struct.pack("=IQI", kind, address, len(functions))
    for start, size, name in functions:
        body += struct.pack("=QI", start, size) + name + b"\0"
    if kind == DEX:
        body += struct.pack("=IQ", 1, 0x28)
    if offset is not None:
        body += struct.pack("=Q", offset)
    return struct.pack("=I", len(body)) + body


def varint(value):
    result = b""
    while value > 127:
        result += bytes([value & 127 | 128])
        value >>= 7
    return result + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def part(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


def file_2(path, kind, address, functions, offset=None):
    body = part(1, path) + number(2, kind) + number(3, address)
    for start, size, name in functions:
        body += part(4, number(1, start) + number(2, size) + part(3, name))
    if kind == ELF:
        body += part(6, number(1, offset) if offset else b"")
    if kind == MODULE:
        body += part(7, number(1, offset or 0))
    body += varint(99 << 3 | 5) + b"abcd"  # a field of later versions
    return struct.pack("=I", len(body)) + body


def run(*words):
    done = subprocess.run([PERCH, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit(60), check=False)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def names(data):
    with open("data", "wb") as out:
        out.write(data)
    status, out, err = run("script", "-i", "data", "-F", "ip,sym")
    return status, [line.split()[1] for line in out.splitlines() if line.strip()], err


LIBRARY, BASE, MODULE_PATH = b"/system/lib64/libfar.so", b"/data/app/base.vdex", b"/vendor/lib/modules/far.ko"
RECORDS = [
    record(3, 0, struct.pack("=II", 7, 7) + b"app\0\0\0\0\0"),
    mapping(0xffffffc000080000, 0x1000000, 0xffffffc000080000, b"[kernel.kallsyms]_text", kernel=True),
    mapping(0xffffffbffc000000, 0x10000, 0, MODULE_PATH, kernel=True),
    mapping(0x7000000000, 0x4000, 0, LIBRARY, 1),
    mapping(0x7000004000, 0x8000, 0x4000, LIBRARY),
    mapping(0x700000c000, 0x1000, 0xc000, LIBRARY, 3),
    mapping(0x7100000000, 0x8000, 0, BASE),
]
SAMPLES = [
    sample(0x7000004128),                # offset 0x4128 of the library, address 0x5128
    sample(0x7000004200),                # between functions
    sample(0x7100000a10),                # bytecode
    sample(0xffffffc000100010, True),    # the kernel
    sample(0xffffffbffc002110, True),    # a module
]
EXPECTED = ["far::inner", "[unknown]", "app.Main.run", "do_far", "far_probe"]


def described(make, offset):
    return (make(LIBRARY, ELF, 0x5000, [(0x5100, 0x40, b"_ZN3far5innerEi"), (0x5800, 0x10, b"outer")], offset) +
            make(b"/other", ELF, 0, [(0, 0xffffff, b"wrong")], 0) +
            make(BASE, DEX, 0, [(0xa00, 0x20, b"app.Main.run")]) +
            make(b"[kernel.kallsyms]", KERNEL, 0, [(0xffffffc000100000, 0x100, b"do_far")]) +
            make(MODULE_PATH, MODULE, 0x100, [(0x200, 0x20, b"far_probe")], 0x2000))


def check_names():
    meta = b"simpleperf_version\x001.2\0event_type_info\0cpu-cycles-of-phone,0,119\nsched:far_switch,2,91\n\0"
    for feature, make, offset, what in ((FILE, file_1, 0x4000, "FILE"), (FILE, file_1, None, "FILE without the offset of the code"),
                                        (FILE2, file_2, 0x4000, "FILE2")):
        data = recording(RECORDS + SAMPLES, {3: text(b"phone"), feature: described(make, offset), META_INFO: meta})
        status, found, err = names(data)
        expected = EXPECTED[:-1] if offset is None else EXPECTED
        check(status == 0 and found[:len(expected)] == expected, "names of the feature " + what, "%s %s" % (found, err))
        check("not supported" not in err and "cannot be read" not in err, "no complaint about the feature " + what, err)
    _, out, err = run("evlist", "-i", "data")
    check(out.startswith("cpu-cycles-of-phone\n"), "the name of an event in META_INFO", out + err)
    _, out, err = run("report", "-i", "data", "--stdio", "-s", "sym")
    check("far::inner" in out and "1 address in /system/lib64/libfar.so has no name: the recording has only other functions" in err,
          "report says what has no name", out + err)


def check_damage():
    """Each cut and each changed byte gives right names, or fewer, and is said."""
    for feature, make in ((FILE, file_1), (FILE2, file_2)):
        body = described(make, 0x4000)
        ends, at = {0}, 0
        while at < len(body):
            at += 4 + struct.unpack("=I", body[at:at + 4])[0]
            ends.add(at)
        for length in range(0, len(body), 7):
            data = recording(RECORDS + SAMPLES, {3: text(b"phone"), feature: body[:length]})
            status, found, err = names(data)
            if status != 0 or len(found) != 5 or not set(found) <= set(EXPECTED) or ("names are missing" in err) == (length in ends):
                check(False, "feature %d cut to %d bytes" % (feature, length), "%s %s" % (found, err))
                return
        for at in range(0, len(body), 5):
            changed = body[:at] + bytes([body[at] ^ 0xff]) + body[at + 1:]
            status, found, err = names(recording(RECORDS + SAMPLES, {3: text(b"phone"), feature: changed}))
            if status != 0 or len(found) != 5:
                check(False, "feature %d with another byte at %d" % (feature, at), "%s %s" % (found, err))
                return
    check(True, "damaged features")


def check_unknown():
    data = recording(RECORDS + SAMPLES, {3: text(b"phone"), DEBUG_UNWIND: b"x", 200: b"y"})
    _, _, err = names(data)
    check("2 features in the header of data are not supported by this version (the first is number 130)" in err,
          "unknown features are reported", err)
    data = recording(RECORDS + SAMPLES, {3: text(b"phone"), 200: b"y"})
    _, _, err = names(data)
    check("1 feature in the header of data is not supported by this version (number 200)" in err, "an unknown feature is reported", err)


def check_tracing_data():
    """simpleperf once wrote formats of tracepoints inside of their record."""
    inside = b"\x17\x08\x44tracing0.5\0" + bytes(100)
    old = struct.pack("=IHHI", 66, 0, 12 + 128, len(inside)) + inside + bytes(128 - len(inside))
    status, found, err = names(recording([old] + RECORDS + SAMPLES, {3: text(b"phone"), FILE: described(file_1, 0x4000)}))
    check(status == 0 and "damaged" not in err and found == EXPECTED, "formats of tracepoints inside of their record", "%s %s" % (found, err))


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        check_names()
        check_damage()
        check_unknown()
        check_tracing_data()
        os.chdir("/")
    return cases.failed


if __name__ == "__main__":
    sys.exit(main())
