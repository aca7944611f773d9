# SPDX-License-Identifier: MIT
"""Runs the programs that perch is compared with.

These have faults of their own: perf 6.1 dies of memory errors at times, in any command, with its output cut anywhere. What
it printed then says nothing about perch. So a program that died is run again, and if it dies each time, its part of a test is skipped.
peer.sh does this for shell scripts.
"""
import functools
import os
import re
import signal
import stat
import subprocess

TRIES = 3
# Signals of faults. perf record and perf stat end by the other signals when they or their programs get them.
FAULTS = {signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV, signal.SIGSYS}


class Died(Exception):
    """A program died of a fault, each time that it was run."""


def fault(status):
    """The signal of a fault that ended a program or the last program of a shell, by its exit status; 0 for any other end."""
    number = -status if status < 0 else status - 128
    return number if number in FAULTS else 0


def describe(command, status):
    """Says which program died of what."""
    return f"{' '.join([os.path.basename(command[0]), *command[1:2]])} died of signal {fault(status)}"


def is_ours(command):
    """Whether this project builds the program: that must not die."""
    build = os.environ.get("PERCH_BUILD_ROOT")
    path = os.path.realpath(command[0])
    return command[0] == os.environ.get("PERCH", "perch") or bool(build) and path.startswith(os.path.realpath(build) + os.sep)


def try_run(command, check=False, **options):
    """Runs a program like subprocess.run, again when it died; returns the last run."""
    out = options.get("stdout")
    is_file = hasattr(out, "fileno") and stat.S_ISREG(os.fstat(out.fileno()).st_mode)
    start = os.lseek(out.fileno(), 0, os.SEEK_CUR) if is_file else None
    for _ in range(1 if is_ours(command) else TRIES):
        if start is not None:
            os.ftruncate(out.fileno(), start)
            os.lseek(out.fileno(), start, os.SEEK_SET)
        done = subprocess.run(command, check=False, **options)
        if not fault(done.returncode):
            break
    if check and (is_ours(command) or not fault(done.returncode)):
        done.check_returncode()
    return done


def run(command, **options):
    """Runs a program like try_run, and raises Died when it died each time. A program of this project may die here: its caller sees it."""
    done = try_run(command, **options)
    if fault(done.returncode) and not is_ours(command):
        raise Died(f"{describe(command, done.returncode)} {TRIES} times")
    return done


def captured(*command, **options):
    """Runs a program like run(); what it printed is text."""
    return run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", **options)


def result(*command, **options):
    """Returns the exit status of a program, and what it printed to stdout and stderr."""
    done = captured(*command, **options)
    return done.returncode, done.stdout, done.stderr


def output(*command, **options):
    """Returns what a program printed to stdout. It must succeed."""
    return run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", errors="replace", **options).stdout


def part(function):
    """Makes a function a part of a test: it is skipped if a program in it died each time. It returns None then."""
    @functools.wraps(function)
    def call(*arguments, **options):
        try:
            return function(*arguments, **options)
        except Died as why:
            words = [word for group in arguments for word in (group if isinstance(group, (list, tuple)) else [group])]
            name = " ".join([function.__name__.replace("_", " "), *(word for word in words if isinstance(word, str))])
            print(f"ok - {name} # skip {why}", flush=True)
            return None
    return call


def plain_start(text):
    """
    Removes a known difference: perf names the function at a return address, perch that of the call (perch-report(1)). _start of the
    dynamic loader ends with a call, and _dl_start_user follows.
    """
    return re.sub(r"\b(?:_dl_start_user|_start)(?:\+0x[0-9a-f]+)?(?![\w.])", "_start", text)


def version(program):
    """The version of a perf, as (6, 1); (0, 0) if it does not run or says none."""
    try:
        found = re.search(r"version (\d+)\.(\d+)", try_run([program, "--version"], capture_output=True, text=True).stdout)
    except OSError:
        found = None
    return (int(found[1]), int(found[2])) if found else (0, 0)
