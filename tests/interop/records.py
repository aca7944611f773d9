#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch-records(7) and fields.def agree: records, fields and their order. fields.def has every record type and sample bit."""
import os
import re
import sys

import cases
import manual_page
from cases import report
from manual_page import read

PAGE = manual_page.built("perch-records.7")
KINDS = {"NUMBER": "number", "SIGNED": "signed number", "HEX": "hexadecimal", "ADDRESS": "address", "TIME": "time",
         "FLAGS": "flags", "TEXT": "text", "BYTES": "bytes", "LIST": "list", "GROUP": "group"}


def arguments(text):
    """Returns the arguments of a macro: strings without quotes, adjacent strings joined."""
    found, depth = [""], 0
    for word in re.findall(r'"(?:[^"\\]|\\.)*"|[(),]|[^"(),]+', text):
        if word[0] == '"':
            found[-1] += re.sub(r"\\(.)", r"\1", word[1:-1])
        elif word == "," and not depth:
            found.append("")
        elif word.strip():
            depth += (word == "(") - (word == ")")
            found[-1] += word.strip()
    return found


def table():
    """Yields the rows of fields.def: (macro, arguments)."""
    text = read("src/record/fields.def").split("*/", 2)[2].split("#undef")[0]
    for row in re.split(r"\n(?=RECORD\(|FIELD\(|PART\(|BIT\()", text.strip()):
        macro, rest = row.strip().split("(", 1)
        if macro == "BIT":
            continue
        yield macro, arguments(rest.rstrip().removesuffix(")"))


def phrase(condition):
    if condition == "SAMPLE(WEIGHT_TYPE)":
        return "with PERF_SAMPLE_WEIGHT or PERF_SAMPLE_WEIGHT_STRUCT"
    found = re.fullmatch(r"(SAMPLE|MISC|NO_MISC)\((\w+)\)", condition)
    if not found:
        return "" if condition == "ALWAYS" else condition
    return {"SAMPLE": "with PERF_SAMPLE_{}", "MISC": "with {} in misc", "NO_MISC": "without {} in misc"}[found[1]].format(found[2])


def expected(rows, types):
    """Yields the lines that the page must have, in order."""
    for macro, row in rows:
        if macro == "RECORD":
            record, _, _, since, when, what = row
            yield f"{record} ({types[record]})" if record in types else record
            yield f"{what} Written {when}{f'; since Linux {since}' if since else ''}."
            continue
        if macro == "FIELD":
            row = row[:3] + row[4:]
        _, name, kind, condition, unit, since, what = row
        details = [KINDS[kind]] + (["in " + unit] if unit and unit != KINDS[kind] else [])
        details += [phrase(condition)] if phrase(condition) else []
        details += ["since Linux " + since] if since else []
        yield f"{name} ({', '.join(details)})"
        yield what


def main():
    if not os.path.exists(PAGE):
        print("skipped: the pages were not built")
        return 77
    text, warnings = manual_page.shown(PAGE)
    report(warnings.splitlines(), "man formats the page without a warning")
    header = read("include/perch/abi.h") + read("include/perch/abi_records.h")
    numbers = header.split("enum perch_record_type {")[1].split("};")[0]
    types = dict(re.findall(r"^\tPERCH_RECORD_([A-Z0-9_]+) = (\d+),", numbers, re.M))
    rows = list(table())
    report([str(len(rows))] if len(rows) < 120 else [], "fields.def has rows")
    records = [row[0] for macro, row in rows if macro == "RECORD"]
    report(sorted(set(types) ^ set(records) ^ {"TRAILER"}), f"fields.def has the {len(types)} types of abi_records.h, and the trailer")
    report([f"{row[1]} of {row[0]} is below another record" for number, (macro, row) in enumerate(rows)
            if macro != "RECORD" and row[0] != [r[0] for m, r in rows[:number] if m == "RECORD"][-1]],
           "every field is below its record")
    bits = re.findall(r"^\tPERCH_SAMPLE_([A-Z_]+) = 1 << \d+,", header.split("enum perch_sample_format")[1].split("};")[0], re.M)
    conditions = {phrase(row[4]) for macro, row in rows if macro == "FIELD"}
    report([bit for bit in bits if bit != "MAX" and not any(re.search(rf"PERF_SAMPLE_{bit}\b", one) for one in conditions)],
           "every bit of sample_type has a field")
    lines = [line.strip() for line in text.split("\nRECORDS\n", 1)[-1].splitlines() if line.strip()]
    wanted = list(expected(rows, types))
    report([line for line in wanted if line not in lines], "every record and field of fields.def is on the page")
    report(["the order differs"] if wanted != lines[:len(wanted)] else [], "the page has the order of fields.def")
    words = set(re.findall(r'"([A-Z_]{6,})"', read("src/record/format_flags.c").split("misc_bits[] = {")[1].split("};")[0]))
    report([word for word in sorted(words) if not re.search(rf"^ +{word} \(bit 1\d\)$", text, re.M)],
           f"the {len(words)} named bits of misc are on the page")
    return int(cases.failed)


sys.exit(main())
