/* SPDX-License-Identifier: MIT */
/*
 * --hierarchy: the rows of a profile as a tree. The columns are its levels, and a row of a level is
 * the sum of the profile's rows with equal values in this column and in those before it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "options.h"
#include "report_group.h"

#define INDENT 3 /* of a level */
#define NONE   SIZE_MAX

/* Rows of the profile with equal values down to a level. */
struct hierarchy_group {
	struct perch_row row; /* one of them, with the sums of all */
	struct perch_row_latency latency;
	size_t level;
	size_t first_child, next; /* NONE: none */
};

struct hierarchy {
	struct report_table *table;
	struct report_list levels, sums; /* of the columns */
	struct hierarchy_group *group;
	size_t nr, capacity;
	size_t top; /* the first group of level 0 */
	/* of a group of events: its rows; NULL: the rows are those of one event */
	const struct report_group *rows;
	/* its groups with the sums of each event, by group and event */
	struct report_group sums_of;
	struct sum {
		struct perch_row row;
		struct perch_row_latency latency;
	} * sum;
	size_t sum_capacity;
};

static void add_sums(struct perch_row *sum, struct perch_row_latency *latency,
		     const struct perch_row *row)
{
	sum->self += row->self;
	sum->children += row->children;
	sum->samples += row->samples;
	sum->system += row->system;
	sum->user += row->user;
	sum->guest_system += row->guest_system;
	sum->guest_user += row->guest_user;
	if (row->latency) {
		latency->self += row->latency->self;
		latency->children += row->latency->children;
	}
}

/* Returns the first level at which two rows differ. */
static size_t first_difference(const struct hierarchy *tree, const struct perch_row *a,
			       const struct perch_row *b)
{
	size_t level = 0;

	while (level < tree->levels.nr &&
	       !perch_profile_compare(tree->table->profile, a, b, tree->levels.column[level]))
		level++;
	return level;
}

static size_t add_group(struct hierarchy *tree, const struct perch_row *row, size_t level)
{
	struct hierarchy_group *group = PERCH__ARRAY_APPEND(tree->group, tree->nr, tree->capacity);

	if (!group)
		return NONE;
	*group = (struct hierarchy_group){ *row, { 0 }, level, NONE, NONE };
	if (row->latency)
		group->latency = *row->latency;
	return tree->nr - 1;
}

/* Adds what each event has in a row to a group. 0 or -1. */
static int add_parts(struct hierarchy *tree, size_t group, size_t row)
{
	size_t nr = tree->rows ? tree->rows->nr : 0;

	if (nr && PERCH__ARRAY_RESERVE_ZEROED(tree->sum, tree->sum_capacity, (group + 1) * nr))
		return -1;
	for (size_t i = 0; i < nr; i++) {
		const struct perch_row *part = tree->rows->part[row * nr + i];

		if (part)
			add_sums(&tree->sum[group * nr + i].row, &tree->sum[group * nr + i].latency,
				 part);
	}
	return 0;
}

/* Sets the latencies of groups, which stay where they are. Makes rows of them, for a table of a
 * group of events. 0 or -1. */
static int set_sums(struct hierarchy *tree)
{
	struct report_group *sums = &tree->sums_of;
	size_t nr = tree->rows ? tree->rows->nr : 0;

	for (size_t i = 0; i < tree->nr; i++)
		tree->group[i].row.latency = &tree->group[i].latency;
	if (!nr)
		return 0;
	*sums = (struct report_group){ .first = tree->rows->first,
				       .nr = nr,
				       .total = tree->rows->total,
				       .nr_rows = tree->nr };
	sums->row = calloc(tree->nr + 1, sizeof(*sums->row));
	sums->part = calloc(tree->nr + 1, nr * sizeof(*sums->part));
	if (!sums->row || !sums->part)
		return -1;
	for (size_t i = 0; i < tree->nr; i++)
		sums->row[i] = tree->group[i].row;
	for (size_t i = 0; i < tree->nr * nr; i++) {
		tree->sum[i].row.latency = &tree->sum[i].latency;
		sums->part[i] = &tree->sum[i].row;
	}
	tree->table->group = sums;
	return 0;
}

/* Makes the groups of rows that are sorted by the levels. 0 or -1. */
static int add_rows(struct hierarchy *tree, const struct perch_row *rows, size_t nr)
{
	size_t last[REPORT_COLUMNS] = { 0 }; /* by level, the newest group */

	for (size_t i = 0; i < nr; i++) {
		size_t differ = i ? first_difference(tree, &rows[i - 1], &rows[i]) : 0;

		for (size_t level = 0; level < tree->levels.nr; level++) {
			size_t at;

			if (level < differ) {
				add_sums(&tree->group[last[level]].row,
					 &tree->group[last[level]].latency, &rows[i]);
				if (add_parts(tree, last[level], i))
					return -1;
				continue;
			}
			at = add_group(tree, &rows[i], level);
			if (at == NONE || add_parts(tree, at, i))
				return -1;
			/* below a new group, the first one is a child, others follow */
			if (level > differ || !i)
				*(level ? &tree->group[last[level - 1]].first_child : &tree->top) =
					at;
			else
				tree->group[last[level]].next = at;
			last[level] = at;
		}
	}
	return 0;
}

/* Returns the row of a group, of which the table has the sums. */
static const struct perch_row *row_of(const struct hierarchy *tree, size_t group)
{
	return tree->rows ? &tree->sums_of.row[group] : &tree->group[group].row;
}

/* The column that sorts the groups of a level: the first sum. */
static bool is_larger(const struct hierarchy *tree, size_t a, size_t b)
{
	const struct perch_column *column = tree->sums.column[0];
	struct perch_profile *profile = tree->table->profile;

	if (tree->rows)
		return report_group_compare(&tree->sums_of, tree->table->report, profile,
					    row_of(tree, a), row_of(tree, b), column) < 0;
	return perch_profile_value(profile, &tree->group[a].row, column) >
	       perch_profile_value(profile, &tree->group[b].row, column);
}

/* Merges two sorted lists. Of equal groups, those of the first list are first. */
static size_t merge_rows(struct hierarchy *tree, size_t a, size_t b)
{
	size_t first = NONE, *end = &first;

	while (a != NONE && b != NONE) {
		size_t *from = is_larger(tree, b, a) ? &b : &a;

		*end = *from;
		end = &tree->group[*from].next;
		*from = *end;
	}
	*end = a != NONE ? a : b;
	return first;
}

/* Sorts a list of nr groups, the largest first. *rest is the group behind the list. */
static size_t sort_rows(struct hierarchy *tree, size_t first, size_t nr, size_t *rest)
{
	size_t left, second;

	if (nr == 1) {
		*rest = tree->group[first].next;
		tree->group[first].next = NONE;
		return first;
	}
	left = sort_rows(tree, first, nr / 2, &second);
	second = sort_rows(tree, second, nr - nr / 2, rest);
	return merge_rows(tree, left, second);
}

static size_t sort_list(struct hierarchy *tree, size_t first)
{
	size_t nr = 0, rest;

	for (size_t at = first; at != NONE; at = tree->group[at].next)
		nr++;
	return nr ? sort_rows(tree, first, nr, &rest) : NONE;
}

/* ---- printing ---- */

static void put_spaces(const struct hierarchy *tree, size_t nr)
{
	fprintf(tree->table->out, "%*s", (int)nr, "");
}

/* The space between the sums of level 0 and its text: sums of lower levels are shifted into it. */
static size_t gap_of(const struct hierarchy *tree)
{
	return (tree->levels.nr - 1) * INDENT;
}

/* Characters of the sums of a line, with spaces between and before them. */
static size_t width_of_sums(const struct hierarchy *tree)
{
	size_t width = 0;

	for (size_t at = 0; at < tree->sums.nr; at++)
		width += 2 + tree->table->width[at];
	return width;
}

/* The width of the column of texts, whose titles have `width` characters. */
static size_t width_of_texts(const struct hierarchy *tree, size_t width)
{
	char buffer[PERCH_CELL_BYTES];

	for (size_t i = 0; i < tree->nr; i++) {
		const struct hierarchy_group *group = &tree->group[i];
		const char *text = perch_profile_cell(tree->table->profile, &group->row,
						      tree->levels.column[group->level], buffer,
						      sizeof(buffer));
		size_t used = group->level * INDENT + report_columns_of(text);

		width = used > width ? used : width;
	}
	return width;
}

static void put_dots(const struct hierarchy *tree, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		putc('.', tree->table->out);
}

static void put_titles(const struct hierarchy *tree)
{
	const char *separator = tree->table->report->separator;
	FILE *out = tree->table->out;
	size_t width = 0;

	fputs("# ", out);
	put_spaces(tree, separator ? 0 : gap_of(tree));
	for (size_t at = 0; at < tree->sums.nr; at++) {
		fputs(at ? separator ? separator : "  " : "", out);
		report_put_title(tree->table, at);
	}
	fputs(separator ? separator : "  ", out);
	for (size_t level = 0; level < tree->levels.nr; level++) {
		const char *title = tree->levels.column[level]->header;

		title += strspn(title, " ");
		fprintf(out, "%s%s", level ? " / " : "", title);
		width += (level ? 3 : 0) + strlen(title);
	}
	putc('\n', out);
	if (separator)
		return;
	fputs("# ", out);
	put_dots(tree, gap_of(tree) + width_of_sums(tree) - 2);
	put_spaces(tree, 2);
	put_dots(tree, width_of_texts(tree, width));
	fputs("\n#\n", out);
}

static void put_group(const struct hierarchy *tree, size_t at_group)
{
	const struct hierarchy_group *group = &tree->group[at_group];
	const char *separator = tree->table->report->separator;
	size_t indent = group->level * INDENT;

	put_spaces(tree, indent);
	for (size_t at = 0; at < tree->sums.nr; at++) {
		fputs(at && separator ? separator : "  ", tree->table->out);
		report_put_cell(tree->table, at, row_of(tree, at_group));
	}
	if (separator)
		fputs(separator, tree->table->out);
	else
		put_spaces(tree, gap_of(tree) + 2);
	report_put_cell(tree->table, tree->sums.nr + group->level, &group->row);
	putc('\n', tree->table->out);
}

/* As in perf: says that all groups below a group are too small. */
static void put_no_entry(const struct hierarchy *tree, const struct hierarchy_group *group)
{
	const struct report *report = tree->table->report;
	size_t at = group->first_child;

	while (at != NONE && report_is_small(report, &tree->group[at].row, tree->table->total))
		at = tree->group[at].next;
	if (at != NONE)
		return;
	put_spaces(tree, (group->level + 1) * INDENT +
				 (report->separator ? 2 : 2 + gap_of(tree) + width_of_sums(tree)));
	fprintf(tree->table->out, "no entry >= %.2f%%\n", report->percent_limit);
}

/* Prints groups from `at` on, each with those below it. Returns the exit status. */
static int put_groups(struct hierarchy *tree, size_t at)
{
	const struct report_table *table = tree->table;
	const struct report *report = table->report;
	int status = 0;

	for (at = sort_list(tree, at); at != NONE && !status; at = tree->group[at].next) {
		const struct hierarchy_group *group = &tree->group[at];

		if (report_is_small(report, &group->row, table->total))
			continue;
		put_group(tree, at);
		if (group->level + 1 < tree->levels.nr) {
			put_no_entry(tree, group);
			status = put_groups(tree, group->first_child);
		} else if (report->graph.shape != SHAPE_NONE) {
			status = report_print_graph(table->out, report, table->profile, &group->row,
						    table->total);
		}
	}
	return status;
}

int report_print_hierarchy(struct report_table *table, unsigned event)
{
	const struct report_list *columns = &table->report->columns;
	struct hierarchy tree = { .table = table, .top = NONE };
	struct perch_rows_options options = { .nr_by = 0 };
	const struct perch_row *rows;
	struct perch_error err;
	int status;
	size_t nr;

	for (size_t i = 0; i < columns->nr; i++) {
		struct report_list *list = columns->column[i]->scope == PERCH_COLUMN_PERIOD
						   ? &tree.sums
						   : &tree.levels;

		list->column[list->nr++] = columns->column[i];
	}
	options.by = tree.levels.column;
	options.nr_by = tree.levels.nr;
	tree.rows = table->group;
	if (table->group) {
		rows = table->group->row;
		nr = table->group->nr_rows;
	} else if (perch_profile_rows(table->profile, event, &options, &rows, &nr, &err)) {
		return cli_error(table->report->input.command, &err);
	}
	report_set_widths(table, NULL, 0);
	/* texts of levels are not padded */
	for (size_t level = 0; level < tree.levels.nr; level++)
		table->width[tree.sums.nr + level] = 0;
	status = add_rows(&tree, rows, nr) || set_sums(&tree)
			 ? cli_no_memory(table->report->input.command)
			 : 0;
	if (!status && !table->report->quiet)
		put_titles(&tree);
	if (!status)
		status = put_groups(&tree, tree.top);
	table->group = tree.rows;
	free(tree.sums_of.row);
	free(tree.sums_of.part);
	free(tree.sum);
	free(tree.group);
	return status;
}
