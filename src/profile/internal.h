/* SPDX-License-Identifier: MIT */
/*
 * Samples by columns and call chain. Values of scope SAMPLE are equal for all frames of a sample:
 * their tuple is its context. Values of scope FRAME are those of a function; columns of scope
 * PERIOD are sums. Samples are collected and counted many at a time, so that lookups of different
 * samples wait for memory at the same time.
 *
 * Call chains of addresses are counted in a tree. After the last sample each distinct address is
 * symbolized once, and the chains are merged into a tree of functions. It is put in the order of a
 * walk in depth first; rows and call graphs are made from that. In profiles of branches each branch
 * counts as a sample. For latencies the number of threads that run is a word of the context, so
 * counting is the same.
 *
 * Live reports need rows while samples are added: a snapshot copies the counts, without their hash
 * tables, into a profile that is then finished; both share the addresses. Decay multiplies the
 * counts, in units of 1/256 sample, and copies what is left into new tables. The cost of a refresh
 * is that of the call chains that were sampled lately. A file calls only files below its own:
 *
 *	profile.c			adds samples up, then makes the tree of functions
 *	  rows.c			  rows: one for each combination of values
 *	  frames.c			  addresses become frames, each with one lookup
 *	sort.c				the order of rows, by numbers where these have it
 *	  sort_numbers.c		  a radix sort
 *	  cell.c			  values and texts of rows
 *	decay.c				old samples count less
 *	batch.c				collects samples
 *	  counting/counters.c		  threads that count them, and the merge of what they have
 *	    counting/batch_count.c	    counts those of a batch
 *	      counting/batch_mappings.c	      resolves their addresses
 *	columns/column_list.c		the columns of a profile
 *	  columns/columns.c		  the table of columns (columns/columns.def)
 *	  columns/column_mem.c		  accesses to memory
 *	  columns/column_period.c	  sums of samples
 *	  columns/column_sample.c	  numbers that a sample has
 *	  columns/column_off_cpu.c	  time off the CPU
 *	  columns/column_thread.c	  thread and CPU
 *	  columns/column_branch.c	  branches
 *	  columns/column_line.c		  source files and lines
 *	  columns/column_frame.c	  functions
 *	blocks.c			basic blocks of branch stacks (perch/blocks.h)
 *	parent.c			functions of call chains that match an expression
 *	branches.c			profiles of branches
 *	flat.c				samples without call chains, by address
 *	waiting.c			call chains that are numbered many at a time
 *	addresses.c			the distinct addresses of a recording
 *	stacks.c			counts call chains of addresses
 *	contexts.c			columns of addresses in contexts become frames
 *	context.c			the context of a sample
 *	totals.c			the sums of an event
 *	latency.c			periods divided by the threads that run
 *	call_graph.c			the call graph of a row
 *	  tree/row_nodes.c		  the nodes of each row
 *	tree/forest.c			the complete tree of stacks
 *	  tree/tree.c			  the tree while samples are added
 *	numbered.c			numbered keys, texts and lists of values
 *	annotation.c			samples by function and offset
 *	progress.c			lets a program see and end the work
 *	sockets.c			sockets of CPUs
 */
#ifndef PERCH_PROFILE_INTERNAL_H
#define PERCH_PROFILE_INTERNAL_H

#include <perch/column.h>
#include <perch/profile.h>
#include "base/array.h"
#include "base/hash_table.h"
#include "addresses.h"
#include "tree/tree.h"

/* ---- batch.c: samples that are counted at the same time ---- */

#define BATCH_SAMPLES 1024
#define BATCH_KEYS    4096
#define BATCHES	      4 /* that wait for the thread */

struct batch_sample {
	uint64_t period;
	struct context_id context;
	uint16_t slot;	     /* of the thread's last stack */
	uint16_t shared, nr; /* outer frames that the last stack has, and the others */
};

struct batch {
	uint32_t unit; /* what a sample adds to a number of samples */
	size_t nr, nr_keys;
	struct batch_sample sample[BATCH_SAMPLES];
	/* The frames of each sample that are not shared, outermost first. Until the batch is
	 * counted, most keys have the index in mappings[] with the cpumode, and the address. */
	struct address_key key[BATCH_KEYS];
	struct batch_mappings *mappings; /* NULL until the first key needs them */
	uint32_t number[BATCH_KEYS];	 /* of the addresses */
};

struct sample;
/* Adds a sample, and counts the batch if it is full. Returns 0 or -ENOMEM. */
int perch__samples_add(struct perch_profile *profile, const struct sample *sample,
		       struct context_id context);
/* Counts all samples that were added. After -ENOMEM the others are kept. */
int perch__samples_count(struct perch_profile *profile);
/* counting/batch_count.c: counts the samples of a batch as a whole, or none of them. Returns 0 or
 * -ENOMEM.
 */
int perch__batch_count(struct perch_profile *profile, struct batch *batch);

/* ---- counting/batch_mappings.c: batches whose addresses are resolved later, in any thread ---- */

/* Stores the keys of addresses, the last one first, which become valid in perch__batch_resolve().
 * There must be space. */
void perch__batch_add_keys(struct perch_profile *profile, struct perch_thread *thread,
			   const uint64_t *ip, const uint8_t *cpumode, size_t nr);
void perch__batch_resolve(struct batch *batch);
/* After that, in the thread of the processes: releases the mappings. */
void perch__batch_drop_mappings(struct batch *batch);
void perch__batch_free(void *batch);

/* ---- counting/counters.c: threads that count ---- */

struct counters;
/* Starts them. Returns NULL if there cannot be any. */
struct counters *perch__counters_new(struct perch_profile *profile, size_t nr);
/* Passes the batch of the profile, which gets an empty one. Returns 0 or -ENOMEM. */
int perch__counters_pass(struct counters *counters);
/* Waits until all batches are counted in the profile. Returns 0 or -ENOMEM: the rest is kept. */
int perch__counters_wait(struct counters *counters);
/* True in a child of fork(2), which does not have the threads. */
bool perch__counters_are_forked(const struct counters *counters);
/* Ends the threads. What is not counted in the profile is lost. NULL is allowed. */
void perch__counters_free(struct counters *counters);

/* ---- stacks.c ---- */

/* Counts the samples in a tree of addresses. There must be space for a node for each key of the
 * batch. */
void perch__stacks_add(struct tree *stacks, struct last_stack *last, const struct batch *batch);
/* Adds the stacks with samples, and their parents, to empty ones, with new numbers of addresses and
 * contexts. Returns 0 or -ENOMEM. */
int perch__stacks_copy(struct tree *to, const struct tree *from, const struct address_id *address,
		       const struct context_id *context);

/* ---- columns ---- */

/* What a column of scope PERCH_COLUMN_SAMPLE is computed from. */
struct sample {
	struct perch_profile *profile;
	const struct perch_record *record;
	struct perch_thread *thread;
	const struct chain *chain;		 /* NULL if the profile is flat and needs none */
	const struct perch_branch_entry *branch; /* in profiles of branches */
	struct address_id from, to;		 /* then its addresses */
};

/* A row, and its value in a column. */
struct cell {
	const struct perch_row *row;
	uint64_t value;
};

/* A column of the library. Members that its scope does not need are NULL. */
struct perch_column_methods {
	/* scope SAMPLE: stores the value. Returns 0 or -ENOMEM. */
	int (*value)(const struct sample *sample, uint64_t *value);
	/* scope FRAME: returns a number that is equal for the frames of one row. Scope SAMPLE: the
	 * value is the number of an address, and of its frame after perch__contexts_fold(). */
	uint64_t (*frame_value)(const struct perch_profile *profile, struct frame_id frame);
	/* scope PERIOD: the sum */
	uint64_t (*sum)(const struct perch_row *row);
	/* compares two cells; NULL: the numbers. Of scope SAMPLE the cells have only values, of
	 * scope FRAME only rows. */
	int (*compare)(struct perch_profile *profile, const struct cell *a, const struct cell *b);
	/* the value for a program, if it is not the stored one; NULL: the stored one */
	uint64_t (*number)(uint64_t value);
	/* returns the text, in the buffer or valid as long as the profile; NULL: the number. Scope
	 * FRAME: the cell has only the row, which may be any row of a profile with such columns. */
	const char *(*text)(struct perch_profile *profile, const struct cell *cell, char *buffer,
			    size_t size);
};

/* column_*.c, parent.c: the methods of each column */
#define COLUMN(id, ...)	       extern const struct perch_column_methods perch__column_##id;
#define BRANCH_COLUMN(id, ...) extern const struct perch_column_methods perch__column_##id;
#include "profile/columns/columns.def"
/* The number of a frame's function. With lines, a function has a frame for each line. */
uint64_t perch__sym_value(const struct perch_profile *profile, struct frame_id frame);

/* columns/column_thread.c: the texts of comm_nodigit, which the set owns unless it is a copy. */
void perch__comms_without_digits_clear(struct texts *texts);
int perch__comms_without_digits_detach(struct texts *texts);

/* sockets.c: reads the sockets of the CPUs from a file. Returns 0 or -ENOMEM. */
int perch__sockets_read(struct perch_profile *profile, struct perch_reader *reader);

#define MAX_COLUMNS 64
/* columns/column_list.c: sets the columns of a new profile. Returns 0 or a negative errno. */
int perch__columns_set(struct perch_profile *profile, const struct perch_profile_options *options,
		       struct perch_error *err);
/* Returns the index of a column of the profile, or MAX_COLUMNS. */
size_t perch__columns_index(const struct perch_profile *profile, const struct perch_column *column);

/* Returns true if the profile has this column of the library. */
bool perch__columns_has(const struct perch_profile *profile,
			const struct perch_column_methods *methods);
/* Returns true if a column of a flat profile needs the functions of addresses. */
bool perch__columns_need_functions(const struct perch_profile *profile);

/* cell.c: compare by the column with this index in the profile: of scope SAMPLE, */
int perch__compare_contexts(struct perch_profile *profile, struct context_id a, struct context_id b,
			    size_t index);
/* and of scope SAMPLE or FRAME. */
int perch__compare_at(struct perch_profile *profile, const struct perch_row *a,
		      const struct perch_row *b, size_t index);

/* ---- the profile ---- */

/* flat.c: counts of samples by address and context, in place of stacks. */
struct count {
	uint64_t period, samples;
	struct context_id context;
};
struct flat {
	struct count *first; /* by address, of its first context: most addresses have only one */
	size_t nr_first;
	struct key_set keys; /* (context, address) -> other[] */
	struct count *other;
};

/* row.numbers[]: in perch_profile.contexts and frame[]; all frames of a row have the same values */
enum { ROW_CONTEXT, ROW_FRAME };

/* latency.c: of a profile with latencies */
struct latency {
	size_t word;	/* of contexts, with the number of threads that ran; 0: no latencies */
	bool hidden;	/* the word is that of no column of the profile */
	unsigned shift; /* latencies are in units of 1 / 2^shift of a period */
	/* in perch_profile_finish(): by context, the one without the hidden word, and the number */
	struct context_id *context;
	uint32_t *parallelism;
	struct tuples merged; /* contexts */
	uint64_t *self;	      /* by number of the count in the tree */
	size_t capacity;
	struct perch_row_latency *row; /* by the index of the row */
};

/* contexts of the last samples, by tid: usually the next sample of a thread has the same one */
#define RECENT_CONTEXTS 64

struct perch_profile {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_reader *reader; /* of the options; NULL: none */
	bool inlined;		     /* of the options */
	unsigned max_stack;	     /* addresses of a call chain; not 0 */
	uint64_t time_quantum;	     /* in ns, not 0 */
	uint32_t *socket;	     /* by CPU */
	size_t nr_sockets;
	const struct perch_column *column[MAX_COLUMNS];
	/* by column of scope SAMPLE: the word in contexts that has its value */
	uint8_t word[MAX_COLUMNS];
	size_t nr_columns;
	/* by word of a context: its column; word 0 is the event */
	const struct perch_column *sample_column[1 + MAX_COLUMNS];
	const struct perch_column *frame_column[MAX_COLUMNS]; /* of scope FRAME */
	size_t nr_frame_columns;
	struct tuples contexts; /* event and values of columns of scope SAMPLE */
	struct context_id recent_context[RECENT_CONTEXTS];
	const char **comm; /* by index of the name + 1: the names of threads */
	size_t nr_comms;
	/* comm_nodigit: the texts, and by index of the name + 1: number of its text + 1, or 0 */
	struct texts without_digits;
	uint32_t *without_digits_of;
	size_t nr_without_digits;
	/* columns/column_thread.c: the threads and processes of the columns tid and pid */
	struct named_threads {
		struct named_thread {
			const struct perch_thread *thread; /* only compared */
			uint32_t id, comm;		   /* comm: the last one */
		} * thread;
		size_t nr;
		struct perch__hash_table table; /* (thread, id) -> thread[] */
	} named;
	struct texts functions_named;	/* that matched an expression */
	struct matcher parent, ignored; /* see the options */
	bool outermost_parent;
	bool branches, resolved_branches, exact_chains; /* of the options */
	/* columns/column_mem.c */
	struct tuples data_addresses;
	struct tuples namespaces; /* device and inode */
	struct texts dso_names;
	struct perch_addresses *addresses;
	bool shares_addresses; /* with the profile that this one is a snapshot of */
	/* numbers of samples are multiples of 1 / unit: after perch_profile_decay() it is not 1 */
	uint32_t unit;
	struct flat *flat;	/* without call chains; else NULL */
	struct batch *batch;	/* that is filled */
	size_t nr_threads;	/* that may count; 0: the program does */
	bool starts_debug_info; /* in another thread */
	bool reads_ahead;	/* of the options: the threads do, if they have nothing to count */
	/* NULL: none. They have addresses, flat, stacks and last_stack[].number for themselves,
	 * except between perch__samples_count() and the next sample. */
	struct counters *counters;
	struct tree stacks;   /* of addresses; empty after perch_profile_finish() */
	struct tree tree;     /* of frames, only while that is at work */
	struct forest forest; /* made of it */
	uint64_t names_seed;  /* of hashes that stand for names */
	struct key_set frames;
	struct perch_frame *frame;
	bool with_functions;	  /* a column or call graphs need the function of a frame */
	bool with_lines;	  /* a column needs the position of a frame */
	bool with_source;	  /* ... its source file */
	struct key_set functions; /* with lines */
	struct position {
		const char *file; /* its name, or its path with full_paths; NULL if unknown */
		uint32_t line;
		uint32_t function; /* number in functions */
		uint64_t offset;   /* of the address, if the file is unknown */
		/* for this column: the offset of the address in its function, 0 if inlined */
		uint64_t symoff;
		uint64_t hash;
	} * position; /* by frame, with lines */
	size_t nr_rows;
	struct perch_row *row;		     /* those of an event are together, in any order */
	struct row_nodes row_nodes;	     /* by the index of the row; empty until call graphs */
	enum perch_call_graph_key graph_key; /* of the options */
	bool graph_samples, full_paths;
	bool nanoseconds; /* in the column time */
	/* scratch of perch_profile_call_graph(): by frame, 0 between calls; and items */
	uint32_t *group_of;
	struct perch__graph_item *graph_item;
	size_t graph_items_capacity;
	struct profile_event {
		struct perch_profile_total total; /* without all_* */
		uint64_t skipped_samples, skipped_period;
		double skipped_latency;
		bool has_chains;
		bool has_calls; /* callers in user space have the addresses of their calls */
		size_t first_row, nr_rows; /* in row[] */
	} * event;
	size_t nr_events, events_capacity;
	struct last_stack last_stack[LAST_STACKS];
	perch_profile_progress *progress; /* NULL: none */
	void *progress_context;
	struct latency latency;
};

/* columns/column_thread.c */
void perch__named_threads_clear(struct named_threads *named);
int perch__named_threads_detach(struct named_threads *named);
/* Stores the value of the columns tid and pid. Returns 0 or -ENOMEM. */
int perch__named_value(struct perch_profile *profile, const struct perch_thread *thread,
		       uint32_t id, uint64_t *value);

/*
 * The members with memory of their own. perch_profile_free() and perch_profile_snapshot() both use
 * this list. PART(member, clear, detach): functions of struct perch_profile's member, see
 * numbered.h; ARRAY(member, its number of items). Others are tree, forest, row_nodes, latency,
 * graph_item, batch and counters, which a snapshot does not have, and addresses, which it shares.
 */
#define PERCH__PROFILE_MEMBERS(PART, ARRAY)                                  \
	PART(contexts, perch__tuples_clear, perch__tuples_detach)            \
	PART(data_addresses, perch__tuples_clear, perch__tuples_detach)      \
	PART(namespaces, perch__tuples_clear, perch__tuples_detach)          \
	PART(functions_named, perch__texts_clear, perch__texts_detach)       \
	PART(dso_names, perch__texts_clear, perch__texts_detach)             \
	PART(without_digits, perch__comms_without_digits_clear,              \
	     perch__comms_without_digits_detach)                             \
	PART(parent, perch__matcher_clear, perch__matcher_detach)            \
	PART(ignored, perch__matcher_clear, perch__matcher_detach)           \
	PART(named, perch__named_threads_clear, perch__named_threads_detach) \
	PART(stacks, perch__tree_clear, perch__tree_detach)                  \
	PART(flat, perch__flat_free, perch__flat_detach)                     \
	PART(frames, perch__key_set_clear, perch__key_set_detach)            \
	PART(functions, perch__key_set_clear, perch__key_set_detach)         \
	ARRAY(comm, nr_comms)                                                \
	ARRAY(without_digits_of, nr_without_digits)                          \
	ARRAY(socket, nr_sockets)                                            \
	ARRAY(event, nr_events)                                              \
	ARRAY(frame, frames.nr)                                              \
	ARRAY(position, frames.nr)                                           \
	ARRAY(row, nr_rows)                                                  \
	ARRAY(group_of, frames.nr)

/* The parts of perch_profile_finish(), and the shares of its time that they take about. */
enum profile_work { WORK_SYMBOLS, WORK_FOLD, WORK_ROWS };
#define WORK_STEP 64 /* items after which the function of the program is called */

/* Calls it after `at` of nr items of a part are done. Returns 0 or -ECANCELED. */
int perch__profile_call_progress(const struct perch_profile *profile, enum profile_work work,
				 size_t at, size_t nr);

static inline int perch__profile_progress(const struct perch_profile *profile,
					  enum profile_work work, size_t at, size_t nr)
{
	return profile->progress && at % WORK_STEP == 0
		       ? perch__profile_call_progress(profile, work, at, nr)
		       : 0;
}

/* parent.c: sets the expressions of a new profile. with_column: it has the column. Returns 0 or a
 * negative errno. */
int perch__parent_set(struct perch_profile *profile, const struct perch_profile_options *options,
		      bool with_column, struct perch_error *err);
/* Leaves out the callees of the outermost function of a chain that matches. exact: the chain has no
 * return addresses. Returns 0 or -ENOMEM. */
int perch__ignore_callees(struct perch_addresses *addresses, struct matcher *matcher,
			  struct perch_thread *thread, struct chain *chain, bool exact);

/* context.c: finds the context of a sample. Returns 0 or a negative errno. */
int perch__context_of(const struct sample *sample, struct context_id *context);
/* The event of a context. */
static inline unsigned perch__context_event(const struct perch_profile *profile,
					    struct context_id context)
{
	return perch__tuples_at(&profile->contexts, context.nr)[0];
}

/* ---- frames.c: the frames of addresses ---- */

/* The inlined functions at an address: their frame numbers, innermost first. */
struct inlined {
	uint32_t first, nr; /* in frame_lists.inlined_frame */
	bool looked_up;
};

struct frame_lists {
	struct frame_id *frame; /* by address number */
	struct brief {
		char cpumode_char;
		bool has_debug_info; /* its DSO has some */
		bool is_alone;	     /* no other address has its frame */
		/* as a return address it has the same frame without lines, or another one */
		enum __attribute__((packed)) { CALLER_UNKNOWN, CALLER_SAME, CALLER_OTHER } caller;
	} * brief; /* by address number, after perch__frames_describe(): small, so it stays in the
		    * CPU's cache */
	struct canonical {
		const struct perch_dso **of; /* by DSO index */
		bool *shared;		     /* by DSO index: canonical for other DSOs too */
	} canonical;
	struct inlined *inlined[2]; /* by address number: of the address, of a call before it */
	struct frame_id *inlined_frame;
	size_t nr_inlined_frames, capacity;
};
/* Looks up the frame of each address. Returns 0 or -ENOMEM; the caller clears lists in both cases.
 */
int perch__frames_of_addresses(struct perch_profile *profile, struct frame_lists *lists);
/* Returns the frame of the call before a return address, after perch__frames_describe(). NO_NUMBER
 * if out of memory. */
struct frame_id perch__frames_of_caller(struct perch_profile *profile, struct frame_lists *lists,
					struct address_id number);
/* Sets the brief descriptions of all addresses. Returns 0 or -ENOMEM. */
int perch__frames_describe(struct perch_profile *profile, struct frame_lists *lists);
/*
 * Looks up the inlined functions at an address, whose DSO has debug information. is_caller: it is a
 * return address, so that the functions around the call are meant. Returns NULL if out of memory.
 */
const struct inlined *perch__frames_inlined(struct perch_profile *profile,
					    struct frame_lists *lists, struct address_id number,
					    bool is_caller);
void perch__frames_clear(struct frame_lists *lists);

/* ---- contexts.c ---- */

/* True if contexts have addresses: they may become equal by perch__contexts_fold(). */
bool perch__contexts_have_addresses(const struct perch_profile *profile);
/* Replaces addresses in contexts by frames. Returns 0 or -ENOMEM. */
int perch__contexts_fold(struct perch_profile *profile, const struct frame_lists *lists);

/* ---- branches.c ---- */

/* Returns the number of branches that are added for a sample. */
uint64_t perch__branches_of(const struct perch_record *record);
/* Adds the branches of a sample. Returns 0, or a negative errno, of a column. */
int perch__branches_add(struct perch_profile *profile, struct sample *sample);

/* ---- flat.c ---- */

/* Makes space for the counts of the first addresses, and for more samples. Returns 0 or -ENOMEM. */
int perch__flat_reserve(struct flat *flat, size_t nr_addresses, size_t more);
/* Counts the samples of a batch. There must be space. */
void perch__flat_add_batch(struct flat *flat, const struct batch *batch);
/* Counts a sample at an address. Returns 0 or -ENOMEM. */
int perch__flat_add(struct perch_profile *profile, struct address_id address,
		    struct context_id context, uint64_t period);
/* Adds the counts with samples to empty ones, with new numbers of addresses and contexts. Returns 0
 * or -ENOMEM. */
int perch__flat_copy(struct flat *to, const struct flat *from, const struct address_id *address,
		     const struct context_id *context);
/* Makes a tree of roots from the counts. Returns 0 or -ENOMEM. */
int perch__flat_fold(struct perch_profile *profile, const struct frame_lists *lists);
void perch__flat_clear(struct flat *flat);
void perch__flat_free(struct flat **flat);
int perch__flat_detach(struct flat **flat);

/* ---- latency.c ---- */

/* Before the tree of frames is made. Returns 0 or -ENOMEM. */
int perch__latency_start(struct perch_profile *profile);
/* The context of a node, for that of the samples in it. */
static inline struct context_id perch__latency_context(const struct perch_profile *profile,
						       struct context_id context)
{
	return profile->latency.word ? profile->latency.context[context.nr] : context;
}
/* Adds samples to a node of the tree, with their latency. context: theirs. Returns 0 or -ENOMEM. */
int perch__count_samples(struct perch_profile *profile, struct node_id node,
			 struct context_id context, uint64_t period, uint64_t samples);
/* After the tree is complete: contexts are those of its nodes. */
void perch__latency_finish(struct perch_profile *profile);
/* After perch__rows_fill(): makes the latencies of rows. Returns 0 or -ENOMEM. */
int perch__latency_of_rows(struct perch_profile *profile);
/* Counts a sample that is left out, and returns the sum of all. */
void perch__latency_skip(struct perch_profile *profile, unsigned event, uint64_t period);
uint64_t perch__latency_skipped(const struct perch_profile *profile, unsigned event);
void perch__latency_clear(struct perch_profile *profile);

/* ---- sort_numbers.c ---- */

struct sort_item {
	uint64_t number;
	uint32_t at; /* position of the row among those of the event */
};
/* Sorts items by their numbers; equal ones stay in order. scratch: space for as many items. */
void perch__sort_by_numbers(struct sort_item *items, size_t nr, struct sort_item *scratch);

/* ---- rows.c ---- */

/* Finds the row of each node of the forest, and adds up self and children of rows. */
int perch__rows_fill(struct perch_profile *profile);

#endif
