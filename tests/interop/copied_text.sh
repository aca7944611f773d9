#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that copy their text to anonymous memory at start, for large pages: their functions have names, inlined functions, lines and
# callers, by the file. A program with a layout that is known, and node --use-largepages=on.
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
cd "$work" || exit 1
program=$PERCH_BUILD_ROOT/tests/interop/copied_text

# Prints the share of the samples of user space whose stack has copied_leaf, copied_caller and main, in whole percent.
whole_stacks() { # file
	"$PERCH" script -i "$1" -F ip,sym --no-inline 2>>log | awk '
		BEGIN { RS = "" }
		/copied_leaf/ { all++; whole += /copied_leaf.*\n.*copied_caller.*\n.*main/ }
		END { print all ? int(100 * whole / all) : 0, all + 0 }'
}

"$program" 1 >log || {
	echo "a program may not map memory over its text here"
	exit 77
}
"$PERCH" record -q -e cpu-clock:u -F 999 --call-graph dwarf -o start.data "$program" >log 2>&1
"$PERCH" record -q -e cpu-clock:u -F 999 --call-graph dwarf -d -o mappings.data "$program" >>log 2>&1
# a program whose text was copied before the recording: its mappings are those of /proc/PID/maps
mkfifo ready
"$program" 3000 >ready &
child=$!
read -r _ <ready
"$PERCH" record -q -e cpu-clock:u -F 999 --call-graph dwarf -o later.data -p $child -- sleep 0.5 >>log 2>&1
kill $child
wait $child 2>/dev/null
for file in start mappings later; do
	: >log
	read -r share all < <(whole_stacks $file.data)
	echo "$share % of $all stacks in $file.data are whole" >>log
	[ "$all" -gt 0 ] && [ "$share" -ge 95 ]
	report $? "functions of copied text have names and callers ($file.data)"
	"$PERCH" report -i $file.data --stdio --no-children -g none -s dso,sym >out 2>log
	cat out >>log
	! grep -q 'perf-[0-9]*.map\|JIT' log && grep -q 'copied_text .*copied_leaf' out
	report $? "the DSO of copied text is the file, and no message speaks of a JIT compiler ($file.data)"
	"$PERCH" script -i $file.data -F ip,sym,srcline >out 2>log
	grep -q 'copied_inlined' out && grep -q 'copied_text.c:[0-9]' out
	report $? "copied text has inlined functions and lines ($file.data)"
done

cat >hot.js <<'END_JS'
const text = "a".repeat(2000) + "b", end = Date.now() + 700;
let all = 0;
while (Date.now() < end)
	all += JSON.stringify(JSON.parse(JSON.stringify({ text, list: [1, 2, 3, [4, 5, 6]] }))).length;
console.log(all > 0);
END_JS
if command -v node >/dev/null && node --use-largepages=on hot.js >node.out 2>node.err && [ ! -s node.err ]; then
	for pages in off on; do
		"$PERCH" record -q -e cpu-clock:u -F 999 -o node.data node --use-largepages=$pages hot.js >log 2>&1
		"$PERCH" report -i node.data --stdio -s dso 2>log | awk '$2 == "node" { print int($1) }' >share.$pages
		cat share.$pages >>log
	done
	[ "$(cat share.on)" -ge "$(($(cat share.off) / 2))" ]
	report $? "node --use-largepages=on: its text is that of the file"
else
	echo "ok - node --use-largepages=on # skip node is missing, or has no large pages here: $(head -1 node.err 2>/dev/null)"
fi
exit $status
