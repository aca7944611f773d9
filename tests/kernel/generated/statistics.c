/* SPDX-License-Identifier: MIT */
/* Explains mutated open calls; counts and prints the results. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "statistics.h"

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

void print_explanation(const struct perch_explanation *explanation)
{
	printf("    %s, %u open calls%s%s\n", perch_confidence_name(explanation->confidence),
	       explanation->open_calls, explanation->out_of_budget ? ", out of budget" : "",
	       explanation->succeeds_now ? ", succeeds now" : "");
	for (size_t i = 0; i < explanation->nr_findings; i++)
		print_finding(i ? "or" : "first", &explanation->finding[i]);
	for (size_t i = 0; i < explanation->nr_next; i++)
		print_finding("next", &explanation->next[i]);
}

/* True if there is a message and a remedy without a placeholder. */
static bool is_complete(const struct perch_finding *finding)
{
	return finding->message[0] && finding->remedy[0] && !strpbrk(finding->message, "{}") &&
	       !strpbrk(finding->remedy, "{}");
}

static bool all_complete(const struct perch_explanation *explanation)
{
	bool all = explanation->nr_findings > 0;

	for (size_t i = 0; i < explanation->nr_findings; i++)
		all &= is_complete(&explanation->finding[i]);
	for (size_t i = 0; i < explanation->nr_next; i++)
		all &= is_complete(&explanation->next[i]);
	return all;
}

static void check_probing(const struct generated_call *call, const struct perch_explanation *full,
			  int before, struct statistics *stats)
{
	const char *violation = take_violation();
	unsigned made = count_open_calls(true);

	stats->calls += full->open_calls;
	stats->fields += full->finding[0].nr_fields;
	if (full->open_calls > stats->most_calls)
		stats->most_calls = full->open_calls;
	stats->over_budget += full->out_of_budget;
	stats->leaks += lowest_descriptor() != before;
	stats->miscounted += made != full->open_calls;
	stats->transient += full->succeeds_now;
	stats->incomplete += !all_complete(full);
	if (violation && !stats->violation++) {
		printf("violation: %s\n", violation);
		generated_print(call, full->errnum);
		print_explanation(full);
	}
}

void explain_case(const struct environment *env, struct generated_call *call, int errnum,
		  uint32_t kernel_size, struct explained *explained, struct statistics *stats)
{
	const struct perch_probing probing = { .open_calls = 0, .microseconds = 1000000 };
	int before = lowest_descriptor();
	struct perch_open_call open_call;

	explained->errnum = errnum;
	generated_describe(call, errnum, kernel_size, &open_call);
	perch_explain_open_call(&open_call, NULL, env->machine, &explained->bare);
	count_open_calls(true);
	perch_explain_open_call(&open_call, &probing, env->machine, &explained->full);
	check_probing(call, &explained->full, before, stats);
}

void statistics_print(const struct statistics *stats, const struct mutation *const *list, size_t nr,
		      const char *user)
{
	printf("%-46s %7s %9s %7s %9s\n", user, "correct", "ambiguous", "wrong", "accepted");
	for (size_t i = 0; i < nr; i++)
		printf("  %-44s %7u %9u %7u %9u%s\n", list[i]->name,
		       stats->by[i].result[RESULT_CORRECT], stats->by[i].result[RESULT_AMBIGUOUS],
		       stats->by[i].result[RESULT_WRONG], stats->by[i].accepted,
		       stats->by[i].result[RESULT_WRONG] ? "  <-- wrong" : "");
	printf("%s: %u cases: %.2f %% correct, %.2f %% ambiguous, %.2f %% wrong; without probing %.2f %% correct, %.2f %% "
	       "ambiguous\n",
	       user, stats->cases, percent_of(stats->result[RESULT_CORRECT], stats->cases),
	       percent_of(stats->result[RESULT_AMBIGUOUS], stats->cases),
	       percent_of(stats->result[RESULT_WRONG], stats->cases),
	       percent_of(stats->static_result[RESULT_CORRECT], stats->cases),
	       percent_of(stats->static_result[RESULT_AMBIGUOUS], stats->cases));
	if (stats->cases)
		printf("%s: open calls per explanation: %.2f on average, %u at most; fields in the first finding: %.2f on average\n",
		       user, (double)stats->calls / stats->cases, stats->most_calls,
		       (double)stats->fields / stats->cases);
}
