/* SPDX-License-Identifier: MIT */
/*
 * Counts call chains of addresses in a tree whose nodes are found by hash. Chains are added in
 * groups, level by level: the memory of all nodes of a level is loaded at the same time, because
 * it is mostly not in the CPU's cache.
 */
#include "base/chain_levels.h"
#include "internal.h"

_Static_assert(MAX_DEPTH <= PERCH__MAX_LEVELS, "a chain has at most this many levels");

static bool same_stack(const void *items, uint32_t index, const void *key)
{
	const struct stack *stack = (const struct stack *)items + index, *wanted = key;

	return stack->parent == wanted->parent && stack->address.nr == wanted->address.nr &&
	       stack->context.nr == wanted->context.nr;
}

static uint64_t hash_of(const struct stacks *stacks, const struct stack *stack)
{
	return perch__hash_pair(stacks->table.seed,
				(uint64_t)stack->context.nr << 32 | stack->parent,
				stack->address.nr);
}

int perch__stacks_reserve(struct stacks *stacks, size_t more)
{
	if (!stacks->nr)
		stacks->table.seed = perch__hash_seed(stacks);
	return PERCH__ARRAY_RESERVE_MAX(stacks->stack, stacks->capacity, stacks->nr + more,
					PERCH__HASH_MAX) ||
			       perch__hash_reserve(&stacks->table, stacks->nr + more)
		       ? -ENOMEM
		       : 0;
}

/* Returns the number of the stack, which is added if it is new. */
static uint32_t number_of(struct stacks *stacks, const struct stack *key, uint64_t hash)
{
	uint32_t number = perch__hash_find(&stacks->table, hash, same_stack, stacks->stack, key);

	if (number != PERCH__HASH_NONE)
		return number;
	perch__hash_add(&stacks->table, hash, stacks->nr);
	stacks->stack[stacks->nr] = *key;
	return stacks->nr++;
}

/* ---- groups ---- */

struct stack_group {
	struct stacks *stacks;
	struct last_stack *last;
	uint32_t unit;
	struct perch__chain_part part[PERCH__CHAINS];
	const struct batch_sample *sample[PERCH__CHAINS];
	const uint32_t *address[PERCH__CHAINS]; /* of the new frames, outermost first */
	uint32_t at[PERCH__CHAINS];		/* the stack of the level before */
	uint64_t hash[PERCH__CHAINS];
};

static struct stack key_of(const struct stack_group *group, size_t i, size_t level)
{
	const struct batch_sample *sample = group->sample[i];

	return (struct stack){
		.parent = level ? group->at[i] : NO_NUMBER,
		.context = sample->context,
		.address = { group->address[i][level - sample->shared] },
	};
}

static void add_level(void *context, size_t level, uint64_t chains, uint64_t shared)
{
	struct stack_group *group = context;
	struct stacks *stacks = group->stacks;

	PERCH__FOR_EACH_BIT(i, chains & ~shared)
	{
		const struct stack key = key_of(group, i, level);

		group->hash[i] = hash_of(stacks, &key);
		perch__hash_prefetch(&stacks->table, group->hash[i]);
	}
	PERCH__FOR_EACH_BIT(i, chains & ~shared)
	{
		uint32_t guess = perch__hash_peek(&stacks->table, group->hash[i]);

		if (guess != PERCH__HASH_NONE)
			__builtin_prefetch(&stacks->stack[guess]);
	}
	PERCH__FOR_EACH_BIT(i, chains)
	{
		uint32_t *number = &group->last[group->sample[i]->slot].number[level];

		if (!(shared >> i & 1)) {
			const struct stack key = key_of(group, i, level);

			*number = number_of(stacks, &key, group->hash[i]);
		}
		group->at[i] = *number;
	}
}

static void add_group(struct stack_group *group, size_t nr)
{
	struct stack *stack;

	for (size_t i = 0; i < nr; i++) {
		uint32_t shared = group->sample[i]->shared;

		group->part[i] =
			(struct perch__chain_part){ shared, shared + group->sample[i]->nr };
	}
	perch__walk_levels(group->part, nr, add_level, group);
	stack = group->stacks->stack;
	for (size_t i = 0; i < nr; i++) {
		stack[group->at[i]].self += group->sample[i]->period;
		stack[group->at[i]].samples += group->unit;
	}
}

void perch__stacks_add(struct stacks *stacks, struct last_stack *last, const struct batch *batch)
{
	const uint32_t *address = batch->number;
	struct stack_group group = { .stacks = stacks, .last = last, .unit = batch->unit };

	for (size_t at = 0; at < batch->nr; at += PERCH__CHAINS) {
		size_t nr = batch->nr - at < PERCH__CHAINS ? batch->nr - at : PERCH__CHAINS;

		for (size_t i = 0; i < nr; i++) {
			group.sample[i] = &batch->sample[at + i];
			group.address[i] = address;
			address += batch->sample[at + i].nr;
		}
		add_group(&group, nr);
	}
}

int perch__stacks_copy(struct stacks *to, const struct stacks *from,
		       const struct address_id *address, const struct context_id *context)
{
	uint32_t *number = malloc((from->nr + 1) * sizeof(*number));
	size_t nr = 0;
	int rc = number ? 0 : -ENOMEM;

	/* 1: the stack stays */
	if (number)
		memset(number, 0, (from->nr + 1) * sizeof(*number));
	for (size_t i = number ? from->nr : 0; i-- > 0;) {
		const struct stack *stack = &from->stack[i];

		number[i] |= stack->samples > 0;
		if (number[i] && stack->parent != NO_NUMBER)
			number[stack->parent] = 1;
		nr += number[i];
	}
	if (!rc)
		rc = perch__stacks_reserve(to, nr + 1);
	for (size_t i = 0; i < from->nr && !rc; i++) {
		struct stack stack = from->stack[i];

		if (!number[i])
			continue;
		if (stack.parent != NO_NUMBER)
			stack.parent = number[stack.parent];
		stack.address = address[stack.address.nr];
		stack.context = context[stack.context.nr];
		number[i] = number_of(to, &stack, hash_of(to, &stack));
	}
	free(number);
	return rc;
}

void perch__stacks_clear(struct stacks *stacks)
{
	perch__hash_clear(&stacks->table);
	free(stacks->stack);
	memset(stacks, 0, sizeof(*stacks));
}

int perch__stacks_detach(struct stacks *stacks)
{
	stacks->table = (struct perch__hash_table){ 0 };
	return PERCH__DETACH(stacks->stack, stacks->nr);
}
