# SPDX-License-Identifier: MIT
"""Reads the declarations of the public headers and their comments.

man/functions.py, scripts/exports and tests use it. It knows the C
of include/perch, not all of C.
"""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include/perch"
COMMENT = re.compile(r"/\*.*?\*/", re.S)
CPLUSPLUS = re.compile(r"^#ifdef __cplusplus\n.*?^#endif\n", re.M | re.S)
DIRECTIVE = re.compile(r"#(?:[^\n\\]|\\.|\\\n)*\n")
TOKEN = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|.', re.S)


class Declaration:
    """A function, datum, type or macro of a header."""

    def __init__(self, kind, name, text, comment, group):
        self.kind = kind            # function, inline, data, typedef, struct, union, enum, macro
        self.name = name
        self.text = text            # as in the header, with the comments of members
        self.comment = comment      # the text of the comment before it, or ""
        self.group = group          # the heading of the part of the header, or ""

    @property
    def exported(self):
        return self.kind in ("function", "data")


class Header:
    """A public header: its comment and its declarations, in order."""

    def __init__(self, path):
        self.path = Path(path)
        self.name = self.path.stem
        self.comment = ""
        self.declarations = []
        parse(self, CPLUSPLUS.sub("", self.path.read_text(encoding="utf-8")))


def comment_text(comment):
    """The text of a comment without its frame of asterisks."""
    inner = re.sub(r"^/\*\*?<?|\*/$", "", comment)
    return "\n".join(re.sub(r"^\s*\* ?", "", line).rstrip() if number else line.strip()
                     for number, line in enumerate(inner.split("\n"))).strip()


def without_comments(text):
    return COMMENT.sub("", text)


def statement_end(text, position):
    """The end of the declaration that begins at position: after its ';', or a function's '}'."""
    depth = 0
    inline = text.startswith("static inline", position)
    for token in TOKEN.finditer(text, position):
        word = token[0]
        depth += word in ("{", "(") and 1
        depth -= word in ("}", ")") and 1
        if depth == 0 and word == ("}" if inline else ";"):
            return token.end()
    raise ValueError(f"a declaration without end: {text[position:position + 60]!r}")


def classify(text):
    """The kind and the name of a declaration."""
    plain = " ".join(without_comments(text).split())
    if found := re.match(r"(struct|union|enum) (\w+) ?[{;]", plain):
        return found[1], found[2]
    plain = re.sub(r" ?__attribute__ ?\(\(.*?\)\)(?=[ ;])", "", plain)
    if found := re.match(r"(PERCH_API|static inline) [^(]*?\b(\w+) ?\(", plain):
        return "function" if found[1] == "PERCH_API" else "inline", found[2]
    if found := re.match(r"PERCH_API [^(]*?\b(\w+)(?:\[\w*\])*;$", plain):
        return "data", found[1]
    if found := re.match(r"typedef [^(]*?\b(\w+) ?[(;]", plain):
        return "typedef", found[1]
    raise ValueError(f"an unknown declaration: {plain!r}")


def parse(header, text):
    position, pending, group = 0, "", ""
    while True:
        position = re.compile(r"\s*").match(text, position).end()
        if position == len(text):
            return
        if text.startswith("/*", position):
            comment = COMMENT.match(text, position)[0]
            position += len(comment)
            content = comment_text(comment)
            if "@file" in content:
                header.comment = content.replace("@file", "", 1).strip()
            elif content.startswith("@name "):
                group = content.removeprefix("@name ").strip()
            elif content == "@}":
                group = ""
            elif comment.startswith("/**") and content != "@{":
                pending = content
            continue
        if text[position] == "#":
            directive = DIRECTIVE.match(text, position)[0]
            position += len(directive)
            found = re.match(r"#define (\w+)", directive)
            if found and pending:
                header.declarations.append(
                    Declaration("macro", found[1], directive.rstrip(), pending, group))
                pending = ""
            continue
        end = statement_end(text, position)
        kind, name = classify(text[position:end])
        header.declarations.append(Declaration(kind, name, text[position:end], pending, group))
        position, pending = end, ""


def library_headers():
    """The names of the headers of each library, in the order of modules, as meson installs them."""
    text = (INCLUDE / "meson.build").read_text(encoding="utf-8")
    lists = re.findall(r"^(\w+)_headers = files\((.*?)\)", text, re.M | re.S)
    names = {"perch": "libperch", "profile": "libperch-profile"}
    return {names[name]: re.findall(r"'(\w+)\.h'", files) for name, files in lists}


def read_library(library):
    """The headers of a library."""
    return [Header(INCLUDE / f"{name}.h") for name in library_headers()[library]]


def unlisted():
    """The headers that belong to no library."""
    listed = {name for names in library_headers().values() for name in names}
    return sorted(path.name for path in INCLUDE.glob("*.h") if path.stem not in listed)
