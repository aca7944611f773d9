#!/bin/sh
# SPDX-License-Identifier: MIT
# Opening a counter or a group makes no system call more than bare code does, as strace sees it.
set -u
program=${PERCH_BUILD_ROOT:?}/tests/kernel/open_once
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
failed=0

command -v strace >/dev/null || { echo "skipped: no strace here"; exit 77; }
strace -o "$out" true 2>/dev/null || { echo "skipped: strace may not trace here"; exit 77; }
! grep -q __asan_init "$program" || { echo "skipped: the address sanitizer makes calls of its own"; exit 77; }
"$program" bare counter || { echo "skipped: no software event can be opened here"; exit 77; }

# The calls between the two markers, with all that they were given but the numbers of descriptors.
calls() {
	strace -o "$out" "$program" "$@" || echo failed
	awk '/^getppid/ { marks++; next } marks == 1' "$out" | sed -E 's/ = [0-9]+$//'
}

for what in counter group; do
	bare=$(calls bare $what)
	ours=$(calls perch $what)
	if [ -n "$bare" ] && [ "$bare" = "$ours" ]; then
		echo "ok - opening a $what: the calls of bare code ($(printf '%s\n' "$ours" | wc -l) of them)"
	else
		echo "not ok - opening a $what: the calls of bare code"
		printf 'bare:\n%s\nperch:\n%s\n' "$bare" "$ours"
		failed=1
	fi
done
exit $failed
