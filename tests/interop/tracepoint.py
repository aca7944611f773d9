#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the fields of tracepoints that `perch dump -j` prints with the fields that `perf script` prints.

perf decodes them with libtraceevent. Its output is "name=value" or "name: 0xvalue" for most tracepoints. Names of flags and values
that perf computes from several fields are not compared. The recording has the fields of this kernel: numbers, arrays, pointers,
strings in place and __data_loc; the unit test tracepoint has __rel_loc, which few kernels write.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import peer
import cases
from cases import check

PERCH = os.environ.get("PERCH", "perch")
EVENTS = ["sched:sched_switch", "sched:sched_wakeup", "sched:sched_process_exec", "sched:sched_process_fork", "sched:sched_process_exit",
          "syscalls:sys_enter_openat", "syscalls:sys_exit_openat", "syscalls:sys_enter_mmap", "raw_syscalls:sys_enter",
          "raw_syscalls:sys_exit", "kmem:kmalloc", "kmem:mm_page_alloc", "signal:signal_generate", "signal:signal_deliver",
          "task:task_newtask", "task:task_rename"]
WORK = ["sh", "-c", "for i in 1 2 3; do ls -l / >/dev/null; done; sh -c 'kill -USR1 $$'; exit 0"]
# Values that perf computes: the name of the field is not only its own.
COMPUTED = {("kmem:mm_page_alloc", "page"), ("sched:sched_switch", "prev_state"), ("sched:sched_wakeup", "success")}
# Fields that perf prints in hexadecimal without 0x.
HEXADECIMAL = {("task:task_newtask", "clone_flags"), ("signal:signal_deliver", "sa_flags"), ("signal:signal_deliver", "sa_handler")}
compared = collections.Counter()
kinds = collections.Counter()


def skip(why):
    print(f"# skipped: {why}")
    sys.exit(77)


def recorded_samples(path):
    """Samples by (time in microseconds, thread, event), each a list of their fields."""
    samples = collections.defaultdict(list)
    lines = subprocess.run([PERCH, "dump", "-j", "-t", "SAMPLE", path], capture_output=True, text=True, check=True).stdout
    for line in lines.splitlines():
        record = json.loads(line)
        fields = record["fields"]
        samples[int(fields["time"]) // 1000, fields["tid"], record["event"]].append(record.get("tracepoint"))
    return samples


def scripted_samples(path):
    """The same from perf script: lists of texts."""
    samples = collections.defaultdict(list)
    lines = peer.run(["perf", "script", "-i", path, "-F", "tid,time,event,trace", "--ns"], capture_output=True, text=True,
                     errors="replace", check=True).stdout
    for line in lines.splitlines():
        match = re.match(r"\s*(-?\d+)\s+(\d+)\.(\d{9}):\s+(\S+?:\S+?):\s*(.*)", line)
        if match:
            time = int(match[2]) * 1000000 + int(match[3]) // 1000
            samples[time, int(match[1]), match[4]].append(match[5])
    return samples


def same(kind, value, text):
    """Whether perf's text is the value; None if the text is not a value."""
    if "char[" in kind:
        return value == text
    if not re.fullmatch(r"-?\d+|0x[0-9a-f]+", text):
        return None
    number = int(value, 0) if isinstance(value, str) else value
    if text.startswith("0x"):
        return number % 2**64 == int(text, 16) or number % 2**32 == int(text, 16)
    return number == int(text) or (kind.startswith("unsigned") and number == int(text) % 2**64)


def compare_text(event, fields, text):
    """The differences of one sample."""
    if event == "raw_syscalls:sys_enter":
        number, arguments = re.match(r"NR (-?\d+) \(([^)]*)\)", text).groups()
        compared[event] += 7
        kinds["unsigned long[6]"] += 1
        found = [int(value, 16) for value in arguments.split(",")]
        if int(number) != fields["id"]["value"] or found != [int(value) for value in fields["args"]["value"]]:
            yield f"{event}: {text}: {fields}"
        return
    # A value ends at the next name; the name of a thread may have blanks.
    for name, value in re.findall(r"(\w+)(?:=|: )(\S.*?)(?=[ ,]+\w+(?:=|: )|\s*$)", text):
        if name not in fields or (event, name) in COMPUTED or name.startswith("common_"):
            continue
        if "char[" not in fields[name]["type"]:
            value = re.match(r"[^ ,]*", value)[0]
        value = "0x" + value if (event, name) in HEXADECIMAL else value
        equal = same(fields[name]["type"], fields[name]["value"], value)
        if equal is None:
            continue
        compared[event] += 1
        kinds[fields[name]["type"]] += 1
        if not equal:
            yield f"{event}: {name}: {fields[name]} in perch, {value} in perf"


@peer.part
def compare(path, label):
    ours, theirs = recorded_samples(path), scripted_samples(path)
    samples, bad = 0, []
    for key, texts in theirs.items():
        if len(texts) != len(ours[key]):
            bad.append(f"{key}: {len(ours[key])} samples in perch, {len(texts)} in perf")
            continue
        for fields, text in zip(ours[key], texts):
            samples += 1
            if fields is None:
                bad.append(f"{key}: no fields")
            elif len(texts) == 1:
                bad += compare_text(key[2], fields, text)
    check(samples > 100 and not bad, f"{label}: {samples} samples have the same fields as in perf script", *bad)


def main():
    if not shutil.which("perf"):
        skip("no perf")
    with tempfile.TemporaryDirectory() as directory:
        events = [event for event in EVENTS if subprocess.run([PERCH, "list", event], capture_output=True).returncode == 0]
        options = [word for event in events for word in ("-e", event)]
        for name, recorder in (("perf", ["perf", "record", "-q"]), ("perch", [PERCH, "record"])):
            path = os.path.join(directory, name)
            raw = ["-R"] if name == "perf" else []
            result = peer.try_run(recorder + ["-o", path, "-c", "1"] + raw + options + ["--"] + WORK, capture_output=True, text=True)
            if result.returncode or not os.path.exists(path):
                skip(f"{name} cannot record tracepoints: {result.stderr.strip()[-200:]}")
            compare(path, f"file of {name}")
        path = os.path.join(directory, "pipe")
        with open(path, "wb") as file:
            piped = peer.try_run(["perf", "record", "-q", "-o", "-", "-R", "-c", "1", "-e", "sched:sched_process_exec,raw_syscalls:sys_enter",
                                  "--"] + WORK, stdout=file, stderr=subprocess.DEVNULL)
        if peer.fault(piped.returncode):
            print("ok - piped file of perf # skip " + peer.describe(piped.args, piped.returncode))
        else:
            compare(path, "piped file of perf")
    print("# compared: " + ", ".join(f"{count} of {event}" for event, count in sorted(compared.items())))
    wanted = {"pid_t", "char[16]", "__data_loc char[]", "unsigned long[6]"}
    check(wanted <= set(kinds), "numbers, strings, __data_loc and arrays were compared", *(wanted - set(kinds)))
    return int(cases.failed)


sys.exit(main())
