#!/bin/sh
# SPDX-License-Identifier: MIT
# /proc/TID/syscall of a thread of the kernel says that it is in system call 0, which is read(2) on x86-64.
#
# Guess: threads of the kernel make no system calls, so the file has "-1", as for a thread that is blocked outside of a
# system call.
# What happens (Linux 6.12 and 6.18, x86-64): the file has "0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0". The kernel prints the registers that
# the thread would have in user space, and they are zeros. So who prints the calls that threads wait in shows read(0, NULL, 0)
# for each of them. They are known by PF_KTHREAD (0x200000) in the ninth field of /proc/TID/stat: src/cli/calls/calls_thread.c
# looks there first.
#
# Needs root. Exit status 0: it is as described; 1: that has changed; 77: it cannot be seen here.
set -eu
[ "$(uname -m)" = x86_64 ] || { echo "the registers of other machines are not known here"; exit 77; }
seen=0
for directory in /proc/[0-9]*; do
	flags=$(sed 's/.*) //' "$directory/stat" 2>/dev/null | cut -d ' ' -f 7) || continue
	[ -n "$flags" ] && [ $((flags & 0x200000)) -ne 0 ] || continue
	text=$(cat "$directory/syscall" 2>/dev/null) || continue
	[ "$text" != running ] || continue
	seen=$((seen + 1))
	[ "$text" = "0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0" ] || { echo "$directory: $text"; exit 1; }
done
echo "$seen threads of the kernel seem to be in system call 0"
[ $seen -gt 0 ] || { echo "no thread of the kernel can be read here"; exit 77; }
