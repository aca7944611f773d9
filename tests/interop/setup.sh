#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs scripts/setup with fake apt and dpkg commands, and checks the commands it starts. Also checks that the emulated tests are
# skipped if their tools are missing, and that scripts/build finds what is installed after the first build.
# shellcheck source=tests/interop/common.sh
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
shown="${work:?without a directory, the fakes would replace commands}/calls $work/out"

fake() { # name, then the body of a shell script
	{
		echo '#!/bin/sh'
		cat
	} >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

setup() { # user id, set of packages; $work/missing has the missing packages
	echo "echo $1" | fake id
	: >"$work/calls"
	PATH="$work/bin" WORK="$work" /bin/sh "$PERCH_SOURCE_ROOT/scripts/setup" "$2" >"$work/out" 2>&1
}

mkdir "$work/bin"
for tool in awk sort wc env cat grep sh timeout dirname; do
	ln -s "$(command -v $tool)" "$work/bin/$tool"
done
fake dpkg-query <<'EOF'
shift 3
for package; do
	grep -qx "$package" "$WORK/missing" || echo "$package installed"
done
EOF
fake apt-cache <<'EOF'
shift
for package; do
	grep -qx "$package" "$WORK/unknown" || echo "$package | 1 | mirror"
done
EOF
fake apt-get <<'EOF'
echo "apt-get $*" >>"$WORK/calls"
EOF

: >"$work/missing"
: >"$work/unknown"
setup 1000 test && [ ! -s "$work/out" ] && [ ! -s "$work/calls" ]
report $? "with no package missing, it prints nothing and starts no command"

echo clang >"$work/missing"
setup 1000 build && [ ! -s "$work/calls" ]
report $? "build: a missing package that only the tests need is ignored"

setup 0 test && grep -q '^apt-get install .* clang$' "$work/calls" && ! grep -q update "$work/calls"
report $? "root: the missing package is installed"

echo clang >"$work/unknown"
setup 0 test && head -n 1 "$work/calls" | grep -q '^apt-get update'
report $? "the package lists are updated if apt does not list a package"

! setup 1000 test && [ ! -s "$work/calls" ] && grep -q 'apt-get install .* clang' "$work/out"
report $? "an ordinary user without sudo: the command for root is printed"

fake sudo <<'EOF'
echo "sudo $*" >>"$WORK/calls"
EOF
: >"$work/unknown"
setup 1000 test && grep -q '^sudo .*apt-get install .* clang$' "$work/calls"
report $? "an ordinary user with sudo: the package is installed with sudo"

answer_setup() { # answer: as root, on a terminal
	echo "echo 0" | fake id
	: >"$work/calls"
	echo "$1" | PATH="$work/bin:$PATH" WORK="$work" \
		script -qec "PATH=$work/bin /bin/sh $PERCH_SOURCE_ROOT/scripts/setup build" /dev/null >"$work/out" 2>&1
}

echo scdoc >"$work/missing"
if command -v script >/dev/null; then
	answer_setup no
	[ ! -s "$work/calls" ] && grep -q 'nothing is installed. As root, run: apt-get install .* scdoc' "$work/out"
	report $? "on a terminal it asks, and installs nothing after 'no'"
	answer_setup yes
	grep -q '^apt-get install .* scdoc$' "$work/calls"
	report $? "on a terminal it installs after 'yes'"
else
	echo "skipped: there is no script(1), for the question on a terminal"
fi

setup 0 demo && [ ! -s "$work/calls" ]
report $? "demo: a missing package that only the whole build needs is ignored"

echo mandoc >"$work/missing"
setup 0 build && [ ! -s "$work/calls" ] && setup 0 docs && grep -q '^apt-get install .* mandoc$' "$work/calls"
report $? "docs: mandoc is installed for make site"

echo cpio >"$work/missing"
setup 0 test && grep -q '^apt-get install .*--no-remove .* cpio$' "$work/calls" && ! grep -q update "$work/calls"
report $? "packages for the emulated tests are installed with --no-remove"

setup 0 build && [ ! -s "$work/calls" ] && [ ! -s "$work/out" ]
report $? "build: missing packages for the emulated tests are ignored"

fake apt-get <<'EOF'
echo "apt-get $*" >>"$WORK/calls"
exit 100
EOF
setup 0 test && grep -q 'these tests will be skipped' "$work/out"
report $? "packages for the emulated tests cannot be installed: a message, and success"

fake sudo <<'EOF'
echo "sudo $*" >>"$WORK/calls"
exit 1
EOF
setup 1000 test && grep -q '^sudo -n ' "$work/calls" && ! grep -qv '^sudo -n ' "$work/calls"
report $? "packages for the emulated tests: sudo -n, without a password"

emulated() { # $work/missing has the packages that are not installed
	PATH="$work/bin" WORK="$work" /bin/sh "$PERCH_SOURCE_ROOT/tests/emulated/run" arm64 >"$work/out" 2>&1
}

echo gcc-multilib >"$work/missing"
emulated
[ $? -eq 77 ] && grep -qx 'skip: no aarch64-linux-gnu-gcc' "$work/out"
report $? "emulated tests without a cross compiler are skipped with the reason"

: >"$work/missing"
emulated
[ $? -eq 77 ] && grep -q '^skip: .*gcc-multilib' "$work/out"
report $? "emulated tests are skipped with the reason if gcc-multilib conflicts"

fake aarch64-linux-gnu-gcc <<'EOF'
EOF
emulated
[ $? -eq 77 ] && grep -qx 'skip: no qemu-system-aarch64' "$work/out"
report $? "emulated tests without the emulator are skipped with the reason"

rm "$work/bin/dpkg-query"
setup 1000 test && grep -q 'no Debian' "$work/out"
report $? "not on Debian: a message, and success"

# a project whose optional parts are installed after the first build
project=$work/project
mkdir -p "$project/scripts" "$work/installed"
cp "$PERCH_SOURCE_ROOT/scripts/build" "$project/scripts"
{
	echo "project('project', 'c')"
	grep '^fresh_check = ' "$PERCH_SOURCE_ROOT/meson.build"
	cat <<'EOF'
configure_file(output: 'found.h', configuration: {
  'HEADER': meson.get_compiler('c').has_header('perch_part.h', prefix: fresh_check),
  'LIBRARY': dependency('perch-part', required: false).found(),
  'PROGRAM': find_program('perch-part', required: false).found(),
  'OPTION': get_option('prefix'),
})
EOF
} >"$project/meson.build"
build() {
	C_INCLUDE_PATH=$work/installed PKG_CONFIG_PATH=$work/installed PATH=$work/installed:$PATH \
		"$project/scripts/build" build "$@" >"$work/out" 2>&1
}
found() { # number of parts
	[ "$(grep -Ec '^#define (HEADER|LIBRARY|PROGRAM)$' "$project/build/found.h")" -eq "$1" ]
}
build -Dprefix=/first && found 0 && meson configure "$project/build" -Dprefix=/chosen && build && ! grep -q 'found since' "$work/out"
report $? "build: without a new package nothing is configured again"

touch "$work/installed/perch_part.h"
printf 'Name: part\nDescription: part\nVersion: 1\n' >"$work/installed/perch-part.pc"
build -Dprefix=/first && found 2 && grep -q 'found since the last time: .*perch-part' "$work/out" &&
	grep -q '^#define OPTION /chosen$' "$project/build/found.h"
report $? "build: a header and a library that were installed are found, and options stay"

printf '#!/bin/sh\n' >"$work/installed/perch-part" && chmod +x "$work/installed/perch-part"
build && found 3 && build && ! grep -q 'found since' "$work/out"
report $? "build: so is a program, once"
exit $status
