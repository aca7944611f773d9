#!/bin/bash
# SPDX-License-Identifier: MIT
# Arguments of probes: of USDT probes, as perch record reads and perch script prints them.
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"

target=${PERCH_BUILD_ROOT:?}/tests/kernel/probe_target

# Prints the arguments of the samples of a recording, without the address.
values() {		# file
	"$perch" script -F trace -i "$1" 2> script_err | sed 's/^.*([0-9a-f]*) *//'
}

"$perch" record -c 1 -o probe.data -e "uprobe:$target:main" -- "$target" > out 2>&1 || {
	echo "skipped: no probes here: $(head -n 1 out)"
	exit 77
}
[ "$(find /sys/kernel/tracing /sys/kernel/debug/tracing -maxdepth 1 -name uprobe_events -writable 2> find_err)" ] || {
	echo "skipped: tracefs is not writable here"
	exit 77
}

# ---- USDT ----
if "$perch" list probe > list && "$perch" record -c 1 -o u.data -e "usdt:$target:shop:sold" -- "$target" > out 2>&1; then
	for option in "" -a -i; do
		# shellcheck disable=SC2086
		"$perch" record -c 1 $option -o u.data -e "usdt:$target:shop:sold" -- "$target" > out 2>&1
		values u.data | sed 's/arg2=[0-9]* //' > got
		printf 'arg1=%d arg3=11 arg4=-7\n' -1 0 1 | diff - got > out 2>&1
		report $? "arguments of a USDT probe${option:+ with $option}"
	done
	"$perch" script -j -i u.data 2> script_err | grep -c '"arg1":-1,"arg2":[0-9]*,"arg3":11,"arg4":-7' > out
	[ "$(cat out)" = 1 ]
	report $? "they are in JSON"
else
	skip "arguments of a USDT probe" "the file has none on this architecture"
fi
"$perch" stat -e "usdt:$target:shop:sold" -- "$target" > out 2>&1 && grep -q ' 3 .*usdt:' out
report $? "a USDT probe with arguments is counted"
[ ! -d /sys/kernel/tracing/events/perch ] ||
	! find /sys/kernel/tracing/events/perch -name "p_*_$$_*" | grep -q .
report $? "no definition is left"
exit $failed
