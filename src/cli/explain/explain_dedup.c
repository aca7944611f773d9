/* SPDX-License-Identifier: MIT */
/*
 * A program repeats an open call for each CPU, thread or event, and each is refused for the same
 * reason. The first refusal is printed in full, the others are counted. The count is printed when a
 * different refusal follows, and at the end for those counted later. The line of a count is
 * complete, because other output may precede it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "options.h"
#include "trace/names.h"

#define PRINTED_MAX 256 /* distinct refusals recorded; further ones are always printed in full */
#define CPUS	    4096
#define RANGES	    16 /* ranges of call numbers printed */
#define CONFIGS	    8  /* values of config printed */

/* A refusal that was printed in full, and its repetitions since the count was last printed. */
struct printed {
	struct explain_refusal refusal;
	uint64_t nr;
	struct {
		uint64_t first, last;
	} range[RANGES]; /* call numbers, ascending */
	size_t ranges;
	bool more_ranges;
	size_t cpus;	 /* number set in cpu[] */
	bool other_cpus; /* the refusal is for any CPU, or for one beyond cpu[] */
	bool cpu[CPUS];
	uint64_t config[CONFIGS];
	size_t configs;
	bool more_configs;
};

struct explain_dedup {
	size_t nr;
	struct printed *last; /* printed last; NULL after something else was printed */
	struct printed *printed[PRINTED_MAX];
};

static bool is_same(const struct explain_refusal *a, const struct explain_refusal *b)
{
	return a->process == b->process && a->operation == b->operation &&
	       a->request == b->request && a->text == b->text && a->errnum == b->errnum &&
	       a->cause == b->cause && a->type == b->type && a->confidence == b->confidence &&
	       (!a->operation || a->config == b->config);
}

/* "1-3,5" */
static void print_cpus(FILE *out, const bool *cpu)
{
	const char *between = "";

	for (int from = 0; from < CPUS; from++) {
		int to = from;

		if (!cpu[from])
			continue;
		while (to + 1 < CPUS && cpu[to + 1])
			to++;
		fprintf(out, to > from ? "%s%d-%d" : "%s%d", between, from, to);
		between = ",";
		from = to;
	}
}

/* "3, 7 and 9 to 12" */
static void print_ranges(FILE *out, const struct printed *printed)
{
	for (size_t i = 0; i < printed->ranges; i++) {
		const bool last = i + 1 == printed->ranges && !printed->more_ranges;

		fprintf(out, "%s%" PRIu64,
			!i     ? ""
			: last ? " and "
			       : ", ",
			printed->range[i].first);
		if (printed->range[i].last > printed->range[i].first)
			fprintf(out,
				printed->range[i].last == printed->range[i].first + 1
					? ", %" PRIu64
					: " to %" PRIu64,
				printed->range[i].last);
	}
	if (printed->more_ranges)
		fputs(" and others", out);
}

/* The numbers of open calls. For operations, nothing if all are of the first refusal's event. */
static void print_numbers(FILE *out, const struct printed *printed)
{
	const bool one = printed->ranges == 1 && printed->range[0].first == printed->range[0].last;

	if (!printed->ranges || (printed->refusal.operation && one &&
				 printed->range[0].first == printed->refusal.number))
		return;
	if (printed->refusal.operation)
		fputs(one ? " (event of call " : " (events of calls ", out);
	else
		fputs(one ? " (call " : " (calls ", out);
	print_ranges(out, printed);
	fputc(')', out);
}

static void print_configs(FILE *out, const struct printed *printed)
{
	char name[64];

	if (printed->configs == 1 && !printed->more_configs &&
	    printed->config[0] == printed->refusal.config)
		return; /* as in the first refusal */
	for (size_t i = 0; i < printed->configs; i++) {
		fprintf(out, i ? ", %#" PRIx64 : ", for config %#" PRIx64, printed->config[i]);
		if (explain_format_config(printed->refusal.type, printed->config[i], name,
					  sizeof(name)))
			fprintf(out, " %s", name);
	}
	if (printed->more_configs)
		fputs(" and others", out);
}

static void print_times(FILE *out, const struct printed *printed)
{
	fprintf(out, "%" PRIu64 " more time%s", printed->nr, printed->nr == 1 ? "" : "s");
	print_configs(out, printed);
	if (printed->cpus && !printed->other_cpus) {
		fputs(printed->cpus == 1 ? ", on CPU " : ", on CPUs ", out);
		print_cpus(out, printed->cpu);
	}
	print_numbers(out, printed);
}

static void reset_printed(struct printed *printed)
{
	printed->nr = printed->ranges = printed->cpus = printed->configs = 0;
	printed->more_ranges = printed->more_configs = printed->other_cpus = false;
	memset(printed->cpu, 0, sizeof(printed->cpu));
}

/* "perch explain: call 1 of perf_event_open: EINVAL [clockid] 1 more time, on CPU 7 (call 66)" */
static void print_count(const struct explain_job *job, struct printed *printed)
{
	const struct explain_refusal *refusal = &printed->refusal;
	char number[32];

	if (refusal->operation)
		fprintf(job->out, "perch explain: %s of descriptor %d",
			trace_operation_name(refusal->operation - 1), refusal->fd);
	else
		fprintf(job->out, "perch explain: call %" PRIu64 " of perf_event_open",
			refusal->number);
	if (refusal->operation && refusal->number)
		fprintf(job->out, ", opened by call %" PRIu64, refusal->number);
	fprintf(job->out, ": %s [%s] ",
		refusal->errnum ? trace_format_errno(refusal->errnum, number, sizeof(number))
				: "end of file",
		perch_cause_slug(refusal->cause));
	print_times(job->out, printed);
	fputc('\n', job->out);
	reset_printed(printed);
}

void explain_dedup_print_last(struct explain_job *job)
{
	struct printed *last = job->dedup ? job->dedup->last : NULL;

	if (job->dedup)
		job->dedup->last = NULL;
	if (last && last->nr)
		print_count(job, last);
}

static void count_number(struct printed *printed, uint64_t number)
{
	const size_t last = printed->ranges - 1;

	if (!number)
		return;
	if (printed->ranges && number >= printed->range[last].first &&
	    number <= printed->range[last].last + 1) {
		if (number > printed->range[last].last)
			printed->range[last].last = number;
	} else if (printed->ranges == RANGES) {
		printed->more_ranges = true;
	} else {
		printed->range[printed->ranges].first = printed->range[printed->ranges].last =
			number;
		printed->ranges++;
	}
}

static void count_config(struct printed *printed, uint64_t config)
{
	for (size_t i = 0; i < printed->configs; i++)
		if (printed->config[i] == config)
			return;
	if (printed->configs == CONFIGS)
		printed->more_configs = true;
	else
		printed->config[printed->configs++] = config;
}

static void count_refusal(struct printed *printed, const struct explain_refusal *refusal)
{
	printed->nr++;
	count_number(printed, refusal->number);
	count_config(printed, refusal->config);
	if (refusal->cpu < 0 || refusal->cpu >= CPUS) {
		printed->other_cpus = true;
		return;
	}
	printed->cpus += !printed->cpu[refusal->cpu];
	printed->cpu[refusal->cpu] = true;
}

bool explain_dedup_count(struct explain_job *job, const struct explain_refusal *refusal)
{
	struct explain_dedup *dedup = job->dedup;

	if (job->trace.verbose)
		return false;
	if (!dedup)
		dedup = job->dedup = calloc(1, sizeof(*dedup));
	if (!dedup)
		return false;
	for (size_t i = 0; i < dedup->nr; i++)
		if (is_same(&dedup->printed[i]->refusal, refusal)) {
			count_refusal(dedup->printed[i], refusal);
			return true;
		}
	explain_dedup_print_last(job);
	if (dedup->nr == PRINTED_MAX)
		return false;
	dedup->last = calloc(1, sizeof(*dedup->last));
	if (dedup->last) {
		dedup->last->refusal = *refusal;
		dedup->printed[dedup->nr++] = dedup->last;
	}
	return false;
}

void explain_dedup_print_all(struct explain_job *job)
{
	if (!job->dedup)
		return;
	explain_dedup_print_last(job);
	for (size_t i = 0; i < job->dedup->nr; i++)
		if (job->dedup->printed[i]->nr)
			print_count(job, job->dedup->printed[i]);
}

void explain_dedup_free(struct explain_job *job)
{
	for (size_t i = 0; job->dedup && i < job->dedup->nr; i++)
		free(job->dedup->printed[i]);
	free(job->dedup);
	job->dedup = NULL;
}
