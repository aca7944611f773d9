/* SPDX-License-Identifier: MIT */
/* Counts right and wrong explanations for each breakage. */
#ifndef PERCH_TALLY_H
#define PERCH_TALLY_H

#include "generated.h"

struct tally {
	struct {
		unsigned result[RESULT_MAX];
		unsigned accepted; /* the kernel took the broken call */
	} by[BREAKAGES_MAX];
	unsigned cases, result[RESULT_MAX];
	unsigned static_result[RESULT_MAX]; /* with facts and without calls */
	uint64_t calls, fields;		    /* made, and named by the first finding */
	unsigned most_calls;
	unsigned over_budget; /* answers for which calls or time ran out */
	unsigned leaks;	      /* descriptors left open by an explanation */
	/* explanations that made other numbers of calls than they say */
	unsigned miscounted;
	unsigned transient; /* answers that say that the call succeeds now */
	unsigned misconduct;
	/* answers without a sentence or a remedy, or with a hole in them */
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
/* Asks perch about the call, both ways, and looks at how it behaved. */
void explain_case(const struct world *world, struct generated_call *call, int errnum,
		  uint32_t kernel_size, struct explained *explained, struct tally *tally);
void print_answer(const struct perch_explanation *explanation);

void tally_print(const struct tally *tally, const struct breakage *const *list, size_t nr,
		 const char *user);
double percent_of(unsigned part, unsigned whole);

#endif
