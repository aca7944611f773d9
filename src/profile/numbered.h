/* SPDX-License-Identifier: MIT */
/* Sets whose items are numbered in the order they are added, and the tree of stacks, whose nodes
 * are. */
#ifndef PERCH_PROFILE_NUMBERED_H
#define PERCH_PROFILE_NUMBERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/hash_table.h"

/*
 * perch__..._detach() gives a struct that is a copy of another one arrays of its own, of which only
 * numbers are used: its hash tables stay with the other. Returns 0 or -ENOMEM; the struct is to be
 * cleared in both cases.
 */
#define PERCH__DETACH(array, nr) perch__detach(&(array), nr, sizeof(*(array)))
int perch__detach(void *array, size_t nr, size_t size);

/* ---- numbered.c ---- */

/* A set of keys of two words each, numbered from 0 in the order they are added. */
struct key_set {
	struct perch__hash_table table; /* key -> number */
	uint64_t (*key)[2];		/* by number */
	size_t nr, capacity;
};
#define NO_NUMBER PERCH__HASH_NONE
/*
 * Returns the number of the key, which is added if it is new (*is_new). Returns NO_NUMBER if out of
 * memory.
 */
uint32_t perch__key_set_add(struct key_set *set, uint64_t high, uint64_t low, bool *is_new);
/* Makes space for more keys. Returns 0 or -ENOMEM. */
int perch__key_set_reserve(struct key_set *set, size_t more);
/* Stores the numbers of keys. There must be space for nr keys more. Faster than one after the
 * other, because the lookups wait for memory at the same time. */
void perch__key_set_add_all(struct key_set *set, const uint64_t (*keys)[2], size_t nr,
			    uint32_t *numbers);
/* Returns the next number, for an item that no key finds. Returns NO_NUMBER if out of memory. */
uint32_t perch__key_set_skip(struct key_set *set);
/* For a key that was just added and whose item cannot be stored. */
void perch__key_set_remove_last(struct key_set *set);
void perch__key_set_clear(struct key_set *set);
int perch__key_set_detach(struct key_set *set);
/* Frees the keys. Their number stays, and no more keys can be added. */
void perch__key_set_end(struct key_set *set);

/* A set of lists of `width` words each, numbered from 0 in the order they are added. */
struct tuples {
	struct perch__hash_table table; /* words -> number */
	uint64_t *word;			/* nr * width words, by number */
	size_t width, nr, capacity;	/* capacity: in words */
};
/* Returns the number of the words, which are added if they are new. Returns NO_NUMBER if out of
 * memory. */
uint32_t perch__tuples_add(struct tuples *tuples, const uint64_t *words);
static inline const uint64_t *perch__tuples_at(const struct tuples *tuples, uint32_t number)
{
	return tuples->word + (size_t)number * tuples->width;
}
void perch__tuples_clear(struct tuples *tuples);
int perch__tuples_detach(struct tuples *tuples);

/* A set of texts, numbered from 0 in the order they are added. They must outlive the set. */
struct texts {
	struct perch__hash_table table; /* text -> number */
	const char **text;		/* by number */
	size_t nr, capacity;
	bool are_shared; /* the texts are those of another set */
};
/* Returns the number of the text, which is added if it is new. Returns NO_NUMBER if out of memory.
 */
uint32_t perch__texts_add(struct texts *texts, const char *text);
void perch__texts_clear(struct texts *texts);
int perch__texts_detach(struct texts *texts);

/* ---- tree.c: the tree of stacks ---- */

/* Numbers of one kind each: the compiler does not let one be mistaken for another. */
struct context_id {
	uint32_t nr; /* in perch_profile.contexts */
};
struct address_id {
	uint32_t nr; /* in perch_addresses.address[] */
};
struct frame_id {
	uint32_t nr; /* in perch_profile.frame[] */
};
#define NO_FRAME ((struct frame_id){ NO_NUMBER })
struct node_id {
	uint32_t nr; /* in tree.node[] */
};

/* A node is a stack: its innermost frame, and the parent node for the other frames. Parents have
 * lower numbers than their children. */
struct node {
	struct node_id parent;	   /* NO_NODE: this is the outermost frame */
	struct context_id context; /* values that all frames share */
	struct frame_id frame;
	struct node_id first_child, next; /* NO_NODE: none */
	union {
		uint32_t nr_children; /* until rows are made */
		uint32_t visit;	      /* from then on: its place in a walk in depth first */
	};
	struct node_id next_outermost, next_hit; /* lists of struct row_lists */
	union {
		uint32_t height;    /* until then: frames of the deepest stack inwards */
		uint32_t visit_end; /* from then on: the visit after those of nodes below it */
	};
	uint32_t row;
	uint64_t self, samples, total; /* self, total: period */
};
#define NO_NODE ((struct node_id){ NO_NUMBER })

struct tree {
	struct node *node;
	size_t nr, capacity;
	/* (context, parent, frame) -> node[]: roots, and the children of nodes with many */
	struct perch__hash_table children;
};
/* Makes space for the nodes of an empty tree. Without memory it is made when nodes are added. */
void perch__tree_reserve(struct tree *tree, size_t nr);
/*
 * Returns the child of a node for a frame, or the root of a context if parent is NO_NODE. Adds it
 * if it is new. Returns NO_NODE if out of memory.
 */
struct node_id perch__tree_child(struct tree *tree, struct context_id context,
				 struct node_id parent, struct frame_id frame);
/* Adds a child, or a root, that no call adds a second time, and that perch__tree_child() is not
 * asked for. It needs no lookup. Returns NO_NODE if out of memory. */
struct node_id perch__tree_add(struct tree *tree, struct context_id context, struct node_id parent,
			       struct frame_id frame);
/* Loads memory that finding this child will need into the CPU's cache. */
void perch__tree_prefetch_child(const struct tree *tree, struct context_id context,
				struct node_id parent, struct frame_id frame);
/* Computes total and height of every node. */
void perch__tree_link(struct tree *tree);
void perch__tree_clear(struct tree *tree);

#endif
