#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The documentation site. Two builds of it make the same bytes; all links lead somewhere; and in Chromium no page is wider than the window, and the
search finds pages. guide.py runs the commands of the guide."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
SOURCE = Path(os.environ.get("PERCH_SOURCE_ROOT", ".")).resolve()
BUILD = Path(os.environ.get("PERCH_BUILD_ROOT", "build")).resolve()
sys.path.append(str(SOURCE / "site"))
import cases  # noqa: E402
import chromium  # noqa: E402
import links  # noqa: E402 (the path is set above)
from run import GUIDE  # noqa: E402
from cases import check, report  # noqa: E402

PAGES = ["index", *sorted(path.stem for path in GUIDE.glob("*.md")), "manual", "api", "changelog", "search", "man/perch.1", "man/perch-report.1",
         "man/perch-options.7", "man/perch-causes.7", "man/perch_counter_open.3"]
# a query, and what one of the first five results is
QUERIES = {"stat --repeat": "perch stat -r, --repeat", "perch_counter_open": "perch_counter_open(3)", "multiplexing": "Count", "PERCH_SAMPLE_IP": "PERCH_SAMPLE_IP",
           "perch-record": "perch-record(1)"}


def make(directory):
    done = subprocess.run([SOURCE / "site/build.py", BUILD, directory], capture_output=True, text=True, check=False)
    report([done.stderr] if done.returncode else [], "the site is made")
    return {path.relative_to(directory): path.read_bytes() for path in Path(directory).rglob("*") if path.is_file()}


def check_links(directory):
    number, faults, _ = links.check(Path(directory).resolve())
    report(faults, f"all links of {number} pages lead somewhere, and pages have titles, one first heading and unique ids")
    check(number > 1000, "each function and type has a page", number)
    page = Path(directory) / "count.html"
    page.write_text(page.read_text(encoding="utf-8").replace("sample.html", "smaple.html"), encoding="utf-8")
    check(any("smaple" in fault for fault in links.check(Path(directory).resolve())[1]), "a wrong link is found")


def check_page(browser, directory, name):
    browser.call("Page.navigate", url="about:blank")
    browser.wait("location.href === 'about:blank'")
    browser.call("Page.navigate", url=f"file://{directory}/{name}.html")
    browser.wait(f"location.href.endsWith('{name}.html') && document.readyState === 'complete'")
    for width in (320, 1400):
        browser.size(width)
        wide = browser.run("document.documentElement.scrollWidth")
        check(wide <= width, f"{name} fits a window of {width} pixels", wide)


def check_search(browser, directory):
    check_page(browser, directory, "search")
    for query, expected in QUERIES.items():
        browser.run(f"(field => {{ field.value = '{query}'; field.dispatchEvent(new Event('input')); }})(document.querySelector('input[type=search]'))")
        found = browser.run("[...document.querySelectorAll('#found a')].slice(0, 5).map(link => link.textContent)")
        check(any(expected in title for title in found), f"the search for '{query}' finds {expected}", found)
    browser.run("document.activeElement.blur()")
    browser.key("/")
    check(browser.run("document.activeElement.type") == "search", "the key / goes to the search")
    check(not browser.run("document.querySelector('input[type=search]').value.endsWith('/')"), "... and is not typed there")


def main():
    if not shutil.which("mandoc") or not (BUILD / "man/perch.1").exists():
        print("ok - the site # skip: mandoc or scdoc is not installed")
        return cases.failed
    with tempfile.TemporaryDirectory() as directory:
        first, second = make(directory + "/site"), make(directory + "/again")
        report([str(path) for path in first if first[path] != second.get(path)] + ["other files"] * (set(first) != set(second)), "two builds make the same bytes")
        check_links(directory + "/again")
        if chromium.find():
            parts = [("pages in Chromium", lambda browser: [check_page(browser, directory + "/site", name) for name in PAGES]),
                     ("search in Chromium", check_search, directory + "/site")]
            report(chromium.check_parts(parts, 1400), "no page reports an error")
        else:
            print("ok - pages in Chromium # skip: chromium is not installed")
    return cases.failed


if __name__ == "__main__":
    sys.exit(main())
