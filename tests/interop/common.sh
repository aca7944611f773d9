# SPDX-License-Identifier: MIT
# The start of scripts in this directory: makes a directory $work and defines report() and try(). A script ends with
# 'exit $status'.
# shellcheck shell=sh disable=SC2034
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
peers=$work
# shellcheck source=tests/peer.sh
. "${PERCH_SOURCE_ROOT:?}/tests/peer.sh" || exit 1
status=0

# shellcheck source=tests/slowness.sh
. "${PERCH_SOURCE_ROOT:?}/tests/slowness.sh" || exit 1

shown=$work/log # what report() prints if a check failed

report() { # status of a check, its name, files in place of $shown
	checked=$1 case_name=$2
	shift 2
	# shellcheck disable=SC2086 # several files
	[ $# -gt 0 ] || set -- $shown
	if [ "$checked" -eq 0 ]; then
		echo "ok - $case_name"
	elif died=$(peer_died); then
		echo "ok - $case_name # skip $died"
	else
		echo "not ok - $case_name"
		cat "$@" 2>/dev/null | head -n 200 | sed 's/^/    /'
		status=1
	fi
}

skip() { # name, why
	echo "ok - $1 # skip $2"
}

try() { # name, then a command
	name=$1
	shift
	"$@" >"$work/log" 2>&1
	report $? "$name"
}
