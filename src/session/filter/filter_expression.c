/* SPDX-License-Identifier: MIT */
/* Parses expressions over the fields of tracepoints. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/edit_distance.h"
#include "base/no_memory.h"
#include "filter_expression.h"

#define MAX_LENGTH	65536 /* bytes of an expression */
#define MAX_DEPTH	64    /* of parentheses */
#define MAX_COMPARISONS 256
#define MAX_DISTANCE	2 /* maximum edit distance of a suggestion */

/* The longer of two operators that begin alike is first. */
static const char *const operators[] = {
	[EQUAL] = "==", [NOT_EQUAL] = "!=", [LIKE] = "~", [AT_MOST] = "<=",
	[LESS] = "<",	[AT_LEAST] = ">=",  [MORE] = ">", [BITS] = "&",
};
#define NR_OPERATORS (PERCH__NR(operators))

/* ---- the parser: functions return a node, or 0 after an error ---- */

struct parser {
	struct filter_expression *expression;
	const char *at;
	unsigned depth;
	struct perch_error *err;
	int error; /* a negative errno */
};

static void skip_blanks(struct parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

static uint32_t no_memory(struct parser *parser)
{
	parser->error = PERCH__NO_MEMORY(parser->err, "for a filter");
	return 0;
}

/* Says what was expected at the position, and what is there. */
static uint32_t expected(struct parser *parser, const char *what)
{
	size_t column = (size_t)(parser->at - parser->expression->text);

	if (*parser->at)
		parser->error =
			perch_error_set(parser->err, EINVAL, PERCH_ERROR_USAGE,
					"'%s': expected %s at character %zu, before '%.20s'",
					parser->expression->text, what, column + 1, parser->at);
	else
		parser->error = perch_error_set(parser->err, EINVAL, PERCH_ERROR_USAGE,
						"'%s': expected %s at the end",
						parser->expression->text, what);
	if (parser->err)
		parser->err->column = (uint32_t)column;
	return 0;
}

static uint32_t add_node(struct parser *parser, struct expression_node node)
{
	struct filter_expression *expression = parser->expression;
	struct expression_node *added = PERCH__ARRAY_APPEND(expression->node, expression->nr_nodes,
							    expression->nodes_capacity);

	if (!added)
		return no_memory(parser);
	*added = node;
	return (uint32_t)(expression->nr_nodes - 1);
}

static bool take_word(struct parser *parser, const char *word)
{
	size_t length = strlen(word);

	skip_blanks(parser);
	if (strncmp(parser->at, word, length) != 0)
		return false;
	parser->at += length;
	return true;
}

static bool parse_name(struct parser *parser, struct comparison *comparison)
{
	size_t length = 0;

	skip_blanks(parser);
	comparison->column = (size_t)(parser->at - parser->expression->text);
	while (isalnum((unsigned char)parser->at[length]) || parser->at[length] == '_')
		length++;
	if (!length || length >= FILTER_MAX_NAME)
		return expected(parser, "the name of a field");
	memcpy(comparison->field, parser->at, length);
	parser->at += length;
	if (*parser->at == '.')
		return expected(parser, "an operator: a recording does not have what .ustring and "
					".function compare");
	return true;
}

static bool parse_operator(struct parser *parser, struct comparison *comparison)
{
	for (size_t i = 0; i < NR_OPERATORS; i++) {
		if (!take_word(parser, operators[i]))
			continue;
		comparison->operation = (enum operation)i;
		return true;
	}
	return expected(parser, "an operator (==, !=, <, <=, >, >=, & or ~)");
}

static bool parse_text(struct parser *parser, struct comparison *comparison)
{
	const char *start = parser->at + 1, *end = strchr(start, *parser->at);

	if (!end) {
		parser->at += strlen(parser->at);
		return expected(parser, "the quote that ends the text");
	}
	comparison->is_text = true;
	comparison->inverted = comparison->operation == LIKE && *start == '!';
	comparison->text = start + comparison->inverted;
	comparison->length = (size_t)(end - comparison->text);
	if (comparison->operation > LIKE)
		return expected(parser, "a number: text is compared by ==, != and ~");
	parser->at = end + 1;
	return true;
}

static bool parse_number(struct parser *parser, struct comparison *comparison)
{
	const char *start = parser->at;
	char *end;

	comparison->negative = *start == '-';
	start += comparison->negative;
	errno = 0;
	comparison->number = strtoull(start, &end, 0);
	if (!isdigit((unsigned char)*start) || errno || isalnum((unsigned char)*end) || *end == '_')
		return expected(parser, "a number of at most 64 bits");
	if (comparison->operation == LIKE)
		return expected(parser, "a pattern in quotes");
	if (comparison->negative)
		comparison->number = -comparison->number;
	parser->at = end;
	return true;
}

static bool parse_value(struct parser *parser, struct comparison *comparison)
{
	skip_blanks(parser);
	if (*parser->at == '"' || *parser->at == '\'')
		return parse_text(parser, comparison);
	if (isdigit((unsigned char)*parser->at) || *parser->at == '-')
		return parse_number(parser, comparison);
	return expected(parser, "a number, or text in quotes");
}

static uint32_t parse_comparison(struct parser *parser)
{
	struct filter_expression *expression = parser->expression;
	struct comparison parsed = { .operation = EQUAL }, *comparison;

	if (!parse_name(parser, &parsed) || !parse_operator(parser, &parsed) ||
	    !parse_value(parser, &parsed))
		return 0;
	if (expression->nr_comparisons == MAX_COMPARISONS)
		return expected(parser, "at most 256 comparisons");
	comparison = PERCH__ARRAY_APPEND(expression->comparison, expression->nr_comparisons,
					 expression->comparisons_capacity);
	if (!comparison)
		return no_memory(parser);
	*comparison = parsed;
	return add_node(parser, (struct expression_node){
					.kind = COMPARE,
					.comparison = (uint32_t)(expression->nr_comparisons - 1) });
}

static uint32_t parse_list(struct parser *parser, enum node_kind kind);

static uint32_t parse_one(struct parser *parser)
{
	uint32_t node;

	if (parser->depth == MAX_DEPTH)
		return expected(parser, "at most 64 parentheses and negations in each other");
	parser->depth++;
	if (take_word(parser, "!")) {
		node = parse_one(parser);
		if (node)
			node = add_node(parser,
					(struct expression_node){ .kind = NOT, .first = node });
	} else if (take_word(parser, "(")) {
		node = parse_list(parser, ANY);
		if (node && !take_word(parser, ")"))
			node = expected(parser, "&&, || or )");
	} else {
		node = parse_comparison(parser);
	}
	parser->depth--;
	return node;
}

/* "&&" binds its operands before "||". */
static uint32_t parse_list(struct parser *parser, enum node_kind kind)
{
	uint32_t first = 0, last = 0, node;

	do {
		node = kind == ANY ? parse_list(parser, ALL) : parse_one(parser);
		if (!node)
			return 0;
		if (last)
			parser->expression->node[last].next = node;
		else
			first = node;
		last = node;
	} while (take_word(parser, kind == ANY ? "||" : "&&"));
	return first == last
		       ? first
		       : add_node(parser, (struct expression_node){ .kind = kind, .first = first });
}

static int parse_expression(struct filter_expression *expression, struct perch_error *err)
{
	struct parser parser = { .expression = expression, .at = expression->text, .err = err };

	if (strlen(expression->text) > MAX_LENGTH)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the expression is longer than %d bytes", MAX_LENGTH);
	if (!add_node(&parser, (struct expression_node){ 0 }) && parser.error)
		return parser.error;
	expression->root = parse_list(&parser, ANY);
	if (expression->root && (skip_blanks(&parser), *parser.at))
		expression->root = expected(&parser, "&& or ||");
	return parser.error;
}

/* ---- fields ---- */

/* Extends the number as the field is extended. Returns false if the field cannot have it. */
static bool set_value(const struct comparison *comparison, struct operand *operand)
{
	const struct perch_tracepoint_field *field = operand->field;
	unsigned bits = 8 * field->element_size, unused = 64 - bits;
	bool order = comparison->operation != EQUAL && comparison->operation != NOT_EQUAL &&
		     comparison->operation != BITS;

	operand->value = comparison->number;
	if (comparison->negative)
		return field->is_signed && (int64_t)comparison->number >= INT64_MIN >> unused &&
		       (int64_t)comparison->number <= 0;
	if (comparison->number > UINT64_MAX >> unused)
		return false;
	if (!field->is_signed)
		return true;
	/* 0xffffffff is all bits of an int, but it is not more than 0 */
	if (order && comparison->number > (uint64_t)INT64_MAX >> unused)
		return false;
	operand->value = (uint64_t)((int64_t)(comparison->number << unused) >> unused);
	return true;
}

/* Names of properties that all samples have. A field of the tracepoint is found first. */
static enum source common_source(const char *name)
{
	if (!strcmp(name, "comm") || !strcmp(name, "COMM"))
		return COMM;
	return !strcmp(name, "cpu") || !strcmp(name, "CPU") ? CPU : NOTHING;
}

/* Why the comparison cannot be made with the field. Returns NULL if it can. */
static const char *set_operand(const struct comparison *comparison,
			       const struct perch_tracepoint_format *format,
			       struct operand *operand)
{
	static const struct perch_tracepoint_field cpu = { .element_size = 4 };

	operand->field = perch_tracepoint_format_find(format, comparison->field);
	if (!operand->field) {
		operand->source = common_source(comparison->field);
		if (operand->source == NOTHING)
			return "";
		operand->field = &cpu;
	} else if (operand->field->kind == PERCH_TRACEPOINT_TEXT) {
		operand->source = TEXT;
	} else if (operand->field->kind == PERCH_TRACEPOINT_NUMBER ||
		   operand->field->kind == PERCH_TRACEPOINT_POINTER) {
		operand->source = NUMBER;
	} else {
		operand->source = NOTHING;
		return "is neither a number nor text";
	}
	if (operand->source == TEXT || operand->source == COMM)
		return comparison->is_text ? NULL
					   : "is text: put the value in quotes, after ==, != or ~";
	if (comparison->is_text)
		return "is a number: compare it with one";
	return set_value(comparison, operand) ? NULL : "cannot have this value";
}

/* The most similar name of a field, for a message. */
static void find_similar(const char *name, const struct perch_tracepoint_format *const *formats,
			 size_t nr, struct perch_error *err)
{
	const struct perch_tracepoint_field *fields;
	char clean[FILTER_MAX_NAME], similar[FILTER_MAX_NAME] = "";
	unsigned least = MAX_DISTANCE + 1;

	if (strlen(name) > PERCH__EDIT_MAX_LENGTH)
		return;
	for (size_t i = 0; i < nr; i++) {
		size_t nr_fields = formats[i] ? perch_tracepoint_format_fields(formats[i], &fields)
					      : 0;

		for (size_t k = 0; k < nr_fields; k++) {
			unsigned distance;

			perch_clean_text(fields[k].name, clean, sizeof(clean));
			if (strlen(clean) > PERCH__EDIT_MAX_LENGTH)
				continue;
			distance = perch__edit_distance(name, clean);
			if (distance >= least)
				continue;
			least = distance;
			strcpy(similar, clean);
		}
	}
	if (similar[0])
		perch_error_remedy(err, "Did you mean %s?", similar);
}

/* The fields of the first tracepoint, without the common ones. */
static void list_fields(const struct perch_tracepoint_format *const *formats, size_t nr,
			struct perch_error *err)
{
	const struct perch_tracepoint_field *fields = NULL;
	char text[160] = "", clean[FILTER_MAX_NAME];
	size_t nr_fields = 0, used = 0, first = 0;

	while (first < nr && !formats[first])
		first++;
	if (first < nr)
		nr_fields = perch_tracepoint_format_fields(formats[first], &fields);
	for (size_t i = 0; i < nr_fields && used < sizeof(text) - 40; i++) {
		if (fields[i].is_common)
			continue;
		perch_clean_text(fields[i].name, clean, sizeof(clean));
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.36s",
					 used ? ", " : "", clean);
	}
	if (!used)
		return;
	perch_clean_text(perch_tracepoint_format_name(formats[first]), clean, sizeof(clean));
	perch_error_remedy(err, "Fields of %.60s are %s", clean, text);
}

static int refuse_comparison(const struct filter_expression *expression,
			     const struct comparison *comparison,
			     const struct perch_tracepoint_format *const *formats,
			     const char *reason, struct perch_error *err)
{
	struct perch_error ignored;

	if (!err)
		err = &ignored;
	if (*reason) {
		perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "the field %s %s",
				comparison->field, reason);
	} else {
		perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				"no tracepoint of the recording has a field %s", comparison->field);
		find_similar(comparison->field, formats, expression->nr_events, err);
		if (!err->remedy[0])
			list_fields(formats, expression->nr_events, err);
	}
	err->column = (uint32_t)comparison->column;
	return -EINVAL;
}

/* Finds the field of a comparison in each event that has it. Returns 0 or a negative errno. */
static int find_fields(struct filter_expression *expression, size_t number,
		       const struct perch_tracepoint_format *const *formats,
		       struct perch_error *err)
{
	const struct comparison *comparison = &expression->comparison[number];
	const char *reason = "";
	bool found = false;

	for (size_t i = 0; i < expression->nr_events; i++) {
		struct operand *operand =
			&expression->operand[i * expression->nr_comparisons + number];
		const char *why;

		if (!formats[i])
			continue;
		why = set_operand(comparison, formats[i], operand);
		found |= !why;
		expression->has_comm |= !why && operand->source == COMM;
		if (!why)
			continue;
		operand->source = NOTHING;
		if (!*reason)
			reason = why;
	}
	return found ? 0 : refuse_comparison(expression, comparison, formats, reason, err);
}

static int find_all_fields(struct filter_expression *expression,
			   const struct perch_tracepoint_format *const *formats,
			   struct perch_error *err)
{
	int rc = 0;

	expression->operand = calloc(expression->nr_events * expression->nr_comparisons + 1,
				     sizeof(*expression->operand));
	if (!expression->operand)
		return PERCH__NO_MEMORY(err, "for a filter");
	for (size_t i = 0; i < expression->nr_comparisons && !rc; i++)
		rc = find_fields(expression, i, formats, err);
	return rc;
}

bool perch__filter_expression_is_of(const struct filter_expression *expression, size_t event)
{
	const struct operand *operand = &expression->operand[event * expression->nr_comparisons];

	for (size_t i = 0; i < expression->nr_comparisons && event < expression->nr_events; i++)
		if (operand[i].source != NOTHING)
			return true;
	return false;
}

int perch__filter_expression_new(struct filter_expression **result, const char *text,
				 const struct perch_tracepoint_format *const *formats, size_t nr,
				 struct perch_error *err)
{
	struct filter_expression *expression = calloc(1, sizeof(*expression));
	int rc;

	*result = NULL;
	if (expression)
		expression->text = strdup(text);
	if (!expression || !expression->text) {
		free(expression);
		return PERCH__NO_MEMORY(err, "for a filter");
	}
	expression->nr_events = nr;
	rc = parse_expression(expression, err);
	if (!rc)
		rc = find_all_fields(expression, formats, err);
	if (rc)
		perch__filter_expression_free(expression);
	else
		*result = expression;
	return rc;
}

void perch__filter_expression_free(struct filter_expression *expression)
{
	if (!expression)
		return;
	free(expression->text);
	free(expression->node);
	free(expression->comparison);
	free(expression->operand);
	free(expression);
}

bool perch__filter_expression_has_comm(const struct filter_expression *expression)
{
	return expression->has_comm;
}
