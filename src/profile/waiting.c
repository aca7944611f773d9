/* SPDX-License-Identifier: MIT */
/*
 * Call chains whose addresses are numbered later, many at a time. Until then an address has a
 * position among the keys that wait.
 */
#include "internal.h"

static struct waiting *get_waiting(struct perch_addresses *addresses)
{
	if (!addresses->waiting)
		addresses->waiting = calloc(1, sizeof(*addresses->waiting));
	return addresses->waiting;
}

int perch_addresses_add_chain(struct perch_addresses *addresses, struct perch_thread *thread,
			      const struct perch_record *record, uint32_t *positions, size_t max)
{
	struct waiting *waiting = get_waiting(addresses);
	uint32_t slot = perch_thread_tid(thread) % LAST_STACKS;
	struct last_stack *last;
	struct chain chain;
	size_t depth;

	if (!waiting || waiting->nr > PERCH__HASH_MAX ||
	    PERCH__ARRAY_RESERVE(waiting->key, waiting->keys_capacity, waiting->nr + MAX_DEPTH))
		return -ENOMEM;
	last = &waiting->last_stack[slot];
	waiting->used |= 1ull << slot;
	perch__chain_read(&chain, record);
	depth = perch__last_stack_update(last, addresses->processes, thread, &chain);
	for (; depth < chain.nr; depth++) {
		size_t at = chain.nr - 1 - depth;

		waiting->key[waiting->nr] =
			perch__address_key(addresses, thread, chain.cpumode[at], chain.ip[at]);
		last->number[depth] = (uint32_t)waiting->nr++;
	}
	if (max > chain.nr)
		max = chain.nr;
	for (size_t i = 0; i < max; i++)
		positions[i] = last->number[chain.nr - 1 - i];
	return (int)max;
}

int perch_addresses_number_chains(struct perch_addresses *addresses, const uint32_t **numbers)
{
	struct waiting *waiting = addresses->waiting;

	*numbers = NULL;
	if (!waiting || !waiting->nr)
		return 0;
	if (PERCH__ARRAY_RESERVE(waiting->number, waiting->numbers_capacity, waiting->nr) ||
	    perch__addresses_reserve(addresses, waiting->nr))
		return -ENOMEM;
	perch__addresses_number(addresses, &waiting->key->word, waiting->nr, waiting->number);
	for (; waiting->used; waiting->used &= waiting->used - 1)
		waiting->last_stack[__builtin_ctzll(waiting->used)].generation = 0;
	waiting->nr = 0;
	*numbers = waiting->number;
	return 0;
}
