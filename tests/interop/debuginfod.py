#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names of a stripped program, of a program that is gone, and with a file of dwz from Debian's debuginfod on loopback, and from servers that do not answer, refuse, or send
another file."""
import http.server
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import cases
from cases import check, limit
from peer import output

PERCH = os.environ["PERCH"]
SOURCE = """
static volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long inner(unsigned long x)
{
	for (int i = 0; i < 1000; i++) x = x * 31 + i;
	return x;
}
static __attribute__((noinline)) unsigned long hidden(unsigned long x) { return inner(x) ^ 3; }
int main(void) { for (int i = 0; i < 200000; i++) sink = hidden(i); return 0; }
"""
runs = 0


def script(url, *options, command="script", data="data", **variables):
    """The output and the notes, with an empty cache of libdebuginfod."""
    global runs
    runs += 1
    environment = dict(os.environ, DEBUGINFOD_CACHE_PATH=os.path.abspath("cache%d" % runs), **variables)
    if url:
        environment["DEBUGINFOD_URLS"] = url
    result = subprocess.run([PERCH, command, "-i", data, *options], env=environment, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit(120))
    return result.stdout, result.stderr


def has_name(text):
    return text.count(" hidden+0x") > 10


def build_id_of(path):
    return re.search(r"Build ID: (\w+)", output("readelf", "-n", path))[1]


class Server:
    """Debian's debuginfod with the files of a directory."""

    def __init__(self, directory, *wanted):
        """wanted: what it must have found, as "BUILDID/debuginfo"."""
        port = free_port()
        self.url = "http://127.0.0.1:%d" % port
        with open("server.log", "w") as log:
            self.server = subprocess.Popen(["debuginfod", "-p", str(port), "-d", ":memory:", "-F", directory],
                                           stdout=log, stderr=log)
        self.ready = all(wait_for("%s/buildid/%s" % (self.url, file), self.server) for file in wanted)
        if not self.ready:
            print("skipped: debuginfod does not serve %s here" % (wanted,))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()


def has_inlined(text):
    return len(re.findall(r" inner\+0x\w+ \(inlined\)", text)) > 10


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url, server):
    """Waits until debuginfod has found the file."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=limit(30)) as answer:
                if answer.status == 200:
                    return True
        except (urllib.error.URLError, OSError):
            pass
        if server.poll() is not None:
            return False
        time.sleep(0.1)
    return False


def real_server(build_id):
    with Server("files", build_id + "/debuginfo") as server:
        if not server.ready:
            return
        text, notes = script(server.url)
        check(has_name(text) and has_inlined(text) and "lack" not in notes, "debuginfod", text[:500] + notes)
        text, notes = script(server.url, command="report")
        check("hidden" in text and "inner (inlined)" in text, "report", text[:500] + notes)
        text, notes = script(server.url, "--no-debuginfod")
        check(not has_name(text) and "set DEBUGINFOD_URLS" in notes, "--no-debuginfod", text[:500] + notes)
        text, notes = script(None)
        check(not has_name(text), "without DEBUGINFOD_URLS", text[:500] + notes)
        for added in "program", "data":
            output(PERCH, "buildid-cache", "-v", "-a", added)
            text, notes = script(None)
            check(not has_name(text), "buildid-cache -a %s downloads nothing" % added, text[:500] + notes)
            output(PERCH, "buildid-cache", "--debuginfod=" + server.url, "-a", added)
            text, notes = script(None)
            check(has_name(text) and has_inlined(text), "buildid-cache --debuginfod -a %s adds the debug file" % added, text[:500] + notes)
            output(PERCH, "buildid-cache", "-P")


def executable(build_id):
    """The program is gone; the server has it with symbols."""
    os.mkdir("programs")
    shutil.copy("full", "programs/program")
    output("strip", "--strip-debug", "programs/program")
    os.rename("program", "gone")
    with Server("programs", build_id + "/executable") as server:
        if server.ready:
            text, notes = script(server.url)
            check(has_name(text), "a program that is gone", text[:500] + notes)
            text, notes = script(server.url, "--no-debuginfod")
            check(not has_name(text), "a program that is gone, --no-debuginfod", text[:500] + notes)
            for option, expected in ("-v", False), ("--debuginfod=" + server.url, True):
                output(PERCH, "buildid-cache", option, "-a", "data")
                check((build_id in output(PERCH, "buildid-cache", "-l")) == expected, "buildid-cache -a " + option.split("=")[0])
            output(PERCH, "buildid-cache", "-P")
    os.rename("gone", "program")


def shared(build_id):
    """The server has the debug file of the program, and the file of dwz that it needs."""
    if not shutil.which("dwz"):
        print("skipped dwz: it is not installed")
        return
    os.mkdir("shared")
    shutil.copy("full", "one")
    shutil.copy("full", "two")
    output("dwz", "-m", "shared/common", "one", "two")
    output("objcopy", "--only-keep-debug", "one", "shared/one.debug")
    with Server("shared", build_id + "/debuginfo", build_id_of("shared/common") + "/debuginfo") as server:
        if server.ready:
            text, notes = script(server.url)
            check(has_inlined(text) and "lack" not in notes, "dwz", text[:500] + notes)


def silent_server():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(16)
        text, notes = script("http://127.0.0.1:%d" % server.getsockname()[1], DEBUGINFOD_TIMEOUT="2")
    check(not has_name(text) and "[unknown]" in text and re.search(
        r"\d+ address(?:es)? in \S+/program lacks? a name or line: debuginfod does not answer", notes),
        "a server that does not answer", text[:500] + notes)


class Slow(http.server.BaseHTTPRequestHandler):
    """Sends a byte now and then."""
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        try:
            for _ in range(600):
                self.wfile.write(b"x")
                time.sleep(0.1)
        except OSError:
            pass

    def log_message(self, format, *arguments):
        pass


def slow_server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        text, notes = script("http://127.0.0.1:%d" % server.server_port, DEBUGINFOD_TIMEOUT="3")
        check(not has_name(text) and re.search(r"/program lacks? a name or line: debuginfod sends less than 100 KB", notes),
              "a server that sends a byte now and then", text[:500] + notes)
        server.shutdown()


class Broken(Slow):
    """Closes the connection of the first request after more bytes than the second one has in the limit of time."""
    requests = 0

    def do_GET(self):
        Broken.requests += 1
        again = Broken.requests > 1
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        for _ in range(20 if again else 16):
            self.wfile.write(b"x" * 50000)
            time.sleep(0.4 if again else 0.02)
        if not again and self.server.resets:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()


def broken_server(resets, requests, message):
    Broken.requests = 0
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Broken) as server:
        server.resets = resets
        server.handle_error = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        _, notes = script("http://127.0.0.1:%d" % server.server_port, DEBUGINFOD_TIMEOUT="2")
        check(Broken.requests == requests and message in notes, "a connection that ends, " + message, "%d requests: %s" % (Broken.requests, notes))
        server.shutdown()


class NoServer:
    """The address of a port that refuses connections: it is bound, so that no other program listens at it, and nobody listens."""

    def __enter__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        return "http://127.0.0.1:%d" % self.socket.getsockname()[1]

    def __exit__(self, *_):
        self.socket.close()


def no_server():
    with NoServer() as url:
        text, notes = script(url)
    check(not has_name(text) and re.search(r"program lack a name or line: debuginfod: .*check DEBUGINFOD_URLS", notes),
          "a server that does not exist", text[:500] + notes)


def counts():
    """Each address is counted once, however it is looked up."""
    reports = [("-g", "function"), ("-g", "srcline"), ("-g", "srcline", "--no-inline"), ("-s", "sym,srcline")]
    counted = set()
    with NoServer() as url:
        for command, options in [("script", ("-F", "ip,sym"))] + [("report", ("--stdio", *options)) for options in reports]:
            notes = script(url, *options, command=command)[1]
            counted.add(re.search(r"(\d+) address\w* in \S+program lacks? a name or line", notes)[1])
    check(len(counted) == 1, "the number of addresses that lack a line", counted)


class Wrong(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open("other", "rb") as file:
            data = file.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format, *arguments):
        pass


class Empty(Wrong):
    def do_GET(self):
        self.send_error(404)


def empty_server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        text, notes = script("http://127.0.0.1:%d" % server.server_port)
        check(not has_name(text) and re.search(r"/program .*stripped: the servers of DEBUGINFOD_URLS do not have its debug information: install it.*"
                                               r"keeps an answer, by default for 10 minutes", notes) and "set DEBUGINFOD_URLS" not in notes,
              "a server that does not have the file", text[:500] + notes)
        output("objcopy", "--remove-section=.note.gnu.build-id", "program", "anonymous")
        output(PERCH, "record", "-q", "-N", "-e", "cpu-clock:u", "-o", "anonymous.data", "./anonymous")
        text, notes = script("http://127.0.0.1:%d" % server.server_port, data="anonymous.data")
        check(re.search(r"/anonymous is stripped: install its debug information$", notes, re.M), "a file without a build id", text[:500] + notes)
        server.shutdown()


def wrong_server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Wrong) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = "http://127.0.0.1:%d" % server.server_port
        text, notes = script(url)
        check(not has_name(text) and re.search(
            r"program lack a name or line: the file from debuginfod has another build id", notes),
            "a server that sends another file", text[:500] + notes)
        with open("other", "wb") as file:
            file.write(b"this is no ELF file " * 100)
        text, notes = script(url)
        check(not has_name(text) and re.search(
            r"program lack a name or line: the file from debuginfod is damaged", notes),
            "a server that sends no ELF file", text[:500] + notes)
        server.shutdown()


def main():
    for tool in ["gcc", "objcopy", "strip", "readelf"]:
        if not shutil.which(tool):
            print("skipped: no " + tool)
            return 77
    for name in list(os.environ):
        if name.startswith("DEBUGINFOD_") or name.lower().endswith("_proxy"):
            del os.environ[name]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        os.environ["HOME"] = directory
        with open("program.c", "w") as file:
            file.write(SOURCE)
        output("gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id", "-o", "program", "program.c")
        output("gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id", "-o", "other", "program.c")
        os.mkdir("files")
        output("objcopy", "--only-keep-debug", "program", "files/program.debug")
        shutil.copy("program", "full")
        output("strip", "program")
        build_id = build_id_of("program")
        output(PERCH, "record", "-N", "-e", "cpu-clock:u", "-g", "-o", "data", os.path.join(directory, "program"))
        text, notes = script(None)
        check(not has_name(text), "a stripped program", text[:500] + notes)
        if shutil.which("debuginfod"):
            real_server(build_id)
            executable(build_id)
            shared(build_id)
        else:
            print("skipped: debuginfod is not installed")
        silent_server()
        slow_server()
        broken_server(False, 1, "debuginfod: Connection reset by peer")
        broken_server(True, 2, "the file from debuginfod is damaged")
        no_server()
        counts()
        wrong_server()
        empty_server()
    return int(cases.failed)


sys.exit(main())
