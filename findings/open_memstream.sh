#!/bin/sh
# SPDX-License-Identifier: MIT
# glibc's open_memstream(3) loses a whole text without an error if the last allocation fails.
#
# Guess: without memory a write fails, the error indicator is set, and fclose(3) returns EOF.
# What happens (glibc 2.36, 2.41 and 2.43): the buffer grows while the stream is written, and fclose() allocates
# once more, to cut it to its size. If that one fails, each fprintf(), fflush() and ferror() before it
# has reported success, fclose() returns 0, the size is that of the whole text, and the text is NULL. If
# an earlier one fails, fprintf() returns -1 once, but ferror() stays 0 and fclose() returns 0, also with
# a text of NULL and a size above 0. POSIX has fclose() fail with ENOMEM.
# So a program must check the pointer, not only the stream: src/base/text_stream.h does.
#
# Needs cc, apt-get, dpkg-deb and Debian's mirrors. Exit status 0: it is as described; 1: that has changed;
# 77: no package can be had.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >program.c <<'END'
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static long left = -1; /* allocations until one fails, and all after it */

static int refuses(void)
{
	if (left < 0)
		return 0;
	if (left > 0) {
		left--;
		return 0;
	}
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size) { return refuses() ? NULL : __libc_malloc(size); }
void *calloc(size_t nr, size_t size) { return refuses() ? NULL : __libc_calloc(nr, size); }
void *realloc(void *old, size_t size) { return refuses() ? NULL : __libc_realloc(old, size); }

int main(void)
{
	for (long nr = 0; nr < 16; nr++) {
		char *text = NULL;
		size_t size = 0, accepted = 0;
		int refused = 0, flushed, error, closed;
		FILE *file;

		left = nr;
		file = open_memstream(&text, &size);
		if (!file)
			continue;
		for (int i = 0; i < 300; i++) {
			int rc = fprintf(file, "%0100d", i);

			refused |= rc < 0;
			accepted += rc > 0 ? (size_t)rc : 0;
		}
		flushed = fflush(file);
		error = ferror(file) != 0;
		closed = fclose(file);
		left = -1;
		if (text)
			break; /* nothing failed */
		printf("%s bytes written, fflush %d, ferror %d, fclose %d, text NULL, size %s\n",
		       refused ? "not all" : "all", flushed, error, closed,
		       size == accepted ? "of the text" : "of a part");
	}
	return 0;
}
END
cc -O1 -fno-builtin -o program program.c

# suite, version: the C library is used from its package, and not installed
library() {
	mkdir -p "$1/state/lists/partial" "$1/cache/archives/partial" "$1/parts" "$1/root"
	: >"$1/status"
	signed=
	keys=/usr/share/keyrings/debian-archive-keyring.gpg
	[ ! -e $keys ] || signed="[signed-by=$keys] "
	echo "deb ${signed}http://deb.debian.org/debian $1 main" >"$1/sources.list"
	apt() {
		apt-get -q -o Dir::Etc::sourcelist="$dir/$suite/sources.list" -o Dir::Etc::sourceparts="$dir/$suite/parts" \
			-o Dir::State="$dir/$suite/state" -o Dir::State::status="$dir/$suite/status" \
			-o Dir::Cache="$dir/$suite/cache" -o APT::Sandbox::User="$(id -un)" "$@" >log 2>&1 || {
			cat log
			return 1
		}
	}
	suite=$1
	apt update
	(cd "$1" && apt download "libc6=$2" && dpkg-deb -x libc6_*.deb root)
}

status=0
tried=
try() { # suite, version
	library "$@" || {
		echo "skipped: $1 has no libc6 $2, or cannot be reached"
		return
	}
	lib=$(dirname "$(find "$dir/$1/root" -name libc.so.6 | head -n 1)")
	loader=$(find "$lib" -name 'ld-linux*' | head -n 1)
	"$loader" --library-path "$lib" ./program >seen
	tried=1
	echo "== libc6 $2"
	cat seen
	grep -q "^all bytes written, fflush 0, ferror 0, fclose 0, text NULL, size of the text$" seen &&
		grep -q "^not all bytes written, fflush 0, ferror 0, fclose 0, text NULL" seen || status=1
}
try bookworm 2.36-9+deb12u14
try trixie 2.41-12+deb13u5
try sid 2.43-7
[ -n "$tried" ] || exit 77
[ $status -eq 0 ] || echo "the behavior has changed"
exit $status
