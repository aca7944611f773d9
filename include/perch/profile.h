/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Profiles: samples become rows and call graphs.
 *
 * Samples are first added up by stack of addresses. perch_profile_finish() then looks up the symbol
 * of each distinct address once, and folds the stacks into one tree of functions. Rows and call
 * graphs are made from this tree.
 *
 * In all functions err may be NULL. Functions without err cannot fail, or their comment lists what
 * they return.
 *
 * Threads: one thread per object at a time, together with its processes and symbols.
 *
 * Fork: a child has copies of the objects, and can use and free them. Nothing that it does changes
 * the objects of the parent.
 *
 * Signals: no function is async-signal-safe. They allocate memory.
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

/** Most addresses of a call chain. The outer addresses of longer chains are left out. */
#define PERCH_MAX_CALL_CHAIN 256

/** A distinct address of samples and call chains. All processes that map the same file offset share
 * one. */
struct perch_address {
	const struct perch_dso *dso;	   /**< the DSO */
	uint64_t offset;		   /**< offset in the DSO, see struct perch_location */
	const struct perch_symbol *symbol; /**< the function; NULL if none covers the address */
	/** 'k' kernel, '.' user, 'H' hypervisor, 'g' guest kernel, 'u' guest user */
	char cpumode_char;
	bool looked_up; /**< symbol is valid */
};

/** The distinct addresses of a recording, numbered from 0 in the order of their first use. Results
 * for an address can be stored in an array by this number. */
struct perch_addresses;

/**
 * Creates an object without addresses.
 *
 * @param[out] addresses  the new object
 * @param processes       must outlive the object
 * @param symbols         must outlive the object
 * @param[out] err        the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_addresses_new(struct perch_addresses **addresses,
				  struct perch_processes *processes, struct perch_symbols *symbols,
				  struct perch_error *err);

/** Frees the addresses. NULL is allowed. */
PERCH_API void perch_addresses_free(struct perch_addresses *addresses);

/** Returns the number of addresses. */
PERCH_API size_t perch_addresses_count(const struct perch_addresses *addresses);

/**
 * Returns an address. The first call for an address looks up its symbol.
 *
 * @param addresses  the addresses
 * @param number     number of the address, below perch_addresses_count()
 * @return the address; valid until the next call chain is added
 */
PERCH_API const struct perch_address *perch_addresses_at(struct perch_addresses *addresses,
							 uint32_t number);

/**
 * Adds the call chain of a sample, and returns the numbers of its addresses.
 *
 * The numbers are in the order of the chain, innermost first, without context markers. Chains have
 * at most PERCH_MAX_CALL_CHAIN addresses.
 *
 * @param addresses     the addresses
 * @param thread        the thread of the sample
 * @param record        the sample
 * @param[out] numbers  the numbers
 * @param max           capacity of numbers
 * @return how many numbers were stored; or -ENOMEM, the only error, so it needs no err
 */
PERCH_API int perch_addresses_call_chain(struct perch_addresses *addresses,
					 struct perch_thread *thread,
					 const struct perch_record *record, uint32_t *numbers,
					 size_t max);

/**
 * Adds the sampled address of a record alone, and returns its number and DSO. It does not look up
 * the symbol.
 *
 * @param addresses    the addresses
 * @param thread       the thread of the sample
 * @param record       the sample
 * @param[out] number  the number: that of the first address of perch_addresses_call_chain()
 * @param[out] dso     the DSO
 * @return 0; or -ENOMEM, the only error, so it needs no err
 */
PERCH_API int perch_addresses_sampled(struct perch_addresses *addresses,
				      struct perch_thread *thread,
				      const struct perch_record *record, uint32_t *number,
				      const struct perch_dso **dso);

/** Sort keys: samples with equal keys are in one row. */
enum perch_key {
	PERCH_KEY_COMM = 1 << 0,   /**< name of the thread */
	PERCH_KEY_DSO = 1 << 1,	   /**< DSO */
	PERCH_KEY_SYMBOL = 1 << 2, /**< function, or address without a function */
	PERCH_KEY_PID = 1 << 3,	   /**< process id */
	PERCH_KEY_TID = 1 << 4,	   /**< thread id */
	PERCH_KEY_CPU = 1 << 5,	   /**< CPU */
	/** Not a sort key: inlined functions are frames of call chains, if the file has debug
	 * information. */
	PERCH_KEY_INLINED = 1 << 16,
};

/** A function, or an address without a function. */
struct perch_frame {
	const struct perch_dso *dso;	   /**< the DSO */
	const struct perch_symbol *symbol; /**< the function; NULL if none covers the address */
	uint64_t offset;		   /**< without a function: offset in the DSO */
	/** 'k' kernel, '.' user, 'H' hypervisor, 'g' guest kernel, 'u' guest user */
	char cpumode_char;
	uint64_t reserved[2]; /**< for members of later versions */
};

/** The CPU of samples without one: the event was recorded without PERCH_SAMPLE_CPU. */
#define PERCH_NO_CPU UINT32_MAX

/** A row of a report. Members of keys that were not selected are 0 or NULL. */
struct perch_row {
	const char *comm;	  /**< not trusted; also set with the keys PID and TID */
	uint32_t pid;		  /**< process id; also set with the key TID */
	uint32_t tid;		  /**< thread id */
	uint32_t cpu;		  /**< CPU, or PERCH_NO_CPU */
	struct perch_frame frame; /**< the function, or a function of the same DSO */
	uint64_t self;		  /**< period of the samples in this function */
	uint64_t children;	  /**< self, plus the period of samples in called functions */
	uint64_t samples;	  /**< number of samples in this function */
	uint32_t height;	  /**< frames of the deepest stack from this function on inwards */
	uint32_t index;		  /**< for perch_profile_call_graph() */
	uint64_t reserved[4];	  /**< for members of later versions */
};

/** A profile. */
struct perch_profile;

/**
 * Creates a profile without samples.
 *
 * @param[out] profile  the new profile
 * @param processes     must outlive the profile
 * @param symbols       must outlive the profile
 * @param keys          PERCH_KEY_* of the rows
 * @param[out] err      the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_profile_new(struct perch_profile **profile, struct perch_processes *processes,
				struct perch_symbols *symbols, unsigned keys,
				struct perch_error *err);

/** Frees a profile. NULL is allowed. */
PERCH_API void perch_profile_free(struct perch_profile *profile);

/**
 * Adds a SAMPLE record. Ignores other records.
 *
 * @param profile   the profile
 * @param record    the record; earlier records must have been applied to the processes
 * @param[out] err  the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_profile_add(struct perch_profile *profile, const struct perch_record *record,
				struct perch_error *err);

/**
 * Looks up the symbols of all addresses, and folds the stacks.
 *
 * Only the functions below can be used afterwards.
 *
 * @param profile   the profile
 * @param[out] err  the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_profile_finish(struct perch_profile *profile, struct perch_error *err);

/** The sums of an event. */
struct perch_profile_total {
	uint64_t samples;     /**< number of samples */
	uint64_t period;      /**< sum of their periods */
	uint64_t reserved[2]; /**< for members of later versions */
};

/**
 * Returns the sums of an event.
 *
 * @param profile     the profile
 * @param event       index of the event (the record's .event)
 * @param[out] total  the sums; 0 for an event without samples
 */
PERCH_API void perch_profile_get_total(const struct perch_profile *profile, unsigned event,
				       struct perch_profile_total *total);

/**
 * Returns the rows of an event, the largest first.
 *
 * @param profile      the profile
 * @param event        index of the event
 * @param by_children  sorts by children; otherwise by self, without rows that have no samples
 * @param[out] rows    the rows; valid until the next call for the same event
 * @param[out] nr      number of rows
 * @param[out] err     the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_profile_rows(struct perch_profile *profile, unsigned event, bool by_children,
				 const struct perch_row **rows, size_t *nr,
				 struct perch_error *err);

/** The direction of a call graph. */
enum perch_call_graph_order {
	PERCH_CALL_GRAPH_CALLER, /**< from the outermost caller: a child is a called function */
	PERCH_CALL_GRAPH_CALLEE, /**< from the sampled function: a child is a caller */
};

/** A node of a call graph. The children of a node are sorted, the largest first. */
struct perch_call_graph_node {
	struct perch_frame frame; /**< the function */
	uint64_t period;	  /**< period of the samples of this branch */
	uint64_t self;		  /**< period of the samples whose call chain ends here */
	uint32_t first_child;	  /**< node number; 0 if none */
	uint32_t next;		  /**< node number of the next sibling; 0 if none */
	uint64_t reserved[2];	  /**< for members of later versions */
};

/**
 * A call graph, as a tree. Node 0 is the root, which has no frame. Small branches may be left out,
 * so a node's period may be more than the sum of its children and self.
 */
struct perch_call_graph {
	struct perch_call_graph_node *node; /**< the nodes */
	size_t nr;			    /**< number of nodes */
	uint64_t reserved[2];		    /**< for members of later versions */
};

/**
 * Makes the call graph of a row.
 *
 * @param profile     the profile
 * @param row         a row of perch_profile_rows()
 * @param order       direction of the graph
 * @param inner       includes the stacks in which the row's function called the sampled one
 * @param least       branches with a lower period are left out
 * @param[out] graph  the call graph, for perch_call_graph_clear()
 * @param[out] err    the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_profile_call_graph(struct perch_profile *profile, const struct perch_row *row,
				       enum perch_call_graph_order order, bool inner,
				       uint64_t least, struct perch_call_graph *graph,
				       struct perch_error *err);

/** Frees the nodes. */
PERCH_API void perch_call_graph_clear(struct perch_call_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
