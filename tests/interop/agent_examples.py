#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The files of examples/agent: read by the program that they are for, where it is installed; by a check of their keys otherwise, which
the name of the case says."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
from cases import check, limit

PERCH = os.environ.get("PERCH", "build/perch")
EXAMPLES = os.path.join(os.environ.get("PERCH_SOURCE_ROOT", "."), "examples/agent")
CAPABILITIES = {"PERFMON", "SYSLOG", "SYS_PTRACE"}


def skip(what, why):
    print(f"ok - {what} # skip {why}", flush=True)


def text_of(name):
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
        return file.read()


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=limit(60))


def check_options():
    """perch reads the file; the process that it is for does not exist, so it ends after its options."""
    done = run(PERCH, "agent", "--config", os.path.join(EXAMPLES, "agent.conf"), "-p", "999999999")
    check("agent.conf" not in done.stderr and "help agent" not in done.stderr and "999999999" in done.stderr, "agent.conf: perch reads it", done)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(text_of("agent.conf") + "nonsense = 1\n")
        file.flush()
        done = run(PERCH, "agent", "--config", file.name, "-p", "999999999")
        check(done.returncode == 2 and "nonsense" in done.stderr, "a wrong line would be found", done)


def check_unit():
    unit = text_of("perch-agent.service")
    granted = {word.removeprefix("CAP_") for word in re.search(r"^AmbientCapabilities=(.*)", unit, re.M).group(1).split()}
    check(granted == CAPABILITIES and "ProtectKernelTunables=y" not in unit, "perch-agent.service: rights", granted)
    if not shutil.which("systemd-analyze"):
        skip("perch-agent.service: systemd reads it", "no systemd-analyze")
        return
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "perch-agent.service")
        with open(path, "w", encoding="utf-8") as file:
            # the page may not be installed here
            file.write(re.sub(r"^Documentation=.*\n", "", unit, flags=re.M).replace("/usr/bin/perch", os.path.abspath(PERCH)))
        done = run("systemd-analyze", "verify", path)
        complaints = [line for line in done.stderr.splitlines() if "perch-agent" in line]
        check(not complaints, "perch-agent.service: systemd reads it", *complaints)
        done = run("systemd-analyze", "security", "--offline=yes", "--threshold=40", path)
        if "option" in done.stderr:
            skip("perch-agent.service: its exposure", "this systemd-analyze reads no file of another place")
        else:
            check(not done.returncode, "perch-agent.service: its exposure is at most 4.0 of 10", done.stdout[-200:], done.stderr)


def check_prometheus():
    path = os.path.join(EXAMPLES, "prometheus.yaml")
    if shutil.which("promtool"):
        done = run("promtool", "check", "config", path)
        check(done.returncode == 0, "prometheus.yaml: promtool check config", done)
    else:
        skip("prometheus.yaml: promtool check config", "no promtool")


def blocks_of(text):
    """The names of the blocks of an Alloy configuration and their depth; a fault is a ValueError."""
    found, depth = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        code = re.sub(r'"[^"]*"', '""', line.split("//")[0]).strip()
        if not code:
            continue
        if not re.fullmatch(r'[\w.]+( "")? \{|\}|\w+ += .+', code):
            raise ValueError(f"line {number}: {line}")
        if code.endswith("{") and "=" not in code:
            found.append((depth, code.split()[0]))
            depth += 1
        depth -= code == "}"
    if depth:
        raise ValueError("braces")
    return found


def check_alloy():
    text = text_of("config.alloy")
    blocks = blocks_of(text)
    check([name for depth, name in blocks if not depth] == ["pyroscope.scrape", "pyroscope.write", "prometheus.scrape", "prometheus.remote_write"]
          and (2, "profile.process_cpu") in blocks and "/debug/pprof/profile" in text, "config.alloy: its blocks (no Alloy reads it here)", blocks)


def check_parca(yaml):
    """The rules of Parca's pkg/config: keys, and a timeout above the interval."""
    config = yaml.safe_load(text_of("parca.yaml"))
    job = config["scrape_configs"][0]
    profiles = job["profiling_config"]["pprof_config"]
    check(set(config) == {"object_storage", "scrape_configs"}
          and set(job) <= {"job_name", "scrape_interval", "scrape_timeout", "params", "static_configs", "profiling_config"}
          and job["scrape_interval"] == job["params"]["past"][0] + "s"
          and int(job["scrape_timeout"][:-1]) > int(job["scrape_interval"][:-1])
          and set(profiles) == {"process_cpu", "memory", "block", "goroutine", "mutex"}
          and [name for name, profile in profiles.items() if profile["enabled"]] == ["process_cpu"]
          and not profiles["process_cpu"]["delta"] and profiles["process_cpu"]["path"] == "/debug/pprof/profile",
          "parca.yaml: its keys (no Parca reads it here)", str(config))


def check_collector(yaml):
    config = yaml.safe_load(text_of("collector.yaml"))
    used = config["service"]["pipelines"]["profiles"]
    check(all(set(used[kind]) <= set(config[kind]) for kind in ("receivers", "processors", "exporters")) and "http" in config["receivers"]["otlp"]["protocols"],
          "collector.yaml: its keys (no Collector reads it here)", str(config))


def check_daemon_set(yaml):
    documents = {document["kind"]: document for document in yaml.safe_load_all(text_of("daemonset.yaml"))}
    spec = documents["DaemonSet"]["spec"]
    pod, labels = spec["template"]["spec"], spec["template"]["metadata"]["labels"]
    container = pod["containers"][0]
    rights = container["securityContext"]
    check(spec["selector"]["matchLabels"].items() <= labels.items() and pod["hostPID"]
          and {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
          and next(volume for volume in pod["volumes"] if volume["name"] == "config")["configMap"]["name"] == documents["ConfigMap"]["metadata"]["name"]
          and not rights["privileged"] and rights["capabilities"] == {"drop": ["ALL"], "add": sorted(CAPABILITIES)},
          "daemonset.yaml: its keys (no Kubernetes reads it here)", str(documents))
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(documents["ConfigMap"]["data"]["agent.conf"])
        file.flush()
        done = run(PERCH, "agent", "--config", file.name, "-p", "999999999")
        check("999999999" in done.stderr and file.name not in done.stderr and done.returncode, "daemonset.yaml: perch reads its options", done)


def main():
    check_options()
    check_unit()
    check_prometheus()
    check_alloy()
    try:
        import yaml
    except ImportError:
        skip("parca.yaml, collector.yaml, daemonset.yaml", "no python3-yaml")
        return
    check_parca(yaml)
    check_collector(yaml)
    check_daemon_set(yaml)


main()
sys.exit(cases.failed)
