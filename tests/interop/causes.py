#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch-causes(7) has the causes and kinds of the headers in their order, and the errno, fields and release of each rule; the release
is not older than the fields."""
import glob
import os
import re
import sys

import cases
import manual_page
from cases import report
from manual_page import read

PAGE = manual_page.built("perch-causes.7")
# One of the fields is enough for these.
ANY_FIELD = ("read.def: read_aux_gone",)


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
    """Yields (name, cause, errno, fields, release) of each rule of the tables; the release may be empty."""
    since = r'\s*(?:"\*?([^"]*)"|NULL)'
    row = re.compile(r'^(?:RULE|FALLBACK)\((\w+),\s*(\w+),\s*(\w+),\s*(?:FIELDS\(([^)]*)\)|("[^"]*")),' + since, re.M)
    lint = re.compile(r"^LINT\((\w+),\s*(\w+),\s*FIELDS\(([^)]*)\)," + since, re.M)
    for path in sorted(glob.glob(os.path.join(manual_page.SOURCE, "src/explain/**/*.def"), recursive=True)):
        if path.endswith("/lint.def"):
            for name, cause, fields, release in lint.findall(read(path)):
                yield "lint.def: " + name, cause, "accepted", re.findall(r'"(\w+)"', fields), release
        for name, cause, errno, several, one, release in row.findall(read(path)):
            yield (os.path.basename(path) + ": " + name, cause, "no error" if errno == "0" else errno,
                   re.findall(r'"(\w+)"', several) + re.findall(r"\w+", one), release)


def releases_of_fields():
    """Returns the release of each field of the attr that has one, of the table of abi."""
    return dict(re.findall(r'\b(?:WORD|FLAGS|ACTION)\((\w+),[^")]*"([\d.]+)"\)', read("src/abi/attr_fields.c")))


def rank(release):
    return [int(number) for number in release.split(".")]


def too_old(rows):
    """Yields rules with a release in which a field did not exist."""
    since = releases_of_fields()
    for name, _, _, fields, release in rows:
        if release and name not in ANY_FIELD:
            for field in fields:
                if field in since and rank(since[field]) > rank(release):
                    yield f"{name}: since {release}, but {field} since {since[field]}"


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
    report([f"{name}: {cause}, {errno}" for name, cause, errno, fields, release in rows
            if not any(line.startswith(", ".join([errno] + fields) + (f" (since Linux {release}):" if release else ":"))
                       for line in page.get(slugs.get(cause, ""), ["", []])[1])],
           "every rule has its cause, errno, fields and release on the page")
    report([] if len(releases_of_fields()) > 40 else [str(releases_of_fields())], "the fields have releases")
    report(list(too_old(rows)), "no rule is of an older release than its fields")
    report(sorted(set(re.findall(r"\{\w+\}", text))), "the page has no {placeholder}")
    return int(cases.failed)


sys.exit(main())
