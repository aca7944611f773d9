#!/bin/sh
# SPDX-License-Identifier: MIT
# A software event with the field PERIOD takes a sample of each occurrence, whatever its period is.
#
# Guess: PERF_SAMPLE_PERIOD adds a field to samples, and does not change how many there are.
# What happens (Linux 6.18): perf_swevent_event() of kernel/events/core.c writes a sample with the number
# of occurrences as its period if the attr has PERF_SAMPLE_PERIOD and no frequency, and does not look at
# attr.sample_period: 20 times as many samples with "perf record -c 20 -P" as with "-c 20". Events of a PMU
# and clocks have their period. The sums of the periods are right, but the cost is that of each occurrence.
# So a recorder that wants few samples of a software event must leave the field out: perch has it with
# --period only, as perf.
#
# Needs perf (Debian: linux-perf) and a user who may record context switches of the kernel. Exit status 0:
# it is as described; 1: that has changed; 77: it cannot be tried.
set -eu
command -v perf >/dev/null || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

samples()
{
	perf record -q -e context-switches -c 20 "$@" -o "$dir/data" -- perf bench sched pipe -l 2000 >"$dir/out" 2>&1 || exit 77
	perf script -i "$dir/data" -F event 2>/dev/null | wc -l
}

few=$(samples)
each=$(samples -P)
echo "without the field PERIOD: $few samples; with it: $each"
[ "$few" -gt 0 ] && [ "$each" -gt $((few * 5)) ]
