#!/bin/sh
# SPDX-License-Identifier: MIT
# The binary interface of the libraries is that of the last release, and the comparison finds differences.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
abi=$PERCH_SOURCE_ROOT/scripts/abi
status=0

report() {
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
	else
		echo "not ok - $2"
		cat "$work/log"
		status=1
	fi
}

"$abi" check "$PERCH_BUILD_ROOT" >"$work/log" 2>&1
result=$?
if [ $result -eq 77 ]; then
	cat "$work/log"
	exit 77
fi
report $result "the binary interface is compatible with the last release"

for change in 's/perch_count_delta/perch_count_other/' \
	"s/\(class-decl name='perch_count' size-in-bits=\)'[0-9]*'/\1'64'/"; do
	for library in libperch libperch-profile; do
		gzip -dc "$PERCH_SOURCE_ROOT/tests/data/$library.abi.gz" | sed "$change" | gzip >"$work/$library.abi.gz"
	done
	! "$abi" check "$PERCH_BUILD_ROOT" "$work" >"$work/log" 2>&1
	report $? "a difference is found: $change"
done
exit $status
