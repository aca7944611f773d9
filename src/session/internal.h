/* SPDX-License-Identifier: MIT */
/*
 * A recording opened by one call, with reader, processes, symbols, build ids and deferred call
 * chains. Each record is applied to the processes before it is delivered; event, thread and call
 * chain of a sample are found. What the recording lacks is counted: lost records, damage, stacks
 * that are not unwound to their end, call chains that are cut.
 *
 * Filters test cheap things first. Tests of names are made once for each name of a thread, DSO or
 * address, and their results are stored by its number.
 *
 * libtraceevent trusts the formats of the file, their print fmt and the samples: it reads outside
 * of samples, divides by zero and takes numbers for pointers. So each token of a print fmt is
 * checked first, and what is not known to be harmless is refused. libtraceevent sees a text made
 * of the fields as the record module has parsed them, and samples followed by zeros up to where an
 * accepted format may make it read. A file calls only files below its own:
 *
 *	fill_cache.c			adds files to the build id cache
 *	filter/switch.c			samples between those of two events
 *	filter/filter_missing.c		words of options that no sample has
 *	filter/filter.c			filters by thread, CPU, time and fields
 *	  filter/filter_addresses.c	  by address and call chain
 *	  filter/filter_time.c		  ranges of time
 *	  filter/filter_lists.c		  lists of names and numbers
 *	    filter/filter_split.c	    names of functions, which may have commas
 *	  filter/filter_values.c	  the values of the samples that were tested
 *	  filter/filter_expression.c	  expressions over fields of tracepoints
 *	  filter/filter_compute.c	  their values
 *	tracepoint/trace_columns.c	columns of profiles for tracepoints
 *	  tracepoint/trace_values.c	  their values
 *	session.c			records in order, and what they say
 *	session_open.c			makes and frees the objects
 *	tracepoint/tracepoint_text.c	samples of tracepoints, by libtraceevent
 *	  tracepoint/print_format.c	  checks a format
 *	  tracepoint/print_format_grammar.c  checks a print fmt
 *	  tracepoint/print_format_scan.c  its tokens
 *	off_cpu.c			off-CPU time: samples of perf, wakers
 *	user_chain.c			call chains that are made
 *	  branch_chain.c		  from call stacks in branch records (LBR)
 *	  branch_history.c		  with the branches before a sample
 *	reads.c				the last count of an event by its id
 */
#ifndef PERCH_SESSION_INTERNAL_H
#define PERCH_SESSION_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <perch/session.h>

/* ---- session.c ---- */

/* Returns the addresses of perch_session_address(). */
struct perch_addresses *perch__session_addresses(struct perch_session *session);

/* ---- branch_chain.c ---- */

/*
 * Makes the call chain of a sample whose branch stack is a call stack (branch_sample_type has
 * PERCH_SAMPLE_BRANCH_CALL_STACK). The words have the byte order of the recording. Returns their
 * number, at most `capacity`; 0 if the recorded call chain stays, because it has no user part.
 */
size_t perch__branch_chain(const struct perch_record *record, uint64_t *words, size_t capacity);

/* ---- branch_history.c ---- */

/* Words of a chain with branches: the mode may change before each address. */
#define BRANCH_HISTORY_WORDS (2 * PERCH_MAX_CALL_CHAIN)

/*
 * Makes the call chain of a sample with the branches of its branch stack. calls: the branch stack
 * is a call stack, from which the user part of the chain was made: only return addresses of the
 * kernel are changed. The words have the byte order of the recording. cut: the chain lacks its
 * outer addresses. Returns the number of words, at least 1.
 */
size_t perch__branch_history(const struct perch_record *record, bool calls, uint64_t *words,
			     bool *cut);

#endif
