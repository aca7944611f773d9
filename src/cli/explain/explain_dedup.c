/* SPDX-License-Identifier: MIT */
/*
 * Programs ask the same once for each CPU, thread or event, and are refused as often. What was told
 * in full is counted when it comes again: a run of the same is told when something else comes, what
 * comes back later at the end. Each such line stands by itself, for there may be anything before
 * it: the program's own output, or another refusal.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain_attr.h"
#include "options.h"

#define TOLD_MAX 256 /* different refusals remembered; what is beyond is told in full each time */
#define CPUS	 4096
#define RANGES	 16 /* of calls told by their numbers */
#define CONFIGS	 8  /* told by their values */

struct again {
	struct explain_refusal refusal;
	uint64_t nr; /* times more, and not told yet */
	struct {
		uint64_t first, last;
	} range[RANGES]; /* calls of these, ascending */
	size_t ranges;
	bool more_ranges;
	size_t cpus;	 /* that they were on */
	bool other_cpus; /* or on any, or one that cpu[] has no room for */
	bool cpu[CPUS];
	uint64_t config[CONFIGS];
	size_t configs;
	bool more_configs;
};

struct explain_dedup {
	size_t nr;
	struct again *last; /* whose text is the last that was printed */
	struct again *again[TOLD_MAX];
};

static bool is_same(const struct explain_refusal *a, const struct explain_refusal *b)
{
	return a->process == b->process && a->operation == b->operation &&
	       a->request == b->request && a->text == b->text && a->errnum == b->errnum &&
	       a->cause == b->cause && a->type == b->type && a->confidence == b->confidence &&
	       (!a->operation || a->config == b->config);
}

/* "1-3,5" of the CPUs set. */
static void put_cpus(FILE *out, const bool *cpu)
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
static void put_ranges(FILE *out, const struct again *again)
{
	for (size_t i = 0; i < again->ranges; i++) {
		const bool last = i + 1 == again->ranges && !again->more_ranges;

		fprintf(out, "%s%" PRIu64, !i ? "" : last ? " and " : ", ", again->range[i].first);
		if (again->range[i].last > again->range[i].first)
			fprintf(out,
				again->range[i].last == again->range[i].first + 1 ? ", %" PRIu64
										  : " to %" PRIu64,
				again->range[i].last);
	}
	if (again->more_ranges)
		fputs(" and others", out);
}

/* Of which calls; of operations which events', when it is not the first one's alone. */
static void put_numbers(FILE *out, const struct again *again)
{
	const bool one = again->ranges == 1 && again->range[0].first == again->range[0].last;

	if (!again->ranges ||
	    (again->refusal.operation && one && again->range[0].first == again->refusal.number))
		return;
	if (again->refusal.operation)
		fputs(one ? " (event of call " : " (events of calls ", out);
	else
		fputs(one ? " (call " : " (calls ", out);
	put_ranges(out, again);
	fputc(')', out);
}

static void put_configs(FILE *out, const struct again *again)
{
	char name[64];

	if (again->configs == 1 && !again->more_configs &&
	    again->config[0] == again->refusal.config)
		return; /* the first's */
	for (size_t i = 0; i < again->configs; i++) {
		fprintf(out, i ? ", %#" PRIx64 : ", for config %#" PRIx64, again->config[i]);
		if (explain_format_config(again->refusal.type, again->config[i], name,
					  sizeof(name)))
			fprintf(out, " %s", name);
	}
	if (again->more_configs)
		fputs(" and others", out);
}

static void put_times(FILE *out, const struct again *again)
{
	if (again->nr == 1)
		fputs("once more", out);
	else
		fprintf(out, "%" PRIu64 " times more", again->nr);
	put_configs(out, again);
	if (again->cpus && !again->other_cpus) {
		fputs(again->cpus == 1 ? ", on CPU " : ", on CPUs ", out);
		put_cpus(out, again->cpu);
	}
	put_numbers(out, again);
}

static void reset(struct again *again)
{
	again->nr = again->ranges = again->cpus = again->configs = 0;
	again->more_ranges = again->more_configs = again->other_cpus = false;
	memset(again->cpu, 0, sizeof(again->cpu));
}

/* "perch explain: call 1's EINVAL [clockid] once more, on CPU 7 (call 66)" */
static void put_again(const struct explain_job *job, struct again *again)
{
	const struct explain_refusal *refusal = &again->refusal;
	char number[32];

	fputs("perch explain: ", job->out);
	if (refusal->operation) {
		fprintf(job->out, "%s of descriptor %d",
			explain_operation_name(refusal->operation - 1), refusal->fd);
		if (refusal->number)
			fprintf(job->out, ", from call %" PRIu64, refusal->number);
		fputs(": ", job->out);
	} else {
		fprintf(job->out, "call %" PRIu64 "'s ", refusal->number);
	}
	fprintf(job->out, "%s [%s] ",
		refusal->errnum ? explain_format_errno(refusal->errnum, number, sizeof(number))
				: "end of file",
		perch_cause_slug(refusal->cause));
	put_times(job->out, again);
	fputc('\n', job->out);
	reset(again);
}

void explain_dedup_print_last(struct explain_job *job)
{
	struct again *last = job->told ? job->told->last : NULL;

	if (job->told)
		job->told->last = NULL;
	if (last && last->nr)
		put_again(job, last);
}

static void count_number(struct again *again, uint64_t number)
{
	const size_t last = again->ranges - 1;

	if (!number)
		return;
	if (again->ranges && number >= again->range[last].first &&
	    number <= again->range[last].last + 1) {
		if (number > again->range[last].last)
			again->range[last].last = number;
	} else if (again->ranges == RANGES) {
		again->more_ranges = true;
	} else {
		again->range[again->ranges].first = again->range[again->ranges].last = number;
		again->ranges++;
	}
}

static void count_config(struct again *again, uint64_t config)
{
	for (size_t i = 0; i < again->configs; i++)
		if (again->config[i] == config)
			return;
	if (again->configs == CONFIGS)
		again->more_configs = true;
	else
		again->config[again->configs++] = config;
}

static void count(struct again *again, const struct explain_refusal *refusal)
{
	again->nr++;
	count_number(again, refusal->number);
	count_config(again, refusal->config);
	if (refusal->cpu < 0 || refusal->cpu >= CPUS) {
		again->other_cpus = true;
		return;
	}
	again->cpus += !again->cpu[refusal->cpu];
	again->cpu[refusal->cpu] = true;
}

bool explain_dedup_count(struct explain_job *job, const struct explain_refusal *refusal)
{
	struct explain_dedup *told = job->told;

	if (job->verbose)
		return false;
	if (!told)
		told = job->told = calloc(1, sizeof(*told));
	if (!told)
		return false;
	for (size_t i = 0; i < told->nr; i++)
		if (is_same(&told->again[i]->refusal, refusal)) {
			count(told->again[i], refusal);
			return true;
		}
	explain_dedup_print_last(job);
	if (told->nr == TOLD_MAX)
		return false;
	told->last = calloc(1, sizeof(*told->last));
	if (told->last) {
		told->last->refusal = *refusal;
		told->again[told->nr++] = told->last;
	}
	return false;
}

void explain_dedup_print_all(struct explain_job *job)
{
	if (!job->told)
		return;
	explain_dedup_print_last(job);
	for (size_t i = 0; i < job->told->nr; i++)
		if (job->told->again[i]->nr)
			put_again(job, job->told->again[i]);
}

void explain_dedup_free(struct explain_job *job)
{
	for (size_t i = 0; job->told && i < job->told->nr; i++)
		free(job->told->again[i]);
	free(job->told);
	job->told = NULL;
}

void explain_flush(struct explain_job *job)
{
	if (!fflush(job->out) && !ferror(job->out))
		return;
	if (!job->write_failed)
		job->write_error = errno;
	job->write_failed = true;
}
