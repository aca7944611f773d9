/* SPDX-License-Identifier: MIT */
/* Finds the functions of a file that match a glob, by their symbols or demangled names. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/function_name.h"
#include "probe.h"

#define NAMES_MAX (2 << 20) /* names of a file that are compared, to limit the time */

struct glob_search {
	const struct perch_machine *machine;
	struct perch__probe_matches *matches;
	size_t capacity, compared;
	bool returns;
	char glob[2 * PATH_MAX];
};

/*
 * In Go, brackets are around the types of a generic function. "f[...]", as Go prints it, and "f[*]"
 * mean all of them; other brackets are those of a glob.
 */
static void translate(const char *text, char glob[2 * PATH_MAX])
{
	while (*text) {
		const size_t types = !strncmp(text, "[...]", 5) ? 5
				     : !strncmp(text, "[*]", 3) ? 3
								: 0;

		if (types) {
			memcpy(glob, "\\[*\\]", 5);
			glob += 5;
			text += types;
		} else {
			*glob++ = *text++;
		}
	}
	*glob = '\0';
}

static int add_match(struct glob_search *search, const char *name, uint64_t offset)
{
	struct perch__probe_matches *matches = search->matches;
	struct perch__probe_match *match;
	char *copy = strdup(name);

	match = copy ? PERCH__ARRAY_APPEND(matches->match, matches->nr, search->capacity) : NULL;
	if (!match) {
		free(copy);
		return -ENOMEM;
	}
	*match = (struct perch__probe_match){ .name = copy, .offset = offset };
	return 0;
}

/* The version of a symbol is no part of its name. */
static int visit_symbol(void *context, const char *symbol,
			const struct perch__elf_function *function)
{
	struct glob_search *search = context;
	char name[PATH_MAX], *text = NULL;
	const size_t length = strcspn(symbol, "@");
	int rc = 0;

	if (++search->compared > NAMES_MAX)
		return -EFBIG;
	if (function->indirect || length >= sizeof(name) ||
	    (search->returns && perch__is_moved_part(symbol)))
		return 0;
	memcpy(name, symbol, length);
	name[length] = '\0';
	if (*name == '_')
		text = perch_machine_demangle(search->machine, name);
	if ((text && !fnmatch(search->glob, text, 0)) || !fnmatch(search->glob, name, 0))
		rc = add_match(search, text ? text : name, function->offset);
	free(text);
	return rc;
}

static int compare_offsets(const void *left, const void *right)
{
	const struct perch__probe_match *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int compare_names(const void *left, const void *right)
{
	const struct perch__probe_match *a = left, *b = right;
	const int order = strcmp(a->name, b->name);

	return order ? order : compare_offsets(left, right);
}

/* Of several names of one function, the first remains. */
static void sort_matches(struct perch__probe_matches *matches)
{
	size_t nr = 0;

	qsort(matches->match, matches->nr, sizeof(*matches->match), compare_offsets);
	for (size_t i = 0; i < matches->nr; i++)
		if (nr && matches->match[nr - 1].offset == matches->match[i].offset)
			free(matches->match[i].name);
		else
			matches->match[nr++] = matches->match[i];
	matches->nr = nr;
	qsort(matches->match, nr, sizeof(*matches->match), compare_names);
}

int perch__elf_match_functions(const struct perch__elf *elf, const struct perch_machine *machine,
			       const char *glob, bool returns, struct perch__probe_matches *matches)
{
	struct glob_search *search = calloc(1, sizeof(*search));
	int rc;

	*matches = (struct perch__probe_matches){ 0 };
	if (!search)
		return -ENOMEM;
	search->machine = machine;
	search->matches = matches;
	search->returns = returns;
	translate(glob, search->glob);
	rc = perch__elf_visit_functions(elf, visit_symbol, search);
	free(search);
	if (rc)
		perch__clear_matches(matches);
	else if (matches->nr)
		sort_matches(matches);
	return rc ? rc : matches->nr ? 0 : -ENOENT;
}

void perch__clear_matches(struct perch__probe_matches *matches)
{
	for (size_t i = 0; i < matches->nr; i++) {
		free(matches->match[i].name);
		free(matches->match[i].arguments);
		free(matches->match[i].unread);
	}
	free(matches->match);
	*matches = (struct perch__probe_matches){ 0 };
}
