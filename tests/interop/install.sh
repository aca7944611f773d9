#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into a DESTDIR and builds programs with the installed files by pkg-config: with the shared
# libraries and with the static libraries.
# shellcheck disable=SC2046,SC2086 # compiler flags are separate words
# shellcheck source=tests/interop/common.sh
. "$(dirname "$0")/common.sh"

try "meson install into a DESTDIR" \
	meson install -C "$PERCH_BUILD_ROOT" --no-rebuild --destdir "$work/root"

pkgconfig=$(dirname "$(find "$work/root" -name libperch.pc)")
libdir=$(dirname "$pkgconfig")
export PKG_CONFIG_PATH="$pkgconfig"
prefix=$(pkg-config --variable=prefix libperch)
# Only perch is in the DESTDIR; its dependencies are those of the system. So only the prefix changes,
# not the whole system root.
config() {
	pkg-config --define-variable=prefix="$work/root$prefix" "$@"
}

# Only the .pc files of perch: the packages of zlib, libdeflate, zstd and liblzma are not there.
alone() {
	PKG_CONFIG_LIBDIR="$pkgconfig" PKG_CONFIG_PATH='' pkg-config "$@" >"$work/log" 2>&1
}
alone --cflags --libs libperch-profile && grep -q -e '-lperch-profile -lperch' "$work/log" &&
	! grep -qE -e '-l(elf|dw|z|deflate|zstd|lzma|iberty)\b' "$work/log"
report $? "libperch-profile: shared libraries need no package of zlib"
alone --static --libs libperch-profile && grep -q -e '-lz' "$work/log" &&
	grep -q -e '-liberty' "$work/log"
report $? "libperch-profile: static libraries name the libraries that they need"
alone --static --libs libperch && ! grep -qE -e '-l(elf|dw|z|deflate|zstd|lzma|iberty)\b' "$work/log"
report $? "libperch: neither needs another library"

cat >"$work/core.c" <<'EOF'
#include <perch/perch_headers.h>
int main(void)
{
	struct perch_error err = { 0 };
	return perch_error_set(&err, EINVAL, PERCH_ERROR_USAGE, "unknown option") == -EINVAL ? 0 : 1;
}
EOF
{
	echo '#include <errno.h>'
	for header in "$work/root$prefix"/include/perch/*.h; do
		echo "#include <perch/$(basename "$header")>"
	done
} >"$work/headers"
sed -i -e "/perch_headers/{r $work/headers
d}" "$work/core.c"

# Before the installation: headers of the sources, libraries of the build directory.
for library in libperch libperch-profile; do
	uninstalled() {
		PKG_CONFIG_PATH="$PERCH_BUILD_ROOT/meson-uninstalled" pkg-config "$@" $library
	}
	try "$library: a program links with a build that is not installed" \
		gcc -Wall -Werror "$work/core.c" -o "$work/uninstalled" $(uninstalled --cflags --libs)
	try "$library: that program runs in the build" env LD_LIBRARY_PATH="$PERCH_BUILD_ROOT/src" "$work/uninstalled"
done

for library in libperch libperch-profile; do
	try "$library: a program links with the shared library" \
		gcc -Wall -Werror "$work/core.c" -o "$work/shared" $(config --cflags --libs $library)
	try "$library: that program runs" env LD_LIBRARY_PATH="$libdir" "$work/shared"

	archives="-Wl,-Bstatic -lperch-profile -lperch -Wl,-Bdynamic"
	[ $library = libperch ] && archives="-Wl,-Bstatic -lperch -Wl,-Bdynamic"
	others=$(config --static --libs-only-l $library | tr ' ' '\n' | grep -v -e '^-lperch')
	try "$library: a program links with the static libraries" \
		gcc -Wall -Werror "$work/core.c" -o "$work/static" $(config --cflags $library) \
		-L"$libdir" $archives $others
	try "$library: that program runs without shared libraries of perch" "$work/static"
done

try "the installed command runs without LD_LIBRARY_PATH" \
	env -u LD_LIBRARY_PATH "$work/root$prefix/bin/perch" --version
version=$("$work/root$prefix/bin/perch" --version | cut -d' ' -f3)
for library in libperch libperch-profile; do
	echo "perch $version, $library $(pkg-config --modversion $library)" >"$work/log"
	[ "$(pkg-config --modversion $library)" = "$version" ] &&
		test -e "$libdir/$library.so.$version"
	report $? "perch --version, the package $library and its shared object have one version"
done
grep -q "^## $version\b" "$PERCH_SOURCE_ROOT/CHANGELOG.md"
report $? "CHANGELOG.md is about that version"
"$work/root$prefix/bin/perch" version --build-options >"$work/log" 2>&1 &&
	[ "$(grep -cE '^ +[a-z-]+: \[ (on |OFF) \]  # ' "$work/log")" -eq "$(($(wc -l <"$work/log") - 1))" ]
report $? "perch version --build-options prints a line for each part"
! ldd "$work/root$prefix/bin/perch" | grep -q libperch >"$work/log"
report $? "the installed command does not link with the shared libperch"
for file in bash-completion/completions/perch zsh/site-functions/_perch fish/vendor_completions.d/perch.fish; do
	try "$file is installed" test -s "$work/root$prefix/share/$file"
done
exit $status
