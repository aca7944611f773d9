/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Metrics: ratios, rates and times computed from counts, as "0.484 CPUs utilized" and "1.20 insn
 * per cycle", as perf stat prints them beside its counts.
 *
 * Threads: any thread may call the functions at any time.
 *
 * Signals: no function is async-signal-safe.
 */
#ifndef PERCH_METRICS_H
#define PERCH_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <perch/abi.h>
#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The count of an event. */
struct perch_metric_count {
	const struct perch_attr *attr; /**< the event */
	double value;		       /**< of clocks in ns */
	size_t part;	      /**< of what was counted: counts of different parts have no ratios */
	bool user_only;	      /**< restricted to user space, without exclude_kernel */
	bool merged;	      /**< part of the value of another count */
	uint64_t reserved[2]; /**< must be 0 */
};

/** Events that were counted in the same time. */
struct perch_metric_counts {
	size_t nr; /**< the number of counts */
	/** Sets one of them. Returns false if the event was not counted. */
	bool (*at)(const void *context, size_t index, struct perch_metric_count *count);
	const void *context;  /**< for at() */
	double wall_ns;	      /**< how long they were counted; 0: unknown */
	uint64_t reserved[2]; /**< must be 0 */
};

/** The most metrics that one count has. */
#define PERCH_METRICS_MAX 2

/** A metric. */
struct perch_metric {
	double value;	      /**< in the unit */
	int width, decimals;  /**< how perf prints the value */
	const char *sign;     /**< printed after the number: "%" */
	char unit[40];	      /**< "insn per cycle", "M/sec" */
	uint64_t reserved[2]; /**< for members of later versions */
};

/**
 * Computes the metrics of a count: a ratio to the count of another event of the same PMU and modes,
 * or a rate per second of CPU time.
 *
 * @param counts        the counts
 * @param index         which of them
 * @param[out] metrics  its metrics
 * @return their number, 0 to PERCH_METRICS_MAX; 0 also if a reserved member is not 0, as of a
 *         program that was built for a later version
 */
PERCH_API size_t perch_metrics(const struct perch_metric_counts *counts, size_t index,
			       struct perch_metric metrics[PERCH_METRICS_MAX]);
/** Returns the unit of the ratio that an event has; NULL if it has only a rate or a time. */
PERCH_API const char *perch_metric_unit(const struct perch_attr *attr);
/** Returns true for events that count ns of CPU time. */
PERCH_API bool perch_metric_is_clock(const struct perch_attr *attr);

#ifdef __cplusplus
}
#endif
#endif
