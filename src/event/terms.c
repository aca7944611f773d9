/* SPDX-License-Identifier: MIT */
/* The terms of all events: about sampling, the name, and config fields. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "terms.h"

#define FIELD(field) offsetof(struct perch_event_terms, field)
/* clang-format off */
#define NUMBER(text, field, from, to, multiple_of) \
	{ .name = text, .type = VALUE_NUMBER, .member = FIELD(field), \
	  .size = sizeof(((struct perch_event_terms *)0)->field), \
	  .least = from, .most = to, .step = multiple_of }
/* clang-format on */

/* The type of a term's value. */
enum value_type {
	VALUE_NUMBER, /* stored in .member, of .size bytes */
	VALUE_YES,    /* a tristate: 1 is yes, 0 is no */
	VALUE_NO,     /* a tristate: 1 is no, 0 is yes */
	VALUE_FLAG,   /* a bool: 0 or 1 */
	VALUE_PERIOD,
	VALUE_FREQUENCY,
	VALUE_CONFIG, /* a config field */
	VALUE_RAW,    /* config */
	VALUE_NAME,
	VALUE_CALL_GRAPH,
	VALUE_BRANCHES,
	VALUE_AUX_ACTION,
	VALUE_FILTER,
	VALUE_IGNORED, /* has a meaning for users of perf only */
	VALUE_REFUSED, /* has a meaning in perf only, see .reason */
};

static const struct term_kind {
	const char *name;
	enum value_type type;
	unsigned short member, size;
	uint64_t least, most, step;
	const char *reason;
} kinds[] = {
	{ .name = "config", .type = VALUE_CONFIG, .most = UINT64_MAX },
	{ .name = "config1", .type = VALUE_CONFIG, .most = UINT64_MAX },
	{ .name = "config2", .type = VALUE_CONFIG, .most = UINT64_MAX },
	{ .name = "config3", .type = VALUE_CONFIG, .most = UINT64_MAX },
	{ .name = "config4", .type = VALUE_CONFIG, .most = UINT64_MAX },
	{ .name = "raw", .type = VALUE_RAW, .most = UINT64_MAX },
	{ .name = "period", .type = VALUE_PERIOD, .least = 1, .most = INT64_MAX },
	{ .name = "freq", .type = VALUE_FREQUENCY, .least = 1, .most = INT64_MAX },
	{ .name = "name", .type = VALUE_NAME },
	{ .name = "call-graph", .type = VALUE_CALL_GRAPH },
	NUMBER("stack-size", stack_bytes, 8, 65528, 8),
	NUMBER("max-stack", max_stack, 1, UINT16_MAX, 1),
	{ .name = "inherit", .type = VALUE_YES, .member = FIELD(inherit), .most = 1 },
	{ .name = "no-inherit", .type = VALUE_NO, .member = FIELD(inherit), .most = 1 },
	{ .name = "overwrite", .type = VALUE_YES, .member = FIELD(overwrite), .most = 1 },
	{ .name = "no-overwrite", .type = VALUE_NO, .member = FIELD(overwrite), .most = 1 },
	{ .name = "time", .type = VALUE_YES, .member = FIELD(time), .most = 1 },
	{ .name = "percore", .type = VALUE_FLAG, .member = FIELD(percore), .most = 1 },
	{ .name = "aux-output", .type = VALUE_FLAG, .member = FIELD(aux_output), .most = 1 },
	NUMBER("aux-sample-size", aux_sample_bytes, 1, UINT16_MAX, 1),
	{ .name = "aux-action", .type = VALUE_AUX_ACTION },
	{ .name = "branch_type", .type = VALUE_BRANCHES },
	{ .name = "filter", .type = VALUE_FILTER },
	{ .name = "metric-id", .type = VALUE_IGNORED },
	{ .name = "nr", .type = VALUE_REFUSED, .reason = "it limits the output of 'perf trace'" },
	{ .name = "driver-config", .type = VALUE_REFUSED, .reason = "it is for drivers in perf" },
};

static const struct term_kind *find_kind(const char *name)
{
	for (size_t i = 0; i < PERCH__NR(kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

void perch__suggest_terms(struct perch__suggestions *suggestions)
{
	for (size_t i = 0; i < PERCH__NR(kinds); i++)
		if (kinds[i].type != VALUE_REFUSED)
			perch__suggest(suggestions, kinds[i].name);
}

bool perch__is_config_term(const char *name)
{
	const struct term_kind *kind = find_kind(name);

	return kind && (kind->type == VALUE_CONFIG || kind->type == VALUE_RAW);
}

const char *perch__term_value_help(const char *name)
{
	const struct term_kind *kind = find_kind(name);

	switch (kind ? kind->type : VALUE_NUMBER) {
	case VALUE_CALL_GRAPH:
		return "fp, dwarf, lbr or no";
	case VALUE_NAME:
		return "a name";
	case VALUE_BRANCHES:
		return "branch types, as any_call";
	case VALUE_AUX_ACTION:
		return "start-paused, pause or resume";
	case VALUE_FILTER:
		return "an expression in quotes";
	case VALUE_IGNORED:
		return "an id";
	default:
		return "a number";
	}
}

/* Parses the value and checks its range. */
static int parse_ranged(struct perch__parser *parser, const struct perch__term *term,
			const struct term_kind *kind, uint64_t *value)
{
	int rc = perch__term_number(parser, term, value);

	if (rc)
		return rc;
	if (kind->type != VALUE_NUMBER && kind->most == 1 && *value > 1)
		return perch__parse_error(parser, term->value_at, EINVAL, PERCH_ERROR_SYNTAX,
					  "term '%s' must be 0 or 1 (given %llu)", kind->name,
					  (unsigned long long)*value);
	if (*value < kind->least || *value > kind->most)
		return perch__parse_error(parser, term->valued ? term->value_at : term->at, ERANGE,
					  PERCH_ERROR_SYNTAX,
					  "term '%s' must be %llu to %llu (given %llu)", kind->name,
					  (unsigned long long)kind->least,
					  (unsigned long long)kind->most,
					  (unsigned long long)*value);
	if (kind->step > 1 && *value % kind->step)
		return perch__parse_error(parser, term->value_at, EINVAL, PERCH_ERROR_SYNTAX,
					  "term '%s' must be a multiple of %llu (given %llu)",
					  kind->name, (unsigned long long)kind->step,
					  (unsigned long long)*value);
	return 0;
}

static int apply_config(struct perch__parser *parser, const struct perch__term *term,
			const struct term_kind *kind, struct perch_event *event, uint64_t value)
{
	if (parser->config_fixed)
		return perch__parse_error(
			parser, term->at, EINVAL, PERCH_ERROR_UNKNOWN_TERM,
			"the part before the slash sets the config fields of this event: '%s' would "
			"overwrite them",
			kind->name);
	if (kind->type == VALUE_RAW || !strcmp(kind->name, "config"))
		perch__set_config(&event->attr, value);
	else
		*perch__config_field(&event->attr, kind->name) = value;
	return 0;
}

static int apply_number(struct perch__parser *parser, const struct perch__term *term,
			const struct term_kind *kind, struct perch_event *event)
{
	char *member = (char *)&event->terms + kind->member;
	uint64_t value;
	int rc = parse_ranged(parser, term, kind, &value);

	if (rc)
		return rc;
	switch (kind->type) {
	case VALUE_CONFIG:
	case VALUE_RAW:
		return apply_config(parser, term, kind, event, value);
	case VALUE_PERIOD:
	case VALUE_FREQUENCY:
		event->attr.sample_period = value; /* a union with sample_freq */
		event->attr.freq = kind->type == VALUE_FREQUENCY;
		return 0;
	case VALUE_YES:
	case VALUE_NO:
		*(enum perch_tristate *)member =
			value == (kind->type == VALUE_YES) ? PERCH_TRISTATE_YES : PERCH_TRISTATE_NO;
		return 0;
	case VALUE_FLAG:
		*(bool *)member = value;
		return 0;
	default:
		if (kind->size == 2)
			*(uint16_t *)member = value;
		else
			*(uint32_t *)member = value;
		return 0;
	}
}

static int apply_text(struct perch__parser *parser, const struct perch__term *term,
		      const struct term_kind *kind, struct perch_event *event)
{
	const char *value = parser->text + term->value_at;

	if (!term->valued)
		return perch__parse_error(parser, term->at + term->length, EINVAL,
					  PERCH_ERROR_SYNTAX, "term '%s' needs '=' and %s",
					  kind->name, perch__term_value_help(kind->name));
	switch (kind->type) {
	case VALUE_NAME:
		snprintf(event->name, sizeof(event->name), "%.*s",
			 (int)(term->value_length < sizeof(event->name) ? term->value_length
									: sizeof(event->name)),
			 value);
		return 0;
	case VALUE_CALL_GRAPH:
		return perch__parse_call_graph(parser, term, event);
	case VALUE_BRANCHES:
		return perch__parse_branch_type(parser, term, event);
	case VALUE_AUX_ACTION:
		return perch__parse_aux_action(parser, term, event);
	case VALUE_FILTER:
		if (term->value_length > PERCH__FILTER_MAX)
			return perch__parse_error(parser, term->value_at, EINVAL,
						  PERCH_ERROR_SYNTAX,
						  "a filter has at most %d bytes",
						  PERCH__FILTER_MAX);
		free(event->filter);
		event->filter = strndup(value, term->value_length);
		return event->filter
			       ? 0
			       : perch__parse_error(parser, term->at, ENOMEM, PERCH_ERROR_NO_MEMORY,
						    "no memory for a filter");
	default:
		return 0;
	}
}

int perch__apply_common_term(struct perch__parser *parser, const struct perch__term *term,
			     struct perch_event *event)
{
	const struct term_kind *kind;
	char name[PERCH__WORD_SIZE];
	int rc;

	perch__term_name(parser, term, name);
	kind = find_kind(name);
	if (!kind)
		return 0;
	if (kind->type == VALUE_REFUSED)
		return perch__parse_error(parser, term->at, EINVAL, PERCH_ERROR_UNKNOWN_TERM,
					  "term '%s' is not supported: %s", name, kind->reason);
	rc = kind->type < VALUE_NAME ? apply_number(parser, term, kind, event)
				     : apply_text(parser, term, kind, event);
	return rc ? rc : 1;
}
