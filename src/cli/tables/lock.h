/* SPDX-License-Identifier: MIT */
/* What the files of perch lock share. */
#ifndef PERCH_CLI_TABLES_LOCK_H
#define PERCH_CLI_TABLES_LOCK_H

#include "base/hash_table.h"
#include "tables.h"

/* Bits of contention_begin.flags. */
enum {
	LOCK_SPIN = 1,
	LOCK_READ = 2,
	LOCK_WRITE = 4,
	LOCK_RT = 8,
	LOCK_PERCPU = 16,
	LOCK_MUTEX = 32,
	LOCK_FUTEX = 64,
	LOCK_PI = 128
};

enum { LOCK_MOST_STACK = 127, LOCK_DEFAULT_STACK = 8 };

/* Numbers of a row. */
enum { LOCK_CONTENDED, LOCK_TYPE, LOCK_ADDRESS, LOCK_PID, LOCK_TID, LOCK_WAKER };

/* A call chain that waits have in common. */
struct lock_stack {
	uint64_t hash[2];
	uint32_t *number;    /* for perch_session_address() */
	uint32_t nr, caller; /* the first one that is no function of locks; nr: there is none */
};

struct lock {
	struct tables tables;
	bool by_address, by_thread, by_owner, user;
	uint64_t max_stack, stack_skip;
	const char *types, *locks, *functions;
	struct tables_table variables; /* of programs: their names by address and process */
	struct lock_stack *stack;
	size_t nr_stacks, stack_capacity;
	struct perch__hash_table by_stack;
	struct perch_pairs *blocked; /* the lock that a thread sleeps for; NULL: not needed */
	uint8_t *role;		     /* by number of an address */
	size_t nr_roles;
};

static inline struct lock *lock_of(struct tables *tables)
{
	return (struct lock *)tables;
}

static inline const struct lock *const_lock_of(const struct tables *tables)
{
	return (const struct lock *)tables;
}

/* ---- lock_waits.c ---- */

extern const struct tables_event lock_kernel_events[], lock_user_events[];

/* ---- lock_stacks.c ---- */

/* Roles of functions. */
enum { LOCK_FOUND = 1, LOCK_WAITS = 2, LOCK_WAKES = 4 };

/* Finds the call chain of a sample. roles: of functions that are not its caller. Returns its index,
 * or UINT32_MAX without memory. */
uint32_t lock_find_stack(struct lock *lock, const struct tables_sample *sample, unsigned roles);
/* True without -S, or if a function of the call chain has one of its names. */
bool lock_has_wanted_function(const struct lock *lock, const struct lock_stack *stack);
void lock_clear_stacks(struct lock *lock);

/* ---- lock_types.c ---- */

/* "spinlock" */
const char *lock_type_name(uint64_t flags);
bool lock_is_wanted_type(const struct lock *lock, uint64_t flags);
/* Returns 0, or CLI_EXIT_USAGE for an unknown type in -Y. */
int lock_check_types(const struct lock *lock);

/* ---- lock_functions.c ---- */

/* True for a function of the kernel that waits for a lock, or takes one: its caller is meant. */
bool lock_is_kernel_function(const char *name);
/* True for a function of the kernel that wakes another thread as a lock ends. */
bool lock_is_wake_function(const char *name);
/* True for a library whose functions wait by futex(2) for their callers. */
bool lock_is_library(const char *path);

#endif
