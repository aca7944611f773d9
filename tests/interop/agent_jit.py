#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch agent and programs with a JIT compiler, which write jitdumps: their functions have names and lines after they have ended and
their files are gone, and no file of them stays open that no sample needs."""
import http.client
import os
import subprocess
import sys
import tempfile
import threading
import time

import cases
from agent_server import Agent, all_cpus, now, skip, wait_for_samples
from cases import check, limit

PROGRAM = os.path.join(os.environ.get("PERCH_BUILD_ROOT", "build"), "tests/interop/jit_program")
FUNCTIONS = ("jit_first", "jit_second", "jit_moves")


def open_dumps(agent, work):
    """Those in the directory: other programs of this machine have some, too."""
    return [path for path in agent.open_files() if path.startswith(work + "/jit-")]


def run_program(work):
    """Returns whether it ran; its dump is removed."""
    status = subprocess.run([PROGRAM, "dump", work], stdout=subprocess.PIPE, check=False, timeout=limit(30)).returncode
    for name in os.listdir(work):
        os.unlink(os.path.join(work, name))
    return status == 0


def pull_all_the_time(agent):
    """Until it ends."""
    while agent.process.poll() is None:
        try:
            agent.get("/debug/pprof/profile?past=1")
        except (OSError, http.client.HTTPException):
            return


def check_names(agent, nr):
    """Samples are moved into the window a little later. Returns the number of samples in the functions."""
    end = now() + limit(20)
    while True:
        profile = agent.profile("past=300")
        found = {name: profile.total(name) for name in FUNCTIONS}
        if all(found.values()) or now() > end:
            break
        time.sleep(0.5)
    check(all(found.values()), f"functions of {nr} programs have names", str(found))
    # a program that writes no jitdump may run beside it
    files = {(name, file, line) for name, file, line in profile.lines if name in FUNCTIONS and file}
    first = {"jit_first": 10, "jit_second": 20, "jit_moves": 30}
    check({name for name, _, _ in files} == set(FUNCTIONS) and
          all(os.path.basename(file) == "jit-source.txt" and first[name] <= line < first[name] + 3 for name, file, line in files),
          "and lines of their own", str(files))
    return sum(found.values())


def check_functions(work):
    """Returns whether the program has code for this architecture."""
    agent = Agent("--freq", "199")
    try:
        wait_for_samples(agent, 1)
        if not run_program(work):
            skip("perch agent and JIT compilers", "the program has no code for this architecture")
            return False
        check_names(agent, 1)
        for _ in range(3):
            run_program(work)
        before = check_names(agent, 4)
        held = open_dumps(agent, work)
        check(before and 0 < len(held) <= 4, "their files are open as long as samples need them", str(held))
    finally:
        check(agent.end()[0] == 0, "SIGTERM ends it")
    return True


def check_closed(work):
    """A window of some seconds: nothing needs the files after it."""
    agent = Agent("--freq", "199", "--history", "10s")
    try:
        wait_for_samples(agent, 1)
        run_program(work)
        # each of them ends a slice; what is to be done each second is done nevertheless
        for _ in range(3):
            threading.Thread(target=pull_all_the_time, args=(agent,), daemon=True).start()
        end = now() + limit(40)
        seen, held = 0, open_dumps(agent, work)
        while now() < end and not (seen and not held):
            time.sleep(0.2)
            held = open_dumps(agent, work)
            seen = max(seen, len(held))
        check(seen and not held, "without samples the file is closed, though profiles are made all the time", str([seen, held]))
    finally:
        check(agent.end()[0] == 0, "SIGTERM ends it")


def main():
    reason = all_cpus()
    if reason:
        skip("perch agent and JIT compilers", reason)
        return
    with tempfile.TemporaryDirectory() as work:
        if check_functions(work):
            check_closed(work)


main()
sys.exit(cases.failed)
