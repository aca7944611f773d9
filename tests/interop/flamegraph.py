#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch flamegraph: its page in Chromium has the sums of perch report, shows names as text, and its controls, keys and links work."""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import cases
import chromium
import large_recording
from cases import check
from peer import result

PERCH = os.environ.get("PERCH", "perch")
EVIL, COMM = "<script>alert(1)</script>", "</script>&amp;"

# Two threads, recursion, an inlined function, and names that are markup: objcopy renames evil().
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) void inlined(unsigned long i)
{
	for (int k = 0; k < 20; k++)
		sink += i ^ sink;
}
__attribute__((noinline)) void evil(int n)
{
	for (int i = 0; i < n; i++)
		inlined(i);
}
__attribute__((noinline)) void recurse(int depth)
{
	if (depth)
		recurse(depth - 1);
	else
		evil(2000);
	sink++;
}
__attribute__((noinline)) void work(int ms, int depth)
{
	struct timespec now;

	do {
		recurse(depth);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}
static void *run(void *unused)
{
	prctl(PR_SET_NAME, "</script>&amp;");
	work(60, 3);
	return unused;
}
int main(void)
{
	pthread_t thread;

	work(60, 2);
	pthread_create(&thread, 0, run, 0);
	pthread_join(thread, 0);
	return 0;
}
"""


def write_page(path, *options):
    status, _, err = result(PERCH, "flamegraph", "-o", path, *options)
    check(status == 0, "perch flamegraph " + " ".join(options[:2]), err)


def check_text(path):
    text = open(path, encoding="utf-8").read()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    check(policy and policy.group(1).startswith("default-src 'none'; script-src 'sha256-"), "the policy forbids everything from outside", policy)
    check(EVIL not in text and text.count("<script") == 2 and text.count("</script") == 2, "no name is in the markup")
    check(not re.search(r"\b(src|href)=|https?://|url\(", text), "no address of another file",
          re.findall(r"\b(?:src|href)=|https?://\S*|url\(", text)[:5])


# ---- in the browser ----

def page_rows(browser):
    """{function: [total, self]} of the page's sums."""
    return {name: values for name, *values in browser.run(
        "perch.sums.map((row) => [perch.data.functions.name[row.fn], row.total, row.self, row.samples])")}


def check_sums(browser, path, data):
    browser.open(path)
    _, out, _ = result(PERCH, "script", "-j", "-F", "comm,tid,time,period,ip,sym", "-i", data)
    samples = json.loads(out) if out.startswith("[") else [json.loads(line) for line in out.splitlines()]
    total, expected = sum(sample["period"] for sample in samples), {}
    for sample in samples:
        names = [frame.get("sym", "[unknown]") for frame in sample["callchain"]]
        for name in set(names):
            expected.setdefault(name, [0, 0, 0])
            expected[name][0] += sample["period"]
            expected[name][2] += 1
        expected[names[0]][1] += sample["period"]
    got = page_rows(browser)
    named = {name: values for name, values in got.items() if not name.startswith("[")}
    expected = {name: values for name, values in expected.items() if not name.startswith("[")}
    check(browser.run("perch.weights.total") == total and total > 0, "the sum of all periods is that of perch script", total)
    facts = browser.run("document.getElementById('notes').innerText")
    check("Command: " in facts and "./program" in facts and f"Kernel: {os.uname().release}" in facts, "the command and the machine", facts)
    check(named == expected and EVIL in named and "recurse" in named, "each function has the sums of perch script",
          [(name, expected.get(name), named.get(name)) for name in sorted(set(expected) | set(named))
           if expected.get(name) != named.get(name)][:5])
    _, out, _ = result(PERCH, "report", "--stdio", "-i", data, "-g", "none", "--children", "-s", "sym")
    shares = {line.split(None, 3)[3].replace(" (inlined)", ""): line.split()[:2] for line in out.splitlines() if re.match(r" +[0-9.]+% +[0-9.]+% +\[", line)}
    ours = {name: [f"{100 * values[0] / total:.2f}%", f"{100 * values[1] / total:.2f}%"] for name, values in named.items()}
    check(all(shares.get(name) == values for name, values in ours.items()), "the shares of perch report",
          [(name, shares.get(name), values) for name, values in ours.items() if shares.get(name) != values][:5])


def check_names(browser):
    check(browser.run("document.querySelectorAll('script').length") == 2, "no name became an element")
    texts = browser.run("[...document.querySelectorAll('#functions td button')].map((node) => node.textContent)")
    check(EVIL in texts, "the table shows a name of markup as text", texts)
    check(COMM in browser.run("[...document.querySelectorAll('#comm option')].map((node) => node.textContent)"),
          "and the list of commands")


def check_sums_and_names(browser, path, data):
    check_sums(browser, path, data)
    check_names(browser)


def middle_of(browser, name, graph="flame"):
    """The position of the widest visible frame of a function, in the window."""
    return browser.run(f"""(() => {{
        const graph = perch[{json.dumps(graph)}], {{ tree, range, width }} = graph, box = graph.canvas.getBoundingClientRect();
        let best = -1;
        for (let i = 0; i < tree.count; i++)
            if (tree.keys.label(tree.key[i]) === {json.dumps(name)} && (best < 0 || tree.total[i] > tree.total[best]))
                best = i;
        const at = (tree.start[best] + tree.total[best] / 2 - range.from) / range.width * width;
        return [box.left + at, box.top + graph.rowOf(tree.depth[best]) + 9];
    }})()""")


def color_at(browser, x, y):
    return browser.run(f"""(() => {{
        const box = perch.flame.canvas.getBoundingClientRect();
        return [...perch.flame.context.getImageData({x} - box.left, {y} - box.top, 1, 1).data];
    }})()""")


def check_flame(browser, path):
    browser.open(path)
    x, y = middle_of(browser, EVIL)
    before = color_at(browser, x, y - 6)
    check(before[3] == 255, "a frame is drawn on the canvas", before)
    browser.mouse("mouseMoved", x, y)
    browser.wait("!document.getElementById('tip').hidden")
    tip = browser.run("document.getElementById('tip').innerText")
    check(EVIL in tip and all(word in tip for word in ("Total", "Self", "Samples", "of all frames of the function:", "program.c:")), "a tooltip", tip)
    browser.click(x, y)
    box = browser.run("[document.getElementById('detail').innerText, document.getElementById('source-lines').innerText]")
    check("Total" in box[0] and "Lines" not in box[0] and "program.c:" in box[1], "the lines of a frame are in a table", box)
    browser.wait("perch.flame.zoomed > 0 && !perch.flame.motion")
    check(browser.run("perch.flame.tree.keys.label(perch.flame.tree.key[perch.flame.zoomed])") == EVIL, "a click zooms")
    fragment = browser.run("location.hash")
    check("path=" in fragment, "the address has the zoom", fragment)
    browser.open(path, fragment)
    check(browser.run("perch.flame.tree.keys.label(perch.flame.tree.key[perch.flame.zoomed])") == EVIL, "a link shows the same zoom")
    browser.run("perch.flame.canvas.focus()")
    browser.key("Escape")
    browser.wait("perch.flame.zoomed === 0 && !perch.flame.motion")
    browser.key("ArrowUp")
    browser.key("ArrowUp")
    check(browser.run("perch.flame.tree.depth[perch.flame.focused]") == 2, "arrow keys move to callees")
    check(browser.run("document.getElementById('live').textContent").endswith("level 2"), "and a screen reader reads the frame")
    browser.key("Enter")
    browser.wait("perch.flame.zoomed === perch.flame.focused && perch.flame.zoomed > 0 && !perch.flame.motion")
    check(True, "Enter zooms")
    for key, focused in (("b", "callees"), ("f", "flame"), ("t", "tree"), ("f", "flame")):
        browser.key(key)
        check(browser.run(f"document.getElementById('{focused}').contains(document.activeElement)"), f"{key} moves the focus to the view",
              browser.run("document.activeElement.outerHTML")[:200])
    check(browser.run("perch.flame.zoomed > 0"), "the zoom stays")
    browser.key("Escape")
    browser.wait("perch.flame.zoomed === 0 && !perch.flame.motion")
    browser.run("perch.flame.zoom(perch.flame.heaviestChild()); document.activeElement.blur()")
    browser.key("Escape")
    browser.wait("perch.flame.zoomed === 0 && !perch.flame.motion")
    check(True, "Escape zooms out, also if nothing has the focus")


def check_search(browser, path):
    browser.open(path)
    browser.run("document.body.focus()")
    browser.key("/")
    check(browser.run("document.activeElement.id") == "search", "/ moves to the search")
    browser.call("Input.insertText", text="^<SCRIPT>")
    browser.wait("document.getElementById('matched').textContent !== ''")
    total, own = browser.run("[perch.weights.total, perch.matched]")
    expected = page_rows(browser)[EVIL][0]
    check(own == expected, "the share that matches", (own, expected))
    check(browser.run("document.getElementById('matched').textContent") == f"matched: {100 * expected / total:.2f}%", "its text")
    check(browser.run("document.querySelectorAll('#functions tbody tr').length") == 1, "the table has what matches")
    browser.run("perch.change({ search: '(' })")
    check("Unterminated" in browser.run("document.getElementById('matched').textContent"), "an expression with an error")


def sum_of(browser, **selection):
    """The sum of periods after a change of the state."""
    browser.run(f"perch.change({json.dumps(selection)})")
    return browser.run("perch.weights.total")


def check_selection(browser, path, data):
    browser.open(path)
    _, out, _ = result(PERCH, "script", "-j", "-F", "comm,tid,time,period", "-i", data)
    samples = json.loads(out) if out.startswith("[") else [json.loads(line) for line in out.splitlines()]
    total = sum(sample["period"] for sample in samples)
    evil = sum(sample["period"] for sample in samples if sample["comm"] == COMM)
    check(0 < evil < total and sum_of(browser, comm=COMM) == evil, "the sum of a command", (evil, total))
    threads = browser.run("Array.from(perch.data.threads.tid)")
    sums = [sum_of(browser, comm=None, thread=i) for i in range(len(threads))]
    check(sum(sums) == total and len(set(threads)) == 2, "the sums of all threads", (sums, total))
    slices = browser.run("perch.data.slices")
    parts = [sum_of(browser, thread=None, **{"from": first, "to": first + slices // 4}) for first in range(0, slices, slices // 4)]
    check(sum(parts) == total and min(parts) >= 0 and max(parts) < total, "the sums of the quarters of the time", (parts, total))
    sum_of(browser, **{"from": 0, "to": slices})
    box = browser.run("(({left, top, width}) => [left, top, width])(document.querySelector('#timeline canvas').getBoundingClientRect())")
    browser.mouse("mouseMoved", box[0] + box[2] / 4, box[1] + 20)
    browser.mouse("mousePressed", box[0] + box[2] / 4, box[1] + 20, button="left", clickCount=1)
    browser.mouse("mouseMoved", box[0] + box[2] / 2, box[1] + 20, button="left")
    browser.mouse("mouseReleased", box[0] + box[2] / 2, box[1] + 20, button="left", clickCount=1)
    browser.wait(f"Math.abs(perch.state.from - {slices} / 4) < 20 && Math.abs(perch.state.to - {slices} / 2) < 20")
    check(0 < browser.run("perch.weights.total") < total, "a range is selected by dragging in the time line")
    fragment = browser.run("location.hash")
    browser.run("document.querySelector('#timeline canvas').focus()")
    browser.key("Escape")
    check(browser.run("perch.weights.total") == total, "Escape selects the whole time")
    browser.open(path, fragment)
    check(0 < browser.run("perch.weights.total") < total, "a link has the range")
    browser.open(path, "#event=99&cpu=x&from=9&to=3&path=1.2.x&view=none&search=%28&fn=1e9&__proto__=1&group=command")
    check(browser.run("perch.weights.total") == total, "an invalid link shows everything")
    browser.run("perch.change({ search: '', samples: true })")
    check(browser.run("perch.weights.total") == len(samples), "numbers of samples instead of periods")


def check_trees(browser, path):
    """Recursion, roots, lines, callers and callees, the call tree, icicle, copies."""
    browser.open(path)
    total, expected = browser.run("perch.weights.total"), page_rows(browser)
    names = "Array.from(perch.tree.key.subarray(0, perch.tree.count), (key) => perch.keys.label(key))"
    plain = browser.run(names).count("recurse")
    browser.run("perch.change({ recursion: true })")
    merged = browser.run(names).count("recurse")
    check(plain > merged == 2, "recursion is merged: a frame for each command", (plain, merged))
    check({name: values[0] for name, values in page_rows(browser).items()} == {name: values[0] for name, values in expected.items()},
          "totals are the same")
    browser.run("perch.change({ recursion: false, group: 'none' })")
    check(browser.run(names)[1:2] != [COMM] and COMM not in browser.run(names), "no frames of commands")
    browser.run("perch.change({ group: 'command', lines: true })")
    check(any(re.match(r"inlined program\.c:\d+$", name) for name in browser.run(names)), "frames of lines", browser.run(names)[:9])
    browser.run("perch.change({ lines: false, icicle: true })")
    top, low = middle_of(browser, "all"), middle_of(browser, EVIL)
    browser.run("perch.change({ icicle: false })")
    check(top[1] < low[1] and middle_of(browser, "all")[1] > middle_of(browser, EVIL)[1], "the root of an icicle graph is above", (top, low))
    browser.run("[...document.querySelectorAll('#functions td button')].find((node) => node.textContent === 'recurse').click()")
    check(browser.run("document.getElementById('butterfly-name').textContent") == "recurse", "the table opens callers and callees")
    callers, callees = (browser.run(f"(({{tree}}) => tree.childrenOf(0).reduce((all, i) => (all[tree.keys.label(tree.key[i])] = "
                                    f"tree.total[i], all), {{all: tree.total[0]}}))(perch.{name})") for name in ("callers", "callees"))
    check(callers["all"] == callees["all"] == expected["recurse"][0], "both have its total", (callers, callees))
    # samples at the start of a function have the caller of its caller
    check(callers.get("work", 0) > 0.9 * callers["all"] and callees.get("recurse", 0) > 0.9 * callees["all"], "its callers and callees",
          (callers, callees))
    browser.run("perch.callers.focus(0)")
    box = browser.run("[document.querySelector('#detail b').textContent, document.querySelectorAll('#detail button').length, document.getElementById('legend').hidden]")
    check(box == ["recurse", 0, False], "the frame of the function has no button for what is shown", box)
    browser.run("document.getElementById('tab-tree').click()")
    check(browser.run("document.getElementById('legend').hidden"), "the call tree, without colors, has no legend")
    check(browser.run("document.querySelectorAll('#tree tbody tr').length") > 3, "the call tree is unfolded along the hottest path")
    browser.run("document.querySelector('#tree tbody tr').focus()")
    browser.key("ArrowLeft")
    check(browser.run("document.querySelectorAll('#tree tbody tr').length") == 1, "and folds")
    browser.key("ArrowRight")
    browser.key("ArrowDown")
    check(browser.run("document.activeElement.getAttribute('aria-level')") == "2", "keys move in it")
    browser.run("document.getElementById('tab-flame').click()")
    text = browser.run("perch.text()")
    check(f" 100.00%    0.00%  all\n" in text and EVIL in text, "the view as text", text)
    check(browser.run("perch.sums.length") > 3 and browser.run("perch.weights.total") == total, "the sums are as before")


# b and c are callees of a that call it: their frames end where a is called again if recursion is merged
MUTUAL = "t;a;b;a;b 5\nt;a;b;a 7\nt;a;b;a;c 11\nt;b;a;b;c;c 13\nt;c;a;c;b;a 17\nt;b 1\n"


def check_mutual_recursion(browser):
    with open("mutual.folded", "w", encoding="utf-8") as file:
        file.write(MUTUAL)
    write_page("mutual.html", "mutual.folded")
    browser.open("mutual.html")
    expected = {}
    for line in MUTUAL.splitlines():
        stack, number = line.split(" ")
        names = stack.split(";")[1:]
        for name in set(names):
            expected.setdefault(name, [0, 0])[0] += int(number)
        expected[names[-1]][1] += int(number)
    sums = {name: values[:2] for name, values in page_rows(browser).items()}
    check(sums == expected, "the sums of mutual recursion", (sums, expected))
    browser.run("perch.change({ recursion: true, search: '^b$' })")
    sums = {name: values[0] for name, values in page_rows(browser).items()}
    check(sums == {name: values[0] for name, values in expected.items()}, "totals are the same with merged recursion", (sums, expected))
    check(browser.run("perch.matched") == expected["b"][0], "and so is what matches", browser.run("perch.matched"))
    names = "Math.max(...Array.from({ length: perch.tree.count }, (_, node) => ((path) => path.length - new Set(path).size)(perch.tree.path(node))))"
    check(browser.run(names) == 0, "no function is on a stack twice")
    for name in sorted(expected):
        browser.run(f"perch.change({{ view: 'butterfly', fn: perch.data.functions.name.indexOf('{name}') }})")
        totals = browser.run("[perch.callers.tree.total[0], perch.callees.tree.total[0]]")
        check(totals == [expected[name][0]] * 2, f"callers and callees of {name} have its total", totals)


def check_bars(browser):
    """Bars of a constant rate have the same height, for each number of bars, and bars have the sum of all slices."""
    browser.open("mutual.html")
    bars = browser.run("""[1, 30, 627, 683, 1023, 1024, 1500, 2047, 2048].map((parts) => {
        perch.timeline.sums = new Float64Array(2048).fill(3);
        const bars = perch.timeline.sumParts(parts);
        return [Math.max(...bars) / Math.min(...bars), bars.reduce((sum, bar) => sum + bar)];
    })""")
    check(all(ratio < 1.000001 and abs(total - 3 * 2048) < 0.001 for ratio, total in bars), "the time line of a constant rate is flat", bars)
    check(browser.run("perch.timeline.sums = [1, 0, 4], Array.from(perch.timeline.sumParts(2))") == [1, 4], "a slice is divided between two bars")


def check_recursion_and_bars(browser):
    check_mutual_recursion(browser)
    check_bars(browser)


def check_display(browser, path):
    """Themes, narrow windows, printing, names and roles of controls."""
    for scheme, least, most in (("light", 200, 255), ("dark", 0, 60)):
        browser.media(prefers_color_scheme=scheme)
        browser.open(path)
        paper = json.loads("[" + re.search(r"\((.*)\)", browser.run("getComputedStyle(document.body).backgroundColor")).group(1) + "]")
        check(all(least <= part <= most for part in paper), scheme + ": the paper", paper)
    browser.run("perch.change({ color: 'dso' })")
    legend = browser.run("[...document.querySelectorAll('#legend span')].map((item) => [item.textContent, item.style.getPropertyValue('--swatch')])")
    dsos = browser.run("[...new Set(perch.sums.map((row) => perch.data.functions.dso[row.fn]))]")
    check(sorted(name for name, _ in legend) == sorted(dso or "unknown" for dso in dsos) and legend[0][0] == "program" and
          all(swatch.startswith("hsl(") for _, swatch in legend), "a legend of the colors of DSOs", (legend, dsos))
    browser.run("const theme = document.getElementById('theme'); theme.value = 'light'; theme.dispatchEvent(new Event('change'))")
    check(browser.run("!document.documentElement.classList.contains('dark')"), "a switch from dark to light")
    browser.media(prefers_color_scheme="light")
    browser.size(320)
    browser.open(path)
    check(browser.run("document.documentElement.scrollWidth") <= 320, "nothing is wider than 320 pixels",
          browser.run("[...document.querySelectorAll('*')].filter((n) => n.getBoundingClientRect().right > 321).map((n) => n.id || n.tagName)"))
    check(browser.run("perch.flame.canvas.getBoundingClientRect().width") > 280, "the graph has the whole width")
    check(browser.run("document.getElementById('search').offsetWidth") > 280, "the search box has the whole width")
    browser.size(1200)
    unnamed = """[...document.querySelectorAll('button, input, select, canvas')].filter((node) => !(node.getAttribute('aria-label') ||
        node.labels && node.labels.length || node.textContent.trim())).map((node) => node.outerHTML)"""
    check(browser.run(unnamed) == [], "each control has a name", browser.run(unnamed))
    browser.call("Emulation.setEmulatedMedia", media="print")
    check(browser.run("getComputedStyle(document.getElementById('controls')).display") == "none", "controls are not printed")
    browser.call("Emulation.setEmulatedMedia", media="")
    check_print(browser)


def check_scrolling(browser):
    """The root stays visible when the tree gets fewer levels and more again."""
    with open("recursive.folded", "w", encoding="utf-8") as file:
        file.write(f"t;main;{'a;b;' * 40}c 10\nt;main;{';'.join(f'f{i}' for i in range(40))} 5\n")
    write_page("recursive.html", "recursive.folded")
    browser.open("recursive.html")
    bottom = "(({ box, levels }) => levels * 18 - box.clientHeight - box.scrollTop)(perch.flame)"
    frames = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    for scrolled in (0, 90):
        browser.run(f"perch.flame.box.scrollTop -= {scrolled}; {frames}")
        levels = browser.run("perch.flame.levels")
        for recursion in ("true", "false"):
            browser.run(f"perch.change({{ recursion: {recursion} }}); {frames}")
            check(abs(browser.run(bottom) - scrolled) <= 1, f"recursion: {recursion}, at the same distance from the root: {scrolled}", browser.run(bottom))
        check(browser.run("perch.flame.levels") == levels > 80, "with as many levels as before")
    for view in ("tree", "flame"):
        browser.run(f"perch.change({{ view: '{view}' }}); {frames}")
    check(abs(browser.run(bottom) - 90) <= 1, "and after another view", browser.run(bottom))


def check_print(browser):
    """The whole graph is printed, also if only a part of it is visible."""
    with open("deep.folded", "w", encoding="utf-8") as file:
        file.write("".join(f"deep;{';'.join(f'f{i}' for i in range(depth))} 10\n" for depth in (5, 80, 120)))
    write_page("deep.html", "deep.folded")
    for fragment in ("", "#icicle=1"):
        browser.open("deep.html", fragment)
        browser.run("perch.flame.box.scrollTop = 500; new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        visible = browser.run("[perch.flame.box.clientHeight, perch.flame.box.scrollTop]")
        browser.run("window.dispatchEvent(new Event('beforeprint'))")
        browser.call("Emulation.setEmulatedMedia", media="print")
        height, rows, shown = browser.run("""(({ box, ratio, levels }) => { const strips = [...box.querySelectorAll('.strip')];
            return [strips.reduce((sum, strip) => sum + strip.height, 0) / ratio, levels * 18, strips.every((strip) => strip.offsetWidth === box.clientWidth &&
                strip.getBoundingClientRect().bottom <= box.getBoundingClientRect().bottom + 1)]; })(perch.flame)""")
        check(visible[0] < 1000 and rows == 122 * 18 and abs(height - rows) < 2 and shown, "the whole graph is printed", (visible, height, rows, shown))
        empty = browser.run("""(({ box, ratio, levels }) => [...box.querySelectorAll('.strip')].flatMap((strip, number) => {
            const copy = new OffscreenCanvas(strip.width, strip.height).getContext('2d'), tall = 18 * ratio;
            copy.drawImage(strip, 0, 0);
            const column = copy.getImageData(9, 0, 1, strip.height).data;
            return Array.from({ length: strip.height / tall }, (_, row) => row).filter((row) => column[4 * Math.floor((row + 0.2) * tall) + 3] < 255);
        }))(perch.flame)""")
        check(empty == [], "each of its rows is drawn", empty)
        browser.call("Emulation.setEmulatedMedia", media="")
        browser.run("window.dispatchEvent(new Event('afterprint'))")
        after = browser.run("[perch.flame.box.clientHeight, perch.flame.box.scrollTop]")
        check(after == visible and browser.run("perch.flame.height") == visible[0] and not browser.run("document.querySelectorAll('.strip').length"),
              "and the page is as before", (visible, after))
    check_paper(browser)


def check_paper(browser):
    """The graph begins on the first page; a graph that is longer than a page has its root there."""
    if not shutil.which("pdftotext"):
        print("ok - the printed page # skip no pdftotext")
        return
    for path, functions in (("deep.html", 120), ("page.html", 0)):
        browser.open(path)
        with open("paper.pdf", "wb") as file:
            file.write(base64.b64decode(browser.call("Page.printToPDF")["data"]))
        subprocess.run(["pdftoppm", "-r", "40", "-gray", "-l", "1", "paper.pdf", "paper"], check=True)
        name = next(name for name in os.listdir(".") if re.match(r"paper-0*1\.pgm", name))
        with open(name, "rb") as file:
            _, size, _, pixels = file.read().split(b"\n", 3)
        width, height = map(int, size.split())
        # rows of pixels in which the middle of the paper is not white
        drawn = [y for y in range(height) if min(pixels[y * width + width // 3:y * width + 2 * width // 3]) < 240]
        most = max(drawn, default=0) / height
        check(most > 0.9 if functions else most > 0.3, path + ": the graph begins on the first page", (most, height))
        text = subprocess.run(["pdftotext", "-l", "1", "paper.pdf", "-"], stdout=subprocess.PIPE, check=True).stdout.decode()
        check("Drag to select" not in text, path + ": no hints on paper", text)


# ---- texts, comparisons, pictures ----

FOLDED = f"""# a comment
name one;main;{EVIL};inner_[k] 30
name one;main;inlined one_[i] 20
two;main 50
a line of something else
"""
SCRIPT = f"""my prog 12/13 [003] 12.500000:     250000 cpu-clock:u: 
	ffffffff81001000 in_kernel (inlined)
  file.h:7 (inlined)
	ffffffff81001000 do_work+0x12 ([kernel.kallsyms])
	    1234 {EVIL}+0x4 (/usr/lib/lib (x).so)
  file.c:34
	    99 from_header
  file.h:3 (inlined)
	    99 main+0x1 (/bin/prog)

other    14 [001] 13.500000:     750000 cpu-clock:u: 
	    99 main+0x1 (/bin/prog)

"""


def check_texts(browser, directory):
    with open("stacks.folded", "w", encoding="utf-8") as file:
        file.write(FOLDED)
    status, _, err = result(PERCH, "flamegraph", "stacks.folded", "-o", "folded.html")
    check(status == 0 and "1 line of stacks.folded" in err, "folded stacks, and the number of other lines", err)
    with open("script.txt", "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    with open("script.txt", "rb") as file:
        done = subprocess.run([PERCH, "flamegraph", "-", "-o", "script.html"], stdin=file, stderr=subprocess.PIPE, check=False)
    check(done.returncode == 0, "the text of perf script from standard input", done.stderr)
    with open("ended.txt", "w", encoding="utf-8") as file:
        file.write(SCRIPT + "".join(f"{name} [000] 13.600000:  1000 cpu-clock:u: \n\t 99 ended_{i}+0x1 (/bin/prog)\n\n"
                                    for i, name in enumerate((":-1    -1", ":-1    -1/-1"))))
    status, _, err = result(PERCH, "flamegraph", "ended.txt", "--svg", "-o", "ended.svg")
    with open("ended.svg", encoding="utf-8") as file:
        text = file.read()
    check(status == 0 and "neither" not in err and "ended_0" in text and "ended_1" in text, "samples of tasks that have ended", err)
    if not browser:
        return
    browser.open("folded.html")
    rows = page_rows(browser)
    check({name: values[:2] for name, values in rows.items()} == {"main": [100, 50], EVIL: [30, 0], "inner": [30, 30], "inlined one": [20, 20]},
          "the sums of folded stacks", rows)
    check(browser.run("perch.data.notes.join()") == "Lines of the text that could not be read: 1", "the page states what it lacks")
    kinds = browser.run("Object.fromEntries(perch.data.functions.name.map((name, i) => [name, perch.data.functions.kind[i]]))")
    check(kinds == {"main": 0, EVIL: 0, "inner": 1, "inlined one": 4}, "the kinds of marks", kinds)
    browser.open("script.html")
    rows = page_rows(browser)
    check(rows == {"main": [1000000, 750000, 2], EVIL: [250000, 0, 1], "in_kernel": [250000, 250000, 1], "do_work": [250000, 0, 1], "from_header": [250000, 0, 1]}, "the sums of perf script", rows)
    kinds = browser.run("Object.fromEntries(perch.data.functions.name.map((name, i) => [name, perch.data.functions.kind[i]]))")
    check(kinds["in_kernel"] == 5 and kinds["from_header"] == 4 and kinds["main"] == 0, "the mark of an inlined function behind its line", kinds)
    check(sum_of(browser, **{"from": browser.run("perch.data.slices") // 2}) == 750000, "with times")
    check(sum_of(browser, **{"from": 0, "cpu": 3}) == 250000 and sum_of(browser, cpu=None, comm="my prog") == 250000, "CPUs and commands")


def check_own_text(browser, data):
    """perch script | perch flamegraph - has the sums of the recording."""
    with open("own.txt", "wb") as out:
        subprocess.run([PERCH, "script", "-i", data], stdout=out, stderr=subprocess.DEVNULL, check=True)
    status, _, err = result(PERCH, "flamegraph", "own.txt", "-o", "own.html")
    check(status == 0, "the text of perch script", err)
    status, out, _ = result(PERCH, "export", "--format", "folded", "-i", data)
    with open("own.folded", "w", encoding="utf-8") as file:
        file.write(out)
    write_page("folded.html", "own.folded")
    browser.open("page.html")
    expected = page_rows(browser)
    browser.open("own.html")
    got = page_rows(browser)
    check(got == expected, "each function has the sums of the recording",
          [(name, expected.get(name), got.get(name)) for name in sorted(set(expected) | set(got)) if expected.get(name) != got.get(name)][:5])
    browser.open("folded.html")
    got = page_rows(browser)
    check({name: values[:2] for name, values in got.items()} == {name: values[:2] for name, values in expected.items()},
          "and those of its folded stacks")


def check_diff(browser, directory):
    with open("old.folded", "w", encoding="utf-8") as file:
        file.write("two;main 30\ntwo;main;gone 10\n")
    with open("new.folded", "w", encoding="utf-8") as file:
        file.write("two;main 30\ntwo;main;added 30\n")
    write_page("diff.html", "new.folded", "--diff", "old.folded")
    status, _, err = result(PERCH, "flamegraph", "new.folded", "--diff", "old.folded", "--svg", "-o", "diff.svg")
    text = open("diff.svg", encoding="utf-8").read()
    check(status == 0 and "<title>added (50.00%, 30) +50.00%</title><rect class=\"more4\"" in text, "the picture of a comparison", text[-900:])
    browser.open("diff.html")
    changes = browser.run("Object.fromEntries(perch.sums.map((row) => [perch.data.functions.name[row.fn], perch.changeOfSum(row)]))")
    check(changes == {"main": 0, "added": 0.5, "gone": -0.25}, "changes of shares", changes)
    check("compared with old.folded" in browser.run("document.getElementById('summary').textContent"), "what is compared")
    rows = browser.run("[...document.querySelectorAll('#sandwich tbody tr')].map((row) => row.lastChild.textContent)")
    check(rows == ["added", "gone", "main"], "the functions with the largest changes come first", rows)
    browser.run("document.querySelector('#sandwich tbody tr').firstChild.click()")
    check(browser.run("perch.state.view") == "butterfly", "a click into the row of a function shows its callers and callees")
    browser.open("diff.html")
    x, y = middle_of(browser, "added")
    red, _, blue, _ = color_at(browser, x + 40, y - 6)
    check(red > blue + 40, "a larger share is red", (red, blue))


def check_svg(browser, data):
    status, _, err = result(PERCH, "flamegraph", "--svg", "-i", data, "-o", "picture.svg", "--title", "<b> & c")
    text = open("picture.svg", encoding="utf-8").read()
    check(status == 0, "perch flamegraph --svg", err)
    root = xml.etree.ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    titles = [node.text for node in root.iter(space + "title")]
    check(titles[0] == "<b> & c" and any(title.startswith(EVIL + " (") for title in titles) and not list(root.iter(space + "script")),
          "names are text in the picture", titles[:5])
    legend = next(group for group in root.iter(space + "g") if group.get("class") == "legend")
    swatches = list(zip([node.get("class") for node in legend.iter(space + "rect")], [node.text for node in legend.iter(space + "text")]))
    drawn = {node.get("class") for group in root.iter(space + "g") if group is not legend for node in group.findall(space + "rect")} - {"thread"}
    check(swatches[0] == ("user", "user") and {name for name, _ in swatches} == drawn and all(name == text.lower() for name, text in swatches),
          "a legend of the colors in the picture", (swatches, drawn))
    frames = [title for title in titles if title.startswith("all (100.00%, ")]
    browser.open("page.html")
    check(frames == [f"all (100.00%, {browser.run('perch.weights.total')})"], "its sum is that of the page", frames)


DRAWN = "performance.getEntriesByName('drawn')[0]?.startTime"
# zooms to the heaviest frame of level 5, and counts the frames of the animation
ZOOM_RATE = """(async () => {
    const graph = perch.flame, times = [];
    for (let i = 0; i < 5; i++)
        graph.focused = graph.heaviestChild();
    graph.zoom(graph.focused);
    await new Promise((done) => {
        const step = (now) => { times.push(now); if (graph.motion) requestAnimationFrame(step); else done(); };
        requestAnimationFrame(step);
    });
    return 1000 * (times.length - 1) / (times.at(-1) - times[0]);
})()"""


def check_large(browser, directory):
    """A million samples with 100000 call chains: the limits of the page's size, and what the page states."""
    large_recording.write("large.data", os.path.join(directory, "large"), 1000000, 100000)
    write_page("large.html", "-i", "large.data")
    size = os.path.getsize("large.html")
    check(size < 3000000, f"1000000 samples with 100000 call chains: a page below 3 MB ({size})")
    os.unlink("large.data")
    large_recording.write("varied.data", os.path.join(directory, "large"), 250000, 20000, equal_periods=False)
    write_page("varied.html", "-i", "varied.data")
    browser.open("large.html")
    check(browser.run("perch.weights.totalSamples") == 1000000 and browser.run("perch.weights.total") == 250000000000, "its sums")
    browser.wait(DRAWN + " > 0")
    rate = browser.run(ZOOM_RATE)   # null if the zoom ended within one frame
    print(f"# drawn {browser.run(DRAWN):.0f} ms after the navigation began; frames a second while it zooms: {round(rate or 0) or 'unknown'}")
    check(re.search("^[0-9,]+ frames are narrower than half a pixel and are not drawn", browser.run("document.getElementById('pruned').textContent")),
          "the page states what is not drawn")
    browser.run("document.getElementById('tab-tree').click()")
    check(browser.run("document.getElementById('pruned').textContent") == "", "the call tree has all frames")
    browser.run("document.getElementById('tab-flame').click()")
    check("narrower" in browser.run("document.getElementById('pruned').textContent"), "the graph states it again")
    browser.open("varied.html")
    whole = browser.run("perch.weights.total")
    slices = browser.run("perch.data.slices")
    parts = [sum_of(browser, **{"from": first, "to": first + slices // 4}) for first in range(0, slices, slices // 4)]
    check(abs(sum(parts) - whole) < 1 and "the same part of its event count" in browser.run("document.getElementById('summary').textContent"),
          "averages of periods are stated", (parts, whole))
    _, out, _ = result(PERCH, "report", "--stdio", "-i", "varied.data", "-g", "none")
    check(f"# Event count (approx.): {whole}\n" in out, "the event count of perch report", out[:500])


def check_waiting_color(browser):
    if not browser.run("perch.data.functions.name.includes('schedule')"):
        print("ok - the color of what waits # skip this user has no symbols of the kernel")
        return
    x, y = middle_of(browser, "schedule")
    red, _, blue, _ = color_at(browser, x, y - 6)
    check(blue > red + 40, "one that waits has a cold color", (red, blue))


def check_wall_clock(browser):
    """Time on the CPU and off the CPU in one graph, with two colors."""
    status, _, err = result(PERCH, "record", "--off-cpu", "-o", "waits.data", "--", "./program")
    if status or "no call chains" in err:
        print("ok - the wall clock # skip this user has no call chains of switches")
        return
    write_page("waits.html", "-i", "waits.data")
    _, out, _ = result(PERCH, "script", "-i", "waits.data", "-F", "event,period")
    samples = [line.split() for line in out.splitlines() if line.strip()]
    off, on = (sum(int(period) for period, event in samples if event.startswith(name)) for name in ("offcpu-time", "cpu-clock"))
    browser.open("waits.html")
    check(browser.run("perch.data.events[perch.state.event]") == "wall clock (cpu-clock + offcpu-time)", "the wall clock is shown first")
    check(browser.run("[perch.weights.total, perch.tree.off[0]]") == [on + off, off], "it has both times", on, off)
    legend = browser.run("[...document.querySelectorAll('#legend span')].map((node) => node.textContent)")
    check(legend == ["on the CPU", "off the CPU"], "two colors", legend)
    colors = browser.run("""[...perch.tree.total.keys()].slice(1, perch.tree.count).map((i) =>
        [perch.tree.off[i] > perch.tree.total[i] / 2, perch.colors.of(perch.tree, i).startsWith('hsl(212')])""")
    check(all(waits == cold for waits, cold in colors) and [False, False] in colors, "what mostly runs has a warm color", colors)
    check_waiting_color(browser)
    for name, total in (("offcpu-time", off), ("cpu-clock", on)):
        browser.run(f"perch.change({{ event: perch.data.events.indexOf('{name}') }})")
        check(browser.run("perch.weights.total") == total, f"{name} alone", total)
        check(browser.run("document.getElementById('summary').textContent").endswith("s"), f"{name} is a time")


def check_browser(directory, data, page):
    if not chromium.find():
        print("ok - the page in Chromium # skip no chromium")
        check_texts(None, directory)
        return
    parts = [
        ("sums and names", check_sums_and_names, page, data),
        ("the flame graph", check_flame, page),
        ("searching", check_search, page),
        ("selecting", check_selection, page, data),
        ("call trees", check_trees, page),
        ("recursion and bars", check_recursion_and_bars),
        ("displays", check_display, page),
        ("scrolling", check_scrolling),
        ("texts", check_texts, directory),
        ("text of perch itself", check_own_text, data),
        ("differences", check_diff, directory),
        ("the wall clock", check_wall_clock),
        ("the picture", check_svg, data),
        ("a large recording", check_large, directory),
    ]
    problems = chromium.check_parts(parts, width=1200)
    check(not problems, "no error in the console", problems)


def check_errors(directory, data):
    write_page("selected.html", "-i", data, "--comms", "program,<b>")
    with open("selected.html", encoding="utf-8") as file:
        check(" --comms program,&lt;b&gt;</title>" in file.read(), "the title has the options that select samples")
    for words, message in (((data, "word"), "'word' is too much"), (("--title",), "needs"), (("-i", data, "old.folded"), "too much"),
                           (("-", "--tid", "1"), "need a recording"), (("-", "-U"), "need a recording"), (("-", "--max-stack", "2"), "need a recording")):
        status, _, err = result(PERCH, "flamegraph", *words, stdin=subprocess.DEVNULL)
        check(status == 2 and message in err, "usage: " + " ".join(words), err)
    status, _, err = result(PERCH, "flamegraph", "-i", data, "-o", os.path.join(directory, "no/file"))
    check(status == 1 and "cannot be written: " in err, "a file that cannot be created", err)
    with open("bad.txt", "w", encoding="utf-8") as file:
        file.write("nothing of it\nis a stack\n")
    status, _, err = result(PERCH, "flamegraph", "bad.txt", "-o", "bad.html")
    check(status == 1 and "none of 2 lines is a folded stack or of perf script" in err and err.count("\n") == 1 and not os.path.exists("bad.html"), "a text of neither", err)
    for text in ("#include <vector>\n\n#define A\n", "a;b 0\n", ""):
        with open("kept.html", "w", encoding="utf-8") as file:
            file.write("kept")
        done = subprocess.run([PERCH, "flamegraph", "-", "-o", "kept.html"], input=text, stderr=subprocess.PIPE, text=True, check=False)
        with open("kept.html", encoding="utf-8") as file:
            same = file.read() == "kept"
        check(done.returncode == 1 and "standard input has no stacks; expected folded stacks" in done.stderr and done.stderr.count("\n") == 1 and same,
              f"a text without stacks, {text!r}", (done.returncode, done.stderr))
    status, _, err = result(PERCH, "flamegraph", "-i", data, "--comms", "nobody", "-o", "kept.html")
    with open("kept.html", encoding="utf-8") as file:
        check(status == 1 and "nobody" in err and "kept.html is not written: it would have no samples" in err and file.read() == "kept",
              "a page without samples does not replace a file", err)
    with open("good.txt", "w", encoding="utf-8") as file:
        file.write("a;b 1\nnothing\n")
    status, _, err = result(PERCH, "flamegraph", "good.txt", "-o", "good.html")
    check(status == 0 and "1 line of good.txt is neither a folded stack nor of perf script" in err, "a line of neither", err)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PERCH, "flamegraph", "-i", data, "-o", "-"], stdout=full, stderr=subprocess.PIPE, check=False)
    check(done.returncode == 1 and b"No space left" in done.stderr, "a full disk", done.stderr)


def main():
    for program in ("gcc", "objcopy"):
        if not shutil.which(program):
            print(f"skipped: no {program} for the program to record")
            return 77
    with tempfile.TemporaryDirectory(prefix="perch-flamegraph-") as directory:
        os.chdir(directory)
        with open("program.c", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-c", "program.c"], check=True)
        subprocess.run(["objcopy", "--redefine-sym", "evil=" + EVIL, "program.o"], check=True)
        subprocess.run(["gcc", "-pthread", "program.o", "-o", "program"], check=True)
        data, page = os.path.join(directory, "perf.data"), os.path.join(directory, "page.html")
        status, _, err = result(PERCH, "record", "-N", "-g", "-F", "1999", "-e", "cpu-clock:u", "-o", data, "./program")
        if status:
            print("skipped: perch cannot record here: " + err.strip())
            return 77
        write_page(page, "-i", data, "--title", "a <title>")
        check_text(page)
        check_browser(directory, data, page)
        check_errors(directory, data)
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
