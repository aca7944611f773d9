#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
perch record opens the same events as perf record: the attrs that both print with -vv are equal, option by option. perf reads
the files of perch record: the same samples of the same events.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from cases import limit, why_no_breakpoints
import peer

PERCH = os.environ.get("PERCH", "build/perch")
PROGRAM = ["--", "true"]

CASES = [
    "-e cpu-clock",
    "-e cpu-clock -F 1500",
    "-e cpu-clock -c 100000",
    "-e cpu-clock -c 100000 -P",
    "-e cpu-clock -n",
    "-e cpu-clock -g",
    "-e cpu-clock --call-graph fp",
    "-e cpu-clock --call-graph dwarf",
    "-e cpu-clock --call-graph dwarf,1024",
    "-e cpu-clock --call-graph lbr",
    "-e cpu-clock -g --user-callchains",
    "-e cpu-clock -g --kernel-callchains",
    "-e cpu-clock --call-graph dwarf --user-callchains",
    "-e cpu-clock --call-graph dwarf --kernel-callchains",
    "-e cpu-clock -d",
    "-e cpu-clock --phys-data",
    "-e cpu-clock --data-page-size --code-page-size",
    "-e cpu-clock -W",
    "-e cpu-clock --transaction",
    "-e cpu-clock -b",
    "-e cpu-clock -j any_call,u",
    "-e cpu-clock -j ind_call,cond,k,save_type",
    "-e cpu-clock -I",
    "-e cpu-clock --intr-regs=ax,ip",
    "-e cpu-clock --user-regs=ax,bx",
    "-e cpu-clock -R",
    "-e cpu-clock -s",
    "-e cpu-clock --sample-cpu",
    "-e cpu-clock --sample-identifier",
    "-e cpu-clock -k monotonic",
    "-e cpu-clock -k raw",
    "-e cpu-clock --namespaces --switch-events",
    "-e cpu-clock --all-cgroups",
    "-e cpu-clock --no-bpf-event",
    "-e cpu-clock --buildid-mmap",
    "-e cpu-clock --all-user",
    "-e cpu-clock --all-kernel",
    "-e cpu-clock -i",
    "-e cpu-clock -D 5",
    "-e cpu-clock -a",
    "-e cpu-clock -C 0",
    "-e cpu-clock,cs",
    "-e cpu-clock -e cs:u -c 1000000",
    "-e {cpu-clock,cs}",
    "-e {cpu-clock,cs}:S",
    "-e {cpu-clock,cs}:S --running-time",
    "-e cpu-clock/call-graph=no/,cs/period=1/ -g",
    "-e cpu-clock/freq=123/,faults/period=7,call-graph=fp/",
    "-e cpu-clock/call-graph=dwarf,stack-size=2048/",
    "-e cpu-clock/max-stack=7/ -g",
    "-e cpu-clock/no-inherit/",
    "-e cpu-clock/time=0/",
    "-e faults",
    "-e mem:0x1000/4:w",
    "-e sched:sched_switch",
    "-e sched:sched_switch -c 2",
    "-e sched:sched_switch -F 50",
    "-e sched:sched_switch/call-graph=fp/",
]
IGNORED = {
    "size",             # perch uses the smallest size that has all set fields
    "exclude_guest",    # perf sets it by default before 6.13
}


def blocks(text):
    """The attrs that a command has printed, as a list of dicts."""
    found = []
    for body, call in re.findall(r"^perf_event_attr:\n(.*?)^-{20,}\n(sys_perf_event_open[^\n]*)", text, re.M | re.S):
        attr = {}
        for line in body.splitlines():
            match = re.match(r"  (\{.*?\}|\S+)\s+(\S+)$", line)
            attr[match.group(1)] = match.group(2)
        attr["member"] = "group_fd -1 " not in call
        found.append(attr)
    return found


def shown(command, arguments, directory):
    run = peer.run([*command, "-vv", "-o", os.path.join(directory, "out.data"), *arguments, *PROGRAM], capture_output=True, text=True,
                   errors="replace", timeout=limit(300))
    text = run.stderr + run.stdout
    if command[0] == PERCH:
        # after a refusal perch probes for the reason: the calls that follow are not events of the recording
        text = text.partition("sys_perf_event_open failed")[0]
    return blocks(text)


def number(value):
    return int(value, 0)


def normal(attr, several):
    """An attr without the known differences."""
    flat = {}
    for name, value in attr.items():
        if name in IGNORED:
            continue
        if name in ("sample_type", "read_format", "branch_sample_type"):
            bits = set(value.split("|"))
            if name == "sample_type" and several:
                # perf uses ID when all events have the same fields; perch always uses IDENTIFIER
                bits -= {"ID", "IDENTIFIER"}
            bits.discard("TRANSACTION")     # perf 6.1 does not print it
            value = frozenset(bits)
        else:
            value = value if isinstance(value, bool) else number(value)
        flat[name] = value
    return {name: value for name, value in flat.items() if value}


def is_bpf_listener(attr):
    """An event of perf for BPF programs, which is read by a thread of perf: not part of the recording."""
    return number(attr.get("config", "0")) == 9 and "mmap" not in attr and "bpf_event" in attr


def is_question(attr):
    """
    An event by which perch finds out something, and which is closed at once: a breakpoint, whether breakpoints fire, and dummy
    events, whether the kernel inherits groups with the modifier S, what the clock of the samples is at a moment, and what
    a sample costs.
    """
    return number(attr.get("type", "0")) == 5 and "sample_type" not in attr or \
        attr.get("sample_type", "").startswith(("TID|READ", "TIME"))


def once(attrs):
    """perch opens one CPU after the other, and prints an attr again for each."""
    found = []
    for attr in attrs:
        if attr not in found:
            found.append(attr)
    return found


SIDEBAND = ["mmap", "mmap2", "mmap_data", "comm", "comm_exec", "task", "ksymbol", "bpf_event"]


def move_sideband(ours, theirs):
    """
    Moves the side-band bits of perch's tracking event to its first event, where perf has them. perch opens a tracking event
    when the first event does not see all mappings, because it is not inherited or has no time.
    """
    if len(ours) == len(theirs) + 1 and is_dummy(ours[-1]) and not is_dummy(theirs[-1]):
        for field in SIDEBAND:
            if field in ours[-1]:
                ours[0][field] = ours[-1][field]
        ours = ours[:-1]
    return ours


def is_dummy(attr):
    return number(attr.get("type", "0")) == 1 and number(attr.get("config", "0")) == 9


def compare(case, ours, theirs):
    several = len(once(ours)) > 1
    theirs = once(attr for attr in theirs if not is_bpf_listener(attr))
    ours = move_sideband(once(attr for attr in ours if not is_question(attr)), theirs)
    if len(ours) != len(theirs):
        return f"perch opens {len(ours)} events, perf {len(theirs)}"
    for index, (mine, perfs) in enumerate(zip(ours, theirs)):
        mine, perfs = normal(mine, several), normal(perfs, several)
        for field in sorted(mine.keys() | perfs.keys()):
            # the tracking event is enabled from the start
            if field in ("disabled", "enable_on_exec") and is_dummy(ours[index]) and " -D" in case:
                continue
            # the default of perf since Linux 6.17
            if field == "build_id" and "--buildid-mmap" not in case:
                continue
            # perf inherits these groups since 6.12, and perch if the kernel does
            if field == "inherit" and ":S" in case and not perfs.get(field):
                continue
            # no samples, no frequency
            if field == "freq" and " -n" in case:
                continue
            if mine.get(field) != perfs.get(field):
                return f"event {index}: {field}: perch {mine.get(field)}, perf {perfs.get(field)}"
    return None


# Linux writes the mark of a build id into records of other recordings, except these releases (src/cli/record/record_plan.c).
HARMLESS = [(6, 12, 113), (7, 2, 11)]
ALL_HARMLESS = (7, 3, 0)


def marks_others():
    release = tuple(int(part) for part in re.findall(r"\d+", os.uname().release.partition("-")[0])[:3])
    return release < ALL_HARMLESS and not any(release[:2] == one[:2] and release >= one for one in HARMLESS)


def build_ids_of_the_kernel(directory):
    """A recording asks the kernel for build ids only by its option, or if that harms nobody."""
    release = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    able = release >= (5, 12)
    by_default = able and not marks_others()
    cases = [([], by_default), (["-a"], by_default), (["-C", "0"], by_default), (["-p", str(os.getpid())], by_default),
             (["-D", "1"], by_default), (["--overwrite"], by_default), (["--switch-output"], by_default),
             (["--buildid-mmap"], able), (["--no-buildid-mmap"], False), (["-B"], False)]
    for arguments, wanted in cases:
        attrs = shown([PERCH, "record"], ["-e", "cpu-clock", *arguments], directory)
        if not attrs:
            return "no events"
        if any("build_id" in attr for attr in attrs) != wanted:
            return f"record {' '.join(arguments)}: the attr has build_id: {not wanted}"
    top = subprocess.Popen([PERCH, "top", "-vv", "--stdio", "-e", "cpu-clock", "-d", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, errors="replace")
    text = ""
    for line in top.stdout:     # up to its first table, or its end
        text += line
        if re.match(r"# \d\d:\d\d:\d\d ", line):
            break
    top.send_signal(signal.SIGINT)
    top.communicate(timeout=limit(60))
    attrs = blocks(text.partition("sys_perf_event_open failed")[0])
    if not attrs or any("build_id" in attr for attr in attrs):
        return "top: the attr has build_id" if attrs else "top: no events"
    return None


def build_ids_in_records(directory):
    """The files of a program and its children have build ids in the records of their mappings, also of programs that have ended, and no
    mark where there is no build id: other readers would take the device for one."""
    path = os.path.join(directory, "ids.data")
    for arguments, wanted in ([], True), (["--no-buildid-mmap"], False), (["-B"], False):
        subprocess.run([PERCH, "record", "-q", "-N", "-e", "cpu-clock", *arguments, "-o", path, "--", "sh", "-c", "ls >ls; id >id; true"],
                       cwd=directory, check=True)
        dump = subprocess.run([PERCH, "dump", "--json", "-i", path], capture_output=True, text=True, check=True)
        maps = [json.loads(line)["fields"] for line in dump.stdout.splitlines() if '"type":"MMAP2"' in line]
        files = [one for one in maps if one["filename"].startswith("/")]
        if len(files) < 9:
            return f"{len(files)} mappings of files"
        with_id = [one for one in files if one.get("build_id")]
        if (len(with_id) == len(files)) != wanted or (with_id and not wanted):
            return f"{' '.join(arguments)}: {len(with_id)} of {len(files)} mappings have a build id"
    return None


BURN = ["--", "sh", "-c", "i=0; while [ $i -lt 40000 ]; do i=$((i + 1)); done"]
READ = [
    "-e cpu-clock",
    "-e cpu-clock -g",
    "-e cpu-clock --call-graph dwarf,2048",
    "-e cpu-clock -d -I --user-regs=ax,ip -R --code-page-size --data-page-size -W",
    "-e cpu-clock -k monotonic --switch-events --namespaces --all-cgroups",
    "-e cpu-clock,faults -s",
    "-e cpu-clock/call-graph=no/,faults/period=1/ -g",
    "-e faults/time=0/ -e cpu-clock",
    "-e cpu-clock -D 5",
    "-e cpu-clock -a",
    "-e sched:sched_switch/name=leaves/ -e cpu-clock -a",
    "-e {cpu-clock,faults}",
]


def samples(command, path):
    """The number of samples of each event that the command finds in a file, and its exit status."""
    run = peer.run([*command, "-i", path, *(["-F", "event"] if command[0] == "perf" else [])], capture_output=True, text=True,
                   errors="replace", timeout=limit(300))
    found = {}
    for name in re.findall(r"(?:^|\s)(cpu-clock(?:/\S*/)?|faults(?:/\S*/)?|leaves):", run.stdout):
        found[name] = found.get(name, 0) + 1
    return found, run.returncode


@peer.part
def check_events(case, directory):
    """Whether perch opens the events of perf, or a part of the test is skipped."""
    arguments = case.split()
    if "mem:" in case and why_no_breakpoints():
        print(f"ok - {case} # skip: breakpoints: {why_no_breakpoints()}")
        return True
    theirs = shown(["perf", "record"], arguments, directory)
    if not theirs:
        print(f"ok - {case} # skip: this perf shows no attr for it")
        return True
    wrong = compare(case, shown([PERCH, "record"], arguments, directory), theirs)
    print(f"not ok - {case}: {wrong}" if wrong else f"ok - {case}")
    return not wrong


@peer.part
def check_samples(case, directory):
    wrong = read_again(case, directory)
    print(f"not ok - perf reads {case}: {wrong}" if wrong else f"ok - perf reads {case}")
    return not wrong


def read_again(case, directory):
    path = os.path.join(directory, "read.data")
    run = subprocess.run([PERCH, "record", "-o", path, *case.split(), *BURN], capture_output=True, text=True,
                         errors="replace", timeout=limit(300))
    printed = re.search(r"\((\d+) samples\)", run.stderr)
    if run.returncode or not printed:
        return f"perch does not record it: {run.stderr}"
    perfs, status = samples(["perf", "script"], path)
    ours, _ = samples([PERCH, "script"], path)
    if status or perfs != ours or sum(perfs.values()) != int(printed.group(1)):
        return f"printed {printed.group(1)} samples; perf finds {perfs}, perch {ours}"
    return None


# Replaces the program of a process all the time.
RESTLESS = "[ ! -x ./parent ] || ./parent & while :; do sh -c 'exec ls / >/dev/null'; (exec true); done"
# The same, of a process that has a child just before.
PARENT = """#include <signal.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	(void)argv;
	signal(SIGCHLD, SIG_IGN);
	if (argc > 1) {
		usleep(3000);
		execl("./parent", "parent", (char *)0);
	}
	if (!fork()) {
		for (int i = 0; i < 60; i++)
			usleep(1000);
		_exit(0);
	}
	execl("./successor", "successor", "again", (char *)0);
	return 1;
}
"""


def build_parent(directory):
    """Without a compiler, the shell alone is restless."""
    path = os.path.join(directory, "parent")
    with open(path + ".c", "w", encoding="ascii") as file:
        file.write(PARENT)
    if shutil.which("cc") and not subprocess.run(["cc", "-o", path, path + ".c"], check=False).returncode:
        os.link(path, os.path.join(directory, "successor"))


def names_of_the_kernel(directory, rounds=30):
    """-a: samples have the name that their task has at that time, also of programs that start while the recording starts. The
    tracepoint has the name of the kernel: 15 bytes, while /proc and so perch have more of a kernel thread."""
    path = os.path.join(directory, "names.data")
    complete, compared, wrong = 0, 0, []
    build_parent(directory)
    with subprocess.Popen(["sh", "-c", RESTLESS], cwd=directory, start_new_session=True) as restless:
        try:
            for _ in range(rounds):
                done = subprocess.run([PERCH, "record", "-q", "-a", "-m", "4M", "-e", "sched:sched_switch", "-o", path,
                                       "--", "sleep", "0.03"], capture_output=True, text=True, check=False)
                if done.returncode:
                    print("ok - names of tasks with -a # skip: " + done.stderr.strip()[-200:])
                    return True
                script = subprocess.run([PERCH, "script", "-i", path, "-F", "comm,tid,trace"], capture_output=True, text=True, errors="replace",
                                        check=True)
                if "lost" in done.stderr + script.stderr: # on a busy machine, also records with names
                    continue
                complete += 1
                for line in script.stdout.splitlines():
                    found = re.match(r"\s*(.*?)\s+(\d+)\s+prev_comm=(.*) prev_pid=(\d+) ", line)
                    if found and found[2] == found[4] != "0":
                        compared += 1
                        wrong += [] if found[1].startswith(found[3]) else [line]
        finally:
            os.killpg(restless.pid, signal.SIGKILL)
    if not complete:
        print("ok - names of tasks with -a # skip: records were lost in each of %d recordings" % rounds)
        return True
    print("%s - names of %d samples with -a are those of the kernel" % ("ok" if compared and not wrong else "not ok", compared))
    print("".join("    %s\n" % line for line in wrong[:10]), end="")
    return bool(compared) and not wrong


def main():
    if not shutil.which("perf"):
        print("skip: no perf to compare with")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for case in CASES:
            failed += check_events(case, directory) is False
        for case in READ:
            failed += check_samples(case, directory) is False
        for check in (build_ids_of_the_kernel, build_ids_in_records):
            wrong = check(directory)
            print(f"not ok - {check.__name__}: {wrong}" if wrong else f"ok - {check.__name__}")
            failed += wrong is not None
        failed += not names_of_the_kernel(directory)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
