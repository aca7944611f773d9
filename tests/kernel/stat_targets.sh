#!/bin/bash
# SPDX-License-Identifier: MIT
# Targets and aggregation of perch stat: processes, threads, CPUs, cgroups; also as an ordinary user.
# shellcheck disable=SC2016,SC2181,SC2317,SC2329
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"
busy=
cgroups=
clean() {
	[ -n "$busy" ] && kill -KILL "$busy" 2> /dev/null
	[ -n "$cgroups" ] && rmdir "$cgroups"-a "$cgroups"-b 2> /dev/null
}

stat() {
	timeout $((60 * slowness)) "$perch" stat "$@" > stdout 2> out
}

# Prints the sum of a field over the lines of an event: field number, event, field number of the event
sum() { awk -F, -v field="$1" -v name="$2" -v at="$3" '$at == name { sum += $field } END { printf "%.0f\n", sum }' out; }

stat -e page-faults -- true || { echo "skipped: cannot count here: $(cat out)"; exit 77; }

# ---- processes and threads ----
sh -c 'while :; do :; done' &
busy=$!
counts_until() {	# milliseconds
	stat -x, -p $busy -e task-clock --timeout "$1" && [ "$(sum 1 task-clock 3 | cut -d. -f1)" -ge 20 ]
}
counts_until 200 || counts_until 2000 || counts_until 10000	# it may not run for a second on a busy machine
report $? "-p without a program counts until --timeout"
stat -vv -x, -p $busy,$busy -t $busy -e task-clock -- true
[ $? -eq 0 ] && [ "$(grep -c "^sys_perf_event_open: pid $busy  cpu -1 " out)" -eq 1 ] && [ "$(grep -c ',task-clock,' out)" -eq 1 ]
report $? "a process that is given twice is counted once"
stat -x, -p $busy,$$ --per-thread -e task-clock -- "$until_used" 50 $busy
grep -q "^sh-$busy,[0-9.]*,msec,task-clock," out && grep -q "^[^,]*-$$,.*,task-clock," out
report $? "--per-thread prints each thread"
head -1 out | grep -q "^sh-$busy,"
report $? "--per-thread prints the thread with the largest count first"
stat -x, -p $busy -C 0 -e task-clock -- sleep 0.05
[ $? -eq 0 ]
report $? "-p with -C counts the process on this CPU"
cat > threads.py <<'PY'
import threading
def spin():
    while True:
        pass
others = [threading.Thread(target=spin, daemon=True) for _ in range(3)]
for one in others:
    one.start()
print("ready", flush=True)
for one in others:
    one.join()
PY
python3 threads.py > ready &
sleeper=$!
wait_until [ -s ready ]
threads=$(cd /proc && for task in $sleeper/task/*; do [ "$task" = $sleeper/task/$sleeper ] || echo "$task"; done)
# shellcheck disable=SC2086	# one word each
stat -x, --per-thread -p $sleeper -e task-clock -- "$until_used" 20 $threads
kill $sleeper
[ "$(grep -c task-clock out)" -eq 4 ] && [ "$(grep -cv 'not counted' out)" -ge 3 ]
report $? "-p counts all threads of a process"
wait $sleeper

for number in INT TERM; do
	env --default-signal=$number "$perch" stat -p $busy -e task-clock 2> out &
	counter=$!
	wait_for_handler $counter "$(kill -l $number)"
	kill -$number $counter
	wait $counter
	[ $? -eq 0 ] && grep -q 'time elapsed' out
	report $? "SIG$number ends -p, and the exit status is 0"
done

# ---- CPUs ----
# A task that computes delays each event that is opened on its CPU, in an emulated machine by milliseconds.
kill -STOP $busy
if stat -a -e dummy -- true; then
	cpus=$(getconf _NPROCESSORS_ONLN)
	for seconds in 0.1 1 10; do	# long, if the machine stalls between the start of the counts and that of the time
		stat -x, -a -e cpu-clock -- sleep $seconds
		awk -F, -v cpus="$cpus" '{ exit !($7 == "CPUs utilized" && $6 > cpus * 0.9 && $6 < cpus * 1.1) }' out && break
	done
	report $? "-a counts all CPUs"
	stat -x, -a -A -e cpu-clock,page-faults -- sleep 0.1
	[ "$(grep -c ',cpu-clock,' out)" -eq "$cpus" ] && [ "$(cut -d, -f1 out | sort -u | wc -l)" -eq "$cpus" ]
	report $? "-A prints each CPU"
	for option in --per-socket --per-die --per-core --per-node; do
		stat -x, -a $option -e cpu-clock -- true
		[ "$(sum 2 cpu-clock 5)" -eq "$cpus" ]
		report $? "the numbers of CPUs of $option add up to all CPUs"
	done
	stat -x, -C 0 -A -e cpu-clock,dummy -- sleep 0.05
	[ "$(cut -d, -f1 out | sort -u)" = CPU0 ]
	report $? "-C 0 -A prints only CPU 0"
	if in_user_space; then
		stat -I 50 --interval-count 3 -x, -a --per-socket -e cpu-clock -- sleep 50
		[ "$(grep -c '^ *[0-9.]*,S[0-9]*,[0-9]*,.*cpu-clock' out)" -ge 3 ]
		report $? "-I with --per-socket prints intervals"
	fi
	kill -CONT $busy
	stat -x, -a --per-thread -e task-clock -- "$until_used" 50 $busy
	kill -STOP $busy
	grep -q "^sh-$busy,.*task-clock" out && ! grep -q 'not counted' out
	report $? "-a --per-thread prints the threads that ran"
	for number in INT TERM; do
		env --default-signal=$number "$perch" stat -a -e cpu-clock 2> out &
		counter=$!
		wait_for_handler $counter "$(kill -l $number)"
		kill -$number $counter
		wait $counter
		[ $? -eq 0 ] && grep -q "'system wide'" out
		report $? "SIG$number ends -a, and the exit status is 0"
	done
	if [ -d /sys/bus/event_source/devices/msr ]; then
		stat -x, -a -A -e msr/tsc/ -- sleep 0.05
		[ "$(grep -c '^CPU[0-9]*,[0-9]*,,msr/tsc/,' out)" -eq "$cpus" ]
		report $? "an event of a PMU is counted on each CPU"
	else
		skip "an event of a PMU" "no msr PMU here"
	fi
	# one descriptor per event and CPU: more than the soft limit
	many=$(printf 'dummy,%.0s' $(seq 200) | sed 's/,$//')
	(ulimit -S -n 64 && stat -x, -a -e "$many" -- true)
	[ $? -eq 0 ] && [ "$(grep -c dummy out)" -eq 200 ]
	report $? "the soft limit of descriptors is raised if needed"
	(ulimit -S -n 64 && stat -x, -r 3 -a -e "$many" -- sh -c 'ulimit -S -n')
	[ $? -eq 0 ] && [ "$(sort stdout | uniq -c | tr -s ' ')" = ' 3 64' ]
	report $? "the program has the original limit in each run"
else
	skip "-a" "not allowed here: $(tail -1 out)"
fi

# ---- cgroups ----
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
cgroups=$root/perch-test-$$
if [ -n "$root" ] && [ "$(id -u)" -eq 0 ] && mkdir "$cgroups-a" "$cgroups-b" 2> /dev/null && ! has_perf_event "$cgroups-a"; then
	skip "-G" "$no_perf_event"
elif [ -d "$cgroups-a" ]; then
	a=perch-test-$$-a b=perch-test-$$-b
	work='echo $$ > '"$cgroups"'-a/cgroup.procs; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'
	stat -x, -a -e task-clock,page-faults -G $a -- sh -c "$work"
	[ "$(cut -d, -f4 out | sort -u)" = $a ] && [ "$(sum 5 task-clock 3)" -gt 1000000 ]
	report $? "one -G applies to all events and counts the cgroup"
	stat -x, -a -e task-clock,task-clock -G $a,$b -- sh -c "$work"
	[ "$(cut -d, -f4 out | tr '\n' ' ')" = "$a $b " ] && [ "$(grep -c 'not counted' out)" -eq 1 ] &&
		grep "not counted" out | grep -q ",$b,"
	report $? "several names of -G are assigned in order"
	stat -x, -a -e task-clock,task-clock -G ,$a -e cpu-migrations -- sh -c "$work"
	[ "$(head -1 out | tr -dc , | wc -c)" -eq 6 ] && sed -n 2p out | grep -q ",$a," &&
		[ "$(tail -1 out | tr -dc , | wc -c)" -eq 6 ]
	report $? "an empty name is no cgroup, and later events have none"
	stat -x, -a -e task-clock -G $a -e task-clock -G $b -- sh -c "$work"
	[ "$(cut -d, -f4 out | tr '\n' ' ')" = "$a $b " ]
	report $? "a second -G applies to the next events"
	stat -x, -a -d -e task-clock -G $a -- true
	[ "$(grep -c ",$a," out)" -eq 1 ] && grep -q 'L1-dcache-loads,[^/]*$' out
	report $? "events of -d have no cgroup, as in perf"
	stat -x, -a -e task-clock,page-faults --for-each-cgroup $a,$b -- sh -c "$work"
	[ "$(cut -d, -f3,4 out | tr '\n' ' ')" = "task-clock,$a page-faults,$a task-clock,$b page-faults,$b " ]
	report $? "--for-each-cgroup counts all events in each cgroup"
	stat -x, -a -e task-clock,page-faults --for-each-cgroup $a,$b,$a,$a -- true
	[ $? -eq 0 ] && [ "$(cut -d, -f3,4 out | tr '\n' ' ')" = "task-clock,$a page-faults,$a task-clock,$b page-faults,$b " ]
	report $? "a cgroup that is given twice is counted once"
	stat -x, -a -e task-clock --for-each-cgroup "^perch-test-$$-[ab]\$" -- true
	[ "$(cut -d, -f4 out | tr '\n' ' ')" = "$a $b " ]
	report $? "--for-each-cgroup takes a regular expression"
	stat -x, -a -e task-clock --for-each-cgroup "$b,perch-test-$$-(a|b)" -- true
	[ "$(cut -d, -f4 out | tr '\n' ' ')" = "$b $a " ]
	report $? "... beside a name"
	for pattern in "^no-such-cgroup.*:no cgroup below" "a[:not a regular expression"; do
		stat -a -e task-clock --for-each-cgroup "${pattern%:*}" -- true
		[ $? -eq 2 ] && grep -q "${pattern##*:}" out
		report $? "... refuses ${pattern%:*}"
	done
	stat -x, -C 0 -A -e task-clock -G $a -- sh -c "$work"
	grep -q "^CPU0,.*,$a," out && [ "$(wc -l < out)" -eq 1 ]
	report $? "-G with -C counts a cgroup on one CPU"
	stat -a -e task-clock -G $a,$b -- true
	[ $? -eq 2 ] && grep -q 'more cgroups than' out
	report $? "more cgroups than events are refused"
	stat -a -e '{task-clock,page-faults}' -G $a,$b -- true
	[ $? -eq 2 ] && grep -q 'must be in one cgroup' out
	report $? "a group in two cgroups is refused"
	stat -a -e task-clock -G no/such/cgroup -- true
	[ $? -eq 1 ] && grep -q 'no/such/cgroup' out
	report $? "a missing cgroup is reported"
else
	cgroups=
	skip "cgroups" "no cgroup2 hierarchy that this user may write"
fi

# ---- an ordinary user ----
as_nobody() {
	timeout $((60 * slowness)) setpriv --reuid=65534 --regid=65534 --clear-groups ./perch-copy stat "$@" > stdout 2> out
}
cp "$perch" ./perch-copy && chmod 755 ./perch-copy
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$(id -u)" -eq 0 ] && [ "$paranoid" -eq 2 ] && as_nobody --quiet -n -- true; then
	as_nobody -I 50 -x, -e page-faults,task-clock -- sleep 0.12
	[ $? -eq 0 ] && grep -q ',page-faults:u,' out && grep -q ',task-clock:u,' out
	report $? "intervals for an ordinary user"
	as_nobody -r 3 -j -e page-faults -- true
	[ $? -eq 0 ] && grep -q '"event" : "page-faults:u", "variance" : ' out
	report $? "repetition for an ordinary user"
	as_nobody -x, -e '{page-faults,task-clock}' -- true
	[ $? -eq 0 ] && [ "$(cut -d, -f3 out | tr '\n' ' ')" = 'page-faults:u task-clock:u ' ]
	report $? "a group for an ordinary user"
	as_nobody -d -x, -- true
	[ $? -eq 0 ] && [ "$(wc -l < out)" -eq 12 ]
	report $? "-d for an ordinary user"
	as_nobody -a -A -e page-faults -- true
	[ $? -eq 1 ] && grep -q 'kernel.perf_event_paranoid <= 0 (currently 2)' out
	report $? "all CPUs are refused with the value of the sysctl"
	as_nobody --per-thread -p $busy -e page-faults -- true
	[ $? -eq 1 ] && grep -q "$busy" out
	report $? "threads of other users are refused with their tid"
else
	skip "an ordinary user" "needs root and kernel.perf_event_paranoid 2"
fi
exit $failed
