# SPDX-License-Identifier: MIT
"""The members of structs and the constants of enums, with their comments."""
import re

from headers import comment_text

TOKEN = re.compile(r'/\*.*?\*/|#(?:[^\n\\]|\\.|\\\n)*\n|"(?:\\.|[^"\\])*"|.', re.S)


def statements(body, separator):
    """Yields (declaration, comment) for each member of a body, in order."""
    pending, text, depth, last = "", "", 0, None
    found = []
    for token in TOKEN.finditer(body):
        word = token[0]
        if word.startswith("/*"):
            if depth:
                text += word
            elif word.startswith("/**<"):
                if last is not None:
                    found[last][1] = (found[last][1] + " " + comment_text(word)).strip()
            elif word.startswith("/**"):
                pending = comment_text(word)
        elif word.startswith("#") and not depth:
            continue
        elif word == separator and depth == 0:
            found.append([" ".join(text.split()) if "{" not in text else text.strip(), pending])
            text, pending, last = "", "", len(found) - 1
        else:
            depth += word in "{(" and 1
            depth -= word in "})" and 1
            text += word
    if text.strip():
        found.append([" ".join(text.split()), pending])
    return found


def last_comment(body):
    """The comment after the last constant, which has no comma."""
    found = re.search(r"/\*\*<((?:[^*]|\*(?!/))*)\*/\s*$", body)
    return comment_text("/**<" + found[1] + "*/") if found else ""


def expand(text, macros):
    """The entries X(NAME, ..., "meaning") of a list macro, and of the lists in it."""
    entries = []
    for found in re.finditer(r'\bX\((\w+),.*?"((?:[^"\\]|\\.)*)"\s*\)|\b(PERCH_\w+)\(X\)', text, re.S):
        if found[3] and found[3] in macros and macros[found[3]] is not text:
            entries += expand(macros[found[3]].split("(X)", 1)[1], macros)
        elif found[1]:
            entries.append((found[1], found[2]))
    return entries


def members_of(item, macros):
    """The members of a struct, or the constants of an enum, as (term, text)."""
    body = item.text[item.text.index("{") + 1:item.text.rindex("}")]
    if item.kind == "enum":
        return constants(body, macros)
    return list(struct_members(body, ""))


def constants(body, macros):
    entries = []
    prefix = re.search(r"\b(PERCH_\w+_)##name", body)
    for text, comment in statements(body, ","):
        listed = re.match(r"(PERCH_\w+)\(\w+\)\s*(.*)", text)
        if listed and prefix and listed[1] in macros:
            entries += [(prefix[1] + name, meaning)
                        for name, meaning in expand(macros[listed[1]].split("(X)", 1)[1], macros)]
            text = listed[2]
        if text:
            entries.append((text.split("=")[0].strip(), comment))
    if entries and not entries[-1][1]:
        entries[-1] = (entries[-1][0], last_comment(body))
    return [entry for entry in entries if entry[1] or not entry[0].endswith("_MAX")]


def struct_members(body, before):
    for text, comment in statements(body, ";"):
        nested = re.match(r"(?:__extension__\s+)?(?:struct|union)(?:\s+\w+)?\s*\{(.*)\}\s*(\w*)$", text, re.S)
        if nested:
            if comment and nested[2]:
                yield before + nested[2], comment
            yield from struct_members(nested[1], before + (nested[2] + "." if nested[2] else ""))
        else:
            for name in names(text):
                yield before + name, comment


def names(text):
    """The names that one declaration declares."""
    if pointer := re.search(r"\(\*(\w+)(?:\[\w*\])?\)", text):
        return [pointer[1]]
    return [re.search(r"(\w+)(?:\[[^\]]*\])*(?: ?: ?\d+)?$", part.strip())[1] for part in text.split(",")]
