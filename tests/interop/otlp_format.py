# SPDX-License-Identifier: MIT
"""Requests of OTLP profiles: a reader with the field numbers of opentelemetry-proto 1.10 and later, and what the comments of its files
demand of tables and samples."""
import collections

# The messages: the number of a field, its name, and what it is: a message, a text, packed numbers ("numbers", "fixed") or one number.
MESSAGES = {
    "Request": {1: ("resource_profiles", "ResourceProfiles"), 2: ("dictionary", "Dictionary")},
    "ResourceProfiles": {1: ("resource", "Resource"), 2: ("scope_profiles", "ScopeProfiles"), 3: ("schema_url", "text")},
    "Resource": {1: ("attributes", "KeyValue")},
    "KeyValue": {1: ("key", "text"), 2: ("value", "AnyValue"), 3: ("key_strindex", "number")},
    "AnyValue": {1: ("string_value", "text"), 3: ("int_value", "number"), 8: ("string_value_strindex", "number")},
    "ScopeProfiles": {1: ("scope", "Scope"), 2: ("profiles", "Profile"), 3: ("schema_url", "text")},
    "Scope": {1: ("name", "text"), 2: ("version", "text")},
    "Profile": {1: ("sample_type", "ValueType"), 2: ("samples", "Sample"), 3: ("time_unix_nano", "number"), 4: ("duration_nano", "number"),
                5: ("period_type", "ValueType"), 6: ("period", "number"), 7: ("profile_id", "bytes"), 11: ("attribute_indices", "numbers")},
    "ValueType": {1: ("type_strindex", "number"), 2: ("unit_strindex", "number")},
    "Sample": {1: ("stack_index", "number"), 2: ("attribute_indices", "numbers"), 3: ("link_index", "number"), 4: ("values", "numbers"),
               5: ("timestamps_unix_nano", "fixed")},
    "Dictionary": {1: ("mapping", "Mapping"), 2: ("location", "Location"), 3: ("function", "Function"), 4: ("link", "Link"), 5: ("string", "text"),
                   6: ("attribute", "KeyValueAndUnit"), 7: ("stack", "Stack")},
    "Mapping": {1: ("memory_start", "number"), 2: ("memory_limit", "number"), 3: ("file_offset", "number"), 4: ("filename_strindex", "number"),
                5: ("attribute_indices", "numbers")},
    "Location": {1: ("mapping_index", "number"), 2: ("address", "number"), 3: ("lines", "Line"), 4: ("attribute_indices", "numbers")},
    "Line": {1: ("function_index", "number"), 2: ("line", "number"), 3: ("column", "number")},
    "Function": {1: ("name_strindex", "number"), 2: ("system_name_strindex", "number"), 3: ("filename_strindex", "number"), 4: ("start_line", "number")},
    "Link": {1: ("trace_id", "bytes"), 2: ("span_id", "bytes")},
    "KeyValueAndUnit": {1: ("key_strindex", "number"), 2: ("value", "AnyValue"), 3: ("unit_strindex", "number")},
    "Stack": {1: ("location_indices", "numbers")},
}
LISTS = {"resource_profiles", "scope_profiles", "profiles", "samples", "lines", "attributes", "mapping", "location", "function", "link", "string",
         "attribute", "stack"}
# Which table a field refers to.
REFERS = {"filename_strindex": "string", "attribute_indices": "attribute", "mapping_index": "mapping", "function_index": "function",
          "name_strindex": "string", "system_name_strindex": "string", "key_strindex": "string", "unit_strindex": "string",
          "type_strindex": "string", "string_value_strindex": "string", "stack_index": "stack", "link_index": "link", "location_indices": "location"}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def numbers(data):
    found, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def value_of(kind, data):
    if kind == "text":
        return data.decode()
    if kind == "numbers":
        return numbers(data)
    if kind == "fixed":
        return [int.from_bytes(data[i:i + 8], "little") for i in range(0, len(data), 8)]
    return data if kind == "bytes" else read(data, kind)


def read(data, name="Request"):
    """The fields of a message by name; a number that is not there is 0. An unknown field is a KeyError."""
    message, at = collections.defaultdict(int), 0
    for field, kind in MESSAGES[name].values():
        if field in LISTS or kind in ("numbers", "fixed"):
            message[field] = []
    while at < len(data):
        key, at = varint(data, at)
        field, kind = MESSAGES[name][key >> 3]
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else (8, at)
            if at + size > len(data):
                raise ValueError(name + " is cut")
            value, at = data[at:at + size], at + size
            value = int.from_bytes(value, "little") if key & 7 == 1 else value_of(kind, value)
        if field in LISTS:
            message[field].append(value)
        elif isinstance(value, list):
            message[field] += value
        else:
            message[field] = value
    return message


def references(message):
    """All (table, index) of a message and of those in it."""
    for field, value in message.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield from references(item)
            elif field in REFERS:
                yield REFERS[field], item


def faults(request):
    """What the request does against the comments of the .proto files."""
    found, dictionary = [], request["dictionary"]
    for table, items in dictionary.items():
        first = items[0] if items else None
        empty = not any(first["trace_id"] + first["span_id"]) if table == "link" and first else not any(first.values()) if isinstance(first, dict) else first == ""
        if not empty:
            found.append("element 0 of %s is %r" % (table, first))
    used = set(references(request))
    found += ["%s %d does not exist" % (table, index) for table, index in used if index >= len(dictionary[table])]
    found += ["nothing refers to %s %d" % (table, index) for table, items in dictionary.items() for index in range(1, len(items)) if (table, index) not in used]
    ids = [profile["profile_id"] for _, profile in profiles(request)]
    if len(set(ids)) < len(ids) or any(len(number) != 16 for number in ids):
        found.append("ids of profiles: %r" % ids)
    for _, profile in profiles(request):
        for sample in profile["samples"]:
            times = len(sample["timestamps_unix_nano"])
            if len(sample["values"]) != times and (len(sample["values"]) != 1 or times) and not (times and not sample["values"]):
                found.append("values of a sample: %r" % sample)
    return found


def text_or_number(request, value):
    """What an AnyValue has. Since 1.11 the text can be in the dictionary."""
    if "string_value_strindex" in value:
        return request["dictionary"]["string"][value["string_value_strindex"]]
    return value.get("string_value") or value.get("int_value", 0)


def profiles(request):
    """All profiles, with the attributes of their resource. Since 1.11 their keys can be in the dictionary."""
    for resource in request["resource_profiles"]:
        attributes = {item.get("key") or request["dictionary"]["string"][item["key_strindex"]]: text_or_number(request, item["value"])
                      for item in resource.get("resource", {}).get("attributes", [])}
        for scope in resource["scope_profiles"]:
            for profile in scope["profiles"]:
                yield attributes, profile


def type_of(request, value_type):
    strings = request["dictionary"]["string"]
    return "%s/%s" % (strings[value_type["type_strindex"]], strings[value_type["unit_strindex"]]) if value_type else ""


def stack_of(request, sample):
    """The names of the functions, outermost first."""
    tables = request["dictionary"]
    names = []
    for location in tables["stack"][sample.get("stack_index", 0)]["location_indices"]:
        names += [tables["string"][tables["function"][line["function_index"]]["name_strindex"]] for line in tables["location"][location]["lines"]]
    return names[::-1]


def attributes_of(request, indices):
    tables = request["dictionary"]
    items = [tables["attribute"][index] for index in indices]
    return {tables["string"][item["key_strindex"]]: text_or_number(request, item["value"]) for item in items}
