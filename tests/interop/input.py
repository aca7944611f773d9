#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests unusual inputs: endless, truncated while they are read, from other machines, or expensive to read. Each ends in
time, within limits, and with a message."""
import fcntl
import os
import platform
import resource
import signal
import struct
import subprocess
import sys
import tempfile

import cases
from cases import check, limit
from piped import build, feature, mapping, pipe, record, sample

PERCH = os.environ.get("PERCH", "perch")
SECONDS = 20  # quadratic algorithms take longer; 0.1 seconds is usual
BYTES = 2 << 30
KERNEL = 0xffffffff81000000


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def perch(*words, data=None):
    return subprocess.run([PERCH, *words], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limits,
                          timeout=limit(10) * SECONDS, check=False)


def costs():
    n = 40000
    hostile = {
        "mappings in descending order": [mapping(1, 4096 * (n - i), b"/x") for i in range(n)],
        "child processes of a process with many mappings":
            [mapping(1, 4096 * i, b"/x") for i in range(n)] +
            [part for i in range(2, n) for part in (record(7, 0, struct.pack("=IIIIQ", i, 1, i, 1, 0)),
                                                    mapping(i, 4096 * n, b"/x"))],
        "build ids of one path": [build(1, 4096 * i, b"/x", i) for i in range(n)],
        "build ids of other paths":
            [record(67, 2, struct.pack("=i20sB3x", -1, b"%020d" % i, 20) + b"/x%d\0" % i) for i in range(n)] +
            [mapping(1, 4096 * i, b"/y%d" % i) for i in range(n)],
        "BPF programs of the kernel":
            [record(17, 0, struct.pack("=QIHH", KERNEL + 64 * i, 64, 1, 0) + b"bpf_prog_%d\0" % i) for i in range(n)] +
            [sample(KERNEL + 64 * i, 1) for i in range(n)],
        "names of events that do not exist": [record(78, 0, struct.pack("=QQ", 2, i) + b"x\0") for i in range(8, n)],
    }
    for what, records in hostile.items():
        done = perch("report", "-i", "-", "--percent-limit", "1", data=pipe(records + [sample(4096)]))
        check(done.returncode == 0 and b" of event 'cpu-clock'" in done.stdout, f"{n} {what}")
    listed_files(200000)


def listed_files(n):
    """buildid-list -H compares the files of the header with those of the samples; a file that is in the header twice is listed once."""
    ids = [record(67, 2, struct.pack("=i20sB3x", -1, b"%020d" % i, 20) + b"/x%d\0" % i) for i in range(n)]
    samples = [part for i in range(n - 1, -1, -1) for part in (mapping(1, 4096 * (i + 1), b"/x%d" % i), sample(4096 * (i + 1)))]
    done = perch("buildid-list", "-H", "-i", "-", data=pipe(ids + ids[:9] + samples))
    expected = b"".join((b"%020d" % i).hex().encode() + b" /x%d\n" % i for i in range(n))
    check(done.returncode == 0 and done.stdout == expected, f"buildid-list -H with {n} files")


def endless():
    magic = struct.pack("=QQ", 0x32454c4946524550, 16)
    for what, begin, sentence in (("endless zeros", b"", b"not perf.data"),
                                  ("endless zeros after a magic number", magic, b"has no events"),
                                  ("endless zeros after records", pipe([sample(4096)]), b"are not records")):
        source = subprocess.Popen(["sh", "-c", 'printf "$1"; exec cat /dev/zero', "sh",
                                   "".join(f"\\{byte:03o}" for byte in begin)], stdout=subprocess.PIPE)
        done = subprocess.run([PERCH, "report", "-i", "-"], stdin=source.stdout, capture_output=True, preexec_fn=limits,
                              timeout=limit(10) * SECONDS, check=False)
        source.stdout.close()
        source.wait()
        check(sentence in done.stderr and (done.returncode == 0) == (b" of event " in done.stdout), what)


def truncated(directory):
    """Truncates the file while perch waits for the reader of its standard output."""
    path = f"{directory}/perf.data"
    with open(path, "wb") as file:
        file.write(pipe([sample(4096)] * 400000))
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 4096)
    with subprocess.Popen([PERCH, "script", "-i", path], stdout=ends[1], stderr=subprocess.PIPE) as child:
        os.close(ends[1])
        os.read(ends[0], 1)
        os.truncate(path, 4096)
        while os.read(ends[0], 1 << 16):
            pass
        os.close(ends[0])
        message = child.stderr.read()
    check(child.returncode == 1 and b"became shorter while it was read" in message,
           "a file that is truncated while it is read")


def empty_pipe(directory):
    with open(f"{directory}/perf.data", "wb") as file:
        file.write(pipe([sample(4096)]))
    for command in ("report", "script", "dump"):
        done = subprocess.run([PERCH, command], input=b"", capture_output=True, cwd=directory, check=False)
        check(done.returncode == 1 and not done.stdout and b"no input from the pipe" in done.stderr,
               f"{command} refuses an empty pipe and does not read perf.data")


def other_kernels():
    """Tests recordings of kernels with a known release, architecture and host name only."""
    with open("/proc/kallsyms", encoding="utf-8") as lines:
        symbols = {word[2]: int(word[0], 16) for word in map(str.split, lines) if len(word) == 3}
    name, text = "vfs_read", symbols.get("_text") or symbols.get("_stext")
    address = symbols.get(name)
    if not address or not text:
        print("ok - kernels of other machines # skip kernel addresses are hidden on this machine")
        return
    here = {3: platform.node(), 4: platform.release(), 6: platform.machine()}
    kernel = record(1, 1, struct.pack("=iIQQQ", -1, 0, text, 0x2000000, text) + b"[kernel.kallsyms]_text\0")
    for which, other in ((None, ""), (3, "another-host"), (4, "1.2.3-other"), (6, "s390x"), (0, "an unknown machine")):
        facts = [feature(number, (other if number == which else text).encode())
                 for number, text in here.items() if which != 0]
        data = pipe(facts + [kernel, sample(address, 1)])
        for command in ("report", "script"):
            done = perch(command, "-i", "-", data=data)
            named, reported = name.encode() in done.stdout, b"have no symbols: recorded on another machine" in done.stderr
            check(done.returncode == 0 and named == (which is None) and reported == (which is not None),
                   f"{command} of a kernel of {other or 'this machine'}")
    # this boot may have loaded the kernel elsewhere
    facts = [feature(number, text.encode()) for number, text in here.items()]
    for command in ("report", "script"):
        done = perch(command, "-i", "-", data=pipe(facts + [sample(address, 1)]))
        check(done.returncode == 0 and name.encode() not in done.stdout and b"does not have the address of the kernel" in done.stderr,
               f"{command} of a kernel without its address has no names")


def numbers():
    for count, sentence in ((1, b": 1 address in /no/such/file has no name: no such file\n"),
                            (2, b": 2 addresses in /no/such/file have no names: no such file\n")):
        here = [feature(3, platform.node().encode())]
        done = perch("report", "-i", "-", data=pipe(here + [mapping(1, 4096, b"/no/such/file")] + [sample(4096 + i) for i in range(count)]))
        check(sentence in done.stderr, f"the note of {count} address{'es' if count > 1 else ''}")


def compared(directory):
    """Each message of flamegraph --diff has the name of its file."""
    names = {}
    for name, number in (("old", 1), ("new", 2)):
        names[name] = f"{directory}/{name}.data"
        with open(names[name], "wb") as file:
            file.write(pipe([mapping(1, 4096, b"/no/such/%d" % number)] + [sample(4096)] * number))
    done = perch("flamegraph", "-i", names["new"], "--diff", names["old"], "-o", f"{directory}/page.html")
    lines = done.stderr.decode().splitlines()
    check(all(any(line.startswith(f"perch flamegraph: {path}: ") and f"/no/such/{number}" in line for line in lines)
               for path, number in ((names["old"], 1), (names["new"], 2))), "flamegraph --diff: messages name their file")
    done = perch("flamegraph", "-i", names["new"], "-o", f"{directory}/page.html")
    check(b"/no/such/2 has no name" in done.stderr and b"new.data: " not in done.stderr, "flamegraph: messages about one file")


def closed_pipe(directory):
    """The reader of the output ends first, as head: the messages follow nevertheless, and SIGPIPE ends the command."""
    path = f"{directory}/closed.data"
    with open(path, "wb") as file:
        file.write(pipe([mapping(1, 4096, b"/no/such/file")] + [sample(4096 + i) for i in range(4000)]))
    for words in (("report", "--stdio"), ("annotate", "--stdio")):
        ends = os.pipe()
        os.close(ends[0])
        done = subprocess.run([PERCH, *words, "-i", path], stdout=ends[1], stderr=subprocess.PIPE, check=False)
        os.close(ends[1])
        wanted = -signal.SIGPIPE if words[0] == "report" else 1  # annotate has no function, and writes nothing
        check(done.returncode == wanted and b"/no/such/file" in done.stderr and b"incomplete" not in done.stderr,
               f"{words[0]} prints its messages after a closed pipe")


with tempfile.TemporaryDirectory() as directory:
    closed_pipe(directory)
    compared(directory)
    costs()
    numbers()
    endless()
    truncated(directory)
    empty_pipe(directory)
    other_kernels()
sys.exit(cases.failed)
