/* SPDX-License-Identifier: MIT */
/* Metrics: ratios, rates and times computed from counts, as "0.484 CPUs utilized". */
#ifndef PERCH_CLI_METRICS_H
#define PERCH_CLI_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <perch/abi.h>

/* The count of an event. */
struct metric_count {
	const struct perch_attr *attr;
	double value;	/* of clocks in ns */
	size_t part;	/* events of different parts have no ratios */
	bool user_only; /* restricted to user space, without exclude_kernel */
	bool merged;	/* part of the value of another count */
};

/* Events that were counted in the same time. */
struct metric_counts {
	size_t nr;
	/* Returns false if the event was not counted. */
	bool (*at)(const void *context, size_t index, struct metric_count *count);
	const void *context;
	double wall_ns; /* 0: unknown */
};

#define METRICS 2
struct metric {
	double value;
	int width, decimals;
	const char *sign; /* printed after the number: "%" */
	char unit[40];
};

/* The metrics of a count. Returns their number, 0 to METRICS. */
size_t metrics_of(const struct metric_counts *counts, size_t index, struct metric metrics[METRICS]);
/* The unit of the ratio that an event has; NULL if it has only a rate or a time. */
const char *metric_unit(const struct perch_attr *attr);
/* True for events that count ns of CPU time. */
bool metric_is_clock(const struct perch_attr *attr);

#endif
