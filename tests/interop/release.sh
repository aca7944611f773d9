#!/bin/sh
# SPDX-License-Identifier: MIT
# What a release is made of: the archive of the sources, its checksums and their signature, and the list of what is
# linked with its licenses.
# shellcheck source=tests/interop/common.sh
. "$(dirname "$0")/common.sh"

unset KEY # of a user who signs releases

sbom=$PERCH_SOURCE_ROOT/scripts/sbom
try "scripts/sbom lists what is linked" sh -c '"$1" "$2" >"$3"' sbom "$sbom" "$PERCH_BUILD_ROOT" "$work/first.json"
"$sbom" "$PERCH_BUILD_ROOT" >"$work/second.json" 2>"$work/log"
try "scripts/sbom writes the same document again" cmp "$work/first.json" "$work/second.json"
cat >"$work/check.py" <<'EOF'
import json
import re
import subprocess
import sys

document = json.load(open(sys.argv[1]))
packages = {package["SPDXID"]: package for package in document["packages"]}
relations = document["relationships"]
names = [package["name"] for package in packages.values()]
assert {"perch", "libiberty", "zlib (libz)"} <= set(names) or "zlib (libz.so.1)" in names, names
for relation in relations:
    assert {relation["spdxElementId"], relation["relatedSpdxElement"]} - {"SPDXRef-DOCUMENT"} <= set(packages), relation
licenses = {package["licenseDeclared"] for package in packages.values() if "libiberty" in package["name"]}
assert any("GCC-exception-2.0" in license for license in licenses), licenses
linked = [packages[relation["relatedSpdxElement"]]["name"] for relation in relations
          if relation["spdxElementId"] == "SPDXRef-file-perch" and relation["relationshipType"] == "DYNAMIC_LINK"]
needed = subprocess.run(["readelf", "-dW", sys.argv[2]], capture_output=True, text=True, check=True).stdout
for library in re.findall(r"\(NEEDED\).*\[(lib.*)\]", needed):
    assert any(f"({library})" in name for name in linked), (library, linked)
EOF
each="it has each library that perch needs, and the exception of libiberty"
if command -v dpkg-query >/dev/null 2>&1; then
	try "$each" python3 "$work/check.py" "$work/first.json" "$PERCH"
else
	skip "$each" "the names of packages are those of dpkg"
fi
mkdir "$work/scripts"
sed 's/"libz": "Zlib",//' "$sbom" >"$work/scripts/sbom"
cp "$PERCH_SOURCE_ROOT/meson.build" "$work"
python3 "$work/scripts/sbom" "$PERCH_BUILD_ROOT" perch >"$work/log" 2>&1
[ $? -eq 1 ] && grep -q 'has no libz' "$work/log"
report $? "a library without a license is an error"

if ! git -C "$PERCH_SOURCE_ROOT" rev-parse -q --verify HEAD >/dev/null 2>&1; then
	skip "scripts/dist" "the sources are no git repository"
	exit $status
fi
dist() { # directory
	(umask 077 && TZ=Asia/Tokyo PERCH_XZ=-0 KEY=${KEY:-} "$PERCH_SOURCE_ROOT/scripts/dist" "$1") >"$work/log" 2>&1
}
dist "$work/one"
report $? "scripts/dist makes an archive"
archive=$(basename "$work"/one/perch-*.tar.xz)
version=$("$PERCH" --version | cut -d' ' -f3)
[ "$archive" = "perch-$version.tar.xz" ]
report $? "its name has the version of perch"
if command -v ssh-keygen >/dev/null 2>&1; then
	ssh-keygen -q -t ed25519 -N '' -f "$work/key" >/dev/null
	KEY=$work/key dist "$work/two"
	report $? "scripts/dist signs the checksums"
	try "the signature is of the checksums" sh -c 'ssh-keygen -Y check-novalidate -n file -s "$1.sig" <"$1"' \
		check "$work/two/SHA256SUMS"
	echo >>"$work/two/SHA256SUMS"
	! ssh-keygen -Y check-novalidate -n file -s "$work/two/SHA256SUMS.sig" <"$work/two/SHA256SUMS" >"$work/log" 2>&1
	report $? "and of no others"
else
	dist "$work/two"
	skip "scripts/dist signs the checksums" "ssh-keygen is not installed"
fi
try "the same commit gives the same bytes" cmp "$work/one/$archive" "$work/two/$archive"
try "the checksums are those of the archive" sh -c 'cd "$1" && sha256sum -c SHA256SUMS' check "$work/one"
tar tf "$work/one/$archive" | sed 's,^[^/]*/,,' | grep -v '/$' | grep . | LC_ALL=C sort >"$work/log"
git -C "$PERCH_SOURCE_ROOT" -c core.quotePath=off ls-tree -r --name-only HEAD | LC_ALL=C sort | cmp - "$work/log"
report $? "the archive has the files of the commit and no others"
exit $status
