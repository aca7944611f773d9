/* SPDX-License-Identifier: MIT */
/* -T: the counts that threads had when they ended (perf record -s). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "options.h"
#include "report.h"
#include "report_threads.h"

/* A count of a READ record. */
struct thread_count {
	uint32_t pid, tid;
	unsigned event;
	size_t number; /* of the record */
	uint64_t value;
};

/* The counts of a thread. */
struct thread {
	size_t first, nr;
	size_t number; /* of its first record */
};

struct report_threads {
	struct thread_count *count;
	size_t nr, capacity;
	struct thread *thread;
	size_t nr_threads;
	unsigned *event; /* those with counts, in this order */
	size_t nr_events, events_capacity;
};

struct report_threads *report_threads_new(void)
{
	return calloc(1, sizeof(struct report_threads));
}

void report_threads_free(struct report_threads *threads)
{
	if (!threads)
		return;
	free(threads->count);
	free(threads->thread);
	free(threads->event);
	free(threads);
}

static int add_event(struct report_threads *threads, unsigned event)
{
	for (size_t i = 0; i < threads->nr_events; i++)
		if (threads->event[i] == event)
			return 0;
	if (PERCH__ARRAY_RESERVE(threads->event, threads->events_capacity, threads->nr_events + 1))
		return -ENOMEM;
	threads->event[threads->nr_events++] = event;
	return 0;
}

int report_threads_add(struct report_threads *threads, const struct perch_record *record)
{
	const struct perch_read_record *read = &record->read;
	struct perch_read_value value;
	struct thread_count *count;

	if (record->type != PERCH_RECORD_READ || !read->values.nr)
		return 0;
	count = PERCH__ARRAY_APPEND(threads->count, threads->nr, threads->capacity);
	if (!count)
		return -ENOMEM;
	perch_read_values_at(&read->values, 0, &value);
	*count = (struct thread_count){ read->pid, read->tid, record->event, threads->nr,
					value.value };
	return add_event(threads, record->event);
}

static int by_thread(const void *left, const void *right)
{
	const struct thread_count *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int by_number(const void *left, const void *right)
{
	const struct thread *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

/* Finds the counts of each thread. Threads are in the order of the file. */
static int find_threads(struct report_threads *threads)
{
	const struct thread_count *count = threads->count;

	threads->thread = calloc(threads->nr + 1, sizeof(*threads->thread));
	if (!threads->thread)
		return -ENOMEM;
	if (threads->nr)
		qsort(threads->count, threads->nr, sizeof(*count), by_thread);
	for (size_t i = 0; i < threads->nr; i++) {
		if (!i || count[i].pid != count[i - 1].pid || count[i].tid != count[i - 1].tid)
			threads->thread[threads->nr_threads++] =
				(struct thread){ i, 0, count[i].number };
		threads->thread[threads->nr_threads - 1].nr++;
	}
	qsort(threads->thread, threads->nr_threads, sizeof(*threads->thread), by_number);
	return 0;
}

static uint64_t sum_of(const struct report_threads *threads, const struct thread *thread,
		       unsigned event)
{
	uint64_t sum = 0;

	for (size_t i = thread->first; i < thread->first + thread->nr; i++)
		if (threads->count[i].event == event)
			sum += threads->count[i].value;
	return sum;
}

static int digits_of(uint64_t number, int width)
{
	int digits = snprintf(NULL, 0, "%" PRIu64, number);

	return digits > width ? digits : width;
}

/* Sets the widths that all numbers and names need: of pid, tid, then of each event. */
static void set_widths(const struct report_threads *threads, const struct perch_file_event *events,
		       int *widths)
{
	widths[0] = widths[1] = 3;
	for (size_t i = 0; i < threads->nr_events; i++)
		widths[2 + i] = report_columns_of(events[threads->event[i]].name);
	for (size_t i = 0; i < threads->nr_threads; i++) {
		const struct thread *thread = &threads->thread[i];
		const struct thread_count *count = &threads->count[thread->first];

		widths[0] = digits_of(count->pid, widths[0]);
		widths[1] = digits_of(count->tid, widths[1]);
		for (size_t j = 0; j < threads->nr_events; j++)
			widths[2 + j] = digits_of(sum_of(threads, thread, threads->event[j]),
						  widths[2 + j]);
	}
}

static void put_titles(FILE *out, const struct report_threads *threads,
		       const struct perch_file_event *events, const int *widths)
{
	fprintf(out, "# %*s  %*s", widths[0], "PID", widths[1], "TID");
	for (size_t i = 0; i < threads->nr_events; i++) {
		const char *name = events[threads->event[i]].name;

		fprintf(out, "  %*s", (int)(widths[2 + i] - report_columns_of(name)), "");
		cli_put_clean(out, name);
	}
	putc('\n', out);
}

int report_threads_put(FILE *out, struct report_threads *threads,
		       const struct perch_file_event *events)
{
	int *widths = calloc(threads->nr_events + 2, sizeof(*widths));

	if (!widths || find_threads(threads)) {
		free(widths);
		cli_note("report", "no memory for the counts of threads");
		return CLI_EXIT_FAILURE;
	}
	if (!threads->nr)
		cli_note("report", "the file has no counts of threads; record with perf record -s");
	set_widths(threads, events, widths);
	put_titles(out, threads, events, widths);
	for (size_t i = 0; i < threads->nr_threads; i++) {
		const struct thread *thread = &threads->thread[i];
		const struct thread_count *count = &threads->count[thread->first];

		fprintf(out, "  %*" PRIu32 "  %*" PRIu32, widths[0], count->pid, widths[1],
			count->tid);
		for (size_t j = 0; j < threads->nr_events; j++)
			fprintf(out, "  %*" PRIu64, widths[2 + j],
				sum_of(threads, thread, threads->event[j]));
		putc('\n', out);
	}
	free(widths);
	return 0;
}
