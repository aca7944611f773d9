#!/bin/sh
# SPDX-License-Identifier: MIT
# The dependencies and the exported names of the two shared libraries, and the version of each name.
# shellcheck source=tests/interop/common.sh
. "$(dirname "$0")/common.sh"
cd "$PERCH_BUILD_ROOT/src" || exit 1

soname() {
	[ "$(objdump -p "$1" | awk '$1 == "SONAME" { print $2 }')" = "$1.0" ]
	report $? "$1 has the soname $1.0"
}

only_perch_names() {
	names=$(nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }')
	wrong=$(printf '%s\n' "$names" | grep -v '^perch_[a-z]' || true)
	[ -n "$names" ] && [ -z "$wrong" ]
	report $? "$1 exports only perch_ names ($(printf '%s\n' "$names" | wc -l) of them)"
	[ -z "$wrong" ] || printf '%s\n' "$wrong"
	! printf '%s\n' "$names" | grep '^perch__'
	report $? "$1 does not export private names (perch__)"
}

# Programs that embed a library have other options, and may be on a machine without the command.
does_not_name_the_command() {
	! grep -aoE '[^ ]* ?.?perch (record|stat|report|list|script|doctor|explain|dump|help)[^_a-z][^ ]*' "$1"
	report $? "no message of $1 names the command"
}

every_name_has_a_version() { # library, name of its versions
	unversioned=$(nm -D --defined-only "$1" | awk -v name="$2" '
		$2 != "A" && $3 !~ "@@" name "_[0-9.]+$" { print $3 }')
	[ -z "$unversioned" ]
	report $? "$1: every name has a version $2_*"
	[ -z "$unversioned" ] || printf '%s\n' "$unversioned"
}

every_listed_name_is_defined() { # library, version script
	nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$work/defined"
	sed -n 's/^\t\t\([a-z0-9_]*\);.*/\1/p' "$2" | sort >"$work/listed"
	undefined=$(comm -13 "$work/defined" "$work/listed")
	[ -z "$undefined" ]
	report $? "$1: every name of the version script is defined"
	[ -z "$undefined" ] || printf '%s\n' "$undefined"
}

differences=$("$PERCH_SOURCE_ROOT/scripts/exports")
report $? "the version scripts list what the headers declare"
[ -z "$differences" ] || printf '%s\n' "$differences"

needed=$(objdump -p libperch.so | awk '$1 == "NEEDED" { print $2 }')
others=$(printf '%s\n' "$needed" | grep -v '^libc\.so\.' || true)
[ -z "$others" ]
report $? "libperch.so needs only libc"
[ -z "$others" ] || printf '%s\n' "$others"

loaded=$(LD_PRELOAD='' ldd libperch.so | grep -vE 'linux-(vdso|gate)|ld-linux|libc\.so\.' || true)
[ -z "$loaded" ]
report $? "ldd libperch.so shows only libc"
[ -z "$loaded" ] || printf '%s\n' "$loaded"

# A library must not print, exit, or start threads. Only a child that perch_program_start() made, and
# whose exec has failed, ends by _exit(2).
forbidden=$(nm -A --undefined-only libperch.a | sed 's/.*libperch\.a:\([^:]*\):.* U \([^@]*\).*/\2 in \1/' |
	grep -xE '(abort|_?exit|printf|puts|putchar|__printf_chk|stdout|perror|pthread_create) in .*' |
	grep -v '^_exit in open_program\.c\.o$' || true)
[ -s libperch.a ] && [ -z "$forbidden" ]
report $? "libperch.so does not exit, print or start threads"
[ -z "$forbidden" ] || printf '%s\n' "$forbidden"

for library in libperch.so libperch-profile.so; do
	soname $library
	only_perch_names $library
	does_not_name_the_command $library
	every_name_has_a_version $library "$(echo ${library%.so} | tr a-z- A-Z_)"
	every_listed_name_is_defined $library "$PERCH_SOURCE_ROOT/src/${library%.so}.map"
done
exit $status
