#!/bin/bash
# SPDX-License-Identifier: MIT
# Errors of users: a message on stderr, nothing on stdout, the right exit status.
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"
status=0

not_ok() {
	echo "not ok - $1"
	sed 's/^/  stdout: /' out | head -5
	sed 's/^/  stderr: /' err | head -5
	status=1
}

# refused NAME STATUS PATTERN COMMAND...: the command exits with the status, with the pattern on stderr and nothing on stdout. stderr has
# at most $most_lines lines (3).
refused() {
	local name=$1 expected=$2 pattern=$3 got
	shift 3
	"$@" > out 2> err < /dev/null
	got=$?
	if [ $got -eq "$expected" ] && [ ! -s out ] && grep -Eq -- "$pattern" err && [ "$(wc -l < err)" -le "${most_lines:-3}" ] &&
	   ! has_control_characters err; then
		echo "ok - $name"
	else
		echo "exit status $got, expected $expected; pattern $pattern"
		not_ok "$name"
	fi
}

# shown NAME PATTERN COMMAND...: the command succeeds, with the pattern on stdout
shown() {
	local name=$1 pattern=$2
	shift 2
	if "$@" > out 2> err < /dev/null && grep -Eq -- "$pattern" out; then
		echo "ok - $name"
	else
		not_ok "$name"
	fi
}

# True if the file has control characters other than tab and newline.
has_control_characters() {
	[ "$(LC_ALL=C tr -d '\000-\010\013-\037\177' < "$1" | wc -c)" -ne "$(stat -c %s "$1")" ]
}

printf 'this is no perf.data file, and longer than its header would be: %200s\n' end > text.data
: > empty.data
printf 'PERFILE2' > magic.data
mkdir directory.data

"$perch" > out 2> err
if [ $? -eq 2 ] && [ ! -s out ] && grep -q '^Usage: perch' err; then
	echo "ok - no command"
else
	not_ok 'no command'
fi
refused 'unknown command' 2 "unknown command 'nonsense'.*perch help" "$perch" nonsense
for pair in explian:explain exlpain:explain recrod:record recor:record stats:stat lst:list reprot:report \
	    docter:doctor Help:help srcipt:script; do
	refused "misspelt command ${pair%:*}" 2 "unknown command '${pair%:*}'. Did you mean ${pair#*:}\\?" "$perch" "${pair%:*}"
done
for word in x frobnicate kbm xyzzy "$(printf 'explain%0500d' 1)" ''; do
	refused "no command is similar to '${word:0:10}'" 2 "unknown command '[^']*'\. 'perch help'" "$perch" "$word"
done
refused 'a command of perf' 2 "unknown command 'inject': 'perch report' reads" "$perch" inject
refused 'a letter of perf' 2 "unknown option '-S': AUX areas are not recorded" "$perch" record -S true
refused 'an option of perf' 2 "unknown option '--objdump': instructions are decoded by" "$perch" report --objdump=objdump
refused 'an option of perf top' 2 "unknown option '--all-cgroups': 'perch record --all-cgroups' and" "$perch" top --all-cgroups
refused 'an option of perf stat' 2 "unknown option '--topdown': 'perch list topdown' lists" "$perch" stat --topdown true
refused 'a letter of perf report' 2 "unknown option '-H': the option is --hierarchy" "$perch" report -H
refused 'unknown command in help' 2 "unknown command 'nonsense'" "$perch" help nonsense
refused 'unknown command with escapes' 2 "unknown command" "$perch" $'\033[31m'
refused 'unknown option of perch' 2 "unknown option '--foo'" "$perch" --foo
refused 'two commands in help' 2 "'stat' is too much" "$perch" help list stat
refused 'misspelt option' 2 "unknown option '--interval-prnt'. Did you mean --interval-print\? 'perch help" \
	"$perch" stat --interval-prnt 3
refused 'misspelt negated option' 2 "unknown option '--no-childrn'. Did you mean --no-children\?" "$perch" report --no-childrn
refused 'an option that begins with another' 2 "unknown option '--freqency'. Did you mean --freq\?" \
	"$perch" record --freqency=9 true
refused 'no option is similar' 2 "unknown option '--frobnicate'. 'perch help" "$perch" report --frobnicate
shown 'perch help' '^  report ' "$perch" help
shown 'perch --help' '^  report ' "$perch" --help
shown 'perch --version' '^perch version [0-9]' "$perch" --version
shown 'perch -h' '^  report ' "$perch" -h
shown 'perch help help' '^Usage: perch help' "$perch" help help
shown 'perch help -h' '^Usage: perch help' "$perch" help -h
shown 'perch help perch-report' '^Usage: perch report' "$perch" help perch-report
for page in events causes options records; do
	shown "perch help $page" "man 7 perch-$page' shows" "$perch" help "$page"
	shown "perch help perch-$page" "man 7 perch-$page' shows" "$perch" help "perch-$page"
done
refused 'an unknown page' 2 "unknown command 'perch-nonsense'" "$perch" help perch-nonsense
for command in stat record report script list; do
	shown "perch help $command" "^Usage: perch $command" "$perch" help "$command"
	shown "perch $command --help" "^Usage: perch $command" "$perch" "$command" --help
	shown "perch $command -h" "^Usage: perch $command" "$perch" "$command" -h
	refused "$command: unknown option" 2 "unknown option '--nonsense'.*perch help $command" "$perch" "$command" --nonsense
	refused "$command: unknown short option" 2 "unknown option '-Z'" "$perch" "$command" -Z
done
for command in report script; do
	refused "$command: no perf.data" 1 'perf.data.*No such file.*perch record' "$perch" "$command"
	refused "$command: --no-input" 1 'perf.data.*No such file' "$perch" "$command" --no-input
	refused "$command: missing file" 1 'gone.data.*No such file' "$perch" "$command" -i gone.data
	refused "$command: name that is too long" 1 '([Ff]ile n|N|n)ame too long' "$perch" "$command" -i "$(printf '%5000s' x)"
	refused "$command: name with escapes" 1 'No such file' "$perch" "$command" -i $'\033[31m\nx'
	refused "$command: empty name" 1 'No such file' "$perch" "$command" -i ''
	refused "$command: directory" 1 'directory.data.*directory' "$perch" "$command" -i directory.data
	refused "$command: empty file" 1 'empty.data.*empty' "$perch" "$command" -i empty.data
	refused "$command: text file" 1 'text.data.*(not|no) .*perf.data' "$perch" "$command" -i text.data
	refused "$command: magic alone" 1 'magic.data' "$perch" "$command" -i magic.data
	refused "$command: device" 1 '/dev/null' "$perch" "$command" -i /dev/null
	refused "$command: option without argument" 2 "'-i' needs an argument" "$perch" "$command" -i
	refused "$command: operand" 2 "'perf.data' is not an option.*-i" "$perch" "$command" perf.data
done
# a key may be a field of a tracepoint in the file
"$perch" record -q -e task-clock -o keys.data true
# a list of all names follows
most_lines=20 refused 'report: unknown sort key' 2 "no column 'colour'" "$perch" report -i keys.data -s comm,colour
most_lines=20 refused 'report: empty sort key' 2 'no column' "$perch" report -s ,
refused 'report: percentage' 2 "'lots' is not a percentage" "$perch" report --percent-limit lots
refused 'report: percentage above 100' 2 'is not a percentage' "$perch" report --percent-limit 101
refused 'report: percentage nan' 2 'is not a percentage' "$perch" report --percent-limit nan
refused 'report: call graph' 2 "no call graph 'sideways'" "$perch" report -g sideways

# ---- a program with control characters in its names ----
cat > name.c <<'END'
#include <sys/prctl.h>
#include <time.h>
static volatile unsigned long sum;
__attribute__((noinline)) void inner(void) { for (int i = 0; i < 10000000; i++) sum += i; }
__attribute__((noinline)) void other(void) { for (int i = 0; i < 2000000; i++) sum += i; }
__attribute__((noinline)) void outer(void) { inner(); other(); sum++; }
int main(void)
{
	prctl(PR_SET_NAME, "\033[31mx\a\r\n\x9b\xff");
	for (clock_t end = clock() + CLOCKS_PER_SEC / 3; clock() < end;)
		outer();
	return 0;
}
END
program=$(printf 'na\033]0;me')
if ! gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls name.c -o "$program" 2> err; then
	echo "ok - recording # skip no gcc here: $(head -1 err)"
	exit $status
fi
gcc -s -o stripped name.c 2> err
refused 'record: a function of a stripped file' 2 "'.*/stripped' is stripped.*Use the offset" "$perch" record -e "uprobe:$PWD/stripped:inner" true
if ! "$perch" record -q -e cpu-clock -F 2000 -g -o p.data -- "./$program" 2> err; then
	echo "ok - recording # skip cannot record here: $(head -1 err)"
	exit $status
fi

for arguments in report 'report -g caller' 'report -g callee' 'report -g none' 'report --no-children' 'report --header' \
	'report --header-only' 'report --stats' 'report -s comm,dso,sym,pid,tid,cpu' 'report -s pid' script; do
	# the arguments are words
	# shellcheck disable=SC2086
	if "$perch" $arguments -i p.data > out 2> err && [ -s out ] && ! has_control_characters out && ! has_control_characters err &&
	   ! grep -q $'\x9b' out; then
		echo "ok - $arguments prints no control characters"
	else
		not_ok "$arguments prints no control characters"
	fi
done
shown 'the cleaned name is printed' '\?\[31mx' "$perch" report -i p.data --stdio

lines() { "$perch" report -i p.data "$@" 2> err | grep -c '^ *[0-9.]*%'; }
for key in comm dso sym symbol pid tid cpu; do
	shown "report -s $key" '^ +[0-9]+\.[0-9]+%' "$perch" report -i p.data -g none -s $key
done
shown 'report -s sym prints inner' '% .*\[\.\] inner' "$perch" report -i p.data --no-children -g none -s sym
shown 'report --sort=dso,sym' '% .*\[\.\] inner' "$perch" report -i p.data --sort=dso,sym --no-children -g none
shown 'report -g caller prints callees' '-(-[0-9.]+%-)?-.*(main|outer|_start|libc)' "$perch" report -i p.data -g caller -s sym
shown 'report -g callee prints callers' '-(-[0-9.]+%-)?-.*(inner|outer|main)' "$perch" report -i p.data -g callee --no-children
if [ "$("$perch" report -i p.data -g none --stdio | grep -c -e '--')" -le 1 ]; then
	echo "ok - report -g none has no graph"
else
	not_ok "report -g none has no graph"
fi
all=$(lines -g none --no-children)
some=$(lines -g none --no-children --percent-limit 50)
none=$(lines -g none --no-children --percent-limit 100)
if [ "$all" -gt "$some" ] && [ "$some" -ge 1 ] && [ "$none" -eq 0 ]; then
	echo "ok - --percent-limit: $all lines, $some above 50 %, none of 100 %"
else
	not_ok "--percent-limit: $all lines, $some above 50 %, $none of 100 %"
fi

# ---- samples without the field PERIOD ----
if command -v perf > /dev/null && perf record -q -e cpu-clock -c 1000000 -o fixed.data -- "./$program" 2> err; then
	shown 'a fixed period is the weight of each sample' 'Event count \(approx\.\): [0-9]+000000' "$perch" report -i fixed.data
else
	echo "ok - samples of a fixed period # skip $(peer_died || echo no perf here that records)"
fi

# ---- truncated and unreadable files ----
size=$(stat -c %s p.data)
for part in 2 3; do
	head -c $((size / part)) p.data > cut.data
	# function names are not checked: their mapping may be later in the file, in the ring of another CPU
	if "$perch" report -i cut.data -g none > out 2> err && grep -Eq '^ +[0-9.]+%' out &&
	   grep -Eq 'cut.data is truncated: [0-9]+ bytes of its data are missing' err; then
		echo "ok - the report of a file truncated to 1/$part has its samples"
	else
		not_ok "the report of a file truncated to 1/$part has its samples"
	fi
done
damaged=0
for cut in $(seq 1 37 600) $(seq 700 $((size / 60 + 13)) "$size"); do
	head -c "$cut" p.data > cut.data
	for command in report 'report --stats' script; do
		# shellcheck disable=SC2086
		timeout $((100 * slowness)) "$perch" $command -i cut.data > out 2> err
		code=$?
		if [ $code -gt 1 ] || [ ! -s err ]; then
			damaged=1
			echo "cut to $cut bytes: $command: exit status $code, $(wc -c < err) bytes of messages"
		fi
	done
done
if [ $damaged -eq 0 ]; then
	echo "ok - a file truncated anywhere is reported"
else
	not_ok "a file truncated anywhere is reported"
fi

cp p.data private.data
chmod 600 private.data
if [ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null && cp "$perch" perch-copy 2> err &&
   setpriv --reuid 65534 --regid 65534 --clear-groups ./perch-copy --version > out 2> err; then
	for command in report script; do
		refused "$command: unreadable" 1 'private.data.*Permission denied' \
			setpriv --reuid 65534 --regid 65534 --clear-groups ./perch-copy "$command" -i private.data
	done
else
	echo "ok - unreadable file # skip not root, or no setpriv"
fi
for command in help --help --version 'help stat' 'stat --help' 'list'; do
	"$perch" $command > /dev/full 2> err
	if [ $? -eq 1 ] && grep -q 'standard output cannot be written: No space left on device' err && [ "$(wc -l < err)" -eq 1 ]; then
		echo "ok - $command: a full disk is reported"
	else
		not_ok "$command: a full disk is reported"
	fi
done
for command in report script; do
	"$perch" $command -i p.data > /dev/full 2> err
	if [ $? -eq 1 ] && grep -q 'standard output cannot be written: No space left on device' err; then
		echo "ok - $command: a full disk is reported"
	else
		not_ok "$command: a full disk is reported"
	fi
done
exit $status
