# SPDX-License-Identifier: MIT
"""Runs the programs that perch is compared with.

These have faults of their own: perf 6.1 dies of memory errors at times, in any command, with its output cut anywhere. What such
a run printed says nothing about perch. So a program that died is run again, and when it dies each time, its test is skipped.
"""
import signal
import subprocess

TRIES = 3
# Signals of faults, and of a machine without memory. perf record and perf stat end by the other signals when they get them.
FAULTS = {signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV, signal.SIGSYS}


class Died(Exception):
    """A program died of a signal, however often it was run."""


def fault(status):
    """The signal of a fault that ended a program or the last program of a shell, by its exit status; 0 for any other end."""
    number = -status if status < 0 else status - 128
    return number if number in FAULTS else 0


def words(command, status):
    """Says in a word or three which program died of what."""
    return f"{' '.join(command[:2])} died of signal {fault(status)}"


def try_run(command, prepare=None, **options):
    """Runs a program as subprocess.run, again when it died; returns its last run. prepare() is called before each try, and
    returns further options, or None."""
    for _ in range(TRIES):
        run = subprocess.run(command, **options, **(prepare() or {} if prepare else {}))
        if not fault(run.returncode):
            break
    return run


def run(command, prepare=None, **options):
    """Runs a program as try_run, and raises Died when it died each time."""
    done = try_run(command, prepare, **options)
    if fault(done.returncode):
        raise Died(f"{words(command, done.returncode)} {TRIES} times")
    return done
