# SPDX-License-Identifier: MIT
"""Parses `perf report -D` and `perf script -D` into records, with the fields that `perch dump -j` must have too."""
import re
import subprocess

from cases import limit
import peer

HEAD = re.compile(r"^(?:0x)?([0-9a-f]+)(?:@(.*))? \[0x([0-9a-f]+)\]: event: (\d+)$")
BYTES = re.compile(r"^\.  ([0-9a-f]{4,8}):((?: ?\s[0-9a-f]{2}){1,16})(?:\s|$)")
BODY = re.compile(r"^((?:-?\d+ )*)0?x?([0-9a-f]+) \[0x([0-9a-f]+)\]: PERF_RECORD_([A-Z0-9_]+)(.*)$")


class Block:
    """A record as perf prints it."""

    def __init__(self, head):
        self.offset, self.size, self.type = int(head[1], 16), int(head[3], 16), int(head[4])
        self.pipe = head[2] == "pipe"
        self.raw, self.name, self.rest, self.stamp, self.details = "", None, "", [], []


def blocks_of(path, tool):
    """The records that perf prints of a file, as far as it reads it; and None, or how it died. Then its output may end anywhere,
    so these are the records that it printed whole."""
    command = ["perf", tool, "-D", "-i", path] + (["--stdio"] if tool == "report" else [])
    run = peer.try_run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=limit(240))
    found = records_in(run.stdout.decode("utf-8", "replace"))
    if peer.fault(run.returncode):
        return found[:-1], peer.describe(command, run.returncode)
    return found, None


def records_in(text):
    """The records of perf's output."""
    found = []
    for line in text.split("\n"):
        head = HEAD.match(line)
        if head:
            found.append(Block(head))
            continue
        if not found:
            continue
        block = found[-1]
        raw = BYTES.match(line)
        if raw and block.name is None:
            block.raw += raw[2].replace(" ", "")
            continue
        body = BODY.match(line)
        if body and block.name is None and int(body[3], 16) == block.size:
            # perf script may append its own text to the line
            block.name = next((name for name in sorted(FIELDS, key=len, reverse=True) if body[4].startswith(name)), body[4])
            block.rest = body[4][len(block.name):] + body[5]
            # with several events perf prints a CPU when one of them has it
            block.stamp = [int(word) for word in body[1].split() if word != "4294967295"]
        elif block.name is not None:
            block.details.append(line)
    return found


def pairs(pattern, lines):
    for line in lines:
        match = re.match(pattern, line)
        if match:
            yield match


def first(pattern, lines):
    return next(pairs(pattern, lines), None)


def signed(text):
    """perf prints 32 bits with %d or %u: both are read as signed."""
    number = int(text)
    return number - (1 << 32) if (1 << 31) <= number < (1 << 32) else number


# ---- samples ----

def page_size(text):
    """"4K", "1024M", "1G": powers of 1024; "N/A" is none."""
    found = re.match(r"(\d+)([KMGT]?)$", text)
    return int(found[1]) << 10 * " KMGT".index(found[2] or " ") if found else 0


def sample_chains(lines):
    chain = first(r"\.\.\. (?:FP|LBR) (?:call )?chain: nr:(\d+)", lines)
    if chain:
        entries = list(pairs(r"\.\.\.\.\. +\d+: ([0-9a-f]{16})(?: [A-Z_ ()a-z]*)?$", lines))
        yield "callchain.length", int(chain[1])
        for index, entry in enumerate(entries[:int(chain[1])]):
            yield f"callchain.{index}", int(entry[1], 16)
    branches = first(r"\.\.\. branch (?:call)?stack: nr:(\d+)", lines)
    if branches:
        yield "branch_stack.entries.length", int(branches[1])
        found = pairs(r"\.\.\.\.\. +(\d+): ([0-9a-f]{16}) -> ([0-9a-f]{16}) (\d+) cycles (.)(.)(.)(.)", lines)
        for entry in found:
            at = f"branch_stack.entries.{int(entry[1])}."
            yield at + "from", int(entry[2], 16)
            yield at + "to", int(entry[3], 16)
            yield at + "cycles", int(entry[4])
            for letter, word in (("M", "MISPRED"), ("P", "PREDICTED"), ("A", "ABORT"), ("T", "IN_TX")):
                has = letter in entry.groups()[4:]
                yield at + "flags.words" + (":has" if has else ":lacks"), word


def sample_registers(lines):
    for kind, field in (("user", "user_regs"), ("intr", "intr_regs")):
        abi = None
        for line in lines:
            head = re.match(rf"\.\.\. {kind} regs: mask 0x([0-9a-f]+) ABI (\S+)", line)
            if head:
                abi = head[2]
                yield field + ".abi.value", {"none": 0, "32-bit": 1, "64-bit": 2}[abi]
                continue
            register = re.match(r"\.\.\.\. (\S+) +0x([0-9a-f]+)$", line)
            if abi and register:
                yield f"{field}.{register[1].lower()}", int(register[2], 16)
            elif abi and not register:
                abi = None


def sample_read(lines):
    if not first(r"\.\.\. sample_read:", lines):
        return
    for word, field in (("enabled", "time_enabled"), ("running", "time_running")):
        time = first(rf"\.\.\.\.\.\. time {word} ([0-9a-f]+)", lines)
        if time:
            yield "read." + field, int(time[1], 16)
    group = first(r"\.\.\.\. group nr (\d+)", lines)
    if group:
        yield "read.values.length", int(group[1])
    for index, value in enumerate(pairs(r"\.\.\.\.\. id ([0-9a-f]+), value ([0-9a-f]+)(?:, lost (\d+))?", lines)):
        at = f"read.values.{index}." if group else "read."
        yield at + "id", int(value[1], 16)
        yield at + "value", int(value[2], 16)
        if value[3] is not None:
            yield at + "lost", int(value[3])


def sample(block):
    lines = block.details
    head = re.match(r"\(IP, 0x([0-9a-f]+)\): (-?\d+)/(-?\d+): (?:0x)?([0-9a-f]+) period: (\d+) addr: (?:0x)?([0-9a-f]+)",
                    block.rest)
    if not head:
        yield "head", block.rest
        return
    yield "!misc.value", int(head[1], 16)
    yield "pid?", signed(head[2])
    yield "tid?", signed(head[3])
    yield "ip?", int(head[4], 16)
    yield "period?", int(head[5])
    yield "addr?", int(head[6], 16)
    yield from sample_chains(lines)
    yield from sample_registers(lines)
    yield from sample_read(lines)
    stack = first(r"\.\.\. ustack: size (\d+), offset 0x([0-9a-f]+)", lines)
    if stack:
        if int(stack[1]):
            yield "user_stack.dyn_size?", int(stack[1])
            at = 2 * (int(stack[2], 16) + 8)  # from the end of the record header
            yield "user_stack.data", block.raw[at:at + 2 * int(stack[1])]
    weight = first(r"\.\.\. weight: (\d+)(?:,0x([0-9a-f]+))?(?:,0x([0-9a-f]+))?$", lines)
    if weight and weight[2] is None:
        yield "weight", int(weight[1])
    elif weight:
        yield "weight.var1_dw", int(weight[1])
        yield "weight.var2_w", int(weight[2], 16)
    for pattern, field in ((r" \. data_src: 0x([0-9a-f]+)", "data_src.value"), (r" \.\. phys_addr: 0x([0-9a-f]+)", "phys_addr"),
                           (r"\.\.\. transaction: ([0-9a-f]+)", "transaction.value")):
        found = first(pattern, lines)
        if found:
            yield field, int(found[1], 16)
    for kind in ("data", "code"):
        found = first(rf" \.\. {kind} page size: (\S+)", lines)
        if found:
            yield f"{kind}_page_size", page_size(found[1])


# ---- the kernel's other records ----

def fields(pattern, names, convert=int):
    """For records with all fields on the first line: each group of the pattern is a field, hexadecimal if its name ends in :x."""
    def parse(block):
        match = re.match(pattern, block.rest)
        if not match:
            yield "head", block.rest
            return
        for text, name in zip(match.groups(), names):
            if name.endswith(":x"):
                yield name[:-2], int(text, 16)
            elif name.endswith(":s"):
                yield name[:-2], text
            else:
                yield name, signed(text) if convert is int else convert(text)
    return parse


def mmap2(block):
    yield from fields(r" (-?\d+)/(-?\d+): \[(?:0x)?([0-9a-f]+)\((?:0x)?([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) [^]]+\]: .{4} (.*)$",
                      ("pid", "tid", "addr:x", "len:x", "pgoff:x", "filename:s"))(block)
    inode = re.search(r" ([0-9a-f]{2,}):([0-9a-f]{2,}) (\d+) (\d+)\]: ", block.rest)
    build_id = re.search(r" <([0-9a-f]*)>\]: ", block.rest)
    if inode:
        yield "maj", int(inode[1], 16)
        yield "min", int(inode[2], 16)
        yield "ino", int(inode[3])
        yield "ino_generation", int(inode[4])
    if build_id:
        yield "build_id", build_id[1]
    rights = re.search(r"\]: ([r-])([w-])([x-])([sp]) ", block.rest)
    yield "prot.value", sum(bit for letter, bit in zip(rights.groups(), (1, 2, 4)) if letter != "-")
    yield "flags.value:&1", int(rights[4] == "s")


def namespaces(block):
    yield from fields(r" (-?\d+)/(-?\d+) - nr_namespaces: (\d+)", ("pid", "tid", "namespaces.length"))(block)
    for found in re.finditer(r"(\d+)/(\w+): (\d+)/(?:0x)?([0-9a-f]+)", " ".join(block.details[:4])):
        yield f"namespaces.{found[1]}.dev", int(found[3])
        yield f"namespaces.{found[1]}.inode", int(found[4], 16)


def context_switch(block):
    words = block.rest.split()
    yield "!misc.words" + (":has" if words[0] == "OUT" else ":lacks"), "SWITCH_OUT"
    yield "!misc.words" + (":has" if words[1:2] == ["preempt"] else ":lacks"), "SWITCH_OUT_PREEMPT"
    ids = re.search(r"pid/tid: *(-?\d+)/ *(-?\d+)", block.rest)
    if ids:
        yield "next_prev_pid", signed(ids[1])
        yield "next_prev_tid", signed(ids[2])


def read(block):
    head = re.match(r": (-?\d+) (-?\d+) .* (\d+)$", block.rest)
    if not head:
        yield "head", block.rest
        return
    yield "pid", signed(head[1])
    yield "tid", signed(head[2])
    yield "read.value", int(head[3])
    for word, field in (("time enabled", "time_enabled"), ("time running", "time_running"), ("id", "id"), ("lost", "lost")):
        found = first(rf"\.\.\. {word} *: (\d+)", block.details)
        if found:
            yield "read." + field, int(found[1])


def text_poke(block):
    yield from fields(r" (?:0x)?([0-9a-f]+) .*old len (\d+) new len (\d+)", ("addr:x", "old_len", "new_len"))(block)
    for word, field in (("Old", "old_bytes"), ("New", "new_bytes")):
        found = [line[1] for line in pairs(rf"\s+{word} bytes: ((?:[0-9a-f]{{2}} ?)+)$", block.details)]
        if found:
            yield field, "".join(found).replace(" ", "")


# ---- perf.data's own ----

def id_index(block):
    yield from fields(r" nr: (\d+)", ("nr",))(block)
    for index, entry in enumerate(pairs(r" \.\.\. id: (\d+)  idx: (\d+)  cpu: (-?\d+)  tid: (-?\d+)", block.details)):
        for text, name in zip(entry.groups(), ("id", "idx", "cpu", "tid")):
            yield f"entries.{index}.{name}", int(text)


def cpu_map(block):
    """perf prints "0-1,4"; any CPU is "-1"."""
    text, cpus = block.rest.lstrip(": ").split(":")[0].strip(), []
    for part in text.split(",") if text else []:
        ends = re.match(r"(-?\d+)(?:-(\d+))?$", part)
        cpus += range(int(ends[1]), int(ends[2] or ends[1]) + 1)
    yield "cpus", cpus


def thread_map(block):
    yield from fields(r" nr: (\d+)", ("nr",))(block)
    for index, pid in enumerate(re.findall(r"(-?\d+)", block.rest.split("thread", 1)[1].split("unhandled")[0])):
        yield f"entries.{index}.pid", int(pid)


def event_update(block):
    found = first(r"\.\.\. id: +(\d+)", block.details)
    if found:
        yield "id", int(found[1])
    for word in ("unit", "name"):
        found = first(rf"\.\.\. {word}: +(.*)$", block.details)
        if found:
            yield word, found[1]
    found = first(r"\.\.\. scale: (\S+)", block.details)
    if found:
        yield "scale:float", float(found[1])


def stat(block):
    ids = first(r"\.\.\. id (\d+), cpu (-?\d+), thread (-?\d+)", block.details)
    values = first(r"\.\.\. value (\d+), enabled (\d+), running (\d+)", block.details)
    for match, names in ((ids, ("id", "cpu", "thread")), (values, ("val", "ena", "run"))):
        for text, name in zip(match.groups(), names) if match else ():
            yield name, int(text)


def stat_round(block):
    found = first(r"\.\.\. time (\d+), type (\S+)", block.details)
    if found:
        yield "time", int(found[1])
        yield "type.words", found[2]


def time_conv(block):
    for word, name in (("Time Shift", "time_shift"), ("Time Muliplier", "time_mult"), ("Time Zero", "time_zero"),
                       ("Time Cycles", "time_cycles"), ("Time Mask", "time_mask"), ("Cap Time Zero", "cap_user_time_zero"),
                       ("Cap Time Short", "cap_user_time_short")):
        found = first(rf"\.\.\. {word} +(\S+)", block.details)
        if found:
            yield name, int(found[1], 0)


def nothing(block):
    return iter(())


TASK = fields(r"\((-?\d+):(-?\d+)\):\((-?\d+):(-?\d+)\)", ("pid", "tid", "ppid", "ptid"))
FIELDS = {
    "SAMPLE": sample, "MMAP2": mmap2, "NAMESPACES": namespaces, "SWITCH": context_switch, "SWITCH_CPU_WIDE": context_switch,
    "READ": read, "FORK": TASK, "EXIT": TASK, "ID_INDEX": id_index, "CPU_MAP": cpu_map, "THREAD_MAP": thread_map,
    "EVENT_UPDATE": event_update, "STAT": stat, "STAT_ROUND": stat_round, "TIME_CONV": time_conv,
    "MMAP": fields(r" (-?\d+)/(-?\d+): \[(?:0x)?([0-9a-f]+)\((?:0x)?([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+)\]: . (.*)$",
                   ("pid", "tid", "addr:x", "len:x", "pgoff:x", "filename:s")),
    "COMM": fields(r"(?: exec)?: (.*):(-?\d+)/(-?\d+)$", ("comm:s", "pid", "tid")),
    "LOST": fields(r": id:(\d+): lost:(\d+)", ("id", "lost"), lambda text: int(text)),
    "LOST_SAMPLES": fields(r": id:\d+: lost samples :(\d+)", ("lost",), lambda text: int(text)),
    "KSYMBOL": fields(r" addr ([0-9a-f]+) len (\d+) type (\d+) flags 0x([0-9a-f]+) name (.*)$",
                      ("addr:x", "len", "ksym_type.value", "flags.value:x", "name:s")),
    "BPF_EVENT": fields(r" type (\d+), flags (\d+), id (\d+)", ("type.value", "flags", "id")),
    "TEXT_POKE": text_poke,
    "CGROUP": fields(r" cgroup: (\d+) (.*)$", ("id", "path:s"), lambda text: int(text)),
    "AUX": fields(r" offset: (?:0x)?([0-9a-f]+) size: (?:0x)?([0-9a-f]+) flags: (?:0x)?([0-9a-f]+)",
                  ("aux_offset:x", "aux_size:x", "flags.value:x")),
    "ITRACE_START": fields(r" pid: (-?\d+) tid: (-?\d+)", ("pid", "tid")),
    "AUX_OUTPUT_HW_ID": fields(r" hw_id: (?:0x)?([0-9a-f]+)", ("hw_id:x",)),
    "AUXTRACE_INFO": fields(r" type: (\d+)", ("type.value",)),
    "AUXTRACE": fields(r" size: (?:0x)?([0-9a-f]+)  offset: (?:0x)?([0-9a-f]+)  ref: (?:0x)?([0-9a-f]+)  idx: (\d+)  "
                       r"tid: (-?\d+)  cpu: (-?\d+)", ("size:x", "offset:x", "reference:x", "idx", "tid", "cpu")),
    "THROTTLE": nothing, "UNTHROTTLE": nothing, "ATTR": nothing, "FEATURE": nothing, "FINISHED_INIT": nothing,
    "FINISHED_ROUND": nothing, "STAT_CONFIG": nothing, "EVENT_TYPE": nothing, "TRACING_DATA": nothing, "BUILD_ID": nothing,
    "COMPRESSED": nothing,
}
