# SPDX-License-Identifier: MIT
"""Chromium without a window, through its DevTools protocol: JSON messages, each with a NUL, on the descriptors 3 and 4."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

import cases
from cases import limit

LIMIT = limit(180)  # seconds for any answer, on a busy machine


class Failed(Exception):
    """A script failed, or what is waited for does not come."""


class NoAnswer(Failed):
    """The browser ended, or did not answer."""


def find():
    """Returns the program, or None."""
    return shutil.which(os.environ.get("CHROMIUM", "chromium"))


class Browser:
    """A browser with one page. Messages of the console and exceptions are in problems."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="perch-chromium.", ignore_cleanup_errors=True)
        to_child, self.to = os.pipe()
        self.from_, from_child = os.pipe()
        self.buffer = b""
        self.number = 0
        self.problems = []
        self.events = []
        self.session = None
        # the descriptors must be 3 and 4 in the browser; a shell puts them there
        command = ['exec "$@" 3<&"$IN" 4>&"$OUT"', "sh", find(), "--headless=new", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking",
                   "--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe",
                   f"--user-data-dir={self.directory.name}", "about:blank"]
        self.log = open(os.path.join(self.directory.name, "log"), "wb")
        self.process = subprocess.Popen(["bash", "-c", *command], pass_fds=[to_child, from_child], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log,
                                        env={**os.environ, "IN": str(to_child), "OUT": str(from_child), "HOME": self.directory.name})
        os.close(to_child)
        os.close(from_child)
        try:
            self.attach()
        except BaseException:
            self.close()
            raise

    def attach(self):
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.from_)
        self.log.close()
        self.directory.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def receive(self, deadline):
        """Returns the next message."""
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            ready = select.select([self.from_], [], [], max(0, left))[0] if left > 0 else []
            data = os.read(self.from_, 1 << 20) if ready else b""
            if not data:
                log = open(self.log.name, errors="replace").read()[-500:]
                raise NoAnswer(f"{'the browser ended' if ready else 'no answer'}: {log}")
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(message)
        self.note(message)
        return message

    def note(self, message):
        """Keeps what the page reports."""
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.problems.append("console: " + str([value.get("value") for value in parameters["args"]]))
        elif method == "Log.entryAdded":
            self.problems.append(parameters["entry"]["text"])
        elif method:
            self.events.append(method)

    def call(self, method, **parameters):
        """Calls a method of the protocol, and returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        try:
            os.write(self.to, json.dumps(message).encode() + b"\0")
        except BrokenPipeError as error:
            raise NoAnswer("the browser ended") from error
        deadline = time.monotonic() + LIMIT
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def run(self, expression):
        """Evaluates JavaScript, waits for it if it is a promise, and returns its value."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise Failed(f"{expression}: {details.get('exception', {}).get('description', details['text'])}")
        return result["result"].get("value")

    def wait(self, expression):
        """Waits until an expression is true."""
        deadline = time.monotonic() + LIMIT
        while not self.run(expression):
            if time.monotonic() > deadline:
                raise Failed(f"never true: {expression}")
            time.sleep(0.02)

    def open(self, path, fragment=""):
        """Opens a page of perch, and waits until it is drawn."""
        self.call("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank'")
        self.call("Page.navigate", url="file://" + os.path.abspath(path) + fragment)
        self.wait("document.readyState === 'complete' && (window.perch !== undefined || "
                  "document.getElementById('summary').textContent !== '')")

    def size(self, width, height=900, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def media(self, **features):
        """For example media(prefers_color_scheme="dark")."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": name.replace("_", "-"), "value": value}
                                                          for name, value in features.items()])

    def key(self, key, shift=False):
        text = key if len(key) == 1 else {"Enter": "\r"}.get(key, "")
        codes = {"Enter": 13, "Escape": 27, "Backspace": 8, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        code = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0), "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **code)
        self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, **more):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1, **more)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1, **more)

    def picture(self, path, whole=False):
        """Writes a screenshot."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))


TRIES = 3


def try_part(browser, width, function, arguments):
    """Returns the browser, started if there is none, and why the part failed, if it did: then without the browser."""
    try:
        if browser is None:
            browser = Browser()
            browser.size(width)
        cases.try_part(function, browser, *arguments)
        return browser, None
    except Failed as failure:
        if browser is not None:
            browser.close()
        return None, failure


def check_parts(parts, width):
    """Runs parts of a test, each (name, function, arguments): function(browser, *arguments) opens the pages that it needs. After a
    failure the part is tried again with another browser. Three failures are one case: failed, or skipped if the browser does not answer;
    the other parts are then skipped, too. Returns the messages of the console."""
    browser, problems, failure = None, [], None
    for name, function, *arguments in parts:
        for _ in range(0 if isinstance(failure, NoAnswer) else TRIES):
            browser, failure = try_part(browser, width, function, arguments)
            if not failure:
                problems += browser.problems
                browser.problems = []
                break
        reason = str(failure).replace("\n", " ")
        if isinstance(failure, NoAnswer):
            print(f"ok - {name} # skip {TRIES} browsers failed: {reason}", flush=True)
        elif failure:
            cases.check(False, name, reason)
    if browser is not None:
        browser.close()
    return problems
