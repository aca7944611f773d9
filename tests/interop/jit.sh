#!/bin/bash
# SPDX-License-Identifier: MIT
# Names of code of JIT compilers: jitdump files and perf maps of a program that makes functions and runs them, and of node.
# The functions of jitdump files are compared with those of perf inject --jit.
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
cd "$work" || exit 1
program=$PERCH_BUILD_ROOT/tests/interop/jit_program
maps=()
trap 'rm -rf "$work"; [ ${#maps[@]} -eq 0 ] || rm -f "${maps[@]}"' EXIT

# The kernel reports the program's mappings in each of these recordings: record FILE CLOCK... -- COMMAND
record() {
	local file=$1
	shift
	"$PERCH" record -q -e cpu-clock -F 999 -o "$file" "$@" >"$file.out" 2>"$file.err"
}

# Prints "COUNT ADDRESS FUNCTION" of the samples of a recording in generated code.
functions() { # command, file
	"$1" script -i "$2" 2>"$work/log" | awk '{ for (i = 2; i <= NF; i++) if ($i ~ /^jit_.*[+]0x/) print $(i - 1), $i }' |
		sed 's/+0x[0-9a-f]*$//' | sort | uniq -c
}

record dump.data -k mono "$program" dump "$work"
if [ $? -eq 77 ]; then
	echo "the program makes no code for this architecture"
	exit 77
fi
functions "$PERCH" dump.data >dump.functions
cp dump.functions log
[ "$(awk '{ print $3 }' dump.functions | sort -u | tr '\n' ' ')" = "jit_first jit_moves jit_second " ]
report $? "functions of a jitdump have names"

# first and second run at the same addresses
python3 - dump.functions >log 2>&1 <<'END'
import sys
at = {}
for line in open(sys.argv[1]):
    count, address, name = line.split()
    at.setdefault(name, set()).add(int(address, 16))
assert at["jit_first"] & at["jit_second"], at
assert len({address // 1024 for address in at["jit_moves"]}) == 2, at
END
report $? "functions of a jitdump are valid by time, and move"

"$PERCH" report -i dump.data --stdio -s dso,sym >report.out 2>log
grep -q '\[JIT\] tid [0-9]*.*jit_first' report.out && [ ! -s log ]
report $? "report has the functions of a jitdump, and nothing is missing"

# the loop is at line 11 of the first function, 21 of the second and 31 of the third
"$PERCH_BUILD_ROOT/examples/hot-lines" dump.data >lines 2>log
grep '^jit_' lines | sort | uniq -c >log
[ "$(awk '$1 > 10 { print $2, $3 }' log | tr '\n' ' ')" = \
	"jit_first jit-source.txt:11 jit_moves jit-source.txt:31 jit_second jit-source.txt:21 " ]
report $? "functions of a jitdump have lines"

"$PERCH" script -i dump.data -F ip,sym,srcline >script.out 2>log
awk '$2 ~ /^jit_/ { name = $2 } /^  jit-source/ && name { print name, $1; name = "" }' script.out | sort | uniq -c >log
[ "$(awk '$1 > 10 { print $2, $3 }' log | tr '\n' ' ')" = \
	"jit_first jit-source.txt:11 jit_moves jit-source.txt:31 jit_second jit-source.txt:21 " ]
report $? "script has the lines of functions of a jitdump"

# a control character in the first name of a source file, in place
overwrite() {
	printf '%b' "$1" | dd of="$dump" bs=1 seek="$at" conv=notrunc status=none
}
dump=$(echo "$work"/jit-*.dump)
at=$(LC_ALL=C grep -abo jit-source.txt "$dump" | head -1 | cut -d: -f1)
overwrite '\001'
"$PERCH" script -i dump.data -F ip,sym,srcline >script.out 2>log
overwrite j
grep -q '^perch script: 1 record of source lines in .*\.dump is damaged: the function has no lines, but its name and code$' log &&
	[ "$(wc -l <log)" = 1 ] && grep -q jit_first script.out && ! grep -q source.txt:11 script.out && grep -q jit-source.txt:21 script.out
report $? "a damaged record of lines of a jitdump, and a note that lines are missing"

if perf inject --jit -i dump.data -o injected.data >log 2>&1; then
	functions perf injected.data >perf.functions
	diff dump.functions perf.functions >log
	report $? "functions of a jitdump are those of perf inject --jit"
	# its records have the mode of the file in place of the protection
	functions "$PERCH" injected.data >injected.functions
	diff dump.functions injected.functions >log &&
		"$PERCH" report -i injected.data --stdio -s sym >report.out 2>log && ! grep -q . log &&
		! grep -q '?' report.out
	report $? "perch has the functions of a file of perf inject --jit"
	perf record -q -k mono -e cpu-clock -F 999 -o perf.data "$program" dump "$work" >log 2>&1 &&
		perf inject --jit -i perf.data -o injected.data >log 2>&1 &&
		functions perf injected.data >perf.functions &&
		functions "$PERCH" perf.data >perch.functions &&
		[ -s perf.functions ] && diff perch.functions perf.functions >log
	report $? "functions in a recording of perf are those of perf inject --jit"
else
	echo "ok - comparison with perf inject # skip $(peer_died || echo perf is missing, or without jitdump)"
fi

record clock.data "$program" dump "$work"
functions "$PERCH" clock.data >clock.functions
cat clock.functions log >both
mv both log
[ ! -s clock.functions ] && [ "$(grep -c 'record with -k mono' log)" -eq 1 ] && ! grep -q 'perf-.*[.]map' log
report $? "a recording with another clock has no names of a jitdump, and a note with the reason"

# Checks the names of a perf map. The last line of the file counts, so jit_first has the name of jit_second. All programs of the
# machine may remove files of /tmp: without the map, the recording is made again.
check_map() { # name of the check, file, more arguments of the program
	local name=$1 file=$2 names map
	shift 2
	for _ in 1 2 3; do
		record "$file" "$program" map "$work" "$@"
		map=/tmp/perf-$(cat "$file.out").map
		maps+=("$map")
		functions "$PERCH" "$file" >map.functions
		names=$(awk '{ print $3 }' map.functions | sort -u | tr '\n' ' ')
		[ "$names" != "jit_moves jit_second " ] && [ ! -e "$map" ] || break
	done
	if [ -e "$map" ]; then
		[ "$names" = "jit_moves jit_second " ]
		report $? "$name"
	else
		echo "ok - $name # skip another program removed $map"
	fi
}
check_map "functions of a perf map have names" map.data
for kind in memfd sysv posix zero heap; do
	if "$program" map "$work" $kind >log; then
		maps+=("/tmp/perf-$(cat log).map")
		check_map "functions in memory of kind $kind have names of the perf map" "$kind.data" "$kind"
	else
		echo "ok - functions in memory of kind $kind # skip such memory is not executable here"
	fi
done

record memfd.data -k mono "$program" dump "$work" memfd
functions "$PERCH" memfd.data >map.functions
[ "$(awk '{ print $3 }' map.functions | sort -u | tr '\n' ' ')" = "jit_first jit_moves jit_second " ]
report $? "functions in a memfd have names of the jitdump"

# In a pid namespace of its own, with a /tmp of its own: files of the same names in /tmp of this machine are not used.
await() { # command
	for ((i = 0; i < 600; i++)); do
		"$@" && return
		sleep 0.05
	done
	return 1
}
child_of() { # process id
	child=$(cat "/proc/$1/task/$1/children" 2>/dev/null)
	child=${child%% *}
	[ -n "$child" ] && [ "/proc/$child/exe" -ef "$program" ]
}
run_inside() { # dump or map; with names of the report in inside.functions
	mkfifo inside.in
	unshare --pid --fork --kill-child --mount sh -c 'mount -t tmpfs tmpfs /tmp && exec /proc/self/fd/9 "$@"' \
		sh "$1" /tmp anon stay <>inside.in >inside.out 2>log 9<"$program" &
	outer=$!
	await child_of "$outer" || { kill "$outer"; return 1; }
	"$PERCH" record -q -k mono -e cpu-clock -F 999 -o inside.data -p "$child" >log 2>&1 &
	recorder=$!
	await test -s inside.data && echo >inside.in && await test -s inside.out
	kill -INT "$recorder"
	wait "$recorder"
	functions "$PERCH" inside.data >inside.functions
	kill -KILL "$child" # it is the first process of its namespace, and ignores SIGTERM
	wait "$outer"
	rm inside.in
	[ "$(cat inside.out)" = 1 ]
}
if unshare --pid --fork --mount sh -c 'mount -t tmpfs tmpfs /tmp' 2>/dev/null; then
	for kind in map dump; do
		run_inside $kind 2>>log
		awk '{ print $3 }' inside.functions | sort -u >names
		grep -q jit_second names && grep -q jit_moves names
		report $? "a $kind of a process in another pid namespace, with another /tmp, gives names while it runs"
	done
else
	echo "ok - process in another pid namespace # skip this user may not make namespaces"
fi

# The dump of a process that runs is read through its mapping when its path is gone. That needs CAP_SYS_ADMIN.
if [ "$(id -u)" -eq 0 ]; then
	mkdir deleted
	mkfifo deleted.in
	"$program" dump "$work/deleted" anon stay <>deleted.in >deleted.out 2>log &
	child=$!
	"$PERCH" record -q -k mono -e cpu-clock -F 999 -o deleted.data -p "$child" >log 2>&1 &
	recorder=$!
	await test -s deleted.data && echo >deleted.in && await test -s deleted.out
	kill -INT "$recorder"
	wait "$recorder"
	rm deleted/jit-*.dump
	functions "$PERCH" deleted.data >deleted.functions
	kill "$child"
	wait "$child"
	awk '{ print $3 }' deleted.functions | sort -u >names
	grep -q jit_second names && grep -q jit_moves names
	report $? "a jitdump that was deleted gives names while its process runs"
else
	echo "ok - a deleted jitdump # skip this user is not root"
fi

cat >hot.js <<'END'
function hotInner(n) {
	let sum = 0;
	for (let i = 0; i < n; i++)
		sum = (sum * 31 + i) % 1000003;
	return sum;
}
const end = Date.now() + 1000;
let all = 0;
while (Date.now() < end)
	all += hotInner(20000);
console.log(process.pid, all > 0);
END
if command -v node >/dev/null; then
	for option in --perf-prof --perf-basic-prof; do
		record "node$option.data" -k mono node "$option" hot.js
		maps+=("/tmp/perf-$(cut -d ' ' -f 1 "node$option.data.out").map")
		"$PERCH" report -i "node$option.data" --stdio -s sym >log 2>&1
		grep -q '^ *[1-9][0-9.]*%.*hotInner .*hot.js:1' log
		report $? "node $option: the function has its name"
	done
	record unwound.data -k mono --call-graph dwarf node --perf-prof --perf-prof-unwinding-info hot.js
	"$PERCH" script -i unwound.data 2>log | awk 'BEGIN { RS = "" } /hotInner/ { all++; whole += /__libc_start/ } END { print whole, all; exit !(all && whole >= 0.9 * all) }' >>log
	report $? "node --perf-prof-unwinding-info: user stacks are unwound through its code"
	# node 20 writes other bytes in place of the names of files: then there are no lines
	"$PERCH_BUILD_ROOT/examples/hot-lines" node--perf-prof.data 2>log | grep hotInner | sort | uniq -c >log
	[ -s log ] && ! grep -q -v -e ' ??:0$' -e 'hot.js:[1-5]$' log
	report $? "node --perf-prof: lines are right, or unknown"
else
	echo "ok - node # skip node is missing"
fi

cat >Hot.java <<'END'
public class Hot {
	static int hotInner(int n) {
		int sum = 0;
		for (int i = 0; i < n; i++)
			sum = (sum * 31 + i) % 1000003;
		return sum;
	}
	public static void main(String[] arguments) {
		long end = System.currentTimeMillis() + 1000;
		int all = 0;
		while (System.currentTimeMillis() < end)
			all += hotInner(20000);
		System.out.println(ProcessHandle.current().pid() + " " + all);
	}
}
END
# the options are those of the message about code without names; Java has them since version 17
options=(-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit)
if java "${options[@]}" -version >/dev/null 2>&1 && javac Hot.java 2>log && java Hot >/dev/null 2>&1; then
	record java.data java "${options[@]}" Hot
	maps+=("/tmp/perf-$(cut -d ' ' -f 1 java.data.out).map")
	"$PERCH" report -i java.data --stdio -s sym >log 2>&1
	grep -q '^ *[1-9][0-9.]*%.*Hot.hotInner(int)' log
	report $? "java ${options[*]}: the function has its name"
else
	echo "ok - java # skip java is missing, or too old"
fi

exit $status
