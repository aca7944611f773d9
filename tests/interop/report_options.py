#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch report: JSON has the numbers of the table, and wrong options are reported with what was expected."""
import json
import os
import re
import struct
import sys
import tempfile

import cases
from cases import check
from peer import result

PERCH = os.environ.get("PERCH", "perch")
SOURCE = os.path.abspath(os.environ.get("PERCH_SOURCE_ROOT", "."))

PROGRAM = "i=0; while [ $i -lt 30 ]; do head -c 200000 /dev/zero | gzip | md5sum; i=$((i + 1)); done >/dev/null"


def rows(*options):
    status, out, err = result(PERCH, "report", "-j", *options)
    check(status == 0, "report -j " + " ".join(options), err)
    return [json.loads(line) for line in out.splitlines()]


def check_json():
    _, out, _ = result(PERCH, "report", "-g", "none", "-n", "--no-children", "-q")
    table = re.findall(r"^ +(\d+\.\d+)% +(\d+)  (\S+)", out, re.M)
    objects = rows("-g", "none", "--no-children")
    check([(float(share), int(samples), comm) for share, samples, comm in table] ==
          [(row["overhead"], row["sample"], row["comm"]) for row in objects] and len(table) > 5, "JSON has the rows of the table",
          out + str(objects[:3]))
    check(all(row["mode"] in (".", "k", "g", "u", "H") and not row["sym"].startswith("[k]") for row in objects), "the mode has its own key")
    samples = sum(row["sample"] for row in objects)
    by_thread = rows("-g", "none", "--no-children", "-s", "tid,comm")
    check(sum(row["sample"] for row in by_thread) == samples and all(isinstance(row["tid"], int) for row in by_thread), "threads are numbers")
    for row in rows("--no-children", "-g", "caller,0", "-s", "comm"):
        check(sum(chain["period"] for chain in row["chains"]) == row["period"] and
              all(isinstance(name, str) for chain in row["chains"] for name in chain["frames"]), "call chains of %s" % row["comm"])
    for chain in (chain for row in rows("--no-children", "-g", "callee,0", "--max-stack", "2", "--no-inline") for chain in row["chains"]):
        if len(chain["frames"]) > 2:
            check(False, "--max-stack 2", chain)


def check_filters():
    everything = rows("-g", "none", "--no-children", "-s", "comm")
    gzip = rows("-g", "none", "--no-children", "-s", "comm", "--comm", "gzip")
    relative = rows("-g", "none", "--no-children", "-s", "comm", "--comm", "gzip", "--percentage", "relative")
    check(gzip == [row for row in everything if row["comm"] == "gzip"] and len(gzip) == 1, "--comm gzip", gzip)
    check(relative[0]["overhead"] == 100 and relative[0]["sample"] == gzip[0]["sample"], "--percentage relative", relative)
    named = rows("-g", "none", "--no-children", "-s", "sym", "-U")
    check(named and not any(row["sym"].startswith("0x") for row in named), "-U", named[:3])
    check(all("e" in row["sym"] for row in rows("-g", "none", "--no-children", "-s", "sym", "--symbol-filter", "e", "--no-inline")),
          "--symbol-filter e")
    word = named[0]["sym"]
    for content, expected in (("no recording", 0), ("PERFILE2", 2)):
        with open(word, "w", encoding="utf-8") as file:
            file.write(content)
        status, out, err = result(PERCH, "report", word, "-s", "sym", "-g", "none", "-q")
        check(status == expected and (word in out if not expected else "name a file with -i, or a part of function names with --symbol-filter" in err),
              "an operand that is the name of a file with '%s'" % content, out + err)
        os.remove(word)
    status, _, err = result(PERCH, "report", "--comm", "gzpi")
    check(status == 0 and "gzip" in err and "gzpi" in err, "a name without samples, and names with some", err)


def check_limit():
    """The note about the limit of branches, only if no row has a graph; its remedy makes graphs."""
    for sort, order in (("--no-children", "callee"), ("--children", "caller")):
        small = ("report", "--stdio", sort, "-s", "tid,sym,time", "--time-quantum", "1ms", "-g")
        note = "no row has a call graph: all branches are below 99%%; -g %s,0 prints them" % order
        _, out, err = result(PERCH, *small, "graph,99")
        check(note in err and "---" not in out, "all branches are below the limit: " + order, err)
        _, out, err = result(PERCH, *small, order + ",0")
        check("no row has" not in err and "---" in out, "no branch is below the limit: " + order, err)
    _, out, err = result(PERCH, "report", "--stdio", "--no-children", "-s", "sym", "-g", "folded,99")
    check("-g folded,callee,0 prints" in err and ";" not in out.split("#\n")[-1], "all chains are below the limit", out[:500] + err)
    # the largest row has no callers
    with open("alone.s", "w", encoding="utf-8") as source:
        source.write(".globl _start\n_start: mov $2000000000, %ecx\n1: dec %ecx\njnz 1b\nmov $60, %eax\nxor %edi, %edi\nsyscall\n")
    if os.uname().machine == "x86_64" and not result("cc", "-nostdlib", "-static", "-o", "alone", "alone.s")[0]:
        result(PERCH, "record", "-q", "-e", "cpu-clock:u", "-F", "2000", "-g", "-o", "alone.data", "--", "sh", "-c",
            "./alone; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done")
        _, out, err = result(PERCH, "report", "--stdio", "-i", "alone.data", "--no-children", "-s", "sym", "-g", "graph,99")
        check(re.search(r"^ +(9\d|100)\.\d+%", out, re.M) and "no row has a call graph" in err, "a row without callers is not all rows", out + err)
    for options in ("-g", "caller"), ("-g", "callee", "--no-children"), ("-g", "none"), ("-g", "folded"), ("-q", "-g", "graph,99"):
        _, _, err = result(PERCH, "report", "--stdio", *options)
        check("no row has" not in err, "no note about the limit: " + " ".join(options), err)


def check_text():
    _, out, _ = result(PERCH, "report", "-g", "none", "--no-children", "-t", ":", "-s", "comm,sym", "-q")
    lines = [line for line in out.splitlines() if line]
    check(lines and all(line.count(":") == 2 and not line.endswith(" ") for line in lines), "-t :", out[:300])
    _, out, _ = result(PERCH, "report", "-g", "none", "--no-children", "-s", "comm", "--stdio-color", "always", "-q")
    check("\033[31m" in out, "--stdio-color always", out)
    _, out, _ = result(PERCH, "report", "--tasks")
    check(re.search(r"^ +\d+ +\d+ +\d+ \| +gzip$", out, re.M) is not None, "--tasks", out[:500])
    _, out, _ = result(PERCH, "report", "--mmaps")
    maps = re.search(r"^ +\d+ +\d+ +\d+ \| +gzip\n((?: +[0-9a-f]+-[0-9a-f]+ r-xp .*\n)+)", out, re.M)
    check(maps and re.search(r"/gzip$", maps[1], re.M) and not re.search(r"/(ba|da)?sh$", maps[1], re.M),
          "--mmaps: those after execve", out[:1000])
    _, out, err = result(PERCH, "report", "-T", "-g", "none")
    check(out.endswith("# PID  TID\n") and "record -s" in err, "-T without counts", out[-200:] + err)
    _, out, _ = result(PERCH, "report", "--stats", "--no-skip-empty")
    check(re.search(r"^ +THROTTLE events: +\d+ ", out, re.M) is not None, "--no-skip-empty", out[:500])


def check_forks():
    """The mappings of a forked process are those of its parent, unless the recorder made the record of the fork from /proc."""
    result(PERCH, "record", "-q", "-e", "cpu-clock", "-o", "forks.data", "--", "sh", "-c", "(i=0; while [ $i -lt 9 ]; do i=$((i + 1)); done) & wait")
    with open("forks.data", "rb") as file:
        content = bytearray(file.read())
    at, size = struct.unpack_from("<QQ", content, 40)
    end = at + size
    while at < end:
        kind, misc, size = struct.unpack_from("<IHH", content, at)
        if kind == 7:   # FORK
            struct.pack_into("<H", content, at + 4, misc | 1 << 13)
        at += size
    with open("proc.data", "wb") as file:
        file.write(content)
    for name, expected in ("forks.data", 2), ("proc.data", 1):
        _, out, err = result(PERCH, "report", "--mmaps", "-i", name)
        check(len(re.findall(r" \|.*sh\n +[0-9a-f]+-", out)) == expected, "--mmaps of %s: %d with mappings" % (name, expected), out + err)


def check_long_names():
    """Kernel threads have names of more than 15 characters in /proc; recording one needs a privilege."""
    for pid in (name for name in os.listdir("/proc") if name.isdigit()):
        try:
            with open("/proc/%s/comm" % pid, encoding="utf-8") as file:
                comm = file.read().rstrip("\n")
        except OSError:
            continue
        if len(comm) <= 16 or comm.startswith("kworker/"):   # those of workers change
            continue
        status, _, _ = result(PERCH, "record", "-q", "-e", "cpu-clock", "-p", pid, "-o", "kernel.data", "--", "true")
        _, out, err = result(PERCH, "report", "--tasks", "-i", "kernel.data") if status == 0 else (0, "", "")
        check(status or re.search(r"\| *%s$" % re.escape(comm), out, re.M), "--tasks has the name %s" % comm, out + err)
        return


def check_errors():
    for options, expected in ((["-s", "cmm"], "perhaps comm"), (["-F", "symbl"], "perhaps sym"), (["-s", ""], "no column ''"), (["-F", ","], "no column ''"),
                              (["-s", "symbol_form"], "perhaps symbol_from"), (["-s", "wei"], "perhaps weight"),
                              (["-s", "none"], "no column 'none'. 'perch help report' shows the options.\nThe columns are:\n  overhead"),
                              (["-g", "tree"], "graph, flat, fractal, folded or none"), (["-g", "grpah"], "perhaps graph"),
                              (["-g", "caller,adress"], "perhaps address"), (["-g", "0.5,2,3"], "no call graph '3'"),
                              (["-g", "branched"], "no call graph 'branched'"), (["--percentage", "half"], "relative or absolute"),
                              (["--hierarchy", "-F", "comm,overhead"], "must begin with a sum"),
                              (["--hierarchy", "-F", "overhead,comm", "-s", "dso"], "not with -s and -F"), (["--hierarchy", "-j"], "--json"), (["-T", "-j"], "--json"),
                              (["--hierarchy", "-s", "overhead"], "no column to group by"),
                              (["-t", ""], "one character"), (["-t", "ab"], "one character"), (["-t", "."], "one character"),
                              (["--stdio-color", "maybe"], None), (["--stdio-color=maybe"], "always, never or auto"),
                              (["--time", "1,2,3"], "START,STOP"), (["--percent-limit", "101"], "from 0 to 100"), (["-w", "x"], "widths"),
                              (["-p", "("], "regular expression"), (["--ignore-callees", "["], "regular expression"),
                              (["-M", "arm"], "expected intel or att"), (["--percent-type", "local"], "expected local-period"),
                              (["--prefix-strip", "1"], "add --prefix DIR"), (["--objdump", "x"], "capstone"),
                              (["--socket-filter", "0"], "-s socket"), (["--max-stack", "0"], "from 1 on"),
                              (["--switch-on", "cycle"], "no event 'cycle'; it has: "), (["--switch-off", "cycle"], "--switch-off: "),
                              (["--time-quantum", "1h"], "ns, us, ms or s")):
        status, out, err = result(PERCH, "report", *options)
        check(status == 2 and not out and (not expected or expected in err), "report %s is a usage error" % " ".join(options), err)


def lines_of_columns():
    """The names of columns in the message about an unknown one."""
    _, _, err = result(PERCH, "report", "-s", "nothing")
    return err.split("The columns are:\n")[1].splitlines()


def check_manual():
    """The manual page has each column, and no other one."""
    lines = lines_of_columns()
    check(len(lines) > 1 and max(map(len, lines)) <= 80, "the names of columns are in lines of 80 characters", lines)
    columns = set(re.findall(r"\w+", " ".join(lines)))
    with open(os.path.join(SOURCE, "man/perch-report.1.scd"), encoding="utf-8") as page:
        text = page.read().split("# COLUMNS")[1].split("\n# ")[0]
    # not of tracepoints, whose columns are in no table
    described = {name for line in re.findall(r"^- (\*.*?): ", text, re.M) for name in re.findall(r"\*(\w+)\*", line)}
    described -= {"trace", "trace_fields", "symbol", "overhead_self", "retire_lat", "local_retire_lat"}
    check(described == columns and len(columns) > 50, "perch-report(1) has the columns of the table", described ^ columns)


def check_many_columns():
    """More than 32 columns, as those of all fields of some tracepoints."""
    columns = [name for name in re.findall(r"\w+", " ".join(lines_of_columns()))
               if not re.search("_from|_to$|mispredict|cycles|in_tx|abort|overhead|sample|period|latency|parallelism", name)]
    status, out, err = result(PERCH, "report", "-j", "-g", "none", "-s", ",".join(columns))
    row = json.loads(out.split("\n")[0]) if out else {}
    check(status == 0 and len(columns) > 33 and "kind" in row and "comm" in row, "%d columns" % len(columns), err[-500:] + out[:500])


def check_lacking():
    _, out, err = result(PERCH, "report", "-s", "comm,phys_daddr,weight,dso", "-F", "+cgroup")
    check(out and err.count("no sample has") == 1 and
          "phys_daddr (record with --phys-data), weight (record with -W), cgroup (record with --all-cgroups)\n" in err and "dso" not in err,
          "one note about columns without values", err)
    _, _, err = result(PERCH, "report")
    check("no sample has" not in err, "no note about the default columns", err)


def check_hints():
    for option, expected in (("-s", "perch script -j"), ("--gen-script", "perch script -j"), ("--dlfilter", "--parent"),
                             ("--xed", "instruction traces"), ("--graph-function", "instruction traces")):
        status, out, err = result(PERCH, "script", option, "x")
        check(status == 2 and not out and "unknown option '%s': " % option in err and expected in err, "script %s has a hint" % option, err)
    for words, expected in ((("report", "-o", "x"), "'> FILE'"), (("script", "--output=x"), "'> FILE'"), (("diff", "-i", "x", "y"), "perch diff OLD NEW"),
                            (("annotate", "--data-type"), "symbol_daddr"),
                            (("annotate", "x/perf.data"), "name a file with -i"), (("annotate", "spin", "old.data"), "name a file with -i"),
                            (("annotate", "a", "b"), "expected one symbol"), (("script", "record", "x"), "'record' is not an option; name a file with -i; perch starts no"),
                            (("script", "flamegraph"), "perch flamegraph"), (("script", "x.data"), "name a file with -i. ")):
        status, out, err = result(PERCH, *words)
        check(status == 2 and not out and expected in err, "%s has a hint" % " ".join(words), err)
    result(PERCH, "record", "-q", "-e", "cpu-clock", "-o", "flat.data", "--", "true")
    _, _, err = result(PERCH, "report", "-p", "123", "-i", "flat.data")
    check("--pid selects processes) needs call chains" in err, "report -p with a process id", err)


def add_feature(path, other, feature):
    """Writes a copy of a recording with one more feature, of 8 bytes of 0."""
    with open(path, "rb") as file:
        content = bytearray(file.read())
    data_offset, data_size = struct.unpack_from("<QQ", content, 40)
    words = list(struct.unpack_from("<4Q", content, 72))
    has = [bit for bit in range(256) if words[bit // 64] >> bit % 64 & 1]
    table = data_offset + data_size
    sections = {bit: struct.unpack_from("<QQ", content, table + 16 * at) for at, bit in enumerate(has)}
    end = table + 16 * len(has)
    sections = {bit: (offset + 16, size) for bit, (offset, size) in sections.items()}
    sections[feature] = (len(content) + 16, 8)
    words[feature // 64] |= 1 << feature % 64
    struct.pack_into("<4Q", content, 72, *words)
    packed = b"".join(struct.pack("<QQ", *sections[bit]) for bit in sorted(sections))
    with open(other, "wb") as file:
        file.write(content[:table] + packed + content[end:] + bytes(8))


def check_events():
    status, _, err = result(PERCH, "record", "-q", "-e", "cpu-clock,dummy", "-F", "2000", "-o", "dummy.data", "--", "sh", "-c", PROGRAM)
    check(status == 0, "a recording with an event without samples", err)
    add_feature("dummy.data", "traced.data", 18)
    status, out, err = result(PERCH, "annotate", "-i", "traced.data", "--itrace=i100us")
    check(status == 2 and not out and "instruction traces are not decoded" in err, "annotate --itrace is refused for traces", err)
    for command in ("report", "script"):
        _, out, err = result(PERCH, command, "--switch-on", "dummy", "-i", "dummy.data")
        check("no sample is of the event 'dummy' (--switch-on)" in err and "%" not in out, command + " --switch-on of an event without samples", err)
        status, out, err = result(PERCH, command, "-i", "traced.data", "--itrace=i100us")
        check(status == 2 and not out and "instruction traces are not decoded" in err, command + " --itrace is refused for traces", err)
        status, out, err = result(PERCH, command, "-i", "traced.data", "--itrace", "--no-itrace", "--stitch-lbr")
        check(status == 0 and out, command + " --no-itrace", err)


def check_config():
    status, _, err = result(PERCH, "config", "report.sort_order=comm", "report.children=false", "call-graph.print-type=none")
    check(status == 0, "perch config sets variables", err)
    _, out, _ = result(PERCH, "config", "--list")
    check(out == "report.sort_order=comm\nreport.children=false\ncall-graph.print-type=none\n", "perch config --list", out)
    _, out, _ = result(PERCH, "config", "report.sort-order")
    check(out == "report.sort_order=comm\n", "perch config prints a variable", out)
    _, out, _ = result(PERCH, "report")
    check("# Overhead  Command\n" in out, "the defaults are used", out[:300])
    _, out, _ = result(PERCH, "report", "-s", "dso")
    check("# Overhead  Shared Object\n" in out, "options have priority", out[:300])
    status, _, err = result(PERCH, "config", "report.children=true", "call-graph.print-limit=3")
    with open("perch/config", encoding="utf-8") as lines:
        text = lines.read()
    check(status == 0 and text == "[report]\n\tsort_order = comm\n[report]\n\tchildren = true\n[call-graph]\n\tprint-type = none\n"
          "[call-graph]\n\tprint-limit = 3\n" and os.listdir("perch") == ["config"], "a line is replaced", err + text)
    for word in ("report.children=maybe", "report.sort_order=cmm", "call-graph.print-limit=-1", "call-graph.sort-key=line",
                 "report.percent-limit=101", "call-graph.order=up"):
        status, _, err = result(PERCH, "config", word)
        check(status == 2 and "expected" in err, "config %s is a usage error" % word, err)
    with open("perch/config", encoding="utf-8") as lines:
        check(lines.read() == text, "a wrong value changes nothing")
    status, _, err = result(PERCH, "config", "report.colour=1")
    check(status == 2 and "report.children" in err, "an unknown variable", err)
    status, _, err = result(PERCH, "config", "report.sort_ordr=comm")
    check(status == 2 and "no variable 'report.sort_ordr', perhaps report.sort_order" in err, "a similar variable", err)
    with open("perch/config", "a", encoding="utf-8") as out:
        out.write("wrong line\n[report]\npercent-limit = many\nsort-ordr = comm\n[colors]\ntop = red\n")
    status, _, err = result(PERCH, "report", "-q")
    check("perch/config:12: there is no variable 'report.sort-ordr', perhaps report.sort_order" in err and
          "perch/config:14: there is no variable 'colors.top';" in err, "unknown variables of the file are reported", err)
    check(status == 0 and "perch/config:9: expected NAME = VALUE" in err and "perch/config:11: report.percent-limit: expected a percentage" in err,
          "wrong lines are reported", err)
    with open("perch/config", "w", encoding="utf-8") as out:
        out.write("[call-graph]\nrecord-mode = dwarf\ndump-size = 1020\n[report]\nqueue-size = 1\n")
    for options, expected in ((["-g"], {"sample_stack_user: 1024"}), (["--call-graph", "dwarf,512"], {"sample_stack_user: 512"}),
                              (["--call-graph", "fp"], set()), ([], set())):
        status, _, err = result(PERCH, "record", "-q", "-e", "cpu-clock:u", *options, "-o", "mode.data", "--", "true")
        _, out, _ = result(PERCH, "evlist", "-v", "-i", "mode.data")
        check(status == 0 and set(re.findall(r"sample_stack_user: \d+", out)) == expected, "the default mode of record " + " ".join(options), err + out)
    for word in ("call-graph.record-mode=dwarf,512", "call-graph.dump-size=0", "call-graph.dump-size=65529", "report.queue-size=much"):
        status, _, err = result(PERCH, "config", word)
        check(status == 2 and "expected" in err, "config %s is a usage error" % word, err)
    if os.geteuid() == 0:
        os.chown("perch/config", 12345, 12345)
        _, out, err = result(PERCH, "report", "-q", "-g", "none")
        check("not used" in err and re.search(r"^ +\d+\.\d+% +\d+\.\d+%  \S", out, re.M), "a file of another user is not used", err + out[:200])


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        os.environ.update(HOME=directory, XDG_CONFIG_HOME=directory, DEBUGINFOD_URLS="")
        status, _, err = result(PERCH, "record", "-q", "-e", "cpu-clock", "-F", "2000", "-g", "--", "sh", "-c", PROGRAM)
        if status:
            print("skipped: no recording: " + err)
            return 77
        check_json()
        check_filters()
        check_limit()
        check_text()
        check_forks()
        check_long_names()
        check_errors()
        check_manual()
        check_lacking()
        check_many_columns()
        check_events()
        check_hints()
        check_config()
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
