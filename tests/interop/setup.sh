#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/setup with a package system that is not there: what it would install, and when it leaves all alone. And what the
# emulated tests do where it could not install what they take.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0

fake() { # name, then the body of a shell script
	{
		echo '#!/bin/sh'
		cat
	} >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

setup() { # user id, set of packages; what was missing lies in $work/missing
	echo "echo $1" | fake id
	: >"$work/calls"
	PATH="$work/bin" WORK="$work" /bin/sh "$PERCH_SOURCE_ROOT/scripts/setup" "$2" >"$work/out" 2>&1
}

report() {
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
	else
		echo "not ok - $2"
		cat "$work/calls" "$work/out"
		status=1
	fi
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
report $? "nothing missing: says nothing, calls nothing, needs no root"

echo clang >"$work/missing"
setup 1000 build && [ ! -s "$work/calls" ]
report $? "a package that only tests need is no matter for a build"

setup 0 test && grep -q '^apt-get install .* clang$' "$work/calls" && ! grep -q update "$work/calls"
report $? "root: installs what is missing, and no more"

echo clang >"$work/unknown"
setup 0 test && head -n 1 "$work/calls" | grep -q '^apt-get update'
report $? "a package that apt has never heard of: fetches the lists first"

! setup 1000 test && [ ! -s "$work/calls" ] && grep -q 'apt-get install .* clang' "$work/out"
report $? "an ordinary user without sudo: is told the command for root"

fake sudo <<'EOF'
echo "sudo $*" >>"$WORK/calls"
EOF
: >"$work/unknown"
setup 1000 test && grep -q '^sudo .*apt-get install .* clang$' "$work/calls"
report $? "an ordinary user with sudo: installs through it"

echo cpio >"$work/missing"
setup 0 test && grep -q '^apt-get install .*--no-remove .* cpio$' "$work/calls" && ! grep -q update "$work/calls"
report $? "what the emulated tests take is installed, unless something must go for it"

setup 0 build && [ ! -s "$work/calls" ] && [ ! -s "$work/out" ]
report $? "what the emulated tests take is no matter for a build"

fake apt-get <<'EOF'
echo "apt-get $*" >>"$WORK/calls"
exit 100
EOF
setup 0 test && grep -q 'emulated tests will be skipped' "$work/out"
report $? "what the emulated tests take cannot be had: says so and goes on"

fake sudo <<'EOF'
echo "sudo $*" >>"$WORK/calls"
exit 1
EOF
setup 1000 test && grep -q '^sudo -n ' "$work/calls" && ! grep -qv '^sudo -n ' "$work/calls"
report $? "what the emulated tests take: nobody is asked for a password"

emulated() { # what was missing lies in $work/missing
	PATH="$work/bin" WORK="$work" /bin/sh "$PERCH_SOURCE_ROOT/tests/emulated/run" arm64 >"$work/out" 2>&1
}

echo gcc-multilib >"$work/missing"
emulated
[ $? -eq 77 ] && grep -qx 'skip: no aarch64-linux-gnu-gcc' "$work/out"
report $? "the emulated tests without a cross compiler: skipped, and why"

: >"$work/missing"
emulated
[ $? -eq 77 ] && grep -q '^skip: .*gcc-multilib' "$work/out"
report $? "the emulated tests where gcc-multilib is in the way: skipped, and why"

fake aarch64-linux-gnu-gcc <<'EOF'
EOF
emulated
[ $? -eq 77 ] && grep -qx 'skip: no qemu-system-aarch64' "$work/out"
report $? "the emulated tests without the emulator: skipped, and why"

rm "$work/bin/dpkg-query"
setup 1000 test && grep -q 'no Debian' "$work/out"
report $? "no Debian: says so and goes on"
exit $status
