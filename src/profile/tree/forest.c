/* SPDX-License-Identifier: MIT */
/* The tree of frames in the order of a walk in depth first. */
#include "profile/internal.h"

/*
 * The tree is changed in place while its nodes get their positions: nr_children becomes the number
 * of nodes below, first_child the next free position below the node, next the position of the node.
 */

/* Children have higher numbers than their parents, so the sum of each is complete when it is added.
 */
static void count_below(struct tree *tree)
{
	struct node *node = tree->node;

	/* the parent has counted the child, so only what is below it is left */
	for (size_t i = tree->nr; i-- > 0;)
		if (!perch__is_root(node[i].above))
			node[node[i].above.nr].nr_children += node[i].nr_children;
}

/* Children follow their parent in the order in which they were added. first_hit becomes the number
 * of the count. */
static void position_nodes(struct forest *forest, struct tree *tree)
{
	uint32_t free_root = 0;

	for (size_t i = 0; i < tree->nr; i++) {
		struct node *node = &tree->node[i];
		struct node *parent = perch__is_root(node->above) ? NULL
								  : &tree->node[node->above.nr];
		uint32_t *next_free = parent ? &parent->first_child.nr : &free_root, at;

		at = *next_free;
		*next_free += 1 + node->nr_children;
		node->first_child.nr = at + 1;
		node->next.nr = at;
		forest->node[at] = (struct forest_node){
			.above = parent ? perch__below_node(parent->next) : node->above,
			.frame = { node->key },
			.end = at + 1 + node->nr_children,
			.first_hit = node->count,
		};
	}
}

/* Adds up the counts in the order of the nodes. */
static void add_hits(struct forest *forest, const struct node_count *count, const uint64_t *latency)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < forest->nr; i++) {
		uint32_t of_node = forest->node[i].first_hit;

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
}

int perch__forest_make(struct forest *forest, struct tree *tree, const uint64_t *latency)
{
	size_t nr = tree->nr_counts;

	perch__hash_clear(&tree->children);
	*forest = (struct forest){ .nr = tree->nr, .nr_hits = nr };
	forest->node = perch__large_alloc((tree->nr + 1) * sizeof(*forest->node));
	if (!forest->node)
		return -ENOMEM;
	count_below(tree);
	position_nodes(forest, tree);
	free(tree->node);
	tree->node = NULL;
	forest->period = malloc((nr + 1) * sizeof(*forest->period));
	forest->samples = malloc((nr + 1) * sizeof(*forest->samples));
	forest->latency = latency ? malloc((nr + 1) * sizeof(*forest->latency)) : NULL;
	if (!forest->period || !forest->samples || (latency && !forest->latency))
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
	free(forest->period);
	free(forest->samples);
	free(forest->latency);
	*forest = (struct forest){ 0 };
}
