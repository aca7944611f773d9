#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every option of three Rust crates and of the Zig binding has a name in perch, which exists.

Options of perf_event_open(2) are in perch-options(7) too. What perf-event-data parses and what Zig only defines need not be: those
names are in the headers, and perch-records(7) describes the records.
"""
import os
import re
import subprocess
import sys
import tempfile
import cases
from cases import check

SOURCE = os.environ.get("PERCH_SOURCE_ROOT", ".")
BUILD = os.environ.get("PERCH_BUILD_ROOT", "build")
ATTRS = os.path.join(BUILD, "tests/interop/interop_event_attrs")
PERCH = os.environ.get("PERCH", os.path.join(BUILD, "perch"))
PAGE = os.path.join(SOURCE, "man/perch-options.7.scd")
INVENTORY = os.path.join(SOURCE, "tests/interop/inventory.txt")

# Sections of the inventory whose names need not be in perch-options(7).
HEADERS_ONLY = ("perf-event-data:", "Zig std:")
# Values for the placeholders of the page.
PLACEHOLDERS = {"EVENT": "cpu-clock", "PMU": "msr", "TERM": "event", "NAME": "tsc", "N": "8", "HEX": "1a8", "ADDR": "0x1000",
             "LEN": "4", "SYMBOL": "main", "OFF": "4", "PROVIDER": "provider", "PROBE": "probe", "SYSTEM": "sched",
             "TRACEPOINT": "sched_switch"}
# An event may be refused if the machine lacks something.
LACKING = re.compile(r"no PMU|tracefs|no kprobes|no uprobes|no breakpoints")
# The test program has a static probe, with the note that <sys/sdt.h> would make.
STATIC_PROBE = r"""
__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n\t.balign 4\n\t.4byte 2f-1f, 4f-3f, 3\n1:\t.asciz \"stapsdt\"\n"
	"2:\t.balign 4\n3:\t.8byte main, 0, 0\n\t.asciz \"provider\", \"probe\", \"\"\n4:\t.balign 4\n\t.popsection");
"""


def plain(cell):
    """A cell of the page without the markup of bold, underlined and escaped text."""
    text = cell.replace("\\_", "\0").replace("\\*", "\1").replace("*", "")
    text = re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", "", text)
    return text.replace("\0", "_").replace("\1", "*").strip()


def tables(page):
    """The tables of the page, each a list of rows of cells without markup; the first row has the headings."""
    rows = []
    for line in page.splitlines() + [""]:
        if re.match(r"\|[\[ ]", line):
            rows.append([plain(line[2:])])
        elif rows and re.match(r":[\[< ]", line):
            rows[-1].append(plain(line[2:]))
        elif rows:
            yield rows
            rows = []


def named(heading, cell):
    """The perch names in a cell of a column with that heading."""
    if heading == "event text":
        return ["event: " + text for text in cell.split(" or ") if text]
    if heading == "command":
        return ["command: " + text for text in cell.split(" or ") if text]
    if heading == "perch":
        return [name for name in cell.split(", ") if name]
    if heading == "constant":
        return [cell] if cell and cell != "prctl" else []
    if heading == "attr":
        return ["perch_attr." + name for name in cell.split(", ") if name]
    if heading.startswith("struct ") and cell.startswith("."):
        return [heading.removeprefix("struct ") + cell]
    return []


def attr_fields_of_commands(path):
    """The fields of the attr in brackets in the table of command options."""
    with open(path, encoding="utf-8") as file:
        for rows in tables(file.read()):
            if rows[0][0] == "command":
                for row in rows[1:]:
                    match = re.search(r"\(([a-z_, ]+)\)$", row[-1])
                    yield from match[1].split(", ") if match else []


def names_of_page(path):
    """Every name on the page, with the release in its row; "" means all releases."""
    names = {}
    with open(path, encoding="utf-8") as file:
        for rows in tables(file.read()):
            for row in rows[1:]:
                if len(row) != len(rows[0]):
                    check(False, f"the page's row '{row[0]}' has {len(rows[0])} cells")
                since = dict(zip(rows[0], row)).get("since")
                for heading, cell in zip(rows[0], row):
                    for name in named(heading, cell):
                        names[name] = since if since is not None else names.get(name)
    return names


def releases():
    """The releases in abi.h of each constant and each field of the attr."""
    with open(os.path.join(SOURCE, "include/perch/abi.h"), encoding="utf-8") as file:
        text = file.read()
    found = {}
    for name, comment in re.findall(r"^[ \t]*(?:#define )?(PERCH_\w+)[^/\n]*/\*([^\n]*)", text, re.M):
        found[name] = re.findall(r"since (\d[\d.]*\d)", comment)
    attr = text[text.index("struct perch_attr {"):text.index("struct perch_attr_field {")]
    for name, comment in re.findall(r"\w+ (\w+)(?: : \d+)?;[ \t]*/\*([^\n]*)", attr):
        found["perch_attr." + name] = found["perch_options." + name] = re.findall(r"since (\d[\d.]*\d)", comment)
    return {name: since for name, since in found.items() if since}


def releases_of_tables():
    """The release of each field and bit in the tables of src/abi; "" means all releases."""
    def read(name):
        with open(os.path.join(SOURCE, "src/abi", name), encoding="utf-8") as file:
            return file.read()
    fields = dict(re.findall(r'\b(?:WORD|FLAGS|ACTION)\((\w+),[^")]*"([\d.]*)"\)', read("attr_fields.c")))
    fields = {name: since for name, since in fields.items() if not name.startswith("reserved")}
    bits = {}
    for kind, name, since in re.findall(r'\b(SAMPLE|READ|BRANCH)\((\w+), "([\d.]*)"\)', read("attr_bits.c")):
        prefix = {"SAMPLE": "SAMPLE_", "READ": "FORMAT_", "BRANCH": "SAMPLE_BRANCH_"}[kind]
        bits["PERCH_" + prefix + name] = since or (fields["branch_sample_type"] if kind == "BRANCH" else "")
    return fields, bits


def check_tables(page):
    """The page has the releases of the tables of src/abi, for each bit and for each field with a row of its own."""
    fields, bits = releases_of_tables()
    bad = [f"{name}: '{page.get(name)}' on the page, '{since}' in attr_bits.c" for name, since in bits.items() if page.get(name) != since]
    rows = {name: [page[struct + name] for struct in ("perch_attr.", "perch_options.") if page.get(struct + name) is not None]
            for name in fields}
    bad += [f"{name}: '{' or '.join(rows[name])}' on the page, '{since}' in attr_fields.c"
            for name, since in fields.items() if any(row != since for row in rows[name])]
    checked = len(bits) + sum(1 for found in rows.values() if found)
    check(checked > 80 and not bad, f"{checked} releases are the same as in the tables of src/abi", *bad)


def check_fields(page):
    """Each field of the attr is in a table."""
    with open(os.path.join(SOURCE, "include/perch/abi.h"), encoding="utf-8") as file:
        text = file.read()
    attr = text[text.index("struct perch_attr {"):text.index("struct perch_attr_field {")]
    fields = [name for name in re.findall(r"^\s*uint\d+_t (\w+)|^\s*int32_t (\w+)", attr, re.M)]
    fields = [one or other for one, other in fields if not (one or other).startswith("reserved")]
    with open(page, encoding="utf-8") as file:
        words = {word for rows in tables(file.read()) for row in rows for cell in row for word in re.findall(r"\w+", cell)}
    bad = [f"{field} is missing" for field in fields if field not in words]
    check(len(fields) > 60 and not bad, f"{len(fields)} fields of the attr are in tables", *bad)


def check_releases(page):
    in_header = releases()
    bad = [f"{name}: '{since}' on the page, {' or '.join(in_header[name])} in abi.h"
           for name, since in page.items() if since is not None and name in in_header and since not in in_header[name]]
    checked = [name for name, since in page.items() if since is not None and name in in_header]
    check(len(checked) > 60 and not bad, f"{len(checked)} releases are the same as in abi.h", *bad)


def items_of_inventory(path):
    """(section, name of the peer, names in perch) of each line."""
    section = ""
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("# ---- "):
                section = line.removeprefix("# ---- ")
            elif line and not line.startswith("#"):
                peer, *names = line.split("\t")
                yield section, peer, names


def use(number, name):
    """A line of C that compiles and links only if the name exists."""
    if name.endswith("()"):
        body = f"(void) {{ call = (void (*)(void)){name[:-2]}; }}"
    elif name.startswith("union ") and "." in name:
        union, member = name.split(".", 1)
        body = f"({union} *at) {{ (void)at->{member}; }}"
    elif name.startswith("struct "):
        body = f"(void) {{ size = sizeof({name}); }}"
    elif "." in name:
        struct, member = name.split(".", 1)
        body = f"(struct {struct} *at) {{ (void)at->{member}; }}"
    else:
        body = f"(void) {{ size = sizeof({name}); }}"
    return f"void use_{number}{body}"


def compile_names(names, program):
    """Compiles and links a program that uses each name. Returns the missing names with their errors."""
    headers = sorted(name for name in os.listdir(os.path.join(SOURCE, "include/perch")) if name.endswith(".h"))
    lines = [f"#include <perch/{header}>" for header in headers]
    lines += ["void (*volatile call)(void);", "volatile unsigned long size;"]
    first = len(lines) + 1
    lines += [use(number, name) for number, name in enumerate(names)]
    lines += ["int main(void) { return 0; }", STATIC_PROBE]
    source = program + ".c"
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    library = os.path.join(BUILD, "src")
    result = subprocess.run(["gcc", "-std=gnu17", "-w", "-g0", "-fno-pie", "-no-pie", "-I", os.path.join(SOURCE, "include"),
                             source, "-o", program, "-L", library, "-lperch",
                             "-Wl,-rpath-link," + library, "-Wl,--no-as-needed"],
                            capture_output=True, text=True, errors="replace", env=dict(os.environ, LC_ALL="C"))
    missing = {}
    for line in result.stderr.splitlines():
        at = re.search(r"\.c:(\d+):\d+: error: (.*)", line)
        if at and 0 <= int(at[1]) - first < len(names):
            missing.setdefault(names[int(at[1]) - first], at[2])
        symbol = re.search(r"undefined reference to [`'](\w+)'", line)
        if symbol:
            missing.setdefault(symbol[1] + "()", "not in the library")
    if result.returncode and not missing:
        missing["the program"] = result.stderr
    return missing


def spelled(text, program):
    """The event text of a pattern, with values for the placeholders."""
    words = dict(PLACEHOLDERS, PATH=program)
    text = re.sub(r"\brHEX\b", "r" + words["HEX"], text)
    return re.sub(r"\b[A-Z][A-Z]+\b|\bN\b", lambda match: words.get(match[0], match[0]), text)


def parse_events(texts, program):
    """The errors of patterns that perch cannot parse."""
    strings = {spelled(text, program): text for text in texts}
    result = subprocess.run([ATTRS, *strings], capture_output=True, text=True, errors="replace")
    refused = {}
    for line in result.stdout.splitlines():
        string, _, output = line.partition("\t")
        if output.startswith("error ") and not LACKING.search(output):
            refused[strings.get(string, string)] = f"{string}: {output}"
    if result.returncode:
        refused["event_attrs"] = f"ended with {result.returncode}: {result.stderr}"
    return refused


def fields_of_row(heading, name, meaning):
    """The fields of the attr that a member sets: the field of its name, or those in brackets."""
    if heading == "struct perch_options":
        match = re.search(r"\(([^()]*)\)$", meaning)
        return [name] + [word for word in re.findall(r"[a-z_]+", match[1] if match else "")]
    return [name]


def printed_fields(strings):
    """The output of interop_event_attrs for each event text: {field: value}, or None if the machine lacks something."""
    result = subprocess.run([ATTRS, *strings], capture_output=True, text=True, errors="replace")
    found = {}
    for line in result.stdout.splitlines():
        string, _, output = line.partition("\t")
        found[string] = None if output.startswith("error ") else dict(re.findall(r"([\w.]+)=(\S+)", output))
    return found


def check_event_texts(path, program):
    """The event text in the row of a field changes that field."""
    wanted = []
    with open(path, encoding="utf-8") as file:
        for rows in tables(file.read()):
            if rows[0][0] not in ("struct perch_options", "struct perch_attr") or "event text" not in rows[0]:
                continue
            for row in rows[1:]:
                for text in named("event text", row[1]):
                    text = text.removeprefix("event: ")
                    if spelled(text, program) != text:
                        wanted.append((row[0].lstrip("."), text, fields_of_row(rows[0][0], row[0].lstrip("."), row[-1])))
    bare, not_inherited = PLACEHOLDERS["EVENT"], PLACEHOLDERS["EVENT"] + "/no-inherit/"
    printed = printed_fields(sorted({spelled(text, program) for _, text, _ in wanted} | {bare, not_inherited}))
    bad, checked = [], 0
    for name, text, fields in wanted:
        got = printed.get(spelled(text, program))
        if got is None:
            continue
        checked += 1
        plain = printed[not_inherited if name == "inherit" else bare]  # samplers inherit by default
        keys = [prefix + field for field in fields for prefix in ("", "sampling.")]
        keys += ["precise_max"] if name == "precise" else []
        if not any(got.get(key, "0") != plain.get(key, "0") for key in keys):
            bad.append(f"'{text}' does not change {name}")
    check(checked > 25 and not bad, f"{checked} event texts set the field of their row", *bad)


def check_commands(commands):
    """The --help of the commands has each option on the page."""
    bad = []
    for command in commands:
        _, name, option = command.split()
        shown = subprocess.run([PERCH, name, "--help"], capture_output=True, text=True, errors="replace").stdout
        if not re.search(r"^ +" + re.escape(option) + r"\b", shown, re.M):
            bad.append(f"{command}: not in its --help")
    check(commands and not bad, f"{len(commands)} options of commands exist", *bad)


def main():
    items = list(items_of_inventory(INVENTORY))
    page = names_of_page(PAGE)
    check(len(items) > 900 and len(page) > 300, f"{len(items)} options of the peers, {len(page)} names on the page")
    check_fields(PAGE)
    page.update((f"perch_attr.{field}", page.get(f"perch_attr.{field}")) for field in attr_fields_of_commands(PAGE))
    check_releases(page)
    check_tables(page)
    names = sorted({name for _, _, all_names in items for name in all_names} | set(page))
    texts = [name.removeprefix("event: ") for name in names if name.startswith("event: ")]
    check_commands([name.removeprefix("command: ") for name in names if name.startswith("command: ")])
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "program")
        absent = compile_names([name for name in names if ": " not in name], program)
        if "the program" not in absent and not absent:
            absent = {"event: " + text: why for text, why in parse_events(texts, program).items()}
        check_event_texts(PAGE, program)
    by_section = {}
    for section, peer, wanted in items:
        bad = by_section.setdefault(section, [0])
        bad[0] += 1
        bad += [f"{peer}: {name}: {absent[name]}" for name in wanted if name in absent]
        if not section.startswith(HEADERS_ONLY):
            bad += [f"{peer}: {name} is not on the page" for name in wanted if name not in page]
        if not wanted:
            bad.append(f"{peer}: no name in perch")
    for section, (count, *bad) in by_section.items():
        check(not bad, f"{section}: {count} options have names", *bad)
    bad = [f"{name}: {why}" for name, why in sorted(absent.items())]
    check(not bad, f"all {len(names)} names exist, {len(texts)} of them event texts", *bad)
    return int(cases.failed)


sys.exit(main())
