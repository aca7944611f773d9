#!/bin/bash
# SPDX-License-Identifier: MIT
# The options of perch stat, and their errors. stat.sh tests programs and exit statuses.
# shellcheck disable=SC2016,SC2094,SC2181
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"

stat() {
	timeout $((60 * slowness)) "$perch" stat "$@" > stdout 2> out
}

refuses() {		# name, expected status, pattern on stderr, arguments
	local name=$1 expected=$2 pattern=$3
	shift 3
	stat "$@"
	[ $? -eq "$expected" ] && grep -q -- "$pattern" out && [ ! -s stdout ] && ! grep -q 'counter stats' out
	report $? "$name is refused"
}

value() { awk -F, -v name="$1" '$3 == name { print $1; exit }' out; }

stat -e page-faults -- true || { echo "skipped: cannot count here: $(cat out)"; exit 77; }

# ---- what the event cannot give ----
stat -e cpu-clock:pp,page-faults -- true && [ "$(grep -c 'cpu-clock:pp: precise_ip 2 is ignored' out)" -eq 1 ] &&
	[ "$(grep -c ignored out)" -eq 1 ]
report $? "a modifier that a software event ignores is reported"
stat -x, -e cpu-clock:pp -- true && ! grep -q ignored out
report $? "-x prints no such note between the counts"

if [ -e /sys/bus/event_source/devices/kprobe ]; then
	echo "ok - a kernel without kprobes # skip this one has them"
else
	refuses "a kprobe, on a kernel without," 2 'Use Linux 4.17 or later with CONFIG_KPROBE_EVENTS' -e kprobe:vfs_read -- true
fi

# ---- intervals ----
# the number of intervals depends on the time of the program; none is early, and the last ends with the program
for pause in 0.12 1.2 5; do	# a busy machine may run perch only at the end
	stat -I 50 -x, -e page-faults,task-clock -- sh -c "sleep $pause; true"
	[ "$(cut -d, -f1 out | sort -u | wc -l)" -ge 2 ] && break
done
awk -F, -v pause=$pause '{ if ($1 + 0 < last) bad = 1; if ($1 + 0 > last) n++; last = $1 + 0 } NR == 1 { first = $1 + 0 }
	END { exit !(n >= 2 && n <= last / 0.05 + 1 && !bad && first >= 0.05 && last >= pause) }' out
report $? "-I prints each interval and a last, shorter one"
stat -I 20 --interval-count 2 -x, -e page-faults -- sleep 100
[ $? -eq 0 ] && [ "$(wc -l < out)" -eq 2 ]
report $? "--interval-count ends the program and exits 0"
stat -I 30 --summary -x, -e page-faults -- sh -c 'sleep 0.1; true; true'
awk -F, '/summary/ { total = $2; next } $2 ~ /^[0-9]+$/ { sum += $2 } END { exit !(sum > 0 && sum == total) }' out
report $? "--summary prints the sum of the intervals"
stat -I 5 --interval-count 30 -e page-faults -- sleep 100
[ "$(grep -c '^#           time             counts unit events$' out)" -ge 2 ]
report $? "the header is printed every 25 intervals"
if python3 -c 'import pty' 2> /dev/null; then
	cat > terminal.py <<'PY'
import os, pty, sys
got = b""
def read(fd):
    global got
    data = os.read(fd, 65536)
    got += data
    return data
pty.spawn(sys.argv[1:], read)
sys.stderr.write(f"{got.count(b'[2J')} {got.count(b'counts unit events')}\n")
PY
	timeout $((60 * slowness)) python3 terminal.py "$perch" stat -I 20 --interval-count 5 --interval-clear -e page-faults -- sleep 100 > stdout 2> out < /dev/null
	read -r clears headers < <(tail -1 out)
	[ "${clears:-0}" -ge 4 ] && [ "$clears" = "$headers" ]
	report $? "--interval-clear clears a terminal and prints a header each time"
	timeout $((60 * slowness)) python3 terminal.py "$perch" stat -I 5 --interval-count 30 -e page-faults,task-clock -- sleep 100 > stdout 2> out < /dev/null
	read -r clears headers < <(tail -1 out)
	[ "${clears:-1}" -eq 0 ] && [ "${headers:-0}" -ge 2 ]
	report $? "on a terminal the header is printed every 25 lines"
else
	skip "--interval-clear" "no python3"
fi
if in_user_space; then
	stat -I 20 --interval-clear -x, -e page-faults -- sleep 0.1
	! grep -q "$(printf '\033')" out
	report $? "--interval-clear writes no escape sequence to a file"
fi

if stat -e cycles -- true && grep -q 'not supported' out; then
	stat -I 20 -e cycles,page-faults -- sleep 0.1
	[ "$(grep -c '^ cycles: ' out)" -eq 1 ]
	report $? "the reason of an unsupported event is printed once, after the intervals"
else
	skip "the reason after intervals" "cycles are supported here"
fi

# ---- time ----
start=$(date +%s)
stat --timeout 100 -e task-clock -- sleep 50
[ $? -eq 0 ] && [ $(($(date +%s) - start)) -lt 45 ] && grep -q 'time elapsed' out
report $? "--timeout ends the program and exits 0"
stat --timeout 20000 -e task-clock -- sh -c 'exit 4'
[ $? -eq 4 ]
report $? "a program that ends before --timeout keeps its status"
for delay in 100 1000 5000; do	# on a busy machine the program may start after the delay
	stat -D $delay -x, -e page-faults -- sh -c 'sleep 0.3'
	late=$(value page-faults)
	stat -x, -e page-faults -- sh -c 'sleep 0.3'
	[ "${late:-none}" != none ] && { [ "$late" = '<not counted>' ] || [ "$late" -lt "$(value page-faults)" ]; } && break
done
report $? "-D does not count before the delay ($late)"
stat -D -1 -x, -e page-faults -- true
[ "$(value page-faults)" = '<not counted>' ]
report $? "-D -1 does not enable events"
stat -D 20000 -x, -e page-faults -- true
[ $? -eq 0 ] && [ "$(value page-faults)" = '<not counted>' ]
report $? "a program that ends before the delay of -D is not counted"

# ---- repetition ----
: > runs
env --default-signal=INT "$perch" stat -r 0 -x, -e page-faults -- sh -c 'echo run >> runs; sleep 0.1' > stdout 2> out &
counter=$!
wait_for_handler $counter 2
for _ in $(seq $((1000 * slowness))); do [ "$(wc -l < runs)" -ge 3 ] && break; sleep 0.02; done
kill -INT $counter
wait $counter
# Ctrl-C may end the last run before its program has written a line
more=$(($(wc -l < out) - $(wc -l < runs)))
[ "$(wc -l < runs)" -ge 2 ] && [ $more -ge 0 ] && [ $more -le 1 ]
report $? "-r 0 repeats run and output until Ctrl-C"
if in_user_space; then
	stat -r 2 --pre 'echo before' --post 'echo after' -e page-faults -- echo run
	[ "$(tr '\n' ' ' < stdout)" = 'before run after before run after ' ]
	report $? "--pre and --post run before and after each run"
	stat --pre 'exit 3' -e page-faults -- echo run
	[ $? -eq 1 ] && [ ! -s stdout ] && grep -q -- '--pre failed' out
	report $? "a failed --pre ends perch stat"
	stat --post 'exit 3' -r 2 -x, -e page-faults -- echo run
	[ $? -eq 1 ] && [ "$(value page-faults)" -gt 0 ] && [ "$(wc -l < stdout)" -eq 1 ] && grep -q -- '--post failed' out
	report $? "a failed --post ends perch stat after the counts are printed"
fi
if stat -a -e dummy -- true; then
	for pause in 0.5 2 10; do	# on a busy machine the program may take as long as the first
		stat -x, -a -e cpu-clock --post "sleep $pause" -- sleep 0.05
		awk -F, -v cpus="$(getconf _NPROCESSORS_ONLN)" -v pause=$pause '{ exit !($1 > 0 && $1 < cpus * pause * 800) }' out &&
			break
	done
	report $? "--post is not counted"
	stat -x, -a -I 30 --summary -e page-faults --post 'ls / > /dev/null; sleep 0.2' -- sleep 0.1
	awk -F, '/summary/ { total = $2; next } { sum += $2 } END { exit !(sum > 0 && sum == total) }' out
	report $? "--post is not counted in the --summary"
else
	skip "--post is not counted" "not allowed here"
fi
stat -S -e page-faults -- true
report $? "-S is accepted"
if command -v strace > /dev/null && strace -o trace true 2> /dev/null; then
	strace -f -o trace "$perch" stat -r 2 -S -e page-faults -- true > stdout 2> out
	[ "$(grep -c ' sync()' trace)" -eq 2 ]
	report $? "-S calls sync before each run"
else
	skip "-S calls sync before each run" "no strace, or it may not trace"
fi

# ---- --control ----
mkfifo ctl ack
stat -D -1 --control fifo:ctl,ack -e cpu-clock -x, -I 100000 -- bash -c 'exec 3<> ack 4> ctl
	ask() { echo "$1" >&4; read -r -t 30 answer <&3; echo "$1: $answer"; }
	spin() { for i in {1..20000}; do :; done; }
	ask ping; spin; ask enable; spin; ask disable; spin; ask enable; echo stop >&4; sleep 100'
got=$?
[ $got -eq 0 ] && [ "$(tr '\n' ' ' < stdout)" = 'ping: ack enable: ack disable: ack enable: ack ' ]
report $? "--control executes and acknowledges enable, disable, ping and stop (got $got)"
# each command ends an interval: before enable, enabled, after disable, and the last one
[ "$(cut -d, -f2 out | head -1)" = '<not counted>' ] && [ "$(cut -d, -f2 out | sed -n 3p)" = '<not counted>' ] &&
	awk -F, 'NR == 2 { exit !($2 > 0) }' out && [ "$(wc -l < out)" -eq 4 ]
report $? "--control counts only between enable and disable"
stat --control fd:7 -e page-faults -- sh -c 'printf "nonsense\nping\nst" >&8; printf "op\n" >&8; sleep 100' 7<> ctl 8> ctl
[ $? -eq 0 ] && grep -q "unknown command 'nonsense'" out && grep -q page-faults out
report $? "a command that arrives in two parts, and an unknown command"
if in_user_space; then
	refuses "--control without fd: or fifo:" 2 'expected fd:' --control 7 -- true
	refuses "--control of a closed descriptor" 1 'is not open' --control fd:99 -- true
	refuses "--control of a missing fifo" 1 'cannot open' --control fifo:no-such -- true
fi

# ---- events ----
stat -n -- sh -c 'exit 5'
[ $? -eq 5 ] && grep -q 'seconds time elapsed' out && ! grep -Eq 'page-faults|task-clock|supported' out
report $? "-n prints only the time"
faults_of_both() {
	stat -x, --all-user -e page-faults -- true
	user=$(value page-faults)
	stat -x, --all-kernel -e page-faults -- true
	kernel=$(value page-faults)
	stat -x, -e page-faults -- true
	[ "$user" -gt 0 ] && [ "$kernel" -gt 0 ] && [ $((user + kernel)) -ge $(($(value page-faults) - 8)) ] &&
		[ $((user + kernel)) -le $(($(value page-faults) + 8)) ]
}
# where memory is short, a file is read again in one of the runs
faults_of_both || faults_of_both || faults_of_both || faults_of_both || faults_of_both
report $? "--all-user counts user space, --all-kernel the kernel ($user, $kernel)"
if in_user_space; then
	printf '# software\npage-faults, task-clock # two\n\n{context-switches,dummy}\n' > events
	stat -x, --event-file events -- true
	[ "$(cut -d, -f3 out | tr '\n' ' ')" = 'page-faults task-clock context-switches dummy ' ]
	report $? "--event-file reads events from a file"
	printf 'page-faults\nno-such-event\n' > events
	refuses "an event file with a mistake" 2 'events:2' --event-file events -- true
	refuses "a missing event file" 2 'no-such-file' --event-file no-such-file -- true
fi
stat -x, -e '{page-faults,task-clock}:S' -e '{page-faults,minor-faults}:W' -- true
[ $? -eq 0 ] && [ "$(value page-faults)" -gt 0 ] && [ "$(cut -d, -f3 out | grep -c .)" -eq 4 ]
report $? "the modifiers S and W are accepted"
if in_user_space; then
	stat -e page-faults:b -- true
	[ $? -eq 0 ] && [ "$(grep -c 'modifier b is ignored' out)" -eq 1 ]
	report $? "a note about the modifier b is printed once"
fi
stat --no-scale -x, -e page-faults -- true
[ "$(value page-faults)" -gt 0 ]
report $? "--no-scale prints counts"
if [ -r /sys/kernel/tracing/events/sched/sched_process_exec/id ]; then
	stat -x, -e 'sched:sched_process_e*' -- true
	cut -d, -f3 out | grep -qx 'sched:sched_process_exec' && cut -d, -f3 out | grep -qx 'sched:sched_process_exit'
	report $? "a glob prints one line per tracepoint"
	[ "$(value sched:sched_process_exec)" -eq 1 ]
	report $? "the exec of the program is counted once"
	stat -x, -e sched:sched_process_exec --filter 'filename ~ "*/true"' -- sh -c '/bin/true; /bin/false; /bin/true'
	[ "$(value sched:sched_process_exec)" -eq 2 ]
	report $? "--filter counts only matching hits"
	# three programs are executed: two match the first filter, one of these matches the second
	exec_filters() {
		stat -x, -e "$@" -- sh -c '/bin/true; /bin/false; /bin/true'
	}
	exec_filters sched:sched_process_exec --filter 'filename ~ "*/true" || filename ~ "*/false"' \
		--filter 'filename ~ "*/false" || filename ~ "*/sh"'
	[ "$(value sched:sched_process_exec)" -eq 1 ]
	report $? "a hit must match all of several --filter"
	exec_filters "sched:sched_process_exec/name=x,filter='filename ~ \"*e\"'/" --filter 'filename ~ "*/f*"'
	[ "$(value x)" -eq 1 ]
	report $? "a hit must match --filter and the term filter="
	refuses "a term filter= on a misspelt field" 2 "no field 'filenam'.*Did you mean filename?" \
		-e "cs,sched:sched_process_exec/filter='filenam ~ \"*true\"'/" -- true
	refuses "--filter on a misspelt field" 2 "no field 'filenam'.*Did you mean filename?" -e sched:sched_process_exec \
		--filter 'filenam ~ "*"' -- true
	refuses "--filter before -e" 2 'put an -e before it' --filter 'pid == 1' -e sched:sched_process_exec -- true
	refuses "--filter for an event without fields" 2 'perch stat: ' -e page-faults --filter 'pid == 1' -- true
else
	skip "tracepoints" "no tracefs that this user may read"
fi

# ---- output ----
if in_user_space; then
	stat -r 3 --table -e page-faults -- true
	[ $? -eq 0 ] && grep -q '# Table of individual measurements:' out &&
		[ "$(grep -Ec '^ +[0-9.]+ \([-+][0-9.]+\) #+$' out)" -eq 3 ] && grep -A1 '# Final result' out | grep -q 'time elapsed'
	report $? "--table prints the time of each run"
	refuses "--table of one run" 2 'add -r N' --table -e page-faults -- true
	refuses "--table with -x" 2 '--table and -x exclude each other' --table -r 2 -x, -e page-faults -- true
fi
if env --default-signal=INT setsid true 2> /dev/null; then
	setsid env --default-signal=INT "$perch" stat -x, -r 3 -e page-faults -- sh -c ': > up; exec sleep 100' > stdout 2> out &
	counter=$!
	wait_until [ -e up ]
	kill -INT -- -$counter
	wait $counter
	[ $? -eq 130 ] && grep -Eq '^[0-9]+,,page-faults,0.00%,' out
	report $? "-x prints the same fields if Ctrl-C ends -r in the first run"
else
	skip "fields after Ctrl-C" "no setsid, or an env without --default-signal"
fi
if in_user_space; then
	stat -x ' ' -e task-clock -- true
	grep -q ' "CPUs utilized"$' out
	report $? "-x quotes a field that contains the separator"
	stat -x ';;' -e task-clock -- true
	grep -Eq '^[0-9.]+;;msec;;task-clock;;[0-9]+;;100.00;;[0-9.]+;;CPUs utilized$' out
	report $? "-x accepts a separator of several characters"
	stat -I 20 --summary --no-csv-summary -x, -e page-faults -- sleep 0.05
	! grep -q summary out && tail -1 out | grep -Eq '^[0-9]+,,page-faults,'
	report $? "--no-csv-summary omits the word summary"
	stat --quiet -e page-faults -- echo run
	[ $? -eq 0 ] && [ ! -s out ] && [ "$(cat stdout)" = run ]
	report $? "--quiet prints no result"
	"$perch" stat --log-fd 7 -x, -e page-faults -- true 7> descriptor 2> out
	[ $? -eq 0 ] && grep -q ',page-faults,' descriptor && [ ! -s out ]
	report $? "--log-fd writes to a descriptor"
	stat --log-fd 99 -e page-faults -- true
	[ $? -eq 1 ] && grep -q "descriptor '99'" out
	report $? "a closed descriptor of --log-fd is reported"
	stat -j -o lines -e page-faults -- true
	python3 -c 'import json, sys; json.load(open("lines"))' 2> /dev/null || ! command -v python3 > /dev/null
	report $? "-j writes only JSON to a file"
fi
stat -vv -e page-faults,cpu-clock -- true
[ "$(grep -c '^perf_event_attr:$' out)" -eq 2 ] && grep -Eq '^  config +0x2$' out &&
	grep -Eq '^sys_perf_event_open: pid [0-9]+  cpu -1  group_fd -1  flags 0x8 = [0-9]+$' out
report $? "-vv prints each attr and perf_event_open call"
if command -v localedef > /dev/null && localedef -i en_US -f UTF-8 ./en_US.UTF-8 2> /dev/null; then
	cat > touch.py <<'PY'
import mmap
size = 4096 * 2000
pages = mmap.mmap(-1, size)
pages.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(0, size, 4096):
    pages[page] = 1
PY
	american() {
		env LOCPATH="$dir" LC_ALL=en_US.UTF-8 timeout $((60 * slowness)) "$perch" stat "$@" -- python3 touch.py > stdout 2> out
	}
	american -e page-faults
	grep -Eq '^ +[0-9]+,[0-9]{3}      page-faults' out
	report $? "digits are grouped as the locale defines"
	american --no-big-num -e page-faults
	grep -Eq '^ +[0-9]{4,}      page-faults' out
	report $? "--no-big-num does not group digits"
	american -x, -e page-faults
	grep -Eq '^[0-9]{4,},,page-faults' out
	report $? "-x does not group digits"
else
	skip "digits are grouped as the locale defines" "no localedef, or no source of a locale"
fi
if in_user_space; then
	stat -B -e page-faults -- true
	report $? "-B is accepted in a locale without grouping"
	stat --metric-only -x, -e cycles,instructions,branches,branch-misses -- true
	[ "$(grep -c . out)" -eq 2 ] && grep -qx 'GHz,insn per cycle,branch-misses of all branches,' out &&
		[ "$(tail -1 out | tr -dc , | wc -c)" -eq 3 ]
	report $? "--metric-only -x prints a header and a row"
	stat --metric-only -e cycles,instructions -- true
	grep -Eq '^ +GHz +insn per cycle $' out && ! grep -q ' cycles  ' out
	report $? "--metric-only prints a table"
	stat --metric-only -e task-clock,page-faults -- true
	grep -q -e '--metric-only has no columns' out
	report $? "--metric-only without ratios prints a note"
	! { stat --metric-only -e cycles,instructions -- true; grep -q -e '--metric-only has no columns' out; }
	report $? "--metric-only with ratios prints no note"
fi
stat -e 1:99 -- true
grep -q "software event .* does not exist.*'perch list sw'" out && ! grep -q PERCH_ out
report $? "the remedy names a command, not a member of the attr"

# ---- options that exclude each other ----
if in_user_space; then
	refuses "-r with -I" 2 'exclude each other' -r 2 -I 100 -- true
	refuses "-I above the limit" 2 'milliseconds' -I 99999999999 -- true
	refuses "--interval-count without -I" 2 'add -I MSEC' --interval-count 2 -- true
	refuses "--timeout below 10" 2 '10 to' --timeout 5 -- true
	refuses "-D word" 2 'milliseconds' -D soon -- true
	refuses "-o with --log-fd" 2 'exclude each other' -o file --log-fd 2 -- true
	refuses "-B with -x" 2 'about the table' -B -x, -- true
	refuses "--metric-only with -r" 2 'exclude each other' --metric-only -r 2 -- true
	refuses "--metric-only with -j" 2 'exclude each other' --metric-only -j -- true
	refuses "-A without CPUs" 2 'add -a or -C CPUS' -A -- true
	refuses "--per-core without CPUs" 2 'add -a or -C CPUS' --per-core -- true
	refuses "-A with --per-core" 2 'exclude each other' -a -A --per-core -- true
	refuses "--per-thread of a program" 2 'add -p PID' --per-thread -- true
	refuses "--all-user with --all-kernel" 2 'exclude each other' --all-user --all-kernel -- true
	refuses "-n with -e" 2 'counts no events' -n -e page-faults -- true
	refuses "-M" 2 'only perf has built in' -M IPC -- true
	refuses "-G without CPUs" 2 '-G needs CPUs' -e page-faults -G / -- true
	refuses "--for-each-cgroup without CPUs" 2 'add -a or -C CPUS' --for-each-cgroup / -- true
fi
exit $failed
