#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs without a build id, as those in Go before 1.24, in Zig, and of LLD: their names, lines, inlined functions and call chains after the
# program or the recording was copied, on another machine, in another mount namespace and below --symfs; a message says that they are
# unverified. A program of another layout has no names there. A build id that differs is refused everywhere.
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
command -v gcc >/dev/null || { echo "skipped: needs gcc"; exit 77; }
cd "$work" || exit 1
export HOME=$work # of the build id cache

cat >program.c <<'END'
#include <stdlib.h>
volatile unsigned long count;
static inline __attribute__((always_inline)) void inlined_part(void) { for (int i = 0; i < 1000; i++) count = count + i; }
/* gcc gives a function without calls a frame pointer only if it needs one */
__attribute__((noinline)) void NAME(void) { volatile char *space = __builtin_alloca(16 + count % 16); space[0] = 1; inlined_part(); }
__attribute__((noinline)) void caller_of(void) { NAME(); count++; }
int main(int argc, char **argv) { for (int n = atoi(argv[argc - 1]); n; n--) caller_of(); }
END
cat >other.c <<'END'
#include <stdlib.h>
volatile unsigned long count;
__attribute__((noinline)) void another_name(void) { for (int i = 0; i < 1000; i++) count = count + i; }
int main(int argc, char **argv) { for (int n = atoi(argv[argc - 1]); n; n--) another_name(); }
END

unverified='names of 1 program are unverified: no build id'
names() { # options of perch script: what it prints is in names, its messages in notes
	"$PERCH" script -i data "$@" >names 2>notes
	{ head -n 30 names; cat notes; } >log
}
is_unverified() { # name, options
	names "${@:2}" && grep -q "$1" names && grep -q "$unverified" notes
}
is_verified() {
	names "${@:2}" && grep -q "$1" names && ! grep -q unverified notes
}
is_refused() { # reason, options
	names "${@:2}" && ! grep -q 'recorded_name\|another_name' names && grep -q "$work/program ha[a-z]* no names*: .*$1" notes && ! grep -q unverified notes
}
record() { # options of perch record, before the program
	"$PERCH" record -q -e cpu-clock:u -F 997 -o data "$@" >log 2>&1 && "$PERCH" script -i data 2>>log | grep -q recorded_name
}
has_callers() { # the stacks from the function to main have its inlined part and its callers
	names -F ip,sym,srcline && awk -v first="$1" '
		$2 == "inlined_part" { part++ } $2 == first { named++ } /program\.c:[3-6]/ { lines++ } $2 == "caller_of" { callers++ } $2 == "main" { outer++ }
		END { exit !(part && named && lines && callers >= named / 2 && outer >= named / 2) }' names
}
other_machine() { # the recording has the host name of another machine, as long as that of this one
	python3 - data moved <<-'END'
		import os, sys
		data, here = open(sys.argv[1], "rb").read(), os.uname().nodename.encode()
		assert here + b"\0" in data
		open(sys.argv[2], "wb").write(data.replace(here + b"\0", here[:-1] + bytes([here[-1] ^ 1]) + b"\0"))
	END
	mv moved data
}

for how in dynamic static; do
	options=(-g -O2 -fno-omit-frame-pointer)
	[ $how = dynamic ] || options+=(-static)
	# the other program has its code at another offset
	gcc "${options[@]}" -Wl,--build-id=none,-z,max-page-size=4096 -DNAME=recorded_name -o program program.c 2>log &&
		gcc "${options[@]}" -Wl,--build-id=none,-z,max-page-size=65536 -o other other.c 2>>log || { echo "ok - $how # skip gcc: $(head -n 1 log)"; continue; }
	for chains in fp dwarf; do
		case="$how, $chains"
		cp program kept
		record --call-graph $chains ./program 200000
		report $? "$case: a program without a build id is recorded" || continue
		try "$case: its file is verified" is_verified recorded_name
		try "$case: names, lines, callers" has_callers recorded_name
		names -F ip,sym
		cp names expected
		cp program copy && mv copy program
		try "$case: names after cp and mv" is_unverified recorded_name
		try "$case: lines and callers after cp and mv" has_callers recorded_name
		names -F ip,sym
		cmp names expected >log
		report $? "$case: the same call chains"
		grep -q "replaced or copied since the recording: link programs with --build-id, or report with --symfs" notes
		report $? "$case: the message has the remedy"
		names -v
		grep -q "names of $work/program are unverified: no build id was recorded, and it has another inode" notes
		report $? "$case: -v lists the program"
		for command in 'report --stdio' 'flamegraph -o out.html' 'export -F folded' 'export -F pprof -o out.pb.gz' 'annotate --stdio recorded_name'; do
			# shellcheck disable=SC2086
			"$PERCH" ${command%% *} -i data ${command#* } >log 2>&1
			[ $? -eq 0 ] && grep -q "$unverified" log
			report $? "$case: perch ${command%% *} says it"
		done
		touch program
		try "$case: the copy is newer" is_unverified recorded_name
		mkdir -p "below$work"
		mv program "below$work/program"
		try "$case: no file" is_refused "no such file"
		try "$case: --symfs" is_unverified recorded_name --symfs below
		cp other program
		try "$case: another layout is refused" is_refused "the file at its path has no code at the offset that was mapped"
		cp other "below$work/program"
		try "$case: another layout below --symfs is refused" is_refused "has no code at the offset that was mapped" --symfs below
		# the same layout: it can be a copy
		cp kept program
		other_machine
		try "$case: another machine" is_unverified recorded_name
		try "$case: lines and callers of another machine" has_callers recorded_name
		cp other program
		try "$case: another layout, of another machine" is_refused "has no code at the offset that was mapped"
		cp kept program
	done
done

# Another mount namespace: the directory is a copy.
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null && gcc -g -O2 -fno-omit-frame-pointer -Wl,--build-id=none -DNAME=recorded_name -o program program.c &&
	record --call-graph dwarf ./program 200000; then
	mkdir other.directory
	cp program data other.directory
	unshare -m bash -c 'mount --bind other.directory "$1" && cd "$1" && "$PERCH" script -i data' - "$work" >names 2>notes
	cat notes >log
	grep -q recorded_name names && grep -q "$unverified" notes
	report $? "another mount namespace"
else
	echo "ok - another mount namespace # skip it needs root"
fi

# A build id that differs is refused, with or without --symfs.
if gcc -g -O2 -fno-omit-frame-pointer -Wl,--build-id -DNAME=recorded_name -o program program.c && record ./program 200000; then
	rm -rf .debug
	cp program copy && mv copy program
	try "a build id: the copy is verified" is_verified recorded_name
	other_machine
	try "a build id: the copy is verified on another machine" is_verified recorded_name
	gcc -g -O2 -fno-omit-frame-pointer -Wl,--build-id -DNAME=recorded_mane -o program program.c
	try "a build id that differs is refused" is_refused "the build id of the file is not the recorded one"
	mkdir -p "below$work" && cp program "below$work/program"
	try "a build id that differs is refused below --symfs" is_refused "the build id of the file is not the recorded one" --symfs below
	gcc -g -O2 -fno-omit-frame-pointer -Wl,--build-id=none -DNAME=recorded_name -o program program.c
	try "a file without the recorded build id is refused" is_refused "the build id of the file is not the recorded one"
fi

# A program in Go, whose only segment of code is the first one, and one of LLD.
if command -v go >/dev/null; then
	mkdir -p go.src && cat >go.src/main.go <<-'END'
		package main
		var count int
		//go:noinline
		func recorded_name() { for i := 0; i < 1000; i++ { count += i } }
		func main() { for n := 0; n < 200000; n++ { recorded_name() } }
	END
	if GOFLAGS=-mod=mod GO111MODULE=off HOME=$work go build -o program -ldflags=-B=none go.src/main.go 2>log && ! readelf -n program | grep -q 'Build ID: [0-9a-f]\{40\}'; then
		for chains in fp dwarf; do
			record --call-graph $chains ./program
			report $? "Go, $chains: a program is recorded" || continue
			try "Go, $chains: verified" is_verified recorded_name
			cp program copy && mv copy program
			try "Go, $chains: names after cp and mv" is_unverified main.recorded_name
			try "Go, $chains: callers after cp and mv" grep -q 'main\.main\|runtime\.main' names
		done
	else
		echo "ok - Go # skip go build: $(head -n 1 log)"
	fi
fi
lld=$(command -v ld.lld ld.lld-14 ld.lld-16 ld.lld-19 | head -n 1)
if [ -n "$lld" ] && mkdir -p lld && ln -sf "$lld" lld/ld.lld && PATH=$PWD/lld:$PATH gcc -B"$PWD/lld" -fuse-ld=lld -static -g -O2 -Wl,--build-id=none -DNAME=recorded_name -o program program.c 2>log; then
	record --call-graph dwarf ./program 200000
	report $? "LLD: a program is recorded"
	cp program copy && mv copy program
	try "LLD: names after cp and mv" is_unverified recorded_name
	try "LLD: lines and callers after cp and mv" has_callers recorded_name
else
	echo "ok - LLD # skip no ld.lld"
fi
exit $status
