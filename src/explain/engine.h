/* SPDX-License-Identifier: MIT */
/* How an answer is found: rules first (evaluate.c), then calls (probe*.c), then words (message.c).
 */
#ifndef PERCH_EXPLAIN_ENGINE_H
#define PERCH_EXPLAIN_ENGINE_H

#include "rules.h"

#define PERCH__NR(array)  (sizeof(array) / sizeof((array)[0]))
#define PERCH__MAX_FIELDS 4

/* A cause that fits, and where it comes from. */
struct perch__candidate {
	const struct perch__rule *rule; /* NULL: by a feature, or nothing but fields */
	enum perch_cause cause;
	enum perch__match match;
	bool too_new; /* .feature is what the kernel is too old for */
	struct perch__feature feature;
	size_t nr_fields; /* found by calls; 0: the rule's own */
	const char *field[PERCH__MAX_FIELDS];
};

/* What would fail once the answer is mended, and the call as it would be then. */
struct perch__followup {
	struct perch__candidate candidate;
	struct perch__case at;
};

/* Some 5 KiB, of which nothing is cleared: only what the counts say is there. */
struct perch__result {
	enum perch_confidence confidence;
	size_t nr;
	struct perch__candidate candidate[PERCH_FINDINGS_MAX];
	size_t nr_next;
	struct perch__followup next[PERCH_NEXT_MAX];
	unsigned calls;
	bool out_of_budget;
	bool succeeds_now;
};

/* ---- evaluate.c: what the rules say ---- */

/* All causes that fit the case and its errno, likeliest first. all: those behind a certain one too.
 */
size_t perch__candidates(const struct perch__case *c, bool all, struct perch__candidate *found,
			 size_t max);
/* Fills all but what calls tell. */
void perch__evaluate(const struct perch__case *c, struct perch__result *result);
/* Adds what fails for certain on the mended case. */
void perch__evaluate_next(const struct perch__case *c, struct perch__result *result);
void perch__add_next(struct perch__result *result, const struct perch__candidate *candidate,
		     const struct perch__case *at);
/* What the candidate's remedy advises, done to the case. False: nothing in it can be mended, or
 * nothing was changed. */
bool perch__fix(const struct perch__candidate *candidate, struct perch__case *c);
bool perch__same_open_call(const struct perch__case *one, const struct perch__case *other);
/* That a filter or another kernel could answer before perf is no fault of the call. */
bool perch__is_before_perf(enum perch_cause cause);
/* Whether one of the rule's fields, which are told by comma, is named so. */
bool perch__names_field(const char *fields, const char *name);

/* ---- message.c: the answer in words ---- */

void perch__compose(const struct perch__case *c, const struct perch__result *result,
		    struct perch_explanation *explanation);

/* ---- probe.c: calls that look like the one that failed ---- */

struct perch__prober {
	const struct perch_syscalls *calls;
	struct perch_machine *machine;
	unsigned limit, made;
	uint64_t deadline; /* nanoseconds of CLOCK_MONOTONIC */
	bool out_of_budget;
	unsigned depth; /* of what fails next */
};

#define PERCH__NOT_TRIED (-1)
/*
 * Makes the call, harmless, and closes what it gave: 0, the positive errno, or PERCH__NOT_TRIED.
 * Where the PMU must not come to life a software event stands in for it.
 */
int perch__try(struct perch__prober *prober, const struct perch__case *c);
/* Whether a software event stands in for what the case asks for. */
bool perch__needs_substitute(const struct perch__case *c);
void perch__substitute(struct perch__case *c);
/* For a case whose answer is certain: what comes next. */
void perch__probe_certain(struct perch__prober *prober, const struct perch__case *c,
			  struct perch__result *result);
/* Makes the verdict certain where calls can, and finds what comes next. */
void perch__probe_case(const struct perch__case *c, const struct perch_probing *budget,
		       struct perch__result *result);

/* ---- probe_fix.c: the mends of the rules as hypotheses ---- */

/* True: settled. base: a call that fails alike and is the cheapest to make. */
bool perch__probe_fixes(struct perch__prober *prober, const struct perch__case *base,
			struct perch__result *result);
/* After something proved itself: what the call without it was refused for, if it was. */
void perch__probe_next(struct perch__prober *prober, const struct perch__case *fixed, int errnum,
		       struct perch__result *result);

/* ---- probe_parts.c: one part after the other taken away, where no rule leads further ---- */

/* The stand-in was let through: what holds of it too is not to blame. */
void perch__blame_event(const struct perch__case *c, struct perch__result *result);
bool perch__probe_parts(struct perch__prober *prober, const struct perch__case *base,
			struct perch__result *result);

/* ---- attr_subsets.c: what an attr is made of ---- */

struct perch__attr_subsets {
	size_t nr;
	struct perch_attr_part subset[PERCH_MOST_ATTR_PARTS];
};
/* What can be taken away, in the order in which to try. Nothing that would ask for more privilege
 * when it is gone. */
void perch__split_attr(struct perch__attr_subsets *subsets, const struct perch__case *c);
/* Takes away those that are marked, with what makes no sense without them. */
void perch__remove_subsets(struct perch__case *c, const struct perch__attr_subsets *subsets,
			   const bool *gone);

#endif
