/* SPDX-License-Identifier: MIT */
/* The events of a machine, as `perch list` shows them. */
#ifndef PERCH_CLI_LIST_H
#define PERCH_CLI_LIST_H

#include <perch/event.h>
#include <perch/explain.h>

/* In the order shown; the texts of a kind are in list.c. */
enum list_kind {
	LIST_HARDWARE,
	LIST_SOFTWARE,
	LIST_CACHE,
	LIST_PMU,
	LIST_RAW,
	LIST_TRACEPOINT,
	LIST_KINDS
};

enum list_state {
	LIST_UNTRIED,			/* not a generic event */
	LIST_WORKS,
	LIST_UNSUPPORTED,		/* the machine has no such event */
	LIST_FORBIDDEN			/* this user may not */
};

struct list_event {
	char *name;
	const char *alias;		/* NULL: none */
	enum list_kind kind;
	enum list_state state;
	struct perch_error reason;	/* when it does not work */
};

/* What the user wants to see: all of some kinds (bit n: kind n), and events whose names match a word. */
struct list_filter {
	unsigned kinds;
	char **words;
	size_t nr_words;
};

struct list {
	struct perch_machine *machine;
	struct list_filter filter;
	struct list_event *event;
	size_t nr;
	struct perch_error no_tracepoints;	/* why they are missing; cause NONE: they are not */
};

/* Fills list->event in the order shown. Tries generic events on this process, each opened stopped and closed again. */
int list_gather(struct list *list, struct perch_error *err);
void list_clear(struct list *list);

#endif
