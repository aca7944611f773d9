/* SPDX-License-Identifier: MIT */
#ifndef PERCH_CLI_JIT_ADVICE_H
#define PERCH_CLI_JIT_ADVICE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns what makes a program with a JIT compiler write /tmp/perf-PID.map: for the program with
 * this name (comm) of its first thread, else for all that are known. The text is in the buffer.
 */
const char *cli_jit_advice(const char *comm, uint32_t pid, char *buffer, size_t size);

#endif
