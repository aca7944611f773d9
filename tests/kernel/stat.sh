#!/bin/bash
# SPDX-License-Identifier: MIT
# perch stat: counts, exit status, errors in the input, and comparison with perf.
# shellcheck disable=SC2016,SC2181,SC2329
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"

stat() {
	"$perch" stat "$@" > stdout 2> out
}

ends_with() {		# name, expected status, arguments
	local name=$1 expected=$2
	shift 2
	stat "$@"
	local got=$?
	[ $got -eq "$expected" ]
	report $? "$name: status $expected (got $got)"
}

# Checks the exit status, a pattern on stderr, and that stdout is empty.
refuses() {
	local name=$1 expected=$2 pattern=$3
	shift 3
	stat "$@"
	local got=$?
	[ $got -eq "$expected" ] && grep -q -- "$pattern" out && [ ! -s stdout ] && ! grep -q 'counter stats' out
	report $? "$name: status $expected"
}

stat -e page-faults -- true || { echo "skipped: cannot count here: $(cat out)"; exit 77; }

# ---- the program and its exit status ----
ends_with "the program's own status" 3 -- sh -c 'exit 3'
ends_with "a program that succeeds" 0 -- true
ends_with "a program that was killed" 137 -- sh -c 'kill -9 $$'
grep -q "^perch stat: 'sh' was ended by signal 9 (Killed)$" out
report $? "a message names the signal that ended the program"
ends_with "a program that was interrupted" 130 -- sh -c 'kill -INT $$'
grep -q 'page-faults' out && grep -q 'seconds time elapsed' out
report $? "counts are printed after an interrupt"
stat -- sh -c 'echo to-"std"out'
[ "$(cat stdout)" = to-stdout ] && ! grep -q to-stdout out
report $? "stdout has only the output of the program"
stat -e page-faults sh -c 'true'
grep -q "Performance counter stats for 'sh -c true':" out
report $? "options after the program are its own, without --"

# ---- numbers ----
# perf searches its own directory before PATH: both get the same program, and not a script that starts it
python=$(python3 -c 'import sys; print(sys.executable)')
cat > touch.py <<'PY'
import mmap
size = 4096 * 2000
pages = mmap.mmap(-1, size)
pages.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(0, size, 4096):
    pages[page] = 1
PY
value() { awk -F, -v name="$2" '$3 == name { print $1 }' "$1"; }
stat -x, -e page-faults:u -- "$python" touch.py
cp out few
sed -i 's/range(0, size/range(4096 * 1000, size/' touch.py
stat -x, -e page-faults:u -- "$python" touch.py
difference=$(($(value few page-faults:u) - $(value out page-faults:u)))
# the number of page faults of Python itself varies by a few dozen; test_count.c checks exact counts
[ $difference -ge 850 ] && [ $difference -le 1150 ]
report $? "a thousand more pages are about a thousand more page faults ($difference)"
# the share of the CPU depends on the load; the printed ratio must agree with the two printed times
stat -e task-clock -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
awk '/task-clock/ { clock = $1 / 1000; shown = $5 } /elapsed/ { elapsed = $1 }
	END { off = shown - clock / elapsed; exit !(clock > 0.005 && shown < 1.1 && off < 0.002 && off > -0.002) }' out
report $? "CPUs utilized is task-clock divided by elapsed time"
stat -x, -e page-faults -- sh -c 'true & true & true & wait'
with_children=$(value out page-faults)
stat -x, -e page-faults -i -- sh -c 'true & true & true & wait'
[ "$with_children" -gt "$(value out page-faults)" ]
report $? "children are counted, except with -i"
stat -x, -e '{page-faults,task-clock}' -- true
[ "$(value out page-faults)" -gt 0 ]
report $? "a group is counted"
stat -x, -e page-faults -e context-switches,dummy -- true
[ "$(cut -d, -f3 out | tr '\n' ' ')" = 'page-faults context-switches dummy ' ]
report $? "events of several -e are printed in their order"

# ---- -r, -o, --append, -v ----
: > runs
stat -r 3 -e page-faults,task-clock -- sh -c 'echo run >> runs'
[ "$(wc -l < runs)" -eq 3 ] && grep -q '(3 runs)' out &&
	grep -Eq '^ +[0-9.]+ \+- [0-9.]+ seconds time elapsed  \( \+- +[0-9.]+% \)$' out
report $? "-r repeats the run and prints the standard error"
if in_user_space; then
	stat -o result -e page-faults -- true
	[ ! -s out ] && grep -q '^# started on ' result && grep -q page-faults result
	report $? "-o writes only to the file"
	stat -o result --append -x, -e task-clock -- true
	grep -q page-faults result && grep -q 'msec,task-clock' result && [ "$(grep -c '^# started on' result)" -eq 2 ]
	report $? "--append appends to the file"
	stat -o result -e task-clock -- true
	! grep -q page-faults result
	report $? "-o without --append truncates the file"
	stat -v -e page-faults -- true
	grep -Eq '^page-faults: [0-9]+ [0-9]+ [0-9]+$' out
	report $? "-v prints raw counts"
fi
stat -d -d -d -x, -- true
grep -q ',L1-dcache-load-misses,' out && grep -q ',iTLB-load-misses,' out && grep -q ',L1-dcache-prefetches,' out
report $? "-d adds cache events"

if in_user_space; then
	stat -o /dev/full -e page-faults -- true
	[ $? -eq 1 ] && grep -q "cannot write '/dev/full'" out
	report $? "a full disk is reported"
	stat -x '\t' -e page-faults -- true
	grep -Eq "^[0-9]+$(printf '\t\t')page-faults$(printf '\t')" out
	report $? "-x '\\t' is a tab"
fi

# ---- running targets ----
sleep 100 &
sleeper=$!
stat -p $sleeper -e task-clock,page-faults -- sleep 0.1
[ $? -eq 0 ] && grep -q "for process id '$sleeper':" out && ! grep -q 'seconds user' out
report $? "-p counts a running process"
"$perch" stat -t $sleeper -e task-clock 2> out &
counter=$!
wait_for_handler $counter 2
kill -INT $counter 2> /dev/null
kill $sleeper
wait $counter
[ $? -eq 0 ] && grep -q "for thread id '$sleeper':" out
report $? "-t counts until the thread ends or Ctrl-C"
sleep 100 &
sleeper=$!
"$perch" stat -p $sleeper -e task-clock 2> out &
counter=$!
wait_for_handler $counter 15
kill $sleeper
wait $counter
[ $? -eq 0 ] && grep -q 'seconds time elapsed' out
report $? "-p ends when the process ends"
if stat -a -e page-faults -- true; then
	grep -q "for 'system wide':" out
	report $? "-a counts on all CPUs"
	stat -C 0 -- true
	grep -q "for 'CPU(s) 0':" out && grep -q cpu-clock out
	report $? "-C counts on the listed CPUs"
else
	skip "-a counts on all CPUs" "not allowed here"
fi
"$perch" stat -e page-faults -- sh -c 'kill -TERM $PPID; sleep 50' 2> out
[ $? -eq 143 ] && grep -q page-faults out
report $? "SIGTERM ends the program, and counts are printed"

# perch leads a process group: as on a terminal, SIGINT goes to perch and the program. The default action of SIGINT is
# restored, because a shell starts background jobs with SIGINT ignored.
interrupted() {		# name, expected status, script of the program
	rm -f up
	setsid env --default-signal=INT "$perch" stat -r 3 -e page-faults -- sh -c "$3" > stdout 2> out &
	local counter=$!
	wait_until [ -e up ]
	kill -INT -- -$counter
	wait $counter
	[ $? -eq "$2" ] && grep -q page-faults out && ! grep -q 'runs)' out
	report $? "$1"
}
if env --default-signal=INT setsid true 2> /dev/null; then
	interrupted "Ctrl-C ends the program and the runs, and counts are printed" 130 \
		'echo up > up; for i in $(seq 2000); do sleep 0.05; done'
	interrupted "perch waits for a program that catches Ctrl-C" 5 'trap got=1 INT; echo up > up
		until [ "$got" ]; do sleep 0.05; done; sleep 0.3; exit 5'
else
	skip "Ctrl-C" "no setsid, or an env without --default-signal"
fi

# Opening tracepoints on all CPUs takes so long that the signal arrives between fork and exec of the program.
signals="-INT -TERM"
if ! stat -a -e 'sched:*' -- true || ! env --default-signal=INT setsid true 2> /dev/null; then
	skip "signals while events are opened" "no tracepoints that this user may count"
	signals=
fi
for signal in $signals; do
	setsid env --default-signal=INT "$perch" stat -a -e 'sched:*' -- sleep 30 > stdout 2> out &
	counter=$!
	for _ in $(seq $((500 * slowness))); do
		[ "$(find /proc/$counter/fd 2> /dev/null | wc -l)" -gt 12 ] && break
		sleep 0.002
	done
	start=$(date +%s)
	# Ctrl-C goes to the process group, kill(1) only to perch
	if [ $signal = -INT ]; then kill -INT -- -$counter; else kill -TERM $counter; fi
	wait $counter
	got=$?
	[ $got -eq "$([ $signal = -INT ] && echo 130 || echo 143)" ] && [ $(($(date +%s) - start)) -lt 20 ]
	report $? "SIG${signal#-} while events are opened ends the program (got $got)"
done

# ---- what is not supported ----
if stat -e cycles -- true && grep -q 'not supported' out; then
	grep -q '^ cycles: .*this machine has none.*\. Use .*\.$' out && ! grep -q 'Then:\|process' out
	report $? "the reason and the remedy are printed; the reason is not the end of the program"
	stat -- true
	[ "$(grep -c '<not supported>      ' out)" -eq 4 ] &&
		[ "$(grep -c '^ cycles, instructions, branches, branch-misses: .*\.$' out)" -eq 1 ]
	report $? "unsupported events share one reason below the table"
	stat -x, -- true
	grep -qx '<not supported>,,cycles,0,100.00,,' out && [ "$(wc -l < out)" -eq 8 ]
	report $? "-x prints no reasons"
	stat -x, -e '{cycles,page-faults}' -- true
	[ "$(value out page-faults)" -gt 0 ]
	report $? "a group is counted without its unsupported leader"
	stat -x, -e '{page-faults,cycles},minor-faults' -- true
	[ "$(value out page-faults)" -gt 0 ] && [ "$(value out minor-faults)" -gt 0 ] &&
		[ "$(value out cycles)" = '<not supported>' ]
	report $? "a group is counted without an unsupported member"
else
	skip "reasons of unsupported events" "this machine counts cycles"
fi

# ---- bad input ----
refuses "a process that has ended" 1 "no process 2147483646" -p 2147483646
refuses "a thread that has ended" 1 "2147483646" -t 2147483646 -- true
refuses "a CPU that does not exist" 1 "CPU 60000 does not exist" -C 60000 -- true
if in_user_space; then
	refuses "a missing program" 127 "there is no program 'no-such-program'" -- no-such-program
	refuses "a missing path" 127 "there is no program './no-such'" -- ./no-such
	touch plain
	refuses "a file that is not executable" 126 "not executable" -- ./plain
	refuses "a directory" 126 "perch stat: '/' " -- /
	refuses "an unknown event" 2 "page-faults" -e page-fault -- true
	grep -q '^  ^' out
	report $? "a caret points at the unknown event"
	refuses "a bad event list" 2 "perch stat: " -e 'cycles,,' -- true
	refuses "no program" 2 "name a program"
	refuses "an unknown option" 2 "unknown option '--frobnicate'" --frobnicate -- true
	refuses "-x with -j" 2 "exclude each other" -x, -j -- true
	refuses "-r above the limit" 2 "-r 1000001: expected 1 to" -r 1000001 -- true
	refuses "-r word" 2 "expected a whole number" -r many -- true
	refuses "-p with -a" 2 "exclude each other" -p 1 -a -- true
	refuses "-p word" 2 "expected numbers such as" -p init -- true
	refuses "-p of an empty pgrep" 2 "'' is none: check that the process runs" -p "" -- true
	refuses "the same without quotes" 2 "'--' is none: check that the process runs" -p -- true
	refuses "-e with nothing" 2 "the event string is empty. Name an event" -e "" -- true
	[ "$(wc -l <out)" -eq 1 ]
	report $? "no caret points at nothing"
	refuses "a bad CPU list" 2 "perch stat: " -C 1-0-3 -- true
	refuses "an output that cannot be written" 1 "/no/where cannot be written: .*Make its directory" -o /no/where -- true
	stat -- "$(printf 'no\033[31mred')"
	! grep -q "$(printf '\033')" out
	report $? "control characters are not printed"
fi

# ---- an ordinary user ----
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@" > stdout 2> out
}
cp "$perch" ./perch-copy && chmod 755 ./perch-copy
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$(id -u)" -eq 0 ] && [ "$paranoid" -eq 2 ] && as_nobody ./perch-copy --version; then
	as_nobody ./perch-copy stat -e page-faults,task-clock -- true
	[ $? -eq 0 ] && grep -q ' page-faults:u ' out && grep -q ' task-clock:u ' out
	report $? "an ordinary user counts user space, and names end in :u"
	as_nobody ./perch-copy stat -x, -- true
	[ $? -eq 0 ] && [ "$(cut -d, -f3 out | grep -c ':u$')" -eq 6 ] &&
		[ "$(grep -cE '^<not supported>,,(context-switches|cpu-migrations),' out)" -eq 2 ]
	report $? "so do all default events, except events that occur only in the kernel"
	as_nobody ./perch-copy stat -e page-faults:k -- true
	[ $? -eq 1 ] && [ "$(wc -l < out)" -eq 1 ] && grep -q 'kernel.perf_event_paranoid' out
	report $? "modifier k is refused, not ignored"
	as_nobody ./perch-copy stat -a -e page-faults -- true
	[ $? -eq 1 ] && grep -q 'kernel.perf_event_paranoid <= 0 (currently 2)' out
	report $? "system-wide counting is refused with the value of the sysctl"
	as_nobody ./perch-copy stat -p $$ -e page-faults -- true
	[ $? -eq 1 ] && grep -q "process $$ " out
	report $? "a process of another user is refused with its pid"
else
	skip "an ordinary user" "needs root and kernel.perf_event_paranoid 2"
fi

# ---- comparison with perf ----
if command -v perf > /dev/null; then
	events=page-faults,task-clock,context-switches,cpu-migrations,cycles,instructions,branch-misses,dummy
	shape() { sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/,[KMG]?\/sec/,RATE/' "$1"; }
	for options in "" "-r 2"; do
		# shellcheck disable=SC2086
		perf stat -x, $options -e $events -- true 2> theirs
		# shellcheck disable=SC2086
		stat -x, $options -e $events -- true
		[ "$(shape theirs)" = "$(shape out)" ]
		report $? "the same fields as perf stat -x, $options"
		# shellcheck disable=SC2086
		perf stat -j $options -e $events -- true 2> theirs
		# shellcheck disable=SC2086
		stat -j $options -e $events -- true
		python3 - theirs out <<'PY'
import json, sys
theirs, ours = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
assert len(theirs) == len(ours), (len(theirs), len(ours))
for one, other in zip(theirs, ours):
    assert list(one) == list(other), (list(one), list(other))
    assert [type(value) for value in one.values()] == [type(value) for value in other.values()], (one, other)
    assert one["event"] == other["event"] and one["unit"] == other["unit"]
    if one["counter-value"].startswith("<"):
        assert one["counter-value"] == other["counter-value"]
    if "sec" not in one["metric-unit"]:
        assert one["metric-unit"] == other["metric-unit"], (one, other)
PY
		report $? "the same members as perf stat -j $options"
	done
	table() { sed -E 's/[0-9]+\.[0-9]+|[0-9]+/N/g; s/ +/ /g; s/ [KMG]\/sec/ \/sec/; s/ \( \+- *N% \)//' "$1" | head -13; }
	perf stat -- true 2> theirs
	stat -- true
	[ "$(table theirs)" = "$(table out)" ]
	report $? "the same table as perf stat"
	[ "$(grep task-clock theirs | sed 's/[0-9.]* msec.*#.*CPUs/X/')" ] &&
		[ "$(grep -n 'task-clock' theirs | grep -bo '#' | head -1)" = "$(grep -n 'task-clock' out | grep -bo '#' | head -1)" ] &&
		[ "$(grep cpu-migrations theirs | wc -c)" = "$(grep cpu-migrations out | wc -c)" ] &&
		[ "$(grep 'time elapsed' theirs | wc -c)" = "$(grep 'time elapsed' out | wc -c)" ]
	report $? "the same columns as perf stat"
	perf stat -x, -e page-faults:u -- "$python" touch.py 2> theirs
	stat -x, -e page-faults:u -- "$python" touch.py
	theirs=$(value theirs page-faults:u)
	ours=$(value out page-faults:u)
	[ $((ours - theirs)) -ge -150 ] && [ $((ours - theirs)) -le 150 ]
	report $? "as many page faults as perf counts ($ours, $theirs)"
else
	skip "comparison with perf" "no perf here"
fi
exit $failed
