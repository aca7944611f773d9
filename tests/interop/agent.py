#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch agent: profiles of the time that was asked for, from any number of clients; metrics that Prometheus takes; and a server that
slow, wrong and strange requests do not stop."""
import concurrent.futures
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from agent_server import GO_CACHE, HZ, Agent, build_program, free_port, now, skip, wait_for_samples
import cases
from cases import check, limit
from pprof_format import Profile

PERCH = os.environ.get("PERCH", "build/perch")


def check_profile(agent, seconds):
    start = now()
    profile = agent.profile(f"seconds={seconds}")
    took = now() - start
    check(took >= seconds, f"seconds={seconds} waits", took)
    check(abs(profile.duration / 1e9 - seconds) < 0.5 * limit(1), "the duration is that of the samples", profile.duration)
    check(profile.total() and profile.total("hot") > 0, "the function that runs is in the profile", profile.samples[:3])
    check(profile.types[:2] == [("samples", "count"), ("cpu", "nanoseconds")], "types of values as engines know them", profile.types)
    check(profile.period_type == ("cpu", "nanoseconds") and profile.period == 10**9 // HZ, "the period is that of the rate",
          [str(profile.period_type), str(profile.period)])
    check(profile.total(value=1) == profile.period * profile.total(), "the CPU time is that of the samples")


def check_past(agent):
    start = now()
    profile = agent.profile("past=60")
    took = now() - start
    check(profile.total("hot") > 0 and took < 55, "past=60 has samples of the last minute at once", took)
    check(profile.total() <= agent.metric("perch_samples_total"), "it has no sample twice")


def check_clients(agent):
    """Consumers at the same time have the same samples, and cost no more events."""
    before = agent.events()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        profiles = list(pool.map(lambda _: agent.profile("seconds=5"), range(4)))
    found = [profile.total() for profile in profiles]
    # on a busy machine they begin and end at different times: in the time that only some have, each CPU may have a sample in each period
    begins, ends = [profile.start for profile in profiles], [profile.start + profile.duration for profile in profiles]
    differing = (max(begins) - min(begins) + max(ends) - min(ends)) / 1e9
    check(max(found) - min(found) <= 2 + HZ * os.cpu_count() * differing and min(found) > 0, "four clients have the same samples",
          [str((profile.total(), profile.duration)) for profile in profiles])
    check(agent.events() == before, "and the agent has no more events", [before, agent.events()])


def check_pprof(agent, work):
    if not shutil.which("go"):
        skip("go tool pprof reads it", "no go")
        return
    env = os.environ | {"PPROF_TMPDIR": work, "HOME": work, "GOCACHE": GO_CACHE}
    try:
        done = subprocess.run(["go", "tool", "pprof", "-top", f"http://127.0.0.1:{agent.port}/debug/pprof/profile?seconds=1"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, check=False, timeout=limit(100))
    except subprocess.TimeoutExpired:
        skip("go tool pprof reads it", "go takes too long here")
        return
    check(done.returncode == 0 and "Type: cpu" in done.stdout and "hot" in done.stdout, "go tool pprof reads it", done)
    check("File: [" not in done.stdout and "symbolization failed" not in done.stdout + (done.stderr or ""), "a file is its program, and it needs no symbols", done)


def check_metrics(agent):
    status, body, headers = agent.get("/metrics")
    text = body.decode()
    check(status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"), "metrics have the text format", headers)
    check(not text.endswith("# EOF\n") and "# TYPE perch_samples_total counter" in text, "counters are named as in that format")
    series = [line for line in text.splitlines() if not line.startswith("#")]
    wrong = [line for line in series if not re.fullmatch(r'perch_\w+(\{\w+="([^"\\]|\\.)*"(,\w+="([^"\\]|\\.)*")*\})? [0-9.e+-]+', line)]
    check(not wrong and len(series) <= 2000, "each line is a value", wrong)
    check(len({line.rsplit(" ", 1)[0] for line in series}) == len(series), "no series is there twice")
    body, headers = agent.get("/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")[1:]
    check(headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0") and body.endswith(b"# EOF\n") and
          b"# TYPE perch_samples counter" in body, "OpenMetrics by Accept", headers)
    first = agent.metric("perch_samples_total")
    wait_for_samples(agent, first + 1)
    check(agent.metric("perch_samples_total") > first, "samples are counted on")
    if not shutil.which("promtool"):
        skip("promtool takes the metrics", "no promtool")
        return
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    check(done.returncode == 0, "promtool takes the metrics", done)


def check_page(agent):
    status, body, headers = agent.get("/?past=60")
    check(status == 200 and headers["Content-Type"].startswith("text/html") and b"<!DOCTYPE html>" in body, "the page", [status, body[:200]])
    check("Refresh" not in headers and agent.get("/?past=60&refresh=10")[2].get("Refresh") == "10", "the page is made anew if asked")


def check_requests(agent):
    for path, wanted in (("/x", 404), ("/debug/pprof/", 404), ("/debug/pprof/offcpu", 404), ("/debug/pprof/profile?seconds=0", 400),
                         ("/debug/pprof/profile?seconds=99999", 400), ("/debug/pprof/profile?seconds=-1", 400),
                         ("/debug/pprof/profile?past=1x", 400), ("/debug/pprof/profile?past=2&seconds=2", 400), ("/debug/pprof/profile?past=2&cgroup=a", 400),
                         ("/debug/pprof/profile?past=2&cgroup=", 400), ("/debug/pprof/profile?past=2&cgroup", 400), ("/debug/pprof/profile?seconds", 400),
                         ("/../../etc/passwd", 404)):
        status, body, _ = agent.get(path)
        check(status == wanted and body.endswith(b"\n"), f"{path}: {wanted}", [status, body[:200]])
    status, _, headers = agent.get("/metrics", "POST")
    check(status == 405 and headers.get("Allow") == "GET, HEAD", "POST: 405", [status, headers])
    check(agent.get("/metrics", "DELETE")[0] == 405, "DELETE: 405")
    status, body, _ = agent.get("/debug/pprof/profile?seconds=30", "HEAD")
    check(status == 200 and not body, "HEAD waits for no profile", status)
    check(agent.get("/healthz", Host="example.com")[0] == 403, "a strange name of the server: 403")
    check(agent.get("/healthz", Host=f"localhost:{agent.port}")[0] == 200, "localhost: 200")
    check(agent.get("/healthz", X="x" * 3000)[0] == 200, "headers of 3 KB: 200")
    try:
        status = agent.get("/healthz", X="x" * 20000)[0]
    except OSError as error:
        status = str(error)
    check(status in (413, 431) or isinstance(status, str), "headers of 20 KB are refused", status)
    with socket.create_connection(("127.0.0.1", agent.port), timeout=limit(20)) as garbage:
        garbage.sendall(b"\0\xff" * 500 + b"\r\n\r\n")
        try:
            garbage.recv(1000)
        except OSError:
            pass
    check(agent.get("/healthz")[0] == 200, "garbage does not stop it")


def check_slow(agent):
    """Idle and slow clients leave others served."""
    idle = []
    for i in range(200):
        client = socket.create_connection(("127.0.0.1", agent.port), timeout=limit(20))
        if i % 2:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: local")
        idle.append(client)
    took = []
    for _ in range(5):
        start = now()
        status = agent.get("/metrics")[0]
        took.append(now() - start)
    check(status == 200 and min(took) < limit(0.5), "200 idle clients: the metrics are there", took)
    for client in idle:
        client.close()
    for _ in range(30):   # clients that want a long profile, and leave
        with socket.create_connection(("127.0.0.1", agent.port), timeout=limit(20)) as client:
            client.sendall(b"GET /debug/pprof/profile?seconds=300 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    end = now() + limit(30)
    status = 0
    while status != 200 and now() < end:
        status = agent.get("/debug/pprof/profile?past=5")[0]
    check(status == 200, "clients that leave do not wait for their profiles", status)
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda _: agent.get("/debug/pprof/profile?seconds=1")[0], range(12)))
    check(set(found) <= {200, 429} and found.count(200) >= 8, "too many profiles at once: some are 429", found)


def check_memory(agent):
    with open(f"/proc/{agent.process.pid}/status", encoding="utf-8") as file:
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1])
    check(peak < 64 << 10, "less than 64 MB of memory", peak)
    lost = agent.metric("perch_lost_records_total")
    check(not lost, "no record is lost", lost)


def check_server(target, work):
    agent = Agent(*target)
    if agent.process.poll() is not None:
        check(False, "the agent runs", agent.process.communicate())
        return
    wait_for_samples(agent, 20)
    check_profile(agent, 2)
    check_past(agent)
    check_clients(agent)
    check_pprof(agent, work)
    check_metrics(agent)
    check_page(agent)
    check_requests(agent)
    check_slow(agent)
    check_memory(agent)
    status, errors = agent.end()
    check(status == 0 and not errors, "SIGTERM ends it", [str(status), errors])


def blocks_signal(pid, number):
    """Whether a process has blocked a signal, which it waits for then."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return bool(int(re.search(r"SigBlk:\s+(\w+)", file.read())[1], 16) >> (number - 1) & 1)


def check_once(target, program, work):
    path = os.path.join(work, "once.pb.gz")
    done = subprocess.run([PERCH, "agent", "--once", "1500ms", "-o", path, *target], capture_output=True, text=True, check=False,
                          timeout=limit(120))
    check(done.returncode == 0 and os.path.exists(path), "--once writes a profile", done)
    with open(path, "rb") as file:
        check(Profile(file.read()).total("hot") > 0, "with the function that runs")
    os.unlink(path)
    early = subprocess.Popen([PERCH, "agent", "--once", "1000s", "-o", path, *target], stderr=subprocess.PIPE, text=True)
    end = now() + limit(60)
    while not blocks_signal(early.pid, signal.SIGTERM) and now() < end:
        time.sleep(0.05)
    early.send_signal(signal.SIGTERM)
    _, errors = early.communicate(timeout=limit(60))
    check(early.returncode == 0 and os.path.exists(path), "--once that is ended early writes what it has", [str(early.returncode), errors])
    os.unlink(path)
    with subprocess.Popen([program]) as short:
        early = subprocess.Popen([PERCH, "agent", "--once", "1000s", "-o", path, "-p", str(short.pid)], stderr=subprocess.PIPE, text=True)
        end = now() + limit(60)
        while not blocks_signal(early.pid, signal.SIGTERM) and now() < end:
            time.sleep(0.05)
        short.kill()
    _, errors = early.communicate(timeout=limit(60))
    if early.returncode and errors:   # on a slow machine it ends before it is sampled
        skip("--once writes what it has when its process ends", errors.strip().replace("\n", " "))
    else:
        check(os.path.exists(path), "--once writes what it has when its process ends", [str(early.returncode), errors])
    done = subprocess.run(["sh", "-c", "trap '' CHLD; exec \"$@\"", "sh", PERCH, "agent", "--once", "500ms", "-o", path, *target],
                          capture_output=True, text=True, check=False, timeout=limit(50))
    check(done.returncode == 0 and os.path.exists(path), "--once with SIGCHLD ignored", done)
    done = subprocess.run([PERCH, "agent", "--once", "1000s", "-o", "/proc/nonexistent/a", *target], capture_output=True, text=True, check=False,
                          timeout=limit(120))
    check(done.returncode == 1 and "/proc/nonexistent/a" in done.stderr, "a file that cannot be written is said at once", done)
    done = subprocess.run([PERCH, "agent", "--once", "500ms", "-o", "-", *target], capture_output=True, check=False, timeout=limit(120))
    check(done.returncode == 0 and Profile(done.stdout).duration and not os.path.exists("-"), "-o - is the standard output", done.stderr)
    done = subprocess.run([PERCH, "agent", "--once", "5", "-o", path, *target], capture_output=True, text=True, check=False,
                          timeout=limit(120))
    check(done.returncode == 2 and "unit" in done.stderr, "a time without a unit is refused", done)


def check_end(program, user):
    """With -p it ends with its target."""
    short = subprocess.Popen([program], user=user)
    agent = Agent("-p", str(short.pid))
    short.kill()
    short.wait()
    try:
        _, errors = agent.process.communicate(timeout=limit(30))
    except subprocess.TimeoutExpired:
        agent.process.kill()
        errors = "it went on"
    check(agent.process.returncode == 0, "-p: it ends with its process", errors)


def check_token(target, work):
    def run(*options):
        return subprocess.run([PERCH, "agent", "--listen", f"0.0.0.0:{free_port()}", *target, *options], capture_output=True, text=True,
                              check=False, timeout=limit(60))

    done = run()
    check(done.returncode == 2 and "--token-file" in done.stderr, "an address that others reach needs a token", done)
    path = os.path.join(work, "token")
    with open(path, "w", encoding="utf-8") as file:
        file.write("0123456789abcdef\n")
    os.chmod(path, 0o644)
    done = run("--token-file", path)
    check(done.returncode == 2 and "chmod" in done.stderr, "a token that others can read is refused", done)
    os.chmod(path, 0o600)
    agent = Agent(*target, "--token-file", path, token="0123456789abcdef")
    check(agent.get("/healthz")[0] == 200, "the right token: 200")
    check(agent.get("/healthz", Host="example.com")[0] == 200, "with a token the server may have a name")
    for text in ("", "Bearer", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Basic 0123456789abcdef"):
        check(agent.get("/metrics", Authorization=text)[0] == 401, f"'{text}': 401")
    check(agent.end()[0] == 0, "SIGTERM ends it")


def files_of_doctor(capability, more):
    """What perch doctor --agent says of files, with more capabilities."""
    done = subprocess.run([word.replace("+perfmon", "+perfmon," + more) for word in capability] + [PERCH, "doctor", "--agent", "-j"],
                          capture_output=True, text=True, check=False, timeout=limit(60))
    checks = json.loads(done.stdout)["checks"] if done.stdout else []
    return done, next((found for found in checks if found["id"] == "agent-files"), {"status": "", "change": "", "value": "0 of 0"})


def denied_files(found):
    """The number of files that cannot be read."""
    read, of_all = map(int, re.match(r"(\d+) of (\d+) can be read", found["value"]).groups())
    return of_all - read


def check_rights(program, work):
    """With CAP_PERFMON alone, a program that starts later has names, if its file can be read."""
    hidden = os.path.join(work, "private", "hidden")
    os.mkdir(os.path.dirname(hidden), 0o700)
    shutil.copy(program, hidden)
    capability = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+perfmon", "--ambient-caps=-all,+perfmon",
                  "--bounding-set=-all,+perfmon"]
    if os.geteuid() or not shutil.which("setpriv") or subprocess.run([*capability, "true"], check=False, capture_output=True).returncode:
        skip("CAP_PERFMON is enough", "needs root, and setpriv with CAP_PERFMON")
        return
    agent = Agent(prefix=capability)
    if agent.process.poll() is not None:
        errors = agent.process.communicate()[1]
        skip("CAP_PERFMON is enough", "it cannot open events here: " + errors.strip().replace("\n", " "))
        return
    later, unreadable = subprocess.Popen([program]), subprocess.Popen([hidden])
    try:
        wait_for_samples(agent, agent.metric("perch_samples_total") + 20)
        check(agent.profile("seconds=3").total("hot") > 0, "CAP_PERFMON is enough to name what starts later")
        check(agent.metric('perch_unnamed_files{reason="permission"}') >= 1, "a file that this user may not read is counted")
        done, files = files_of_doctor(capability, "+sys_ptrace")
        check(files["status"] == "limited" and "CAP_DAC_READ_SEARCH" in files["change"], "perch doctor --agent counts it, too", done)
        can_read = files_of_doctor(capability, "+sys_ptrace,+dac_read_search")
        check(denied_files(can_read[1]) < denied_files(files), "with CAP_DAC_READ_SEARCH it can be read", can_read[0])
    finally:
        for child in (later, unreadable):
            child.kill()
            child.wait()
    check(agent.end()[0] == 0, "SIGTERM ends it")
    missing = "names of the kernel" in agent.first
    check(agent.first and missing == ("CAP_SYSLOG" in done.stdout), "the first line says what is missing", [agent.first, done.stdout])


def check_doctor():
    """perch doctor --agent says what each missing right costs."""
    def run(*prefix):
        done = subprocess.run([*prefix, PERCH, "doctor", "--agent", "-j"], capture_output=True, text=True, check=False, timeout=limit(60))
        return done, {found["id"]: found for found in json.loads(done.stdout)["checks"]}

    done, found = run()
    works = found["agent-cpus"]["status"] == "ok"
    check(done.returncode == (0 if works else 1) and len(found) >= 10, "perch doctor --agent", done)
    silent = [one["id"] for one in found.values() if one["status"] != "ok" and not one["reason"]]
    check(not silent, "each check that is not ok has a reason", silent)
    if os.geteuid() or not shutil.which("setpriv"):
        return
    done, found = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    running = found["agent-running"]
    check(running["status"] == "limited" and "CAP_SYS_PTRACE" in running["change"], "a user cannot read mappings of others", running)


def check_types():
    """Events whose names differ in what queries cannot have are values of their own."""
    agent = Agent("-e", "faults/name=a-b/,faults/name=a_b/")
    types = [name for name, _ in agent.profile("seconds=1").types]
    check(agent.end()[0] == 0 and {"a_b", "a_b_2"} <= set(types) and len(set(types)) == len(types), "types of values differ", types)
    agent = Agent("-e", "cycles")
    types = [name for name, _ in agent.profile("seconds=1").types]
    errors = agent.first + agent.end()[1]
    check(("cycles" in types) != ("sampling by the timer cpu-clock" in errors), "a timer in place of cycles is said", [types, errors])


GENERATED = """
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline)) static unsigned hot(unsigned n)
{
	for (volatile unsigned i = 0; i < 1000000; i++)
		n += i;
	return n;
}
int main(void)
{
	char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 1;
	memcpy(code, (char *)hot, 512);
	__builtin___clear_cache(code, code + 512);
	for (;;)
		((unsigned (*)(unsigned))code)(1);
}
"""


def check_generated(work):
    """Code of a JIT compiler without a map file has one name in all processes."""
    source, program = os.path.join(work, "generated.c"), os.path.join(work, "generated")
    with open(source, "w", encoding="utf-8") as file:
        file.write(GENERATED)
    if subprocess.run(["cc", "-O1", "-fno-stack-protector", "-fcf-protection=none", "-o", program, source], stderr=subprocess.DEVNULL, check=False).returncode:
        skip("code of a JIT compiler", "this compiler has other options")
        return
    with subprocess.Popen([program]) as busy:
        agent = Agent("-p", str(busy.pid))
        wait_for_samples(agent, 10)
        if busy.poll() is None:
            names = {stack[0] for stack, _, _ in agent.profile("past=60").samples if stack}
            check("[JIT]" in names and not [name for name in names if "tid" in name], "code of a JIT compiler has one name", sorted(names))
        else:
            skip("code of a JIT compiler", "memory that can be written and run is refused here")
        busy.kill()
    agent.end()


def check_off_cpu(program):
    """The time off the CPU is a profile of its own."""
    agent = Agent("--off-cpu")
    if agent.process.poll() is not None:
        skip("time off the CPU", agent.process.communicate()[1].strip().replace("\n", " "))
        return
    sleeper = subprocess.Popen(["sh", "-c", f"while :; do timeout 0.1 {program}; sleep 0.2; done"], start_new_session=True)
    try:
        status, body, _ = agent.get("/debug/pprof/offcpu?seconds=3")
        profile = Profile(body) if status == 200 else None
        check(profile and profile.types[-1] == ("off_cpu", "nanoseconds"), "time off the CPU is served", [status, profile and profile.types])
        slept = sum(values[-1] for _, values, labels in profile.samples if "sleep" in str(labels.get("comm", labels)))
        check(slept > 100e6, "with the time that a program slept", [slept, str([labels for _, _, labels in profile.samples][:10])])
        check(agent.profile("past=10").types[:2] == [("samples", "count"), ("cpu", "nanoseconds")], "and CPU time is apart from it")
    finally:
        os.killpg(sleeper.pid, signal.SIGKILL)
        sleeper.wait()
    check(agent.end()[0] == 0, "SIGTERM ends it")


def choose_target(hot):
    """All CPUs where this user may sample them, else the program."""
    done = subprocess.run([PERCH, "agent", "--once", "100ms", "-o", "/dev/null"], capture_output=True, text=True, check=False,
                          timeout=limit(60))
    if done.returncode == 0:
        return []
    print("# all CPUs: " + done.stderr.splitlines()[0], flush=True)
    return ["-p", str(hot.pid)]


def main():
    with tempfile.TemporaryDirectory() as work:
        program = build_program(work)
        if not program:
            skip("perch agent", "no compiler")
            return
        hot = subprocess.Popen([program])
        try:
            target = choose_target(hot)
            check_once(target, program, work)
            check_server(target, work)
            check_token(target, work)
            check_end(program, None)
            if not target:
                check_off_cpu(program)
            check_rights(program, work)
            check_doctor()
            check_types()
            check_generated(work)
        finally:
            hot.kill()
            hot.wait()


main()
sys.exit(cases.failed)
