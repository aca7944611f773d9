/* SPDX-License-Identifier: MIT */
/* Latencies and the number of threads that run, which only some files have. */
#include <errno.h>
#include <string.h>

#include "options.h"
#include "report.h"

/* The columns of latency are shown if at least one of so many samples is parallel. */
#define LEAST_PARALLEL 100

/* The position of a name in a list as of -s; SIZE_MAX if it is not there. */
static size_t position_of(const char *names, const char *name)
{
	size_t length = strlen(name), position = 0;

	for (const char *at = names ? names + (names[0] == '+') : ""; *at; position++) {
		size_t word = strcspn(at, ", ");

		if (word == length && !strncmp(at, name, length))
			return position;
		at += word;
		at += strspn(at, ", ");
	}
	return SIZE_MAX;
}

static bool is_named(const char *names, const char *name)
{
	return position_of(names, name) != SIZE_MAX;
}

bool report_is_latency(const struct perch_column *column)
{
	return column->scope == PERCH_COLUMN_PERIOD && !strncmp(column->name, "latency", 7);
}

/* Returns the option or the column that needs the number of threads that run, or NULL. */
static const char *needing(const struct report *report)
{
	static const char *const names[] = { "latency", "latency_children", "parallelism" };

	if (report->latency)
		return "--latency";
	for (size_t i = 0; i < CLI_NR(names); i++)
		if (is_named(report->sort, names[i]) || is_named(report->output, names[i]))
			return names[i];
	return report->filter.options.parallelism ? "--parallelism" : NULL;
}

/* Sets the error that the file does not have what an option needs. Returns a negative errno. */
static int set_unknown(const struct report *report, const char *name, struct perch_error *err)
{
	perch_error_set(err, ENODATA, PERCH_ERROR_USAGE,
			"%s needs the number of threads that run, and %s has no context switches "
			"of threads and their children",
			name, report->input.path);
	perch_error_remedy(err, "record a program or -p PID with --latency");
	return -ENODATA;
}

int report_set_latencies(struct report *report)
{
	struct perch_session *session = report->input.session;
	bool available = perch_processes_parallelism(perch_session_processes(session));
	const char *name = needing(report);
	struct perch_error err;

	if (name && !available) {
		set_unknown(report, name, &err);
		return cli_error(report->input.command, &err);
	}
	if (name && report->branches)
		return cli_usage_error(report->input.command,
				       "%s and -b exclude each other: branches have no time", name);
	report->latencies = available && !report->branches;
	return 0;
}

int report_count_parallel(struct report *report, struct perch_error *err)
{
	uint32_t nr = perch_processes_parallelism(perch_session_processes(report->input.session));
	const char *name = nr ? NULL : needing(report);

	if (name)
		return set_unknown(report, name, err);
	report->latencies = nr > 0;
	report->seen++;
	report->parallel += nr > 1;
	return 0;
}

struct report_shares report_default_shares(const struct report *report)
{
	size_t latency = position_of(report->sort, "latency");
	size_t overhead = position_of(report->sort, "overhead");
	bool named = latency != SIZE_MAX || overhead != SIZE_MAX;

	/* as in perf: if one thread runs nearly always, latencies and overheads are the same */
	return (struct report_shares){
		.overhead = report->latency || latency == SIZE_MAX || overhead != SIZE_MAX,
		.latency =
			report->latency || latency != SIZE_MAX ||
			(report->latencies && report->parallel &&
			 report->parallel >= (report->seen + LEAST_PARALLEL - 1) / LEAST_PARALLEL &&
			 !report->memory && !named),
		.latency_first = report->latency || latency < overhead,
	};
}

void report_note_lost_switches(const struct report *report)
{
	struct perch_session_stats stats;

	if (!report->latencies || (!report_default_shares(report).latency && !needing(report)))
		return;
	perch_session_get_stats(report->input.session, &stats);
	if (stats.lost)
		cli_note(report->input.command,
			 "latencies and numbers of threads are inexact: context switches may be "
			 "among the lost records; record with larger rings (-m) or a lower "
			 "frequency (-F)");
}
