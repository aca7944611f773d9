# SPDX-License-Identifier: MIT
"""Common functions of causes.py and records.py: they read a manual page as man formats it, and the sources of its tables."""
import os
import subprocess

SOURCE = os.environ.get("PERCH_SOURCE_ROOT", ".")
BUILD = os.environ.get("PERCH_BUILD_ROOT", "build")
PLAIN = str.maketrans("‘’“”‐−", "''\"\"--")


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def built(page):
    return os.path.join(BUILD, "man", page)


def shown(path):
    """Returns the text of a page without line breaks in paragraphs, and the warnings of man."""
    roff = subprocess.run(["man", "-l", path], capture_output=True, text=True,
                          env=dict(os.environ, MANWIDTH="2000", LC_ALL="C.UTF-8"))
    return roff.stdout.translate(PLAIN), roff.stderr
