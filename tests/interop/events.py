#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Event strings mean to perch what they mean to perf: attrs compared with those that `perf stat -vv` shows."""
import os
import re
import shutil
import subprocess
import sys

ATTRS = os.path.join(os.environ.get("PERCH_BUILD_ROOT", "build"), "tests/interop/interop_event_attrs")
FIELDS = ["type", "config", "bp_addr", "bp_len", "exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle",
          "exclude_host", "exclude_guest", "precise_ip", "pinned", "exclusive"]
GENERIC = """
    cycles cpu-cycles instructions cache-references cache-misses branches branch-instructions branch-misses
    bus-cycles stalled-cycles-frontend idle-cycles-frontend stalled-cycles-backend idle-cycles-backend ref-cycles
    cpu-clock task-clock page-faults faults context-switches cs cpu-migrations migrations minor-faults major-faults
    alignment-faults emulation-faults dummy bpf-output cgroup-switches
    L1-dcache-loads L1-dcache-load-misses l1d-load-miss L1-dcache-stores L1-dcache-prefetch-misses L1-icache-load-misses
    LLC-loads LLC-store-misses LLC-prefetches dTLB-load-misses d-tlb-loads dTLB-stores iTLB-loads iTLB-load-misses
    branch-loads branch-load-misses bpu-loads node-loads node-load-misses node-stores node-prefetch-misses L2-loads
    r1a8 r0 rffff r1b7:u msr/tsc/ msr/event=0x0/ msr/config=4/ sched:sched_switch sched:sched_switch:u
    syscalls:sys_enter_openat:k
""".split()
MODIFIERS = """
    cycles:u cycles:k cycles:h cycles:uk cycles:ukh cycles:kh cycles:G cycles:H cycles:GH cycles:uG cycles:kH cycles:I
    cycles:p cycles:pp cycles:ppp cycles:up cycles:ukp cycles:ppk cycles:D cycles:e cycles:uDe cycles:upG cycles:pH
    cs:u faults:k task-clock:uk cs:ukpp instructions:Iu r1a8:ukpp LLC-loads:u L1-dcache-load-misses:kppp
    msr/tsc/u msr/tsc/:k msr/tsc/ukp
""".split()
GROUPS = ["{cs,faults}", "{cs:u,faults:k}", "{cs,faults}:u", "{cs:k,faults}:u", "{cs:u,faults}:p", "{cs,faults}:D",
          "{cs,faults:e}:u", "{cs,faults},{task-clock:u,cpu-clock}:k", "cs,{faults}", "{cs:pp,faults}:pu",
          "{cs:G,faults}:u", "{cs:u,faults}:H", "{cs:pH,faults}:G", "{cs:GH,faults}:p",
          "{cs:G,faults}:H", "{cs:p,faults}:GH", "{cs:ukh,faults}:u", "{cs:H,faults}:pp", "{ cs , faults }:uk"]
REFUSED = ["cycels", "cycles:x", "cycles:", "{cs", "cs}", "cs,,faults", ",", "cycles:pppp", "L1-icache-stores",
           "iTLB-stores", "branch-stores", "sched:no_such_tracepoint", "nosuchpmu/tsc/", "msr/nosuchterm/", "{}", "r",
           "rxyz", "msr/tsc", "cycles u", "cycles:uu"]


def number(text):
    return int(text, 0)


def by_perf(text):
    """The attrs that perf opens for the string, one dict for each event, with its place in the group."""
    shown = subprocess.run(["perf", "stat", "-vv", "-e", text, "--", "true"], capture_output=True, text=True,
                           errors="replace").stderr
    events = []
    pattern = r"(switching off [^\n]*\n)?^-{20,}\nperf_event_attr:\n(.*?)^-{20,}\n((?:sys_perf_event_open[^\n]*\n)+)"
    for retry, block, calls in re.findall(pattern, shown, re.M | re.S):
        if retry:
            continue    # the same event once more, with less
        attr = dict(line.split(None, 1) for line in block.splitlines())
        event = {field: 0 for field in FIELDS}
        for name, value in attr.items():
            name = {"bp_addr, config1": "bp_addr"}.get(name, name)
            if name in event:
                event[name] = number(value.split()[0])
        member = re.search(r"group_fd (-?\d+)", calls)
        event["leads"] = member.group(1) == "-1"
        events.append(event)
    return events


def by_perch(texts):
    found = {text: [] for text in texts}
    out = subprocess.run([ATTRS, *texts], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        text, _, rest = line.partition("\t")
        if rest.startswith("error"):
            found[text] = rest
            continue
        event = {field: 0 for field in FIELDS}
        for name, value in re.findall(r" (\w+)=(0x[0-9a-f]+)(?= |$)", rest):
            if name in event:
                event[name] = number(value)
        index, leader = rest.split()[:2]
        event["leads"] = index == leader
        found[text].append(event)
    return found


def same(text, ours, theirs):
    """None, or what differs. perf sets exclude_guest of its own accord where the text is silent about guests."""
    if isinstance(ours, str):
        return f"perch refuses it: {ours}"
    if len(ours) != len(theirs):
        return f"perch has {len(ours)} events, perf {len(theirs)}"
    for mine, perfs in zip(ours, theirs):
        for field, value in perfs.items():
            silent = mine["exclude_host"] == 0 and ":H" not in text
            if field == "exclude_guest" and value and silent:
                continue
            if mine[field] != value:
                return f"{field}: perch has {mine[field]:#x}, perf {value:#x}"
    return None


def main():
    if not shutil.which("perf"):
        print("skip: no perf here to compare with")
        return 77
    if not os.access("/sys/kernel/tracing/events", os.R_OK):
        print("ok - tracepoints # skip: tracefs cannot be read")
        GENERIC[:] = [text for text in GENERIC if ":s" not in text]
    failed = 0
    texts = GENERIC + MODIFIERS + GROUPS
    found = by_perch(texts + REFUSED)
    for text in texts:
        theirs = by_perf(text)
        if not theirs:
            print(f"ok - {text} # skip: perf does not open it here")
            continue
        why = same(text, found[text], theirs)
        failed += why is not None
        print(f"{'not ok' if why else 'ok'} - {text}{': ' + why if why else ''}")
    for text in REFUSED:
        refused = isinstance(found[text], str) and re.match(r"error column=\d+ \S", found[text])
        failed += not refused
        print(f"{'ok' if refused else 'not ok'} - refuses '{text}'")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
