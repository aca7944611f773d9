# SPDX-License-Identifier: MIT
# A thin front: meson and the scripts do the work. BUILD names the build directory.
BUILD ?= build
PREFIX ?= /usr/local
export BUILD

SOURCES = $(wildcard include/perch/*.h src/*/*.[ch] tests/*/*.[ch] fuzz/*.[ch] bench/*.[ch] examples/*.[ch])

.PHONY: demo test test-long fuzz build bench install fmt lint clean

demo:
	@scripts/demo

test:
	@scripts/setup test
	@scripts/test

# FUZZ_SECONDS (3600), FUZZ_TARGETS (all), FUZZ_JOBS
fuzz:
	@scripts/setup test
	@scripts/fuzz

test-long:
	@scripts/setup test
	@scripts/test-long

build:
	@scripts/setup build
	@scripts/build $(BUILD)

bench: build
	@scripts/setup test
	@NINJA_TARGETS=benchmarks scripts/build $(BUILD)
	@bench/run $(BUILD)

install:
	@test -e $(BUILD)/build.ninja || { echo "install: run 'make build' first" >&2; exit 1; }
	meson configure $(BUILD) -Dprefix=$(PREFIX)
	meson install -C $(BUILD)

fmt:
	clang-format -i $(SOURCES)

lint:
	@scripts/lint $(SOURCES)

clean:
	rm -rf build build-clang build-asan build-tsan build-fuzz
