# SPDX-License-Identifier: MIT
"""Programs that take time, and recordings of them, for the benchmarks of reports."""
import os
import subprocess
import sys

import compare


def write_program(path, functions):
    """Writes C that gcc -O2 compiles slowly: many functions with loops, branches and divisions."""
    with open(path, "w", encoding="ascii") as out:
        out.write("#include <string.h>\n")
        for i in range(functions):
            below = f" + f{i - 1}(a - 1, s)" if i else ""
            out.write(f"""int f{i}(int a, char *s)
{{
	int x = a * {i} + 1;
	for (int i = 0; i < a; i++) {{
		x += s[i] ^ i;
		if (x % {i + 3} == 2)
			x = x * 3 + strlen(s);
		else
			x -= a / {i + 1};
		switch (x & 7) {{
		case 0: x += 1; break;
		case 1: x ^= a; break;
		case 3: x -= i; break;
		default: x *= 3;
		}}
	}}
	return x{below};
}}
""")


def count_samples(perf, data):
    done = subprocess.run([perf, "report", "--stats", "-i", data], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode:
        compare.end_by(done.args, done.returncode)
    for line in done.stdout.splitlines():
        words = line.split()
        if words[:2] == ["SAMPLE", "events:"]:
            return int(words[2])
    return 0


DEEP = """
#include <stdint.h>
#include <stdlib.h>
volatile uint64_t sum;
static uint64_t state = 88172645463325252u;
static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}
static void call(int depth);
%s
static void (*const function[])(int) = { %s };
static void call(int depth) { function[any() %% 16](depth); }
int main(int argc, char **argv)
{
	for (long i = atol(argv[argc - 1]); i; i--)
		call(24 + any() %% 4);
}
"""


def build_deep(directory):
    """Compiles a program whose stacks have about 26 frames of 16 functions, in any order."""
    source, program = os.path.join(directory, "deep.c"), os.path.join(directory, "deep")
    functions = "\n".join(f"static void f{i}(int n) {{ for (int i = 0; i < {200 + 7 * i}; i++) "
                          "sum += i; if (n) call(n - 1); sum++; }" for i in range(16))
    with open(source, "w", encoding="ascii") as out:
        out.write(DEEP % (functions, ", ".join(f"f{i}" for i in range(16))))
    # a call in tail position would be no frame
    subprocess.run(["gcc", "-O1", "-fno-inline", "-fno-omit-frame-pointer",
                    "-fno-optimize-sibling-calls", "-o", program, source], check=True)
    return [program, "50" if compare.SMOKE else "3500000"]


def build_gcc(functions):
    """Returns what makes a command that compiles this many functions."""
    def build(directory):
        source = os.path.join(directory, f"functions-{functions}.c")
        write_program(source, 3 if compare.SMOKE else functions)
        return ["gcc", "-O2", "-c", "-o", "/dev/null", source]
    return build


def record_program(perf, data, command, frequency, chains=("-g",)):
    """Records a program. Returns the number of samples."""
    print(f"recording {' '.join(command)}", file=sys.stderr)
    done = subprocess.run([perf, "record", "-q", *chains, "-e", "cpu-clock", "-F", str(frequency),
                           "-o", data, "--", *command],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode < 0:
        compare.end_by(done.args, done.returncode)
    samples = count_samples(perf, data) if done.returncode == 0 else 0
    if not samples:
        compare.skip(f"perf record -F {frequency} does not work here: {done.stderr.strip()}")
    return samples
