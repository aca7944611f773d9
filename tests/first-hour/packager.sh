# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Packages it: installs into a directory of its own, and looks at what a package would have.
[ -e /.first-hour ] || { echo "packager.sh: is run by tests/first-hour/run" >&2 && exit 2; }
cd /root/perch
make build
rm -rf /tmp/staged && touch /tmp/before
DESTDIR=/tmp/staged make install PREFIX=/usr
test -x /tmp/staged/usr/bin/perch
# nothing outside of the directory
test -z "$(find /usr /etc -newer /tmp/before -type f ! -path '*/__pycache__/*' | head -n 3)"
libraries=$(dirname "$(find /tmp/staged/usr/lib -name 'libperch.so.0')")
for name in libperch libperch-profile; do
	test -e "$libraries/$name.so.0"
	test "$(PKG_CONFIG_PATH="$libraries/pkgconfig" pkg-config --modversion $name)" = \
		"$(/tmp/staged/usr/bin/perch --version | awk '{ print $NF }')"
done
for file in bash-completion/completions/perch zsh/site-functions/_perch man/man1/perch.1 \
	man/man1/perch-record.1 man/man3/perch_counter_open.3; do
	test -s "/tmp/staged/usr/share/$file"
done
# as each package, without debug information; then nothing of what is installed names the directories of the build
find /tmp/staged/usr/lib /tmp/staged/usr/bin -type f ! -name '*.pc' -exec strip -g {} +
if grep -rlF -e /root/perch -e /tmp/staged /tmp/staged/usr/lib /tmp/staged/usr/bin; then exit 1; fi
/tmp/staged/usr/bin/perch record -o /tmp/staged.data -- true
rm -rf /tmp/staged
