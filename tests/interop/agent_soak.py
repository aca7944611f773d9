#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch agent for long: its memory stays flat, no record is lost, and each window arrives once.

SOAK_SECONDS is how long it takes (20; make test-long: an hour). Meanwhile a client pulls a profile each ten seconds, a server takes
windows, and programs start, each of a file of its own, run shortly and end.
"""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import cases
from agent_receiver import Receiver, ids_of, samples_of, wait_until
from agent_server import HZ, Agent, all_cpus, build_program, now, skip
from cases import check

SECONDS = float(os.environ.get("SOAK_SECONDS", "20"))
PULL_SECONDS = min(10, SECONDS / 5)
MOST_GROWTH = 8 << 10    # kB, from the second quarter of the time to the last one: samples of a machine that has become busier
MOST_SLOPE = 4 << 10     # kB an hour of names, of the line through all after the first quarter of 40 minutes or more: processes that run have names, too
MOST_MEMORY = 64 << 10   # kB


def memory_of(pid, what):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(re.search(rf"^{what}:\s+(\d+) kB", file.read(), re.M)[1])


def slope_of(points):
    """The slope of the line of least squares through (seconds, kB), in kB an hour."""
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points))
    square = sum((x - mean_x) ** 2 for x, _ in points)
    return 3600 * sum((x - mean_x) * (y - mean_y) for x, y in points) / square if square else 0


class Load:
    """A program that runs all the time, and others that run shortly, each with a path and contents of its own."""

    def __init__(self, program, work):
        self.program, self.work, self.ends, self.started = program, work, threading.Event(), 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        with subprocess.Popen([self.program]) as steady:
            try:
                while not self.ends.wait(0.5):
                    self.run_shortly(os.path.join(self.work, f"short-{self.started % 100}"))
            finally:
                steady.kill()

    def run_shortly(self, path):
        if os.path.exists(path):
            os.unlink(path)
        shutil.copy(self.program, path)
        with open(path, "ab") as file:
            file.write(str(self.started).encode())
        self.started += 1
        subprocess.run(["timeout", "0.1", path], check=False)

    def stop(self):
        self.ends.set()
        self.thread.join()


def observe(agent):
    """(seconds, kB, kB of names) of the agent's memory, while a client pulls profiles. None: a profile failed."""
    points, start = [], now()
    next_pull, next_point = start, start
    while now() - start < SECONDS:
        if now() >= next_point:
            points.append((now() - start, memory_of(agent.process.pid, "VmRSS"), int(agent.metric("perch_names_bytes")) >> 10))
            next_point += SECONDS / 60
        if now() >= next_pull:
            next_pull += PULL_SECONDS
            if agent.get(f"/debug/pprof/profile?past={max(1, int(PULL_SECONDS))}")[0] != 200:
                return None
        time.sleep(0.1)
    return points


def check_memory(agent, points):
    peak, quarter = memory_of(agent.process.pid, "VmHWM"), len(points) // 4
    before, after = (max(kb for _, kb, _ in part) for part in (points[quarter:2 * quarter], points[-quarter:]))
    late = [point for point in points if point[0] >= SECONDS / 4]
    names = [(seconds, kb) for seconds, _, kb in late]
    check(peak < MOST_MEMORY, f"at most {peak} kB in {SECONDS:.0f} s")
    slope = slope_of(names)
    check(after - before <= MOST_GROWTH, f"memory: {before} kB in the second quarter of the time, {after} kB in the last one; "
          f"slope after the first quarter {slope_of([(seconds, kb) for seconds, kb, _ in late]):.0f} kB an hour", points)
    check(SECONDS < 2400 or slope <= MOST_SLOPE, f"memory without samples: slope after the first quarter {slope:.0f} kB an hour", names)
    print("# kB, of which names: " + " ".join(f"{kb}/{name}" for _, kb, name in points), flush=True)


def main():
    reason = all_cpus()
    if reason:
        skip("perch agent for long", reason)
        return
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as ends:     # whatever raises, nothing runs on
        program = build_program(work)
        if not program:
            skip("perch agent for long", "no compiler")
            return
        receiver = Receiver()
        ends.callback(receiver.stop)
        agent = Agent("--freq", str(HZ), "--push", f"http://127.0.0.1:{receiver.port}", "--push-interval", "15s" if SECONDS > 100 else "1s")
        ends.callback(agent.process.kill)
        load = Load(program, work)
        ends.callback(load.stop)
        points = observe(agent)
        load.stop()
        check(points, "profiles are made all the time")
        if points:
            check_memory(agent, points)
        cpu, seconds = agent.metric("perch_agent_cpu_seconds_total"), agent.metric("perch_uptime_seconds")
        print(f"# {cpu:.1f} s of CPU time in {seconds:.0f} s, with {agent.metric('perch_profiles_total'):.0f} profiles; {load.started} short programs;"
              f" {agent.metric('perch_recording_starts_total'):.0f} starts of the recording", flush=True)
        check(not agent.metric("perch_lost_records_total"), "no record is lost")
        check(not agent.metric("perch_push_dropped_windows_total") and not agent.metric("perch_failed_profiles_total"), "no window is lost")
        sampled = agent.metric("perch_samples_total")
        wait_until(lambda: samples_of(receiver.taken()) >= sampled, "all samples arrive")
        status, errors = agent.end()
        receiver.stop()
        # on a busy machine the last window takes longer than the agent waits for it
        check(status == 0 and not [line for line in errors.splitlines() if "cannot make a window" not in line], "SIGTERM ends it", errors)
        ids = ids_of(receiver.taken())
        check(len(ids) == len(set(ids)), f"{len(ids)} windows came, none twice")


main()
sys.exit(cases.failed)
