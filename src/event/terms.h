/* SPDX-License-Identifier: MIT */
/* Terms whose values are words, and how texts of terms are read. */
#ifndef PERCH_EVENT_TERMS_H
#define PERCH_EVENT_TERMS_H

#include "internal.h"

/* The kernel takes a page, with the final NUL, at most. */
#define PERCH__FILTER_MAX 4095

/* call-graph=fp, dwarf, lbr or no; 'dwarf,4096' says the stack's bytes too. */
int perch__parse_call_graph(struct perch__parser *parser, const struct perch__term *term,
			    struct perch_event *event);
/* branch_type=any_call, any|u, 'any,u'. */
int perch__parse_branch_type(struct perch__parser *parser, const struct perch__term *term,
			     struct perch_event *event);
/* aux-action=start-paused, pause or resume; several with '|'. */
int perch__parse_aux_action(struct perch__parser *parser, const struct perch__term *term,
			    struct perch_event *event);
/*
 * Refuses a filter that compares a field which the event's tracepoint has not. 0 where that is not
 * sure: tracefs cannot be read, or the filter is no expression.
 */
int perch__check_filter(const struct perch_event *event, const char *filter,
			struct perch_machine *machine, struct perch_error *err);
/* What the value of a term is called in a message. */
const char *perch__term_value_help(const char *name);

#endif
