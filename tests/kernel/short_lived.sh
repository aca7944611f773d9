#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs of many short processes: each has a timer of its own, so that they have few samples together, which perch record says.
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"

"$perch" record -e cpu-clock -o a.data -- true > out 2>&1 || { echo "skipped: cannot record here: $(cat out)"; exit 77; }

# Runs short processes until they have used some CPU time; prints how many.
cat > short << 'EOF'
milliseconds() {		# 0m1.234s
	local text=${1%s}
	local seconds=$((${text%%m*} * 60 + 10#$(echo "${text#*m}" | cut -d. -f1)))
	local part=${text##*.}000
	echo $((seconds * 1000 + 10#${part:0:3}))
}
n=0
while :; do
	for _ in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done
	n=$((n + 10))
	times > times
	{ read -r _; read -r user system; } < times
	[ $(($(milliseconds "$user") + $(milliseconds "$system"))) -lt 1500 ] || break
done
echo $n > number
EOF
samples() {
	"$perch" script -i a.data -F pid 2> /dev/null | wc -l
}
said='[0-9]* samples\?, where the CPU time of the program should have [0-9]*: threads and processes that end within a period (16.67 ms) have none'
"$perch" record --no-descendants -e cpu-clock -F 60 -o a.data -- bash short > out 2>&1
if [ "$(cat number)" -lt 200 ]; then
	skip "short processes have few samples" "a process takes more than 7 ms here"
else
	grep -q "$said.*sample more often (-F), or \(sample by CPU (perch record --descendants\|record all CPUs (-a)\)" out
	report $? "short processes have few samples: perch says so, and what has them ($(cat number) processes)"
fi
if [ "$(id -u)" -ne 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ]; then
	grep -q 'record all CPUs (-a) as a user who may (kernel.perf_event_paranoid <= 0' out || ! grep -q 'should have' out
	report $? "a user who may not record all CPUs: perch says what that needs"
fi
# The CPUs are sampled by default where that interrupts others seldom.
isolated=$(cat /sys/devices/system/cpu/isolated /sys/devices/system/cpu/nohz_full 2> /dev/null | tr -d '\n')
if [ "$(getconf _NPROCESSORS_ONLN)" -le 16 ] && [ -z "${isolated#(null)}" ] && "$perch" record -a -e cpu-clock -o a.data -- true > out 2>&1; then
	"$perch" record -e cpu-clock -F 60 -o a.data -- bash short > out 2>&1 && ! grep -q 'should have' out && [ "$(samples)" -gt 36 ]
	report $? "by default they have their samples: $(samples), expected 90"
	"$perch" record -e cpu-clock -F 4000 -o a.data -- true > out 2>&1 && [ "$("$perch" evlist -v -i a.data | grep -c 'inherit: 1')" -ge 1 ]
	report $? "not at a high rate"
	for option in -i --inherit --no-descendants --per-thread "-e page-faults"; do
		# shellcheck disable=SC2086
		"$perch" record -e cpu-clock -F 60 $option -o a.data -- true > out 2>&1 && "$perch" evlist -v -i a.data > out && grep -q 'enable_on_exec: 1' out
		report $? "$option: the events are those of tasks"
	done
fi
set_burn 1500
# the timer of a virtual machine is late while others have its CPU, which counts as CPU time of the program
for tries in 1 2 3 4 5; do
	"$perch" record -e cpu-clock -F 60 -o a.data -- sh -c "$burn" > out 2>&1 && ! grep -q 'should have' out
	status=$?
	[ $status -eq 0 ] && break
	echo "# try $tries: $(grep 'should have' out)"
done
report $status "a program of one process has its samples"
"$perch" record -e page-faults -F 500 -o a.data -- sh -c "$burn" > out 2>&1 && ! grep -q 'should have' out
report $? "an event that is seldom has few samples without another reason"
"$perch" record -q -e cpu-clock -F 60 -o a.data -- bash short > out 2>&1 && [ ! -s out ]
report $? "-q does not say it"
"$perch" record -i -e cpu-clock -F 60 -o a.data -- bash short > out 2>&1 && ! grep -q 'should have' out
report $? "-i: the time of children does not count"
exit $failed
