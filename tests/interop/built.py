# SPDX-License-Identifier: MIT
"""Builds small recordings with threads, mappings, call chains and several events, for names.py."""
import struct

KERNEL, USER = 1, 2
CONTEXT_KERNEL, CONTEXT_USER = 2 ** 64 - 128, 2 ** 64 - 512
# IP | TID | TIME | CALLCHAIN | CPU | PERIOD | IDENTIFIER
SAMPLE_TYPE = 1 | 2 | 4 | 0x20 | 0x80 | 0x100 | 0x10000


def record(kind, misc, body):
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


def text(name):
    return name + b"\0" * (8 - len(name) % 8)


def feature(number, body):
    return record(80, 0, struct.pack("=Q", number) + body)


def event_description(events):
    """The feature EVENT_DESC of events (name, type, config, and SAMPLE_TYPE if it is another): their ids are 1, 2 and so on."""
    body = struct.pack("=II", len(events), 128)
    for number, (name, kind, config, *sample_type) in enumerate(events, 1):
        name = name.encode() + b"\0"
        name += bytes(-len(name) % 64)
        body += attribute(kind, config, *sample_type) + struct.pack("=II", 1, len(name)) + name + struct.pack("=Q", number)
    return feature(12, body)


def attribute(kind, config, sample_type=SAMPLE_TYPE):
    return struct.pack("=IIQQQQQ", kind, 128, config, 1000, sample_type, 0, 1 << 18) + bytes(80)


TRAILER = struct.pack("=IIQIIQ", 1, 1, 1, 0, 0, 1)  # of thread 1 at time 1, of the first event


def comm(tid, name, pid=None):
    return record(3, 0, struct.pack("=II", pid or tid, tid) + text(name) + TRAILER)


def mapping(pid, start, size, offset, name, misc=USER):
    return record(1, misc, struct.pack("=IIQQQ", pid, pid, start, size, offset) + text(name.encode()) + TRAILER)


def identified_mapping(pid, start, size, offset, name, build_id):
    """A mapping of a file with a build id of 20 bytes."""
    body = struct.pack("=IIQQQB3x20sII", pid, pid, start, size, offset, 20, build_id, 5, 2)
    return record(10, USER | 1 << 14, body + text(name.encode()) + TRAILER)


def sample(chain, event=1, period=1, pid=1, tid=None, cpu=0, time=1, misc=USER, ip=None):
    """chain: words from the innermost on, with their markers; None: the event has none."""
    address = ip if ip is not None else next(word for word in chain if word < 2 ** 64 - 4096)
    body = struct.pack("=QQIIQIIQ", event, address, pid, tid or pid, time, cpu, 0, period)
    return record(9, misc, body if chain is None else body + struct.pack(f"=Q{len(chain)}Q", len(chain), *chain))


def write(path, records, events=(("cycles", 0, 0),)):
    """events: as those of event_description()."""
    with open(path, "wb") as out:
        out.write(struct.pack("=QQ", 0x32454c4946524550, 16))
        for number, (_, kind, config, *sample_type) in enumerate(events, 1):
            out.write(record(64, 0, attribute(kind, config, *sample_type) + struct.pack("=Q", number)))
        out.write(event_description(events))
        out.write(b"".join(records))
