#!/bin/bash
# SPDX-License-Identifier: MIT
# perch record --overwrite and --switch-output, also by events: when files are written, that perch and perf can read each one alone, and
# messages.
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"

set_burn 150
forever='while :; do :; done'
recorder=

clean() {
	[ -n "$recorder" ] && kill "$recorder" 2> /dev/null
}

record() {
	"$perch" record "$@" > out 2>&1
}

# Number of samples, or of other records, in a file.
count() {
	"$perch" report --stats -i "$1" 2> /dev/null | awk -v kind="$2" '$1 == kind { print $3; exit }'
}

at_least() {
	[ "$(count "$1" "$2")" -ge "$3" ] 2> /dev/null
}

nr_files() {		# prefix, how many there are at least
	[ "$(find . -name "$1.*" ! -name '*.old' | wc -l)" -ge "$2" ]
}

begin() {		# starts a recorder in the background; its program runs until it is killed
	: > running
	"$perch" record "$@" -- sh -c "echo \$\$ > running; $forever" > out 2>&1 &
	recorder=$!
	wait_until [ -s running ] && sample
}

sample() {		# waits until the program of the recorder has a few hundred samples more
	"$until_used" 150 "$(cat running)"
}

finish() {
	kill -INT "$recorder"
	wait "$recorder"
	local got=$?
	recorder=
	return $got
}

# Whether perch and perf can read a file alone: samples of sh have DSOs.
alone() {
	"$perch" report --stdio -i "$1" > text 2> /dev/null && grep -Eq 'sh +(dash|bash|libc|\[kernel)' text || return 1
	"$perch" dump -i "$1" > text 2> /dev/null && [ -s text ] || return 1
	command -v perf > /dev/null || return 0
	perf report --stats -i "$1" > text 2> /dev/null || return 1
	[ "$(awk '$1 == "SAMPLE" { print $3; exit }' text)" = "$(count "$1" SAMPLE)" ] || return 1
	perf script -i "$1" -F comm,dso,ip 2> /dev/null | grep -Eq '^ *sh .*(dash|bash|libc)'
}

in_order() {		# a list of files: whether the samples of each are newer than those of the one before
	local file
	: > times
	while read -r file; do
		"$perch" script -i "$file" 2> /dev/null |
			awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\.[0-9]+:$/) print $i }' >> times
		"$perch" report --stats -i "$file" > /dev/null 2>&1 || return 1
	done < "$1"
	[ "$(wc -l < times)" -ge 100 ] && sort -n -c times
}

refuses() {		# name, a part of the message, arguments
	local name=$1 message=$2
	shift 2
	record "$@" -- true
	[ $? -eq 2 ] && grep -q -- "$message" out
	report $? "$name"
}

record -o probe.data -- true || { echo "skipped: cannot record here: $(cat out)"; exit 77; }
record --overwrite -o probe.data -- true || { echo "skipped: no overwrite rings here: $(cat out)"; exit 77; }

# ---- --overwrite without --switch-output ----
record --overwrite -o a.data -- sh -c "[ ! -e a.data ] || exit 9; $burn; [ ! -e a.data ] || exit 9; exit 3"
[ $? -eq 3 ]
report $? "no file before the end, and the exit status of the program"
at_least a.data SAMPLE 50 && alone a.data
report $? "the last snapshot can be read alone"
grep -Eq '^\[ perch record: Captured and wrote [0-9.]+ MB a.data \([0-9]+ samples\) \]$' out
report $? "prints size and samples"

record --overwrite --force -m 1 -F "$(frequency 10000)" -e cpu-clock -o w.data -- sh -c "$burn; $burn"
grep -Eq 'samples, the newest; [0-9.]+ MB of older ones were overwritten' out &&
	! grep -q ' 0.000 MB of older ones' out
report $? "overwritten bytes are reported"
# a ring of one page for each CPU on which it ran; a record has at least 40 bytes
[ "$(count w.data SAMPLE)" -le $((105 * $(getconf _NPROCESSORS_CONF))) ] && at_least w.data SAMPLE 20
report $? "a small ring keeps only the newest samples"

# perch dump prints records in the order of the file
record --overwrite -a -F 1000 -e cpu-clock -o o.data -- sh -c "$burn & $burn; wait"
"$perch" dump -i o.data 2> /dev/null | awk '/ SAMPLE / { in_sample = 1 } !NF { in_sample = 0 }
	in_sample && $1 == "time" { print $2 } in_sample && $1 == "cpu" { print $2 > "cpus" }' > times
[ "$(wc -l < times)" -ge 50 ] && sort -c -n times && { [ "$(nproc)" -eq 1 ] || [ "$(sort -u cpus | wc -l)" -ge 2 ]; }
report $? "samples of several rings are sorted by time in the file"

"$perch" record --overwrite -F 1000 -o u.data -- sh -c "kill -USR2 \$PPID; $burn" > out 2>&1
[ $? -eq 0 ] && [ -e u.data ] && ! nr_files u.data 1
report $? "SIGUSR2 is ignored without --switch-output"

# ---- --overwrite with --switch-output ----
begin --overwrite --switch-output -F 2000 -e cpu-clock -o s.data
[ ! -e s.data ] && ! nr_files s.data 1
report $? "no file before SIGUSR2"
kill -USR2 "$recorder"
wait_until grep -q 'Dump s.data' out && sample && kill -USR2 "$recorder" && wait_until nr_files s.data 2
report $? "each SIGUSR2 makes a file"
sample
finish
[ $? -eq 130 ]
report $? "exit status 130 after SIGINT"
[ ! -e s.data ] && nr_files s.data 3
report $? "the last snapshot is a third file"
find . -name 's.data.*' | sort > files
! grep -Evq '^\./s\.data\.20[0-9]{14}$' files
report $? "names as perf's"
ok=0
while read -r file; do
	at_least "$file" SAMPLE 20 && at_least "$file" COMM 1 && alone "$file" || ok=1
done < files
report $ok "each can be read alone"
in_order files
report $? "no sample is in two files"
[ "$(grep -c '^\[ perch record: dump data: Woken up [0-9]* times \]$' out)" -eq 2 ] &&
	[ "$(grep -Ec '^\[ perch record: Dump s.data.20[0-9]{14} \]$' out)" -eq 3 ] &&
	grep -Eq '^\[ perch record: Captured and wrote [0-9.]+ MB s.data.20[0-9]{14} \([0-9]+ samples\) \]$' out
report $? "prints messages as perf does"

# records that are lost while the rings are paused are counted once, in the next file
lost_in() {		# file: the sums of the counts of its LOST and of its LOST_SAMPLES records
	"$perch" dump -i "$1" 2> /dev/null | awk '/^0x/ { type = $2 }
		type == "LOST" && $1 == "lost" { lost += $2 } type == "LOST_SAMPLES" && $1 == "lost" { samples += $2 }
		END { print lost + 0, samples + 0 }'
}
# Whether records were lost during a snapshot of full rings: size of the rings, seconds until they are full at 10 kHz, and until the
# next snapshots. The first record of the next file counts the lost ones: it must not be overwritten.
loses() {
	rm -f t.data.*
	"$perch" record --overwrite --force --switch-output -m "$1" -F "$(frequency 10000)" -e cpu-clock -a -o t.data -- \
		sh -c "sleep $2; kill -USR2 \$PPID; sleep $3; kill -USR2 \$PPID; sleep $3" > out 2>&1
	find . -name 't.data.*' | sort > files
	while read -r file; do lost_in "$file"; done < files > losses
	[ "$(wc -l < losses)" -eq 3 ] && [ "$(awk 'NR == 2 { print $2 }' losses)" -gt 0 ] && ! grep -q 'ones were overwritten since the last' out
}
# a snapshot of small rings takes long enough on a slow machine only
if loses 256K 1 0.2 || loses 4M 2 1 || loses 4M 2 1 || loses 4M 2 1; then
	[ "$(head -1 losses)" = "0 0" ]
	report $? "nothing is lost in the first file"
	! sed 1d losses | grep -Evq '^([0-9]+) \1$'
	report $? "LOST and LOST_SAMPLES records count the same in each later file"
	lost=$(awk 'NR > 1 { n += $2 } END { print n }' losses)
	reported=$(awk '/paused for the previous file/ { n += $3 } END { print n }' out)
	[ "$lost" -eq "$reported" ]
	report $? "the recorder reports the same number"
	"$perch" report --stats -i "$(sed -n 2p files)" 2>&1 > text | grep -q 'rings were paused' && ! grep -q 'larger' text
	report $? "perch report prints the remedy"
else
	skip "records lost while rings are paused" "none were lost"
fi

# the snapshot has the name and mappings of a process that has ended
"$perch" record --overwrite --switch-output -F 5000 -e cpu-clock -o l.data -- \
	sh -c "env PERCH_CHILD=1 bash -c '$burn'; kill -USR2 \$PPID; sleep 1" > out 2>&1
find . -name 'l.data.*' | sort | head -1 > files
"$perch" report --stdio -i "$(cat files)" 2> /dev/null | grep -Eq 'bash +(bash|libc)'
report $? "a process that has ended has name and symbols"

# A program that waits until the recorder has printed the names of some files.
until_dumps() {
	echo "i=0; until [ \$i -eq 600 ] || [ \"\$(grep -c Dump out)\" -ge $1 ]; do i=\$((i + 1)); sleep 0.05; done"
}
record --overwrite --switch-output=1s --switch-max-files 2 -F 1000 -e cpu-clock -o k.data -- sh -c "$(until_dumps 3)"
[ $? -eq 0 ] && [ "$(find . -name 'k.data.*' | wc -l)" -eq 2 ] && [ "$(grep -c 'Dump k.data' out)" -ge 4 ]
report $? "--switch-output=1s, and only two files remain"

# ---- --switch-output without --overwrite ----
record --switch-output=1s -F 1000 -e cpu-clock -o p.data -- sh -c "$burn; $(until_dumps 1); $burn; $(until_dumps 2)"
[ $? -eq 0 ] && [ ! -e p.data ] && nr_files p.data 3
report $? "a recording split by time"
find . -name 'p.data.*' | sort > files
in_order files
report $? "no sample is in two of its files"
alone "$(head -1 files)"
report $? "the first one can be read alone"

# until there is a file with the time in its name, and then once more
record --switch-output=64K -m 16K -F 5000 -e cpu-clock -o z.data -- sh -c "n=0
	until set -- z.data.* && [ -e \$1 ] || [ \$n -eq 100 ]; do n=\$((n + 1)); $burn; done; $burn"
[ $? -eq 0 ] && nr_files z.data 2
report $? "a recording split by size"
ok=0
for file in z.data.*; do
	at_least "$file" SAMPLE 1 && ! alone "$file" && ok=1
done
report $ok "its files can be read alone"

begin --switch-output -F 1000 -e cpu-clock -o g.data
[ -e g.data ]
report $? "the file exists from the start"
kill -USR2 "$recorder"
wait_until nr_files g.data 1
report $? "SIGUSR2 starts another file"
finish
nr_files g.data 2 && [ ! -e g.data ]
report $? "the last file has a name with the time"

# the system call of setarch is one that shells and perch do not make
if [ -r /sys/kernel/tracing/events/syscalls/sys_enter_personality/id ] && command -v setarch > /dev/null; then
	record --switch-output-event syscalls:sys_enter_personality -F 1000 -e cpu-clock -o e.data -- sh -c "
		$burn; setarch -R true; $(until_dumps 1); $burn; setarch -R true; $(until_dumps 2); $burn"
	[ $? -eq 0 ] && [ ! -e e.data ] && find . -name 'e.data.*' | sort > files && [ "$(wc -l < files)" -eq 3 ]
	report $? "--switch-output-event: another file at each event"
	in_order files
	report $? "... and no sample is in two of them"
	record --overwrite --switch-output-event syscalls:sys_enter_personality -F 1000 -e cpu-clock -o f.data -- sh -c "
		$burn; setarch -R true; $(until_dumps 1)"
	alone "$(find . -name 'f.data.*' | sort | head -1)"
	report $? "--switch-output-event: a snapshot of the rings"
else
	skip "--switch-output-event" "this user cannot read tracefs, or there is no setarch"
fi

# ---- contradictions ----
if in_user_space; then
	refuses "--switch-output-event of a clock" "is a clock: use --switch-output=TIME" --switch-output-event cpu-clock -o r.data
	refuses "--switch-output-event of a counter" "needs a number of events" --switch-output-event r1 -o r.data
	refuses "--switch-output-event to a pipe" "exclude each other" --switch-output-event page-faults -o -
	refuses "--overwrite with --switch-output=SIZE" "no file grows" --overwrite --switch-output=10M -o r.data
	refuses "--overwrite with --max-size" "size of a snapshot" --overwrite --max-size 10M -o r.data
	refuses "--overwrite with --switch-events" "context-switches" --overwrite --switch-events -o r.data
	refuses "--switch-max-files without --switch-output" "needs --switch-output" --switch-max-files 2 -o r.data
	refuses "an empty file name" "empty name" -o ""
	refuses "--overwrite to a pipe" "exclude each other" --overwrite -o -
	refuses "--switch-output to a pipe" "exclude each other" --switch-output -o -
	refuses "--switch-output to a device" "is a device" --switch-output -o /dev/null
	refuses "an unknown argument of --switch-output" "such as 10M" --switch-output=soon -o r.data
	refuses "a size without a unit" "such as 10M" --switch-output=10 -o r.data
	refuses "no files" "0: expected a number of files" --switch-output --switch-max-files 0 -o r.data
	record -e cpu-clock/overwrite/ -o r.data -- true
	[ $? -ne 0 ] && grep -q -- '--overwrite' out && ! grep -q struct out
	report $? "the term overwrite is refused, and the message names the option"
	record --overwrite -e cpu-clock/no-overwrite/ -o r.data -- true
	[ $? -ne 0 ] && grep -q 'no-overwrite' out
	report $? "the term no-overwrite with --overwrite is refused"
	[ ! -e r.data ] && [ -c /dev/null ]
	report $? "a refused recording makes no file"
fi

# rings that are smaller than one sample are refused
for how in --overwrite --no-overwrite; do
	record "$how" --call-graph dwarf,32760 -m 16K -e cpu-clock -o r.data -- true
	[ $? -eq 1 ] && grep -q 'too small for a sample' out && grep -q '64 KiB' out && [ ! -e r.data ]
	report $? "rings of 16K for stacks of 32K are refused: $how"
done

# the directory is missing for one snapshot: an error, and the recorder continues
mkdir full
begin --overwrite --switch-output -F 1000 -e cpu-clock -o full/d.data
mv full moved
kill -USR2 "$recorder"
wait_until grep -q 'd.data' out
mv moved full
finish
[ $? -ne 0 ] && [ "$(find full -name 'd.data.*' | wc -l)" -eq 1 ]
report $? "after a failed snapshot the recorder continues, and its exit status is not 0"
at_least "$(find full -name 'd.data.*')" SAMPLE 50 && grep -q "none were overwritten since the start" out
report $? "the next snapshot has the samples of the failed one"

# an incomplete snapshot is removed, but not a device; without --overwrite the file keeps what was written
(trap '' XFSZ; ulimit -f 24; record --overwrite -F 5000 -m 1M -e cpu-clock -o b.data -- sh -c "$burn; $burn; $burn; $burn; $burn")
[ $? -eq 1 ] && [ ! -e b.data ] && grep -q 'b.data: File too large' out
report $? "an incomplete last snapshot is removed"
(trap '' XFSZ; ulimit -f 24; record --switch-output -F 5000 -m 4 -e cpu-clock -o b.data -- sh -c "$burn; $burn; $burn; $burn; $burn")
[ $? -eq 1 ] && [ ! -e b.data ] && nr_files b.data 1 && at_least "$(echo b.data.*)" SAMPLE 50
report $? "an incomplete recording is kept"
if mknod device c 1 7 2> /dev/null && [ -w device ]; then
	record --overwrite -F 5000 -m 1M -e cpu-clock -o device -- sh -c "$burn; $burn; $burn"
	[ $? -eq 1 ] && grep -q 'No space' out && [ -c device ]
	report $? "a full device is not removed"
else
	skip "a full device is not removed" "no device can be made here"
fi
exit $failed
