# SPDX-License-Identifier: MIT
"""The manual pages of a build directory as HTML, by mandoc.

mandoc makes the HTML of one page. This module removes the lines at its top and end, lowers the headings below that of the page, gives each
option an id, and makes links of the names of other pages.
"""
import html
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TERM = re.compile(r'<p class="Pp">((?:(?!</p>).)*?<b>-(?:(?!</p>).)*?)</p>\n(?=<div class="Bd-indent">)', re.S)
# tags, and links as a whole: the text in between is what names are looked for in
TAG = re.compile(r"(<a\b.*?</a>|<h1.*?</h1>|<[^>]*>)", re.S)
NAME = re.compile(r"\b(?:lib)?perch[\w.-]*(?:\(([1-8])\))?|\bPERCH_\w+")


def plain(text):
    """The text of HTML on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", text)).split())


class Manual:
    """All pages. The page of an alias is that of the name that it stands for."""

    def __init__(self, build):
        directory = Path(build) / "man"
        self.files = {file.name: file for file in [*directory.glob("*.[1-8]"), *(directory / "man3").glob("*.3")]}
        self.missing = set()    # names of pages in texts that are no pages
        self.target = {}        # file of each page and alias: "perch_event.3" -> "perch_event.3"
        for name, file in self.files.items():
            with open(file, encoding="utf-8") as page:
                first = page.readline().split()
            self.target[name] = Path(first[1]).name if first[:1] == [".so"] else name

    def pages(self):
        return sorted(name for name, target in self.target.items() if name == target)

    def find(self, name, section):
        """The page of a name in a text, or None."""
        for number in [section] if section else ["3"] if "_" in name else []:
            if f"{name}.{number}" in self.target:
                return self.target[f"{name}.{number}"]
        return None

    def refer(self, text, directory="", own=None):
        """The text, which may have tags, with links to the pages that it names."""
        text = re.sub(r"<b>([\w.-]+)</b>\(([1-8])\)", r"\1(\2)", text)

        def link(match):
            page = self.find(match[0].split("(")[0].rstrip(".-"), match[1])
            if match[1] and not page:
                self.missing.add(match[0])
            return f'<a href="{directory}{page}.html">{match[0]}</a>' if page and page != own else match[0]
        parts = TAG.split(text)
        parts[::2] = [NAME.sub(link, part) for part in parts[::2]]
        return "".join(parts)

    def html_of(self, name):
        """The page as (title, summary, HTML, options), each option a pair of its names and its text."""
        done = subprocess.run(["mandoc", "-Thtml", "-Ofragment", str(self.files[name])], capture_output=True, text=True, check=True)
        text = re.sub(r'<table class="(?:head|foot)">.*?</table>\n', "", done.stdout, flags=re.S)
        text = re.sub(r"\n<br/>\n", "\n", text.replace("<pre></pre>\n", ""))
        text = re.sub(r"<(/?)h([12])\b", lambda match: f"<{match[1]}h{int(match[2]) + 1}", text)
        text = text.replace("<pre>", '<pre tabindex="0">').replace('<table class="tbl"', '<table class="tbl" tabindex="0"')
        seen, options = set(re.findall(r'id="([^"]*)"', text)), []

        def term(match):
            def option(bold):
                if bold[1] in seen:
                    return bold[0]
                seen.add(bold[1])
                return f'<b id="{bold[1]}">{bold[1]}</b>'
            names = re.findall(r"<b>(-[\w-]+)", match[1])
            described = plain(text[match.end():text.find("</div>", match.end())])
            options.append((names[0], plain(match[1]), described))
            return f'<p class="term">{re.sub(r"<b>(-[^<]+)</b>", option, match[1])}</p>\n'
        text = TERM.sub(term, text)
        base, section = name.rsplit(".", 1)
        summary = re.search(r'id="NAME".*?<p class="Pp">.*? - (.*?)</p>', text, re.S)
        return f"{base}({section})", plain(summary[1]) if summary else "", self.refer(text, own=name), options

    def all(self):
        """Yields (file, title, summary, HTML, options) of all pages."""
        names = self.pages()
        with ThreadPoolExecutor(2) as threads:
            for name, made in zip(names, threads.map(self.html_of, names)):
                yield (name, *made)
