/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Filters: which samples of a session are wanted, by process, thread, CPU, time, name of the
 * thread, DSO and function, and by the fields of tracepoints.
 *
 *     const struct perch_filter_options options = { .comms = "make,cc1", .time = "10%-20%" };
 *
 *     perch_filter_new(&filter, session, &options, &err);
 *     while (perch_session_next(session, &record, &err) > 0)
 *             if (record.type == PERCH_RECORD_SAMPLE && perch_filter_match(filter, &record) > 0)
 *                     ...
 *
 * A test of a filter is made only if its option is given. Tests by names are made once per thread
 * name, DSO or address, and remembered.
 *
 * In all functions err may be NULL. Functions without err cannot fail, or their comment lists what
 * they return.
 *
 * Threads: one thread per filter at a time, together with its session.
 *
 * Fork: a child has a copy of the filter, and can use and free it, as its copy of the session.
 *
 * Signals: no function is async-signal-safe. They allocate memory.
 */
#ifndef PERCH_FILTER_H
#define PERCH_FILTER_H

#include <perch/error.h>
#include <perch/record.h>
#include <perch/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The tests of a filter, in the order in which they are made. */
enum perch_filter_part {
	PERCH_FILTER_NONE,	  /**< no test: the sample matches */
	PERCH_FILTER_CPU,	  /**< options.cpus */
	PERCH_FILTER_TIME,	  /**< options.time */
	PERCH_FILTER_PID,	  /**< options.pids */
	PERCH_FILTER_TID,	  /**< options.tids */
	PERCH_FILTER_COMM,	  /**< options.comms */
	PERCH_FILTER_CGROUP,	  /**< options.cgroups */
	PERCH_FILTER_DSO,	  /**< options.dsos */
	PERCH_FILTER_SYMBOL,	  /**< options.symbols */
	PERCH_FILTER_PARENT,	  /**< options.parent */
	PERCH_FILTER_EXPRESSION,  /**< options.expression */
	PERCH_FILTER_PARALLELISM, /**< options.parallelism */
	PERCH_FILTER_PARTS = 16,  /**< the number of parts, with those of later versions */
};

/**
 * Which samples match: a sample must pass all tests. NULL is no test.
 *
 * Lists are separated by commas. In lists of names, "file://PATH" stands for the lines of a file,
 * of at most 65536 bytes each.
 */
struct perch_filter_options {
	const char *pids; /**< process ids: "12,34"; -1 are samples without one */
	const char *tids; /**< thread ids */
	const char *cpus; /**< CPUs: "0,2-5" */
	/**
	 * Ranges of time, in seconds as samples have it: "12.5,13" is from 12.5 to 13, and either
	 * may be left out ("12.5,"). "+1,+2" is from 1 to 2 seconds after the first sample. Further
	 * ranges follow after a blank. Or shares of the time from the first to the last sample:
	 * "10%-20%,50%-60%", "10%/2" (the second tenth), "10%" (the first tenth).
	 */
	const char *time;
	const char *comms; /**< names of threads */
	/** DSOs of the sampled address: names as perch_symbols_dso_name() or paths; the kernel is
	 * [kernel.kallsyms] */
	const char *dsos;
	/** Functions of the sampled address, by name, as perch_symbols_is_named(): the one that
	 * contains it, and with debug information, which is read for this, also the functions that
	 * are inlined there. Or addresses in hexadecimal: the sampled one, or that of the function
	 * that contains it. Commas in brackets are part of a name, "ns::f(int, char),ns::g", unless
	 * the brackets of the list do not balance. */
	const char *symbols;
	/** Cgroups, with those below them: paths from the root of the hierarchy ("/user.slice") */
	const char *cgroups;
	/** An extended regular expression, see regex(7): a function of the call chain, which
	 * includes the sampled one, has a name that contains a match. */
	const char *parent;
	/** The times of time are from the first sample on. */
	unsigned relative_time : 1;
	/** Names in symbols do not match inlined functions. */
	unsigned no_inline : 1;
	/**
	 * An expression over the fields of tracepoints, as in the kernel's filters:
	 * "prev_pid == 0 && next_comm ~ \"kworker*\"". The operators are ==, !=, <, <=, >, >= and &
	 * (a bit of both is set) for numbers, ==, != and ~ (a pattern with *, ? and [a-z]) for
	 * text in quotes, and &&, ||, ! and parentheses. Of all tracepoints, "cpu" is the CPU and
	 * "comm" the name of the thread, unless the tracepoint has a field of that name.
	 *
	 * A sample matches if the expression is true. A comparison with a field that the event of
	 * the sample does not have is neither true nor false: "pid == 1 || prev_pid == 1" matches
	 * samples of events with either field, and "!(pid == 1)" only those with the field.
	 */
	const char *expression;
	/** Bytes from each address in symbols on: a sampled address in this range matches, too. 0:
	 * only the address itself. */
	uint64_t symbols_size;
	/** Numbers of threads that run at the time of the sample: "1,2-4"; see
	 * perch_processes_parallelism(). */
	const char *parallelism;
	uint64_t reserved[5]; /**< must be 0 */
};

/** A filter of a session. */
struct perch_filter;

/**
 * Creates a filter, before the first record is read.
 *
 * Shares of the time, and relative_time, need the times of the first and the last sample: those of
 * the feature SAMPLE_TIME. Without it, the file is read here for the first time.
 *
 * A filter is of no use after perch_session_rewind(): make a new one.
 *
 * @param[out] filter  the new filter; NULL after a failure
 * @param session      must outlive the filter
 * @param options      NULL is all 0: all samples match
 * @param[out] err     the reason of a failure, with what was expected
 * @return 0, or a negative errno
 * @retval -EINVAL   an option is not in its form
 * @retval -ENODATA  the samples lack the CPU or the time that is to be tested, an expression is
 *                   given and the recording has no format of a tracepoint, or the number of
 *                   threads that run is unknown and is to be tested
 * @retval -ENOENT   a file of names does not exist; or another errno of opening it
 */
PERCH_API int perch_filter_new(struct perch_filter **filter, struct perch_session *session,
			       const struct perch_filter_options *options, struct perch_error *err);

/** Frees a filter. NULL is allowed. */
PERCH_API void perch_filter_free(struct perch_filter *filter);

/**
 * Tests the record that perch_session_next() has delivered last. Needs no err: it fails only
 * without memory.
 *
 * @param filter  the filter
 * @param record  the record. Of other records than samples only the CPU is tested, as perf(1) does.
 * @return 1 if it matches, 0 if not, or -ENOMEM
 */
PERCH_API int perch_filter_match(struct perch_filter *filter, const struct perch_record *record);

/** Returns the test that the last record did not pass; PERCH_FILTER_NONE if it matched. */
PERCH_API enum perch_filter_part perch_filter_rejected_by(const struct perch_filter *filter);

/** What a filter has counted. */
struct perch_filter_stats {
	uint64_t samples; /**< samples that were tested */
	uint64_t matched; /**< of these, the samples that passed all tests */
	/** By perch_filter_part: samples that did not pass this test, and passed the ones before.
	 */
	uint64_t left_out[PERCH_FILTER_PARTS];
	/** Samples that passed the test of options.symbols only by the name of an inlined function.
	 */
	uint64_t inlined;
	/** Time in ns of the first sample that options.time was compared with; 0 if there is none.
	 */
	uint64_t first_time;
	uint64_t last_time;   /**< the same of the last one */
	uint64_t reserved[1]; /**< for members of later versions */
};

/** Returns what the filter has counted so far, in *stats. */
PERCH_API void perch_filter_get_stats(const struct perch_filter *filter,
				      struct perch_filter_stats *stats);

/** A word of an option for which there is no sample. Texts are clean for a terminal, and valid
 * until the next call with the same filter. */
struct perch_filter_missing {
	enum perch_filter_part part; /**< the option */
	const char *wanted;  /**< the word, or the whole option TIME, PARENT or EXPRESSION */
	const char *similar; /**< a similar word for which there are samples; or NULL */
	/** What there is, the most frequent first, with numbers of samples: "cc1 (120), sh (3)";
	 * for TIME the times of the first and the last sample; for PARENT functions of call chains,
	 * without numbers; for EXPRESSION the text of the first sample with such fields, or "". */
	const char *present;
	uint64_t samples;     /**< samples that this test was made for */
	uint64_t reserved[4]; /**< for members of later versions */
};

/**
 * Returns the words of options for which there was no sample, after the last record.
 *
 * @param filter        the filter
 * @param index         0 for the first word, then 1, and so on
 * @param[out] missing  the word
 * @return 1, 0 if there are no more, or -ENOMEM
 */
PERCH_API int perch_filter_get_missing(struct perch_filter *filter, size_t index,
				       struct perch_filter_missing *missing);

/** Which samples pass a switch. */
struct perch_switch_options {
	const char *on;	 /**< name of the event from whose sample on others pass; NULL: all do */
	const char *off; /**< name of the event from whose sample on none passes until that of on;
			  * without on, none at all; NULL: none */
	bool show;	 /**< samples of these two events pass, too */
	uint64_t reserved[4]; /**< must be 0 */
};

/** A switch: samples between those of two events pass. */
struct perch_switch;

/**
 * Creates a switch, before the first sample is tested.
 *
 * @param[out] result  the new switch; NULL after a failure
 * @param session      the session that has the events; not needed after the return
 * @param options      not needed after the return
 * @param[out] err     the reason of a failure, with the events of the session; field is "on" or
 *                     "off"
 * @return 0, or a negative errno
 * @retval -ENOENT  the session has no event with this name
 */
PERCH_API int perch_switch_new(struct perch_switch **result, struct perch_session *session,
			       const struct perch_switch_options *options, struct perch_error *err);

/** Frees a switch. NULL is allowed. */
PERCH_API void perch_switch_free(struct perch_switch *of);

/** Follows the samples, each in its order, by their events. Returns true if the sample passes. */
PERCH_API bool perch_switch_match(struct perch_switch *of, const struct perch_record *sample);

/** Returns false if samples need one of options.on, and there was none. */
PERCH_API bool perch_switch_was_on(const struct perch_switch *of);

#ifdef __cplusplus
}
#endif
#endif
