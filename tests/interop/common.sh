# SPDX-License-Identifier: MIT
# The start of scripts in this directory: makes a directory $work and defines report() and try(). A script ends with
# 'exit $status'.
# shellcheck shell=sh disable=SC2034
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
peers=$work
# shellcheck source=tests/peer.sh
. "$PERCH_SOURCE_ROOT/tests/peer.sh"
status=0

# Limits are multiplied by this: how many times slower than other machines this one is, rounded up.
slowness=${PERCH_HOST_SLOWNESS:-$("$PERCH_BUILD_ROOT/tests/host" slowness)}
slowness=$((${slowness%.*} + 1))

report() { # status of a check, its name; prints $work/log if the check failed
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
	elif died=$(peer_died); then
		echo "ok - $2 # skip $died"
	else
		echo "not ok - $2"
		[ ! -e "$work/log" ] || cat "$work/log"
		status=1
	fi
}

try() { # name, then a command
	name=$1
	shift
	"$@" >"$work/log" 2>&1
	report $? "$name"
}
