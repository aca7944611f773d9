#!/bin/sh
# SPDX-License-Identifier: MIT
# Opening a counter or a group makes the same system calls as code without the library, by strace.
set -u
program=${PERCH_BUILD_ROOT:?}/tests/kernel/open_once
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
failed=0

command -v strace >/dev/null || { echo "skipped: no strace here"; exit 77; }
strace -o "$out" true 2>/dev/null || { echo "skipped: strace may not trace here"; exit 77; }
! grep -q __asan_init "$program" || { echo "skipped: the address sanitizer makes system calls"; exit 77; }
"$program" bare counter || { echo "skipped: no software event can be opened here"; exit 77; }

# Prints the system calls between the markers, without the numbers of new descriptors.
print_syscalls() {
	strace -o "$out" "$program" "$@" || echo failed
	awk '/^getppid/ { marks++; next } marks == 1' "$out" | sed -E 's/ = [0-9]+$//'
}

for what in counter group; do
	bare=$(print_syscalls bare $what)
	ours=$(print_syscalls perch $what)
	if [ -n "$bare" ] && [ "$bare" = "$ours" ]; then
		echo "ok - opening a $what: the system calls of bare code ($(printf '%s\n' "$ours" | wc -l) of them)"
	else
		echo "not ok - opening a $what: the system calls of bare code"
		printf 'bare:\n%s\nperch:\n%s\n' "$bare" "$ours"
		failed=1
	fi
done
exit $failed
