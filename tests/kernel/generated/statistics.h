/* SPDX-License-Identifier: MIT */
/* Counts correct and wrong explanations of each mutation. */
#ifndef PERCH_STATISTICS_H
#define PERCH_STATISTICS_H

#include "generated.h"

struct statistics {
	struct {
		unsigned result[RESULT_MAX];
		unsigned accepted; /* the kernel accepted the mutated open call */
	} by[MUTATIONS_MAX];
	unsigned cases, result[RESULT_MAX];
	unsigned static_result[RESULT_MAX]; /* results without probing */
	uint64_t calls, fields;		    /* fields: named in the first finding */
	unsigned most_calls;
	unsigned over_budget; /* explanations that ran out of budget */
	unsigned leaks;	      /* descriptors left open by an explanation */
	/* explanations with a wrong number of open calls */
	unsigned miscounted;
	unsigned transient; /* explanations with succeeds_now */
	unsigned violation;
	/* explanations without message or remedy, or with a placeholder */
	unsigned incomplete;
	/* pairs of mutations */
	unsigned pairs, both, found_first, found_none;
	unsigned static_pairs, static_both;
	unsigned hidden_pairs, hidden_both; /* pairs that are refused with EACCES */
	unsigned printed;
};

struct explained {
	struct perch_explanation full, bare; /* bare: without probing */
	int errnum;
};
/* Explains the open call without and with probing, and checks the open calls of probing. */
void explain_case(const struct environment *env, struct generated_call *call, int errnum,
		  uint32_t kernel_size, struct explained *explained, struct statistics *stats);
void print_explanation(const struct perch_explanation *explanation);

void statistics_print(const struct statistics *stats, const struct mutation *const *list, size_t nr,
		      const char *user);
double percent_of(unsigned part, unsigned whole);

#endif
