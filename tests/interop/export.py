#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch export: folded stacks have the frames of perch script and the sums of perch report; go tool pprof prints the sums, callers and
lines of a pprof file as perch report does; files in JSON have the stacks and sums of folded stacks."""
import base64
import calendar
import collections
import gzip
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

import cases
import chromium
import firefox_format
from cases import check

PERCH = os.environ.get("PERCH", "perch")
# Since Go 1.25 the first go tool pprof compiles it, which takes a minute: with the cache of the user, once.
GO_CACHE = subprocess.run(["go", "env", "GOCACHE"], stdout=subprocess.PIPE, check=False).stdout.decode().strip() if shutil.which("go") else ""

# Two threads, a function that is inlined, a child process with a space and a semicolon in its name.
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) void inlined(unsigned long i)
{
	for (int k = 0; k < 20; k++)
		sink += i ^ sink;
}
__attribute__((noinline)) void leaf(int n)
{
	for (int i = 0; i < n; i++)
		inlined(i);
}
__attribute__((noinline)) void recurse(int depth)
{
	if (depth)
		recurse(depth - 1);
	else
		leaf(2000);
	sink++;
}
__attribute__((noinline)) void work(int ms, int depth)
{
	struct timespec now;

	do {
		recurse(depth);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}
static void *run(void *unused)
{
	prctl(PR_SET_NAME, "second");
	work(90, 3); /* longer than the first thread, which waits for it */
	return unused;
}
int main(void)
{
	pthread_t thread;

	if (!fork()) {
		prctl(PR_SET_NAME, "a b;c");
		work(40, 1);
		_exit(0);
	}
	pthread_create(&thread, 0, run, 0);
	work(60, 2);
	pthread_join(thread, 0);
	wait(0);
	return 0;
}
"""


# Most samples are in the kernel, below the instruction in the last line of touch() that faults. The call before it is the end of another
# function's code. The call in waits() returns to the code of step().
FAULTS = r"""
#include <stdlib.h>
#include <sys/mman.h>
static long steps;
static inline __attribute__((always_inline)) void step(void) { asm volatile("" ::: "memory"); steps++; }
__attribute__((noinline)) void touch(volatile char *bytes, long nr)
{
	for (long i = 0; i < nr; i += 4096) {
		step();
		bytes[i] = 1;
	}
}
static volatile long sink;
__attribute__((noinline)) void spin(void) { for (long i = 0; i < 3000; i++) sink += i; }
__attribute__((noinline)) void work(void) { for (int i = 0; i < 100; i++) spin(); sink++; }
__attribute__((noinline)) void waits(void) { work(); step(); sink++; }
int main(void)
{
	for (int i = 0; i < 20; i++) {
		char *bytes = mmap(0, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (bytes == MAP_FAILED)
			return 1;
		madvise(bytes, 16 << 20, MADV_NOHUGEPAGE);
		touch(bytes, 16 << 20);
		munmap(bytes, 16 << 20);
		for (int j = 0; j < 40; j++)
			waits();
	}
	return 0;
}
"""


def run(*words, binary=False):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout if binary else done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def folded(*options):
    """The lines as {names: period}."""
    status, out, err = run(PERCH, "export", "--format", "folded", *options)
    if status:
        check(False, "perch export --format folded " + " ".join(options), err)
    return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in out.splitlines()}


def stacks_of_script(path, marks):
    """The same lines from perch script -j."""
    lines = collections.Counter()
    _, out, _ = run(PERCH, "script", "-j", "-F", "comm,pid,tid,event,period,ip,sym,dso", "-i", path)
    for sample in json.loads(out) if out.startswith("[") else map(json.loads, out.splitlines()):
        frames = sample.get("callchain") or [sample]
        names = [sample["comm"].replace(";", ":").replace(" ", "_")]
        for frame in reversed(frames):
            dso = frame.get("dso", "[unknown]")
            name = frame.get("sym") or (dso if dso == "[unknown]" else "[%s]" % os.path.basename(dso))
            if marks:
                name += "_[i]" if frame.get("inlined") else "_[k]" if dso.startswith("[kernel") or dso == "[k]" else ""
            names.append(name.replace(";", ":"))
        lines[";".join(names)] += sample["period"]
    return dict(lines)


def difference(ours, theirs):
    return [(names, ours.get(names), theirs.get(names)) for names in sorted(set(ours) | set(theirs)) if ours.get(names) != theirs.get(names)][:5]


def check_folded(path):
    ours = folded("-i", path)
    theirs = stacks_of_script(path, False)
    check(ours == theirs and len(ours) >= 3, "folded: the %d stacks and sums of perch script" % len(ours), difference(ours, theirs))
    check(list(ours) == sorted(ours, key=lambda names: names.split(";")), "folded: sorted by name")
    check(any(names.startswith("a_b:c;") for names in ours), "folded: separators in the name of a thread", list(ours)[:3])
    check(any(re.search("^second;.*;recurse;recurse;.*leaf;inlined$", names) for names in ours), "folded: recursion and an inlined function")
    marked = folded("-i", path, "--mark", "inline")
    check(sum(marked.values()) == sum(ours.values()) and any(";leaf;inlined_[i]" in names for names in marked), "folded: --mark inline")
    plain = folded("-i", path, "--no-inline")
    check(not any("inlined" in names for names in plain) and sum(plain.values()) == sum(ours.values()), "folded: --no-inline")
    threads = folded("-i", path, "--with-tid")
    check(all(re.match(r"[^;]+-\d+/\d+;", names) for names in threads) and sum(threads.values()) == sum(ours.values()), "folded: --with-tid")
    second = folded("-i", path, "--comms", "second")
    check(second == {names: period for names, period in ours.items() if names.startswith("second;")}, "folded: --comms")


def check_function_options(path):
    """The options of report that test functions and shorten call chains: the last function of a line has the period of its row."""
    for options in (["--symbol-filter", "lea"], ["-U"], ["-x", "-p", "^recurse$"], ["-x"], ["--ignore-callees", "^recurse$"], ["--ignore-callees", "^main$"],
                    ["--symbol-filter", "none"], ["--symbol-filter", "leaf", "--ignore-callees", "^work$"], ["--max-stack", "3"]):
        ours = collections.Counter()
        for names, period in folded("-i", path, *options).items():
            ours[names.split(";")[-1]] += period
        _, out, err = run(PERCH, "report", "-j", "--no-children", "-s", "sym", "-i", path, *options)
        theirs = {row["sym"].replace(" (inlined)", ""): row["period"] for row in map(json.loads, out.splitlines()) if not row["sym"].startswith(("0x", "["))}
        check(theirs == {name: period for name, period in ours.items() if name in theirs or not name.startswith("[")}, "folded: " + " ".join(options),
              (ours, theirs, err))
    deepest = max(len(names.split(";")) for names in folded("-i", path, "--max-stack", "2", "--no-inline"))
    check(deepest == 3, "folded: --max-stack leaves out outer functions", deepest)
    inner, outer = folded("-i", path, "--max-stack", "1", "--no-inline"), folded("-i", path)
    check(sum(inner.values()) == sum(outer.values()), "folded: --max-stack keeps all samples", inner)
    _, _, err = run(PERCH, "export", "-F", "folded", "-i", path, "--symbol-filter", "none")
    check("no sample is in a function with 'none' in its name" in err and "has no samples" not in err, "folded: a text that no function has", err)
    tree = exported("json", "-i", path, "--ignore-callees", "^work$")["tree"]
    lines = {node["line"] for node in exported("json", "-i", path)["tree"] if "line" in node}
    check(tree and {node["line"] for node in tree if "line" in node} <= lines, "json: --ignore-callees keeps the lines of calls", tree)


def pprof(directory, *words):
    env = dict(os.environ, HOME=directory, PPROF_TMPDIR=directory, GOCACHE=GO_CACHE)
    done = subprocess.run(["go", "tool", "pprof", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, check=False)
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def seconds(text):
    found = re.match(r"([0-9.]+)(ns|us|ms|s|mins)?$", text)
    return float(found[1]) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, None: 0, "mins": 60}[found[2]]


def check_pprof(directory, path):
    profile = os.path.join(directory, "profile.pb.gz")
    status, out, err = run(PERCH, "export", "--format", "pprof", "-i", path, "-o", profile)
    check(status == 0 and not out and os.path.getsize(profile) > 100, "pprof: a file is written", err)
    _, again, _ = run(PERCH, "export", "--format", "pprof", "-i", path, binary=True)
    with open(profile, "rb") as file:
        check(gzip.decompress(again) == gzip.decompress(file.read()), "pprof: standard output has the same bytes")
    if not shutil.which("go"):
        print("ok - pprof prints it # skip no go")
        return
    lines = folded("-i", path)
    total = sum(lines.values()) / 1e9
    own = collections.Counter()
    with_callees = collections.Counter()
    for names, period in lines.items():
        functions = names.split(";")[1:]
        own[functions[-1]] += period / 1e9
        for name in set(functions):
            with_callees[name] += period / 1e9
    top, err = pprof(directory, "-top", "-nodecount=1000", "-nodefraction=0", "-unit=ns", profile)
    rows = re.findall(r"^\s*(\d\S*)\s+\S+%\s+\S+%\s+(\S+)\s+\S+%\s+(.*)$", top, re.M)
    theirs = {re.sub(r" \(inline\)$", "", name): (seconds(flat), seconds(cumulative)) for flat, cumulative, name in rows}
    wrong = [(name, own[name], with_callees[name], theirs.get(name)) for name in with_callees
             if name not in theirs or abs(theirs[name][0] - own[name]) > 1e-6 or abs(theirs[name][1] - with_callees[name]) > 1e-6]
    check(len(theirs) > 4 and not wrong, "pprof -top: %d functions with the sums of folded stacks" % len(theirs), "%s\n%s\n%s" % (wrong[:5], top[:1500], err))
    check("Type: cpu\n" in top and re.search(r"^File: program$", top, re.M), "pprof -top: type and program", top[:300])
    check(abs(sum(flat for flat, _ in theirs.values()) - total) < 1e-6, "pprof -top: the sum of all samples")
    peek, err = pprof(directory, "-peek", "^leaf$", profile)
    check(re.search(r"\|\s+recurse$", peek, re.M) and re.search(r"\|\s+inlined", peek, re.M), "pprof -peek: caller and callee", peek + err)
    listed, err = pprof(directory, "-list", "^inlined$", profile)
    check(re.search(r"\d+m?s.*sink \+= i \^ sink;", listed), "pprof -list: the source line", listed + err)
    run(PERCH, "export", "--format", "pprof", "--addresses", "-i", path, "-o", profile + ".addresses")
    code, err = pprof(directory, "-disasm", "leaf", profile + ".addresses")
    check(re.search(r"^ROUTINE =+ leaf\b", code, re.M) and re.search(r"^ +[0-9.]+m?s +[0-9.]+m?s +[0-9a-f]+: ", code, re.M),
          "pprof -disasm: instructions with samples", code[:1000] + err)
    tags, err = pprof(directory, "-tags", profile)
    check(re.search(r"comm: Total", tags) and "second" in tags and "a b;c" in tags and re.search(r"\btid: Total", tags), "pprof -tags: threads", tags + err)
    samples, err = pprof(directory, "-top", "-sample_index=samples", profile)
    check("Type: samples" in samples, "pprof -sample_index=samples", samples[:300] + err)


def exported(name, *options):
    status, out, err = run(PERCH, "export", "--format", name, *options)
    if status:
        check(False, "perch export --format " + name, err)
        return {}
    return json.loads(out)


def folded_name(text):
    return text.replace(";", ":")


def check_json(path):
    lines = folded("-i", path)
    profile = exported("json", "-i", path)
    function = profile["functions"]
    names = [folded_name(one["name"]) for one in function]
    stacks = []
    for node in profile["tree"]:
        stacks.append((stacks[node["parent"]] if node["parent"] is not None else ()) + (node["function"],))
    ours = collections.Counter()
    own = collections.Counter()
    total = collections.Counter()
    for sample in profile["samples"]:
        comm = profile["threads"][sample["thread"]]["comm"]
        stack = stacks[sample["node"]]
        ours[";".join([folded_name(comm).replace(" ", "_")] + [names[i] for i in stack])] += sample["period"]
        own[stack[-1]] += sample["period"]
        for i in set(stack):
            total[i] += sample["period"]
    check(dict(ours) == lines, "json: the %d stacks and sums of folded stacks" % len(ours), difference(ours, lines))
    event = profile["events"][0]
    check(event["period"] == sum(lines.values()) and event["samples"] == sum(one["samples"] for one in profile["samples"])
          and event["unit"] == "nanoseconds", "json: the sums of the event", {name: event[name] for name in ("name", "samples", "period", "unit")})
    rows = {row["function"]: (row["self"]["period"], row["total"]["period"]) for row in event["rows"]}
    expected = {i: (own[i], total[i]) for i in total}
    check(rows == expected, "json: the sums of %d functions" % len(rows), [(names[i], rows.get(i), expected.get(i)) for i in expected][:5])
    inlined = [one for one in function if one["name"] == "inlined"]
    check(len(inlined) == 1 and inlined[0]["inlined"] and inlined[0]["file"].endswith("program.c") and inlined[0]["dso"] == "program",
          "json: an inlined function", inlined)
    check(any("line" in node and function[node["function"]]["name"] == "leaf" for node in profile["tree"]), "json: lines")
    threads = {(one["comm"], one["pid"] == one["tid"]) for one in profile["threads"]}
    check(("second", False) in threads and ("a b;c", True) in threads, "json: names of threads", threads)


def check_speedscope(path):
    lines = folded("-i", path)
    file = exported("speedscope", "-i", path)
    names = [folded_name(frame["name"]) for frame in file["shared"]["frames"]]
    ours = collections.Counter()
    good = True
    for profile in file["profiles"]:
        comm = re.match(r"(.*) \d+/\d+ \S+$", profile["name"])[1]
        good = good and profile["type"] == "sampled" and profile["unit"] == "nanoseconds"
        good = good and len(profile["samples"]) == len(profile["weights"]) and profile["startValue"] == 0
        good = good and profile["endValue"] == sum(profile["weights"])
        for stack, weight in zip(profile["samples"], profile["weights"]):
            ours[";".join([folded_name(comm).replace(" ", "_")] + [names[i] for i in stack])] += weight
    check(good and file["$schema"].endswith("file-format-schema.json"), "speedscope: the members of profiles")
    check(dict(ours) == lines, "speedscope: the %d stacks and sums of folded stacks" % len(ours), difference(ours, lines))
    times = [sample["time"] for sample in script_samples(path) if sample["comm"] == "second"]
    second = [profile for profile in file["profiles"] if profile["name"].startswith("second ")]
    check(times == sorted(times) and len(second) == 1 and len(second[0]["samples"]) == len(times), "speedscope: all samples of a thread")


def check_import(directory, path):
    """Speedscope itself, in a browser, imports the file and shows the first of its profiles."""
    package, missing = (None, "no Chromium") if not chromium.find() else firefox_format.npm_package(directory, "speedscope", "1")
    if not package:
        print("ok - speedscope imports the file # skip " + missing)
        return
    file = exported("speedscope", "-i", path)
    encoded = base64.b64encode(json.dumps(file).encode()).decode()
    script = os.path.join(directory, "load.js")
    with open(script, "w", encoding="utf-8") as out:
        out.write('speedscope.loadFileFromBase64("profile.json", "%s")' % encoded)
    first, nr = file["profiles"][0]["name"], len(file["profiles"])
    try:
        with chromium.Browser() as browser:
            browser.call("Page.navigate", url="file://" + os.path.join(package, "dist/release/index.html") + "#localProfilePath=" + script)
            browser.wait("document.title.includes(' - speedscope') || (document.body || {}).innerText?.includes('Something went wrong')")
            text = browser.run("document.title + document.body.innerText")
    except chromium.NoAnswer as failure:
        print("ok - speedscope imports the file # skip " + str(failure).replace("\n", " "))
        return
    except chromium.Failed as failure:
        text = str(failure)
    check(first in text and "(1/%d)" % nr in text, "speedscope imports the file", text[:500])


def firefox(*options):
    status, out, err = run(PERCH, "export", "--format", "firefox", *options, binary=True)
    if status:
        check(False, "perch export --format firefox", err)
    return json.loads(gzip.decompress(out))


def firefox_stacks(profile):
    """The samples as {names: weight in ns}, with the names of folded stacks."""
    shared = profile["shared"]
    names = [folded_name(shared["stringArray"][i]) for i in shared["funcTable"]["name"]]
    stacks = []
    for frame, parent in zip(shared["stackTable"]["frame"], shared["stackTable"]["prefix"]):
        stacks.append((stacks[parent] if parent is not None else []) + [names[shared["frameTable"]["func"][frame]]])
    lines = collections.Counter()
    for thread in profile["threads"]:
        samples = thread["samples"]
        for stack, weight in zip(samples["stack"], samples["weight"] or []):
            lines[";".join([folded_name(thread["name"]).replace(" ", "_")] + stacks[stack])] += round(weight * 1e6)
    return dict(lines)


def check_firefox(directory, path):
    lines = folded("-i", path)
    profile = firefox("-i", path)
    faults = firefox_format.faults_of(profile)
    check(not faults, "firefox: the tables agree with each other", faults[:5])
    ours = firefox_stacks(profile)
    check(ours == lines, "firefox: the %d stacks and times of folded stacks" % len(ours), difference(ours, lines))
    mains = [(thread["name"], thread["isMainThread"], thread["pid"] == thread["tid"]) for thread in profile["threads"]]
    check(("second", False, False) in mains and ("a b;c", True, True) in mains, "firefox: threads and processes", mains)
    inlined = profile["meta"]["categories"].index({"name": "Inlined", "color": "lightblue", "subcategories": ["Other"]})
    frames = profile["shared"]["frameTable"]
    names = [profile["shared"]["stringArray"][profile["shared"]["funcTable"]["name"][i]] for i in frames["func"]]
    kinds = {name: category for name, category in zip(names, frames["category"])}
    check(kinds.get("inlined") == inlined and kinds.get("leaf") != inlined, "firefox: categories", kinds)
    traced = os.path.join(directory, "traced.data")
    status, _, err = run(PERCH, "record", "-N", "-q", "-g", "-e", "cpu-clock", "-e", "sched:sched_process_exit", "--switch-events", "-o", traced, "./program")
    if status:
        print("ok - firefox: markers # skip perch record: " + err.strip()[:200])
    else:
        check_markers(traced)
    check_front_end(directory, path)
    group = os.path.join(directory, "group.data")
    run(PERCH, "record", "-N", "-q", "-e", "{cpu-clock,page-faults}:S", "-o", group, "./program")
    check_counters(group)


def check_front_end(directory, path):
    """The front end of the Firefox Profiler, which makes profiles of its present version of the file, adds up the same times."""
    package, missing = firefox_format.front_end_package(directory)
    if not package:
        print("ok - the front end of the Firefox Profiler # skip " + missing)
        return
    file = os.path.join(directory, "profile.json.gz")
    run(PERCH, "export", "--format", "firefox", "-i", path, "-o", file)
    totals = collections.Counter()
    for names, period in folded("-i", path).items():
        comm, *functions = names.split(";")
        totals[comm, functions[-1], "self"] += period / 1e6
        for name in set(functions):
            totals[comm, name, "total"] += period / 1e6
    theirs = {}
    try:
        with firefox_format.FrontEnd(package, directory, file) as front:
            for thread in front.ask("thread", "list")["threads"]:
                comm = folded_name(thread["name"]).replace(" ", "_")
                for row in front.ask("thread", "functions", "--limit", "0", "--thread", thread["threadHandle"])["functions"]:
                    theirs[comm, folded_name(row["name"]), "self"] = row["selfSamples"]
                    theirs[comm, folded_name(row["name"]), "total"] = row["totalSamples"]
    except RuntimeError as failure:
        check(False, "the front end of the Firefox Profiler loads the file", failure)
        return
    wrong = {key: (value, totals[key]) for key, value in theirs.items() if abs(value - totals[key]) > 1e-3} | {key: value for key, value in totals.items() if key not in theirs}
    check(len(theirs) > 10 and not wrong, "the front end of the Firefox Profiler has the times of %d functions" % (len(theirs) // 2), wrong or theirs)


def check_markers(path):
    profile = firefox("-i", path)
    faults = firefox_format.faults_of(profile)
    check(not faults, "firefox: tables with markers", faults[:5])
    markers = [(thread, data, phase) for thread in profile["threads"] for data, phase in zip(thread["markers"]["data"], thread["markers"]["phase"])]
    exits = [(thread["name"], data["comm"], thread["pid"] == str(data["pid"]), "cause" in data) for thread, data, _ in markers if "group_dead" in data]
    theirs = [sample for sample in script_samples(path) if "sched_process_exit" in sample["event"]]
    check(len(exits) == len(theirs) >= 3 and all(name == comm and cause for name, comm, _, cause in exits), "firefox: tracepoints with their fields", exits)
    off = [phase for _, data, phase in markers if data["type"] == "off-cpu" and data["reason"] in ("waiting", "preempted")]
    check(1 in off, "firefox: context switches are intervals", off[:10])
    maps = [data["file"] for _, data, _ in markers if data["type"] == "mmap"]
    check(any(name.endswith("/program") for name in maps) and any("libc.so" in name for name in maps), "firefox: mappings", maps)
    check(sum(thread["samples"]["length"] for thread in profile["threads"]) > 50, "firefox: samples beside markers")


def check_counters(path):
    profile = firefox("-i", path)
    faults = firefox_format.faults_of(profile)
    check(not faults, "firefox: tables with counters", faults[:5])
    ours = collections.Counter()
    for counter in profile["counters"]:
        ours[counter["name"]] += sum(counter["samples"]["count"])
    theirs = sum(sample["period"] for sample in script_samples(path) if sample["event"].startswith("page-faults"))
    check(len(ours) == 1 and theirs and sum(ours.values()) == theirs, "firefox: a counter of a group", (ours, theirs))


def script_samples(path):
    _, out, _ = run(PERCH, "script", "-j", "-F", "comm,pid,tid,time,event,period,ip,sym", "-i", path)
    return json.loads(out) if out.startswith("[") else list(map(json.loads, out.splitlines()))


# The call of hot() is the end of before(): it returns to the start of after(), or to no function.
NORETURN = r"""
#include <unistd.h>
static volatile long sink;
__attribute__((noinline, noreturn)) void hot(void) { for (long i = 0; i < 60000000; i++) sink += i; _exit(0); }
__attribute__((noinline)) void before(void) { sink++; hot(); }
__attribute__((noinline)) void after(void) { sink++; }
int main(int argc, char **argv) { if (argc > 1) after(); before(); }
"""


def check_noreturn(directory):
    """The caller of a function that does not return is the function with the call."""
    with open("noreturn.c", "w", encoding="utf-8") as file:
        file.write(NORETURN)
    path = os.path.join(directory, "noreturn.data")
    for flags in (["-falign-functions=1"], ["-falign-functions=64"], ["-falign-functions=1", "-g"]):
        subprocess.run(["gcc", "-O2", "-fno-omit-frame-pointer", "-fno-toplevel-reorder", "-fno-reorder-functions", *flags, "noreturn.c", "-o",
                        "noreturn"], check=True)
        run(PERCH, "record", "-N", "-g", "-F", "999", "-e", "cpu-clock:u", "-o", path, "./noreturn")
        for options in ([], ["--no-inline"]):
            found = [names for names in folded("-i", path, *options) if names.endswith(";hot")]
            check(found and all(names.endswith(";main;before;hot") for names in found), "folded: a call that is the end of a function, " +
                  " ".join(flags + options), found)
        if flags[0].endswith("1"):
            _, out, _ = run(PERCH, "script", "-i", path, "-F", "ip,sym")
            check(re.search(r" hot\n.* before\n.* main\n", out) and " after\n" not in out, "script: the function with the call", out[:300])
            chains = [[frame.get("sym") for frame in sample["callchain"][:3]] for sample in script_samples(path)]
            chains = [chain for chain in chains if chain[0] == "hot"]
            check(chains and all(chain == ["hot", "before", "main"] for chain in chains), "script -j: the function with the call", chains[:3])
            _, out, _ = run(PERCH, "report", "-i", path, "--stdio", "-g", "caller")
            check(re.search(r"main *\n *\|? *before *\n *\|? *hot", out) and "after" not in out, "report: the function with the call", out[:1500])
            _, out, _ = run(PERCH, "report", "-i", path, "--stdio", "-g", "none", "-s", "parent", "-p", "^before$")
            check(re.search(r"% +before", out), "report --parent: the function with the call", out[:500])
            with open("noreturn.txt", "w", encoding="utf-8") as file:
                file.write(run(PERCH, "script", "-i", path)[1])
            _, out, _ = run(PERCH, "flamegraph", "-i", path, "--diff", "noreturn.txt", "--svg", "-o", "-")
            changes = re.findall(r"<title>[^<]*\) ([-+][^<]*)</title>", out)
            check(len(changes) > 3 and set(changes) == {"+0.00%"}, "flamegraph: a recording does not differ from its text", changes)


NOT_CALLED = r"""
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 1000000; i++)
		sink += i;
}
/* work() returns to root(), which nothing calls and no function is before */
void enter(void);
__asm__(".text\n" ".globl enter\n" ".type enter, @function\n" "enter: .cfi_startproc\n" "	lea root(%rip), %rax\n" "	push %rax\n"
	"	.cfi_adjust_cfa_offset 8\n" "	jmp work\n" "	.cfi_endproc\n" ".size enter, . - enter\n" "	.skip 32, 0x90\n"
	".type root, @function\n" "root: .cfi_startproc\n" "	ret\n" "	.cfi_endproc\n" ".size root, . - root\n");
int main(void) { for (int i = 0; i < 100; i++) enter(); return 0; }
"""


def check_not_called(directory):
    """A return address at the start of a function, as that of makecontext(3): its function has not called."""
    if platform.machine() != "x86_64":
        return
    with open("not_called.c", "w", encoding="utf-8") as file:
        file.write(NOT_CALLED)
    subprocess.run(["gcc", "-O1", "-fno-pie", "-no-pie", "not_called.c", "-o", "not_called"], check=True)
    path = os.path.join(directory, "not_called.data")
    run(PERCH, "record", "-N", "--call-graph", "dwarf", "-F", "999", "-e", "cpu-clock:u", "-o", path, "./not_called")
    stacks = folded("-i", path)
    good = sum(count for stack, count in stacks.items() if ";main;root;work" in stack)
    check(good > 0.8 * sum(stacks.values()), "a function that was not called", str(stacks)[:500])


def check_faults(directory):
    """Callers of the kernel are at the instruction that entered it, which is no return address."""
    with open("faults.c", "w", encoding="utf-8") as file:
        file.write(FAULTS)
    subprocess.run(["gcc", "-g", "-O2", "-fno-omit-frame-pointer", "faults.c", "-o", "faults"], check=True)
    path = os.path.join(directory, "faults.data")
    status, _, err = run(PERCH, "record", "-N", "-g", "-F", "1999", "-e", "cpu-clock", "-e", "page-faults", "-o", path, "./faults")
    if status:
        print("ok - callers of the kernel # skip perch cannot record the kernel here: " + err.strip())
        return
    ours = folded("-i", path)
    kernel = [names for names in ours if re.search(";touch;(?!step)", names)]
    inlined = [names for names in ours if re.search(";touch;step;", names)]
    check(len(kernel) > 5 and not inlined, "folded: the kernel below the instruction that faulted", inlined[:5])
    check(any(";waits;spin" in names for names in ours), "folded: a call that returns to the code of an inlined function", list(ours)[:5])
    picture = os.path.join(directory, "same.svg")
    run(PERCH, "flamegraph", "-i", path, "--diff", path, "--svg", "-o", picture)
    with open(picture, encoding="utf-8") as file:
        changes = re.findall(r"<title>[^<]*\) ([-+][^<]*)<", file.read())
    check(len(changes) > 10 and set(changes) == {"+0.00%"}, "flamegraph: a recording does not differ from itself", changes)
    other = folded("-i", path, "--event", "page-faults")
    totals = {event: sum(sample["period"] for sample in script_samples(path) if sample["event"] == event) for event in ("cpu-clock", "page-faults")}
    check(sum(ours.values()) == totals["cpu-clock"] and sum(other.values()) == totals["page-faults"] > 0,
          "folded: the first event, and --event", (sum(ours.values()), sum(other.values()), totals))
    for name in (["export", "-F", "folded"], ["flamegraph"]):
        with open(path, "rb") as file:
            before = file.read()
        status, _, err = run(PERCH, *name, "-i", path, "-o", path)
        with open(path, "rb") as file:
            check(status == 2 and "would replace it" in err and file.read() == before, name[0] + " does not replace the recording", err)


def check_facts(directory):
    """Events without samples, the period of samples, and the time of day."""
    path, file = os.path.join(directory, "facts.data"), os.path.join(directory, "facts.pb.gz")
    status, _, err = run(PERCH, "record", "-N", "-c", "1000000", "-k", "monotonic", "-e", "dummy:u", "-e", "cpu-clock:u", "-o", path, "./program")
    check(not status, "a recording with a fixed period and a dummy event", err)
    _, events, _ = run(PERCH, "evlist", "-i", path)
    document = exported("json", "-i", path)
    profile = firefox("-i", path)
    names = ([event["name"] for event in document["events"]], [schema["tooltipLabel"] for schema in profile["meta"]["markerSchema"]][3:])
    check(events.split() == ["dummy:u", "cpu-clock:u"] and names == (["cpu-clock:u"], ["cpu-clock:u"]) and {row["event"] for row in document["samples"]} == {0},
          "json, firefox: no dummy event", (events, names))
    check("dummy" not in profile["shared"]["stringArray"] and "dummy:u" not in profile["shared"]["stringArray"], "firefox: no name of a dummy event")
    run(PERCH, "export", "--format", "pprof", "-i", path, "-o", file)
    if not shutil.which("go"):
        print("ok - pprof: period and time # skip no go")
        return
    raw, top = pprof(directory, "-raw", file)[0], pprof(directory, "-top", file)[0]
    span = (document["last_time_ns"] - document["first_time_ns"]) / 1e9
    header = raw.splitlines()[:5]
    check(header[0] == "PeriodType: cpu nanoseconds" and header[1] == "Period: 1000000" and "samples/count cpu/nanoseconds[dflt]" in raw,
          "pprof: the period of the first event that is no dummy", header)
    day = re.search(r"^Time: ([\d-]+ [\d:]+)", raw, re.M)
    now = time.time() - calendar.timegm(time.strptime(day[1], "%Y-%m-%d %H:%M:%S")) if day else -1
    duration = re.search(r"^Duration: ([\d.]+\w*)", top, re.M)
    check(0 <= now < 600 and duration and abs(seconds(duration[1]) - span) < 0.01 * span, "pprof: time and duration", (header, now, span, top[:200]))


def check_errors(directory, path):
    for words, message in (((), "--format is missing"), (("--format", "svg"), "expected folded, firefox, json, pprof, speedscope, perfetto or otlp"),
                           (("--format", "folded", "--mark", "x"), "--mark 'x': expected kernel, inline, jit or all"), (("--format", "folded", "word"), "not an option"),
                           (("--format", "folded", "--event", "none"), "has no event 'none'; it has cpu-clock"),
                           (("--format", "pprof", "--event", "none"), "has no event 'none'; it has cpu-clock"),
                           (("--format", "folded", "--ignore-callees", "("), "is no extended regular expression")):
        status, _, err = run(PERCH, "export", *words, "-i", path)
        check(status == 2 and message in err, "usage: " + (" ".join(words) or "no option"), err)
    status, _, err = run(PERCH, "export", "--format", "folded", "-i", path, "-o", os.path.join(directory, "no/file"))
    check(status == 1 and "cannot be written: " in err, "a file that cannot be created", err)
    with open("/dev/full", "wb") as full:
        for name in ("folded", "firefox", "json", "otlp", "pprof", "speedscope"):
            done = subprocess.run([PERCH, "export", "--format", name, "-i", path], stdout=full, stderr=subprocess.PIPE, check=False)
            check(done.returncode == 1 and done.stderr.count(b"No space left") == 1 and b"Input/output" not in done.stderr, name + ": a full disk",
                  done.stderr)
            _, _, err = run(PERCH, "export", "--format", name, "-i", path, "-o", "/dev/full")
            check("/dev/full cannot be written: No space left" in err, name + ": a full disk, with the name of the file", err)
    status, out, err = run(PERCH, "export", "--format", "folded", "-i", path, "--comms", "nobody")
    check(status == 0 and not out and "nobody" in err, "a filter that matches nothing", err)
    status, out, err = run(PERCH, "export", "--format", "pprof", "-i", path, "--comms", "nobody", binary=True)
    check(status == 0 and gzip.decompress(out), "a pprof file without samples", err)
    for name in ("folded", "json", "pprof", "speedscope"):
        with open("kept", "w", encoding="utf-8") as file:
            file.write("kept")
        status, _, err = run(PERCH, "export", "--format", name, "-i", path, "--comms", "nobody", "-o", "kept")
        with open("kept", encoding="utf-8") as file:
            check(status == 1 and "nobody" in err and "kept is not written: it would have no samples" in err and file.read() == "kept",
                  name + ": a file without samples does not replace another", err)


def main():
    if not shutil.which("gcc"):
        print("skipped: no gcc for the program to record")
        return 77
    with tempfile.TemporaryDirectory(prefix="perch-export-") as directory:
        os.chdir(directory)
        os.environ["HOME"] = directory
        with open("program.c", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "program.c", "-o", "program"],
                       check=True)
        path = os.path.join(directory, "perf.data")
        status, _, err = run(PERCH, "record", "-N", "-g", "-F", "1999", "-e", "cpu-clock:u", "-o", path, "./program")
        if status:
            print("skipped: perch cannot record here: " + err.strip())
            return 77
        check_folded(path)
        check_function_options(path)
        check_pprof(directory, path)
        check_json(path)
        check_speedscope(path)
        check_import(directory, path)
        check_firefox(directory, path)
        check_faults(directory)
        check_noreturn(directory)
        check_not_called(directory)
        check_facts(directory)
        check_errors(directory, path)
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
