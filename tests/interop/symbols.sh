#!/bin/bash
# SPDX-License-Identifier: MIT
# Compares the names of sampled addresses with perf's: C++ (PIE, fixed address, static, stripped with and without a debug
# file), Rust if rustc is installed, bash, the compiler, the kernel.
# PLT stubs are not compared, nor _init and _fini, which perf prints for some. perf 6.1 names stubs by the order of relocations,
# does not know .plt.sec, and lets functions without size extend into other sections.
# shellcheck source=tests/interop/common.sh
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
if ! { command -v perf && command -v g++; } >/dev/null; then
	echo "skipped: needs perf and g++"
	exit 77
fi
cd "$work" || exit 1
export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} CARGO_HOME=${CARGO_HOME:-$HOME/.cargo}
export HOME=$work		# of perf's build id cache

cat >program.cc <<'END'
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>
namespace zoo {
template <typename T, int N> struct Box {
	T value[N];
	Box() : value() {}
	__attribute__((noinline)) T sum(const T &k) const { T s{}; for (auto &v : value) s += v * k; return s; }
	__attribute__((noinline)) bool operator<(const Box &o) const { return sum(1) < o.sum(2); }
};
struct Base { virtual ~Base() {} virtual double f(double x) = 0; };
struct Derived : Base { double f(double x) override; };
__attribute__((noinline)) double Derived::f(double x) { return std::sin(x) + std::exp(-x); }
static __attribute__((noinline)) int hidden(int a) { volatile int z = a; for (int i = 0; i < 9; i++) z += i; return z; }
}
namespace {
__attribute__((noinline)) void anonymous(std::vector<std::string> &v)
{
	std::sort(v.begin(), v.end(), [](const std::string &a, const std::string &b) { return a > b; });
}
}
int main()
{
	double total = 0;
	for (int round = 0; round < 1500; round++) {
		std::map<std::string, int> map;
		std::vector<std::string> list;
		for (int i = 0; i < 300; i++) {
			auto text = std::to_string(i * 7919 % 1000);
			map[text] += zoo::hidden(i);
			list.push_back(text + "x");
		}
		anonymous(list);
		zoo::Box<double, 16> a, b;
		zoo::Derived d;
		std::function<int(int)> add = [&](int x) { return x + round; };
		total += (a < b) + d.f(round) + add(3);
		if (round % 20 == 0)
			total += std::regex_match("abcbcd", std::regex("a(b|c)*d"));
	}
	std::cout << total << "\n";
}
END
cat >program.rs <<'END'
use std::collections::{BTreeMap, HashMap};
trait Shape { fn area(&self) -> f64; }
struct Square(f64);
impl Shape for Square { #[inline(never)] fn area(&self) -> f64 { (0..10).fold(self.0, |x, _| x.sqrt() + 1.0) } }
fn main() {
	let mut total = 0.0;
	for round in 0..600u64 {
		let (mut hash, mut tree) = (HashMap::new(), BTreeMap::new());
		for i in 0..400u64 { hash.insert(format!("k{}", i * round % 97), i); tree.insert(i * 7919 % 1009, i.to_string()); }
		let shape: Box<dyn Shape> = Box::new(Square(round as f64));
		let mut list: Vec<String> = tree.values().cloned().collect();
		list.sort_by(|a, b| b.cmp(a));
		total += shape.area() + hash.len() as f64 + list.len() as f64;
	}
	println!("{}", total);
}
END

# "address name+offset (file)" of each distinct sample
frames() {
	sed -nE 's/^.*cpu-clock[^ ]*: +([0-9a-f]+ .*[^ ]) *$/\1/p' | sort -u
}

compare() {
	local name=$1 data=$2
	perf script -i "$data" 2>/dev/null >script
	if died=$(peer_died); then
		echo "ok - $name # skip $died"
		return
	fi
	frames <script >theirs
	"$PERCH" script -i "$data" 2>errors | frames >ours
	awk -v name="$name" '
		{ at = $1 }
		FNR == NR { theirs[at] = $0; next }
		at in theirs && theirs[at] !~ /@plt|_init\+|_fini\+/ && !/@plt/ {
			compared++
			if (theirs[at] != $0 && wrong++ < 5)
				print "# perf:  " theirs[at] "\n# perch: " $0
		}
		END {
			ok = compared > 50 && !wrong
			print (ok ? "ok" : "not ok") " - " name ": " compared - wrong " of " compared " addresses have perf'\''s name"
			exit !ok
		}' theirs ours || { status=1; head -n 3 errors; }
}

check() {
	local name=$1 event=${EVENT:-cpu-clock:u}
	shift
	if ! perf record -q -e "$event" -F "$("$PERCH_BUILD_ROOT/tests/host" frequency 15000)" -o "$name.data" -- "$@" >/dev/null 2>errors; then
		echo "ok - $name # skip $(peer_died || echo "perf cannot record $event here: $(head -n 1 errors)")"
		return
	fi
	compare "$name" "$name.data"
}

g++ -O2 -fPIE -c -o program.o program.cc
g++ -pie -o pie program.o && check pie ./pie
g++ -no-pie -o fixed program.o && check fixed ./fixed
g++ -static -o static program.o && check static ./static
strip -o stripped pie && check stripped ./stripped
cp pie linked && objcopy --only-keep-debug linked linked.debug && strip linked &&
	objcopy --add-gnu-debuglink=linked.debug linked && check linked ./linked
if command -v rustc >/dev/null && rustc -O -o rust_legacy program.rs 2>/dev/null; then
	check rust_legacy ./rust_legacy
	rustc -O -C symbol-mangling-version=v0 -o rust_v0 program.rs 2>/dev/null && check rust_v0 ./rust_v0
else
	echo "ok - rust # skip no rustc"
fi
# shellcheck disable=SC2016
check bash bash -c 'for ((i = 0; i < 40000; i++)); do x=$((i * 3)); y=${x%3}; printf -v z %d "$y"; done'
check compiler g++ -O1 -c -o /dev/null program.cc
if [ "$(id -u)" -eq 0 ]; then
	EVENT=cpu-clock:k check kernel sh -c 'for i in 1 2 3 4 5 6; do cat /proc/kallsyms; cat /proc/self/maps; done'
else
	echo "ok - kernel # skip kernel addresses need root"
fi

# Notes name a file that is missing or changed. Stripped files are counted.
noted() {		# name, number of notes, pattern
	"$PERCH" report -i bare.data 2>notes >/dev/null
	if [ "$(grep -c 'address[es]* ' notes)" -eq "$2" ] && [ "$(grep -c "${3-address[es]* }" notes)" -eq "$2" ]; then
		echo "ok - notes: $1"
	else
		echo "not ok - notes: $1"
		status=1
		sed 's/^/# /' notes
	fi
}
# another build id than that of the other programs, which perf has put into its cache
g++ -static -s -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 -o bare program.o
if "$PERCH" record -N -e cpu-clock:u -o bare.data -- ./bare >/dev/null 2>errors; then
	noted "a stripped file is counted" 1 "[1-9][0-9]* address[es]* ha[a-z]* no name, because $work/bare is stripped: "
	# the address of an offset, as the manual page computes it
	number=$("$PERCH" report -i bare.data --stdio -s dso,sym 2>errors | awk '$2 == "bare" { print $NF; exit }')
	"$PERCH" script -i bare.data -F ip 2>errors | awk '{ print "0x" $1 }' >addresses
	while read -r type offset start _ size _; do
		[ "$type" = LOAD ] && [ $((number)) -ge $((offset)) ] && [ $((number)) -lt $((offset + size)) ] && printf '0x%x\n' $((number - offset + start))
	done < <(readelf -lW bare) >address
	if [ "$(wc -l <address)" -eq 1 ] && grep -qxFf address addresses && [ "$(cat address)" != "$(printf 0x%x $((number)))" ]; then
		echo "ok - the number of an address without a name is the offset in its file"
	else
		echo "not ok - the number of an address without a name is the offset in its file"
		status=1
		echo "# $number" && cat address
	fi
	cp fixed bare
	noted "a changed file is named" 1 "[1-9][0-9]* address[es]* in $work/bare ha[a-z]* no names*: replaced since the recording; record again"
	rm bare
	noted "a missing file is named" 1 "[1-9][0-9]* address[es]* in $work/bare ha[a-z]* no names*: no such file"
else
	echo "ok - notes # skip perch cannot record here: $(head -n 1 errors)"
fi

# PLT stubs of functions that are chosen at run time have no symbol in their relocations.
libc=$(ldconfig -p | awk '/libc\.so\.6 .*x86-64/ { print $NF; exit }')
lines=$PERCH_BUILD_ROOT/examples/source-lines
objdump -d -j .plt "$libc" 2>errors | sed -nE 's/^0*([0-9a-f]+) <\*ABS\*\+0x([0-9a-f]+)@plt>:$/\1 \2/p' >stubs
if [ -n "$libc" ] && [ -x "$lines" ] && [ -s stubs ]; then
	readelf -W --dyn-syms "$libc" | awk '$4 == "IFUNC" { sub(/@.*/, "", $NF); sub(/^0*/, "", $2); print $2, $NF }' >indirect
	cut -d ' ' -f 1 stubs | "$lines" "$libc" | awk '/@plt$/ { sub(/@plt$/, ""); print $1 }' >names
	# the names of stubs whose resolver has a symbol
	awk 'FNR == NR { of[$1] = of[$1] " " $2 " "; next } { print of[$2] }' indirect stubs >expected
	paste -d '|' names expected | awk -F '|' '
		$2 != "" { compared++; if (!index($2, " " $1 " ") || $1 == "") print "# " $0 > "wrong" }
		END { exit compared < 10 }' && [ ! -s wrong ]
	code=$?
	[ $code -eq 0 ] && echo "ok - stubs of indirect functions" || { echo "not ok - stubs of indirect functions"; status=1; cat wrong; }
else
	echo "ok - stubs of indirect functions # skip no library with such stubs, or no objdump: $(head -n 1 errors)"
fi
exit $status
