/* SPDX-License-Identifier: MIT */
/* What the rows of a report count: samples, the branches of samples, or accesses to memory. */
#include <errno.h>
#include <inttypes.h>

#include "report.h"

struct contents {
	bool branches; /* other than calls that have not returned */
	bool stacks;   /* copies of user stacks, whose call chains are wanted */
	bool accesses; /* to memory */
	bool others;   /* than of tracepoints with formats */
};

/* What the samples of the file have. */
static struct contents contents_of(const struct report *report)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(report->input.session), &events);
	struct contents contents = { .branches = false };
	const struct perch_tracepoint_format *format;

	for (size_t i = 0; i < nr; i++) {
		const struct perch_attr *attr = &events[i].attr;

		contents.branches |= (attr->sample_type & PERCH_SAMPLE_BRANCH_STACK) &&
				     !(attr->branch_sample_type & PERCH_SAMPLE_BRANCH_CALL_STACK);
		contents.stacks |= attr->sample_type & PERCH_SAMPLE_STACK_USER;
		contents.accesses |= attr->sample_type & PERCH_SAMPLE_DATA_SRC;
		contents.others |=
			!(attr->sample_type & PERCH_SAMPLE_RAW) ||
			perch_session_format(report->input.session, &events[i], &format, NULL);
	}
	contents.others |= !nr;
	return contents;
}

const char *report_default_keys(const struct report *report)
{
	if (report->default_sort)
		return report->default_sort;
	if (report->branch_history)
		return "srcline,sym,dso";
	if (report->branches)
		return "comm,dso_from,symbol_from,symbol_to,cycles";
	if (report->memory)
		return "local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked,"
		       "local_ins_lat";
	if (report->of_tracepoints)
		return report->raw_trace ? "trace_fields" : "trace";
	return "comm,dso,sym";
}

/* The option that adds branches to call chains, or NULL. */
static const char *history_option(const struct report *report)
{
	if (report->branch_history)
		return "--branch-history";
	return report->graph.branches ? "-g branch" : NULL;
}

static int open_blocks(struct report *report)
{
	struct perch_session *session = report->input.session;
	struct perch_error err;

	return perch_blocks_new(&report->blocks, perch_session_processes(session),
				perch_session_symbols(session), &err)
		       ? cli_error(report->input.command, &err)
		       : 0;
}

static int exclude_each_other(const struct report *report, const char *option, const char *other)
{
	return cli_refuse_both(report->input.command, option, other);
}

static int lacks(const struct report *report, const char *option, const char *what,
		 const char *remedy)
{
	struct perch_error err;

	perch_error_set(&err, ENODATA, PERCH_ERROR_USAGE, "%s needs %s, and %s has none", option,
			what, report->input.path);
	perch_error_remedy(&err, "record with %s", remedy);
	return cli_error(report->input.command, &err);
}

int report_set_mode(struct report *report)
{
	struct contents contents = contents_of(report);
	const char *history = history_option(report);
	struct perch_error err;

	if (perch_trace_columns_new(&report->trace_columns, report->input.session, &err))
		return cli_error(report->input.command, &err);
	report->of_tracepoints = !contents.others;
	if (!report->branches_set)
		report->branches = contents.branches && !contents.stacks && !report->memory &&
				   !history;
	if (report->branches && history)
		return exclude_each_other(report, "-b", history);
	if (report->total_cycles && history)
		return exclude_each_other(report, "--total-cycles", history);
	if (report->branch_history && !contents.branches)
		return lacks(report, "--branch-history", "branch stacks", "-b -g");
	report->exact_chains = report->graph.branches && contents.branches;
	if (report->branches && report->memory)
		return exclude_each_other(report, "-b", "--mem-mode");
	if (report->branches && !contents.branches)
		return lacks(report, "-b", "branch stacks", "-b");
	if (report->total_cycles && !report->branches)
		return lacks(report, "--total-cycles", "branch stacks", "-b");
	if (report->total_cycles && report->json)
		return exclude_each_other(report, "-j", "--total-cycles");
	if (report->total_cycles)
		return open_blocks(report);
	if (!report->memory)
		return 0;
	if (!contents.accesses)
		return lacks(report, "--mem-mode", "data sources of samples",
			     "-d -W and an event of memory accesses");
	report->children = false;
	report->children_set = true;
	return 0;
}

struct report report_of_events(const struct report *report, unsigned event, size_t nr)
{
	struct report of_events = *report;
	struct report_list *columns = &of_events.columns;

	columns->nr = 0;
	for (size_t i = 0; i < report->columns.nr; i++) {
		bool found = false;

		for (size_t j = 0; j < nr && !found; j++)
			found = perch_trace_columns_is_of(report->trace_columns,
							  report->columns.column[i], event + j);
		if (found)
			columns->column[columns->nr++] = report->columns.column[i];
	}
	return of_events;
}

void report_weigh(const struct report *report, struct perch_record *record)
{
	union perch_sample_weight weight = { .full = record->sample.weight };
	uint64_t number = weight.full;

	if (!report->memory)
		return;
	if (record->parse_info->sample_type & PERCH_SAMPLE_WEIGHT_STRUCT)
		number = weight.var1_dw;
	record->sample.period = number ? number : 1;
}

void report_put_total(FILE *out, const struct report *report, uint64_t total)
{
	if (!report->memory) {
		fprintf(out, "\n# Event count (approx.): %" PRIu64 "\n#\n", total);
		return;
	}
	fprintf(out, "\n# Total weight : %" PRIu64 "\n# Sort order   : ", total);
	cli_put_clean(out, report->sort ? report->sort : report_default_keys(report));
	fputs("\n#\n", out);
}
