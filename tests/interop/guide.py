#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All commands of the guide succeed and show what its text is about."""
import os
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(os.environ.get("PERCH_SOURCE_ROOT", ".")).resolve() / "site"))
import cases  # noqa: E402
import run as guide  # noqa: E402 (the path is set above)


def main():
    if not shutil.which("gcc"):
        print("ok - commands of the guide # skip: no gcc")
        return cases.failed
    guide.run(os.environ.get("PERCH_BUILD_ROOT", "build"), [], cases.report, seconds=cases.limit(guide.SECONDS))
    return cases.failed


if __name__ == "__main__":
    sys.exit(main())
