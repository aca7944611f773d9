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
	MAX_COMPARED = 400000, /* names that are compared for a suggestion */
};

struct demangled_search {
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

static void add_function(struct demangled_search *search, const char *text, const char *mangled,
			 const struct perch__elf_function *function)
{
	struct perch__demangled *found = search->found;
	const size_t length = strcspn(mangled, "@"); /* without the version */

	if (search->nr && function->offset == found->offset && function->size > found->size)
		found->size = function->size;
	for (size_t i = 0; i < search->nr; i++)
		if (search->function[i].offset == function->offset)
			return; /* the constructors of an object often are one function */
	found->ambiguous = search->nr > 0;
	if (!search->nr) {
		found->offset = function->offset;
		found->size = function->size;
		found->indirect = function->indirect;
	}
	if (search->nr == MAX_LISTED)
		return;
	search->function[search->nr].offset = function->offset;
	snprintf(search->function[search->nr].text, MAX_TEXT, "%.*s", MAX_TEXT - 1, text);
	snprintf(search->function[search->nr].mangled, MAX_TEXT, "%.*s",
		 length < MAX_TEXT ? (int)length : MAX_TEXT - 1, mangled);
	search->nr++;
}

/* Adds a name to the list of clones. Names that do not fit are left out. */
static void add_clone(struct demangled_search *search, const char *mangled)
{
	const size_t size = sizeof(search->found->clones);
	char *clones = search->found->clones;
	const size_t used = strlen(clones);

	if ((size_t)snprintf(clones + used, size - used, "%s%.*s", used ? ", " : "",
			     (int)strcspn(mangled, "@"), mangled) >= size - used)
		clones[used] = '\0';
}

/* Returns the demangled name without its version; NULL if it is not mangled. */
static char *demangle_name(const struct perch_machine *machine, const char *name)
{
	const size_t length = strcspn(name, "@");
	char mangled[MAX_MANGLED];

	if (*name != '_' || length >= sizeof(mangled))
		return NULL;
	memcpy(mangled, name, length);
	mangled[length] = '\0';
	return perch_machine_demangle(machine, mangled);
}

static int visit_mangled(void *context, const char *name,
			 const struct perch__elf_function *function)
{
	struct demangled_search *search = context;
	char *text, *clone;

	if (*name == '_' && ++search->nr_names > MAX_NAMES)
		return -EFBIG;
	text = demangle_name(search->machine, name);
	clone = text ? strstr(text, " [clone ") : NULL;
	if (text && perch__is_function_name(text, search->name)) {
		add_function(search, text, name, function);
	} else if (clone) {
		*clone = '\0';
		if (perch__is_function_name(text, search->name))
			add_clone(search, name);
	}
	free(text);
	return 0;
}

/* Returns a name that only this function has: the demangled one, or the mangled one; NULL if it has
 * none, as functions of several source files. */
static const char *own_name(const struct demangled_search *search, size_t at)
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
static void list_names(const struct demangled_search *search)
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
	struct demangled_search *search = calloc(1, sizeof(*search));
	int rc;

	*found = (struct perch__demangled){ .offset = 0 };
	if (!search)
		return -ENOMEM;
	search->machine = machine;
	search->name = name;
	search->found = found;
	rc = perch__elf_visit_functions(elf, visit_mangled, search);
	if (!rc && found->ambiguous)
		list_names(search);
	if (!rc && !search->nr)
		rc = -ENOENT;
	free(search);
	return rc;
}

struct demangled_suggestions {
	const struct perch_machine *machine;
	struct perch__suggestions *suggestions;
	bool parameters, parts; /* the word has parameters, or a part before "::" */
	size_t nr;
};

/* Returns where the parameters begin: "(int) const"; the end if there are none. */
static char *parameters_of(char *text)
{
	for (char *at = text; (at = strchr(at, '(')); at++) {
		const char *after = perch__after_parentheses(at);

		if (after && perch__are_qualifiers(after))
			return at;
	}
	return text + strlen(text);
}

/* Returns the part after the last "::" that is not in brackets. */
static const char *last_part(const char *text, const char *end)
{
	const char *part = text;
	size_t depth = 0;

	for (const char *at = text; at < end; at++) {
		depth += *at == '<' || *at == '(' || *at == '{';
		depth -= depth && (*at == '>' || *at == ')' || *at == '}');
		if (!depth && at[0] == ':' && at[1] == ':')
			part = at + 2;
	}
	return part;
}

/* Writes the name as an event has it: in quotes, unless the parser knows where it ends. */
static bool write_quoted(char *quoted, size_t size, const char *name)
{
	const char *text = name;

	while (perch__is_word(*text) ||
	       (text[0] == ':' && text[1] == ':' && perch__is_word(text[2])))
		text += *text == ':' ? 2 : 1;
	if (strchr(name, '\''))
		return false;
	return (size_t)snprintf(quoted, size, *text ? "'%s'" : "%s", name) < size;
}

static int suggest_demangled(void *context, const char *name,
			     const struct perch__elf_function *function)
{
	struct demangled_suggestions *suggesting = context;
	char *text = NULL, *parameters, quoted[sizeof(suggesting->suggestions->best[0].name)];

	(void)function;
	if (*name == '_' && suggesting->nr++ < MAX_COMPARED)
		text = demangle_name(suggesting->machine, name);
	/* a copy that the compiler split off is none */
	if (!text || strstr(text, " [clone ")) {
		free(text);
		return 0;
	}
	parameters = parameters_of(text);
	if (!suggesting->parameters)
		*parameters = '\0';
	if (write_quoted(quoted, sizeof(quoted), text))
		perch__suggest_as(suggesting->suggestions,
				  suggesting->parts ? text : last_part(text, parameters), quoted);
	free(text);
	return 0;
}

void perch__elf_suggest_demangled(const struct perch__elf *elf, const struct perch_machine *machine,
				  struct perch__suggestions *suggestions)
{
	struct demangled_suggestions suggesting = {
		.machine = machine,
		.suggestions = suggestions,
		.parameters = strchr(suggestions->word, '(') != NULL,
		.parts = strstr(suggestions->word, "::") != NULL
	};

	perch__elf_visit_functions(elf, suggest_demangled, &suggesting);
}
