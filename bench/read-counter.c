/* SPDX-License-Identifier: MIT */
/*
 * perch_counter_read() beside a bare read(2), and perch_counter_open() beside a bare
 * perf_event_open(2). The two sides take turns in short blocks, so that a change of the machine's
 * speed meets both, and the median of the blocks counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <perch/count.h>

#define BLOCKS	   401
#define READS_EACH 2000
#define OPENS_EACH 50
#define EVENT	   "task-clock"

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(double *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), by_value);
	return values[nr / 2];
}

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
	double start = now_ns();

	for (int i = 0; i < READS_EACH; i++) {
		if (counter ? perch_counter_read(counter, &count, NULL) != 0
			    : read(fd, words, sizeof(words)) != sizeof(words)) {
			fputs("reading failed\n", stderr);
			exit(EXIT_FAILURE);
		}
	}
	return (now_ns() - start) / READS_EACH;
}

static double open_block(bool bare)
{
	struct perch_error err;
	struct perch_counter *counter;
	double start = now_ns();

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
	return (now_ns() - start) / OPENS_EACH;
}

/* target 0: none */
static void tell(const char *what, double *perch, double *bare, double target)
{
	double ours = median(perch, BLOCKS), theirs = median(bare, BLOCKS);
	char text[40] = "";

	if (target > 0)
		snprintf(text, sizeof(text), " (target <= %.2f%s)", target, ours / theirs > target ? ", MISSED" : "");
	printf("%s: perch/bare %.3f%s, %.0f ns and %.0f ns\n", what, ours / theirs, text, ours, theirs);
}

int main(void)
{
	static double perch[BLOCKS], bare[BLOCKS];
	struct perch_counter *counter;
	struct perch_error err;

	if (perch_counter_open(&counter, EVENT, NULL, NULL, &err)) {
		perch_error_print(stderr, &err);
		return 77;
	}
	perch_counter_enable(counter);
	for (int i = 0; i < BLOCKS; i++) {
		perch[i] = read_block(counter, -1);
		bare[i] = read_block(NULL, perch_counter_fd(counter));
	}
	perch_counter_close(counter);
	tell("counter read", perch, bare, 1.05);
	for (int i = 0; i < BLOCKS; i++) {
		perch[i] = open_block(false);
		bare[i] = open_block(true);
	}
	tell("counter open and close", perch, bare, 0);
	return 0;
}
