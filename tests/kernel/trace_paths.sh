#!/bin/bash
# SPDX-License-Identifier: MIT
# perch trace has the paths of calls that end soon, as a probe in the kernel reads them in the call.
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"

"$perch" trace -o text true 2> err || {
	echo "skipped: system calls cannot be traced here: $(head -n 1 err)"
	exit 77
}
grep -Eq ' [tT] (getname|getname_flags|do_getname)$' /proc/kallsyms &&
	[ "$(find /sys/kernel/tracing /sys/kernel/debug/tracing -maxdepth 1 -name kprobe_events -writable 2> find_err)" ] || {
	echo "skipped: the function of the kernel that reads paths cannot be probed here"
	exit 77
}

# The name of the program and of the file are in memory that ends with the program.
mkdir 'a directory'
echo text > 'a directory/file'
"$perch" trace -e openat,access,execve,readlink -o text cat 'a directory/file' /nonexistent/of/perch > out 2>&1
grep -q 'openat(AT_FDCWD, "a directory/file", O_RDONLY) ' text && grep -q 'openat(AT_FDCWD, "/nonexistent/of/perch", O_RDONLY) .*ENOENT' text
report $? "paths of a program that has ended"
cat text >> out
# a text that is not in memory when the call begins is read after it
[ $((4 * $(grep -c 'openat(AT_FDCWD, "[^"]*", ' text))) -ge $((3 * $(grep -c 'openat(' text))) ]
report $? "most paths are those of the calls"
"$perch" trace -e read -o text cat 'a directory/file' > out 2>&1
! grep -q openat text && grep -q 'read(' text
report $? "calls without paths alone"
"$perch" trace -a -e openat -o text cat 'a directory/file' > out 2>&1
grep -q 'cat/[0-9]* openat(AT_FDCWD, "a directory/file", O_RDONLY) ' text
report $? "on all CPUs"
"$perch" trace -o text cat "$PWD/a directory/file" > out 2>&1
cat text >> out
grep -q -F "close(3<$PWD/a directory/file>)" text
report $? "the calls after it have the path of the descriptor"
"$perch" trace record -o calls.data cat "$PWD/a directory/file" > out 2>&1
"$perch" trace -i calls.data > text 2>> out
cat text >> out
grep -q -F "openat(AT_FDCWD, \"$PWD/a directory/file\", O_RDONLY)" text && grep -q -F "close(3<$PWD/a directory/file>)" text
report $? "a recording has paths"
! grep -q 'other events' out
report $? "probes of paths are no other events"
# Options are checked first, and a signal while events are opened waits until the probes can be removed.
"$perch" trace record --help > out 2>&1
"$perch" trace record --nosuch true > out 2>&1
for seconds in 0.01 0.03 0.05 0.08 0.12 0.2; do
	timeout -s TERM "$seconds" "$perch" trace record -a -o ended.data sleep 5 > out 2>&1
	timeout -s TERM "$seconds" "$perch" trace -a -e openat -o text sleep 5 > out 2>&1
done
left=
for name in /sys/kernel/tracing/events/perch/p_*; do
	pid=${name##*/p_*_}
	[ ! -e "$name" ] || [ -e "/proc/${pid%_*}" ] || left=$name
done
[ -z "$left" ]
report $? "no definition is left $left"
exit "$failed"
