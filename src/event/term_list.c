/* SPDX-License-Identifier: MIT */
/* Parses the terms between slashes, applies them to an event, and checks them together. */
#include <errno.h>
#include <string.h>

#include "config.h"
#include "terms.h"

static int parse_quoted(struct perch__parser *parser, struct perch__term *term)
{
	const char *text = parser->text + parser->token.at, *end = strchr(text + 1, *text);

	if (!end)
		return perch__parse_error(parser, parser->token.at, EINVAL, PERCH_ERROR_SYNTAX,
					  "the quote that begins here is not closed");
	term->value_at = parser->token.at + 1;
	term->value_length = end - text - 1;
	perch__advance_to(parser, parser->token.at + (end - text) + 1);
	return 0;
}

static int parse_value(struct perch__parser *parser, struct perch__term *term, const char *name)
{
	const char *text;

	perch__advance(parser); /* over '=' */
	text = parser->text + parser->token.at;
	term->valued = true;
	if (*text == '\'' || *text == '"')
		return parse_quoted(parser, term);
	term->value_at = parser->token.at;
	term->value_length = strcspn(text, ",/ \t\n'\"");
	if (!term->value_length)
		return perch__expected(parser, perch__term_value_help(name));
	perch__advance_to(parser, parser->token.at + term->value_length);
	return 0;
}

static int parse_term(struct perch__parser *parser, struct perch__terms *terms)
{
	struct perch__term *term = &terms->term[terms->nr];
	char name[PERCH__WORD_SIZE];
	int rc;

	if (terms->nr == PERCH__TERMS_MAX)
		return perch__parse_error(parser, parser->token.at, EINVAL, PERCH_ERROR_SYNTAX,
					  "an event has at most %d terms", PERCH__TERMS_MAX);
	*term = (struct perch__term){ .at = parser->token.at, .length = parser->token.length };
	rc = perch__take_word(parser, name, "a term such as period=1000");
	if (rc)
		return rc;
	if (name[0] == '@') {
		perch__parse_error(parser, term->at, EINVAL, PERCH_ERROR_UNKNOWN_TERM,
				   "'%s' is a driver term of perf, which perch does not support",
				   name);
		perch_error_remedy(parser->err, "omit it");
		return -EINVAL;
	}
	if (parser->token.kind == PERCH__TOKEN_EQUALS)
		rc = parse_value(parser, term, name);
	terms->nr += !rc;
	return rc;
}

int perch__parse_terms(struct perch__parser *parser, struct perch__terms *terms)
{
	terms->nr = 0;
	perch__advance(parser);
	terms->from = parser->token.at;
	while (parser->token.kind != PERCH__TOKEN_SLASH) {
		int rc = parse_term(parser, terms);

		if (rc)
			return rc;
		if (parser->token.kind == PERCH__TOKEN_COMMA) {
			perch__advance(parser);
			if (parser->token.kind == PERCH__TOKEN_SLASH)
				return perch__expected(parser, "a term after ','");
		} else if (parser->token.kind != PERCH__TOKEN_SLASH) {
			return perch__expected(parser, "',' or '/' after a term");
		}
	}
	terms->to = parser->token.at;
	perch__advance(parser);
	return 0;
}

static int check_pair(struct perch__parser *parser, const struct perch__terms *terms,
		      const char *one, const char *other, const char *why)
{
	const struct perch__term *first = perch__find_term(parser, terms, one);
	const struct perch__term *second = perch__find_term(parser, terms, other);

	if (!first || !second)
		return 0;
	return perch__parse_error(parser, first->at > second->at ? first->at : second->at, EINVAL,
				  PERCH_ERROR_CONFLICT, "%s= and %s= exclude each other: %s", one,
				  other, why);
}

int perch__check_terms(struct perch__parser *parser, const struct perch__terms *terms,
		       const struct perch_event *event)
{
	const struct perch__term *stack = perch__find_term(parser, terms, "stack-size");
	int rc = check_pair(parser, terms, "period", "freq",
			    "one sets the events per sample, the other the samples per second");

	if (rc)
		return rc;
	if (stack && event->terms.call_graph != PERCH_CALL_GRAPH_UNSET &&
	    event->terms.call_graph != PERCH_CALL_GRAPH_DWARF)
		return perch__parse_error(
			parser, stack->at, EINVAL, PERCH_ERROR_CONFLICT,
			"stack-size= needs call-graph=dwarf, which copies the stack");
	if (event->terms.max_stack && event->terms.call_graph == PERCH_CALL_GRAPH_NONE)
		return perch__parse_error(parser, terms->from, EINVAL, PERCH_ERROR_CONFLICT,
					  "max-stack= and call-graph=no exclude each other");
	return 0;
}

static int report_unknown(struct perch__parser *parser, const struct perch__term *term)
{
	char name[PERCH__WORD_SIZE];
	struct perch__suggestions suggestions = { .word = name };

	perch__term_name(parser, term, name);
	perch__parse_error(parser, term->at, EINVAL, PERCH_ERROR_UNKNOWN_TERM,
			   "this event has no term '%s'", name);
	perch__suggest_terms(&suggestions);
	perch__suggestions_remedy(&suggestions, parser->err,
				  "see perch-events(7) for the terms of all events");
	return -EINVAL;
}

int perch__apply_terms(struct perch__parser *parser, const struct perch__terms *terms,
		       struct perch_event *event)
{
	for (size_t i = 0; i < terms->nr; i++) {
		const struct perch__term *term = &terms->term[i];
		char name[PERCH__WORD_SIZE];
		uint64_t config;
		int rc = perch__apply_common_term(parser, term, event);

		if (rc < 0)
			return rc;
		if (rc)
			continue;
		perch__term_name(parser, term, name);
		if (term->valued || !perch__is_raw_term(name, &config) || parser->config_fixed)
			return report_unknown(parser, term);
		perch__set_config(&event->attr, config);
	}
	return perch__check_terms(parser, terms, event);
}
