/* SPDX-License-Identifier: MIT */
/* How an answer is found: rules first (judge.c), then calls (probe*.c), then words (tell.c). */
#ifndef PERCH_EXPLAIN_ENGINE_H
#define PERCH_EXPLAIN_ENGINE_H

#include "rules.h"

#define PERCH__NR(array)   (sizeof(array) / sizeof((array)[0]))
#define PERCH__MOST_FIELDS 4

/* A cause that fits, and where it comes from. */
struct perch__candidate {
	const struct perch__rule *rule; /* NULL: by a feature, or nothing but fields */
	enum perch_cause cause;
	enum perch__fit fit;
	bool newer; /* .feature is what the kernel is too old for */
	struct perch__feature feature;
	size_t nr_fields; /* found by calls; 0: the rule's own */
	const char *field[PERCH__MOST_FIELDS];
};

/* What would fail once the answer is mended, and the call as it would be then. */
struct perch__sequel {
	struct perch__candidate candidate;
	struct perch__case at;
};

/* Some 5 KiB, of which nothing is cleared: only what the counts say is there. */
struct perch__verdict {
	enum perch_confidence confidence;
	size_t nr;
	struct perch__candidate candidate[PERCH_FINDINGS_MAX];
	size_t nr_next;
	struct perch__sequel next[PERCH_NEXT_MAX];
	unsigned calls;
	bool out_of_budget;
	bool succeeds_now;
	/* a call proved that the answer's mend leaves nothing to refuse */
	bool mended_succeeds;
};

/* ---- judge.c: what the rules say ---- */

/* All causes that fit the case and its errno, likeliest first. all: those behind a certain one too.
 */
size_t perch__candidates(const struct perch__case *c, bool all, struct perch__candidate *found,
			 size_t max);
/* Fills all but what calls tell. */
void perch__judge(const struct perch__case *c, struct perch__verdict *verdict);
/* Adds what fails for certain on the mended case. */
void perch__judge_next(const struct perch__case *c, struct perch__verdict *verdict);
void perch__add_next(struct perch__verdict *verdict, const struct perch__candidate *candidate,
		     const struct perch__case *at);
/* What the candidate's remedy advises, done to the case. False: nothing in it can be mended, or
 * nothing was changed. */
bool perch__mend(const struct perch__candidate *candidate, struct perch__case *c);
bool perch__same_call(const struct perch__case *one, const struct perch__case *other);
/* That a filter or another kernel could answer before perf is no fault of the call. */
bool perch__is_before_perf(enum perch_cause cause);
/* Whether one of the rule's fields, which are told by comma, is named so. */
bool perch__names_field(const char *fields, const char *name);

/* ---- tell.c: the answer in words ---- */

void perch__tell(const struct perch__case *c, const struct perch__verdict *verdict,
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

#define PERCH__NOT_ASKED (-1)
/*
 * Makes the call, harmless, and closes what it gave: 0, the positive errno, or PERCH__NOT_ASKED.
 * Where the PMU must not come to life a software event stands in for it.
 */
int perch__ask(struct perch__prober *prober, const struct perch__case *c);
/* Whether a software event stands in for what the case asks for. */
bool perch__stands_in(const struct perch__case *c);
void perch__stand_in(struct perch__case *c);
/* For a case whose answer is certain: what comes next. */
void perch__probe_certain(struct perch__prober *prober, const struct perch__case *c,
			  struct perch__verdict *verdict);
/* Makes the verdict certain where calls can, and finds what comes next. */
void perch__probe_case(const struct perch__case *c, const struct perch_probing *budget,
		       struct perch__verdict *verdict);

/* ---- probe_mend.c: the mends of the rules as hypotheses ---- */

/* True: settled. base: a call that fails alike and is the cheapest to make. */
bool perch__probe_mends(struct perch__prober *prober, const struct perch__case *base,
			struct perch__verdict *verdict);
/* After something proved itself: what the call without it was refused for, if it was. */
void perch__probe_next(struct perch__prober *prober, const struct perch__case *mended, int errnum,
		       struct perch__verdict *verdict);

/* ---- probe_parts.c: one part after the other taken away, where no rule leads further ---- */

/* The stand-in was let through: what holds of it too is not to blame. */
void perch__blame_stand_in(const struct perch__case *c, struct perch__verdict *verdict);
bool perch__probe_parts(struct perch__prober *prober, const struct perch__case *base,
			struct perch__verdict *verdict);

/* ---- atoms.c: what an attr is made of ---- */

struct perch__atoms {
	size_t nr;
	struct perch_attr_part atom[PERCH_MOST_ATTR_PARTS];
};
/* What can be taken away, in the order in which to try. Nothing that would ask for more privilege
 * when it is gone. */
void perch__atoms_of(struct perch__atoms *atoms, const struct perch__case *c);
/* Takes away those that are marked, with what makes no sense without them. */
void perch__without(struct perch__case *c, const struct perch__atoms *atoms, const bool *gone);

#endif
