# SPDX-License-Identifier: MIT
"""Reads profiles in pprof's format, as profile.proto of pprof describes it."""
import gzip


def fields(data):
    """The fields of a message: number, and an integer or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            at += size
            yield key >> 3, data[at - size:at]
        else:
            raise ValueError(f"wire type {key & 7}")


def numbers(found, number):
    """All values of a repeated number, packed or not."""
    values = []
    for key, value in found:
        if key != number:
            continue
        if isinstance(value, int):
            values.append(value)
            continue
        shift = part = 0
        for byte in value:
            part |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                values.append(part)
                shift = part = 0
    return values


class Profile:
    """types: (name, unit); samples: (functions from the innermost on, values, labels); lines: (function, file, line); period, period_type, start and duration in ns."""

    def __init__(self, compressed):
        found = list(fields(gzip.decompress(compressed)))
        texts = [value.decode() for key, value in found if key == 6]
        messages = {key: [list(fields(value)) for number, value in found if number == key] for key in (1, 2, 3, 4, 5, 11)}

        def first(message, number):
            return next((value for key, value in message if key == number), 0)

        def type_of(message):
            return texts[first(message, 1)], texts[first(message, 2)]

        functions = {first(one, 1): texts[first(one, 2)] for one in messages[5]}
        files = {first(one, 1): texts[first(one, 4)] for one in messages[5]}
        lines = [dict(fields(line)) for one in messages[4] for key, line in one if key == 4]
        self.lines = {(functions[line[1]], files[line[1]], line.get(2, 0)) for line in lines}
        locations = {first(one, 1): [functions[first(list(fields(line)), 1)] for key, line in one if key == 4] for one in messages[4]}
        self.mappings = {texts[first(one, 5)]: texts[first(one, 6)] for one in messages[3]}
        self.types = [type_of(one) for one in messages[1]]
        self.period_type = type_of(messages[11][0]) if messages[11] else None
        self.period = next((value for key, value in found if key == 12), 0)
        self.start = next((value for key, value in found if key == 9), 0)
        self.duration = next((value for key, value in found if key == 10), 0)
        self.samples = []
        for one in messages[2]:
            labels = {}
            for label in (list(fields(value)) for key, value in one if key == 3):
                labels[texts[first(label, 1)]] = texts[first(label, 2)] if first(label, 2) else first(label, 3)
            stack = [name for location in numbers(one, 1) for name in locations[location]]
            self.samples.append((stack, numbers(one, 2), labels))

    def total(self, function=None, value=0):
        """The sum of the samples, or of those in a function or its callees."""
        return sum(values[value] for stack, values, _ in self.samples if function is None or function in stack)
