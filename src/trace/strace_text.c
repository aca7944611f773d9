/* SPDX-License-Identifier: MIT */
/* Identifiers, numbers, values and strings as strace writes them. */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>
#include <string.h>

#include "strace.h"

void strace_skip_spaces(struct strace_text *text)
{
	while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
		text->at++;
}

bool strace_accept(struct strace_text *text, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length))
		return false;
	text->at += length;
	return true;
}

static bool in_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

struct strace_token strace_read_identifier(struct strace_text *text)
{
	struct strace_token word = { text->at, 0 };

	if (text->at < text->end && isdigit((unsigned char)*text->at))
		return word;
	while (text->at < text->end && in_identifier(*text->at))
		text->at++;
	word.length = text->at - word.at;
	return word;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

bool strace_read_number(struct strace_text *text, uint64_t *value)
{
	bool negative = strace_accept(text, "-");
	const char *digits;
	unsigned base = 10;
	uint64_t number = 0;

	if (strace_accept(text, "0x"))
		base = 16;
	else if (text->at < text->end && *text->at == '0')
		base = 8;
	digits = text->at;
	while (text->at < text->end && (unsigned)digit(*text->at) < base)
		number = number * base + digit(*text->at++);
	*value = negative ? -number : number;
	return text->at > digits;
}

#define NOTE_MAX 8192 /* bytes of a comment or of a name in <>; the longest is a path */

static const char *end_within_note(const struct strace_text *text)
{
	return text->end - text->at > NOTE_MAX ? text->at + NOTE_MAX : text->end;
}

/* Finds the '>' that ends "<socket:[1->2]>" or "<TCP:[...]<char 1:3>>": a separator follows it. */
static const char *end_of_note(const char *at, const char *last, const char *end)
{
	for (; at < last; at++)
		if (*at == '>' && at[-1] != '-' && (at + 1 == end || strchr(",)]} |\t=", at[1])))
			return at;
	return NULL;
}

/* Skips comments and the names that -y and -Y write after a number. note is the last one. */
static void skip_annotations(struct strace_text *text, struct strace_token *note)
{
	for (;;) {
		size_t left = text->end - text->at;
		struct strace_text ahead = *text;
		const char *end;

		strace_skip_spaces(&ahead);
		if (strace_accept(&ahead, "/*"))
			end = memmem(ahead.at, end_within_note(&ahead) - ahead.at, "*/", 2);
		else if (left > 1 && *text->at == '<' && text->at[1] != '<')
			/* no space before it: not "12 <... read" */
			end = end_of_note(text->at + 1, end_within_note(text), text->end);
		else
			return;
		if (!end)
			return;
		if (note)
			*note = (struct strace_token){ ahead.at, (size_t)(end - ahead.at) };
		text->at = end + (*end == '*' ? 2 : 1);
	}
}

/* Reads a number or a name, with an optional shift. */
static bool read_term(struct strace_text *text, uint64_t *value)
{
	struct strace_token word = strace_read_identifier(text);
	uint64_t shift;

	if (word.length ? !strace_lookup_constant(&word, value) : !strace_read_number(text, value))
		return false;
	if (!strace_accept(text, "<<"))
		return true;
	if (!strace_read_number(text, &shift) || shift > 63)
		return false;
	*value <<= shift;
	return true;
}

bool strace_read_value(struct strace_text *text, uint64_t *value, struct strace_token *note)
{
	uint64_t part;

	if (note)
		*note = (struct strace_token){ text->at, 0 };
	*value = 0;
	do {
		if (!read_term(text, &part))
			return false;
		*value |= part;
		skip_annotations(text, note);
	} while (strace_accept(text, "|"));
	return true;
}

/* Returns the character of an escape; the backslash is skipped already. */
static char unescape(struct strace_text *text)
{
	static const char escapes[] = "n\nt\tr\rv\vf\fa\ab\b";
	unsigned value = 0;
	int base = 8, most = 3;
	const char *found;

	if (text->at == text->end)
		return '\\';
	found = strchr(escapes, *text->at);
	if (*text->at && found && !((found - escapes) & 1)) {
		text->at++;
		return found[1];
	}
	if (*text->at == 'x') {
		text->at++;
		base = 16;
		most = 2;
	} else if (digit(*text->at) >= 8) {
		return *text->at++;
	}
	for (int i = 0; i < most && text->at < text->end && digit(*text->at) < base; i++)
		value = value * base + digit(*text->at++);
	return (char)value;
}

bool strace_read_string(struct strace_text *text, char *buffer, size_t size)
{
	size_t used = 0;

	if (!strace_accept(text, "\""))
		return false;
	while (text->at < text->end && *text->at != '"') {
		char c = *text->at++;

		if (c == '\\')
			c = unescape(text);
		if (used + 1 < size)
			buffer[used++] = c;
	}
	buffer[used] = '\0';
	return strace_accept(text, "\"") && !strace_accept(text, "...");
}

static void skip_string(struct strace_text *text)
{
	text->at++;
	while (text->at < text->end && *text->at != '"')
		text->at += *text->at == '\\' && text->at + 1 < text->end ? 2 : 1;
	if (text->at < text->end)
		text->at++;
}

void strace_skip_value(struct strace_text *text)
{
	unsigned depth = 0;

	while (text->at < text->end) {
		char c = *text->at;

		if (c == '"') {
			skip_string(text);
			continue;
		}
		if (c == '/' || c == '<') {
			const char *before = text->at;

			skip_annotations(text, NULL);
			if (text->at != before)
				continue;
		}
		if (!depth && (c == ',' || c == '}' || c == ')' || c == ']'))
			return;
		if (c == '{' || c == '(' || c == '[')
			depth++;
		else if (c == '}' || c == ')' || c == ']')
			depth--;
		text->at++;
	}
}

bool strace_accept_comma(struct strace_text *text)
{
	strace_skip_spaces(text);
	if (!strace_accept(text, ","))
		return false;
	strace_skip_spaces(text);
	return true;
}
