#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perf and perch print the same reports, counts and scripts of a file, whether perf or perch recorded it.

PERF names the perf to compare with (perf). KEEP=DIR keeps the files there.
"""
import os
import re
import shutil
import sys
import tempfile

import peer
import cases
from cases import check
from peer import captured

PERF = os.environ.get("PERF", "perf")
PERCH = os.environ.get("PERCH", "perch")
TOLERANCE = 0.1     # percentage points
FLOOR = 0.1         # percent: smaller shares are not compared
PERF_FRAMES = 127   # the deepest stack that perf looks at

LINE = re.compile(r"^ +(\d+\.\d+)%(?: +(\d+\.\d+)%)?  (\S.*)$")
FRAME = re.compile(r"^\t *([0-9a-f]+) (.*) \((.*)\)$")


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def output(*words):
    done = captured(*words)
    if done.returncode:
        sys.exit("%s: exit status %d\n%s" % (" ".join(words), done.returncode, done.stderr))
    return done.stdout


def write_source(path):
    """Writes a C file that gcc compiles for a second or two, in many passes."""
    with open(path, "w") as out:
        out.write("extern int data[];\n")
        for i in range(400):
            out.write("""int f%d(int a, int b)
{
	int sum = %d;
	for (int i = 0; i < a; i++) {
		if (data[i] %% %d == b)
			sum += data[i + %d] * b;
		else
			sum ^= data[sum & 255] + f%d(i, a - b);
		switch (data[i] & 7) { case 1: sum++; break; case 3: sum -= b; break; case 6: return sum; }
	}
	return sum;
}
""" % (i, i, i + 2, i, max(i - 1, 0)))


def plain_name(symbol):
    """A symbol without arguments and results, which only some versions of perf print for C++ functions."""
    symbol = re.sub(r"(\(| \[clone ).*", "", symbol.replace("(anonymous namespace)", "{anonymous}"))
    shorter = symbol
    while shorter != (symbol := re.sub(r"<[^<>]*>", "", shorter)):
        shorter = symbol
    # perf does not name all entries of a PLT
    return re.sub(r".*@plt$", "@plt", symbol.split(" ")[-1])


def plain_line(line):
    """A line without the cpumode of callers, in which versions of perf differ."""
    line = re.sub(r"\s+", " ", line).strip()
    before, cpumode, symbol = re.match(r"(.*?)( \[[.kguH]\] |$)(.*)", line).groups()
    return before + " " + peer.plain_start(plain_name(symbol)) if cpumode else before


def plain_frame(line, with_address):
    match = FRAME.match(line)
    if not match:
        return line
    symbol, offset = re.match(r"(.*?)(\+0x[0-9a-f]+)?$", match[2]).groups()
    address = match[1] if with_address or match[3] == "[unknown]" else "-"
    return peer.plain_start("%s %s%s (%s)" % (address, plain_name(symbol), offset or "", match[3]))


def shares(text):
    """(command, binary, symbol) -> [percent, ...]."""
    found = {}
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            name = plain_line(match[3])
            percents = [float(part) for part in match.groups()[:2] if part]
            found[name] = [sum(pair) for pair in zip(percents, found.get(name, [0.0, 0.0]))]
    return found


@peer.part
def compare_shares(recorder, data, options):
    perf = shares(output(PERF, "report", "-i", data, "--stdio", "--no-inline", "--percent-limit", "0", *options))
    perch = shares(output(PERCH, "report", "-i", data, "--stdio", "--no-inline", *options))
    # with --children perf prints callers without a symbol as virtual addresses, other frames as file offsets
    if "--children" in options:
        perf, perch = ({name: share for name, share in found.items() if not re.search(r" (0x)?[0-9a-f]{16}$", name)}
                       for found in (perf, perch))
    compared, worst, worst_name = 0, 0.0, ""
    for name in set(perf) | set(perch):
        theirs = perf.get(name, [0.0, 0.0])
        ours = perch.get(name, [0.0] * len(theirs))
        if max(theirs[0], ours[0]) < FLOOR:
            continue
        compared += 1
        for left, right in zip(theirs, ours):
            if abs(left - right) > worst:
                worst, worst_name = abs(left - right), name
    same = compared >= (1 if "-s" in options else 10) and worst < TOLERANCE
    check(same, "%s: %s: %d symbols above %g %%, at most %.2f points apart%s" %
         (recorder, " ".join(options), compared, FLOOR, worst, "" if same else " (%s)" % worst_name))


def counts(text):
    """The number of records of each type in the whole file."""
    text = text.split(" stats:", 1)[-1]
    text = re.split(r"^\S.* stats:$", text, flags=re.M)[0]
    return dict(re.findall(r"^ *(\w+) events: +(\d+)", text, flags=re.M))


@peer.part
def compare_counts(recorder, data):
    perf = counts(output(PERF, "report", "-i", data, "--stats"))
    perch = counts(output(PERCH, "report", "-i", data, "--stats"))
    same = perf == perch and int(perf.get("SAMPLE", 0)) > 100
    check(same, "%s: --stats: %s records" % (recorder, perch.get("TOTAL")))
    if not same:
        print("perf: %s\nperch: %s" % (perf, perch))


def has_absolute_addresses(text):
    """Whether perf prints virtual addresses of frames; old versions print file offsets, as perch does."""
    return re.search(r"^\t *7[0-9a-f]{11} .* \(/", text, flags=re.M) is not None


def samples(text, with_address):
    """The script as a list of (head line, frame lines)."""
    found = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line]
        if lines:
            found.append((re.sub(" +", " ", lines[0].strip()), [plain_frame(line, with_address) for line in lines[1:]]))
    return found


class Differences:
    """How the samples of two scripts differ, by reason."""
    def __init__(self):
        self.deep = self.broken = self.replaced = self.frames = 0
        self.other = []

    def add(self, theirs, ours):
        if theirs[0] != ours[0]:
            self.other.append((theirs[0], ours[0]))
            return
        left, right = theirs[1], ours[1]
        self.frames += len(right)
        # code without frame pointers: a wrong caller that equals a context marker, for which perf drops the whole chain
        if right and not left:
            self.broken += 1
            return
        # perf leaves out deeper frames, and counts the context markers too
        if len(right) > len(left) and len(left) >= PERF_FRAMES - 3:
            self.deep += 1
            right = right[:len(left)]
        if left == right:
            return
        # perf resolves addresses that the new program has not mapped by the mappings from before exec. That is right for
        # samples in exec itself, and wrong for wrong callers in code without frame pointers. perch removes those mappings.
        replaced = len(left) == len(right)
        for perf_line, perch_line in zip(left, right):
            if perf_line != perch_line and "[unknown] ([unknown])" not in perch_line:
                replaced = False
        if replaced:
            self.replaced += 1
            return
        # perf has no names of stubs in .plt.got
        unlike = [(a, b) for a, b in zip(left, right) if a != b and a != re.sub(r"@plt\S*", "[unknown]", b)]
        if unlike or len(left) != len(right):
            self.other += unlike or [(len(left), len(right))]


@peer.part
def compare_scripts(recorder, data):
    text = output(PERF, "script", "-i", data, "--no-inline")
    with_address = not has_absolute_addresses(text)
    perf = samples(text, with_address)
    perch = samples(output(PERCH, "script", "-i", data, "--no-inline"), with_address)
    found = Differences()
    for theirs, ours in zip(perf, perch):
        found.add(theirs, ours)
    same = len(perf) == len(perch) and not found.other and found.replaced + found.broken < len(perf) / 50 + 3
    check(same, "%s: script: %d samples, %d frames; %d deeper than perf goes, %d with addresses from before exec, "
         "%d with broken chains" % (recorder, len(perch), found.frames, found.deep, found.replaced, found.broken))
    if not same:
        print("samples: perf %d, perch %d; %d lines differ" % (len(perf), len(perch), len(found.other)))
        for theirs, ours in found.other[:10]:
            print("  perf:  %s\n  perch: %s" % (theirs, ours))


@peer.part
def record(*words):
    return captured(*words)


def main():
    if not shutil.which(PERF):
        skip("no %s to compare with (environment variable PERF)" % PERF)
    if not shutil.which("gcc"):
        skip("no gcc to record")
    directory = os.environ.get("KEEP") or tempfile.mkdtemp()
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    try:
        write_source("work.c")
        for recorder, words in (("perf", (PERF, "record", "-q", "-e", "cpu-clock", "-F", "2000", "-g")),
                           ("perch", (PERCH, "record", "-q", "-e", "cpu-clock", "-F", "2000", "-g"))):
            data = recorder + ".data"
            done = record(*words, "-o", data, "--", "gcc", "-O2", "-c", "work.c", "-o", "work.o")
            if not done:
                continue
            if done.returncode:
                skip("%s cannot record here: %s" % (recorder, done.stderr.strip()))
            compare_shares(recorder, data, ("--no-children", "-g", "none"))
            compare_shares(recorder, data, ("--children", "-g", "none"))
            compare_shares(recorder, data, ("--no-children", "-g", "none", "-s", "dso"))
            compare_shares(recorder, data, ("--no-children", "-g", "none", "-s", "comm"))
            compare_counts(recorder, data)
            compare_scripts(recorder, data)
        for words, notes in ((), 1), (("--sample-cpu",), 0):
            captured(PERCH, "record", "-q", "-e", "cpu-clock", *words, "-o", "cpu.data", "--", "ls", "-lR", "/etc")
            done = captured(PERCH, "report", "-s", "cpu", "-i", "cpu.data")
            check(done.stderr.count("the samples of cpu-clock have no CPU") == notes == done.stdout.count(" -001"),
                  "report -s cpu after record " + " ".join(words))
        # samples without a period have that of the attr
        done = record(PERF, "record", "-q", "-e", "page-faults", "-c", "3", "-g", "-o", "fixed.data", "--", "ls", "/")
        if done and not done.returncode:
            compare_scripts("perf -c", "fixed.data")
    finally:
        if not os.environ.get("KEEP"):
            shutil.rmtree(directory, ignore_errors=True)
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
