#!/bin/bash
# SPDX-License-Identifier: MIT
# What an ordinary user can measure at each value of kernel.perf_event_paranoid, and the messages of refusals.
# shellcheck disable=SC2016,SC2181
set -u
perch=${PERCH:?the perch command to test}
sysctl=/proc/sys/kernel/perf_event_paranoid
failed=0

[ "$(id -u)" -eq 0 ] || { echo "skipped: only root can become an ordinary user"; exit 77; }
before=$(cat $sysctl) || { echo "skipped: no kernel.perf_event_paranoid here"; exit 77; }
echo "$before" 2> /dev/null > $sysctl || { echo "skipped: kernel.perf_event_paranoid cannot be written here"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'echo "$before" > $sysctl; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# Other users may be unable to enter the build directory: the command and its files are copied.
chmod 755 "$dir"
mkdir "$dir/work" "$dir/tracing"
chmod 777 "$dir/work"
cp "$perch" "$dir/perch"
chmod 755 "$dir/perch"
cd "$dir/work" || exit 1

nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all -- "$@"
}
nobody "$dir/perch" --version > "$dir/out" 2>&1 || { echo "skipped: cannot run as another user: $(cat "$dir/out")"; exit 77; }

perch() {		# as an ordinary user, with the output in $dir/out
	nobody "$dir/perch" "$@" < /dev/null > "$dir/out" 2>&1
}

level() {
	echo "$1" > $sysctl
	now=$1
}

report() {		# status of a check, its name
	if [ "$1" -eq 0 ]; then
		echo "ok - at $now, $2"
	else
		echo "not ok - at $now, $2"
		sed 's/^/    /' "$dir/out"
		failed=1
	fi
}

value() { awk -F, -v name="$1" '$3 == name { print $1 }' "$dir/out"; }

counts() {		# event, printed name, least value, name of the check, more options
	local event=$1 shown=$2 least=$3 name=$4
	shift 4
	perch stat -x, "$@" -e "$event" -- sh -c 'sleep 0.01; :'
	[ $? -eq 0 ] && [ "$(value "$shown")" -ge "$least" ] 2> /dev/null
	report $? "$name"
}

records() {		# name of the check, more arguments
	local name=$1
	shift
	rm -f data
	perch record -o data "$@" -- dd if=/dev/zero of=/dev/null bs=4k count=20000
	[ $? -eq 0 ] && grep -q 'samples)' "$dir/out" && [ -s data ]
	report $? "$name"
}

# A refusal has exit status 1 and a message with the current and the needed value.
refused() {		# needed value, name of the check, arguments
	local needed=$1 name=$2
	shift 2
	perch "$@"
	[ $? -eq 1 ] && grep -q -- "kernel.perf_event_paranoid <= $needed (currently $now)" "$dir/out"
	report $? "$name"
}

kernel_is_sampled() {	# in the file data
	"$dir/perch" script -f -i data 2>&1 | grep -Eq '\bffff[0-9a-f]{12}\b|\[kernel'
}

# ---- 2, the default of the kernel: user space of own processes ----
level 2
counts page-faults page-faults:u 10 "user space is counted instead of user space and kernel"
perch stat -x, -e context-switches,page-faults -- true
[ $? -eq 0 ] && [ "$(value context-switches)" = '<not supported>' ] && [ "$(value page-faults:u)" -gt 0 ]
report $? "an event that occurs only in the kernel is not counted as 0"
counts page-faults:u page-faults:u 10 "an event of user space is counted"
records "user space is sampled" -e cpu-clock
grep -q 'user space only' "$dir/out"
report $? "perch record reports that it samples user space only"
! kernel_is_sampled
report $? "no sample has a kernel address"
# The name has the modifier u; modifiers of a group are not repeated in the names of its events.
shown() {		# names in the output of stat, in one line; the events
	perch stat -x, -e "$2" -- true
	[ "$(cut -d, -f3 "$dir/out" | tr '\n' ' ')" = "$1 " ]
	report $? "$2 is printed as $1"
}
for modifier in S W D; do
	shown 'task-clock:u page-faults:u' "{task-clock,page-faults}:$modifier"
done
shown 'x:u faults:u' '{task-clock/name=x/,faults}:S'
shown 'x:u' 'task-clock/name=x/p'
shown 'faults:pu' faults:p
shown 'task-clock:Su faults:u' '{task-clock:S,faults}'
shown 'task-clock/period=3/u' task-clock/period=3/
shown 'task-clock/period=3/pu' task-clock/period=3/p
rm -f data
perch record -vv -o data -e '{cpu-clock,page-faults}:S,task-clock/name=x/,cs:p' -- true
[ "$(sed -n 's/^perch record: event \(.*\): type .*/\1/p' "$dir/out" | grep -v dummy | tr '\n' ' ')" = \
	'cpu-clock:u page-faults:u x:u cs:pu ' ]
report $? "record and stat print the same names"
grep -q 'cs:pu has no samples: the event occurs only in the kernel' "$dir/out" && [ "$(grep -c 'has no samples' "$dir/out")" -eq 1 ]
report $? "perch record reports the event that has no samples in user space"
perch record -o data -e cs -- true
[ $? -eq 0 ] && grep -q 'cs:u has no samples: the event occurs only in the kernel' "$dir/out" && ! grep -q 'CPU time' "$dir/out"
report $? "no other reason is guessed if no event has samples in user space"
# The kernel removes the events of a program that runs as another user, or that this user may not read. Each runs until it has used
# CPU time, and longer than perch needs to see it.
for mode in 4755 0711; do
	cp "$(command -v timeout)" "$dir/hidden" && chown 1:1 "$dir/hidden" && chmod $mode "$dir/hidden"
	removed="when it executed a program that is set-user-ID or set-group-ID, or that this user may not read"
	rm -f data
	perch record -o data -e cpu-clock -- "$dir/hidden" 2 sh -c 'while :; do :; done'
	grep -q "the kernel removed the events of process [0-9]* $removed" "$dir/out" && ! grep -q "did an event occur" "$dir/out"
	report $? "record reports the reason for no samples of a program of mode $mode"
	perch stat -e task-clock -- "$dir/hidden" 2 sh -c 'while :; do :; done'
	grep -q "The events counted [0-9.]* of [0-9.]* s of CPU time: the kernel removes the events" "$dir/out"
	report $? "stat reports the reason for no counts of a program of mode $mode"
done
for options in "-e task-clock" "-I 20 -e task-clock"; do
	# shellcheck disable=SC2086 # options are separate words
	perch stat $options -- sh -c "i=0; while [ \$i -lt 20000 ]; do i=\$((i + 1)); done"
	! grep -q "the kernel removes the events" "$dir/out"
	report $? "... and not of other programs: $options"
done
# The limit of locked memory is for the rings of all CPUs together.
(ulimit -l 64; perch record -o data -m 65536 -e cpu-clock -- true)
pages=$(sed -n 's/.*[Uu]se at most \([0-9]*\) pages for each ring.*/\1/p' "$dir/out")
[ -n "$pages" ] && ! grep -q 'other' "$dir/out"
report $? "too large rings are refused with a size for all of them"
(ulimit -l 64; perch record -o data -m "${pages:-0}" -e cpu-clock -- true) && grep -q 'samples)' "$dir/out"
report $? "rings of that size can be mapped"
(ulimit -l 64; perch record -o data -m "$((${pages:-0} * 2))" -e cpu-clock -- true)
[ $? -eq 1 ] && grep -q "se at most $pages pages" "$dir/out" && ! grep -q 'other' "$dir/out"
report $? "rings of twice that size are refused, without mention of other recordings"
refused 1 "modifier k is refused" stat -e context-switches:k -- true
refused 1 "modifier k is refused by record" record -o data -e cpu-clock:k -- true
refused 0 "all CPUs are refused" stat -a -e page-faults -- true
refused 0 "one CPU is refused" stat -C 0 -e page-faults:u -- true
refused 0 "all CPUs are refused by record" record -o data -a -e cpu-clock -- true

# ---- 1: user space and kernel of own processes ----
level 1
counts page-faults page-faults 10 "user space and kernel are counted"
counts context-switches context-switches 1 "context switches are counted"
counts context-switches:k context-switches:k 1 "modifier k is counted"
records "user space and kernel are sampled" -e cpu-clock
kernel_is_sampled
report $? "samples have kernel addresses"
records "modifier k is sampled" -e cpu-clock:k
refused 0 "all CPUs are refused" stat -a -e page-faults -- true
refused 0 "all CPUs are refused by record" record -o data -a -e cpu-clock -- true
perch stat -p $$ -e page-faults:u -- true
[ $? -eq 1 ] && grep -q "process $$ " "$dir/out" && ! grep -q "sysctl kernel.perf_event_paranoid" "$dir/out"
report $? "a process of another user is refused, and the sysctl is not named as the reason"

# ---- 0: whole CPUs ----
level 0
counts page-faults page-faults 10 "all CPUs are counted" -a
counts context-switches context-switches 0 "one CPU is counted" -C 0
records "all CPUs are sampled" -a -e cpu-clock

# ---- raw data of tracepoints needs -1 ----
# Ordinary users cannot read tracefs: in the mount namespace of the test, a directory with some events replaces it.
traced() {
	unshare -m sh -c 'mount --bind "$0" /sys/kernel/tracing && exec setpriv --reuid=65534 --regid=65534 \
		--clear-groups --inh-caps=-all --bounding-set=-all -- "$@"' "$dir/tracing" "$dir/perch" "$@" \
		< /dev/null > "$dir/out" 2>&1
}
for event in sched/sched_switch syscalls/sys_enter_nanosleep syscalls/sys_enter_clock_nanosleep; do
	mkdir -p "$dir/tracing/events/$event"
	for file in id format; do
		cat /sys/kernel/tracing/events/$event/$file > "$dir/tracing/events/$event/$file" 2> /dev/null
	done
done
for file in header_page header_event; do
	cat /sys/kernel/tracing/events/$file > "$dir/tracing/events/$file" 2> /dev/null
done
if [ -s "$dir/tracing/events/sched/sched_switch/id" ] && traced --version; then
	for number in 2 1 0 -1; do
		level $number
		traced stat -x, -e sched:sched_switch -- sleep 0.01
		status=$?
		if [ "$number" -eq 2 ]; then
			[ "$(value sched:sched_switch)" = '<not supported>' ]
			report $? "a tracepoint that occurs only in the kernel is not counted as 0"
		else
			[ $status -eq 0 ] && [ "$(value sched:sched_switch)" -ge 1 ]
			report $? "tracepoints are counted"
		fi
		traced record -o data -e syscalls:sys_enter_clock_nanosleep -- sleep 0.01
		[ $? -eq 0 ] && grep -q 'samples)' "$dir/out"
		report $? "system calls of own processes are recorded"
		traced record -o data -e sched:sched_switch -- sleep 0.01
		if [ "$number" -eq -1 ]; then
			[ $? -eq 0 ] && grep -Eq '\([1-9][0-9]* samples\)' "$dir/out"
			report $? "other tracepoints are recorded"
		else
			[ $? -eq 1 ] && grep -q "kernel.perf_event_paranoid <= -1 (currently $number)" "$dir/out"
			report $? "the raw data of other tracepoints is refused"
			if [ "$number" -eq 2 ]; then
				! grep -qi 'perch stat' "$dir/out" && grep -q 'sysctl kernel.perf_event_paranoid=-1' "$dir/out"
				report $? "counting is not proposed for an event that perch stat refuses"
			else
				grep -qi 'count it with perch stat' "$dir/out"
				report $? "counting is proposed"
			fi
		fi
	done
else
	echo "ok - raw data of tracepoints # skip no tracefs, or no mount namespaces here"
fi

# ---- 3, which refuses all in some distributions ----
level 3
perch stat -x, -e page-faults:u -- true
status=$?
if [ $status -eq 0 ]; then
	[ "$(value page-faults:u)" -ge 1 ]
	report $? "user space is counted: this kernel treats 3 as 2"
else
	[ $status -eq 1 ] && grep -q "<= 2 (currently 3)" "$dir/out" && grep -q "sysctl kernel.perf_event_paranoid=2" "$dir/out"
	report $? "everything is refused"
fi
perch stat -a -e page-faults -- true
[ $? -eq 1 ] && grep -q '(currently 3)' "$dir/out"
report $? "all CPUs are refused"
exit $failed
