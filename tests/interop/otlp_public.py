# SPDX-License-Identifier: MIT
"""OTLP profiles, read by messages that others made from the public .proto files: those of the package opentelemetry-proto of PyPI, which
pip installs into a directory of the test. As a program with that directory in PYTHONPATH it prints what it finds in files, a line each."""
import json
import os
import subprocess
import sys
import tempfile

from cases import check, limit, report

PACKAGE = "opentelemetry-proto==1.45.2"     # opentelemetry-proto 1.10 or later


def install(directory):
    """Why there is no package in the directory now, or ""."""
    try:
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-input", "--disable-pip-version-check", "--retries", "0", "--timeout", "15",
                               "--target", directory, PACKAGE],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit(120), check=False)
    except subprocess.TimeoutExpired:
        return "PyPI does not answer"
    return (done.stderr.strip().splitlines() or ["pip fails"])[-1] if done.returncode else ""


def check_public(bodies, what):
    """Requests keep the rules of the messages, and their hottest function is hot."""
    with tempfile.TemporaryDirectory() as directory:
        missing = install(os.path.join(directory, "packages"))
        if missing:
            print(f"ok - {what} # skip {missing}", flush=True)
            return
        paths = []
        for number, body in enumerate(bodies):
            paths.append(os.path.join(directory, str(number)))
            with open(paths[-1], "wb") as file:
                file.write(body)
        done = subprocess.run([sys.executable, __file__, *paths], capture_output=True, text=True, timeout=limit(60), check=False,
                              env={**os.environ, "PYTHONPATH": os.path.join(directory, "packages") + ":" + os.path.dirname(os.path.abspath(__file__))})
    check(done.returncode == 0 and bodies, what + ": messages are read", done)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    report([fault for one in found for fault in one["faults"]], what + ": they keep the rules")
    check(found and all(one["hottest"] == "hot" for one in found if one["hottest"]) and any(one["hottest"] for one in found), what + ": the hottest function",
          done.stdout)


def messages_of(message):
    """A message and all in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type:
            for one in value if hasattr(value, "__len__") else [value]:
                yield from messages_of(one)


def table_of(field):
    """The table to whose elements a field refers, or None."""
    for suffix, table in (("_strindex", "string_table"), ("_strindices", "string_table"), ("_index", None), ("_indices", None)):
        if field.name.endswith(suffix):
            return table or field.name.removesuffix(suffix) + "_table"
    return None


def indices_of(message):
    """(table, index) of each reference in a message."""
    for field in message.DESCRIPTOR.fields:
        table = table_of(field)
        if table:
            value = getattr(message, field.name)
            yield from ((table, index) for index in (value if hasattr(value, "__len__") else [value]))


def is_zero(element):
    """Of a link, ids of zeros are that, too."""
    if not hasattr(element, "DESCRIPTOR"):
        return not element
    return not any(element.trace_id + element.span_id) if element.DESCRIPTOR.name == "Link" else not element.ByteSize()


def faults_of(request, unknown_fields):
    dictionary = request.dictionary
    tables = {field.name: getattr(dictionary, field.name) for field in dictionary.DESCRIPTOR.fields}
    found = [f"element 0 of {name}" for name, table in tables.items() if not table or not is_zero(table[0])]
    for message in messages_of(request):
        name = message.DESCRIPTOR.name
        found += [f"{name}: unknown field {field.field_number}" for field in unknown_fields(message)]
        found += [f"{name}: {table} {index}" for table, index in indices_of(message) if not 0 <= index < len(tables[table])]
        if name == "Profile":
            found += [f"{len(sample.values)} values" for sample in message.samples if len(sample.values) != 1]
    return found


def hottest_of(request):
    """The innermost function with the largest sum of CPU time."""
    dictionary, sums = request.dictionary, {}
    for message in messages_of(request):
        if message.DESCRIPTOR.name == "Sample":
            stack = dictionary.stack_table[message.stack_index].location_indices
            lines = dictionary.location_table[stack[0]].lines if stack else []
            if lines:
                name = dictionary.string_table[dictionary.function_table[lines[0].function_index].name_strindex]
                sums[name] = sums.get(name, 0) + sum(message.values)
    return max(sums, key=sums.get, default="")


def main():
    from google.protobuf.unknown_fields import UnknownFieldSet
    from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            request = ExportProfilesServiceRequest.FromString(file.read())
        print(json.dumps({"faults": faults_of(request, UnknownFieldSet), "hottest": hottest_of(request)}))


if __name__ == "__main__":
    main()
