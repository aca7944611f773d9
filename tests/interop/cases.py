# SPDX-License-Identifier: MIT
"""The cases of a test program: each is printed in a line, and the program fails if one has failed."""

failed = False


def check(good, what, detail=""):
    global failed
    failed |= not good
    print(("ok - " if good else "not ok - ") + what, flush=True)
    if not good and detail:
        print("    " + str(detail).replace("\n", "\n    ")[:3000])
