#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch export --format otlp: requests that keep the rules of OTLP profiles, with the stacks and sums of folded stacks. The reader is the
test's own; make test-fleet asks real receivers."""
import collections
import os
import subprocess
import sys
import tempfile

import otlp_format
from cases import check, report
import cases

PERCH = os.environ.get("PERCH", "perch")
PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void hot(void) { for (int i = 0; i < 20000; i++) sink += i; }
__attribute__((noinline)) void fault(void) { char *bytes = malloc(1 << 22); memset(bytes, 1, 1 << 22); sink += bytes[rand() % 4096]; free(bytes); }
int main(void)
{
	struct timespec now;

	do {
		for (int i = 0; i < 20; i++)
			hot();
		fault();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < 500);
	return 0;
}
"""
HZ = 199
PERIOD = 10 ** 9 // HZ


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def export(*options):
    done = run(PERCH, "export", *options)
    check(done.returncode == 0, "perch export " + " ".join(options), done.stderr)
    return done.stdout


def folded(event):
    """The sums of stacks, without the name of the thread."""
    sums = collections.Counter()
    for line in export("--format", "folded", "--event", event).decode().splitlines():
        names, _, count = line.rpartition(" ")
        sums[names.partition(";")[2]] += int(count)
    return sums


def sums_of(request, wanted):
    """The sums of stacks of the profiles with a type, times the period if they have that of CPU time."""
    sums = collections.Counter()
    for _, profile in otlp_format.profiles(request):
        if otlp_format.type_of(request, profile["sample_type"]) != wanted:
            continue
        factor = profile["period"] if otlp_format.type_of(request, profile.get("period_type")) == "cpu/nanoseconds" else 1
        for sample in profile["samples"]:
            sums[";".join(otlp_format.stack_of(request, sample))] += factor * (sum(sample["values"]) or len(sample["timestamps_unix_nano"]))
    return sums


def check_sums(request):
    report(otlp_format.faults(request), "the rules of OTLP profiles")
    check(sums_of(request, "samples/count") == folded("cpu-clock:u"), "the CPU time of folded stacks", sums_of(request, "samples/count"), folded("cpu-clock:u"))
    faults = folded("faults")
    check(sum(faults.values()) > 1000 and sums_of(request, "faults/count") == faults, "the page faults of folded stacks", faults)
    found = {(otlp_format.type_of(request, profile["sample_type"]), otlp_format.type_of(request, profile.get("period_type")), profile["period"])
             for _, profile in otlp_format.profiles(request)}
    check(found == {("samples/count", "cpu/nanoseconds", PERIOD), ("faults/count", "faults/count", 1)}, "the types of profiles", found)


def check_attributes(request):
    resources = [attributes for attributes, _ in otlp_format.profiles(request)]
    check(all(attributes.get("host.name") == os.uname().nodename for attributes in resources), "the name of the host", resources)
    samples = [otlp_format.attributes_of(request, sample["attribute_indices"]) for _, profile in otlp_format.profiles(request) for sample in profile["samples"]]
    check(all(sample["thread.name"] == "program" for sample in samples), "the name of the thread", samples[:3])
    mappings = {request["dictionary"]["string"][mapping["filename_strindex"]]: otlp_format.attributes_of(request, mapping["attribute_indices"])
                for mapping in request["dictionary"]["mapping"][1:]}
    path = os.path.join(os.getcwd(), "program")
    notes = run("readelf", "-n", "program").stdout.decode()
    check(mappings[path]["process.executable.build_id.gnu"] in notes, "the build id of the program", mappings, notes)


def check_times(request):
    report(otlp_format.faults(request), "the rules with --timestamps")
    script = run(PERCH, "script", "-F", "time,event").stdout.decode()
    for event, wanted in (("cpu-clock", "samples/count"), ("faults", "faults/count")):
        times = []
        for _, profile in otlp_format.profiles(request):
            if otlp_format.type_of(request, profile["sample_type"]) == wanted:
                for sample in profile["samples"]:
                    times += [time - profile["time_unix_nano"] for time in sample["timestamps_unix_nano"]]
                check(all(0 <= time < profile["duration_nano"] for time in times), wanted + ": times are within the profile")
        check(times and len(times) == script.count(event), wanted + ": as many times as perch script has samples", len(times), script.count(event))
    samples = [otlp_format.attributes_of(request, sample["attribute_indices"]) for _, profile in otlp_format.profiles(request) for sample in profile["samples"]]
    check(len({(sample["process.pid"], sample["thread.id"]) for sample in samples}) == 1, "--with-tid: the numbers of the process and the thread", samples[:3])


def check_usage():
    for words, message in ((("--format", "pprof", "--timestamps"), "--timestamps is for --format otlp, not for pprof"),
                           (("--format", "otlp", "--mark", "all"), "--mark is for --format folded, not for otlp")):
        done = run(PERCH, "export", *words)
        check(done.returncode == 2 and message in done.stderr.decode(), " ".join(words), done.stderr)


def main():
    with tempfile.TemporaryDirectory(prefix="perch-otlp-") as directory:
        os.chdir(directory)
        with open("program.c", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        if run("gcc", "-g", "-O1", "-fno-omit-frame-pointer", "program.c", "-o", "program").returncode:
            print("skipped: no gcc for the program to record")
            return 77
        done = run(PERCH, "record", "-N", "-g", "-F", str(HZ), "-e", "cpu-clock:u", "-e", "page-faults/period=1,name=faults/u", "./program")
        if done.returncode:
            print("skipped: perch cannot record here: " + done.stderr.decode().strip())
            return 77
        if b"no otlp format" in run(PERCH, "export", "--format", "otlp").stderr:
            print("skipped: perch is built without libprotobuf-c")
            return 77
        data = export("--format", "otlp")
        check(data == export("--format", "otlp"), "the same recording is the same request, with the same ids")
        check_sums(otlp_format.read(data))
        check_attributes(otlp_format.read(data))
        check_times(otlp_format.read(export("--format", "otlp", "--timestamps", "--with-tid")))
        report(otlp_format.faults(otlp_format.read(export("--format", "otlp", "--addresses"))), "the rules with --addresses")
        check_usage()
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
