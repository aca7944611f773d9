#!/bin/bash
# SPDX-License-Identifier: MIT
# Compares the CPU time of the recorders perch and perf (user + system, from the start to the end):
# record.sh [BUILD]. They sample at 20 kHz, with a busy program on each CPU. The recorders
# alternate, and the best round of each is the result.
set -u
smoke=${BENCH_SMOKE:-}
perch=$(realpath "${1:-build}/perch")
seconds=${smoke:+0.1}
seconds=${seconds:-${SECONDS_EACH:-3}}
rounds=${smoke:+1}
rounds=${rounds:-${ROUNDS:-3}}
hz=${HZ:-20000}
command -v perf >/dev/null || {
	echo "record: skipped, there is no perf to compare with"
	exit 77
}
dir=$(mktemp -d) || exit 1
cd "$dir" || exit 1

busy=()
for _ in $(seq "$(nproc)"); do
	(
		end=$((SECONDS + 600))
		while [ $SECONDS -lt $end ]; do :; done
	) &
	busy+=($!)
done
trap 'kill "${busy[@]}" 2>/dev/null; rm -rf "$dir"' EXIT

# Says that a command died; smoke looks for this.
note_death() { # exit status, command
	[ "$1" -le 128 ] || echo "$(basename "$2") $3: died of signal $(($1 - 128))" >&2
}

# Milliseconds of CPU time of a command and its children. Both recorders run the same short sleep.
cpu_ms() {
	TIMEFORMAT='%3U %3S'
	{ time "$@" >log 2>&1; } 2>times
	local status=$?
	if [ $status -ne 0 ]; then
		cat log >&2
		note_death $status "$@"
		return 1
	fi
	awk '{ printf "%d", ($1 + $2) * 1000 }' times
}

# Of a file.
stats() {
	perf report --stats -i "$1" 2>/dev/null || note_death $? perf report
}

lost() {
	stats "$1" |
		awk '$1 == "LOST" || $1 == "LOST_SAMPLES" { n += $3 } END { print n + 0 }'
}

samples() {
	stats "$1" | awk '$1 == "SAMPLE" { print $3; exit }'
}

compare() { # title, options
	local title=$1 best_perf='' best_perch='' ms lost_perf=0 lost_perch=0
	shift
	for _ in $(seq "$rounds"); do
		rm -f ./*.data*
		ms=$(cpu_ms perf record "$@" -F "$hz" -o perf.data -- sleep "$seconds") || return 1
		[ -n "$best_perf" ] && [ "$ms" -ge "$best_perf" ] || best_perf=$ms
		ms=$(cpu_ms "$perch" record "$@" -F "$hz" -o perch.data -- sleep "$seconds") ||
			return 1
		[ -n "$best_perch" ] && [ "$ms" -ge "$best_perch" ] || best_perch=$ms
		lost_perf=$((lost_perf + $(lost perf.data)))
		lost_perch=$((lost_perch + $(lost perch.data)))
	done
	printf '%-28s perf %5d ms (%s samples, %d LOST)   ' \
		"$title" "$best_perf" "$(samples perf.data)" "$lost_perf"
	printf 'perch %5d ms (%s samples, %d LOST%s)   ratio ' \
		"$best_perch" "$(samples perch.data)" "$lost_perch" \
		"$([ "$lost_perch" -eq 0 ] || [ "$lost_perf" -ne 0 ] || echo ', MISSED')"
	awk -v a="$best_perch" -v b="$best_perf" 'BEGIN {
		ratio = b ? a / b : 0
		printf "%.2f (target <= 0.50%s)\n", ratio, (ratio > 0.5 ? ", MISSED" : "")
	}'
}

compare "record -a, $hz Hz" -e cpu-clock -a &&
	compare "record -a -g, $hz Hz" -e cpu-clock -a -g &&
	compare "record -p, $hz Hz" -e cpu-clock -p "${busy[0]}"
