#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The installed manual pages: man finds one for each exported symbol, public type and constant, groff prints no warning, no page is cut, and the
pages that a page refers to exist."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ.get("PERCH_SOURCE_ROOT", ".")).resolve()
BUILD = Path(os.environ.get("PERCH_BUILD_ROOT", "build")).resolve()
sys.dont_write_bytecode = True
sys.path.append(str(SOURCE / "scripts"))
from headers import library_headers, read_library, without_comments  # noqa: E402 (the path is set above)
import cases
from cases import report



def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


def install(directory):
    """Installs perch and returns the directory of its manual pages."""
    done = run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", directory)
    report([done.stderr] if done.returncode else [], "meson install")
    return next(Path(directory).rglob("man3")).parent


def exported(library):
    lines = run("nm", "-D", "--defined-only", BUILD / f"src/{library}.so").stdout.splitlines()
    return sorted(line.split()[2].split("@")[0] for line in lines if line.split()[1] != "A")


def not_found(root, names):
    """The names for which man has no page."""
    done = run("man", "-M", root, "-w", *names, env=dict(os.environ, LC_ALL="C"))
    return re.findall(r"No manual entry for (\S+)", done.stderr) or \
        ([] if done.returncode == 0 else [done.stderr])


def warnings(pages):
    """What groff prints about the pages, on a terminal of 80 columns."""
    found = []
    for library in sorted({page.parent for page in pages}):
        names = [page.name for page in pages if page.parent == library]
        done = run("groff", "-t", "-man", "-Tutf8", "-Kutf8", "-ww", "-rLL=78n", *names, cwd=library)
        found += done.stderr.splitlines()
    return found


def last_words(text):
    return re.sub(r"\W+", " ", text).split()[-3:]


def check_overviews(root):
    """The pages by scdoc end with the last words of their source, and have all of its headings."""
    problems = []
    for source in sorted((SOURCE / "man").glob("*.scd")):
        page = root / f"man{source.stem[-1]}" / source.stem
        text = source.read_text(encoding="utf-8").replace("\\", "")
        made = re.sub(r"\\f[A-Z]|\\&|\\", "", page.read_text(encoding="utf-8"))
        if last_words(text.replace("*", " ").replace("_", " ")) != last_words(made.replace("_", " ")):
            problems.append(f"{source.stem} ends with {last_words(made)}, its source with {last_words(text)}")
        prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        headings = len(re.findall(r"^##? ", prose, re.M)), len(re.findall(r"^\.S[HS] ", made, re.M))
        if headings[0] != headings[1]:
            problems.append(f"{source.stem} has {headings[1]} of {headings[0]} headings")
    report(problems, "no page is cut")


def check_examples(root):
    """A line of an example in a comment is a line of the page, and an item of a list begins one."""
    missing, number = [], 0
    for library in ("libperch", "libperch-profile"):
        for header in read_library(library):
            for name, comment in [(f"perch_{header.name}.h", header.comment)] + [(item.name, item.comment) for item in header.declarations]:
                page = root / f"man3/{name}.3"
                wanted = re.findall(r"(?<=\n\n)    .*(?:\n    .*)*", comment)
                wanted = [line[4:] for lines in wanted for line in lines.split("\n")] + re.findall(r"^- (.*)", comment, re.M)
                if not wanted or not page.exists() or page.read_text(encoding="utf-8").startswith(".so "):
                    continue
                text = re.sub(r"\\f[A-Z]|\\[&:]", "", page.read_text(encoding="utf-8")).replace("\\-", "-").replace("\\e", "\\")
                text = re.sub(r"(?<=perch_)(\w+)\(3\)", r"\1()", text)
                number += len(wanted)
                missing += [f"{name}: {line}" for line in wanted if not re.search("^" + re.escape(re.sub(r"(?<=perch_)(\w+)\(3\)", r"\1()", line)), text, re.M)]
    report(missing if number > 20 else [f"only {number} lines"], f"{number} lines of examples and lists are lines of pages")


def check_headers():
    """Each overview names the headers of its library."""
    for library, names in library_headers().items():
        text = (SOURCE / f"man/{library}.3.scd").read_text(encoding="utf-8")
        report([f"perch/{name}.h" for name in names if f"perch/{name}.h*" not in text],
               f"{library}(3) names the headers")


def check_references(root, pages):
    there = {page.name for page in root.rglob("*.[137]")}
    problems = []
    for page in pages:
        text = page.read_text(encoding="utf-8").replace("\\-", "-")
        for name, section in re.findall(r"\\fB((?:lib)?perch[\w.-]*)\\f[PR]\(([1-8])\)", text):
            if f"{name}.{section}" not in there:
                problems.append(f"{page.name} refers to {name}({section})")
    report(sorted(set(problems)), "the pages that pages refer to exist")


def check_maker():
    """A fault in a page fails the build: scdoc's exit status is not lost."""
    maker = [SOURCE / "man/page.py", "scdoc"]
    good, bad = "page(1)\n\n# NAME\n\npage - a page\n", "page(1)\n\n# NAME\n\n*page\n\n--threads* cut\n"
    report([str(maker)] if run(*maker, input=good).returncode else [], "page.py makes a page")
    block = good + "\n```\nif (a)\n\treturn;\n```\n"
    report(["\\t"] if "\t" in run(*maker, input=block).stdout else [], "code in a page has no tabs")
    report([] if run(*maker, input=bad).returncode else ["exit status 0"], "page.py fails if scdoc fails")
    tabled = run(*maker, input=good + "\n[[ a\n:[ b\n|  c\n:  d\n\nend\n").stdout
    report([] if "\n.TS\n" in tabled and tabled.startswith("'\\\" t\n") else [tabled[:40]], "a page with a table names the preprocessor tbl")


def parameters(text):
    """The names of the parameters of a function."""
    plain = re.sub(r" ?__attribute__ ?\(\(.*?\)\)(?=[ ;])", "", " ".join(without_comments(text).split()))
    depth, parts = 0, [""]
    for character in plain[plain.index("(") + 1:]:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    found = (re.search(r"\(\*(\w+)\)|(\w+)(?:\[[^]]*\])*$", part.strip()) for part in parts)
    return {match[1] or match[2] for match in found if match}


def check_parameters():
    """The names after @param are those of parameters, and occur once."""
    problems, number = [], 0
    for library in library_headers():
        for header in read_library(library):
            for item in header.declarations:
                documented = re.findall(r"^@param(?:\[[a-z,]+\])? +(\w+)", item.comment, re.M)
                number += len(documented)
                names = parameters(item.text) if item.kind in ("function", "inline") else set(documented)
                problems += [f"{item.name} has no parameter {name}" for name in documented if name not in names]
                problems += [f"{item.name} has {name} twice" for name in set(documented) if documented.count(name) > 1]
    report(problems if number > 1000 else [f"only {number}"], f"the {number} parameters of comments are those of the functions")


def main():
    with tempfile.TemporaryDirectory() as directory:
        root = install(directory)
        pages = sorted(root.rglob("*.[137]"))
        for library in library_headers():
            names = exported(library)
            report(not_found(root, names) if names else ["no exported names"],
                   f"{library}: man finds a page for each of {len(names)} exported symbols")
            types = [item.name for header in read_library(library) for item in header.declarations
                     if item.kind in ("struct", "union", "enum", "typedef")]
            report(not_found(root, types), f"{library}: man finds a page for each of {len(types)} types")
            constants = re.findall(r"^\t+(PERCH_\w+)(?: = [^,\n]*)?,.*/\*\*<", "\n".join(
                item.text for header in read_library(library) for item in header.declarations if item.kind == "enum"), re.M)
            report(not_found(root, constants) if constants else ["no constants"],
                   f"{library}: man finds a page for each of {len(constants)} constants")
        text = run("man", "-M", root, "PERCH_MAY_SKIP", env=dict(os.environ, LC_ALL="C")).stdout
        report([] if "perch_may" in text else [text[:500]], "man PERCH_MAY_SKIP shows the page of its enum")
        text = run("man", "-M", root, "perch_counter_open", env=dict(os.environ, LC_ALL="C", MANWIDTH="80")).stdout
        sections = ["NAME", "SYNOPSIS", "DESCRIPTION", "PARAMETERS", "RETURN VALUE", "ERRORS", "SEE ALSO"]
        report([name for name in sections + ["#include <perch/count.h>"] if name not in text], "man perch_counter_open")
        real = [page for page in pages if not page.read_text(encoding="utf-8").startswith(".so ")]
        unnamed = [page.name for page in real if not re.search(r"^\.SH \"?NAME\"?\n(?:\.P\n)?\S.* (?:\\-|-) \S",
                                                               page.read_text(encoding="utf-8"), re.M)]
        report(unnamed, "each page has a name and a description of one line")
        report(warnings(real), f"groff prints no warning about {len(real)} pages")
        check_overviews(root)
        check_examples(root)
        check_headers()
        check_references(root, real)
        check_maker()
        check_parameters()
    return int(cases.failed)


sys.exit(main())
