#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch agent --push through nginx, which has TLS and asks for a password: a wrong certificate, a wrong password and an absent receiver
behind it cost no window, a window that is too large for it is refused, and all of this is counted."""
import os
import shutil
import signal
import subprocess
import sys

import cases
import otlp_format
from agent_receiver import Receiver, busy_program, ids_of, samples_of, spooled, wait_until
from agent_server import Agent, free_port, skip
from cases import check, limit

CONFIG = """daemon off;
master_process off;
pid WORK/nginx.pid;
error_log WORK/error.log;
events {}
http {
    access_log WORK/access.log;
    client_body_temp_path WORK/body;
    proxy_temp_path WORK/proxy;
    fastcgi_temp_path WORK/fastcgi;
    uwsgi_temp_path WORK/uwsgi;
    scgi_temp_path WORK/scgi;
    server {
        listen 127.0.0.1:PORT ssl;
        ssl_certificate WORK/server.pem;
        ssl_certificate_key WORK/server.key;
        auth_basic perch;
        auth_basic_user_file WORK/users;
        location / {
            proxy_pass http://127.0.0.1:BEHIND;
        }
        location /small/ {
            client_max_body_size 100;
            proxy_pass http://127.0.0.1:BEHIND;
        }
    }
}
"""


class Names:
    """Files of a directory."""

    def __init__(self, work):
        self.work = work

    def __call__(self, name):
        return os.path.join(self.work, name)

    def write(self, name, text):
        """Replaces a file as a whole: it may be read at any time."""
        with open(self(name + ".new"), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(file.name, 0o600)
        os.rename(self(name + ".new"), self(name))

    def text(self, name):
        with open(self(name), encoding="utf-8", errors="replace") as file:
            return file.read()


def make_certificates(names):
    """A CA, one of somebody else, and the certificate of the server. Returns whether openssl can."""
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    server = ["-CA", names("ca.pem"), "-CAkey", names("ca.key"), "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE"]
    return shutil.which("openssl") and all(
        subprocess.run([*new, "-subj", "/CN=" + name, "-keyout", names(name + ".key"), "-out", names(name + ".pem"), *options],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
        for name, options in (("ca", []), ("other", []), ("server", server)))


def program_path():
    """nginx, which is not in the PATH of users."""
    return shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def start_proxy(names, behind):
    """Returns the process and its port."""
    port = free_port()
    names.write("nginx.conf", CONFIG.replace("WORK", names.work).replace("PORT", str(port)).replace("BEHIND", str(behind)))
    names.write("users", "perch:{PLAIN}right\n")
    return subprocess.Popen([program_path(), "-p", names.work, "-e", names("error.log"), "-c", names("nginx.conf")]), port


def codes(agent, target):
    """The requests to a target, by the code of the answer."""
    text = agent.get("/metrics")[1].decode()
    rows = [line for line in text.splitlines() if line.startswith("perch_push_requests_total{") and f"{target}/v1development" in line]
    return {row.split('code="')[1].split('"')[0]: int(float(row.rsplit(" ", 1)[1])) for row in rows}


def check_refused(options, names, receiver, port):
    """A wrong certificate, then a wrong password, then neither: each window arrives once."""
    names.write("password", "perch:wrong\n")

    def configure(certificate):
        names.write("agent.conf", f"push = https://127.0.0.1:{port},ca-file={names(certificate)},basic-file={names('password')},header=X-Scope-OrgID: team\n")

    configure("other.pem")
    agent = Agent("--no-counters", *options, "--config", names("agent.conf"), "--push-interval", "1s", "--spool", names("spool"))
    wait_until(lambda: codes(agent, port).get("0") and agent.metric("perch_spool_windows") >= 2, "windows wait for another certificate")
    check(not os.path.getsize(names("access.log")) and not receiver.windows and agent.metric("perch_push_failing") == 1, "a wrong certificate: nothing is sent",
          names.text("access.log"))
    configure("ca.pem")
    agent.process.send_signal(signal.SIGHUP)
    wait_until(lambda: codes(agent, port).get("401"), "windows wait for another password")
    check(not receiver.windows and not agent.metric("perch_push_dropped_windows_total"), "a wrong password: no window is dropped, and none passes")
    names.write("password", "perch:right\n")
    wait_until(lambda: agent.metric("perch_push_windows_total") >= 4 and agent.metric("perch_spool_windows") <= 1, "windows come after both are right")
    receiver.stop()
    wait_until(lambda: codes(agent, port).get("502"), "nothing behind the proxy")
    second = Receiver(receiver.port)
    wait_until(lambda: len(second.windows) >= 2, "windows come after the outage")
    sampled = agent.metric("perch_samples_total")
    dropped = agent.metric("perch_push_dropped_windows_total")
    status, errors = agent.end()
    second.stop()
    taken = receiver.taken() + second.taken()
    check(status == 0 and not dropped and "certificate" in errors and "401" in errors and "right" not in errors,
          "no window is lost; why they waited is said, and no secret", str(status), str(dropped), errors)
    ids = ids_of(taken + spooled(names("spool")))
    check(len(ids) == len(set(ids)) and samples_of(taken + spooled(names("spool"))) >= sampled, "all samples arrived or wait, each once",
          [str(len(ids)), str(len(set(ids))), str(sampled)])
    check(all(headers.get("X-Scope-OrgID") == "team" for _, _, _, headers, _ in receiver.windows + second.windows), "the header passes")
    check(any("hot" in otlp_format.stack_of(request, sample) for request in taken for _, profile in otlp_format.profiles(request)
              for sample in profile["samples"]), "the function is named")


def check_small(options, names, port):
    """A proxy that takes no body of this size (nginx: 1 MB) answers before it has read it."""
    agent = Agent("--no-counters", *options, "--push", f"https://127.0.0.1:{port}/small,ca-file={names('ca.pem')},basic-file={names('password')}",
                  "--push-interval", "1s")
    wait_until(lambda: agent.metric('perch_push_dropped_windows_total') >= 2, "windows that are too large are dropped")
    text = agent.get("/metrics")[1].decode()
    status, errors = agent.end()
    check('reason="refused"} 0' not in text and 'reason="unanswered"} 0' in text, "they are counted as refused",
          [line for line in text.splitlines() if "dropped_windows" in line])
    check(status == 0 and "413" in errors, "the answer of the proxy is said", str(status), errors)


def main():
    if not program_path():
        skip("perch agent --push through a proxy", "no nginx")
        return
    with busy_program("perch agent --push through a proxy") as (options, work):
        names = Names(work)
        if options and not make_certificates(names):
            skip("perch agent --push through a proxy", "openssl makes no certificates")
        elif options:
            receiver = Receiver()
            proxy, port = start_proxy(names, receiver.port)
            try:
                wait_until(lambda: os.path.exists(names("nginx.pid")) or proxy.poll() is not None, "nginx starts")
                check_refused(options, names, receiver, port)
                check_small(options, names, port)
            finally:
                proxy.terminate()
                proxy.wait(limit(30))


main()
sys.exit(cases.failed)
