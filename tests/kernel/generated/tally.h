/* SPDX-License-Identifier: MIT */
/* Counts right and wrong explanations for each breakage. */
#ifndef PERCH_TALLY_H
#define PERCH_TALLY_H

#include "generated.h"

struct tally {
	struct {
		unsigned result[RESULT_MAX];
		unsigned accepted; /* the kernel accepted the broken open call */
	} by[BREAKAGES_MAX];
	unsigned cases, result[RESULT_MAX];
	unsigned static_result[RESULT_MAX]; /* with facts, without probing */
	uint64_t calls, fields;		    /* correct in the first finding */
	unsigned most_calls;
	unsigned over_budget; /* explanations that ran out of budget */
	unsigned leaks;	      /* descriptors left open by an explanation */
	/* explanations with a wrong number of open calls */
	unsigned miscounted;
	unsigned transient; /* explanations with succeeds_now */
	unsigned misconduct;
	/* explanations without message or remedy, or with a placeholder */
	unsigned unfinished;
	/* two faults at once */
	unsigned pairs, both, found_first, found_none;
	unsigned static_pairs, static_both;
	unsigned hidden_pairs, hidden_both; /* what EACCES hides */
	unsigned printed;
};

struct explained {
	struct perch_explanation full, bare; /* bare: no calls */
	int errnum;
};
/* Explains the open call in both ways, and checks what probing did. */
void explain_case(const struct world *world, struct generated_call *call, int errnum,
		  uint32_t kernel_size, struct explained *explained, struct tally *tally);
void print_answer(const struct perch_explanation *explanation);

void tally_print(const struct tally *tally, const struct breakage *const *list, size_t nr,
		 const char *user);
double percent_of(unsigned part, unsigned whole);

#endif
