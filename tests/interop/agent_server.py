# SPDX-License-Identifier: MIT
"""A running perch agent with a server, and a program to profile."""
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import time

from cases import limit
from pprof_format import Profile

PERCH = os.environ.get("PERCH", "build/perch")
HZ = 19
GO_CACHE = os.environ.get("GOCACHE") or os.path.expanduser("~/.cache/go-build")   # go builds its tools there
PROGRAM = """
__attribute__((noinline)) unsigned hot(unsigned n)
{
	for (volatile unsigned i = 0; i < 1000000; i++)
		n += i;
	return n;
}

int main(void)
{
	unsigned n = 0;
	for (;;)
		n = hot(n);
}
"""


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def skip(what, why):
    print(f"ok - {what} # skip {why}", flush=True)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Agent:
    """A running agent with a server."""

    def __init__(self, *options, prefix=(), token=None, preexec_fn=None):
        self.port = free_port()
        self.token = token
        self.first = ""   # the line that says where it serves, after its end
        self.process = subprocess.Popen([*prefix, PERCH, "agent", "--listen", f"127.0.0.1:{self.port}", *options], stderr=subprocess.PIPE,
                                        text=True, preexec_fn=preexec_fn)
        end = now() + limit(30)
        while self.process.poll() is None and now() < end:
            try:
                if self.get("/healthz")[0] == 200:
                    return
            except OSError:
                time.sleep(0.05)

    def get(self, path, method="GET", **headers):
        """The status, the body and the headers of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit(60))
        try:
            if self.token:
                headers.setdefault("Authorization", "Bearer " + self.token)
            connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())
        finally:
            connection.close()

    def profile(self, query):
        status, body, _ = self.get("/debug/pprof/profile?" + query)
        if status != 200:
            raise OSError(f"{query}: {status} {body[:200]}")
        return Profile(body)

    def metric(self, name):
        text = self.get("/metrics")[1].decode()
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.M))

    def end(self, number=signal.SIGTERM):
        """Ends it by a signal. Returns the status and what it printed after the line that says where it serves."""
        self.process.send_signal(number)
        try:
            _, errors = self.process.communicate(timeout=limit(30))
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, errors = self.process.communicate()
        lines = errors.splitlines(True)
        self.first = next((line for line in lines if line.startswith("perch agent: serves http://")), "")
        return self.process.returncode, "".join(line for line in lines if line != self.first)

    def events(self):
        """How many events it has open."""
        return sum("perf_event" in target for target in self.open_files())

    def open_files(self):
        """What its descriptors are of."""
        directory, targets = f"/proc/{self.process.pid}/fd", []
        for fd in os.listdir(directory):
            try:
                targets.append(os.readlink(os.path.join(directory, fd)))
            except OSError:
                pass    # it was closed since
        return targets


def wait_for_samples(agent, nr):
    end = now() + limit(60)
    while agent.metric("perch_samples_total") < nr and now() < end:
        time.sleep(0.1)


def all_cpus():
    """Why this user cannot sample all CPUs, or ""."""
    done = subprocess.run([PERCH, "agent", "--once", "100ms", "-o", "/dev/null"], capture_output=True,
                          text=True, check=False, timeout=limit(60))
    return done.stderr.strip().splitlines()[0] if done.returncode else ""


def build_program(work):
    """Compiles the program in a directory. Returns its path, or None without a compiler."""
    os.chmod(work, 0o755)
    source, program = os.path.join(work, "hot.c"), os.path.join(work, "hot")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    command = ["cc", "-g", "-fno-omit-frame-pointer", "-o", program, source]
    return program if shutil.which("cc") and not subprocess.run(command, check=False).returncode else None
