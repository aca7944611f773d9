# SPDX-License-Identifier: MIT
"""Reads the lists of files at the heads of headers of src, and in README.md of a directory.

A list has a line for each file or for a few: the path of a .c file below the directory of the
header, and what it does. scripts/lint-text and scripts/lint-circles check the lists."""
import re
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src"
COMMENT = re.compile(r"\A/\* SPDX[^\n]*\n/\*(.*?)\*/", re.S)
# In a comment a list is indented; in README.md it is a table, and each name is in backquotes.
LINE = re.compile(r"^ \*(?:\t| {2}) *((?:[\w/]+\.c\b,?[ \t]*)+)", re.M)
NAME = re.compile(r"[\w/]+\.c\b")
QUOTED = re.compile(r"`([\w/]+\.c)`")
LAYERED = "A file calls only files below its own"


class Head:
    """The list of one header: .names in its order; .layered if it says that files only call files
    below their own."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        self.path, self.layered = path, False
        if path.name == "README.md":
            names = QUOTED.findall(text)
        else:
            comment = COMMENT.match(text)
            text = comment.group(1) if comment else ""
            self.layered = LAYERED in " ".join(text.replace("*", " ").split())
            names = [name for line in LINE.finditer(text)
                     for name in NAME.findall(line.group(1))]
        self.names = [str((path.parent / name).relative_to(SRC)) for name in names]


def directories():
    """The modules."""
    return sorted(path for path in SRC.glob("*/") if path.is_dir())


def read_heads(directory):
    paths = sorted([*directory.rglob("*.h"), *directory.rglob("README.md")])
    return [head for head in map(Head, paths) if head.names]
