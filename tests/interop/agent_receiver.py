# SPDX-License-Identifier: MIT
"""A server that takes the windows of perch agent --push, and what it has taken."""
import contextlib
import gzip
import http.server
import os
import subprocess
import tempfile
import threading
import time

import otlp_format
from agent_server import PERCH, build_program, now, skip
from cases import check, limit

HEAD = 32   # bytes of a file of the spool before the body


def wait_until(condition, what):
    end = now() + limit(60)
    while not condition():
        if now() > end:
            check(False, what)
            return False
        time.sleep(0.05)
    return True


class Receiver:
    """A server for windows. answers: (code, headers) of the first requests; the others get 200."""

    def __init__(self, port=0, answers=(), context=None):
        self.windows, answers = [], list(answers)
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                started = now()
                body = self.rfile.read(int(self.headers["Content-Length"]))
                code, headers = answers.pop(0) if answers else (200, {})
                receiver.windows.append((started, code, self.path, dict(self.headers), body))
                self.send_response(code)
                for name, value in {"Content-Length": "0", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def taken(self):
        """The windows that were taken, as requests of OTLP."""
        return [request_of(headers, body) for _, code, _, headers, body in list(self.windows) if code == 200 and body]


def body_of(headers, body):
    return gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body


def request_of(headers, body):
    return otlp_format.read(body_of(headers, body))


def spooled(directory):
    """The windows that wait in the spool."""
    found = []
    for name in os.listdir(directory):
        with open(os.path.join(directory, name), "rb") as file:
            found.append(otlp_format.read(gzip.decompress(file.read()[HEAD:])))
    return found


def samples_of(requests):
    return sum(sum(sample["values"]) for request in requests for _, profile in otlp_format.profiles(request) for sample in profile["samples"])


def ids_of(requests):
    return [profile["profile_id"] for request in requests for _, profile in otlp_format.profiles(request)]


def why_not(options):
    """Why there can be no agent, or ""."""
    done = subprocess.run([PERCH, "agent", *options, "--once", "100ms", "-o", "/dev/null"], capture_output=True, text=True, check=False,
                          timeout=limit(60))
    if done.returncode:
        return done.stderr.splitlines()[0]
    for words, library in ((["--push", "http://127.0.0.1:1"], "libcurl"), (["--listen", "127.0.0.1:0"], "libmicrohttpd")):
        with subprocess.Popen([PERCH, "agent", *options, *words], stderr=subprocess.PIPE, text=True) as process:
            try:
                errors = process.communicate(timeout=1)[1]
            except subprocess.TimeoutExpired:
                process.terminate()
                errors = process.communicate()[1]
        if library in errors:
            return errors.splitlines()[0]
    return ""


@contextlib.contextmanager
def busy_program(what):
    """(options, directory): those of an agent for a program that is busy, None if there can be no agent, which a skipped case says."""
    with tempfile.TemporaryDirectory() as work:
        program = build_program(work)
        if not program:
            skip(what, "no compiler")
            yield None, work
            return
        with subprocess.Popen([program]) as hot:
            try:
                options = ["-p", str(hot.pid)]
                reason = why_not(options)
                if reason:
                    skip(what, reason)
                yield None if reason else options, work
            finally:
                hot.kill()
