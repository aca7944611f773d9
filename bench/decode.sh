#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs bench-decode; if cargo can build bench/peers/linux-perf-data, it is compared too: decode.sh
# [BUILD]. CARGO_OPTIONS are options of `cargo build`, for example "--offline --config FILE".
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${1:-build}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
peer=$build/peers/release/decode-linux-perf-data

# Prints why the peer cannot be built, and nothing on success.
build_peer() {
	local cargo
	cargo=$(command -v cargo || echo "$HOME/.cargo/bin/cargo")
	if ! [ -x "$cargo" ]; then
		echo "cargo is not installed"
		return
	fi
	# cargo builds a copy: it would write Cargo.lock into the sources.
	cp -r "$bench/peers/linux-perf-data" "$dir/peer"
	export PATH="${cargo%/*}:$PATH"
	export CARGO_NET_RETRY="${CARGO_NET_RETRY:-1}"
	export CARGO_HTTP_TIMEOUT="${CARGO_HTTP_TIMEOUT:-15}"
	# shellcheck disable=SC2086 # options are separate words
	if ! cargo fetch --quiet --manifest-path "$dir/peer/Cargo.toml" ${CARGO_OPTIONS:-} \
		>"$dir/log" 2>&1; then
		echo "its crates cannot be fetched here"
	elif ! cargo build --quiet --release --manifest-path "$dir/peer/Cargo.toml" \
		--target-dir "$build/peers" ${CARGO_OPTIONS:-} >"$dir/log" 2>&1; then
		cp "$dir/log" "$build/peers.log"
		echo "cargo cannot build it, see $build/peers.log"
	fi
}

if [ -n "${BENCH_SMOKE:-}" ]; then
	reason="a smoke run builds no other library"
else
	reason=$(build_peer)
fi
if [ -n "$reason" ]; then
	"$build/bench/bench-decode" "$dir/perf.data"
	echo "linux-perf-data: not compared: $reason"
else
	"$build/bench/bench-decode" "$dir/perf.data" "$peer"
fi
