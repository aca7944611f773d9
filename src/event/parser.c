/* SPDX-License-Identifier: MIT */
/* What every part of the grammar does with a text: goes on in it, takes words, points at mistakes.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

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
					  "a word of %zu letters is no event's",
					  parser->token.length);
	memcpy(word, parser->text + parser->token.at, parser->token.length);
	word[parser->token.length] = '\0';
	perch__advance(parser);
	return 0;
}
