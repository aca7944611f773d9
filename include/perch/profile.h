/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Profiles: samples become rows and call graphs.
 *
 * Samples are first added up by stack of addresses. perch_profile_finish() then looks up the symbol
 * of each distinct address once, and folds the stacks into one tree of functions. Rows and call
 * graphs are made from this tree.
 *
 * The rows of a profile are its samples, grouped by any list of columns (perch/column.h).
 *
 * In all functions err may be NULL. Functions without err cannot fail, or their comment lists what
 * they return.
 *
 * Threads: one thread per object at a time, together with its processes and symbols.
 *
 * Fork: a child has copies of the objects, and can use and free them. Nothing that it does changes
 * the objects of the parent. A profile with .threads that is not finished can only be freed there,
 * and some of its memory stays allocated. So does some of a reader with .read_ahead, which can only
 * be closed there.
 *
 * Signals: no function is async-signal-safe. They allocate memory.
 */
#ifndef PERCH_PROFILE_H
#define PERCH_PROFILE_H

#include <stdbool.h>
#include <perch/column.h>
#include <perch/error.h>
#include <perch/file.h>
#include <perch/process.h>
#include <perch/record.h>
#include <perch/symbol.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most addresses of a call chain. The outer addresses of longer chains are left out. */
#define PERCH_MAX_CALL_CHAIN 1024

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
 * Sets the functions whose callees perch_addresses_outer_chain() leaves out. A call replaces the
 * expression of the one before.
 *
 * @param addresses   the addresses
 * @param expression  an extended regular expression, see regex(7)
 * @param[out] err    the reason of a failure
 * @return 0, or -EINVAL: the expression is not in its form, and no callees are left out
 */
PERCH_API int perch_addresses_ignore_callees(struct perch_addresses *addresses,
					     const char *expression, struct perch_error *err);

/**
 * Adds the call chain of a sample like perch_addresses_call_chain(), without the callees of the
 * outermost function whose name matches the expression of perch_addresses_ignore_callees(). The
 * first address is then that of its call. A chain without a match is whole.
 *
 * @param addresses     the addresses
 * @param thread        the thread of the sample
 * @param record        the sample
 * @param[out] numbers  the numbers
 * @param max           capacity of numbers
 * @return how many numbers were stored; or -ENOMEM, the only error, so it needs no err
 */
PERCH_API int perch_addresses_outer_chain(struct perch_addresses *addresses,
					  struct perch_thread *thread,
					  const struct perch_record *record, uint32_t *numbers,
					  size_t max);

/**
 * Adds the call chain of a sample like perch_addresses_call_chain(), but its addresses have no
 * numbers until perch_addresses_number_chains(). The lookups of many chains wait for memory at the
 * same time, so this is faster for large recordings. Every chain that waits takes memory.
 *
 * @param addresses       the addresses
 * @param thread          the thread of the sample
 * @param record          the sample
 * @param[out] positions  for each address of the chain, innermost first: the index of its number in
 *                        the array of perch_addresses_number_chains()
 * @param max             capacity of positions
 * @return how many positions were stored; or -ENOMEM, the only error, so it needs no err
 */
PERCH_API int perch_addresses_add_chain(struct perch_addresses *addresses,
					struct perch_thread *thread,
					const struct perch_record *record, uint32_t *positions,
					size_t max);

/**
 * Numbers the addresses of all chains that perch_addresses_add_chain() has added since the last
 * call.
 *
 * @param addresses     the addresses
 * @param[out] numbers  the numbers by position; valid until the next chain is added; NULL if no
 *                      chain waits
 * @return 0; or -ENOMEM, the only error, so it needs no err: the chains still wait
 */
PERCH_API int perch_addresses_number_chains(struct perch_addresses *addresses,
					    const uint32_t **numbers);

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

/** A function, or an address without a function. */
struct perch_frame {
	const struct perch_dso *dso;	   /**< the DSO */
	const struct perch_symbol *symbol; /**< the function; NULL if none covers the address */
	uint64_t offset;		   /**< without a function: offset in the DSO */
	/** 'k' kernel, '.' user, 'H' hypervisor, 'g' guest kernel, 'u' guest user */
	char cpumode_char;
	uint8_t reserved[3]; /**< for members of later versions */
	uint32_t number;     /**< private: where the profile has its source line */
};

/** The CPU of samples without one: the event was recorded without PERCH_SAMPLE_CPU. It is the value
 * of the column "cpu". */
#define PERCH_NO_CPU UINT32_MAX

/** The latency of a row: the sum of its periods, each divided by the number of threads that ran
 * (perch_processes_parallelism()), in a unit that is the same for the profile. */
struct perch_row_latency {
	uint64_t self;	      /**< that of the samples in this function */
	uint64_t children;    /**< self, plus that of samples in called functions */
	uint64_t reserved[2]; /**< for members of later versions */
};

/**
 * A row of a report: the samples with equal values in all columns. perch_profile_value() returns
 * the values, perch_profile_cell() their texts.
 */
struct perch_row {
	/** The function; without a column of scope PERCH_COLUMN_FRAME all 0. Without the column
	 * "sym" it is one of the functions of the row, or in a flat profile the DSO alone. */
	struct perch_frame frame;
	uint64_t self;	       /**< period of the samples in this function */
	uint64_t children;     /**< self, plus the period of samples in called functions */
	uint64_t samples;      /**< number of samples in this function */
	uint64_t system;       /**< the part of self in the kernel */
	uint64_t user;	       /**< the part of self in user space */
	uint64_t guest_system; /**< the part of self in the kernel of a guest */
	uint64_t guest_user;   /**< the part of self in user space of a guest */
	uint32_t height;       /**< frames of the deepest stack from this function on inwards */
	uint32_t index;	       /**< number of the row in the profile */
	uint32_t event;	       /**< index of the event */
	uint32_t numbers[2];   /**< private: where the profile has its values */
	uint32_t reserved[1];  /**< for members of later versions */
	/** With options.latencies or the column "parallelism"; otherwise NULL. */
	const struct perch_row_latency *latency;
};

/** What the branches of call graphs are merged by. */
enum perch_call_graph_key {
	PERCH_CALL_GRAPH_FUNCTION, /**< function */
	PERCH_CALL_GRAPH_LINE,	   /**< function and source line */
	PERCH_CALL_GRAPH_ADDRESS,  /**< address */
};

/** How samples become rows. All members may be 0: all samples of an event are then one row. */
struct perch_profile_options {
	/** Names of columns, separated by commas, as "comm,dso,sym"; see perch_columns(). NULL:
	 * none. */
	const char *names;
	/** More columns, for example a program's own. They must live as long as the profile. */
	const struct perch_column *const *columns;
	size_t nr_columns; /**< number of columns */
	/** Quantum of the column "time", in ns; 0 is 100 ms. */
	uint64_t time_quantum;
	/** The file of the samples: the column "socket" needs its features, and "offcpu_state" and
	 * "waker" the names of its events. It must outlive the adding of samples. NULL: none. */
	struct perch_reader *reader;
	/** Most addresses of a call chain, the sampled one included; the outer ones are left out. 0
	 * is PERCH_MAX_CALL_CHAIN. */
	unsigned max_stack;
	/** For the column "parent": an extended regular expression, see regex(7). The parent of a
	 * sample is the innermost function of its call chain whose name contains a match. NULL:
	 * system calls and page faults of older kernels, as perf(1). */
	const char *parent;
	/** An extended regular expression: samples count for the outermost function of their call
	 * chain whose name contains a match, as if it had called no other one. NULL: none. */
	const char *ignore_callees;
	/** Inlined functions are frames of call chains, if the file has debug information. */
	unsigned inlined : 1;
	/** Ignores call chains, which is faster: samples count for the sampled function alone.
	 * Rows have no other children, and call graphs have one function. Inlined functions count
	 * for the function that contains them. */
	unsigned flat : 1;
	/** The parent is the outermost function that matches, not the innermost one. */
	unsigned outermost_parent : 1;
	/** Adds the branches of each sample's branch stack, each with a period of 1, in place of
	 * the sample: the sampled function is the target of the branch. Columns of branches need
	 * it. Call chains are ignored, and so are call stacks in branch records. */
	unsigned branches : 1;
	/** With .branches: only branches from a function with a name to one with a name. */
	unsigned resolved_branches : 1;
	/** Call graphs have numbers of samples, too. */
	unsigned graph_samples : 1;
	/** Columns and call graphs have the paths of source files, not only their names. */
	unsigned full_paths : 1;
	/** The column "time" has nanoseconds. Otherwise it has them only if the quantum is not a
	 * number of microseconds. */
	unsigned nanoseconds : 1;
	/** Call chains have no return addresses: each address is that of an instruction that ran,
	 * as with perch_session_options.branch_history. Otherwise callers have the line and the
	 * inlined functions of the call before their address. */
	unsigned exact_chains : 1;
	/** The library may count samples in threads of its own (.max_threads), while the program
	 * reads the next ones. The rows are the same. Threads start after at most 1024 samples,
	 * have all signals blocked but SIGBUS (of a file that becomes shorter), and end with
	 * perch_profile_finish() or perch_profile_free(). Profiles with .branches, .ignore_callees
	 * or the column "parent" have none. Another thread may decompress debug information that is
	 * needed, see perch_symbols_start_debug_info(). */
	unsigned threads : 1;
	/** Rows have latencies, for the columns "latency" and "latency_children". Like the column
	 * "parallelism" this needs perch_processes_count_running(). Samples at whose time
	 * perch_processes_parallelism() is 0 have no latency. */
	unsigned latencies : 1;
	/** With .threads and .reader: threads that have nothing to count read the records that
	 * follow, and bring them into the order of time, before perch_reader_next() or
	 * perch_session_next() needs them. What these deliver is the same. Only for a reader or
	 * session that delivers all samples of the profile: until perch_profile_finish() or
	 * perch_profile_free() it must not be closed, and from then on a child of fork(2) can only
	 * close its copy. Without effect with PERCH_ORDER_FILE. */
	unsigned read_ahead : 1;
	/** What the branches of call graphs are merged by. Others than functions have source lines.
	 */
	enum perch_call_graph_key graph_key;
	/** With .threads: the most threads that count samples, up to 64; 0 is 1. Each has the call
	 * chains that it has counted, until they are merged: after the last sample, or for a
	 * snapshot. Rows are the same for any number. Profiles with .flat have at most one. */
	uint64_t max_threads;
	uint64_t reserved[10]; /**< must be 0 */
};

/** A profile. */
struct perch_profile;

/**
 * Creates a profile without samples.
 *
 * @param[out] profile  the new profile; NULL after a failure
 * @param processes     must outlive the profile
 * @param symbols       must outlive the profile
 * @param options       NULL is all 0
 * @param[out] err      the reason of a failure; for an unknown name with the nearest one
 * @return 0, or a negative errno
 * @retval -EINVAL  there is no such column, a column of a program lacks value(), a column of
 *                  branches is without .branches, or .parent or .ignore_callees is not in its form
 * @retval -E2BIG   more than 64 columns
 * @retval -ENOMEM  out of memory
 */
PERCH_API int perch_profile_new(struct perch_profile **profile, struct perch_processes *processes,
				struct perch_symbols *symbols,
				const struct perch_profile_options *options,
				struct perch_error *err);

/** Frees a profile. NULL is allowed. */
PERCH_API void perch_profile_free(struct perch_profile *profile);

/**
 * Adds a SAMPLE record. Ignores other records.
 *
 * @param profile   the profile
 * @param record    the record; earlier records must have been applied to the processes
 * @param[out] err  the reason of a failure
 * @return 0, -ENOMEM, or what the value() of a program's column returns
 */
PERCH_API int perch_profile_add(struct perch_profile *profile, const struct perch_record *record,
				struct perch_error *err);

/**
 * Declares that callers in user space have the addresses of their calls in call chains of an event,
 * and not return addresses, see perch_session_has_calls(). Otherwise callers have the line and the
 * inlined functions of the byte before their address.
 *
 * @param profile   the profile, without samples of the event
 * @param event     index of the event
 * @param[out] err  the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_profile_set_calls(struct perch_profile *profile, unsigned event,
				      struct perch_error *err);

/**
 * Adds a SAMPLE record whose call chain lacks its outer callers. A frame with the name
 * "[stack truncated]" stands for them. Otherwise like perch_profile_add().
 *
 * @param profile   the profile
 * @param record    the record, for which perch_session_is_truncated() returns true
 * @param[out] err  the reason of a failure
 * @return 0, -ENOMEM, or what the value() of a program's column returns
 */
PERCH_API int perch_profile_add_truncated(struct perch_profile *profile,
					  const struct perch_record *record,
					  struct perch_error *err);

/**
 * Counts a sample that a filter left out: only in the totals of all samples.
 *
 * @param profile   the profile
 * @param record    the record; other than SAMPLE records are ignored
 * @param[out] err  the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_profile_skip(struct perch_profile *profile, const struct perch_record *record,
				 struct perch_error *err);

/**
 * Returns the columns of a profile: those of options.names, then those of options.columns, each
 * once.
 *
 * @param profile  the profile
 * @param[out] nr  their number
 * @return the columns; valid as long as the profile
 */
PERCH_API const struct perch_column *const *perch_profile_columns(
	const struct perch_profile *profile, size_t *nr);

/**
 * Is called again and again while a profile is finished.
 *
 * @param context  that of perch_profile_set_progress()
 * @param done     the part of the work that is done, from 0 to 1
 * @return true to go on; false to end the call that is in progress
 */
typedef bool perch_profile_progress(void *context, double done);

/**
 * Sets a function that perch_profile_finish() and perch_profile_snapshot() call while they work. It
 * can end them: they then return -ECANCELED. A profile whose perch_profile_finish() was ended can
 * only be freed. After perch_profile_snapshot() was ended, it goes on as before the call.
 *
 * @param profile   the profile, not finished
 * @param progress  the function; NULL for none
 * @param context   passed to it
 */
PERCH_API void perch_profile_set_progress(struct perch_profile *profile,
					  perch_profile_progress *progress, void *context);

/**
 * Looks up the symbols of all addresses, and folds the stacks.
 *
 * Only the functions below can be used afterwards.
 *
 * @param profile   the profile
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOMEM     out of memory
 * @retval -ECANCELED  the function of perch_profile_set_progress() ended the call
 */
PERCH_API int perch_profile_finish(struct perch_profile *profile, struct perch_error *err);

/**
 * Makes a finished profile of the samples that were added so far. The profile goes on: samples can
 * be added to it, and later snapshots made. For reports of a running measurement.
 *
 * The time is proportional to the number of distinct call chains. Symbols are looked up once for
 * all snapshots.
 *
 * @param profile        the profile, not finished
 * @param[out] snapshot  the new profile, as after perch_profile_finish(); the caller frees it
 *                       before the profile, its processes and its symbols. NULL after a failure
 * @param[out] err       the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOMEM     out of memory
 * @retval -EINVAL     the profile is finished
 * @retval -ECANCELED  the function of perch_profile_set_progress() ended the call
 */
PERCH_API int perch_profile_snapshot(struct perch_profile *profile, struct perch_profile **snapshot,
				     struct perch_error *err);

/**
 * Multiplies the sums of all samples so far by a factor, so that they count less than later
 * samples. Call chains of which less than 1/256 of a sample is left are removed, with the addresses
 * that no other one has: memory is then proportional to the samples of the last decays. With 7/8 a
 * sample is gone after 30 decays. Totals are the sums of what is left.
 *
 * @param profile      the profile, not finished
 * @param numerator    of the factor, at most the denominator; 0 removes all samples
 * @param denominator  of the factor, not 0
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOMEM  out of memory: sums are multiplied, and nothing is removed
 * @retval -EINVAL  the profile is finished, or the factor is not from 0 to 1
 */
PERCH_API int perch_profile_decay(struct perch_profile *profile, uint32_t numerator,
				  uint32_t denominator, struct perch_error *err);

/** The sums of an event. */
struct perch_profile_total {
	uint64_t samples;     /**< number of samples */
	uint64_t period;      /**< sum of their periods */
	uint64_t all_samples; /**< samples, and those of perch_profile_skip() */
	uint64_t all_period;  /**< sum of their periods */
	/** After perch_profile_finish(), with latencies: the sum of perch_row_latency.self. */
	uint64_t latency;
	uint64_t all_latency; /**< the same with the samples of perch_profile_skip() */
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

/** Which rows are returned, and in which order. All members may be 0. */
struct perch_rows_options {
	/** Columns of the profile, or any of scope PERCH_COLUMN_PERIOD, the most significant one
	 * first. Sums are sorted from the largest on, others as perch_profile_compare() does. 0:
	 * the largest self first, or with .children the largest children first. Rows that are equal
	 * in these columns are sorted by all columns of the profile. */
	const struct perch_column *const *by;
	size_t nr_by; /**< number of columns */
	/** Also functions that have no samples themselves, but have called others with samples. */
	unsigned children : 1;
	/** Leaves out functions without a name that have no samples themselves. Needs the column
	 * "sym". */
	unsigned named_callers : 1;
	uint64_t reserved[8]; /**< must be 0 */
};

/**
 * Returns the rows of an event.
 *
 * @param profile    the profile
 * @param event      index of the event
 * @param options    NULL is all 0
 * @param[out] rows  the rows; valid until the next call for the same event
 * @param[out] nr    number of rows
 * @param[out] err   the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOMEM  out of memory
 * @retval -EINVAL  a column of options.by is not one of the profile
 */
PERCH_API int perch_profile_rows(struct perch_profile *profile, unsigned event,
				 const struct perch_rows_options *options,
				 const struct perch_row **rows, size_t *nr,
				 struct perch_error *err);

/**
 * Returns the value of a row in a column: a number, a sum, or a number that stands for a text.
 *
 * @param profile  the profile
 * @param row      a row of it
 * @param column   a column of the profile, or any of scope PERCH_COLUMN_PERIOD
 * @return the value; 0 for other columns
 */
PERCH_API uint64_t perch_profile_value(struct perch_profile *profile, const struct perch_row *row,
				       const struct perch_column *column);

/**
 * Compares two rows by a column, for a list from small to large, or from A to Z.
 *
 * @param profile  the profile
 * @param a        a row of it
 * @param b        another one
 * @param column   a column of the profile, or any of scope PERCH_COLUMN_PERIOD
 * @return less than 0 if a comes first, 0 if they are equal, else more than 0
 */
PERCH_API int perch_profile_compare(struct perch_profile *profile, const struct perch_row *a,
				    const struct perch_row *b, const struct perch_column *column);

/** Bytes that are enough for any cell. Longer names are cut. */
#define PERCH_CELL_BYTES 4096

/**
 * Returns the text of a row in a column, as perf prints it, without padding.
 *
 * @param profile      the profile
 * @param row          a row of it
 * @param column       a column of the profile, or any of scope PERCH_COLUMN_PERIOD
 * @param[out] buffer  memory for texts that are not stored elsewhere
 * @param size         bytes of buffer, at least 1; PERCH_CELL_BYTES are always enough
 * @return the text, cleaned, never NULL; valid as long as the profile and buffer
 */
PERCH_API const char *perch_profile_cell(struct perch_profile *profile, const struct perch_row *row,
					 const struct perch_column *column, char *buffer,
					 size_t size);

/**
 * Returns the text of a function as a cell of the column "sym" has it, without its first
 * characters for the mode: the name, or the address. Inlined functions are marked as in perf.
 *
 * @param profile      the profile
 * @param frame        a frame of a row or of a call graph
 * @param[out] buffer  memory for texts that are not stored elsewhere
 * @param size         bytes of buffer, at least 1; PERCH_CELL_BYTES are always enough
 * @return the text, cleaned, never NULL; valid as long as the profile and buffer
 */
PERCH_API const char *perch_profile_frame_name(struct perch_profile *profile,
					       const struct perch_frame *frame, char *buffer,
					       size_t size);

/**
 * Returns the source line of a frame: "file.c:12". Without a line it is empty, or if the call graph
 * has addresses "+12" as in perf, the offset in the function.
 *
 * @param profile      the profile
 * @param frame        a frame of a call graph
 * @param[out] buffer  memory for the text
 * @param size         bytes of buffer, at least 1; PERCH_CELL_BYTES are always enough
 * @return the text, cleaned, never NULL; empty without a function, and in a profile whose
 *         options.graph_key is PERCH_CALL_GRAPH_FUNCTION and that has no column of lines; valid as
 *         long as buffer
 */
PERCH_API const char *perch_profile_frame_line(struct perch_profile *profile,
					       const struct perch_frame *frame, char *buffer,
					       size_t size);

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
	uint64_t samples;	  /**< with options.graph_samples, samples of this branch */
	uint64_t self_samples;	  /**< then the samples whose call chain ends here */
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
