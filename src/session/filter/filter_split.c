/* SPDX-License-Identifier: MIT */
/*
 * Filters: separates names of functions at commas. Those in the brackets of a name are part of it:
 * "ns::f(int, char),std::map<int, char>::at".
 */
#include "base/function_name.h"
#include "filter.h"

#define MAX_DEPTH 1024

struct brackets {
	char open[MAX_DEPTH];
	size_t nr;
	bool unbalanced;
};

/* Returns the length of the sign of an operator; longer signs come first. */
static size_t operator_length(const char *text)
{
	static const char *const signs[] = { "()", "[]", "->*", "->", "<=>", "<<=", "<<",
					     "<=", "<",	 ">>=", ">>", ">=",  ">" };

	for (size_t i = 0; i < PERCH__NR(signs); i++)
		if (!strncmp(text, signs[i], strlen(signs[i])))
			return strlen(signs[i]);
	/* a function of C may be named "operator" */
	return *text == ',' && (!text[1] || strchr("(,< ", text[1]));
}

/* Returns what follows "operator<" and the like; NULL if the text at `at` is another one. */
static const char *after_operator(const char *list, const char *at)
{
	static const char word[] = "operator";
	size_t length;

	if (strncmp(at, word, strlen(word)) || (at > list && perch__is_word(at[-1])))
		return NULL;
	at += strlen(word);
	at += strspn(at, " ");
	length = operator_length(at);
	return length ? at + length : NULL;
}

static void open_bracket(struct brackets *brackets, char closing)
{
	if (brackets->nr == MAX_DEPTH)
		brackets->unbalanced = true;
	else
		brackets->open[brackets->nr++] = closing;
}

static bool is_innermost(const struct brackets *brackets, char closing)
{
	return brackets->nr && brackets->open[brackets->nr - 1] == closing;
}

/* A '<' or a '>' in parentheses may be a comparison: "f<((1)>(2))>". */
static void close_bracket(struct brackets *brackets, char closing)
{
	while (closing != '>' && is_innermost(brackets, '>'))
		brackets->nr--;
	if (is_innermost(brackets, closing))
		brackets->nr--;
	else if (closing != '>' || !brackets->nr)
		brackets->unbalanced = true;
}

/* Returns what follows the byte, or the operator, at `at`. */
static const char *pass_brackets(struct brackets *brackets, const char *list, const char *at)
{
	static const char opening[] = "(<[{", closing[] = ")>]}";
	const char *after = after_operator(list, at), *found;

	if (after)
		return after;
	if (!strncmp(at, "->", 2)) /* as in decltype(a->b), and the results of functions of Rust */
		return at + 2;
	found = strchr(opening, *at);
	if (found)
		open_bracket(brackets, closing[found - opening]);
	else if (strchr(closing, *at))
		close_bracket(brackets, *at);
	return at + 1;
}

bool perch__filter_is_balanced(const char *list)
{
	struct brackets brackets;
	const char *at = list;

	brackets.nr = 0;
	brackets.unbalanced = false;
	while (*at && !brackets.unbalanced)
		at = pass_brackets(&brackets, list, at);
	return !brackets.unbalanced && !brackets.nr;
}

size_t perch__filter_function_length(const char *list)
{
	struct brackets brackets;
	const char *at = list;

	brackets.nr = 0;
	brackets.unbalanced = false;
	while (*at && (*at != ',' || brackets.nr))
		at = pass_brackets(&brackets, list, at);
	return at - list;
}
