/* SPDX-License-Identifier: MIT */
/*
 * Finds the cause of a refused open call: evaluate.c evaluates the rules, probe*.c makes open calls
 * if several causes are possible, and message.c writes the messages.
 */
#ifndef PERCH_EXPLAIN_ENGINE_H
#define PERCH_EXPLAIN_ENGINE_H

#include "base/nr.h"
#include "explain/rules/rules.h"

#define PERCH__MAX_FIELDS 4

/* A possible cause, and the rule, features or fields that it comes from. */
struct perch__candidate {
	const struct perch__rule *rule; /* NULL: the cause comes from .stage or .field */
	enum perch_cause cause;
	enum perch__match match;
	bool too_new; /* the kernel is too old for features of .stage */
	enum perch__stage stage;
	size_t nr_fields; /* fields found by probing; 0: the rule has them */
	const char *field[PERCH__MAX_FIELDS];
};

/* The cause of a later failure, and the case in which it occurs. */
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
 * Finds the candidates for the case and its errno, likeliest first. With all, the search continues
 * after a certain candidate. Returns the number of candidates.
 */
size_t perch__candidates(const struct perch__case *c, bool all, struct perch__candidate *found,
			 size_t max);
/* Fills the result by rules and facts. */
void perch__evaluate(const struct perch__case *c, struct perch__result *result);
/* Adds a follow-up, unless the result already has it or is full. */
void perch__add_next(struct perch__result *result, const struct perch__candidate *candidate,
		     const struct perch__case *at);
/* Applies the candidate's remedy to the case. Returns false if that changes nothing. */
bool perch__fix(const struct perch__candidate *candidate, struct perch__case *c);
bool perch__same_open_call(const struct perch__case *one, const struct perch__case *other);
/* Finds the features of a too_new candidate, newest first. */
void perch__candidate_features(const struct perch__candidate *candidate,
			       const struct perch__case *c, struct perch__newer_list *list);
/* True for causes outside perf: a seccomp filter, or a kernel without perf events. */
bool perch__is_before_perf(enum perch_cause cause);

/* ---- message.c ---- */

/* Writes the messages and remedies of the result. */
void perch__compose(const struct perch__case *c, const struct perch__result *result,
		    struct perch_explanation *explanation);

/* ---- probing/probe_call.c ---- */

struct perch__prober {
	const struct perch_syscalls *syscalls;
	unsigned limit, made; /* open calls */
	uint64_t deadline;    /* nanoseconds of CLOCK_MONOTONIC */
	bool out_of_budget;
	uint32_t kernel_size; /* of the attr, as the kernel wrote it after E2BIG; 0: unknown */
	unsigned depth;	      /* number of causes that were fixed one after the other */
};

#define PERCH__NOT_TRIED (-1)

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t perch__now(void);
/*
 * Makes the open call in a harmless form and closes the event. Returns 0, the positive errno, or
 * PERCH__NOT_TRIED. A dummy software event replaces an event that must not be created. Settings
 * that have effects beside the event (perch__drop_effects()) are checked by an open call that the
 * kernel cannot accept; an event is opened only without them.
 */
int perch__try(struct perch__prober *prober, const struct perch__case *c);
/*
 * Makes an open call without an attr. perf returns EFAULT; a seccomp filter returns another errno.
 */
int perch__try_without_attr(struct perch__prober *prober);
/*
 * Lets the kernel check an attr, and nothing else: group_fd is no descriptor, which the kernel
 * refuses (EBADF) after the attr. Returns the positive errno, or PERCH__NOT_TRIED.
 */
int perch__try_attr(struct perch__prober *prober, const struct perch__case *c,
		    const struct perch_attr *attr);
/* Clears the settings that have effects beside the event. */
void perch__drop_effects(struct perch__case *c);
/* Whether perch__try() replaces the event of the case by a dummy event. */
bool perch__needs_substitute(const struct perch__case *c);
void perch__substitute(struct perch__case *c);

/* ---- probing/probe_features.c ---- */

/*
 * Finds which features that are newer than the release the kernel has, because distributions
 * backport some. The results are in c->shared.
 */
void perch__probe_features(struct perch__prober *prober, const struct perch__case *c);

/* ---- probing/probe_fix.c, probing/probe_parts.c ---- */

/* The open call that passed the check. The search for the next cause continues with it. */
struct perch__progress {
	int errnum; /* its errno; PERCH__NOT_TRIED if there is no open call */
	struct perch__case fixed;
};

/* Tries the fixes of the rules. Returns true if the cause is found. */
bool perch__probe_fixes(struct perch__prober *prober, const struct perch__case *base,
			struct perch__result *result, struct perch__progress *progress);
/*
 * Removes parts of the open call one after the other, if no fix of a rule succeeded. Returns true
 * if the cause is found.
 */
bool perch__probe_parts(struct perch__prober *prober, const struct perch__case *base,
			struct perch__result *result, struct perch__progress *progress);
/* Keeps only candidates about the event, after the kernel has accepted a dummy event instead. */
void perch__set_event_cause(const struct perch__case *c, struct perch__result *result);

/* ---- probing/probe.c ---- */

/* Makes open calls to find the certain cause and the follow-ups. */
void perch__probe_case(const struct perch__case *c, const struct perch_probing *budget,
		       struct perch__result *result);

/* ---- probing/attr_subsets.c ---- */

/* The settings of an attr, in the order in which they are removed. */
struct perch__attr_subsets {
	size_t nr;
	struct perch_attr_part subset[PERCH_ATTR_PARTS_MAX];
};
/*
 * Splits the attr. Excludes settings that cannot be removed, and settings whose removal needs more
 * privilege.
 */
void perch__split_attr(struct perch__attr_subsets *subsets, const struct perch__case *c);
/* Removes the marked subsets, and settings that are refused without them. */
void perch__remove_subsets(struct perch__case *c, const struct perch__attr_subsets *subsets,
			   const bool *removed);

#endif
