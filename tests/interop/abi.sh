#!/bin/sh
# SPDX-License-Identifier: MIT
# The binary interface of the libraries is that of the last release, and the comparison finds differences.
# shellcheck source=tests/interop/common.sh
. "$(dirname "$0")/common.sh"
abi=$PERCH_SOURCE_ROOT/scripts/abi

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
