# SPDX-License-Identifier: MIT
# Short names for meson and the scripts. BUILD is the build directory.
BUILD ?= build
PREFIX ?= /usr/local
export BUILD

.PHONY: demo test check test-long test-kernels test-fleet test-cross fuzz build bench compare \
	install site guide static dist dist-check reproducible sbom abi-dump deb deb-test \
	fmt lint clean

demo:
	@scripts/demo

test:
	@scripts/setup test
	@scripts/test

# unit tests and lint: what to run before each commit, in less than two minutes
check:
	@scripts/setup test
	@scripts/build $(BUILD)
	@meson test -C $(BUILD) --no-rebuild --quiet --print-errorlogs --suite unit --suite lint

# on other kernels, in emulated machines; with PERCH_KERNELS, PERCH_TESTS, and CROSS=arm64 or s390x
test-kernels: build
	@scripts/setup test
	@tests/kernels/run $(BUILD)$(addprefix -,$(CROSS)) || [ $$? -eq 77 ]

# with FUZZ_SECONDS (3600), FUZZ_TARGETS (all), FUZZ_JOBS
fuzz:
	@scripts/setup test
	@scripts/fuzz

# with profiling engines, which are built from the Go module proxy
test-fleet: build
	@PERCH=$(abspath $(BUILD))/perch tests/fleet/fleet.py || [ $$? -eq 77 ]

# of new users, in bare roots of Debian 12 and 13; as root, with debootstrap
.PHONY: first-hour
first-hour:
	@tests/first-hour/run || [ $$? -eq 77 ]

test-long:
	@scripts/setup test
	@scripts/test-long

# with CROSS=arm64, armhf, ppc64el, riscv64 or s390x for another architecture, in $(BUILD)-$(CROSS)
build:
ifdef CROSS
	@scripts/cross build $(CROSS)
else
	@scripts/setup build
	@scripts/build $(BUILD)
endif

# Unit tests of a build for another architecture, under qemu-user.
test-cross:
	@scripts/cross test $(CROSS)

# with each gcc-N and clang-N of this system
.PHONY: compilers
compilers:
	@scripts/setup test
	@scripts/compilers

bench: build
	@scripts/setup test
	@NINJA_TARGETS="benchmarks example-programs" scripts/build $(BUILD)
	@bench/run $(BUILD)

# with other profilers; writes bench/COMPARISON.md. NEWER_PERF names another perf
compare: build
	@scripts/setup test
	@NINJA_TARGETS=benchmarks scripts/build $(BUILD)
	@bench/comparison.py $(BUILD) bench/COMPARISON.md

install:
	@test -e $(BUILD)/build.ninja || { echo "install: run 'make build' first" >&2; exit 1; }
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@meson install -C $(BUILD) --quiet
# programs find the new libraries; a packager and an ordinary user have no right or need to do this
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || ldconfig || true
	@echo "install: perch is installed in $(DESTDIR)$(PREFIX)"

# The documentation as HTML, in $(BUILD)/site. guide makes the output of commands in its text anew.
site: build
	@scripts/setup docs
	@site/build.py $(BUILD)

guide: build
	@site/run.py $(BUILD) --write

# One file that needs no library: $(BUILD)/static/ARCHITECTURE/perch-static.
# With CROSS for another architecture.
static:
	@scripts/static $(CROSS)

# The archive of a release and its checksums, in $(BUILD)/dist; with KEY to sign them.
# dist-check builds from it.
dist:
	@scripts/dist

dist-check:
	@scripts/dist --check

# Builds the last commit twice, in different ways, and compares the bytes: what is installed, and
# the Debian packages.
reproducible:
	@scripts/reproducible
	@scripts/reproducible --packages

# What the built command and libraries are linked with, and its licenses.
sbom: build
	@scripts/sbom $(BUILD) >$(BUILD)/perch.spdx.json
	@scripts/sbom --text $(BUILD)

# Debian packages, in $(BUILD)/packages
deb:
	@scripts/package deb

# in new roots of Debian 12 and 13, as root: builds, uses, upgrades and removes the packages
deb-test:
	@scripts/package deb-test $(RELEASES)

# After a release, and after a change of the binary interface that CONTRIBUTING.md allows.
abi-dump: build
	@scripts/setup test
	@scripts/abi dump $(BUILD)

fmt:
	@scripts/sources '*.c' '*.h' | xargs clang-format -i

lint:
	@scripts/lint

clean:
	rm -rf build build-asan build-tsan build-demo \
		build-arm64 build-armhf build-ppc64el build-riscv64 build-s390x
