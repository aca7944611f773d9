/* SPDX-License-Identifier: MIT */
/*
 * Names of OCaml, Java and D. C has names that look alike, so a name is demangled only if all of it
 * follows the rules of the language.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include <libiberty/demangle.h>

#include "symbol/internal.h"

/* ---- OCaml: caml, a module, then parts behind "__", or since OCaml 5.1 behind a point ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '\'' || c == '$';
}

/* True for "_12" at the end, the stamp that the compiler adds to names of functions. */
static bool has_stamp(const char *name)
{
	size_t length = strlen(name), digits = 0;

	while (digits < length && isdigit((unsigned char)name[length - 1 - digits]))
		digits++;
	return digits && digits < length && name[length - 1 - digits] == '_';
}

static bool is_ocaml(const char *name)
{
	const char *at = name + 4, *module_end, *point;

	if (strncmp(name, "caml", 4) || !isupper((unsigned char)*at))
		return false;
	while (is_word(*at))
		at++;
	if (*at && *at != '.')
		return false;
	module_end = strstr(name + 5, "__");
	/* clones of functions in C have points, too, but no stamps: camlName.part.0 */
	point = *at == '.' ? at : NULL;
	for (; *at; at++)
		if (!is_word(*at) && *at != '.')
			return false;
	return (module_end && module_end[2] && module_end[2] != '_') || (point && has_stamp(point));
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Characters that assemblers do not know are $ and two digits. */
static char *demangle_ocaml(const char *name)
{
	char *plain, *to;

	if (!is_ocaml(name))
		return NULL;
	plain = to = perch__malloc(strlen(name));
	for (const char *at = name + 4; to && *at;) {
		if (at[0] == '_' && at[1] == '_') {
			*to++ = '.';
			at += 2;
		} else if (at[0] == '$' && isxdigit((unsigned char)at[1]) &&
			   isxdigit((unsigned char)at[2])) {
			*to++ = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
			at += 3;
		} else {
			*to++ = *at++;
		}
	}
	if (to)
		*to = '\0';
	return plain;
}

/* ---- Java: Lpackage/Class;method(arguments)result, of the agent libperf-jvmti ---- */

struct java {
	const char *at;
	char *to;
};

static void put_java_text(struct java *java, const char *text)
{
	java->to = stpcpy(java->to, text);
}

/* Copies the name of a class up to its semicolon. Returns false if it is none. */
static bool put_class(struct java *java)
{
	const char *start = java->at;

	for (; *java->at && *java->at != ';'; java->at++) {
		if (strchr("()[<>. ", *java->at))
			return false;
		*java->to++ = *java->at == '/' ? '.' : *java->at;
	}
	return java->at > start && *java->at++ == ';';
}

/* Writes a type, with "class " before classes as perf does. Returns false if it is none. */
static bool put_type(struct java *java, bool may_be_void)
{
	static const struct {
		char letter;
		const char *name;
	} types[] = { { 'B', "byte" },	{ 'C', "char" },    { 'D', "double" },
		      { 'F', "float" }, { 'I', "int" },	    { 'J', "long" },
		      { 'S', "short" }, { 'Z', "boolean" }, { 'V', "void" } };
	size_t arrays = 0;
	bool found = false;

	for (; *java->at == '['; java->at++)
		arrays++;
	if (*java->at == 'L') {
		java->at++;
		put_java_text(java, "class ");
		found = put_class(java);
	} else {
		for (size_t i = 0; i < PERCH__NR(types) && !found; i++) {
			found = *java->at == types[i].letter &&
				(*java->at != 'V' || (may_be_void && !arrays));
			if (found)
				put_java_text(java, types[i].name);
		}
		java->at += found;
	}
	while (found && arrays--)
		put_java_text(java, "[]");
	return found;
}

static bool put_java(struct java *java)
{
	char *end;

	java->at++;
	put_java_text(java, "class ");
	if (!put_class(java) || *java->at == '(')
		return false;
	*java->to++ = '.';
	for (; *java->at && *java->at != '('; java->at++) {
		if (strchr(";/[). ", *java->at))
			return false;
		*java->to++ = *java->at;
	}
	if (*java->at++ != '(')
		return false;
	put_java_text(java, "(");
	for (bool first = true; *java->at != ')'; first = false) {
		put_java_text(java, first ? "" : ", ");
		if (!put_type(java, false))
			return false;
	}
	java->at++;
	put_java_text(java, ")");
	end = java->to; /* without the type of the result, as in perf */
	if (!put_type(java, true) || *java->at)
		return false;
	*end = '\0';
	return true;
}

static char *demangle_java(const char *name)
{
	/* a letter becomes at most ", boolean", "L;" ", class " */
	char *plain = name[0] == 'L' && strchr(name, ';') && strchr(name, ')')
			      ? perch__malloc(9 * strlen(name) + 16)
			      : NULL;
	struct java java = { .at = name, .to = plain };

	if (plain && put_java(&java))
		return plain;
	free(plain);
	return NULL;
}

/* ---- D ---- */

#define MOST_BYTES (4u << 20) /* of a result */
#define MAX_D	   2048	      /* bytes of a name: the demangler calls itself for types in types */

/*
 * Parts of a name refer to earlier ones by the letter Q, so a short name can have a result of any
 * size: at most 3 times as large for 3 references.
 */
static bool is_bounded(const char *name)
{
	size_t length = strlen(name), size = length, references = 0;

	if (length > MAX_D)
		return false;
	for (const char *at = name; (at = strchr(at, 'Q')); at++)
		if (++references % 3 == 0 && (size *= 3) > MOST_BYTES)
			return false;
	return true;
}

static char *demangle_d(const char *name)
{
	if (strncmp(name, "_D", 2) ||
	    !(isdigit((unsigned char)name[2]) || !strcmp(name, "_Dmain")) || !is_bounded(name))
		return NULL;
	return dlang_demangle(name, 0);
}

char *perch__demangle_language(const char *name)
{
	switch (name[0]) {
	case 'c':
		return demangle_ocaml(name);
	case 'L':
		return demangle_java(name);
	case '_':
		return demangle_d(name);
	default:
		return NULL;
	}
}
