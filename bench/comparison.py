#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares perch with other profilers on the same work: comparison.py BUILD [PAGE].

Programs that are not installed are left out, and the page has the reason. NEWER_PERF names
another perf. See bench/README.md for what is measured and how."""
import ctypes
import datetime
import io
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import compare
from recordings import count_samples, write_program

ROUNDS = 5
FUNCTIONS = 3 if compare.SMOKE else 40
RATE = 4000
PARSERS = [directory + "/hotspot-perfparser" for directory in
           ("/usr/lib/x86_64-linux-gnu/libexec", "/usr/libexec", "/usr/lib/libexec")]
# How the two kinds of call chains are recorded by perf and perch.
CHAINS = {"frame pointers": ["-g"], "copied stacks": ["--call-graph", "dwarf"]}
PR_SET_CHILD_SUBREAPER = 36


class Tool:
    """Its name with the version, and its path, or why it is left out."""

    def __init__(self, name, path, version=None, reason=None):
        self.path, self.reason = path, reason
        self.name = name if reason else f"{name} {version}"


def output(command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, **options)
    if done.returncode < 0:
        compare.end_by(command, done.returncode)
    return done.stdout + done.stderr


def find_version(command):
    return re.search(r"\d+\.\d+[-.\w]*", output(command))[0]


def find_packaged(name, package, *paths):
    """A program of a Debian package, whose version is that of the package."""
    for path in paths:
        path = shutil.which(path)
        if path:
            version = output(["dpkg-query", "-W", "-f", "${Version}", package])
            return Tool(name, path, version.split("-")[0])
    return Tool(name, None, reason=f"not installed (Debian: {package})")


def find_peer(name, program):
    path, reason = compare.peer(program)
    if reason:
        return Tool(name, None, reason=reason.partition(", see")[0])
    if name == "linux-perf-data":
        return Tool(name, path, "0.12.0")
    # not all programs of inferno print their version
    installed = Path(path).parents[1].joinpath(".crates.toml").read_text(encoding="utf-8")
    return Tool(name, path, re.search(rf'^"{name} (\S+)', installed, re.M)[1])


def find_tools(perch, perf):
    tools = {"perch": Tool("perch", perch, find_version([perch, "--version"])),
             "perf": Tool("perf", perf, find_version([perf, "--version"]))}
    newer = os.environ.get("NEWER_PERF")
    tools["newer perf"] = (Tool("perf", newer, find_version([newer, "--version"])) if newer else
                           Tool("a newer perf", None, reason="NEWER_PERF is not set"))
    for name, program in (("samply", "samply"), ("inferno", "inferno-collapse-perf"),
                          ("inferno", "inferno-flamegraph"),
                          ("linux-perf-data", "decode-linux-perf-data")):
        tools[program] = find_peer(name, program)
    tools["perfparser"] = find_packaged("hotspot-perfparser", "hotspot", *PARSERS)
    tools["libprofiler"] = find_packaged("gperftools", "google-perftools", "google-pprof")
    go = shutil.which("go")
    tools["go"] = (Tool("go tool pprof", go, find_version([go, "version"])) if go else
                   Tool("go tool pprof", None, reason="not installed (Debian: golang-go)"))
    return tools


# ------------------------------------------------------------------------------------- costs

def run(command):
    return compare.run(command, tries=4)


def run_unreaped(command):
    """Runs a recorder of `unreaped PROGRAM`. Returns its CPU seconds and peak KiB, and the CPU
    seconds of the program, which became a child of this process."""
    _, cpu, peak = run(command)
    program = 0
    while True:
        try:
            _, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return cpu, peak, program
        program = max(program, usage.ru_utime + usage.ru_stime)


def alternate(measure, commands):
    """Returns the median of each figure that measure() returns, for each command."""
    return [[statistics.median(column) for column in zip(*runs)]
            for runs in compare.measure_alternately(measure, commands, ROUNDS)]


# ------------------------------------------------------------------------------------- names

# An address, or the file of an address: "[unknown]", "[cc1]".
NO_NAME = re.compile(r"(0x)?[0-9a-f]{6,}$|\[.*\]$|<unknown>")


def share_of_names(rows):
    """The share of samples with the name of a function in percent: rows are (share, name)."""
    rows = list(rows)
    total = sum(share for share, _ in rows)
    named = sum(share for share, name in rows if name and not NO_NAME.match(name))
    return 100 * named / total if total else None


def names_of_report(program, data):
    """Of perf or perch."""
    text = output([program, "report", "--stdio", "--no-inline", "--no-children", "-g", "none",
                   "-s", "sym", "-i", data])
    return share_of_names((float(share), name.strip()) for share, name in
                          re.findall(r"^ +([\d.]+)% +\[[.kguH]\] +(.*)$", text, re.M))


def names_of_folded(command):
    folded = output(["sh", "-c", command])
    return share_of_names((float(line.rpartition(" ")[2]), line.rpartition(" ")[0].split(";")[-1])
                          for line in folded.splitlines())



def names_of_perfparser(path):
    """Of the stream of hotspot-perfparser, version 19: messages with size, type, values."""
    with open(path, "rb") as file:
        stream = file.read()
    if stream[:16] != b"QPERFSTREAM\0" + struct.pack("<I", 19):
        return None
    parents, names, rows, at = {}, {}, [], 16
    while at < len(stream):
        size, = struct.unpack_from("<I", stream, at)
        kind, message = stream[at + 4], stream[at + 5:at + 4 + size]
        at += 4 + size
        if kind == 3:  # a location, whose parent is a function that it is in
            parents[struct.unpack_from(">i", message)[0]] = struct.unpack_from(">i", message, 28)[0]
        elif kind == 4:  # the symbol of a location: the number of its name is -1 if there is none
            location, name = struct.unpack_from(">ii", message)
            names[location] = name
        elif kind == 13:  # a sample: the number of its frames, and the location of the first
            frames, location = struct.unpack_from(">Ii", message, 20)
            rows.append(location if frames else -1)
    for i, location in enumerate(rows):
        while location not in names and parents.get(location, -1) >= 0:
            location = parents[location]
        rows[i] = (1, "name" if names.get(location, -1) >= 0 else "")
    return share_of_names(rows)


# ------------------------------------------------------------------------------------- recording

def recorders(tools, directory):
    """Yields (tool, call chains, command, file)."""
    rate = str(RATE)
    for chains, options in CHAINS.items():
        for name in ("perch", "perf", "newer perf"):
            path = os.path.join(directory, f"{name}-{options[-1]}.data".replace(" ", "-"))
            if not tools[name].reason:
                yield (tools[name].name, chains, [tools[name].path, "record", "-q", *options, "-e",
                                                  "cpu-clock", "-F", rate, "-o", path, "--"], path)
    # samply records for no user, also not root, with a higher level
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii"))
    if not tools["samply"].reason and paranoid > 1:
        print("comparison: samply record is left out: kernel.perf_event_paranoid is above 1",
              file=sys.stderr)
    elif not tools["samply"].reason:
        path = os.path.join(directory, "samply.json.gz")
        yield (tools["samply"].name, "unwound while it records",
               [tools["samply"].path, "record", "--save-only", "-r", rate, "-o", path, "--"], path)


def library_recorder(tools, directory):
    """gperftools has no recorder: its library is in the program. (command, file), or None."""
    path = os.path.join(directory, "gperftools.prof")
    found = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False)
    library = re.search(r"libprofiler\.so\.\d+.*=> (/.*)", found.stdout)
    if tools["libprofiler"].reason or not library:
        return None
    return ["env", f"LD_PRELOAD={library[1]}", f"CPUPROFILE={path}",
            f"CPUPROFILE_FREQUENCY={RATE}"], path


def compare_recording(tools, directory, program, wrapper):
    """Returns the rows of the table: tool, call chains, and what it costs."""
    rows = list(recorders(tools, directory))
    wrapped = [*wrapper, *program]
    commands = [wrapped] + [[*command, *wrapped] for _, _, command, _ in rows]
    library = library_recorder(tools, directory)
    if library:
        commands.append([*wrapper, *library[0], *program])
        rows.append((tools["libprofiler"].name, "unwound in the program", None, library[1]))
    (_, _, alone), *costs = alternate(run_unreaped, commands)
    table = []
    for (name, chains, command, path), (cpu, peak, cost) in zip(rows, costs):
        table.append([name, chains, f"{1e3 * cpu:.0f}" if command else "-",
                      f"{100 * (cost / alone - 1):+.1f} %", f"{os.path.getsize(path) / 1e6:.2f}",
                      f"{peak / 1024:.0f}" if command else "-"])
    return table, alone


# ------------------------------------------------------------------------------------- reports

def reports(tools, directory, chains, program):
    """Yields (tool, what it does, command, how to find its share of names) for a recording."""
    data = os.path.join(directory, f"perf-{CHAINS[chains][-1]}.data")
    frames = chains == "frame pointers"
    for name in ("perch", "perf", "newer perf"):
        tool = tools[name]
        if not tool.reason:
            yield (tool.name, "report",
                   [tool.path, "report", "--stdio", "--no-inline", "-g", "-i", data],
                   lambda tool=tool: names_of_report(tool.path, data))
    tool, parsed = tools["perfparser"], os.path.join(directory, "perfparser.out")
    if not tool.reason:
        yield (tool.name, "parse, for the window of hotspot",
               [tool.path, "--input", data, "--output", parsed],
               lambda: names_of_perfparser(parsed))
    tool, imported = tools["samply"], os.path.join(directory, "imported.json.gz")
    if not tool.reason:
        yield (tool.name, "import; the browser asks for names later",
               [tool.path, "import", "--save-only", "-o", imported, data], None)
    tool = tools["decode-linux-perf-data"]
    if not tool.reason:
        yield (tool.name, "read each field of each record; no names", [tool.path, data, "1"], None)
    if not frames:
        return
    perch, page = tools["perch"].path, os.path.join(directory, "graph")
    yield (tools["perch"].name, "flame graph",
           [perch, "flamegraph", "-i", data, "-o", page + ".svg"],
           lambda: names_of_folded(f"{perch} export --format folded -i {data} -o - 2>/dev/null"))
    fold, draw = tools["inferno-collapse-perf"], tools["inferno-flamegraph"]
    if not fold.reason and not draw.reason:
        folded = f"{tools['perf'].path} script -i {data} 2>/dev/null | {fold.path} 2>/dev/null"
        yield (f"{fold.name}, after perf script", "flame graph",
               ["sh", "-c", f"{folded} | {draw.path} >{page}.inferno.svg"],
               lambda: names_of_folded(folded))
    go, file = tools["go"], os.path.join(directory, "perch.pb.gz")
    if not go.reason:
        output([perch, "export", "--format", "pprof", "-i", data, "-o", file])
        yield (go.name, "report of perch export --format pprof",
               [go.path, "tool", "pprof", "-top", "-nodecount=100000", file], None)
    old, profile = tools["libprofiler"], os.path.join(directory, "gperftools.prof")
    if not old.reason and os.path.exists(profile):
        text = [old.path, "--text", program[0], profile]
        yield old.name, "report of its own profile", text, lambda: names_of_google(text)


def names_of_google(command):
    """Of google-pprof --text: samples, percentages, and the name as the sixth word."""
    return share_of_names((int(samples), name) for samples, name in re.findall(
        r"^ *(\d+) +[\d.]+% +[\d.]+% +\d+ +[\d.]+% +(.*)$", output(command), re.M))


def compare_reports(tools, directory, chains, program):
    rows = list(reports(tools, directory, chains, program))
    costs = alternate(run, [command for _, _, command, _ in rows])
    table = []
    for (name, what, _, names), (_, cpu, peak) in zip(rows, costs):
        share = names() if names else None
        table.append([name, what, f"{cpu:.3f}", f"{cpu / costs[0][1]:.1f}", f"{peak / 1024:.0f}",
                      "-" if share is None else f"{share:.1f} %"])
    return table


# ------------------------------------------------------------------------------------- the page

def count_options(tools):
    """The long options in the help of each command."""
    table = []
    for name in ("perch", "perf", "newer perf", "samply"):
        if tools[name].reason:
            continue
        counts = []
        for command in ("record", "report", "stat", "script", "top", "annotate", "diff"):
            text = output([tools[name].path, command, "-h" if "perf" in name else "--help"])
            options = set(re.findall(r"^ {2,}(?:-\S,? )?--([a-z][-a-z0-9_]+)", text, re.M))
            counts.append(str(len(options)) if options and (name != "samply" or
                                                            command == "record") else "-")
        table.append([tools[name].name, *counts])
    return table


def print_table(out, head, rows):
    for cells in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(cells) + " |", file=out)
    print(file=out)


def describe_machine():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    return (f"{datetime.date.today()}, {model[1] if model else os.uname().machine}, "
            f"{os.cpu_count()} CPUs, Linux {os.uname().release.split('-')[0]}, "
            f"load {os.getloadavg()[1]:.1f}")


INTRODUCTION = """# Comparison with other profilers

`make compare` wrote this page. `bench/README.md` says what is measured.

%s. The program is gcc's cc1 -O2 (%.1f s of CPU time
alone), which has no debug information. Each figure is the median of %d runs; the programs
alternate. Times are CPU times, user and system, because other programs may have run.
"""
RECORDING = """## Recording

%d samples per second of CPU time were asked for. *Recorder* is its own CPU time in ms and its
peak memory in MB, without the program's; *program* is what sampling adds to the program's CPU
time, in which a few percent are chance.
"""
REPORTS = """## Reports of one recording, %s

perf recorded %d samples, %.1f MB. *Names* is the share of samples whose function has a name.
perch has its index of symbols from a run before, as after each first report. perf and perch do
not look for inlined functions (--no-inline): perf 6.1 asks addr2line, which takes minutes.
"""
OPTIONS = """## Options

Long options in the help of each command. For one of perf that perch lacks, perch prints the way.
"""


def write_page(tools, directory, out, program, wrapper):
    table, alone = compare_recording(tools, directory, program, wrapper)
    print(INTRODUCTION % (describe_machine(), alone, ROUNDS), file=out)
    print(RECORDING % RATE, file=out)
    print_table(out, ["recorder", "call chains", "recorder, ms", "program", "file, MB",
                      "memory, MB"], table)
    for chains, options in CHAINS.items():
        data = os.path.join(directory, f"perf-{options[-1]}.data")
        print(REPORTS % (chains, count_samples(tools["perf"].path, data),
                         os.path.getsize(data) / 1e6), file=out)
        print_table(out, ["program", "does", "CPU, s", "times perch", "memory, MB", "names"],
                    compare_reports(tools, directory, chains, program))
    print(OPTIONS, file=out)
    print_table(out, ["program", "record", "report", "stat", "script", "top", "annotate", "diff"],
                count_options(tools))
    missing = {tool.name: tool.reason for tool in tools.values() if tool.reason}
    for name, reason in missing.items():
        print(f"Not compared: {name}: {reason}.", file=out)


def main():
    perch, perf = compare.commands()
    wrapper = [os.path.join(os.path.realpath(sys.argv[1]), "bench", "bench-unreaped")]
    # programs that their recorder has not waited for become children of this process
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        compare.skip("the costs of recorders cannot be separated from those of the program")
    tools = find_tools(perch, perf)
    with tempfile.TemporaryDirectory(prefix="perch-bench-") as directory:
        source, text = os.path.join(directory, "work.c"), os.path.join(directory, "work.i")
        write_program(source, FUNCTIONS)
        subprocess.run(["gcc", "-E", source, "-o", text], check=True)
        compiler = output(["gcc", "-print-prog-name=cc1"]).strip()
        program = [compiler, "-quiet", "-fpreprocessed", "-O2", text, "-o", os.devnull]
        page = io.StringIO()
        write_page(tools, directory, page, program, wrapper)
    print(page.getvalue())
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w", encoding="utf-8") as out:
            out.write(page.getvalue())


main()
