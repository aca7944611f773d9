#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch c2c report: the sums of accesses with data sources are those of perf c2c report --stats; lines of the cache that two threads
share, with offsets, functions and source lines; breakpoints are accesses, too. perch mem is perch record and report."""
import os
import re
import struct
import subprocess
import sys
import tempfile

import cases
import peer
from cases import check, limit

PERCH = os.environ.get("PERCH", "perch")
PERF = os.environ.get("PERF", "perf")

IP, TID, TIME, ADDR, CPU, PERIOD, DATA_SRC = 1, 2, 4, 8, 1 << 7, 1 << 8, 1 << 15
LOAD, STORE, HIT, MISS, L1, L3, REMOTE, HITM = 2, 4, 2, 4, 8, 64, 1024, 16
PID, OTHER = 100, 200  # the threads of OTHER are from 200 on


def run(*words):
    return subprocess.run([PERCH, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit(60), check=False,
                          errors="replace")


def source(operation, level, snoop=0):
    """The bits of data_src."""
    return operation | level << 5 | snoop << 19


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def write_file(path, samples):
    """A recording of accesses: (thread, CPU, code, address, data_src)."""
    kind = IP | TID | TIME | ADDR | CPU | PERIOD | DATA_SRC
    attr = struct.pack("<IIQQQQQ", 4, 128, 0x1cd, 1, kind, 0, 1 << 18 | 1 << 20)
    attr += bytes(128 - len(attr))

    def pid_of(tid):
        return OTHER if tid >= OTHER else PID

    def trailer(tid):
        return struct.pack("<IIQII", pid_of(tid), tid, 10 ** 9, 0, 0)
    records = b""
    for tid in sorted({sample[0] for sample in samples}):
        records += record(3, 0, struct.pack("<II", pid_of(tid), tid) + b"thread%d\0" % (tid % 10) + trailer(tid))
    path_of_code = b"/nonexistent/program"
    path_of_code += bytes(8 - len(path_of_code) % 8)
    records += record(1, 2, struct.pack("<IIQQQ", PID, PID, 0x400000, 0x100000, 0) + path_of_code + trailer(PID))
    for number, (tid, cpu, code, address, data_src) in enumerate(samples):
        records += record(9, 2, struct.pack("<QIIQQIIQQ", code, pid_of(tid), tid, (10 + number) * 10 ** 9, address, cpu, 0, 1, data_src))
    data = 104 + len(attr) + 16
    # the features NRCPUS and NUMA_TOPOLOGY, without which perf c2c reads no file: two CPUs, one node
    features = {7: struct.pack("<II", 2, 2), 14: struct.pack("<IIQQI", 1, 0, 1 << 20, 1 << 19, 64) + b"0-1" + bytes(61)}
    at = data + len(records) + 16 * len(features)
    table = ends = b""
    for number in sorted(features):
        table += struct.pack("<QQ", at + len(ends), len(features[number]))
        ends += features[number]
    with open(path, "wb") as out:
        out.write(b"PERFILE2" + struct.pack("<12Q", 104, len(attr) + 16, 104, len(attr) + 16, data, len(records), 0, 0,
                                           sum(1 << number for number in features), 0, 0, 0))
        out.write(attr + struct.pack("<QQ", 0, 0) + records + table + ends)


def sums(text):
    return {match[1]: int(match[2]) for match in re.finditer(r"^  (\S.*?) +: +(\d+)$", text, re.M)}


def check_built():
    shared, alone = 0x500000, 0x500040
    samples = []
    for i in range(40):
        samples.append((101, 0, 0x401000, shared, source(STORE, HIT | L1)))
        samples.append((102, 1, 0x402000, shared + 8, source(LOAD, HIT | L3, HITM) if i % 4 else source(LOAD, HIT | REMOTE, HITM)))
        samples.append((102, 1, 0x402010, shared + 8, source(STORE, MISS | L1)))
        samples.append((101, 0, 0x401020, alone, source(LOAD, HIT | L1)))
    write_file("built", samples)
    done = run("c2c", "report", "-i", "built")
    own = sums(done.stdout)
    check(own.get("Total records") == 160 and own.get("Cache lines that threads share") == 1 and own.get("Cache lines") == 2, "lines of the cache", done)
    rows = re.findall(r"^(0x\w+|    0x\w+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)(?: +(\d+)  (\S+))?", done.stdout, re.M)
    check([row[:9] for row in rows] == [("0x500000", "120", "40", "30", "10", "40", "80", "40", "40"), ("    0x0", "40", "0", "0", "0", "0", "40", "40", "0"),
                                       ("    0x8", "40", "40", "30", "10", "40", "0", "0", "0"), ("    0x8", "40", "0", "0", "0", "0", "40", "0", "40")],
          "who accesses the shared line, by offset", str(rows))
    check([row[10] for row in rows[1:]] == ["thread1-101", "thread2-102", "thread2-102"], "the threads", str(rows))
    everything = run("c2c", "report", "-i", "built", "--show-all").stdout
    check("0x500040" in everything and "0x500040" not in done.stdout, "--show-all prints the lines of one thread", everything)
    stats = run("c2c", "report", "-i", "built", "--stats")
    check(sums(stats.stdout) == own and "Address" not in stats.stdout, "--stats prints only sums", stats)
    selected = run("c2c", "report", "-i", "built", "--tid", "101")
    check(sums(selected.stdout)["Total records"] == 80 and "# none" in selected.stdout, "filters select samples", selected)
    try:
        done = peer.run([PERF, "c2c", "report", "-i", "built", "--stats", "--stdio"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                        timeout=limit(60))
    except (peer.Died, OSError):
        done = None
    theirs = sums(done.stdout) if done else {}
    names = [name for name in own if name in theirs]
    if len(names) < 5:
        print("ok - the sums are those of perf c2c # skip: perf has no c2c")
    else:
        check(not [name for name in names if own[name] != theirs[name]], "%d sums are those of perf c2c" % len(names),
              str([(name, own[name], theirs[name]) for name in names]))


def check_kernel():
    """Processes share the memory of the kernel, and not their own."""
    samples = []
    for address in (0xffff888000001000, 0x500000):
        samples += [(101, 0, 0x401000, address, source(STORE, HIT | L1)), (201, 1, 0x402000, address, source(LOAD, HIT | L3, HITM))] * 3
    write_file("kernel", samples)
    own = sums(run("c2c", "report", "-i", "kernel").stdout)
    check((own.get("Cache lines"), own.get("Cache lines that threads share")) == (3, 1), "a line of the kernel is that of all processes", str(own))


PROGRAM = """
#include <pthread.h>
struct { volatile long a, b; } shared __attribute__((aligned(64)));
static void *one(void *x) { for (long i = 0; i < 200; i++) shared.a++; return x; }
static void *two(void *x) { for (long i = 0; i < 200; i++) shared.b++; return x; }
int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, one, 0);
	pthread_create(&t[1], 0, two, 0);
	pthread_join(t[0], 0);
	pthread_join(t[1], 0);
	return 0;
}
"""


def check_breakpoints():
    why = cases.why_no_breakpoints()
    if why:
        print("ok - breakpoints # skip:", why)
        return
    with open("program.c", "w", encoding="ascii") as out:
        out.write(PROGRAM)
    built = subprocess.run(["gcc", "-g", "-O1", "-fno-pie", "-no-pie", "-pthread", "program.c", "-o", "program"], check=False, stderr=subprocess.PIPE)
    if built.returncode:
        print("ok - breakpoints # skip:", built.stderr.decode(errors="replace").splitlines()[:1])
        return
    symbols = subprocess.run(["nm", "program"], stdout=subprocess.PIPE, text=True, check=True).stdout
    address = int(re.search(r"^(\w+) \w shared$", symbols, re.M)[1], 16)
    done = run("c2c", "record", "-c", "1", "-e", "mem:%#x/8:w:u" % address, "-e", "mem:%#x/8:w:u" % (address + 8), "-o", "shared", "--", "./program")
    if done.returncode:
        print("ok - breakpoints # skip:", done.stderr.strip().splitlines()[-1])
        return
    out = run("c2c", "report", "-i", "shared").stdout
    rows = re.findall(r"^    0x(\w+) +(\d+) .*-\d+ +(\w+)  program(?:  (\S+))?$", out, re.M)
    check(rows == [("0", "200", "one", "program.c:4"), ("8", "200", "two", "program.c:5")], "two threads write one line, with their sources", out)


def check_commands():
    done = run("mem", "report", "-i", "built", "--stdio", "-s", "mem")
    plain = run("report", "-i", "built", "--mem-mode", "--stdio", "-s", "mem")
    check(done.returncode == 0 and done.stdout == plain.stdout and "L3" in done.stdout, "mem report is report --mem-mode", done)
    for command, word in ("mem", "rep"), ("c2c", "rep"), ("lock", "con"), ("kwork", "lat"), ("kmem", "sta"), ("sched", "time"):
        done = run(command, word, "-i", "missing")
        check(done.returncode == 1 and "missing: No such file" in done.stderr, f"{command} {word}: three characters are enough, as in perf", done)
        done = run(command, word[:2], "-i", "missing")
        check(done.returncode == 2, f"... and {word[:2]} are not", done)
    for command in "mem", "c2c":
        done = run(command)
        check(done.returncode == 2 and "expected record or report" in done.stderr, command + " needs a word", done)
        done = run(command, "replay")
        check(done.returncode == 2 and "not replay" in done.stderr, command + " refuses others", done)
        done = run(command, "record", "-o", "none", "--", "true")
        check(done.returncode == 0 or "this machine samples no memory accesses" in done.stderr or done.returncode == 1,
              command + " record names what the machine lacks", done)
        other = run(command, "record", "-o", "none", "--", "cat", "-e", "/dev/null")
        same = run(command, "record", "-o", "none", "cat", "-e", "/dev/null")
        check(other.returncode == done.returncode == same.returncode and
              all(("samples no memory" in one.stderr) == ("samples no memory" in done.stderr) for one in (other, same)),
              command + " record: an option of the program is no event", [other, same])
    for words, here in (("c2c", "record", "-k", "--", "true"), "--all-kernel"), (("c2c", "record", "-u", "./program"), "--all-user"), \
            (("mem", "record", "-o", "none", "true"), ""), (("mem", "record", "-p", "--", "true"), "--phys-data"), \
            (("c2c", "record", "-l", "30", "true"), "'perch mem --ldlat"), (("c2c", "record", "-u", "no-such-user", "true"), ""):
        done = run(*words)
        text = f"{words[2]} of perf {words[0]} record is {here}"
        check(done.returncode == 2 and text in done.stderr if here else " of perf " not in done.stderr, "an option that perf means: " + " ".join(words), done)
    done = run("record", "-q", "-e", "task-clock:u", "-o", "times", "--", "true")
    done = run("c2c", "report", "-i", "times")
    check(done.returncode == 2 and "has no addresses of data" in done.stderr, "a recording without addresses is refused", done)


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        check_built()
        check_kernel()
        check_breakpoints()
        check_commands()
        os.chdir("/")
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
