#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs bench-decode; if cargo can build bench/peers/linux-perf-data, it is compared too: decode.sh
# [BUILD].
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${1:-build}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

if reason=$("$bench/peers/install" "$build" decode-linux-perf-data); then
	"$build/bench/bench-decode" "$dir/perf.data" "$build/peers/bin/decode-linux-perf-data"
else
	"$build/bench/bench-decode" "$dir/perf.data"
	echo "linux-perf-data: not compared: $reason"
fi
