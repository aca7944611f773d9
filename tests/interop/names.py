#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One thing has one name: report, script, exports and pages name threads and functions of one recording alike."""
import html
import json
import os
import re
import subprocess
import sys
import tempfile

import built
from cases import check
import cases

PERCH = os.environ.get("PERCH", "perch")


def run(*words):
    done = subprocess.run((PERCH, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        check(False, " ".join(words), done.stderr.decode())
    return done.stdout.decode(errors="replace")


def check_long_names():
    """Other recorders write names of threads that the kernel would cut."""
    name = "thread-" + "x" * 900 + "-7"
    built.write("long.data", [built.comm(1, name.encode()), built.sample([built.CONTEXT_USER, 0x1000])])
    texts = {
        "report": run("report", "-i", "long.data", "--stdio", "-s", "comm"),
        "report of threads": run("report", "-i", "long.data", "--stdio", "-s", "tid"),
        "report --tasks": run("report", "-i", "long.data", "--tasks"),
        "script": run("script", "-i", "long.data"),
        "script of lines": run("script", "-i", "long.data", "-F", "comm,ip", "--show-task-events"),
        "script -j": run("script", "-i", "long.data", "-j"),
        "folded": run("export", "-i", "long.data", "--format", "folded", "--with-tid"),
        "speedscope": run("export", "-i", "long.data", "--format", "speedscope"),
        "json": run("export", "-i", "long.data", "--format", "json"),
        "svg": run("flamegraph", "-i", "long.data", "--svg", "-o", "-"),
        "text as svg": run("flamegraph", "--svg", "-o", "-", "long.txt") if open("long.txt", "w").write(run("script", "-i", "long.data")) else "",
        "dump": run("dump", "-i", "long.data"),
    }
    for view, text in texts.items():
        check(name in text, f"{view} has the whole name of a thread of {len(name)} bytes", text[:400])
    without = run("report", "-i", "long.data", "--stdio", "-s", "comm_nodigit")
    check(name[:-1] + "<N>" in without, "the name without digits", without[:400])


PID = 4242
MAP = """7f0000001000 100 LA;::f->LB;::g->LC;::h
7f0000001100 100 Ptr<X>::operator->
7f0000001200 100 Ptr::operator->Other::name
7f0000001300 100 com.A::plain
7f0000001400 100 camlStdlib__List__map_236
7f0000001600 20 normal_exit/0-CodeInfoPrologue
7f0000001620 20 normal_exit/0
7f0000001500 100 Ljava/lang/String;indexOf([CIILjava/lang/String;)I
"""
# addresses from the innermost on, and the frames that they are
JIT_FRAMES = {0x7f0000001010: ["LC;::h", "LB;::g", "LA;::f"], 0x7f0000001110: ["Ptr<X>::operator->"], 0x7f0000001210: ["Ptr::operator->Other::name"],
              0x7f0000001310: ["com.A::plain"], 0x7f0000001410: ["Stdlib.List.map_236"],
              0x7f0000001620: ["normal_exit/0"],
              0x7f0000001510: ["class java.lang.String.indexOf(char[], int, int, class java.lang.String)"]}


def check_views():
    """Every view has the same frames of functions of the kernel, of JIT compilers, inlined ones, and code without names."""
    os.makedirs("root/tmp")
    with open(f"root/tmp/perf-{PID}.map", "w", encoding="utf-8") as file:
        file.write(MAP)
    jit = list(JIT_FRAMES)
    chain = [built.CONTEXT_KERNEL, 0xffffffff81000000, built.CONTEXT_USER, *jit, 0x2010, 0x9000]
    built.write("views.data", [built.comm(PID, b"prog"), built.mapping(PID, 0x7f0000001000, 0x1000, 0x7f0000001000, "//anon"),
                               built.mapping(PID, 0x2000, 0x1000, 0, "/nowhere/a"), built.sample(chain, pid=PID, misc=built.KERNEL, period=5)])
    expected = ["[unknown]", *(name for address in jit for name in JIT_FRAMES[address]), "[a]", "[unknown]"]
    exported = ["[kernel]", *expected[1:]]    # script has perf's word
    source = ("-i", "views.data", "--symfs", "root")
    folded = run("export", "--format", "folded", *source)
    check(folded == "prog;" + ";".join(name.replace(";", ":") for name in reversed(exported)) + " 5\n", "folded", folded)
    document = json.loads(run("export", "--format", "json", *source))
    names, node = [], document["samples"][0]["node"]
    while node is not None:
        names.append(document["functions"][document["tree"][node]["function"]]["name"])
        node = document["tree"][node]["parent"]
    check(names == exported, "json", names)
    titles = re.findall(r"<title>([^<]*) \([0-9.]+%, 5\)</title>", run("flamegraph", "--svg", "-o", "-", *source))
    check([html.unescape(title) for title in reversed(titles[2:])] == exported, "svg", titles)
    speedscope = json.loads(run("export", "--format", "speedscope", *source))
    names = [speedscope["shared"]["frames"][frame]["name"] for frame in speedscope["profiles"][0]["samples"][0]]
    check(names[::-1] == exported, "speedscope", names)
    text = run("script", *source)
    frames = [re.match(r"\t *[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \(([^()]*)\)$", line).groups() for line in text.splitlines() if line.startswith("\t")]
    names = [name if name != "[unknown]" else "[a]" if dso == "/nowhere/a" else "[unknown]" for name, dso in frames]
    check(names == expected and [dso == "inlined" for _, dso in frames].count(True) == 2, "script", text)
    with open("views.txt", "w", encoding="utf-8") as file:
        file.write(text)
    changes = re.findall(r"<title>[^<]*\) ([-+][^<]*)</title>", run("flamegraph", "--svg", "-o", "-", *source, "--diff", "views.txt"))
    check(len(changes) > len(expected) and set(changes) == {"+0.00%"}, "the text of script does not differ from its recording", changes)
    sample = json.loads(run("script", "-j", *source))
    sample = sample[0] if isinstance(sample, list) else sample
    names = [frame.get("sym", "[a]" if frame.get("dso") == "/nowhere/a" else "[unknown]") for frame in sample["callchain"]]
    check(names == expected, "script -j", names)
    report = run("report", "--stdio", "-g", "folded,0.5,callee", *source)
    named = [name for name in expected if name[0] != "["]
    check(any(all(name in line for name in named) for line in report.splitlines()), "report: the call chain", report)
    rows = run("report", "--stdio", "-g", "none", "--children", "-s", "sym", *source)
    check(all(name in rows for name in named), "report: rows", rows)


# Each function but callee() ends before the next one begins, at the address to which callee() returns.
CALLS = {"x86_64": """.globl _start
.macro function name
.type \\name, @function
\\name:
.endm
function callee
	ret
.size callee, . - callee
function jumps
	jmp callee
.size jumps, . - jumps
function after_jump
	nop
.size after_jump, . - after_jump
function calls
	call callee
.size calls, . - calls
function after_call
	nop
.size after_call, . - after_call
function calls_memory
	call *0x12345678(,%rax,8)
.size calls_memory, . - calls_memory
function after_memory
	nop
.size after_memory, . - after_memory
_start:
"""}


def check_callers():
    """Exports have the function with the call; the address itself counts where the bytes before it are no call."""
    source = CALLS.get(os.uname().machine)
    if not source:
        print("ok - callers # skip no program for this machine")
        return
    with open("calls.s", "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,-Ttext=0x401000,--build-id=0x" + "42" * 20, "-o", "calls", "calls.s"], check=True)
    symbols = {line.split()[2]: int(line.split()[0], 16) for line in subprocess.run(["nm", "calls"], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()}
    records = [built.comm(1, b"calls"), built.identified_mapping(1, 0x401000, 0x1000, 0x1000, os.path.abspath("calls"), b"\x42" * 20)]
    for name, expected in (("after_jump", "after_jump"), ("after_call", "calls"), ("after_memory", "calls_memory")):
        built.write("calls.data", [*records, built.sample([built.CONTEXT_USER, symbols["callee"], symbols[name]])])
        stacks = run("export", "-i", "calls.data", "--format", "folded")
        check(stacks == f"calls;{expected};callee 1\n", f"the caller at {name}()", stacks)


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    check_long_names()
    check_views()
    check_callers()
sys.exit(1 if cases.failed else 0)
