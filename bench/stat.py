#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perch stat true beside perf stat true: stat.py [BUILD]. It is mostly the start of the command."""
import compare


def main():
    perch, perf = compare.commands()
    compare.tell("stat true", *compare.alternate([perch, "stat", "true"], [perf, "stat", "true"], 41), 0.25)


main()
