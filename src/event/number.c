/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>

#include "number.h"

static int refuse(struct perch__parser *parser, size_t at, const char *what)
{
	struct perch__token token = perch__token_at(parser->text, at);
	char found[80];

	return perch__refuse(parser, token.at, EINVAL, PERCH_CAUSE_SYNTAX, "expected %s, found %s", what,
			     perch__token_name(parser->text, &token, found, sizeof(found)));
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

int perch__take_number(struct perch__parser *parser, size_t *at, uint64_t *value, const char *what)
{
	const char *text = parser->text;
	size_t from = *at, end = from;
	unsigned base = 10;
	uint64_t number = 0;

	if (text[end] == '0' && (text[end + 1] == 'x' || text[end + 1] == 'X')) {
		base = 16;
		end += 2;
	}
	if (digit_of(text[end], base) < 0)
		return refuse(parser, from, what);
	for (; digit_of(text[end], base) >= 0; end++) {
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, (uint64_t)digit_of(text[end], base), &number))
			return perch__refuse(parser, from, ERANGE, PERCH_CAUSE_SYNTAX,
					     "a number of more than 64 bits");
	}
	if (isalnum((unsigned char)text[end]) || text[end] == '_')
		return perch__refuse(parser, end, EINVAL, PERCH_CAUSE_SYNTAX, "'%c' is no digit of a %s number",
				     text[end], base == 16 ? "hexadecimal" : "decimal");
	*at = end;
	*value = number;
	return 0;
}
