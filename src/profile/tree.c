/* SPDX-License-Identifier: MIT */
/* Numbered keys, and the tree of stacks that uses them. */
#include "internal.h"

static bool same_key(const void *items, uint32_t index, const void *key)
{
	const uint64_t(*keys)[2] = items;
	const uint64_t *wanted = key;

	return keys[index][0] == wanted[0] && keys[index][1] == wanted[1];
}

/* For space that perch__key_set_reserve() made. */
static uint32_t add_reserved(struct key_set *set, const uint64_t key[2], uint64_t hash)
{
	uint32_t number = perch__hash_find(&set->table, hash, same_key, set->key, key);

	if (number != PERCH__HASH_NONE)
		return number;
	perch__hash_add(&set->table, hash, set->nr);
	memcpy(set->key[set->nr], key, sizeof(set->key[set->nr]));
	return (uint32_t)set->nr++;
}

uint32_t perch__key_set_add(struct key_set *set, uint64_t high, uint64_t low, bool *is_new)
{
	const uint64_t key[2] = { high, low };
	uint64_t hash;
	uint32_t number;

	*is_new = false;
	if (!set->nr)
		set->table.seed = perch__hash_seed(set);
	hash = perch__hash_pair(set->table.seed, high, low);
	number = perch__hash_find(&set->table, hash, same_key, set->key, key);
	if (number != PERCH__HASH_NONE)
		return number;
	if (PERCH__ARRAY_RESERVE(set->key, set->capacity, set->nr + 1) ||
	    perch__hash_add(&set->table, hash, set->nr))
		return NO_NUMBER;
	set->key[set->nr][0] = high;
	set->key[set->nr][1] = low;
	*is_new = true;
	return set->nr++;
}

int perch__key_set_reserve(struct key_set *set, size_t more)
{
	if (!set->nr)
		set->table.seed = perch__hash_seed(set);
	return PERCH__ARRAY_RESERVE(set->key, set->capacity, set->nr + more) ||
			       perch__hash_reserve(&set->table, set->nr + more)
		       ? -ENOMEM
		       : 0;
}

/* How many lookups of perch__key_set_add_all() wait for memory at the same time; a power of 2. */
#define AHEAD 16u

void perch__key_set_add_all(struct key_set *set, const uint64_t (*keys)[2], size_t nr,
			    uint32_t *numbers)
{
	uint64_t hash[2 * AHEAD];

	for (size_t i = 0; i < nr + 2 * AHEAD; i++) {
		if (i >= 2 * AHEAD) {
			size_t at = i - 2 * AHEAD;

			numbers[at] = add_reserved(set, keys[at], hash[at % (2 * AHEAD)]);
		}
		if (i >= AHEAD && i < nr + AHEAD) {
			uint32_t guess =
				perch__hash_peek(&set->table, hash[(i - AHEAD) % (2 * AHEAD)]);

			if (guess != NO_NUMBER)
				__builtin_prefetch(&set->key[guess]);
		}
		if (i < nr) {
			hash[i % (2 * AHEAD)] =
				perch__hash_pair(set->table.seed, keys[i][0], keys[i][1]);
			perch__hash_prefetch(&set->table, hash[i % (2 * AHEAD)]);
		}
	}
}

uint32_t perch__key_set_skip(struct key_set *set)
{
	if (!set->nr)
		set->table.seed = perch__hash_seed(set);
	if (set->nr >= PERCH__HASH_MAX ||
	    PERCH__ARRAY_RESERVE(set->key, set->capacity, set->nr + 1))
		return NO_NUMBER;
	return (uint32_t)set->nr++;
}

void perch__key_set_remove_last(struct key_set *set)
{
	const uint64_t *key = set->key[--set->nr];

	perch__hash_remove(&set->table, perch__hash_pair(set->table.seed, key[0], key[1]), set->nr);
}

void perch__key_set_clear(struct key_set *set)
{
	perch__hash_clear(&set->table);
	free(set->key);
	memset(set, 0, sizeof(*set));
}

int perch__key_set_detach(struct key_set *set)
{
	set->table = (struct perch__hash_table){ 0 };
	set->capacity = 0;
	return PERCH__DETACH(set->key, set->nr);
}

void perch__key_set_end(struct key_set *set)
{
	size_t nr = set->nr;

	perch__key_set_clear(set);
	set->nr = nr;
}

/* Most nodes have one or two children. Up to this number, a search of the list is faster than a
 * hash table that does not fit into the CPU's cache. */
#define LISTED 8

void perch__tree_reserve(struct tree *tree, size_t nr)
{
	tree->node = nr <= PERCH__HASH_MAX ? perch__large_alloc(nr * sizeof(*tree->node)) : NULL;
	tree->capacity = tree->node ? nr : 0;
}

static struct node_id new_node(struct tree *tree, struct context_id context, struct node_id parent,
			       struct frame_id frame)
{
	struct node_id at = { tree->nr };

	if (PERCH__ARRAY_RESERVE_MAX(tree->node, tree->capacity, tree->nr + 1, PERCH__HASH_MAX))
		return NO_NODE;
	tree->node[at.nr] = (struct node){ .parent = parent,
					   .context = context,
					   .frame = frame,
					   .first_child = NO_NODE,
					   .next = NO_NODE };
	if (parent.nr != NO_NUMBER) {
		tree->node[at.nr].next = tree->node[parent.nr].first_child;
		tree->node[parent.nr].first_child = at;
		tree->node[parent.nr].nr_children++;
	}
	tree->nr++;
	return at;
}

static bool same_node(const void *items, uint32_t index, const void *key)
{
	const struct node *node = (const struct node *)items + index, *wanted = key;

	return node->parent.nr == wanted->parent.nr && node->frame.nr == wanted->frame.nr &&
	       node->context.nr == wanted->context.nr;
}

static uint64_t hash_of(const struct tree *tree, struct context_id context, struct node_id parent,
			struct frame_id frame)
{
	return perch__hash_pair(tree->children.seed, (uint64_t)context.nr << 32 | parent.nr,
				frame.nr);
}

/* Makes space in the hash table for nr nodes more. */
static bool reserve_hashed(struct tree *tree, size_t nr)
{
	if (!tree->children.nr)
		tree->children.seed = perch__hash_seed(tree);
	return !perch__hash_reserve(&tree->children, tree->children.nr + nr);
}

static void add_hashed(struct tree *tree, struct node_id at)
{
	const struct node *node = &tree->node[at.nr];

	perch__hash_add(&tree->children, hash_of(tree, node->context, node->parent, node->frame),
			at.nr);
}

/* Finds the child in the hash table. Adds it if it is new. */
static struct node_id hashed_child(struct tree *tree, struct context_id context,
				   struct node_id parent, struct frame_id frame)
{
	const struct node key = { .parent = parent, .context = context, .frame = frame };
	struct node_id node;

	node.nr = perch__hash_find(&tree->children, hash_of(tree, context, parent, frame),
				   same_node, tree->node, &key);
	if (node.nr != NO_NUMBER)
		return node;
	node = reserve_hashed(tree, 1) ? new_node(tree, context, parent, frame) : NO_NODE;
	if (node.nr != NO_NUMBER)
		add_hashed(tree, node);
	return node;
}

/* True if the children of a node are in the hash table. */
static bool is_hashed(const struct tree *tree, struct node_id parent)
{
	return parent.nr == NO_NUMBER || tree->node[parent.nr].nr_children > LISTED;
}

/* Adds a child of a node whose children are in its list. */
static struct node_id add_listed(struct tree *tree, struct context_id context,
				 struct node_id parent, struct frame_id frame)
{
	struct node_id child;

	if (tree->node[parent.nr].nr_children == LISTED && !reserve_hashed(tree, LISTED + 1))
		return NO_NODE;
	child = new_node(tree, context, parent, frame);
	if (child.nr == NO_NUMBER || tree->node[parent.nr].nr_children <= LISTED)
		return child;
	/* the list is too long now: all children go into the hash table */
	for (struct node_id each = tree->node[parent.nr].first_child; each.nr != NO_NUMBER;
	     each = tree->node[each.nr].next)
		add_hashed(tree, each);
	return child;
}

struct node_id perch__tree_child(struct tree *tree, struct context_id context,
				 struct node_id parent, struct frame_id frame)
{
	if (is_hashed(tree, parent))
		return hashed_child(tree, context, parent, frame);
	for (struct node_id child = tree->node[parent.nr].first_child; child.nr != NO_NUMBER;
	     child = tree->node[child.nr].next)
		if (tree->node[child.nr].frame.nr == frame.nr)
			return child;
	return add_listed(tree, context, parent, frame);
}

struct node_id perch__tree_add(struct tree *tree, struct context_id context, struct node_id parent,
			       struct frame_id frame)
{
	return is_hashed(tree, parent) ? new_node(tree, context, parent, frame)
				       : add_listed(tree, context, parent, frame);
}

void perch__tree_prefetch_child(const struct tree *tree, struct context_id context,
				struct node_id parent, struct frame_id frame)
{
	if (is_hashed(tree, parent))
		perch__hash_prefetch(&tree->children, hash_of(tree, context, parent, frame));
	else if (tree->node[parent.nr].first_child.nr != NO_NUMBER)
		__builtin_prefetch(&tree->node[tree->node[parent.nr].first_child.nr]);
}

void perch__tree_link(struct tree *tree)
{
	/* children have higher numbers than their parents, so each is complete when it is added */
	for (size_t i = tree->nr; i-- > 0;) {
		struct node *node = &tree->node[i];
		struct node *parent;

		node->total += node->self;
		node->height++;
		if (node->parent.nr == NO_NUMBER)
			continue;
		parent = &tree->node[node->parent.nr];
		parent->total += node->total;
		if (parent->height < node->height)
			parent->height = node->height;
	}
}

void perch__tree_clear(struct tree *tree)
{
	perch__hash_clear(&tree->children);
	free(tree->node);
	memset(tree, 0, sizeof(*tree));
}
