#!/bin/bash
# SPDX-License-Identifier: MIT
# What samples cost: measured before a timer samples often, refused above half of the CPU time, and in the file. A library pretends a machine
# on which a sample takes 45 us more than here.
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"
unset PERCH_ANY_COST
expensive=${PERCH_BUILD_ROOT:?}/tests/kernel/expensive-samples.so

record() {
	rm -f a.data ran
	LD_PRELOAD=$expensive "$perch" record -o a.data "$@" > out 2>&1
}

# The share of the CPU time in a message.
percent() {
	sed -n 's/.*each sample takes [0-9]* us here: .* samples per second \(would \)*take \([0-9]*\) %.*/\2/p' out
}

if [ -n "${PERCH_KERNEL_CHECKS:-}" ]; then
	skip "the cost of samples" "in an emulated machine each one costs something else"
	exit 0
fi
set_burn 50
"$perch" record -e cpu-clock -o a.data -- true > out 2>&1 || { echo "skipped: cannot record here: $(cat out)"; exit 77; }
if [ ! -e "$expensive" ] || ! record -F 4000 -e cpu-clock -- true || [ -z "$(percent)" ]; then
	skip "expensive samples" "they cannot be pretended here"
	exit 0
fi
record -F 4000 -e cpu-clock -- sh -c "$burn" && [ "$(percent)" -ge 18 ] && [ -s a.data ]
report $? "a cost above 10 % is said, and recorded ($(percent) %)"
record -F 15000 -e cpu-clock -- touch ran
[ $? -eq 2 ] && ! [ -e ran ] && ! [ -e a.data ] && grep -q 'Take at most [1-9][0-9]00* samples per second' out && grep -q 'use --force' out &&
	grep -q '15000 samples per second would take \([67][0-9] %\|[89][0-9] %\|all\) .*of the CPU time' out
report $? "more than half of the CPU time is refused, before the program runs"
record --dry-run -F 15000 -e cpu-clock -- touch ran
[ $? -eq 2 ] && ! [ -e ran ] && grep -q '15000 samples per second would take' out
report $? "--dry-run refuses it, too"
record --dry-run -a -F 4000 -e cpu-clock -- touch ran && ! [ -e ran ] && [ "$(percent)" -ge 18 ]
report $? "--dry-run: a cost above 10 % is said"
record -F 4000 -e cpu-clock,task-clock,cpu-clock:u,cpu-clock:k -- touch ran
[ $? -eq 2 ] && ! [ -e ran ] && grep -q '16000 samples per second would take' out
report $? "the timers of all events count"
record -e cpu-clock/period=1000/ -- touch ran
[ $? -eq 2 ] && ! [ -e ran ] && grep -q '100000 samples per second would take all of the CPU time' out
report $? "a period of an event below the shortest one of the kernel"
sed -n 's/.*each sample takes \([0-9]*\) us.*Take at most \([0-9]*\) .*/\1 \2/p' out |
	awk '{ share = $1 * $2 / 1e6 } END { exit !(share > 0.38 && share <= 0.5) }' && grep -q 'a cost above 10 % is printed' out
report $? "the advice is a rate a little below half of the CPU time"
record --force -F 10000 -e cpu-clock -- touch ran && [ -e ran ] && [ -s a.data ] && grep -q '10000 samples per second take' out
report $? "--force records, with a note"
LD_PRELOAD=$expensive "$perch" top -e cpu-clock -c 1000 > out 2>&1 < /dev/null
[ $? -eq 2 ] && grep -q '100000 samples per second would take all of the CPU time' out
report $? "top refuses it, too"
SAMPLE_NS=400000 record -e cpu-clock -- touch ran && [ -e ran ] && grep -q 'samples are expensive here: sampling at [1-9][0-9]* Hz' out
report $? "a default rate that would cost too much is lowered"
SAMPLE_NS=400000 record --off-cpu -e cpu-clock -- true && [ "$("$perch" evlist -i a.data | grep -c offcpu-time)" -eq 1 ]
report $? "with off-CPU time, whose event is in the file once"
record -F 999 -e cpu-clock -- sh -c "$burn" && ! grep -q 'each sample' out
report $? "seldom samples are not measured"
record -e cs -c 1 -- true && ! grep -q 'each sample' out
report $? "events that are no timers are not measured"
"$perch" record -e cs -c 1 -o a.data -- true > out 2>&1 && "$perch" report -i a.data --header-only > out &&
	grep -q '^# recording cost: recorder [0-9.]* s of CPU time in [0-9.]* s$' out
report $? "the file has the time of the recorder"
record -F 4000 -e cpu-clock -- sh -c "$burn" && "$perch" report -i a.data --header-only > out &&
	awk '/^# recording cost:/ { for (i = 1; i < NF; i++) if ($(i + 1) == "samples") { n = $i; each = $(i + 3); sum = $(i + 6) } }
		END { exit !(n > 0 && each >= 45 && sum > 0.99 * n * each / 1e6 - 0.001 && sum < 1.01 * n * each / 1e6 + 0.001) }' out
report $? "the file has what samples cost"
record -v -F 4000 -e cpu-clock -- sh -c "$burn" && grep -q 'sampling took [0-9.]* s of [0-9.]* s of CPU time: [0-9]* samples of [0-9]* us' out &&
	grep -q 'the recorder itself took' out
report $? "-v prints the measured cost"
mkdir cache
kept() {
	PERCH_CACHE=1 XDG_CACHE_HOME=$dir/cache record -v -N -F 4000 -e cpu-clock -- sh -c "$burn" && grep -q 'sampling took' out
}
cost() { # in the message
	sed -n 's/.* samples of \([0-9]*\) us.*/\1/p' out
}
file=cache/perch/sample-cost
pretend() { # a sample of 1 ns, which there is nowhere, in the file
	rm -f $file && kept && printf '%s' "$1" | xxd -r -p | dd of=$file bs=1 seek=264 conv=notrunc 2> /dev/null
}
one=0100000000000000
[ "$(printf '\1\0' | od -An -td2 | tr -d ' ')" = 1 ] || one=0000000000000001
if type xxd > /dev/null 2>&1; then
	pretend $one && [ "$(stat -c %a $file)" = 600 ] && kept && [ "$(cost)" -eq 0 ]
	report $? "the cost of a sample is kept for the next recording"
	# another boot, damaged bytes, other sizes, a file that others can read, another file
	for damage in "printf X | dd of=$file conv=notrunc" "printf XXXXXXXX | dd of=$file bs=1 seek=264 conv=notrunc" "truncate -s 5 $file" \
		"truncate -s 1M $file" "chmod 644 $file" "ln -sf /dev/zero $file"; do
		pretend $one && eval "$damage" 2> /dev/null
		kept && [ "$(cost)" -gt 0 ] || break
		damage=
	done
	[ -z "$damage" ]
	report $? "a file of another boot, or a damaged one, is not used${damage:+ ($damage)}"
fi
rm -rf cache
SAMPLE_NS=100000 kept && SAMPLE_NS=0 kept && [ "$(cost)" -lt 90 ]
report $? "a large cost is measured again"
SLOW_CLOCK=1 record -v -F 4000 -e cpu-clock -- sh -c "$burn" && grep -q 'sampling took' out
report $? "the cost is known where each look at the clock takes long in the kernel"
if type perf > /dev/null 2>&1 && record -F 4000 -e cpu-clock -- sh -c "$burn"; then
	samples=$("$perch" report --stats -i a.data 2> /dev/null | awk '$1 == "SAMPLE" { print $3; exit }')
	perf report --header-only -i a.data > out 2>&1 && ! grep -qi 'invalid\|unknown\|error' out &&
		[ "$(perf script -i a.data 2> err | wc -l)" -eq "$samples" ] && ! [ -s err ]
	report $? "perf reads the file without a message"
fi
exit $failed
