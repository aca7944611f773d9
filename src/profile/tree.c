/* SPDX-License-Identifier: MIT */
/* The tree of stacks. */
#include "internal.h"

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
