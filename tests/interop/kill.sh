#!/bin/bash
# SPDX-License-Identifier: MIT
# The file of a recorder that was killed at a random time: perf and perch read it, and count the same records.
# shellcheck source=tests/interop/common.sh
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
perch=${PERCH:?the perch command to test}
kills=${KILLS:-20}
command -v perf > /dev/null || { echo "skipped: no perf here to compare with"; exit 77; }
cd "$work" || exit 1

# Starts many short processes, for records of all types. It ends by itself when the kill fails.
cat > work.sh << 'END'
end=$((SECONDS + 10))
while [ $SECONDS -lt $end ]; do
	/bin/true
	i=0
	while [ $i -lt 3000 ]; do i=$((i + 1)); done
done
END

# Counts by record type, in one format.
counts() {
	sed -n 's/^ *\([A-Z0-9_]*\) events: *\([0-9]*\).*/\1 \2/p' "$1" | sort
}

if ! "$perch" record -q -o probe.data -- true 2> probe.err; then
	echo "skipped: cannot record here: $(cat probe.err)"
	exit 77
fi

for n in $(seq "$kills"); do
	"$perch" record -q --force -F "$("$PERCH_BUILD_ROOT/tests/host" frequency 15000)" -g -o "$n.data" -- bash work.sh 2> "$n.err" &
	recorder=$!
	# the random time starts when the file has records: its header has less than a page
	for _ in $(seq $((3000 * slowness))); do
		[ "$(stat -c %s "$n.data" 2> /dev/null || echo 0)" -gt 4096 ] && break
		sleep 0.01
	done
	sleep "$(awk -v seed="$RANDOM" 'BEGIN { srand(seed); print rand() * 1.5 }')"
	program=$(pgrep -P "$recorder")
	kill -KILL "$recorder"
	wait "$recorder" 2> /dev/null
	[ -n "$program" ] && kill -KILL $program 2> /dev/null

	perf report --stats -i "$n.data" > perf.out 2> perf.err
	perf_status=$?
	"$perch" report --stats -i "$n.data" > perch.out 2> perch.err
	perch_status=$?
	counts perf.out > perf.counts
	counts perch.out > perch.counts
	total=$(awk '$1 == "TOTAL" { print $2 }' perch.counts)
	if [ $perf_status -eq 0 ] && [ $perch_status -eq 0 ] && [ "${total:-0}" -gt 0 ] && cmp -s perf.counts perch.counts; then
		echo "ok - kill $n: $total records in $(stat -c %s "$n.data") bytes, the same for both"
	elif died=$(peer_died) && [ $perch_status -eq 0 ]; then
		echo "ok - kill $n # skip $died"
	else
		echo "not ok - kill $n: perf $perf_status, perch $perch_status"
		diff perf.counts perch.counts
		cat "$n.err" perf.err perch.err
		status=1
	fi
	rm -f "$n.data"*
done
exit $status
