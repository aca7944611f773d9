#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch script prints instructions, the code between branches, and source lines as perf script does: fields insn, insnlen, srccode,
brstackinsn and brstackinsnlen; the text of instructions (disasm) as objdump does. The branch stacks are built, because few machines can record some."""
import difflib
import json
import os
import re
import struct
import sys
import tempfile

import cases
from cases import check
from peer import captured

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")

# Every label of a character and a digit is the source or the target of a branch.
ASSEMBLY = """
	.text
	.globl _start
	.type _start, @function
_start:	mov $3, %ecx
t1:	dec %ecx
b1:	jnz t1
b2:	call function
t3:	nopw 0x0(%rax,%rax,1)
b4:	jmp t4
	ud2
t4:	xor %edi, %edi
	mov $60, %eax
i5:	inc %eax
b6:	jmp t4
t7:	nop
	.size _start, . - _start
	.globl function
	.type function, @function
function: push %rbp
	mov %rsp, %rbp
	movabs $0x1122334455667788, %rax
	pop %rbp
b3:	ret
t9:	nop
	.byte 0x06, 0x06
	nop
b8:	ret
	.size function, . - function
"""
SOURCE = """
volatile unsigned long sum;
__attribute__((noinline)) static void inner(unsigned long i)
{
	sum += i * i;
	sum ^= i;
}
int main(void)
{
	for (unsigned long i = 0; i < 60000000; i++)
		inner(i);
	return 0;
}
"""
# predicted, mispredicted, in a transaction, aborted; cycles from bit 4 on
MISPREDICTED, PREDICTED, TRANSACTION, ABORTED = 1, 2, 4, 8


def script(program, path, *options):
    """The lines of a script command. perf is run again if a signal ended it."""
    for _ in range(3):
        done = captured(program, "script", *(("-f",) if program == PERF else ()), "-i", path, *options)
        if program != PERF or 0 <= done.returncode < 128:
            break
    # perf makes another name for the event of a built file
    return [line.rstrip().replace("cycles:HG:", "cycles:") for line in done.stdout.splitlines()], done


def same(path, *options, least=1):
    theirs, done = script(PERF, path, *options)
    if not 0 <= done.returncode < 128:
        print("skipped: %s: perf died three times" % " ".join(options))
        return
    ours, done = script(PERCH, path, *options)

    check(ours == theirs and len(ours) >= least, "%s %s: %d lines" % (os.path.basename(path), " ".join(options), len(ours)),
          "perf has %d lines; %s\n%s" % (len(theirs), done.stderr, "\n".join(difflib.unified_diff(theirs, ours, "perf", "perch", n=1, lineterm=""))))


def words(*values):
    return struct.pack("<%dQ" % len(values), *(value & (1 << 64) - 1 for value in values))


def write_branches(path, program, start, size, offset, samples):
    """A recording of samples: the address and the branches, newest first. It has the mapping of the program."""
    thread = struct.pack("<II", 70, 70)
    sample_type = 1 | 2 | 4 | 1 << 11  # IP, TID, TIME, BRANCH_STACK
    attr = struct.pack("<IIQQQQQ", 0, 112, 0, 1000, sample_type, 0, 1 << 18) + bytes(24) + words(1 << 3) + bytes(32)
    assert len(attr) == 112
    name = program.encode() + bytes(1)
    name += bytes(-len(name) % 8)
    trailer = thread + words(1)
    bodies = [(1, 2, thread + words(start, size, offset) + name + trailer), (3, 0, thread + b"program\0" + trailer)]
    for number, (ip, branches) in enumerate(samples):
        stack = b"".join(words(source, target, flags) for source, target, flags in branches)
        bodies.append((9, 2, words(ip) + thread + words(10**9 * (number + 1)) + words(len(branches)) + stack))
    records = b"".join(struct.pack("<IHH", kind, misc, 8 + len(body)) + body for kind, misc, body in bodies)
    data = 104 + len(attr) + 16
    # the feature ARCH: perf reads instructions of its own architecture only
    header = b"PERFILE2" + words(104, len(attr) + 16, 104, len(attr) + 16, data, len(records), 0, 0, 1 << 6, 0, 0, 0)
    end = data + len(records) + 16
    arch = struct.pack("<I", 64) + b"x86_64".ljust(64, b"\0")
    open(path, "wb").write(header + attr + words(0, 0) + records + words(end, len(arch)) + arch)


def assemble(directory):
    """Returns the path of the program, its labels, and start, size and offset of its code."""
    path = os.path.join(directory, "program")
    with open(path + ".s", "w") as file:
        file.write(ASSEMBLY)
    for command in (["as", path + ".s", "-o", path + ".o"], ["ld", path + ".o", "-o", path]):
        done = captured(*command)
        if done.returncode:
            return None
    labels = {name: int(address, 16) for address, name in re.findall(r"^(\w+) \w (\w+)$", captured("nm", path).stdout, re.M)}
    code = next(line.split() for line in captured("readelf", "-lW", path).stdout.splitlines() if " LOAD " in line and " R E " in line)
    captured("strip", "-K", "_start", "-K", "function", path)
    return path, labels, int(code[2], 16), int(code[5], 16), int(code[1], 16)


def text_of_paths(path, label):
    """brstackdisasm has the lines of brstackinsn, with the text of instructions instead of their bytes."""
    plain, _ = script(PERCH, path, "-F", "brstackinsn")
    ours, _ = script(PERCH, path, "-F", "brstackdisasm")
    line = re.compile(r"\t([0-9a-f]{16})\t(.*?)(?: *(\t#.*))?$")
    pairs = [(line.match(one), line.match(other)) for one, other in zip(plain, ours)]
    check(len(plain) == len(ours) > 100 and all(
        one.group(1, 3) == other.group(1, 3) if one and other else plain[i] == ours[i] for i, (one, other) in enumerate(pairs)),
          "brstackdisasm has %d lines of brstackinsn" % len(ours), (plain[:6], ours[:6]))
    texts = {int(other.group(1), 16): other.group(2) for _, other in pairs if other}
    for name, text in (("b1", "jne _start+0x%x" % (label["t1"] - label["_start"])), ("b2", "callq function+0x0"), ("b3", "retq"),
                       ("function", "pushq %rbp"), ("t4", "xorl %edi, %edi")):
        check(texts.get(label[name]) == text, "text in a branch stack: " + text, texts.get(label[name]))
    ours, _ = script(PERCH, path, "-F", "brstackdisasm,brstackinsnlen")
    check(any(re.search(r"\tretq {26}\tilen: 1\t# PRED", one) for one in ours), "brstackdisasm with lengths", "\n".join(ours[:12]))


def branch_stacks(directory):
    built = assemble(directory)
    if not built:
        print("skipped: branch stacks: no assembler of x86-64")
        return
    program, label, start, size, offset = built
    way = [(label["b4"], label["t4"], MISPREDICTED | 7 << 4), (label["b3"], label["t3"], PREDICTED),
           (label["b2"], label["function"], PREDICTED | 30 << 4), (label["b1"], label["t1"], PREDICTED | TRANSACTION | 2 << 4),
           (label["b1"], label["t1"], 0)]
    kernel = 0xffffffff81000000
    samples = [(label["i5"], way), (label["i5"], way[:1]), (label["b4"], way[1:]), (label["b4"], way),  # a sample at the last branch
               (label["i5"], [(label["b4"], label["t4"], ABORTED)] + way[1:]),
               (label["t7"], way),  # behind a jump that was not taken
               (label["i5"], [(label["b6"], label["t4"], PREDICTED)] + way),
               (label["i5"], []),
               # outside of the program
               (label["i5"], way[:1] + [(0x500000, 0x500010, 0)] + way[1:]),
               # the way into the kernel was not recorded
               (label["i5"], way[:2] + [(kernel + 64, label["function"], 0)] + way[3:]),
               (kernel + 16, way)]
    path = os.path.join(directory, "branches.data")
    write_branches(path, program, start, size, offset, samples)
    for fields in ("brstackinsn", "ip,brstackinsn", "ip,sym,brstackinsnlen", "comm,insn,insnlen", "ip,brstack,insn,brstackinsn",
                   "+brstackinsn,-period,-cpu"):
        same(path, "-F", fields, least=11)
    text_of_paths(path, label)
    for blocks in ("1", "2", "3"):
        same(path, "-F", "ip,brstackinsn", "--max-blocks", blocks, least=11)
    # No instruction is at the branch; bytes that are none. perf decodes such bytes, and what is after the branch.
    other = os.path.join(directory, "mismatch.data")
    write_branches(other, program, start, size, offset, [
        (label["i5"], [(label["t4"] + 1, label["t4"], 0)] + way[1:]),
        (label["b8"], [(label["b1"], label["t9"], 0)]),
        (label["i5"], [(label["b8"], label["t4"], 0), (label["b4"], label["t9"], 0)])])
    ours, _ = script(PERCH, other, "-F", "ip,brstackinsn")
    check(sum("mismatch of LBR data and executable" in line for line in ours) == 2, "branches that the code does not have", "\n".join(ours))
    ours, _ = script(PERCH, path, "-F", "brstackinsn")
    text = "\n".join(ours)
    for part in ("... not reaching sample ...", "PRED INTX 2 cycles", "IPC", "\tfunction:"):
        check(part in text, "has: " + part.strip(), text[:1500])
    _, done = script(PERCH, path, "-j", "-F", "ip,insn,insnlen")
    first = json.loads(done.stdout.splitlines()[0])
    check(first["insn"] == "ffc0" and first["insnlen"] == 2, "JSON has the bytes of the instruction", first)
    ours, _ = script(PERCH, path, "-F", "disasm")
    # the target is that of the process, by its function if it has a name
    for at, text in ((0, "incl %eax"), (2, "jmp _start+0x%x" % (label["t4"] - label["_start"])), (5, "nop")):
        check(ours[at] == "\t\t" + text, "the text of an instruction: " + text, ours[at])
    _, done = script(PERCH, path, "-F", "ip,insn")
    check("the instructions of 1 address are missing; the first one: " in done.stderr, "names what is missing", done.stderr)
    damaged = os.path.join(directory, "damaged.data")
    content = bytearray(open(path, "rb").read())
    for at in range(320, len(content), 5):
        content[at] ^= 0x40
    open(damaged, "wb").write(content)
    _, done = script(PERCH, damaged, "-F", "ip,insn,disasm,brstackinsn,brstackdisasm,srccode")
    check(done.returncode in (0, 1), "reads damaged branches", done.returncode)


VECTORS = """
#include <time.h>
int main(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 4;

	while (clock() < end)
		for (int i = 0; i < 2000; i++)
			__asm__ volatile("kmovd %%ecx,%%k2; vpternlogd $7,%%zmm1,%%zmm2,%%zmm3; kmovd %%k2,%%eax; vzeroupper" ::: "eax", "memory");
	return 0;
}
"""


def vectors(directory):
    """Instructions that the disassembler does not know have the bytes that objdump prints."""
    with open("/proc/cpuinfo") as file:
        if not re.search(r"^flags.* avx512bw", file.read(), re.M):
            print("skipped: instructions of AVX-512: this CPU has none")
            return
    path, program = os.path.join(directory, "vectors.data"), os.path.join(directory, "vectors")
    with open(program + ".c", "w") as file:
        file.write(VECTORS)
    done = captured("gcc", "-O2", "-o", program, program + ".c")
    if not done.returncode:
        done = captured(PERCH, "record", "-q", "-N", "-e", "cpu-clock:u", "-F", "2000", "-o", path, program)
    if done.returncode:
        print("skipped: instructions of AVX-512: " + done.stderr[:200])
        return
    listed = dict(re.findall(r"^ +([0-9a-f]+):\t((?:[0-9a-f]{2} )+)", captured("objdump", "-d", "-w", program).stdout, re.M))
    theirs = {bytes.fromhex(code).hex() for code in listed.values()}
    done = captured(PERCH, "script", "-i", path, "--dsos", "vectors", "-j", "-F", "ip,insn,insnlen")
    ours = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [sample for sample in ours if sample.get("insn") not in theirs or len(sample["insn"]) != 2 * sample["insnlen"]]
    check(len(ours) > 20 and not wrong, "bytes of AVX-512 instructions of %d samples" % len(ours), (wrong[:3], done.stderr))


def plain(name, operands):
    """Without suffixes, spaces and the base of small numbers, in which disassemblers differ."""
    return name.rstrip("lq"), re.sub(r"0x([0-9])\b", r"\1", operands.replace(" ", ""))


def disassembly(directory, path):
    """The text of sampled instructions is that of objdump."""
    listed = captured("objdump", "-d", "--no-show-raw-insn", "-w", os.path.join(directory, "busy")).stdout
    theirs = set()
    for code, target in re.findall(r"^ +[0-9a-f]+:\t([^#<\n]*)(?:<([^>]*)>)?(?:#.*)?$", listed, re.M):
        name, _, operands = code.strip().partition(" ")
        operands = target if "+" in target else target + "+0x0" if target else operands.strip()
        theirs.add(plain(name, operands))
    done = captured(PERCH, "script", "-i", path, "--dsos", "busy", "-F", "ip,insn,disasm")
    texts = [re.fullmatch(r" +[0-9a-f]+ insn: (?:[0-9a-f]{2} ?)+\t\t(.+)", line) for line in done.stdout.splitlines()]
    check(len(texts) > 20 and all(texts), "text of the instruction of each of %d samples" % len(texts), (done.stdout[:300], done.stderr))
    wrong = set()
    for text in filter(None, texts):
        name, _, operands = text.group(1).partition(" ")
        if plain(name, operands) not in theirs:
            wrong.add(text.group(1))
    check(not wrong, "instructions are those of objdump", (wrong, list(theirs)[:60]))
    objects = captured(PERCH, "script", "-i", path, "--dsos", "busy", "-j", "-F", "ip,disasm").stdout.splitlines()
    check([json.loads(line)["disasm"] for line in objects] == [text.group(1) for text in texts if text], "JSON has the same text", objects[:2])


def source_code(directory):
    path, program = os.path.join(directory, "source.data"), os.path.join(directory, "busy")
    with open(program + ".c", "w") as file:
        file.write(SOURCE)
    done = captured(os.environ.get("CC", "gcc").split()[-1], "-g", "-O1", "-o", program, program + ".c")
    if not done.returncode:
        done = captured(PERCH, "record", "-q", "-e", "cpu-clock:u", "-F", "500", "-o", path, program)
    if done.returncode:
        print("skipped: source code: " + done.stderr[:200])
        return
    for fields in ("ip,sym,insn,insnlen", "ip,srccode", "comm,ip,sym,insn,srccode"):
        same(path, "-F", fields, least=20)
    disassembly(directory, path)
    ours, _ = script(PERCH, path, "-F", "ip,srccode")
    check(any(re.match(r"\|5 {8}\tsum \+= i \* i;$|\|6 {8}\tsum \^= i;$", line) for line in ours), "the text of a line", ours[:6])


def main():
    if os.uname().machine != "x86_64":
        print("skipped: perf knows instructions of x86 only")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        branch_stacks(directory)
        source_code(directory)
        vectors(directory)
    return cases.failed


sys.exit(main())
