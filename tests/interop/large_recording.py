# SPDX-License-Identifier: MIT
"""A large recording of a program that never ran: perf.data with a given number of samples and of different call chains."""
import os
import random
import struct
import subprocess

FUNCTIONS = 4000
THREADS, CPUS = 8, 8
PID = 4242
START = 0x400000
MMAP, COMM, SAMPLE = 1, 3, 9


def make_program(path):
    """An ELF file with many functions of 64 bytes. Returns the offset of the first one, and writes no debug information."""
    lines = [".text", ".balign 64"]
    for i in range(FUNCTIONS):
        lines += [f".globl work_item_{i:04d}", f".type work_item_{i:04d}, @function", f"work_item_{i:04d}:", ".fill 64, 1, 0x90",
                  f".size work_item_{i:04d}, 64"]
    lines += [".globl _start", "_start: nop"]
    source = path + ".s"
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,-Ttext=0x401000", "-Wl,--build-id=none", "-o", path, source], check=True)
    return 0x401000


def make_chains(count, chance):
    """Distinct call chains, innermost address first: paths in a tree that grows at random."""
    nodes, chains = [()], []
    while len(chains) < count:
        at = chance.randrange(len(nodes))
        path = nodes[at]
        if len(path) > 22:
            continue
        # a function calls few others
        callee = (hash((path[-1:], chance.randrange(6))) & 0x7fffffff) % FUNCTIONS
        path = path + (callee,)
        nodes.append(path)
        chains.append(path)
    return chains


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def text(name):
    data = name.encode() + b"\0"
    return data + bytes(-len(data) % 8)


def write(path, program, samples, stacks, equal_periods=True, seed=1):
    """Writes the recording."""
    chance = random.Random(seed)
    first = make_program(program)
    # IP | TID | TIME | CALLCHAIN | CPU | PERIOD, sample_id_all
    sample_type = 1 | 2 | 4 | 0x20 | 0x80 | 0x100
    attr = struct.pack("<IIQQQQ", 1, 128, 0, 250000, sample_type, 0) + struct.pack("<Q", 1 << 18) + bytes(80)
    trailer = struct.pack("<IIQII", PID, PID, 1, 0, 0)
    chains = [b"".join(struct.pack("<Q", first + 64 * function + 7) for function in reversed(chain)) + b"" for chain in make_chains(stacks, chance)]
    # some chains are hot
    weights = [chance.paretovariate(0.9) for _ in chains]
    with open(path, "wb") as out:
        out.write(bytes(104))
        out.write(attr + struct.pack("<QQ", 0, 0))
        data = 104 + 144
        out.write(record(MMAP, 2, struct.pack("<IIQQQ", PID, PID, START, 0x100000, 0) + text(program) + trailer))
        for i in range(THREADS):
            out.write(record(COMM, 0, struct.pack("<II", PID, PID + i) + text(f"worker-{i % 3}") + trailer))
        picked = list(range(len(chains))) + chance.choices(range(len(chains)), weights, k=samples - len(chains))
        chance.shuffle(picked)
        part, time = [], 1000000000
        for i, number in enumerate(picked):
            time += chance.randrange(2000, 40000)
            chain, thread = chains[number], (number * 7 + chance.randrange(2)) % THREADS
            period = 250000 if equal_periods else chance.randrange(1, 1000000)
            body = chain[:8] + struct.pack("<IIQIIQQQ", PID, PID + thread, time, (thread + (i >> 12)) % CPUS, 0, period,
                                           len(chain) // 8 + 1, 0xfffffffffffffe00) + chain
            part.append(struct.pack("<IHH", SAMPLE, 2, 8 + len(body)) + body)
            if len(part) == 10000:
                out.write(b"".join(part))
                part = []
        out.write(b"".join(part))
        end = out.seek(0, os.SEEK_CUR)
        out.seek(0)
        out.write(b"PERFILE2" + struct.pack("<QQ", 104, 144) + struct.pack("<QQQQQQ", 104, 144, data, end - data, 0, 0) + bytes(32))
