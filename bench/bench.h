/* SPDX-License-Identifier: MIT */
/* What the benchmarks share: a clock, medians, the mark of a missed target, and the sizes of a
 * smoke run. */
#ifndef PERCH_BENCH_H
#define PERCH_BENCH_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Exit status of a benchmark that cannot run on this machine. */
#define BENCH_SKIPPED 77

/*
 * The tests run each benchmark with BENCH_SMOKE=1: it does all its steps with tiny sizes, and its
 * figures mean nothing. full and smoke are the two sizes of one quantity; full is also the size of
 * arrays.
 */
static inline size_t bench_size(size_t full, size_t smoke)
{
	const char *text = getenv("BENCH_SMOKE");

	return text && *text ? smoke : full;
}

static inline double bench_now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* The least of several rounds counts: other programs on the machine only add time. */
static inline void bench_keep_minimum(double *least, double took)
{
	if (!*least || took < *least)
		*least = took;
}

static inline int bench_compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Sorts the values. */
static inline double bench_median(double *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), bench_compare_doubles);
	return values[nr / 2];
}

/* For the end of a printed target. bench/run collects the lines with this mark. */
static inline const char *bench_missed(bool reached)
{
	return reached ? "" : ", MISSED";
}

#endif
