#!/bin/bash
# SPDX-License-Identifier: MIT
# perch record: targets, exit status, signals, files, and messages for bad input.
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"

record() {
	"$perch" record "$@" > out 2>&1
}

# Arguments: name, exit status, a part of the message, options.
refuses() {
	local name=$1 wanted=$2 message=$3
	shift 3
	record "$@"
	local got=$?
	[ $got -eq "$wanted" ] && grep -q -- "$message" out
	report $? "$name: status $wanted"
}

# Number of samples, or of other records, in a file.
count() {
	"$perch" report -f --stats -i "$1" 2> /dev/null | awk -v kind="$2" '$1 == kind { print $3; exit }'
}

at_least() {
	[ "$(count "$1" "$2")" -ge "$3" ] 2> /dev/null
}

set_burn 150
forever='while :; do :; done'

record -o probe.data -- true || { echo "skipped: cannot record here: $(cat out)"; exit 77; }

# ---- programs ----
record -o a.data -- sh -c "$burn"
report $? "records a program"
at_least a.data SAMPLE 50
report $? "its samples are in the file"
grep -q '^\[ perch record: Woken up [0-9]* times to write data \]$' out &&
	grep -q '^\[ perch record: Captured and wrote [0-9.]* MB a.data ([0-9]* samples) \]$' out
report $? "prints size and samples as perf does"

record -o t.data -- sh -c "sh -c '$burn' & $burn; wait"
at_least t.data FORK 1 && at_least t.data COMM 3
report $? "records child processes"
record -i -o i.data -- sh -c "sh -c '$burn'; exit 0"
[ "$(count i.data COMM)" = 2 ]
report $? "--no-inherit: no child processes"

record -e cpu-clock:u,page-faults -e context-switches -o m.data -- sh -c "$burn"
"$perch" report --stats -i m.data > out 2>&1
grep -q '^cpu-clock:u stats:' out && grep -q '^page-faults stats:' out
report $? "several events in one file"
record -e '{cpu-clock,page-faults}' -o g.data -- sh -c "$burn" && at_least g.data SAMPLE 50
report $? "a group of events"
record -e '{cpu-clock,page-faults}:S' -o g.data -- sh -c "sh -c '$burn'; exit 0"
children=$("$perch" script -F pid -i g.data 2> script_err | sort -u | wc -l)
if release_is 6.12; then
	[ "$children" = 2 ] && ! grep -q 6.12 out
else
	[ "$children" = 1 ] && grep -q 'cpu-clock (S) does not record .*since Linux 6.12 (currently ' out
fi
report $? "a group with the modifier S records child processes since Linux 6.12, else a message says it"
record -i -e '{cpu-clock,page-faults}:S' -o g.data -- sh -c "$burn" && ! grep -q 6.12 out
report $? "... and there is no message about it with --no-inherit"
# Does something until the limit is the same after it as before: the kernel lowers it where samples take long.
with_limit() {	# command, which may use $limit
	for _ in 1 2 3 4 5; do
		limit=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
		"$@" && return
		[ "$limit" = "$(cat /proc/sys/kernel/perf_event_max_sample_rate)" ] && return 1
	done
	return 1
}
highest_rate() {
	# in a virtual machine a program makes almost no progress at this rate
	record --force -F max -o f.data -- sh -c : && "$perch" evlist -F -i f.data | grep -Eq "sample_freq=$limit$"
}
with_limit highest_rate
report $? "-F max is the highest rate that the kernel allows"
record -c 10000000 -e cpu-clock -o c.data -- sh -c "$burn" && at_least c.data SAMPLE 3
report $? "-c samples by events"
if in_user_space; then
	record -m 16K -q -o q.data -- true
	[ $? -eq 0 ] && [ ! -s out ]
	report $? "-q prints nothing"
fi

if record -e raw_syscalls:sys_enter -o r.data -- ls; then
	at_least r.data SAMPLE 20
	report $? "a tracepoint is sampled each time"
	if command -v perf > /dev/null; then
		perf script -i r.data 2> out | grep -q 'raw_syscalls:sys_enter: NR [0-9]'
		report $? "... and perf decodes its fields"
	fi
else
	echo "ok - a tracepoint # skip $(head -1 out)"
fi

# ---- a pipe ----
piped() {	# command that reads standard input
	"$perch" record -e raw_syscalls:sys_enter -e page-faults -c 1 -o - -- sh -c 'echo text of the program; exit 7' 2> err |
		"$@" > out 2> reader
	[ "${PIPESTATUS[0]}" -eq 7 ]
}
if in_user_space && "$perch" record -q -e raw_syscalls:sys_enter -o r.data -- true 2> /dev/null; then
	piped "$perch" report --stats -i - && grep -q '^raw_syscalls:sys_enter stats:' out && grep -q '^page-faults stats:' out
	report $? "-o -: a recording for a pipe"
	grep -q '^text of the program' err && grep -q 'samples to standard output \]$' err
	report $? "... the program writes to standard error"
	piped "$perch" script -i - && [ "$(grep -c ' raw_syscalls:sys_enter: NR [0-9]' out)" -gt 20 ] &&
		[ "$(wc -l < out)" -eq "$(sed -n 's/.*wrote \([0-9]*\) samples.*/\1/p' err)" ]
	report $? "... with the formats of tracepoints and all samples"
	piped cat && "$perch" report --header-only -i - < out > header && grep -q '^# cmdline : .* record .*-o - ' header
	report $? "... with header features"
	if command -v perf > /dev/null; then
		"$perch" script -F event,ip -i - < out > mine && perf script -F event,ip -i - < out > theirs 2> reader &&
			[ -s mine ] && [ "$(sort mine | uniq -c)" = "$(sort theirs | uniq -c)" ]
		report $? "... and perf reads it"
	fi
	"$perch" record -e page-faults -c 1 -o - -- sh -c "$burn" 2> err | head -c 10 > out
	[ "${PIPESTATUS[0]}" -eq 1 ] && grep -q 'cannot write to standard output: Broken pipe' err
	report $? "... an error if the reader ends before"
	script -qec "'$perch' record -o - -- true" /dev/null < /dev/null > terminal
	[ $? -eq 2 ] && grep -q 'standard output is a terminal' terminal
	report $? "... a terminal is refused"
	"$perch" record -o - -- true 2> err >&-
	[ $? -eq 2 ] && grep -q 'standard output is closed' err
	report $? "... and a closed descriptor"
else
	skip "a recording for a pipe" "tracepoints cannot be recorded here"
fi

# ---- exit status ----
record -o a.data -- sh -c 'exit 7'
[ $? -eq 7 ]
report $? "exit status of the program"
record -o a.data -- sh -c 'kill -KILL $$'
[ $? -eq 137 ]
report $? "128 + 9 for a program killed by signal 9"
grep -q "^perch record: 'sh' was ended by signal 9 (Killed)$" out
report $? "a message names the signal that ended the program"

# ---- signals ----
signal() {	# name, expected status
	"$perch" record -o s.data -- sh -c "$forever" > out 2>&1 &
	local recorder=$! program
	wait_until [ -e s.data ]
	program=$(pgrep -P $recorder)
	"$until_used" 100 "$program"
	kill -s "$1" $recorder
	wait $recorder
	[ $? -eq "$2" ] && at_least s.data SAMPLE 10 && ! kill -0 "$program" 2> /dev/null
	report $? "SIG$1 ends recorder and program, and the file is complete"
	! "$perch" report --header -i s.data 2>&1 | grep -q 'is incomplete' && "$perch" report --header -i s.data | grep -q cmdline
	report $? "... with its header features"
	rm -f s.data
}
signal INT 130
signal TERM 143
signal QUIT 131

# a program that ignores the signal, such as a background job of a shell, gets SIGTERM without the wait of two seconds
ends_at_once() {
	rm -f s.data
	bash -c 'trap "" INT; exec "$0" record -o s.data -- sh -c "$1"' "$perch" "$forever" > out 2>&1 &
	local recorder=$! before
	wait_until [ -e s.data ]
	"$until_used" 50 "$(pgrep -P $recorder)"
	before=$(date +%s%N)
	kill -INT $recorder
	wait $recorder
	[ $? -eq 130 ] && [ $(($(date +%s%N) - before)) -lt 1900000000 ]
}
ends_at_once || ends_at_once || ends_at_once	# it may take two seconds on a busy machine, but not each time
report $? "does not wait for a program that ignores SIGINT"

if in_user_space; then
	# ---- files ----
	echo old > keep.data
	record -o keep.data -- true
	grep -q old keep.data.old
	report $? "an existing file is renamed to FILE.old"
	for program in ./missing missing; do
		echo old > keep.data
		refuses "missing program $program" 127 "there is no program '$program'" -o keep.data -- $program
		grep -q old keep.data
		report $? "... and the old file is unchanged"
	done
	echo text > not-executable
	echo old > keep.data
	refuses "not executable" 126 "not executable" -o keep.data -- ./not-executable
	grep -q old keep.data
	report $? "... and the old file is unchanged"
	refuses "output in a missing directory" 1 "cannot be written: No such file" -o missing/a.data -- true
	refuses "output that is a directory" 1 "is a directory" -o . -- true
fi

# A full disk: the file keeps the whole records that fit, and what is missing is counted.
mkdir -p full
if mount -t tmpfs -o size=64k none full 2> /dev/null; then
	record --force -F "$(frequency 20000)" -e cpu-clock -o full/a.data -- sh -c "$burn; $burn; $burn; $burn"
	[ $? -eq 1 ] && grep -q 'No space left on device. Write to another file system, or sample at a lower rate' out
	report $? "a full disk: status 1 and a remedy"
	cp out message
	printed=$(sed -n 's/.*Captured and wrote .* (\([0-9]*\) samples).*/\1/p' message)
	at_least full/a.data SAMPLE 500 && [ "$(count full/a.data SAMPLE)" = "$printed" ]
	report $? "... the file has the records that fit, and their number is printed"
	missing=$(sed -n 's/.* \([0-9]*\) samples* missing: [0-9.]* MB .*/\1/p' message)
	[ "${missing:-0}" -gt 0 ]
	report $? "... the samples that are missing are counted"
	"$perch" dump -i full/a.data > dumped 2> errors && ! grep -q 'damaged\|corrupt' errors &&
		[ "$(grep -c SAMPLE dumped)" -ge "$printed" ]
	report $? "... and no record is damaged"
	umount full
else
	echo "ok - a full disk # skip a file system cannot be mounted"
fi

# ---- running processes ----
sh -c "$forever" &
busy=$!
for used in 200 2000 10000; do	# longer, if the machine stalls
	record -p $busy -o p.data -- "$until_used" $used $busy
	recorded=$?
	at_least p.data SAMPLE 100 && break
done
report $recorded "-p while a program runs"
at_least p.data SAMPLE 100 && at_least p.data MMAP2 2
report $? "... samples the process, and has its earlier mappings"
record -t $busy -o p.data -- "$until_used" 100 $busy && at_least p.data SAMPLE 20
report $? "-t"
rm -f p.data
timeout $((60 * slowness)) "$perch" record -p $busy -o p.data > out 2>&1 &
recorder=$!
wait_until [ -e p.data ]
kill $busy
wait $recorder
report $? "-p ends when the process does"
wait $busy 2> /dev/null
refuses "a process that has ended" 1 "no process $busy" -p $busy
refuses "not a list of pids" 2 "expected numbers" -p 1,x

if record -a -o w.data -- sh -c "$burn"; then
	at_least w.data SAMPLE 50 && at_least w.data COMM 5
	report $? "-a samples all processes"
	for seconds in 0.2 2 5; do	# CPU 0 of a busy machine may do nothing for a second
		record -C 0 -o w.data -- sleep $seconds && at_least w.data SAMPLE 20 && break
	done
	at_least w.data SAMPLE 20
	report $? "-C 0"
else
	echo "ok - -a and -C # skip not permitted: $(tail -1 out)"
fi

# ---- bad input ----
above_the_limit() {
	record --strict-freq -F $((limit + 1)) -- true
	[ $? -eq 2 ] && grep -q "needs kernel.perf_event_max_sample_rate >= $((limit + 1)) (currently $limit)" out
}
with_limit above_the_limit
report $? "--strict-freq above the limit: status 2"
refuses "--strict-freq above every limit" 2 "the sysctl can be at most 2147483647" --strict-freq -F 4000000000 -- true
lowered_to_the_limit() {
	record --force -e cpu-clock -F $((limit + 1)) -o a.data -- true && grep -q "(currently $limit): sampling at $limit Hz" out
}
with_limit lowered_to_the_limit
report $? "a frequency above the limit: lowered, with a message"
if in_user_space; then
	refuses "-F and -c" 2 "exclude each other" -F 100 -c 100 -- true
	refuses "-F is not a number" 2 "expected a number of samples per second" -F often -- true
	refuses "an unknown event" 2 "cpu-clokc" -e cpu-clokc -- true
	refuses "an error in a long list" 2 "no event 'nosuch'" -e "$(printf 'cpu-clock,%.0s' $(seq 40))nosuch,faults" -- true
	# columns of the caret, and of the name below which it belongs
	caret() {
		sed -n '/^ *^$/s/^\( *\).*/\1/p' out | tr -d '\n' | wc -m
	}
	starts() {
		sed -n "/^  .*$1/s/$1.*//p" out | tr -d '\n' | LC_ALL=C.UTF-8 wc -m
	}
	[ "$(caret)" -gt 10 ] && [ "$(caret)" = "$(starts nosuch)" ]
	report $? "... a caret below it"
	refuses "an error after characters of two bytes" 2 "no file '/nö/ü'" -e 'uprobe:/nö/ü:main,faults' -- true
	[ "$(caret)" = "$(starts '\/nö')" ]
	report $? "... a caret below it"
	refuses "nothing to record" 2 "name a program"
	refuses "-p and -a" 2 "choose one" -p 1 -a
	refuses "a CPU that does not exist" 1 "CPU 60000" -C 60000 -- true
	refuses "an unknown option" 2 "unknown option" --no-such-option -- true
	refuses "an unknown call graph" 2 "--call-graph 'orc': expected fp, " --call-graph orc -- true
fi

if [ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
	chmod 777 "$dir"
	cp "$perch" here 2> /dev/null
	nobody="setpriv --reuid=65534 --regid=65534 --clear-groups ./here record"
	if $nobody -o n.data -- sh -c "$burn" > out 2>&1; then
		grep -q 'user space only' out && at_least n.data SAMPLE 20
		report $? "an unprivileged user: user space only, with a message"
	elif grep -q paranoid out; then
		echo "ok - an unprivileged user # skip $(head -1 out)"
	else
		report 1 "an unprivileged user: user space only, with a message"
	fi
	$nobody -e cpu-clock -g --kernel-callchains -o n.data -- true > out 2>&1
	grep -q 'call chains are empty: .* kernel.perf_event_paranoid <= 1' out &&
		! "$perch" record -e cpu-clock -g --kernel-callchains -o n.data -- true 2>&1 | grep 'call chains are empty'
	report $? "an unprivileged user: a message for --kernel-callchains"
	# with CAP_PERFMON and without CAP_SYSLOG the kernel is sampled, but its addresses are hidden
	if setpriv --inh-caps=+perfmon --ambient-caps=+perfmon true 2> /dev/null && [ "$(cat /proc/sys/kernel/kptr_restrict)" -le 1 ]; then
		perfmon="setpriv --inh-caps=-all,+perfmon --ambient-caps=-all,+perfmon --reuid=65534 --regid=65534 --clear-groups"
		$perfmon ./here record -a -e cpu-clock -o k.data -- sleep 0.1 > out 2>&1 &&
			grep -q 'some kernel addresses will have no symbols: kernel addresses in /proc/kallsyms are hidden: .*; run with CAP_SYSLOG' out
		report $? "hidden kernel addresses: a message with the rule and the remedy"
		if [ -z "$($perfmon head -c 1 /proc/1/maps 2> /dev/null)" ]; then
			grep -q 'whose mappings this user may not read: .*(CAP_SYS_PTRACE allows it)' out &&
				! "$perch" record -a -o k.data -- true 2>&1 | grep 'CAP_SYS_PTRACE allows it'
			report $? "mappings that may not be read: CAP_SYS_PTRACE is the remedy only without it"
		else
			skip "mappings that may not be read" "this kernel lets CAP_PERFMON read them"
		fi
	else
		echo "ok - hidden kernel addresses # skip setpriv has no CAP_PERFMON, or kernel.kptr_restrict is 2"
	fi
fi

# ---- the timer replaces cycles where there is no hardware counter ----
if "$perch" stat -x, -e cycles -- true 2>&1 | grep -q 'not supported'; then
	for event in cycles cycles:u cycles:pp cpu-cycles cycles/name=x/ '{cycles,page-faults}'; do
		"$perch" record -o a.data -e "$event" -- sh -c "$burn" > out 2>&1 &&
			grep -q 'sampling by the timer cpu-clock' out && at_least a.data SAMPLE 10
		report $? "$event: replaced by the timer, with a message"
	done
	"$perch" record -o a.data -e cycles:u -- sh -c "$burn" > out 2>&1 && "$perch" report --stats -i a.data > out 2>&1 &&
		grep -q '^cpu-clock:u stats:' out
	report $? "the replacement has its own name and the modifier u"
	"$perch" record -q -o a.data -e cycles -- sh -c "$burn" > out 2>&1 && [ ! -s out ]
	report $? "-q: without the message"
	"$perch" record -o a.data -e cycles,instructions -- true > out 2>&1
	[ $? -eq 1 ] && [ "$(wc -l < out)" -eq 1 ] && grep -q '^perch record: instructions: .*this machine has none' out
	report $? "an event without a replacement is refused by name, with the reason"
else
	skip "replacement of cycles" "this machine counts cycles"
fi
exit $failed
