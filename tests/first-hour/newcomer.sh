# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Has never profiled: runs the demo, profiles a program of their own, mistypes, looks for help.
[ -e /.first-hour ] || { echo "newcomer.sh: is run by tests/first-hour/run" >&2 && exit 2; }
cd /root/perch
# on a terminal it asks first; after a no it says what is missing, and installs nothing
if echo no | script -qec 'make demo' /dev/null >/tmp/asked; then exit 1; fi
grep -q 'install with apt-get?' /tmp/asked
grep -q 'apt-get install .*meson' /tmp/asked
if command -v meson; then exit 1; fi
make demo >/tmp/demo
grep -q 'Shared Object' /tmp/demo
grep -q '%.*cc1 ' /tmp/demo
test -s build-demo/flamegraph.html
PATH=$PWD/build-demo:$PATH

# a program of their own
mkdir -p /tmp/own && cd /tmp/own
cat >slow.c <<'END'
volatile unsigned long sum;
__attribute__((noinline)) void expensive(void) { for (int i = 0; i < 300000; i++) sum += i; }
__attribute__((noinline)) void cheap(void) { for (int i = 0; i < 3000; i++) sum += i; }
int main(void) { for (int i = 0; i < 1000; i++) { expensive(); cheap(); } }
END
gcc -g -O1 -o slow slow.c
perch record -g -- ./slow
perch report --stdio >report
# the function that takes the time is the first row
grep -m 1 '%.*\[\.\]' report | grep -q expensive
perch flamegraph
test -s flamegraph.html
perch annotate --stdio expensive >annotated
grep -q 'slow.c' annotated || grep -q 'sum += i' annotated
perch stat -- ./slow 2>counts
grep -q task-clock counts

# mistakes: a message on stderr with what to do, and the status of a wrong command line
mistake() { # expected status and text, command
	expected=$1 text=$2
	shift 2
	got=0
	"$@" >out 2>err </dev/null || got=$?
	test "$got" -eq "$expected"
	test ! -s out
	grep -q -- "$text" err
}
mistake 2 'Did you mean report' perch reprot
mistake 2 'perch help record' perch record --bogus -- true
mistake 2 'name a program' perch record
mistake 2 "Did you mean cycles" perch record -e cylces -- true
mistake 127 'no-such-program' perch record -- ./no-such-program
: >empty
mistake 1 'Record again' perch report --stdio -i empty
mistake 1 'directory' perch report --stdio -i /tmp
mkdir -p nothing && cd nothing
mistake 1 'perch record PROGRAM' perch report --stdio
cd ..
perch help >help
perch help record >help-record
perch doctor >doctor || test $? -eq 1
test -s help && test -s help-record && test -s doctor

# the same as an ordinary user
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$paranoid" -gt 2 ]; then
	echo "skipped: an ordinary user's recording: kernel.perf_event_paranoid is $paranoid"
	exit 0
fi
id new >/dev/null 2>&1 || useradd -m new
chmod a+rx /root
cp slow /home/new
su new -c "cd && PATH=$PATH && perch record -g -- ./slow && perch report --stdio" >report.new
grep -q expensive report.new
