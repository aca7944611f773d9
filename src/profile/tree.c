/* SPDX-License-Identifier: MIT */
/* Numbered sets, and the tree of stacks made from them. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static uint64_t spread(uint64_t high, uint64_t low)
{
	uint64_t hash = (high * 0x9e3779b97f4a7c15ull) ^ (low * 0xd6e8feb86659fd93ull);

	return hash ^ hash >> 32;
}

static bool slots_double(struct key_set *index)
{
	size_t old = index->slot ? index->mask + 1 : 0;
	size_t slots = old ? old * 2 : 4096;
	uint64_t *slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return false;
	/* a slot has the hash: the keys need not be looked at, and old and new places ascend
	 * together */
	for (size_t i = 0; i < old; i++) {
		size_t at = index->slot[i] >> 32 & (slots - 1);

		if (!index->slot[i])
			continue;
		while (slot[at])
			at = (at + 1) & (slots - 1);
		slot[at] = index->slot[i];
	}
	free(index->slot);
	index->slot = slot;
	index->mask = slots - 1;
	return true;
}

static bool keys_double(struct key_set *index)
{
	size_t size = index->size ? index->size * 2 : 128;
	void *key = size < NO_NUMBER ? reallocarray(index->key, size, sizeof(*index->key)) : NULL;

	if (!key)
		return false;
	index->key = key;
	index->size = size;
	return true;
}

uint32_t perch__key_set_add(struct key_set *index, uint64_t high, uint64_t low, bool *is_new)
{
	uint64_t hash = spread(high, low);
	size_t at = 0;

	*is_new = false;
	if (index->slot)
		for (at = hash & index->mask; index->slot[at]; at = (at + 1) & index->mask) {
			uint32_t found = (uint32_t)index->slot[at] - 1;

			if (index->slot[at] >> 32 == (uint32_t)hash &&
			    index->key[found][0] == high && index->key[found][1] == low)
				return found;
		}
	if (index->nr == index->size && !keys_double(index))
		return NO_NUMBER;
	if (!index->slot || (index->nr + 1) * 2 > index->mask + 1) {
		if (!slots_double(index))
			return NO_NUMBER;
		for (at = hash & index->mask; index->slot[at]; at = (at + 1) & index->mask)
			;
	}
	index->slot[at] = hash << 32 | (index->nr + 1);
	index->key[index->nr][0] = high;
	index->key[index->nr][1] = low;
	*is_new = true;
	return index->nr++;
}

void perch__key_set_clear(struct key_set *index)
{
	free(index->slot);
	free(index->key);
	memset(index, 0, sizeof(*index));
}

/* Most nodes have a child or two: a list is quicker to go through than a table that is larger than
 * the cache. */
#define LISTED 8

static uint32_t new_node(struct tree *tree, uint32_t context, uint32_t parent, uint32_t frame)
{
	uint32_t at = tree->nr;

	if (at == tree->size) {
		size_t size = tree->size ? tree->size * 2 : 1024;
		struct node *larger =
			size < NO_NODE ? reallocarray(tree->node, size, sizeof(*larger)) : NULL;

		if (!larger)
			return NO_NODE;
		tree->node = larger;
		tree->size = size;
	}
	tree->node[at] = (struct node){ .parent = parent,
					.context = context,
					.frame = frame,
					.first_child = NO_NODE,
					.next = NO_NODE };
	if (parent != NO_NODE) {
		tree->node[at].next = tree->node[parent].first_child;
		tree->node[parent].first_child = at;
		tree->node[parent].nr_children++;
	}
	tree->nr++;
	return at;
}

static bool add_to_index(struct tree *tree, uint64_t above, uint32_t frame, uint32_t node)
{
	bool is_new;
	uint32_t number = perch__key_set_add(&tree->index, above, frame, &is_new);

	if (number == NO_NUMBER || !perch__room(&tree->child, number, sizeof(*tree->child)))
		return false;
	tree->child[number] = node;
	return true;
}

/* The child by the table, made when it is new. */
static uint32_t indexed_child(struct tree *tree, uint32_t context, uint32_t parent, uint32_t frame)
{
	uint64_t above = parent == NO_NODE ? (uint64_t)context << 32 | NO_NODE : parent;
	bool is_new;
	uint32_t number = perch__key_set_add(&tree->index, above, frame, &is_new);

	if (number == NO_NUMBER)
		return NO_NODE;
	if (!is_new)
		return tree->child[number];
	if (!perch__room(&tree->child, number, sizeof(*tree->child)))
		return NO_NODE;
	return tree->child[number] = new_node(tree, context, parent, frame);
}

uint32_t perch__tree_child(struct tree *tree, uint32_t context, uint32_t parent, uint32_t frame)
{
	uint32_t child;

	if (parent == NO_NODE || tree->node[parent].nr_children > LISTED)
		return indexed_child(tree, context, parent, frame);
	for (child = tree->node[parent].first_child; child != NO_NODE;
	     child = tree->node[child].next)
		if (tree->node[child].frame == frame)
			return child;
	child = new_node(tree, context, parent, frame);
	if (child == NO_NODE || tree->node[parent].nr_children <= LISTED)
		return child;
	/* from now on the table knows them all */
	for (uint32_t each = tree->node[parent].first_child; each != NO_NODE;
	     each = tree->node[each].next)
		if (!add_to_index(tree, parent, tree->node[each].frame, each))
			return NO_NODE;
	return child;
}

void perch__tree_link(struct tree *tree)
{
	/* children come after their parents */
	for (size_t i = tree->nr; i-- > 0;) {
		struct node *node = &tree->node[i];
		struct node *parent;

		node->total += node->self;
		node->height++;
		if (node->parent == NO_NODE)
			continue;
		parent = &tree->node[node->parent];
		parent->total += node->total;
		if (parent->height < node->height)
			parent->height = node->height;
	}
}

void perch__tree_clear(struct tree *tree)
{
	perch__key_set_clear(&tree->index);
	free(tree->node);
	free(tree->child);
	memset(tree, 0, sizeof(*tree));
}
