#!/bin/bash
# SPDX-License-Identifier: MIT
# Copies of user stacks through the trampolines of python -X perf: a program that calls through the same code, in each of its
# kinds, and Python itself from 3.12 on.
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
cd "$work" || exit 1
program=$PERCH_BUILD_ROOT/tests/interop/trampolines
maps=()
trap 'rm -rf "$work"; [ ${#maps[@]} -eq 0 ] || rm -f "${maps[@]}"' EXIT

# Prints the stacks of a recording, a line each, innermost first.
stacks() { # file
	"$PERCH" script -i "$1" -F ip,sym --no-inline 2>>log | awk '
		!NF { if (line) print line; line = ""; next }
		{ $1 = ""; line = line $0 ";" }
		END { if (line) print line }'
}

# Checks that at least 95 % of the stacks with one pattern have another one. All programs of the machine may remove files of /tmp.
check_stacks() { # name, file of stacks, pattern, pattern of whole ones, perf map
	all=$(grep -c -e "$3" "$2")
	whole=$(grep -c -e "$4" "$2")
	echo "$whole of $all stacks are whole" >>log
	head -3 "$2" >>log
	if [ ! -e "$5" ]; then
		echo "ok - $1 # skip another program removed $5"
		return
	fi
	[ "$all" -gt 0 ] && [ "$whole" -ge $((all * 95 / 100)) ]
	report $? "$1"
}

kind=0
while :; do
	"$PERCH" record -q -e cpu-clock:u -F 999 --call-graph dwarf -o kind.data "$program" $kind >out 2>log
	[ $? -eq 77 ] && break
	map=/tmp/perf-$(cat out).map
	maps+=("$map")
	stacks kind.data >kind.stacks
	check_stacks "stacks through trampolines of kind $kind are whole" kind.stacks 'work;' \
		' work; interpret; py::third:a.py;.* interpret; py::second:a.py;.* interpret; py::first:a.py;.* main;' "$map"
	kind=$((kind + 1))
done
[ $kind -gt 0 ] || echo "ok - stacks through trampolines # skip Python has none of this architecture that are known"

cat >hot.py <<'END_PY'
import os, time

def inner(n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s

def middle(n):
    return inner(n) + 1

def outer(end):
    t = 0
    while time.monotonic() < end:
        t += middle(2000)
    return t

print(os.getpid(), flush=True)
outer(time.monotonic() + 0.7)
END_PY
python=
for candidate in python3 python3.12 python3.13 python3.14 python3.15; do
	"$candidate" -X perf -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' 2>/dev/null && python=$candidate
done
if [ -n "$python" ]; then
	"$PERCH" record -q -e cpu-clock:u -F 999 --call-graph dwarf -o python.data "$python" -X perf hot.py >out 2>log
	map=/tmp/perf-$(cat out).map
	maps+=("$map")
	stacks python.data >python.stacks
	check_stacks "stacks of $python -X perf have the callers in Python" python.stacks 'py::inner:' \
		'py::inner:.*py::middle:.*py::outer:.*py::<module>:' "$map"
else
	echo "ok - python -X perf # skip there is no Python from 3.12 on with trampolines"
fi
exit $status
