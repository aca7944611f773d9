/* SPDX-License-Identifier: MIT */
/* Computes expressions over the fields of tracepoints for samples. */
#include <string.h>

#include "filter_expression.h"

/* ---- patterns ---- */

/* Tests a character by a set "[a-z]", whose first '[' is at `at`. Sets *at to its end. Returns 1,
 * 0, or -1 if it is not a set. */
static int match_set(const char **at, const char *end, char character)
{
	const char *in = *at + 1;
	bool inverted = in < end && *in == '!', found = false;
	const char *start = in += inverted;

	for (; in < end && (in == start || *in != ']'); in++) {
		unsigned char low = (unsigned char)*in, high = low;

		if (in + 2 < end && in[1] == '-' && in[2] != ']') {
			in += 2;
			high = (unsigned char)*in;
		}
		found |= low <= (unsigned char)character && (unsigned char)character <= high;
	}
	if (in >= end)
		return -1;
	*at = in + 1;
	return found != inverted;
}

/* Tests one character by the part of a pattern at *at, which is not '*'. */
static bool match_one(const char **at, const char *end, char character)
{
	if (**at == '[') {
		int rc = match_set(at, end, character);

		if (rc >= 0)
			return rc;
	} else if (**at == '?') {
		++*at;
		return true;
	} else if (**at == '\\' && *at + 1 < end) {
		++*at;
	}
	return *(*at)++ == character;
}

/* True if the pattern matches the whole text. A '*' that is followed by another one is settled by
 * its first match, so the work is at most the product of both lengths. */
static bool match_pattern(const struct comparison *comparison, const char *text, size_t length)
{
	const char *at = comparison->text, *end = at + comparison->length;
	const char *in = text, *last = text + length, *star = NULL, *retry = NULL;

	while (in < last) {
		const char *next = at;

		if (at < end && *at == '*') {
			star = ++at;
			retry = in;
		} else if (at < end && match_one(&next, end, *in)) {
			at = next;
			in++;
		} else if (star) {
			at = star;
			in = ++retry;
		} else {
			return false;
		}
	}
	while (at < end && *at == '*')
		at++;
	return at == end;
}

/* ---- samples ---- */

enum truth { FALSE, TRUE, UNKNOWN };

static enum truth compare_text(const struct comparison *comparison, const char *text, size_t length)
{
	bool same;

	if (comparison->operation == LIKE)
		return match_pattern(comparison, text, length) != comparison->inverted;
	same = length == comparison->length && !memcmp(text, comparison->text, length);
	return same == (comparison->operation == EQUAL);
}

static enum truth compare_number(const struct comparison *comparison, const struct operand *operand,
				 uint64_t number)
{
	uint64_t value = operand->value, sign = UINT64_C(1) << 63;

	if (operand->field->is_signed) { /* so that unsigned numbers have the same order */
		if (comparison->operation != BITS)
			value ^= sign, number ^= sign;
	}
	switch (comparison->operation) {
	case EQUAL:
		return number == value;
	case NOT_EQUAL:
		return number != value;
	case AT_MOST:
		return number <= value;
	case LESS:
		return number < value;
	case AT_LEAST:
		return number >= value;
	case MORE:
		return number > value;
	default:
		return (number & value) != 0;
	}
}

/* A sample for which an expression is computed. */
struct subject {
	const struct filter_expression *expression;
	const struct operand *operand; /* of its event */
	const struct perch_record *record;
	const char *comm;
};

static enum truth compare_subject(const struct subject *subject, uint32_t number)
{
	const struct comparison *comparison = &subject->expression->comparison[number];
	const struct operand *operand = &subject->operand[number];
	const struct perch_record *record = subject->record;
	const char *text;
	uint64_t value;
	size_t length;

	switch (operand->source) {
	case NUMBER:
		return perch_tracepoint_get_u64(operand->field, record, &value)
			       ? UNKNOWN
			       : compare_number(comparison, operand, value);
	case TEXT:
		return perch_tracepoint_get_text(operand->field, record, &text, &length)
			       ? UNKNOWN
			       : compare_text(comparison, text, length);
	case COMM:
		return !subject->comm
			       ? UNKNOWN
			       : compare_text(comparison, subject->comm, strlen(subject->comm));
	case CPU:
		return record->sample_id.has & PERCH_SAMPLE_CPU
			       ? compare_number(comparison, operand, record->sample_id.cpu)
			       : UNKNOWN;
	default:
		return UNKNOWN;
	}
}

/* Nodes are in each other at most as deep as the parser's limit. */
static enum truth compute(const struct subject *subject, uint32_t number)
{
	const struct expression_node *node = &subject->expression->node[number];
	enum truth decisive = node->kind == ANY ? TRUE : FALSE, result = decisive ? FALSE : TRUE;

	if (node->kind == COMPARE)
		return compare_subject(subject, node->comparison);
	if (node->kind == NOT) {
		result = compute(subject, node->first);
		return result == UNKNOWN ? UNKNOWN : result == TRUE ? FALSE : TRUE;
	}
	for (uint32_t part = node->first; part; part = subject->expression->node[part].next) {
		enum truth truth = compute(subject, part);

		if (truth == decisive)
			return decisive;
		if (truth == UNKNOWN)
			result = UNKNOWN;
	}
	return result;
}

bool perch__filter_expression_match(const struct filter_expression *expression, size_t event,
				    const struct perch_record *record, const char *comm)
{
	const struct subject subject = {
		.expression = expression,
		.operand = &expression->operand[event * expression->nr_comparisons],
		.record = record,
		.comm = comm,
	};

	return event < expression->nr_events && compute(&subject, expression->root) == TRUE;
}
