/* SPDX-License-Identifier: MIT */
/* Counts some events on every CPU for a short time with one set, and prints a line for each CPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <perch/count.h>

static void print_counts(const struct perch_set *set, const struct perch_count *counts)
{
	size_t targets = perch_set_targets(set);
	struct perch_count sum;

	for (size_t i = 0; i < perch_set_events(set); i++) {
		const struct perch_set_event *event = perch_set_get_event(set, i);

		if (event->skipped) {
			printf("%s: %s\n", event->event.name, event->reason->message);
			continue;
		}
		perch_count_sum(&sum, counts + i * targets, targets);
		printf("%s: %llu\n", event->event.name, (unsigned long long)sum.scaled);
		for (size_t k = 0; k < targets; k++)
			printf("\tCPU %d: %llu\n", perch_set_target(set, k)->cpu,
			       (unsigned long long)counts[i * targets + k].scaled);
	}
}

static int count_for_100_ms(struct perch_set *set, struct perch_error *err)
{
	const struct timespec duration = { .tv_nsec = 100000000 };
	size_t nr = perch_set_events(set) * perch_set_targets(set);
	struct perch_count *counts = calloc(nr, sizeof(*counts));
	int rc = counts ? perch_set_enable(set, err)
			: perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory");

	if (!rc) {
		nanosleep(&duration, NULL);
		rc = perch_set_read(set, counts, nr, err);
	}
	if (!rc)
		print_counts(set, counts);
	free(counts);
	return rc;
}

int main(void)
{
	struct perch_events events = { 0 };
	const struct perch_options options = { .may = PERCH_MAY_SKIP };
	struct perch_set *set = NULL;
	struct perch_error err;
	int rc;

	/* without hardware counters cycles are skipped, and the reason is printed */
	rc = perch_events_parse(&events, "{context-switches,page-faults},cpu-clock,cycles", NULL,
				&err);
	if (!rc)
		rc = perch_set_open(&set, &events, &perch_all_cpus, &options, &err);
	if (!rc)
		rc = count_for_100_ms(set, &err);
	if (rc)
		perch_error_print(stderr, &err);
	perch_set_close(set);
	perch_events_clear(&events);
	/* 77: the test is skipped, unprivileged users may not measure CPUs */
	return rc == -EACCES ? 77 : rc != 0;
}
