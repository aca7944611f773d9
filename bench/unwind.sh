#!/bin/bash
# SPDX-License-Identifier: MIT
# Compares `script --no-inline` and `report --stdio --no-inline` of perch and perf on a recording
# with copies of user stacks: unwind.sh [BUILD]. The recorded program is gcc -O2, whose libraries
# have no frame pointers. The programs alternate, and the best round of each is the result.
set -u
smoke=${BENCH_SMOKE:-}
perch=$(realpath "${1:-build}/perch")
rounds=${smoke:+1}
rounds=${rounds:-${ROUNDS:-3}}
# bytes of the recording; about 16 KiB are one sample
least=${smoke:+100000}
least=${least:-500000000}
command -v perf >/dev/null || {
	echo "unwind: skipped, there is no perf to compare with"
	exit 77
}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# A program of as many functions as is necessary.
source_of() {
	for i in $(seq "$1"); do
		echo "int f$i(int *a, int n) { int s = $i;" \
			"for (int i = 0; i < n; i++) s = s * 31 + a[i] / (s | 1);" \
			"return s > n ? f$i(a, n / 2) : s; }"
	done
}

functions=${smoke:+20}
functions=${functions:-1500}
while :; do
	source_of "$functions" >program.c
	perf record -q -F 8000 -e cpu-clock --call-graph dwarf,16384 -o dwarf.data \
		gcc -O2 -c program.c -o program.o 2>log || {
		status=$?
		cat log
		[ $status -le 128 ] || echo "perf record: died of signal $((status - 128))"
		exit 1
	}
	size=$(stat -c %s dwarf.data)
	[ "$size" -lt "$least" ] || break
	functions=$((functions * 2))
done

# Prints wall ms, CPU ms and peak KiB of a command that writes to the file $1.
measure() {
	local out=$1
	shift
	/usr/bin/env python3 - "$out" "$@" <<-'END'
		import os, sys, time
		out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
		null = os.open(os.devnull, os.O_WRONLY)
		start = time.monotonic()
		child = os.fork()
		if not child:
		    os.dup2(out, 1)
		    os.dup2(null, 2)
		    os.execvp(sys.argv[2], sys.argv[2:])
		_, status, used = os.wait4(child, 0)
		wall = time.monotonic() - start
		cpu = used.ru_utime + used.ru_stime
		print(int(wall * 1000 + 0.5), int(cpu * 1000 + 0.5), used.ru_maxrss)
		if os.WIFSIGNALED(status):
		    name = os.path.basename(sys.argv[2]) + " " + sys.argv[3]
		    print(f"{name}: died of signal {os.WTERMSIG(status)}", file=sys.stderr)
		sys.exit(status != 0)
	END
}

best() { # two results of measure: the one with less wall time
	if [ -z "$1" ] || [ "${2%% *}" -lt "${1%% *}" ]; then echo "$2"; else echo "$1"; fi
}

best_perf='' best_perch='' best_perf_report='' best_perch_report=''
for _ in $(seq "$rounds"); do
	best_perf=$(best "$best_perf" "$(measure perf.txt perf script --no-inline -i dwarf.data)")
	best_perch=$(best "$best_perch" \
		"$(measure perch.txt "$perch" script --no-inline -i dwarf.data)")
	best_perf_report=$(best "$best_perf_report" \
		"$(measure report.txt perf report --stdio --no-inline -i dwarf.data)")
	best_perch_report=$(best "$best_perch_report" \
		"$(measure report.txt "$perch" report --stdio --no-inline -i dwarf.data)")
done

# chains that cannot be continued end with the address -1
frames() {
	grep "^	 *[0-9a-f]" "$1" | grep -vc "^	 *ffffffffffffffff "
}

perf_frames=$(frames perf.txt)
perch_frames=$(frames perch.txt)
samples=$(grep -c "cpu-clock" perch.txt)
awk -v samples="$samples" -v size="$size" -v smoke="$smoke" -v a="$best_perch" -v b="$best_perf" \
	-v report="$best_perch_report" -v perf_report="$best_perf_report" \
	-v frames="$perch_frames" -v perf_frames="$perf_frames" '
function missed(is) { return is && !smoke ? ", MISSED" : "" }
BEGIN {
	split(a, perch, " "); split(b, perf, " ")
	for (i = 1; i <= 2; i++) { perch[i] += !perch[i]; perf[i] += !perf[i] }
	printf "%d samples, %d MB\n", samples, size / 1000000
	ratio = perch[1] / perf[1]
	printf "unwind: script, perch/perf wall %.3f (%d ms, perf %d ms; target <= 0.10%s)\n",
		ratio, perch[1], perf[1], missed(ratio > 0.1)
	ratio = perch[3] / perf[3]
	printf "unwind: perch/perf peak memory %.2f (%d MB, perf %d MB; target <= 0.50%s)\n",
		ratio, perch[3] / 1024, perf[3] / 1024, missed(ratio > 0.5)
	rate = frames / perch[2] / 1000
	printf "unwind: %.2f million frames a CPU second, with output (target >= 3%s)\n",
		rate, missed(rate < 3)
	split(report, perch, " "); split(perf_report, perf, " ")
	perf[1] += !perf[1]
	ratio = perch[1] / perf[1]
	printf "unwind: report, perch/perf wall %.3f (%d ms, perf %d ms; target <= 0.10%s)\n",
		ratio, perch[1], perf[1], missed(ratio > 0.1)
	printf "unwind: %d frames, perf %d%s\n", frames, perf_frames, missed(frames < perf_frames)
}'
