#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch flamegraph: its page in Chromium has the sums of perch report, shows names as text, and its controls, keys and links work."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import chromium

PERCH = os.environ.get("PERCH", "perch")
failed = False
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


def check(good, what, detail=""):
    global failed
    failed |= not good
    print(("ok - " if good else "not ok - ") + what, flush=True)
    if not good and detail != "":
        print("    " + str(detail).replace("\n", "\n    ")[:3000])


def run(*words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def write_page(path, *options):
    status, _, err = run(PERCH, "flamegraph", "-o", path, *options)
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
    _, out, _ = run(PERCH, "script", "-j", "-F", "comm,tid,time,period,ip,sym", "-i", data)
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
    check(named == expected and EVIL in named and "recurse" in named, "each function has the sums of perch script",
          [(name, expected.get(name), named.get(name)) for name in sorted(set(expected) | set(named))
           if expected.get(name) != named.get(name)][:5])
    _, out, _ = run(PERCH, "report", "--stdio", "-i", data, "-g", "none", "--children", "-s", "sym")
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
    check(EVIL in tip and all(word in tip for word in ("Total", "Self", "Samples", "program.c:")), "a tooltip", tip)
    browser.click(x, y)
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


def check_browser(directory, data, page):
    if not chromium.find():
        print("ok - the page in Chromium # skip no chromium")
        return
    with chromium.Browser() as browser:
        browser.size(1200)
        check_sums(browser, page, data)
        check_names(browser)
        check_flame(browser, page)
        check_search(browser, page)
        check(not browser.problems, "no error in the console", browser.problems)


def check_errors(directory, data):
    for words, message in ((("word",), "not an option"), (("--title",), "needs")):
        status, _, err = run(PERCH, "flamegraph", "-i", data, *words)
        check(status == 2 and message in err, "usage: " + " ".join(words), err)
    status, _, err = run(PERCH, "flamegraph", "-i", data, "-o", os.path.join(directory, "no/file"))
    check(status == 1 and "cannot create" in err, "a file that cannot be created", err)
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
        status, _, err = run(PERCH, "record", "-N", "-g", "-F", "1999", "-e", "cpu-clock:u", "-o", data, "./program")
        if status:
            print("skipped: perch cannot record here: " + err.strip())
            return 77
        write_page(page, "-i", data, "--title", "a <title>")
        check_text(page)
        check_browser(directory, data, page)
        check_errors(directory, data)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
