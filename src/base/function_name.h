/* SPDX-License-Identifier: MIT */
/*
 * Demangled names of functions as users write them. Spaces count only between two words, as in
 * "operator new": "ns::f(int,char)" is "ns::f(int, char)".
 */
#ifndef PERCH_BASE_FUNCTION_NAME_H
#define PERCH_BASE_FUNCTION_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* True for the bytes of identifiers. Those of UTF-8 are among them. */
static inline bool perch__is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Removes and returns the next byte that counts; last: the one before it, 0 at the start. */
static inline char perch__take_name_byte(const char **name, char last)
{
	const char *text = *name + strspn(*name, " ");
	const bool spaced = text > *name && perch__is_word(last) && perch__is_word(*text);

	*name = spaced || !*text ? text : text + 1;
	return spaced ? ' ' : *text;
}

/* Returns what follows the name that the text begins with; NULL if it begins with another one. */
static inline const char *perch__after_name(const char *text, const char *name)
{
	char last = '\0', wanted;

	while ((wanted = perch__take_name_byte(&name, last))) {
		if (perch__take_name_byte(&text, last) != wanted)
			return NULL;
		last = wanted;
	}
	return text;
}

static inline bool perch__same_name(const char *text, const char *name)
{
	const char *after = perch__after_name(text, name);

	return after && !after[strspn(after, " ")];
}

#endif
