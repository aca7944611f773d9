/* SPDX-License-Identifier: MIT */
/* The columns of -s and -F. */
#include <errno.h>
#include <string.h>

#include "names.h"
#include "options.h"
#include "report.h"

bool report_has_column(const struct report_list *list, const struct perch_column *column)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->column[i] == column)
			return true;
	return false;
}

static const struct perch_column *named(const char *name)
{
	return perch_column_find(name, strlen(name));
}

/* Adds a column once. */
static int add_to_list(const struct report *report, struct report_list *list,
		       const struct perch_column *column)
{
	if (!column || report_has_column(list, column))
		return 0;
	if (list->nr == REPORT_COLUMNS)
		return cli_usage_error(
			report->input.command,
			"at most %d columns are printed, and these are more; name fewer columns "
			"(-s EVENT.FIELD,EVENT.*)",
			REPORT_COLUMNS);
	list->column[list->nr++] = column;
	return 0;
}

/* True if a name of which perch_trace_columns_find() found nothing is no name of a tracepoint's
 * field, either. */
static bool is_no_column(const struct perch_error *err, const char *name, size_t length)
{
	return err->errnum == ENOENT && !memchr(name, '.', length) && !err->remedy[0];
}

/* True if a name is that of columns of tracepoints in the file. message: why it is not. */
static bool is_trace_column(const struct report *report, const char *name, size_t length,
			    char *message, size_t size)
{
	const struct perch_column *similar = perch_column_similar(name, length);
	const struct perch_column *const *columns;
	struct perch_error err;
	char clean[128];
	size_t nr;

	if (report && report->trace_columns &&
	    !perch_trace_columns_find(report->trace_columns, name, length, &columns, &nr, &err))
		return true;
	snprintf(clean, sizeof(clean), "%.*s", length < 100 ? (int)length : 100, name);
	if (!report || !report->trace_columns || is_no_column(&err, name, length))
		snprintf(message, size, "There is no column '%s'%s%s; perch-report(1) lists them",
			 clean, similar ? ", perhaps " : "", similar ? similar->name : "");
	else
		snprintf(message, size, "%s", err.message);
	return false;
}

bool report_are_columns(const struct report *report, const char *names, char *message, size_t size)
{
	for (const char *at = names + (names[0] == '+');;) {
		size_t length = strcspn(at, ", ");

		if (!perch_column_find(at, length) &&
		    !is_trace_column(report, at, length, message, size))
			return false;
		at += length;
		if (!*at)
			return true;
		at += 1 + strspn(at + 1, " ");
	}
}

static int refuse_column(const struct report *report, const char *option, const char *name,
			 size_t length)
{
	const struct perch_column *similar = perch_column_similar(name, length), *columns;
	const char *list[128];
	size_t nr;

	columns = perch_columns(&nr);
	for (size_t i = 0; i < nr && i < CLI_NR(list); i++)
		list[i] = columns[i].name;
	return cli_refuse_name(report->input.command, option,
			       &(struct cli_names){ "column", similar ? similar->name : NULL, list,
						    nr < CLI_NR(list) ? nr : CLI_NR(list) },
			       name, length);
}

/*
 * Adds the columns of a name that is none of the library: of tracepoints. They are known when the
 * file is open; until then the name is left out.
 */
static int add_trace_columns(const struct report *report, struct report_list *list,
			     const char *option, const char *name, size_t length)
{
	const struct perch_column *const *columns;
	char raw[256];
	struct perch_error err;
	int status = 0;
	size_t nr;

	if (!report->trace_columns)
		return report->input.session || !length
			       ? refuse_column(report, option, name, length)
			       : 0;
	if (report->raw_trace && length < sizeof(raw) - 5 && !memchr(name, '/', length)) {
		length = (size_t)snprintf(raw, sizeof(raw), "%.*s/raw", (int)length, name);
		name = raw;
	}
	if (perch_trace_columns_find(report->trace_columns, name, length, &columns, &nr, &err)) {
		if (err.kind == PERCH_ERROR_NO_MEMORY)
			return cli_error(report->input.command, &err);
		if (is_no_column(&err, name, length))
			return refuse_column(report, option, name, length);
		return cli_usage_error(report->input.command, "%s: %s%s%s", option, err.message,
				       err.remedy[0] ? "; " : "", err.remedy);
	}
	for (size_t i = 0; i < nr && !status; i++)
		status = add_to_list(report, list, columns[i]);
	return status;
}

/* Adds the columns of a list. As in perf, a comma may be first, last or double. */
static int add_names(const struct report *report, struct report_list *list, const char *option,
		     const char *names)
{
	bool empty = !names[strspn(names, ", ")];
	int status = 0;

	for (const char *at = names;;) {
		size_t length = strcspn(at, ", ");
		const struct perch_column *column = perch_column_find(at, length);

		if (length || empty)
			status = column ? add_to_list(report, list, column)
					: add_trace_columns(report, list, option, at, length);
		if (status)
			return status;
		at += length;
		if (!*at)
			return 0;
		at += 1 + strspn(at + 1, " ");
	}
}

/* "+KEYS" adds to the default. */
static int add_option(const struct report *report, struct report_list *list, const char *option,
		      const char *names)
{
	return add_names(report, list, option, names + (names[0] == '+'));
}

/* Adds the columns of -s, after the default ones if it adds to them. */
static int add_sort(const struct report *report, struct report_list *list)
{
	bool default_keys = !report->sort || report->sort[0] == '+';
	int status = 0;

	if (default_keys && (!report->output || report->output[0] == '+' || report->sort))
		status = add_names(report, list, "-s", report_default_keys(report));
	if (!status && report->sort)
		status = add_option(report, list, "-s", report->sort);
	return status;
}

int report_set_keys(struct report *report)
{
	struct report_list all = { .nr = 0 };
	int status = add_sort(report, &all);

	if (!status && report->output)
		status = add_option(report, &all, "-F", report->output);
	report->keys.nr = 0;
	for (size_t i = 0; i < all.nr && !status; i++)
		if (all.column[i]->scope != PERCH_COLUMN_PERIOD)
			status = add_to_list(report, &report->keys, all.column[i]);
	if (!status && report->parent)
		status = add_to_list(report, &report->keys, named("parent"));
	return status;
}

bool report_chooses_columns(const struct report *report)
{
	return report->output && report->output[0] != '+';
}

/* Adds the shares of overhead and of latency. */
static int add_shares(const struct report *report, struct report_list *columns,
		      const struct report_shares *shares, const char *overhead, const char *latency)
{
	int status = 0;

	if (shares->latency && shares->latency_first)
		status = add_to_list(report, columns, named(latency));
	if (!status && shares->overhead)
		status = add_to_list(report, columns, named(overhead));
	if (!status && shares->latency)
		status = add_to_list(report, columns, named(latency));
	return status;
}

/* The sums that are printed by default. */
static int add_sums(struct report *report)
{
	const struct report_shares shares = report_default_shares(report);
	struct report_list *columns = &report->columns;
	int status = 0;

	if (report->children)
		status = add_shares(report, columns, &shares, "overhead_children",
				    "latency_children");
	if (!status)
		status = add_shares(report, columns, &shares, "overhead", "latency");
	if (!status && report->show_cpu)
		status = add_names(report, columns, "--show-cpu-utilization",
				   "overhead_sys,overhead_us");
	if (!status && report->show_samples)
		status = add_to_list(report, columns, named("sample"));
	if (!status && report->show_period)
		status = add_to_list(report, columns, named("period"));
	return status;
}

static int add_list(const struct report *report, struct report_list *list,
		    const struct report_list *more)
{
	int status = 0;

	for (size_t i = 0; i < more->nr && !status; i++)
		status = add_to_list(report, list, more->column[i]);
	return status;
}

/* Adds the sums among the names of -s. */
static int add_sorting_sums(const struct report *report, struct report_list *list)
{
	struct report_list named_columns = { .nr = 0 };
	int status = report->sort ? add_option(report, &named_columns, "-s", report->sort) : 0;

	for (size_t i = 0; i < named_columns.nr && !status; i++)
		if (named_columns.column[i]->scope == PERCH_COLUMN_PERIOD)
			status = add_to_list(report, list, named_columns.column[i]);
	return status;
}

/*
 * As in perf: rows are sorted by the share and the columns of -s; with -F only by the columns of
 * -s, and if there are none by those of -F.
 */
static int set_columns(struct report *report)
{
	bool only = report_chooses_columns(report);
	struct report_list *by = &report->by;
	int status = 0;

	report->columns.nr = by->nr = 0;
	if (only) {
		status = add_names(report, &report->columns, "-F", report->output);
		report->children =
			report_has_column(&report->columns, named("overhead_children")) ||
			report_has_column(&report->columns, named("latency_children"));
		if (!status && report->sort)
			status = add_option(report, by, "-s", report->sort);
		else if (!status)
			status = add_list(report, by, &report->columns);
	} else {
		status = add_sums(report);
		if (!status && report->output)
			status = add_option(report, &report->columns, "-F", report->output);
		if (!status)
			status = add_to_list(report, by, report->columns.column[0]);
		if (!status)
			status = add_sorting_sums(report, by);
	}
	/* those of -s in their order, after the default sums */
	if (!status)
		status = add_sort(report, &report->columns);
	return status ? status : add_list(report, &report->columns, &report->keys);
}

/* The only word of a filter for the column, or NULL. */
static const char *only_word(const struct report *report, const struct perch_column *column)
{
	const struct perch_filter_options *options = &report->filter.options;
	const char *words = NULL;

	/* the filter selects samples: callers have other functions and DSOs */
	if (report->children && column->scope == PERCH_COLUMN_FRAME)
		return NULL;
	if (column == named("comm"))
		words = options->comms;
	else if (column == named("dso"))
		words = options->dsos;
	else if (column == named("sym") && !report->other_functions)
		words = options->symbols;
	return words && !strchr(words, ',') && strncmp(words, "file://", 7) ? words : NULL;
}

/* As in perf: a column that has the same text in all rows is named above the table. */
static void hide_constant_columns(struct report *report)
{
	struct report_list left = { .nr = 0 };
	size_t keys = 0;

	report->hidden.nr = 0;
	for (size_t i = 0; i < report->columns.nr; i++) {
		const struct perch_column *column = report->columns.column[i];
		bool hidden = only_word(report, column);
		struct report_list *list = hidden ? &report->hidden : &left;

		list->column[list->nr++] = column;
		keys += !hidden && column->scope != PERCH_COLUMN_PERIOD;
	}
	if (report->hierarchy) /* as in perf: it is named, and is a level */
		return;
	if (keys && !report->json)
		report->columns = left;
	else
		report->hidden.nr = 0;
}

/* Moves the sums of a hierarchy before its levels, which are one column. */
static void put_sums_first(struct report_list *columns)
{
	struct report_list sorted = { .nr = 0 };

	for (int sums = 1; sums >= 0; sums--)
		for (size_t i = 0; i < columns->nr; i++)
			if ((columns->column[i]->scope == PERCH_COLUMN_PERIOD) == sums)
				sorted.column[sorted.nr++] = columns->column[i];
	*columns = sorted;
}

/* With -F alone the rows of a hierarchy are sorted by its first column, which must be a sum. */
static int check_hierarchy(const struct report *report)
{
	if (!report->keys.nr)
		return cli_usage_error(report->input.command,
				       "--hierarchy: -s has no column to group by");
	if (!report_chooses_columns(report))
		return 0;
	if (report->sort)
		return cli_usage_error(report->input.command,
				       "--hierarchy is possible with -F or with -s "
				       "and -F +COLUMNS, not with -s and -F");
	if (report->columns.column[0]->scope != PERCH_COLUMN_PERIOD)
		return cli_usage_error(
			report->input.command,
			"--hierarchy: -F begins with '%s', and must begin with a sum, "
			"as overhead or sample",
			report->columns.column[0]->name);
	return 0;
}

/* Options about a column that is not there have no effect. */
static int check_time(const struct report *report)
{
	if ((!report->time_quantum && !report->ns) ||
	    report_has_column(&report->columns, named("time")))
		return 0;
	return cli_usage_error(report->input.command, "%s is about the column time: add -s time",
			       report->ns ? "--ns" : "--time-quantum");
}

int report_set_columns(struct report *report)
{
	int status = set_columns(report);

	if (!status)
		status = check_time(report);

	/* names of tracepoints' fields are known when the file is open */
	if (!status && report->hierarchy && report->input.session)
		status = check_hierarchy(report);
	if (!status && report->hierarchy)
		put_sums_first(&report->columns);
	report->every = report->columns;
	if (!status)
		hide_constant_columns(report);
	return status;
}

void report_put_hidden(FILE *out, const struct report *report)
{
	for (size_t i = 0; i < report->hidden.nr; i++) {
		const struct perch_column *column = report->hidden.column[i];

		fprintf(out, "# %s: ", column->alias ? column->alias : column->name);
		cli_put_clean(out, only_word(report, column));
		putc('\n', out);
	}
}
