/* SPDX-License-Identifier: MIT */
/* The rows of a group of events. */
#define _GNU_SOURCE /* qsort_r */
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "report_group.h"

/* The rows of one event, sorted by the columns that group samples. */
struct group_source {
	const struct perch_row *row;
	size_t nr, next;
};

struct order {
	const struct report *report;
	struct perch_profile *profile;
	const struct report_group *group;
	size_t first; /* the event that sorts first */
};

size_t report_group_events(const struct report *report, const struct perch_file_event *events,
			   size_t at, size_t nr)
{
	bool groups = false;

	if (report->no_group || report->blocks)
		return 1;
	if (events[at].members > 1)
		return events[at].members <= nr ? events[at].members : nr;
	/* as in perf: --group makes a group of all events if there is no other one */
	for (size_t i = 0; i < at + nr; i++)
		groups |= events[i].members > 1;
	return report->group && !groups ? nr : 1;
}

static int compare_keys(const struct report *report, struct perch_profile *profile,
			const struct perch_row *a, const struct perch_row *b)
{
	int rc = 0;

	for (size_t i = 0; i < report->keys.nr && !rc; i++)
		rc = perch_profile_compare(profile, a, b, report->keys.column[i]);
	return rc;
}

/* Returns the first of the sources' next rows, or NULL at their ends. */
static const struct perch_row *first_row(const struct report *report, struct perch_profile *profile,
					 const struct group_source *source, size_t nr)
{
	const struct perch_row *first = NULL;

	for (size_t i = 0; i < nr; i++) {
		const struct perch_row *row;

		if (source[i].next == source[i].nr)
			continue;
		row = &source[i].row[source[i].next];
		if (!first || compare_keys(report, profile, row, first) < 0)
			first = row;
	}
	return first;
}

/* Makes the rows of the group in the order of the columns that group samples. */
static void merge_sources(struct report_group *group, const struct report *report,
			  struct perch_profile *profile, struct group_source *source)
{
	const struct perch_row *first;

	while ((first = first_row(report, profile, source, group->nr))) {
		const struct perch_row **part = &group->part[group->nr_rows * group->nr];
		struct perch_row *row = &group->row[group->nr_rows++];

		*row = *first;
		for (size_t i = 0; i < group->nr; i++) {
			const struct perch_row *next;

			if (source[i].next == source[i].nr)
				continue;
			next = &source[i].row[source[i].next];
			if (next != first && compare_keys(report, profile, next, first))
				continue;
			part[i] = next;
			source[i].next++;
		}
		if (part[0])
			continue;
		row->self = row->children = row->samples = row->height = row->system = row->user =
			row->guest_system = row->guest_user = 0;
		row->latency = NULL;
	}
}

uint64_t report_group_value(const struct report_group *group, struct perch_profile *profile,
			    const struct perch_row *row, size_t event,
			    const struct perch_column *column)
{
	const struct perch_row *part = group->part[(row - group->row) * group->nr + event];

	return part ? perch_profile_value(profile, part, column) : 0;
}

/* Compares what an event has in two rows, for the larger value first. */
static int compare_values(const struct order *order, const struct perch_row *a,
			  const struct perch_row *b, size_t event,
			  const struct perch_column *column)
{
	uint64_t left = report_group_value(order->group, order->profile, a, event, column);
	uint64_t right = report_group_value(order->group, order->profile, b, event, column);

	return (left < right) - (left > right);
}

/* As in perf: by one event, then by the others from the second one on. */
static int compare_sums(const struct order *order, const struct perch_row *a,
			const struct perch_row *b, const struct perch_column *column)
{
	int rc = compare_values(order, a, b, order->first, column);

	for (size_t i = 1; i < order->group->nr && !rc; i++)
		if (i != order->first)
			rc = compare_values(order, a, b, i, column);
	/* of functions with the same samples, the caller comes first */
	if (!rc && !strcmp(column->name, "overhead_children"))
		rc = (a->height < b->height) - (a->height > b->height);
	return rc;
}

static size_t sorting_event(const struct report_group *group, const struct report *report)
{
	return report->group_sort < group->nr ? report->group_sort : 0;
}

int report_group_compare(const struct report_group *group, const struct report *report,
			 struct perch_profile *profile, const struct perch_row *a,
			 const struct perch_row *b, const struct perch_column *column)
{
	const struct order order = { report, profile, group, sorting_event(group, report) };

	return compare_sums(&order, a, b, column);
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct order *order = context;
	const struct perch_row *a = &order->group->row[*(const size_t *)left];
	const struct perch_row *b = &order->group->row[*(const size_t *)right];
	int rc = 0;

	for (size_t i = 0; i < order->report->by.nr && !rc; i++) {
		const struct perch_column *column = order->report->by.column[i];

		rc = column->scope == PERCH_COLUMN_PERIOD
			     ? compare_sums(order, a, b, column)
			     : perch_profile_compare(order->profile, a, b, column);
	}
	return rc ? rc : (a > b) - (a < b); /* in the order of the columns that group samples */
}

/* Sorts the rows as the options say. */
static int sort_rows(struct report_group *group, const struct report *report,
		     struct perch_profile *profile)
{
	struct order order = { report, profile, group, sorting_event(group, report) };
	size_t *sorted = calloc(group->nr_rows + 1, sizeof(*sorted));
	struct perch_row *row = calloc(group->nr_rows + 1, sizeof(*row));
	const struct perch_row **part = calloc(group->nr_rows + 1, group->nr * sizeof(*part));
	bool good = sorted && row && part;

	for (size_t i = 0; good && i < group->nr_rows; i++)
		sorted[i] = i;
	if (good)
		qsort_r(sorted, group->nr_rows, sizeof(*sorted), compare_rows, &order);
	for (size_t i = 0; good && i < group->nr_rows; i++) {
		row[i] = group->row[sorted[i]];
		memcpy(&part[i * group->nr], &group->part[sorted[i] * group->nr],
		       group->nr * sizeof(*part));
	}
	free(sorted);
	if (!good) {
		free(row);
		free(part);
		return cli_no_memory(report->input.command);
	}
	free(group->row);
	free(group->part);
	group->row = row;
	group->part = part;
	return 0;
}

/* Reads the rows of each event, and adds up their number. */
static int open_sources(struct group_source *source, const struct report_group *group,
			const struct report *report, struct perch_profile *profile, size_t *nr_rows)
{
	const struct perch_rows_options options = {
		.by = report->keys.column,
		.nr_by = report->keys.nr,
		.children = report->children,
		.named_callers = report->filter.resolved,
	};
	struct perch_error err;

	for (size_t i = 0; i < group->nr; i++) {
		group->total[i] = report_total(report, profile, group->first + i);
		if (perch_profile_rows(profile, group->first + i, &options, &source[i].row,
				       &source[i].nr, &err))
			return cli_error(report->input.command, &err);
		*nr_rows += source[i].nr;
	}
	return 0;
}

int report_group_open(struct report_group *group, const struct report *report,
		      struct perch_profile *profile, unsigned first, size_t nr)
{
	struct group_source *source = calloc(nr, sizeof(*source));
	size_t nr_rows = 0;
	int status;

	*group = (struct report_group){ .first = first, .nr = nr };
	group->total = calloc(nr, sizeof(*group->total));
	status = source && group->total ? open_sources(source, group, report, profile, &nr_rows)
					: cli_no_memory(report->input.command);
	if (!status) {
		group->row = calloc(nr_rows + 1, sizeof(*group->row));
		group->part = calloc(nr_rows + 1, nr * sizeof(const struct perch_row *));
		status = group->row && group->part ? 0 : cli_no_memory(report->input.command);
	}
	if (!status) {
		merge_sources(group, report, profile, source);
		/* a hierarchy adds rows up in the order of their keys */
		status = report->hierarchy ? 0 : sort_rows(group, report, profile);
	}
	free(source);
	return status;
}

void report_group_close(struct report_group *group)
{
	free(group->total);
	free(group->row);
	free(group->part);
}
