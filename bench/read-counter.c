/* SPDX-License-Identifier: MIT */
/*
 * Compares perch_counter_read() with read(2), and perch_counter_open() with perf_event_open(2). The
 * two alternate in short blocks, because the machine's speed may change during the run. The result
 * is the median of the blocks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <perch/count.h>

#include "bench.h"

#define BLOCKS	   401
#define READS_EACH 2000
#define OPENS_EACH 50
#define EVENT	   "task-clock"

static size_t blocks;

/* The attr of perch_counter_open(EVENT) with no options, written by hand. */
static int bare_open(void)
{
	struct perch_attr attr = {
		.type = PERCH_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERCH_COUNT_SW_TASK_CLOCK,
		.read_format = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERCH_FLAG_FD_CLOEXEC);
}

static double read_block(struct perch_counter *counter, int fd)
{
	struct perch_count count;
	uint64_t words[3];
	double start = bench_cpu_ns();

	for (int i = 0; i < READS_EACH; i++) {
		if (counter ? perch_counter_read(counter, &count, NULL) != 0
			    : read(fd, words, sizeof(words)) != sizeof(words)) {
			fputs("reading failed\n", stderr);
			exit(EXIT_FAILURE);
		}
	}
	return (bench_cpu_ns() - start) / READS_EACH;
}

static double open_block(bool bare)
{
	struct perch_error err;
	struct perch_counter *counter;
	double start = bench_cpu_ns();

	for (int i = 0; i < OPENS_EACH; i++) {
		int fd = bare ? bare_open() : -1;

		if (bare && fd >= 0) {
			close(fd);
		} else if (bare || perch_counter_open(&counter, EVENT, NULL, NULL, &err)) {
			fputs("opening failed\n", stderr);
			exit(EXIT_FAILURE);
		} else {
			perch_counter_close(counter);
		}
	}
	return (bench_cpu_ns() - start) / OPENS_EACH;
}

/* A target of 0 is no target. */
static void print_ratio(const char *what, double *perch, double *bare, double target)
{
	double ours = bench_median(perch, blocks), theirs = bench_median(bare, blocks);
	char text[40] = "";

	if (target > 0)
		snprintf(text, sizeof(text), " (target <= %.2f%s)", target,
			 bench_missed(ours / theirs <= target));
	printf("%s: perch/bare %.3f%s, %.0f ns and %.0f ns\n", what, ours / theirs, text, ours,
	       theirs);
}

int main(void)
{
	static double perch[BLOCKS], bare[BLOCKS];
	struct perch_counter *counter;
	struct perch_error err;

	blocks = bench_size(BLOCKS, 3);
	if (perch_counter_open(&counter, EVENT, NULL, NULL, &err)) {
		perch_error_print(stderr, &err);
		return BENCH_SKIPPED;
	}
	perch_counter_enable(counter, NULL);
	for (size_t i = 0; i < blocks; i++) {
		perch[i] = read_block(counter, -1);
		bare[i] = read_block(NULL, perch_counter_fd(counter));
	}
	perch_counter_close(counter);
	print_ratio("counter read", perch, bare, 1.05);
	for (size_t i = 0; i < blocks; i++) {
		perch[i] = open_block(false);
		bare[i] = open_block(true);
	}
	print_ratio("counter open and close", perch, bare, 0);
	return 0;
}
