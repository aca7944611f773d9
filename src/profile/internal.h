/* SPDX-License-Identifier: MIT */
#ifndef PERCH_PROFILE_INTERNAL_H
#define PERCH_PROFILE_INTERNAL_H

#include <perch/profile.h>
#include "base/array.h"
#include "base/hash_table.h"

/* ---- tree.c: numbered keys, and a tree of stacks ---- */

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
/* For a key that was just added and whose item cannot be stored. */
void perch__key_set_remove_last(struct key_set *set);
void perch__key_set_clear(struct key_set *set);

/* The properties that all frames of a sample share. Members that no sort key needs are 0. */
struct context {
	const char *comm;
	uint32_t comm_index, pid, tid, cpu, event;
};

/* A node is a stack: its innermost frame, and the parent node for the other frames. Parents have
 * lower numbers than their children. */
struct node {
	uint32_t parent;	    /* NO_NODE: this is the outermost frame */
	uint32_t context;	    /* number in perch_profile.contexts */
	uint32_t frame;		    /* in stacks: address number; in tree: frame number */
	uint32_t first_child, next; /* NO_NODE: none */
	uint32_t nr_children;
	/* the other members are used in the folded tree only */
	uint32_t next_outermost, next_hit; /* lists of struct row_lists */
	uint32_t height;		   /* frames of the deepest stack from here on inwards */
	uint32_t row;
	uint64_t self, samples, total; /* self, total: period */
};
#define NO_NODE UINT32_MAX

struct tree {
	struct node *node;
	size_t nr, capacity;
	/* (context, parent, frame) -> node[]: roots, and the children of nodes with many */
	struct perch__hash_table children;
};
/*
 * Returns the child of a node for a frame, or the root of a context if parent is NO_NODE. Adds it
 * if it is new. Returns NO_NODE if out of memory.
 */
uint32_t perch__tree_child(struct tree *tree, uint32_t context, uint32_t parent, uint32_t frame);
/* Computes total and height of every node. */
void perch__tree_link(struct tree *tree);
void perch__tree_clear(struct tree *tree);

/* ---- addresses.c: call chains, and numbers of addresses ---- */

/* The call chain of a sample without context markers, innermost first. */
#define MAX_DEPTH PERCH_MAX_CALL_CHAIN
struct chain {
	size_t nr;
	uint64_t ip[MAX_DEPTH];
	uint8_t cpumode[MAX_DEPTH];
};
void perch__chain_read(struct chain *chain, const struct perch_record *record);

/* The last stack of a thread. The next stack of the same thread usually has the same outer frames,
 * so only the others need a lookup. */
struct last_stack {
	/* of the address spaces when the stack was stored; 0 if empty */
	uint64_t generation, kernel_generation;
	uint32_t tid, context;
	size_t nr;
	uint64_t ip[MAX_DEPTH]; /* outermost first */
	uint8_t cpumode[MAX_DEPTH];
	uint32_t number[MAX_DEPTH]; /* of the address, or of the tree's node */
};
#define LAST_STACKS 64 /* indexed by tid */
/*
 * Stores a chain as the last stack. Returns the number of outer frames that are unchanged: 0 if the
 * stack is another thread's, or if a mapping changed. The caller sets number[] of the others.
 */
size_t perch__last_stack_update(struct last_stack *last, const struct perch_processes *processes,
				const struct perch_thread *thread, const struct chain *chain);

/* A cache in front of the hash table: hot code has a few thousand addresses. */
#define RECENT 16384
struct recent {
	uint64_t key, ip; /* key: address space and cpumode; 0 if empty */
	uint32_t number;
};

struct perch_addresses {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct recent recent[RECENT];
	struct last_stack last_stack[LAST_STACKS];
	struct key_set keys; /* (DSO and cpumode, offset) -> address[] */
	struct perch_address *address;
};
/*
 * Returns the number of an address. It is the same in every process that maps the same file offset.
 * Returns NO_NUMBER if out of memory.
 */
uint32_t perch__address_number(struct perch_addresses *addresses, struct perch_thread *thread,
			       unsigned cpumode, uint64_t ip);

/* ---- the profile ---- */

/* The nodes of a row, as linked lists. */
struct row_lists {
	uint32_t outermost; /* nodes that have no other node of the row above them */
	uint32_t hit;	    /* nodes with samples of their own */
	uint32_t context;
};

struct perch_profile {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	unsigned keys; /* PERCH_KEY_* */
	struct key_set contexts;
	struct context *context;
	struct perch_addresses *addresses;
	struct tree stacks;  /* of addresses; empty after perch_profile_finish() */
	struct tree tree;    /* of frames */
	uint64_t names_seed; /* of hashes that stand for names */
	struct key_set frames;
	struct perch_frame *frame;
	struct key_set row_keys; /* (context, DSO or frame) -> row[] */
	struct perch_row *row;
	struct row_lists *lists; /* by row */
	/* by frame: the row of the last lookup; most recordings have few contexts */
	struct cached_row {
		uint32_t context, row; /* row + 1; 0 if empty */
	} * cached_row;
	/* scratch of perch_profile_call_graph(), all 0 between calls: */
	uint64_t *hits;	    /* by node */
	uint32_t *group_of; /* by frame */
	struct profile_event {
		struct perch_profile_total total;
		bool has_chains;
		struct perch_row *sorted;
	} * event;
	size_t nr_events, events_capacity;
	struct last_stack last_stack[LAST_STACKS];
};

/* ---- frames.c: the frames of addresses ---- */

/* The inlined functions at an address: their frame numbers, innermost first. */
struct inlined {
	uint32_t first, nr; /* in frame_lists.inlined_frame */
	bool looked_up;
};

struct frame_lists {
	uint32_t *frame; /* by address number */
	struct canonical {
		const struct perch_dso **of; /* by DSO index */
		bool *shared;		     /* by DSO index: canonical for other DSOs too */
	} canonical;
	struct inlined *inlined[2]; /* by address number: of the address, of a call before it */
	uint32_t *inlined_frame;
	size_t nr_inlined_frames, capacity;
};
/* Looks up the frame of each address. Returns 0 or -ENOMEM; the caller clears lists in both cases.
 */
int perch__frames_of_addresses(struct perch_profile *profile, struct frame_lists *lists);
/*
 * Looks up the inlined functions at an address. is_caller: it is a return address, so that the
 * functions around the call are meant. Returns NULL if out of memory.
 */
const struct inlined *perch__frames_inlined(struct perch_profile *profile,
					    struct frame_lists *lists, uint32_t number,
					    bool is_caller);
void perch__frames_clear(struct frame_lists *lists);
/* rows.c: finds the row of each node of the folded tree, and adds up self and children of rows. */
int perch__rows_fill(struct perch_profile *profile);

#endif
