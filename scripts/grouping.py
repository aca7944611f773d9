# SPDX-License-Identifier: MIT
"""Groups the failed and skipped cases of all tests by cause: cases of several programs and builds
with the same message are one group."""
import re

CASE = re.compile(r"^\[ +(FAILED|ERROR|SKIPPED) +\] ([^ :]+)$")
CMOCKA_ERROR = re.compile(r"^\[ +ERROR +\] --- (.*)")
CMOCKA_LINE = re.compile(r"^\[ +LINE +\] --- (.*?):\d+: error")
SUMMARY = re.compile(r"^\[ +(?:FAILED|SKIPPED) +\] (?:\S+: )?\d+ test\(s\), listed below")
NOT_OK = re.compile(r"^(?:not ok|FAILED)\b(?: \d+)?(?: -)? ?(.*)")
SKIP = re.compile(r"^ok\b(?: \d+)?(?: -)? ?(.*?) *# skip:? *(.*)", re.I)
SKIPPED = re.compile(r"^(?:# )?skip(?:ped)?\b(?: [^:]*)?: *(.*)", re.I)
# What ends a program without a failed case: the first one that is found.
ENDS = [re.compile(pattern, re.M) for pattern in (
    r"ERROR: (\w+Sanitizer: [^(\n]*?)(?: on | in |$)", r"(runtime error: .*)",
    r"^([\w.]*(?:Error|Exception|Failed|Expired)\b.*)")]


def normal(text):
    """A message without what differs between cases: numbers, addresses and temporary names."""
    text = re.sub(r"/tmp/[\w.-]+", "/tmp/NAME", text.strip())
    text = re.sub(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{8,}\b", "N", text)
    return re.sub(r"\d+(\.\d+)?", "N", text)[:200]


def scripts_cases(lines):
    """(outcome, name, cause) of the lines of a script."""
    for number, line in enumerate(lines):
        skip, bad = SKIP.match(line), NOT_OK.match(line)
        if skip:
            yield "skipped", skip[1], skip[2]
        elif bad:
            detail = lines[number + 1] if number + 1 < len(lines) else ""
            detailed = detail.startswith(" ") and detail.strip()
            yield "failed", bad[1], detail if detailed else bad[1]


def cmocka_cases(lines):
    """(outcome, name, cause) of the lines of a cmocka program, which prints the message before the
    end of a case, and names the cases again at its end."""
    message, file = "", ""
    for line in lines:
        case, error, at, skip = (pattern.match(line) for pattern in (
            CASE, CMOCKA_ERROR, CMOCKA_LINE, SKIPPED))
        if SUMMARY.match(line):
            return
        if error:
            message = error[1]
        elif at:
            file = at[1].rpartition("/")[2]
        elif skip:
            message = skip[1]
        elif case:
            outcome = "skipped" if case[1] == "SKIPPED" else "failed"
            in_file = f" in {file}" if file and outcome == "failed" else ""
            yield outcome, case[2], message + in_file
        if case or line.startswith(("[ RUN", "[       OK")):
            message, file = "", ""


def end_of(text, result):
    """Why a program without a failed case has failed."""
    if result == "TIMEOUT":
        return "it ran into its limit of time"
    for pattern in ENDS:
        found = pattern.findall(text)
        if found:
            return found[0]
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


class Groups:
    """The cases by outcome and cause."""

    def __init__(self):
        self.cases = {"failed": {}, "skipped": {}}

    def add(self, outcome, title, name, cause):
        group = self.cases[outcome].setdefault(normal(cause) or "no reason", [])
        group.append((title, name, cause.strip()))

    def add_test(self, title, text, result, failed, skipped):
        """Adds a test: its output, meson's result, and how many cases failed and were skipped."""
        lines = text.splitlines()
        is_cmocka = re.search(r"^\[==========\]", text, re.M)
        found = list(cmocka_cases(lines) if is_cmocka else scripts_cases(lines))
        for outcome, name, cause in found:
            self.add(outcome, title, name, cause)
        outcomes = {outcome for outcome, _, _ in found}
        if failed and "failed" not in outcomes:
            self.add("failed", title, "no case", end_of(text, result))
        if skipped and "skipped" not in outcomes:
            reasons = [match[1] for match in map(SKIPPED.match, lines) if match]
            reasons += text.strip().splitlines()[-1:]
            self.add("skipped", title, "all", reasons[0] if reasons else "")

    def lines(self, outcome):
        """One line for each cause, with the number of its cases, the largest first. Below it are
        the failed cases, or the programs with skipped ones."""
        groups = sorted(self.cases[outcome].items(), key=lambda item: (-len(item[1]), item[0]))
        for cause, cases in groups:
            shown = cases[0][2] if len({cause for _, _, cause in cases}) == 1 else cause
            yield f"{outcome} {len(cases)}: {shown[:200] or cause}"
            if outcome == "failed":
                yield from (f"    {title}: {name}" for title, name, _ in cases)
            else:
                programs = dict.fromkeys(title.rpartition(" / ")[2] for title, _, _ in cases)
                yield "    " + ", ".join(programs)
