/* SPDX-License-Identifier: MIT */
/*
 * Makes names of functions with the scopes around them, as a demangler writes them. An entry does
 * not say what it is inside of. So the scopes of a unit are listed from the outermost one to the
 * one with the function, each when it is first needed.
 *
 * Debug information is not trusted: depth, lengths and numbers are limited. Beyond the limits a
 * function has the name of its entry alone.
 */
#define _GNU_SOURCE /* asprintf */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "base/search.h"
#include "scopes.h"

enum {
	MAX_SCOPES = 1 << 20,	/* of a unit */
	MAX_DEPTH = 64,		/* scopes around a function */
	MAX_DECLARATIONS = 16,	/* entries that are declarations, one of the other */
	LONGEST_NAME = 1 << 14, /* of a scope, and of what is inside of it */
	MAX_BYTES = 1 << 28,	/* of all names that are made */
};

struct scope_name {
	uint64_t entry;
	const char *name;
	char *made; /* the memory of name; NULL: the name is in the debug information */
};

/* ---- the scopes of a unit ---- */

bool perch__is_scope(unsigned tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return true;
	default:
		return false;
	}
}

int perch__scopes_add(struct scopes *scopes, uint64_t start, uint64_t end)
{
	struct scope *scope =
		PERCH__ARRAY_APPEND_MAX(scopes->scope, scopes->nr, scopes->capacity, MAX_SCOPES);

	if (!scope)
		return scopes->nr < MAX_SCOPES ? -ENOMEM : -ENOTSUP;
	*scope = (struct scope){ .start = start, .end = end };
	return 0;
}

static int list_inside(const struct scope_names *names, void *unit, struct scopes *scopes,
		       uint32_t index)
{
	const struct scope around = scopes->scope[index];
	size_t first = scopes->nr;
	int rc = names->reader->list(names->context, unit, scopes, around.start, around.end);

	if (rc) {
		scopes->nr = first;
		return rc;
	}
	scopes->scope[index].first = (uint32_t)first;
	scopes->scope[index].nr = (uint32_t)(scopes->nr - first);
	scopes->scope[index].is_listed = true;
	return 0;
}

/* Returns the scope directly inside of another one that has an entry; 0: there is none. */
static uint32_t find_inside(const struct scopes *scopes, uint32_t index, uint64_t at)
{
	const struct scope *around = &scopes->scope[index];
	const struct scope *inside = scopes->scope + around->first;
	size_t nr = PERCH__SEARCH(around->nr, i, inside[i].start <= at);

	return nr && at < inside[nr - 1].end ? around->first + (uint32_t)nr - 1 : 0;
}

/* Finds the scopes around an entry, outermost first. Returns their number or a negative errno. */
static int find_around(const struct scope_names *names, struct scope_key key,
		       uint64_t around[MAX_DEPTH])
{
	struct scopes *scopes;
	uint32_t index = 0;
	int rc = names->reader->scopes(names->context, key.unit, &scopes);

	for (int nr = 0; !rc; nr++) {
		if (!scopes->scope[index].is_listed)
			rc = list_inside(names, key.unit, scopes, index);
		if (rc)
			break;
		index = find_inside(scopes, index, key.at);
		if (!index || scopes->scope[index].start == key.at)
			return nr;
		if (nr == MAX_DEPTH)
			return -E2BIG;
		around[nr] = scopes->scope[index].start;
	}
	return rc;
}

/* ---- names ---- */

static bool is_cplusplus(unsigned language)
{
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_ObjC_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* C++17, C++20: elfutils 0.188 has no names of them */
	case 0x2c:
		return true;
	default:
		return false;
	}
}

/*
 * Decodes an entry. If it completes a declaration, *key becomes that. *entry has the first name and
 * the linkage name. Returns 0 or a negative errno.
 */
static int resolve_entry(const struct scope_names *names, struct scope_key *key,
			 struct scope_entry *entry)
{
	const char *name = NULL;

	for (int i = 0; i < MAX_DECLARATIONS; i++) {
		int rc = names->reader->describe(names->context, *key, entry);

		if (rc)
			return rc;
		name = name ? name : entry->name;
		entry->name = name;
		if (entry->linkage_name || !entry->declaration.unit)
			return 0;
		*key = entry->declaration;
	}
	return -E2BIG;
}

/* GCC gives the functions of lambdas these names, and operator() a parameter. */
static bool is_of_lambda(const struct scope_names *names, const struct scope_entry *function)
{
	struct scope_entry object;

	if (!function->name)
		return false;
	if (!strcmp(function->name, "_FUN") || strstr(function->name, "<lambda"))
		return true;
	return !strncmp(function->name, "operator()", 10) && function->object.unit &&
	       !names->reader->describe(names->context, function->object, &object) && object.name &&
	       !strcmp(object.name, "__closure");
}

static const char *kind_of(unsigned tag)
{
	return tag == DW_TAG_union_type	  ? "unnamed union"
	       : tag == DW_TAG_class_type ? "unnamed class"
					  : "unnamed struct";
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Makes the name of a type that has none: its position. Returns 0 or a negative errno. */
static int name_by_position(const struct scope_names *names, struct scope_key key, const char *kind,
			    char **text)
{
	struct scope_position position = { 0 };
	int rc = names->reader->position(names->context, key, &position), length;

	if (rc)
		return rc;
	if (!position.file || !position.line)
		length = perch__asprintf(text, "(%s)", kind);
	else if (!position.column)
		length = perch__asprintf(text, "(%s at %s:%" PRIu64 ")", kind,
					 base_name(position.file), position.line);
	else
		length = perch__asprintf(text, "(%s at %s:%" PRIu64 ":%" PRIu64 ")", kind,
					 base_name(position.file), position.line, position.column);
	return length < 0 ? -ENOMEM : 0;
}

bool perch__is_function(unsigned tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/*
 * Makes the name of a scope. inside: what is directly inside of it. *is_whole: the name has the
 * scopes around it, too. Returns 0 or a negative errno; -ENOENT: it has no name.
 */
static int name_scope(const struct scope_names *names, struct scope_key key,
		      const struct scope_entry *scope, const struct scope_entry *inside,
		      char **text, bool *is_whole)
{
	bool is_function = perch__is_function(scope->tag);
	const char *name = scope->name;

	*text = NULL;
	*is_whole = scope->linkage_name;
	if (scope->linkage_name) {
		*text = is_function ? perch__demangle(scope->linkage_name)
				    : perch__demangle_type(scope->linkage_name);
		if (*text)
			return 0;
		*is_whole = is_function;
		name = is_function ? scope->linkage_name : name;
	}
	if (is_function && !name)
		return -ENOENT;
	if (!name && scope->tag == DW_TAG_namespace)
		name = "(anonymous namespace)";
	if (!is_function && (!name || !strncmp(name, "<lambda", 7)))
		return name_by_position(
			names, key, is_of_lambda(names, inside) ? "lambda" : kind_of(scope->tag),
			text);
	*text = perch__strdup(name);
	return *text ? 0 : -ENOMEM;
}

/* Puts the name of a scope before a name, and frees it. Returns 0 or a negative errno. */
static int put_before(char **name, char *scope)
{
	char *whole = NULL;
	int rc = 0;

	if (strlen(scope) >= LONGEST_NAME || strlen(*name) >= LONGEST_NAME)
		rc = -E2BIG;
	else if (perch__asprintf(&whole, "%s::%s", scope, *name) < 0)
		rc = -ENOMEM;
	free(scope);
	if (!rc) {
		free(*name);
		*name = whole;
	}
	return rc;
}

/* Puts the names of the scopes around a function before its name. Returns 0 or a negative errno. */
static int add_scopes(const struct scope_names *names, struct scope_key key,
		      struct scope_entry inside, char **name)
{
	uint64_t around[MAX_DEPTH];
	int left = find_around(names, key, around), rc = left < 0 ? left : 0;
	bool is_whole = false;

	for (int nr = 0; !rc && left > 0 && !is_whole; nr++) {
		struct scope_key at = { key.unit, around[--left] };
		struct scope_entry scope;
		char *text;

		if (nr == MAX_DEPTH)
			return -E2BIG;
		rc = names->reader->describe(names->context, at, &scope);
		if (rc || scope.tag == DW_TAG_lexical_block || scope.tag == DW_TAG_try_block ||
		    scope.tag == DW_TAG_catch_block)
			continue;
		if (scope.declaration.unit) { /* what is around the declaration counts */
			unsigned tag = scope.tag;

			rc = resolve_entry(names, &at, &scope);
			scope.tag = tag;
			key = at;
			left = rc ? 0 : find_around(names, key, around);
			rc = left < 0 ? left : rc;
		}
		if (!rc)
			rc = name_scope(names, at, &scope, &inside, &text, &is_whole);
		if (!rc)
			rc = put_before(name, text);
		inside = scope;
	}
	return rc;
}

static int make_name(struct scope_names *names, struct scope_key key, struct scope_name *made)
{
	struct scope_entry function = { 0 };
	void *unit = key.unit;
	unsigned language;
	int rc = resolve_entry(names, &key, &function);

	if (rc && rc != -E2BIG)
		return rc;
	made->name = function.linkage_name ? function.linkage_name : function.name;
	if (rc || function.linkage_name || !function.name)
		return 0;
	language = names->reader->language(names->context, key.unit);
	if (!language) /* a unit of parts that others share */
		language = names->reader->language(names->context, unit);
	if (!is_cplusplus(language) || strlen(function.name) >= LONGEST_NAME ||
	    names->bytes >= MAX_BYTES)
		return 0;
	made->made = perch__strdup(function.name);
	if (!made->made)
		return -ENOMEM;
	rc = add_scopes(names, key, function, &made->made);
	if (rc || !strcmp(made->made, made->name)) {
		free(made->made);
		made->made = NULL;
		return rc == -E2BIG || rc == -ENOENT ? 0 : rc;
	}
	made->name = made->made;
	names->bytes += strlen(made->made);
	return 0;
}

static bool same_entry(const void *items, uint32_t index, const void *key)
{
	return ((const struct scope_name *)items)[index].entry == *(const uint64_t *)key;
}

int perch__scope_name(struct scope_names *names, struct scope_key key, const char **name)
{
	struct scope_name made = { .entry = key.at };
	uint64_t hash;
	uint32_t index;
	int rc;

	if (!names->by_entry.seed)
		names->by_entry.seed = perch__hash_seed(names);
	hash = perch__hash_integer(names->by_entry.seed, key.at);
	index = perch__hash_find(&names->by_entry, hash, same_entry, names->name, &key.at);
	if (index != PERCH__HASH_NONE) {
		*name = names->name[index].name;
		return 0;
	}
	rc = make_name(names, key, &made);
	*name = made.name;
	if (rc)
		return rc;
	if (PERCH__ARRAY_RESERVE(names->name, names->capacity, names->nr + 1) ||
	    perch__hash_reserve(&names->by_entry, names->nr + 1)) {
		free(made.made);
		*name = NULL;
		return -ENOMEM;
	}
	names->name[names->nr] = made;
	perch__hash_add(&names->by_entry, hash, (uint32_t)names->nr++);
	return 0;
}

void perch__scope_names_free(struct scope_names *names)
{
	for (size_t i = 0; i < names->nr; i++)
		free(names->name[i].made);
	free(names->name);
	perch__hash_clear(&names->by_entry);
}
