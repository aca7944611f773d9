/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Annotations: the samples of each function by offset and event, as `perch annotate` shows them
 * beside instructions.
 *
 * Samples are counted by the sampled address. perch_annotation_finish() then looks up the function
 * of each distinct address once. A sample belongs to one function: where functions overlap, to the
 * one that perch_symbols_find() returns. The bytes of a function are those of
 * perch_symbols_read_code(), its lines those of perch_symbols_frames().
 *
 * In all functions err may be NULL. Functions without err cannot fail.
 *
 * Threads: one thread per object at a time, together with its processes and symbols.
 *
 * Fork: a child has copies of the objects, and can use and free them. Nothing that it does changes
 * the objects of the parent.
 *
 * Signals: no function is async-signal-safe. They allocate memory.
 */
#ifndef PERCH_ANNOTATION_H
#define PERCH_ANNOTATION_H

#include <perch/error.h>
#include <perch/process.h>
#include <perch/record.h>
#include <perch/symbol.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The samples of functions by offset. */
struct perch_annotation;

/**
 * Creates an object without samples.
 *
 * @param[out] annotation  the new object; NULL after a failure
 * @param processes        must outlive the object
 * @param symbols          must outlive the object
 * @param[out] err         the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_annotation_new(struct perch_annotation **annotation,
				   struct perch_processes *processes, struct perch_symbols *symbols,
				   struct perch_error *err);

/** Frees the samples. NULL is allowed. */
PERCH_API void perch_annotation_free(struct perch_annotation *annotation);

/**
 * Adds a SAMPLE record. Ignores other records.
 *
 * @param annotation  the samples
 * @param record      the record; earlier records must have been applied to the processes
 * @param[out] err    the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOMEM  out of memory
 * @retval -EINVAL  the samples are finished
 */
PERCH_API int perch_annotation_add(struct perch_annotation *annotation,
				   const struct perch_record *record, struct perch_error *err);

/**
 * Adds the samples of another object of the same processes and symbols.
 *
 * @param annotation  the samples
 * @param other       the samples to add, which stay; neither is finished
 * @param[out] err    the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOMEM  out of memory; some samples may have been added
 * @retval -EINVAL  the samples of one object are finished
 */
PERCH_API int perch_annotation_merge(struct perch_annotation *annotation,
				     const struct perch_annotation *other, struct perch_error *err);

/**
 * Looks up the functions of all addresses. Only the functions below can be used afterwards: no
 * sample can be added.
 *
 * @param annotation  the samples
 * @param[out] err    the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_annotation_finish(struct perch_annotation *annotation, struct perch_error *err);

/** The sums of an event. */
struct perch_annotation_total {
	uint64_t samples;	   /**< number of samples */
	uint64_t period;	   /**< sum of their periods */
	uint64_t nameless_samples; /**< of them, samples at addresses without a function */
	uint64_t nameless_period;  /**< sum of their periods */
	uint64_t reserved[2];	   /**< for members of later versions */
};

/**
 * Returns the sums of an event.
 *
 * @param annotation  the samples
 * @param event       index of the event (the record's .event)
 * @param[out] total  the sums; 0 for an event without samples
 */
PERCH_API void perch_annotation_get_total(const struct perch_annotation *annotation, unsigned event,
					  struct perch_annotation_total *total);

/** The samples of an event at an offset. */
struct perch_annotation_point {
	uint64_t offset;      /**< from the start of the function, below its size */
	uint64_t samples;     /**< number of samples */
	uint64_t period;      /**< sum of their periods */
	uint32_t event;	      /**< index of the event */
	uint32_t reserved[1]; /**< for members of later versions */
};

/** A function with samples. */
struct perch_annotated_function {
	const struct perch_symbol *symbol; /**< the function */
	uint64_t samples;		   /**< number of samples, of one event or of all */
	uint64_t period;		   /**< sum of their periods */
	/** Its samples, sorted by offset and then by event: those of all events. Valid until the
	 * object is freed. */
	const struct perch_annotation_point *point;
	size_t nr;	      /**< number of points */
	uint64_t reserved[2]; /**< for members of later versions */
};

/** All events, for perch_annotation_functions(). */
#define PERCH_ANNOTATION_ALL_EVENTS UINT32_MAX

/**
 * Returns the functions that have samples of an event, those with the largest period first.
 * Functions with equal periods are sorted by samples, DSO and address.
 *
 * @param annotation      the samples
 * @param event           index of the event, or PERCH_ANNOTATION_ALL_EVENTS
 * @param[out] functions  the functions; valid until the next call; NULL after a failure
 * @param[out] nr         number of functions
 * @param[out] err        the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_annotation_functions(struct perch_annotation *annotation, unsigned event,
					 const struct perch_annotated_function **functions,
					 size_t *nr, struct perch_error *err);

#ifdef __cplusplus
}
#endif
#endif
