# SPDX-License-Identifier: MIT
"""Compares perch/abi.h with the linux/perf_event.h of a kernel: each constant has its value, each member
of a struct is at its place with its bits. A name that perch does not have is a difference, because the
header of an older kernel is a part of perch's, and a newer one has what perch lacks."""
import re
import subprocess
import tempfile
from pathlib import Path

# Names that differ by more than PERF_ and PERCH_.
CONSTANTS = {r"PERF_EVENT_IOC_": "PERCH_IOC_", r"PERF_RECORD_MISC_": "PERCH_MISC_",
             r"PERF_": "PERCH_", r"": "PERCH_"}
TYPES = {"perf_event_attr": "perch_attr", "perf_event_header": "perch_record_header",
         "perf_event_mmap_page": "perch_mmap_page", "perf_event_query_bpf": "perch_query_bpf"}
RESERVED = re.compile(r"_*(reserved|mem_rsvd|rsvd)|cap_+res$")
# These grow.
LIMIT = re.compile(r"(?<!CONTEXT)_MAX(_SHIFT)?$")
# Not of the interface: the guard of the header, and names for the kernel itself.
NO_CONSTANT = re.compile(r"_LINUX_PERF_EVENT_H|__PERF_\w+|PERF_MEM_S")
PROGRAM_START = """
#include <stdio.h>
#include <string.h>
#include <linux/perf_event.h>
#include <perch/abi.h>
static int failed;
static void constant(const char *name, unsigned long long kernel, unsigned long long ours, int is_limit)
{
	failed |= is_limit ? kernel > ours : kernel != ours;
	if (is_limit ? kernel > ours : kernel != ours)
		printf("%s: %#llx, perch has %#llx\\n", name, kernel, ours);
}
static void bytes(const char *name, const void *kernel, size_t size, const void *ours, size_t our_size)
{
	if (size > our_size || memcmp(kernel, ours, size)) {
		printf("%s has another place or other bits in perch\\n", name);
		failed = 1;
	}
}
/* Sets all bits of a member. */
#define BITS(kernels, perchs, member, our_member) do {            \\
	kernels k; perchs p; memset(&k, 0, sizeof(k)); memset(&p, 0, sizeof(p)); \\
	k.member = ~0ull; p.our_member = ~0ull; bytes(#kernels "." #member, &k, sizeof(k), &p, sizeof(p)); } while (0)
#define ARRAY(kernels, perchs, member, our_member) do {           \\
	kernels k; perchs p; memset(&k, 0, sizeof(k)); memset(&p, 0, sizeof(p)); \\
	memset(&k.member, 255, sizeof(k.member)); memset(&p.our_member, 255, sizeof(p.our_member)); \\
	bytes(#kernels "." #member, &k, sizeof(k), &p, sizeof(p)); } while (0)
#define OFFSET(kernels, perchs, member, our_member) \\
	constant(#kernels "." #member, __builtin_offsetof(kernels, member), __builtin_offsetof(perchs, our_member), 0)
int main(void)
{
"""


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def body_from(text, start):
    """Returns what is between the brace at or after start and the one that closes it, and the end."""
    begin = text.index("{", start) + 1
    depth, at = 1, begin
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[begin:at - 1], at


def members(body):
    """Returns the names of all members, with the kind of check: BITS, ARRAY or OFFSET (no size)."""
    found = []
    at = 0
    nested = re.compile(r"\b(?:struct|union)\s*\{")
    while True:
        match = nested.search(body, at)
        plain = body[at:match.start() if match else None]
        for declaration in plain.split(";"):
            declaration = " ".join(declaration.split())
            match_names = re.match(r"(?:(?:const|unsigned|struct \w+|union \w+|enum \w+|__u\d+|__s\d+|"
                                   r"__le\d+|int|char)\s+)+(.*)", declaration)
            if not match_names:
                continue
            for name in match_names[1].split(","):
                parsed = re.match(r"\s*(\w+)\s*(\[\s*(\w*)[^]]*\])?", name)
                if parsed:
                    kind = ("BITS" if not parsed[2] else
                            "OFFSET" if parsed[3] in ("", "0") else "ARRAY")
                    found.append((parsed[1], kind))
        if not match:
            return found
        inner, at = body_from(body, match.start())
        found += members(inner)


class Header:
    def __init__(self, path):
        self.text = re.sub(r"^#\s*if[^\n]*__BIG_ENDIAN.*?^#\s*(?:endif|el[^\n]*)[^\n]*$", "",
                           without_comments(Path(path).read_text()), flags=re.M | re.S)

    def constants(self):
        """Returns the names of the enumerators and of the macros without parameters."""
        names = re.findall(r"^#\s*define\s+(\w+)[ \t]+\S", self.text, flags=re.M)
        for match in re.finditer(r"\benum\b[^{;]*\{", self.text):
            body, _ = body_from(self.text, match.start())
            names += re.findall(r"(?:^|,)\s*(?:#[^\n]*\n\s*)*(\w+)\s*(?==|,|$)", body)
        return [name for name in dict.fromkeys(names) if not NO_CONSTANT.fullmatch(name)]

    def types(self):
        """Returns ("struct" or "union", name, members) of each type."""
        found = []
        for match in re.finditer(r"^(struct|union)\s+(\w+)\s*\{", self.text, flags=re.M):
            body, _ = body_from(self.text, match.start())
            if match[2] not in [name for _, name, _ in found]:  # the other byte order follows
                found.append((match[1], match[2], members(body)))
        return found


def our_constant(name):
    for theirs, ours in CONSTANTS.items():
        if name.startswith(theirs):
            return ours + name[len(theirs):]
    return name


def our_type(name):
    return TYPES.get(name, name.replace("perf_event_", "perch_").replace("perf_", "perch_"))


def compare(include, perch_include):
    """Returns the number of names compared, and the differences. include: the directory with
    linux/perf_event.h; perch_include: that of perch."""
    header = Header(Path(include) / "linux/perf_event.h")
    ours = "".join((Path(perch_include) / "perch" / name).read_text()
                   for name in ("abi.h", "abi_records.h"))
    ours = set(re.findall(r"\w+", ours))
    lines, missing = [], []

    for name in header.constants():
        mine = our_constant(name)
        if mine in ours:
            limit = int(bool(LIMIT.search(name)))
            lines.append(f'constant("{name}", (unsigned long long)({name}), (unsigned long long)({mine}), {limit});')
        else:
            missing.append(name)
    for kind, name, found in header.types():
        mine = our_type(name)
        if mine not in ours:
            missing.append(f"{kind} {name}")
            continue
        for member, check in found:
            if RESERVED.match(member):
                continue
            if member not in ours:
                missing.append(f"{name}.{member}")
                continue
            types = f"{kind} {name}, {kind} {mine}"
            lines.append(f"{check}({types}, {member}, {member});")
    differences = [f"perch has no {name}" for name in missing]
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "compare.c"
        source.write_text(PROGRAM_START + "\n".join(lines) + "\nreturn failed;\n}\n")
        built = subprocess.run(["cc", "-std=gnu17", "-w", f"-I{include}", f"-I{perch_include}", "-o",
                                f"{directory}/compare", str(source)], stderr=subprocess.PIPE, text=True,
                               check=False)
        if built.returncode:
            differences += [line.partition("error: ")[2] for line in built.stderr.splitlines()
                            if "error: " in line]
        else:
            differences += subprocess.run([f"{directory}/compare"], stdout=subprocess.PIPE, text=True,
                                          check=False).stdout.splitlines()
    return len(lines), differences


# Fields that count what follows: they are 0, so that nothing follows.
COUNTS = ("nr", "nr_namespaces", "old_len", "new_len")
ARRAYS = {"BPF_TAG_SIZE": "8b"}
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}


def fields_of(text):
    """Returns the declarations of a comment as NAME:BYTES: 0 is a text, b behind the number are bytes,
    z a number that must be 0, s a small one (by it perch knows that prot exists: older kernels do not write it).
    None if there are others."""
    found = []
    for declaration in text.split(";"):
        words = declaration.split(None, 1)
        if not words:
            continue
        if len(words) < 2 or words[0] not in (*SIZES, "char"):
            return None
        for name in words[1].split(","):
            parsed = re.fullmatch(r"\s*(\w+)\s*(\[(\w*)\])?\s*", name)
            if not parsed:
                return None
            name, array, length = parsed.groups()
            if array:
                size = "0" if words[0] == "char" and not length else ARRAYS.get(length)
            else:
                size = f"{SIZES.get(words[0])}{'z' if name in COUNTS else 's' if name == 'prot' else ''}"
            if not size:
                return None
            found.append(f"{'_' if name == 'res' else ''}{name}:{size}")
    return found


def sample_layout(body, bits):
    """Returns the fields of a sample that are numbers, and the sample_type with them."""
    found, sample_type = [], 0
    for text, bit in re.findall(r"\{([^{}]*)\}\s*&&\s*PERF_SAMPLE_(\w+)", body):
        fields = fields_of(text)
        if not fields or bit not in bits or bit == "WEIGHT_STRUCT":
            continue
        found += [field.replace("id:", "identifier:") if bit == "IDENTIFIER" else field
                  for field in fields]
        sample_type |= 1 << bits[bit]
    return found, sample_type


def record_layouts(path):
    """Returns the layouts that the comments of a header describe, as lines for record_layouts.c."""
    text = Path(path).read_text()
    bits = {name: int(bit) for name, bit in
            re.findall(r"PERF_SAMPLE_(\w+)\s*=\s*1U\s*<<\s*(\d+)", text)}
    lines = []
    for comment, name, number in re.findall(
            r"/\*((?:(?!\*/).)*?)\*/\s*PERF_RECORD_(\w+)\s*=\s*(\d+),", text, flags=re.S):
        body = re.sub(r"^[ \t]*\*|#[^\n]*", "", comment, flags=re.M)
        start = re.search(r"struct \{\s*struct perf_event_header\s+header;", body)
        if not start:
            continue
        body = body[start.end():body.rindex("}")].replace("struct sample_id", "; sample_id")
        body = body.partition("; sample_id")[0]
        sample_type = 0
        if name == "SAMPLE":
            fields, sample_type = sample_layout(body, bits)
        else:
            # of a union, the first member: without PERF_RECORD_MISC_MMAP_BUILD_ID
            body = re.sub(r"union\s*\{\s*struct\s*\{([^}]*)\};.*\};", r"\1", body, flags=re.S)
            body = re.sub(r"\{[^}]*\}\s*\[nr_namespaces\];|u64\s+ips\[nr\];|u8\s+bytes\[\];", "", body)
            body = re.sub(r"struct read_format\s+values", "u64 value", body)
            fields = fields_of(body)
        if fields is None:
            raise ValueError(f"{path}: the layout of {name} is not understood: {body}")
        lines.append(f"{name} {number} 0 {sample_type} {' '.join(fields)}\n")
    return lines
