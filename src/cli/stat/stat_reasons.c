/* SPDX-License-Identifier: MIT */
/* Below the table: why events were not counted, and how the open of others was changed. */
#include <string.h>

#include "event_options.h"
#include "stat.h"

static const struct perch_set_event *get_opened(const struct stat_job *stat, size_t line)
{
	return perch_set_get_event(stat->part[stat->line[line].part].set, stat->line[line].index);
}

static bool has_reason(const struct stat_job *stat, size_t line)
{
	const struct perch_set_event *event = get_opened(stat, line);

	return event->skipped && event->reason;
}

static bool same_reason(const struct stat_job *stat, size_t one, size_t other)
{
	const struct perch_error *a = get_opened(stat, one)->reason,
				 *b = get_opened(stat, other)->reason;

	return a && b && !strcmp(a->message, b->message) && !strcmp(a->remedy, b->remedy);
}

static bool named_before(const struct stat_job *stat, size_t from, size_t line)
{
	for (size_t i = from; i < line; i++)
		if (same_reason(stat, i, line) &&
		    !strcmp(stat->line[i].name, stat->line[line].name))
			return true;
	return false;
}

/* Prints each reason once, with its events. */
static bool print_skipped(const struct stat_job *stat, FILE *out)
{
	struct perch_error replaced;
	bool any = false;

	for (size_t i = 0; i < stat->nr_lines; i++) {
		size_t first = 0;

		if (!has_reason(stat, i))
			continue;
		while (!same_reason(stat, first, i))
			first++;
		if (first < i)
			continue;
		fprintf(out, " %s", stat->line[i].name);
		for (size_t k = i + 1; k < stat->nr_lines; k++)
			if (same_reason(stat, i, k) && !named_before(stat, i, k))
				fprintf(out, ", %s", stat->line[k].name);
		fputs(": ", out);
		perch_error_print(out, cli_replace_remedy(get_opened(stat, i)->reason, &replaced));
		any = true;
	}
	return any;
}

/* Prints the lines for which test is true, and a sentence about them. */
static bool print_list(const struct stat_job *stat, bool (*test)(const struct perch_set_event *),
		       const char *sentence, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < stat->nr_lines; i++) {
		if (!test(get_opened(stat, i)))
			continue;
		fprintf(out, "%s%s", any ? ", " : " ", stat->line[i].name);
		any = true;
	}
	if (any)
		fprintf(out, ": %s\n", sentence);
	return any;
}

static bool is_broken_group(const struct perch_set_event *event)
{
	return event->broken && !event->skipped;
}

static bool has_bpf_modifier(const struct perch_set_event *event)
{
	return event->event.bpf_counter && !event->skipped;
}

/* Their count is always 0. */
static bool excludes_its_kernel(const struct perch_set_event *event)
{
	return !event->skipped && event->attr.exclude_kernel &&
	       perch_event_is_kernel_only(&event->event, NULL);
}

static bool print_missing_features(const struct stat_job *stat, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < stat->nr_lines; i++) {
		char parts[256];

		if (!get_opened(stat, i)->missing_features)
			continue;
		perch_format_attr_features(get_opened(stat, i)->missing_features, parts,
					   sizeof(parts));
		fprintf(out, " %s: opened without %s, which this kernel does not support.\n",
			stat->line[i].name, parts);
		any = true;
	}
	return any;
}

/*
 * The time in which the events of a program are enabled is its CPU time, with that of its children.
 * If it is far less, the kernel has removed them, or children run without the program. With -I the
 * counts are those of the last interval.
 */
static bool print_removed_events(const struct stat_job *stat, FILE *out)
{
	double used = stat->user_seconds + stat->sys_seconds, most = 0;

	if (!stat->argv || cli_target_has_tasks(&stat->options.target) ||
	    cli_target_system_wide(&stat->options.target) || stat->options.repeat != 1 ||
	    stat->options.no_inherit || stat->options.delay_ms || stat->options.control ||
	    stat->options.interval_ms)
		return false;
	for (size_t i = 0; i < stat->nr_lines; i++)
		if (stat->nr_groups && stat->line[i].cell[0].enabled.mean > most)
			most = stat->line[i].cell[0].enabled.mean;
	most /= 1e9;
	/* by much more than clocks differ; 0 is an event that was never enabled */
	if (!most || used < 2 * most + 0.01)
		return false;
	fprintf(out,
		" The events counted %.3f of %.3f s of CPU time: the kernel removes the events of a "
		"process when it executes a program that is set-user-ID or set-group-ID, or that this "
		"user may not read. Count all CPUs (-a), or as the user as which the program runs.\n",
		most, used);
	return true;
}

void stat_print_reasons(const struct stat_job *stat, FILE *out)
{
	bool any;

	for (size_t i = 0; i < stat->nr_parts; i++)
		if (!stat->part[i].set)
			return; /* a signal arrived while the events of the last run were opened */
	any = print_skipped(stat, out);
	any |= print_list(
		stat, is_broken_group,
		"the weak group (W) did not fit the PMU: its events were counted one by one.", out);
	any |= print_list(
		stat, has_bpf_modifier,
		"the modifier b is ignored: perch opens the event itself, without a BPF program.",
		out);
	any |= print_list(
		stat, excludes_its_kernel,
		"the event occurs only in the kernel, so that its count in user space (u) is always 0.",
		out);
	any |= print_missing_features(stat, out);
	any |= print_removed_events(stat, out);
	if (any)
		fputc('\n', out);
}
