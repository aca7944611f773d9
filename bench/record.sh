#!/bin/bash
# SPDX-License-Identifier: MIT
# CPU time that the recorder itself takes (user + system, from start to a finished file), perch's beside perf's, at 20 kHz
# on every CPU with every CPU busy. The two take turns; the best of each counts. Wanted: at most half, and nothing lost.
set -u
perch=${PERCH:-${1:-build}/perch}
perch=$(realpath "$perch")
seconds=${SECONDS_EACH:-3}
rounds=${ROUNDS:-3}
hz=${HZ:-20000}
command -v perf > /dev/null || { echo "no perf here to compare with"; exit 77; }
dir=$(mktemp -d) || exit 1
cd "$dir" || exit 1

busy=()
for _ in $(seq "$(nproc)"); do
	(end=$((SECONDS + 600)); while [ $SECONDS -lt $end ]; do :; done) &
	busy+=($!)
done
trap 'kill "${busy[@]}" 2> /dev/null; rm -rf "$dir"' EXIT

# Milliseconds of CPU time of a command; its children are the same short sleep for both.
cpu_ms() {
	TIMEFORMAT='%3U %3S'
	{ time "$@" > log 2>&1; } 2> times || { cat log >&2; exit 1; }
	awk '{ printf "%d", ($1 + $2) * 1000 }' times
}

lost() {
	perf report --stats -i "$1" 2> /dev/null |
		awk '$1 == "LOST" || $1 == "LOST_SAMPLES" { n += $3 } END { print n + 0 }'
}

samples() {
	perf report --stats -i "$1" 2> /dev/null | awk '$1 == "SAMPLE" { print $3; exit }'
}

compare() {	# title, options
	local title=$1 best_perf= best_perch= ms lost_perf=0 lost_perch=0 n_perf n_perch
	shift
	for _ in $(seq "$rounds"); do
		rm -f ./*.data*
		ms=$(cpu_ms perf record "$@" -F "$hz" -o perf.data -- sleep "$seconds") || return 1
		[ -z "$best_perf" ] || [ "$ms" -lt "$best_perf" ] && best_perf=$ms
		ms=$(cpu_ms "$perch" record "$@" -F "$hz" -o perch.data -- sleep "$seconds") || return 1
		[ -z "$best_perch" ] || [ "$ms" -lt "$best_perch" ] && best_perch=$ms
		lost_perf=$((lost_perf + $(lost perf.data)))
		lost_perch=$((lost_perch + $(lost perch.data)))
	done
	n_perf=$(samples perf.data)
	n_perch=$(samples perch.data)
	printf '%-28s perf %5d ms (%s samples, %d LOST)   perch %5d ms (%s samples, %d LOST)   ratio %s (wanted <= 0.50)\n' \
		"$title" "$best_perf" "$n_perf" "$lost_perf" "$best_perch" "$n_perch" "$lost_perch" \
		"$(awk -v a="$best_perch" -v b="$best_perf" 'BEGIN { printf "%.2f", b ? a / b : 0 }')"
}

compare "record -a, $hz Hz" -e cpu-clock -a
compare "record -a -g, $hz Hz" -e cpu-clock -a -g
compare "record -p, $hz Hz" -e cpu-clock -p "${busy[0]}"
