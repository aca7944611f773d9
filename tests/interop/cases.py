# SPDX-License-Identifier: MIT
"""The cases of a test program: each is printed in a line, and the program fails if one has failed. limit() adapts the times that a
test waits to the host."""
import functools
import os
import subprocess

failed = False


@functools.lru_cache(maxsize=None)
def slowness():
    """How many times slower than the machine for which limits were chosen the host is, at least 1."""
    number = os.environ.get("PERCH_HOST_SLOWNESS")
    host = os.path.join(os.environ.get("PERCH_BUILD_ROOT", "build"), "tests/host")
    if not number and os.path.exists(host):
        number = subprocess.run([host, "slowness"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return max(1.0, float(number or 1))


def limit(seconds):
    """The seconds that a test may wait here for what takes less than these seconds elsewhere, on a busy machine too."""
    return seconds * slowness()


@functools.lru_cache(maxsize=None)
def why_no_breakpoints():
    """Why breakpoints do not fire here, or ""."""
    host = os.path.join(os.environ.get("PERCH_BUILD_ROOT", "build"), "tests/host")
    return subprocess.run([host, "breakpoints"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


part = None     # the cases of a part that may be tried again: (good, text)


def text_of(detail):
    """The text of a detail: a text, bytes, a finished program, or several of them."""
    if isinstance(detail, subprocess.CompletedProcess):
        return text_of([f"exit status {detail.returncode}", detail.stdout or "", detail.stderr or ""])
    if isinstance(detail, (list, tuple)):
        return "\n".join(map(text_of, detail))
    return detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)


def check(good, what, *details):
    """A case. The details are shown if it failed."""
    text = ("ok - " if good else "not ok - ") + what
    if not good and details:
        text += "\n    " + text_of(details).strip().replace("\n", "\n    ")[:3000]
    if part is None:
        show([(good, text)])
    else:
        part.append((good, text))


def report(problems, what):
    """A case that failed if there are problems: the lines of a list."""
    check(not problems, what, *problems[:20])


def show(found):
    global failed
    for good, text in found:
        failed |= not good
        print(text, flush=True)


def try_part(function, *arguments):
    """Runs a part of a test, and prints its cases if it does not raise an exception."""
    global part
    part = []
    try:
        function(*arguments)
        found = part
    finally:
        part = None
    show(found)
