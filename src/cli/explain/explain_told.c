/* SPDX-License-Identifier: MIT */
/*
 * Programs ask the same once for each CPU or thread, and are refused as often. What was told in full is counted when it
 * comes again: a run of the same is told right below the first, what comes back later at the end.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain_attr.h"
#include "options.h"

#define TOLD_MAX 256			/* different refusals remembered; what is beyond is told in full each time */
#define CPUS 4096

struct again {
	struct explain_refusal refusal;
	uint64_t nr;			/* times more, and not told yet */
	uint64_t first, last;		/* calls of these */
	size_t cpus;			/* of them on a CPU that cpu[] has room for */
	bool cpu[CPUS];
};

struct explain_told {
	size_t nr;
	struct again *last;		/* whose text is the last that was printed */
	struct again *again[TOLD_MAX];
};

static bool is_same(const struct explain_refusal *a, const struct explain_refusal *b)
{
	return a->process == b->process && a->operation == b->operation && a->request == b->request &&
	       a->message == b->message && a->errnum == b->errnum && a->cause == b->cause && a->type == b->type &&
	       a->config == b->config && !strcmp(a->fields, b->fields);
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

/* Of which calls; of operations whose number is that of their event's, when it is another one. */
static void put_numbers(FILE *out, const struct again *again)
{
	const bool one = again->first == again->last;

	if (!again->first || (again->refusal.operation && one && again->first == again->refusal.number))
		return;
	fprintf(out, " (%scall%s %" PRIu64, again->refusal.operation ? "event of " : "", one ? "" : "s", again->first);
	if (!one)
		fprintf(out, " to %" PRIu64, again->last);
	fputc(')', out);
}

static void put_times(FILE *out, const struct again *again)
{
	fprintf(out, again->nr == 1 ? "once more" : "%" PRIu64 " times more", again->nr);
	if (again->cpus == again->nr) {
		fputs(again->nr == 1 ? ", on CPU " : ", on CPUs ", out);
		put_cpus(out, again->cpu);
	}
	put_numbers(out, again);
}

static void reset(struct again *again)
{
	again->nr = again->first = again->last = again->cpus = 0;
	memset(again->cpu, 0, sizeof(again->cpu));
}

/* "perch explain: call 1's EINVAL [clockid] once more, on CPU 7 (call 66)" */
static void put_again(const struct explain_job *job, struct again *again)
{
	const struct explain_refusal *refusal = &again->refusal;
	char number[32];

	fputs("perch explain: ", job->out);
	if (refusal->operation)
		fputs(explain_operation_name(refusal->operation - 1), job->out);
	else
		fprintf(job->out, "call %" PRIu64, refusal->number);
	fprintf(job->out, "'s %s [%s] ", refusal->errnum ? explain_errno_name(refusal->errnum, number, sizeof(number)) :
		"end of file", perch_cause_slug(refusal->cause));
	put_times(job->out, again);
	fputc('\n', job->out);
	reset(again);
}

void explain_told_run(struct explain_job *job)
{
	struct again *last = job->told ? job->told->last : NULL;

	if (job->told)
		job->told->last = NULL;
	if (!last || !last->nr)
		return;
	if (job->out == stderr && !job->from_log) {
		put_again(job, last);	/* the program may have printed something there in between */
		return;
	}
	fputs("  again:  ", job->out);
	put_times(job->out, last);
	fputc('\n', job->out);
	reset(last);
}

static void count(struct again *again, const struct explain_refusal *refusal)
{
	if (!again->nr++)
		again->first = refusal->number;
	again->last = refusal->number;
	if (refusal->cpu < 0 || refusal->cpu >= CPUS || again->cpu[refusal->cpu])
		return;
	again->cpu[refusal->cpu] = true;
	again->cpus++;
}

bool explain_told_before(struct explain_job *job, const struct explain_refusal *refusal)
{
	struct explain_told *told = job->told;

	if (!told)
		told = job->told = calloc(1, sizeof(*told));
	if (!told)
		return false;
	for (size_t i = 0; i < told->nr; i++)
		if (is_same(&told->again[i]->refusal, refusal)) {
			count(told->again[i], refusal);
			return true;
		}
	explain_told_run(job);
	if (told->nr == TOLD_MAX)
		return false;
	told->last = calloc(1, sizeof(*told->last));
	if (told->last) {
		told->last->refusal = *refusal;
		told->again[told->nr++] = told->last;
	}
	return false;
}

void explain_told_rest(struct explain_job *job)
{
	if (!job->told)
		return;
	explain_told_run(job);
	for (size_t i = 0; i < job->told->nr; i++)
		if (job->told->again[i]->nr)
			put_again(job, job->told->again[i]);
}

void explain_told_forget(struct explain_job *job)
{
	for (size_t i = 0; job->told && i < job->told->nr; i++)
		free(job->told->again[i]);
	free(job->told);
	job->told = NULL;
}
