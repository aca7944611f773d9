#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch flamegraph and export: events of hybrid CPUs are one, the event with the most samples is shown, -e selects another, and text is read as the
recording that it is of; compressed files are read or named."""
import bz2
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import built
import cases
from cases import check

PERCH = os.environ.get("PERCH", "perch")


def run(*words, status=0, text=True, **options):
    done = subprocess.run((PERCH, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options)
    if done.returncode != status:
        check(False, f"perch {' '.join(words)}: exit status {status}", (done.returncode, done.stderr.decode()))
    return (done.stdout.decode(errors="replace") if text else done.stdout), done.stderr.decode()


def picture(*words, **options):
    """The title of a picture's sum, and its frames with their sums and changes."""
    out, err = run("flamegraph", "--svg", "-o", "-", *words, **options)
    return (re.findall(r'class="note"[^>]*y="37">([^<]*)<', out) + [""])[0], re.findall(r"<title>([^<]*) \(([0-9.]+)%, ([0-9.]+)\)([^<]*)</title>", out), err


USER, KERNEL = built.CONTEXT_USER, built.CONTEXT_KERNEL
P = {"cpu_atom/cycles/P": 4, "cpu_core/cycles/P": 3}


def hybrid_records():
    records = [built.comm(1, b"p"), built.mapping(1, 0x1000, 0x2000, 0, "/nowhere/p")]
    records += [built.sample([USER, 0x1000], event=1, period=7, time=1000100)]
    return records + [built.sample([USER, 0x2000], event=2, period=900, cpu=1, time=1000200 + i) for i in range(3)]


def check_hybrid():
    names = ["cpu_atom/cycles/P", "cpu_core/cycles/P"]
    built.write("hybrid.data", hybrid_records(), [(name, 0, (10 - i) << 32) for i, name in enumerate(names)])
    with open("hybrid.txt", "w", encoding="utf-8") as file:
        file.write(run("script", "-i", "hybrid.data")[0])
    for source in (["-i", "hybrid.data"], ["hybrid.txt"]):
        title, frames, err = picture(*source)
        check(title == "cycles:P: 2707" and frames[0] == ("all", "100.00", "2707", "") and "other" not in err, f"svg of {source[-1]}: one event", (title, frames, err))
        title, _, err = picture(*source, "-e", names[0])
        check(title == f"{names[0]}: 7" and "3 samples of other events are left out" in err, f"svg of {source[-1]}: -e selects a kind of cores", (title, err))
        title, _, err = picture(*source, "-e", "cycles:P")
        check(title == "cycles:P: 2707" and "other" not in err, f"svg of {source[-1]}: -e selects both", (title, err))
        _, err = run("flamegraph", *source, "-e", "none", "-o", "none.html", status=2)
        check("has no event 'none'; it has " in err, f"-e of {source[-1]} names the events", err)
    folded, err = run("export", "-i", "hybrid.data", "--format", "folded")
    check(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == 2707 and "other" not in err, "folded: one event", (folded, err))
    document = json.loads(run("export", "-i", "hybrid.data", "--format", "json")[0])
    check([(event["name"], event["samples"], event["period"]) for event in document["events"]] == [("cycles:P", 4, 2707)], "json: one event", document["events"])
    profile = json.loads(gzip.decompress(run("export", "-i", "hybrid.data", "--format", "firefox", text=False)[0]))
    check(profile["threads"][0]["samples"]["length"] == 4 and not [name for name in profile["shared"]["stringArray"] if "cpu_" in name],
          "firefox: one event, without markers", profile["threads"][0]["samples"])
    speedscope = json.loads(run("export", "-i", "hybrid.data", "--format", "speedscope")[0])
    check([profile["name"] for profile in speedscope["profiles"]] == ["p 1/1 cycles:P"], "speedscope: one event", speedscope["profiles"])
    raw = gzip.decompress(run("export", "-i", "hybrid.data", "--format", "pprof", text=False)[0])
    check(b"cycles:P" in raw and b"cpu_atom" not in raw, "pprof: one event", raw)
    # one kind of cores keeps its name
    built.write("single.data", hybrid_records()[:3], [(names[0], 0, 10 << 32)])
    with open("single.txt", "w", encoding="utf-8") as file:
        file.write(run("script", "-i", "single.data")[0])
    for source in (["-i", "single.data"], ["single.txt"]):
        check(picture(*source)[0] == f"{names[0]}: 7", f"{source[-1]}: one kind of cores has its own name", picture(*source)[0])


def check_default():
    """The event with the most samples, not the first one."""
    records = [built.comm(1, b"p")] + [built.sample([USER, 0x1000], event=1, period=1000, time=100)]
    records += [built.sample([USER, 0x2000], event=2, period=2, time=200 + i) for i in range(5)]
    built.write("two.data", records, [("cycles:u", 0, 0), ("page-faults:u", 1, 2)])
    with open("two.txt", "w", encoding="utf-8") as file:
        file.write(run("script", "-i", "two.data")[0])
    for source in (["-i", "two.data"], ["two.txt"]):
        title, _, err = picture(*source)
        check(title == "page-faults:u: 10" and "1 sample of other events is left out: --event EVENT" in err, f"svg of {source[-1]}: the event with the most samples", (title, err))
        title, _, err = picture(*source, "--event", "cycles:u")
        check(title == "cycles:u: 1000" and "5 samples of other events are left out" in err, f"svg of {source[-1]}: --event", (title, err))
    folded, err = run("export", "-i", "two.data", "--format", "folded")
    check(folded == "p;[unknown] 10\n" and "1 sample of other events is left out" in err, "folded: the event with the most samples", (folded, err))
    data, err = run("export", "-i", "two.data", "--format", "firefox", text=False)
    profile = json.loads(gzip.decompress(data))
    check(profile["threads"][0]["samples"]["length"] == 5 and "1 sample of other events is a marker" in err, "firefox: the event with the most samples", err)
    data, err = run("export", "-i", "two.data", "--format", "firefox", "-e", "cycles:u", text=False)
    profile = json.loads(gzip.decompress(data))
    check(profile["threads"][0]["samples"]["length"] == 1 and "5 samples of other events are markers" in err, "firefox: --event", err)
    for form, events in (("json", 1), ("speedscope", 1)):
        document = json.loads(run("export", "-i", "two.data", "--format", form, "-e", "cycles:u")[0])
        check(len(document["events" if form == "json" else "profiles"]) == events and "page-faults" not in json.dumps(document), form + ": --event", document)
    raw = gzip.decompress(run("export", "-i", "two.data", "--format", "pprof", "-e", "cycles:u", text=False)[0])
    check(b"cycles:u" in raw and b"page-faults" not in raw, "pprof: --event", raw)


def check_comparison():
    """A recording does not differ from its own texts."""
    records = [built.comm(1, b"prog"), built.mapping(1, 0x2000, 0x1000, 0, "/nowhere/a"),
               built.sample([KERNEL, 0xffffffff81000000, USER, 0x2000, 0x9000], misc=built.KERNEL, period=7),
               built.sample([USER, 0x2004, 0x9000], period=3)]
    built.write("unnamed.data", records)
    for form, words in (("txt", ("script",)), ("folded", ("export", "--format", "folded"))):
        with open("unnamed." + form, "w", encoding="utf-8") as file:
            file.write(run(*words, "-i", "unnamed.data")[0])
        for pair in (("-i", "unnamed.data", "--diff", "unnamed." + form), ("unnamed." + form, "--diff", "unnamed.data")):
            _, frames, _ = picture(*pair)
            check(len(frames) > 3 and {change for _, _, _, change in frames} == {" +0.00%"}, f"{pair[-1]}: no change", frames)


def check_compression():
    """Recordings and texts that gzip, xz and zstd have compressed are read; bzip2 is named; nothing expands without a limit."""
    records = [built.comm(1, b"prog")] + [built.sample([USER, 0x1000], period=7, time=1 + i) for i in range(20000)]
    built.write("c.data", records)
    with open("c.txt", "w", encoding="utf-8") as file:
        file.write(run("script", "-i", "c.data")[0])
    with open("c.folded", "w", encoding="utf-8") as file:
        file.write(run("export", "--format", "folded", "-i", "c.data")[0])
    plain = run("script", "-i", "c.data")[0]
    for name, words in (("gz", ["gzip"]), ("xz", ["xz"]), ("zst", ["zstd", "-q"])):
        if not shutil.which(words[0]):
            print(f"ok - {name} # skip no {words[0]}")
            continue
        for source in ("c.data", "c.txt", "c.folded"):
            with open(source + "." + name, "wb") as out:
                subprocess.run([*words, "-c", source], stdout=out, check=True)
        check(run("script", "-i", "c.data." + name)[0] == plain, f"script of a recording in {name}")
        with open("c.data." + name, "rb") as file:
            check(run("script", "-i", "-", stdin=subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE).stdout)[0] == plain, f"and from a pipe")
        for source in ("c.data", "c.txt", "c.folded"):
            check(picture(f"{source}.{name}")[0].endswith(": 140000"), f"flamegraph of {source}.{name}", picture(f"{source}.{name}"))
        with open("c.txt." + name, "rb") as file:
            out, _ = run("flamegraph", "--svg", "-o", "-", "-", stdin=subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE).stdout)
            check("cycles: 140000<" in out, "and from a pipe", out[:300])
        with open(f"c.txt.{name}", "rb") as file, open("cut." + name, "wb") as out:
            data = file.read()
            out.write(data[:len(data) // 2])
        _, err = run("flamegraph", "cut." + name, status=1)
        check("compressed, and damaged" in err, "a cut file in " + name, err)
    with open("two.gz", "wb") as out:
        out.write(gzip.compress(b"a;b 3\n") + gzip.compress(b"a;c 4\n"))
    check(picture("two.gz")[0] == "count: 7", "both members of a gzip file", picture("two.gz"))
    with open("bomb.gz", "wb") as out:
        out.write(gzip.compress(bytes(200 << 20)))
    for words in (("flamegraph", "bomb.gz"), ("script", "-i", "bomb.gz")):
        _, err = run(*words, status=1)
        check("more than 256 times" in err or "too little free space" in err, words[0] + " of a small file that would become large", err)
    with open("c.txt.bz2", "wb") as out:
        out.write(bz2.compress(open("c.txt", "rb").read()))
    _, err = run("flamegraph", "c.txt.bz2", status=1)
    check("compressed by bzip2" in err and "bzip2 -d" in err, "bzip2 is named", err)
    with open("B.folded", "w", encoding="utf-8") as file:
        file.write("Build;main 3\n(x);main 4\n")
    check(picture("B.folded")[0] == "count: 7", "a text that begins as bzip2", picture("B.folded"))


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    check_hybrid()
    check_default()
    check_comparison()
    check_compression()
sys.exit(1 if cases.failed else 0)
