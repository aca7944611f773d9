#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The section OPTIONS of each command's manual page and the command's table have the same options, arguments and words: each option
that `perch help COMMAND` prints is in the page, and each entry of the page is in the table, which `perch help --complete` shows."""
import glob
import os
import re
import subprocess
import sys

import cases

SOURCE = os.environ.get("PERCH_SOURCE_ROOT", ".")
PERCH = os.environ["PERCH"]


def help_of(*words):
    return subprocess.run([PERCH, "help", *words], capture_output=True, text=True, check=True).stdout


def offered(*words):
    """The words that the table has in place of the last one."""
    return [line.split("\t")[0] for line in help_of("--complete", *words).splitlines() if not line.startswith(":")]


def table_of(command):
    """The options in the help: by each name all names, and the argument ("" if it has none)."""
    options = {}
    for line in help_of(command).splitlines():
        match = re.match(r"  (?:(-\S)(?:, )?|    )(--[\w-]+)?(?: (\S+)|( \[\S+\])|(\[=\S+\]))?(?:  |$| [^ ])", line)
        if match and (match[1] or match[2]):
            option = ([name for name in (match[1], match[2]) if name], (match[3] or match[4] or match[5] or "").strip())
            options |= {name: option for name in option[0]}
    return options


def plain(text):
    """Text of a page without markup and dots."""
    return re.sub(r"[*_\\]|\.\.\.", "", text).strip()


def entries_of(path):
    """The entries of the section: their lines with names, each a list of (name, argument), and the text below."""
    with open(path, encoding="utf-8") as file:
        section = re.search(r"^# OPTIONS\n(.*?)(?=^# |\Z)", file.read(), re.M | re.S)[1]
    for match in re.finditer(r"((?:^\*-.*\n)(?:^[^\t\n].*\n)*)((?:^(?:\t.*)?\n)*)", section + "\n", re.M):
        names = []
        for part in re.split(r"[,;]\s+(?=\*-)", match[1].strip()):
            name = re.match(r"\*(-{1,2}[^*\s=\[]+)\*?(.*)", part.replace("\\", ""), re.S)
            names.append((name[1], name[2]))
        yield names, match[2]


def opposite(name):
    return "--" + name.removeprefix("--no-") if name.startswith("--no-") else "--no-" + name.removeprefix("--")


def problems_of_entry(command, table, names, text):
    """The last name of each option in the entry has the argument."""
    arguments = {}
    for name, argument in names:
        if name in table:
            arguments.setdefault(tuple(table[name][0]), []).append(plain(argument))
        elif opposite(name) not in table and name not in offered(command, name):
            yield f"{name} is in no table"
    for option, given in arguments.items():
        name, expected = option[-1], plain(table[option[-1]][1])
        words = {word.removeprefix(name + "=") for word in offered(command, name + "=")} if name.startswith("--") and expected else set()
        if any(set(argument.split("|")) == words for argument in given if argument):
            continue
        if expected not in given:
            yield f"{name}: the argument in the page is {given}, that in the table is '{expected}'"
        elif expected in WORDS and "as in *perch-" not in text and "as in perch-" not in text:
            yield from (f"{name}: the page lacks the word {word}" for word in sorted(words) if not re.search(rf"[*_]{word}(?![a-z0-9-])", text))


# arguments whose words are in the entry itself; columns, fields and events have sections or pages
WORDS = {"MODE", "KINDS", "CLOCK", "[WHEN]", "FORMAT", "METHOD", "TYPE", "SYNTAX", "[SHAPE,LIMIT,MAX,ORDER,KEY,VALUE]"}


def main():
    for path in sorted(glob.glob(os.path.join(SOURCE, "man/perch-*.1.scd"))):
        command = os.path.basename(path).removeprefix("perch-").removesuffix(".1.scd")
        table, entries = table_of(command), list(entries_of(path))
        named = {name for names, text in entries for name, _ in names}
        with open(path, encoding="utf-8") as file:
            section = re.search(r"^# OPTIONS\n(.*?)(?=^# |\Z)", file.read(), re.M | re.S)[1]
        bold = {name.replace("\\", "") for name in re.findall(r"\*(-{1,2}[^*\s=\[]+)", section)}
        problems = [f"{name} is not in the page" for name in sorted(table) if name not in bold and opposite(name) not in bold]
        problems += [problem for names, text in entries for problem in problems_of_entry(command, table, names, text)]
        cases.report(problems if table and named else ["no options"], f"perch-{command}(1) and the table have the same {len(table)} names of options")
    return cases.failed


if __name__ == "__main__":
    sys.exit(main())
