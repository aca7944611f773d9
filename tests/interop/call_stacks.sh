#!/bin/sh
# SPDX-License-Identifier: MIT
# Call stacks in branch records (record --call-graph lbr) become call chains, as in perf, and so do other branches with report --branch-history and
# -g branch. The recordings are built: few machines have the hardware that records them.
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
cd "$work" || exit 1
build=$PERCH_BUILD_ROOT/tests/interop/call_stacks

chains() { # text of script: the functions, with a line END after each sample
	sed -n 's/^\t *[0-9a-f]* \([^ ]*\) .*/\1/p; s/^$/END/p' "$1"
}

"$build" start.data && "$build" exact.data exact || exit 1

"$PERCH" script -i start.data >start.perch 2>start.err
if perf script --no-inline -i start.data >start.perf 2>/dev/null && [ -s start.perf ]; then
	chains start.perch >start.expected
	chains start.perf >start.found
	try "chains of call stacks are those of perf" diff start.expected start.found
else
	echo "ok - chains of call stacks are those of perf # skip $(peer_died || echo perf cannot be run)"
fi

# sampled addresses inside of functions: perf before 6.17 has the start of the innermost function instead. A sample in the kernel:
# perf has the start of the innermost function (before 6.17) or the kernel address once more, as one of user space.
cat >exact.expected <<'EXPECTED'
called_innermost+0x0
called_second+0x4
called_third+0x4
called_third+0x9
END
called_innermost+0x0
called_second+0x4
END
called_innermost+0x3
called_second+0x4
called_third+0x4
called_third+0x9
END
called_innermost+0x3
END
[unknown]
[unknown]
called_innermost+0x2
called_second+0x4
called_third+0x4
called_third+0x9
END
[unknown]
[unknown]
END
[unknown]
[unknown]
END
EXPECTED
"$PERCH" script -i exact.data >exact.perch 2>exact.err
chains exact.perch >exact.found
try "the call stack follows the kernel's part of the chain and the sampled address" diff exact.expected exact.found

python3 "$PERCH_SOURCE_ROOT/tests/interop/other_order.py" exact.data other.data >"$work/log" 2>&1
report $? "convert the recording to the other byte order"
"$PERCH" script -i other.data >other.perch 2>other.err
chains other.perch >other.found
try "call stacks of the other byte order" diff exact.expected other.found

# the call stacks of samples are not joined
for command in report script; do
	"$PERCH" $command --stitch-lbr -i exact.data >"$work/log" 2>&1
	[ $? -eq 2 ] && grep -q "call stacks of branch records" "$work/log"
	report $? "$command --stitch-lbr is refused"
done

# branches that ran before the samples
"$build" branches.data branches || exit 1
rows="$PERCH report -q --stdio --no-inline -s sym"
cat >caller.expected <<'EXPECTED'
    75.00%  [.] called_innermost
3 called_third;called_third;called_third;called_third;called_third;called_second;called_second;called_innermost
    25.00%  [.] called_second
1 called_third;called_third;called_third;called_third;called_third;called_second
EXPECTED
$rows --no-children --no-branch-stack -g caller,folded,count,branch -i branches.data | grep . >caller.found
try "a graph from the callers has the branches in the order in which they ran" diff caller.expected caller.found
$rows -b --branch-history -i branches.data >"$work/log" 2>&1
[ $? -eq 2 ] && grep -q "exclude each other" "$work/log"
report $? "-b and --branch-history exclude each other"
for option in "-b -g branch" "--total-cycles -g branch" "--total-cycles --branch-history"; do
	$rows $option -i branches.data >"$work/log" 2>&1
	[ $? -eq 2 ] && grep -q "exclude each other" "$work/log"
	report $? "$option is refused"
done
$rows --branch-history -i start.data >"$work/log" 2>&1
[ $? -eq 1 ] && grep -q "needs branch stacks" "$work/log"
report $? "call stacks are no branches"

# the record itself stays as it is
"$PERCH" dump -i exact.data >dump.txt 2>"$work/log"
grep -q 0x1234 dump.txt
report $? "dump prints the recorded chain"
exit $status
