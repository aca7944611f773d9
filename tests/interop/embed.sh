#!/bin/sh
# SPDX-License-Identifier: MIT
# perch in other projects: as a meson subproject, built by musl-gcc, and libperch alone (-Dprofile=false).
# shellcheck source=tests/interop/common.sh
. "$(dirname "$0")/common.sh"
# Neither the compiler of the build nor its cache: a project that embeds perch has its own.
unset CC CFLAGS LDFLAGS

# Only what the libraries are made of: a subproject must not need more.
parent=$work/parent
mkdir -p "$parent/subprojects/perch"
for part in meson.build meson_options.txt include src; do
	cp -r "$PERCH_SOURCE_ROOT/$part" "$parent/subprojects/perch"
done
cat >"$parent/meson.build" <<'EOF2'
project('parent', 'c')
perch = dependency('libperch', fallback: 'perch', static: get_option('default_library') == 'static')
executable('app', 'app.c', dependencies: perch)
EOF2
cat >"$parent/app.c" <<'EOF2'
#include <string.h>
#include <perch/count.h>
#include <perch/version.h>

int main(void)
{
	struct perch_error err;

	return perch_error_set(&err, 22, PERCH_ERROR_USAGE, "unknown option") != -22 ||
	       strcmp(perch_version(), PERCH_VERSION_STRING);
}
EOF2
fast='-Doptimization=0 -Ddebug=false --wrap-mode=nodownload'
# shellcheck disable=SC2086 # options are separate words
try "subproject: dependency('libperch', fallback: 'perch') is found" \
	meson setup $fast -Dperch:profile=false -Dperch:werror=true "$work/shared" "$parent"
try "subproject: the program builds" ninja -C "$work/shared"
try "subproject: the program runs" "$work/shared/app"
[ "$(meson introspect --tests "$work/shared")" = '[]' ]
report $? "subproject: it adds no tests"
targets=$(meson introspect --targets "$work/shared" | python3 -c '
import json, sys
print(*sorted({target["name"] for target in json.load(sys.stdin)}))')
[ "$targets" = 'app perch' ] || echo "targets: $targets" >"$work/log"
[ "$targets" = 'app perch' ]
report $? "subproject: it adds only the library"

# libperch-profile, and the archives: to configure is enough, because the code is the same.
sed -i "s/'libperch'/'libperch-profile'/" "$parent/meson.build"
# shellcheck disable=SC2086
try "subproject: dependency('libperch-profile'), static" \
	meson setup $fast -Ddefault_library=static "$work/static" "$parent"
link=$(ninja -C "$work/static" -t commands app 2>"$work/log" | tail -n 1)
case $link in *libperch-profile.a*) ! echo "$link" | grep -q 'libperch[a-z-]*\.so' ;; *) false ;; esac
report $? "subproject: a static build links the archives"
# a system without the headers of elfutils
cat >"$work/cc" <<'EOF2'
#!/bin/sh
for word; do
	case $word in *.c) ! grep -q '<dwarf.h>\|"dwarf.h"' "$word" || exit 1 ;; esac
done
exec cc "$@"
EOF2
chmod +x "$work/cc"
# shellcheck disable=SC2086
! CC=$work/cc PKG_CONFIG_LIBDIR=$work meson setup $fast "$work/without" "$parent" >"$work/log" 2>&1 && rm -rf "$work/without" &&
	sed -i "s/'libperch-profile'/'libperch'/" "$parent/meson.build" &&
	CC=$work/cc PKG_CONFIG_LIBDIR=$work meson setup $fast "$work/without" "$parent" >"$work/log" 2>&1
report $? "subproject: libperch needs none of the libraries of libperch-profile"

if ! command -v musl-gcc >/dev/null 2>&1; then
	echo "ok - libperch by musl-gcc # skip: musl-gcc is not installed"
	exit $status
fi
core=$work/core
# shellcheck disable=SC2086
try "-Dprofile=false, musl-gcc: configured" \
	env CC=musl-gcc meson setup $fast -Dprofile=false -Dtests=disabled -Dwerror=true -Dman=disabled "$core" "$PERCH_SOURCE_ROOT"
try "-Dprofile=false, musl-gcc: built without headers of the kernel" ninja -C "$core"
try "-Dprofile=false: installed" meson install -C "$core" --no-rebuild --destdir "$work/root"
(cd "$PERCH_SOURCE_ROOT" && sed -n '/^perch_headers/,/^)/s/.*'"'"'\(.*\.h\)'"'"'.*/\1/p' include/perch/meson.build) |
	sort >"$work/expected"
find "$work/root" -name '*.h' -exec basename {} \; | sort | diff "$work/expected" - >"$work/log"
report $? "-Dprofile=false: it installs the headers of libperch, and no others"
! find "$work/root" -name '*profile*' | grep . >"$work/log"
report $? "-Dprofile=false: it installs nothing of libperch-profile"
include=$(dirname "$(dirname "$(find "$work/root" -name version.h)")")
try "musl-gcc: a program links with the archive" \
	musl-gcc -static -I"$include" "$parent/app.c" "$(find "$work/root" -name libperch.a)" -o "$work/static-app"
try "musl-gcc: the static program runs" "$work/static-app"
exit $status
