#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The output is the same for any number of threads, without a symbol index, while one is made, and with one.

Each option set of perf_options.txt, and more, runs on recordings that are large enough for threads, and on those of this machine. With
LONG=1 each set runs in all ways, else in three that change from set to set. ONLY=TEXT runs the sets that have the text. KEEP=DIR keeps
the files there."""
import itertools
import os
import random
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import built
import cases
import large_recording
import perf_options
from cases import check

PERCH = os.environ.get("PERCH", "perch")
JOBS, CACHES = ("1", "2", "3", "8"), ("off", "cold", "warm")
WAYS = [(jobs, cache) for jobs in JOBS for cache in CACHES]
# The first way is the one without threads and index. Of the others each number of threads and each state of the index are in turn.
CHOSEN = [(("2", "off"), ("3", "warm")), (("3", "off"), ("8", "cold")), (("8", "off"), ("1", "warm")), (("2", "cold"), ("8", "warm")),
          (("3", "cold"), ("2", "warm")), (("8", "off"), ("1", "cold"))]
THREADED = {"report", "script", "diff", "export", "flamegraph"}
COMPARED = THREADED | {"annotate"}
SAMPLES = 6000

REPORT = "report --stdio"
ON_BUSY = [
    REPORT,
    f"{REPORT} -g caller,0.01",
    f"{REPORT} -g callee,0,1000,caller,address",
    f"{REPORT} --no-children -g none",
    f"{REPORT} --no-children -s tid,cpu,dso,sym -g flat",
    f"{REPORT} -s time,comm,srcline --max-stack 3",
    f"{REPORT} --hierarchy -s comm,dso,sym",
    f"{REPORT} -s parent,sym -p work_item_00",
    f"{REPORT} -t ,",
    f"{REPORT} -n --comms worker-1,c3,c4,c5 -S work_item_0001",
    "report --json",
    "script",
    "script -G",
    "script --json",
    "script -F comm,tid,ip,sym --max-stack 3",
    "diff -g {data}",
    "diff -s comm,dso,sym -p {data}",
    "flamegraph -o -",
    "flamegraph -o - --svg",
    "flamegraph -o - --diff {data}",
    "export -F folded",
    "export -F folded --with-tid --mark all",
    "export -F folded --ignore-callees work_item_00",
    "export -F pprof",
    "export -F pprof --addresses --no-inline",
    "export -F otlp",
    "export -F firefox",
    "export -F perfetto",
    "export -F speedscope",
    "export -F json",
    "export -F json --comms worker-1,c3,c4,c5 --max-stack 4",
]
ON_WORK = ["report --stdio", "report --stdio -s srcline,sym -g none", "report --json", "script", "script -F ip,sym,symoff,srcline,dso",
           "diff -g {data}", "flamegraph -o -", *(f"export -F {name}" for name in ("folded", "pprof", "json", "perfetto", "firefox"))]


# ---- recordings ----

def task(kind, pid, parent):
    return built.record(kind, 0, struct.pack("=IIIIQ", pid, parent, pid, parent, 1) + built.TRAILER)


def change(chance, pids):
    """A record that changes processes, most often a mapping over a part of older ones."""
    pid, kind = chance.choice(pids), chance.randrange(8)
    if kind == 0:
        pids.append(100 + len(pids))
        return task(7, pids[-1], pid)
    if kind == 1:
        return built.record(3, 1 << 13, struct.pack("=II", pid, pid) + built.text(b"c%d" % chance.randrange(9)) + built.TRAILER)
    if kind == 2:
        symbol = struct.pack("=QIHH", 2 ** 63 + 4096 * chance.randrange(64), 4096, 1, chance.randrange(2))
        return built.record(17, 0, symbol + built.text(b"bpf_prog_%d" % chance.randrange(30)) + built.TRAILER)
    return built.mapping(pid, 4096 * chance.randrange(1, 60), 4096 * chance.randrange(1, 9), 4096 * chance.randrange(9),
                         f"/no/file/{chance.randrange(12)}")


def busy_sample(chance, pids, time_ns):
    def addresses(base):
        return [base + 4096 * chance.randrange(64) + 16 * chance.randrange(3) for _ in range(chance.randrange(1, 9))]
    chain = [built.CONTEXT_USER, *addresses(0)]
    misc = built.USER
    if chance.randrange(3) == 0:
        chain, misc = [built.CONTEXT_KERNEL, *addresses(2 ** 63), *chain], built.KERNEL
    return built.sample(chain, 1 + chance.randrange(2), chance.randrange(1, 4), chance.choice(pids), time=time_ns, misc=misc)


def write_busy(path):
    """Two events. There are changes between many samples, and none between others."""
    chance, pids = random.Random(35), [100, 101]
    records = []
    for time_ns in range(1, 30001):
        if time_ns % 10000 < 6000 and chance.randrange(4) == 0:
            records.append(change(chance, pids)[:-len(built.TRAILER)] + struct.pack("=IIQIIQ", 1, 1, time_ns, 0, 0, 1))
        records.append(busy_sample(chance, pids[-40:], time_ns))
    built.write(path, records, [("cycles", 0, 0), ("instructions", 0, 1)])


class Work:
    """Samples in the program of perf_options.py and in the C library, in the threads that it has."""
    PID, BASE, LIBRARY = 4000, 0x400000, 0x7f0000000000
    COMMS = {4000: b"work", 4001: b"child", 4002: b"alpha", 4003: b"beta"}

    def __init__(self, program):
        names = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
        self.function = {name: (int(start, 16), int(size, 16)) for start, size, name in re.findall(r"^(\w+) (\w+) t (\w+)$", names, re.M | re.I)}
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        self.library = os.path.realpath(re.search(r"libc\.so\S* => (\S+)", linked)[1])
        headers = subprocess.run(["readelf", "-lW", self.library], capture_output=True, text=True, check=True).stdout
        self.offset, self.size = (int(word, 16) for word in re.search(r"LOAD +(\w+) \w+ \w+ \w+ (\w+) R E", headers).groups())
        self.program = program

    def mappings(self):
        for pid in (self.PID, self.PID + 1):
            yield built.mapping(pid, self.BASE, 0x100000, 0, self.program)
            yield built.mapping(pid, self.LIBRARY, self.size, self.offset, self.library)
        for tid, name in self.COMMS.items():
            yield built.comm(tid, name, self.PID + (tid == self.PID + 1))

    def address(self, chance, name):
        start, size = self.function[name]
        return start + chance.randrange(size)

    def chain(self, chance, tid):
        names = ["work", *["descend"] * chance.randrange(1, 6), "spin"] if chance.randrange(4) else ["work", "touch"]
        names.insert(0, self.COMMS[tid].decode() if tid > self.PID + 1 else "main")
        words = [self.address(chance, name) for name in reversed(names)]
        if chance.randrange(5) == 0:
            words.insert(0, self.LIBRARY + chance.randrange(self.size))
        words.append(self.LIBRARY + 16 * chance.randrange(2000))
        kernel = [built.CONTEXT_KERNEL, *(2 ** 64 - 2 ** 31 + 64 * chance.randrange(99) for _ in range(3))] if chance.randrange(9) == 0 else []
        return [*kernel, built.CONTEXT_USER, *words]

    def write(self, path, events, chains=True, seed=1):
        chance = random.Random(seed)
        sample_type = built.SAMPLE_TYPE & ~(0 if chains else 0x20)
        records, time_ns = list(self.mappings()), 10 ** 9
        for _ in range(SAMPLES):
            tid = chance.choice(list(self.COMMS))
            chain = self.chain(chance, tid)
            time_ns += chance.randrange(1000, 100000)
            records.append(built.sample(chain if chains else None, 1 + chance.randrange(len(events)), chance.randrange(1, 10 ** 6),
                                        self.PID + (tid == self.PID + 1), tid, chance.randrange(4), time_ns,
                                        built.KERNEL if chain[0] == built.CONTEXT_KERNEL else built.USER,
                                        next(word for word in chain if word < 2 ** 64 - 4096)))
        built.write(path, records, [(*event, sample_type) for event in events])


CLOCK, FAULTS, SWITCHES = ("cpu-clock", 1, 0), ("page-faults", 1, 2), ("context-switches", 1, 3)
# As the recordings of perf_options.py with these names: events, and if there are call chains.
BUILT = {"flat": ([CLOCK], False), "other": ([CLOCK], False), "fp": ([CLOCK], True), "multi": ([CLOCK, FAULTS, SWITCHES], False),
         "all": ([CLOCK], True)}
RECORDED = ("dwarf", "tp", "group", "stat", "exec")     # what is built lacks their stacks, formats, groups, counts and mappings


def make_program():
    """The program of perf_options.py, with enough functions for an index."""
    more = "\n".join(f"void unused_{i}(void) {{ sink += {i}; }}" for i in range(300))
    with open("work.c", "w", encoding="utf-8") as out:
        out.write(perf_options.PROGRAM + more)
    subprocess.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-no-pie", "-Wl,--build-id", "-pthread",
                    "work.c", "-o", "work"], check=True)


def write_recordings():
    """Returns the names of the recordings."""
    names = ["equal", "busy", "deferred", "branches", *BUILT]
    make_program()
    large_recording.write("equal.data", os.path.abspath("program"), 40000, 6000)
    write_busy("busy.data")
    with open("deferred.data", "wb") as out:
        subprocess.run(["gzip", "-dc", os.path.join(perf_options.SOURCE, "tests/data/deferred-7.3.data.gz")], stdout=out, check=True)
    perf_options.write_branches(".")
    work = Work(os.path.abspath("work"))
    for seed, (name, (events, chains)) in enumerate(BUILT.items()):
        work.write(name + ".data", events, chains, seed)
    for name in RECORDED:
        options, program = perf_options.RECORDINGS[name]
        done = run(["record", "-q", *shlex.split(options), "-o", name + ".data", "--", *program.split()], "off")
        if done[0]:
            print(f"skipped: the option sets of @{name}, which perch cannot record here:", done[2].decode(errors="replace").strip().split("\n")[0])
        else:
            names.append(name)
    time.sleep(2.5)     # files that were just written have no index
    return names


# ---- runs ----

def run(words, cache):
    """cache: the state of the index before: off, cold or warm."""
    if cache == "cold":
        shutil.rmtree("cold", ignore_errors=True)
    here = os.path.abspath(cache)
    os.makedirs(here, exist_ok=True)
    environment = {key: value for key, value in os.environ.items() if key not in ("PERCH_CACHE", "XDG_CACHE_HOME")}
    environment.update(HOME=here, DEBUGINFOD_URLS="", PERCH_PAGER="", LC_ALL="C.UTF-8", **({"PERCH_CACHE": "off"} if cache == "off" else {}))
    done = subprocess.run([PERCH, *words], capture_output=True, stdin=subprocess.DEVNULL, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


def difference(first, other):
    """The first lines that differ."""
    return next((pair for pair in itertools.zip_longest(first.splitlines(), other.splitlines()) if pair[0] != pair[1]), None)


def option_sets(names):
    """The words of each set."""
    for command, options, _ in perf_options.option_sets():
        of_perf, _, of_perch = options.partition(" => ")
        words = perf_options.words_of(of_perch or of_perf, ".")
        if command in COMPARED and all(word.endswith(tuple(f"/{name}.data" for name in names)) for word in words if word.endswith(".data")):
            yield [command, *words]
    for name in names:
        for text in ON_BUSY if name in ("equal", "busy") else ON_WORK:
            data = name + ".data"
            command, *words = shlex.split(text.format(data=data))
            if command != "diff":
                yield [command, *words, "-i", data]
            elif name not in ("tp", "stat"):
                yield [command, *words, "equal.data" if name == "busy" else "busy.data"]


def check_set(number, words):
    def in_way(jobs, cache):
        return run([words[0], *(["--jobs", jobs] if words[0] in THREADED else []), *words[1:]], cache)

    first = in_way(*WAYS[0])
    ways = WAYS[1:] if os.environ.get("LONG") else CHOSEN[number % len(CHOSEN)]
    results = {way: in_way(*way) for way in ways}
    check(first[0] == 0 and len(first[1]) > 20 and all(result == first for result in results.values()), " ".join(words),
          *(f"--jobs {jobs}, index {cache}: {result[0]} {difference(first[1], result[1])} {difference(first[2], result[2])}"
            for (jobs, cache), result in results.items()), f"exit status {first[0]}", first[2])


def main():
    directory = os.environ.get("KEEP") or tempfile.mkdtemp()
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    try:
        names = write_recordings()
        before = os.times()
        sets = [words for words in option_sets(names) if os.environ.get("ONLY", "") in " ".join(words)]
        table = sum(1 for _ in perf_options.option_sets())
        check(os.environ.get("ONLY") or table >= 80, f"{table} option sets of the table of perf_options")
        for number, words in enumerate(sets):
            check_set(number, words)
        times = os.times()
        cpu = times.children_user + times.children_system - before.children_user - before.children_system
        print(f"{len(sets)} option sets of {len(names)} recordings, {cpu:.0f} s of CPU time")
        check(run(["report", "--stdio", "--jobs", "0", "-i", "busy.data"], "off") == run(["report", "--stdio", "--jobs", "1", "-i", "busy.data"], "off"),
              "--jobs 0 is the default")
        files = [name for name in os.listdir("warm/.cache/perch/symbols") if not name.startswith(".")] if os.path.isdir("warm/.cache") else []
        check(os.environ.get("ONLY") or files, "an index was made", files)
        check(not os.path.exists("off/.cache"), "and none with PERCH_CACHE=off")
    finally:
        if not os.environ.get("KEEP"):
            shutil.rmtree(directory, ignore_errors=True)
    return int(cases.failed)


sys.exit(main())
