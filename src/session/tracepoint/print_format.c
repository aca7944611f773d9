/* SPDX-License-Identifier: MIT */
/*
 * Checks of a tracepoint's format before libtraceevent prints its samples.
 *
 * libtraceevent trusts formats: it reads at offsets and with lengths of the sample without checks,
 * divides by zero, and parses by recursion. What a format of this check makes it read is within
 * PERCH__RAW_SPACE bytes, whatever the sample has. It is not a parser: it looks at the tokens of
 * the print fmt, and refuses what it does not know to be harmless. The text for libtraceevent is
 * made of the fields as perch_tracepoint_format_parse() has read them.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_stream.h"
#include "print_format.h"
#include "print_format_scan.h"

#define MAX_FIELDS     512
#define MAX_FIELD_SIZE 8192
#define MAX_FIELD_END  32768

/* ---- signs ---- */

/* Finds which conversions of a string take an int, in the order of the arguments. */
static unsigned find_ints(const struct token *token, bool *is_int, unsigned nr)
{
	const char *end = token->at + token->length;

	for (const char *at = token->at; at < end && nr < MAX_CONVERSIONS; at++) {
		if (*at != '%')
			continue;
		if (at[1] == '%') {
			at++;
			continue;
		}
		at++;
		at += strspn(at, "-+ #0123456789.");
		is_int[nr++] = strchr("diuxXoc", *at);
	}
	return nr;
}

bool perch__print_format_loses_sign(const struct perch_tracepoint_format *format,
				    const struct perch_tracepoint_field *field)
{
	struct scanner scanner = { .at = perch_tracepoint_format_print_fmt(format),
				   .format = format };
	unsigned depth = 0, argument = 0, nr = 0, tokens = 0;
	bool is_int[MAX_CONVERSIONS + 1] = { 0 }, last = false;

	if (!field->is_signed || field->element_size == 8)
		return false;
	while (perch__fmt_next(&scanner) && scanner.token.kind == STRING)
		nr = find_ints(&scanner.token, is_int, nr);
	for (; scanner.token.kind != END;
	     scanner.token.kind = perch__fmt_next(&scanner) ? scanner.token.kind : END) {
		char sign = scanner.token.kind == OPERATOR ? *scanner.token.at : 0;

		if (last && !(sign == ',' && !depth)) /* the field is a part of the argument */
			return true;
		depth += sign == '(' || sign == '{';
		depth -= depth && (sign == ')' || sign == '}');
		if (sign == ',' && !depth) {
			argument += tokens > 0;
			tokens = 0;
			last = false;
			continue;
		}
		tokens++;
		if (!perch__fmt_is(&scanner, "REC") || perch__fmt_take_field(&scanner) != field)
			continue;
		last = tokens == 1 && argument < nr && is_int[argument] && field->size == 4 &&
		       field->kind == PERCH_TRACEPOINT_NUMBER;
		if (!last)
			return true;
	}
	return false;
}

/* ---- fields ---- */

static bool is_name(const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return length > 0 && length < 128 && !isdigit((unsigned char)text[0]);
}

/* "unsigned long", "struct page *", "u8[16]", "__data_loc char[]" */
static bool is_type(const char *text)
{
	const char *bracket = strchr(text, '[');
	size_t length = bracket ? (size_t)(bracket - text) : strlen(text);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != ' ' &&
		    text[i] != '*')
			return false;
	if (!length || length > 128 || (!isalpha((unsigned char)text[0]) && text[0] != '_'))
		return false;
	if (!bracket)
		return true;
	/* the number of elements: the size in bytes is checked */
	bracket++;
	bracket += strspn(bracket, "0123456789");
	return !strcmp(bracket, "]");
}

static bool check_field(const struct perch_tracepoint_field *field)
{
	return is_name(field->name) && is_type(field->type) && field->size &&
	       field->size <= MAX_FIELD_SIZE && field->offset <= MAX_FIELD_END - field->size;
}

static void put_field(FILE *out, const struct perch_tracepoint_field *field)
{
	const char *bracket = strchr(field->type, '[');

	if (bracket && bracket[1] != ']')
		fprintf(out, "\tfield:%.*s %s%s;", (int)(bracket - field->type), field->type,
			field->name, bracket);
	else
		fprintf(out, "\tfield:%s %s;", field->type, field->name);
	fprintf(out, "\toffset:%u;\tsize:%u;\tsigned:%d;\n", field->offset, field->size,
		field->is_signed);
}

char *perch__print_format_text(const struct perch_tracepoint_format *format, const char *system,
			       bool *no_memory)
{
	const char *name = perch_tracepoint_format_name(format);
	const struct perch_tracepoint_field *fields, *type;
	size_t nr = perch_tracepoint_format_fields(format, &fields), size = 0;
	char *text = NULL;
	FILE *out;

	*no_memory = false;
	type = perch_tracepoint_format_find(format, "common_type");
	/* events of ftrace itself have functions of their own in the library */
	if (!name || !is_name(name) || !system || !is_name(system) || !strcmp(system, "ftrace") ||
	    nr > MAX_FIELDS || !type || type->offset || type->size != 2 ||
	    !perch__fmt_is_harmless(format))
		return NULL;
	for (size_t i = 0; i < nr; i++)
		if (!check_field(&fields[i]))
			return NULL;
	out = perch__open_text(&text, &size);
	*no_memory = !out;
	if (!out)
		return NULL;
	fprintf(out, "name: %s\nID: %llu\nformat:\n", name,
		(unsigned long long)perch_tracepoint_format_id(format));
	for (size_t i = 0; i < nr; i++) {
		if (i && fields[i - 1].is_common && !fields[i].is_common)
			fputc('\n', out);
		put_field(out, &fields[i]);
	}
	fprintf(out, "\nprint fmt: %s\n", perch_tracepoint_format_print_fmt(format));
	*no_memory = !perch__close_text(out, &text);
	return text;
}
