/* SPDX-License-Identifier: MIT */
/* Explains broken open calls, counts and prints the results. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tally.h"

double percent_of(unsigned part, unsigned whole)
{
	return whole ? 100.0 * part / whole : 100.0;
}

static int lowest_descriptor(void)
{
	int fd = dup(STDIN_FILENO);

	if (fd >= 0)
		close(fd);
	return fd;
}

static void print_finding(const char *what, const struct perch_finding *finding)
{
	printf("    %s %s [", what, perch_cause_slug(finding->cause));
	for (size_t i = 0; i < finding->nr_fields; i++)
		printf("%s%s", i ? "," : "", finding->field[i]);
	printf("] %s\n", finding->message);
}

void print_answer(const struct perch_explanation *explanation)
{
	printf("    %s, %u calls%s%s\n", perch_confidence_name(explanation->confidence),
	       explanation->open_calls, explanation->out_of_budget ? ", out of budget" : "",
	       explanation->succeeds_now ? ", succeeds now" : "");
	for (size_t i = 0; i < explanation->nr_findings; i++)
		print_finding(i ? "or" : "said", &explanation->finding[i]);
	for (size_t i = 0; i < explanation->nr_next; i++)
		print_finding("next", &explanation->next[i]);
}

/* True if there is a message and a remedy without a placeholder. */
static bool finished(const struct perch_finding *finding)
{
	return finding->message[0] && finding->remedy[0] && !strpbrk(finding->message, "{}") &&
	       !strpbrk(finding->remedy, "{}");
}

static bool all_finished(const struct perch_explanation *explanation)
{
	bool all = explanation->nr_findings > 0;

	for (size_t i = 0; i < explanation->nr_findings; i++)
		all &= finished(&explanation->finding[i]);
	for (size_t i = 0; i < explanation->nr_next; i++)
		all &= finished(&explanation->next[i]);
	return all;
}

static void look_at_conduct(const struct generated_call *call, const struct perch_explanation *full,
			    int before, struct tally *tally)
{
	const char *misconduct = world_misconduct();
	unsigned made = world_calls(true);

	tally->calls += full->open_calls;
	tally->fields += full->finding[0].nr_fields;
	if (full->open_calls > tally->most_calls)
		tally->most_calls = full->open_calls;
	tally->over_budget += full->out_of_budget;
	tally->leaks += lowest_descriptor() != before;
	tally->miscounted += made != full->open_calls;
	tally->transient += full->succeeds_now;
	tally->unfinished += !all_finished(full);
	if (misconduct && !tally->misconduct++) {
		printf("misconduct: %s\n", misconduct);
		generated_print(call, full->errnum);
		print_answer(full);
	}
}

void explain_case(const struct world *world, struct generated_call *call, int errnum,
		  uint32_t kernel_size, struct explained *explained, struct tally *tally)
{
	const struct perch_probing generous = { .open_calls = 0, .microseconds = 1000000 };
	int before = lowest_descriptor();
	struct perch_open_call asked;

	explained->errnum = errnum;
	generated_describe(call, errnum, kernel_size, &asked);
	perch_explain_open_call(&asked, world->machine, NULL, &explained->bare);
	world_calls(true);
	perch_explain_open_call(&asked, world->machine, &generous, &explained->full);
	look_at_conduct(call, &explained->full, before, tally);
}

void tally_print(const struct tally *tally, const struct breakage *const *list, size_t nr,
		 const char *user)
{
	printf("%-46s %7s %9s %7s %9s\n", user, "right", "ambiguous", "wrong", "accepted");
	for (size_t i = 0; i < nr; i++)
		printf("  %-44s %7u %9u %7u %9u%s\n", list[i]->name,
		       tally->by[i].result[RESULT_RIGHT], tally->by[i].result[RESULT_AMBIGUOUS],
		       tally->by[i].result[RESULT_WRONG], tally->by[i].accepted,
		       tally->by[i].result[RESULT_WRONG] ? "  <-- wrong" : "");
	printf("%s: %u cases: %.2f %% right, %.2f %% ambiguous, %.2f %% wrong; without calls %.2f %% right, %.2f %% "
	       "ambiguous\n",
	       user, tally->cases, percent_of(tally->result[RESULT_RIGHT], tally->cases),
	       percent_of(tally->result[RESULT_AMBIGUOUS], tally->cases),
	       percent_of(tally->result[RESULT_WRONG], tally->cases),
	       percent_of(tally->static_result[RESULT_RIGHT], tally->cases),
	       percent_of(tally->static_result[RESULT_AMBIGUOUS], tally->cases));
	if (tally->cases)
		printf("%s: calls for an answer: %.2f on average, %u at most; fields named: %.2f on average\n",
		       user, (double)tally->calls / tally->cases, tally->most_calls,
		       (double)tally->fields / tally->cases);
}
