#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch agent on a machine that is busy with many short processes: it needs less than 64 MB with the processes that make profiles, in
a cgroup that has no more, and little CPU time; samples have the cgroup of their process, also of one that lives shortly; Prometheus
and VictoriaMetrics scrape it."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from agent_server import HZ, Agent, all_cpus, build_program, free_port, now, skip, wait_for_samples
import cases
from cases import check, limit

MB = 1 << 20
CONTAINER = "0123456789abcdef" * 4


class Cgroup:
    """A cgroup of the hierarchy that has a controller, or of cgroup2."""

    def __init__(self, name, controller=None):
        self.path = None
        for mount in open("/proc/self/mounts", encoding="utf-8").read().splitlines():
            at, kind, options = mount.split()[1:4]
            if kind == "cgroup2" and (not controller or self.enable(at, controller)) or \
                    kind == "cgroup" and controller and controller in options.split(","):
                path = os.path.join(at, name)
                try:
                    os.mkdir(path)
                except OSError:
                    continue
                self.path, self.second = path, kind == "cgroup2"
                return

    @staticmethod
    def enable(at, controller):
        try:
            with open(os.path.join(at, "cgroup.controllers"), encoding="utf-8") as file:
                if controller not in file.read().split():
                    return False
            with open(os.path.join(at, "cgroup.subtree_control"), "w", encoding="utf-8") as file:
                file.write("+" + controller)
            return True
        except OSError:
            return False

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as file:
            file.write(text)

    def enter(self):
        self.write("cgroup.procs", str(os.getpid()))

    def read(self, name):
        with open(os.path.join(self.path, name), encoding="utf-8") as file:
            return file.read()

    def remove(self):
        end = now() + limit(10)
        while now() < end:
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.1)


def check_memory():
    """A storm of processes, and profiles in between, in 64 MB."""
    group = Cgroup(f"perch-test-{os.getpid()}", "memory")
    if not group.path:
        skip("64 MB are enough", "this user cannot make a cgroup with a memory limit")
        return
    try:
        group.write("memory.max" if group.second else "memory.limit_in_bytes", str(64 * MB))
        agent = Agent(preexec_fn=group.enter)
        storm = subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"])
        try:
            for _ in range(3):
                status = agent.get("/debug/pprof/profile?seconds=2")[0]
                check(status == 200, "a profile among many short processes", status)
            check(agent.get("/?past=10")[0] == 200, "and a page")
            if group.second:
                killed = "oom_kill 0" not in group.read("memory.events")
            else:
                killed = "oom_kill 0" not in group.read("memory.oom_control")
            check(not killed and agent.process.poll() is None, "64 MB are enough")
            check(not agent.metric("perch_lost_records_total"), "no record is lost")
            cpu, seconds = agent.metric("perch_agent_cpu_seconds_total"), agent.metric("perch_uptime_seconds")
            check(cpu < seconds * os.cpu_count() * 0.25, "it takes a small part of the CPUs", [str(cpu), str(seconds)])
        finally:
            storm.kill()
            storm.wait()
            status = agent.end()
        check(status == (0, ""), "SIGTERM ends it", str(status))
    finally:
        group.remove()


def check_counters(agent, group):
    """Events of the cgroup, and of all others: together those of the CPUs."""
    name = f"/docker-{CONTAINER}.scope"
    end = now() + limit(40)
    while now() < end:
        text = agent.get("/metrics")[1].decode()
        values = dict(re.findall(r'^perch_cgroup_context_switches_total{cgroup="(.*)"} (\d+)$', text, re.M))
        if name in values and (int(values[name]) or now() > end - 5):   # it begins at 0
            all_cpus = sum(map(int, re.findall(r'^perch_context_switches_total{cpu="\d+"} (\d+)$', text, re.M)))
            sums = sum(map(int, values.values()))
            check(int(values[name]) > 0, "switches of the cgroup are counted", values)
            # it is read before, and another one may be below another one
            check(len(values) > 2 or all_cpus <= sums <= 1.5 * all_cpus, "with those of other cgroups they are those of the CPUs",
                  [str(values), str(all_cpus)])
            check('perch_cgroup_running_ratio{counter="context-switches"} 1' in text, "with the part of the time")
            return
        time.sleep(0.5)
    skip("events of a cgroup are counted", "no event of a cgroup can be opened in " + group.path)


def check_labels(program, work, group, counters):
    """The cgroup of a sample, of a process that starts later and of its short children."""
    if not group.path:
        skip("samples have their cgroup", "this user cannot make a cgroup" if counters else "no hierarchy of version 1")
        return
    name = f"busy-{os.getpid()}"   # other programs have functions of that name, too
    shutil.copy(program, os.path.join(work, name))
    program = os.path.join(work, name)
    agent = Agent(*(["--cgroup-events"] if counters else []))
    try:
        busy = subprocess.Popen(["sh", "-c", f"while :; do timeout 0.2 {program}; done"], preexec_fn=group.enter)
        try:
            wait_for_samples(agent, agent.metric("perch_samples_total") + 30)
            profile, end = agent.profile("seconds=3"), now() + limit(20)
            while not profile.total("hot") and now() < end:     # on a busy machine the program may not run for seconds
                profile = agent.profile("seconds=3")
            own = agent.profile("past=10&cgroup=" + urllib.parse.quote("/docker-" + CONTAINER + ".scope"))
            if counters:
                check_counters(agent, group)
        finally:
            busy.kill()
            busy.wait()
        hot = [(values[0], labels) for stack, values, labels in profile.samples
               if "hot" in stack and name in str(labels)]
        named = sum(nr for nr, labels in hot if CONTAINER in str(labels))
        has_paths = any(labels.get("cgroup", "/") != "/" for _, _, labels in profile.samples)
        if hot and not has_paths:
            skip("samples have their cgroup", "events of this kernel have none (before Linux 5.7)")
        else:
            check(hot and named >= 0.95 * sum(nr for nr, _ in hot), "samples of short processes have their container", str(hot[:5]))
            check(own.total("hot") > 0 and all(CONTAINER in str(labels) for _, _, labels in own.samples), "and those alone are served", str(own.samples[:3]))
    finally:
        check(agent.end()[0] == 0, "SIGTERM ends it")
        time.sleep(0.3)
        group.remove()


def check_build(work, group):
    """Compilers of make -j2 have the cgroup of make: processes that live some ten milliseconds, each of a program that runs another."""
    if not group.path:
        skip("compilers have the cgroup of make", "this user cannot make a cgroup")
        return
    if not shutil.which("make"):
        skip("compilers have the cgroup of make", "no make")
        group.remove()
        return
    tree = os.path.join(work, "tree")
    os.mkdir(tree)
    for i in range(12):
        with open(os.path.join(tree, f"part{i}.c"), "w", encoding="utf-8") as file:
            file.write("#include <stdio.h>\n#include <stdlib.h>\n" +
                       "".join(f"int f{i}_{k}(int n) {{ return n > {k} ? printf(\"%d\", n) : abs(n); }}\n" for k in range(200)))
    with open(os.path.join(tree, "Makefile"), "w", encoding="utf-8") as file:
        file.write("lib.a: " + " ".join(f"part{i}.o" for i in range(12)) + "\n\tar rcs $@ $^\n%.o: %.c\n\tcc -O1 -c -o $@ $<\n")
    agent = Agent()
    try:
        build = subprocess.Popen(["sh", "-c", f"cd {tree} && while :; do make -s -j2; rm -f *.o *.a; done"], preexec_fn=group.enter,
                                 start_new_session=True)
        try:
            wait_for_samples(agent, agent.metric("perch_samples_total") + 60)
            profile = agent.profile("seconds=10")
        finally:
            os.killpg(build.pid, signal.SIGKILL)
            build.wait()
        programs = {"cc1", "as", "cc", "make", "ar"}
        own = [(values[0], labels) for _, values, labels in profile.samples if programs & {str(value) for value in labels.values()} and
               CONTAINER in str(labels)]
        without = sum(values[0] for _, values, labels in profile.samples if labels.get("comm", labels.get("thread")) in programs and not labels.get("cgroup"))
        if not any(labels.get("cgroup", "/") != "/" for _, _, labels in profile.samples):
            skip("compilers have the cgroup of make", "events of this kernel have none (before Linux 5.7)")
        else:
            named = sum(nr for nr, _ in own)
            check(named > 20 and without <= 0.05 * named, "compilers have the cgroup of make", [str(named), str(without)])
    finally:
        check(agent.end()[0] == 0, "SIGTERM ends it")
        time.sleep(0.3)
        group.remove()


def check_removed(program, work):
    """A program that is removed after its first sample has names in later profiles, too."""
    name = f"gone-{os.getpid()}"
    path = os.path.join(work, name)
    shutil.copy(program, path)
    agent = Agent()

    def hot():
        return sum(values[0] for stack, values, labels in agent.profile("past=300").samples if "hot" in stack and name in labels.values())

    try:
        with subprocess.Popen([path]) as busy:
            end = now() + limit(60)
            while not hot() and now() < end:
                time.sleep(0.2)
            busy.kill()
        before = hot()
        os.unlink(path)
        check(hot() >= before > 0, "a removed program has its names", before)
        check(agent.metric("perch_held_files") > 0, "its file is open")
        with open(path, "w", encoding="utf-8") as file:
            file.write("another one")
        check(hot() >= before > 0, "also if another file is at its path", before)
    finally:
        check(agent.end() == (0, ""), "SIGTERM ends it")


def query(port, text):
    """The value of an expression, or None."""
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
    try:
        with urllib.request.urlopen(url, timeout=limit(10)) as answer:
            found = json.load(answer)["data"]["result"]
    except OSError:
        return None
    return float(found[0]["value"][1]) if found else None


def busy_seconds():
    """The time that all CPUs have run something: without idle, iowait and steal."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _, _, irq, softirq = map(int, file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


SCRAPERS = {
    "Prometheus": ("prometheus", "--config.file={config}", "--storage.tsdb.path={data}", "--web.listen-address=127.0.0.1:{port}"),
    # without the offset it hides values of the last 30 seconds
    "VictoriaMetrics": ("victoria-metrics", "-promscrape.config={config}", "-storageDataPath={data}", "-httpListenAddr=127.0.0.1:{port}",
                        "-search.latencyOffset=1s", "-memory.allowedBytes=64MB"),
}


def check_scraper(program, work, name):
    """An engine scrapes the agent by the configuration of the example, every second, and answers queries."""
    words = SCRAPERS[name]
    if not shutil.which(words[0]):
        skip(f"{name} scrapes it", f"no {words[0]}")
        return
    agent = Agent()
    port, config = free_port(), os.path.join(work, "scrape.yaml")
    with open(os.path.join(os.environ.get("PERCH_SOURCE_ROOT", "."), "examples/agent/prometheus.yaml"), encoding="utf-8") as file:
        example = file.read()
    with open(config, "w", encoding="utf-8") as file:
        file.write(example.replace("127.0.0.1:7099", f"127.0.0.1:{agent.port}").replace("scrape_interval: 15s", "scrape_interval: 1s"))
    server = subprocess.Popen([word.format(config=config, data=os.path.join(work, name), port=port) for word in words],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    busy = [subprocess.Popen([program]) for _ in range(os.cpu_count())]
    try:
        rate, end, times = None, now() + limit(90), [(now(), busy_seconds())]
        while now() < end and (rate is None or (query(port, "count_over_time(up{job='perch'}[10s])") or 0) < 9):
            time.sleep(1)
            times.append((now(), busy_seconds()))
            rate = query(port, "rate(perch_samples_total[10s])")
        # the same ten seconds: a hypervisor may give others some of the time, which costs samples only in slices above a period
        first = next(point for point in times if point[0] > times[-1][0] - 11.5)
        wanted = HZ * (times[-1][1] - first[1]) / (times[-1][0] - first[0])
        check(query(port, "up{job='perch'}") == 1, f"{name} scrapes it")
        check(rate and wanted * 0.8 < rate < HZ * os.cpu_count() * 1.1, f"{name}: the rate of samples is that of busy CPUs", [str(rate), str(wanted)])
        check((query(port, "count({__name__=~'perch_.*'})") or 0) > 20, f"{name} has the other values")
    finally:
        for one in [server, *busy]:
            one.kill()
            one.wait()
    check(agent.end()[0] == 0, "SIGTERM ends it")


def main():
    reason = all_cpus()
    if reason:
        skip("perch agent of all CPUs", reason)
        return
    with tempfile.TemporaryDirectory() as work:
        program = build_program(work)
        if not program:
            skip("perch agent of all CPUs", "no compiler")
            return
        check_memory()
        check_labels(program, work, Cgroup(f"docker-{CONTAINER}.scope"), counters=True)
        group = Cgroup(f"docker-{CONTAINER}.scope", "devices")
        if group.path and group.second:
            group.remove()
            group.path = None
        check_labels(program, work, group, counters=False)
        check_removed(program, work)
        check_build(work, Cgroup(f"docker-{CONTAINER}.scope"))
        for name in SCRAPERS:
            check_scraper(program, work, name)


main()
sys.exit(cases.failed)
