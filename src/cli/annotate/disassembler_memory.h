/* SPDX-License-Identifier: MIT */
#ifndef PERCH_CLI_DISASSEMBLER_MEMORY_H
#define PERCH_CLI_DISASSEMBLER_MEMORY_H

#include <stdint.h>
#include <capstone/capstone.h>

/* The allocator of capstone; it is set before the first cs_open(). */
extern const cs_opt_mem disassembler_memory;

#endif
