# SPDX-License-Identifier: MIT
# The start of the scripts in this directory: makes a working directory and defines report() and skip(). A script may redefine
# clean(), which runs at its end.
# shellcheck shell=bash disable=SC2034
set -u
perch=${PERCH:?is not set: the perch command to test}
dir=$(mktemp -d) || exit 1
failed=0

clean() {
	:
}
trap 'clean; rm -rf "$dir"' EXIT
chmod 755 "$dir"
cd "$dir" || exit 1

report() {		# status of a check, its name
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
	else
		echo "not ok - $2"
		[ -e out ] && sed 's/^/    /' out
		failed=1
	fi
}

skip() {		# name, reason
	echo "ok - $1 # skip $2"
}

# Without a service manager, cgroups below the root have no perf_event until a controller is enabled for them.
no_perf_event="cgroups here have no perf_event: no controller is enabled in cgroup.subtree_control"
has_perf_event() {		# cgroup
	[ "$("${PERCH_BUILD_ROOT:?}/tests/kernel/doctor_facts" cgroup "$1")" = yes ]
}

# Waits until a command in the background is perch, and has a handler for a signal. Without this, a signal may reach a subshell of
# this script, or perch before it can count.
wait_for_handler() {		# pid, number of the signal
	local mask
	for _ in $(seq 1000); do
		mask=$(sed -n 's/^SigCgt:[^0-9a-f]*//p' "/proc/$1/status" 2> /dev/null)
		[ "$(cat "/proc/$1/comm" 2> /dev/null)" = perch ] && [ $((0x${mask:-0} >> ($2 - 1) & 1)) -eq 1 ] && return
		sleep 0.02
	done
	return 1
}

# Sets $burn to a loop of sh that takes some milliseconds of CPU time on this machine. In an emulated machine a fixed number of
# iterations takes minutes in all: each sample takes long there too.
set_burn() {		# milliseconds
	local measured TIMEFORMAT='%U %S'
	measured=$({ time sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'; } 2>&1 |
		awk -v wanted="$1" '{ n = 20 * wanted / ($1 + $2 + 0.001); print int(n < 5000 ? 5000 : n > 400000 ? 400000 : n) }')
	burn="i=0; while [ \$i -lt $measured ]; do i=\$((i + 1)); done"
}
