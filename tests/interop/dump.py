#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares every record of `perf report -D` and `perf script -D` with `perch dump -j`, by all fields that both print."""
import collections
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import cases
from cases import limit, report
import peer
import perf_dump

PERCH = os.environ.get("PERCH", "perch")
FIXTURES = os.environ.get("PERCH_FIXTURES")
# Known differences between perf and perch: file, record, field (patterns), and why perf is wrong.
DIFFERENCES = [
    ("", "^COMPRESSED2?$", "^extra$", "perf prints only the decompressed records"),
    ("big_endian", "^MMAP2$", "^(prot|flags)", "perf 6.1 leaves these two in the other byte order"),
]
# Files that the installed perf does not read to the end, and why: the records that it prints are compared.
LARGE_ATTR = "its attrs are larger than those of perf 6.1, which refuses the whole file"
PACKED2 = "perf 6.1 ends at the first COMPRESSED2 record, a newer type"
UNREADABLE = {
    "sleep.data": LARGE_ATTR,
    "sleep.compressed.data": LARGE_ATTR,
    "sleep.compressed2.data": LARGE_ATTR,
    "fibo.compressed2.pipe.data": PACKED2,
    "sleep.compressed2.pipe.data": PACKED2,
    "perf.data.piped.intel_pt-4.14": "in a pipe, perf reads the AUX data after an AUXTRACE record as records, and fails",
}
RECORDINGS = {
    "plain": ["-e", "cpu-clock"],
    "chains": ["-e", "cpu-clock", "-g"],
    "dwarf": ["-e", "cpu-clock", "--call-graph", "dwarf,2048"],
    "registers": ["-e", "cpu-clock", "--intr-regs", "--user-regs=ax,bx,sp,ip"],
    "addresses": ["-e", "page-faults", "-c", "1", "-d", "--phys-data", "-W", "--data-page-size", "--code-page-size"],
    "tracepoints": ["-e", "sched:sched_switch,sched:sched_process_exec,raw_syscalls:sys_enter", "-R"],
    "tasks": ["-e", "cpu-clock", "--switch-events", "--namespaces", "--all-cgroups"],
    "machine": ["-e", "cpu-clock,context-switches", "-a", "--switch-events", "-F", "200"],
    "group": ["-e", "{cpu-clock,page-faults,context-switches}:S"],
    "inherited": ["-e", "task-clock", "-s", "-c", "1000000"],
    "several": ["-e", "cpu-clock,page-faults,minor-faults", "--sample-identifier", "-F", "500"],
    "packed": ["-e", "cpu-clock", "-z"],
    "build_ids": ["-e", "cpu-clock", "--buildid-mmap"],
    "bare": ["-e", "cpu-clock", "--no-timestamp", "-c", "1000000"],
    "cpu": ["-e", "cpu-clock", "--sample-cpu", "-P", "-k", "CLOCK_MONOTONIC"],
    "user": ["-e", "cpu-clock:u", "--kernel-callchains", "-g"],
    "overwrite": ["-e", "cpu-clock", "--overwrite"],
    "lost": ["-e", "raw_syscalls:sys_enter,cpu-clock", "-m", "1"],
    "threads": ["-e", "cpu-clock", "-a", "--threads", "-F", "200"],
    "bpf": ["-e", "cpu-clock", "--sample-identifier", "--data"],
    "late": ["-e", "dummy:u,cpu-clock", "--tail-synthesize"],
}
PIPES = {
    "pipe": ["-e", "cpu-clock"],
    "pipe_chains": ["-e", "cpu-clock,page-faults", "-g"],
    "pipe_packed": ["-e", "cpu-clock", "-z"],
    "pipe_tracepoint": ["-e", "sched:sched_switch"],
}
# Seeds of files by dump_built, which have all record types of perf, and samples with different fields.
BUILT = (1, 2, 3, 4, 6, 8, 9, 11)
BUILT_TYPES = ("AUX", "AUX_OUTPUT_HW_ID", "BPF_EVENT", "CGROUP", "ITRACE_START", "KSYMBOL", "LOST_SAMPLES", "MMAP", "NAMESPACES",
               "READ", "SWITCH", "SWITCH_CPU_WIDE", "TEXT_POKE")
# A BPF program, for KSYMBOL and BPF_EVENT records.
LOAD_BPF = """
import ctypes, struct
code = struct.pack("<BBhi", 0xb7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)
text, license = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
attr = struct.pack("<IIQQIIQII", 1, 2, ctypes.addressof(text), ctypes.addressof(license), 0, 0, 0, 0, 0) + bytes(16)
attr = ctypes.create_string_buffer(attr + b"perch_test".ljust(16, b"\\0"))
print(ctypes.CDLL(None, use_errno=True).syscall(321, 5, attr, 64))
"""
SWAPPED = ("big_endian",)
WORK = ["sh", "-c", "for i in 1 2 3; do ls -l /proc >/dev/null; done; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"]
compared = collections.Counter()  # fields, by type of record


def dump(path, *options):
    run = subprocess.run([PERCH, "dump", "-j", "-x", "-i", path, *options], capture_output=True, timeout=limit(120),
                         stdin=subprocess.DEVNULL)
    return [json.loads(line) for line in run.stdout.decode("utf-8").splitlines()], run


def number(value):
    if isinstance(value, dict):
        value = value["value"]
    return int(value, 0) if isinstance(value, str) else value


def look_up(record, path):
    """The value of a path such as "callchain.3" in the fields of a record, or in the record itself with "!"; or None."""
    at = record if path.startswith("!") else record["fields"]
    for word in path.lstrip("!").split("."):
        if isinstance(at, list):
            if word == "length":
                return len(at)
            at = at[int(word)] if int(word) < len(at) else None
        else:
            at = at.get(word)
        if at is None:
            return None
    return at


def agrees(record, path, expected):
    """None, or the difference. A path may end in a kind of comparison."""
    path, _, how = path.partition(":")
    got = look_up(record, path.rstrip("?"))
    if got is None:
        # perf prints some fields also for samples without them
        return None if path.endswith("?") else f"{path} is missing: {expected}"
    if how in ("has", "lacks"):
        same = (expected in re.split(r"[|, ]+", got)) == (how == "has")
    elif how == "&1":
        same = (number(got) & 1) == expected
    elif how == "float":
        same = abs(float(got) - expected) < 1e-6
    elif isinstance(expected, int):
        same = number(got) == expected
    else:
        same = got == expected
    return None if same else f"{path} is {got}, and {expected} in perf"


SAMPLE_ID_BITS = (1 << 1, 1 << 2, 1 << 6, 1 << 7, 1 << 9, 1 << 16)


def is_too_large(block, record, sample_type):
    """Linux does not restore the size of a KSYMBOL and BPF_EVENT record between the events of several samplers. The records of one of
    them then have more bytes than their fields. perf finds the time by the end of the record, and prints another value."""
    fixed = {"KSYMBOL": lambda: 24 + 8 * (len(str(look_up(record, "name"))) // 8 + 1), "BPF_EVENT": lambda: 24}.get(block.name)
    return fixed is not None and record["size"] > fixed() + 8 * sum(bool(sample_type & bit) for bit in SAMPLE_ID_BITS)


SAMPLE_BITS = {"ip?": 1, "pid?": 2, "tid?": 2, "addr?": 8, "period?": 256, "user_stack.dyn_size?": 1 << 13}


def differences(block, record, sample_types):
    fields = perf_dump.FIELDS.get(block.name)
    if not fields:
        yield "type", f"no comparison of {block.name}"
        return
    for path, expected in fields(block):
        compared[block.name] += 1
        has = sample_types.get(record.get("event_index"), 0) & SAMPLE_BITS.get(path, 0)
        why = agrees(record, path.rstrip("?") if has else path, expected)
        if why:
            yield path, why
    time = look_up(record, "time") if block.type == 9 else look_up(record, "sample_id.time")
    cpu = look_up(record, "cpu") if block.type == 9 else look_up(record, "sample_id.cpu")
    stamp = [value for value in (cpu, time) if value is not None]
    sample_type = next(iter(sample_types.values()), 0)
    if block.stamp and block.stamp[0] >= 0 and stamp and not is_too_large(block, record, sample_type) and [number(value) for value in stamp] != block.stamp:
        yield "time", f"is {stamp}, and {block.stamp} in perf"


def excepted(name, record, path):
    return any(re.search(file, name) and re.search(kind, record) and re.search(field, path)
               for file, kind, field, _ in DIFFERENCES)


def compare(name, blocks, records, sample_types):
    """The differences between perf's blocks and the records of the same offset and bytes."""
    why, left = [], {}
    for record in records:
        if name in SWAPPED:
            record["raw"] = ""
        left.setdefault((record["offset"], record["raw"]), []).append(record)
    for block in blocks:
        if block.name is None:
            continue
        offset = block.offset + 16 * block.pipe
        same = left.get((offset, "" if name in SWAPPED else block.raw))
        if not same:
            if not excepted(name, block.name, "offset"):
                why.append(f"{block.name} at {block.offset:#x}, {block.size} bytes: perch has none there")
            continue
        record = same.pop(0)
        if record["type_number"] != block.type or record["size"] != block.size or "error" in record:
            why.append(f"{block.name} at {block.offset:#x}: {record['type']} {record['size']} {record.get('error', '')}")
            continue
        for path, text in differences(block, record, sample_types):
            if not excepted(name, block.name, path):
                why.append(f"{block.name} at {block.offset:#x}: {text}")
    for found in left.values():
        for record in found:
            if not excepted(name, record["type"], "extra"):
                why.append(f"{record['type']} at {record['offset']:#x}, {record['size']} bytes: perf has none there")
    return why


def check(name, path):
    """Compares all records of a file. False if perf died before it printed all."""
    records, run = dump(path)
    if run.returncode:
        report([f"perch dump: exit {run.returncode}: {run.stderr.decode()[:300]}"], f"{name}: is read")
        return True
    whole = True
    header, _ = dump(path, "--header-only")
    sample_types = {line["event_index"]: number(line["attr"].get("sample_type", 0))
                    for line in header if line["header"] == "event"}
    for tool in ("report", "script"):
        blocks, death = perf_dump.blocks_of(path, tool)
        reason = death or UNREADABLE.get(name)
        whole &= not death
        if death and not blocks:
            print(f"ok - {name}: records as in perf {tool} -D # skip {death} before it printed any")
        elif reason and (death or len(blocks) < len(records)):
            found = {(block.offset + 16 * block.pipe, block.raw) for block in blocks}
            some = [record for record in records if (record["offset"], record["raw"]) in found]
            report(compare(name, blocks, some, sample_types),
                   f"{name}: {len(some)} of {len(records)} records as in perf {tool} -D: {reason}")
        else:
            report(compare(name, blocks, records, sample_types), f"{name}: {len(records)} records as in perf {tool} -D")
    return whole


def big_endian(path):
    """Makes a file of a big-endian machine. perf reads it, but prints the bytes in its own order."""
    def trailed(kind, misc, body):
        body += struct.pack(">IIQ", 70, 71, 5)
        return struct.pack(">IHH", kind, misc, 8 + len(body)) + body

    chain = (2**64 - 128, 0xffffffff81000010, 2**64 - 512, 0x401000, 0x401234)
    sample = struct.pack(">QIIQQQ5Q", chain[1], 70, 71, 9000000001, 4321, len(chain), *chain)
    records = [
        trailed(3, 0x2000, struct.pack(">II8s", 70, 71, b"big")),
        trailed(10, 2, struct.pack(">IIQQQIIQQII16s", 70, 71, 0x400000, 0x1000, 0x2000, 8, 1, 12345, 6, 5, 2, b"/bin/big")),
        trailed(7, 0, struct.pack(">IIIIQ", 70, 60, 71, 61, 6)),
        struct.pack(">IHH", 9, 1, 8 + len(sample)) + sample,
        trailed(2, 0, struct.pack(">QQ", 33, 44)),
        trailed(4, 0, struct.pack(">IIIIQ", 70, 60, 71, 61, 7)),
        struct.pack(">IHHQQ16s", 73, 0, 40, 1, 70, b"big"),
        struct.pack(">IHHHHHH", 74, 0, 16, 0, 2, 1, 3),
        struct.pack(">IHHQQ", 77, 0, 24, 1, 99),
        struct.pack(">IHH", 68, 0, 8),
    ]
    # bit fields of an attr start at the other end
    bits = sum(1 << (63 - bit) for bit in (1, 8, 9, 13, 18, 23))
    attr = struct.pack(">IIQQQQQ", 1, 128, 0, 4321, 1 | 2 | 4 | 32 | 256, 0, bits).ljust(128, b"\0")
    data, start = b"".join(records), 104 + 144
    header = b"2ELIFREP"
    header += struct.pack(">QQQQQQQQ", 104, 144, 104, 144, start, len(data), 0, 0).ljust(96, b"\0")
    with open(path, "wb") as file:
        file.write(header + attr + bytes(16) + data)
    return path


def record(directory, name, options, pipe):
    path = os.path.join(directory, name + ".data")
    work = [sys.executable, "-c", LOAD_BPF] if name == "bpf" else WORK
    command = ["perf", "record", "-q", *options, "-o", "-" if pipe else path, "--", *work]
    with open(path if pipe else os.devnull, "wb") as out:
        run = peer.try_run(command, stdout=out, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=limit(300), cwd=directory)
    if run.returncode or not os.path.getsize(path):
        why = peer.describe(command, run.returncode) + ": " if peer.fault(run.returncode) else ""
        print(f"ok - {name} # skip perf record {' '.join(options)}: {why}{run.stderr.decode()[-200:].strip()}")
        return None
    return path


def check_built(directory):
    builder = os.path.join(os.environ.get("PERCH_BUILD_ROOT", "build"), "tests", "interop", "dump_built")
    before, whole = compared.copy(), True
    for seed in BUILT:
        path = os.path.join(directory, f"built_{seed}.data")
        subprocess.run([builder, path, str(seed)], check=True, timeout=limit(300))
        whole &= check(f"built_{seed}", path)
    missing = [name for name in BUILT_TYPES if whole and compared[name] == before[name]]
    report([f"no field of {name} was compared" for name in missing], f"{len(BUILT)} built files have the rare types")


def main():
    if not shutil.which("perf"):
        print("# no perf to compare with")
        return 77
    chosen = sys.argv[1:]
    every = not chosen
    with tempfile.TemporaryDirectory(prefix="perch-dump-") as directory:
        for table, pipe in ((RECORDINGS, False), (PIPES, True)):
            for name, options in table.items():
                path = record(directory, name, options, pipe) if not chosen or name in chosen else None
                every &= bool(path) and check(name, path)
        if not chosen or "big_endian" in chosen:
            check("big_endian", big_endian(os.path.join(directory, "big_endian.data")))
        if not chosen or "built" in chosen:
            check_built(directory)
    for path in sorted(glob.glob(os.path.join(FIXTURES, "**", "*"), recursive=True)) if FIXTURES else []:
        name = os.path.basename(path)
        if ".data" in name and os.path.isfile(path) and (not chosen or name in chosen):
            check(name, path)
    if not compared:
        print("# perf cannot record, and PERCH_FIXTURES names no files")
        return 77
    # record types that these recordings must have
    missing = [name for name in ("SAMPLE", "MMAP2", "COMM", "FORK", "EXIT", "SWITCH", "NAMESPACES", "ID_INDEX", "THREAD_MAP",
                                 "CPU_MAP", "EVENT_UPDATE") if not compared[name]]
    report([] if not every else [f"no field of {name} was compared" for name in missing],
            "compared fields: " + " ".join(f"{name} {nr}" for name, nr in sorted(compared.items())))
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
