/* SPDX-License-Identifier: MIT */
/* Trees of stacks: one for adding samples, and one for making rows and call graphs. */
#ifndef PERCH_PROFILE_TREE_H
#define PERCH_PROFILE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/hash_table.h"
#include "profile/numbered.h"

struct node_id {
	uint32_t nr; /* in tree.node[] or forest.node[] */
};
#define NO_NODE ((struct node_id){ NO_NUMBER })

/* What is above a node: its parent, or the context that all nodes below a root share. */
struct above {
	uint32_t nr; /* of the parent; IS_ROOT and that of the context */
};
#define IS_ROOT (PERCH__HASH_MAX + 1)
static inline struct above perch__below_node(struct node_id parent)
{
	return (struct above){ parent.nr };
}
static inline struct above perch__root_of(struct context_id context)
{
	return (struct above){ IS_ROOT | context.nr };
}
static inline bool perch__is_root(struct above above)
{
	return above.nr & IS_ROOT;
}
static inline struct context_id perch__root_context(struct above above)
{
	return (struct context_id){ above.nr & ~IS_ROOT };
}

/* ---- tree.c ---- */

/* A node is a stack: its innermost address or frame, and the parent node for the other ones.
 * Parents have lower numbers than their children. */
struct node {
	struct above above;
	uint32_t key;			  /* of the address or frame */
	struct node_id first_child, next; /* NO_NODE: none */
	uint32_t nr_children;
	uint32_t count; /* in tree.count[]; NO_NUMBER: no sample ended here */
};

struct tree {
	struct node *node;
	size_t nr, capacity;
	struct node_count {
		uint64_t period, samples; /* samples: in units of the profile */
	} * count;			  /* most nodes have none */
	size_t nr_counts, counts_capacity;
	/* (above, key) -> node[]: roots, and the children of nodes with many */
	struct perch__hash_table children;
};
/* Makes space for the nodes of an empty tree. Without memory it is made when nodes are added. */
void perch__tree_expect(struct tree *tree, size_t nr);
/* Makes space for more nodes, and for samples of so many nodes. Returns 0 or -ENOMEM. */
int perch__tree_reserve(struct tree *tree, size_t more, size_t counts);
/* Returns the node for a key, which is added if it is new. Returns NO_NODE if out of memory. */
struct node_id perch__tree_child(struct tree *tree, struct above above, uint32_t key);
/* Adds a node that no call adds a second time, and that perch__tree_child() is not asked for. It
 * needs no lookup. Returns NO_NODE if out of memory. */
struct node_id perch__tree_add(struct tree *tree, struct above above, uint32_t key);
/* Loads memory that finding this node will need into the CPU's cache. */
void perch__tree_prefetch(const struct tree *tree, struct above above, uint32_t key);
/* perch__tree_child() of several nodes: the lookups wait for memory at the same time. There must be
 * space for the new ones. */
struct tree_lookup {
	struct above above;
	uint32_t key;
	struct node_id node; /* the result */
};
void perch__tree_children(struct tree *tree, struct tree_lookup *lookup, size_t nr);
/* Adds samples to a node. Returns the number of its count, or NO_NUMBER if out of memory. */
uint32_t perch__tree_count(struct tree *tree, struct node_id node, uint64_t period,
			   uint64_t samples);
/* The samples of a node. */
static inline uint64_t perch__tree_samples(const struct tree *tree, const struct node *node)
{
	return node->count == NO_NUMBER ? 0 : tree->count[node->count].samples;
}
void perch__tree_clear(struct tree *tree);
int perch__tree_detach(struct tree *tree);

/* ---- forest.c ---- */

/*
 * The complete tree in the order of a walk in depth first: the nodes below a node follow it, so
 * that walks read memory in order, and sums over all nodes before give those below any node. Most
 * nodes have no samples of their own; the others are hits.
 */
struct forest_node {
	struct frame_id frame;
	uint32_t end;		     /* the first node after those below this one */
	uint32_t first_hit, end_hit; /* the numbers of hits before this node, and before the end */
};
struct forest_row {
	uint32_t nr : 31;
	uint32_t outermost : 1; /* no node above this one has the row */
};
struct forest {
	struct forest_node *node; /* one more than nr: it has only first_hit */
	struct above *above;	  /* by node */
	struct forest_row *row;	  /* by node; NULL until rows are made */
	size_t nr;
	/* of all hits before; one more than there are hits. latency: NULL in profiles without */
	uint64_t *period, *samples, *latency;
	size_t nr_hits;
};
/*
 * Makes the forest of a tree of frames, which becomes empty. latency: by number of the count; NULL:
 * none. Returns 0 or -ENOMEM.
 */
int perch__forest_make(struct forest *forest, struct tree *tree, const uint64_t *latency);
/* The sum of a node, and that of the node and all below it. sums: a member of the forest. */
static inline uint64_t perch__forest_self(const struct forest *forest, const uint64_t *sums,
					  struct node_id at)
{
	const struct forest_node *node = &forest->node[at.nr];

	return sums[node[1].first_hit] - sums[node->first_hit];
}
static inline uint64_t perch__forest_total(const struct forest *forest, const uint64_t *sums,
					   struct node_id at)
{
	const struct forest_node *node = &forest->node[at.nr];

	return sums[node->end_hit] - sums[node->first_hit];
}
static inline bool perch__forest_is_hit(const struct forest_node *node)
{
	return node[1].first_hit != node->first_hit;
}
void perch__forest_clear(struct forest *forest);

/* ---- row_nodes.c ---- */

/* The nodes of each row, in the order of the forest. */
struct row_nodes {
	/* by row and one more: where its nodes begin in the lists */
	struct row_begin {
		uint32_t hit, outermost;
		bool recursive; /* a node of the row has another one above it */
	} * row;
	uint32_t *hit, *outermost; /* nodes */
	/* of the hits of this list; one more than there are hits. Hits without a period have no
	 * samples in call graphs. */
	uint64_t *period, *samples;
};
/* Returns 0 or -ENOMEM. */
int perch__row_nodes_make(struct row_nodes *nodes, const struct forest *forest, size_t nr_rows);
void perch__row_nodes_clear(struct row_nodes *nodes);

#endif
