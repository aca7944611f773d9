#!/bin/sh
# SPDX-License-Identifier: MIT
# Each public header compiles alone, as C and as C++, without a warning, and together with the kernel's
# header. Every exported name can be used from C++ with the warnings that a careful project enables, and none is the
# name of a type. Each exported name is documented, and the documentation names the real parameters.
# shellcheck disable=SC2086 # compiler flags are separate words
set -u
cd "$PERCH_SOURCE_ROOT" || exit 1
flags="-Iinclude -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only"
status=0

run() { # the flags of the caller come last, to override the common ones
	compiler=$1
	shift
	"$compiler" $flags "$@" -
}

check() { # name, program, compiler command
	name=$1
	program=$2
	shift 2
	if ! command -v "$1" >/dev/null 2>&1; then
		echo "ok - $name # skip: $1 is not installed"
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
	# The structs of the kernel end in flexible arrays. clang++ warns about them even after
	# __extension__.
	check "$header alone, clang++ C++17" "$twice" clang++ -std=c++17 -Wno-c99-extensions -x c++
done

# The names of exported functions and variables: the word before '(' or ';' of each PERCH_API declaration.
exported=$(awk '/^PERCH_API/ { open = 1; text = "" }
	open { text = text " " $0 }
	open && /[(;]/ { sub(/[(;].*/, "", text); sub(/.*[ *]/, "", text); print text; open = 0 }' include/perch/*.h |
	LC_ALL=C sort -u)
types=$(grep -Ehow '(struct|enum|union) perch_[a-z0-9_]+' include/perch/*.h | cut -d ' ' -f 2 | LC_ALL=C sort -u)
both=$(printf '%s\n%s\n' "$exported" "$types" | LC_ALL=C sort | uniq -d)
if [ -n "$both" ] || [ "$(printf '%s\n' "$exported" | wc -l)" -lt 200 ]; then
	printf 'not ok - no exported name is the name of a type\n%s\n' "$both"
	status=1
else
	echo "ok - no exported name is the name of a type"
fi
use="$all
template <typename T> bool use(T *p) { return p != nullptr; }
bool used[] = {
$(printf '%s\n' "$exported" | sed 's/.*/	use(\&&),/')
};"
check "every exported name is used, g++ C++17" "$use" g++ -std=c++17 -x c++
check "every exported name is used, clang++ C++17" "$use" clang++ -std=c++17 -Wno-c99-extensions -x c++

check "documentation names the parameters" "$all" clang -std=gnu17 -Wdocumentation \
	-Wdocumentation-unknown-command -x c
# The line before an exported declaration ends a comment.
if undocumented=$(awk '/^PERCH_API/ && before !~ /\*\/$/ { print FILENAME ":" FNR ": " $0; found = 1 }
	NF { before = $0 } END { exit !found }' include/perch/*.h); then
	printf 'not ok - every exported name is documented\n%s\n' "$undocumented"
	status=1
else
	echo "ok - every exported name is documented"
fi

kernel='#include <linux/perf_event.h>'
check "all headers after linux/perf_event.h" "$kernel
$all" gcc -std=gnu17 -x c
check "all headers before linux/perf_event.h" "$all
$kernel" gcc -std=gnu17 -x c
exit $status
