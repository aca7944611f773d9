/* SPDX-License-Identifier: MIT */
/* Event strings as tokens, each with its place in the text. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* What names of PMUs, events, tracepoints and numbers are made of. NUL belongs to none. */
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
		return in_word(c) ? PERCH__TOKEN_WORD : PERCH__TOKEN_STRAY;
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
