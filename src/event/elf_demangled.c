/* SPDX-License-Identifier: MIT */
/* Finds functions of ELF files by demangled names of C++ and Rust. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/function_name.h"
#include "elf_lookup.h"

enum {
	MAX_MANGLED = 4096,  /* bytes of a name */
	MAX_NAMES = 2 << 20, /* mangled names of a file, to limit the time */
	MAX_TEXT = 256,	     /* longer ones are not listed */
	MAX_LISTED = 8,
};

struct search {
	const struct perch_machine *machine;
	const char *name;
	struct perch__demangled *found;
	size_t nr_names;
	/* of the functions so far, at different offsets */
	struct {
		uint64_t offset;
		char text[MAX_TEXT], mangled[MAX_TEXT];
	} function[MAX_LISTED];
	size_t nr;
};

/* True for the qualifiers of a method: nothing else follows the parameters of a function. A copy
 * that the compiler split off is none: "f(int) [clone .cold]". */
static bool are_qualifiers(const char *text)
{
	static const char *const words[] = { " const", " volatile", " &&", " &" };

	for (size_t i = 0; i < PERCH__NR(words); i++)
		if (!strncmp(text, words[i], strlen(words[i])))
			return are_qualifiers(text + strlen(words[i]));
	return !*text;
}

/* True if the demangled text is the name, or has parameters in addition. */
static bool has_name(const char *text, const char *name)
{
	const char *after = perch__after_name(text, name);

	if (!after || !*after)
		return after;
	after = *after == '(' ? perch__after_parentheses(after) : NULL;
	return after && are_qualifiers(after);
}

static void add(struct search *search, const char *text, const char *mangled, uint64_t offset,
		bool indirect)
{
	struct perch__demangled *found = search->found;

	for (size_t i = 0; i < search->nr; i++)
		if (search->function[i].offset == offset)
			return; /* the constructors of an object often are one function */
	found->ambiguous = search->nr > 0;
	if (!search->nr) {
		found->offset = offset;
		found->indirect = indirect;
	}
	if (search->nr == MAX_LISTED)
		return;
	search->function[search->nr].offset = offset;
	snprintf(search->function[search->nr].text, MAX_TEXT, "%.*s", MAX_TEXT - 1, text);
	snprintf(search->function[search->nr].mangled, MAX_TEXT, "%.*s", MAX_TEXT - 1, mangled);
	search->nr++;
}

static int visit(void *context, const char *name, uint64_t offset, bool indirect)
{
	struct search *search = context;
	const size_t length = strcspn(name, "@");
	char mangled[MAX_MANGLED], *text;

	if (*name != '_' || length >= sizeof(mangled))
		return 0;
	if (++search->nr_names > MAX_NAMES)
		return -EFBIG;
	memcpy(mangled, name, length);
	mangled[length] = '\0';
	text = perch_machine_demangle(search->machine, mangled);
	if (text && has_name(text, search->name))
		add(search, text, mangled, offset, indirect);
	free(text);
	return 0;
}

/* Returns a name that only this function has: the demangled one, or the mangled one; NULL if it has
 * none, as functions of several source files. */
static const char *own_name(const struct search *search, size_t at)
{
	const char *text = search->function[at].text, *mangled = search->function[at].mangled;

	for (size_t i = 0; i < search->nr; i++) {
		if (i != at && text && !strcmp(search->function[i].text, text))
			text = NULL;
		if (i != at && mangled && !strcmp(search->function[i].mangled, mangled))
			mangled = NULL;
	}
	text = text ? text : mangled;
	return text && strlen(text) < MAX_TEXT - 1 ? text : NULL;
}

/* Writes "'f(int)', 'f(char)'". Names that do not fit are left out. */
static void list_names(const struct search *search)
{
	const size_t size = sizeof(search->found->names);
	char *names = search->found->names;
	size_t used = 0;

	for (size_t i = 0; i < search->nr; i++) {
		const char *name = own_name(search, i);
		const int length =
			name ? snprintf(names + used, size - used, "%s'%s'", used ? ", " : "", name)
			     : 0;

		if ((size_t)length < size - used)
			used += (size_t)length;
		names[used] = '\0';
	}
	perch_clean_text(names, names, size);
}

int perch__elf_find_demangled(const struct perch__elf *elf, const struct perch_machine *machine,
			      const char *name, struct perch__demangled *found)
{
	struct search *search = calloc(1, sizeof(*search));
	int rc;

	*found = (struct perch__demangled){ .offset = 0 };
	if (!search)
		return -ENOMEM;
	search->machine = machine;
	search->name = name;
	search->found = found;
	rc = perch__elf_visit_functions(elf, visit, search);
	if (!rc && found->ambiguous)
		list_names(search);
	if (!rc && !search->nr)
		rc = -ENOENT;
	free(search);
	return rc;
}
