# SPDX-License-Identifier: MIT
# What the scripts of this folder begin with: a folder of their own to work in, and verdicts. `clean` may be redefined.
# shellcheck shell=bash disable=SC2034
set -u
perch=${PERCH:?the perch command to test}
dir=$(mktemp -d) || exit 1
failed=0

clean() {
	:
}
trap 'clean; rm -rf "$dir"' EXIT
chmod 755 "$dir"
cd "$dir" || exit 1

report() {		# status of a check, its name
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
	else
		echo "not ok - $2"
		[ -e out ] && sed 's/^/    /' out
		failed=1
	fi
}

skip() {		# name, why
	echo "ok - $1 # skip $2"
}
