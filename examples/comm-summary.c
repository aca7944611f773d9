/* SPDX-License-Identifier: MIT */
/*
 * Reads a perf.data file. Prints for each command and event how many samples there are, the sum of
 * their periods, and, for a tracepoint that has the named field, the sum and maximum of the field:
 *
 *	perch record -e sched:sched_switch,kmem:kmalloc -a -- sleep 1
 *	comm-summary perf.data bytes_req
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <perch/session.h>

struct total {
	char comm[32];
	const struct perch_file_event *event;
	unsigned long long samples, period;
	/* of the field; nr is the number of samples that have it */
	unsigned long long nr, sum, most;
};

struct summary {
	struct total *total;
	size_t nr, capacity;
};

/* Returns NULL if out of memory. */
static struct total *total_of(struct summary *summary, const struct perch_session_sample *sample)
{
	char comm[32];

	/* a thread may have any name: this removes control characters */
	perch_clean_text(perch_thread_comm(sample->thread), comm, sizeof(comm));
	for (size_t i = 0; i < summary->nr; i++)
		if (summary->total[i].event == sample->event &&
		    !strcmp(summary->total[i].comm, comm))
			return &summary->total[i];
	if (summary->nr == summary->capacity) {
		size_t capacity = 2 * summary->capacity + 16;
		void *total = realloc(summary->total, capacity * sizeof(*summary->total));

		if (!total)
			return NULL;
		summary->total = (struct total *)total;
		summary->capacity = capacity;
	}
	memset(&summary->total[summary->nr], 0, sizeof(*summary->total));
	strcpy(summary->total[summary->nr].comm, comm);
	summary->total[summary->nr].event = sample->event;
	return &summary->total[summary->nr++];
}

/* Adds the field of a tracepoint. Other events, and tracepoints without this field, have none. */
static void add_field(struct total *total, struct perch_session *session,
		      const struct perch_session_sample *sample, const char *name)
{
	const struct perch_tracepoint_format *format;
	const struct perch_tracepoint_field *field;
	uint64_t value;

	/* the session caches the format */
	if (perch_session_format(session, sample->event, &format, NULL) < 0)
		return;
	field = perch_tracepoint_format_find(format, name);
	if (!field || perch_tracepoint_get_u64(field, sample->record, &value) < 0)
		return;
	total->nr++;
	total->sum += value;
	if (value > total->most)
		total->most = value;
}

static int read_samples(struct summary *summary, struct perch_session *session, const char *field,
			struct perch_error *err)
{
	struct perch_session_sample sample;
	int rc;

	while ((rc = perch_session_next_sample(session, &sample, err)) > 0) {
		struct total *total = total_of(summary, &sample);

		if (!total)
			return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "out of memory");
		total->samples++;
		total->period += sample.record->sample.period;
		if (field)
			add_field(total, session, &sample, field);
	}
	return rc;
}

static int by_samples(const void *left, const void *right)
{
	const struct total *one = (const struct total *)left;
	const struct total *other = (const struct total *)right;

	if (one->samples != other->samples)
		return one->samples < other->samples ? 1 : -1;
	return strcmp(one->comm, other->comm);
}

static void print_summary(const struct summary *summary, const char *field)
{
	printf("%-16s %-24s %10s %14s", "command", "event", "samples", "period");
	if (field)
		printf(" %14s %14s", field, "maximum");
	putchar('\n');
	for (size_t i = 0; i < summary->nr; i++) {
		const struct total *total = &summary->total[i];
		char name[64];

		perch_clean_text(total->event->name, name, sizeof(name));
		printf("%-16s %-24s %10llu %14llu", total->comm, name, total->samples,
		       total->period);
		if (total->nr)
			printf(" %14llu %14llu", total->sum, total->most);
		putchar('\n');
	}
}

/* What the file lacks is no error. */
static void print_losses(const struct perch_session *session)
{
	struct perch_session_stats stats;

	perch_session_get_stats(session, &stats);
	if (stats.lost)
		printf("%" PRIu64 " records were lost while recording\n", stats.lost);
	if (stats.damage.missing_bytes || stats.damage.corrupt_bytes ||
	    stats.damage.undecoded_records)
		printf("the file is damaged\n");
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "perf.data", *field = argc > 2 ? argv[2] : NULL;
	struct summary summary = { NULL, 0, 0 };
	struct perch_session *session;
	struct perch_error err;
	int rc = perch_session_open(&session, path, NULL, &err);

	if (rc >= 0)
		rc = read_samples(&summary, session, field, &err);
	if (rc >= 0) {
		if (summary.nr)
			qsort(summary.total, summary.nr, sizeof(*summary.total), by_samples);
		print_summary(&summary, field);
		print_losses(session);
	} else {
		perch_error_print(stderr, &err);
	}
	perch_session_close(session);
	free(summary.total);
	return rc < 0;
}
