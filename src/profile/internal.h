/* SPDX-License-Identifier: MIT */
#ifndef PERCH_PROFILE_INTERNAL_H
#define PERCH_PROFILE_INTERNAL_H

#include <perch/profile.h>

/*
 * A set of fixed-size keys, each numbered in the order it came: key -> dense number. A slot holds
 * part of the hash beside the number, so that of a chain of slots only the right one's key is
 * looked at.
 */
struct key_set {
	uint64_t *slot; /* hash << 32 | number + 1; 0: free */
	size_t mask, nr, size;
	uint64_t (*key)[2]; /* by number */
};
#define NO_NUMBER UINT32_MAX
/* The index of the key, made when it is new (*is_new is then set); NO_NUMBER when out of memory. */
uint32_t perch__key_set_add(struct key_set *index, uint64_t high, uint64_t low, bool *is_new);
void perch__key_set_clear(struct key_set *index);

/* What is common to all frames of a sample, as far as the keys need it. */
struct context {
	const char *comm;
	uint32_t comm_index, pid, tid, cpu, event;
};

/* A stack is a node: its innermost frame, called from the parent. Parents come before their
 * children. */
struct node {
	uint32_t parent; /* node, or NO_NODE for the outermost frame */
	uint32_t context;
	uint32_t frame;		    /* address number while adding; frame number afterwards */
	uint32_t first_child, next; /* NO_NODE: none */
	uint32_t nr_children;
	/* in the folded tree: lists of an entry's nodes, see struct row_lists */
	uint32_t next_outermost;
	uint32_t next_hit;
	uint32_t height; /* of the deepest stack below, itself included */
	/* in the folded tree: the line of the report it belongs to */
	uint32_t row;
	uint64_t self, samples, total;
};
#define NO_NODE UINT32_MAX

struct tree {
	struct node *node;
	size_t nr, size;
	/* (context or parent, frame) -> child[]: roots, and children of those with many */
	struct key_set index;
	uint32_t *child;
};
/* The child of the parent (or of the context, with parent NO_NODE) for the frame. NO_NODE when out
 * of memory. */
uint32_t perch__tree_child(struct tree *tree, uint32_t context, uint32_t parent, uint32_t frame);
/* Gives every node its total and height. */
void perch__tree_link(struct tree *tree);
void perch__tree_clear(struct tree *tree);

/* The frames of a sample without markers, innermost first, each with its cpumode. */
#define MAX_DEPTH 256
struct chain {
	size_t nr;
	uint64_t ip[MAX_DEPTH];
	uint8_t cpumode[MAX_DEPTH];
};
void perch__chain_read(struct chain *chain, const struct perch_record *record);

/* The stack last seen of a thread: the next one mostly shares its outer frames. */
struct last_stack {
	/* of the address spaces at that time; generation 0: nothing is remembered */
	uint64_t generation, kernel;
	uint32_t tid, context;
	size_t nr;
	uint64_t ip[MAX_DEPTH]; /* outermost first */
	uint8_t cpumode[MAX_DEPTH];
	uint32_t number[MAX_DEPTH]; /* of the address, or of the node of the tree */
};
#define LAST_STACKS 64
/*
 * Takes the stack up in place of the one remembered. Returns how many outer frames both share, when
 * it was the same thread's and nothing was mapped in between; number[] is the caller's to fill in
 * beyond those.
 */
size_t perch__last_stack_update(struct last_stack *last, const struct perch_processes *processes,
				const struct perch_thread *thread, const struct chain *chain);

/* Addresses met lately, in front of the large table: hot code is a few thousand addresses. */
#define RECENT 16384
struct recent {
	uint64_t key, ip; /* key 0: empty */
	uint32_t number;
};

struct perch_addresses {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct recent recent[RECENT];
	struct last_stack last_stack[LAST_STACKS];
	struct key_set index; /* (binary and mode, offset) -> address[] */
	struct perch_address *address;
};
/* Number of an address, the same in every process that maps the same place; NO_NUMBER when out of
 * memory. */
uint32_t perch__address_number(struct perch_addresses *addresses, struct perch_thread *thread,
			       unsigned cpumode, uint64_t ip);
/* Room for element nr in a list that is sized by powers of two. False when out of memory. */
bool perch__room(void *list, uint32_t nr, size_t element);

/* An entry's nodes: those that no other of its nodes is above of, and those with samples of their
 * own. */
struct row_lists {
	uint32_t outermost, hit;
	uint32_t context;
};

struct perch_profile {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	unsigned keys;
	struct key_set contexts;
	struct context *context;
	struct perch_addresses *addresses;
	struct tree stacks; /* of addresses; emptied by finish */
	struct tree tree;   /* of frames */
	struct key_set frames;
	struct perch_frame *frame;
	struct key_set row_keys; /* (context, frame's part in the keys) -> entry */
	struct perch_row *row;
	/* by frame: the last entry it was found in */
	struct cached_row {
		uint32_t context, row;
	} * cached_row;
	struct row_lists *lists;
	uint64_t *hits; /* by node, and */
	/* by frame: scratch of perch_profile_call_graph(), all 0 between calls */
	uint32_t *group_of;
	struct {
		struct perch_profile_total total;
		struct perch_row *sorted;
	} * event;
	size_t nr_events;
	struct last_stack last_stack[LAST_STACKS];
};

/* Frame number of each address, to be freed; NULL when out of memory. */
uint32_t *perch__frames_of_addresses(struct perch_profile *profile);
/* Gives every node of the folded tree its entry, and computes self and children of all entries. */
int perch__rows_fill(struct perch_profile *profile);

#endif
