/* SPDX-License-Identifier: MIT */
/* What the benchmarks share: a clock, CPU time, a command without output, medians, the mark of a
 * missed target, and the sizes of a smoke run. */
#ifndef PERCH_BENCH_H
#define PERCH_BENCH_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

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

static inline double bench_ns_of(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static inline double bench_now_ns(void)
{
	return bench_ns_of(CLOCK_MONOTONIC);
}

/* The CPU time of this thread. Other programs on the machine do not add to it. Reading it is a
 * system call, so what is measured should take 100 us at least. */
static inline double bench_cpu_ns(void)
{
	return bench_ns_of(CLOCK_THREAD_CPUTIME_ID);
}

/* The CPU time of a process, user and system. */
static inline double bench_cpu_seconds(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

/* In a child: becomes the command, without its output. */
static inline _Noreturn void bench_exec_quietly(const char *perch, const char *const *words)
{
	int nowhere = open("/dev/null", O_WRONLY);

	dup2(nowhere, STDOUT_FILENO);
	dup2(nowhere, STDERR_FILENO);
	execv(perch, (char *const *)words);
	_exit(127);
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
