#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A log of strace gives the same causes as tracing the program, with any options of strace."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
import peer
from cases import check

PERCH = os.environ.get("PERCH", "build/perch")
CALLS = "perf_event_open,ioctl,mmap,read,readv,close,clone,clone3,fork,vfork,execve"
NUMBERS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
# System calls of all kinds that the kernel refuses. {N} is the number of perf_event_open.
PROGRAM = r"""
import ctypes, fcntl, os, struct, threading
libc = ctypes.CDLL(None, use_errno=True)
def attr(**fields):
    a = bytearray(136)
    struct.pack_into("IIQ", a, 0, fields.get("type", 1), fields.get("size", 136), fields.get("config", 9))
    for name, (at, form) in {"period": (16, "Q"), "sample_type": (24, "Q"), "read_format": (32, "Q"), "flags": (40, "Q"),
                             "bp_type": (52, "I"), "bp_addr": (56, "Q"), "bp_len": (64, "Q"), "branch": (72, "Q"),
                             "regs": (80, "Q"), "stack": (88, "I"), "clockid": (92, "i")}.items():
        struct.pack_into(form, a, at, fields.get(name, 0))
    return bytes(a)
def call(a, pid=0, cpu=-1, group=-1, flags=0):
    return libc.syscall({N}, a, pid, cpu, group, flags)
call(attr(flags=1 << 25, clockid=99))
call(attr(sample_type=1 << 40))
call(attr(read_format=1 << 20))
call(attr(type=3, config=0xff))
call(attr(type=0x7777))
call(attr(type=2, config=0x7fffffff))
call(attr(type=5, config=0, bp_type=2, bp_addr=0x1001, bp_len=4))
call(attr(sample_type=1 << 13, stack=7))
call(attr(flags=1 << 37))
call(attr(flags=1 << 35))
call(attr(), pid=-1)
call(attr(), cpu=100000)
call(attr(), cpu=-5)
call(attr(), pid=4000000)
call(attr(), group=0)
call(attr(), flags=0x40)
call(attr(size=8))
call(None)
event = call(attr(flags=1))
member = call(attr(), group=event)
call(attr(flags=2), group=event)
call(attr(), group=member)
call(attr(flags=4), group=event)
for request, argument in ((0x2402, 1), (0x2405, 99), (0x2477, 0), (0x40082404, 0)):
    libc.ioctl(event, ctypes.c_ulong(request), ctypes.c_ulong(argument))
libc.mmap.restype = ctypes.c_void_p
for length, offset in ((16384, 0), (3 * 4096, 4096), (0, 0)):
    libc.mmap(None, ctypes.c_size_t(length), 3, 1, event, ctypes.c_long(offset))
libc.read(event, ctypes.create_string_buffer(8), ctypes.c_size_t(4))
thread = threading.Thread(target=lambda: call(attr(flags=1 << 25, clockid=77)))
thread.start()
thread.join()
if not os.fork():
    libc.ioctl(event, ctypes.c_ulong(0x2402), ctypes.c_ulong(1))
    call(attr(read_format=1 << 21))
    os._exit(0)
os.wait()
"""
# Options of strace.
STRACE_OPTIONS = [[], ["-v"], ["-v", "-tt", "-T"], ["-v", "-r"], ["-v", "-ttt", "-y"], ["-v", "-yy", "-X", "raw"],
           ["-v", "-X", "verbose"], ["-e", "raw=perf_event_open"]]


def parse(text):
    return [json.loads(line) for line in text.splitlines()]


def trace(words):
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as out:
        for _ in range(peer.TRIES):
            done = subprocess.run([PERCH, "explain", "-j", "-o", out.name, "--"] + words, capture_output=True, check=False)
            # the status of perf, if positive: that of perch itself would be negative
            if words[0] != "perf" or done.returncode < 0 or not peer.fault(done.returncode):
                return parse(out.read())
        raise peer.Died(peer.describe(words, done.returncode))


def record(words, options, to_stderr=False):
    """Returns the log of strace, from a file or mixed with the stderr of the program."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as log:
        where = [] if to_stderr else ["-o", log.name]
        run = peer.run(["strace", "-f", "-e", "trace=" + CALLS] + options + where + words, capture_output=True, text=True,
                       errors="replace")
        return run.stderr if to_stderr else log.read()


def explain(log, *options):
    run = subprocess.run([PERCH, "explain", "--strace", "-", "-j", *options], input=log, capture_output=True, text=True,
                         check=False)
    return parse(run.stdout), run.stderr, run.returncode


def key(refusal):
    """Identifies a system call without pids, which differ from run to run."""
    return refusal.get("operation", "perf_event_open"), refusal["call"] or 0, refusal["errno"]


def disagreement(live, logged):
    """Returns an empty string if the causes agree. A log has fewer facts, so its cause may be less certain."""
    if live["cause"] == logged["cause"]:
        return ""
    if live["cause"] in [candidate["cause"] for candidate in logged.get("candidates", [])]:
        return ""
    if logged["confidence"] != "certain" and (logged.get("attr_is_partial") or not logged["attr"]):
        return ""
    return f"{key(live)}: {live['cause']} ({live['confidence']}), from the log {logged['cause']} ({logged['confidence']})"


@peer.part
def compare(name, words, options, to_stderr=False):
    live = trace(words)
    log = record(words, options, to_stderr)
    logged, stderr, status = explain(log, "--here")
    why = []
    if status:
        why.append(f"status {status}: {stderr}")
    if not live:
        why.append("no refusal")
    if sorted(map(key, live)) != sorted(map(key, logged)):
        why.append(f"traced {sorted(map(key, live))}")
        why.append(f"logged {sorted(map(key, logged))}")
    else:
        pairs = zip(sorted(live, key=key), sorted(logged, key=key))
        why += [line for line in (disagreement(a, b) for a, b in pairs) if line]
    check(not why, name, *why)


def same_numbers(words):
    """With -v, the log has the numbers that were passed."""
    live = {key(refusal): refusal for refusal in trace(words) if refusal.get("operation") is None}
    logged = {key(refusal): refusal for refusal in explain(record(words, ["-v"]))[0] if refusal.get("operation") is None}
    why = []
    for which, refusal in live.items():
        other = logged.get(which, {})
        if other.get("args") != refusal["args"]:
            why.append(f"{which}: {refusal['args']} {other.get('args')}")
        if other.get("attr_is_partial") or not other.get("attr"):
            continue
        seen = {name: value for name, value in refusal["attr"].items() if name in other["attr"] or name[:3] in ("typ", "con")}
        if seen != other["attr"]:
            why.append(f"{which}: {refusal['attr']} {other['attr']}")
    check(live and not why, "the log has the numbers that were passed", *why)


def without_facts(words):
    """Without --here: no facts, no probes, and no certain cause that tracing contradicts."""
    logged, _, status = explain(record(words, ["-v"]))
    live = {}
    for refusal in trace(words):
        live.setdefault(key(refusal), []).append(refusal["cause"])
    why = [f"{key(refusal)}: {live.get(key(refusal))}, from the log {refusal['cause']}" for refusal in logged
           if refusal["confidence"] == "certain" and refusal["cause"] not in live.get(key(refusal), [])]
    why += [f"{key(refusal)}: {refusal['probes']} probes" for refusal in logged if refusal["probes"]]
    check(not status and logged and not why, "without --here no facts and no probes", *why)


def damaged(words):
    """Truncated lines: the output is JSON only, and lines that cannot be parsed are counted."""
    log = record(words, ["-v"])
    for part in (0.3, 0.6, 0.95):
        cut = "\n".join(line[:int(len(line) * part)] for line in log.splitlines())
        _, stderr, status = explain(cut)
        check(status == 0 and re.search(r"; \d+ lines could not be read$", stderr), f"a log cut at {part:.0%} of each line",
               stderr)


def strings_of_a_probe():
    """An open call of a traced program is printed with the strings that its attr points to."""
    name = "the path of a uprobe, and its PMU's name"
    try:
        with open("/sys/bus/event_source/devices/uprobe/type", encoding="utf-8") as file:
            kind = int(file.read())
    except OSError:
        print(f"ok - {name} # skip this kernel has no uprobes, or there is no sysfs")
        return
    program = PROGRAM.partition("call(attr(flags")[0].replace("{N}", str(NUMBERS[os.uname().machine]))
    program += f"""
path = ctypes.create_string_buffer(b"/proc/none-\\x1b[31m-file")
call(attr(type={kind}, config=0, bp_addr=ctypes.addressof(path), bp_len=16))
"""
    run = subprocess.run([PERCH, "explain", "--", sys.executable, "-c", program], capture_output=True, text=True,
                         check=False)
    check(re.search(fr"type={kind} uprobe, .*config1=0x[0-9a-f]+ \"/proc/none-\?\[31m-file\", config2=0x10", run.stderr),
           name, run.stderr)


def usage():
    for words in (["--strace", "-", "true"], ["--here", "true"], [], ["-p", "1", "true"], ["--causes", "true"],
                  ["--strace", "-", "-p", "1"], ["-p", "99999999999"], ["-p", "0"], ["-p", "x"], ["--frobnicate"]):
        run = subprocess.run([PERCH, "explain"] + words, input="", capture_output=True, text=True, check=False)
        check(run.returncode == 2 and "perch explain: " in run.stderr, "refuses " + " ".join(["explain"] + words),
               f"{run.returncode} {run.stderr}")
    missing = subprocess.run([PERCH, "explain", "--strace", "/proc/none"], capture_output=True, text=True, check=False)
    check(missing.returncode == 1 and "No such file" in missing.stderr, "a missing log", missing.stderr)
    # not even a text with names and parentheses, as that of a program
    for text in ("", "root:x:0:0:root:/root:/bin/bash\n" * 3, "#include <stdio.h>\nint main(void)\n{\nputs(\"= 1\");\nreturn f(2);\n}\n",
                 "check(a, b) : c\nexit (1) means\nfree(memory);\n"):
        other = subprocess.run([PERCH, "explain", "--strace", "-"], input=text, capture_output=True, text=True, check=False)
        check(other.returncode == 1 and "is not a log of strace" in other.stderr and "0 calls" not in other.stderr,
               "a file that is not a log of strace", str(other.returncode), other.stderr)
    summaries = ("% time     seconds  usecs/call     calls    errors syscall\n------ ----------- ----------- --------- --------- ------\n"
                 "100.00    0.000010           5         2         1 ioctl\n"
                 "------ ----------- ----------- --------- --------- ------\n100.00    0.000010           5         2         1 total\n",
                 "syscall              calls\n---------------- ---------\nioctl                    2\n"
                 "---------------- ---------\ntotal                    2\n")
    for text in (summaries[0], summaries[1], "strace: Process 7 attached\nstrace: Process 7 detached\n" + summaries[0]):
        other = subprocess.run([PERCH, "explain", "--strace", "-"], input=text, capture_output=True, text=True, check=False)
        check(other.returncode == 1 and "is a summary of strace (-c), which has no system calls" in other.stderr and
               "0 calls" not in other.stderr, "a summary of strace", str(other.returncode), other.stderr)
    log = "perf_event_open(NULL, 0, -1, -1, 0) = -1 EFAULT (Bad address)\n"
    for text in summaries:
        both = subprocess.run([PERCH, "explain", "--strace", "-"], input=log + text + log, capture_output=True, text=True, check=False)
        check(both.returncode == 0 and both.stderr == "perch explain: 2 calls of perf_event_open, 2 refused\n",
               "a log with a summary", str(both.returncode), both.stderr)
    full = subprocess.run([PERCH, "explain", "--strace", "-", "-o", "/dev/full"], input=log, capture_output=True, text=True,
                          check=False)
    check(full.returncode == 1 and "No space left" in full.stderr, "a full disk", str(full.returncode), full.stderr)
    causes = subprocess.run([PERCH, "explain", "--causes", "-j"], capture_output=True, text=True, check=False)
    listed = json.loads(causes.stdout)
    check(len(listed) > 100 and len({row["cause"] for row in listed}) == len(listed) and
           all(row["kind"] and row["meaning"] for row in listed), "--causes lists each once")


def main():
    usage()
    if not shutil.which("strace") or os.uname().machine not in NUMBERS:
        print("ok - logs of strace # skip no strace, or the number of perf_event_open is unknown here")
        return int(cases.failed)
    program = [sys.executable, "-c", PROGRAM.replace("{N}", str(NUMBERS[os.uname().machine]))]
    probe = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    if probe.returncode:
        print("ok - logs of strace # skip strace is not permitted here")
        return int(cases.failed)
    for options in STRACE_OPTIONS:
        compare("refusals of all kinds, strace " + " ".join(["-f"] + options), program, options)
    compare("the log mixed with the output of the program", program, ["-v"], to_stderr=True)
    same_numbers(program)
    without_facts(program)
    damaged(program)
    strings_of_a_probe()
    if shutil.which("perf"):
        with tempfile.TemporaryDirectory() as directory:
            data = os.path.join(directory, "perf.data")
            compare("perf stat", ["perf", "stat", "-e", "cycles,instructions,task-clock", "--", "true"], ["-v"])
            compare("perf record", ["perf", "record", "-o", data, "-e", "cycles:pp", "-a", "--", "true"], ["-v"])
    else:
        print("ok - perf # skip no perf here")
    return int(cases.failed)


sys.exit(main())
