#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch agent --push: all samples arrive, each once, through outages, refusals, SIGKILL and new options."""
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys

import cases
import otlp_format
from agent_receiver import Receiver, body_of, busy_program, ids_of, request_of, samples_of, spooled, wait_until
from agent_server import Agent, skip
from cases import check, limit
from otlp_public import check_public
from pprof_format import Profile, fields

PERCH = os.environ.get("PERCH", "build/perch")


def check_windows(options, work):
    """What is sent is what was sampled, and engines can read it."""
    receiver, spool = Receiver(), os.path.join(work, "spool")
    agent = Agent("--no-counters", *options, "--push", f"http://127.0.0.1:{receiver.port}", "--push", f"pyroscope+http://127.0.0.1:{receiver.port}",
                  "-e", "cpu-clock,task-clock", "--push-interval", "1s", "--spool", spool, "--label", "cluster=test", "--label", "x=1", "--label", "^ => x=")
    wait_until(lambda: len(receiver.windows) > 5, "windows come")
    wait_until(lambda: agent.metric("perch_push_windows_total") > 5, "windows are counted")
    sampled = agent.metric("perch_samples_total")
    status, errors = agent.end()
    check(status == 0 and not [line for line in errors.splitlines() if "in the spool" not in line], "SIGTERM ends it", errors)
    receiver.stop()
    requests = [request_of(headers, body) for _, _, path, headers, body in receiver.windows if path == "/v1development/profiles"]
    check(not [fault for request in requests for fault in otlp_format.faults(request)], "OTLP as its .proto files demand",
          [str(otlp_format.faults(request)) for request in requests])
    check_public([body_of(headers, body) for _, _, path, headers, body in receiver.windows if path == "/v1development/profiles"], "messages of opentelemetry-proto")
    left = [] if not os.listdir(spool) else [path for path in os.listdir(spool)]
    check(len(left) <= 2, "at most the last windows wait", left)
    names = {name for request in requests for _, profile in otlp_format.profiles(request) for sample in profile["samples"]
             for name in otlp_format.stack_of(request, sample)}
    check("hot" in names, "the function is named", sorted(names)[:20])
    attributes = [found for request in requests for found, _ in otlp_format.profiles(request)]
    check(attributes and all(found.get("cluster") == "test" and found.get("host.name") == socket.gethostname() and "x" not in found
                             for found in attributes), "labels of rules, and the host", attributes[:3])
    check_pyroscope([(headers, body) for _, _, path, headers, body in receiver.windows if "PusherService" in path])
    return sampled


def check_pyroscope(requests):
    """Series of Pyroscope's push.proto: labels, and a profile of pprof."""
    found = []
    for _, body in requests:
        for _, series in fields(body):
            parts = list(fields(series))
            labels = {}
            for number, value in parts:
                if number == 1:
                    pair = dict(fields(value))
                    labels[pair[1].decode()] = pair.get(2, b"").decode()
            sample = dict(fields(next(value for number, value in parts if number == 2)))
            found.append((labels, Profile(sample[1]), sample[2]))
    check(found and all(labels["__name__"] == "process_cpu" and labels["service_name"] and labels["cluster"] == "test"
                        for labels, _, _ in found), "series of Pyroscope have the labels that it needs", [str(labels) for labels, _, _ in found][:3])
    check(sum(profile.total("hot") for _, profile, _ in found) > 0, "profiles of Pyroscope have the function")
    check(all(profile.types[:2] == [("samples", "count"), ("cpu", "nanoseconds")] for _, profile, _ in found), "types as Pyroscope knows them")
    check(all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) for _, profile, _ in found for name, _ in profile.types),
          "types of values are names in its queries", found and found[0][1].types)
    check(all(profile.total(value=1) == profile.period * profile.total() for _, profile, _ in found) and any(profile.total(value=2) for _, profile, _ in found),
          "samples are those of CPU time beside another event", [str(profile.total(value=i)) for _, profile, _ in found for i in range(3)])
    check(len({number for _, _, number in found}) == len(found), "each profile has an id")
    check(all(headers["Content-Type"] == "application/proto" for headers, _ in requests), "the content is that of the Connect protocol")


def check_outage(options, work):
    """Nothing is lost while there is no server, nor by SIGKILL but the window that was not made yet; and nothing comes twice."""
    spool = os.path.join(work, "outage")
    first, port = Receiver(), 0
    port = first.port
    words = [*options, "--push", f"http://127.0.0.1:{port}", "--push-interval", "1s", "--spool", spool]
    agent = Agent("--no-counters", *words)
    wait_until(lambda: len(first.taken()) >= 2, "windows come before the outage")
    first.stop()
    wait_until(lambda: agent.metric("perch_spool_windows") >= 3, "windows wait")
    check(agent.metric("perch_spool_bytes") > 0 and agent.metric("perch_spool_oldest_seconds") > 0 and agent.metric("perch_push_failing") == 1,
          "metrics of an outage")
    second = Receiver(port)
    wait_until(lambda: agent.metric("perch_spool_windows") <= 1, "windows come after the outage")
    second.stop()
    wait_until(lambda: agent.metric("perch_spool_windows") >= 2, "windows wait again")
    sampled = agent.metric("perch_samples_total")
    check(agent.metric("perch_push_dropped_windows_total") == 0 and agent.metric("perch_push_dropped_bytes_total") == 0, "nothing was dropped")
    check(agent.metric("perch_lost_records_total") == 0, "rings were read")
    agent.end()
    received = first.taken() + second.taken()
    check(samples_of(received) + samples_of(spooled(spool)) >= sampled, "all samples arrived or wait",
          [str(samples_of(received)), str(samples_of(spooled(spool))), str(sampled)])
    check(os.stat(spool).st_mode & 0o777 == 0o700, "nobody else reads the spool")

    agent = Agent("--no-counters", *words)
    wait_until(lambda: agent.metric("perch_spool_windows") >= 5, "windows of two agents wait")
    agent.end(signal.SIGKILL)
    waiting = ids_of(spooled(spool))
    third = Receiver(port)
    agent = Agent("--no-counters", *words)
    wait_until(lambda: set(waiting) <= set(ids_of(third.taken())), "windows come after SIGKILL")
    status, errors = agent.end()
    third.stop()
    check("windows of an earlier agent" in errors and status == 0, "it says what it took over", errors)
    ids = ids_of(received + third.taken())
    check(len(ids) == len(set(ids)), "no window came twice", [str(len(ids)), str(len(set(ids)))])
    begins = [profile["time_unix_nano"] for request in third.taken()[:len(waiting)] for _, profile in otlp_format.profiles(request)]
    check(begins == sorted(begins), "the oldest came first", begins)


def check_pressure(options):
    """The time that a server wants is waited for, and what it refuses is not repeated."""
    receiver = Receiver(answers=[(429, {"Retry-After": "5"}), (503, {}), (400, {})])
    agent = Agent("--no-counters", *options, "--push", f"http://127.0.0.1:{receiver.port}", "--push-interval", "1s")
    wait_until(lambda: len(receiver.windows) >= 5, "requests come")
    check(agent.metric("perch_lost_records_total") == 0, "rings were read meanwhile")
    check(agent.metric("perch_push_dropped_windows_total") == 1, "the refused window is counted")
    agent.end()
    receiver.stop()
    windows = receiver.windows
    check(windows[1][0] - windows[0][0] >= 5, "Retry-After: 5", windows[1][0] - windows[0][0])
    check(windows[0][4] == windows[1][4] == windows[2][4], "the same window is sent again")
    check(windows[3][4] != windows[2][4] and all(later[4] != windows[2][4] for later in windows[3:]), "a refused one is not")


def check_idle():
    """Engines refuse a request without profiles: a window without samples is not sent."""
    receiver = Receiver()
    with subprocess.Popen(["sh", "-c", "kill -STOP $$"]) as idle:
        def state():
            with open(f"/proc/{idle.pid}/stat", encoding="utf-8") as file:
                return file.read().rsplit(") ", 1)[1][0]

        wait_until(lambda: state() == "T", "a process is stopped")
        agent = Agent("--no-counters", "-p", str(idle.pid), "--push", f"http://127.0.0.1:{receiver.port}", "--push",
                      f"pyroscope+http://127.0.0.1:{receiver.port}", "--push-interval", "1s")
        wait_until(lambda: agent.metric("perch_profiles_total") >= 6, "windows are made")
        status, errors = agent.end()
        idle.kill()
    receiver.stop()
    check(status == 0 and not errors, "it says nothing of windows without samples", errors)
    check(not receiver.windows, "and sends none", len(receiver.windows))


def check_reload(options, work):
    """SIGHUP reads the file again; a wrong file changes nothing."""
    receiver, path = Receiver(), os.path.join(work, "agent.conf")

    def write(*lines):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([f"push = http://127.0.0.1:{receiver.port}", "push-interval = 1s", *lines, ""]))

    def last_labels():
        taken = receiver.taken()
        return next((attributes for attributes, _ in otlp_format.profiles(taken[-1])), {}) if taken else {}

    write("label = a=1")
    agent = Agent("--no-counters", *options, "--config", path, "--label", "b=1")
    wait_until(lambda: last_labels().get("a") == "1" and last_labels().get("b") == "1", "labels of the file and of the command line")
    wait_until(lambda: agent.metric("perch_push_windows_total") > 0, "the answer is counted")
    counted, good = agent.metric("perch_push_windows_total"), agent.metric("perch_config_last_reload_success_timestamp_seconds")
    write("label = a=2", "history = 200s")
    agent.process.send_signal(signal.SIGHUP)
    wait_until(lambda: last_labels().get("a") == "2", "labels of the new file")
    check(agent.metric("perch_push_windows_total") >= counted > 0, "counters go on", counted)
    check(agent.metric("perch_config_last_reload_successful") == 1 and agent.metric("perch_config_last_reload_success_timestamp_seconds") > good,
          "the metrics say so")
    write("label = a=3", "nonsense = 4")
    agent.process.send_signal(signal.SIGHUP)
    wait_until(lambda: agent.metric("perch_config_last_reload_successful") == 0, "and that a wrong file is not used")
    count = len(receiver.windows)
    wait_until(lambda: len(receiver.windows) >= count + 3, "windows come after a wrong file")
    check(last_labels().get("a") == "2", "a wrong file changes nothing", str(last_labels()))
    for lines, what in ((["help"], "--help in the file does not end it"),
                        (["history = 600s", "push-interval = 300s"], "a window that is longer than the history of the start"),
                        (["push-interval = 300s", "history = 600s"], "and again, which frees what was before"),
                        (["label = a=3", f"spool = {path}/none"], "a spool that cannot be made"),
                        (["history = banana"], "a wrong value"), (["spool-size = 0"], "a wrong number")):
        write(*lines)
        agent.process.send_signal(signal.SIGHUP)
        count = len(receiver.windows)
        wait_until(lambda count=count: len(receiver.windows) >= count + 3, what + ": windows come")
        check(last_labels().get("a") == "2", what + ": nothing changes", str(last_labels()))
    status, errors = agent.end()
    receiver.stop()
    check(status == 0 and "is read again" in errors and "nonsense" in errors and errors.count("the options stay") == 6 and
          "the options of before are used again" in errors, "it says what it did", errors)
    for text in (f"{path}:3: --history banana: ", f"{path}:3: --spool-size 0: ", f"{path}:4: unknown option '--nonsense'",
                 f"{path}:4: history needs a restart; it stays as at the start"):
        check(text in errors, text, errors)


def check_tls(options, work):
    """A certificate is verified, and a token is sent."""
    key, certificate, token = (os.path.join(work, name) for name in ("key.pem", "ca.pem", "token"))
    made = shutil.which("openssl") and subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    if not made:
        skip("TLS", "openssl makes no certificate")
        return
    with open(token, "w", encoding="utf-8") as file:
        file.write("a secret\n")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    receiver = Receiver(context=context)
    agent = Agent("--no-counters", *options, "--push", f"https://127.0.0.1:{receiver.port},ca-file={certificate},token-file={token}", "--push",
                  f"https://127.0.0.1:{receiver.port}/other,token-file={token}", "--push-interval", "1s")
    wait_until(lambda: receiver.taken() and agent.metric("perch_push_failing") == 1, "a window comes by TLS")
    status, errors = agent.end()
    receiver.stop()
    check({path for _, _, path, _, _ in receiver.windows} == {"/v1development/profiles"}, "a certificate of nobody is refused", errors)
    check(all(headers.get("Authorization") == "Bearer a secret" for _, _, _, headers, _ in receiver.windows), "the token is sent")
    check(status == 0 and "certificate" in errors and "a secret" not in errors, "the reason is said, the secret is not", errors)


def check_words():
    """Wrong options are refused."""
    taken = socket.create_server(("127.0.0.1", 0))
    for words, reason in ((["--push", "ftp://a"], "http://"), (["--push", "http://u:p@a"], "file"), (["--push", "http://a", "--spool-size", "0"], "spool-size"),
                          (["--spool", "/tmp/x", "--listen", "127.0.0.1:1"], "--push"), (["--push", "http://a", "--push-interval", "10ms"], "1s"),
                          (["--push", "http://a:99999"], "from 1 to 65535"), (["--push", "http://[::1]:x"], "from 1 to 65535"),
                          (["--push", "http://a,ca-file=/proc/a"], "https://"), (["--push", "http://a", "--push", "http://a"], "twice"),
                          (["--push", "http://a", "--spool-age", "0s"], "from 1 on"), (["--once", "1s", "-g"], "always takes call chains"),
                          (["--once", "1s", "-G", "/"], "?cgroup=PATH"), (["--once", "1s", "--cgroup-events", "--no-counters"], "exclude"),
                          (["--listen", "127.0.0.1:65536"], "from 1 to 65535"), (["--listen", "127.0.0.1:0"], "from 1 to 65535"),
                          (["--listen", "::1:7099"], "[::1]:7099"), (["--listen", "127.0.0.1:x"], "from 1 to 65535"),
                          (["--listen", f"127.0.0.1:{taken.getsockname()[1]}"], "another port"),
                          (["--listen", "127.0.0.1:7099", "--token-file", "/proc/nonexistent"], "16 to 1024 bytes"),
                          (["--push", "http://a", "--label", "( => a=b"], "label"), (["--config", "/proc/nonexistent"], "No such file"),
                          (["--once", "1s", "--push", "http://a"], "--once")):
        done = subprocess.run([PERCH, "agent", *words], capture_output=True, text=True, check=False, timeout=limit(20))
        lacks = "--listen" in words and "libmicrohttpd" in done.stderr  # it is looked for first
        check(done.returncode in (1, 2) and (lacks or reason.casefold() in done.stderr.casefold()), "refused: " + " ".join(words), done)
    taken.close()


def main():
    check_words()
    with busy_program("perch agent --push") as (options, work):
        if options:
            check_windows(options, work)
            check_outage(options, work)
            check_pressure(options)
            check_idle()
            check_reload(options, work)
            check_tls(options, work)


main()
sys.exit(cases.failed)
