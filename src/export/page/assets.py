#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the C arrays of the page from its sources: assets.py OUTPUT PAGE.html PAGE.css SCRIPT.js...

The page has the hashes of its style and its script in its content-security policy, so a browser runs
no other script, and loads nothing. @TITLE@ and @DATA@ separate the three arrays."""
import base64
import hashlib
import sys


def hash_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def array(name, text):
    data = text.encode()
    lines = ["\t" + ", ".join(str(byte) for byte in data[i:i + 24]) + "," for i in range(0, len(data), 24)]
    return (f"static const unsigned char perch__page_{name}[] = {{\n" + "\n".join(lines) +
            f"\n}};\nstatic const size_t perch__page_{name}_size = sizeof(perch__page_{name});\n")


def main():
    output, html, css, *scripts = sys.argv[1:]
    html, css, *scripts = (open(path, encoding="utf-8").read() for path in [html, css, *scripts])
    script = '"use strict";\n(() => {\n' + "".join(scripts) + "})();\n"
    assert "</script" not in script.lower() and "</style" not in css.lower()
    page = html.replace("@STYLE_HASH@", hash_of(css)).replace("@SCRIPT_HASH@", hash_of(script))
    page = page.replace("@STYLE@", css)
    head, rest = page.split("@TITLE@")
    body, end = rest.split("@DATA@")
    end = end.replace("@SCRIPT@", script)
    with open(output, "w", encoding="utf-8") as out:
        out.write("/* Made by page/assets.py. */\n#include <stddef.h>\n\n")
        for name, text in (("head", head), ("body", body), ("end", end)):
            out.write(array(name, text))


main()
