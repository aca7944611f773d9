#!/bin/bash
# SPDX-License-Identifier: MIT
# Arguments of probes, of functions, lines and USDT probes, as perch record reads and perch script prints them.
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"

target=${PERCH_BUILD_ROOT:?}/tests/kernel/probe_target
# What clang says about variables depends on its version and on what it counts for fuzzers.
if readelf -p .comment "$target" 2> readelf_err | grep -q clang && command -v gcc > which_out; then
	gcc -g -O2 -o probe_target "${PERCH_SOURCE_ROOT:?}/tests/kernel/probe_target.c"
	gcc -g -O0 -o probe_target-plain "$PERCH_SOURCE_ROOT/tests/kernel/probe_target.c"
	target=$PWD/probe_target
fi

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
# ---- USDT: operands that are variables ----
cat > variable.c << 'END'
int calls = 7, list[3] = { 1, -2, 3 };
int main(void)
{
	for (; calls < 10; calls++)
		__asm__ volatile("990: nop\n.pushsection .note.stapsdt, \"\", \"note\"\n.balign 4\n.4byte 992f - 991f, 994f - 993f, 3\n"
				 "991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b, 0, 0\n.asciz \"shop\"\n.asciz \"open\"\n"
				 ".asciz \"-4@calls(%%rip) -4@list+4(%%rip) 8@none(%%rip)\"\n994: .balign 4\n.popsection\n" ::: "memory");
	return 0;
}
END
if [ "$(uname -m)" = x86_64 ] && gcc -O1 -o variable variable.c 2> err; then
	"$perch" record -c 1 -o u.data -e usdt:./variable:shop:open -- ./variable > out 2>&1
	grep -q "not read: arg3 (8@none(%rip)): its address is a symbol" out
	report $? "an operand that is no variable of the file"
	values u.data > got
	printf 'arg1=%d arg2=-2\n' 7 8 9 | diff - got > out 2>&1
	report $? "operands of a USDT probe that are variables"
else
	skip "operands of a USDT probe that are variables" "they are known on x86-64, and need gcc"
fi

# ---- functions: variables by debug information ----
# Emulated machines have programs without it.
if ! grep -q -a '\.debug_info' "$target"; then
	skip "variables of functions" "the program has no debug information here"
	exit "$failed"
fi
# Prints the members of the objects with the arguments, without the address.
objects() {		# file
	"$perch" script -j -i "$1" 2> script_err | sed 's/.*"trace":{"__probe_[a-z]*":[0-9]*,\(.*\)},"ip".*/\1/; s/"__probe_[a-z]*":[0-9]*,//'
}

# Compares the arguments of the three calls of a probe. In the wanted text N is the number of the call, from -1 on.
reads() {		# name, event, wanted
	"$perch" record -c 1 -o f.data -e "$2" -- "$program" > out 2>&1
	objects f.data > got
	for n in -1 0 1; do
		echo "${3//N/$n}"
	done | diff - got >> out 2>&1
	report $? "$1, $(basename "$program")"
}

refuses() {		# name, event, a part of the message
	"$perch" record -c 1 -o f.data -e "$2" -- "$program" > out 2>&1
	[ $? -ne 0 ] && grep -q -F -- "$3" out
	report $? "$1"
}

for program in "$target" "$target-plain"; do
	probe=uprobe:$program:work
	reads "parameters" "$probe(count, name, small, large)" \
		'"count":N,"name":"name of a thing","small":-3,"large":1099511627776'
	reads "members of structs" "$probe(item->number, item->next->name, item->list[1], item->high)" \
		'"item_number":11,"item_next_name":"last","item_list_1":-2,"item_high":17'
	reads "a name, and a global variable" "$probe(id=item->number, calls)" '"id":11,"calls":7'
	"$perch" record -c 1 -o r.data -e "uretprobe:$program:work(\$retval)" -- "$program" > out 2>&1
	objects r.data | sed 's/.*"retval":/"retval":/' > got
	printf '"retval":%d\n' 1099511627771 1099511627773 1099511627775 | diff - got >> out 2>&1
	report $? "what a function returns, $(basename "$program")"
	line=$(grep -n 'printf("work' "${PERCH_SOURCE_ROOT:?}/tests/kernel/probe_target.c" | cut -d: -f 1)
	reads "a line" "uprobe:$program:probe_target.c:$line(count)" '"count":N'
done
program=$target-plain
"$perch" record -c 1 -o f.data -e "uprobe:$program:work(*)" -- "$program" > out 2>&1
objects f.data | grep -c '^"count":-*[01],"name":"name of a thing","item":[0-9]*,"small":-3,"large":1099511627776$' > got
[ "$(cat got)" = 3 ]
report $? "all parameters"
"$perch" record -c 1 -o f.data -e "uprobe:$program:probe_target.c:$line(twice)" -- "$program" > out 2>&1
objects f.data > got
printf '"twice":%d\n' -2 0 2 | diff - got >> out 2>&1
report $? "a local variable on its line"

refuses "no such variable" "uprobe:$program:work(nix)" "no variable 'nix'"
refuses "no such member" "uprobe:$program:work(item->nix)" "no member 'nix'"
refuses "a struct is no value" "uprobe:$program:work(*item)" "it is a struct: name a member"
refuses "an array of arrays" "uprobe:$program:work(table[1])" "arrays of arrays"
refuses "an element that is far" "uprobe:$program:work(item[-9223372036854775808])" "no known size"
refuses "a struct that is returned" "uretprobe:$program:make_pair(\$retval.first)" "not returned in one register"
refuses "variables after the return" "uretprobe:$program:work(count)" 'only $retval'
refuses "no code on a line" "uprobe:$program:probe_target.c:2" "has no code"
refuses "no such source file" "uprobe:$program:nix.c:2" "no source file 'nix.c'"

# The lists of locations of DWARF 4 and 5 are in different sections.
cat > old.c << 'END'
int old(int a, int b);
int twice(int n);
__attribute__((noipa)) int old(int a, int b) { return twice(a + b) + b; }
END
cat > new.c << 'END'
int old(int a, int b);
int twice(int n);
int new(int a, int b);
__attribute__((noipa)) int twice(int n) { return 2 * n; }
__attribute__((noipa)) int new(int a, int b) { return twice(a + b) + b; }
int main(void) { return old(2, 3) + new(4, 5) == 0; }
END
if gcc -O2 -gdwarf-4 -c old.c 2> err && gcc -O2 -gdwarf-5 -c new.c 2> err && gcc -o both old.o new.o 2> err; then
	"$perch" record -c 1 -o f.data -e 'uprobe:./both:old(a, b),uprobe:./both:new(a, b)' -- ./both > out 2>&1
	values f.data > got
	printf 'a=%d b=%d\n' 2 3 4 5 | diff - got >> out 2>&1
	report $? "a file with units of DWARF 4 and 5"
else
	skip "a file with units of DWARF 4 and 5" "no gcc here that makes one: $(head -n 1 err)"
fi

# ---- functions that are inlined ----
cat > inlined.c << 'END'
#include <stdlib.h>
volatile int sum;
static inline __attribute__((always_inline)) void add_to(int count) { sum += count * count; }
__attribute__((noipa)) void one(int n);
__attribute__((noipa)) void one(int n) { add_to(n); }
__attribute__((noipa)) void other(int a, int n);
__attribute__((noipa)) void other(int a, int n) { sum += a; add_to(n); }
int main(int argc, char **argv) { one(argc + 8); one(11); one(12); other(argc, atoi(argv[1])); return 0; }
END
if gcc -O1 -g -o inlined inlined.c 2> err; then
	"$perch" record -c 1 -o f.data -e 'uprobe:./inlined:add_to(count)' -- ./inlined 50 > out 2>&1
	values f.data | sort > got
	printf 'count=%d\n' 10 11 12 50 | diff - got >> out 2>&1
	report $? "an inlined function by its name"
	"$perch" record -c 1 -o f.data -e 'uretprobe:./inlined:add_to' -- ./inlined 50 > out 2>&1
	[ $? -ne 0 ] && grep -q 'is inlined where it is called' out
	report $? "an inlined call has no return"
	"$perch" stat -e 'uprobe:./inlined:add_to' -- ./inlined 50 > out 2>&1
	grep -q ' 4 .*add_to' out
	report $? "counts of the places where it is inlined add up"
	gcc -O1 -g -gsplit-dwarf -o split inlined.c 2> err && "$perch" record -c 1 -o f.data -e 'uprobe:./split:add_to' -- ./split 50 > out 2>&1
	[ "$("$perch" script -F event -i f.data 2>> out | wc -l)" = 4 ]
	report $? "by debug information in a .dwo file"
	cat > near.c << 'END'
volatile int sum;
static inline __attribute__((always_inline)) void add_to(int count) { sum += count * count; }
__attribute__((noipa)) void one(int n, double d);
__attribute__((noipa)) void one(int n, double d) { add_to(n * d); }
void two(int n);
int main(int argc, char **argv) { (void)argv; one(argc, 2.5); two(3); return 0; }
END
	cat > far.c << 'END'
extern volatile int sum;
static inline __attribute__((always_inline)) void add_to(int count) { sum += count * count; }
__attribute__((noipa)) void two(int n);
__attribute__((noipa)) void two(int n) { add_to(n); }
END
	if [ "$(uname -m)" = x86_64 ] && gcc -O1 -g -c near.c 2> err && gcc -O1 -g -gsplit-dwarf -c far.c 2> err && gcc -o partly near.o far.o 2> err; then
		rm -f far.dwo
		"$perch" record -c 1 -o f.data -e 'uprobe:./partly:add_to(*)' -- ./partly > out 2>&1
		grep -q 'not read: d: .*, other places of the function: ' out
		report $? "both an argument and places that are not known are noted"
	else
		skip "both an argument and places that are not known are noted" "not built here"
	fi
	measured=$program
	# it has no symbol: only the debug file says that it is inlined, at one place
	cat > single.c << 'END'
static void leaf(volatile long *p, int x)
{
	for (int i = 0; i < 40; i++)
		p[i] = p[i] * 3 + x;
}
__attribute__((noipa)) long around(int x);
__attribute__((noipa)) long around(int x)
{
	volatile long list[40];
	for (int i = 0; i < 40; i++)
		list[i] = i;
	leaf(list, x);
	return list[39];
}
int main(void) { return (around(1) + around(2) + around(3)) % 2; }
END
	gcc -O2 -g -o single single.c && objcopy --only-keep-debug single single.debug && objcopy --strip-all --add-gnu-debuglink=single.debug single bare
	program=./bare
	refuses "a stripped file: an inlined call has no return" uretprobe:./bare:leaf "is inlined where it is called"
	refuses "a stripped file: an inlined call has no offsets" uprobe:./bare:leaf+4 "is inlined where it is called"
	refuses "a line in a function has no return" uretprobe:./bare:single.c:13 "no function begins at line 13"
	program=./single
	refuses "an offset in a function has no return" "uretprobe:./single:$(printf '%#x' $((0x$(nm single | sed -n 's/ T around$//p') + 1)))" "is inside of 'around'"
	"$perch" stat -e uprobe:./bare:leaf,uretprobe:./bare:around -- ./bare > out 2>&1
	[ "$(grep -c ' 3  *ur*e*t*probe' out)" = 2 ]
	report $? "a stripped file: calls of an inlined function, and returns of the one around it"
	# ---- parts, clones and copies beside each other ----
	cat > parts.c << 'END'
volatile long s;
__attribute__((noipa, cold)) void fail(int x);
__attribute__((noipa, cold)) void fail(int x) { s += x; }
__attribute__((noipa)) long outer(int x);
__attribute__((noipa)) long outer(int x)
{
	if (__builtin_expect(x > 38, 0)) { fail(x); s = x * 3; fail(x + 1); }
	return s;
}
static long f(long a, long mode)
{
	long r = a;
	for (long i = 0; i < a % 50 + 5; i++) {
		if (mode == 3) r = r * 31 + i; else if (mode == 2) r ^= s + i; else r -= s * i;
		s += r;
		if (r % 7 == 3) outer(1);
		if (r % 11 == 3) s ^= r << 3;
		if (r % 13 == 1) outer(2);
	}
	return r;
}
__attribute__((noinline)) long b(long x) { return f(x, 3) + 1; }
__attribute__((noinline)) long c(long x) { return f(x + 2, 3) + 2; }
__attribute__((noinline, flatten)) long d(long x) { return f(x + 3, 3) * 2; }
int main(int n, char **v)
{
	long t = (long)v & 1;
	for (int i = 0; i < 40; i++)
		t += outer(i);
	for (int i = 0; i < 10; i++)
		t += b(n + i) + c(n + i) + d(n + i);
	return t == 12345;
}
END
	gcc -O2 -g -w -o parts parts.c
	program=./parts
	if nm parts | grep -q ' outer\.cold$'; then
		refuses "a part that is jumped to has no return" uretprobe:./parts:outer.cold "jumped to"
		"$perch" stat -e 'uretprobe:./parts:out*' -- ./parts > out 2>&1
		grep -q 'uretprobe:./parts:outer ' out && ! grep -q 'cold' out
		report $? "a glob of returns leaves out parts that are jumped to"
	else
		skip "a part that is jumped to has no return" "gcc here makes none"
	fi
	if nm parts | grep -q ' f\.[a-z]*\.0$' && ! nm parts | grep -q ' f\.part'; then
		"$perch" stat -e uprobe:./parts:f -- ./parts > out 2>&1
		grep -q ' 30  *uprobe:./parts:f ' out
		report $? "calls of clones and of inlined copies add up"
	else
		skip "calls of clones and of inlined copies add up" "gcc here makes no clone"
	fi
	cat > seldom.c << 'END'
volatile int sink;
__attribute__((noipa, cold)) void fail(int x);
__attribute__((noipa, cold)) void fail(int x) { sink += x; }
static inline __attribute__((always_inline)) int once(int x)
{
	if (__builtin_expect(x == 77, 0)) { fail(x); sink = x * 3; fail(x + 1); }
	sink += x;
	return sink ^ x;
}
__attribute__((noipa)) int outer(int x);
__attribute__((noipa)) int outer(int x)
{
	int r = 0;
	for (int i = 0; i < x; i++)
		r += once(i + x) * 3;
	return r;
}
int main(void) { return outer(10) == 1; }
END
	for version in 4 5; do
		gcc -O2 -gdwarf-$version -w -o seldom seldom.c && "$perch" stat -e uprobe:./seldom:once -- ./seldom > out 2>&1
		grep -q ' 10  *uprobe:./seldom:once ' out
		report $? "a copy whose seldom run part is at a lower address, DWARF $version"
	done
	{
		echo 'static inline __attribute__((always_inline)) void tiny(int x) { static volatile int y; y = x; }'
		echo 'int main(int n, char **v) {'
		for ((i = 0; i < 300; i++)); do echo "tiny(n + $i);"; done
		echo 'return !v; }'
	} > many.c
	gcc -O1 -g -o many many.c
	program=./many
	refuses "a function that is inlined too often" uprobe:./many:tiny "inlined at 300 places"
	program=$measured
	refuses "no such function, inlined or not" 'uprobe:./inlined:add_ti' "no function 'add_ti'"
else
	skip "inlined functions" "no gcc here that builds one: $(head -n 1 err)"
fi

# ---- perch list ----
"$perch" list -x "$program" 'wor*' > out 2>&1 &&
	grep -q '^  work  *\[function\] 0x[0-9a-f]*, [0-9]* bytes (count, name, item, small, large)$' out
report $? "perch list -x: functions with parameters"
"$perch" list -x "$target" shop > out 2>&1
[ "$(uname -m)" != x86_64 ] || grep -q '^  shop:sold  *\[usdt\] 0x.* arg1=%[a-z0-9]*:s32 ' out
report $? "perch list -x: USDT probes with arguments"
! "$perch" list -x "$target" nix > out 2>&1 && grep -q 'matches$' out
report $? "perch list -x: no match"

# ---- perch trace -u ----
# Prints calls and lost calls of a function of the table.
joined() {		# function
	awk -v name=":$1" '$8 ~ name"$" { print $1, $7 }' out
}

program=$target-plain
"$perch" trace -u "$program:[fio]*" -- "$program" > out 2>&1
[ "$(joined fib), $(joined outer), $(joined inner)" = "15 0, 3 2, 3 2" ]
report $? "calls of functions: recursive, and left by longjmp"
"$perch" trace -v -u "$program:work(count,\$retval)" -- "$program" > out 2>&1
sed -n 's/^.* work(\(.*\)) \(.*\) <.*us>$/\1 \2/p' out > got
printf 'count=%d retval=%d\n' -1 1099511627771 0 1099511627773 1 1099511627775 | diff - got > diff_out
report $? "each call with arguments and result"
"$perch" trace -u "$program:work" -- sh -c "$program > /dev/null; exit 3" > out 2>&1
[ $? -eq 3 ] && [ "$(joined work)" = "3 0" ]
report $? "the exit status is that of the program, and children are traced"
"$perch" trace -u "$program:nix" -- "$program" > out 2>&1
[ $? -ne 0 ] && grep -q "no function 'nix'" out && grep -q '^ *uprobe:.*:nix$' out
report $? "no such function"
grep -q '^perch trace: ' out && ! grep -q '^perch record' out
report $? "messages name the command"
"$perch" trace -j -o rows -u "$program:[fio]*" -- "$program" > out 2>&1
sed -n 's/.*:\([a-z]*\)","calls":\([0-9]*\),.*"lost":\([0-9]*\)}$/\1 \2 \3/p' rows | sort | tr '\n' ' ' > got
[ "$(cat got)" = "fib 15 0 inner 3 2 outer 3 2 " ]
report $? "objects of functions in a file"
"$perch" trace -v -j -u "$program:work(count,\$retval)" -- "$program" 2>&1 | sed -n 's/.*"arguments":{"count":\(.*\)},"returned":{"retval":\(.*\)}}$/\1 \2/p' > got
printf '%d %d\n' -1 1099511627771 0 1099511627773 1 1099511627775 | diff - got > diff_out
report $? "objects of calls"
"$perch" trace -u "$program:work" -- true > out 2>&1
[ $? -eq 0 ] && grep -q 'no call was seen' out
report $? "no call"

"$perch" stat -e "usdt:$target:shop:sold" -- "$target" > out 2>&1 && grep -q ' 3 .*usdt:' out
report $? "a USDT probe with arguments is counted"
[ ! -d /sys/kernel/tracing/events/perch ] ||
	! find /sys/kernel/tracing/events/perch -name "p_*_$$_*" | grep -q .
report $? "no definition is left"

# ---- signals while events are opened ----
left=
for seconds in 0.01 0.03 0.05 0.08 0.12 0.2; do
	"$perch" record -a -o ended.data -e "uprobe:$target-plain:work(count)" sleep 5 > out 2>&1 &
	sleep "$seconds"
	kill -TERM $! 2> err
	wait $! 2> err
	[ ! -d /sys/kernel/tracing/events/perch ] ||
		left="$left$(find /sys/kernel/tracing/events/perch -name "p_*_$!_*")"
done
[ -z "$left" ]
report $? "a signal while events are opened leaves no definition$left"
"$perch" record -o ended.data -e "uprobe:$target-plain:work(count)" sh -c 'trap "" TERM; sleep 2' > out 2>&1 &
sleep 0.5
kill -TERM $! 2> err
sleep 0.3
kill -TERM $! 2> err
wait $! 2> err
[ ! -d /sys/kernel/tracing/events/perch ] ||
	! find /sys/kernel/tracing/events/perch -name "p_*_$!_*" | grep -q .
report $? "nor a second one while the recorder waits for the program"
(ulimit -c 0 && exec "$perch" stat -e "uprobe:$target-plain:work(count)" sh -c 'echo $PPID > stat_pid; kill -QUIT $PPID; exec sleep 10') > out 2>&1
[ $? -eq 131 ] && grep -q ' 0 .*uprobe:' out
report $? "SIGQUIT ends the program of stat, and the counts are printed"
[ ! -d /sys/kernel/tracing/events/perch ] ||
	! find /sys/kernel/tracing/events/perch -name "p_*_$(cat stat_pid)_*" | grep -q .
report $? "and no definition is left"

"$perch" trace sh -c 'trap "" TERM; echo $$ > program_pid; sleep 20' > out 2>&1 &
trace=$!
tries=0
while [ $tries -lt 100 ] && kill -0 $trace 2> err; do
	[ ! -s program_pid ] || kill -TERM $trace 2> err
	sleep 0.1
	tries=$((tries + 1))
done
kill -0 "$(cat program_pid)" 2> err && ! kill -0 $trace 2> err
report $? "another signal ends trace, whose program ignores SIGTERM"
kill -KILL "$(cat program_pid)" $trace 2> err
wait $trace 2> err
[ ! -d /sys/kernel/tracing/events/perch ] ||
	! find /sys/kernel/tracing/events/perch -name "p_*_${trace}_*" | grep -q .
report $? "and it leaves no definition"
exit $failed
