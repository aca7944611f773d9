# SPDX-License-Identifier: MIT
"""Builds piped recordings, for input.py and diff.py."""
import struct


def record(kind, misc, body):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


def feature(number, text):
    text += b"\0" * (64 - len(text))
    return record(80, 0, struct.pack("=QI", number, len(text)) + text)


def mapping(pid, start, name, misc=2):
    return record(1, misc, struct.pack("=IIQQQ", pid, pid, start, 4096, 0) + name + b"\0")


def build(pid, start, name, number):
    return record(10, 2 | 1 << 14, struct.pack("=IIQQQB3x20sII", pid, pid, start, 4096, 0, 20, b"%020d" % number, 5, 0) +
                  name + b"\0")


def sample(address, misc=2):
    return record(9, misc, struct.pack("=QII", address, 1, 1))


def pipe(records, period=1000):
    """Makes a piped recording of one event, cpu-clock, whose samples have address and thread."""
    attr = struct.pack("=IIQQQQQ16x", 1, 64, 0, period, 3, 0, 0)
    return struct.pack("=QQ", 0x32454c4946524550, 16) + record(64, 0, attr + struct.pack("=Q", 7)) + b"".join(records)
