#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The C programs of the manual pages compile, the headers declare the functions that the pages name, and the gcc commands of
README.md and the demo compile."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import cases
from cases import report

SOURCE = os.environ.get("PERCH_SOURCE_ROOT", ".")
PERCH = os.environ.get("PERCH", "perch")
# Declarations that the code of a page needs.
DECLARATIONS = {
    "libperch.3": "void work(void);\nextern pid_t pid;\n",
    "libperch-profile.3": "extern struct perch_session *session; extern struct perch_reader *reader; extern struct perch_processes *processes;\n"
                          "extern struct perch_symbols *symbols; extern struct perch_profile *profile;\n"
                          "extern struct perch_record record; extern struct perch_error err;\n"
                          "extern const struct perch_row *rows; extern struct perch_profile_total total;\n"
                          "extern size_t nr;\n",
}


def compile_program(headers, declarations, body):
    """Compiles a program with these headers. Returns the messages of the compiler."""
    program = "".join(f"#include <{header}>\n" for header in headers) + declarations + body
    with tempfile.NamedTemporaryFile("w", suffix=".c", encoding="utf-8") as file:
        file.write(program)
        file.flush()
        result = subprocess.run(["gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I",
                                 os.path.join(SOURCE, "include"), file.name], capture_output=True, text=True)
    return result.stderr.splitlines()


def shown_compilations():
    """The gcc commands that README.md and scripts/demo run on files of the sources."""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        commands = set(re.findall(r"-- (gcc .* -c src/\S+\.c)$", file.read(), re.M))
    with open(os.path.join(SOURCE, "scripts/demo"), encoding="utf-8") as file:
        text = file.read()
    source = re.search(r"^source=(\S+)$", text, re.M)[1]
    commands |= {command + source for command in re.findall(r'-- (gcc .* -c )"\$source"', text)}
    return sorted(commands)


def main():
    public = sorted("perch/" + os.path.basename(path) for path in glob.glob(os.path.join(SOURCE, "include/perch/*.h")))
    headers = ["stdio.h", "stdlib.h", "unistd.h"] + public
    named = {}
    for path in sorted(glob.glob(os.path.join(SOURCE, "man/*.scd"))):
        page = os.path.basename(path).removesuffix(".scd")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        blocks = re.findall(r"^```\n(.*?)^```$", text, re.M | re.S)
        blocks = [block.replace("\\\\", "\\") for block in blocks if "perch_" in block and ";" in block]
        for number, block in enumerate(blocks, 1):
            body = f"int shown(void);\nint shown(void)\n{{\n{block}\nreturn 0;\n}}\n"
            report(compile_program(headers, DECLARATIONS.get(page, ""), body), f"{page}: program {number} compiles")
        for function in re.findall(r"\*(perch_\w+)\*?\(\)", text):
            named.setdefault(function, page)
    body = "".join(f"void name_{function}(void); void name_{function}(void) {{ (void)&{function}; }}\n" for function in named)
    messages = compile_program(headers, "", body)
    missing = sorted(set(re.findall(r"'(perch_\w+)' undeclared", "\n".join(messages))))
    report([f"{named[function]} names {function}()" for function in missing] or messages,
           f"the {len(named)} functions that the pages name are declared")
    report([] if len(named) > 50 else ["fewer than 50"], "the pages name functions")
    commands = shown_compilations()
    for command in commands:
        result = subprocess.run(command.split() + ["-fsyntax-only"], cwd=SOURCE, capture_output=True, text=True)
        report(result.stderr.splitlines() if result.returncode else [], command)
    report([] if len(commands) > 1 else ["fewer than 2"], "README.md and the demo compile files")
    helped = subprocess.run([PERCH, "export", "-h"], capture_output=True, text=True).stdout
    formats = re.findall(r"\w+", re.search(r"the format: (.*)", helped)[1].replace(" or ", " "))
    with open(os.path.join(SOURCE, "man/perch-export.1.scd"), encoding="utf-8") as file:
        text = file.read()
    report([name for name in formats if f"\n*{name}*\n" not in text], "perch-export(1) describes the formats of its help")
    return int(cases.failed)


sys.exit(main())
