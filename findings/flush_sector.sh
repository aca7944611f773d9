#!/bin/sh
# SPDX-License-Identifier: MIT
# The tracepoints of a disk's flush have two sectors: 0 when it is issued, 18446744073709551615 when it ends.
#
# Guess: block_rq_issue and block_rq_complete of one request have the same sector, which with the device is the only
# thing that says that they are of one request.
# What happens (Linux 6.18): so it is for reads, writes and discards. A flush ("FF") is issued at sector 0 and ends
# at (sector_t)-1, and the write that caused it ends a second time with 0 sectors ("WS () 0 + 0"), without
# having been issued then. Who joins by device and sector finds an issue without an end, and two ends without an issue.
# So a join must leave the sector out if a request has no sectors: src/cli/tables/block.c does.
#
# Needs root, tracefs and a file system on a disk with a write cache, in the current folder. Exit status 0: it is
# as described; 1: that has changed; 77: it cannot be seen here.
set -eu
tracing=/sys/kernel/tracing
instance=$tracing/instances/flush_sector.$$
[ -w $tracing/instances ] && mkdir "$instance" 2>/dev/null || { echo "no right to make an instance of tracefs"; exit 77; }
file=$(mktemp ./flush_sector.XXXXXX)
trap 'rm -f "$file"; echo 0 >"$instance/events/enable"; rmdir "$instance"' EXIT

for event in block_rq_issue block_rq_complete; do
	echo 1 >"$instance/events/block/$event/enable"
done
for round in 1 2 3; do
	dd if=/dev/zero of="$file" bs=4k count=1 conv=fsync 2>/dev/null
done
# "... block_rq_issue: 254,0 FF 0 () 0 + 0 none,0,0 [kworker]": the sector is before the plus
flushes=$(sed -n 's/.*\(block_rq_[a-z]*\): [0-9,]* FF .* \([0-9]*\) + \([0-9]*\) .*/\1 \2 \3/p' "$instance/trace" | sort -u)
[ -n "$flushes" ] || { echo "no flush was seen"; exit 77; }
echo "$flushes"
expected="block_rq_complete 18446744073709551615 0
block_rq_issue 0 0"
[ "$flushes" = "$expected" ]
