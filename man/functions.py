#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the manual pages of section 3 of the public headers: functions.py VERSION DIRECTORY LIBRARY...

Each function, type and header has a page, made of its comment. A function whose comment gives no
parameters, but says that they are those of another function, is on the page of that function, and has
an alias page (.so). So do the constants of an enum, on its page, and documented macros, on the page of their
header. The directory is emptied first.

Doxygen writes manual pages too, but one per header or struct, without the sections that pages of
section 3 have. Python runs meson already, so these pages need no further package to build.
"""
import re
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
from headers import read_library, without_comments  # noqa: E402 (the path is set above)
from members import members_of  # noqa: E402

OVERVIEW = {"libperch": "libperch", "libperch-profile": "libperch-profile"}
TAG = re.compile(r"^@(param|return|retval|since)(?:\[([a-z,]+)\])?[ \t]*", re.M)
SAFETY = re.compile(r"^(Threads?|Fork|Signals?|Thread-safe|Async-signal-safe)\b|thread-safe|async-signal-safe", re.I)


def roff(text):
    """Escapes a text. The first character must not be one of a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    text = re.sub(r"\S{48,}", lambda word: re.sub(r"([,/])", r"\1\\:", word[0]), text)
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


class Code(str):
    """Lines of a comment that are indented by four blanks or more: an example."""


class Item(str):
    """An item of a list of a comment: it begins with "- "."""


def blocks_of(text):
    """The paragraphs, examples and items of lists of a text, in order."""
    blocks, kind = [], None
    for line in text.split("\n"):
        code = line.startswith("    ") and kind in (None, Code)
        if not line.strip():
            kind = None
        elif line.startswith("- "):
            kind = Item
            blocks.append([Item, [line[2:]]])
        elif kind is None or (kind is Code) != code:
            kind = Code if code else str
            blocks.append([kind, [line]])
        else:
            blocks[-1][1].append(line)
    return [kind("\n".join(line[4:] for line in lines) if kind is Code else " ".join(" ".join(lines).split())) for kind, lines in blocks]


class Comment:
    """The parts of a comment: paragraphs, examples and items of lists, and its tags."""

    def __init__(self, text):
        parts = TAG.split(text)
        self.paragraphs = blocks_of(parts[0])
        self.params, self.returns, self.errors, self.since = [], [], [], []
        for tag, direction, content in zip(parts[1::3], parts[2::3], parts[3::3]):
            words = " ".join(content.split())
            name, _, rest = words.partition(" ")
            if tag == "param":
                self.params.append((name + (" (output)" if direction == "out" else ""), rest))
            elif tag == "retval":
                self.errors.append((name, rest))
            else:
                (self.returns if tag == "return" else self.since).append(words)
        self.safety = [text for text in self.paragraphs[1:] if SAFETY.search(text)]
        self.paragraphs = [text for text in self.paragraphs if text not in self.safety]

    def brief(self):
        """The first sentence, for NAME and lists."""
        text = self.paragraphs[0] if self.paragraphs else ""
        text = re.split(r"(?<=[^.][.])\s+(?=[A-Z0-9(])", text)[0].rstrip(".")
        if len(text) > 90:
            text = re.split(r": |; | so that |, (?:because|such as|see|for example) ", text)[0]
        text = text.rstrip(":")
        return text[:1].lower() + text[1:] if re.match(r"[A-Z][a-z]*( |$)", text) else text


class Pages:
    """The declarations of all libraries, and the pages made of them."""

    def __init__(self, version, libraries):
        self.version = version
        self.headers = [(library, header) for library in libraries for header in read_library(library)]
        self.types, self.functions = {}, {}
        for library, header in self.headers:
            for item in header.declarations:
                item.library, item.header, item.notes = library, header, Comment(item.comment)
                if item.kind in ("function", "inline", "data"):
                    self.functions[item.name] = item
                elif item.kind in ("struct", "union", "enum", "typedef"):
                    known = self.types.get(item.name)
                    if not known or "{" in item.text and "{" not in known.text:
                        self.types[item.name] = item
        self.aliases = {item.name: main for item in self.functions.values() if (main := self.main_of(item))}

    def main_of(self, item):
        """The function with the parameters of this one, by its comment."""
        found = re.search(r"[Pp]arameters (?:and results? )?are those of (perch_\w+)", item.comment)
        main = self.functions.get(found[1]) if found else None
        return None if item.notes.params or not main or main is item or main.header is not item.header else main.name

    def linked(self, text):
        """A text with its names in bold, and with the sections of functions and types."""
        text = roff(text)
        text = re.sub(r"\b(perch_\w+)\(\)", r"\\fB\1\\fP(3)", text)
        text = re.sub(r"\b(struct|enum|union) (perch_\w+)", r"\1 \\fB\2\\fP", text)
        text = re.sub(r"(?<![\w\\])((?:lib)?perch\\-[a-z\\-]+|[a-z_]{2,}[0-9]?)\(([1-8])\)", r"\\fB\1\\fP(\2)", text)
        return re.sub(r"\b(PERCH_[A-Z0-9_]+\*?)", r"\\fB\1\\fP", text)

    def refer(self, names):
        return ", ".join(f"\\fB{roff(name)}\\fP({section})" for name, section in names)

    def types_in(self, text):
        names = re.findall(r"\b(?:struct|enum|union) (perch_\w+)", without_comments(text))
        names += [name for name in re.findall(r"\b(perch_\w+)\b", text)
                  if name in self.types and self.types[name].kind == "typedef"]
        return [name for name in dict.fromkeys(names) if name in self.types]

    def see_also(self, item, *texts):
        """What the page of an item refers to: names in its texts, its types, its header and library."""
        names = []
        for text in texts:
            names += [(name, 3) for name in re.findall(r"\b(perch_\w+)\(\)", text)
                      if name in self.functions]
            names += [(name, 3) for name in self.types_in(text)]
            names += [(name, int(number)) for name, number in
                      re.findall(r"\b((?:lib)?perch-[a-z-]+|perf_event_open|ioctl|mmap|prctl)\(([1-8])\)", text)]
        names += [(f"perch_{item.header.name}.h", 3), (OVERVIEW[item.library], 3)]
        return self.refer([entry for entry in dict.fromkeys(names) if entry[0] != item.name])

    def page(self, name, brief, library):
        return [f".TH \"{name}\" 3 \"\" \"perch {self.version}\" \"{library}\"", ".nh", ".ad l", ".SH NAME",
                f"{name} \\- {roff(brief)}"]

    def paragraphs(self, texts):
        lines = []
        for text in texts:
            if isinstance(text, Code):
                lines += [".PP", ".RS 4", ".nf", roff(text), ".fi", ".RE"]
            elif isinstance(text, Item):
                lines += [".IP \\(bu 2", self.linked(text)]
            else:
                lines += [".PP", self.linked(text)]
        return lines

    def tagged(self, entries):
        lines = []
        for term, text in entries:
            first, *more = blocks_of(text) or [""]
            lines += [".TP", f"\\fB{roff(term)}\\fP", self.linked(first) or "\\&"]
            lines += [".RS"] + self.paragraphs(more) + [".RE"] if more else []
        return lines

    def synopsis(self, header, declarations):
        lines = [".SH SYNOPSIS", ".nf", f"\\fB#include <perch/{header.name}.h>\\fP", ".PP"]
        for declaration in declarations:
            lines += [roff(line) if line else ".sp" for line in declaration.split("\n")]
        return lines + [".fi"]

    def function_page(self, item):
        same = [self.functions[name] for name, main in self.aliases.items() if main == item.name]
        notes = item.notes
        names = ", ".join([item.name] + [other.name for other in same])
        lines = self.page(item.name, notes.brief(), item.library)
        lines[-1] = f"{names} \\- {roff(notes.brief())}"
        lines += self.synopsis(item.header, [prototype(one) for one in [item] + same])
        lines += [".SH DESCRIPTION"] + self.paragraphs(notes.paragraphs)
        for other in same:
            lines += [".PP", f"\\fB{other.name}\\fP():"] + self.paragraphs(other.notes.paragraphs)[1:]
        if notes.params:
            lines += [".SH PARAMETERS"] + self.tagged(notes.params)
        lines += self.results(item)
        if item.kind != "data":
            safety = notes.safety + Comment(item.header.comment).safety
            lines += [".SH THREADS, FORK AND SIGNALS"] + self.paragraphs(safety) if safety else []
        since = [text for one in [item] + same for text in one.notes.since]
        lines += [".SH VERSIONS"] + self.paragraphs(f"Since {text}." if not text.endswith(".") else f"Since {text}"
                                                    for text in dict.fromkeys(since)) if since else []
        lines += [".SH SEE ALSO", self.see_also(item, item.text, item.comment, *(one.comment for one in same))]
        return lines

    def results(self, item):
        notes, lines = item.notes, []
        text = " ".join(notes.returns)
        if not text:
            sentences = re.split(r"(?<=[^.][.])\s+(?=[A-Z])", " ".join(text for text in notes.paragraphs if not isinstance(text, Code)))
            text = " ".join(one.removeprefix("Returns ") for one in sentences if one.startswith("Returns "))
        if text:
            lines += [".SH RETURN VALUE"] + self.paragraphs([text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")])
        if "struct perch_error *err" in item.text and item.notes.params:
            general = ["On failure err has the reason and a remedy, see struct perch_error. It may be NULL."]
        else:
            general = []
        if notes.errors or general:
            lines += [".SH ERRORS"] + self.paragraphs(general) + self.tagged(notes.errors)
        return lines

    def type_page(self, item):
        notes = item.notes
        text = item.text
        if item.kind == "typedef":
            brief = notes.brief() or f"a type of {item.header.name}.h"
        else:
            brief = notes.brief()
        lines = self.page(item.name, brief, item.library)
        lines += self.synopsis(item.header, [definition(text)])
        lines += [".SH DESCRIPTION"] + self.paragraphs(notes.paragraphs)
        entries = members_of(item, self.macros(item.header)) if "{" in text else []
        if entries:
            lines += [".SH " + ("CONSTANTS" if item.kind == "enum" else "MEMBERS")] + self.tagged(entries)
        users = [one for one in self.functions.values() if item.name in self.types_in(one.text)]
        if users and item.name != "perch_error":
            lines += [".SH FUNCTIONS"] + self.tagged((one.name, one.notes.brief()) for one in users)
        holders = [one.name for one in self.types.values()
                   if one is not item and "{" in one.text and item.name in self.types_in(one.text)]
        lines += [".SH SEE ALSO", self.see_also(item, text, item.comment,
                                                *(f"struct {name}" for name in holders))]
        return lines

    def macros(self, header):
        return {item.name: item.text for _, other in self.headers for item in other.declarations
                if item.kind == "macro"}

    def constants(self):
        """The names of constants and macros, with the page that has each."""
        pages = {}
        for _, header in self.headers:
            for item in header.declarations:
                if item.kind == "macro":
                    pages[item.name] = f"perch_{header.name}.h"
                elif item.kind == "enum" and "{" in item.text:
                    pages.update((name, item.name) for name, _ in members_of(item, self.macros(header)))
        return pages

    def header_page(self, library, header):
        notes = Comment(header.comment)
        lines = self.page(f"perch_{header.name}.h", notes.brief(), library)
        lines += self.synopsis(header, []) + [".SH DESCRIPTION"] + self.paragraphs(notes.paragraphs)
        if notes.safety:
            lines += [".SH THREADS, FORK AND SIGNALS"] + self.paragraphs(notes.safety)
        groups = (("FUNCTIONS", ("function", "inline")), ("DATA", ("data",)),
                  ("TYPES", ("struct", "union", "enum", "typedef")), ("MACROS", ("macro",)))
        for heading, kinds in groups:
            found = {item.name: item for item in header.declarations if item.kind in kinds}
            if found:
                lines += [".SH " + heading]
                lines += self.tagged((name, " ".join(item.notes.paragraphs) if kinds == ("macro",) else item.notes.brief())
                                     for name, item in found.items())
        item = header.declarations[0]
        lines += [".SH SEE ALSO", self.see_also(item, header.comment).replace(f"\\fBperch_{header.name}.h\\fP(3), ", "")]
        return lines

    def write(self, directory):
        for item in self.functions.values():
            lines = [f".so man3/{self.aliases[item.name]}.3"] if item.name in self.aliases else self.function_page(item)
            self.write_page(directory, item.name, lines)
        for item in self.types.values():
            if item.name not in self.functions:
                self.write_page(directory, item.name, self.type_page(item))
        for name, page in self.constants().items():
            self.write_page(directory, name, [f".so man3/{page}.3"])
        for library, header in self.headers:
            self.write_page(directory, f"perch_{header.name}.h", self.header_page(library, header))

    @staticmethod
    def write_page(directory, name, lines):
        (directory / f"{name}.3").write_text("\n".join(lines) + "\n", encoding="utf-8")


def prototype(item):
    """The declaration of a function or datum, without attributes of the compiler."""
    text = without_comments(item.text)
    if item.kind == "inline":
        text = text[:text.index("{")].replace("static inline ", "").strip() + ";"
    text = re.sub(r"\s*__attribute__\s*\(\(.*?\)\)(?=[\s;])", "", text, flags=re.S)
    words = " ".join(text.replace("PERCH_API ", "").split()).replace("( ", "(")
    if len(words) <= 72 or "(" not in words:
        return words
    head, _, rest = words.partition("(")
    lines, line = [], head + "("
    for part in (rest[:-2]).split(", "):
        part += ", "
        if len(line) + len(part) > 73 and not line.endswith("("):
            lines.append(line.rstrip())
            line = "        "
        line += part
    return "\n".join(lines + [line.rstrip(", ") + ");"])


def definition(text):
    """A type without the comments of its members."""
    text = without_comments(text)
    text = re.sub(r"^#.*\n", "", text, flags=re.M).replace("__extension__ ", "")
    text = re.sub(r"([^;,{}\s])\n\s*(\w+ : )", r"\1 \2", text)
    lines = [line.rstrip().expandtabs(8) for line in text.split("\n")]
    return "\n".join(line for line in lines if line.strip())


def main():
    version, directory, libraries = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    Pages(version, libraries).write(directory)


main()
