#!/bin/bash
# SPDX-License-Identifier: MIT
# When a recording was made is in the recording: a file that was copied, touched or restored gives the same names, reasons and times as
# the original. Recordings of perf say it only with -k; without, names that need it are unverified, and nothing is refused for its time.
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
cd "$work" || exit 1
export HOME=$work # of the build id cache
program=$PERCH_BUILD_ROOT/tests/interop/jit_program
maps=()
trap 'rm -rf "$work"; [ ${#maps[@]} -eq 0 ] || rm -f "${maps[@]}"' EXIT

"$PERCH" record -q -e cpu-clock -F 999 -o probe.data "$program" map "$work" >log 2>&1
[ $? -ne 77 ] || { echo "the program makes no code for this architecture"; exit 77; }
maps+=("/tmp/perf-$(cat log).map")

names() { # recording, options: its names, then the messages
	"$PERCH" script -i "$1" -F time,ip,sym,dso "${@:2}" 2>&1 | sed "s/perch script: //"
	"$PERCH" report -i "$1" --stdio -s dso,sym "${@:2}" 2>&1 | grep -v '^# captured on'
	# without a clock, the header has the time of the file, as perf's
	"$PERCH" report -i "$1" --header-only >header
	grep -q 'reference time' header || sed -i '/^# captured on/d' header
	cat header
}
same_everywhere() { # recording, what it has
	local file=$1
	names "$file" >original
	cp "$file" copy
	cp "$file" old && touch -d '2001-02-03 04:05:06' old
	cp "$file" future && touch -d '+10 days' future
	tar -cf archive.tar "$file" && mkdir restored && tar -C restored -xmf archive.tar
	for other in copy old future "restored/$file"; do
		names "$other" >others
		diff original others >log
		report $? "$2: ${other%%/*} is as the original"
	done
	rm -r restored
}
has() { # name, recording, a message, or - for none about unverified names
	"$PERCH" script -i "$2" -v -F ip,sym >names 2>notes
	cat notes >log
	grep -q "$1" names && { if [ "$3" = - ]; then ! grep -q unverified notes; else grep -q "$3" notes; fi; }
}
record() { # recorder, recording, arguments of the program, options of the recorder
	"$1" record -q -e cpu-clock -F 999 -o "$2" "${@:4}" -- "$program" "$3" "$work" >log 2>&1 || return
	maps+=("/tmp/perf-$(grep -m 1 '^[0-9]*$' log).map")
	[ -e "${maps[-1]}" ] || [ "$3" = dump ]
}
undated='does not say when it was made'

for clock in '' '-k mono' '-k boottime'; do
	# shellcheck disable=SC2086
	record "$PERCH" map.data map $clock
	report $? "perch record $clock: a perf map is written"
	try "perch record $clock: names of the perf map" has jit_second map.data -
	same_everywhere map.data "perch record $clock, a perf map"
	# made after the recording: the reason does not depend on the file
	map=${maps[-1]}
	python3 - "$map" <<-'END'
		import os, sys, time
		text = open(sys.argv[1]).read()
		os.unlink(sys.argv[1])
		time.sleep(2.5)
		open(sys.argv[1], "w").write(text)
	END
	if [ "$(stat -c %W "$map")" != 0 ]; then
		"$PERCH" script -i map.data >log 2>&1
		grep -q "it was made after the recording" log
		report $? "perch record $clock: a later perf map is refused"
		same_everywhere map.data "perch record $clock, a later perf map"
	fi
	rm -f "$map"
done
record "$PERCH" dump.data dump -k mono
report $? "a jitdump is written"
try "names of the jitdump" has jit_second dump.data -
same_everywhere dump.data "a jitdump"

# -F tod is the wall clock: the samples are between the times before and after
before=$(date +%s.%N)
record "$PERCH" tod.data map
after=$(date +%s.%N)
"$PERCH" script --ns -i tod.data -F tod,time >tods 2>log
python3 - tods "$before" "$after" >log 2>&1 <<'END'
import datetime, sys
before, after = map(float, sys.argv[2:])
lines = [line.rstrip(": \n").split() for line in open(sys.argv[1]) if line.strip()]
assert len(lines) > 20
for day, clock, when in lines:
    whole, part = clock.split(".")
    at = datetime.datetime.strptime(day + " " + whole, "%Y-%m-%d %H:%M:%S").timestamp() + int(part) / 1e9
    assert before - 0.01 <= at <= after + 0.01, (before, at, after)
END
report $? "-F tod without -k is the wall clock"
"$PERCH" record -q -e cpu-clock -F 999 -o - -- "$program" map "$work" 2>log >piped.data
maps+=("/tmp/perf-$(grep -m 1 '^[0-9]*$' log).map")
"$PERCH" script -i piped.data -F tod,ip >log 2>&1 && grep -q '^20..-..-..' log
report $? "-F tod of a piped recording"
if perf script --ns -i tod.data -F tod,time >theirs 2>log; then
	diff tods theirs >log
	report $? "perf script has the same times"
	perf inject -b -i tod.data -o injected.data >log 2>&1 && "$PERCH" script --ns -i injected.data -F tod,time 2>>log | diff tods - >>log
	report $? "perf inject keeps the times"
else
	echo "ok - times of perf script # skip $(peer_died || echo perf is missing)"
fi

# recordings of perf
if command -v perf >/dev/null && record perf perf.data map; then
	try "perf record: a perf map has names, and is unverified" has jit_second perf.data "names of /tmp/perf-[0-9]*.map are unverified: .*$undated"
	"$PERCH" report -i perf.data --stdio >log 2>&1
	grep -q "names of 1 perf map are unverified: the recording $undated (-v lists them): record with perch record, or with perf record -k" log
	report $? "perf record: the message has the remedy"
	same_everywhere perf.data "perf record, a perf map"
	touch -d '2001-02-03' "${maps[-1]}"
	try "perf record: no map is too old" has jit_second perf.data "$undated"
	if gcc -Wl,--build-id=none -x c -o plain - <<<'int main(void) { for (volatile long i = 0; i < 200000000; i++); }' 2>log; then
		perf record -q -e cpu-clock -o plain.data ./plain >log 2>&1
		try "perf record: a program without build id is unverified" has main plain.data "names of $work/plain are unverified: .*$undated"
		same_everywhere plain.data "perf record, a program without build id"
		perf record -q -k mono -e cpu-clock -o plain.data ./plain >log 2>&1
		try "perf record -k: a program without build id is verified" has main plain.data -
		same_everywhere plain.data "perf record -k, a program without build id"
		"$PERCH" record -q -e cpu-clock -o plain.data ./plain >log 2>&1
		try "perch record: a program without build id is verified" has main plain.data -
		same_everywhere plain.data "perch record, a program without build id"
		touch plain
		try "perch record: a program that was written later is unverified" has main plain.data "was written since the recording"
		same_everywhere plain.data "perch record, a program that was written later"
	fi
	if record perf clock.data map -k mono; then
		try "perf record -k: a perf map has verified names" has jit_second clock.data -
		same_everywhere clock.data "perf record -k, a perf map"
	fi
else
	echo "ok - recordings of perf # skip $(peer_died || echo perf is missing)"
fi
exit "$status"
