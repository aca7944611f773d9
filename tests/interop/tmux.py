# SPDX-License-Identifier: MIT
"""perch in a real terminal, tmux: keys are sent, and screens are read."""
import os
import subprocess
import tempfile
import time

from cases import check, limit

PERCH = os.path.abspath(os.environ["PERCH"])
LIMIT = limit(60)  # seconds for a screen to appear on a busy machine


class Terminal:
    """perch in a window of tmux."""

    def __init__(self, size, *words, **variables):
        self.socket = tempfile.mktemp(prefix="tmux", dir=".")
        environment = {name: value for name, value in os.environ.items() if name not in ("TMUX", "NO_COLOR", "PERCH_PAGER", "PAGER")}
        environment.update({"TMUX_TMPDIR": ".", "LC_ALL": "C.UTF-8"})
        columns, rows = size
        assigned = ["%s=%s" % pair for pair in variables.items()]
        command = "env %s %s" % (" ".join(assigned), " ".join("'%s'" % word for word in (PERCH,) + words))
        shell = "%s; echo status=$?; sleep 1000" % command
        subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), shell],
                       env=environment, check=True)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, check=True).stdout

    def program(self):
        """The process id of perch, which is the child of the shell."""
        shell = self.tmux("list-panes", "-F", "#{pane_pid}").strip()
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            with open("/proc/%s/task/%s/children" % (shell, shell), encoding="ascii") as file:
                children = file.read().split()
            if children:
                return int(children[0])
            time.sleep(0.01)
        raise TimeoutError("perch does not start")

    def screen(self, styles=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if styles else [])).splitlines()

    def wait(self, name, condition):
        """Waits until the screen meets a condition, and returns it."""
        end = time.monotonic() + LIMIT
        while True:
            screen = self.screen()
            if condition(screen):
                check(True, name)
                return screen
            if time.monotonic() > end:
                check(False, name, "\n".join(screen))
                return screen
            time.sleep(0.05)

    def keys(self, *keys):
        for key in keys:
            self.tmux("send-keys", key)

    def text(self, text):
        self.tmux("send-keys", "-l", text)

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)
