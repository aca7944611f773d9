#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a recording loses when the recorder is killed, and with --durable when the machine fails.

The failure of a machine: the recording is on an ext4 file system in a file, which is copied while perch records. The copy is what a
disk has at a power cut, with the journal as it is. perf and perch read the recording in it.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import cases
from cases import check, limit
import peer

PERCH = os.environ.get("PERCH", "build/perch")
BUSY = ["sh", "-c", "while :; do :; done"]
TRIES = 5  # a busy machine may run nothing for a while


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def times(command, path):
    """The times of the samples in a file, in seconds."""
    done = peer.run([command, "script", "-F", "time", "--ns", "-i", path], capture_output=True, text=True, errors="replace",
                    timeout=limit(60))
    found = [float(found) for found in re.findall(r"^ *(\d+\.\d+):", done.stdout, re.M)]
    return [at for at in found if at], done   # 0: a sample whose end is zeros


def start(path, *options):
    recorder = subprocess.Popen([PERCH, "record", "-q", "-N", "-k", "monotonic", "-e", "cpu-clock:u", "-F", "200", "-o", path, *options,
                                 "--", *BUSY], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    end = now() + limit(20)
    while not os.path.exists(path) and now() < end and recorder.poll() is None:
        time.sleep(0.01)
    return recorder


def kill(recorder):
    os.killpg(recorder.pid, signal.SIGKILL)
    recorder.communicate()


def check_kill(work, seconds):
    """Samples that are older than 250 ms are in the file. The kernel counts a timer of 5 ms, so the last one is that much older."""
    path = os.path.join(work, "killed.data")
    lost = []
    for _ in range(TRIES):
        recorder = start(path)
        time.sleep(seconds)
        killed = now()
        kill(recorder)
        found, done = times(PERCH, path)
        lost.append(killed - found[-1] if found else None)
        if found and lost[-1] < 0.26:
            break
    check(found and lost[-1] < 0.26, f"killed after {seconds} s: at most 250 ms of samples are lost", f"lost: {lost}", done)
    if shutil.which("perf"):
        theirs, done = times("perf", path)
        check(len(theirs) == len(found), "killed: perf finds the same samples", done)


class Disk:
    """An ext4 file system in a file."""

    def __init__(self, work, name, source=None):
        self.image = os.path.join(work, name + ".img")
        self.at = os.path.join(work, name)
        self.mounted = False
        if source:
            subprocess.run(["cp", "--sparse=always", source, self.image], check=True)
        else:
            with open(self.image, "wb") as image:
                image.truncate(64 << 20)
            subprocess.run(["mkfs.ext4", "-q", "-F", self.image], check=True, capture_output=True)
        os.mkdir(self.at)

    def __enter__(self):
        done = subprocess.run(["mount", "-o", "loop", self.image, self.at], capture_output=True, text=True, check=False)
        self.mounted = done.returncode == 0
        self.why = done.stderr.strip()
        return self

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", self.at], check=False)
        os.rmdir(self.at)
        os.unlink(self.image)


def power_cut(work, disk, name, *options):
    """Returns how old the newest sample of the copy is, in seconds, or None; and its samples by perch and perf."""
    path = os.path.join(disk.at, name)
    recorder = start(path, *options)
    time.sleep(2.5)
    cut = now()
    with Disk(work, "copy", disk.image) as copy:
        kill(recorder)
        path = os.path.join(copy.at, name)
        if not copy.mounted or not os.path.exists(path) or not os.path.getsize(path):
            return None, [], copy.why
        found, done = times(PERCH, path)
        if found and shutil.which("perf"):
            theirs, read = times("perf", path)
            # a file that ends in zeros, as the disk had its size before its data: there perf fails before it prints the last round
            zeros = "failed to process type: 0" in read.stderr
            check(theirs == (found[:len(theirs)] if zeros else found), "power cut: perf finds the same samples", f"{len(theirs)} of {len(found)}",
                  str([pair for pair in zip(theirs, found) if pair[0] != pair[1]][:3]), read.stderr)
    return cut - found[-1] if found else None, found, done


def check_power_cut(work):
    """Without the option, the kernel has not written the samples after 2.5 seconds: else the test would show nothing."""
    tools = [tool for tool in ("mkfs.ext4", "mount") if not shutil.which(tool)]
    if tools or os.geteuid():
        print(f"ok - power cut # skip {'needs root' if os.geteuid() else tools[0] + ' is not installed'}")
        return
    with Disk(work, "disk") as disk:
        if not disk.mounted:
            print(f"ok - power cut # skip {disk.why}")
            return
        for n in range(TRIES):  # another program may write all file systems to their disks
            _, plain, _ = power_cut(work, disk, f"plain{n}.data")
            if not plain:
                break
        check(not plain, "power cut: without --durable the samples are lost", f"{len(plain)} samples")
        ages = []
        for n in range(TRIES):
            age, found, done = power_cut(work, disk, f"durable{n}.data", "--durable")
            ages.append(age)
            if age is not None and age < 1:
                break
        check(age is not None and age < 1, "power cut: --durable loses at most a second", f"ages: {ages}", done)


def traced(work, *options):
    """The calls that write the files of a short recording to the disk and name them, in their order. strace divides calls during which
    another thread makes one."""
    log = os.path.join(work, "calls")
    done = subprocess.run(["strace", "-f", "-y", "-o", log, "-e", "trace=fsync,fdatasync,rename,renameat,renameat2", PERCH, "record", "-N", "-e",
                           "cpu-clock:u", "-o", os.path.join(work, "traced.data"), *options, "--", "sleep", "0.3"],
                          capture_output=True, text=True, timeout=limit(60), check=False)
    with open(log, encoding="utf-8") as file:
        calls = re.findall(r"^\d+ +(fsync|fdatasync|rename\w*)\((.*?)(?:\) += (?:0|\?)| <unfinished)", file.read(), re.M)
    return calls, done


def check_order(work):
    """Before a file of --switch-output gets its name, it is written to the disk, and then the directory."""
    if not shutil.which("strace"):
        print("ok - order # skip strace is not installed")
        return
    calls, done = traced(work, "--durable", "--switch-output")
    if done.returncode:
        print(f"ok - order # skip strace: {done.stderr.strip()[-200:]}")
        return
    names = [name for name, _ in calls]
    renamed = max((i for i, (name, arguments) in enumerate(calls) if name.startswith("rename") and "traced.data.2" in arguments),
                  default=-1)
    check(renamed > 0 and calls[renamed - 1][0] == "fsync" and "traced.data>" in calls[renamed - 1][1],
          "the file is on the disk before it gets its name", calls)
    check(names[renamed + 1:] == ["fsync"] and "traced.data" not in calls[-1][1], "and then the directory", calls)
    calls, _ = traced(work)
    check(not [name for name, _ in calls if "sync" in name], "without --durable nothing waits for the disk", calls)


def main():
    with tempfile.TemporaryDirectory() as work:
        probe = subprocess.run([PERCH, "record", "-q", "-N", "-e", "cpu-clock:u", "-o", os.path.join(work, "probe"), "--", "true"],
                               capture_output=True, text=True, check=False)
        if probe.returncode:
            print(f"skipped: cannot record here: {probe.stderr.strip()}")
            return 77
        for seconds in (0.3, 1.5):
            cases.try_part(check_kill, work, seconds)
        cases.try_part(check_order, work)
        cases.try_part(check_power_cut, work)
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
