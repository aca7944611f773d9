# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Knows perf: types its commands and options, and reads the files of each with the other.
[ -e /.first-hour ] || { echo "perf-user.sh: is run by tests/first-hour/run" >&2 && exit 2; }
cd /root/perch
[ -x build-demo/perch ] || make demo >/tmp/demo
PATH=$PWD/build-demo:$PATH
mkdir -p /tmp/perf && cd /tmp/perf
apt-get install -y -q --no-install-recommends linux-perf >/dev/null

work() { gzip -9c "$(command -v perch)" >/dev/null; }
cat >work <<'END'
#!/bin/sh
for i in 1 2 3; do gzip -9c "$(command -v perch)" >/dev/null; done
END
chmod +x work
perch stat -e task-clock,page-faults,context-switches -r 2 -- ./work
perch stat -x, -e task-clock -- ./work 2>csv
grep -q '^[0-9.]*,msec,task-clock' csv
perch record -F 999 -g -o first.data -- ./work
perch record -F 999 -g -o second.data -a -- ./work
perch report --stdio -n --sort comm,dso,sym -i first.data | grep -q gzip
perch report --stdio --no-children -g caller -i first.data >/dev/null
perch script -i first.data | grep -q gzip
perch script -F comm,pid,time,ip,sym -i first.data >/dev/null
perch diff first.data second.data >/dev/null
perch evlist -v -i first.data | grep -q 'freq: 1'
perch list sw | grep -q page-faults
timeout -s INT 10 perch top --stdio -d 1 >top || test $? -eq 124
grep -q '^# Overhead .*Symbol' top
perch export --format folded -i first.data -o - | grep -q gzip

# what perf has and perch lacks is refused with another way
for command in bench daemon test; do
	if perch $command 2>refused; then exit 1; fi
	grep -q "$command" refused
	test "$(wc -w <refused)" -gt 6
done

# perf's file in perch, perch's file in perf: perf 6.1 dies of memory errors at times
perf record -q -g -e cpu-clock -o perf.data -- ./work || perf record -q -g -e cpu-clock -o perf.data -- ./work
perch report --stdio -i perf.data | grep -q gzip
for try in 1 2 3; do
	perf report --stdio -i first.data >from-perf 2>/dev/null && break
	test "$try" -lt 3
done
grep -q gzip from-perf
