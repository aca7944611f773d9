#!/bin/bash
# SPDX-License-Identifier: MIT
# What the commands do with breakpoints that can be opened and never fire, which a library pretends; and with breakpoints that fire, if
# those of this machine do.
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"
silent=${PERCH_BUILD_ROOT:?}/tests/kernel/breakpoints-never-fire.so
why="breakpoints can be opened here and never fire: "
facts=$PERCH_BUILD_ROOT/tests/kernel/doctor_facts

never() {
	LD_PRELOAD=$silent "$perch" "$@"
}

breakpoints_of() {		# library to load
	LD_PRELOAD=$1 "$facts" events 0 0 $$ / | sed -n 's/^breakpoints //p'
}

if [ ! -e "$silent" ] || [ "$(breakpoints_of "$silent")" != no ]; then
	skip "breakpoints that never fire" "they cannot be pretended here"
	exit 0
fi
if LD_PRELOAD=$silent "$perch" stat -e mem:0x1000/8:w:u true 2>&1 | grep -q 'all debug registers'; then
	skip "breakpoints that never fire" "all debug registers are in use"
	exit 0
fi

never stat -e mem:0x1000/8:w:u,page-faults:u true > out 2>&1
[ $? -eq 0 ] && grep -Eq '<not supported> +mem:0x1000/8:w:u' out && grep -Eq '^ +[0-9,.]+ +page-faults:u' out &&
	grep -q "mem:0x1000/8:w:u: $why" out
report $? "stat: <not supported>, with the reason"
never stat -e mem:0x1000:x:u,mem:0x2000/8:rw:u true > out 2>&1
[ "$(grep -c '<not supported>' out)" -eq 2 ] && grep -q "mem:0x1000:x:u, mem:0x2000/8:rw:u: $why" out
report $? "stat: accesses and executions have one reason"
never stat -x, -e mem:0x1000/8:w:u true > out 2>&1
grep -q '^<not supported>,,mem:0x1000/8:w:u,0,' out
report $? "stat -x: <not supported>"
never stat -j -e mem:0x1000/8:w:u true > out 2>&1
grep -q '"counter-value" : "<not supported>"' out
report $? "stat -j: <not supported>"
never stat -p $$ -e mem:0x1000/8:w:u sleep 0.1 > out 2>&1
grep -q '<not supported>' out
report $? "stat -p: breakpoints of other processes, too"
for command in "record -o out.data -p $$" "top -p $$"; do
	# shellcheck disable=SC2086
	never $command -e mem:0x1000/8:w:u > out 2>&1 < /dev/null
	[ $? -eq 1 ] && grep -q "mem:0x1000/8:w:u: $why" out && [ ! -e out.data ]
	report $? "${command%% *}: ends with the reason"
done
never list mem > out 2>&1
grep -q 'mem:.*(not supported here)' out && grep -q "$why" out
report $? "list: marks the event, with the reason"
never list -j mem > out 2>&1
grep -q '"works":false,.*"cause":"breakpoint-never-fires"' out
report $? "list -j: marks the event, with the cause"
never doctor > out 2>&1
grep -q 'no *data breakpoints' out && grep -q "$why" out
report $? "doctor: says that they never fire"

if [ "$(breakpoints_of "${LD_PRELOAD-}")" != ok ]; then
	skip "breakpoints that fire" "those of this machine do not"
	exit $failed
fi
"$perch" stat -e mem:0x1000/8:w:u true > out 2>&1
grep -Eq '^ +0 +mem:0x1000/8:w:u' out
report $? "stat: a breakpoint that is not hit counts 0"
"$perch" record -o out.data -e mem:0x1000/8:w:u true > out 2>&1
report $? "record: a breakpoint that is not hit has no samples"
"$perch" list mem > out 2>&1
grep -q mem: out && ! grep -q 'not supported' out
report $? "list: works"
"$perch" doctor > out 2>&1
grep -q 'ok *data breakpoints' out
report $? "doctor: works"
exit $failed
