#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch-causes(7) has the causes and kinds of the headers in their order, and the errno and fields of each rule."""
import glob
import os
import re
import sys

import manual_page
from manual_page import read, report

PAGE = manual_page.built("perch-causes.7")


def entries(text):
    """Returns the lines below each cause: slug -> (kind, lines)."""
    found = {}
    for line in text.split("\nCAUSES\n", 1)[-1].splitlines():
        head = re.fullmatch(r" {7}([a-z0-9-]+) \(([a-z-]+)\)", line)
        if head:
            found[head[1]] = (head[2], [])
        elif found and line.startswith(" " * 8):
            found[list(found)[-1]][1].append(line.strip())
    return found


def joined(header):
    """Returns the header without comments, with each macro on one line and each string in one piece."""
    text = re.sub(r"/\*.*?\*/", "", read(header), flags=re.S)
    return re.sub(r'" "', "", re.sub(r"\s*\\\n\s*", " ", text))


def rules():
    """Yields (name, cause, errno, fields) of each rule of the tables."""
    row = re.compile(r'^(?:RULE|FALLBACK)\((\w+),\s*(\w+),\s*(\w+),\s*(?:FIELDS\(([^)]*)\)|("[^"]*"))', re.M)
    lint = re.compile(r"^LINT\((\w+),\s*(\w+),\s*FIELDS\(([^)]*)\)", re.M)
    for path in sorted(glob.glob(os.path.join(manual_page.SOURCE, "src/explain/*.def"))):
        if path.endswith("/lint.def"):
            for name, cause, fields in lint.findall(read(path)):
                yield "lint.def: " + name, cause, "accepted", re.findall(r'"(\w+)"', fields)
        for name, cause, errno, several, one in row.findall(read(path)):
            yield (os.path.basename(path) + ": " + name, cause, "no error" if errno == "0" else errno,
                   re.findall(r'"(\w+)"', several) + re.findall(r"\w+", one))


def main():
    if not os.path.exists(PAGE):
        print("skipped: the pages were not built")
        return 77
    text, warnings = manual_page.shown(PAGE)
    report(warnings.splitlines(), "man formats the page without a warning")
    causes = re.findall(r'\bX\((\w+), "([a-z0-9-]+)", (\w+), "(.*?)"\)', joined("include/perch/causes.h"))
    kinds = re.findall(r'\bX\(\w+, "([a-z0-9-]+)", "(.*?)"\)', joined("include/perch/error.h"))
    page = entries(text)
    report([] if len(causes) > 150 else [str(len(causes))], "the headers have causes")
    report([slug for _, slug, _, _ in causes if slug not in page], "every cause is on the page")
    report([] if [slug for _, slug, _, _ in causes] == list(page) else ["the order differs"],
           "the page has no other causes, and the order of the header")
    report([slug for _, slug, kind, _ in causes if page.get(slug, [""])[0] != kind.lower().replace("_", "-")],
           "every cause has its kind on the page")
    report([slug for _, slug, _, meaning in causes if slug in page and page[slug][1][0] != meaning],
           "every cause has its meaning on the page")
    about = text.split("\nKINDS\n", 1)[-1].split("\nCAUSES\n", 1)[0]
    report([slug for slug, meaning in kinds if not re.search(rf"^ +{slug}\n +{re.escape(meaning)}$", about, re.M)],
           "every kind has its meaning on the page")
    slugs = {name: slug for name, slug, _, _ in causes}
    rows = list(rules())
    report([] if len(rows) > 100 else [str(len(rows))], "the tables have rules")
    report([f"{name}: {cause}, {errno}" for name, cause, errno, fields in rows
            if not any(re.match(", ".join([errno] + fields) + r"( \(since Linux [0-9.]+\))?:", line)
                       for line in page.get(slugs.get(cause, ""), ["", []])[1])],
           "every rule has its cause, errno and fields on the page")
    report(sorted(set(re.findall(r"\{\w+\}", text))), "the page has no {placeholder}")
    return manual_page.failed


sys.exit(main())
