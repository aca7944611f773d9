#!/bin/sh
# SPDX-License-Identifier: MIT
# BPF programs of the running kernel: their names in reports, and the features BPF_PROG_INFO and BPF_BTF as perf reads them.
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
cd "$work" || exit 1
program=$PERCH_BUILD_ROOT/tests/interop/bpf_program

if ! "$program" 1 >tag 2>"$work/log"; then
	echo "ok - BPF programs # skip no BPF program can be loaded here: $(head -1 "$work/log")"
	exit 0
fi
read -r _ tag <tag
name=bpf_prog_${tag}_burn

# a program that the recording loads
"$PERCH" record -q -e cpu-clock:k -F 4000 -o own.data "$program" 3000 >out 2>"$work/log"
report $? "record a program that loads a BPF program"
"$PERCH" report --stdio -i own.data >own.txt 2>"$work/log"
grep -q "$name" own.txt
report $? "its name by the record of the kernel"

# a program that runs before the recording, and is unloaded before the report
mkfifo started
"$program" 100 stay >started &
running=$!
read -r id _ <started
"$PERCH" record -q -e cpu-clock -a -o all.data -- true >out 2>"$work/log"
report $? "record while a BPF program is loaded"
kill "$running"
wait "$running" 2>"$work/log"
"$PERCH" dump -i all.data >all.txt 2>"$work/log"
grep -q "name *\"*$name" all.txt
report $? "the recording has its KSYMBOL record"
"$PERCH" report --header-only -i all.data >header.txt 2>"$work/log"
grep -q "^# bpf_prog_info $id: $name addr 0x[0-9a-f]* size [1-9]" header.txt
report $? "the header has its name and address"
if perf report --header-only -i all.data >header.perf 2>/dev/null && grep -aq "^# bpf_prog_info $id:" header.perf; then
	grep -a '^# bpf_prog_info\|sub_prog' header.perf >expected
	grep '^# bpf_prog_info\|sub_prog' header.txt >found
	try "perf reads the same programs" diff expected found
else
	echo "ok - perf reads the same programs # skip $(peer_died || echo no perf that reads BPF_PROG_INFO)"
fi
exit $status
