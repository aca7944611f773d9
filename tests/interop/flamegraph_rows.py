#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rows of threads and CPUs in the page of perch flamegraph, in Chromium: their times are those of the recording, they select samples, and
large recordings have a bounded size. PICTURES=DIR keeps screenshots there, LONG=1 makes ten million switches."""
import collections
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import cases
import chromium
from cases import check
from peer import result

PERCH = os.environ.get("PERCH", "perch")
PICTURES = os.environ.get("PICTURES")
EVIL = "<img src=x>&\x1b[1m"

LOST, SAMPLE, COMM, SWITCH, FINISHED_ROUND = 2, 9, 3, 14, 68
OUT, PREEMPTED = 1 << 13, 1 << 14
SECOND = 10**9


# ---- recordings of programs that never ran ----

def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def write_file(path, records, fields=0):
    """Writes a recording of cpu-clock with SWITCH records: TID | TIME | CPU, samples with IP and PERIOD, too."""
    sample_type, flags = 1 | 2 | 4 | 0x80 | 0x100 | fields, 1 << 18 | 1 << 26
    attr = struct.pack("<IIQQQQQ", 1, 128, 0, 250000, sample_type, 0, flags) + bytes(80)
    with open(path, "wb") as out:
        out.write(bytes(104) + attr + struct.pack("<QQ", 0, 0))
        part = []
        for data in records:
            part.append(data)
            if len(part) == 20000:
                out.write(b"".join(part) + record(FINISHED_ROUND, 0, b""))
                part = []
        out.write(b"".join(part))
        size = out.seek(0, os.SEEK_CUR) - 248
        out.seek(0)
        out.write(b"PERFILE2" + struct.pack("<QQ", 104, 144) + struct.pack("<QQQQQQ", 104, 144, 248, size, 0, 0) + bytes(32))


def schedule(threads, switches, cpus, sums, names=None, seed=1):
    """Random switches of threads, each of which stays on a CPU. Adds up sums[tid] = [running, preempted, blocked]."""
    chance = random.Random(seed)
    trailer = struct.Struct("<IIQII")
    head, sample = struct.Struct("<IHH"), struct.Struct("<IHHQIIQIIQ")
    for tid in range(1, threads + 1):
        name = (names or {}).get(tid, f"worker-{tid % 7}").encode() + b"\0"
        yield record(COMM, 0, struct.pack("<II", 1000 + tid // 4, tid) + name + bytes(-len(name) % 8) + trailer.pack(1000 + tid // 4, tid, 0, 0, 0))
    now = [SECOND + cpu for cpu in range(cpus)]
    on = [None] * cpus
    left = {}
    switch_size = 8 + trailer.size
    for number in range(switches):
        cpu = min(range(cpus), key=now.__getitem__)
        time, tid = now[cpu], 1 + cpu + cpus * int(chance.random() ** 3 * (threads // cpus))
        misc = PREEMPTED if chance.random() < 0.3 else 0
        if on[cpu]:
            before, since = on[cpu]
            sums[before][0] += time - since
            left[before] = time, 1 if misc else 2
            yield head.pack(SWITCH, OUT | misc, switch_size) + trailer.pack(1000 + before // 4, before, time, cpu, 0)
        if tid in left:
            since, kind = left.pop(tid)
            sums[tid][kind] += time - since
        on[cpu] = tid, time
        yield head.pack(SWITCH, 0, switch_size) + trailer.pack(1000 + tid // 4, tid, time, cpu, 0)
        if number % 50 == 0:
            yield sample.pack(SAMPLE, 2, 48, 0x401000, 1000 + tid // 4, tid, time + 1, cpu, 0, 250000)
        now[cpu] = time + int(chance.expovariate(1 / 20000)) + 10
    for cpu in range(cpus):
        before, since = on[cpu]
        yield head.pack(SWITCH, OUT, switch_size) + trailer.pack(1000 + before // 4, before, now[cpu], cpu, 0)
        sums[before][0] += now[cpu] - since


def missing_switches():
    """Thread 7 leaves its CPU at 5000 without a record; records are lost while it waits from 7000 to 9000."""
    def switch(time, tid, out):
        return record(SWITCH, out << 13, struct.pack("<IIQII", tid, tid, time, 0, 0))

    sample = struct.pack("<QIIQIIQ", 0x401000, 7, 7, 1500, 0, 0, 250000)
    return [switch(1000, 7, 0), record(SAMPLE, 2, sample), switch(2000, 7, 1), switch(2000, 8, 0), switch(3000, 8, 1), switch(3000, 7, 0),
            switch(5000, 8, 0), switch(6000, 8, 1), switch(6000, 7, 0), switch(7000, 7, 1),
            record(LOST, 0, struct.pack("<QQIIQII", 0, 5, 7, 7, 8000, 0, 0)), switch(9000, 7, 0), switch(9500, 7, 1)]


# ---- pages ----

def write_page(path, *options):
    """Writes a page. Returns the peak of the memory, in kB."""
    with subprocess.Popen([PERCH, "flamegraph", "-o", path, *options], stderr=subprocess.PIPE, text=True) as process:
        err = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, "perch flamegraph " + " ".join(options), err)
    return usage.ru_maxrss


def keep_picture(browser, name):
    if PICTURES:
        browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        browser.picture(os.path.join(PICTURES, name + ".png"))


def rows_of(browser, is_cpu=False):
    """{id: sums of states} of the rows."""
    return dict(browser.run(f"perch.data.rows.filter((row) => row.isCpu === {str(is_cpu).lower()}).map((row) => [row.id, row.sums])"))


def spans_of(browser, number):
    """(start, end, state, thread) of the spans of a row."""
    return browser.run(f"""(({{ rows, states: {{ spans }} }}) => Array.from({{ length: rows[{number}].end - rows[{number}].first }}, (_, k) => k + rows[{number}].first)
        .map((k) => [spans.start[k], spans.end[k], spans.state[k], spans.thread[k]]))(perch.data)""")


def select(browser, **changes):
    """The sum of periods after a change of the state."""
    browser.run(f"perch.change({json.dumps(changes)})")
    return browser.run("perch.weights.total")


# ---- parts ----

def check_exact(browser):
    """A small recording has each switch."""
    sums = collections.defaultdict(lambda: [0, 0, 0])
    write_file("small.data", schedule(12, 4000, 2, sums, {3: EVIL}))
    write_page("small.html", "-i", "small.data")
    browser.open("small.html")
    rows = rows_of(browser)
    wrong = {tid: (rows.get(tid), values) for tid, values in sums.items()
             if values[0] and (not rows.get(tid) or rows[tid][0] != values[0] or not 0 <= rows[tid][2] - values[1] < 5e6 or
                               not 0 <= rows[tid][3] - values[2] < 5e6)}  # the last interval of a thread has no end
    check(len(rows) == len(sums) and not wrong, "the times of threads are those of the switches", wrong)
    busy = {cpu: values[0] for cpu, values in rows_of(browser, True).items()}
    check(sum(busy.values()) == sum(values[0] for values in sums.values()) and len(busy) == 2, "and those of CPUs", busy)
    labels = browser.run("perch.rows.lines.map((line) => line.title || rowLabelOf(line))".replace("rowLabelOf(line)", "perch.rows.describe(line.row)"))
    weights = [sums[int(re.match(r".*?/(\d+) ", label)[1])][0] for label in labels if not label.startswith("process")]
    check(any(label.startswith("process 1000: ") for label in labels) and max(weights) == weights[0] or len(weights) == 12,
          "rows of a process follow each other", labels)
    check(any("<img src=x>&" in label for label in labels) and browser.run("document.querySelectorAll('img').length") == 0, "a name of markup is text")
    tid = max(sums, key=lambda tid: sums[tid][0])
    number = browser.run(f"perch.data.rows.findIndex((row) => !row.isCpu && row.id === {tid})")
    spans = spans_of(browser, number)
    check(all(a[1] <= b[0] for a, b in zip(spans, spans[1:])) and {span[2] for span in spans} <= {0, 2, 3, 5} and
          sum(end - start for start, end, state, _ in spans if state == 0) == sums[tid][0], "spans follow each other", spans[:4])
    cpu = browser.run("perch.data.rows.findIndex((row) => row.isCpu)")
    check({span[3] for span in spans_of(browser, cpu)} <= set(sums), "the spans of a CPU have the thread")
    _, out, _ = result(PERCH, "script", "-i", "small.data", "-F", "tid,cpu,period")
    samples = [[int(number) for number in re.findall(r"\d+", line)] for line in out.splitlines() if line.strip()]
    own = sum(sample[2] for sample in samples if sample[0] == tid)
    check(own > 0 and select(browser, row=number) == own, "a row selects the samples of its thread", own)
    check(f"/{tid}" in browser.run("document.getElementById('summary').textContent"), "the summary names it")
    of_cpu = sum(sample[2] for sample in samples if sample[1] == 1)
    check(select(browser, row=None, cpu=1) == of_cpu, "and that of a CPU", of_cpu)
    keep_picture(browser, "exact")


def check_keys(browser):
    browser.open("small.html")
    total = browser.run("perch.weights.total")
    browser.run("document.querySelector('#rows-box canvas').focus()")
    browser.key("ArrowDown")
    browser.key("ArrowDown")
    live = browser.run("document.getElementById('live').textContent")
    check(browser.run("perch.rows.focused") == 2 and "running" in live, "arrow keys move between rows, which a screen reader reads", live)
    browser.key("Enter")
    part = browser.run("[perch.state.row, perch.weights.total]")
    check(part[0] is not None and 0 < part[1] < total, "Enter selects a row", part)
    fragment = browser.run("location.hash")
    browser.open("small.html", fragment)
    check(browser.run("[perch.state.row, perch.weights.total]") == part, "a link has the row", fragment)
    browser.run("document.querySelector('#rows-box canvas').focus()")
    for _ in range(3):
        browser.key("+")
    view = browser.run("[perch.timeline.view.to - perch.timeline.view.from, perch.data.slices, document.getElementById('range').textContent]")
    check(abs(view[0] * 8 - view[1]) < 1 and "Visible: " in view[2], "+ zooms the time", view)
    browser.key("ArrowRight")
    visible = browser.run("perch.state.from < perch.timeline.view.to && perch.state.to > perch.timeline.view.from && perch.state.to - perch.state.from < perch.data.slices")
    check(visible, "arrow keys select a range in what is visible")
    browser.run("document.getElementById('zoom-in').click()")
    view = browser.run("[perch.timeline.view.from, perch.timeline.view.to, perch.state.from, perch.state.to]")
    check(abs(view[0] - view[2]) < 0.01 and abs(view[1] - view[3]) < 0.01, "the range in the whole width", view)
    browser.key("Escape")
    browser.run("document.getElementById('zoom-out').click()")
    check(browser.run("perch.timeline.view === null && perch.state.to - perch.state.from === perch.data.slices"), "and all of the time again")
    browser.open("small.html", "#row=99999&state=77&rows=x")
    check(browser.run("perch.weights.total") == total, "an invalid link shows everything")


def check_pointer(browser):
    browser.open("small.html")
    box = browser.run("(({left, top, width}) => [left, top, width])(document.querySelector('#rows-box canvas').getBoundingClientRect())")
    line = browser.run("perch.rows.lines.findIndex((line) => line.row)")
    y = box[1] + 24 * line + 18
    browser.mouse("mouseMoved", box[0] + box[2] / 3, y)
    browser.wait("!document.getElementById('tip').hidden")
    tip = browser.run("document.getElementById('tip').innerText")
    check(re.search(r"(running|preempted|blocked|unknown).*from .*, for ", tip), "a pointer on a span shows what it is", tip)
    browser.click(box[0] + box[2] / 3, y)
    check(browser.run(f"perch.state.row === perch.rows.lines[{line}].index"), "a click selects a row")
    browser.mouse("mousePressed", box[0] + box[2] / 4, y, button="left", clickCount=1)
    browser.mouse("mouseMoved", box[0] + box[2] / 2, y, button="left")
    browser.mouse("mouseReleased", box[0] + box[2] / 2, y, button="left", clickCount=1)
    state = browser.run("[perch.state.from / perch.data.slices, perch.state.to / perch.data.slices, perch.state.row !== null]")
    check(abs(state[0] - 0.25) < 0.01 and abs(state[1] - 0.5) < 0.01 and state[2], "dragging selects a range of it", state)
    browser.run("const rows = document.getElementById('rows'); rows.value = 'cpus'; rows.dispatchEvent(new Event('change'))")
    check(browser.run("perch.rows.lines.map((line) => perch.rows.describe(line.row).split(' · ')[0])") == ["CPU 0", "CPU 1"], "rows of CPUs")
    browser.mouse("mouseMoved", box[0] + box[2] / 3, box[1] + 18)
    browser.wait("document.getElementById('tip').innerText.startsWith('CPU 0')")
    tip = browser.run("document.getElementById('tip').innerText")
    check(re.search(r"running: .*/\d+, from", tip) or "idle" in tip, "a span of a CPU has the thread", tip)


def check_uncertain(browser):
    """What may be wrong has a mark in its row, in the legend and in the text of the pointer."""
    write_file("missing.data", missing_switches())
    write_page("missing.html", "-i", "missing.data")
    for scheme in ("light", "dark"):
        browser.media(prefers_color_scheme=scheme)
        browser.open("missing.html")
        marks = browser.run("perch.data.rows.filter((row) => !row.isCpu).flatMap((row) => Array.from({ length: row.end - row.first }, (_, k) => k + row.first)"
                            ".map((k) => [row.id, perch.data.states.spans.start[k] + 1000, perch.data.states.spans.uncertain[k] > 0]))")
        check([7, 3000, True] in marks and [7, 7000, True] in marks and [7, 1000, False] in marks and [8, 2000, False] in marks,
              "spans of which a switch is missing are marked", marks)
        check(browser.run("document.querySelectorAll('#states .uncertain').length") == 1, "and the mark is in the legend")
        keep_picture(browser, "uncertain-" + scheme)
    row = browser.run("perch.rows.lines.findIndex((line) => line.row && line.row.id === 7)")
    left, top, width = browser.run("(({left, top, width}) => [left, top, width])(document.querySelector('#rows-box canvas').getBoundingClientRect())")
    browser.mouse("mouseMoved", left + width * 0.88, top + 24 * row + 18)
    browser.wait("!document.getElementById('tip').hidden")
    tip = browser.run("document.getElementById('tip').innerText")
    check("may be wrong: a switch is missing" in tip, "and the text at the pointer says it", tip)
    browser.media(prefers_color_scheme="light")
    browser.open("small.html")
    check(browser.run("document.querySelectorAll('#states .uncertain').length") == 0, "nothing is marked where nothing is missing")


def check_unknown(browser):
    """Of callers outside of all mappings that follow each other, the page has one."""
    chain = [0x401000, *range(0x7000, 0x7000 + 40), 0x402000, 0x8000, 0x9000]
    user = (1 << 64) - 512
    sample = struct.pack("<QIIQIIQ", chain[0], 7, 7, 1500, 0, 0, 250000) + struct.pack(f"<{len(chain) + 2}Q", len(chain) + 1, user, *chain)
    name = b"/nonexistent/code\0"
    mapping = struct.pack("<IIQQQ", 7, 7, 0x400000, 0x10000, 0) + name + bytes(-len(name) % 8) + struct.pack("<IIQII", 7, 7, 1000, 0, 0)
    write_file("unknown.data", [record(1, 2, mapping), record(SAMPLE, 2, sample)], 0x20)
    write_page("unknown.html", "-i", "unknown.data")
    browser.open("unknown.html")
    nodes = browser.run("perch.data.nodes.count")
    check(nodes == 5, "a run of unknown callers is one: 4 frames and the root", nodes)
    names = browser.run("[...new Set(perch.sums.map((row) => perch.data.functions.name[row.fn]))]")
    check(sorted(names) == ["[code]", "[unknown]"], "and has that name", names)


def luminance(color):
    red, green, blue = (int(color[i:i + 2], 16) for i in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


def check_looks(browser):
    for scheme in ("light", "dark"):
        browser.media(prefers_color_scheme=scheme)
        browser.open("small.html")
        colors = browser.run("perch.rows.colors")
        tones = sorted(luminance(color) for color in colors)
        check(len(tones) == 6 and min(b - a for a, b in zip(tones, tones[1:])) >= 20, scheme + ": states differ in gray", tones)
        keep_picture(browser, scheme)
    browser.media(prefers_color_scheme="light")
    browser.size(320)
    browser.open("small.html")
    check(browser.run("document.documentElement.scrollWidth") <= 320, "nothing is wider than 320 pixels",
          browser.run("[...document.querySelectorAll('*')].filter((n) => n.getBoundingClientRect().right > 321).map((n) => n.id || n.tagName)"))
    check(browser.run("document.querySelector('#rows-box canvas').getBoundingClientRect().width") > 280, "rows have the whole width")
    keep_picture(browser, "narrow")
    browser.size(1200)


PROGRAM = r"""
#include <pthread.h>
#include <time.h>
static volatile unsigned long sink;
static void *spin(void *unused)
{
	struct timespec now;

	do {
		for (int i = 0; i < 100000; i++)
			sink += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_nsec < 150000000 && !now.tv_sec);
	return unused;
}
static void *wait_often(void *unused)
{
	struct timespec short_time = { 0, 5000000 };

	for (int i = 0; i < 20; i++)
		nanosleep(&short_time, 0);
	return unused;
}
int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], 0, spin, 0);
	pthread_create(&threads[1], 0, wait_often, 0);
	pthread_join(threads[0], 0);
	pthread_join(threads[1], 0);
	return 0;
}
"""


def build_program():
    with open("program.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", "program", "program.c"], check=True)


def check_time_line(browser, threads):
    """Waits have their time in the time line, and in a range of it; CPUs have ticks of samples on them."""
    browser.open("waits.html")
    total = select(browser, state="off")
    sums, each = browser.run("[Array.from(perch.timeline.sums), perch.data.duration / perch.data.slices]")
    # sums of short waits have no place: they are where the last of them ends
    high = sum(value for value in sums if value > 1.6 * threads * each)
    check(abs(sum(sums) - total) < 1e-6 * total and high < 0.2 * total,
          "in no part of the time does a thread wait more than once, but where sums of waits end",
          sum(sums), total, max(sums) / each, high)
    half = len(sums) // 2
    parts = [select(browser, **{"from": 0, "to": half}), select(browser, **{"from": half, "to": len(sums)})]
    check(abs(parts[0] - sum(sums[:half])) < 1e-6 * total and abs(sum(parts) - total) < 1e-6 * total and parts[0] > 0,
          "a range has the part of the waits in it", parts, total)
    browser.run("perch.change({ rows: 'cpus' })")
    labels = browser.run("perch.rows.lines.map((line) => perch.rows.describe(line.row))")
    check(labels and all(re.fullmatch(r"CPU \d+ · [\d,]+ samples", label) for label in labels), "CPUs have rows with samples", labels)


def check_off_cpu(browser):
    """States of off-CPU samples: on-CPU, off-CPU and wall-clock graphs of threads."""
    status, _, err = result(PERCH, "record", "--off-cpu", "--sample-cpu", "-o", "waits.data", "--", "./program")
    if status or "no call chains" in err:
        print("ok - states of off-CPU time # skip this user has no call chains of switches")
        return
    write_page("waits.html", "-i", "waits.data")
    _, out, _ = result(PERCH, "script", "-i", "waits.data", "-F", "tid,event,period")
    off, on = collections.Counter(), collections.Counter()
    for tid, period, event in (line.split()[:3] for line in out.splitlines() if line.strip()):
        (off if event.startswith("offcpu-time") else on)[int(tid)] += int(period)
    browser.open("waits.html")
    rows = rows_of(browser)
    wrong = {tid: (sum(rows[tid][1:]) if tid in rows else None, ns) for tid, ns in off.items()
             if tid not in rows or abs(sum(rows[tid][1:]) - ns) > 0.05 * ns + 3e6}  # overlaps, and sums without a place, are cut off
    check(len(rows) >= 3 and not wrong, "the time off the CPU of each thread is that of its samples", wrong)
    spinning = max(on, key=on.get)
    check(0.6 * on[spinning] < rows[spinning][0] < 1.5 * on[spinning] + 1e8, "the rest is time on the CPU", rows[spinning], on[spinning])
    check(select(browser) == sum(off.values()) + sum(on.values()), "the wall clock")
    check(select(browser, state="off") == sum(off.values()), "all off the CPU")
    check(select(browser, state="0") == sum(on.values()), "running")
    by_state = [select(browser, state=str(state)) for state in range(1, 6)]
    check(sum(by_state) == sum(off.values()) and by_state[3] + by_state[2] > 0, "each state", by_state)
    waiting = max(off, key=off.get)
    number = browser.run(f"perch.data.rows.findIndex((row) => row.id === {waiting})")
    check(select(browser, state="off", row=number) == off[waiting], "the time off the CPU of a thread", off[waiting])
    check_time_line(browser, len(rows))
    browser.open("waits.html")
    buttons = dict(browser.run("perch.rows.stateButtons.map(({ state, button }) => [state, button.disabled])"))
    check(buttons.get("0") is False and buttons.get("off") is False, "buttons of states", buttons)
    order = browser.run("perch.rows.lines.map((line) => line.index)")
    browser.run("perch.rows.stateButtons.find(({ state }) => state === 'off').button.click()")
    check(browser.run("perch.rows.lines.map((line) => line.index)") == order, "a click on a state moves no row")
    check(browser.run("[perch.weights.total, document.querySelector('#states [aria-pressed=true]').textContent]") ==
          [sum(off.values()), "all off the CPU"], "a click on a state selects it")
    browser.run("perch.rows.stateButtons.find(({ state }) => state === 'off').button.click()")
    check(browser.run("perch.weights.total") == sum(off.values()) + sum(on.values()), "another click all of them")
    keep_picture(browser, "off-cpu")
    write_page("part.html", "-i", "waits.data", "--tid", str(waiting))
    browser.open("part.html")
    check(browser.run("perch.data.states.rows.length") == 0, "selected samples make no states")


def check_ticks(browser):
    """A recording without switches has ticks of its samples."""
    status, _, err = result(PERCH, "record", "-e", "cpu-clock:u", "-F", "997", "-o", "plain.data", "--", "./program")
    if status:
        print("ok - ticks of samples # skip", err.strip().splitlines()[-1:])
        return
    write_page("plain.html", "-i", "plain.data")
    browser.open("plain.html")
    _, out, _ = result(PERCH, "script", "-i", "plain.data", "-F", "tid,period")
    expected = collections.Counter()
    for line in out.splitlines():
        if line.strip():
            tid, period = (int(number) for number in re.findall(r"\d+", line)[:2])
            expected[tid] += period
    ids = browser.run("perch.data.rows.filter((row) => !row.isCpu).map((row) => row.id)")
    sums = {tid: select(browser, row=browser.run(f"perch.data.rows.findIndex((row) => !row.isCpu && row.id === {tid})")) for tid in ids}
    check(sums == dict(expected) and sums, "a row for each thread, that selects its samples", sums, expected)
    check(browser.run("document.querySelectorAll('#states button').length") == 0, "and no states")
    browser.run("perch.change({ row: null })")
    keep_picture(browser, "ticks")


def check_large(browser):
    """Ten thousand threads, and many switches: size, memory and time have limits, and sums stay exact."""
    nr = 10_000_000 if os.environ.get("LONG") else 300_000
    sums = collections.defaultdict(lambda: [0, 0, 0])
    write_file("large.data", schedule(10000, nr, 4, sums))
    peak = write_page("large.html", "-i", "large.data")
    size = os.path.getsize("large.html")
    check(size < 3_000_000 and peak < 200_000, f"{nr} switches of 10000 threads: a page below 3 MB ({size}), with less than 200 MB ({peak} kB)")
    browser.open("large.html")
    rows = rows_of(browser)
    busiest = sorted(sums, key=lambda tid: -sums[tid][0])[:256]
    wrong = {tid: (rows.get(tid), sums[tid]) for tid in busiest if tid not in rows or rows[tid][0] != sums[tid][0]}
    check(len(rows) == 256 and len(wrong) <= 1, "the busiest threads have exact sums", str(wrong)[:300])
    left = browser.run("perch.data.states.left")
    check(left["count"] == len(sums) - 256 and left["sums"][0] == sum(sums[tid][0] for tid in sums if tid not in rows),
          "the others have a sum", left["count"], len(sums) - 256)
    notes = browser.run("document.getElementById('row-notes').textContent")
    check("less busy threads have no row" in notes and ("shorter than" in notes or not browser.run("perch.data.states.quantum")), "and the page says so", notes)
    check(browser.run("performance.getEntriesByName('drawn')[0].startTime") < 20000, "it is drawn soon")
    drawn = browser.run("((start) => { perch.rows.draw(); return performance.now() - start; })(performance.now())")
    check(drawn < 2000, f"rows are drawn in {drawn:.0f} ms")
    keep_picture(browser, "large")


def main():
    if not chromium.find():
        print("skipped: no chromium")
        return 77
    if not shutil.which("gcc"):
        print("skipped: no gcc for the program to record")
        return 77
    with tempfile.TemporaryDirectory(prefix="perch-rows-") as directory:
        os.chdir(directory)
        build_program()
        parts = [("exact rows", check_exact), ("keys", check_keys), ("the pointer", check_pointer), ("looks", check_looks), ("uncertain spans", check_uncertain), ("unknown callers", check_unknown),
                 ("off-CPU time", check_off_cpu), ("ticks", check_ticks), ("a large recording", check_large)]
        problems = chromium.check_parts(parts, width=1200)
        check(not problems, "no error in the console", problems)
        os.chdir("/")
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
