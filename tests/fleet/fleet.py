#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles of a real workload in real receivers, which are built from the Go module proxy: an OpenTelemetry Collector by its own builder,
which takes the requests of perch export and perch agent and sends them on, and the packages that engines read profiles with.

PARCA is the path of a Parca, whose modules the proxy does not have: it scrapes perch agent by examples/agent/parca.yaml.

Nothing of them is in the repository. They are built in PERCH_FLEET_CACHE (~/.cache/perch-fleet), the Collector in about ten minutes of CPU
time. Without Go 1.26 or the proxy, a case is skipped with the reason. PERCH_FLEET_SECONDS is the time of the workload (10)."""
import collections
import contextlib
import gzip
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "interop"))
import cases        # noqa: E402 (the path is set above)
import otlp_format  # noqa: E402
from cases import check, limit, report  # noqa: E402

PERCH = os.environ.get("PERCH", "perch")
CACHE = os.environ.get("PERCH_FLEET_CACHE", os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "perch-fleet"))
SECONDS = int(os.environ.get("PERCH_FLEET_SECONDS", "10"))
COLLECTOR = "v0.165.0"
MODULES = ["github.com/google/pprof@v0.0.0-20261105003125-4bf881d7fb0b", "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development@v0.4.1"]
MANIFEST = """dist:
  name: otelcol
  output_path: %s
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver VERSION
exporters:
  - gomod: go.opentelemetry.io/collector/exporter/debugexporter VERSION
  - gomod: go.opentelemetry.io/collector/exporter/otlpexporter VERSION
  - gomod: go.opentelemetry.io/collector/exporter/otlphttpexporter VERSION
""".replace("VERSION", COLLECTOR)
CONFIG = """receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:%d
exporters:
  debug:
    verbosity: normal
  otlp_http:
    endpoint: http://127.0.0.1:%d
    compression: none
    sending_queue:
      enabled: false
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    profiles:
      receivers: [otlp]
      exporters: [debug, otlp_http]
"""
PROGRAM = """
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void hotspin(void) { for (int i = 0; i < 100000; i++) sink += i; }
int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : SECONDS;
	struct timespec now;

	do {
		hotspin();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec < seconds);
	return 0;
}
"""
HZ = 19


def run(words, directory=None, environment=None):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=directory, env=dict(os.environ, **(environment or {})), check=False)


def built(program, what, make):
    """The path of a program, which make(directory) builds once; None, with the reason as a case that is skipped."""
    directory = os.path.join(CACHE, COLLECTOR, what)
    path = os.path.join(directory, program)
    if not os.path.exists(path):
        if not shutil.which("go"):
            print("ok - %s # skip no go" % what)
            return None
        os.makedirs(directory, exist_ok=True)
        done = make(directory)
        if done.returncode:
            print("ok - %s # skip it cannot be built: %s" % (what, (done.stderr or done.stdout).decode().strip().splitlines()[-1:]))
            return None
    return path


def make_check(directory):
    shutil.copy(os.path.join(ROOT, "tests", "fleet", "check.go"), os.path.join(directory, "main.go"))
    with open(os.path.join(directory, "go.mod"), "w", encoding="utf-8") as file:
        file.write("module check\n\ngo 1.25.0\n")
    done = run(["go", "get", *MODULES], directory)
    return done if done.returncode else run(["go", "build", "-o", "check", "."], directory)


def make_collector(directory):
    done = run(["go", "install", "go.opentelemetry.io/collector/cmd/builder@" + COLLECTOR], directory, {"GOBIN": directory})
    if done.returncode:
        return done
    with open(os.path.join(directory, "manifest.yaml"), "w", encoding="utf-8") as file:
        file.write(MANIFEST % directory)
    return run(["./builder", "--config", "manifest.yaml"], directory)


def export(form, *options):
    path = "profile." + form
    done = run([PERCH, "export", "--format", form, "-o", path, *options])
    check(done.returncode == 0, " ".join(["perch export --format", form, *options]), done.stderr)
    return path


def check_packages():
    """What the packages of engines say of the files."""
    program = built("check", "packages", make_check)
    if not program:
        return
    done = run([program, "pprof", export("pprof")])
    check(done.stdout.decode().split() == ["cpu/nanoseconds", "cpu/nanoseconds", str(10 ** 9 // HZ), "hotspin"],
          "google/pprof: the profile is valid; its period is that of 19 Hz", done)
    for options in ([], ["--timestamps"], ["--addresses", "--with-tid"]):
        done = run([program, "otlp", export("otlp", *options)])
        check(done.returncode == 0 and done.stdout.startswith(b"1 profiles"), " ".join(["the types of opentelemetry-proto:", *options]), done)


def check_agent():
    """A profile of perch agent is one that google/pprof finds valid."""
    program = built("check", "packages", make_check)
    if not program:
        return
    port = free_port()
    url = "http://127.0.0.1:%d/debug/pprof/profile?seconds=2" % port
    with running_agent("--listen", "127.0.0.1:%d" % port) as agent:
        wait_for(port, agent)
        try:
            with urllib.request.urlopen(url, timeout=limit(60)) as answer, open("agent.pb.gz", "wb") as file:
                file.write(answer.read())
            done = run([program, "pprof", "agent.pb.gz"])
            check(done.stdout.decode().split() == ["cpu/nanoseconds", "cpu/nanoseconds", str(10 ** 9 // HZ), "hotspin"],
                  "google/pprof: the profile of perch agent", done)
        except OSError as error:
            check(False, "perch agent serves a profile", error, text_of("agent.log"))


@contextlib.contextmanager
def running_agent(*options):
    """An agent that samples the workload."""
    with open("agent.log", "wb") as file:
        workload = subprocess.Popen(["./program", "3600"])
        agent = subprocess.Popen([PERCH, "agent", "-p", str(workload.pid), "-e", "cpu-clock:u", "-F", str(HZ), *options], stdout=file, stderr=file)
    try:
        yield agent
    finally:
        agent.terminate()
        agent.wait()
        workload.kill()
        workload.wait()


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def wait_for(port, process):
    """Waits until a process listens on a port."""
    end = time.monotonic() + limit(60)
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.1)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Receiver(http.server.BaseHTTPRequestHandler):
    """The engine behind the Collector. It keeps the bodies."""
    bodies = []

    def do_POST(self):  # pylint: disable=invalid-name # of the base class
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Receiver.bodies.append((self.path, self.headers.get("Content-Type"), body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin # of the base class
        pass


@contextlib.contextmanager
def running_collector(program, behind):
    """A Collector that sends on to a port; (port, path of its log)."""
    port = free_port()
    with open("collector.yaml", "w", encoding="utf-8") as file:
        file.write(CONFIG % (port, behind))
    with open("collector.log", "wb") as log:
        process = subprocess.Popen([program, "--config", "collector.yaml", "--feature-gates=+service.profilesSupport"], stdout=log, stderr=log)
    try:
        wait_for(port, process)
        yield port
    finally:
        process.terminate()
        process.wait()


def post(port, body, **headers):
    request = urllib.request.Request("http://127.0.0.1:%d/v1development/profiles" % port, body,
                                     {"Content-Type": "application/x-protobuf", **{name.replace("_", "-"): value for name, value in headers.items()}})
    try:
        with urllib.request.urlopen(request, timeout=limit(60)) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def sums_of(request):
    """The values of all stacks, by the attributes of the resource, the type and the stack."""
    sums = collections.Counter()
    for attributes, profile in otlp_format.profiles(request):
        for sample in profile["samples"]:
            key = (str(sorted(attributes.items())), otlp_format.type_of(request, profile["sample_type"]), profile["period"],
                   profile["profile_id"], tuple(otlp_format.stack_of(request, sample)))
            sums[key] += sum(sample["values"]) or len(sample["timestamps_unix_nano"])
    return sums


def check_collector():
    """The Collector takes requests, knows all of them, and sends them on."""
    program = built("otelcol", "collector-%08x" % zlib.crc32(MANIFEST.encode()), make_collector)
    if not program:
        return
    check_example(program)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with running_collector(program, server.server_address[1]) as port:
        for options in ([], ["--timestamps"], ["--with-tid", "--addresses"]):
            with open(export("otlp", *options), "rb") as file:
                body = file.read()
            del Receiver.bodies[:]
            status, answer = post(port, gzip.compress(body), Content_Encoding="gzip")
            # it has an empty partial_success
            check((status, answer) == (200, b"\x0a\x00"), "Collector: it takes the request, all of it " + " ".join(options), answer, log())
            check(len(Receiver.bodies) == 1 and Receiver.bodies[0][0] == "/v1development/profiles", "Collector: it sends the request on", log())
            if Receiver.bodies:
                check_passed(otlp_format.read(body), Receiver.bodies[0][2])
        check_agent_push(port)
        check_versions(port, body)
        status, answer = post(port, body[:len(body) // 2])
        check(400 <= status < 500, "Collector: half of a request is refused", status, answer)
    server.shutdown()
    check("panic" not in log() and "error" not in log().lower(), "Collector: its log has no error", log())


def check_example(program):
    """examples/agent/collector.yaml, without the processor of another distribution."""
    with open(os.path.join(ROOT, "examples", "agent", "collector.yaml"), encoding="utf-8") as file:
        text, removed = re.subn(r"^processors:\n(?:[ ].*\n|\n)+|^ *processors: \[k8sattributes\]\n", "", file.read(), flags=re.M)
    with open("example.yaml", "w", encoding="utf-8") as file:
        file.write(text)
    done = run([program, "validate", "--feature-gates=+service.profilesSupport", "--config", "example.yaml"])
    check(removed == 2 and not done.returncode, "Collector: it takes the configuration of the example", done)
    with open("example.yaml", "a", encoding="utf-8") as file:
        file.write("nonsense:\n")
    done = run([program, "validate", "--feature-gates=+service.profilesSupport", "--config", "example.yaml"])
    check(done.returncode and b"nonsense" in done.stderr, "Collector: it would refuse another one", done)


def check_agent_push(port):
    """What perch agent sends by itself."""
    del Receiver.bodies[:]
    with running_agent("--push", "http://127.0.0.1:%d" % port, "--push-interval", "1s"):
        end = time.monotonic() + limit(60)
        while time.monotonic() < end and len(Receiver.bodies) < 3:
            time.sleep(0.1)
    check(len(Receiver.bodies) >= 3, "Collector: it gets windows of perch agent", text_of("agent.log"), text_of("collector.log"))
    requests = [otlp_format.read(body) for _, _, body in Receiver.bodies]
    report([fault for request in requests for fault in otlp_format.faults(request)], "Collector: the windows keep the rules")
    sums = collections.Counter()
    for request in requests:
        for key, value in sums_of(request).items():
            sums[key[1:3] + key[-1][-1:]] += value
    check(sums.most_common(1)[0][0] == ("samples/count", 10 ** 9 // HZ, "hotspin"), "Collector: the hottest function of perch agent", sums)
    ids = [profile["profile_id"] for request in requests for _, profile in otlp_format.profiles(request)]
    check(len(ids) == len(set(ids)), "Collector: no window came twice", ids)


def check_versions(port, body):
    """Since v0.163 a header has the version of the messages: the receiver refuses what it would misread. The fields of perch are version 1."""
    for version, taken in (("1", True), ("2", False), ("x", False)):
        status, answer = post(port, body, otlp_profiles_development_version=version)
        check((status == 200) == taken and (taken or status == 400), "Collector: version %s in the header" % version, status, answer)


def check_passed(sent, body):
    passed = otlp_format.read(body)
    check(sums_of(passed) == sums_of(sent), "Collector: the same stacks, sums, resources and ids", sums_of(passed), sums_of(sent))
    hottest = max(sums_of(passed).items(), key=lambda item: item[1])[0]
    check(hottest[-1][-1] == "hotspin", "Collector: the hottest function", hottest)
    report(otlp_format.faults(passed), "Collector: what it sends keeps the rules")


class Parca:
    """A Parca that scrapes an agent by the example's configuration, every five seconds."""

    def __init__(self, program, agent_port):
        self.port = free_port()
        with open(os.path.join(ROOT, "examples", "agent", "parca.yaml"), encoding="utf-8") as file:
            text = file.read()
        for old, new in (("127.0.0.1:7099", "127.0.0.1:%d" % agent_port), ("scrape_interval: 10s", "scrape_interval: 5s"), ('past: ["10"]', 'past: ["5"]')):
            check(old in text, "parca.yaml has " + old)
            text = text.replace(old, new)
        with open("parca.yaml", "w", encoding="utf-8") as file:
            file.write(text)
        with open("parca.log", "wb") as file:
            # it asks nobody for debug information
            self.process = subprocess.Popen([program, "--config-path=parca.yaml", "--http-address=127.0.0.1:%d" % self.port, "--debuginfod-upstream-servers=",
                                             "--debuginfo-cache-dir=cache", "--storage-active-memory=67108864"], stdout=file, stderr=file)

    def get(self, path, **query):
        with urllib.request.urlopen("http://127.0.0.1:%d/api/%s?%s" % (self.port, path, urllib.parse.urlencode(query)), timeout=limit(30)) as answer:
            return json.load(answer)

    def target(self):
        return self.get("targets")["targets"]["perch"]["targets"][0]

    def top(self):
        """The nanoseconds of CPU time, and the hottest function."""
        query = {"mode": "MODE_MERGE", "report_type": "REPORT_TYPE_TOP", "merge.query": "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{job='perch'}"}
        for name, time_of in (("merge.start", time.time() - 3600), ("merge.end", time.time() + 60)):
            query[name] = time.strftime("%FT%TZ", time.gmtime(time_of))
        answer = self.get("profiles/query", **query)
        hottest = max(answer["top"]["list"], key=lambda row: int(row["flat"]), default=None)
        # that of "top" has 32 bits
        return int(answer["total"]), hottest and hottest["meta"]["function"]["name"]


def samples_of_agent(port):
    with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=limit(30)) as answer:
        return next(int(line.split()[-1]) for line in answer.read().decode().splitlines() if line.startswith("perch_samples_total{"))


def wait_for_scrapes(parca, nr):
    """Waits until a number of scrapes have begun and ended."""
    end, seen = time.monotonic() + limit(120), set()
    while time.monotonic() < end and len(seen) <= nr and parca.process.poll() is None:
        with contextlib.suppress(OSError, KeyError, IndexError):    # it starts
            target = parca.target()
            seen.add(target["lastScrape"])
        time.sleep(0.5)
    return len(seen) > nr


def check_parca():
    """Parca has what perch agent has, with its functions."""
    program = os.environ.get("PARCA")
    if not program:
        print("ok - Parca # skip PARCA is not the path of one")
        return
    port = free_port()
    with running_agent("--listen", "127.0.0.1:%d" % port) as agent:
        wait_for(port, agent)
        parca = Parca(os.path.abspath(program), port)
        try:
            check(wait_for_scrapes(parca, max(2, SECONDS // 5)), "Parca: it scrapes perch agent", text_of("parca.log"))
            sampled = samples_of_agent(port)
            wait_for_scrapes(parca, 2)
            target, (total, hottest), later = parca.target(), parca.top(), samples_of_agent(port)
            check(target["health"] == "HEALTH_GOOD" and not target["lastError"], "Parca: the target is good", target)
            check(hottest == "hotspin", "Parca: the hottest function", hottest)
            check(0.9 * sampled <= total * HZ / 1e9 <= 1.05 * later, "Parca: no sample is missing, none is there twice", sampled, total * HZ / 1e9, later)
        except OSError as error:
            check(False, "Parca: it answers", error, text_of("parca.log"))
        finally:
            parca.process.terminate()
            parca.process.wait()


def log():
    return text_of("collector.log")


def main():
    with tempfile.TemporaryDirectory(prefix="perch-fleet-") as directory:
        os.chdir(directory)
        with open("program.c", "w", encoding="utf-8") as file:
            file.write(PROGRAM.replace("SECONDS", str(SECONDS)))
        if run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "program.c", "-o", "program"]).returncode:
            print("skipped: no gcc for the program to record")
            return 77
        done = run([PERCH, "record", "-N", "-g", "-F", str(HZ), "-e", "cpu-clock:u", "./program"])
        if done.returncode:
            print("skipped: perch cannot record here: " + done.stderr.decode().strip())
            return 77
        check_packages()
        check_agent()
        check_collector()
        check_parca()
    return int(cases.failed)


if __name__ == "__main__":
    sys.exit(main())
