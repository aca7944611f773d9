#!/bin/bash
# SPDX-License-Identifier: MIT
# perch explain watches programs: each refusal is seen, and nothing changes for the program.
# shellcheck source-path=SCRIPTDIR disable=SC2154
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.bash"
target=${PERCH_BUILD_ROOT:?}/tests/kernel/explain_target
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

"$perch" explain -- true 2>out || { grep -q ptrace out && { echo "skipped: programs may not be watched here"; exit 77; }; }
"$target" one || { echo "skipped: the calls of the test end otherwise here"; exit 77; }

# A run in one mode: its status, and so many calls and refusals told in the last line.
watched() {		# name, status, calls, refused, words before...
	local name=$1 want=$2 calls=$3 refused=$4 status
	shift 4
	"$@" >stdout 2>out
	status=$?
	[ "$status" -eq "$want" ] && grep -Eq "^perch explain: $calls calls? of perf_event_open, $refused refused" out
	verdict $? "$name"
}

watched "a refusal" 0 1 1 "$perch" explain -- "$target" one
watched "the size that the kernel writes back" 0 1 1 "$perch" explain -- "$target" size
watched "an attr in read-only memory" 0 1 1 "$perch" explain -- "$target" constant
watched "attrs that cannot be read" 0 4 4 "$perch" explain -- "$target" null
watched "threads that share an attr" 0 100 100 "$perch" explain -- "$target" threads
watched "children by fork, vfork and clone" 0 3 3 "$perch" explain -- "$target" children
watched "exec by a thread that does not lead" 0 2 2 "$perch" explain -- "$target" exec
watched "exec while calls are made in the leader's place" 0 "[0-9]+" 60 timeout -s KILL 60 "$perch" explain -- "$target" overtaken
! grep -q "is slow" out
verdict $? "which is no reason to stop every call"
watched "a program under a filter of its own" 0 1 1 "$perch" explain -- "$target" filtered
"${PERCH_BUILD_ROOT:?}/tests/kernel/refuse_events" 1 "$perch" stat -e mem:0x1000:w -- true 2>out
grep -q "filter on this process refuses perf_event_open.*who set the filter" out
verdict $? "a filter that answered is no guess, even where perf itself gives that errno"
watched "signals while calls are looked into" 0 200 200 "$perch" explain -- "$target" signals
watched "a child that is stopped and continued" 0 1 1 "$perch" explain -- "$target" stopped
watched "a shell's children, and its status" 9 2 2 "$perch" explain -- sh -c "'$target' one; '$target' one; exit 9"

watched "mmap, ioctl and read that fail" 0 1 0 "$perch" explain -- "$target" operations
grep -q ENOSPC out && ! grep -q ENOTTY out
verdict $? "the short read is told, the ioctl of a pipe is not"
watched "three hundred events" 0 300 0 "$perch" explain -- "$target" many
[ "$(grep -c ENOSPC out)" -ge 1 ]
verdict $? "a read of the last one is seen"

for status in 0 7 255; do
	"$perch" explain -- sh -c "exit $status" 2>out
	[ $? -eq $status ]
	verdict $? "exit status $status is kept"
done
"$perch" explain -- sh -c 'kill -KILL $$' 2>out
[ $? -eq 137 ]
verdict $? "a program that is killed: 128 and the signal"
"$perch" explain -- ./nothing-there 2>out
[ $? -eq 127 ] && grep -q "no program" out
verdict $? "a program that is not there: 127"
"$perch" explain -- "$dir" 2>out
[ $? -eq 126 ]
verdict $? "a program that cannot be executed: 126"
for status in 0 7; do
	"$perch" explain -- sh -c "'$target' one; exit $status" 2>&-
	[ $? -eq $status ] && { "$perch" explain -- sh -c "'$target' one; exit $status" 2>/dev/full; [ $? -eq $status ]; }
	verdict $? "exit status $status is kept when stderr is closed or full"
done
"$perch" explain -- ./nothing-there 2>&-
[ $? -eq 127 ]
verdict $? "a program that is not there, and nobody to tell: 127"
"$perch" explain -o /dev/full -- "$target" one 2>out
[ $? -eq 1 ] && grep -q "No space left" out
verdict $? "what is found cannot be written where it was to be: 1"
"$perch" explain -- "$target" threads 2>out
[ "$(grep -c "^perch explain: call 1 of perf_event_open: E.* 99 more times.*(calls 2 to 100)$" out)" -eq 1 ] && ! grep -q '^ .*again:' out
verdict $? "what is the same again is told in one line of its own"
"$perch" explain -v -- "$target" threads 2>out
[ "$(grep -c "^perch explain: call .*EINVAL" out)" -eq 100 ] && ! grep -q "more times" out
verdict $? "-v tells each in full"
[ "$(echo word | "$perch" explain -- cat 2>out)" = word ]
verdict $? "input and output are the program's"

{ "$perch" explain -- sh -c "'$target' one; sleep 0.2; '$target' one; touch reached" 2>&1 >/dev/null; } | head -1 >out
for ((i = 0; i < 100; i++)); do [ -e reached ] && break; sleep 0.05; done
[ -e reached ]
verdict $? "nobody reads what is printed: the program runs on"

# Signals: what is sent to perch reaches the program.
for signal in INT TERM USR1; do
	rm -f stdout
	"$perch" explain -- "$target" interrupted >stdout 2>out &
	pid=$!
	for ((i = 0; i < 100; i++)); do grep -qs ready stdout && break; sleep 0.05; done
	kill -$signal $pid
	wait $pid
	status=$?
	case $signal in INT) want=41 ;; TERM) want=143 ;; *) want=138 ;; esac
	[ $status -eq $want ]
	verdict $? "SIG$signal is the program's to answer"
done

# A process that runs already.
rm -f stdout
"$target" waits >stdout &
pid=$!
for ((i = 0; i < 100; i++)); do grep -qs ready stdout && break; sleep 0.05; done
"$perch" explain -p $pid 2>out &
watcher=$!
for ((i = 0; i < 100; i++)); do grep -q "is watched" out && break; sleep 0.05; done
kill -USR1 $pid
for ((i = 0; i < 100; i++)); do grep -q EINVAL out && break; sleep 0.05; done
grep -q EINVAL out
verdict $? "-p: a call of a process that ran already"
kill -INT $watcher
wait $watcher
[ $? -eq 0 ] && grep -q '^TracerPid:.*[^0-9]0$' /proc/$pid/status
verdict $? "-p: Ctrl-C ends with the process let go of"
kill -USR1 $pid
wait $pid
[ $? -eq 5 ]
verdict $? "-p: the process runs on to its own end"
"$perch" explain -p $pid 2>out
[ $? -eq 1 ] && grep -q "no process" out
verdict $? "-p: a process that is not there"

if [ "$(id -u)" -eq 0 ] && "${nobody[@]}" "$perch" --version >/dev/null 2>&1 && "${nobody[@]}" test -x "$target"; then
	watched "an ordinary user's program" 0 3 3 "${nobody[@]}" "$perch" explain -- "$target" children
	watched "an ordinary user's descriptors" 0 300 0 "${nobody[@]}" "$perch" explain -- "$target" many
	grep -q ENOSPC out
	verdict $? "an ordinary user's reads"
	watched "a program that gives up its rights" 0 1 0 "$perch" explain -- "$target" dropped
	grep -q ENOSPC out
	verdict $? "its reads are seen all the same"
	"${nobody[@]}" "$perch" explain -p $$ 2>out
	[ $? -eq 1 ] && grep -q "belongs to user" out
	verdict $? "-p: another user's process"
else
	skip "an ordinary user's programs" "not root, or an ordinary user cannot reach the build"
fi

if "${CC:-cc}" -static -std=gnu17 -I"$here/../../include" -o static "$here/explain_target.c" -pthread \
   2>/dev/null; then
	watched "a static program" 0 100 100 "$perch" explain -- ./static threads
else
	skip "a static program" "nothing static can be linked here"
fi
if "${CC:-cc}" -m32 -static -std=gnu17 -I"$here/../../include" -o narrow "$here/explain_target.c" \
   -pthread 2>/dev/null; then
	watched "a 32-bit program" 0 100 100 "$perch" explain -- ./narrow threads
	watched "its descriptors" 0 1 0 "$perch" explain -- ./narrow operations
else
	skip "a 32-bit program" "nothing of 32 bits can be linked here"
fi
exit $failed
