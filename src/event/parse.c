/* SPDX-License-Identifier: MIT */
/*
 * Event strings, by recursive descent:
 *
 *  list  = item { "," item }
 *  item  = event | [ name ] "{" event { "," event } "}" [ ":" modifiers ]
 *  event = base [ "/" [ term { "," term } ] "/" ] [ ":" modifiers ]
 *  base  = name                  hardware, software, cache, rNNN, event of a PMU
 *        | system ":" name               tracepoints; both may be globs
 *        | type ":" config               as numbers
 *        | keyword ":" ...               mem, uprobe, kprobe, usdt, pfm: see their files
 *        | pmu                   with terms: one PMU of sysfs or several
 *  term  = name [ "=" value ]            a value in quotes may have any byte
 *
 * Modifiers after terms need no colon. Spaces are allowed between tokens.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "config.h"

/* Events of perf that are not events of the kernel. */
static bool is_clock(const char *word)
{
	return !strcmp(word, "duration_time") || !strcmp(word, "user_time") ||
	       !strcmp(word, "system_time");
}

/* Names of what other tools compute of context switches. */
static bool is_off_cpu(const char *word)
{
	static const char *const names[] = { "off-cpu", "offcpu", "off_cpu", "off-cpu-time",
					     "offcpu-time" };

	for (size_t i = 0; i < PERCH__NR(names); i++)
		if (!strcmp(word, names[i]))
			return true;
	return false;
}

/* Reports an unknown name, or a cache event that no cache has. */
static int report_unknown(struct perch__parser *parser, const char *word, size_t at)
{
	struct perch__suggestions suggestions = { .word = word };
	uint64_t config;
	bool legal;
	int rc;

	if (is_clock(word))
		rc = perch__parse_error(parser, at, ENOENT, PERCH_ERROR_NOT_SUPPORTED,
					"'%s' is no event of the kernel", word);
	else if (perch__find_cache_event(word, &config, &legal))
		rc = perch__parse_error(parser, at, EINVAL, PERCH_ERROR_UNKNOWN_EVENT,
					"there is no event '%s': the cache has no such operation",
					word);
	else
		rc = perch__parse_error(parser, at, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
					"there is no event '%s'", word);
	if (is_clock(word)) {
		perch_error_remedy(
			parser->err,
			"it is a time that perf stat measures without an event: read a clock before and after the work");
		return rc;
	}
	if (is_off_cpu(word)) {
		perch_error_remedy(
			parser->err,
			"did you mean the option --off-cpu of a recorder? It makes times of context switches");
		return rc;
	}
	perch__suggest_generic_names(&suggestions);
	perch__suggest_pmu_events(&suggestions, parser->machine);
	perch__suggestions_remedy(
		&suggestions, parser->err,
		"see perch-events(7) for the names; /sys/bus/event_source/devices/*/events has those of this machine");
	return rc;
}

/* The event that is parsed, by offsets in the text. */
struct item {
	size_t from;	 /* its start */
	size_t name_end; /* where its terms or modifiers begin */
	size_t first;	 /* index of its first event */
	size_t modifiers_at, modifiers_length;
	bool generic;		   /* a generic name, which may be one event for each core PMU */
	struct perch__terms terms; /* nr is 0 without terms */
};

static int parse_modifiers(struct perch__parser *parser, struct perch_event *event, bool group)
{
	struct perch__token token = parser->token;

	if (token.kind != PERCH__TOKEN_WORD)
		return perch__expected(parser, "modifiers after ':', as in cycles:u");
	perch__advance(parser);
	return perch__apply_modifiers(parser, event, token.at, token.length, group);
}

/* Parses optional terms and applies them to all events of the item. */
static int parse_terms(struct perch__parser *parser, struct item *item)
{
	struct perch_events *events = parser->events;
	int rc;

	if (parser->token.kind != PERCH__TOKEN_SLASH)
		return 0;
	rc = perch__parse_terms(parser, &item->terms);
	for (size_t i = item->first; i < events->nr && !rc; i++)
		rc = perch__apply_terms(parser, &item->terms, &events->event[i]);
	return rc;
}

static int parse_pmu_event(struct perch__parser *parser, const char *name, struct item *item)
{
	bool found;
	int rc = perch__parse_terms(parser, &item->terms);

	if (rc)
		return rc;
	rc = perch__add_pmu_events(parser, name, &item->terms, &found);
	if (found)
		return rc;
	rc = perch__add_named_pmu_events(parser, name, item->from, &item->terms, &found);
	return found ? rc : perch__unknown_pmu(parser, name, item->from);
}

/* Without a name after the colon, the word before it may be a misspelled keyword. */
static int report_no_name(struct perch__parser *parser, const char *word)
{
	struct perch__suggestions suggestions = { .word = word };
	int rc = perch__expected(parser, "the name of a tracepoint after ':'");

	perch__suggest_keywords(&suggestions);
	if (suggestions.nr)
		perch__suggestions_remedy(&suggestions, parser->err, "");
	return rc;
}

static int parse_tracepoint(struct perch__parser *parser, const char *system, struct item *item)
{
	size_t at_name = parser->token.at;
	char name[PERCH__WORD_SIZE];
	int rc;

	if (parser->token.kind != PERCH__TOKEN_WORD)
		return report_no_name(parser, system);
	rc = perch__take_word(parser, name, "the name of a tracepoint");
	if (rc)
		return rc;
	item->name_end = at_name + strlen(name);
	rc = perch__add_tracepoints(parser, system, item->from, name, at_name);
	return rc ? rc : parse_terms(parser, item);
}

/* "system:name", not "name:modifiers": the word after the colon has other characters than
 * modifiers.
 */
static bool is_tracepoint(const struct perch__parser *parser)
{
	struct perch__token after;

	if (parser->token.kind != PERCH__TOKEN_COLON)
		return false;
	after = perch__token_at(parser->text, parser->token.at + 1);
	return !perch__is_modifiers(parser->text + after.at, after.length);
}

static int parse_keyword(struct perch__parser *parser, const char *word, struct item *item,
			 bool *taken)
{
	struct perch_event *event;
	int rc;

	*taken = parser->token.kind == PERCH__TOKEN_COLON && perch__is_keyword(word);
	if (!*taken)
		return 0;
	rc = perch__add_event(parser, &event);
	if (rc)
		return rc;
	if (!strcmp(word, "mem"))
		rc = perch__parse_breakpoint(parser, item->from, event);
	else if (!strcmp(word, "pfm"))
		rc = perch__parse_pfm(parser, item->from, event);
	else
		rc = perch__parse_probe(parser, word, item->from, event);
	item->name_end = parser->token.at;
	parser->config_fixed = true;
	rc = rc ? rc : parse_terms(parser, item);
	parser->config_fixed = false;
	return rc;
}

/* TYPE:CONFIG, as numbers. */
static int parse_numbers(struct perch__parser *parser, const char *word, struct item *item,
			 bool *taken)
{
	uint64_t type, config;
	char number[PERCH__WORD_SIZE];
	struct perch_event *event;
	size_t at;
	int rc;

	*taken = parser->token.kind == PERCH__TOKEN_COLON &&
		 !perch__parse_number(word, strlen(word), &type);
	if (!*taken)
		return 0;
	if (type > UINT32_MAX)
		return perch__parse_error(parser, item->from, ERANGE, PERCH_ERROR_SYNTAX,
					  "the type must have at most 32 bits (given %s)", word);
	perch__advance(parser);
	at = parser->token.at;
	rc = perch__take_word(parser, number, "the config of the event after its type");
	if (rc)
		return rc;
	if (perch__parse_number(number, strlen(number), &config))
		return perch__parse_error(parser, at, EINVAL, PERCH_ERROR_SYNTAX,
					  "expected a number, found '%s'", number);
	item->name_end = at + strlen(number);
	rc = perch__add_event(parser, &event);
	if (rc)
		return rc;
	event->attr.type = type;
	event->attr.config = config;
	return parse_terms(parser, item);
}

static int parse_generic(struct perch__parser *parser, const struct perch_attr *attr,
			 struct item *item)
{
	int rc = perch__add_generic_events(parser, attr, item->from);

	item->generic = true;
	return rc ? rc : parse_terms(parser, item);
}

/* Parses the event up to its modifiers. */
static int parse_base(struct perch__parser *parser, struct item *item)
{
	struct perch_attr generic = { 0 };
	char word[PERCH__WORD_SIZE];
	bool taken;
	int rc = perch__take_word(parser, word, "an event such as page-faults");

	if (rc)
		return rc;
	item->name_end = item->from + strlen(word);
	rc = parse_keyword(parser, word, item, &taken);
	if (!taken)
		rc = parse_numbers(parser, word, item, &taken);
	if (taken)
		return rc;
	if (perch__find_generic_event(word, &generic))
		return parse_generic(parser, &generic, item);
	if (parser->token.kind == PERCH__TOKEN_SLASH)
		return parse_pmu_event(parser, word, item);
	if (!is_tracepoint(parser)) {
		rc = perch__add_named_pmu_events(parser, word, item->from, NULL, &taken);
		if (taken)
			return rc;
	}
	if (parser->token.kind != PERCH__TOKEN_COLON)
		return report_unknown(parser, word, item->from);
	perch__advance(parser);
	return parse_tracepoint(parser, word, item);
}

/* Copies a part of the text without trailing spaces, truncated to size. Returns the length. */
static size_t copy_text(char *dst, size_t size, const char *text, size_t from, size_t to)
{
	size_t length;

	while (to > from && strchr(" \t\n", text[to - 1]))
		to--;
	length = to - from < size ? to - from : size - 1;
	memcpy(dst, text + from, length);
	dst[length] = '\0';
	return length;
}

/* cycles:u on a core PMU becomes cpu_core/cycles/u. */
static void name_core_event(struct perch__parser *parser, const struct item *item,
			    struct perch_event *event)
{
	const struct perch_pmu *pmu =
		perch_machine_pmu_of_type(parser->machine, perch__pmu_type(&event->attr));
	size_t size = sizeof(event->name), used;

	used = snprintf(event->name, size, "%s/", pmu ? pmu->name : "cpu");
	used += copy_text(event->name + used, size - used, parser->text, item->from,
			  item->name_end);
	if (item->terms.nr && used + 1 < size) {
		event->name[used++] = ',';
		used += copy_text(event->name + used, size - used, parser->text, item->terms.from,
				  item->terms.to);
	}
	snprintf(event->name + used, size - used, "/%.*s", (int)item->modifiers_length,
		 parser->text + item->modifiers_at);
}

/* An event is named as it is written, unless it has name= or is one of several core events. Matches
 * of a glob have the name of their tracepoint already. */
static int name_events(struct perch__parser *parser, const struct item *item)
{
	struct perch_events *events = parser->events;

	if (perch__find_term(parser, &item->terms, "name")) {
		int rc = 0;

		for (size_t i = item->first; !rc && i < events->nr; i++)
			rc = perch__mark_event(parser, i, PERCH__MARK_RENAMED);
		return rc;
	}
	for (size_t i = item->first; i < events->nr; i++) {
		struct perch_event *event = &events->event[i];
		size_t used = strlen(event->name);
		bool several = events->nr - item->first > 1;

		if (item->generic && several)
			name_core_event(parser, item, event);
		else if (used < sizeof(event->name))
			copy_text(event->name + used, sizeof(event->name) - used, parser->text,
				  used ? item->name_end : item->from, parser->token.at);
	}
	return 0;
}

/* Modifiers after a closing slash need no colon, but no space may be between. */
static bool has_modifiers(struct perch__parser *parser, const struct item *item)
{
	size_t at = parser->token.at;

	if (parser->token.kind == PERCH__TOKEN_COLON) {
		perch__advance(parser);
		return true;
	}
	return parser->token.kind == PERCH__TOKEN_WORD && at > item->name_end &&
	       parser->text[at - 1] == '/';
}

/* Runs after name_events(): the name of a tracepoint is needed to find its fields. */
static int check_filters(struct perch__parser *parser, const struct item *item)
{
	const struct perch__term *term = perch__find_term(parser, &item->terms, "filter");
	int rc = 0;

	for (size_t i = item->first; term && !rc && i < parser->events->nr; i++) {
		const struct perch_event *event = &parser->events->event[i];

		if (event->filter)
			rc = perch__check_filter(event, event->filter, parser->machine,
						 parser->err);
	}
	if (rc && parser->err)
		parser->err->column = term->value_at;
	return rc;
}

static int parse_event(struct perch__parser *parser)
{
	struct item item = { .from = parser->token.at, .first = parser->events->nr };
	int rc = parse_base(parser, &item);

	if (rc)
		return rc;
	if (has_modifiers(parser, &item)) {
		struct perch__token token = parser->token;

		item.modifiers_at = token.at;
		item.modifiers_length = token.length;
		for (size_t i = item.first; i < parser->events->nr && !rc; i++) {
			parser->token = token;
			rc = parse_modifiers(parser, &parser->events->event[i], false);
		}
	}
	if (rc)
		return rc;
	rc = name_events(parser, &item);
	if (!rc)
		rc = check_filters(parser, &item);
	return rc ? rc : perch__resolve_inherit(parser, item.first, item.from);
}

/* Modifiers of a group that change its members; the others are about the group. */
static bool is_member_modifier(char modifier)
{
	return strchr("ukhGHIpP", modifier) != NULL;
}

/* {cycles,cycles:k}:u has the events cycles:u and cycles:ku. An event with name= keeps its name. */
static void name_member(const struct perch__parser *parser, size_t index,
			const struct perch__token *modifiers)
{
	char *name = parser->events->event[index].name;
	const char *text = parser->text + modifiers->at, *suffix = name;
	size_t used = strlen(name);
	bool separated;

	if (perch__is_marked(parser, index, PERCH__MARK_RENAMED))
		return;
	for (size_t i = 0; i < used; i++)
		if (name[i] == ':' || name[i] == '/')
			suffix = name + i + 1;
	/* "cpu/cycles/" needs no colon, nor does a name that has modifiers */
	separated = suffix > name &&
		    (!*suffix ? suffix[-1] == '/' : perch__is_modifiers(suffix, strlen(suffix)));
	for (size_t i = 0; i < modifiers->length; i++) {
		if (!is_member_modifier(text[i]))
			continue;
		if (!separated && used + 1 < sizeof(parser->events->event[0].name))
			name[used++] = ':';
		separated = true;
		if (used + 1 < sizeof(parser->events->event[0].name))
			name[used++] = text[i];
	}
	name[used] = '\0';
}

static int parse_group_modifiers(struct perch__parser *parser, size_t leader)
{
	struct perch__token token;

	perch__advance(parser);
	token = parser->token;
	for (size_t i = leader; i < parser->events->nr; i++) {
		int rc;

		parser->token = token;
		rc = parse_modifiers(parser, &parser->events->event[i], true);
		if (rc)
			return rc;
		name_member(parser, i, &token);
	}
	return 0;
}

static int parse_group(struct perch__parser *parser)
{
	size_t leader = parser->events->nr, at = parser->token.at;
	int rc;

	do {
		perch__advance(parser); /* '{' or ',' */
		if (parser->token.kind == PERCH__TOKEN_OPEN)
			return perch__parse_error(parser, parser->token.at, EINVAL,
						  PERCH_ERROR_SYNTAX,
						  "a group cannot contain a group");
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
	rc = parser->token.kind == PERCH__TOKEN_COLON ? parse_group_modifiers(parser, leader) : 0;
	if (!rc)
		rc = perch__resolve_inherit(parser, leader, at);
	return rc ? rc : perch__split_group(parser, leader);
}

/* name{a,b}: the name has no effect on the events. */
static bool has_group_name(const struct perch__parser *parser)
{
	const struct perch__token *token = &parser->token;

	return token->kind == PERCH__TOKEN_WORD && parser->text[token->at + token->length] == '{';
}

static int parse_list(struct perch__parser *parser)
{
	while (true) {
		int rc;

		if (has_group_name(parser))
			perch__advance(parser);
		rc = parser->token.kind == PERCH__TOKEN_OPEN ? parse_group(parser)
							     : parse_event(parser);
		if (rc || parser->token.kind == PERCH__TOKEN_END)
			return rc;
		if (parser->token.kind != PERCH__TOKEN_COMMA)
			return perch__expected(parser, "',' or the end after an event");
		perch__advance(parser);
	}
}

static int refuse_empty(struct perch__parser *parser)
{
	perch__parse_error(parser, 0, EINVAL, PERCH_ERROR_SYNTAX, "the event string is empty");
	perch_error_remedy(
		parser->err,
		"name an event such as page-faults; the shell replaces a $NAME that is not set by nothing");
	return -EINVAL;
}

int perch_events_add(struct perch_events *events, const char *text, struct perch_machine *machine,
		     struct perch_error *err)
{
	struct perch__parser parser = {
		.text = text, .machine = machine, .events = events, .err = err
	};
	size_t before = events->nr;
	int rc;

	parser.token = perch__token_at(text, 0);
	rc = parser.token.kind == PERCH__TOKEN_END ? refuse_empty(&parser) : parse_list(&parser);
	perch__free_kernel_functions(&parser);
	free(parser.mark);
	if (parser.own_machine)
		perch_machine_free(parser.machine);
	if (rc && before)
		perch__drop_events(events, before);
	else if (rc)
		perch_events_clear(events);
	return rc;
}

int perch_events_parse(struct perch_events *events, const char *text, struct perch_machine *machine,
		       struct perch_error *err)
{
	memset(events, 0, sizeof(*events));
	return perch_events_add(events, text, machine, err);
}
