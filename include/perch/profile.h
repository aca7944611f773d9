/* SPDX-License-Identifier: MIT */
/*
 * Many samples -> one picture. Samples are first added up by stack of addresses; when all are in,
 * each distinct address gets its symbol once, and the stacks are folded into one tree of functions
 * from which all views are drawn.
 */
#ifndef PERCH_PROFILE_H
#define PERCH_PROFILE_H

#include <stdbool.h>
#include <perch/error.h>
#include <perch/process.h>
#include <perch/record.h>
#include <perch/symbol.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A distinct address, as samples and their callchains hit it: one for all processes that map the
 * same place. */
struct perch_address {
	const struct perch_dso *dso;
	/* in the binary's offsets, see struct perch_location */
	uint64_t offset;
	const struct perch_symbol *symbol; /* NULL: none covers it */
	/* 'k' kernel, '.' user, 'H' hypervisor, 'g' guest kernel, 'u' guest user */
	char cpumode_char;
	bool looked_up; /* symbol is settled */
};

/* Numbers addresses from 0 in the order they come, so that what is known of one can be kept in an
 * array. */
struct perch_addresses;
PERCH_API int perch_addresses_new(struct perch_addresses **addresses,
				  struct perch_processes *processes, struct perch_symbols *symbols,
				  struct perch_error *err);
PERCH_API void perch_addresses_free(struct perch_addresses *addresses);
PERCH_API size_t perch_addresses_count(const struct perch_addresses *addresses);
/* Looks the symbol up at the first call for this number. The pointer lives until the next stack is
 * added. */
PERCH_API const struct perch_address *perch_addresses_at(struct perch_addresses *addresses,
							 uint32_t number);
/*
 * The numbers of a sample's stack, innermost first, context markers taken out; at most max (256 is
 * the deepest kept). Returns how many, or -ENOMEM.
 */
PERCH_API int perch_addresses_call_chain(struct perch_addresses *addresses,
					 struct perch_thread *thread,
					 const struct perch_record *record, uint32_t *numbers,
					 size_t max);

/* What tells entries apart. */
enum perch_key {
	PERCH_KEY_COMM = 1 << 0,
	PERCH_KEY_DSO = 1 << 1,
	PERCH_KEY_SYMBOL = 1 << 2,
	PERCH_KEY_PID = 1 << 3,
	PERCH_KEY_TID = 1 << 4,
	PERCH_KEY_CPU = 1 << 5,
};

/* A place in the code as people name it: a function, or an address that no symbol covers. */
struct perch_frame {
	const struct perch_dso *dso;
	const struct perch_symbol *symbol; /* NULL: none covers the address */
	/* of an address without symbol, in the binary's offsets */
	uint64_t offset;
	/* 'k' kernel, '.' user, 'H' hypervisor, 'g' guest kernel, 'u' guest user */
	char cpumode_char;
};

/* One line of a report. Fields whose key was not asked for are 0 or NULL. */
struct perch_row {
	const char *comm; /* not trusted; also set for pid and tid keys */
	uint32_t pid, tid, cpu;
	struct perch_frame frame; /* of the function, or just of the binary */
	uint64_t self;		  /* period of the samples that hit here */
	uint64_t children;	  /* and of those that hit in what was called from here */
	uint64_t samples;	  /* number of samples that hit here */
	/* frames of the deepest stack from here on inwards, itself included */
	uint32_t height;
	uint32_t index; /* for perch_profile_call_graph() */
};

struct perch_profile;

/* keys: PERCH_KEY_*. The processes and symbols must outlive the profile. */
PERCH_API int perch_profile_new(struct perch_profile **profile, struct perch_processes *processes,
				struct perch_symbols *symbols, unsigned keys,
				struct perch_error *err);
PERCH_API void perch_profile_free(struct perch_profile *profile);

/* Adds a SAMPLE record; others are ignored. Records must have been applied to the processes in time
 * order. */
PERCH_API int perch_profile_add(struct perch_profile *profile, const struct perch_record *record,
				struct perch_error *err);
/* Looks all addresses up and folds the stacks. After this, only the calls below. */
PERCH_API int perch_profile_finish(struct perch_profile *profile, struct perch_error *err);

struct perch_profile_total {
	uint64_t samples, period;
};
/* Sums of event number `event` (the record's .event). */
PERCH_API void perch_profile_get_total(const struct perch_profile *profile, unsigned event,
				       struct perch_profile_total *total);
/* The entries of an event, the largest first: by children (when by_children) or by self (then
 * without those of self 0). */
PERCH_API int perch_profile_rows(struct perch_profile *profile, unsigned event, bool by_children,
				 const struct perch_row **rows, size_t *nr,
				 struct perch_error *err);

enum perch_call_graph_order {
	/* from the outermost caller down; under an inner function: what it called */
	PERCH_CALL_GRAPH_CALLER,
	/* from the function that was hit up to its callers */
	PERCH_CALL_GRAPH_CALLEE,
};
/* A call tree: node 0 is the root, without a frame. Children are sorted, the largest first.
 * Branches below the limit are not there, so a node's children and self may add up to less than its
 * period. */
struct perch_call_graph_node {
	struct perch_frame frame;
	uint64_t period;	    /* of the samples of this branch */
	uint64_t self;		    /* of those whose chain ends here */
	uint32_t first_child, next; /* node numbers; 0: none */
};
struct perch_call_graph {
	struct perch_call_graph_node *node;
	size_t nr;
};
/*
 * The stacks of an entry; inner: also those in which the entry's function called the one that was
 * hit. Branches of less than the period `least` are left out.
 */
PERCH_API int perch_profile_call_graph(struct perch_profile *profile, const struct perch_row *row,
				       enum perch_call_graph_order order, bool inner,
				       uint64_t least, struct perch_call_graph *tree,
				       struct perch_error *err);
PERCH_API void perch_call_graph_clear(struct perch_call_graph *tree);

#ifdef __cplusplus
}
#endif
#endif
