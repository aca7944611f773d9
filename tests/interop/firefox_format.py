# SPDX-License-Identifier: MIT
"""The processed profile of the Firefox Profiler: what its types allow, and its front end, which a package of npm has."""
import json
import os
import shutil
import subprocess
import time

from cases import limit

VERSION = 60
# the columns of src/types/profile.ts of this version; samples and counters have "time" and not "timeDeltas"
COLUMNS = {
    "stackTable": ("frame", "prefix"),
    "frameTable": ("address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID", "line", "column"),
    "funcTable": ("name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber"),
    "resourceTable": ("lib", "name", "host", "type"),
    "nativeSymbols": ("libIndex", "address", "name", "functionSize"),
    "sources": ("uuid", "filename"),
    "samples": ("stack", "time", "weight", "weightType"),
    "markers": ("data", "name", "startTime", "endTime", "phase", "category"),
    "counter": ("time", "count"),
}
LIMIT = limit(60)  # seconds for the first answer, on a busy machine


def wrong_columns(name, table, strings):
    """The columns of a table that do not have its length, or refer to strings that do not exist."""
    columns = {column: values for column, values in table.items() if isinstance(values, list)}
    wrong = [(name, column, len(values), table["length"]) for column, values in columns.items() if len(values) != table["length"]]
    for column in ("name", "filename"):
        wrong += [(name, column, value) for value in columns.get(column, []) if not 0 <= value < strings]
    return wrong


def wrong_references(name, values, limit, null=False):
    return [(name, value) for value in values if not ((value is None and null) or (value is not None and 0 <= value < limit))][:3]


def missing_columns(profile):
    """The tables that do not have exactly the columns of their types."""
    tables = list(profile["shared"].items())
    for thread in profile["threads"]:
        tables += [("samples", thread["samples"]), ("markers", thread["markers"])]
    tables += [("counter", counter["samples"]) for counter in profile["counters"]]
    return [(name, sorted(set(table) ^ {*COLUMNS[name], "length"})) for name, table in tables if name in COLUMNS and set(table) != {*COLUMNS[name], "length"}]


def faults_of(profile):
    """What the types of version 60 of the format do not allow."""
    faults = [("version", profile["meta"]["preprocessedProfileVersion"])] * (profile["meta"]["preprocessedProfileVersion"] != VERSION)
    faults += missing_columns(profile)
    shared = profile["shared"]
    tables = ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources")
    stack, frame, function, resource, _, source = (shared[name] for name in tables)
    strings = len(shared["stringArray"])
    faults += [fault for name in tables for fault in wrong_columns(name, shared[name], strings)]
    faults += wrong_references("stack.frame", stack["frame"], frame["length"]) + wrong_references("frame.func", frame["func"], function["length"])
    faults += [("stack.prefix", i) for i, parent in enumerate(stack["prefix"]) if parent is not None and not 0 <= parent < i]
    faults += wrong_references("frame.category", frame["category"], len(profile["meta"]["categories"]))
    faults += wrong_references("func.resource", function["resource"], resource["length"])
    faults += wrong_references("func.source", function["source"], source["length"], True)
    faults += wrong_references("resource.lib", resource["lib"], len(profile["libs"]))
    schemas = {schema["name"]: {field["key"] for field in schema["fields"]} for schema in profile["meta"]["markerSchema"]}
    for thread in profile["threads"]:
        samples, markers = thread["samples"], thread["markers"]
        faults += wrong_columns("samples", samples, strings) + wrong_columns("markers", markers, strings)
        faults += wrong_references("samples.stack", samples["stack"], stack["length"], True)
        faults += [("samples.time", thread["name"])] * (samples["time"] != sorted(samples["time"]))
        for data, phase, start, end in zip(markers["data"], markers["phase"], markers["startTime"], markers["endTime"]):
            if not set(data) - {"type", "cause"} <= schemas.get(data["type"], set()) or not isinstance(start, (int, float)):
                faults.append(("marker", data))
            if phase not in (0, 1, 2) or (phase == 1) != (end is not None) or (end is not None and end < start):
                faults.append(("marker", phase, start, end))
            faults += wrong_references("marker.cause", [data["cause"]["stack"]] if "cause" in data else [], stack["length"])
    ids = [thread["tid"] for thread in profile["threads"]]
    faults += [("tid", ids)] * (len(set(ids)) != len(ids))
    for counter in profile["counters"]:
        faults += wrong_columns("counter", counter["samples"], strings)
        faults += [("counter", counter["pid"])] * (profile["threads"][counter["mainThreadIndex"]]["pid"] != counter["pid"])
    return faults


# ---- the front end ----


def npm_package(directory, name, version):
    """The directory of a package from npm; or None, and why."""
    if not shutil.which("npm"):
        return None, "no npm"
    target = os.path.join(directory, "npm", name)
    os.makedirs(target)
    try:
        done = subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=target, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=limit(120), check=False)
    except subprocess.TimeoutExpired:
        return None, "npm does not answer"
    packages = [file for file in os.listdir(target) if file.endswith(".tgz")]
    if done.returncode or not packages:
        return None, f"npm has no package {name}: " + done.stderr.decode(errors="replace")[-100:].strip().replace("\n", " ")
    subprocess.run(["tar", "-xzf", packages[-1]], cwd=target, check=True)
    return os.path.join(target, "package"), None


def front_end_package(directory):
    """The directory of the front end's command, which this version of Node.js can run; or None, and why."""
    if not shutil.which("node"):
        return None, "no node"
    package, missing = npm_package(directory, "@firefox-devtools/profiler-cli", "0")
    if not package:
        return None, missing
    done = subprocess.run(["node", os.path.join(package, "dist/profiler-cli.js"), "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, env={**os.environ, "HOME": directory}, timeout=LIMIT, check=False)
    return (None, "this node cannot run it") if done.returncode else (package, None)


class FrontEnd:
    """A process with a loaded profile, which the command of the package starts and asks."""

    def __init__(self, package, directory, path):
        self.program = os.path.join(package, "dist/profiler-cli.js")
        self.environment = {**os.environ, "HOME": directory, "PROFILER_CLI_SESSION_DIR": os.path.join(directory, "s"), "PROFILER_CLI_NO_SYMBOLICATE": "1"}
        self.run("load", path)

    def run(self, *words):
        return subprocess.run(["node", self.program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment, timeout=LIMIT, check=False)

    def ask(self, *words):
        """Returns the answer, which the process has only after it has started."""
        deadline = time.monotonic() + LIMIT
        while True:
            done = self.run(*words, "--json")
            if not done.returncode:
                return json.loads(done.stdout)
            if time.monotonic() > deadline:
                raise RuntimeError(f"{words}: {done.stderr.decode(errors='replace')}")
            time.sleep(0.2)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.run("stop", "--all")
