#!/bin/bash
# SPDX-License-Identifier: MIT
# Options of perch record: what each one adds to the file, and messages for wrong arguments.
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"
cgroup=
busy=
clean() {
	[ -z "$busy" ] || kill -KILL "$busy" 2> /dev/null
	[ -z "$cgroup" ] || rmdir "$cgroup"
}

record() {
	"$perch" record -o a.data "$@" > out 2>&1
}

refuses() {		# name, exit status, a part of the message, options
	local name=$1 wanted=$2 message=$3
	shift 3
	record "$@"
	local got=$?
	[ $got -eq "$wanted" ] && grep -q -e "$message" out
	report $? "refuses $name: status $wanted"
}

# Number of samples, or of other records, in the file.
count() {
	"$perch" report --stats -i a.data 2> /dev/null | awk -v kind="$1" '$1 == kind { print $3; found = 1; exit }
		END { if (!found) print 0 }'
}

at_least() {
	[ "$(count "$1")" -ge "$2" ] 2> /dev/null
}

# The value of a field in the attr that -vv shows for the first event. Events whose samples begin with the time
# date the recording and measure what a sample costs.
field() {
	awk -v name="$1" '
		/^perf_event_attr/ { inside = 1; value = "" } inside && $1 == "sample_type" { type = $2 } inside && $1 == name { value = $2 }
		/^sys_perf/ && type !~ /^TIME/ { if (value != "") print value; exit }' out
}

set_burn 50
forever='while :; do :; done'

record -e cpu-clock -- true || { echo "skipped: cannot record here: $(cat out)"; exit 77; }

if in_user_space; then
	refuses "a mode after -g, which takes none" 127 "-g takes no mode: use --call-graph fp" -e cpu-clock -g fp -- true
	refuses "a mode with a size after -g" 127 "use --call-graph dwarf,4096" -e cpu-clock -g dwarf,4096 true

	record -e cpu-clock --call-graph dwarf,5 -- true && grep -q 'dwarf,SIZE is rounded up to 8 bytes' out
	report $? "a stack size that is not a multiple of 8 is rounded up, with a note"
	record -e cpu-clock --call-graph dwarf,5 --call-graph dwarf,16 -- true && ! grep -q rounded out
	report $? "the last stack size counts"
fi

# ---- what the event cannot give ----
ignored=--weight bit=WEIGHT
record -e cpu-clock --weight -- true || ! grep -q 'needs Linux' out || ignored=--transaction bit=TRANSACTION
record -e cpu-clock:pp $ignored --data -- true && grep -q 'cpu-clock:pp: precise_ip 2 is ignored' out &&
	grep -q "cpu-clock:pp: samples of .* have 0 in ${bit}[_A-Z]*: only" out && ! grep -q DATA_SRC out
report $? "fields that a software event lacks are reported without -v"
record -q -e cpu-clock:pp $ignored -- true && [ ! -s out ]
report $? "-q prints no note"

# ---- events ----
printf 'cpu-clock	# a timer\n\n# nothing here\npage-faults\n' > events
record --event-file events -- sh -c "$burn" && "$perch" report --stats -i a.data > out 2>&1 &&
	grep -q '^cpu-clock stats:' out && grep -q '^page-faults stats:' out
report $? "--event-file"
record -e '{cpu-clock,page-faults}:S' -- sh -c "$burn" && at_least SAMPLE 20 &&
	[ "$("$perch" dump -i a.data 2> /dev/null | grep -c 'SAMPLE.*page-faults')" -eq 0 ]
report $? "a group with S: only the leader samples"
"$perch" script -F event,period -i a.data > out 2>&1 && grep -q '^ *[0-9]* *cpu-clock:' out && grep -q '^ *[0-9]* *page-faults:' out
report $? "... and perch script prints what each event has counted"
record -e cpu-clock/period=1000000/ -e page-faults/period=1/ -F 100 -vv -- sh -c "$burn" &&
	[ "$(grep -c 'sample_period, sample_freq }  *1000000$' out)" -ge 1 ]
report $? "a term's period wins over -F"
record -n -e cpu-clock -- sh -c "$burn" && [ "$(count SAMPLE)" -eq 0 ] && at_least COMM 1
report $? "-n: no samples, but COMM records"
if in_user_space; then
	record -vv -e cpu-clock -c 250000 -- true && grep -q '^perf_event_attr:$' out && [ "$(field sample_type)" = "IP|TID|TIME" ] &&
		grep -q '^sys_perf_event_open: pid [0-9]*  cpu 0  group_fd -1  flags 0x8 = [0-9]*$' out
	report $? "-vv prints attrs and perf_event_open calls"
fi

filter() {
	record -a -e sched:sched_switch --filter 'prev_pid == 0' -- sleep 0.2 || return 77
	"$perch" report --stats -i a.data > out 2>&1
}
if filter; then
	# of swapper alone
	[ "$("$perch" script -i a.data 2> /dev/null | grep sched_switch | grep -vc '^ *swapper')" -eq 0 ]
	report $? "--filter: the file has only matching samples"
	refuses "a filter on an unknown field" 2 "no field 'nofield'" -a -e sched:sched_switch --filter 'nofield == 1' -- true
else
	echo "ok - --filter # skip tracepoints cannot be recorded here: $(head -1 out)"
fi
if in_user_space; then
	refuses "a filter of an event that is not a tracepoint" 2 "filter" -e cpu-clock --filter 'x == 1' -- true
	refuses "a filter before any event" 2 "filter" --filter 'x == 1' -e cpu-clock -- true
fi

# ---- enable windows, sizes ----
# the first sample is at least 0.5 s after the start of the program, which is before it reads the clock
for seconds in 1 3 10; do	# until the program has run after that, on a busy machine too
	record -e cpu-clock -k boottime -D 500 -- sh -c "read start rest < /proc/uptime; echo \$start > start; timeout $seconds sh -c '$forever'; true" &&
		at_least SAMPLE 1 && break
done
at_least SAMPLE 1 && "$perch" script -i a.data 2> /dev/null | awk -v start="$(cat start)" '/cpu-clock/ {
	for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\.[0-9]+:$/) { nr++; early += $i + 0 < start + 0.2 }
} END { exit !(nr && !early) }' && at_least MMAP2 2
report $? "-D: later samples, and all mappings"
record -e cpu-clock -D -1 -- sh -c "$burn" && [ "$(count SAMPLE)" -eq 0 ] && at_least MMAP2 2
report $? "-D -1: no samples"
grep -q 'no samples: with -D -1 only commands of --control enable the events; add --control' out && [ "$(grep -c 'no samples' out)" -eq 1 ]
report $? "-D -1 without --control: perch says so"
# Prints how many rows of processes have samples, one process after the other. Each process has page faults, all of which are
# sampled in a window, so the number does not depend on times if a process starts and ends in each window, and between them.
sampled_rows() {	# milliseconds of each window, and of the time before it
	local last=$(($1 * 4 / 10))	# hundredths of a second, as /proc/uptime has
	rm -f pids
	record -e page-faults -c 1 -D "$1-$(($1 * 2)),$(($1 * 3))-$(($1 * 4))" -- sh -c "
		now() { read now rest < /proc/uptime; now=\${now%.*}\${now#*.}; }
		now; end=\$((now + $last + 50))
		while [ \$now -lt \$end ]; do sleep 0.05 & echo \$! >> pids; wait; now; done" || return
	"$perch" script -i a.data 2> /dev/null | awk '/page-faults/ { print $2 }' > sampled
	awk 'NR == FNR { sampled[$1]; next } { on = $1 in sampled; rows += on && !before; before = on } END { print rows + 0 }' sampled pids
}
for window in 400 1500 5000; do		# a busy machine may start no process in a short window
	rows=$(sampled_rows $window)
	[ "$rows" = 2 ] && break
done
[ "$rows" = 2 ]
report $? "-D with two enable windows: ${rows:-no} rows of processes have samples"
record --force -e cpu-clock -F "$(frequency 10000)" --max-size 100K -- timeout 20 sh -c "$forever"
[ $? -eq 143 ] && grep -q "has reached --max-size" out && [ "$(stat -c %s a.data)" -ge 102400 ]
report $? "--max-size ends recording and program"
if in_user_space; then
	record -e cpu-clock -m 3 -- true && grep -q "rounded up to 4 pages" out
	report $? "-m is not a power of two"
	refuses "a period of 0" 2 "must be above 0" -c 0 -- true
	refuses "windows that are not ascending" 2 "-D 5-3" -D 5-3 -- true
	refuses "not a size" 2 "max-size" --max-size lots -- true
	refuses "-n with -F" 2 "choose one" -n -F 5 -- true
	refuses "--all-user with --all-kernel" 2 "choose one" --all-user --all-kernel -- true
fi

# ---- contents of samples ----
adds() {		# bit of sample_type, options
	local bit=$1
	shift
	record -vv -e cpu-clock "$@" -- sh -c "$burn"
	local rc=$?
	case "|$(field sample_type)|" in *"|$bit|"*) ;; *) rc=1 ;; esac
	[ $rc -eq 0 ] && at_least SAMPLE 20
	report $? "$*: $bit"
}
adds ADDR -d
adds DATA_SRC -d
if record -e cpu-clock -W -- true || ! grep -q 'needs Linux' out; then
	adds WEIGHT_STRUCT -W
else
	skip "-W: WEIGHT_STRUCT" "$(head -1 out)"
fi
adds TRANSACTION --transaction
adds RAW -R
adds CPU --sample-cpu
adds IDENTIFIER --sample-identifier
adds PERIOD -c 250000 -P
adds CALLCHAIN -g
adds STACK_USER --call-graph dwarf,1024
adds REGS_USER --call-graph dwarf
adds REGS_INTR -I
adds REGS_USER --user-regs
if [ "$(id -u)" -eq 0 ]; then
	adds PHYS_ADDR --phys-data
fi
if record -e cpu-clock --data-page-size --code-page-size -- true; then
	adds DATA_PAGE_SIZE --data-page-size
	adds CODE_PAGE_SIZE --code-page-size
else
	grep -q 'DATA_PAGE_SIZE of sample_type needs Linux 5.11' out && ! grep -q 'build_id' out
	report $? "a kernel without page sizes: no other feature that it lacks is named"
	echo "ok - page sizes # skip this kernel has none: $(head -1 out)"
fi
if in_user_space; then
	record -vv -e cpu-clock --user-regs=0x3 -- true && [ "$(field sample_regs_user)" = 0x3 ]
	report $? "--user-regs by a mask"
	"$perch" record --user-regs=? > out && grep -q '^available registers: ' out
	report $? "--user-regs=? lists the registers"
	refuses "an unknown register" 2 "--user-regs 'q9': expected " --user-regs=q9 -- true
	refuses "an unknown branch type" 2 "--branch-filter 'sideways': expected any, " -j any,sideways -- true
fi
refuses "branches of a timer" 1 "branch" -e cpu-clock -b -- true

if in_user_space; then
	for option in event event-file filter cgroup; do
		refuses "--no-$option" 2 "--$option cannot be negated" --no-$option -- true
	done
	refuses "a clock that the kernel does not support" 2 "--clockid '99': expected monotonic, " -k 99 -- true
fi
if [ -r /sys/kernel/tracing/events/sched/sched_switch/id ]; then
	refuses "a filter that the kernel refuses" 1 "event 'sched:sched_switch', filter 'prev_pid =!'" \
		-e sched:sched_switch --filter 'prev_pid =!' -- true
	refuses "a filter that begins without a field" 1 "'>' is where a field must be" -e sched:sched_switch --filter '> 5' -- true
	refuses "a filter with a variable of the shell" 1 "'\$pid' is where a field must be.*the shell replaces" -e sched:sched_switch \
		--filter '$pid == 1' -- true
	refuses "an empty filter" 2 "the filter is empty.*FIELD OPERATOR VALUE" -e sched:sched_switch --filter '' -- true
fi
if [ -r /sys/kernel/tracing/events/syscalls/sys_enter_openat/id ]; then
	record -e syscalls:sys_enter_openat --filter 'filename ~ "*x*" && dfd != 1' -- true &&
		grep -q "compares 'filename' of 'syscalls:sys_enter_openat', a string of user space.*write filename.ustring" out
	report $? "a filter that is never true is noted"
	if record -e syscalls:sys_enter_openat --filter 'filename.ustring ~ "*"' -- true; then
		[ "$(count SAMPLE)" -ge 1 ] && ! grep -q "user space" out
		report $? "... one with .ustring is not, and selects samples"
	else
		skip "a filter with .ustring" "before Linux 5.17"
	fi
fi
if [ -r /sys/kernel/tracing/events/sched/sched_switch/id ]; then
	refuses "a filter with a misspelled field" 2 "no field 'prev_pd'.*Did you mean prev_pid?" \
		-e sched:sched_switch --filter 'prev_pd > 0' -- true
	for filter in 'common_pid != 7 && cpu >= 0' 'prev_comm != "a && zork > 1"' '!(prev_pid & 1) || next_comm ~ "x*"' \
		'CPU >= 0' "next_comm != 'zork == 1'"; do
		record -e sched:sched_switch --filter "$filter" -- true
		report $? "accepts the filter $filter"
	done
fi

# ---- probes ----
if record -e "uprobe:$perch:main" -- "$perch" --version; then
	[ "$(count SAMPLE)" = 1 ]
	report $? "a probe is sampled each time"
	# an event with a path cannot be inherited: the probe is a tracepoint of tracefs meanwhile
	twice="'$perch' --version; '$perch' --version; true"
	record -e "uprobe:$perch:main" -- sh -c "$twice" && [ "$(count SAMPLE)" = 2 ] &&
		[ "$(grep -c '^perch version' out)" = 2 ]
	report $? "a probe is sampled in children"
	record -e "{cpu-clock,uprobe:$perch:main}" -- sh -c "$twice" && "$perch" script -i a.data 2> /dev/null > out &&
		[ "$(grep -c "uprobe:" out)" = 2 ]
	report $? "... in a group too"
	"$perch" stat -x, -e "uprobe:$perch:main,uretprobe:$perch:main" -- sh -c "$twice" > out 2>&1 &&
		[ "$(grep -c '^2,,u' out)" = 2 ]
	report $? "... and counted by stat, with their returns"
	"$perch" stat -e "uprobe:$perch:main:u" -- true > out 2>&1 && ! grep -q 'only in the kernel' out
	report $? "... in user space too"
	record -i -e "uprobe:$perch:main" -- sh -c "$twice" && [ "$(count SAMPLE)" = 0 ]
	report $? "-i: a probe is not sampled in children"
	if command -v g++ > /dev/null; then
		cat > shapes.cc <<- 'EOF'
			namespace ns {
			__attribute__((noinline)) int f(int a) { asm volatile(""); return a; }
			__attribute__((noinline)) int f(int a, char b) { asm volatile(""); return a * b; }
			__attribute__((noinline)) int g(int a) { asm volatile(""); return a + 1; }
			}
			int main() { return ns::f(0) + ns::f(0, 1) + ns::f(0, 2) + ns::g(-1); }
		EOF
		g++ -O1 -o shapes shapes.cc
		record -e "uprobe:./shapes:ns::g,uprobe:./shapes:'ns::f(int, char)'" -- ./shapes && [ "$(count SAMPLE)" = 3 ]
		report $? "probes of functions with demangled names"
		"$perch" stat -x, -e 'uprobe:./shapes:ns::f(int)' -- ./shapes > out 2>&1 && grep -q '^1,,u' out
		report $? "... without quotes"
		"$perch" stat -x, -e 'uprobe:./shapes:ns::f(int,char)' -- ./shapes > out 2>&1 && grep -q '^2,,"u' out
		report $? "... with other spaces"
		record -e "uprobe:./shapes:ns::f" -- ./shapes
		[ $? -eq 2 ] && grep -q "several functions 'ns::f'" out && grep -q "'ns::f(int)'" out && grep -q "'ns::f(int, char)'" out
		report $? "... of several functions, which are listed"
	fi
	if [ -x shapes ]; then
		mkdir -p 'a b#c' && cp shapes 'a b#c/shapes'
		"$perch" stat -x, -e 'uprobe:"./a b#c/shapes":ns::g' -- sh -c '"./a b#c/shapes"; "./a b#c/shapes"; true' > out 2>&1 && grep -q '^2,,' out
		report $? "a probe is counted in children if the path of its file has a space"
	fi
	# without capstone, every such probe has a note
	if [ "$(uname -m)" = x86_64 ] && command -v gcc > /dev/null &&
		! "$perch" stat -e "uprobe:$perch:main+1" true 2>&1 | grep -q 'built without capstone'; then
		# the same bytes at other offsets of functions: an instruction of 5 bytes, one after unknown bytes, one that a jump leads into,
		# one that may be data
		cat > inside.s <<- 'EOF'
			.globl main, plain, unknown, target, data
			.type main, @function
			.type plain, @function
			.type unknown, @function
			.type target, @function
			.type data, @function
			plain: movl $0x12345678, %eax
			ret
			.size plain, . - plain
			unknown: jmp 1f
			.byte 6
			1: movl $0x12345678, %eax
			ret
			.size unknown, . - unknown
			target: jmp 1f
			.byte 0xb8
			1: cmpl $0x12345678, %eax
			ret
			.size target, . - target
			data: jmp *%rax
			movl $0x12345678, %eax
			ret
			.size data, . - data
			main: call plain
			xorl %eax, %eax
			ret
			.size main, . - main
			.section .note.GNU-stack
		EOF
		gcc -o inside inside.s
		at=$(printf %#x $((0x$(nm inside | awk '$3 == "plain" { print $1 }') + 2)))
		"$perch" stat -x, -e uprobe:./inside:plain+5 ./inside > out 2>&1 && [ "$(wc -l < out)" = 1 ] && grep -q '^1,,u' out
		report $? "a probe at an instruction inside a function"
		for command in stat 'record -o /dev/null' top; do
			for place in plain+2 "$at" "plain+2/name=x/"; do
				# the command is words
				# shellcheck disable=SC2086
				"$perch" $command -e "uprobe:./inside:$place" -- ./inside > out 2>&1
				[ $? -eq 2 ] && grep -q 'plain+0x2 is inside the one at plain+0\. Instructions start at plain+0 (0x.*plain+0x5 (0x' out
				report $? "${command%% *}: $place inside an instruction is refused"
			done
		done
		echo uprobe:./inside:plain+4 > inside.events
		"$perch" stat --event-file inside.events ./inside > out 2>&1
		[ $? -eq 2 ] && grep -q 'plain+0x4 is inside' out
		report $? "... also in a file of events"
		for place in unknown+5 target+3 data+4; do
			"$perch" stat -e "uprobe:./inside:$place" ./inside > out 2>&1 && grep -q "'uprobe:./inside:$place': it is not known if an instruction starts" out
			report $? "$place may be an instruction: a note"
		done
		for place in unknown+3 unknown+8 target+2 data+2 plain; do
			"$perch" stat -e "uprobe:./inside:$place" ./inside > out 2>&1 && ! grep -q 'not known' out
			report $? "an instruction starts at $place"
		done
		next=$(printf %x $((0x$(nm inside | awk '$3 == "unknown" { print $1 }') - 0x$(nm inside | awk '$3 == "plain" { print $1 }') + 3)))
		for command in stat 'record -o /dev/null' top; do
			# the command is words
			# shellcheck disable=SC2086
			"$perch" $command -e "uprobe:./inside:plain+0x$next" -- ./inside > out 2>&1
			[ $? -eq 2 ] && grep -q "offset 0x$next is beyond the end of the function 'plain' of .*, which has 0x6 bytes.* is unknown: use unknown+0x3" out
			report $? "${command%% *}: an offset beyond the end of the function is refused"
		done
		"$perch" stat -e uprobe:./inside:0x10 true > out 2>&1
		[ $? -eq 2 ] && grep -q 'offset 0x10 of .* no code is there' out
		report $? "an offset without code is refused"
		strip -o stripped inside
		"$perch" stat -e "uprobe:./stripped:$at" true > out 2>&1 && grep -q 'not known if an instruction .* stripped' out
		report $? "the code of a stripped file is not known"
		"$perch" stat -e "uretprobe:./stripped:$at" true > out 2>&1 && grep -q 'not known if a function begins there: .* stripped' out
		report $? "and not where a function begins, for a return probe"
		if command -v objcopy > /dev/null; then
			objcopy --only-keep-debug inside inside.debug && objcopy --strip-all --add-gnu-debuglink=inside.debug inside linked
			"$perch" stat -x, -e uprobe:./linked:plain ./linked > out 2>&1 && grep -q '^1,,uprobe:./linked:plain,' out
			report $? "a function that only the debug file has is found"
			read -r offset address <<- EOF
				$(readelf -lW linked | awk '$1 == "LOAD" && $0 ~ / R E / { print $2, $3; exit }')
			EOF
			"$perch" stat -x, -e "uprobe:./linked:$(printf %#x $((at - 2 - address + offset)))" ./linked > out 2>&1 && grep -q '^1,,u' out
			report $? "... its offset in the file is probed"
		fi
	fi
	# four threads count the calls of a function of libc
	cat > threads.py << 'EOF'
import ctypes, threading
labs = ctypes.CDLL(None).labs
workers = [threading.Thread(target=lambda: [labs(1) for _ in range(100)]) for _ in range(4)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
EOF
	# shellcheck disable=SC2016
	sh -c 'echo $$ > counter; exec "$@"' sh "$perch" stat -x, -e uprobe:libc:labs -- python3 threads.py > out 2>&1 &&
		grep -q '^400,,uprobe:libc:labs' out
	report $? "a probe counts every thread: $(head -1 out)"
	# other tests have theirs
	! grep "perch/p_[0-9]*_$(cat counter)_" /sys/kernel/tracing/uprobe_events > out
	report $? "its probe does not stay in tracefs"
	record -a -e "uprobe:$perch:main" -- sh -c "'$perch' --version; '$perch' --version" &&
		[ "$(count SAMPLE)" -ge 2 ]
	report $? "-a: a probe records child processes"
else
	echo "ok - probes # skip $(head -1 out)"
fi

# the kernel exchanges the ids of two equal software events, so their samples need the same fields
record -e faults/period=3/,faults -- sh -c "$burn" && at_least SAMPLE 4 && "$perch" script -i a.data > out 2>&1 &&
	! grep -q 'cannot be decoded' out
report $? "two equal events, one with a period"

# ---- lost records ----
# the recorder is stopped meanwhile, so no LOST record counts the last lost records
"$perch" record -m 1 -c 1 -e page-faults -d -g -o a.data -- sh -c 'kill -STOP $PPID; for i in 1 2 3 4 5 6 7 8; do
	dd if=/dev/zero of=/dev/null bs=4M count=1 2> /dev/null; done; kill -CONT $PPID' > out 2>&1
lost=$(sed -n 's/.*: \([0-9]*\) records were lost.*/\1/p' out)
[ "${lost:-0}" -gt 500 ] && at_least LOST_SAMPLES 1 &&
	"$perch" report --stdio -i a.data 2> /dev/null | grep -q "^# Total Lost Samples: $lost$"
report $? "all lost records are reported"
"$perch" record -m 1 -c 1 -e page-faults,minor-faults -o a.data -- sh -c 'kill -STOP $PPID; for i in 1 2 3 4 5 6 7 8; do
	dd if=/dev/zero of=/dev/null bs=4M count=1 2> /dev/null; done; kill -CONT $PPID' > out 2>&1
lost=$(sed -n 's/.*: \([0-9]*\) records were lost.*/\1/p' out)
places=$(grep ' lost: ' out | grep -o '[0-9]* on CPU' | awk '{ sum += $1 } END { print sum }')
of_one=$(grep ' lost: minor-faults: ' out | grep -o '[0-9]* on CPU' | awk '{ sum += $1 } END { print sum }')
in_file=$("$perch" dump -i a.data 2> /dev/null |
	awk '$2 ~ /^[A-Z]/ { one = $2 == "LOST_SAMPLES" && /minor-faults/ } one && $1 == "lost" { sum += $2 }
		END { print sum }')
[ "${lost:-0}" -gt 500 ] && [ "$places" = "$lost" ] && [ "${of_one:-0}" -gt 200 ] && [ "$of_one" = "$in_file" ]
report $? "... by event and CPU"

# ---- other records ----
record -e cpu-clock --switch-events -- sh -c "sleep 0.05; sleep 0.05; $burn" && at_least SWITCH 4
report $? "--switch-events"
record -e cpu-clock --namespaces -p $$ -- sleep 0.05 && at_least NAMESPACES 1
report $? "--namespaces"
record -e cpu-clock --namespaces -- true && at_least NAMESPACES 1
report $? "--namespaces of the program itself"
record -e cpu-clock --all-cgroups -- sh -c "$burn" && at_least CGROUP 1
report $? "--all-cgroups"
record -vv -s -e cpu-clock -- sh -c "sh -c '$burn'; exit 0" && [ "$(field inherit_stat)" = 1 ]
rc=$?
if [ $rc -eq 0 ] && [ "$(count READ)" -eq 0 ]; then
	skip "-s: counts of ended tasks" "this kernel loses the READ record of a task that exits, as 5.13 to 6.18 did"
else
	report $rc "-s: counts of ended tasks"
fi
record -e cpu-clock -- true && at_least ID_INDEX 1 && at_least THREAD_MAP 1 && at_least CPU_MAP 1
report $? "maps of ids, threads and CPUs"

before=$(awk '{ print $1 }' /proc/uptime)
record -k boottime -e cpu-clock -- sh -c "$burn"
rc=$?
after=$(awk '{ print $1 }' /proc/uptime)
"$perch" script -i a.data 2> /dev/null | awk -v before="$before" -v after="$after" '/cpu-clock/ {
	for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\.[0-9]+:$/) { nr++; if ($i + 0 < before - 1 || $i + 0 > after + 1) wrong++ }
} END { exit !(nr > 10 && !wrong) }' && [ $rc -eq 0 ]
report $? "-k boottime: times of samples"
# hardware cycles do not support that clock
if record -- true && grep -q "no hardware cycle counter" out; then
	record -k realtime -- true
	report $? "-k realtime without -e"
fi
refuses "an unknown clock" 2 "--clockid 'sundial': expected monotonic, " -k sundial -- true

# ---- targets ----
sh -c "$forever" &
busy=$!
record -e cpu-clock -p $busy -C 0 -- sleep 0.3 && [ "$(count SAMPLE)" -ge 0 ] &&
	! "$perch" report --stats -i a.data | grep -q 'LOST' && record -vv -e cpu-clock -p $busy -C 0 -- true &&
	grep '^sys_perf_event_open: pid [1-9]' out | sed -n 1p | grep -q "pid $busy  cpu 0 " &&
	grep -q 'event cpu-clock: .* 1 descriptors$' out	# on other CPUs only the tracking event
report $? "-p with -C: the process, on these CPUs"
record -e cpu-clock -F 200 -u "$(id -un)" -- "$until_used" 50 $busy && "$perch" script -i a.data -F pid 2> /dev/null > pids &&
	grep -qw $busy pids
report $? "-u NAME: the processes of a user"
if [ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null; then
	setpriv --reuid=64999 --clear-groups sh -c 'while :; do :; done' & other=$!
	# it is root's until setpriv has changed that
	for ((tries = 0; tries < 1000; tries++)); do
		grep -q '^Uid:[[:space:]]*64999' /proc/$other/status && break
		sleep 0.01
	done
	record -e cpu-clock -F 200 -u 64999 -- "$until_used" 50 $other && at_least SAMPLE 5 &&
		! "$perch" script -i a.data -F pid 2> /dev/null | grep -vqw $other
	status=$?
	kill -KILL $other
	wait $other 2> /dev/null
	report $status "-u NUMBER: samples only of the processes of this user"
	record -u 64999 -- true
	[ $? -eq 1 ] && grep -q "the user 64999 has no process. 'ps -e" out
	report $? "-u: a user without processes"
else
	skip "-u NUMBER" "this user cannot start a process of another one"
fi
refuses "-u: a user that does not exist" 2 "-u no-such-user: there is no such user" -u no-such-user -- true
refuses "-u and -a" 2 "-u and -a exclude each other" -u 0 -a -- true
kill -STOP $busy	# it would delay what follows
record -e cpu-clock -a -- sleep 0.2 && "$perch" report --stats -i a.data | grep -q '^dummy stats:'
report $? "-a: a tracking event"
# ---- --per-thread, -r, --dry-run, --data-mmap ----
record -vv --per-thread -e cpu-clock -F 2000 -- sh -c "$burn; (:; $burn)" && at_least SAMPLE 20 && at_least COMM 1 &&
	grep -q 'perch record: 1 rings$' out && [ "$("$perch" report --stdio -q -s tid -i a.data 2> /dev/null | grep -c :)" -eq 1 ]
report $? "--per-thread: one ring, and samples of one thread"
"$perch" record --per-thread -m 1 -c 1 -e page-faults -o a.data -- sh -c 'kill -STOP $PPID; i=0; while [ $i -lt 60 ]; do i=$((i + 1)); (:); done
	kill -CONT $PPID' > out 2>&1
! grep -q 'were lost' out || grep -q ' lost: page-faults: [0-9]* in thread [1-9][0-9]*$' out
report $? "... lost records are named by the thread"
refuses "--per-thread with -a" 2 "--per-thread .* and -a .* exclude each other" --per-thread -a -- true
refuses "--per-thread with -C" 2 "--per-thread .* and -C .* exclude each other" --per-thread -C 0 -- true
refuses "--per-thread with -s" 2 "-s .* and --per-thread .* exclude each other" --per-thread -s -- true
refuses "--per-thread with --overwrite" 2 "exclude each other" --per-thread --overwrite -- true
record -e cpu-clock --data-mmap -- "$BASH" -c : && data=$(count MMAP2) && record -e cpu-clock -- "$BASH" -c : && [ "$data" -gt "$(count MMAP2)" ]
report $? "--data-mmap records more mappings"
rm -f a.data
record --dry-run -e cpu-clock -- touch ran && [ ! -e a.data ] && [ ! -e ran ]
report $? "--dry-run records nothing"
refuses "a wrong event with --dry-run" 2 "no event 'nosuch'" --dry-run -e nosuch -- true
for priority in 0 100 x; do
	refuses "-r $priority" 2 "-r $priority: expected a real-time priority from 1 to 99" -r $priority -- true
done
if record -r 7 -e cpu-clock -- sh -c 'cut -d" " -f40,41 /proc/$PPID/stat /proc/$$/stat'; then
	[ "$(grep -x '[0-9]* [0-9]*' out | tr '\n' ',')" = "7 1,0 0," ]
	report $? "-r: the recorder has the priority, and the program does not"
else
	grep -q 'refuses this priority: .*CAP_SYS_NICE' out
	report $? "-r: a refusal names the right"
fi
record -e alignment-faults -c 1000000 -- sh -c "$burn" &&
	grep -q "no samples: in no thread did an event occur as often as its sampling period (the program used [0-9.]* s of CPU time): sample more often" out
report $? "a program without samples: what is known of it"
record -e alignment-faults -c 1 -- true && grep -q "no samples: the event did not occur" out
report $? "an event of which each is a sample"
if record -e sched:sched_process_exit --filter "pid == 0" -- true; then
	grep -q "no samples: no event passed its filter" out
	report $? "an event of which no one passes the filter"
else
	skip "an event of which no one passes the filter" "no tracepoints here"
fi
# as in perf: -t records its threads alone
attr() {
	record -vv -e cpu-clock "$@" -- true && grep -c "^ *inherit  *1\$" out
}
[ "$(attr -t $$)" = 0 ] && [ "$(attr -t $$ --inherit)" = 1 ] && [ "$(attr -t $$ --no-no-inherit)" = 1 ] && [ "$(attr -p $$)" = 1 ] &&
	[ "$(attr -p $$ -i)" = 0 ] && [ "$(attr -t $$ -s)" = 1 ]
report $? "-t records no new threads and children, --inherit does"
rm -f a.data a.data.2*
record -e cpu-clock --timestamp-filename -- true && [ ! -e a.data ] && [ -s "$(echo a.data.2*)" ] &&
	"$perch" report --header-only -i a.data.2* > report.out 2>&1 && grep -q '# cmdline' report.out
report $? "--timestamp-filename: one file, with the time of its end"
refuses "--exclude-perf without an event" 2 "put an -e before it" --exclude-perf -- true
if [ -r /sys/kernel/tracing/events/raw_syscalls/sys_enter/id ] && [ "$(id -u)" = 0 ]; then
	own() { # the samples in the recorder
		"$perch" record -a -e raw_syscalls:sys_enter -o a.data "$@" -- sleep 0.3 > out 2>&1 &
		local recorder=$!
		wait $recorder
		"$perch" script -F pid -i a.data 2> /dev/null | grep -c "^ *$recorder *\$"
	}
	[ "$(own)" -gt 0 ] && [ "$(own --exclude-perf)" -eq 0 ] && at_least SAMPLE 10
	report $? "--exclude-perf: no samples of the recorder"
fi
record -e cpu-clock --buildid --buildid-cache --bpf-event --samples -- true
report $? "positive forms of options that begin with --no-"
# a process that runs already: its name, and its mappings
cp "$(command -v sleep)" sleeper$$
./sleeper$$ 1000 &
sleeper=$!
synthesized() { # --synth WHAT
	record -a -e cpu-clock -F 49 --synth="$1" -- true && "$perch" script --show-mmap-events --show-task-events -i a.data 2> /dev/null |
		awk -v pid="$sleeper" '/PERF_RECORD_COMM/ && $0 ~ ": sleeper[0-9]*:" pid "/" { comm = 1 } /PERF_RECORD_MMAP/ && $0 ~ " " pid "/" { mmap = 1 }
			END { print comm + 0, mmap + 0 }'
}
if wait_until grep -q sleeper /proc/$sleeper/comm && [ "$(synthesized all)" = "1 1" ]; then
	[ "$(synthesized mmap)" = "1 1" ] && [ "$(synthesized task)" = "1 0" ] && [ "$(synthesized no)" = "0 0" ] && [ "$(synthesized cgroup)" = "0 0" ]
	report $? "--synth: names, and mappings, of what already runs"
fi
kill $sleeper
record -e cpu-clock --affinity=sys --synth=task,mmap -- true
report $? "--affinity=sys is as it always is"
refuses "--affinity=node: what reads rings on their CPUs" 2 "use --threads=numa" --affinity=node -- true
for option in -S --group --kcore --mmap-flush --no-buffering --vmlinux; do
	refuses "$option with a hint" 2 "unknown option '$option': " $option -- true
done

if in_user_space; then
	refuses "-G without CPUs" 2 "-G needs CPUs" -e cpu-clock -G x -- true
	refuses "-G before any event" 2 "put an -e before it" -a -G x -- true
	refuses "more cgroups than events" 2 "there are more cgroups than events" -a -e cpu-clock -G a,b -- true
fi
refuses "a cgroup that does not exist" 1 "no cgroup 'no-such-cgroup'" -a -e cpu-clock -G no-such-cgroup -- true

# ---- refusals of the kernel: the message names the event, and an option as the remedy ----
refuses "branches of a clock" 1 "cpu-clock: .*cannot record branch stacks.*Leave out -b" -e cpu-clock -b -- true
! grep -q BRANCH_STACK out
report $? "... without names of the library"
refuses "--call-graph lbr of a clock" 1 "Leave out .*--call-graph lbr" -e cpu-clock --call-graph lbr -- true
refuses "an unknown software event" 1 "1:99: software event .* does not exist.*'perch list sw'" -e 1:99 -- true
refuses "aux-output of a clock" 1 "Leave out the term aux-output" -e cpu-clock/aux-output/ -- true
refuses "more frames than the limit" 1 "perf_event_max_stack.*(max-stack=)" -g -e cpu-clock/max-stack=60000/ -- true
refuses "a clock that an NMI cannot read" 1 "CLOCK_TAI .*-k monotonic" -k tai -e mem:0x1000:w -- true
if [ -d /sys/bus/event_source/devices/msr ]; then
	refuses "an event that cannot sample" 1 "^perch record: msr/tsc/: " -e cpu-clock,msr/tsc/ -- true
fi

refuses "a cgroup outside the hierarchy" 1 "leads out of" -a -e cpu-clock -G ../.. -- true

mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
grep -q ' cgroup .*perf_event' /proc/mounts && mount=$(awk '$3 == "cgroup" && $4 ~ /perf_event/ { print $2; exit }' /proc/mounts)
if [ -n "$mount" ] && mkdir "$mount/perch-test-$$" 2> /dev/null; then
	cgroup=$mount/perch-test-$$
	echo $busy > "$cgroup/cgroup.procs"
	if has_perf_event "$cgroup"; then
		kill -CONT $busy
		record -a -e cpu-clock -G "perch-test-$$" -- "$until_used" 50 $busy && at_least SAMPLE 10 &&
			! "$perch" script -i a.data 2> /dev/null | grep cpu-clock | grep -vq " $busy "
		report $? "-G: samples only of its processes"
	else
		skip "-G" "$no_perf_event"
	fi
else
	echo "ok - -G # skip cannot make a cgroup"
fi
kill -KILL $busy
wait $busy 2> /dev/null
# a program that starts on another CPU and moves to CPU 0
if [ "$(nproc)" -gt 1 ] && record -e cpu-clock:u -C 0 -- taskset -c 1 sh -c "sleep 0.3; exec taskset -c 1 $BASH -c '
		taskset -pc 0 \$BASHPID > /dev/null; for ((i = 0; i < 5000; i++)); do :; done'"; then
	"$perch" script -i a.data 2> /dev/null | awk '/cpu-clock:u/ { ours = /^ *bash / } ours && /\(.*bash\)/ { known++ }
		END { exit known < 5 }'
	report $? "-C: mappings that a program made on other CPUs"
else
	echo "ok - -C and other CPUs # skip $(nproc) CPUs: $(head -1 out)"
fi
exit $failed
