#!/bin/sh
# SPDX-License-Identifier: MIT
# Each public header compiles alone, as C and as C++, without a warning, and beside the kernel's.
# shellcheck disable=SC2086 # compiler flags are meant to split into words
set -u
cd "$PERCH_SOURCE_ROOT" || exit 1
flags="-Iinclude -Wall -Wextra -Werror -pedantic -fsyntax-only"
status=0

run() { # the compiler's own flags come last, so that they win
	compiler=$1
	shift
	"$compiler" $flags "$@" -
}

check() { # name, program, then the compiler's command
	name=$1
	program=$2
	shift 2
	if ! command -v "$1" >/dev/null 2>&1; then
		echo "ok - $name # skip: no $1 here"
	elif output=$(printf '%s\n' "$program" | run "$@" 2>&1); then
		echo "ok - $name"
	else
		echo "not ok - $name"
		printf '%s\n' "$output"
		status=1
	fi
}

all=
for header in include/perch/*.h; do
	line="#include <perch/$(basename "$header")>"
	all="$all$line
"
	twice="$line
$line"
	for compiler in gcc clang; do
		check "$header alone, $compiler C17" "$twice" $compiler -std=c17 -x c
	done
	check "$header alone, g++ C++17" "$twice" g++ -std=c++17 -x c++
	# The kernel's own structs end in flexible arrays, which clang++ calls an extension even where
	# __extension__ says that this is known.
	check "$header alone, clang++ C++17" "$twice" clang++ -std=c++17 -Wno-c99-extensions -x c++
done

kernel='#include <linux/perf_event.h>'
check "all headers after linux/perf_event.h" "$kernel
$all" gcc -std=gnu17 -x c
check "all headers before linux/perf_event.h" "$all
$kernel" gcc -std=gnu17 -x c
exit $status
