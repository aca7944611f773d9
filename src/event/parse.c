/* SPDX-License-Identifier: MIT */
/*
 * Event strings, by recursive descent:
 *
 *	list  = item { "," item }
 *	item  = event | "{" event { "," event } "}" [ ":" letters ]
 *	event = name [ ":" letters ]			hardware, software, cache, rNNN, a PMU's event by its bare name
 *	      | system ":" name [ ":" letters ]		a tracepoint
 *	      | pmu "/" [ term { "," term } ] "/" [ [ ":" ] letters ]
 *
 * Spaces may stand between tokens.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

void perch__advance(struct perch__parser *parser)
{
	parser->token = perch__token_at(parser->text, parser->token.at + parser->token.length);
}

int perch__refuse(struct perch__parser *parser, size_t at, int errnum, enum perch_cause cause, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	perch_error_set(parser->err, errnum, cause, "%s", text);
	if (parser->err)
		parser->err->column = at;
	return -errnum;
}

int perch__need_machine(struct perch__parser *parser)
{
	int rc;

	if (parser->machine)
		return 0;
	rc = perch_machine_new(&parser->machine, NULL, NULL, parser->err);
	parser->own_machine = !rc;
	return rc;
}

int perch__expected(struct perch__parser *parser, const char *what)
{
	char found[80];

	return perch__refuse(parser, parser->token.at, EINVAL, PERCH_CAUSE_SYNTAX, "expected %s, found %s", what,
			     perch__token_name(parser->text, &parser->token, found, sizeof(found)));
}

int perch__take_word(struct perch__parser *parser, char word[PERCH__WORD], const char *what)
{
	if (parser->token.kind != PERCH__TOKEN_WORD)
		return perch__expected(parser, what);
	if (parser->token.length >= PERCH__WORD)
		return perch__refuse(parser, parser->token.at, EINVAL, PERCH_CAUSE_SYNTAX,
				     "a word of %zu letters is no event's", parser->token.length);
	memcpy(word, parser->text + parser->token.at, parser->token.length);
	word[parser->token.length] = '\0';
	perch__advance(parser);
	return 0;
}

static struct perch_event *new_event(struct perch__parser *parser)
{
	struct perch_events *events = parser->events;
	struct perch_event *event, *larger;

	/* there is room for the next power of two, so the number alone tells when it is used up */
	if (!(events->nr & (events->nr - 1))) {
		larger = reallocarray(events->event, events->nr ? 2 * events->nr : 1, sizeof(*larger));
		if (!larger) {
			perch_error_set(parser->err, ENOMEM, PERCH_CAUSE_NO_MEMORY, "no memory for one more event");
			return NULL;
		}
		events->event = larger;
	}
	event = &events->event[events->nr];
	memset(event, 0, sizeof(*event));
	event->attr.size = sizeof(event->attr);
	event->leader = events->nr++;
	event->members = 1;
	event->scale = 1.0;
	return event;
}

/* A name that is nothing here. Cache events that no cache has are told apart from slips of the pen. */
static int unknown_event(struct perch__parser *parser, const char *word, size_t at)
{
	struct perch__nearest nearest = { .word = word };
	uint64_t config;
	bool legal;
	int rc;

	if (perch__cache_event(word, &config, &legal))
		rc = perch__refuse(parser, at, EINVAL, PERCH_CAUSE_UNKNOWN_EVENT,
				   "'%s' is no event: that cache has no such operation", word);
	else
		rc = perch__refuse(parser, at, ENOENT, PERCH_CAUSE_UNKNOWN_EVENT, "there is no event '%s'", word);
	perch__nearest_offer_generic(&nearest);
	perch__nearest_remedy(&nearest, parser->err, "'perch list' shows the events of this machine");
	return rc;
}

static int parse_letters(struct perch__parser *parser, struct perch_event *event, bool group)
{
	struct perch__token token = parser->token;

	if (token.kind != PERCH__TOKEN_WORD)
		return perch__expected(parser, "modifiers after ':', as in cycles:u");
	perch__advance(parser);
	return perch__modify(parser, event, token.at, token.length, group);
}

/* Letters behind the closing slash may go without a colon, but not without touching it. */
static int parse_pmu_event(struct perch__parser *parser, const char *name, size_t at, struct perch_event *event)
{
	size_t end;
	int rc;

	perch__advance(parser);
	rc = perch__parse_pmu(parser, name, at, event);
	if (rc)
		return rc;
	end = parser->token.at;
	if (parser->token.kind == PERCH__TOKEN_WORD && parser->text[end - 1] == '/')
		return parse_letters(parser, event, false);
	return 0;
}

static int parse_tracepoint(struct perch__parser *parser, const char *system, size_t at, struct perch_event *event)
{
	size_t at_name = parser->token.at;
	char name[PERCH__WORD];
	int rc = perch__take_word(parser, name, "the name of a tracepoint after ':'");

	return rc ? rc : perch__tracepoint(parser, system, at, name, at_name, event);
}

/* "system:name" rather than "name:letters": what comes after the colon is not all letters of modifiers. */
static bool names_tracepoint(const struct perch__parser *parser)
{
	struct perch__token after;

	if (parser->token.kind != PERCH__TOKEN_COLON)
		return false;
	after = perch__token_at(parser->text, parser->token.at + 1);
	return strspn(parser->text + after.at, "ukhGHIpPDe") < after.length;
}

/* What is measured, up to the letters. */
static int parse_name(struct perch__parser *parser, struct perch_event *event)
{
	size_t at = parser->token.at;
	char word[PERCH__WORD];
	int rc = perch__take_word(parser, word, "an event");

	if (rc)
		return rc;
	if (parser->token.kind == PERCH__TOKEN_SLASH)
		return parse_pmu_event(parser, word, at, event);
	if (perch__generic_event(word, &event->attr))
		return 0;
	if (!names_tracepoint(parser)) {
		rc = perch__named_pmu_event(parser, word, at, event);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (parser->token.kind != PERCH__TOKEN_COLON)
		return unknown_event(parser, word, at);
	perch__advance(parser);
	return parse_tracepoint(parser, word, at, event);
}

/* The name is the text as written, the spaces behind it left out and cut at what fits. */
static void set_name(struct perch_event *event, const char *text, size_t from, size_t to)
{
	while (to > from && strchr(" \t\n", text[to - 1]))
		to--;
	snprintf(event->name, sizeof(event->name), "%.*s", (int)(to - from < 1000 ? to - from : 1000), text + from);
}

static int parse_event(struct perch__parser *parser)
{
	struct perch_event *event = new_event(parser);
	size_t from = parser->token.at;
	int rc = event ? parse_name(parser, event) : -ENOMEM;

	if (!rc && parser->token.kind == PERCH__TOKEN_COLON) {
		perch__advance(parser);
		rc = parse_letters(parser, event, false);
	}
	if (!rc && !event->name[0])
		set_name(event, parser->text, from, parser->token.at);
	return rc;
}

static int parse_group_letters(struct perch__parser *parser, size_t leader)
{
	struct perch__token token;

	perch__advance(parser);
	token = parser->token;
	for (size_t i = leader; i < parser->events->nr; i++) {
		int rc;

		parser->token = token;
		rc = parse_letters(parser, &parser->events->event[i], true);
		if (rc)
			return rc;
	}
	return 0;
}

static int parse_group(struct perch__parser *parser)
{
	size_t leader = parser->events->nr;
	int rc;

	parser->group = leader;
	parser->said_machine = 0;
	do {
		perch__advance(parser);		/* over '{' or ',' */
		if (parser->token.kind == PERCH__TOKEN_OPEN)
			return perch__refuse(parser, parser->token.at, EINVAL, PERCH_CAUSE_SYNTAX,
					     "a group cannot hold a group");
		rc = parse_event(parser);
		if (rc)
			return rc;
	} while (parser->token.kind == PERCH__TOKEN_COMMA);
	if (parser->token.kind != PERCH__TOKEN_CLOSE)
		return perch__expected(parser, "',' or '}' in a group");
	perch__advance(parser);
	for (size_t i = leader; i < parser->events->nr; i++) {
		parser->events->event[i].leader = leader;
		parser->events->event[i].members = 0;
	}
	parser->events->event[leader].members = parser->events->nr - leader;
	return parser->token.kind == PERCH__TOKEN_COLON ? parse_group_letters(parser, leader) : 0;
}

static int parse_list(struct perch__parser *parser)
{
	while (true) {
		int rc = parser->token.kind == PERCH__TOKEN_OPEN ? parse_group(parser) : parse_event(parser);

		if (rc || parser->token.kind == PERCH__TOKEN_END)
			return rc;
		if (parser->token.kind != PERCH__TOKEN_COMMA)
			return perch__expected(parser, "',' or the end after an event");
		perch__advance(parser);
	}
}

int perch_events_add(struct perch_events *events, const char *text, struct perch_machine *machine,
		     struct perch_error *err)
{
	struct perch__parser parser = { .text = text, .machine = machine, .events = events, .err = err };
	size_t before = events->nr;
	int rc;

	parser.token = perch__token_at(text, 0);
	rc = parse_list(&parser);
	if (parser.own_machine)
		perch_machine_free(parser.machine);
	if (rc)
		events->nr = before;
	return rc;
}

int perch_events_parse(struct perch_events *events, const char *text, struct perch_machine *machine,
		       struct perch_error *err)
{
	int rc;

	memset(events, 0, sizeof(*events));
	rc = perch_events_add(events, text, machine, err);
	if (rc)
		perch_events_clear(events);
	return rc;
}

void perch_events_clear(struct perch_events *events)
{
	free(events->event);
	memset(events, 0, sizeof(*events));
}
