/* SPDX-License-Identifier: MIT */
/* Call chains, and the numbers of their addresses (addresses.c, waiting.c). */
#ifndef PERCH_PROFILE_ADDRESSES_H
#define PERCH_PROFILE_ADDRESSES_H

#include <regex.h>
#include <perch/profile.h>
#include "numbered.h"

/* The call chain of a sample without context markers, innermost first. */
#define MAX_DEPTH PERCH_MAX_CALL_CHAIN
struct chain {
	size_t nr;
	uint64_t ip[MAX_DEPTH];
	uint8_t cpumode[MAX_DEPTH];
};
void perch__chain_read(struct chain *chain, const struct perch_record *record);
/* An address that stands for the outer callers that a chain lacks. No record has its mode. */
#define TRUNCATED_IP   UINT64_MAX
#define TRUNCATED_MODE PERCH_MISC_CPUMODE_MASK
/* Adds it to the chain, unless that is full. */
void perch__chain_add_truncated(struct chain *chain);
static inline bool perch__is_truncated(const struct perch_frame *frame)
{
	return !frame->symbol && frame->offset == TRUNCATED_IP && frame->cpumode_char == '?';
}

/* The last stack of a thread. The next stack of the same thread usually has the same outer frames,
 * so only the others need a lookup. */
struct last_stack {
	/* of the address spaces when the stack was stored; 0 if empty */
	uint64_t generation, kernel_generation;
	uint32_t tid;
	struct context_id context;
	size_t nr;
	uint64_t ip[MAX_DEPTH]; /* outermost first */
	uint8_t cpumode[MAX_DEPTH];
	uint32_t number[MAX_DEPTH]; /* of the address, or of the tree's node */
};
#define LAST_STACKS 64 /* indexed by tid */
/*
 * Stores a chain as the last stack. Returns the number of outer frames that are unchanged: 0 if the
 * stack is another thread's, or if a mapping changed. The caller sets number[] of the others.
 */
size_t perch__last_stack_update(struct last_stack *last, const struct perch_processes *processes,
				const struct perch_thread *thread, const struct chain *chain);

/* A cache in front of the hash table: hot code has a few thousand addresses. */
#define RECENT 65536
struct recent {
	uint64_t key, ip; /* key: address space and cpumode; 0 if empty */
	struct address_id number;
};

/* Functions with a name that matches an expression. */
struct matcher {
	regex_t regex;
	bool is_set;
	/* by address number: 0 is not tested, 1 no match, else the number of the name + 2 */
	uint32_t *result;
	size_t nr;
};

void perch__matcher_clear(struct matcher *matcher);
int perch__matcher_detach(struct matcher *matcher); /* without an expression */

struct perch_addresses {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct recent recent[RECENT];
	struct last_stack last_stack[LAST_STACKS];
	struct key_set keys; /* struct address_key -> address[] */
	struct perch_address *address;
	struct waiting *waiting; /* NULL until a chain waits */
	struct matcher ignored;	 /* of perch_addresses_ignore_callees() */
};
/* What an address is: the address of the DSO with the cpumode in its low bits, and the offset. */
struct address_key {
	uint64_t word[2];
};
/* Call chains whose addresses are numbered later. */
struct waiting {
	struct address_key *key; /* by position */
	uint32_t *number;
	size_t nr, keys_capacity, numbers_capacity;
	/* last_stack[].number: positions; valid until the keys are numbered */
	struct last_stack last_stack[LAST_STACKS];
	uint64_t used; /* a bit for each last stack with positions */
};
_Static_assert(LAST_STACKS <= 64, "a word has a bit for each last stack");
/* Returns a number of the address space of an address, not 0. */
static inline uint64_t perch__space_key(const struct perch_processes *processes,
					const struct perch_thread *thread, unsigned cpumode)
{
	/* all processes share the kernel's address space */
	uint64_t generation = cpumode == PERCH_MISC_KERNEL || cpumode == PERCH_MISC_GUEST_KERNEL
				      ? perch_processes_kernel_generation(processes)
				      : perch_thread_generation(thread);

	return (generation + 1) << 3 | cpumode;
}
struct address_key perch__address_key(const struct perch_addresses *addresses,
				      struct perch_thread *thread, unsigned cpumode, uint64_t ip);
/* Stores the numbers of the addresses of a chain. Returns how many, or -ENOMEM. */
int perch__addresses_number_chain(struct perch_addresses *addresses, struct perch_thread *thread,
				  const struct chain *chain, uint32_t *numbers, size_t max);
/* Makes space for more addresses. Returns 0 or -ENOMEM. */
int perch__addresses_reserve(struct perch_addresses *addresses, size_t more);
/* Stores the numbers of keys. There must be space for nr addresses more. */
void perch__addresses_number(struct perch_addresses *addresses, const uint64_t (*keys)[2],
			     size_t nr, uint32_t *numbers);
/*
 * Returns the number of an address. It is the same in every process that maps the same file offset.
 * Returns NO_NUMBER if out of memory.
 */
struct address_id perch__address_number(struct perch_addresses *addresses,
					struct perch_thread *thread, unsigned cpumode, uint64_t ip);

char perch__cpumode_char(unsigned cpumode);
/*
 * Returns the mode of another address than the sampled one. The kernel of 64-bit machines is in the
 * upper half of the addresses. Guests have no such rule. An address of a 32-bit kernel is in no
 * mapping of the process.
 */
unsigned perch__mode_of_address(const struct perch_record *record, uint64_t address);

#endif
