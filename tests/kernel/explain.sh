#!/bin/bash
# SPDX-License-Identifier: MIT
# perch explain traces programs: it reports each refusal and changes nothing for the program.
# shellcheck source-path=SCRIPTDIR disable=SC2154
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.bash"
target=${PERCH_BUILD_ROOT:?}/tests/kernel/explain_target
refuse_events=${PERCH_BUILD_ROOT:?}/tests/kernel/refuse_events
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

"$perch" explain -- true 2>out || { grep -q ptrace out && { echo "skipped: ptrace is not permitted here"; exit 77; }; }
"$target" one || { echo "skipped: the open calls of the test have other results here"; exit 77; }

# Checks the status of a command, and the numbers of open calls and refusals in the last line.
traced() {		# name, status, calls, refused, command...
	local name=$1 want=$2 calls=$3 refused=$4 status
	shift 4
	"$@" >stdout 2>out
	status=$?
	[ "$status" -eq "$want" ] && grep -Eq "^perch explain: $calls calls? of perf_event_open, $refused refused" out
	report $? "$name"
}

traced "a refusal" 0 1 1 "$perch" explain -- "$target" one
traced "the attr keeps the size that the kernel wrote" 0 1 1 "$perch" explain -- "$target" size
traced "an attr in read-only memory" 0 1 1 "$perch" explain -- "$target" constant
traced "attrs that cannot be read" 0 4 4 "$perch" explain -- "$target" null
traced "threads that share an attr" 0 100 100 "$perch" explain -- "$target" threads
traced "children by fork, vfork and clone" 0 3 3 "$perch" explain -- "$target" children
traced "exec by a thread that does not lead" 0 2 2 "$perch" explain -- "$target" exec
traced "exec by another thread during injected system calls" 0 "[0-9]+" 60 timeout -s KILL $((60 * slowness)) "$perch" explain -- "$target" exec-during-injection
! grep -q "is slow" out
report $? "that exec does not make every system call stop"
traced "a program under a filter of its own" 0 1 1 "$perch" explain -- "$target" filtered
grep -q "which the program has installed itself, blocks perf_event_open" out && grep -q "in the filter that the program installs" out &&
	! grep -q "container" out
report $? "the filter is the program's, not that of a container"
"$refuse_events" 1 "$perch" stat -e mem:0x1000:w -- true 2>out
grep -Eq "filter of this process blocks perf_event_open.*(where the filter is set|start the container with)" out
report $? "a seccomp filter is reported as the cause, although perf refuses with the same errno"
traced "signals during probes" 0 200 200 "$perch" explain -- "$target" signals
traced "a child that is stopped and continued" 0 1 1 "$perch" explain -- "$target" stopped
traced "a shell's children, and its status" 9 2 2 "$perch" explain -- sh -c "'$target' one; '$target' one; exit 9"

traced "mmap, ioctl and read that fail" 0 1 0 "$perch" explain -- "$target" operations
grep -q ENOSPC out && grep -q "ioctl of descriptor .*: ENOTTY \[not-an-event\]" out && ! grep -q "end of file" out
report $? "the short read is reported, and the ioctl of a pipe is"
grep -qF "EINVAL [mmap-address]" out && grep -q "mmap(address 0x.*01, length .*MAP_SHARED|MAP_FIXED, fd" out
report $? "the address of a refused mapping is reported"
traced "three hundred events" 0 300 0 "$perch" explain -- "$target" many
[ "$(grep -c ENOSPC out)" -ge 1 ]
report $? "a read of the last one is reported"

traced "the result of a refused open call, and a closed event, are used" 0 2 1 "$perch" explain -- "$target" misused
[ "$(grep -c "of descriptor -1: EBADF \[not-an-event\]" out)" -eq 4 ] &&
	[ "$(grep -c "opened by call 2 and closed since: EBADF \[not-an-event\]" out)" -eq 4 ] &&
	grep -q "readv of descriptor -1" out && grep -q "readv of descriptor .*: ENOSPC \[read-short\]" out
report $? "ioctl, read, readv and mmap of both are reported"
traced "a pipe is used as an event" 0 1 0 "$perch" explain -- "$target" foreign
grep -q "mmap of descriptor .*: EACCES \[not-an-event\]" out && grep -q "is pipe:.*not an event" out && grep -q "ioctl of descriptor .*: ENOTTY \[not-an-event\]" out
report $? "its mmap and ioctl are reported"
traced "failures that have nothing to do with events" 0 2 0 "$perch" explain -- "$target" unrelated
! grep -q " of descriptor " out
report $? "none of them is reported"

# Seccomp filters that do not return an errno.
traced "a filter that kills the process" 159 1 1 "$perch" explain -- "$target" filter-kills
grep -q "call 1 of perf_event_open: SIGSYS \[seccomp\]" out && grep -q SECCOMP_RET_KILL out
report $? "it is a refusal with its cause"
traced "a filter that kills the thread" 6 1 1 "$perch" explain -- "$target" filter-kills-thread
grep -q "call 1 of perf_event_open.*: SIGSYS \[seccomp\]" out
report $? "it is a refusal with its cause"
traced "a filter that kills a process whose threads wait for their open calls" 159 1 1 "$perch" explain -- "$target" filter-kills-threads
traced "a filter that kills the process for another call" 159 "[0-9]+" "[0-9]+" "$perch" explain -- "$target" filter-kills-another
grep -q "EINVAL \[read-format-bits\]" out && ! grep -q SIGSYS out
report $? "no open call is a refusal by that filter"
for mode in filter-traces filter-traces-slowly; do
	"$target" $mode
	[ $? -eq 9 ]
	report $? "$mode: the calls fail without perch"
	traced "$mode: they fail with perch" 9 1 1 "$perch" explain -- "$target" $mode
	grep -q "call 1 of perf_event_open: ENOSYS \[seccomp\]" out && grep -q SECCOMP_RET_TRACE out
	report $? "it is a refusal with its cause"
done
"$target" strict
[ $? -eq 12 ]
report $? "the strict mode of seccomp without perch"
traced "the strict mode cannot be entered" 13 0 0 "$perch" explain -- "$target" strict
grep -q "seccomp strict mode.*EINVAL.*-p" out
report $? "a note says so"
traced "a filter that sends SIGSYS" 159 1 1 "$perch" explain -- "$target" filter-traps
traced "a filter that sends SIGSYS to a handler" 7 1 1 "$perch" explain -- "$target" filter-traps-handled
grep -q "call 1 of perf_event_open: SIGSYS \[seccomp\]" out && grep -q SECCOMP_RET_TRAP out
report $? "it is a refusal with its cause"
"$perch" explain -j -- "$target" filter-traps-handled 2>out
grep -q '"errno":0,"errno_name":null,"cause":"seccomp".*"signal":"SIGSYS"' out
report $? "-j has the signal"
traced "a filter around perch that sends SIGSYS" 159 1 1 "$refuse_events" trap "$perch" explain -- "$target" one
grep -q "call 1 of perf_event_open: SIGSYS \[seccomp\]" out && grep -q SECCOMP_RET_TRAP out
report $? "it is a refusal with its cause"
grep -q "a seccomp filter of this process refuses perf_event_open" out
report $? "that every system call stops is reported with the reason"
traced "a filter around perch that sends SIGSYS to a handler" 7 1 1 "$refuse_events" trap "$perch" explain -- "$target" traps-handled
traced "a filter that allows all system calls of events" 0 1 1 "$perch" explain -- "$target" other-filter
! grep -q "is slow" out
report $? "it does not make every system call stop"

traced "a program that traces another" 8 0 0 "$perch" explain -- "$target" tracer
[ "$(grep -c "ptrace(PTRACE_TRACEME).*fails with EPERM because perch explain traces process" out)" -eq 1 ]
report $? "that it is traced is reported as the cause"

for status in 0 7 255; do
	"$perch" explain -- sh -c "exit $status" 2>out
	[ $? -eq $status ]
	report $? "exit status $status is returned"
done
"$perch" explain -- sh -c 'kill -KILL $$' 2>out
[ $? -eq 137 ]
report $? "a killed program: 128 plus the signal"
if in_user_space; then
	for status in 126 127; do
		traced "exit status $status of the program is no failed start" "$status" 0 0 "$perch" explain -- sh -c "exit $status"
	done
	"$perch" explain -- ./nothing-there 2>out
	[ $? -eq 127 ] && grep -q "no program" out && ! grep -q "calls of" out
	report $? "a missing program: 127"
	"$perch" explain -- "$dir" 2>out
	[ $? -eq 126 ]
	report $? "a program that cannot be executed: 126"
	for status in 0 7; do
		"$perch" explain -- sh -c "'$target' one; exit $status" 2>&-
		[ $? -eq $status ] && { "$perch" explain -- sh -c "'$target' one; exit $status" 2>/dev/full; [ $? -eq $status ]; }
		report $? "exit status $status is returned if stderr is closed or full"
	done
	"$perch" explain -- ./nothing-there 2>&-
	[ $? -eq 127 ]
	report $? "a missing program with stderr closed: 127"
fi
if in_user_space; then
	"$perch" explain -o /dev/full -- "$target" one 2>out
	[ $? -eq 1 ] && grep -q "No space left" out
	report $? "the file of -o cannot be written: 1"
	"$perch" explain -- "$target" threads 2>out
	[ "$(grep -c "^perch explain: call 1 of perf_event_open: E.* 99 more times.*(calls 2 to 100)$" out)" -eq 1 ] && ! grep -q '^ .*again:' out
	report $? "repeated refusals are counted in one line"
	"$perch" explain -v -- "$target" threads 2>out
	[ "$(grep -c "^perch explain: call .*EINVAL" out)" -eq 100 ] && ! grep -q "more times" out
	report $? "-v prints each in full"
	[ "$(echo word | "$perch" explain -- cat 2>out)" = word ]
	report $? "stdin and stdout are the program's"
fi

{ "$perch" explain -- sh -c "'$target' one; sleep 0.2; '$target' one; touch reached" 2>&1 >/dev/null; } | head -1 >out
wait_until [ -e reached ]
[ -e reached ]
report $? "a closed pipe as stderr does not end the program"

# Signals sent to perch reach the program.
for signal in INT TERM USR1; do
	rm -f stdout
	"$perch" explain -- "$target" interrupted >stdout 2>out &
	pid=$!
	wait_until grep -qs ready stdout
	kill -$signal $pid
	wait $pid
	status=$?
	case $signal in INT) want=41 ;; TERM) want=143 ;; *) want=138 ;; esac
	[ $status -eq $want ]
	report $? "SIG$signal is passed on to the program"
done

# A running process.
rm -f stdout
"$target" waits >stdout &
pid=$!
wait_until grep -qs ready stdout
"$perch" explain -p $pid 2>out &
watcher=$!
wait_until grep -q "tracing process" out
kill -USR1 $pid
wait_until grep -q EINVAL out
grep -q EINVAL out
report $? "-p: an open call of a running process"
kill -INT $watcher
wait $watcher
[ $? -eq 0 ] && grep -q '^TracerPid:.*[^0-9]0$' /proc/$pid/status
report $? "-p: Ctrl-C detaches the process"
kill -USR1 $pid
wait $pid
[ $? -eq 5 ]
report $? "-p: the detached process runs to its end"
"$perch" explain -p $pid 2>out
[ $? -eq 1 ] && grep -q "no process" out
report $? "-p: a missing process"

if [ "$(id -u)" -eq 0 ] && "${nobody[@]}" "$perch" --version >/dev/null 2>&1 && "${nobody[@]}" test -x "$target"; then
	traced "an ordinary user's program" 0 3 3 "${nobody[@]}" "$perch" explain -- "$target" children
	traced "an ordinary user's descriptors" 0 300 0 "${nobody[@]}" "$perch" explain -- "$target" many
	grep -q ENOSPC out
	report $? "an ordinary user's reads"
	traced "a program that drops its privileges" 0 1 0 "$perch" explain -- "$target" dropped
	grep -q ENOSPC out
	report $? "its reads are reported too"
	"${nobody[@]}" "$perch" explain -p $$ 2>out
	[ $? -eq 1 ] && grep -q "belongs to user" out
	report $? "-p: another user's process"
else
	skip "an ordinary user's programs" "not root, or an ordinary user cannot reach the build"
fi

if "${CC:-cc}" -static -std=gnu17 -I"$here/../../include" -o static "$here/explain_target.c" -pthread \
   2>/dev/null; then
	traced "a static program" 0 100 100 "$perch" explain -- ./static threads
else
	skip "a static program" "nothing static can be linked here"
fi
if ! why=$("${PERCH_BUILD_ROOT:?}/tests/host" 32-bit); then
	skip "a 32-bit program" "the kernel executes none: $why"
elif "${CC:-cc}" -m32 -static -std=gnu17 -I"$here/../../include" -o narrow "$here/explain_target.c" \
   -pthread 2>/dev/null; then
	traced "a 32-bit program" 0 100 100 "$perch" explain -- ./narrow threads
	traced "its descriptors" 0 1 0 "$perch" explain -- ./narrow operations
else
	skip "a 32-bit program" "nothing of 32 bits can be linked here"
fi
exit $failed
