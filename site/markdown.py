# SPDX-License-Identifier: MIT
"""Markdown to HTML: the part of it that the texts of perch use.

Headings, paragraphs, fenced code, tables, lists, links, pictures, code, emphasis. Anything else is text.
"""
import html
import re

SPAN = re.compile(r"(?P<code>(`+) ?(?P<text>.+?) ?\2)|!\[(?P<alt>[^\]]*)\]\((?P<picture>[^)]+)\)|\[(?P<label>[^\]]+)\]\((?P<to>[^)]+)\)"
                  r"|\*\*(?P<bold>.+?)\*\*|(?<![\w*])\*(?P<emphasis>[^\s*][^*]*?)\*(?!\w)", re.S)
ITEM = re.compile(r"(?P<indent> *)(?P<mark>[-*]|\d+\.) +(?P<text>.*)")


def slug(text, used):
    """The id of a heading, as other renderers of Markdown make it."""
    base = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", text).lower()).strip().replace(" ", "-") or "section"
    number = used[base] = used.get(base, -1) + 1
    return f"{base}-{number}" if number else base


class Renderer:
    """Renders one text. `link` maps the target of a link to that on the page, `refer` makes links of names in plain text."""

    def __init__(self, link=lambda target: target, refer=lambda text: text):
        self.link, self.refer = link, refer
        self.headings = []      # (level, id, text)
        self.used = {}

    def span(self, text):
        """The HTML of a line of text with its code, links and bold parts."""
        out, at = [], 0
        for match in SPAN.finditer(text):
            out.append(self.refer(html.escape(text[at:match.start()], quote=False)))
            at = match.end()
            if match["code"]:
                out.append(f"<code>{self.refer(html.escape(match['text'], quote=False))}</code>")
            elif match["picture"]:
                alt, picture = html.escape(match["alt"]), html.escape(self.link(match["picture"]))
                out.append(f'<img src="{picture}" alt="{alt}">')
            elif match["label"]:
                out.append(f'<a href="{html.escape(self.link(match["to"]))}">{self.span(match["label"])}</a>')
            elif match["emphasis"]:
                out.append(f"<em>{self.span(match['emphasis'])}</em>")
            else:
                out.append(f"<strong>{self.span(match['bold'])}</strong>")
        out.append(self.refer(html.escape(text[at:], quote=False)))
        return "".join(out)

    def heading(self, line):
        level, text = len(line) - len(line.lstrip("#")), line.lstrip("#").strip()
        name = slug(text, self.used)
        self.headings.append((level, name, re.sub(r"[`*]", "", text)))
        return f'<h{level} id="{name}">{self.span(text)}</h{level}>'

    def table(self, lines):
        rows = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]
        head = "".join(f'<th scope="col">{self.span(cell)}</th>' for cell in rows[0])
        body = "".join("<tr>" + "".join(f"<td>{self.span(cell)}</td>" for cell in row) + "</tr>\n" for row in rows[2:])
        return f'<div class="wide" tabindex="0"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>'

    def list(self, lines):
        """The lines of a list: items, each with what is indented below it."""
        first = ITEM.match(lines[0])
        kind, indent = ("ol" if first["mark"][0].isdigit() else "ul"), len(first["indent"])
        items = []
        for line in lines:
            match = ITEM.match(line)
            if match and len(match["indent"]) == indent:
                items.append([match["text"]])
            else:
                items[-1].append(re.sub(rf"^ {{0,{indent + 4 if kind == 'ol' else indent + 2}}}", "", line))
        inner = (self.render("\n".join(item)) for item in items)
        return f"<{kind}>\n" + "".join("<li>" + re.sub(r"^<p>(.*?)</p>", r"\1", text, count=1, flags=re.S) + "</li>\n" for text in inner) + f"</{kind}>"

    def code(self, info, lines):
        text = html.escape("\n".join(lines), quote=False)
        if info.split(" ")[0] in ("console", ""):
            text = re.sub(r"^(\$ .*(?:\\\n.*)*)$", r"<b>\1</b>", text, flags=re.M)
            text = re.sub(r"\A(# .*(?:\\\n.*)*)$", r"<b>\1</b>", text, flags=re.M) if info else text
        return f'<pre tabindex="0"><code>{self.refer(text)}\n</code></pre>'

    def blocks(self, text):
        """Yields the kind and the lines of each block."""
        lines = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S).split("\n")
        at = 0
        while at < len(lines):
            line, start = lines[at], at
            at += 1
            if line.startswith("```"):
                while at < len(lines) and not lines[at].startswith("```"):
                    at += 1
                yield "code", line[3:].strip(), lines[start + 1:at]
                at += 1
            elif re.match(r"#{1,6} ", line):
                yield "heading", "", [line]
            elif line.startswith("|") and at < len(lines) and re.match(r"\|[-:| ]+$", lines[at]):
                while at < len(lines) and lines[at].startswith("|"):
                    at += 1
                yield "table", "", lines[start:at]
            elif ITEM.match(line):
                while at < len(lines) and (lines[at].startswith(" ") and lines[at].strip() or ITEM.match(lines[at]) or
                                           not lines[at].strip() and at + 1 < len(lines) and re.match(r"  +\S", lines[at + 1])):
                    at += 1
                yield "list", "", lines[start:at]
            elif line.strip():
                while at < len(lines) and lines[at].strip() and not re.match(r"```|#{1,6} |\|.*\|$", lines[at]) and not ITEM.match(lines[at]):
                    at += 1
                yield "paragraph", "", lines[start:at]

    def render(self, text):
        out = []
        for kind, info, lines in self.blocks(text):
            if kind == "code":
                out.append(self.code(info, lines))
            elif kind == "heading":
                out.append(self.heading(lines[0]))
            elif kind == "paragraph":
                out.append(f"<p>{self.span(chr(10).join(line.strip() for line in lines))}</p>")
            else:
                out.append(getattr(self, kind)(lines))
        return "\n".join(out)
