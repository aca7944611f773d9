# SPDX-License-Identifier: MIT
# The start of the scripts in this directory: makes a working directory and defines report() and skip(). A script may redefine
# clean(), which runs at its end.
# shellcheck shell=bash disable=SC2034
set -u
perch=${PERCH:?is not set: the perch command to test}
dir=$(mktemp -d) || exit 1
peers=$dir
# shellcheck source=tests/peer.sh
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../peer.sh"
failed=0

# shellcheck source=tests/slowness.sh
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../slowness.sh"

clean() {
	:
}
trap 'clean; rm -rf "$dir"' EXIT
chmod 755 "$dir"
cd "$dir" || exit 1

report() {		# status of a check, its name
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
	elif died=$(peer_died); then
		echo "ok - $2 # skip $died"
	else
		echo "not ok - $2"
		[ -e out ] && sed 's/^/    /' out
		failed=1
	fi
}

# Succeeds unless tests/kernels/run runs the script. Checks of what perch does by itself have the same result on every kernel:
# arguments, messages about them, formats of the output. They are behind this, and run on the kernel of this machine only. Checks of
# what a kernel does, and of what perch makes of it, are never behind this.
in_user_space() {
	[ -z "${PERCH_KERNEL_CHECKS-}" ]
}

# Prints a frequency, or a lower one at which samples take half of the time: a program makes no progress if they take all of it.
frequency() {		# samples in a second
	"${PERCH_BUILD_ROOT:?}/tests/host" frequency "$1"
}

# True if the kernel is of this release or a later one.
release_is() {		# release
	printf '%s\n' "$1" "$(uname -r)" | sort -CV
}

skip() {		# name, reason
	echo "ok - $1 # skip $2"
}

# Without a service manager, cgroups below the root have no perf_event until a controller is enabled for them.
no_perf_event="cgroups here have no perf_event: no controller is enabled in cgroup.subtree_control"
has_perf_event() {		# cgroup
	[ "$("${PERCH_BUILD_ROOT:?}/tests/kernel/doctor_facts" cgroup "$1")" = yes ]
}

# Waits until a command succeeds, at most half a minute on a fast machine.
wait_until() {		# command
	for _ in $(seq $((600 * slowness))); do
		"$@" && return
		sleep 0.05
	done
	return 1
}

# Waits until each of some tasks has used CPU time, at most half a minute on a fast machine. On a busy machine a task may not run for a second, so
# no fixed time is long enough to count or to sample it. Programs of perch can run $until_used too.
until_used=$dir/until_used
cat > "$until_used" << EOF
#!/bin/bash
limit=$((1000 * slowness))
EOF
cat >> "$until_used" << 'EOF'
# milliseconds of CPU time, pids (or PID/task/TID)
used() {
	local fields
	read -ra fields 2> /dev/null < "/proc/$1/stat" && echo $((fields[13] + fields[14]))
}
ticks=$((($1 * $(getconf CLK_TCK) + 999) / 1000 + 1))
shift
declare -A start
for task; do start[$task]=$(used "$task") || exit 1; done
for _ in $(seq "$limit"); do
	sleep 0.03
	left=0
	for task; do
		now=$(used "$task") || exit 1
		[ $((now - start[$task])) -ge $ticks ] || left=1
	done
	[ $left -eq 1 ] || exit 0
done
exit 1
EOF
chmod 755 "$until_used"

# Waits until a command in the background is perch, has a handler for a signal, and has opened an event. Without this, a signal may
# reach a subshell of this script, or perch before it can count.
wait_for_handler() {		# pid, number of the signal
	local mask
	for _ in $(seq $((1000 * slowness))); do
		mask=$(sed -n 's/^SigCgt:[^0-9a-f]*//p' "/proc/$1/status" 2> /dev/null)
		[ "$(cat "/proc/$1/comm" 2> /dev/null)" = perch ] && [ $((0x${mask:-0} >> ($2 - 1) & 1)) -eq 1 ] &&
			[[ $(readlink "/proc/$1"/fd/* 2> /dev/null) == *perf_event* ]] && return
		sleep 0.02
	done
	return 1
}

# Sets $burn to a loop of sh that takes some milliseconds of CPU time on this machine. In an emulated machine a fixed number of
# iterations takes minutes in all: each sample takes long there too.
set_burn() {		# milliseconds
	local measured TIMEFORMAT='%U %S'
	# the shortest of three: a stalled machine counts time that the loop did not have
	measured=$(for _ in 1 2 3; do
		{ time sh -c 'i=0; while [ $i -lt 7000 ]; do i=$((i + 1)); done'; } 2>&1
	done | awk -v wanted="$1" '{ n = 7 * wanted / ($1 + $2 + 0.001); if (n > most) most = n }
		END { print int(most < 5000 ? 5000 : most > 400000 ? 400000 : most) }')
	burn="i=0; while [ \$i -lt $measured ]; do i=\$((i + 1)); done"
}
