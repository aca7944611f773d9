#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Compares the attrs of perch with the attrs that `perf stat -vv` and `perf record -vv` print for the same event strings. DIFFERS
lists the intended differences and their reasons.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

import peer

ATTRS = os.path.join(os.environ.get("PERCH_BUILD_ROOT", "build"), "tests/interop/interop_event_attrs")
# Fields that depend on the text when events are counted.
FIELDS = ["type", "config", "bp_type", "bp_addr", "bp_len", "exclude_user", "exclude_kernel", "exclude_hv",
          "exclude_idle", "exclude_host", "exclude_guest", "precise_ip", "pinned", "exclusive"]
GENERIC = """
    cycles cpu-cycles instructions cache-references cache-misses branches branch-instructions branch-misses
    bus-cycles stalled-cycles-frontend idle-cycles-frontend stalled-cycles-backend idle-cycles-backend ref-cycles
    cpu-clock task-clock page-faults faults context-switches cs cpu-migrations migrations minor-faults major-faults
    alignment-faults emulation-faults dummy bpf-output cgroup-switches
    L1-dcache-loads L1-dcache-load-misses l1d-load-miss L1-dcache-stores L1-dcache-prefetch-misses L1-icache-load-misses
    LLC-loads LLC-store-misses LLC-prefetches dTLB-load-misses d-tlb-loads dTLB-stores iTLB-loads iTLB-load-misses
    branch-loads branch-load-misses bpu-loads node-loads node-load-misses node-stores node-prefetch-misses L2-loads
    r1a8 r0 rffff r1b7:u r076:p r0C1:p r20000038f msr/r1a8/ msr/r0x1a8/ msr/r0x20000038f/u msr/TSC/ msr/tsc/ msr/event=0x0/ msr/config=4/ sched:sched_switch sched:sched_switch:u
    syscalls:sys_enter_openat:k
""".split()
MODIFIERS = """
    cycles:u cycles:k cycles:h cycles:uk cycles:ukh cycles:kh cycles:G cycles:H cycles:GH cycles:uG cycles:kH cycles:I
    cycles:p cycles:pp cycles:ppp cycles:up cycles:ukp cycles:ppk cycles:D cycles:e cycles:uDe cycles:upG cycles:pH
    cs:u faults:k task-clock:uk cs:ukpp instructions:Iu r1a8:ukpp LLC-loads:u L1-dcache-load-misses:kppp
    msr/tsc/u msr/tsc/ukp cs:S cs:W cs:SW cs:uS cs:uI cs:De cs:ukhGHI faults:uWD
""".split()
GROUPS = ["{cs,faults}", "{cs:u,faults:k}", "{cs,faults}:u", "{cs:k,faults}:u", "{cs:u,faults}:p", "{cs,faults}:D",
          "{cs,faults:e}:u", "{cs,faults},{task-clock:u,cpu-clock}:k", "cs,{faults}", "{cs:pp,faults}:pu",
          "{cs:G,faults}:u", "{cs:u,faults}:H", "{cs:pH,faults}:G", "{cs:GH,faults}:p", "{cs:G,faults}:H",
          "{cs:p,faults}:GH", "{cs:ukh,faults}:u", "{cs:H,faults}:pp", "{ cs , faults }:uk", "{cs,faults}:W",
          "pair{cs,faults}:u",
          "{cs,faults,dummy}:uW", "{cs:W,faults}:D", "{sched:sched_switch,cs}:u", "{cs//u,faults/name=x/}:k",
          "{cs,faults},sched:sched_switch:k,{dummy}:e"]
# Terms of perf stat, numbers, raw events in all spellings, breakpoints, globs.
TERMS = """
    cs/config=5/ cs/config=0x5/u cs/config1=7/ cs/config1=7,config2=0x8/k cs/name=switches/ cs/name=switches/u
    cs/metric-id=x/ cs/percore/ cs/r5/ cs/config=1,name=a,config1=2/ cs//u faults// cycles/name=c,config=1/u
    instructions//ppk L1-dcache-loads/name=x/ LLC-load-misses/name=y,config1=3/u r1a8/name=x/ r1a8/name=x/pp
    r1a8/config1=9,config2=10/ 1:3 1:0x3:u 1:2/name=f/ 4:0x1a8 4:0x1a8/name=raw/u 0:0:k 3:0x10002 2:9:u
    msr/config=4,name=smi/ msr/event=4/ msr/event=0x4,name=smi/ msr/r0/ msr/r4/ msr/config1=5/
    msr/config2=0x10,event=0/ msr/tsc,event=0/ msr/event=0,tsc/ msr/tsc,name=clock,config1=2/ msr/config=010/ tsc
    tsc:u uprobe/retprobe/ uprobe/retprobe=1/ uprobe/retprobe=0/u uprobe/ref_ctr_offset=5/
    uprobe/ref_ctr_offset=0x123,retprobe/k uprobe/ref_ctr_offset=0xffffffff/ uprobe/config=1/
    uprobe/config1=0,config2=0x40/ mem:0x1000 mem:0x1000:w mem:0x1000:rw mem:0x1000:wr mem:0x1000:x mem:0x1000/1
    mem:0x1000/2:w mem:0x1000/4:rw mem:0x1000/8:w mem:0x1000:w:u mem:0x1000/4:rw:k mem:4096/4:w
    mem:0xffffffff81000000:x:k mem:0x1000:u sched:sched_[ws]* sched:sched_*:u sched:sched_switc?
    sys*:sys_enter_openat* sched:sched_process_e*:k sched:*wait* syscalls:sys_e[nx]*_openat:u
""".split()
# Terms about sampling. perf opens many of them in one run; each of SAMPLING_ALONE needs a run of its own.
SAMPLING = """
    cs cs:u cs:k cs:uk cs:I cs:e cs:D cs:H cs:G cs:P cs:Pp cs/period=1000/ cs/period=0x10/u faults/period=1/
    cpu-clock/period=1000000/ cs/period/ cs/period=010/ cs/freq=100/ faults/freq=50/u cpu-clock/freq=0x64/
    cs/call-graph=fp/ cs/call-graph=dwarf/ cs/call-graph=no/ cs/call-graph=dwarf,stack-size=4096/
    faults/call-graph=dwarf,stack-size=1024/u cs/call-graph='dwarf,2048'/ cs/call-graph=fp,max-stack=10/
    cs/max-stack=10/ cs/max-stack=127,call-graph=dwarf/ cs/stack-size=4096/ cs/inherit/ cs/no-inherit/ cs/inherit=0/
    cs/inherit=1/ cs/no-inherit=1/ cs/no-inherit=0/ faults/no-inherit,period=3/u cs/no-overwrite/ cs/no-overwrite=1/
    cs/time=0/ cs/time=1/ cs/time/ cs/period=100,call-graph=fp,no-inherit,time=0/uk
    cpu-clock/call-graph=fp,freq=99,max-stack=3,name=clock/u sched:sched_switch/call-graph=fp/
    sched:sched_switch/call-graph=dwarf,stack-size=512/ sched:sched_switch/max-stack=3/u
    sched:sched_switch/no-inherit/ sched:sched_switch/inherit=0/k sched:sched_wakeup/call-graph=no/ 1:3/period=5/u
    1:2/freq=7,call-graph=fp/ mem:0x1000:w mem:0x1000/8:rw:u dummy/inherit=1/ {cs,faults}:S {cs,faults}:Su
    {cs/period=10/,faults}:uS {cs:S,faults}:S {cs/call-graph=fp/,faults/max-stack=4/} {cs,faults/period=5/}:SW
""".split()
SAMPLING_ALONE = """
    cycles/period=7/u instructions/period=9,call-graph=fp/ppk L1-dcache-loads/period=7/u r1a8/period=7/pp
    r1a8/freq=7/k LLC-loads/call-graph=dwarf,stack-size=64/ cycles/max-stack=9,no-inherit/ msr/tsc,period=5/
    msr/event=0,call-graph=fp/ cs/overwrite/ cs/overwrite=1,period=4/ cs/aux-output/ cs/branch_type=any/
    cs/branch_type=any_call/ cs/branch_type=any_ret/ cs/branch_type=ind_call/ cs/branch_type=cond/
    cs/branch_type=call/ cs/branch_type=ind_jmp/ cs/branch_type=abort_tx/ cs/branch_type=in_tx/ cs/branch_type=no_tx/
    cs/branch_type=save_type/ cs/branch_type=stack/ cs/branch_type=u/ cs/branch_type=k/ cs/branch_type='any,u'/
    cs/branch_type='any_call,ind_call,cond,save_type,u'/ cs/branch_type='any,priv'/
    cycles/branch_type=any,period=1000/u cs/call-graph=lbr/
""".split()
# Texts that perf 6.1 refuses or parses in another way: the attr or error of perch, and the reason.
DIFFERS = {
    "msr/config=1,event=2/":
        ({"type": None, "config": 2},
         "perf combines the bits of both numbers; in perch event= replaces its bits of config"),
    "sched:sched_switch/period=10/":
        ({"type": 2, "sample_period": 10},
         "perf 6.1 accepts only terms about call chains on tracepoints"),
    "sched:sched_switch/name=switch/":
        ({"type": 2},
         "perf 6.1 accepts only terms about call chains on tracepoints"),
    "sched:sched_switch/freq=10/u":
        ({"type": 2, "sample_period": 10, "freq": 1, "exclude_kernel": 1},
         "perf 6.1 accepts only terms about call chains on tracepoints"),
    "mem:0x1000:w/period=3/u":
        ({"type": 5, "bp_addr": 0x1000, "bp_type": 2, "bp_len": 4, "sample_period": 3, "exclude_kernel": 1},
         "perf accepts terms on breakpoints since 6.5"),
    "cs/name='a b'/":
        ({"type": 1, "config": 3},
         "perf 6.1 refuses quotes around a name with a space"),
    "cs/period=1/:u":
        ({"type": 1, "sample_period": 1, "exclude_kernel": 1},
         "perch accepts a colon before all modifiers"),
    "msr/tsc/:k":
        ({"type": None, "exclude_user": 1},
         "perch accepts a colon before all modifiers"),
    "cs/branch_type=any|u/":
        ({"sampling.branch_sample_type": 9},
         "perch accepts '|', which needs no quotes inside an event string"),
    "msr/raw=4/":
        ({"type": None, "config": 4},
         "perf has raw= since 6.4"),
    "cs/config3=7/":
        ({"type": 1, "config3": 7},
         "config3 is new in Linux 6.3"),
    "cs/aux-action=pause/":
        ({"sampling.aux_action": 2},
         "perf has aux-action= since 6.13"),
    "m*/tsc/":
        ({"type": None, "config": 0},
         "perf 6.1 requires a number after the match of a glob"),
    "cs/branch_type='any,no_flags,no_cycles'/":
        ({"sampling.branch_sample_type": 0xc008},
         "perf has no keywords for these bits"),
    "cs/branch_type='any,hw_index,counter'/":
        ({"sampling.branch_sample_type": 0xa0008},
         "perf 6.1 has no keywords for these bits"),
    "cs/max-stack=70000/":
        ("must be 1 to",
         "perf truncates 70000 to 16 bits: 4464 frames"),
    "cs/period=1000,freq=100/":
        ("exclude each other",
         "perf uses the last without an error"),
    "cs/period=0/":
        ("must be 1 to",
         "perf counts instead of sampling, without an error"),
    "cs/freq=0/":
        ("must be 1 to",
         "perf takes no samples, without an error"),
    "cs/call-graph=foo/":
        ("not a call graph mode",
         "perf ignores it"),
    "cs/call-graph=fp,stack-size=4096/":
        ("call-graph=dwarf",
         "perf ignores stack-size="),
    "cs/call-graph=dwarf,stack-size=1001/":
        ("multiple of 8",
         "perf rounds up without an error"),
    "cs/nr=3/":
        ("not supported",
         "nr= is for perf trace; perf record ignores it"),
    "duration_time":
        ("no event",
         "it is not an event of the kernel: perf opens a dummy event for it"),
    "mem:0x1000:r":
        ("no breakpoints on reads without writes",
         "the kernel refuses it with EINVAL on x86"),
    "ftrace:function_no_such*":
        ("no tracepoint matches",
         "perf refuses it too, with another message"),
}
REFUSED = ["cycels", "read", "msr/r0x/", "CYCLES", "msr/Event=0/", "cycles:x", "cycles:", "{cs", "cs}", "cs,,faults", ",", "cycles:pppp", "L1-icache-stores",
           "iTLB-stores", "branch-stores", "sched:no_such_tracepoint", "nosuchpmu/tsc/", "msr/nosuchterm/", "{}", "r",
           "rxyz", "msr/tsc", "cycles u", "cycles:uu", "cs/bogus/", "cs/bogus=1/", "cs/period=1,/", "cs/,/",
           "cs/period=x/", "cs/period=-1/", "cs/time=2/", "cs/percore=2/", "cs/branch_type=foo/", "cs/stack-size/",
           "uprobe/retprobe=2/", "uprobe/ref_ctr_offset=0x100000000/", "msr/event=0x10000000000000000/", "mem:",
           "mem:0x1000:q", "mem:0x1000/3:w", "sched:nosuch*", "nosuch*:*", "1:", "1:x", "cs/name/", "{cs,faults}:y",
           "cs//uu", "r0x1a8", "cs/driver-config=3/"]

# An attr of -vv and the open calls. perf retries with fewer features after a failure.
BLOCK = re.compile(r"^-{20,}\nperf_event_attr:\n(.*?)^-{20,}\n((?:sys_perf_event_open[^\n]*\n)*)", re.M | re.S)
UNIONS = {"{ bp_addr, config1 }": "bp_addr", "{ bp_len, config2 }": "bp_len",
          "{ sample_period, sample_freq }": "sample_period"}
BRANCHES = ["USER", "KERNEL", "HV", "ANY", "ANY_CALL", "ANY_RETURN", "IND_CALL", "ABORT_TX", "IN_TX", "NO_TX", "COND",
            "CALL_STACK", "IND_JUMP", "CALL", "NO_FLAGS", "NO_CYCLES", "TYPE_SAVE", "HW_INDEX", "PRIV_SAVE", "COUNTERS"]


def by_perf(command, text):
    """The attrs that perf opens for the string, one dict for each event, none if it died; "leads" is true for a leader."""
    command = ["perf"] + command + ["-vv", "-e", text, "--", "true"]
    run = peer.try_run(command, capture_output=True, text=True, errors="replace")
    events, failed = [], False
    for block, calls in BLOCK.findall(run.stderr) if not peer.fault(run.returncode) else ():
        retry, failed = failed, "failed, error" in calls
        attr = dict(re.match(r"\s*(\{.*?\}|\S+)\s+(.*)", line).groups() for line in block.splitlines())
        if retry or ("watermark" in attr and "sample_type" not in attr):
            continue    # a retry of the same event, or an event that perf opens for itself
        event = {field: 0 for field in FIELDS}
        for name, value in attr.items():
            name = UNIONS.get(name, name)
            event[name] = int(value.split()[0], 0) if re.match(r"(0x)?[0-9a-f]+\b", value) else value
        member = re.search(r"group_fd (-?\d+)", calls)
        event["leads"] = not member or member.group(1) == "-1"
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
        for name, value in re.findall(r" ([\w.]+)=(0x[0-9a-f]+)(?= |$)", rest):
            event[name] = int(value, 0)
        index, leader = rest.split()[:2]
        event["leads"] = index == leader
        found[text].append(event)
    return found


# The bits of the names that perf prints.
SAMPLES = {name: 1 << bit for bit, name in enumerate(
    "IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER STACK_USER".split())}
# The bits of sample_type that depend on terms; perf sets the others by default.
BY_TERMS = sum(SAMPLES[name] for name in ("TIME", "CALLCHAIN", "BRANCH_STACK", "REGS_USER", "STACK_USER"))
SAMPLED = ["sample_stack_user", "sample_regs_user", "sample_max_stack", "exclude_callchain_user", "write_backward",
           "aux_output"]


def sampling_differs(mine, perfs):
    """None, or the difference between the attrs of samplers. Defaults of perf are ignored."""
    samples = perfs.get("sample_type", "").split("|")
    branches = perfs.get("branch_sample_type", "").split("|")
    shown = {field: perfs.get(field, 0) for field in SAMPLED}
    shown["sample_type"] = sum(SAMPLES.get(name, 0) for name in samples) & BY_TERMS
    shown["branch_sample_type"] = sum(1 << bit for bit, name in enumerate(BRANCHES) if name in branches)
    if mine.get("sample_period"):
        shown.update(sample_period=perfs.get("sample_period", 0), freq=perfs.get("freq", 0))
    if not mine.get("leader_sampling"):
        shown["inherit"] = perfs.get("inherit", 0)
    elif "READ" not in samples:
        return "perch has modifier S, perf does not"
    for field, value in shown.items():
        built = mine.get("sampling." + field, 0) & (BY_TERMS if field == "sample_type" else -1)
        if built != value:
            return f"{field}: perch has {built:#x}, perf {value:#x}"
    return "perch refuses to sample it" if mine.get("refused") else None


def attr_differs(text, mine, perfs):
    """None, or the difference. perf sets exclude_guest by default."""
    for field in FIELDS + ["leads"]:
        unset = mine["exclude_host"] == 0 and ":H" not in text
        if field == "exclude_guest" and perfs[field] and unset:
            continue
        if field == "precise_ip" and "precise_max" in mine:
            continue    # perf finds the highest precise_ip when it opens the event
        if field == "bp_len" and "config2" in mine and not mine["bp_len"]:
            continue
        if mine[field] != perfs[field]:
            return f"{field}: perch has {mine[field]:#x}, perf {perfs[field]:#x}"
    return None


def same(text, ours, theirs, record):
    if isinstance(ours, str):
        return f"perch refuses it: {ours}"
    if len(ours) != len(theirs):
        return f"perch has {len(ours)} events, perf {len(theirs)}"
    if re.search(r"[*?\[]", text):    # perf uses the order of the directory, perch sorts by name
        ours, theirs = (sorted(events, key=lambda event: event["config"]) for events in (ours, theirs))
        text = text.split(":", 1)[1] if text.count(":") > 1 else text
        for event in (*ours, *theirs):
            event["leads"] = True
    for mine, perfs in zip(ours, theirs):
        why = attr_differs(text, mine, perfs) or (sampling_differs(mine, perfs) if record else None)
        if why:
            return why
    return None


RECORD = ["record", "--no-bpf-event", "-B", "-N", "-o", "/dev/null"]


def run_perf(texts, ours):
    """The attrs of perf for each text. The texts of SAMPLING share a few runs."""
    found = {}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for text in texts:
            record = text in SAMPLING_ALONE
            found[text, record] = pool.submit(by_perf, RECORD if record else ["stat"], text)
        batches = [SAMPLING[at:at + 24] for at in range(0, len(SAMPLING), 24)]
        answers = list(pool.map(lambda batch: by_perf(RECORD, ",".join(batch)), batches))
    found = {key: future.result() for key, future in found.items()}
    for batch, events in zip(batches, answers):
        for text in batch:
            size = len(ours[text]) if isinstance(ours[text], list) else 1
            found[text, True], events = events[:size], events[size:]
    return found


def check(number, text, why, skip=None):
    print(f"{'not ok' if why else 'ok'} - {number}{text}{': ' + why if why else ''}{' # skip ' + skip if skip else ''}")
    return why is not None


def check_differs(text, expected, reason, ours, theirs):
    if isinstance(ours, str) and re.search("no PMU|tracefs", ours):
        return check("", f"{text}, unlike perf", None, "the machine has no such event")
    if isinstance(expected, str):
        refused = isinstance(ours, str) and expected in ours
        wrong = None if refused else f"perch should refuse it, with '{expected}': {ours}"
    elif isinstance(ours, str):
        wrong = f"perch refuses it: {ours}"
    else:
        wrong = next((f"{name} is {ours[0].get(name, 0):#x}, not {value:#x}" for name, value in expected.items()
                      if value is not None and ours[0].get(name, 0) != value), None)
    agrees = not wrong and not isinstance(expected, str) and same(text, ours, theirs, True) is None
    return check("", f"{text}, unlike perf: {reason}" + (" (this perf agrees)" if agrees else ""), wrong)


def main():
    if not shutil.which("perf"):
        print("skip: perf is not installed")
        return 77
    failed = 0
    counting = GENERIC + MODIFIERS + GROUPS + TERMS
    sampled = SAMPLING + SAMPLING_ALONE
    if not os.access("/sys/kernel/tracing/events", os.R_OK):
        print("ok - tracepoints # skip tracefs cannot be read")
        for texts in (counting, sampled, SAMPLING):
            texts[:] = [text for text in texts if "sched" not in text and "sys" not in text]
    if os.uname().machine not in ("x86_64", "i686"):
        del DIFFERS["mem:0x1000:r"]
    ours = by_perch(dict.fromkeys(counting + sampled + list(DIFFERS) + REFUSED))
    theirs = run_perf(counting + SAMPLING_ALONE, ours)
    for texts, record in ((counting, False), (sampled, True)):
        for text in texts:
            perfs = theirs[text, record]
            how = "sampled: " if record else ""
            if perfs:
                failed += check(how, text, same(text, ours[text], perfs, record))
            else:
                check(how, text, None, "perf does not open it, or died each time")
    for text, (expected, reason) in DIFFERS.items():
        failed += check_differs(text, expected, reason, ours[text], by_perf(RECORD, text))
    for text in REFUSED:
        refused = isinstance(ours[text], str) and re.match(r"error column=\d+ \S", ours[text])
        failed += check("refuses ", text, None if refused else f"it is {ours[text]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
