#!/bin/sh
# SPDX-License-Identifier: MIT
# Exchanges perf.data files between perch and the installed perf, in both directions.
# shellcheck source=tests/interop/common.sh
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
tool=$PERCH_BUILD_ROOT/tests/interop/file_writer
cd "$work" || exit 1

if ! command -v perf >/dev/null 2>&1 || ! version=$(perf version 2>/dev/null); then
	echo "ok - perf.data # skip: perf is not installed"
	exit 77
fi

same() { # name, two files
	diff "$2" "$3" >difference
	report $? "$1" difference
}

# The totals of `perf report --stats` as lines 'TYPE number'. perf versions format the percentages differently.
counts() {
	awk '/^[a-z].* stats:/ { exit } / events: / && $3 > 0 { print $1, $3 }' | sort
}

# The format is that of perf 6.1. Newer versions print more. perf takes the file's time for that of the recording.
same_header() { # name, file
	case $version in
	"perf version 6.1."*) ;;
	*)
		echo "ok - $1: perf and perch print the same header # skip: $version has another format"
		return
		;;
	esac
	perf report --header-only -i "$2" 2>perf.err | sed '/^# captured on/d' >perf.header
	"$tool" header "$2" | sed '/^# captured on/d' >perch.header
	same "$1: perf and perch print the same header" perf.header perch.header
}

same_counts() { # name, file
	perf report --stats --stdio -i "$2" 2>perf.err | counts >perf.counts
	"$tool" stats "$2" | counts >perch.counts
	same "$1: perf and perch count the same records" perf.counts perch.counts
}

"$tool" write full.data
report $? "a file with every field is written"
same_header "every field" full.data

"$tool" plain plain.data
report $? "a file with records is written"
same_header "written by perch" plain.data
same_counts "written by perch" plain.data
perf script -D -i plain.data >dump 2>perf.err
report $? "perf dumps the file" perf.err
[ "$(grep -c 'PERF_RECORD_SAMPLE' dump)" -eq 1000 ]
report $? "perf dumps all samples" perf.err
perf script -i plain.data -F event,time,ip 2>perf.err >dump
grep -c 'page-faults' dump >number
[ "$(cat number)" -eq 100 ]
report $? "perf assigns each sample to its event" number perf.err
perf buildid-list -i plain.data 2>perf.err | grep -q '0102030405060708090a0b0c0d0e0f1011121314 /proc/none/worker'
report $? "perf finds the build id" perf.err

"$tool" killed killed.data 2>/dev/null
same_counts "the writer was killed" killed.data

record() { # name, perf's options
	how=$1
	shift
	if perf record -q -o perf.data "$@" >record.log 2>&1; then
		same_header "recorded by perf, $how" perf.data
		same_counts "recorded by perf, $how" perf.data
	else
		echo "ok - recorded by perf, $how # skip: $(peer_died || head -n 1 record.log)"
	fi
}
record plain -e cpu-clock -- ls /
record "call graphs" -e cpu-clock -g -F 5000 -- ls /
record "a group" -e '{cpu-clock,page-faults}' -- ls /
record "all CPUs" -e cpu-clock,context-switches -a -- sleep 0.1
record "registers and stack" -e cpu-clock --call-graph dwarf,1024 --intr-regs=ip,sp -- ls /
record "data addresses and clock" -e page-faults -c 1 -d -k CLOCK_MONOTONIC -- ls /
exit $status
