/* SPDX-License-Identifier: MIT */
/*
 * The disassembler. A file calls only files below its own:
 *
 *	probe_start.c	checks that user probes are at the start of an instruction
 *	disassembler.c	instructions, by capstone
 *	memory.c	the memory of capstone
 */
#ifndef PERCH_DISASSEMBLER_INTERNAL_H
#define PERCH_DISASSEMBLER_INTERNAL_H

#include <stdint.h>
#include <capstone/capstone.h>

/* The allocator of capstone; it is set before the first cs_open(). */
extern const cs_opt_mem perch__capstone_memory;

#endif
