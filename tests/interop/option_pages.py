#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The section OPTIONS of each command's manual page has the options that `perch help COMMAND` prints from the command's table, with the
same characters."""
import glob
import os
import re
import subprocess
import sys

SOURCE = os.environ.get("PERCH_SOURCE_ROOT", ".")
PERCH = os.environ.get("PERCH", "perch")


def options_of_help(command):
    """The options of the table, each as its letter and its long name, "" if it has none."""
    text = subprocess.run([PERCH, "help", command], capture_output=True, text=True, check=True).stdout
    found = set()
    for line in text.splitlines():
        match = re.match(r"  (?:-(\S)(?:, )?|    )(?:--([\w-]+))?", line)
        if match and (match[1] or match[2]):
            found.add((match[1] or "", match[2] or ""))
    return found


def options_of_page(path):
    """The options in the section, in bold. An option that is the default is there by its negation."""
    with open(path, encoding="utf-8") as file:
        section = re.search(r"^# OPTIONS\n(.*?)(?=^# |\Z)", file.read(), re.M | re.S)[1]
    names = {name.replace("\\", "") for name in re.findall(r"\*(-{1,2}[^*\s=\[]+)", section)}
    return names | {"--" + name.removeprefix("--no-") for name in names if name.startswith("--no-")}


def main():
    failed = False
    for path in sorted(glob.glob(os.path.join(SOURCE, "man/perch-*.1.scd"))):
        command = os.path.basename(path).removeprefix("perch-").removesuffix(".1.scd")
        table, page = options_of_help(command), options_of_page(path)
        names = {"-" + letter for letter, _ in table if letter} | {"--" + name for _, name in table if name}
        bad = sorted(names - page)
        print(("not ok - " if bad or not table else "ok - ") + f"perch-{command}(1) has the {len(table)} options of the table")
        for name in bad:
            print(f"    {name} is not in the page")
        failed |= bool(bad) or not table
    return failed


if __name__ == "__main__":
    sys.exit(main())
