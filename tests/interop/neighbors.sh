#!/bin/bash
# SPDX-License-Identifier: MIT
# What perch record, top and stat leave behind and hold while they run, ended by signals: a profiler that always runs is not felt by the programs
# beside it. No system setting and no mount is changed, no file of a recorded program stays open, and probes are removed or named.
# shellcheck source=tests/interop/common.sh
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
[ "$(id -u)" -eq 0 ] || { echo "skipped: recordings of all CPUs and probes need root"; exit 77; }
command -v gcc >/dev/null || { echo "skipped: needs gcc"; exit 77; }
cd "$work" || exit 1
export HOME=$work # of the build id cache
pid='' other=''
trap 'kill -9 $pid $other 2>/dev/null; rm -rf "$work"' EXIT
cat >program.c <<'END'
#include <unistd.h>
__attribute__((noinline)) void hit(void) { __asm__ volatile(""); }
int main(void)
{
	for (;;) {
		for (int i = 0; i < 100000; i++)
			hit();
		usleep(1000);
	}
}
END
gcc -O1 -o program program.c || { echo "skipped: gcc does not work here"; exit 77; }
await() { # a command that succeeds within 30 s
	for _ in $(seq $((1500 * slowness))); do
		"$@" && return 0
		sleep 0.01
	done
	echo "no success: $*"
	return 1
}
command_of() { # name: the words of a command, with the options that follow
	case $1 in
	record) echo "record -q -o $work/data" ;;
	top) echo "top --stdio" ;;
	stat) echo "stat" ;;
	esac
}
ended() { ! kill -0 "$1" 2>/dev/null || [ "$(awk '{ print $3 }' "/proc/$1/stat" 2>/dev/null)" = Z ]; }

# ---- settings and mounts ----
if command -v strace >/dev/null; then
	changes() { # a command that ends at SIGINT or by itself; prints system calls that change a setting or a mount
		# shellcheck disable=SC2046
		timeout -s INT 2 strace -f -qq -o calls -e trace=mount,umount2,move_mount,fsmount,sethostname,open,openat,creat \
			"$PERCH" $(command_of "$1") "${@:2}" >/dev/null 2>&1
		[ -s calls ] || { echo "strace recorded nothing"; return 1; }
		grep -E '(mount|umount2|move_mount|fsmount|sethostname)\(|"/proc/sys/.*O_(WRONLY|RDWR)|"/sys/.*O_(WRONLY|RDWR)' calls >changed
		cat changed
		[ ! -s changed ]
	}
	try "record -a changes no setting and no mount" changes record -N -a -e cpu-clock -- sleep 0.2
	try "stat -a changes no setting and no mount" changes stat -a -e cpu-clock,cs -- sleep 0.2
	try "top changes no setting and no mount" changes top -a -e cpu-clock -d 1
else
	echo "ok - settings and mounts # skip strace is not installed"
fi

# ---- files and mounts in use ----
fds() { # files of a directory that a process has open or mapped
	find "/proc/$1/fd" -printf '%l\n' 2>/dev/null | grep "^$2"
	grep "$2" "/proc/$1/maps"
}
holds_nothing() { # the name of a command: it runs while a program of a file system runs, which is unmounted then
	mkdir -p mounted
	mount -t tmpfs none mounted || return 1
	cp program mounted/program
	# shellcheck disable=SC2046
	"$PERCH" $(command_of "$1") -a -e cpu-clock >/dev/null 2>&1 &
	other=$!
	sleep 1
	mounted/program &
	pid=$!
	sleep 2
	kill -9 $pid && wait $pid 2>/dev/null
	fds $other "$work/mounted"
	# files are opened for a moment
	await umount mounted || return 1
	kill -0 $other || { echo "$1 does not run any more"; return 1; }
	kill -TERM $other
	await ended $other
	wait $other 2>/dev/null
	other='' pid=''
	return 0
}
if unshare -m true 2>/dev/null; then
	for one in record top; do
		try "$one -a keeps no file system of a program in use" holds_nothing $one
	done
fi

# ---- probes ----
tracefs=$(awk '$3 == "tracefs" { print $2; exit }' /proc/mounts)
mine() { # definitions of this program; other tests have their own
	grep -c "$work/program" "$tracefs/uprobe_events"
}
# True if a command catches SIGTERM, has a probe of its own, and has opened its event.
has_probe() { # pid
	local signals
	signals=$(awk '/^Sig(Blk|Cgt):/ { print "0x" $2 }' "/proc/$1/status" 2>/dev/null | tr '\n' '|')
	[ $(((${signals}0) >> 14 & 1)) -eq 1 ] && grep -q "perch/p_[0-9]*_$1_[0-9]* $work/program" "$tracefs/uprobe_events" &&
		[[ $(readlink "/proc/$1"/fd/* 2>/dev/null) == *perf_event* ]]
}
has_no_probe() { [ "$(mine)" -eq 0 ]; }
leaves() { # the name of a command, a signal, the number of definitions that it leaves
	./program &
	pid=$!
	# shellcheck disable=SC2046
	"$PERCH" $(command_of "$1") -e "uprobe:$work/program:hit/period=100000/" -p $pid >out 2>&1 &
	other=$!
	await has_probe $other || { cat out; return 1; }
	name=$(grep -o "perch/p_[0-9]*_${other}_[0-9]*" "$tracefs/uprobe_events")
	kill -"$2" $other
	await ended $other
	wait $other 2>/dev/null
	kill -9 $pid
	wait $pid 2>/dev/null
	pid='' other=''
	echo "$(mine) definitions are left"
	[ "$(mine)" -eq "$3" ]
}
# The commands of other tests remove what is left: one of several probes is seen.
is_named_after_kill() { # the name of a command
	for _ in 1 2 3 4 5; do
		leaves "$1" KILL 1 && "$PERCH" doctor 2>&1 | tr -s '\n ' ' ' | grep -q "$name " && return
		"$PERCH" stat -e "uprobe:$work/program:hit" true >/dev/null 2>&1
	done
	return 1
}
if [ -n "$tracefs" ] && [ -w "$tracefs/uprobe_events" ] && "$PERCH" stat -e "uprobe:$work/program:hit" true >/dev/null 2>&1; then
	for one in record top stat; do
		try "$one removes its probes at SIGTERM" leaves $one TERM 0
		try "$one cannot remove its probes at SIGKILL, and perch doctor names them" is_named_after_kill $one
		"$PERCH" stat -e "uprobe:$work/program:hit" true >/dev/null 2>&1
		try "$one: the next command removes the probes that are left" has_no_probe
	done
else
	echo "ok - probes # skip probes cannot be defined here"
fi
exit $status
