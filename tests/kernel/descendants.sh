#!/bin/bash
# SPDX-License-Identifier: MIT
# perch record --descendants: samples by CPU, of a program and its descendants alone, in proportion to their CPU time.
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"

"$perch" record -a -e cpu-clock -o a.data -- true > out 2>&1 || { echo "skipped: cannot record CPUs here: $(cat out)"; exit 77; }

# Another program is busy meanwhile. Its name must not reach the file.
other=stranger$$
cp "$(command -v bash)" "$other"
echo 'while :; do for i in {1..20000}; do :; done; /bin/true; done' > loop
"./$other" loop &
busy=$!
clean() {
	kill "$busy" ${server:+"$server"} 2> /dev/null
}

# Runs short processes until they have used some CPU time; prints how much.
cat > short << 'END'
milliseconds() {		# 0m1.234s
	local text=${1%s}
	local seconds=$((${text%%m*} * 60 + 10#$(echo "${text#*m}" | cut -d. -f1)))
	local part=${text##*.}000
	echo $((seconds * 1000 + 10#${part:0:3}))
}
used=0
while [ $used -lt 1500 ]; do
	for _ in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done
	times > times
	used=0
	while read -r user system; do
		used=$((used + $(milliseconds "$user") + $(milliseconds "$system")))
	done < times
done
echo $used > used
END

samples() {		# file
	"$perch" script -i "$1" -F pid 2> /dev/null | wc -l
}

hertz=$(frequency 99)
"$perch" record -N --descendants -e cpu-clock -F "$hertz" -o d.data -- bash short > out 2>&1
report $? "a program is recorded by CPU"
found=$(samples d.data) expected=$(($(cat used) * hertz / 1000))
[ "$found" -gt $((expected * 2 / 5)) ] && [ "$found" -lt $((expected * 5 / 2)) ]
report $? "its short processes have the samples of their CPU time: $found, expected $expected"
! grep -aq "$other" d.data && [ -z "$("$perch" script -i d.data -F pid 2> /dev/null | awk -v pid="$busy" '$1 == pid || $1 <= 0')" ]
report $? "nothing of another program and of idle CPUs is in the file"
"$perch" report -i d.data --stdio 2> /dev/null | grep -q true
report $? "the names of short processes are known"
"$perch" record -N -a -e cpu-clock -F "$hertz" -o a.data -- bash short > out 2>&1 && grep -aq "$other" a.data
report $? "without --descendants the other program is there"

if command -v perf > /dev/null; then
	[ "$(perf script -f -i d.data -F pid 2> out | wc -l)" -eq "$found" ]
	report $? "perf reads the file"
fi
"$perch" record -N -z --descendants -e cpu-clock -F "$hertz" -o z.data -- bash short > out 2>&1 && [ "$(samples z.data)" -gt 0 ]
report $? "it can be compressed"
"$perch" record --descendants -e cpu-clock -F "$hertz" -o - -- bash short 2> out > pipe && [ "$(samples pipe)" -gt 0 ] && ! grep -aq "$other" pipe
report $? "it can be a pipe"

# A process that has a child already, which has the CPU time.
echo 'echo > ready; while [ ! -e go ]; do sleep 0.05; done; . ./short' > later
bash -c 'bash later & wait' &
server=$!
wait_until [ -e ready ]
"$perch" record -N --descendants -p $server -e cpu-clock -F "$hertz" -o p.data > out 2>&1 &
recorder=$!
wait_until [ -s p.data ]
touch go
wait $recorder
[ "$(samples p.data)" -gt 20 ] && ! grep -aq "$other" p.data
report $? "-p: the children that run are recorded, until all have ended"
server=

in_user_space || exit $failed
for option in -a "-t 1" -i --per-thread -s --threads --overwrite --off-cpu --latency --switch-events; do
	# shellcheck disable=SC2086
	"$perch" record --descendants $option -o x.data -- true > out 2>&1
	[ $? -eq 2 ] && grep -q -- "^perch record: ${option%% *} .*--descendants .*exclude each other" out
	report $? "--descendants and $option exclude each other"
done
"$perch" record --descendants -C 0 -o x.data > out 2>&1
[ $? -eq 2 ] && grep -q 'nothing to record' out
report $? "it needs a program or -p"
exit $failed
