/* SPDX-License-Identifier: MIT */
/* Tokens of a print fmt, and the parts of it with a form of their own: strings and lengths. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "print_format_scan.h"

#define MAX_ARRAYS 8 /* that are printed */
#define MAX_LENGTH 65535

bool perch__fmt_is(const struct scanner *scanner, const char *text)
{
	const struct token *token = &scanner->token;

	return token->length == strlen(text) && !memcmp(token->at, text, token->length);
}

bool perch__fmt_next(struct scanner *scanner)
{
	const char *at = scanner->at + strspn(scanner->at, " \t");

	scanner->token = (struct token){ .kind = END, .at = at };
	if (*at == '"' || *at == '\'') {
		char quote = *at++;

		scanner->token.kind = STRING;
		for (; *at && *at != quote; at++)
			if (*at == '\\' && !*++at)
				return false;
		if (!*at++)
			return false;
	} else if (isdigit((unsigned char)*at)) {
		scanner->token.kind = NUMBER;
		/* binary numbers depend on the C library's version: 0 is refused as a divisor */
		if (at[0] != '0' || (at[1] != 'b' && at[1] != 'B'))
			scanner->token.number = strtoul(at, NULL, 0);
		while (isalnum((unsigned char)*at))
			at++;
	} else if (isalpha((unsigned char)*at) || *at == '_') {
		scanner->token.kind = NAME;
		while (isalnum((unsigned char)*at) || *at == '_')
			at++;
	} else if (*at) {
		scanner->token.kind = OPERATOR;
		at++;
	}
	scanner->token.length = at - scanner->token.at;
	scanner->at = at;
	return true;
}

/* ---- strings ---- */

/* Skips up to two digits. */
static const char *skip_number(const char *at, const char *end)
{
	const char *last = at + 2;

	while (at < end && at < last && isdigit((unsigned char)*at))
		at++;
	return at;
}

/*
 * True for what prints little and reads no further than its argument. A width or precision of the
 * sample ('*') may be negative, which the library passes to printf(3) without it.
 */
static bool is_harmless_conversion(const char *at, const char *end)
{
	const char *flags = at;

	while (at < end && at < flags + 4 && strchr("-+ #0", *at))
		at++;
	at = skip_number(at, end);
	if (at < end && *at == '.')
		at = skip_number(at + 1, end);
	if (at < end && strchr("s%p", *at))
		return true;
	if (at + 1 < end && (!strncmp(at, "ll", 2) || !strncmp(at, "hh", 2)))
		at += 2;
	else if (at < end && strchr("lhzL", *at))
		at++;
	return at < end && *at && strchr("diuxXoc", *at);
}

bool perch__fmt_check_string(struct scanner *scanner)
{
	const char *at = scanner->token.at, *end = at + scanner->token.length;

	for (at++; at < end; at++) {
		if (*at != '%')
			continue;
		if (++scanner->conversions > MAX_CONVERSIONS ||
		    !is_harmless_conversion(at + 1, end))
			return false;
		if (at[1] == '%')
			at++;
	}
	return true;
}

/* ---- lengths ---- */

/* Returns the field that the token names, or NULL. */
static const struct perch_tracepoint_field *field_of(const struct scanner *scanner)
{
	char name[128];

	if (scanner->token.kind != NAME || scanner->token.length >= sizeof(name))
		return NULL;
	memcpy(name, scanner->token.at, scanner->token.length);
	name[scanner->token.length] = '\0';
	return perch_tracepoint_format_find(scanner->format, name);
}

const struct perch_tracepoint_field *perch__fmt_take_field(struct scanner *scanner)
{
	if (!perch__fmt_next(scanner) || !perch__fmt_is(scanner, "-") ||
	    !perch__fmt_next(scanner) || !perch__fmt_is(scanner, ">") || !perch__fmt_next(scanner))
		return NULL;
	return field_of(scanner);
}

bool perch__fmt_take_dynamic_field(struct scanner *scanner)
{
	const struct perch_tracepoint_field *field;

	if (!perch__fmt_next(scanner) || !perch__fmt_is(scanner, "(") || !perch__fmt_next(scanner))
		return false;
	field = field_of(scanner);
	return field && perch__fmt_next(scanner) && perch__fmt_is(scanner, ")") &&
	       (field->location == PERCH_TRACEPOINT_DATA_LOC ||
		field->location == PERCH_TRACEPOINT_REL_LOC);
}

bool perch__fmt_begins(const struct scanner *scanner, const char *text)
{
	return scanner->token.length >= strlen(text) &&
	       !strncmp(scanner->token.at, text, strlen(text));
}

/* Checks a length of at most 64 KiB: a constant, a short field, or the length of an array in the
 * sample. */
static bool check_length(struct scanner *scanner)
{
	if (!perch__fmt_next(scanner))
		return false;
	if (scanner->token.kind == NUMBER)
		return scanner->token.number <= MAX_LENGTH && perch__fmt_next(scanner);
	if (perch__fmt_is(scanner, "REC")) {
		const struct perch_tracepoint_field *field = perch__fmt_take_field(scanner);

		return field && field->kind == PERCH_TRACEPOINT_NUMBER && field->size <= 2 &&
		       field->location == PERCH_TRACEPOINT_AT_OFFSET && !field->is_signed &&
		       perch__fmt_next(scanner);
	}
	if (!perch__fmt_is(scanner, "__get_dynamic_array_len") &&
	    !perch__fmt_is(scanner, "__get_rel_dynamic_array_len"))
		return false;
	if (!perch__fmt_take_dynamic_field(scanner) || !perch__fmt_next(scanner))
		return false;
	if (!perch__fmt_is(scanner, "/"))
		return true;
	return perch__fmt_next(scanner) && scanner->token.kind == NUMBER && scanner->token.number &&
	       perch__fmt_next(scanner);
}

bool perch__fmt_check_array(struct scanner *scanner)
{
	if (++scanner->arrays > MAX_ARRAYS || !perch__fmt_next(scanner) ||
	    !perch__fmt_is(scanner, "(") || !perch__fmt_next(scanner))
		return false;
	if (perch__fmt_is(scanner, "REC") ? !perch__fmt_take_field(scanner)
					  : (!perch__fmt_is(scanner, "__get_dynamic_array") &&
					     !perch__fmt_is(scanner, "__get_rel_dynamic_array")) ||
						    !perch__fmt_take_dynamic_field(scanner))
		return false;
	if (!perch__fmt_next(scanner) || !perch__fmt_is(scanner, ","))
		return false;
	if (!check_length(scanner))
		return false;
	if (perch__fmt_is(scanner, ",")) {
		if (!perch__fmt_next(scanner) || scanner->token.kind != NUMBER ||
		    !scanner->token.number || scanner->token.number > 8 ||
		    !perch__fmt_next(scanner))
			return false;
	}
	return perch__fmt_is(scanner, ")");
}
