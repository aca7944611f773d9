# SPDX-License-Identifier: MIT
"""Runs perch and perf alternately and compares their costs, as wait4(2) reports them."""
import os
import shutil
import statistics
import subprocess
import sys
import time


# Set by the tests: tiny sizes, whose figures mean nothing (see smoke).
SMOKE = bool(os.environ.get("BENCH_SMOKE"))


class Cost:
    """Medians of several runs: wall and CPU seconds, peak memory in KiB."""

    def __init__(self, runs):
        self.wall, self.cpu, self.peak = (statistics.median(column) for column in zip(*runs))


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def commands():
    """Returns the paths of perch and perf. argv[1] is the build directory with perch."""
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    perch = os.path.realpath(os.path.join(build, "perch"))
    perf = shutil.which("perf")
    if not os.access(perch, os.X_OK):
        sys.exit(f"{perch} does not exist: run 'make build' first")
    if not perf:
        skip("there is no perf to compare with")
    return perch, perf


def peer(name):
    """Builds a program of another project: (path, None), or (None, why there is none)."""
    build = os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else "build")
    install = os.path.join(os.path.dirname(os.path.realpath(__file__)), "peers", "install")
    done = subprocess.run([install, build, name], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return None, done.stdout.strip()
    return os.path.join(build, "peers", "bin", name), None


def newer_perf():
    """Returns (name, path) of the perf that NEWER_PERF names, or None."""
    perf = os.environ.get("NEWER_PERF")
    if not perf:
        return None
    version = subprocess.run([perf, "--version"], check=True, stdout=subprocess.PIPE, text=True)
    return " ".join(version.stdout.split()[::2]), perf


def end_by(command, status):
    """Ends the benchmark, because a command failed. smoke looks for the words "died of signal"."""
    command = " ".join([os.path.basename(command[0]), *command[1:]])
    if status < 0:
        sys.exit(f"{command}: died of signal {-status}")
    sys.exit(f"{command}: exit status {status}")


def run(command, tries=3):
    """Runs the command without its output. Returns (wall, CPU, peak). Tries again if it dies of a
    signal, as perf does at times. perch must not."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode < 0 and tries > 1 and os.path.basename(command[0]) != "perch":
        return run(command, tries - 1)
    if child.returncode:
        end_by(command, child.returncode)
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def dies(command):
    """Whether the command dies of a signal each time. perf 7.2 does on some recordings."""
    return all(subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode < 0
               for _ in range(3))


def alternate(commands, rounds):
    """Runs A B A B, after one run of each that fills the caches."""
    return [Cost(runs) for runs in measure_alternately(run, commands, rounds)]


def measure_alternately(measure, commands, rounds):
    """Calls measure() for each command in each round. Returns the results of each command."""
    results = [[] for _ in commands]
    for turn in range((1 if SMOKE else rounds) + 1):
        for command, values in zip(commands, results):
            value = measure(command)
            if turn:
                values.append(value)
    return results


def describe_ratio(ratio, target):
    return f"{ratio:.3f} (target <= {target:g}{'' if ratio <= target else ', MISSED'})"


def print_comparison(title, name, perch, perf, wall_target, peak_target=None):
    line = f"{title}: perch/{name} wall {describe_ratio(perch.wall / perf.wall, wall_target)}"
    line += f", CPU {perch.cpu / perf.cpu:.3f}" if perf.cpu else ""
    if peak_target:
        line += f", peak memory {describe_ratio(perch.peak / perf.peak, peak_target)}"
    print(line, flush=True)


def compare_command(title, perch, perf, arguments, rounds, *targets):
    """Compares perch with perf, and with NEWER_PERF in the same rounds. Returns the first cost."""
    peers = [("perf", perf)]
    newer = newer_perf()
    if newer and dies([newer[1], *arguments]):
        print(f"{title}: {newer[0]} dies of a signal, and is left out", flush=True)
    elif newer:
        peers.append(newer)
    programs = [perch] + [path for _, path in peers]
    cost, *others = alternate([[program, *arguments] for program in programs], rounds)
    for (name, _), other in zip(peers, others):
        print_comparison(title, name, cost, other, *targets)
    return cost
