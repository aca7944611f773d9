#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch script prints what perf script prints, line by line, for each field and option, on recordings of both and on built records."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import cases
import peer
from cases import check
from peer import captured

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")

# Calls itself below a function that is not inlined, and touches memory.
SOURCE = """
#include <stdlib.h>
#include <string.h>
static volatile unsigned long sum;
__attribute__((noinline)) static void inner(char *memory, unsigned long i)
{
	memset(memory + i % 64 * 4096, (int)i, 4096);
	sum += memory[i % 4096];
}
__attribute__((noinline)) static void outer(char *memory)
{
	for (unsigned long i = 0; i < 400000; i++)
		inner(memory, i);
}
int main(void)
{
	outer(malloc(1 << 20));
	return 0;
}
"""


def lines_of(program, path, options):
    done = captured(program, "script", "-i", path, *options)
    # perf ends some lines with a space, and does not know the feature RECORDING_COST, and the clock of samples without -k
    return [re.sub(r"^(# clockid: |# reference time: .* \()\(not found\)", r"\1default", line.rstrip())
            for line in done.stdout.splitlines() if not line.startswith("# recording cost:")], done


@peer.part
def same(path, *options, change=None, least=1):
    """Compares both outputs line by line. change: removes a known difference from a line of both."""
    theirs, _ = lines_of(PERF, path, options)
    ours, done = lines_of(PERCH, path, options)
    if change:
        theirs, ours = ([change(line) for line in lines] for lines in (theirs, ours))
    # perf names an entry of the PLT for a function that is chosen at run time (ifunc) "@plt", without the function
    unlike = [(a, b) for a, b in zip(theirs, ours) if a != b and a != re.sub(r"\S+@plt", "@plt", b) and
              peer.plain_start(a) != peer.plain_start(b)]
    good = not done.returncode and not unlike and len(theirs) == len(ours) and len(ours) >= least
    check(good, "%s %s: %d lines" % (path, " ".join(options), len(ours)),
          "perf has %d lines, %d differ; %s\n%s" % (len(theirs), len(unlike), done.stderr,
                                                  "\n".join("perf:  %s\nperch: %s" % pair for pair in unlike[:4])))


def record(path, *words, program=PERF):
    done = peer.try_run([program, "record", "-q", "-o", path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                        errors="replace")
    if done.returncode:
        print("ok - %s # skip cannot be recorded here: %s" % (path, done.stderr.strip()[:100]))
    return not done.returncode


@peer.part
def compare_fields():
    for path in "flat", "graph":
        for fields in ("comm", "pid", "tid", "pid,tid", "time", "cpu,comm", "event", "ip", "ip,sym", "ip,sym,dso", "ip,sym,symoff",
                       "ip,dso", "period,comm", "misc,comm", "comm,event,flags", "+misc", "+pid", "-comm,-tid", "-time", "-sym,-symoff",
                       "-dso", "-ip", "-event", "-period", "sw:comm,ip", "sw:+pid", "hw:comm", "comm,,ip"):
            same(path, "-F", fields, "--no-inline")
        for options in (("--ns",), ("--reltime",), ("--deltatime",), ("-G",), ("--header-only",), ("--header-only", "-I"), ("--show-task-events",),
                        ("--show-mmap-events",), ("--show-task-events", "--show-mmap-events", "-F", "+misc"), ("--show-bpf-events",),
                        ("--show-text-poke-events",), ("--show-lost-events",), ("--show-cgroup-events",)):
            same(path, *options, "--no-inline")
    same("flat", "-F", "sw:", least=0)
    same("graph", "--max-stack", "2", "--no-inline")
    same("graph", "--stop-bt", "outer", "--no-inline")
    # perf has the line after a call, perch that of the call: perf's addr2line names wrong files of inlined code
    # and of code without lines, as that of crtstuff.c, the file and line 0
    same("flat", "-F", "comm,ip,sym,srcline",
         change=lambda line: re.sub(r"^  (\S+:\d+|\S+\[[0-9a-f]+\])$", "  :", line) if not re.search(r"\.c:[1-9]", line) else line)


@peer.part
def compare_sources():
    """The lines of the program in call chains: a sampled address has perf's line."""
    def leaves(program):
        text = captured(program, "script", "-i", "graph", "--no-inline", "-F", "comm,ip,sym,srcline,dso").stdout
        return re.findall(r"^\S+ *\n\t *(\w+) (\w+) \(\S+work\)\n  (work\.c:\d+)$", text, flags=re.M)
    theirs, ours = leaves(PERF), leaves(PERCH)
    check(theirs == ours and len(ours) > 10, "graph +srcline: %d sampled addresses have perf's line" % len(ours), (theirs[:3], ours[:3]))
    full = captured(PERCH, "script", "-i", "flat", "-F", "ip,srcline", "--full-source-path").stdout
    check(os.path.join(os.getcwd(), "work.c:") in full, "--full-source-path")
    kernel = captured(PERCH, "script", "-i", "graph", "-F", "ip,srcline").stdout
    check("inlined" not in kernel or "work.c" in kernel, "graph: -F ip,srcline")


def without_data(line):
    """Removes the names of data: perch has those of functions. perf calls the code of the PLT @plt."""
    return re.sub(r"^(.*?\b[0-9a-f]{4,16}) \S+( \(.*| +[0-9a-f]{12}.*|)$", r"\1 NAME\2", re.sub(r"\S*@plt(\+0x\w+)?", "NAME", line))


@peer.part
def compare_more():
    if record("switches", "-e", "cpu-clock", "--switch-events", "--namespaces", "--sample-cpu", "-c", "500000", "./work"):
        same("switches", "--show-switch-events", "--show-namespace-events")
        same("switches", "-F", "cpu,comm,tid")
    if record("faults", "-e", "page-faults", "-c", "1", "-d", "./work"):
        for fields in "addr,ip,sym", "+addr", "addr,sym,symoff,dso", "addr,dso,ip", "+data_src", "comm,addr,weight,data_src":
            if fields == "comm,addr,weight,data_src" and "WEIGHT" not in captured(PERF, "evlist", "-v", "-i", "faults").stdout:
                continue
            same("faults", "-F", fields, change=without_data)
    if record("registers", "-e", "cpu-clock", "-c", "500000", "--intr-regs=ax,ip,sp", "--user-regs=bp,ip,sp", "./work"):
        for fields in "+iregs", "ip,uregs", "comm,iregs,uregs":
            same("registers", "-F", fields)
    if record("clock", "-k", "mono", "-e", "cpu-clock", "-c", "500000", "./work"):
        same("clock", "-F", "comm,tod,time")
        same("clock", "-F", "tod,ip", "--ns")
    if record("group", "-e", "{cpu-clock,task-clock,page-faults}:S", "-c", "500000", "./work"):
        same("group", "-F", "comm,tid,time,event,period")
    if record("two", "-e", "cpu-clock,task-clock", "-c", "500000", "./work"):
        same("two")
        same("two", "--switch-on", "task-clock", least=0)
        for more in (), ("--show-on-off-events",):
            same("two", "--switch-on", "cpu-clock", "--switch-off", "task-clock", *more, least=0)
        compare_files()


@peer.part
def compare_tracepoints():
    """Fields have the values that perf prints by the format of the kernel."""
    form = r"sched:sched_switch: .* next_comm=(.*) next_pid=(\d+) next_prio=(\d+)$"
    # threads of other tests have control characters in their names for a moment, which perf prints
    for _ in range(5):
        # a period of one nanosecond on all CPUs would harm the recordings of other tests
        if not record("trace", "-c", "1", "-e", "sched:sched_switch", "-e", "cpu-clock/period=1000000/", "-a", "--", "sleep", "0.1"):
            return
        rows = [json.loads(line) for line in captured(PERCH, "script", "-i", "trace", "-j").stdout.splitlines()]
        traces = [row["trace"] for row in rows if row["event"] == "sched:sched_switch"]
        names = [row["comm"] for row in rows] + [trace[key] for trace in traces for key in ("prev_comm", "next_comm")]
        if all(re.fullmatch("[ -~]*", name) for name in names):
            break
    theirs = re.findall(r"==> next_comm=(.*) next_pid=(\d+) next_prio=(\d+)", captured(PERF, "script", "-i", "trace").stdout)
    ours = re.findall(form, captured(PERCH, "script", "-i", "trace").stdout, flags=re.M)
    typed = [(row["next_comm"], str(row["next_pid"]), str(row["next_prio"])) for row in traces]
    check(theirs == ours == typed and ours, "tracepoints: fields of %d samples" % len(ours), (theirs[:2], ours[:2], typed[:2]))
    check(all(isinstance(row["next_pid"], int) and "common_pid" not in row for row in traces), "-j: typed fields of tracepoints")
    same("trace", "-F", "comm,tid,time,event")
    same("trace", "-F", "trace:comm,tid,event,trace", "-F", "sw:time")
    same("trace", "-F", "trace:comm,tid,ip", "-F", "sw:time")


@peer.part
def compare_files():
    captured(PERF, "script", "-i", "two", "--per-event-dump")
    theirs = {name: open(name).read() for name in ("two.cpu-clock.dump", "two.task-clock.dump")}
    done = captured(PERCH, "script", "-i", "two", "--per-event-dump")
    ours = {name: open(name).read() for name in theirs}
    check(theirs == ours and all(ours.values()), "--per-event-dump", done.stderr)
    check(len(re.findall(r"^\[ perch script: Wrote \S+ MB two\.\S+\.dump \(\d+ samples\) \]$", done.stdout, flags=re.M)) == 2,
          "--per-event-dump says what it wrote", done.stdout)


IP, TID, TIME, ADDR, CPU, PERIOD, RAW, BRANCH_STACK, REGS_USER = (1 << bit for bit in (0, 1, 2, 3, 7, 8, 10, 11, 12))
WEIGHT, DATA_SRC, REGS_INTR, PHYS_ADDR, DATA_PAGE, CODE_PAGE, WEIGHT_STRUCT = (1 << bit for bit in (14, 15, 18, 19, 22, 23, 24))
REGISTERS = 0xff0fff  # of x86: AX to SS, R8 to R15
HARDWARE, SOFTWARE, RAW_TYPE = 0, 1, 4  # types of events
BRANCHES, BPF_OUTPUT = 4, 10  # configs


def words(*values):
    return struct.pack("<%dQ" % len(values), *(value & (1 << 64) - 1 for value in values))


def sample(sample_type, i):
    """A sample with numbers that depend on i. 7f0000001000 is in a mapping, the kernel's addresses are not."""
    body = words(0x7f0000001000 + 16 * i) + struct.pack("<IIQ", 70, 70, (10 + i) * 10**9 + 123456789)
    parts = ((ADDR, words(0x7f0000001800 + i)), (CPU, struct.pack("<II", i % 3, 0)), (PERIOD, words(1000 * i + 1)))
    body += b"".join(part for bit, part in parts if sample_type & bit)
    if sample_type & RAW:
        raw = (b"text\0\0\0\0", b"\1\2\3\4 ab\x7f12345\n")[i % 2]
        raw += bytes(-(len(raw) + 4) % 8)
        body += struct.pack("<I", len(raw)) + raw
    if sample_type & BRANCH_STACK:
        body += words(i % 4)
        for k in range(i % 4):
            # mispredicted, predicted, in a transaction, aborted; cycles; type
            body += words(0x7f0000001000 + k, 0x7f0000001100 + i, (1 << (i + k) % 5 & 15) | 7 * k << 4 | (i + k) % 14 << 20)
    if sample_type & REGS_USER:
        body += words(2, *range(i, i + 20))
    if sample_type & WEIGHT:
        body += words(i << 33)
    if sample_type & WEIGHT_STRUCT:
        body += struct.pack("<IHH", 70000 + i, 600 + i, 5 + i)
    if sample_type & DATA_SRC:
        # perf cuts longer texts
        operation, level, snoop, lock, tlb = 1 << i % 5, 1 << (0, 3, 4, 5, 6, 12)[i % 6] | 2 << i % 2, 1 << i % 5, 1 << i % 2, (2, 10, 34)[i % 3]
        body += words(operation | level << 5 | snoop << 19 | lock << 24 | tlb << 26 | (i % 3) << 33 | (i % 2) << 37 | (i % 5) << 40)
    if sample_type & REGS_INTR:
        body += words(2, *range(1 << 40 | i, (1 << 40 | i) + 20))
    parts = ((PHYS_ADDR, words(0x123456000 + i)), (DATA_PAGE, words((0, 4096, 2 << 20, 1 << 30)[i % 4])), (CODE_PAGE, words(4096 << i % 3)))
    body += b"".join(part for bit, part in parts if sample_type & bit)
    return struct.pack("<IHH", 9, 2, 8 + len(body)) + body


def write_built(path, kind, config, sample_type):
    """Writes a recording of one event that this machine may not have."""
    attr = struct.pack("<IIQQQQQ", kind, 128, config, 1 if config == BRANCHES else 1000, sample_type, 0, 1 << 18)
    attr += bytes(72 - len(attr)) + words(1 << 3, REGISTERS) + struct.pack("<II", 0, 0) + words(REGISTERS) + bytes(24)
    assert len(attr) == 128
    name = b"/bin/none\0"
    mmap = struct.pack("<IHHIIQQQ", 1, 2, 40 + 16 + 32, 70, 70, 0x7f0000001000, 0x1000, 0) + name + bytes(16 - len(name))
    comm = struct.pack("<IHHII", 3, 0, 16 + 8 + 32, 70, 70) + b"busy\0\0\0\0"
    # the trailer: thread, time, CPU
    trailer = struct.pack("<IIQ", 70, 70, 9 * 10**9) + (struct.pack("<II", 0, 0) if sample_type & CPU else b"")
    records = b""
    for record in mmap, comm:
        record += trailer
        records += record[:6] + struct.pack("<H", len(record)) + record[8:]
    records += b"".join(sample(sample_type, i) for i in range(40))
    attrs = 104
    data = attrs + len(attr) + 16
    header = b"PERFILE2" + words(104, len(attr) + 16, attrs, len(attr) + 16, data, len(records), 0, 0, 0, 0, 0, 0)
    open(path, "wb").write(header + attr + words(0, 0) + records)


def clean(line):
    """perf makes other names for the events of a file that has none."""
    return re.sub(" +(unknown-software|bpf-output):", " bpf:", line.replace(":HG:", ":"))


def compare_built():
    """Samples with fields that this machine cannot record."""
    usual = IP | TID | TIME | CPU | PERIOD
    for weight in WEIGHT, WEIGHT_STRUCT:
        write_built("memory", RAW_TYPE, 0x1cd, usual | ADDR | weight | DATA_SRC | PHYS_ADDR | DATA_PAGE | CODE_PAGE)
        for fields in ("ip", "addr,comm", "addr,sym,dso", "weight,comm", "weight,ip", "phys_addr,ip", "data_page_size,ip",
                       "code_page_size,data_page_size", "raw:+pid") + (("ins_lat,weight",) if weight == WEIGHT_STRUCT else ()):
            same("memory", "-F", fields, change=clean, least=40)
        same("memory", "-F", "data_src", change=clean, least=40)
        same("memory", change=clean, least=40)
    write_built("registers", RAW_TYPE, 0x3c, usual | REGS_USER | REGS_INTR | BRANCH_STACK)
    for fields in ("iregs", "uregs", "ip,iregs,uregs", "brstack", "brstack,dso", "brstacksym", "brstacksym,dso", "brstackoff", "ip,brstackoff,dso",
                   "+brstack,+iregs"):
        same("registers", "-F", fields, change=clean, least=40)
    write_built("bpf", SOFTWARE, BPF_OUTPUT, usual | RAW)
    same("bpf", change=clean, least=40)
    same("bpf", "-F", "comm,ip", "-F", "+bpf-output", change=clean, least=40)
    same("bpf", "-F", "-bpf-output", change=clean, least=40)
    write_built("branches", HARDWARE, BRANCHES, usual | ADDR)
    for options in (), ("-F", "ip"), ("-F", "ip,addr"), ("-F", "ip,addr,sym,symoff,dso"), ("-F", "comm,addr"):
        same("branches", *options, change=clean, least=40)


def check_refusals():
    for words, message in ((("-F", "comm,foo"), "no field 'foo'"), (("-F", "sw:trace"), "not a field of software events"),
                           (("-F", "+addr"), "samples of cpu-clock have no data address; record with -d"),
                           (("-F", "cgroup"), "record with --all-cgroups"), (("-F", "+brstack"), "record with -b"),
                           (("-F", "tod"), "record with perch record, or with perf record -k"), (("-F", "ip,symoff"), "add the field sym"),
                           (("-F", "srcline"), "add the field ip"), (("--reltime", "--deltatime"), "exclude each other"),
                           (("--switch-on", "none"), "the file has no event 'none'")):
        done = captured(PERCH, "script", "-i", "flat", *words)
        check(done.returncode == 2 and message in done.stderr, "refused: %s" % " ".join(words), done.stderr)
    done = captured(PERCH, "script", "-i", "flat", "-F", "comm,trace")
    check(not done.returncode and done.stdout and done.stderr.count("software events have no field 'trace'") == 1, "-F comm,trace: a note",
          done.stderr)


def compare_dump():
    for option, words in (("-D", ("--time",)), ("--dump-unsorted-raw-trace", ())):
        check(captured(PERCH, "script", "-i", "graph", option).stdout == captured(PERCH, "dump", "-i", "graph", *words).stdout != "",
              "%s is perch dump %s" % (option, " ".join(words)))


def check_json():
    text = captured(PERCH, "script", "-i", "graph", "-G", "-F", "comm,tid,time,period,event,ip,sym,symoff").stdout
    rows = [json.loads(line) for line in captured(PERCH, "script", "-i", "graph", "-j", "--no-inline").stdout.splitlines()]
    printed = ["%16s %5d %s: %10d %s:  %16x %s" %
               (row["comm"], row["tid"], "%5d.%06d" % (int(row["time"]) // 10**9, int(row["time"]) // 1000 % 10**6), row["period"],
                row["event"], int(row["ip"], 16), "%s+0x%x" % (row["sym"], row["symoff"]) if "sym" in row else "[unknown]")
               for row in rows]
    check(printed == text.splitlines() and len(rows) > 10, "-j has what -F prints: %d samples" % len(rows), (printed[:2], text[:300]))
    chains = captured(PERCH, "script", "-i", "graph", "--no-inline", "-F", "comm,ip,sym").stdout.strip("\n").split("\n\n")
    ours = [[line.split(None, 1)[1] for line in block.split("\n")[1:]] for block in chains]
    check([[frame.get("sym", "[unknown]") for frame in row["callchain"]] for row in rows] == ours, "-j: call chains")
    check(all(int(row["callchain"][0]["ip"], 16) == int(row["ip"], 16) for row in rows), "-j: call chains begin at the sampled address")
    row = json.loads(captured(PERCH, "script", "-i", "flat", "-j", "-F", "comm,srcline,ip").stdout.splitlines()[0])
    check(set(row) <= {"comm", "ip", "file", "line"}, "-j -F comm,srcline,ip", row)
    rows = [json.loads(line) for line in captured(PERCH, "script", "-i", "graph", "-j", "--reltime", "--stop-bt", "main").stdout.splitlines()]
    ends = [[frame.get("sym") for frame in row["callchain"]].index("main") + 1 == len(row["callchain"])
            for row in rows if any(frame.get("sym") == "main" for frame in row["callchain"])]
    check(rows[0]["time"] == "0" and ends and all(ends),
          "-j --reltime --stop-bt", rows[:2])
    done = captured(PERCH, "script", "-i", "graph", "-j", "--show-mmap-events")
    check(done.returncode == 2 and "perch dump --json" in done.stderr, "-j refuses records that are not samples", done.stderr)
    # the types of branch stacks and registers
    write_built("registers", RAW_TYPE, 0x3c, IP | TID | TIME | CPU | PERIOD | REGS_USER | REGS_INTR | BRANCH_STACK)
    rows = [json.loads(line) for line in captured(PERCH, "script", "-i", "registers", "-j", "-F", "+brstacksym,+brstackoff,+brstack,+iregs,+uregs").stdout.splitlines()]
    types = {"from": str, "to": str, "from_dso": str, "to_dso": str, "from_dsoff": str, "to_dsoff": str, "predicted": bool, "mispredicted": bool,
             "in_tx": bool, "abort": bool, "cycles": int, "type": str}
    branches = [branch for row in rows for branch in row["brstack"]]
    check(len(branches) == 60 and all(type(value) is types[key] for branch in branches for key, value in branch.items()) and
          {key for branch in branches for key in branch} == set(types), "-j: types of branches", branches[:3])
    check(all(len(row[name]) == 20 and all(re.fullmatch("0x[0-9a-f]+", value) for value in row[name].values())
              for row in rows for name in ("iregs", "uregs")), "-j: registers", rows[0])


# The lines that stackcollapse-perf.pl of FlameGraph expects, in its terms.
HEAD = re.compile(r"^(\S.+?)\s+(\d+)/*(\d+)*\s+")
EVENT = re.compile(r":\s*(\d+)*\s+(\S+):\s*$")
FRAME = re.compile(r"^\s*(\w+)\s*(.+) \((.*)\)$")


def collapse(text):
    """Folds stacks by the rules of stackcollapse-perf.pl."""
    stacks, stack, name = {}, [], None
    for line in text.split("\n"):
        if not line:
            if name:
                key = ";".join([name] + stack)
                stacks[key] = stacks.get(key, 0) + 1
            stack, name = [], None
        elif HEAD.match(line) and EVENT.search(line):
            name = HEAD.match(line).group(1)
        elif FRAME.match(line):
            function = FRAME.match(line).group(2)
            # perf names this caller by the address behind the call
            stack.insert(0, re.sub(r"\+0x[\da-f]+$", "", function).replace("_dl_start_user", "_start"))
        else:
            return "no rule for: " + line
    return stacks


@peer.part
def compare_stacks():
    theirs, ours = (collapse(captured(program, "script", "-i", "graph", "--no-inline").stdout) for program in (PERF, PERCH))
    check(theirs == ours and sum(ours.values()) > 10, "stackcollapse-perf.pl's rules: %d stacks" % len(ours), (theirs, ours))
    inlined = collapse(captured(PERCH, "script", "-i", "graph").stdout)
    check(isinstance(inlined, dict) and sum(inlined.values()) == sum(ours.values()), "with inlined functions, too", inlined)


def main():
    if not shutil.which(PERF):
        print("1..0 # skip no %s to compare with (environment variable PERF)" % PERF)
        sys.exit(77)
    directory = tempfile.mkdtemp()
    os.chdir(directory)
    try:
        open("work.c", "w").write(SOURCE)
        if captured("gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-o", "work", "work.c").returncode:
            print("1..0 # skip no gcc")
            sys.exit(77)
        if not record("flat", "-e", "cpu-clock", "-c", "500000", "--sample-cpu", "./work"):
            sys.exit(77)
        record("graph", "-e", "cpu-clock", "-c", "500000", "--sample-cpu", "-g", "./work", program=PERCH)
        for step in compare_fields, compare_sources, compare_more, compare_tracepoints, compare_built, check_refusals, compare_dump, check_json, compare_stacks:
            step()
    finally:
        shutil.rmtree(directory)
    sys.exit(cases.failed)


main()
