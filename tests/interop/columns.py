#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch report has perf's rows for the columns of branches and memory accesses, in files that are built here: this machine has no PMU that
records them.

PERF names the perf to compare with (perf). KEEP=DIR keeps the files there.
"""
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

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")

FUNCTIONS = ["first", "second", "third", "fourth", "main"]
SOURCE = "\n".join("__attribute__((noinline)) int %s(int i)\n{\n\ti += %d;\n\treturn i * i;\n}\n" % (name, len(name) + k)
                   for k, name in enumerate(FUNCTIONS[:-1]))
SOURCE += """
int table[4096] = { 1 }, other[4096] = { 2 };
int main(void)
{
	return first(1) + second(table[1]) + third(3) + fourth(other[2]);
}
"""

IP, TID, TIME, ADDR, CALLCHAIN, CPU, PERIOD, BRANCH_STACK, WEIGHT, DATA_SRC, PHYS_ADDR, DATA_PAGE_SIZE = (
    1 << bit for bit in (0, 1, 2, 3, 5, 7, 8, 11, 14, 15, 19, 22))
BASE = 0x7f0000000000
PID = 70
BRANCH_FEATURE = 15


def run(*command):
    words = {"HOME": os.getcwd(), "PERF_CONFIG": "/dev/null", "PERF_BUILDID_DIR": os.path.join(os.getcwd(), "debug"), "DEBUGINFOD_URLS": "",
             "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": os.getcwd(), "PERF_PAGER": "cat", "PERCH_PAGER": ""}
    return peer.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace",
                          env=dict(os.environ, **words))


# ---- the files ----

def quads(*values):
    return struct.pack("<%dQ" % len(values), *(value & (1 << 64) - 1 for value in values))


class Program:
    """The program whose functions and variables the samples have."""

    def __init__(self, directory=".", source=SOURCE, base=BASE, split=False):
        """split: its symbols are in a debug file."""
        self.base = base
        self.path = os.path.realpath(os.path.join(directory, "work"))
        os.makedirs(directory, exist_ok=True)
        with open(self.path + ".c", "w", encoding="utf-8") as out:
            out.write(source)
        subprocess.run(["gcc", "-g", "-O1", "work.c", "-o", "work", "-Wl,--build-id"], cwd=directory, check=True)
        with open(self.path, "rb") as elf:
            self.elf = elf.read()
        notes = subprocess.run(["readelf", "-n", self.path], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.build_id = bytes.fromhex(re.search(r"Build ID: (\w+)", notes)[1])
        names = subprocess.run(["nm", self.path], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.symbol = {line.split()[2]: int(line.split()[0], 16) for line in names.splitlines() if len(line.split()) == 3}
        if split:
            subprocess.run(["objcopy", "--only-keep-debug", self.path, self.path + ".debug"], check=True)
            subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink=" + self.path + ".debug", self.path], check=True)
        start, size, count = struct.unpack_from("<Q", self.elf, 32)[0], *struct.unpack_from("<HH", self.elf, 54)
        self.segments = []
        for i in range(count):
            kind, flags, offset, address, _, length = struct.unpack_from("<IIQQQQ", self.elf, start + i * size)
            if kind == 1:
                page = offset & ~0xfff
                self.segments.append((flags, page, address & ~0xfff, (offset - page + length + 0xfff) & ~0xfff))

    def address(self, name, offset=0):
        return self.base + self.symbol[name] + offset

    def mmaps(self, trailer):
        """MMAP2 records with the build id."""
        name = self.path.encode() + b"\0"
        name += bytes(-len(name) % 8)
        for flags, offset, address, length in self.segments:
            body = struct.pack("<IIQQQ", PID, PID, self.base + address, length, offset)
            body += struct.pack("<BBH", len(self.build_id), 0, 0) + self.build_id.ljust(20, b"\0")
            body += struct.pack("<II", (flags >> 2 & 1) | (flags & 2) | (flags & 1) << 2, 2) + name + trailer
            data = 0 if flags & 1 else 1 << 13
            yield struct.pack("<IHH", 10, 2 | 1 << 14 | data, 8 + len(body)) + body


class Programs:
    """Several programs."""

    def __init__(self, *programs):
        self.programs = programs

    def mmaps(self, trailer):
        for program in self.programs:
            yield from program.mmaps(trailer)


def write_file(path, program, sample_type, branch_type, samples, features=(), event=None):
    """Writes a recording of one event, of branches or of memory accesses if its type and config are not given."""
    kind, config = event or ((0, 4) if sample_type & BRANCH_STACK else (4, 0x1cd))
    attr = struct.pack("<IIQQQQQ", kind, 128, config, 1000, sample_type, 0, 1 << 18 | 1 << 20)
    attr += bytes(72 - len(attr)) + quads(branch_type) + bytes(128 - 80)
    trailer = struct.pack("<IIQ", PID, PID, 9 * 10**9) + (struct.pack("<II", 0, 0) if sample_type & CPU else b"")
    body = struct.pack("<II", PID, PID) + b"busy\0\0\0\0" + trailer
    records = struct.pack("<IHH", 3, 0, 8 + len(body)) + body + b"".join(program.mmaps(trailer))
    for body in samples:
        records += struct.pack("<IHH", 9, 2, 8 + len(body)) + body
    data = 104 + len(attr) + 16
    bits = sum(1 << feature for feature in features)
    header = b"PERFILE2" + quads(104, len(attr) + 16, 104, len(attr) + 16, data, len(records), 0, 0, bits, 0, 0, 0)
    end = data + len(records)
    sections = b"".join(quads(end + 16 * len(features), 0) for _ in features)
    with open(path, "wb") as out:
        out.write(header + attr + quads(0, 0) + records + sections)


def branch_samples(program, types=False):
    """Each has up to 3 branches, of which some are to an address without a function."""
    for i in range(60):
        body = quads(program.address(FUNCTIONS[i % 4], 4)) + struct.pack("<IIQ", PID, PID, (10 + i) * 10**9) + struct.pack("<II", i % 3, 0)
        body += quads(1000 + i, i % 4)
        for k in range(i % 4):
            source = program.address(FUNCTIONS[(i + k) % 3], 1 + k)
            target = program.address(FUNCTIONS[(i * k) % 5]) if (i + k) % 7 else 0x5000 + 16 * (i % 2)
            # mispredicted, predicted, in a transaction, aborted; cycles
            kind = (source + target // 16) % 15
            flags = (1, 2, 2, 6, 10, 2)[(i + k) % 6] | (i + k) % 4 * 5 << 4
            body += quads(source, target, flags | (kind << 20 if types else 0))
        yield body


def call_samples(program):
    """Two addresses of a function, which main() called at one place."""
    for i in range(10):
        address = program.address("first", i % 2 * 4)
        yield quads(address) + struct.pack("<IIQ", PID, PID, (10 + i) * 10**9) + quads(3, -512, address, program.address("main", 9))


def data_source(operation=1, level=0, snoop=0, lock=0, tlb=0, number=0, remote=0, snoop_more=0, blocked=0, hops=0):
    """The bits of data_src."""
    return (operation | level << 5 | snoop << 19 | lock << 24 | tlb << 26 | number << 33 | remote << 37 | snoop_more << 38 | blocked << 40 |
            hops << 43)


def access_samples(program):
    """Loads and stores of variables, of the stack and of addresses in no mapping."""
    hit, miss = 2, 4
    sources = (data_source(2, 8 | hit, 2, 2, 2 | 8), data_source(4, 16 | miss, 4, 1, 4 | 16), data_source(2, 0, 16, 2, 0, 3, 0, 0, 2),
               data_source(2, 64 | hit, 0, 2, 2 | 8 | 16, 0, 0, 1, 6), data_source(2, 1, 1, 1, 1, 0, 0, 0, 1))
    for i in range(60):
        name = FUNCTIONS[i % 4]
        address = (program.address("table", 4 * (i % 7)), program.address("other", 64 * (i % 3)), 0x7ffc00001000 + 8 * (i % 5), 0x6000)[i % 4]
        body = quads(program.address(name, 4)) + struct.pack("<II", PID, PID) + quads((10 + i) * 10**9, address)
        body += struct.pack("<IIQ", i % 3, 0, 1000)
        body += quads((i * 7) % 11, sources[i % 5], 0x100000 + 64 * (i % 6), (4096, 2 << 20)[i % 2])
        yield body


# ---- comparing ----

def lines_of(text):
    """Rows and titles without padding; perf 6.1 ends lines with blanks."""
    lines = [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]
    return [line for line in lines if line and (line[0] != "#" or re.match(r"# (Samples|Event|Total w|Sort|Overhead|Branch)", line))]


def ordered(lines):
    """Equal rows may have another order."""
    return [line for line in lines if line[0] == "#"] + sorted(line for line in lines if line[0] != "#")


def of_perf(options):
    """perf adds columns of instructions per cycle if a key has "symbol" in its name, and takes capital letters, too."""
    return [option.upper() if before == "-s" and "symbol" in option else option for before, option in zip(("",) + options, options)]


def changed(line):
    """perf has a level of its own for addresses in no mapping, and wrong offsets of cache lines in variables."""
    return line.replace("[H]", "[.]")


def changed_key(line):
    """Only machines of other architectures have stages of pipelines."""
    return line.replace(",local_p_stage_cyc", "").lower() if line.startswith("# Sort") else changed(line)


def changed_line(line):
    return changed(re.sub(r"\[\.\] .*", "[.] line", line.lower()))


@peer.part
def same(path, *options, least=2, change=changed):
    theirs, ours = run(PERF, "report", "-i", path, "--stdio", *of_perf(options)), run(PERCH, "report", "-i", path, "--stdio", *options)
    left, right = ([change(line) for line in lines_of(done.stdout)] for done in (theirs, ours))
    shares = [[line.split("%")[0] for line in lines if line[0] != "#"] for lines in (left, right)]
    good = ours.returncode == 0 and ordered(left) == ordered(right) and shares[0] == shares[1] and len(shares[1]) >= least
    check(good, "%s %s: %d rows" % (path, " ".join(options), len(shares[1])), "perf:\n%s\nperch:\n%s%s" %
          ("\n".join(left[:30]), "\n".join(right[:30]), ours.stderr))


@peer.part
def same_script(path):
    """The variables at the addresses that samples access."""
    theirs, ours = (run(command, "script", "-i", path, "-F", "time,addr,ip,sym,symoff,dso").stdout for command in (PERF, PERCH))
    check(lines_of(theirs) == lines_of(ours) and " table+0x4 " in ours, "%s: script -F addr" % path, "perf:\n%s\nperch:\n%s" % (theirs[:600], ours[:600]))


def compare_branches(program):
    usual = IP | TID | TIME | CPU | PERIOD | BRANCH_STACK
    write_file("branches", program, usual, 1 << 3, branch_samples(program), (BRANCH_FEATURE,))
    for keys in ("symbol_from,symbol_to", "dso_from,dso_to", "symbol_from", "symbol_to", "dso_to", "mispredict", "cycles", "in_tx", "abort",
                 "comm,dso_from,symbol_to,cycles", "sym", "cpu,symbol_from", "srcline_from", "srcline_to,symbol_from", "dso,sym", "addr_from",
                 "addr_to", "addr_from,addr_to", "addr_from,symbol_to"):
        same("branches", "-s", keys)
    same("branches")
    same("branches", "-b", "-s", "symbol_from,symbol_to,cycles")
    same("branches", "--branch-stack", "-n", "-s", "comm,symbol_to")
    same("branches", "--no-branch-stack", "-s", "sym")
    write_file("types", program, usual, 1 << 3 | 1 << 16, branch_samples(program, True), (BRANCH_FEATURE,))
    # perf takes all branches of a row for ones like the first
    same("types", "-s", "addr_from,addr_to")
    same("types", "-s", "comm,addr_to,addr_from", "--comm", "busy")
    types = re.findall(r"^ *(\w+): +([\d.]+)%$", run(PERCH, "report", "-i", "types", "-s", "dso_from").stdout, re.M)
    check(len(types) > 5 and "CROSS_2M" in dict(types), "shares of the types of branches", types)
    check("Branch Statistics" not in run(PERCH, "report", "-i", "branches").stdout, "no types of branches without them")


def compare_accesses(program):
    usual = IP | TID | TIME | ADDR | CPU | PERIOD | WEIGHT | DATA_SRC | PHYS_ADDR | DATA_PAGE_SIZE
    write_file("accesses", program, usual, 0, access_samples(program))
    for keys in ("mem", "symbol_daddr", "symbol_iaddr", "dso_daddr", "dcacheline", "snoop", "tlb", "locked", "blocked", "local_weight", "weight",
                 "phys_daddr", "data_page_size", "mem,snoop,tlb,locked", "comm,dso,sym,dso_daddr"):
        same("accesses", "--mem-mode", "-s", keys, change=changed_line if keys == "dcacheline" else changed_key)
    same("accesses", "--mem-mode", change=changed_key)
    same("accesses", "--mem-mode", "-n", "-s", "sym,mem", change=changed_key)
    same("accesses")


def check_offsets(program):
    """perf has the column in newer versions only, with wrong offsets of callers."""
    done = run(PERCH, "report", "-i", "accesses", "--stdio", "-s", "symoff")
    rows = re.findall(r"^ *([\d.]+)%  (\[.\] \S+) *$", done.stdout, re.M)
    check(sorted(rows) == sorted(("25.00", "[.] %s+0x4" % name) for name in FUNCTIONS[:4]), "offsets in functions", done.stdout + done.stderr)
    done = run(PERCH, "report", "-i", "accesses", "--stdio", "-s", "symoff,srcfile,sym")
    check(len(re.findall(r"^ *25.00%  \[.\] (\S+)\+0x4 +work.c +\[.\] \1 *$", done.stdout, re.M)) == 4, "offsets, files and functions",
          done.stdout)
    done = run(PERCH, "report", "-i", "calls", "--stdio", "--children", "-g", "none", "-s", "symoff")
    rows = re.findall(r"^ *([\d.]+)% +([\d.]+)%  (\[.\] \S+) *$", done.stdout, re.M)
    check(sorted(rows) == [("100.00", "0.00", "[.] main+0x9"), ("50.00", "50.00", "[.] first+0x0"), ("50.00", "50.00", "[.] first+0x4")],
          "offsets of callers", done.stdout + done.stderr)


def check_offsets_of_one_name(program):
    """Programs of one name have one row for a function, which begins at another address in each of them."""
    before = "__attribute__((noinline)) int before(int i)\n{\n\treturn i * 3;\n}\n\nint main(void)"
    other = Program("other", SOURCE.replace("int main(void)", before), BASE + (1 << 30))
    moved = other.symbol["main"] - program.symbol["main"]
    addresses = [program.address("main", 4), program.address("main", 4 + moved), other.address("main", 4)]
    write_file("names", Programs(program, other), IP | TID | TIME, 0,
               [quads(address) + struct.pack("<IIQ", PID, PID, (10 + i) * 10**9) for i, address in enumerate(addresses)])
    for options in ["symoff"], ["symoff", "-g", "address"]:
        done = run(PERCH, "report", "-i", "names", "--stdio", "-s", *options)
        rows = re.findall(r"^ *([\d.]+)%  (\[.\] \S+) *$", done.stdout, re.M)
        check(moved and sorted(rows) == sorted([("33.33", "[.] main+0x%x" % (4 + moved)), ("66.67", "[.] main+0x4")]),
              "offsets in functions of programs of one name, %s" % options, done.stdout + done.stderr)
    subprocess.run(["strip", "-g", program.path], check=True)
    subprocess.run(["strip", "-g", other.path], check=True)
    rows = re.findall(r"^ *([\d.]+)%  (\S+) *$", run(PERCH, "report", "-i", "names", "--stdio", "-s", "srcline").stdout, re.M)
    check(sorted(rows) == sorted([("33.33", "main+%d" % (4 + moved)), ("66.67", "main+4")]), "... and without lines", rows)


def compare_split(program):
    """Variables of a stripped program have the names of its debug file, whose sections have no bytes."""
    usual = IP | TID | TIME | ADDR | CPU | PERIOD | WEIGHT | DATA_SRC | PHYS_ADDR | DATA_PAGE_SIZE
    split = Program("split-work", split=True)
    write_file("split", split, usual, 0, access_samples(split))
    same("split", "--mem-mode", "-s", "symbol_daddr", change=changed_key)
    check("table+0x4" in run(PERCH, "report", "-i", "split", "--stdio", "--mem-mode", "-s", "symbol_daddr").stdout, "variables of a debug file")
    # perf script names the addresses of page faults
    for name, accessed in (("faults", program), ("split-faults", split)):
        write_file(name, accessed, usual, 0, access_samples(accessed), event=(1, 2))
        same_script(name)


def check_blocks():
    """perf 6.1 crashes with --total-cycles, so the numbers are those of branch_samples()."""
    done = run(PERCH, "report", "-i", "branches", "--stdio", "--total-cycles", "-q")
    rows = [re.match(r" +([\d.]+)% +(\d+) +([\d.]+)% +(\d+) +\[(.*) -> (.*)\] +(\S+)$", line) for line in done.stdout.splitlines() if line]
    check(len(rows) == 9 and all(rows), "--total-cycles prints blocks", done.stdout + done.stderr)
    if not all(rows):
        return
    check([row.group(1, 2, 3, 4) for row in rows] == [("20.00", "150", "11.11", "10")] * 3 + [("10.00", "75", "16.67", "15")] * 3 +
          [("3.33", "25", "5.56", "5")] * 3, "cycles of blocks, and their averages", done.stdout)
    check(sorted(row[5] + row[6] for row in rows[:3]) == ["work.c:15work.c:15", "work.c:3work.c:3", "work.c:9work.c:9"] and
          all(row[5] == "?" for row in rows[3:]), "lines of blocks; blocks that start in another function", done.stdout)
    few = run(PERCH, "report", "-i", "branches", "--stdio", "--total-cycles", "-q", "--percent-limit", "5").stdout
    check(len(few.split("\n")) == 9, "--percent-limit of blocks", few)
    done = run(PERCH, "report", "-i", "accesses", "--total-cycles")
    check(done.returncode == 1 and "needs branch stacks" in done.stderr, "--total-cycles of a file without branch stacks", done.stderr)


def compare_tracepoints():
    """A thread whose name looks like another field."""
    script = "printf '%s' 'a prev_prio=7' >/proc/$$/comm; sleep 0.01; sleep 0.01; true"
    if run(PERCH, "record", "-q", "-e", "sched:sched_switch", "-o", "switches", "--", "sh", "-c", script).returncode:
        print("skipped: tracepoints cannot be recorded here", flush=True)
        return
    rows = [json.loads(line) for line in run(PERCH, "report", "-i", "switches", "-j", "-s", "prev_comm,prev_prio,prev_state").stdout.splitlines()]
    priorities = {row["prev_prio"] for row in rows if row["prev_comm"] == "a prev_prio=7"}
    check(priorities and "7" not in priorities, "a name of a thread is not the value of another field", rows)
    done = run(PERCH, "report", "-i", "switches", "-s", "prev_com")
    check(done.returncode == 2 and "use 'prev_comm'" in done.stderr, "a wrong name of a field", done.stderr)
    done = run(PERCH, "report", "-i", "switches", "-s", "sched_swich.prev_comm")
    check(done.returncode == 2 and "no event 'sched_swich'" in done.stderr, "a wrong name of an event", done.stderr)


def main():
    if not shutil.which(PERF):
        print("skipped: no %s to compare with (environment variable PERF)" % PERF)
        return 77
    directory = os.environ.get("KEEP") or tempfile.mkdtemp()
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    try:
        program = Program()
        compare_branches(program)
        compare_accesses(program)
        write_file("calls", program, IP | TID | TIME | CALLCHAIN, 0, call_samples(program))
        check_offsets(program)
        compare_split(program)
        check_blocks()
        check_offsets_of_one_name(program)
        compare_tracepoints()
    finally:
        if not os.environ.get("KEEP"):
            shutil.rmtree(directory, ignore_errors=True)
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
