# SPDX-License-Identifier: MIT
"""Counts the cases that tests report: cmocka's lines, or 'ok - name', 'not ok - name' and
'ok - name # skip why' from a script."""
import re

CMOCKA = re.compile(r"^\[\s+(OK|FAILED|ERROR|SKIPPED)\s+\] (\S+)$", re.M)
TAP = re.compile(r"^(not )?ok\b(?: \d+)?(?: -)? ?(.*)$", re.M)
RANK = {"passed": 0, "skipped": 1, "failed": 2}


class Count:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def outcomes(text):
    """Returns the outcome of each case that the program itself reported, by its name. A name has
    its worst outcome."""
    worst = {}
    found = [(name, {"OK": "passed", "SKIPPED": "skipped"}.get(word, "failed"))
             for word, name in CMOCKA.findall(text)]
    if not found:
        for line, (bad, name) in enumerate(TAP.findall(text)):
            outcome = "failed" if bad else "skipped" if "# skip" in name.lower() else "passed"
            found.append((f"{line} {name}", outcome))
    for name, outcome in found:
        if name not in worst or RANK[outcome] > RANK[worst[name]]:
            worst[name] = outcome
    return worst


def count_cases(text):
    """Counts what the program itself reported."""
    count = Count()
    for outcome in outcomes(text).values():
        setattr(count, outcome, getattr(count, outcome) + 1)
    return count
