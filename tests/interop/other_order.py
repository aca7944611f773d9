#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Converts a perf.data file of this machine's byte order to the other byte order: other_order.py FROM TO.

Each number is byte-swapped in place, bit-fields get the bit order of the other machine, text and raw bytes stay."""
import struct
import sys

MAGIC = b"PERFILE2"
ENTRY = struct.Struct("=QQ")

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCH, REGS_USER, STACK_USER, WEIGHT, DATA_SRC, \
    IDENTIFIER, TRANSACTION, REGS_INTR, PHYS_ADDR, AUX, CGROUP, DATA_PAGE, CODE_PAGE, WEIGHT_STRUCT = (1 << n for n in range(25))

# Bodies of kernel records. H, I, Q: numbers of 2, 4 and 8 bytes; '*Q': numbers up to the sample id; 's': text or bytes up to
# the sample id.
KERNEL = {1: "IIQQQs", 2: "QQ", 3: "IIs", 4: "IIIIQ", 5: "QQQ", 6: "QQQ", 7: "IIIIQ", 8: "II*Q", 11: "QQQ", 12: "II", 13: "Q",
          14: "", 15: "II", 16: "IIQ*Q", 17: "QIHHs", 18: "HHIs", 19: "Qs", 20: "QHHs", 21: "Q", 22: "QQ*Q"}
# Record types of perf.data. Types with another structure have functions below.
OWN = {65: "Qs", 66: "I", 68: "", 69: "*Q", 70: "II*Q", 71: "QQQIIII", 72: "IIIIIIQQ", 75: "*Q", 76: "QIIQQQ", 77: "QQ",
       79: "QQQQQs", 82: ""}
TEXTS = {3, 4, 5, 6, 8, 9}
FEATURES = {7: "II", 10: "Q", 18: "*Q", 21: "QQ", 22: "*Q", 23: "Q", 24: "Q", 27: "*I", 29: "IIQQ", 33: "*I", 34: "*I", 240: "IIQQQQQQ"}


class Cursor:
    """A position in the bytes: each method returns the number there, and swaps its bytes."""

    def __init__(self, data, at, end):
        self.data, self.at, self.end = data, at, end

    def left(self):
        return self.end - self.at

    def number(self, size):
        if self.left() < size:
            self.at = self.end
            return 0
        raw = bytes(self.data[self.at:self.at + size])
        self.data[self.at:self.at + size] = raw[::-1]
        self.at += size
        return int.from_bytes(raw, sys.byteorder)

    def skip(self, size):
        self.at = min(self.end, self.at + size)

    def text(self):
        self.skip(self.number(4))

    def texts(self, each=1):
        for _ in range(self.number(4) * each):
            self.text()

    def by(self, code):
        sizes = {"I": 4, "H": 2, "Q": 8}
        many = False
        for letter in code:
            if letter == "*":
                many = True
            elif many:
                while self.left() >= sizes[letter]:
                    self.number(sizes[letter])
            elif letter != "s":
                self.number(sizes[letter])


def reverse_fields(value, widths, bits):
    """Reverses the order of bit-fields: from the lowest bit (little-endian) to the highest (big-endian), or back."""
    here_low = sys.byteorder == "little"
    out, done = 0, 0
    for width in widths:
        shift = done if here_low else bits - done - width
        field = value >> shift & (1 << width) - 1
        other = bits - done - width if here_low else done
        out |= field << other
        done += width
    return out


def put_swapped(data, at, value, size):
    data[at:at + size] = value.to_bytes(size, "big" if sys.byteorder == "little" else "little")


ATTR_FLAGS = [1] * 15 + [2] + [1] * 47
ATTR_WORDS = [4, 4, 8, 8, 8, 8, "flags", 4, 4, 8, 8, 8, 8, 4, 4, 8, 4, 2, 2, 4, "action", 8, 8, 8]


class Attr:
    """The fields that determine the format of records. Swaps the bytes of the attr."""

    def __init__(self, data, at, end):
        self.size = struct.unpack_from("=I", data, at + 4)[0] or 64
        end = min(end, at + self.size)
        self.sample_type, self.read_format, flags = struct.unpack_from("=QQQ", data, at + 24)
        self.sample_id_all = flags >> (18 if sys.byteorder == "little" else 45) & 1
        self.branch = struct.unpack_from("=Q", data, at + 72)[0] if end - at >= 80 else 0
        self.regs_user = struct.unpack_from("=Q", data, at + 80)[0] if end - at >= 88 else 0
        self.regs_intr = struct.unpack_from("=Q", data, at + 96)[0] if end - at >= 104 else 0
        for width in ATTR_WORDS:
            size = {"flags": 8, "action": 4}.get(width, width)
            if at + size > end:
                break
            if width == "flags":
                put_swapped(data, at, reverse_fields(flags, ATTR_FLAGS, 64), 8)
            elif width == "action":
                value = struct.unpack_from("=I", data, at)[0]
                put_swapped(data, at, reverse_fields(value, [1] * 32, 32), 4)
            else:
                Cursor(data, at, end).number(size)
            at += size
        Cursor(data, at, end).by("*Q")

    def trailer(self):
        return 8 * bin(self.sample_type & (TID | TIME | ID | STREAM_ID | CPU | IDENTIFIER)).count("1") if self.sample_id_all else 0


def swap_trailer(c, attr):
    for bit in (TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER):
        if attr.sample_type & bit:
            c.by("II" if bit in (TID, CPU) else "Q")


def swap_read(c, attr):
    form = attr.read_format
    each = 1 + bool(form & 4) + bool(form & 16)
    times = bool(form & 1) + bool(form & 2)
    if form & 8:
        nr = c.number(8)
        c.by("Q" * times)
        for _ in range(min(nr * each, c.left() // 8)):
            c.number(8)
    else:
        c.by("Q" * (1 + times + each - 1))


def swap_branches(c, attr):
    nr = c.number(8)
    if attr.branch & 1 << 17:
        c.number(8)
    for _ in range(min(nr, c.left() // 24)):
        c.by("QQ")
        flags = struct.unpack_from("=Q", c.data, c.at)[0]
        put_swapped(c.data, c.at, reverse_fields(flags, [1, 1, 1, 1, 16, 4, 2, 4, 3, 31], 64), 8)
        c.skip(8)
    if attr.branch & 1 << 19:
        c.by("Q" * nr)


def swap_registers(c, mask):
    if c.number(8):
        c.by("Q" * bin(mask).count("1"))


def swap_stack(c):
    size = c.number(8)
    c.by("Q" * (size // 8))  # unwinding reads words
    c.skip(size % 8)
    if size:
        c.number(8)


def swap_sample(c, attr):
    kind = attr.sample_type
    for bit, code in ((IDENTIFIER, "Q"), (IP, "Q"), (TID, "II"), (TIME, "Q"), (ADDR, "Q"), (ID, "Q"), (STREAM_ID, "Q"),
                      (CPU, "II"), (PERIOD, "Q")):
        if kind & bit:
            c.by(code)
    if kind & READ:
        swap_read(c, attr)
    if kind & CALLCHAIN:
        c.by("Q" * min(c.number(8), c.left() // 8))
    if kind & RAW:
        size = c.number(4)
        c.skip((size + 4 + 7) // 8 * 8 - 4)
    if kind & BRANCH:
        swap_branches(c, attr)
    if kind & REGS_USER:
        swap_registers(c, attr.regs_user)
    if kind & STACK_USER:
        swap_stack(c)
    for bit in (WEIGHT | WEIGHT_STRUCT, DATA_SRC, TRANSACTION):
        if kind & bit:
            c.number(8)
    if kind & REGS_INTR:
        swap_registers(c, attr.regs_intr)
    for bit in (PHYS_ADDR, CGROUP, DATA_PAGE, CODE_PAGE):
        if kind & bit:
            c.number(8)
    if kind & AUX:
        c.skip(c.number(8))


def swap_mmap2(c, misc, end):
    c.by("IIQQQ")
    if misc & 1 << 14:
        c.skip(24)
    else:
        c.by("IIQQ")
    c.by("II")


def swap_cpu_map(c):
    kind = c.number(2)
    if kind == 0:
        c.by("H*H")
    elif kind == 1:
        c.number(2)
        wide = c.number(2)
        if wide == 8:
            c.skip(4)           # padding before the mask
        c.by("*Q" if wide == 8 else "*I")
    else:
        c.skip(2)
        c.by("HH")


def swap_build_id(c):
    c.by("I")                   # pid; build id, size and path are bytes


def swap_event_update(c):
    kind = c.number(8)
    c.number(8)
    if kind == 1:
        c.number(8)
    elif kind == 3:
        swap_cpu_map(c)


def swap_thread_map(c):
    for _ in range(c.number(8)):
        c.number(8)
        c.skip(16)


class File:
    def __init__(self, data):
        self.data = data
        self.attrs = []
        self.by_id = {}
        self.cpus = 0

    def add_ids(self, attr, at, end):
        for position in range(at, end - 7, 8):
            self.by_id[struct.unpack_from("=Q", self.data, position)[0]] = attr
        Cursor(self.data, at, end).by("*Q")

    # ---- records ----

    def event_of(self, kind, body, end):
        """The attr of a record: by its event id, if records have one. Its position is equal in all attrs of a file."""
        first = self.attrs[0]
        if len(self.attrs) == 1:
            return first
        if kind == 9:
            before = 0 if first.sample_type & IDENTIFIER else 8 * bin(first.sample_type & (IP | TID | TIME | ADDR)).count("1")
            position = body + before
        else:
            behind = 8 if first.sample_type & IDENTIFIER else 8 * (1 + bin(first.sample_type & (STREAM_ID | CPU)).count("1"))
            position = end - behind
        if not first.sample_type & (ID | IDENTIFIER) or not body <= position <= end - 8:
            return first
        return self.by_id.get(struct.unpack_from("=Q", self.data, position)[0], first)

    def swap_kernel(self, kind, misc, at, end):
        attr = self.event_of(kind, at, end)
        if kind == 9:
            swap_sample(Cursor(self.data, at, end), attr)
            return
        body_end = max(at, end - attr.trailer())
        if attr.trailer() <= end - at:
            swap_trailer(Cursor(self.data, body_end, end), attr)
        c = Cursor(self.data, at, body_end)
        if kind == 10:
            swap_mmap2(c, misc, body_end)
        else:
            c.by(KERNEL.get(kind, ""))

    def swap_own(self, kind, at, end):
        c = Cursor(self.data, at, end)
        if kind == 64:
            attr = Attr(self.data, at, end)
            self.attrs.append(attr)
            self.add_ids(attr, at + attr.size, end)
        elif kind == 67:
            swap_build_id(c)
        elif kind == 73:
            swap_thread_map(c)
        elif kind == 74:
            swap_cpu_map(c)
        elif kind == 78:
            swap_event_update(c)
        elif kind == 80:
            feature = c.number(8)
            self.swap_feature(feature, c.at, end)
        else:
            c.by(OWN.get(kind, ""))

    def swap_records(self, at, end):
        while end - at >= 8:
            kind, misc, size = struct.unpack_from("=IHH", self.data, at)
            if size < 8 or size > end - at:
                raise SystemExit(f"no record at {at}")
            if kind in (81, 83):
                raise SystemExit("compressed records are not swapped")
            payload = 0
            if kind == 71:
                payload = struct.unpack_from("=Q", self.data, at + 8)[0]
            if kind == 66:
                payload = (struct.unpack_from("=I", self.data, at + 8)[0] + 7) // 8 * 8
            Cursor(self.data, at, end).by("IHH")
            if kind < 64:
                self.swap_kernel(kind, misc, at + 8, at + size)
            else:
                self.swap_own(kind, at + 8, at + size)
            at += size + payload

    # ---- features ----

    def swap_feature(self, feature, at, end):
        c = Cursor(self.data, at, end)
        if feature in TEXTS:
            c.text()
        elif feature in (11, 28):
            c.texts(1 if feature == 11 else 2)
        elif feature == 7:
            self.cpus = c.number(4)
            c.number(4)
        elif hasattr(self, f"swap_feature_{feature}"):
            getattr(self, f"swap_feature_{feature}")(c)
        else:
            c.by(FEATURES.get(feature, ""))

    def swap_feature_2(self, c):
        while c.left() > 8:
            start = c.at
            _, size = c.number(4), (c.number(2), c.number(2))[1]
            if size < 36:
                break
            swap_build_id(c)
            c.at = min(c.end, start + size)

    def swap_feature_12(self, c):
        nr, size = c.number(4), c.number(4)
        for _ in range(nr):
            Attr(self.data, c.at, c.at + size)
            c.skip(size)
            ids = c.number(4)
            c.text()
            c.by("Q" * ids)

    def swap_feature_13(self, c):
        c.texts()
        c.texts()
        c.by("II" * self.cpus)
        if c.left() >= 4:
            c.texts()
            c.by("*I")

    def swap_feature_14(self, c):
        for _ in range(c.number(4)):
            c.by("IQQ")
            c.text()

    def swap_feature_16(self, c):
        for _ in range(c.number(4)):
            c.number(4)
            c.text()

    def swap_feature_17(self, c):
        for _ in range(c.number(4)):
            c.text()
            c.by("II")

    def swap_feature_20(self, c):
        c.number(4)
        for _ in range(c.number(4)):
            c.by("IIII")
            for _ in range(3):
                c.text()

    def swap_feature_30(self, c):
        c.texts(2)

    def swap_feature_31(self, c):
        for _ in range(c.number(4)):
            c.texts(2)
            c.text()

    # ---- the file ----

    def swap_attrs(self, at, end, size):
        while size and end - at >= size:
            attr = Attr(self.data, at, at + size - 16)
            self.attrs.append(attr)
            ids = ENTRY.unpack_from(self.data, at + size - 16)
            Cursor(self.data, at + size - 16, at + size).by("QQ")
            self.add_ids(attr, ids[0], sum(ids))
            at += size

    def convert(self):
        data = self.data
        size, attr_size = ENTRY.unpack_from(data, 8)
        if bytes(data[:8]) != MAGIC:
            raise SystemExit("not a perf.data file of this machine's order")
        if size == 16:
            Cursor(data, 0, 16).by("QQ")
            self.swap_records(16, len(data))
            return
        attrs, records = ENTRY.unpack_from(data, 24), ENTRY.unpack_from(data, 40)
        bits = int.from_bytes(data[72:104], "little") if size == 104 else 0
        Cursor(data, 0, size).by("*Q")
        self.swap_attrs(attrs[0], sum(attrs), attr_size)
        self.swap_records(records[0], sum(records))
        at = sum(records)
        for feature in range(256):
            if bits >> feature & 1:
                section = ENTRY.unpack_from(data, at)
                Cursor(data, at, at + 16).by("QQ")
                self.swap_feature(feature, section[0], sum(section))
                at += 16


def convert(source, target):
    with open(source, "rb") as stream:
        data = bytearray(stream.read())
    File(data).convert()
    with open(target, "wb") as stream:
        stream.write(data)


if __name__ == "__main__":
    convert(sys.argv[1], sys.argv[2])
