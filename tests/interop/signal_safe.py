#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each function that a header calls async-signal-safe is called by tests/kernel/test_signal_safe.c, which checks it."""
import os
import re
import sys
from pathlib import Path

SOURCE = Path(os.environ['PERCH_SOURCE_ROOT'])
DOCUMENTED = re.compile(r'/\*\*((?:(?!\*/).)*)\*/\s*((?:PERCH_API|static inline)[^;{]*)', re.S)


def claimed(header):
    """The functions of a header whose own description has the words."""
    for comment, declaration in DOCUMENTED.findall(header.read_text()):
        name = re.search(r'\b(perch_\w+)\(', declaration)
        if name and 'Async-signal-safe' in re.sub(r'\s+\*\s+', ' ', comment):
            yield name.group(1)


def main():
    program = (SOURCE / 'tests/kernel/test_signal_safe.c').read_text()
    functions = [(header.name, name) for header in sorted((SOURCE / 'include/perch').glob('*.h')) for name in claimed(header)]
    missing = [f'{header}: {name}()' for header, name in functions if not re.search(rf'\b{name}\(', program)]
    if len(functions) < 50:
        print(f'not ok - the headers name {len(functions)} functions as async-signal-safe: too few are found')
        return 1
    if missing:
        print('not ok - called in the signal handler of test_signal_safe.c:', *missing, sep='\n  ')
        return 1
    print(f'ok - the {len(functions)} functions that are called async-signal-safe are called in a signal handler')
    return 0


sys.exit(main())
