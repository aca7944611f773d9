#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual's C compiles without a warning, and the functions that its pages name are in the headers."""
import glob
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PERCH_SOURCE_ROOT", ".")
# What the code of a page leaves for the reader to say.
AROUND = {
    "libperch.3": "void work(void);\nextern pid_t pid;\n",
    "libperch-profile.3": "extern struct perch_reader *reader; extern struct perch_processes *processes;\n"
                          "extern struct perch_symbols *symbols; extern struct perch_profile *profile;\n"
                          "extern struct perch_record record; extern struct perch_error err;\n"
                          "extern const struct perch_row *rows; extern struct perch_profile_total total;\n"
                          "extern size_t nr;\n",
}
failed = False


def verdict(why, name):
    global failed
    print(("not ok - " if why else "ok - ") + name)
    for line in why:
        print("    " + line)
    failed |= bool(why)


def compile_alone(headers, around, body):
    """What the compiler says against it."""
    program = "".join(f"#include <{header}>\n" for header in headers) + around + body
    with tempfile.NamedTemporaryFile("w", suffix=".c", encoding="utf-8") as file:
        file.write(program)
        file.flush()
        result = subprocess.run(["gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I",
                                 os.path.join(SOURCE, "include"), file.name], capture_output=True, text=True)
    return result.stderr.splitlines()


def main():
    ours = sorted("perch/" + os.path.basename(path) for path in glob.glob(os.path.join(SOURCE, "include/perch/*.h")))
    headers = ["stdio.h", "stdlib.h", "unistd.h"] + ours
    named = {}
    for path in sorted(glob.glob(os.path.join(SOURCE, "man/*.scd"))):
        page = os.path.basename(path).removesuffix(".scd")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        blocks = re.findall(r"^```\n(.*?)^```$", text, re.M | re.S)
        blocks = [block.replace("\\\\", "\\") for block in blocks if "perch_" in block and ";" in block]
        for number, block in enumerate(blocks, 1):
            body = f"int shown(void);\nint shown(void)\n{{\n{block}\nreturn 0;\n}}\n"
            verdict(compile_alone(headers, AROUND.get(page, ""), body), f"{page}: its program number {number} compiles")
        for function in re.findall(r"\*(perch_\w+)\*?\(\)", text):
            named.setdefault(function, page)
    body = "".join(f"void name_{function}(void); void name_{function}(void) {{ (void)&{function}; }}\n" for function in named)
    said = compile_alone(headers, "", body)
    missing = sorted(set(re.findall(r"'(perch_\w+)' undeclared", "\n".join(said))))
    verdict([f"{named[function]} names {function}()" for function in missing] or said,
            f"the {len(named)} functions that the pages name are declared")
    verdict([] if len(named) > 50 else ["fewer than 50"], "the pages name functions")
    return failed


sys.exit(main())
