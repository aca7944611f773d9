/* SPDX-License-Identifier: MIT */
/*
 * Finds what the kernel refuses in the filter of a tracepoint, in its order:
 *
 *	filter    = [ "!" | "(" ] comparison [ ")" ] { ( "&&" | "||" ) ... }
 *	comparison = field [ ".ustring" | ".function" ] operator value
 *	value      = number | "string" | 'string'
 *
 * The fields and their types are those of the format in tracefs, if this user may read it.
 */
#define _GNU_SOURCE /* memmem() */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel/format_field.h"
#include "operation.h"

#define FORMAT_BYTES (64u << 10)
#define LONGEST_TEXT 255 /* bytes of a string in a filter */

/* The longer of two operators that begin alike is first. */
static const struct {
	const char *text;
	bool of_strings, of_numbers;
} operators[] = {
	{ "==", true, true }, { "!=", true, true },  { "~", true, false }, { "<=", false, true },
	{ "<", false, true }, { ">=", false, true }, { ">", false, true }, { "&", false, true },
};

static bool is(struct perch__span span, const char *text)
{
	return span.length == strlen(text) && !memcmp(span.at, text, span.length);
}

static bool contains(struct perch__span span, const char *text)
{
	return span.length && memmem(span.at, span.length, text, strlen(text));
}

/* Arrays of and pointers to char are strings. */
static bool is_string(const struct perch__format_field *field)
{
	if (is(field->type, "char *") || is(field->type, "const char *"))
		return true;
	return contains(field->type, "char") &&
	       (field->brackets.length || contains(field->type, "["));
}

static enum perch__filter_type type_of(const struct perch__format_field *field)
{
	if (is_string(field))
		return PERCH__FILTER_TYPE_STRING;
	return field->has_sign && !field->is_signed ? PERCH__FILTER_TYPE_UNSIGNED
						    : PERCH__FILTER_TYPE_NUMBER;
}

static bool is_number_type(enum perch__filter_type type)
{
	return type == PERCH__FILTER_TYPE_NUMBER || type == PERCH__FILTER_TYPE_UNSIGNED;
}

/* The type of a field of every tracepoint, or PERCH__FILTER_TYPE_ABSENT. */
static enum perch__filter_type type_of_common(struct perch__span name)
{
	if (is(name, "CPU") || is(name, "cpu"))
		return PERCH__FILTER_TYPE_NUMBER;
	if (is(name, "COMM") || is(name, "comm"))
		return PERCH__FILTER_TYPE_STRING;
	if (is(name, "STACKTRACE") || is(name, "stacktrace"))
		return PERCH__FILTER_TYPE_UNKNOWN; /* of newer kernels */
	return PERCH__FILTER_TYPE_ABSENT;
}

static enum perch__filter_type look_up(const char *format, struct perch__span name)
{
	const char *end = strstr(format, "print fmt:");
	struct perch__span rest = { format, end ? (size_t)(end - format) : 0 };
	enum perch__filter_type type = type_of_common(name);
	bool any = false;

	/* without an end the file is longer than the buffer, or there is none */
	while (type == PERCH__FILTER_TYPE_ABSENT && rest.length) {
		struct perch__span line = perch__span_cut(&rest, '\n');
		struct perch__format_field field;

		if (!perch__is_format_field(line))
			continue;
		if (!perch__split_format_field(line, &field))
			return PERCH__FILTER_TYPE_UNKNOWN;
		any = true;
		if (field.name.length == name.length &&
		    !memcmp(field.name.at, name.at, name.length))
			type = type_of(&field);
	}
	return type == PERCH__FILTER_TYPE_ABSENT && !any ? PERCH__FILTER_TYPE_UNKNOWN : type;
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\n\v\f\r");
}

static bool stop_parsing(struct perch__filter *filter, enum perch__filter_fault fault,
			 const char *at, size_t length)
{
	filter->fault = fault;
	snprintf(filter->part, sizeof(filter->part), "%.*s",
		 (int)(length < sizeof(filter->part) ? length : sizeof(filter->part) - 1), at);
	return false;
}

/* The text up to the next blank, for messages. */
static size_t word_length(const char *at)
{
	size_t length = strcspn(at, " \t\n()");

	return length ? length : strlen(at) ? 1 : 0;
}

/* Returns the operator at the text, or -1. */
static int find_operator(const char *at)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (!strncmp(at, operators[i].text, strlen(operators[i].text)))
			return (int)i;
	return -1;
}

/* The kernel converts the text as a signed number, or as an unsigned one, by the type. */
static bool is_number(struct perch__span text, enum perch__filter_type type)
{
	char number[32], *end;
	const bool negative = text.at[0] == '-';

	if (text.length >= sizeof(number))
		return false;
	memcpy(number, text.at, text.length);
	number[text.length] = '\0';
	errno = 0;
	if (!isdigit((unsigned char)number[negative]) ||
	    (negative && type == PERCH__FILTER_TYPE_UNSIGNED))
		return false;
	if (negative || type == PERCH__FILTER_TYPE_NUMBER)
		strtoll(number, &end, 0);
	else
		strtoull(number, &end, 0);
	return !*end && !errno;
}

/* Newer kernels take these in place of a number or string. */
static bool is_new_value(const char *at)
{
	return !strncmp(at, "CPUS{", 5);
}

/* Checks the value at *at against the type and the operator, and moves behind it. */
static bool check_value(struct perch__filter *filter, const char **at, int op)
{
	const enum perch__filter_type type = filter->type;
	const char *start = *at, *end;
	bool quoted = *start == '"' || *start == '\'';

	if (!*start || strchr("()&|", *start))
		return stop_parsing(filter, PERCH__FILTER_VALUE, start, word_length(start));
	if (is_new_value(start)) {
		*at = start + strcspn(start, "}") + (strchr(start, '}') != NULL);
		return true;
	}
	end = quoted ? strchr(start + 1, *start) : start + (*start == '-');
	while (!quoted && isalnum((unsigned char)*end))
		end++;
	if (quoted && !end) /* reported with another errno */
		return stop_parsing(filter, PERCH__FILTER_NONE, "", 0);
	end += quoted;
	*at = end;
	if (quoted && !is_number_type(type) && (size_t)(end - start) - 2 > LONGEST_TEXT)
		return stop_parsing(filter, PERCH__FILTER_LONG_TEXT, start, 24);
	if (quoted && is_number_type(type))
		return stop_parsing(filter, PERCH__FILTER_TEXT_OF_NUMBER, start, end - start);
	if (!quoted && type == PERCH__FILTER_TYPE_STRING)
		return stop_parsing(filter, PERCH__FILTER_NUMBER_OF_TEXT, start,
				    word_length(start));
	if (quoted ? !operators[op].of_strings : !operators[op].of_numbers)
		return stop_parsing(filter,
				    quoted ? PERCH__FILTER_OPERATOR_OF_TEXT
					   : PERCH__FILTER_OPERATOR_OF_NUMBER,
				    operators[op].text, strlen(operators[op].text));
	if (!quoted && !is_number((struct perch__span){ start, end - start }, type))
		return stop_parsing(filter, PERCH__FILTER_VALUE, start, word_length(start));
	return true;
}

/*
 * Without any comparison the kernel finds that first (EINVAL). Else it fails at the text that
 * begins no name (EPERM), except at the end.
 */
static enum perch__filter_fault fault_without_name(const struct perch__filter *filter,
						   const char *at)
{
	return *at && filter->text[strspn(filter->text, " \t\n\v\f\r()")] ? PERCH__FILTER_NO_OPERAND
									  : PERCH__FILTER_NO_FIELD;
}

/* Checks "field operator value" and moves behind it. Returns false at the first fault. */
static bool check_comparison(struct perch__filter *filter, const char **at, const char *format)
{
	struct perch__span name = { *at, 0 };
	int op;

	while (perch__is_name_char(name.at[name.length]))
		name.length++;
	if (!name.length)
		return stop_parsing(filter, fault_without_name(filter, name.at), name.at,
				    word_length(name.at));
	snprintf(filter->field, sizeof(filter->field), "%.*s",
		 (int)(name.length < 64 ? name.length : 64), name.at);
	filter->type = look_up(format, name);
	if (filter->type == PERCH__FILTER_TYPE_ABSENT)
		return stop_parsing(filter, PERCH__FILTER_FIELD, name.at, name.length);
	*at = name.at + name.length;
	if (!strncmp(*at, ".function", 9))
		return stop_parsing(filter, PERCH__FILTER_NONE, "", 0); /* depends on the release */
	if (!strncmp(*at, ".ustring", 8))
		*at += 8;
	*at = skip_blanks(*at);
	op = find_operator(*at);
	if (op < 0)
		return stop_parsing(filter, PERCH__FILTER_OPERATOR, *at,
				    strcspn(*at, " \t\n()\"'"));
	*at = skip_blanks(*at + strlen(operators[op].text));
	return check_value(filter, at, op);
}

/* Moves over what may follow a comparison. Returns false at anything else. */
static bool check_next(struct perch__filter *filter, const char **at)
{
	*at = skip_blanks(*at);
	while (**at == ')')
		*at = skip_blanks(*at + 1);
	if (!**at)
		return true;
	if (strncmp(*at, "&&", 2) && strncmp(*at, "||", 2))
		return stop_parsing(filter, PERCH__FILTER_NO_JOIN, *at, word_length(*at));
	*at = skip_blanks(*at + 2);
	if (!strncmp(*at, "&&", 2) || !strncmp(*at, "||", 2))
		return stop_parsing(filter, PERCH__FILTER_NO_OPERAND, *at, 2);
	return true;
}

static void check_fields(struct perch__filter *filter, const char *format)
{
	const char *at = skip_blanks(filter->text);

	if (*at == '&' || *at == '|' || *at == '"' || *at == '\'') {
		stop_parsing(filter, PERCH__FILTER_NO_OPERAND, at, word_length(at));
		return;
	}
	while (*at) {
		while (*at == '(' || (*at == '!' && at[1] != '='))
			at = skip_blanks(at + 1);
		if (!check_comparison(filter, &at, format) || !check_next(filter, &at))
			return;
	}
}

/* Reads the format of the tracepoint into the buffer. It stays empty if that is impossible. */
static void read_format(const struct perch__operation_case *o, struct perch__filter *filter,
			char *format)
{
	char tracefs[PATH_MAX], path[PATH_MAX + sizeof(filter->tracepoint) + 32];
	const size_t size = sizeof(filter->tracepoint);
	size_t system;

	format[0] = filter->tracepoint[0] = '\0';
	if (!o->c.machine ||
	    perch_machine_tracefs(o->c.machine, tracefs, sizeof(tracefs), NULL) < 0 ||
	    perch_machine_tracepoint(o->c.machine, o->c.attr.config, filter->tracepoint, size,
				     NULL) < 0) {
		filter->tracepoint[0] = '\0';
		return;
	}
	system = strcspn(filter->tracepoint, ":");
	snprintf(path, sizeof(path), "%s/events/%.*s/%s/format", tracefs, (int)system,
		 filter->tracepoint, filter->tracepoint + system + 1);
	/* without the machine, because the path begins with its root already */
	if (perch_machine_read(NULL, path, format, FORMAT_BYTES) <= 0)
		format[0] = '\0';
}

/* Lists the fields of the tracepoint for the remedy, without the common fields of all tracepoints.
 */
static void list_fields(struct perch__filter *filter, const char *format)
{
	const char *end = strstr(format, "print fmt:");
	struct perch__span rest = { format, end ? (size_t)(end - format) : 0 };
	size_t used = 0;

	while (rest.length && used + 80 < sizeof(filter->fields)) {
		struct perch__span line = perch__span_cut(&rest, '\n');
		struct perch__format_field field;

		if (!perch__is_format_field(line) || !perch__split_format_field(line, &field) ||
		    perch__span_begins(field.name, "common_"))
			continue;
		used += snprintf(filter->fields + used, sizeof(filter->fields) - used, "%s%.*s",
				 used ? ", " : "",
				 (int)(field.name.length < 64 ? field.name.length : 64),
				 field.name.at);
	}
}

void perch__check_filter_of(const struct perch__operation_case *o, struct perch__filter *filter)
{
	char *format;

	*filter = (struct perch__filter){ .fault = PERCH__FILTER_NONE, .text = o->op->filter };
	if (!o->op->filter || !o->has_attr || o->c.attr.type != PERCH_TYPE_TRACEPOINT ||
	    perch__filter_error(o->op->filter))
		return;
	format = malloc(FORMAT_BYTES);
	if (!format)
		return;
	read_format(o, filter, format);
	if (strncmp(filter->tracepoint, "ftrace:", 7)) /* ftrace:function has a parser of its own */
		check_fields(filter, format);
	list_fields(filter, format);
	free(format);
}
