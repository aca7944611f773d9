#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch export --format perfetto: the switches, wakeups, samples, call stacks and counts of a trace are those of the recording. The
trace is decoded by the public numbers of Perfetto's fields; Perfetto's own messages (PyPI) decode it too, where they are installed."""
import collections
import gzip
import os
import re
import struct
import subprocess
import sys
import tempfile

import cases
import flamegraph_rows
from cases import check, limit

PERCH = os.environ.get("PERCH", "perch")

# number: (name, message or None); of https://github.com/google/perfetto/tree/main/protos/perfetto/trace
SWITCH = {1: ("prev_comm", None), 2: ("prev_pid", None), 3: ("prev_prio", None), 4: ("prev_state", None), 5: ("next_comm", None),
          6: ("next_pid", None), 7: ("next_prio", None)}
WAKING = {1: ("comm", None), 2: ("pid", None), 3: ("prio", None), 4: ("success", None), 5: ("target_cpu", None)}
EVENT = {1: ("timestamp", None), 2: ("pid", None), 4: ("switch", SWITCH), 5: ("common_flags", None), 20: ("waking", WAKING)}
BUNDLE = {1: ("cpu", None), 2: ("event", EVENT)}
TREE = {1: ("processes", {1: ("pid", None), 3: ("cmdline", None), 9: ("is_comm", None)}),
        2: ("threads", {1: ("tid", None), 2: ("name", None), 3: ("tgid", None)})}
STRING = {1: ("iid", None), 2: ("str", None)}
INTERNED = {5: ("functions", STRING), 17: ("paths", STRING), 18: ("files", STRING), 19: ("mappings", {1: ("iid", None), 7: ("path", None)}),
            6: ("frames", {1: ("iid", None), 2: ("function", None), 3: ("mapping", None), 4: ("rel_pc", None), 5: ("file", None), 6: ("line", None)}),
            7: ("stacks", {1: ("iid", None), 2: ("frames", None)})}
SAMPLE = {1: ("cpu", None), 2: ("pid", None), 3: ("tid", None), 4: ("stack", None), 5: ("mode", None), 6: ("count", None)}
DEFAULTS = {12: ("samples", {1: ("timebase", {1: ("period", None), 2: ("frequency", None), 10: ("name", None)})})}
PACKET = {1: ("ftrace", BUNDLE), 2: ("tree", TREE), 6: ("clocks", {1: ("clock", {1: ("id", None), 2: ("time", None)})}), 8: ("timestamp", None),
          10: ("sequence", None), 11: ("slice", {9: ("type", None), 11: ("track", None), 23: ("name", None)}), 12: ("interned", INTERNED),
          13: ("flags", None), 45: ("system", {1: ("utsname", {1: ("sysname", None), 3: ("release", None), 4: ("machine", None)})}),
          59: ("defaults", DEFAULTS), 60: ("track", {1: ("uuid", None), 4: ("thread", {1: ("pid", None), 2: ("tid", None), 5: ("name", None)})}),
          66: ("sample", SAMPLE)}
TRACE = {1: ("packet", PACKET)}


def number_at(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def decode(data, fields):
    """Lists of values by the names of fields."""
    message = collections.defaultdict(list)
    at = 0
    while at < len(data):
        key, at = number_at(data, at)
        value, at = number_at(data, at)
        name, inner = fields[key >> 3]      # another number fails: perch writes no other field
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
            value = decode(value, inner) if inner else value.decode(errors="replace")
        message[name].append(value)
    return message


def run(*words):
    return subprocess.run([PERCH, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=limit(60), check=False)


def export(path, *options):
    done = run("export", "--format", "perfetto", "-i", path, "-o", path + ".gz", *options)
    check(done.returncode == 0, "a trace is written: " + path, done)
    with gzip.open(path + ".gz") as file:
        data = file.read()
    check_public(path, data)
    return decode(data, TRACE)["packet"]


def check_public(path, data):
    """Perfetto's own messages know all fields."""
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # pylint: disable=import-outside-toplevel
        from google.protobuf import unknown_fields  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("ok - Perfetto's messages decode it # skip: pip install perfetto")
        return
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(data)
    unknown = sum(len(unknown_fields.UnknownFieldSet(packet)) for packet in trace.packet)
    check(len(trace.packet) > 3 and not unknown, "Perfetto's messages decode it: " + path, str(unknown))


PROGRAM = """
import os, threading
r, w = os.pipe()
r2, w2 = os.pipe()
def other():
    for i in range(200):
        os.read(r, 1); os.write(w2, b"x")
thread = threading.Thread(target=other)
thread.start()
for i in range(200):
    os.write(w, b"x"); os.read(r2, 1)
    sum(range(3000))
thread.join()
"""


def script(path, event):
    """(time, CPU, tid, text) of each sample of a tracepoint."""
    done = run("script", "-i", path, "-F", "time,cpu,tid,event,trace", "--ns")
    lines = (re.match(r" *(-?\d+) +\[(\d+)\] +(\d+)\.(\d+): +(\S+): +(.*)", line) for line in done.stdout.splitlines())
    return [(int(m[3]) * 10**9 + int(m[4]), int(m[2]), int(m[1]), m[6]) for m in lines if m and m[5].startswith(event)]


def check_schedule():
    done = run("record", "-a", "-c", "1", "-e", "sched:sched_switch,sched:sched_waking", "-o", "all", "--", sys.executable, "-c", PROGRAM)
    if done.returncode:
        print("ok - switches and wakeups # skip", done.stderr.strip().splitlines()[-1])
        return
    packets = export("all")
    switches = collections.defaultdict(list)
    wakings = []
    for bundle in (bundle for packet in packets for bundle in packet["ftrace"]):
        for event in bundle["event"]:
            if event["switch"]:
                switch = event["switch"][0]
                switches[bundle["cpu"][0]].append((event["timestamp"][0], switch["prev_pid"][0], switch["next_pid"][0], switch["prev_state"][0]))
            else:
                wakings.append((event["timestamp"][0], event["waking"][0]["pid"][0]))
    broken = [(cpu, a, b) for cpu, list_ in switches.items() for a, b in zip(list_, list_[1:]) if a[0] > b[0] or a[2] != b[1]]
    check(switches and not broken, "on each CPU a switch leaves the thread that the one before came to", str(broken[:3]))
    recorded = script("all", "sched:sched_switch")
    parsed = [(time, cpu, re.search(r"prev_pid=(\d+).* prev_state=(\S+).*next_pid=(\d+)", text)) for time, cpu, _, text in recorded]
    written = {(time, cpu, prev, next_): state for cpu, list_ in switches.items() for time, prev, next_, state in list_}
    missing = [(time, cpu, m[0]) for time, cpu, m in parsed if m[1] != m[3] and (time, cpu, int(m[1]), int(m[3])) not in written]
    check(len(parsed) > 100 and not missing, "each switch of the recording is in the trace", "%d of %d: %s" % (len(missing), len(parsed), missing[:3]))
    bits = {"S": 1, "D": 2, "T": 4, "t": 8, "X": 0x10, "Z": 0x20, "P": 0x40, "I": 0x80, "R+": 0x100, "R": 0}
    # a thread that was woken on its way off the CPU is runnable
    wrong = [(m[0], written[time, cpu, int(m[1]), int(m[3])]) for time, cpu, m in parsed if m[2] in bits and int(m[1]) and
             (time, cpu, int(m[1]), int(m[3])) in written and written[time, cpu, int(m[1]), int(m[3])] not in (bits[m[2]], 0x200, 0)]
    certain = sum(1 for key, state in written.items() if key[2] and state != 0x200)
    runnable = sum(1 for time, cpu, m in parsed if m[2] not in ("R", "R+") and written.get((time, cpu, int(m[1]), int(m[3]))) == 0 and int(m[1]))
    check(not wrong and certain > 100 and runnable * 4 < len(parsed), "states are those of the recording", str(wrong[:3]), str(certain))
    woken = script("all", "sched:sched_waking")
    pids = {(time, int(re.search(r" pid=(\d+)", text)[1])) for time, _, _, text in woken}
    check(len(wakings) > 50 and set(wakings) <= pids and len(pids - set(wakings)) * 20 <= len(pids), "wakeups are those of the recording",
          "%d of %d" % (len(wakings), len(pids)), str(sorted(set(wakings) - pids)[:3]))
    names = {thread["tid"][0]: thread["name"][0] for packet in packets for tree in packet["tree"] for thread in tree["threads"]}
    check("perfetto" not in names.values() and any("python" in name for name in names.values()), "threads have names", str(names)[:300])


def check_samples():
    done = run("record", "-e", "task-clock/period=1000000/u", "-e", "page-faults/period=10/u", "-g", "-o", "samples", "--", sys.executable, "-c", "sum(range(3000000))")
    check(done.returncode == 0, "samples are recorded", done)
    packets = export("samples")
    strings = collections.defaultdict(dict)
    stacks, counts, frames, event_names, totals = {}, collections.Counter(), {}, {}, collections.Counter()
    last = {}
    for packet in packets:
        sequence = packet["sequence"][0]
        for defaults in packet["defaults"]:
            event_names[sequence] = defaults["samples"][0]["timebase"][0]["name"][0]
        for interned in packet["interned"]:
            for kind in "functions", "paths", "files":
                for string in interned[kind]:
                    strings[sequence, kind][string["iid"][0]] = string["str"][0]
            for frame in interned["frames"]:
                frames[sequence, frame["iid"][0]] = strings[sequence, "functions"][frame["function"][0]]
            for stack in interned["stacks"]:
                stacks[sequence, stack["iid"][0]] = ";".join(frames[sequence, frame] for frame in stack["frames"])
        for sample in packet["sample"]:
            cpu = sample["cpu"][0] if sample["cpu"] else None
            period = sample["count"][0] - last.get((sequence, cpu), 0)
            last[sequence, cpu] = sample["count"][0]
            totals[event_names[sequence]] += period
            if sample["stack"]:
                counts[event_names[sequence], stacks[sequence, sample["stack"][0]]] += period
    for event in sorted(set(event_names.values())):
        folded = run("export", "--format", "folded", "-i", "samples", "--event", event).stdout
        theirs = collections.Counter()
        for line in folded.splitlines():
            stack, _, period = line.rpartition(" ")
            theirs[stack.partition(";")[2]] += int(period)
        own = collections.Counter({stack: period for (name, stack), period in counts.items() if name == event})
        check(theirs and own == theirs and totals[event] == sum(theirs.values()), "stacks and sums are those of folded stacks: " + event,
              str((own - theirs).most_common(2)), str((theirs - own).most_common(2)))
    release = [system["utsname"][0]["release"][0] for packet in packets for system in packet["system"]]
    check(release == [os.uname().release], "the trace has the release of the kernel", str(release))
    other = min(event_names.values())
    only = export("samples", "--event", other)
    names = [defaults["samples"][0]["timebase"][0]["name"][0] for packet in only for defaults in packet["defaults"]]
    check(names == [other], "--event selects the samples", str(names))


def check_slices():
    """Context switches without CPUs: each thread has slices that follow each other."""
    done = run("record", "--switch-events", "-e", "task-clock:u", "-o", "events", "--", sys.executable, "-c", PROGRAM)
    if done.returncode:
        print("ok - slices of threads # skip", done.stderr.strip().splitlines()[-1])
        return
    packets = export("events")
    if any(packet["ftrace"] for packet in packets):
        print("ok - slices of threads # skip: switches have CPUs")
        return
    tracks = {track["uuid"][0]: track["thread"][0]["tid"][0] for packet in packets for track in packet["track"]}
    opened, times, problems, nr = {}, {}, [], 0
    for packet in packets:
        for event in packet["slice"]:
            track, time = event["track"][0], packet["timestamp"][0]
            if event["type"][0] == 1 and (opened.get(track) or time < times.get(track, 0) or track not in tracks):
                problems.append((track, time))
            nr += event["type"][0] == 1
            opened[track], times[track] = event["type"][0] == 1, time
    check(nr > 100 and not problems and not any(opened.values()), "slices of threads follow each other", str(problems[:3]), str(nr))


def check_switch_chains():
    """Call chains of switches are no graph of waits, which flamegraph says and perfetto need not."""
    done = run("sched", "record", "-q", "-g", "-o", "chains", "--", "sleep", "0.1")
    if done.returncode:
        print("ok - call chains of switches # skip", done.stderr.strip().splitlines()[-1])
        return
    hint = "'perch record --off-cpu' has the time of waits"
    notes = [run("flamegraph", "-i", "chains", "-o", "chains.html").stderr,
             run("export", "--format", "perfetto", "-i", "chains", "-o", "chains.gz").stderr]
    check(hint in notes[0] and hint not in notes[1], "call chains of switches: a hint", *notes)


def uncertain_begins(packets):
    """(time, tid) of the marks."""
    tracks = {track["uuid"][0]: track["thread"][0]["tid"][0] for packet in packets for track in packet["track"]}
    return [(packet["timestamp"][0], tracks[event["track"][0]]) for packet in packets for event in packet["slice"] if event["type"][0] == 1 and
            event["name"][0] == "uncertain: a switch is missing"]


def lose_after(path, time, to):
    """Copies a recording, with a record of a loss behind the sample of that time."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    attrs, _, first, size = struct.unpack_from("<QQQQ", data, 24)
    sample_type = struct.unpack_from("<Q", data, attrs + 24)[0]
    at = first
    while struct.unpack_from("<I", data, at)[0] != flamegraph_rows.SAMPLE or struct.pack("<Q", time) not in data[at:at + struct.unpack_from("<H", data, at + 6)[0]]:
        at += struct.unpack_from("<H", data, at + 6)[0]
    at += struct.unpack_from("<H", data, at + 6)[0]
    trailer = b"".join(struct.pack("<Q", time + 1 if bit == 4 else 0) for bit in (2, 4, 0x40, 0x200, 0x80, 0x10000) if sample_type & bit)
    lost = flamegraph_rows.record(flamegraph_rows.LOST, 0, struct.pack("<QQ", 0, 1) + trailer)
    for number in range(sum(bin(byte).count("1") for byte in data[72:104])):      # features are behind the records
        feature = first + size + 16 * number
        struct.pack_into("<Q", data, feature, struct.unpack_from("<Q", data, feature)[0] + len(lost))
    struct.pack_into("<Q", data, 48, size + len(lost))
    data[at:at] = lost
    with open(to, "wb") as file:
        file.write(data)


def check_uncertain_wakeup():
    """A thread waits, is woken, and then records are lost before it runs: its wait is certain up to the wakeup."""
    if not os.path.exists("all") or sys.byteorder != "little":
        return
    marked = {tid for _, tid in uncertain_begins(export("all"))}
    switches = [(time, *map(int, re.search(r"prev_pid=(\d+).*next_pid=(\d+)", text).groups())) for time, _, _, text in script("all", "sched:sched_switch")]
    woken = [(time, int(re.search(r" pid=(\d+)", text)[1])) for time, _, _, text in script("all", "sched:sched_waking")]
    times = [time for time, *_ in switches] + [time for time, _ in woken]
    for time, tid in woken[len(woken) // 4:]:
        before = [switch for switch in switches if tid in switch[1:] and switch[0] < time]
        after = [switch for switch in switches if tid in switch[1:] and switch[0] >= time]
        if tid not in marked and before and after and before[-1][1] == tid and after[0][2] == tid and after[0][0] > time + 1 and times.count(time) == 1:
            break
    else:
        print("ok - a wait before a wakeup is certain # skip: no thread waited so")
        return
    lose_after("all", time, "lossy")
    begins = [at for at, of in uncertain_begins(export("lossy")) if of == tid and before[-1][0] <= at <= after[0][0]]
    check(begins == [time], "a wait before a wakeup is certain, what follows is marked", str(begins), str((before[-1], time, after[0])))


def check_uncertain():
    """Thread 7 leaves its CPU without a record: its run is marked, and a note has the number."""
    flamegraph_rows.write_file("missing", flamegraph_rows.missing_switches())
    begins = uncertain_begins(export("missing"))
    check((3000, 7) in begins and (1000, 7) not in begins and (2000, 8) not in begins, "a run of which a switch is missing is marked", str(begins))
    check((7000, 7) in begins, "and a wait in which records were lost", str(begins))
    note = run("export", "--format", "perfetto", "-i", "missing", "-o", "missing.gz").stderr
    check(re.search(r"\d+ intervals? of threads may be wrong, because switches are missing", note), "and a note has their number", note)
    note = run("flamegraph", "-i", "missing", "-o", "-").stderr
    check("may be wrong, because switches are missing" in note, "that of a page, too", note)


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        check_schedule()
        check_samples()
        check_slices()
        check_uncertain()
        check_uncertain_wakeup()
        check_switch_chains()
        os.chdir("/")
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
