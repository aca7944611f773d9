/* SPDX-License-Identifier: MIT */
/* Event strings as tokens and numbers, and errors at a byte of them. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* True for the characters of names and numbers. */
static bool in_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("_-.*?!@[]", c));
}

static enum perch__token_kind kind_of(char c)
{
	switch (c) {
	case '\0':
		return PERCH__TOKEN_END;
	case ',':
		return PERCH__TOKEN_COMMA;
	case ':':
		return PERCH__TOKEN_COLON;
	case '/':
		return PERCH__TOKEN_SLASH;
	case '=':
		return PERCH__TOKEN_EQUALS;
	case '{':
		return PERCH__TOKEN_OPEN;
	case '}':
		return PERCH__TOKEN_CLOSE;
	default:
		return in_word(c) ? PERCH__TOKEN_WORD : PERCH__TOKEN_INVALID;
	}
}

struct perch__token perch__token_at(const char *text, size_t at)
{
	struct perch__token token = { 0 };

	while (text[at] == ' ' || text[at] == '\t' || text[at] == '\n')
		at++;
	token.at = at;
	token.kind = kind_of(text[at]);
	token.length = token.kind != PERCH__TOKEN_END;
	if (token.kind == PERCH__TOKEN_WORD)
		while (in_word(text[at + token.length]))
			token.length++;
	return token;
}

const char *perch__token_name(const char *text, const struct perch__token *token, char *buffer,
			      size_t size)
{
	if (token->kind == PERCH__TOKEN_END)
		snprintf(buffer, size, "the end");
	else
		snprintf(buffer, size, "'%.*s'", (int)(token->length < 64 ? token->length : 64),
			 text + token->at);
	return buffer;
}

void perch__advance_to(struct perch__parser *parser, size_t at)
{
	parser->token = perch__token_at(parser->text, at);
}

void perch__advance(struct perch__parser *parser)
{
	perch__advance_to(parser, parser->token.at + parser->token.length);
}

int perch__parse_error(struct perch__parser *parser, size_t at, int errnum,
		       enum perch_error_kind kind, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	perch_error_set(parser->err, errnum, kind, "%s", text);
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

	return perch__parse_error(
		parser, parser->token.at, EINVAL, PERCH_ERROR_SYNTAX, "expected %s, found %s", what,
		perch__token_name(parser->text, &parser->token, found, sizeof(found)));
}

int perch__take_word(struct perch__parser *parser, char word[PERCH__WORD_SIZE], const char *what)
{
	if (parser->token.kind != PERCH__TOKEN_WORD)
		return perch__expected(parser, what);
	if (parser->token.length >= PERCH__WORD_SIZE)
		return perch__parse_error(parser, parser->token.at, EINVAL, PERCH_ERROR_SYNTAX,
					  "a name has at most %d bytes (given %zu)",
					  PERCH__WORD_SIZE - 1, parser->token.length);
	memcpy(word, parser->text + parser->token.at, parser->token.length);
	word[parser->token.length] = '\0';
	perch__advance(parser);
	return 0;
}

static int digit_of(char c, unsigned base)
{
	int digit = -1;

	if (c >= '0' && c <= '9')
		digit = c - '0';
	else if (c >= 'a' && c <= 'f')
		digit = c - 'a' + 10;
	else if (c >= 'A' && c <= 'F')
		digit = c - 'A' + 10;
	return digit < (int)base ? digit : -1;
}

static unsigned base_of(const char *text, size_t length)
{
	return length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
}

int perch__parse_number(const char *text, size_t length, uint64_t *value)
{
	unsigned base = base_of(text, length);

	*value = 0;
	for (size_t i = base == 16 ? 2 : 0; i < length; i++) {
		int digit = digit_of(text[i], base);

		if (digit < 0)
			return -EINVAL;
		if (__builtin_mul_overflow(*value, base, value) ||
		    __builtin_add_overflow(*value, (uint64_t)digit, value))
			return -ERANGE;
	}
	return length ? 0 : -EINVAL;
}

static int expected_number(struct perch__parser *parser, size_t at, const char *what)
{
	struct perch__token token = perch__token_at(parser->text, at);
	char found[80];

	return perch__parse_error(parser, token.at, EINVAL, PERCH_ERROR_SYNTAX,
				  "expected %s, found %s", what,
				  perch__token_name(parser->text, &token, found, sizeof(found)));
}

int perch__take_number(struct perch__parser *parser, size_t *at, uint64_t *value, const char *what)
{
	const char *text = parser->text + *at;
	unsigned base = base_of(text, text[0] && text[1] ? 3 : 0);
	size_t length = base == 16 ? 2 : 0;

	if (digit_of(text[length], base) < 0)
		return expected_number(parser, *at, what);
	while (digit_of(text[length], base) >= 0)
		length++;
	if (perch__parse_number(text, length, value))
		return perch__parse_error(parser, *at, ERANGE, PERCH_ERROR_SYNTAX,
					  "the number has more than 64 bits");
	if (isalnum((unsigned char)text[length]) || text[length] == '_')
		return perch__parse_error(parser, *at + length, EINVAL, PERCH_ERROR_SYNTAX,
					  "'%c' is not a digit of a %s number", text[length],
					  base == 16 ? "hexadecimal" : "decimal");
	*at += length;
	return 0;
}

bool perch__is_glob(const char *text)
{
	return strpbrk(text, "*?[");
}
