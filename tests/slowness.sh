# SPDX-License-Identifier: MIT
# Sets $slowness, by which scripts multiply their limits: how many times slower than other machines this one is, rounded up.
# shellcheck shell=sh disable=SC2034
slowness=${PERCH_HOST_SLOWNESS:-$("${PERCH_BUILD_ROOT:?}/tests/host" slowness)}
slowness=$((${slowness%.*} + 1))
