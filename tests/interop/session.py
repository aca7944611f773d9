#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report, script and dump read recordings of perf as perf does: owners, times, unknown kernels, generated code, tracepoints."""
import collections
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import cases
import peer
from cases import check

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")
EXAMPLE = os.path.join(os.environ.get("PERCH_BUILD_ROOT", "build"), "examples/comm-summary")
# record types and features of perf.data
MMAP, HEADER_TRACING_DATA, BUILD_ID, AUXTRACE, FEATURE = 1, 66, 67, 71, 80
HOSTNAME, EVENT_DESC = 3, 12
KERNEL = 1  # cpumode

# Runs code in private and in shared anonymous memory: dec %rdi; jnz; ret. With an argument it names the code in its map
# file, and with "forever" it does not end.
JIT = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int named;
static void run(int flags, const char *name)
{
	static const unsigned char code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	unsigned char *page = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, flags, -1, 0);

	memcpy(page + 4112, code, sizeof(code));
	if (named) {
		char path[64];
		FILE *map;

		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
		map = fopen(path, "a");
		fprintf(map, "%lx %zx %s\n", (long)(page + 4112), sizeof(code), name);
		fclose(map);
	}
	((void (*)(long))(void *)(page + 4112))(200000000);
}
int main(int argc, char **argv)
{
	char path[64];

	/* another process may have had this id */
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	named = argc > 1;
	do {
		run(MAP_PRIVATE | MAP_ANONYMOUS, "LazyCompile:~private file.js:1:2");
		run(MAP_SHARED | MAP_ANONYMOUS, "shared_code");
	} while (named && !strcmp(argv[1], "forever"));
	return 0;
}
"""


def run(*words, binary=False):
    done = peer.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if not binary:
        done.stdout = done.stdout.decode(errors="replace")
    done.stderr = done.stderr.decode(errors="replace")
    return done


@peer.part
def record(path, *words):
    """False after it has printed why perf cannot record this here."""
    done = run(PERF, "record", "-q", "-o", path, *words)
    if done.returncode:
        print("skipped: perf record %s: %s" % (" ".join(words), done.stderr.strip()))
    return not done.returncode


def rows(text):
    """The rows of a report, without the percentages."""
    return [re.sub(r"\s+", " ", line).strip().split("% ", 1)[1] for line in text.splitlines()
            if re.match(r"^ +\d+\.\d+% ", line)]


def records(data):
    """The records of a piped recording: (type, misc, bytes)."""
    at = 16
    while at + 8 <= len(data):
        kind, misc, size = struct.unpack_from("=IHH", data, at)
        if kind == HEADER_TRACING_DATA:
            size += (struct.unpack_from("=I", data, at + 8)[0] + 7) & ~7
        if kind == AUXTRACE:
            size += struct.unpack_from("=Q", data, at + 8)[0]
        yield kind, misc, data[at:at + size]
        at += size


def edit(source, target, change):
    """Writes each record as change(type, misc, bytes) returns it."""
    with open(source, "rb") as file:
        data = file.read()
    with open(target, "wb") as file:
        file.write(data[:16] + b"".join(change(*one) for one in records(data)))


def is_feature(kind, content, feature):
    return kind == FEATURE and struct.unpack_from("=Q", content, 8)[0] == feature


def is_kernel_map(kind, misc, content):
    return kind == MMAP and misc & 7 == KERNEL and content[40:].startswith(b"[kernel.kallsyms]")


# ---- the file ----

@peer.part
def check_owner():
    if os.geteuid():
        print("skipped: only root can give a file to another user")
        return
    shutil.copy("cpu.data", "foreign.data")
    os.chown("foreign.data", 12345, 12345)
    theirs = run(PERF, "report", "-i", "foreign.data", "--stdio")
    for command in "report", "script", "dump":
        refused = run(PERCH, command, "-i", "foreign.data")
        check(theirs.returncode and refused.returncode == 1 and not refused.stdout and
              "foreign.data is not owned by the current user or root" in refused.stderr and "-f" in refused.stderr,
              command + " refuses the file of another user, as perf does", refused.stderr)
        read = run(PERCH, command, "-f", "-i", "foreign.data")
        check(not read.returncode and read.stdout == run(PERCH, command, "-i", "cpu.data").stdout, command + " -f reads it")
    with open("foreign.data", "rb") as file:
        piped = subprocess.run([PERCH, "script", "-i", "-"], stdin=file, stdout=subprocess.PIPE)
    check(not piped.returncode and piped.stdout, "standard input needs no -f")


@peer.part
def check_time():
    os.utime("cpu.data", (1000000000, 1111111111))
    lines = [next((line for line in run(program, "report", "--header-only", "-i", "cpu.data").stdout.splitlines()
                   if "captured on" in line), None) for program in (PERF, PERCH)]
    check(lines[0] == lines[1] and "2005" in lines[1], "captured on: the modification time, as in perf", lines)


@peer.part
def check_cpu():
    texts = [rows(run(program, "report", "-i", "cpu.data", "--stdio", "-s", "cpu").stdout) for program in (PERF, PERCH)]
    check(texts[0] == texts[1] == ["-001"], "-s cpu: -001 for samples without a CPU, as in perf", texts)


def check_full_disk():
    if not os.path.exists("/dev/full"):
        return
    for command in "report", "script", "dump":
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PERCH, command, "-i", "cpu.data"], stdout=full, stderr=subprocess.PIPE, text=True)
        check(done.returncode == 1 and "No space left on device" in done.stderr, command + " reports why a write failed",
              done.stderr)


def chains(program, path, *options):
    """The addresses of each sample, innermost first. perf ends chains that it cannot continue with address -1."""
    blocks = run(program, "script", *options, "-i", path).stdout.split("\n\n")[:-1]
    return [[address for address in re.findall(r"^\t *([0-9a-f]+) ", block, re.M) if address != "f" * 16] for block in blocks]


@peer.part
def check_stacks():
    """Copies of user stacks: perf's frames, and the frames that it does not find."""
    # several hundred samples: of fewer than 100, 99 % are all
    if not record("dwarf.data", "-e", "cpu-clock", "-F", "5000", "--call-graph", "dwarf,16384", "--", "ls", "-lR", "/etc", "/etc", "/etc"):
        return
    theirs, ours = chains(PERF, "dwarf.data", "--no-inline"), chains(PERCH, "dwarf.data", "--no-inline")
    same = sum(mine[:len(their)] == their for their, mine in zip(theirs, ours))
    shorter = sum(len(mine) < len(their) for their, mine in zip(theirs, ours))
    check(len(theirs) == len(ours) > 10 and same >= 0.99 * len(ours) and shorter <= 0.01 * len(ours),
          "unwound stacks have perf's frames in %d of %d samples, %d frames, perf %d" %
          (same, len(ours), sum(map(len, ours)), sum(map(len, theirs))),
          [pair for pair in zip(theirs, ours) if pair[1][:len(pair[0])] != pair[0]])
    record("short.data", "-e", "cpu-clock:u", "--call-graph", "dwarf,256", "--", "ls", "-lR", "/etc")
    samples = len(chains(PERF, "short.data", "--no-inline"))
    for command in "report", "script":
        notes = re.findall(r"(\d+) call chains? lacks? (?:its|their) outer functions", run(PERCH, command, "-i", "short.data").stderr)
        check(len(notes) == 1 and 0 < int(notes[0]) <= samples, "%s: one note about %s stacks that are too short" %
              (command, notes), samples)
    with open("untouched.c", "w", encoding="ascii") as file:
        file.write(UNTOUCHED)
    run("gcc", "-O1", "-g", "-o", "untouched", "untouched.c")
    record("untouched.data", "-e", "cpu-clock:u", "--call-graph", "dwarf,65528", "--", "./untouched")
    notes = run(PERCH, "report", "-i", "untouched.data").stderr
    check("larger copies do not help" in notes and "copies of stacks are too short" not in notes,
          "stacks with pages that are not in memory have a note of their own", notes)


# A frame of which only the lowest page is in memory.
UNTOUCHED = """
static volatile unsigned long sink;
__attribute__((noinline)) void spin(char *start)
{
	for (unsigned long i = 0; i < 100000000; i++) sink += i;
	*start = 1;
}
__attribute__((noinline)) int frame(void) { volatile char buffer[50000]; spin((char *)buffer); return buffer[0]; }
int main(void) { return frame() - 1; }
"""


# A program whose register of the frame pointer has the address of something else, with one or two frames of no code.
FRAMES = """
static unsigned long outer[2] = { 0, 0x7654321 }, inner[2] = { (unsigned long)outer, 0x1234567 };
int main(int argc, char **argv)
{
	unsigned long n = 1000000000;
	(void)argv;
	__asm__ volatile("push %%rbp; mov %1, %%rbp; 1: dec %0; jnz 1b; pop %%rbp" : "+r"(n) : "r"(argc > 1 ? inner : outer));
	return (int)n;
}
"""


def check_frame_pointers():
    """Notes about chains by frame pointers that end or have wrong callers."""
    with open("frames.c", "w", encoding="ascii") as file:
        file.write(FRAMES)
    if os.uname().machine != "x86_64" or run("gcc", "-O1", "-mno-red-zone", "-o", "frames", "frames.c").returncode:
        print("skipped: frame pointers need gcc on x86-64")
        return
    for words, expected in ([], r"\d+ of \d+ call chains in user space have at most one caller"), (
            ["two"], r"about (?:9\d|100)% of the call chains in user space have a caller where no code is mapped"):
        run(PERCH, "record", "-q", "-e", "cpu-clock:u", "-g", "-o", "frames.data", "--", "./frames", *words)
        notes = run(PERCH, "report", "-i", "frames.data").stderr
        check(re.search(expected, notes), "a note about wrong frame pointers: " + expected, notes)


# ---- the kernel, modules and generated code ----

@peer.part
def compare_kernel(what, path, dso):
    """Compares the rows of the kernel's addresses."""
    theirs, ours = (collections.Counter(row for row in rows(run(program, "report", "-i", path, "--stdio", "-s", "dso,sym").stdout)
                                        if " [k] " in row) for program in (PERF, PERCH))
    check(theirs == ours and ours and all(row.startswith(dso + " ") for row in ours), what + ": %d rows as in perf" % len(ours),
          list((theirs - ours).items())[:5] + list((ours - theirs).items())[:5])


@peer.part
def check_kernels():
    done = run(PERF, "record", "-q", "-e", "cpu-clock:k", "-F", "4000", "-o", "-", "--", "ls", "-lR", "/usr/share", binary=True)
    with open("kernel.pipe", "wb") as file:
        file.write(done.stdout)
    if done.returncode or not rows(run(PERF, "report", "-i", "kernel.pipe", "--stdio").stdout):
        print("skipped: perf cannot record kernel addresses: " + done.stderr.strip())
        return
    build_id = struct.pack("=i", -1) + bytes(range(20)) + b"\x14\0\0\0" + b"/boot/vmlinux-9".ljust(64, b"\0")
    build_id = struct.pack("=IHH", BUILD_ID, KERNEL | 0x8000, 8 + len(build_id)) + build_id

    def of_unknown_kernel(kind, misc, content):
        if is_kernel_map(kind, misc, content):
            return b""
        # the name of another machine
        return content[:20] + bytes([content[20] ^ 1]) + content[21:] if is_feature(kind, content, HOSTNAME) else content

    def of_kernel_with_image(kind, misc, content):
        return build_id + content if is_kernel_map(kind, misc, content) else content

    def of_other_map(kind, misc, content):
        name = b"/boot/vmlinux-9".ljust(24, b"\0")  # as long as [kernel.kallsyms]_text
        return content[:40] + name + content[64:] if is_kernel_map(kind, misc, content) else content

    edit("kernel.pipe", "unknown.pipe", of_unknown_kernel)
    compare_kernel("a kernel without a map", "unknown.pipe", "[unknown]")
    edit("kernel.pipe", "image.pipe", of_kernel_with_image)
    compare_kernel("a kernel whose ELF file is named", "image.pipe", "[kernel.vmlinux]")
    edit("kernel.pipe", "module.pipe", of_other_map)
    compare_kernel("a kernel module without symbols", "module.pipe", "vmlinux-9")


@peer.part
def check_generated_code():
    with open("jit.c", "w") as file:
        file.write(JIT)
    if os.uname().machine != "x86_64" or run("gcc", "-o", "jit", "jit.c").returncode:
        print("skipped: generated code needs gcc on x86-64")
        return
    if not record("jit.data", "-e", "cpu-clock:u", "-g", "--", "./jit"):
        return
    theirs, ours = (sorted(row for row in rows(run(program, "report", "-i", "jit.data", "--stdio", "--no-children", "-g", "none",
                                                   "-s", "dso,sym").stdout) if "JIT" in row) for program in (PERF, PERCH))
    check(theirs == ours and len(ours) >= 2, "generated code without symbols: report as in perf", (theirs, ours))
    theirs, ours = (sorted(set(re.findall(r"^\t *[0-9a-f]+ \[unknown\] \(/tmp/perf-\d+\.map\)$",
                                          run(program, "script", "-i", "jit.data").stdout, re.M))) for program in (PERF, PERCH))
    check(theirs == ours and len(ours) >= 2, "generated code without symbols: script as in perf", (theirs, ours))
    note = run(PERCH, "report", "-i", "jit.data", "--stdio").stderr
    check(re.search(r"\d+ address(?:es)? of \[JIT\] tid \d+ ha(?:ve|s) no name \(/tmp/perf-\d+\.map: no such file\): .*--perf-basic-prof.* -XX:\+UnlockDiagnosticVMOptions -XX:\+DumpPerfMapAtExit, or while it runs 'jcmd \d+ Compiler\.perfmap'; erl \+JPperf true; php -d opcache\.jit_debug=48; mono --jitmap; qemu -perfmap",
                    note), "generated code without symbols: what would help", note)
    shutil.copy("jit", "beam.smp")
    if record("beam.data", "-e", "cpu-clock:u", "-g", "--", "./beam.smp"):
        note = run(PERCH, "report", "-i", "beam.data", "--stdio").stderr
        check(re.search(r"no name \(/tmp/perf-\d+\.map: no such file\): .*\(erl \+JPperf true\)", note) and "java" not in note,
              "... by the name of the program", note)
    # -k says when it was made
    if record("named.data", "-k", "mono", "-e", "cpu-clock:u", "-g", "--", "./jit", "named"):
        check_named_code()
    if os.geteuid() == 0:
        check_code_in_container()


@peer.part
def check_named_code():
    theirs, ours = (sorted(row for row in rows(run(program, "report", "-i", "named.data", "--stdio", "--no-children", "-g", "none",
                                                   "-s", "dso,sym").stdout) if "JIT" in row) for program in (PERF, PERCH))
    check(theirs == ours and len(ours) >= 2 and "LazyCompile:~private file.js:1:2" in str(ours),
          "generated code with a map file: report as in perf", (theirs, ours))
    theirs, ours = (re.findall(r"^\t *[0-9a-f]+ .* \(/tmp/perf-\d+\.map\)$", run(program, "script", "-i", "named.data").stdout, re.M)
                    for program in (PERF, PERCH))
    check(theirs == ours and "shared_code+0x" in str(ours), "generated code with a map file: script as in perf",
          (theirs[:5], ours[:5]))
    for pid in set(re.findall(r"/tmp/perf-(\d+)\.map", str(ours))):
        check_later_map("/tmp/perf-" + pid + ".map")


def check_later_map(path):
    """A map that was made after the recording is used below the directory of --symfs."""
    with open(path, encoding="utf-8") as file:
        names = file.read()
    os.unlink(path)
    time.sleep(2.5)     # a map that is made up to 2 seconds later is taken for that of the recording
    with open(path, "w", encoding="utf-8") as file:
        file.write(names)
    note = run(PERCH, "report", "-i", "named.data", "--stdio").stderr
    os.makedirs("copies/tmp", exist_ok=True)
    os.rename(path, "copies" + path)
    if "made after the recording" not in note:
        print("skipped: the file system of /tmp has no times of creation: " + note)
        return
    check(f"if it is that of this process, copy it to DIR{path} and report with --symfs DIR" in note, "a later map file: what would help", note)
    ours = run(PERCH, "report", "-i", "named.data", "--stdio", "--no-children", "-s", "dso,sym", "--symfs", "copies").stdout
    check("shared_code" in ours and "LazyCompile:~private" in ours, "a later map file below the directory of --symfs", ours)


# A process in namespaces of its own: its /tmp and its id differ from those outside.
@peer.part
def check_code_in_container():
    # the working directory stays reachable below the new /tmp
    command = ["unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", "mount -t tmpfs none /tmp && exec ./jit forever"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as container:
        try:
            time.sleep(0.5)
            pid = run("pgrep", "-P", str(container.pid)).stdout.strip()
            if not pid or container.poll() is not None:
                print("skipped: namespaces cannot be made here")
            elif record("container.data", "-e", "cpu-clock:u", "-p", pid, "--", "sleep", "1"):
                ours = run(PERCH, "report", "-i", "container.data", "--stdio", "-s", "dso,sym")
                check(re.search(r"\[JIT\] tid " + pid + r" .*(shared_code|LazyCompile:~private)", ours.stdout),
                      "generated code in other namespaces has names", ours.stdout + ours.stderr)
        finally:
            container.kill()
    for options, expected in (([], r": no such file\): .*; if it ran in another pid namespace \(container\), report while"),
                              (["--namespaces"], r": the process was in another pid namespace, .*\): report while the process runs, or rename")):
        if record("container.data", "-e", "cpu-clock:u", *options, "--", "unshare", "-p", "-f", "./jit"):
            note = run(PERCH, "report", "-i", "container.data", "--stdio").stderr
            check(re.search(r"no name \(/tmp/perf-\d+\.map" + expected, note), "generated code of a pid namespace: " + "".join(options), note)


# ---- tracepoints ----

@peer.part
def check_tracepoints():
    words = ("-e", "sched:sched_switch,kmem:kmalloc", "-R", "--", "ls", "-lR", "/etc")
    done = run(PERF, "record", "-q", "-o", "-", *words, binary=True)
    if done.returncode:
        print("skipped: perf cannot record tracepoints: " + done.stderr.strip())
        return
    with open("named.pipe", "wb") as file:
        file.write(done.stdout)
    edit("named.pipe", "unnamed.pipe", lambda kind, misc, content: b"" if is_feature(kind, content, EVENT_DESC) else content)
    text = run(PERCH, "script", "-i", "unnamed.pipe").stdout
    check("kmem:kmalloc:" in text and "tracepoint" not in text and text == run(PERCH, "script", "-i", "named.pipe").stdout,
          "tracepoints have the names of TRACING_DATA", text[:300])
    if os.path.exists(EXAMPLE) and record("trace.data", *words):
        compare_summary("trace.data")


@peer.part
def compare_summary(path):
    """Compares the counts and sums of the example with the text of perf script."""
    theirs = collections.defaultdict(lambda: [0, 0])
    for line in run(PERF, "script", "-i", path, "-F", "comm,event,trace").stdout.splitlines():
        comm, event, trace = re.match(r"\s*(.*?)\s+(\w+:\w+):\s*(.*)", line).groups()
        size = re.search(r"bytes_req=(\d+)", trace)
        theirs[comm, event][0] += 1
        theirs[comm, event][1] += int(size.group(1)) if size else 0
    done = run(EXAMPLE, path, "bytes_req")
    ours = {}
    for line in done.stdout.splitlines()[1:]:
        comm, event, count, total = re.match(r"(.{16}) (\S+) +(\d+) +\d+(?: +(\d+) +\d+)?$", line).groups()
        ours[comm.strip(), event] = [int(count), int(total or 0)]
    check(not done.returncode and ours and ours == dict(theirs), "comm-summary: counts and sums of a field as perf script prints them",
          (ours, dict(theirs), done.stderr))


def main():
    if not shutil.which(PERF):
        print("skipped: no %s to compare with (environment variable PERF)" % PERF)
        sys.exit(77)
    directory = tempfile.mkdtemp()
    os.chdir(directory)
    try:
        if not record("cpu.data", "-e", "cpu-clock", "--", "ls", "-lR", "/etc"):
            sys.exit(77)
        check_owner()
        check_time()
        check_cpu()
        check_full_disk()
        check_stacks()
        check_frame_pointers()
        check_kernels()
        check_generated_code()
        check_tracepoints()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
