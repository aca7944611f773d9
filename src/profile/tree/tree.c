/* SPDX-License-Identifier: MIT */
/* The tree of stacks while samples are added. */
#include "profile/internal.h"

/* Most nodes have one or two children. Up to this number, a search of the list is faster than a
 * hash table that does not fit into the CPU's cache. */
#define LISTED 8

void perch__tree_expect(struct tree *tree, size_t nr)
{
	tree->node = nr <= PERCH__HASH_MAX ? perch__large_alloc(nr * sizeof(*tree->node)) : NULL;
	tree->capacity = tree->node ? nr : 0;
}

static struct node_id new_node(struct tree *tree, struct above above, uint32_t key)
{
	struct node_id at = { tree->nr };

	if (PERCH__ARRAY_RESERVE_MAX(tree->node, tree->capacity, tree->nr + 1, PERCH__HASH_MAX))
		return NO_NODE;
	tree->node[at.nr] = (struct node){ .above = above,
					   .key = key,
					   .first_child = NO_NODE,
					   .next = NO_NODE,
					   .count = NO_NUMBER };
	if (!perch__is_root(above)) {
		tree->node[at.nr].next = tree->node[above.nr].first_child;
		tree->node[above.nr].first_child = at;
		tree->node[above.nr].nr_children++;
	}
	tree->nr++;
	return at;
}

/* ---- children in the hash table ---- */

static bool same_node(const void *items, uint32_t index, const void *key)
{
	const struct node *node = (const struct node *)items + index, *wanted = key;

	return node->above.nr == wanted->above.nr && node->key == wanted->key;
}

static uint64_t hash_of(const struct tree *tree, struct above above, uint32_t key)
{
	return perch__hash_pair(tree->children.seed, above.nr, key);
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

	perch__hash_add(&tree->children, hash_of(tree, node->above, node->key), at.nr);
}

/* Finds the node in the hash table. Adds it if it is new. */
static struct node_id hashed_child(struct tree *tree, struct above above, uint32_t key)
{
	const struct node wanted = { .above = above, .key = key };
	struct node_id node;

	node.nr = perch__hash_find(&tree->children, hash_of(tree, above, key), same_node,
				   tree->node, &wanted);
	if (node.nr != NO_NUMBER)
		return node;
	node = reserve_hashed(tree, 1) ? new_node(tree, above, key) : NO_NODE;
	if (node.nr != NO_NUMBER)
		add_hashed(tree, node);
	return node;
}

/* True if the children of a node, or roots, are in the hash table. */
static bool is_hashed(const struct tree *tree, struct above above)
{
	return perch__is_root(above) || tree->node[above.nr].nr_children > LISTED;
}

/* ---- children in lists ---- */

/* Adds a child of a node whose children are in its list. */
static struct node_id add_listed(struct tree *tree, struct above above, uint32_t key)
{
	struct node_id child;

	if (tree->node[above.nr].nr_children == LISTED && !reserve_hashed(tree, LISTED + 1))
		return NO_NODE;
	child = new_node(tree, above, key);
	if (child.nr == NO_NUMBER || tree->node[above.nr].nr_children <= LISTED)
		return child;
	/* the list is too long now: all children go into the hash table */
	for (struct node_id each = tree->node[above.nr].first_child; each.nr != NO_NUMBER;
	     each = tree->node[each.nr].next)
		add_hashed(tree, each);
	return child;
}

struct node_id perch__tree_child(struct tree *tree, struct above above, uint32_t key)
{
	if (is_hashed(tree, above))
		return hashed_child(tree, above, key);
	for (struct node_id child = tree->node[above.nr].first_child; child.nr != NO_NUMBER;
	     child = tree->node[child.nr].next)
		if (tree->node[child.nr].key == key)
			return child;
	return add_listed(tree, above, key);
}

struct node_id perch__tree_add(struct tree *tree, struct above above, uint32_t key)
{
	return is_hashed(tree, above) ? new_node(tree, above, key) : add_listed(tree, above, key);
}

/* ---- many lookups ---- */

int perch__tree_reserve(struct tree *tree, size_t more, size_t counts)
{
	/* a node is in the hash table once; a new one may bring the nodes of its list */
	size_t hashed = (LISTED + 1) * more, most = tree->nr + more - tree->children.nr;

	return PERCH__ARRAY_RESERVE_MAX(tree->node, tree->capacity, tree->nr + more,
					PERCH__HASH_MAX) ||
			       PERCH__ARRAY_RESERVE_MAX(tree->count, tree->counts_capacity,
							tree->nr_counts + counts,
							PERCH__HASH_MAX) ||
			       !reserve_hashed(tree, hashed < most ? hashed : most)
		       ? -ENOMEM
		       : 0;
}

void perch__tree_prefetch(const struct tree *tree, struct above above, uint32_t key)
{
	if (is_hashed(tree, above))
		perch__hash_prefetch(&tree->children, hash_of(tree, above, key));
	else if (tree->node[above.nr].first_child.nr != NO_NUMBER)
		__builtin_prefetch(&tree->node[tree->node[above.nr].first_child.nr]);
}

void perch__tree_children(struct tree *tree, struct tree_lookup *lookup, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!perch__is_root(lookup[i].above))
			__builtin_prefetch(&tree->node[lookup[i].above.nr], 1);
	for (size_t i = 0; i < nr; i++)
		perch__tree_prefetch(tree, lookup[i].above, lookup[i].key);
	for (size_t i = 0; i < nr; i++) {
		uint32_t guess =
			is_hashed(tree, lookup[i].above)
				? perch__hash_peek(&tree->children,
						   hash_of(tree, lookup[i].above, lookup[i].key))
				: NO_NUMBER;

		if (guess != NO_NUMBER)
			__builtin_prefetch(&tree->node[guess]);
	}
	for (size_t i = 0; i < nr; i++)
		lookup[i].node = perch__tree_child(tree, lookup[i].above, lookup[i].key);
}

/* ---- samples ---- */

uint32_t perch__tree_count(struct tree *tree, struct node_id at, uint64_t period, uint64_t samples)
{
	struct node *node = &tree->node[at.nr];

	if (node->count == NO_NUMBER) {
		if (PERCH__ARRAY_RESERVE_MAX(tree->count, tree->counts_capacity,
					     tree->nr_counts + 1, PERCH__HASH_MAX))
			return NO_NUMBER;
		node->count = (uint32_t)tree->nr_counts;
		tree->count[tree->nr_counts++] = (struct node_count){ 0, 0 };
	}
	tree->count[node->count].period += period;
	tree->count[node->count].samples += samples;
	return node->count;
}

void perch__tree_clear(struct tree *tree)
{
	perch__hash_clear(&tree->children);
	free(tree->node);
	free(tree->count);
	memset(tree, 0, sizeof(*tree));
}

int perch__tree_detach(struct tree *tree)
{
	int rc = PERCH__DETACH(tree->node, tree->nr);

	tree->children = (struct perch__hash_table){ 0 };
	return rc | PERCH__DETACH(tree->count, tree->nr_counts);
}
