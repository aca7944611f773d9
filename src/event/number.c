/* SPDX-License-Identifier: MIT */
/* Numbers in event strings and in sysfs: decimal, or hexadecimal after 0x. A 0 in front changes
 * nothing. */
#include <ctype.h>
#include <errno.h>

#include "number.h"

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

static int refuse(struct perch__parser *parser, size_t at, const char *what)
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
		return refuse(parser, *at, what);
	while (digit_of(text[length], base) >= 0)
		length++;
	if (perch__parse_number(text, length, value))
		return perch__parse_error(parser, *at, ERANGE, PERCH_ERROR_SYNTAX,
					  "a number of more than 64 bits");
	if (isalnum((unsigned char)text[length]) || text[length] == '_')
		return perch__parse_error(parser, *at + length, EINVAL, PERCH_ERROR_SYNTAX,
					  "'%c' is no digit of a %s number", text[length],
					  base == 16 ? "hexadecimal" : "decimal");
	*at += length;
	return 0;
}
