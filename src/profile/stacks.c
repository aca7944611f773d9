/* SPDX-License-Identifier: MIT */
/*
 * Counts call chains of addresses in a tree whose nodes are found by hash. Chains are added in
 * groups, level by level: the memory of all nodes of a level is loaded at the same time, because
 * it is mostly not in the CPU's cache.
 */
#include "base/chain_levels.h"
#include "internal.h"

_Static_assert(MAX_DEPTH <= PERCH__MAX_LEVELS, "a chain has at most this many levels");

struct stack_group {
	struct tree *stacks;
	struct last_stack *last;
	uint32_t unit;
	struct perch__chain_part part[PERCH__CHAINS];
	const struct batch_sample *sample[PERCH__CHAINS];
	const uint32_t *address[PERCH__CHAINS]; /* of the new frames, outermost first */
	uint32_t at[PERCH__CHAINS];		/* the stack of the level before */
	struct tree_lookup lookup[PERCH__CHAINS];
};

static void add_level(void *context, size_t level, uint64_t chains, uint64_t shared)
{
	struct stack_group *group = context;
	size_t nr = 0;

	PERCH__FOR_EACH_BIT(i, chains & ~shared)
	{
		const struct batch_sample *sample = group->sample[i];

		group->lookup[nr++] = (struct tree_lookup){
			.above = level ? perch__below_node((struct node_id){ group->at[i] })
				       : perch__root_of(sample->context),
			.key = group->address[i][level - sample->shared],
		};
	}
	perch__tree_children(group->stacks, group->lookup, nr);
	nr = 0;
	PERCH__FOR_EACH_BIT(i, chains)
	{
		uint32_t *number = &group->last[group->sample[i]->slot].number[level];

		if (!(shared >> i & 1))
			*number = group->lookup[nr++].node.nr;
		group->at[i] = *number;
	}
}

static void add_group(struct stack_group *group, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint32_t shared = group->sample[i]->shared;

		group->part[i] =
			(struct perch__chain_part){ shared, shared + group->sample[i]->nr };
	}
	perch__walk_levels(group->part, nr, add_level, group);
	for (size_t i = 0; i < nr; i++)
		perch__tree_count(group->stacks, (struct node_id){ group->at[i] },
				  group->sample[i]->period, group->unit);
}

void perch__stacks_add(struct tree *stacks, struct last_stack *last, const struct batch *batch)
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

int perch__stacks_copy(struct tree *to, const struct tree *from, const struct address_id *address,
		       const struct context_id *context)
{
	uint32_t *number = calloc(from->nr + 1, sizeof(*number));
	int rc = number ? 0 : -ENOMEM;

	/* 1: the stack stays */
	for (size_t i = number ? from->nr : 0; i-- > 0;) {
		const struct node *stack = &from->node[i];

		number[i] |= perch__tree_samples(from, stack) > 0;
		if (number[i] && !perch__is_root(stack->above))
			number[stack->above.nr] = 1;
	}
	for (size_t i = 0; i < from->nr && !rc; i++) {
		const struct node *stack = &from->node[i];
		struct above above = stack->above;
		struct node_id node;

		if (!number[i])
			continue;
		above = perch__is_root(above)
				? perch__root_of(context[perch__root_context(above).nr])
				: (struct above){ number[above.nr] };
		node = perch__tree_child(to, above, address[stack->key].nr);
		number[i] = node.nr;
		rc = node.nr == NO_NUMBER ||
				     (perch__tree_samples(from, stack) &&
				      perch__tree_count(to, node, from->count[stack->count].period,
							from->count[stack->count].samples) ==
					      NO_NUMBER)
			     ? -ENOMEM
			     : 0;
	}
	free(number);
	return rc;
}
