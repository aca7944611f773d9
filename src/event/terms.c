/* SPDX-License-Identifier: MIT */
/* The terms that every event takes: how it is sampled, what it is called, and its bare config
 * words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "terms.h"

#define FIELD(field) offsetof(struct perch_event_terms, field)
/* clang-format off */
#define NUMBER(text, field, from, to, multiple_of) \
	{ .name = text, .takes = TAKES_NUMBER, .member = FIELD(field), \
	  .size = sizeof(((struct perch_event_terms *)0)->field), .least = from, .most = to, .step = multiple_of }
/* clang-format on */

/* What a term's value is made of. */
enum takes {
	TAKES_NUMBER, /* into .member of .size bytes */
	TAKES_YES,    /* 1 says yes, 0 says no */
	TAKES_NO,     /* 1 says no, 0 says yes */
	TAKES_FLAG,   /* a bool: 0 or 1 */
	TAKES_PERIOD,
	TAKES_FREQUENCY,
	TAKES_CONFIG, /* a word of the attr */
	TAKES_RAW,    /* config, written as the CPU's manual does */
	TAKES_NAME,
	TAKES_CALL_GRAPH,
	TAKES_BRANCHES,
	TAKES_AUX_ACTION,
	TAKES_FILTER,
	TAKES_NOTE,    /* taken and kept out: it means something to the caller of perf alone */
	TAKES_NOTHING, /* means something in perf, but nothing here: refused with .why */
};

static const struct kind {
	const char *name;
	enum takes takes;
	unsigned short member, size;
	uint64_t least, most, step;
	const char *why;
} kinds[] = {
	{ .name = "config", .takes = TAKES_CONFIG, .most = UINT64_MAX },
	{ .name = "config1", .takes = TAKES_CONFIG, .most = UINT64_MAX },
	{ .name = "config2", .takes = TAKES_CONFIG, .most = UINT64_MAX },
	{ .name = "config3", .takes = TAKES_CONFIG, .most = UINT64_MAX },
	{ .name = "config4", .takes = TAKES_CONFIG, .most = UINT64_MAX },
	{ .name = "raw", .takes = TAKES_RAW, .most = UINT64_MAX },
	{ .name = "period", .takes = TAKES_PERIOD, .least = 1, .most = INT64_MAX },
	{ .name = "freq", .takes = TAKES_FREQUENCY, .least = 1, .most = INT64_MAX },
	{ .name = "name", .takes = TAKES_NAME },
	{ .name = "call-graph", .takes = TAKES_CALL_GRAPH },
	NUMBER("stack-size", stack_bytes, 8, 65528, 8),
	NUMBER("max-stack", max_stack, 1, UINT16_MAX, 1),
	{ .name = "inherit", .takes = TAKES_YES, .member = FIELD(inherit), .most = 1 },
	{ .name = "no-inherit", .takes = TAKES_NO, .member = FIELD(inherit), .most = 1 },
	{ .name = "overwrite", .takes = TAKES_YES, .member = FIELD(overwrite), .most = 1 },
	{ .name = "no-overwrite", .takes = TAKES_NO, .member = FIELD(overwrite), .most = 1 },
	{ .name = "time", .takes = TAKES_YES, .member = FIELD(time), .most = 1 },
	{ .name = "percore", .takes = TAKES_FLAG, .member = FIELD(percore), .most = 1 },
	{ .name = "aux-output", .takes = TAKES_FLAG, .member = FIELD(aux_output), .most = 1 },
	NUMBER("aux-sample-size", aux_sample_bytes, 1, UINT16_MAX, 1),
	{ .name = "aux-action", .takes = TAKES_AUX_ACTION },
	{ .name = "branch_type", .takes = TAKES_BRANCHES },
	{ .name = "filter", .takes = TAKES_FILTER },
	{ .name = "metric-id", .takes = TAKES_NOTE },
	{ .name = "nr",
	  .takes = TAKES_NOTHING,
	  .why = "it limits what 'perf trace' shows of an event" },
	{ .name = "driver-config",
	  .takes = TAKES_NOTHING,
	  .why = "it is for drivers of perf's own" },
};

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < PERCH__NR(kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

void perch__suggest_terms(struct perch__suggestions *suggestions)
{
	for (size_t i = 0; i < PERCH__NR(kinds); i++)
		if (kinds[i].takes != TAKES_NOTHING)
			perch__suggest(suggestions, kinds[i].name);
}

bool perch__is_config_term(const char *name)
{
	const struct kind *kind = find_kind(name);

	return kind && (kind->takes == TAKES_CONFIG || kind->takes == TAKES_RAW);
}

const char *perch__term_value_help(const char *name)
{
	const struct kind *kind = find_kind(name);

	switch (kind ? kind->takes : TAKES_NUMBER) {
	case TAKES_CALL_GRAPH:
		return "fp, dwarf, lbr or no";
	case TAKES_NAME:
		return "the event's new name";
	case TAKES_BRANCHES:
		return "kinds of branches, as in any_call";
	case TAKES_AUX_ACTION:
		return "start-paused, pause or resume";
	case TAKES_FILTER:
		return "an expression in quotes";
	case TAKES_NOTE:
		return "an id";
	default:
		return "a number";
	}
}

/* The value as a number of the kind's range. */
static int ranged(struct perch__parser *parser, const struct perch__term *term,
		  const struct kind *kind, uint64_t *value)
{
	int rc = perch__term_number(parser, term, value);

	if (rc)
		return rc;
	if (kind->takes != TAKES_NUMBER && kind->most == 1 && *value > 1)
		return perch__parse_error(parser, term->value_at, EINVAL, PERCH_ERROR_SYNTAX,
					  "term '%s' is 0 or 1, not %llu", kind->name,
					  (unsigned long long)*value);
	if (*value < kind->least || *value > kind->most)
		return perch__parse_error(parser, term->valued ? term->value_at : term->at, ERANGE,
					  PERCH_ERROR_SYNTAX,
					  "%llu is out of the range of term '%s': %llu to %llu",
					  (unsigned long long)*value, kind->name,
					  (unsigned long long)kind->least,
					  (unsigned long long)kind->most);
	if (kind->step > 1 && *value % kind->step)
		return perch__parse_error(parser, term->value_at, EINVAL, PERCH_ERROR_SYNTAX,
					  "term '%s' is a multiple of %llu, not %llu", kind->name,
					  (unsigned long long)kind->step,
					  (unsigned long long)*value);
	return 0;
}

static int apply_config(struct perch__parser *parser, const struct perch__term *term,
			const struct kind *kind, struct perch_event *event, uint64_t value)
{
	if (parser->config_fixed)
		return perch__parse_error(
			parser, term->at, EINVAL, PERCH_ERROR_UNKNOWN_TERM,
			"the words before the slash make the config words of this event: '%s' would "
			"overwrite them",
			kind->name);
	if (kind->takes == TAKES_RAW || !strcmp(kind->name, "config"))
		perch__set_config(&event->attr, value);
	else
		*perch__config_field(&event->attr, kind->name) = value;
	return 0;
}

static int apply_number(struct perch__parser *parser, const struct perch__term *term,
			const struct kind *kind, struct perch_event *event)
{
	char *member = (char *)&event->terms + kind->member;
	uint64_t value;
	int rc = ranged(parser, term, kind, &value);

	if (rc)
		return rc;
	switch (kind->takes) {
	case TAKES_CONFIG:
	case TAKES_RAW:
		return apply_config(parser, term, kind, event, value);
	case TAKES_PERIOD:
	case TAKES_FREQUENCY:
		event->attr.sample_period = value; /* of one union with sample_freq */
		event->attr.freq = kind->takes == TAKES_FREQUENCY;
		return 0;
	case TAKES_YES:
	case TAKES_NO:
		*(enum perch_tristate *)member = value == (kind->takes == TAKES_YES)
							 ? PERCH_TRISTATE_YES
							 : PERCH_TRISTATE_NO;
		return 0;
	case TAKES_FLAG:
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
		      const struct kind *kind, struct perch_event *event)
{
	const char *value = parser->text + term->value_at;

	if (!term->valued)
		return perch__parse_error(parser, term->at + term->length, EINVAL,
					  PERCH_ERROR_SYNTAX, "term '%s' needs a value: '=' and %s",
					  kind->name, perch__term_value_help(kind->name));
	switch (kind->takes) {
	case TAKES_NAME:
		snprintf(event->name, sizeof(event->name), "%.*s",
			 (int)(term->value_length < sizeof(event->name) ? term->value_length
									: sizeof(event->name)),
			 value);
		return 0;
	case TAKES_CALL_GRAPH:
		return perch__parse_call_graph(parser, term, event);
	case TAKES_BRANCHES:
		return perch__parse_branch_type(parser, term, event);
	case TAKES_AUX_ACTION:
		return perch__parse_aux_action(parser, term, event);
	case TAKES_FILTER:
		if (term->value_length > PERCH__FILTER_MAX)
			return perch__parse_error(parser, term->value_at, EINVAL,
						  PERCH_ERROR_SYNTAX,
						  "the kernel takes filters of at most %d bytes",
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
	const struct kind *kind;
	char name[PERCH__WORD_SIZE];
	int rc;

	perch__term_name(parser, term, name);
	kind = find_kind(name);
	if (!kind)
		return 0;
	if (kind->takes == TAKES_NOTHING)
		return perch__parse_error(parser, term->at, EINVAL, PERCH_ERROR_UNKNOWN_TERM,
					  "term '%s' means nothing here: %s", name, kind->why);
	rc = kind->takes < TAKES_NAME ? apply_number(parser, term, kind, event)
				      : apply_text(parser, term, kind, event);
	return rc ? rc : 1;
}
