#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `perch dump` with damaged files: it ends, reports the damage, and prints no control characters of the file."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import cases
from cases import limit, report

PERCH = os.environ.get("PERCH", "perch")
BUILDER = os.path.join(os.environ.get("PERCH_BUILD_ROOT", "build"), "tests", "interop", "dump_built")
CHANGED_FILES = int(os.environ.get("DUMP_DAMAGE_FILES", "120"))
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
CONTROL_SEQUENCES = [b"\x1b]0;owned\x07", b"\x1b[2J", b"\xff\xfe", b"\xc2\x9b31m", b"\xe2\x80\xae", b"\"},{", b"\n0x0 SAMPLE", b"\0"]


def run(path, *options):
    return subprocess.run([PERCH, "dump", "-i", path, *options], capture_output=True, stdin=subprocess.DEVNULL, timeout=limit(300))


def parse_strictly(line):
    """Checks that the text is valid JSON without duplicate names."""
    def names(found):
        if len(dict(found)) != len(found):
            raise ValueError("duplicate name: " + " ".join(name for name, _ in found))
        return dict(found)

    def no_number(word):
        raise ValueError(word + " is not a JSON number")
    return json.loads(line, object_pairs_hook=names, parse_constant=no_number)


def faults(path, what):
    """Returns the errors in each format of the output."""
    for options in ([], ["-x"], ["-j", "-x"], ["--time"], ["--header"], ["-j", "--header"]):
        result = run(path, *options)
        about = f"{what}, {' '.join(options)}: "
        if result.returncode not in (0, 1):
            yield about + f"exit {result.returncode} {result.stderr.decode('utf-8', 'replace')[-300:]}"
        for stream in (result.stdout, result.stderr):
            try:
                text = stream.decode("utf-8")
            except UnicodeDecodeError as error:
                yield about + str(error)
                continue
            if CONTROL.search(text):
                yield about + "a control character: " + repr(text[CONTROL.search(text).start() - 20:][:60])
        if "-j" in options:
            for line in result.stdout.decode("utf-8", "replace").split("\n")[:-1]:
                try:
                    parse_strictly(line)
                except ValueError as error:
                    yield about + f"{error}: {line[:200]}"
        if result.returncode == 1 and not result.stderr:
            yield about + "failed without a message"


def change(random_, data):
    """Changes bytes, removes a part, or truncates."""
    data = bytearray(data)
    for _ in range(random_.choice((1, 3, 30, 300))):
        at = random_.randrange(len(data))
        kind = random_.randrange(4)
        if kind == 0:
            data[at] ^= 1 << random_.randrange(8)
        elif kind == 1:
            data[at] = random_.choice((0, 0x7f, 0x80, 0xff))
        elif kind == 2:
            nasty = random_.choice(CONTROL_SEQUENCES)
            data[at:at + len(nasty)] = nasty
        else:
            data[at:at + 8] = random_.choice((0, 1, 2**32, 2**63, 2**64 - 1)).to_bytes(8, "little")
    if random_.randrange(4) == 0:
        del data[random_.randrange(len(data)):]
    return bytes(data)


def sources(directory):
    """Makes the recordings, of a few hundred records each."""
    for name, options in (("plain", ["-e", "cpu-clock", "-g"]), ("names", ["-e", "page-faults", "-c", "1"])):
        path = os.path.join(directory, name + ".data")
        made = subprocess.run([PERCH, "record", "-q", *options, "-o", path, "--", "sh", "-c", "ls / >/dev/null; ls /"],
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=limit(300))
        if made.returncode == 0:
            yield name, path
    for seed in (1, 2, 3):
        path = os.path.join(directory, f"built_{seed}.data")
        subprocess.run([BUILDER, path, str(seed)], check=True, timeout=limit(300))
        yield f"built {seed}", path
    fixtures = os.environ.get("PERCH_FIXTURES")
    for root, _, names in os.walk(fixtures) if fixtures else ():
        yield from ((name, os.path.join(root, name)) for name in sorted(names)
                    if ".data" in name and os.path.getsize(os.path.join(root, name)) < 200000)


def check_name(directory):
    """Records a program whose name has control sequences."""
    path, program = os.path.join(directory, "name.data"), os.path.join(directory, "a\x1b[31m\xff\"")
    with open(program, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\ni=0; while [ $i -lt 3000 ]; do i=$((i+1)); done\n")
    os.chmod(program, 0o700)
    made = subprocess.run([PERCH, "record", "-q", "-e", "cpu-clock", "-o", path, "--", program], capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=limit(300))
    if made.returncode:
        print(f"ok - a name with control sequences # skip cannot record: {made.stderr.decode()[-200:]}")
        return
    report(list(faults(path, "name")), "control characters of a program's name are not printed")
    comms = [json.loads(line)["fields"]["comm"] for line in run(path, "-j", "-t", "comm").stdout.decode("utf-8").splitlines()]
    report([] if any(comm.startswith("a\x1b[31m\xff\"") for comm in comms) else [str(comms)],
           "JSON has the original name")


def main():
    random_ = random.Random(20260)
    with tempfile.TemporaryDirectory(prefix="perch-dump-damage-") as directory:
        found = list(sources(directory))
        check_name(directory)
        damaged, why = os.path.join(directory, "damaged.data"), []
        for number in range(CHANGED_FILES):
            name, path = found[number % len(found)]
            with open(path, "rb") as file:
                data = change(random_, file.read())
            with open(damaged, "wb") as file:
                file.write(data)
            why += faults(damaged, f"{name}, change {number}")
        report(why, f"{CHANGED_FILES} damaged files of {len(found)} kinds")
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
