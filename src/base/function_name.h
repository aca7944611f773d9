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

/* Returns what follows the parenthesis that closes the first one of the text; NULL if none does. */
static inline const char *perch__after_parentheses(const char *text)
{
	size_t depth = 0;

	for (; *text; text++) {
		depth += *text == '(';
		if (*text == ')' && !--depth)
			return text + 1;
	}
	return NULL;
}

/* True for the qualifiers of a method: nothing else follows the parameters of a function. A copy
 * that the compiler split off is none: "f(int) [clone .cold]". */
static inline bool perch__are_qualifiers(const char *text)
{
	static const char *const words[] = { " const", " volatile", " &&", " &" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strncmp(text, words[i], strlen(words[i])))
			return perch__are_qualifiers(text + strlen(words[i]));
	return !*text;
}

/* True if the demangled text is the name, or has parameters in addition. */
static inline bool perch__is_function_name(const char *text, const char *name)
{
	const char *after = perch__after_name(text, name);

	if (!after || !*after)
		return after;
	after = *after == '(' ? perch__after_parentheses(after) : NULL;
	return after && perch__are_qualifiers(after);
}

/* True for a part of a function that the compiler moved away, "f.cold" or "f(int) [clone .cold]".
 * It is jumped to: no return address is on top of the stack. */
static inline bool perch__is_moved_part(const char *name)
{
	const char *part = strstr(name, ".cold");

	return part && !perch__is_word(part[sizeof(".cold") - 1]);
}

#endif
