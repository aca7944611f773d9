/* SPDX-License-Identifier: MIT */
/*
 * How the cause of a refused open call is found: the rules are evaluated (evaluate.c), open calls
 * test what they leave open (probe*.c), and the result becomes messages (message.c).
 */
#ifndef PERCH_EXPLAIN_ENGINE_H
#define PERCH_EXPLAIN_ENGINE_H

#include "rules.h"

#define PERCH__NR(array)  (sizeof(array) / sizeof((array)[0]))
#define PERCH__MAX_FIELDS 4

/* A possible cause, and what it comes from. */
struct perch__candidate {
	const struct perch__rule *rule; /* NULL: .feature, or .field alone */
	enum perch_cause cause;
	enum perch__match match;
	bool too_new; /* the kernel is too old for .feature */
	struct perch__feature feature;
	size_t nr_fields; /* fields found by probing; 0: the rule has them */
	const char *field[PERCH__MAX_FIELDS];
};

/* A cause that would fail next, and the case in which it does. */
struct perch__followup {
	struct perch__candidate candidate;
	struct perch__case at;
};

/* About 5 KiB. Array elements beyond the counts are not initialized, which saves time. */
struct perch__result {
	enum perch_confidence confidence;
	size_t nr;
	struct perch__candidate candidate[PERCH_FINDINGS_MAX];
	size_t nr_next;
	struct perch__followup next[PERCH_NEXT_MAX];
	unsigned open_calls;
	bool out_of_budget;
	bool succeeds_now;
};

/* ---- evaluate.c ---- */

/*
 * Finds all candidates for the case and its errno, likeliest first. all: also those behind a
 * certain one. Returns how many there are.
 */
size_t perch__candidates(const struct perch__case *c, bool all, struct perch__candidate *found,
			 size_t max);
/* Fills the result by rules and facts. */
void perch__evaluate(const struct perch__case *c, struct perch__result *result);
/* Adds what would fail next, unless the result has it already or is full. */
void perch__add_next(struct perch__result *result, const struct perch__candidate *candidate,
		     const struct perch__case *at);
/* Applies the candidate's remedy to the case. Returns false if that changes nothing. */
bool perch__fix(const struct perch__candidate *candidate, struct perch__case *c);
bool perch__same_open_call(const struct perch__case *one, const struct perch__case *other);
/* True for causes outside perf: a seccomp filter, or a kernel without perf events. */
bool perch__is_before_perf(enum perch_cause cause);
/* Whether a list of fields, separated by commas, has this name. */
bool perch__names_field(const char *fields, const char *name);

/* ---- message.c ---- */

/* Writes the messages and remedies of the result. */
void perch__compose(const struct perch__case *c, const struct perch__result *result,
		    struct perch_explanation *explanation);

/* ---- probe_call.c ---- */

struct perch__prober {
	const struct perch_syscalls *syscalls;
	unsigned limit, made; /* open calls */
	uint64_t deadline;    /* nanoseconds of CLOCK_MONOTONIC */
	bool out_of_budget;
	unsigned depth; /* how many causes were fixed already, one after the other */
};

#define PERCH__NOT_TRIED (-1)

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t perch__now(void);
/*
 * Makes the open call in a harmless form and closes the event. Returns 0, the positive errno, or
 * PERCH__NOT_TRIED. A dummy software event replaces an event that must not be created.
 */
int perch__try(struct perch__prober *prober, const struct perch__case *c);
/* Makes an open call without an attr: perf returns EFAULT, a filter in front of it does not. */
int perch__try_without_attr(struct perch__prober *prober);
/* Whether perch__try() replaces the event of the case by a dummy event. */
bool perch__needs_substitute(const struct perch__case *c);
void perch__substitute(struct perch__case *c);

/* ---- probe_fix.c, probe_parts.c ---- */

/* The open call that helped: the search for the next cause continues from it. */
struct perch__progress {
	int errnum; /* what it returned; PERCH__NOT_TRIED: there is none */
	struct perch__case fixed;
};

/* Tries the fixes of the rules. Returns whether they settle the cause. */
bool perch__probe_fixes(struct perch__prober *prober, const struct perch__case *base,
			struct perch__result *result, struct perch__progress *progress);
/* Removes one part of the open call after the other, where no rule helps. */
bool perch__probe_parts(struct perch__prober *prober, const struct perch__case *base,
			struct perch__result *result, struct perch__progress *progress);
/* The dummy event was accepted: only candidates that do not match it remain. */
void perch__blame_event(const struct perch__case *c, struct perch__result *result);

/* ---- probe.c ---- */

/* Makes the result certain where open calls can, and finds what would fail next. */
void perch__probe_case(const struct perch__case *c, const struct perch_probing *budget,
		       struct perch__result *result);

/* ---- attr_subsets.c ---- */

/* What is set in an attr, in the order in which to remove it. */
struct perch__attr_subsets {
	size_t nr;
	struct perch_attr_part subset[PERCH_ATTR_PARTS_MAX];
};
/* Leaves out what cannot be removed, and what needs more privilege when it is removed. */
void perch__split_attr(struct perch__attr_subsets *subsets, const struct perch__case *c);
/* Removes the marked subsets, and what is refused without them. */
void perch__remove_subsets(struct perch__case *c, const struct perch__attr_subsets *subsets,
			   const bool *removed);

#endif
