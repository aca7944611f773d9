#!/bin/sh
# SPDX-License-Identifier: MIT
# Deferred call chains of a recording of Linux 7.3 (perch record --call-graph fp,defer, in an emulated machine): the user
# part of each call chain is behind that of the kernel. The numbers of lines are those of perf 7.2 script. PERCH_FIXTURES
# may name a directory with another recording, local/deferred-7.2.data.
# shellcheck source=tests/interop/common.sh
. "$(dirname "$0")/common.sh"
perch=$PERCH_BUILD_ROOT/perch
gzip -dc "$PERCH_SOURCE_ROOT/tests/data/deferred-7.3.data.gz" >"$work/data" || exit 1

lines() { # command, expression, and the number of lines of its output that match
	"$perch" "$1" -f -i "$work/data" 2>"$work/log" | grep -c "$2" | grep -qx "$3"
	report $? "perch $1: $3 lines of $2"
}

lines script '^busy ' 22
lines script '(/usr/bin/busy)' 148
lines script ' 16b5 .*(/usr/bin/busy)' 18
# the user addresses follow those of the kernel
"$perch" script -f -i "$work/data" 2>"$work/log" |
	awk '/^busy/ { user = 0 } /busy\)/ { user = 1 } /kernel/ && user { wrong = 1 } END { exit wrong }'
report $? "no address of the kernel follows one of the program"
! grep -q 'no user call chain' "$work/log"
report $? "no call chain is incomplete"
if [ -e /usr/bin/busy ]; then
	echo "ok - the missing program is named # skip there is a /usr/bin/busy"
else
	[ "$(grep -c 'address[es]* in /usr/bin/busy ha[a-z]* no names*: no such file' "$work/log")" -eq 1 ]
	report $? "the missing program is named, once"
fi
"$perch" dump -f --time -i "$work/data" 2>"$work/log" | grep -c 'callchain.*USER$' | grep -qx 22
report $? "perch dump --time: 22 chains with a user part"

# a recording that ends before the first of these records
at=$("$perch" dump -f -t CALLCHAIN_DEFERRED -n 1 -i "$work/data" 2>"$work/log" | sed -n 's/^\(0x[0-9a-f]*\) .*/\1/p')
head -c "$((at))" "$work/data" >"$work/start"
"$perch" script -f -i "$work/start" >/dev/null 2>"$work/log"
grep -Eq ': ([1-9][0-9]*) of \1 samples have no user call chain' "$work/log"
report $? "call chains without their user part are counted"

other=${PERCH_FIXTURES:-}/local/deferred-7.2.data
if [ -e "$other" ]; then
	cp "$other" "$work/data"
	lines script '(/tmp/busyfp)' 9040 # perf 7.2: 9039, because it prints the cookie of one sample as an address
fi
exit $status
