#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch trace: the calls and results of strace in the same run of a program, the calls of perf trace in the same recording, and what it says about
calls that it sees in part.

LONG=1 compares with strace the start-ups of up to 1000 commands, and not of 40. KEEP=DIR keeps the files there.
"""
import collections
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

import cases
from cases import check

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")
LONG = os.environ.get("LONG", "0") == "1"
# That they start and end by themselves is all that matters: with --version most do only this.
COMMANDS = ["ls", "cat", "cp", "mv", "rm", "mkdir", "ln", "chmod", "chown", "touch", "dd", "df", "du", "date", "echo", "env", "expr", "id", "sort",
            "uniq", "wc", "head", "tail", "cut", "tr", "seq", "sleep", "stat", "tee", "uname", "who", "grep", "sed", "awk", "find", "tar", "gzip",
            "bash", "dash", "perl"]
# These change the terminal, the machine or other processes.
LEFT_OUT = re.compile(r"^(init|halt|poweroff|reboot|shutdown|runlevel|telinit|kill|pkill|skill|killall.*|systemd.*|reset|tset|su|sudo|login|passwd|"
                      r"strace.*|perf.*|bpftrace.*|gdb.*|ltrace|screen|tmux|ssh.*|vi.*|vim.*|nano|.*top|watch|less|more|most|pager|.*d)$")

MOST_BYTES = 100_000_000  # of the calls of a command


class TooMuch(Exception):
    """A command makes too many calls, because it never ends."""


def run(words, **more):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          timeout=cases.limit(120), check=False, **more)


def calls_of_strace(path):
    """By thread: the names and results of its calls after the first execve(2) that succeeds."""
    calls, begun, open_calls = collections.defaultdict(list), set(), {}
    for line in open(path, encoding="utf-8", errors="replace"):
        match = re.match(r"(\d+) +(.*)", line.rstrip("\n"))
        if not match:
            continue
        tid, text = int(match[1]), match[2]
        if text.startswith(("---", "+++")) or text.startswith("[ Process"):
            continue
        if text.endswith("<unfinished ...>"):
            open_calls[tid] = text.split("(")[0]
            continue
        resumed = re.match(r"<\.\.\. (\w+) resumed>", text)
        name = resumed[1] if resumed else text.split("(")[0]
        open_calls.pop(tid, None)
        results = list(re.finditer(r"\) += (-?\w+|\?)(?: (E\w+))?", text))
        if not results:
            continue
        result = results[-1]
        value = result[2] if result[2] else result[1]
        if name == "execve" and value == "0" and tid not in begun:
            begun.add(tid)
            calls[tid] = []
        elif tid in begun:
            calls[tid].append((name, value))
    return {tid: nr for tid, nr in calls.items() if tid in begun}


def calls_of_perch(text):
    calls, begun = collections.defaultdict(list), set()
    for line in text.splitlines():
        call = json.loads(line)
        name, tid = call.get("syscall", str(call["number"])), call["tid"]
        value = call.get("errno", str(call.get("result", "?")))
        if name == "execve" and value == "0" and tid not in begun:
            begun.add(tid)
            calls[tid] = []
        elif tid in begun:
            calls[tid].append((name, value))
    return calls


def same(name, left, right):
    """Results are equal; strace prints addresses in hexadecimal, and says '?' for a call that is interrupted."""
    if left == right or "?" in (left, right):
        return True
    try:
        if name == "umask":  # strace prints it in octal
            return int(left, 8) == int(right)
        return int(left, 0) == int(right, 0)
    except ValueError:
        return False


def run_group(words):
    """Runs words, whose output may have any size, and ends all that they have started if they wait for something."""
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
        try:
            process.wait(timeout=cases.limit(30))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        errors.seek(0)
        return errors.read(100_000)


def compare(words, directory):
    """Returns "" or a difference. The tracer and its program are traced, so both see the same calls."""
    log, text = os.path.join(directory, "strace"), os.path.join(directory, "perch")
    errors = run_group([PERCH, "trace", "-j", "--no-paths", "-m", "32M", "-o", text, "strace", "-f", "-o", log, *words])
    if not os.path.exists(text):
        return errors or "no output"
    if os.path.getsize(text) > MOST_BYTES:
        raise TooMuch
    left, right = calls_of_strace(log), calls_of_perch(open(text, encoding="utf-8").read())
    if not left:
        return "strace has no calls"
    for tid, expected in left.items():
        got = right.get(tid, [])
        for i, call in enumerate(expected):
            if i >= len(got) or got[i][0] != call[0] or not same(*call, got[i][1]):
                return f"thread {tid}, call {i}: strace {call}, perch {got[i] if i < len(got) else None}; {errors}"
        if len(got) != len(expected):
            return f"thread {tid}: strace {len(expected)} calls, perch {len(got)}: {got[len(expected):][:3]}"
    return ""


def is_traced(name):
    """Not directories of /usr/bin; and the kernel ends the events of a program that is set-user-ID or set-group-ID."""
    path = shutil.which(name)
    mode = os.stat(path).st_mode if path and os.path.isfile(path) else stat.S_ISUID
    return not mode & (stat.S_ISUID | stat.S_ISGID)


def all_commands():
    names = COMMANDS
    if LONG:
        others = {name for path in ("/usr/bin", "/bin", "/usr/sbin") for name in os.listdir(path)}
        names = names + sorted(name for name in others - set(names) if not LEFT_OUT.match(name))
    return [name for name in names if is_traced(name)][:1000 if LONG else 40]


def compare_with_strace(directory):
    differences, lost, endless, names = [], [], [], all_commands()
    for name in names:
        try:
            found = compare([name, "--version"], directory)
            for _ in range(2):  # a busy machine may lose records, which is said
                if "records were lost" in found:
                    found = compare([name, "--version"], directory)
        except (subprocess.TimeoutExpired, TooMuch):
            endless.append(name)  # or it waits for something
            continue
        if "records were lost" in found:
            lost.append(name)
        elif found:
            differences.append(f"{name}: {found}")
    compared = len(names) - len(lost) - len(endless)
    check(not differences and compared > len(names) // 2, f"{compared} commands have the calls and results of strace", differences[:5], endless)
    print(f"{len(endless)} commands do not end by themselves: {' '.join(endless)}")
    check(len(lost) <= 1 + len(names) // 20, f"of {len(lost)} records were lost", lost)


def rows(text):
    """(thread, name, result) of lines of perf trace and perch trace."""
    found = []
    for line in text.splitlines():
        match = re.match(r" *(?:[\d.]+|\?) \( *(?:[\d.]+ ms)?\): +\S+?/(\d+) +(?:\.\.\. \[continued\]: )?(\w+)\(.*\) += ?(\S*)", line)
        if match and "(interrupted" not in line:
            found.append((int(match[1]), match[2]))
    return found


def compare_with_perf(directory):
    for recorder in ("perf", "perch"):
        path = os.path.join(directory, recorder + ".data")
        result = run([PERF if recorder == "perf" else PERCH, "trace", "record", "-o", path, "ls", "/"])
        if not os.path.exists(path):
            print("ok - perf trace # skip", result.stderr.strip().splitlines()[-1:])
            continue
        ours, theirs = run([PERCH, "trace", "-i", path]), run([PERF, "trace", "-i", path])
        theirs.stdout += theirs.stderr  # perf writes to either
        check(rows(ours.stdout) == rows(theirs.stdout) and len(rows(ours.stdout)) > 20,
              f"a recording of {recorder} has the calls of perf trace", [rows(ours.stdout)[:5], rows(theirs.stdout)[:5], ours.stderr])
        sums = run([PERCH, "trace", "-s", "-i", path]).stdout
        mine = dict(re.findall(r"^ +(\w+) +(\d+) +\d+ +[\d.]+", sums, re.M))
        counted = collections.Counter(name for _, name in rows(ours.stdout))
        check({name: int(nr) for name, nr in mine.items()} == dict(counted), f"the sums of a recording of {recorder} are those of its lines",
              [sums, counted])


PROGRAM = r"""
import os, signal, socket, sys, threading, time
def wait(seconds):
    time.sleep(seconds)
def interrupted(*unused):
    pass
thread = threading.Thread(target=wait, args=(0.4,))
thread.start()
os.close(os.open("/etc/passwd", os.O_RDONLY))
try:
    os.open("/nonexistent/of/perch", os.O_RDWR | os.O_CREAT, 0o640)
except OSError:
    pass
try:
    os.open("/nonexistent/of/perch2", os.O_RDWR)
except OSError:
    pass
os.getppid()
left, right = os.pipe()
threading.Timer(0.3, lambda: os.write(right, b"x")).start()
os.read(left, 1)
thread.join()
os.execv("/bin/true", ["true"])
"""


def lines_of_a_program(directory):
    path = os.path.join(directory, "program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    text = os.path.join(directory, "text")
    result = run([PERCH, "trace", "-o", text, sys.executable, path])
    lines = open(text, encoding="utf-8").read()
    check(result.returncode == 0, "the exit status is that of the program", result)
    check(re.search(r"openat\(AT_FDCWD, [^,]*, O_RDWR\|O_CREAT\|O_CLOEXEC, 0640\) += -1 ENOENT \(No such file or directory\)", lines),
          "flags, a mode and an errno have names", lines[-3000:])
    check(re.search(r"openat\(AT_FDCWD, [^,]*, O_RDWR\|O_CLOEXEC\) += -1 ENOENT", lines), "without O_CREAT there is no mode")
    check(re.search(r"\((?:39\d|[4-9]\d\d)\.\d+ ms\): \S+ .*clock_nanosleep", lines) and "[continued]: clock_nanosleep()" in lines,
          "a call that lasts is shown where it begins and ends", [line for line in lines.splitlines() if "nanosleep" in line])
    check(re.search(r"clock_nanosleep\(CLOCK_MONOTONIC, TIMER_ABSTIME, \{tv_sec=\d+, tv_nsec=\d+\}", lines) or "clock_nanosleep" not in lines
          or "[continued]" in lines, "memory of a call that lasts is shown")
    check(re.search(r"exit_group\(0\) +  = \?", lines), "exit_group does not return", lines[-300:])
    result = run([PERCH, "trace", "--call-graph", "dwarf", "-e", "clock_nanosleep", "-o", text, "sleep", "0.01"])
    check(re.search(r"clock_nanosleep\(.* = 0\n +\S*nanosleep\S* \(\S*libc[^)]*\)\n", open(text, encoding="utf-8").read()), "a call chain follows the call",
          open(text, encoding="utf-8").read())
    for options, good, what in (
            (["-e", "getppid"], lambda names: set(names) == {"getppid"}, "a name"),
            (["-e", "!getppid,%file,read"], lambda names: names and not {"getppid", "openat", "read"} & set(names), "all but some"),
            (["-e", "memory"], lambda names: "mmap" in names and "openat" not in names, "a group"),
            (["-e", "/^(get|set)p"], lambda names: set(names) == {"getppid"}, "a regular expression"),
            (["--comms", "perch,true"], lambda names: set(names) == {"execve"} or "mmap" in names and "getppid" not in names, "the name of a thread"),
            (["--comms", "nobody"], lambda names: not names, "the name of no thread"),
            (["--failure"], lambda names: "openat" in names and "getppid" not in names, "failures"),
            (["--duration", "200"], lambda names: names and "getppid" not in names, "a duration")):
        result = run([PERCH, "trace", *options, "-j", "-o", text, sys.executable, path])
        names = [json.loads(line).get("syscall") for line in open(text, encoding="utf-8")]
        check(result.returncode == 0 and good(names), f"{' '.join(options)}: {what}", [names[:20], result.stderr])
    run([PERCH, "trace", "-F", "all", "--comms", "nobody", "-o", text, "true"])
    check(not os.path.getsize(text), "--comms: the name of no thread, and page faults", open(text, encoding="utf-8").read())
    made = os.path.join(directory, "made")
    result = run([PERCH, "trace", "-u", f"{shutil.which('touch')}:*", "-o", os.path.join(directory, "none", "x"), "touch", made])
    check(result.returncode == 1 and "cannot be written" in result.stderr and not os.path.exists(made), "-u does not run a program whose calls could not be written", result)
    for words, message in ((["-e", "opennat"], "did you mean 'openat'?"), (["-e", "sched:sched_switch"], "'perch record -e'"),
                           (["-i", "x", "-p", "1"], "excludes"), (["--duration", "x"], "milliseconds")):
        result = run([PERCH, "trace", *words, "true"] if "-i" not in words else [PERCH, "trace", *words])
        check(result.returncode == 2 and message in result.stderr, " ".join(words) + " is a usage error", result)


def a_process_that_waits(directory):
    """Its call is found while the thread is in it, so what it points to is shown without a mark."""
    program = subprocess.Popen([sys.executable, "-c", "import time\nprint(1, flush=True)\nwhile True: time.sleep(0.25)"], stdout=subprocess.PIPE)
    program.stdout.readline()
    text = os.path.join(directory, "waits")
    trace = subprocess.Popen([PERCH, "trace", "-p", str(program.pid), "--max-events", "3", "-o", text])
    trace.wait(cases.limit(60))
    program.kill()
    program.wait()
    program.stdout.close()
    lines = open(text, encoding="utf-8").read()
    check(lines.count("\n") == 3 and re.search(r"clock_nanosleep\(CLOCK_MONOTONIC, TIMER_ABSTIME, \{tv_sec=\d+, tv_nsec=\d+\}, ", lines),
          "a time that is read in the call is shown, and no call after --max-events", lines)


REPLACED = r"""
import os, threading, time
left, right = os.pipe()
threading.Timer(0.1, lambda: os.write(right, b"x")).start()
os.readv(left, [bytearray(1)])
os.dup2(os.open("/etc/passwd", os.O_RDONLY), left)
os.readv(left, [bytearray(2)])
time.sleep(0.05)
os.readv(left, [bytearray(3)])
time.sleep(0.05)
"""


def a_descriptor_that_is_replaced(directory):
    """Without the calls that close descriptors, no path of an earlier call is taken for that of a later one."""
    text = os.path.join(directory, "replaced")
    run([PERCH, "trace", "-e", "readv", "-o", text, sys.executable, "-c", REPLACED])
    lines = [line for line in open(text, encoding="utf-8") if "readv(" in line and re.search(r"= [23]$", line)]
    check(len(lines) == 2 and not any(re.search(r"<pipe:[^>]*>,", line) for line in lines), "a path that may be an old one has a mark", lines)


WAITING = r"""
import os, select, socket, sys, threading
left, right = os.pipe()
name = sys.argv[1]
os.mkfifo(name)
left_socket, right_socket = socket.socketpair()
epoll = select.epoll()
epoll.register(left, select.EPOLLIN)
for wait in (lambda: os.read(left, 5), lambda: open(name), lambda: select.select([left, left_socket.fileno()], [], [], 1000), lambda: epoll.poll(-1),
             lambda: left_socket.recvmsg(100), lambda: select.poll().poll(500000)):
    threading.Thread(target=wait, daemon=True).start()
print(left, left_socket.fileno(), flush=True)
os.read(0, 1)
os._exit(0)
"""


def waits_of_threads(directory):
    """What each thread of a program waits for, as root and as the user of the program."""
    fifo = os.path.join(directory, "fifo")
    program = subprocess.Popen([sys.executable, "-c", WAITING, fifo], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pipe, connection = program.stdout.readline().split()
    expected = [rf"read\({pipe}<pipe:\[\d+\]>, 0x\w+, 5\)", rf'open(at)?\((AT_FDCWD, )?"{fifo}", O_RDONLY\|O_CLOEXEC',
                rf"(pselect6|select)\(\d+, \[{pipe} {connection}\], NULL|select.*\[{connection} {pipe}\]", r"epoll_p?wait2?\(\d+<anon_inode:\[eventpoll\]>, 0x\w+, ",
                rf"recvmsg\({connection}<socket:\[\d+\]>, {{msg_name=(NULL|0x\w+), msg_namelen=\d+, msg_iov=\[{{iov_base=0x\w+, iov_len=100}}\], msg_iovlen=1",
                r"p?poll\(", r"read\(0<pipe:\[\d+\]>, 0x\w+, 1\)"]
    for _ in range(100):
        result = run([PERCH, "trace", "--waits", "-p", str(program.pid)])
        if all(re.search(call, result.stdout) for call in expected) or "hidden" in result.stderr:
            break
        time.sleep(0.05)
    if "hidden" in result.stderr:
        print("ok - --waits # skip", result.stderr.strip())
    else:
        check(not result.returncode and not result.stderr and all(re.search(call, result.stdout) for call in expected),
              "--waits has the call of each thread, with its memory and paths", result)
        objects = [json.loads(line) for line in run([PERCH, "trace", "--waits", "-j", "-p", str(program.pid)]).stdout.splitlines()]
        check(len(objects) == 7 and {one["pid"] for one in objects} == {program.pid} and all(one["state"] == "S" for one in objects) and
              any(one["syscall"] == "read" and one["arguments"][0].startswith(pipe + "<pipe:") for one in objects), "--waits -j", objects)
        stacks = [json.loads(line)["stack"] for line in run([PERCH, "trace", "--waits", "-v", "-j", "-p", str(program.pid)]).stdout.splitlines()]
        check(len(stacks) == 7 and ("stack" not in objects[0]) and
              (not all(stacks) or any("+0x" in frame for frame in stacks[0])), "--waits -v -j has the functions of the kernel", stacks)
        timed = [one for one in objects if "waited" in one]
        if os.path.exists("/proc/self/sched"):
            check(len(timed) == 7 and all(one["waited"] < 3600e9 for one in timed), "how long they wait", objects)
        one = run([PERCH, "trace", "--waits", "-e", "read", "--no-paths", "-p", str(program.pid)]).stdout
        check(len(one.splitlines()) == 3 and f"read({pipe}, " in one, "--waits of some calls", one)
        none = run([PERCH, "trace", "--waits", "--duration", "3600000", "-t", str(program.pid)])
        check(not none.stdout and "no thread is shown" in none.stderr, "--waits of a duration", none)
    everything = run([PERCH, "trace", "--waits"])
    check(not everything.returncode and re.search(rf"^ *\d+ +{program.pid}  ", everything.stdout, re.M), "--waits of all threads", everything)
    for words in (["-i", "x"], ["-C", "0"], ["true"]):
        result = run([PERCH, "trace", "--waits", *words])
        check(result.returncode == 2 and "--waits" in result.stderr, "--waits and " + words[0], result)
    program.stdin.close()
    program.wait()
    program.stdout.close()


def processes_of_a_cgroup(directory):
    root = next((path for path in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/perf_event")
                 if os.access(os.path.join(path, "cgroup.procs"), os.W_OK)), None)
    if not root:
        print("ok - -G # skip no cgroup can be made here")
        return
    group = os.path.join(root, f"perch-trace-{os.getpid()}")
    text = os.path.join(directory, "cgroup")
    try:
        os.mkdir(group)
        program = ["sh", "-c", f"cat /etc/hostname; echo $$ > {group}/cgroup.procs; exec cat /etc/passwd"]
        result = run([PERCH, "trace", "-G", os.path.basename(group), "-e", "execve,exit_group", "-o", text, *program])
    except OSError as error:
        print("ok - -G # skip", error)
        return
    finally:
        if os.path.isdir(group):
            os.rmdir(group)
    if result.returncode and "cgroup" in result.stderr:
        print("ok - -G # skip", result.stderr.strip())
        return
    lines = open(text, encoding="utf-8").read()
    check(lines.count("exit_group") == 1 and "execve" in lines and not result.returncode, "-G traces the processes of a cgroup", [result, lines])
    result = run([PERCH, "trace", "-G", "a,b", "true"])
    check(result.returncode == 2 and "-G a,b" in result.stderr, "-G takes one cgroup", result)


def lost_records(directory):
    """A ring of one page loses records: their calls are named, and nothing is joined across them."""
    path, text = os.path.join(directory, "lost.data"), os.path.join(directory, "lost")
    run([PERCH, "trace", "record", "-m", "4", "-o", path, "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=100000"])
    result = run([PERCH, "trace", "-j", "-o", text, "-i", path])
    lost = re.search(r"(\d+) records were lost", result.stderr)
    if not lost:
        print("ok - lost records # skip this machine loses none")
        return
    numbers = collections.Counter()
    for line in open(text, encoding="utf-8"):
        call = json.loads(line)
        numbers["entry"] += call.get("entry_lost", False)
        numbers["exit"] += call.get("unfinished") == "its exit was lost"
        numbers["uncertain"] += call.get("uncertain", False)
        numbers["wrong"] += "duration" in call and (call.get("uncertain", False) or call.get("entry_lost", False))
    counts = re.search(r"of (\d+) calls the exit is missing, of (\d+) the entry, and of (\d+) entry", result.stderr)
    check(counts and [int(nr) for nr in counts.groups()] == [numbers["exit"], numbers["entry"], numbers["uncertain"]] and not numbers["wrong"],
          "calls with lost records are counted, and have no duration", [result.stderr, numbers])


COMPAT = r"""
static int call(int n, int a, int b, int c)
{
	int r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c) : "memory");
	return r;
}
void _start(void)
{
	call(5, (int)"/etc/passwd", 0, 0);
	call(64, 0, 0, 0);
	call(1, 7, 0, 0);
}
"""


def programs_of_32_bits(directory):
    source, program = os.path.join(directory, "compat.c"), os.path.join(directory, "compat")
    with open(source, "w", encoding="utf-8") as file:
        file.write(COMPAT)
    built = run(["gcc", "-m32", "-fno-pie", "-no-pie", "-nostdlib", "-static", "-o", program, source])
    if built.returncode or run([program]).returncode != 7:
        print("ok - 32 bits # skip no such program can be built and run here")
        return
    for live in (True, False):
        text = os.path.join(directory, "text")
        if live:
            run([PERCH, "trace", "-j", "-o", text, program])
        else:
            path = os.path.join(directory, "compat.data")
            run([PERCH, "trace", "record", "-o", path, program])
            run([PERCH, "trace", "-j", "-o", text, "-i", path])
        names = [json.loads(line).get("syscall") for line in open(text, encoding="utf-8")]
        check(names == ["execve", "open", "getppid", "exit"], f"a program of 32 bits has its own numbers, {'live' if live else 'recorded'}", names)


def main():
    with tempfile.TemporaryDirectory() as temporary:
        waits_of_threads(temporary)
    may = run([PERCH, "trace", "-o", "/dev/null", "true"])
    if may.returncode in (1, 2):
        check("sys_enter" in may.stderr and len(may.stderr.splitlines()) >= 1, "the message has the event", may)
        print("SKIP: system calls cannot be traced here:", may.stderr.strip())
        return 1 if cases.failed else 0
    with tempfile.TemporaryDirectory() as temporary:
        directory = os.environ.get("KEEP", temporary)
        lines_of_a_program(directory)
        a_process_that_waits(directory)
        a_descriptor_that_is_replaced(directory)
        lost_records(directory)
        processes_of_a_cgroup(directory)
        programs_of_32_bits(directory)
        if shutil.which("strace"):
            compare_with_strace(directory)
        if shutil.which(PERF):
            compare_with_perf(directory)
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
