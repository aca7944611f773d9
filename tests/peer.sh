# SPDX-License-Identifier: MIT
# The part of shell tests that runs perf. perf 6.1 dies of memory errors at times, in any command, with its output cut anywhere.
# What it printed then says nothing about perch. So perf() runs perf again when it died, and when it died each time, checks that
# fail before the next run of perf are skipped. tests/interop/peer.py does this for Python.
# A script sets $peers, a directory of its own, before it reads this file. 'command perf' is the bare program.
# shellcheck shell=sh disable=SC2154

died_of_fault() { # exit status: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS
	case $1 in
	132 | 133 | 134 | 135 | 136 | 139 | 159) return 0 ;;
	esac
	return 1
}

# Runs a command at most three times. Its output is that of the last run.
run_peer() { # command
	peer_output=$(mktemp -d "$peers/peer.XXXXXX") || return 1
	for peer_run in 1 2 3; do
		# a shell of its own, without what it prints about a program that died
		(
			command "$@" >"$peer_output/out" 2>"$peer_output/err"
			exit $?
		) 2>/dev/null
		peer_status=$?
		died_of_fault $peer_status || break
	done
	if died_of_fault $peer_status; then
		echo "${1##*/} ${2-} died of signal $((peer_status - 128)) $peer_run times" >"$peers/died"
	else
		rm -f "$peers/died"
	fi
	cat "$peer_output/out"
	cat "$peer_output/err" >&2
	rm -rf "$peer_output"
	return $peer_status
}

# Prints why nothing can be compared. Fails if the last run of perf ended by itself.
peer_died() {
	cat "$peers/died" 2>/dev/null
}

if command -v perf >/dev/null; then
	perf() {
		run_peer perf "$@"
	}
fi
