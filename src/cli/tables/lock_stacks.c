/* SPDX-License-Identifier: MIT */
/* Call chains, and the function in each that a wait is named by. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "lock.h"

static uint8_t find_role(const struct lock *lock, uint32_t number)
{
	const struct perch_address *address =
		perch_session_address(lock->tables.input.session, number);
	const char *name = address->symbol ? address->symbol->name : "";

	if (lock->user)
		return address->cpumode_char == 'k' || lock_is_library(address->dso->path)
			       ? LOCK_FOUND | LOCK_WAITS
			       : LOCK_FOUND;
	return (uint8_t)(LOCK_FOUND | (lock_is_kernel_function(name) ? LOCK_WAITS : 0) |
			 (lock_is_wake_function(name) ? LOCK_WAKES : 0));
}

/* True if the address is in a function of one of the roles. */
static bool has_role(struct lock *lock, uint32_t number, unsigned roles)
{
	if (PERCH__ARRAY_RESERVE_ZEROED(lock->role, lock->nr_roles, (size_t)number + 1))
		return find_role(lock, number) & roles;
	if (!lock->role[number])
		lock->role[number] = find_role(lock, number);
	return lock->role[number] & roles;
}

static bool is_same_stack(const void *stacks, uint32_t index, const void *key)
{
	const struct lock_stack *stack = stacks;

	return !memcmp(stack[index].hash, key, sizeof(stack->hash));
}

/* Hashes what is outside of the functions of locks. As in perf, equal code at other addresses (of
 * another process) is another stack; in programs it is the same. */
static void hash_stack(struct lock *lock, const struct perch_session_sample *sample,
		       struct lock_stack *stack, unsigned roles)
{
	const struct perch_record *record = sample->record;
	uint64_t at = 0;
	bool in_kernel = true;

	stack->hash[0] = 1;
	stack->hash[1] = 2;
	stack->caller = stack->nr;
	for (uint32_t i = 0; i < stack->nr; i++) {
		uint64_t word = 0;

		while (at < record->sample.callchain.nr) {
			word = perch_word(record, &record->sample.callchain.ip[at++]);
			if (word < (uint64_t)-4095)
				break;
			in_kernel = word == PERCH_CONTEXT_KERNEL;
		}
		/* programs have no locks of the kernel: their symbols are not looked up */
		if (i < lock->stack_skip ||
		    ((in_kernel || lock->user) && has_role(lock, sample->chain[i], roles)))
			continue;
		if (stack->caller == stack->nr)
			stack->caller = i;
		/* as in perf, a chain that ends at 0 is the same without */
		if (!word)
			continue;
		if (lock->user)
			word = sample->chain[i];
		stack->hash[0] = perch__hash_integer(stack->hash[0], word);
		stack->hash[1] = perch__hash_integer(stack->hash[1], word);
	}
}

/* Finds the call chain of a sample. roles: of functions that are not its caller. Returns its index,
 * or UINT32_MAX without memory. */
uint32_t lock_find_stack(struct lock *lock, const struct tables_sample *sample, unsigned roles)
{
	struct perch_session_sample resolved;
	struct lock_stack stack = { 0 }, *new;
	uint32_t index;

	if (perch_session_resolve(lock->tables.input.session, sample->record, &resolved, NULL))
		return UINT32_MAX;
	stack.nr = resolved.nr < lock->max_stack ? (uint32_t)resolved.nr
						 : (uint32_t)lock->max_stack;
	hash_stack(lock, &resolved, &stack, roles);
	index = perch__hash_find(&lock->by_stack, stack.hash[0], is_same_stack, lock->stack,
				 stack.hash);
	if (index != PERCH__HASH_NONE)
		return index;
	stack.number = perch__reallocarray(NULL, stack.nr + 1, sizeof(*stack.number));
	new = stack.number ? PERCH__ARRAY_APPEND(lock->stack, lock->nr_stacks, lock->stack_capacity)
			   : NULL;
	if (!new || perch__hash_add(&lock->by_stack, stack.hash[0], lock->nr_stacks - 1)) {
		lock->nr_stacks -= new ? 1 : 0;
		free(stack.number);
		return UINT32_MAX;
	}
	memcpy(stack.number, resolved.chain, stack.nr * sizeof(*stack.number));
	*new = stack;
	return (uint32_t)(new - lock->stack);
}

/* True without -S, or if a function of the call chain has one of its names. */
bool lock_has_wanted_function(const struct lock *lock, const struct lock_stack *stack)
{
	struct perch_symbols *symbols = perch_session_symbols(lock->tables.input.session);

	if (!lock->functions)
		return true;
	for (uint32_t i = 0; i < stack->nr; i++) {
		const struct perch_symbol *symbol =
			perch_session_address(lock->tables.input.session, stack->number[i])->symbol;

		if (symbol && cli_list_has(lock->functions, perch_symbols_name(symbols, symbol)))
			return true;
	}
	return false;
}

/* Their addresses have other numbers after the file is read again. */
void lock_clear_stacks(struct lock *lock)
{
	for (size_t i = 0; i < lock->nr_stacks; i++)
		free(lock->stack[i].number);
	lock->nr_stacks = 0;
	perch__hash_clear(&lock->by_stack);
	free(lock->role);
	lock->role = NULL;
	lock->nr_roles = 0;
}
