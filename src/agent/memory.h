/* SPDX-License-Identifier: MIT */
/* The memory of this process. */
#ifndef PERCH_AGENT_MEMORY_H
#define PERCH_AGENT_MEMORY_H

#include <stdint.h>

/* Bytes that are allocated; 0 if unknown. */
uint64_t agent_allocated_memory(void);
/* Bytes of writable memory, whether it is used or not; 0 if unknown. */
uint64_t agent_used_memory(void);
/* Gives memory that is free back to the kernel. */
void agent_trim_memory(void);
/* Bytes that are in memory. */
uint64_t agent_resident_memory(void);

#endif
