/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Sessions: one call opens a recording with its processes, symbols, build ids and deferred call
 * chains. The records are then delivered in the order of time, and samples with their event, thread
 * and call chain.
 *
 * In all functions err may be NULL. Functions without err cannot fail, or their comment lists what
 * they return.
 *
 * Threads: one thread per session at a time, together with its reader, processes, symbols and
 * addresses. Different sessions are independent.
 *
 * Fork: a child has a copy of the session, and can use and close it. Nothing that it does changes
 * the session of the parent. If threads of a profile have read ahead
 * (perch_profile_options.read_ahead), the child can only close it: perch_session_next() is -ESTALE
 * there, after the records that were in order before.
 *
 * Signals: no function is async-signal-safe. They allocate memory and read files.
 */
#ifndef PERCH_SESSION_H
#define PERCH_SESSION_H

#include <perch/error.h>
#include <perch/file.h>
#include <perch/off_cpu.h>
#include <perch/process.h>
#include <perch/profile.h>
#include <perch/record.h>
#include <perch/symbol.h>
#include <perch/tracepoint.h>
#include <perch/unwind.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A recording that is being read. */
struct perch_session;

/** How a recording is read. All members may be 0. */
struct perch_session_options {
	/** Where symbols are read from. symbols.foreign is also set if the file names another
	 * machine, kernel release or architecture. */
	struct perch_symbols_options symbols;
	/** Delivers records in the order of the file, which needs no memory per record. Mappings
	 * and names of threads are then only right if the file is in the order of time. Deferred
	 * call chains are not merged. */
	unsigned file_order : 1;
	/** Records that cannot be decoded are delivered with -EBADMSG, as by
	 * perch_reader_keep_damaged(). */
	unsigned keep_damaged : 1;
	/** Refuses a file whose owner is neither the effective user nor root (-EPERM), as perf(1)
	 * does without -f. A pipe or a descriptor has no owner and is not refused. */
	unsigned check_owner : 1;
	/** Leaves copies of user stacks (`record --call-graph dwarf`) and call stacks in branch
	 * records (`--call-graph lbr`) as they are. Otherwise perch_session_next() adds the
	 * addresses that perch_unwind() finds to the call chain of the sample, after those of the
	 * kernel; file_order leaves copies of stacks as they are, too. A call stack in branch
	 * records takes the place of the user part of the call chain. */
	unsigned keep_stacks : 1;
	/** Leaves samples that have the counts of all events of a group (`record -e '{...}:S'`) as
	 * they are. Otherwise perch_session_next() delivers a sample for each event that has
	 * counted since the sample before, with its period, as perf(1) does; file_order leaves them
	 * as they are, too. */
	unsigned keep_reads : 1;
	/** Adds the branches of branch stacks (`record -b`) to the call chains of samples. After
	 * the sampled address follow the target and the source of each branch, newest first, then
	 * the callers whose calls are not among the branches. Iterations of loops that follow an
	 * equal one are left out. All chains of the recording then have the addresses of calls (the
	 * return address minus 1) in place of return addresses: perch_profile_options.exact_chains.
	 * Without effect if no event has branch stacks other than call stacks. Not with
	 * ignore_callees, which is for return addresses (-EINVAL). */
	unsigned branch_history : 1;
	/** Call chains of off-CPU time have that of the waker (`record --off-cpu=waker`) above the
	 * innermost function: a frame "[woken by NAME]", then the waker's functions from the
	 * innermost one to the outermost one, as in the graphs of bcc's offwaketime. Of an
	 * interrupt, which interrupts any thread, only those of the kernel. Without effect on other
	 * samples, and on the chains of records, which perch_profile_add() reads. */
	unsigned wakers : 1;
	/** Call chains of off-CPU time have a frame with the state of the thread, "[sleeping]" or
	 * "[preempted]", above the innermost function, and below the waker's. As .wakers. */
	unsigned off_cpu_states : 1;
	/** An extended regular expression, see regex(7). The call chains of perch_session_resolve()
	 * lack the callees of the outermost function whose name contains a match, see
	 * perch_addresses_outer_chain(). NULL: call chains are whole. Filters see whole chains. */
	const char *ignore_callees;
	uint64_t reserved[7]; /**< must be 0 */
};

/** What a recording has, and what it lost. The numbers are complete after the last record. */
struct perch_session_stats {
	uint64_t records; /**< records that were delivered */
	uint64_t samples; /**< of them, SAMPLE records */
	/** Records that the kernel could not write because a ring was full. */
	uint64_t lost;
	uint64_t throttled; /**< how often the kernel paused sampling because of its rate */
	/** AUX records of which the kernel dropped data (PERCH_AUX_FLAG_TRUNCATED). */
	uint64_t truncated_aux;
	/** Samples with a copy of the user stack and without a user call chain
	 * (`record --call-graph dwarf`) that was not unwound: options.keep_stacks, or registers of
	 * an architecture that is not supported. Their chains have only kernel functions and the
	 * sampled address. */
	uint64_t not_unwound;
	/** Call chains with more than PERCH_MAX_CALL_CHAIN addresses: the outer ones are left out.
	 */
	uint64_t cut_chains;
	struct perch_reader_damage damage; /**< errors in the file */
	/** Samples without the user part of their call chain, because the CALLCHAIN_DEFERRED record
	 * that has it is missing (`record --call-graph fp,defer`). Their chains have only kernel
	 * functions and the sampled address. 0 with file_order, which merges no call chains. */
	uint64_t incomplete_chains;
	/** Copies of user stacks that were unwound, but not up to the outermost function. See
	 * perch_session_unwinder(). */
	uint64_t incomplete_stacks;
	/** Samples of tracepoints of which perch_session_tracepoint_text() has printed the fields,
	 * because their print fmt cannot be used. */
	uint64_t plain_tracepoints;
	/** Counts in samples of groups (`record -e '{...}:S'`) with the id of no event of the file.
	 * They are left out. */
	uint64_t unknown_counts;
	/** Of incomplete_stacks: those whose copy the kernel ended before the size that was asked
	 * for, at a page that is not in memory or at the end of a signal handler's stack. A larger
	 * size does not help. */
	uint64_t ended_copies;
	uint64_t reserved[3]; /**< for members of later versions */
};

/** A sample with its event, thread and call chain. */
struct perch_session_sample {
	const struct perch_record *record;    /**< the SAMPLE record */
	const struct perch_file_event *event; /**< the event that was sampled */
	struct perch_thread *thread;	      /**< the thread, for perch_thread_comm() and others */
	/** The call chain: numbers for perch_session_address(), the sampled address first, then its
	 * callers. Valid until the next sample is resolved. */
	const uint32_t *chain;
	size_t nr; /**< length of the chain, 1 to PERCH_MAX_CALL_CHAIN */
	/** The copy of the user stack was too short: the chain lacks its outer callers
	 * (PERCH_UNWIND_TRUNCATED). */
	unsigned truncated : 1;
	uint64_t reserved[3]; /**< for members of later versions */
};

/**
 * Returns true if the call chain of a sample lacks its outer callers, because the copy of the user
 * stack was too short (PERCH_UNWIND_TRUNCATED).
 *
 * @param session  the session
 * @param record   the record of the last perch_session_next()
 */
PERCH_API bool perch_session_is_truncated(const struct perch_session *session,
					  const struct perch_record *record);

/**
 * Returns true if callers in user space have the addresses of their calls, and not return
 * addresses: in call chains of unwound copies of user stacks, and of call stacks in branch records.
 * A line and inlined functions are then those of the address, and not of the byte before it.
 *
 * @param session  the session
 * @param event    an event of its file
 */
PERCH_API bool perch_session_has_calls(const struct perch_session *session,
				       const struct perch_file_event *event);

/**
 * Opens a recording of any perf or perch.
 *
 * @param[out] session  the new session; NULL after a failure
 * @param path          a file, a directory or a FIFO; "-" is standard input. See
 *                      perch_reader_open().
 * @param options       NULL is all 0
 * @param[out] err      the reason of a failure: that of perch_reader_open(), or out of memory
 * @return 0, or a negative errno
 * @retval -EPERM   options.check_owner, and another user owns the file
 * @retval -EINVAL  options.ignore_callees is not in its form, or options exclude each other
 */
PERCH_API int perch_session_open(struct perch_session **session, const char *path,
				 const struct perch_session_options *options,
				 struct perch_error *err);

/**
 * Opens a recording by a descriptor: a file, a directory, a pipe or a socket.
 *
 * @param[out] session  the new session; NULL after a failure
 * @param fd            the descriptor, as for perch_reader_open_fd(). It stays open, and the
 * session does not use it after this call.
 * @param options       NULL is all 0
 * @param[out] err      the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_session_open_fd(struct perch_session **session, int fd,
				    const struct perch_session_options *options,
				    struct perch_error *err);

/** Closes a session and all objects that its functions returned. NULL is allowed. */
PERCH_API void perch_session_close(struct perch_session *session);

/**
 * Delivers the next record, after it was applied to the processes.
 *
 * @param session      the session
 * @param[out] record  the record; its pointers are valid until the next call
 * @param[out] err     the reason of a failure
 * @return 1, 0 at the end, or a negative errno
 * @retval -ENOMEM   out of memory
 * @retval -EBADMSG  options.keep_damaged, and the record cannot be decoded; the next call continues
 *                   after it. See perch_reader_keep_damaged().
 */
PERCH_API int perch_session_next(struct perch_session *session, struct perch_record *record,
				 struct perch_error *err);

/**
 * Passes a record to the session that is not in its file: for a program that reads a sampler. The
 * file has the same events as the sampler, in the same order, and need not have records.
 *
 * perch_session_next() delivers the record, and then returns 0, as it does from the first call of
 * this function on without a record: the file is not read any more. Unlike records of a file, these
 * are delivered in the order in which they are passed, and call chains that are deferred
 * (`record --call-graph fp,defer`) are not merged.
 *
 * @param session  the session
 * @param record   the record, with the index of its event as in the file, and in this machine's
 *                 byte order; valid until perch_session_next() returns 0. NULL is none
 */
PERCH_API void perch_session_put(struct perch_session *session, const struct perch_record *record);

/**
 * Finds event, thread and call chain of a SAMPLE record. It must be the last record that
 * perch_session_next() delivered.
 *
 * @param session      the session
 * @param record       the record
 * @param[out] sample  the sample
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOMEM  out of memory
 * @retval -EINVAL  not a SAMPLE record
 */
PERCH_API int perch_session_resolve(struct perch_session *session,
				    const struct perch_record *record,
				    struct perch_session_sample *sample, struct perch_error *err);

/**
 * Decodes the off-CPU time of a sample, of perch or of perf since 6.16. Of the latter, whose fields
 * have nothing of it, perch_session_next() has set thread, period and call chain.
 *
 * @param session       the session
 * @param record        the last record that perch_session_next() delivered
 * @param[out] off_cpu  the interval
 * @return false if it is no such sample, or has another byte order than this machine
 */
PERCH_API bool perch_session_off_cpu(const struct perch_session *session,
				     const struct perch_record *record,
				     struct perch_off_cpu *off_cpu);

/**
 * Finds the waker of a thread that was off the CPU, like perch_session_resolve() finds the thread.
 *
 * @param session      the session
 * @param record       the last record that perch_session_next() delivered
 * @param[out] sample  thread and call chain of the waker; the chain that was resolved before is
 *                     invalid
 * @param[out] err     the reason of a failure
 * @return 1; 0 if the sample has no waker; or -ENOMEM
 */
PERCH_API int perch_session_resolve_waker(struct perch_session *session,
					  const struct perch_record *record,
					  struct perch_session_sample *sample,
					  struct perch_error *err);

/**
 * Finds event and thread of a SAMPLE record like perch_session_resolve(), but the addresses of its
 * call chain have no numbers until perch_session_number_chains(). For many samples this is faster.
 * Until then, sample->chain has the index of each number in the array of that function. Like
 * sample->chain of perch_session_resolve(), it is valid until the next sample is resolved.
 *
 * @param session      the session
 * @param record       the last record that perch_session_next() delivered
 * @param[out] sample  the sample
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOMEM  out of memory
 * @retval -EINVAL  not a SAMPLE record
 */
PERCH_API int perch_session_add_chain(struct perch_session *session,
				      const struct perch_record *record,
				      struct perch_session_sample *sample, struct perch_error *err);

/**
 * Numbers the addresses of all call chains that perch_session_add_chain() has added since the last
 * call.
 *
 * @param session       the session
 * @param[out] numbers  numbers for perch_session_address(), by index; valid until the next chain is
 *                      added; NULL if no chain waits
 * @param[out] err      the reason of a failure
 * @return 0, or -ENOMEM; then the chains still wait
 */
PERCH_API int perch_session_number_chains(struct perch_session *session, const uint32_t **numbers,
					  struct perch_error *err);

/**
 * Delivers the next sample: perch_session_next() up to a SAMPLE record, then
 * perch_session_resolve().
 *
 * @param session      the session
 * @param[out] sample  the sample; its pointers are valid until the next call
 * @param[out] err     the reason of a failure
 * @return 1, 0 at the end, or a negative errno as of these functions
 */
PERCH_API int perch_session_next_sample(struct perch_session *session,
					struct perch_session_sample *sample,
					struct perch_error *err);

/**
 * Returns an address of a call chain. The first call for an address looks up its symbol.
 *
 * @param session  the session
 * @param number   an element of perch_session_sample.chain
 * @return the address; valid until the next sample is resolved
 */
PERCH_API const struct perch_address *perch_session_address(struct perch_session *session,
							    uint32_t number);

/**
 * Returns the event of a record.
 *
 * @param session  the session
 * @param record   a record of this session
 * @return the event; NULL for a record type of perf.data (from 64 on), which has no event
 */
PERCH_API const struct perch_file_event *perch_session_record_event(
	const struct perch_session *session, const struct perch_record *record);

/**
 * Returns the format of a tracepoint, with which perch_tracepoint_get_u64() and others read the
 * fields of its samples.
 *
 * @param session      the session, which caches the format
 * @param event        an event of this session
 * @param[out] format  the format; valid until perch_session_close(); NULL after a failure
 * @param[out] err     the reason of a failure, as of perch_reader_tracepoint()
 * @return 0, or a negative errno
 * @retval -EINVAL  the event is not a tracepoint
 * @retval -ENOENT  the file does not have the format
 */
PERCH_API int perch_session_format(struct perch_session *session,
				   const struct perch_file_event *event,
				   const struct perch_tracepoint_format **format,
				   struct perch_error *err);

/**
 * Prints a sample of a tracepoint as the kernel does in tracefs, by the print fmt of its format:
 * "prev_comm=swapper/0 prev_pid=0 ...".
 *
 * Its fields are printed instead, "name=value name=value", if libtraceevent cannot print the format
 * as C defines its operators, or might be harmed by it, if the sample is damaged, or in a build
 * without libtraceevent.
 * perch_session_stats.plain_tracepoints counts these samples.
 *
 * @param session    the session
 * @param record     the SAMPLE record that perch_session_next() has delivered last
 * @param[out] text  the text, clean for a terminal
 * @param size       bytes of text, at least 1; a longer text is cut
 * @param[out] err   the reason of a failure
 * @return the length of the whole text, as snprintf(3); or a negative errno
 * @retval -EINVAL   not a sample of a tracepoint, or recorded without PERCH_SAMPLE_RAW
 * @retval -ENOENT   the file does not have the format
 * @retval -EBADMSG  the format is invalid
 * @retval -ENOMEM   out of memory
 */
PERCH_API int perch_session_tracepoint_text(struct perch_session *session,
					    const struct perch_record *record, char *text,
					    size_t size, struct perch_error *err);

/** Columns of profiles for the tracepoints of a recording. */
struct perch_trace_columns;

/**
 * Creates an object that finds columns of tracepoints.
 *
 * @param[out] columns  the new object; NULL after a failure
 * @param session       must outlive the object
 * @param[out] err      the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_trace_columns_new(struct perch_trace_columns **columns,
				      struct perch_session *session, struct perch_error *err);

/** Frees the object and its columns. NULL is allowed. */
PERCH_API void perch_trace_columns_free(struct perch_trace_columns *columns);

/**
 * Finds the columns of a name, as of `perf report -s`:
 *
 * - "trace": the text of perch_session_tracepoint_text(); "trace/raw": its fields as they are
 *   recorded, "name=value name=value";
 * - "FIELD": a field of all tracepoints that have it;
 * - "EVENT.FIELD": a field of one event, of which EVENT is the name, a part of it without a colon,
 *   or '%' and its number from 1 on; "EVENT.*": all its fields;
 * - "trace_fields": all fields of all tracepoints.
 *
 * The value of a field is shown as in the text of the sample, where it is "FIELD=value", so that
 * flags have names. With "/raw" after the name, numbers are shown as they are recorded. The columns
 * are for perch_profile_options.columns of a profile of the session's records. A record must be
 * added to the profile before the session delivers the next one.
 *
 * @param columns     the object
 * @param name        the name; need not be NUL-terminated
 * @param length      its length in bytes
 * @param[out] found  the columns, whose array is valid until the next call, and which are valid
 *                    until perch_trace_columns_free()
 * @param[out] nr     their number
 * @param[out] err    the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOENT  the recording has no such event, or no such field
 * @retval -EINVAL  several events have the part in their name, the event is no tracepoint, or the
 *                  name has an option other than raw
 * @retval -ENOMEM  out of memory
 */
PERCH_API int perch_trace_columns_find(struct perch_trace_columns *columns, const char *name,
				       size_t length, const struct perch_column *const **found,
				       size_t *nr, struct perch_error *err);

/**
 * Returns whether samples of an event can have a value in a column.
 *
 * @param columns  the object
 * @param column   any column
 * @param event    index of the event
 * @return false for a column of fields that the event lacks; else true
 */
PERCH_API bool perch_trace_columns_is_of(const struct perch_trace_columns *columns,
					 const struct perch_column *column, unsigned event);

/**
 * Continues with the first record. Processes, symbols and statistics start again: what the
 * functions of the session returned is no longer valid, except the reader and its events.
 *
 * @param session   the session
 * @param[out] err  the reason of a failure
 * @return 0, or -ENOMEM; then the session can only be closed
 */
PERCH_API int perch_session_rewind(struct perch_session *session, struct perch_error *err);

/** Returns what was delivered and what was lost so far, in *stats. */
PERCH_API void perch_session_get_stats(const struct perch_session *session,
				       struct perch_session_stats *stats);

/** Returns the reader: events, features and the header. Records must not be read from it. */
PERCH_API struct perch_reader *perch_session_reader(struct perch_session *session);

/** Returns the processes, as they are after the last record that was delivered. */
PERCH_API struct perch_processes *perch_session_processes(struct perch_session *session);

/**
 * Returns the unwinder, which has counted why call chains of user stacks end.
 *
 * @param session  the session
 * @return the unwinder; NULL if no user stack has been unwound
 */
PERCH_API const struct perch_unwinder *perch_session_unwinder(const struct perch_session *session);

/** Returns the symbols, for example for perch_symbols_name(). */
PERCH_API struct perch_symbols *perch_session_symbols(struct perch_session *session);

struct perch_build_id_cache;

/** Files with samples that cannot be added to a build id cache. */
struct perch_missing_files {
	size_t files;	      /**< the number of files */
	char path[4096];      /**< of one of them; not trusted */
	char reason[512];     /**< why, of the same */
	uint64_t reserved[2]; /**< for members of later versions */
};

/** What is added to a build id cache, and from where. All members may be 0. */
struct perch_fill_cache_options {
	/** Adds /proc/kallsyms, too; for a recording of this boot. */
	unsigned kernel : 1;
	/** Opens the file of a DSO that cannot be opened otherwise. Returns a descriptor, which the
	 * session closes, or a negative number. */
	int (*open)(const void *context, const struct perch_dso *dso);
	const void *context;	     /**< for open */
	struct perch_symbols **root; /**< with other root directories, for debug files */
	size_t nr_roots;	     /**< entries of root */
	uint64_t reserved[2];	     /**< must be 0 */
};

/**
 * Adds to a build id cache the files and debug files that have samples in the recording, and the
 * vdso. Reads all records that were not delivered yet. A file that cannot be opened, or is not the
 * recorded one, is left out and counted.
 *
 * @param session          the session; symbols.verified_only is advised
 * @param cache            the cache, which is open (perch_build_id_cache_open())
 * @param options          NULL is allowed
 * @param[in,out] missing  counts the files that are left out; NULL is allowed
 * @param[out] err         the reason of a failure
 * @return 0 or a negative errno
 */
PERCH_API int perch_session_fill_cache(struct perch_session *session,
				       const struct perch_build_id_cache *cache,
				       const struct perch_fill_cache_options *options,
				       struct perch_missing_files *missing,
				       struct perch_error *err);

#ifdef __cplusplus
}
#endif
#endif
