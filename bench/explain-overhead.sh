#!/bin/sh
# SPDX-License-Identifier: MIT
# What perch explain costs a program that opens no events: explain-overhead.sh [BUILD].
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${1:-build}")
program=$(mktemp)
trap 'rm -f "$program"' EXIT
"${CC:-cc}" -std=gnu17 -O2 -Wall -Wextra -o "$program" "$bench/explain-overhead.c"
"$program" "$build/perch"
