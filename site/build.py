#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the documentation site: build.py BUILD [DIRECTORY] (BUILD/site).

README.md is the start page, site/guide has the chapters of the guide, BUILD/man the manual pages. The pages are static files, which need no
network and no server. The same sources make the same bytes: the output of commands in the guide is part of its text (site/run.py).
"""
import html
import json
import re
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path += [str(HERE), str(ROOT / "scripts")]
from headers import read_library  # noqa: E402 (the path is set above)
from manual import Manual, plain  # noqa: E402
from markdown import Renderer  # noqa: E402

CHAPTERS = ["count", "sample", "see", "wait", "embed", "fleet"]
SECTIONS = {"1": "Commands", "7": "Events, options and records", "3": "Libraries"}
TEXT = 300      # characters of a section that the search has

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="{up}style.css">
<script src="{up}search.js" defer></script>
</head>
<body>
<a class="skip" href="#page-text">Skip to the text</a>
<header>
<nav aria-label="Site">
{links}
</nav>
<form action="{up}search.html" role="search"><input type="search" name="q" aria-label="Search the documentation" placeholder="Search ( / )"></form>
</header>
<div class="page">
{contents}<main id="page-text" tabindex="-1">
{body}
</main>
</div>
<footer>perch {version}</footer>
</body>
</html>
"""


class Site:
    def __init__(self, build, output):
        self.output = output
        self.manual = Manual(build)
        self.version = re.search(r'PERCH_VERSION_STRING "(.*)"', (ROOT / "include/perch/version.h").read_text(encoding="utf-8"))[1]
        self.index = []         # of the search: title, address, text
        self.links = [("index.html", "perch"), *((f"{name}.html", name.capitalize()) for name in CHAPTERS),
                      ("manual.html", "Manual"), ("api.html", "API"), ("changelog.html", "Changes")]

    def write(self, path, title, body):
        """Writes a page, with the list of its headings of level 2 if it has some."""
        up = "../" * path.count("/")
        headings = re.findall(r'<h2[^>]* id="([^"]*)"[^>]*>(.*?)</h2>', body, re.S)
        entries = "".join(f'<li><a href="#{name}">{html.escape(plain(text), quote=False)}</a></li>\n' for name, text in headings)
        contents = f'<nav class="contents" aria-label="On this page"><ul>\n{entries}</ul></nav>\n' if len(headings) > 2 else ""
        links = "\n".join(f'<a href="{up}{to}"' + (' aria-current="page"' if to == path else "") + f">{name}</a>" for to, name in self.links)
        page = PAGE.format(title=html.escape(title), up=up, links=links, contents=contents, body=body, version=self.version)
        (self.output / path).parent.mkdir(parents=True, exist_ok=True)
        (self.output / path).write_text(page, encoding="utf-8")

    def add_sections(self, title, path, body):
        """The sections of a page become entries of the search."""
        parts = re.split(r'<h[12][^>]* id="([^"]*)"[^>]*>(.*?)</h[12]>', body, flags=re.S)
        for name, heading, text in zip(parts[1::3], parts[2::3], parts[3::3]):
            heading = plain(heading)
            self.index.append([title if heading == title else f"{title}: {heading}", f"{path}#{name}", plain(text)[:TEXT]])

    def markdown(self, source, path):
        """A page of a text in Markdown. A link to another text becomes one to its page."""
        def link(target):
            return "index.html" if target == "README.md" else re.sub(r"^(\w+)\.md\b", r"\1.html", target)
        renderer = Renderer(link, lambda text: self.manual.refer(text, "man/"))
        body = renderer.render(source.read_text(encoding="utf-8"))
        title = renderer.headings[0][2]
        self.write(path, title if title == "perch" else f"{title} - perch", body)
        self.add_sections(title, path, body)

    def man_pages(self):
        """The manual pages. Returns the summaries by page."""
        summaries = {}
        for name, title, summary, body, options in self.manual.all():
            path = f"man/{name}.html"
            self.write(path, f"{title} - perch", f"<h1>{title}</h1>\n{body}")
            summaries[name] = summary
            self.index.append([title, path, summary])
            if not name.endswith(".3") or name.startswith("lib"):
                command = title.split("(")[0].replace("-", " ", 1)
                self.add_sections(title, path, body)
                self.index += [[f"{command} {names}", f"{path}#{first}", text[:TEXT]] for first, names, text in options]
        for alias, target in sorted(self.manual.target.items()):
            if alias != target:
                self.index.append([alias.rsplit(".", 1)[0], f"man/{target}.html", summaries[target]])
        return summaries

    def manual_index(self, summaries):
        parts = ["<h1>Manual</h1>"]
        for section, heading in SECTIONS.items():
            names = [name for name in summaries if name.endswith("." + section) and (section != "3" or name.startswith("lib"))]
            rows = "".join(f'<dt><a href="man/{name}.html">{name[:-2]}({section})</a></dt><dd>{html.escape(summaries[name])}</dd>\n' for name in names)
            parts.append(f'<h2 id="section-{section}">{heading}</h2>\n<dl class="list">\n{rows}</dl>')
        parts.append('<p>The functions and types of the libraries have pages, too: <a href="api.html">API</a>.</p>')
        self.write("manual.html", "Manual - perch", "\n".join(parts))

    def api_index(self, summaries):
        """The functions and types of each public header."""
        parts = ["<h1>API</h1>", '<p>Each function and type has a page. <a href="man/libperch.3.html">libperch(3)</a> and '
                 '<a href="man/libperch-profile.3.html">libperch-profile(3)</a> are the overviews, <a href="embed.html">Embed</a> is the introduction.</p>']
        for library in ("libperch", "libperch-profile"):
            parts.append(f'<h2 id="{library}">{library}</h2>')
            for header in read_library(library):
                page = f"perch_{header.name}.h.3"
                names = [item.name for item in header.declarations if f"{item.name}.3" in summaries]
                rows = "".join(f'<dt><a href="man/{name}.3.html">{name}</a></dt><dd>{html.escape(summaries[name + ".3"])}</dd>\n' for name in names)
                parts.append(f'<h3 id="{library}-{header.name}"><a href="man/{page}.html">perch/{header.name}.h</a></h3>\n'
                             f'<p>{html.escape(summaries[page])}</p>\n' + (f'<dl class="list">\n{rows}</dl>' if rows else ""))
        self.write("api.html", "API - perch", "\n".join(parts))

    def build(self):
        for chapter in CHAPTERS:
            self.markdown(HERE / f"guide/{chapter}.md", f"{chapter}.html")
        self.markdown(ROOT / "README.md", "index.html")
        summaries = self.man_pages()
        self.manual_index(summaries)
        self.api_index(summaries)
        self.markdown(ROOT / "CHANGELOG.md", "changelog.html")
        self.write("search.html", "Search - perch", '<h1>Search</h1>\n<p id="count" role="status">Type a word in the field at the top: the name of a command, '
                   'an option, a function or any word.</p>\n<ol id="found"></ol>\n<noscript><p>The search needs JavaScript. '
                   '<a href="manual.html">Manual</a> and <a href="api.html">API</a> list all pages.</p></noscript>\n<script src="index.js"></script>')
        (self.output / "index.js").write_text("const searchIndex = " + json.dumps(self.index, ensure_ascii=False, separators=(",", ":"))
                                              .replace("],[", "],\n[") + ";\n", encoding="utf-8")
        for name in ("style.css", "search.js"):
            shutil.copy(HERE / name, self.output / name)
        (self.output / "pictures").mkdir()
        for picture in sorted(set(re.findall(r"\]\(pictures/([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")))):
            shutil.copy(ROOT / "pictures" / picture, self.output / "pictures" / picture)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: build.py BUILD [DIRECTORY]")
    if not shutil.which("mandoc"):
        sys.exit("site: mandoc is not installed: run scripts/setup docs")
    build = Path(sys.argv[1])
    output = Path(sys.argv[2]) if len(sys.argv) == 3 else build / "site"
    if not (build / "man/man3").is_dir():
        sys.exit(f"site: there are no manual pages in {build / 'man'}: run make build, with scdoc installed")
    # only what an earlier run has made is removed
    if output.exists() and any(output.iterdir()) and not (output / "search.html").exists():
        sys.exit(f"site: {output} has other files: name an empty or a new directory")
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    site = Site(build, output)
    site.build()
    if site.manual.missing:
        sys.exit(f"site: there are no pages {', '.join(sorted(site.manual.missing))}")
    print(f"site: {len(list(output.rglob('*.html')))} pages in {output}")


main()
