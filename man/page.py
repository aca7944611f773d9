#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a manual page of a page for scdoc: page.py SCDOC <PAGE.scd >PAGE. It fails if scdoc fails.

A table that is too wide for a terminal of 80 columns becomes a list: the first cell of a row is the
term, and the other cells with their headings are its text.
"""
import re
import subprocess
import sys

TABLE = re.compile(r"^\.TS\n(?:.*\n)*?.*\.\n((?:.*\n)*?)\.TE\n", re.M)
CODE = re.compile(r"^\.nf\n(?:.*\n)*?\.fi\n", re.M)
ROW = re.compile(r"((?:T\{\n(?:.*\n)*?T\}|[^\n\t]*)(?:\t(?:T\{\n(?:.*\n)*?T\}|[^\n\t]*))*)\n")
WIDTH = 72      # of the text of a page on a terminal of 80 columns
GAP = 3         # between columns
LAST = 24       # what the last column needs to be readable


def row_cells(row):
    """The cells of a row. A cell that is not one word is a text block in the source: T{ T}."""
    cells, position = [], 0
    while True:
        if block := re.compile(r"T\{\n((?:.*\n)*?)T\}").match(row, position):
            cells.append(block[1].strip())
        else:
            block = re.compile(r"[^\n\t]*").match(row, position)
            cells.append(block[0].strip())
        position = block.end()
        if position >= len(row):
            return cells
        position += 1


def width(cell):
    """The columns that a cell needs: those of its longest word."""
    plain = re.sub(r"\\f.|\\&", "", cell)
    return max(map(len, plain.split()), default=0)


def as_list(rows):
    """The rows below the headings as a list."""
    headings, lines = rows[0], []
    for row in rows[1:]:
        lines += [".TP", row[0] or r"\&"]
        for heading, cell in zip(headings[1:-1], row[1:-1]):
            if cell:
                lines += [re.sub(r"\\f[BR]", "", heading) + ": " + cell, ".br"]
        lines.append(row[-1] or r"\&")
    return "\n".join(lines) + "\n.P\n"


def table(match):
    rows = [row_cells(row[1]) for row in ROW.finditer(match[1])]
    columns = list(zip(*rows))
    need = sum(max(map(width, column)) + GAP for column in columns[:-1])
    need += max(LAST, *map(width, columns[-1]))
    if need > WIDTH and len(columns) > 2:
        return as_list(rows)
    # tbl makes a column at least as wide as its plain cells, but a text block may be narrower than its
    # only word, which then cannot be broken. groff 1.23 has undone scdoc's .ad l, and warns of lines
    # that it cannot adjust.
    return ".ad l\n" + re.sub(r"(?<![^\n\t])T\{\n([^\s.'][^\s]*|)\nT\}", r"\1", match[0])


def code(match):
    """A block of code. Tables change the tab stops, so it has none."""
    return "\n".join(line.expandtabs(8) for line in match[0].split("\n"))


def main():
    done = subprocess.run(sys.argv[1:], stdin=sys.stdin, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return done.returncode
    # The date is that of the build, which would make each day's page another. Words are not hyphenated: a name in two
    # pieces cannot be searched for.
    text = re.sub(r'^(\.TH "[^"]*" "[^"]*") "[\d-]*"(.*\n)', r'\1 ""\2.nh\n', done.stdout, flags=re.M)
    text = CODE.sub(code, TABLE.sub(table, text))
    # the first line names the preprocessor, for readers that run no other
    sys.stdout.write(("'\\\" t\n" if "\n.TS\n" in text else "") + text)
    return 0


sys.exit(main())
