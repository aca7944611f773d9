#!/bin/bash
# SPDX-License-Identifier: MIT
# Under filters of system calls that refuse to wait, the commands end with a message, and do not use CPU time for ever; what was
# recorded is whole. Signals that end perch stat.
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"
refuse_events=${PERCH_BUILD_ROOT:?}/tests/kernel/refuse_events
# at its end the leak check of a sanitizer waits by wait4, for ever if that is refused
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
sleep 10000 &
sleeper=$!
clean() {
	kill "$sleeper" 2> /dev/null
}

if ! "$refuse_events" 1 true; then
	echo "skipped: no filter of system calls can be set here"
	exit 77
fi

ends() {		# calls, a part of the message, command: it ends with 1 in time
	local calls=$1 message=$2 status
	shift 2
	rm -f a.data
	REFUSED=$calls timeout -s KILL $((20 * slowness)) "$refuse_events" 1 "$perch" "$@" > out 2>&1 < /dev/null
	status=$?
	[ $status -eq 1 ] && grep -q "$message" out
	report $? "without $calls: perch $* ends with a message (status $status)"
}

waits=poll,ppoll
for target in "-p $sleeper" "-- sleep 0.2"; do
	# shellcheck disable=SC2086
	{
		ends $waits "cannot make a descriptor of the sampler.*seccomp" record -o a.data -e cpu-clock $target
		ends epoll_wait,epoll_pwait "cannot make a descriptor of the sampler.*seccomp" record -o a.data -e cpu-clock $target
		ends rt_sigprocmask "cannot block signals" record -o a.data -e cpu-clock $target
		ends $waits "counting ended: cannot wait for" stat -I 50 -e task-clock $target
		ends rt_sigprocmask "counting ended: cannot wait for" stat -I 50 -e task-clock $target
	}
done
ends wait4 "the recording ends: cannot wait for the program" record -o a.data -e cpu-clock -- sleep 0.2
"$perch" report --stats -i a.data > out 2>&1 && ! grep -qi "damaged\|cut" out
report $? "... and the file is whole"
ends wait4 "cannot get the program's exit status" stat -e task-clock -- sleep 0.2
ends $waits "cannot wait for signals" top --stdio -e cpu-clock -p $sleeper
ends rt_sigprocmask "cannot wait for signals" top --stdio -e cpu-clock -p $sleeper

# A shell cannot end what it inherited from nohup: that a signal is ignored.
hangups=1
if [ $((0x$(sed -n 's/^SigIgn:[^0-9a-f]*//p' /proc/self/status) & 1)) -eq 1 ]; then
	hangups=
	skip "stat ends at SIGHUP" "SIGHUP is ignored here"
fi
for number in $hangups 2 15; do
	"$perch" stat -x, -e task-clock -p $sleeper > out 2>&1 &
	stat=$!
	wait_for_handler $stat $number
	kill -$number $stat
	wait $stat
	status=$?
	[ $status -eq 0 ] && grep -q ",task-clock," out
	report $? "stat prints its counts at signal $number (status $status)"
done
if [ -n "$hangups" ]; then
	# the signal is sent to perch alone: its program gets it too
	"$perch" stat -x, -e task-clock -- sleep 10000 > out 2>&1 &
	stat=$!
	wait_for_handler $stat 1
	kill -1 $stat
	wait $stat
	status=$?
	[ $status -eq 129 ] && grep -q ",task-clock," out
	report $? "SIGHUP ends the program of stat, and the counts are printed (status $status)"
fi
( # as by nohup, which small systems lack
	trap "" HUP
	exec "$perch" stat -x, -I 100 -e task-clock -p $sleeper > out 2>&1
) &
stat=$!
wait_until grep -q ",task-clock," out
kill -1 $stat
before=$(grep -c ",task-clock," out)
more() { [ "$(grep -c ",task-clock," out)" -gt $((before + 2)) ]; }
wait_until more
report $? "SIGHUP does not end it where it was ignored"
kill $stat
wait $stat
exit $failed
