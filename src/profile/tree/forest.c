/* SPDX-License-Identifier: MIT */
/* The tree of frames in the order of a walk in depth first. */
#include "profile/internal.h"

/* A node while it gets its position: it has taken the memory of the tree's node. */
struct moved_node {
	struct above above;
	uint32_t below; /* the number of nodes below it */
	union {
		uint32_t key;
		uint32_t position; /* once it has one */
	};
	union {
		uint32_t count;
		uint32_t free; /* then the next free position below it */
	};
};

/* Counts the nodes below each node. Children have higher numbers than their parents, so the sum of
 * each is complete when it is added. */
static void count_below(struct node *node, size_t nr)
{
	/* the parent has counted the child, so only what is below it is left */
	for (size_t i = nr; i-- > 0;)
		if (!perch__is_root(node[i].above))
			node[node[i].above.nr].nr_children += node[i].nr_children;
}

/* Moves the nodes together in their memory, and releases the rest of it. */
static struct moved_node *move_nodes(struct node *node, size_t nr)
{
	struct moved_node *moved = (void *)node;

	for (size_t i = 0; i < nr; i++) {
		const struct node old = node[i];
		const struct moved_node copy = {
			old.above, old.nr_children, { old.key }, { old.count }
		};

		memcpy(&moved[i], &copy, sizeof(copy));
	}
	perch__release_pages(&moved[nr], nr * (sizeof(*node) - sizeof(*moved)));
	return moved;
}

/* Children follow their parent in the order in which they were added. first_hit becomes the number
 * of the count, end_hit what is above the node. */
static void position_nodes(struct forest *forest, struct moved_node *moved)
{
	uint32_t free_root = 0;

	for (size_t i = 0; i < forest->nr; i++) {
		struct moved_node *node = &moved[i];
		struct moved_node *parent = perch__is_root(node->above) ? NULL
									: &moved[node->above.nr];
		uint32_t *free_position = parent ? &parent->free : &free_root, at = *free_position;

		*free_position += 1 + node->below;
		forest->node[at] = (struct forest_node){
			.frame = { node->key },
			.end = at + 1 + node->below,
			.first_hit = node->count,
			.end_hit = parent ? parent->position : node->above.nr,
		};
		node->position = at;
		node->free = at + 1;
	}
}

/* Adds up the counts in the order of the nodes. */
static void add_hits(struct forest *forest, const struct node_count *count, const uint64_t *latency)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < forest->nr; i++) {
		uint32_t of_node = forest->node[i].first_hit;

		forest->above[i].nr = forest->node[i].end_hit;
		forest->node[i].first_hit = nr;
		if (of_node == NO_NUMBER)
			continue;
		forest->period[nr + 1] = forest->period[nr] + count[of_node].period;
		forest->samples[nr + 1] = forest->samples[nr] + count[of_node].samples;
		if (latency)
			forest->latency[nr + 1] = forest->latency[nr] + latency[of_node];
		nr++;
	}
	forest->node[forest->nr].first_hit = nr;
	for (size_t i = 0; i < forest->nr; i++)
		forest->node[i].end_hit = forest->node[forest->node[i].end].first_hit;
}

int perch__forest_make(struct forest *forest, struct tree *tree, const uint64_t *latency)
{
	size_t nr = tree->nr_counts;

	perch__hash_clear(&tree->children);
	*forest = (struct forest){ .nr = tree->nr, .nr_hits = nr };
	forest->node = perch__large_alloc((tree->nr + 1) * sizeof(*forest->node));
	if (!forest->node)
		return -ENOMEM;
	count_below(tree->node, tree->nr);
	position_nodes(forest, move_nodes(tree->node, tree->nr));
	free(tree->node);
	tree->node = NULL;
	forest->above = perch__large_alloc((forest->nr + 1) * sizeof(*forest->above));
	forest->period = malloc((nr + 1) * sizeof(*forest->period));
	forest->samples = malloc((nr + 1) * sizeof(*forest->samples));
	forest->latency = latency ? malloc((nr + 1) * sizeof(*forest->latency)) : NULL;
	if (!forest->above || !forest->period || !forest->samples || (latency && !forest->latency))
		return -ENOMEM;
	forest->period[0] = forest->samples[0] = 0;
	if (latency)
		forest->latency[0] = 0;
	add_hits(forest, tree->count, latency);
	perch__tree_clear(tree);
	return 0;
}

void perch__forest_clear(struct forest *forest)
{
	free(forest->node);
	free(forest->above);
	free(forest->row);
	free(forest->period);
	free(forest->samples);
	free(forest->latency);
	*forest = (struct forest){ 0 };
}
