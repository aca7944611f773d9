#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The stages of perch report with several threads, and their critical path: records gcc, and runs
jobs.c on the recording.

Usage: jobs.py [BUILD]. PERF_DATA names an existing recording to use."""
import os
import subprocess
import sys
import tempfile

import compare
from recordings import build_gcc, record_program


def main():
    perch, perf = compare.commands()
    program = os.path.join(os.path.dirname(perch), "bench", "bench-jobs")
    with tempfile.TemporaryDirectory(prefix="perch-bench-") as directory:
        data = os.environ.get("PERF_DATA")
        if not data:
            data = os.path.join(directory, "perf.data")
            record_program(perf, data, build_gcc(3000)(directory), 20000)
        sys.exit(subprocess.run([program, data, perch], check=False).returncode)


if __name__ == "__main__":
    main()
