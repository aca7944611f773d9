/* SPDX-License-Identifier: MIT */
/* The options of a report that have an argument of their own form. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/edit_distance.h"
#include "color.h"
#include "options.h"
#include "terminal/pager.h"
#include "report.h"

/* ---- -g ---- */

/* True if a word is the start of a name, as perf takes it. */
static bool is(const char *word, size_t length, const char *name)
{
	return length && length <= strlen(name) && !strncmp(word, name, length);
}

static bool set_shape(struct report_graph *graph, const char *word, size_t length)
{
	static const struct {
		const char *name;
		enum report_shape shape;
	} shapes[] = { { "none", SHAPE_NONE },
		       { "graph", SHAPE_GRAPH },
		       { "flat", SHAPE_FLAT },
		       { "fractal", SHAPE_FRACTAL },
		       { "folded", SHAPE_FOLDED } };

	for (size_t i = 0; i < CLI_NR(shapes); i++)
		if (is(word, length, shapes[i].name)) {
			graph->shape = shapes[i].shape;
			return true;
		}
	return false;
}

static bool set_order(struct report_graph *graph, const char *word, size_t length)
{
	bool caller = is(word, length, "caller");

	if (!caller && !is(word, length, "callee"))
		return false;
	graph->order = caller ? PERCH_CALL_GRAPH_CALLER : PERCH_CALL_GRAPH_CALLEE;
	graph->order_set = true;
	return true;
}

static bool set_value(struct report_graph *graph, const char *word, size_t length)
{
	static const char *const names[] = { "percent", "period", "count" };

	for (size_t i = 0; i < CLI_NR(names); i++)
		if (is(word, length, names[i])) {
			graph->value = (enum report_value)i;
			return true;
		}
	return false;
}

static bool set_key(struct report_graph *graph, const char *word, size_t length)
{
	static const char *const names[] = { "function", "srcline", "address" };

	for (size_t i = 0; i < CLI_NR(names); i++)
		if (is(word, length, names[i])) {
			graph->key = (enum perch_call_graph_key)i;
			return true;
		}
	return false;
}

/* The first number is the limit, the second the number of branches. */
static bool set_number(struct report_graph *graph, const char *word, size_t length, int *numbers)
{
	double limit;
	char *end;

	if (word[0] < '0' || word[0] > '9')
		return false;
	if ((*numbers)++ == 0) {
		limit = strtod(word, &end);
		graph->limit = limit;
		return end == word + length && limit <= 100;
	}
	graph->max = strtoul(word, &end, 10);
	return end == word + length && *numbers == 2;
}

/* Returns the word of -g that differs in few characters, or NULL. */
static const char *similar_word(const char *word, size_t length)
{
	static const char *const words[] = { "graph",	"flat",	  "fractal",  "folded",	 "none",
					     "caller",	"callee", "function", "srcline", "address",
					     "percent", "period", "count",    "branch" };
	unsigned least = (unsigned)length / 2 < 3 ? (unsigned)length / 2 + 1 : 3;
	const char *similar = NULL;
	char wanted[32];

	snprintf(wanted, sizeof(wanted), "%.*s", (int)length, word);
	for (size_t i = 0; i < CLI_NR(words); i++) {
		unsigned distance = perch__edit_distance(wanted, words[i]);

		if (distance < least) {
			least = distance;
			similar = words[i];
		}
	}
	return similar;
}

static int refuse_word(const struct report *report, const char *word, size_t length)
{
	const char *similar = similar_word(word, length);

	return cli_usage_error(
		report->input.command,
		"no call graph '%.*s'%s%s: use graph, flat, fractal, folded or none; "
		"caller or callee; function, srcline or address; branch; percent, period or "
		"count; and two numbers: the least percentage of a branch, and the "
		"most branches",
		(int)length, word, similar ? ", perhaps " : "", similar ? similar : "");
}

int report_option_graph(void *value, const char *argument, bool negated)
{
	struct report *report = value;
	struct report_graph *graph = &report->graph;
	/* as in perf, -g alone is a graph from the callers */
	const char *at = argument ? argument : "graph,0.5,caller,function,percent";
	int numbers = 0;

	graph->shape = negated ? SHAPE_NONE : SHAPE_GRAPH;
	while (*at && !negated) {
		size_t length = strcspn(at, ",");

		if (is(at, length, "branch"))
			graph->branches = true;
		else if (length && !set_shape(graph, at, length) && !set_order(graph, at, length) &&
			 !set_value(graph, at, length) && !set_key(graph, at, length) &&
			 !set_number(graph, at, length, &numbers))
			return refuse_word(report, at, length);
		at += length + (at[length] == ',');
	}
	return 0;
}

int report_option_inverted(void *value, const char *argument, bool negated)
{
	struct report_graph *graph = &((struct report *)value)->graph;

	(void)argument;
	graph->order = negated ? PERCH_CALL_GRAPH_CALLEE : PERCH_CALL_GRAPH_CALLER;
	graph->order_set = true;
	return 0;
}

/* ---- others ---- */

int report_option_limit(void *value, const char *argument, bool negated)
{
	struct report *report = value;
	char *end;

	report->percent_limit = negated ? 0 : strtod(argument, &end);
	if (!negated && (end == argument || *end ||
			 !(report->percent_limit >= 0 && report->percent_limit <= 100)))
		return cli_usage_error(report->input.command,
				       "'%s' is not a percentage from 0 to 100", argument);
	report->graph.limit = negated ? 0.5 : report->percent_limit;
	return 0;
}

int report_option_percentage(void *value, const char *argument, bool negated)
{
	struct report *report = value;

	report->relative_set = true;
	report->relative = !negated && !strcmp(argument, "relative");
	if (!negated && !report->relative && strcmp(argument, "absolute"))
		return cli_usage_error(report->input.command,
				       "--percentage '%s': use relative or absolute", argument);
	return 0;
}

int report_option_quantum(void *value, const char *argument, bool negated)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	struct report *report = value;
	unsigned long number;
	char *end;

	report->time_quantum = 0;
	if (negated)
		return 0;
	number = strtoul(argument, &end, 10);
	for (size_t i = 0; i < CLI_NR(units); i++)
		if (end != argument && !strcmp(end, units[i].name) && number <= 1000000000)
			report->time_quantum = number * units[i].ns;
	if (!report->time_quantum)
		return cli_usage_error(
			report->input.command,
			"--time-quantum '%s': expected a number with ns, us, ms or s", argument);
	return 0;
}

int report_option_widths(void *value, const char *argument, bool negated)
{
	struct report *report = value;
	const char *at = argument;
	size_t nr = 0;

	memset(report->widths, 0, sizeof(report->widths));
	if (negated)
		return 0;
	while (true) {
		char *end;
		unsigned long width = strtoul(at, &end, 10);

		if (end == at || (*end && *end != ',') || width > 4096 ||
		    nr == CLI_NR(report->widths))
			return cli_usage_error(report->input.command,
					       "-w '%s': expected up to %zu widths of 0 to 4096, "
					       "separated by commas",
					       argument, CLI_NR(report->widths));
		report->widths[nr++] = width;
		if (!*end)
			return 0;
		at = end + 1;
	}
}

int report_option_separator(void *value, const char *argument, bool negated)
{
	struct report *report = value;

	report->separator = NULL;
	if (negated)
		return 0;
	report->separator = strcmp(argument, "\\t") ? argument : "\t";
	if (!argument[0] || argument[0] == '.' ||
	    (report->separator[1] && report->separator == argument))
		return cli_usage_error(report->input.command,
				       "-t '%s': expected one character other than a dot, or \\t",
				       argument);
	return 0;
}

int report_option_children(void *value, const char *argument, bool negated)
{
	struct report *report = value;

	(void)argument;
	report->children = !negated;
	report->children_set = true;
	return 0;
}

int report_option_group(void *value, const char *argument, bool negated)
{
	struct report *report = value;

	(void)argument;
	report->group = !negated;
	report->no_group = negated;
	return 0;
}

int report_option_inline(void *value, const char *argument, bool negated)
{
	(void)argument;
	((struct report *)value)->no_inline = negated;
	return 0;
}

int report_option_browser(void *value, const char *argument, bool negated)
{
	struct report *report = value;

	(void)argument;
	report->stdio = negated;
	return 0;
}

int report_option_skip_empty(void *value, const char *argument, bool negated)
{
	(void)argument;
	((struct report *)value)->show_empty = negated;
	return 0;
}

int report_option_color(void *value, const char *argument, bool negated)
{
	struct report *report = value;

	return cli_set_color(&report->color, report->input.command, argument, negated);
}

/* ---- the user's defaults ---- */

static int set_bool(bool *flag, const char *value)
{
	*flag = !strcmp(value, "true") || !strcmp(value, "yes") || !strcmp(value, "1");
	return *flag || !strcmp(value, "false") || !strcmp(value, "no") || !strcmp(value, "0")
		       ? 0
		       : -EINVAL;
}

static int set_percentage(double *limit, const char *value)
{
	char *end;
	double number = strtod(value, &end);

	if (end == value || *end || !(number >= 0 && number <= 100))
		return -EINVAL;
	*limit = number;
	return 0;
}

static int set_maximum(unsigned long *max, const char *value)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || *end || errno)
		return -EINVAL;
	*max = number;
	return 0;
}

/* Sets what a variable has. 0, or -EINVAL. */
static int set_variable(struct report *report, const char *name, const char *value)
{
	struct report_graph *graph = &report->graph;
	bool flag = false;
	char unused[256];
	int rc = 0;

	if (!strcmp(name, "report.sort_order")) {
		rc = report_are_columns(NULL, value, unused, sizeof(unused)) ? 0 : -EINVAL;
		report->sort = rc ? report->sort : value;
	} else if (!strcmp(name, "report.percent-limit")) {
		rc = set_percentage(&report->percent_limit, value);
	} else if (!strcmp(name, "report.children")) {
		rc = set_bool(&flag, value);
		if (!rc) {
			report->children = flag;
			report->children_set = !flag; /* true is the default of --children */
		}
	} else if (!strcmp(name, "report.group")) {
		rc = set_bool(&flag, value);
		report->no_group = !rc && !flag;
	} else if (!strcmp(name, "report.skip-empty")) {
		rc = set_bool(&flag, value);
		report->show_empty = !rc && !flag;
	} else if (!strcmp(name, "hist.percentage")) {
		report->relative = !strcmp(value, "relative");
		rc = report->relative || !strcmp(value, "absolute") ? 0 : -EINVAL;
	} else if (!strcmp(name, "call-graph.print-type")) {
		rc = set_shape(graph, value, strlen(value)) ? 0 : -EINVAL;
	} else if (!strcmp(name, "call-graph.order")) {
		rc = set_order(graph, value, strlen(value)) ? 0 : -EINVAL;
	} else if (!strcmp(name, "call-graph.threshold")) {
		rc = set_percentage(&graph->limit, value);
	} else if (!strcmp(name, "call-graph.print-limit")) {
		rc = set_maximum(&graph->max, value);
	} else if (!strcmp(name, "report.queue-size")) {
		rc = set_maximum(&(unsigned long){ 0 }, value);
	} else if (!strcmp(name, "call-graph.sort-key")) {
		rc = set_key(graph, value, strlen(value)) ? 0 : -EINVAL;
	}
	return rc;
}

bool report_takes_variable(const char *name, const char *value)
{
	struct report report = { .sort = NULL };

	return !set_variable(&report, name, value);
}

int report_set_defaults(struct report *report)
{
	size_t nr;
	const struct cli_variable *variables = cli_variables(&nr);
	int status = cli_config_read(&report->config, report->input.command);

	for (size_t i = 0; i < nr && !status; i++) {
		const struct cli_config_item *item =
			cli_config_find(&report->config, variables[i].name);

		if (item && set_variable(report, variables[i].name, item->value))
			cli_note(report->input.command,
				 "%s:%u: %s: expected %s; the line is not used",
				 report->config.path, item->line, variables[i].name,
				 variables[i].values);
	}
	return status;
}
