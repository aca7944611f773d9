#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a documentation site: links.py DIRECTORY [--external].

Each link within the site leads to a file, and to an element of it if it has a fragment. Each page has a title that no other page has, one
heading of level 1, ids that occur once, no level of heading left out, a text for each picture, and loads nothing from a network. With --external it lists links
to other sites, which it does not follow.
"""
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

EMPTY = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded, self.levels, self.problems, self.open = [], [], [], [], [], []
        self.title = ""
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"elements without end: {self.open}")

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag not in EMPTY:
            self.open.append(tag)
        if "id" in values:
            self.ids.append(values["id"])
        for name in ("href", "src", "action"):
            if values.get(name):
                (self.loaded if (tag, name) in LOADED else self.links).append(values[name])
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.levels.append(int(tag[1]))
        if tag == "img" and not values.get("alt"):
            self.problems.append("a picture without a text")

    def handle_endtag(self, tag):
        if tag in EMPTY:
            return
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"line {self.getpos()[0]}: </{tag}> ends <{self.open[-1] if self.open else ''}>")
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if self.open and self.open[-1] == "title":
            self.title += data

    def faults(self):
        yield from self.problems
        if not self.title.strip():
            yield "no title"
        if self.levels.count(1) != 1:
            yield f"{self.levels.count(1)} headings of level 1"
        yield from (f"a heading of level {after} below one of level {before}" for before, after in zip(self.levels, self.levels[1:]) if after > before + 1)
        yield from (f"the id {name} occurs {number} times" for name, number in Counter(self.ids).items() if number > 1)


def external(address):
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)


def faults_of_link(root, pages, page, address):
    path, fragment = urldefrag(address)
    target = (page.parent / unquote(path)).resolve() if path else page
    if root not in target.parents or not target.is_file():
        yield f"there is no {address}"
    elif fragment and target in pages and unquote(fragment) not in pages[target].ids:
        yield f"there is no #{fragment} in {target.relative_to(root)}"


def check(root):
    """Returns the faults and the links to other sites."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    faults, others, titles = [], set(), {}
    for path, page in pages.items():
        name = path.relative_to(root)
        found = list(page.faults())
        found += [f"the title is that of {titles[page.title]}"] if page.title in titles else []
        titles[page.title] = name
        for address in page.links + page.loaded:
            if not external(address):
                found += faults_of_link(root, pages, path, address)
            elif address in page.loaded:
                found.append(f"it loads {address}")
            else:
                others.add(address)
        faults += [f"{name}: {fault}" for fault in dict.fromkeys(found)]
    return len(pages), faults, sorted(others)


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: links.py DIRECTORY [--external]")
    number, faults, others = check(Path(sys.argv[1]).resolve())
    for fault in faults:
        print(fault)
    if "--external" in sys.argv:
        print("\n".join(others))
    print(f"links: {number} pages, {len(faults)} faults, {len(others)} links to other sites")
    sys.exit(bool(faults) or not number)


if __name__ == "__main__":
    main()
