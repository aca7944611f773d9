/* SPDX-License-Identifier: MIT */
/*
 * Terms between slashes. term_list.c parses and applies a list of terms, terms.c has the terms of
 * all events, term_values.c parses values.
 */
#ifndef PERCH_EVENT_TERMS_H
#define PERCH_EVENT_TERMS_H

#include "internal.h"

/* Applies a term of all events. Returns 1; 0 for any other term; or a negative errno. */
int perch__apply_common_term(struct perch__parser *parser, const struct perch__term *term,
			     struct perch_event *event);
/* True if the term sets a config field: config=, config1=, raw= and so on. */
bool perch__is_config_term(const char *name);
/* Returns the kind of value of a term, for messages: "a number". */
const char *perch__term_value_help(const char *name);

/* call-graph=fp, dwarf, lbr or no; 'dwarf,4096' also sets the bytes of the stack copy. */
int perch__parse_call_graph(struct perch__parser *parser, const struct perch__term *term,
			    struct perch_event *event);
/* branch_type=any_call, any|u, 'any,u'. */
int perch__parse_branch_type(struct perch__parser *parser, const struct perch__term *term,
			     struct perch_event *event);
/* aux-action=start-paused, pause or resume, or several with '|'. */
int perch__parse_aux_action(struct perch__parser *parser, const struct perch__term *term,
			    struct perch_event *event);

#endif
