/* SPDX-License-Identifier: MIT */
/* Finds the sites of probes by debug information (perch/function.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <perch/variables.h>

#include "base/function_name.h"
#include "base/memory.h"
#include "base/no_memory.h"
#include "internal.h"

/* ---- functions by name ---- */

struct name_search {
	struct perch_symbols *symbols;
	const char *name;
	struct perch_probe_site *site;
	size_t nr, most; /* nr may be more */
	bool clones;	 /* functions are clones of that of the name */
};

/*
 * Returns 1 for a clone that is called in place of the function, as "f.constprop.0", 0 for others,
 * or -ENOMEM. "f.part.0" is the end of a function of which the rest is inlined.
 */
static int is_clone(const struct perch_symbol *symbol, const char *demangled, const char *name)
{
	const char *suffix = strchr(symbol->name, '.'), *end = strstr(demangled, " [clone ");
	char *original;
	int is;

	if (!suffix || perch__is_moved_part(suffix) || strstr(suffix, ".part."))
		return 0;
	original = end ? strndup(demangled, (size_t)(end - demangled))
		       : strndup(symbol->name, (size_t)(suffix - symbol->name));
	is = original ? perch__is_function_name(original, name) : -ENOMEM;
	free(original);
	return is;
}

static void add_site(struct name_search *search, uint64_t offset, bool inlined)
{
	for (size_t i = 0; i < search->nr && i < search->most; i++)
		if (search->site[i].offset == offset)
			return;
	if (search->nr < search->most)
		search->site[search->nr] =
			(struct perch_probe_site){ .offset = offset, .inlined = inlined };
	search->nr++;
}

static int visit_symbol(void *context, const struct perch_symbol *symbol)
{
	struct name_search *search = context;
	const char *demangled = *symbol->name == '_' ? perch_symbols_name(search->symbols, symbol)
						     : symbol->name;

	int found;

	if (search->clones)
		found = is_clone(symbol, demangled, search->name);
	else
		found = !strcmp(symbol->name, search->name) ||
			perch__is_function_name(demangled, search->name);
	if (found > 0)
		add_site(search, symbol->start, search->clones);
	return found < 0 ? found : 0;
}

static int visit_inlined(void *context, const char *name, uint64_t offset)
{
	struct name_search *search = context;
	char *demangled = *name == '_' ? perch_demangle(name) : NULL;

	if (!strcmp(name, search->name) ||
	    (demangled && perch__is_function_name(demangled, search->name)))
		add_site(search, offset, true);
	free(demangled);
	return 0;
}

/* Returns why functions may be missing; NULL if nothing is known to be. */
static const char *missing_debug(const struct perch_symbols *symbols, const struct perch_dso *dso)
{
	uint64_t addresses;

	return perch_symbols_debug_error(symbols, dso, &addresses);
}

/* One function; or where it is inlined, and its clones. Returns the number of sites. */
static int find_function(struct perch_symbols *symbols, const struct perch_dso *dso,
			 const char *name, struct perch_probe_site *site, size_t most,
			 struct perch_error *err)
{
	struct name_search search = { symbols, name, site, 0, most, false };
	int rc = perch_symbols_list(symbols, dso, visit_symbol, &search, err);

	if (!rc && search.nr > 1)
		return perch_error_set(err, ENOTUNIQ, PERCH_ERROR_UNKNOWN_EVENT,
				       "'%s' has several functions '%s'", dso->path, name);
	if (rc || search.nr)
		return rc ? rc : 1;
	rc = perch_symbols_inlined(symbols, dso, visit_inlined, &search, err);
	if (rc && rc != -ENOENT) /* there is no debug information */
		return rc;
	search.clones = true;
	rc = search.nr ? perch_symbols_list(symbols, dso, visit_symbol, &search, err) : 0;
	if (rc)
		return rc == -ENOMEM ? PERCH__NO_MEMORY(err, "for names of functions") : rc;
	if (search.nr > most)
		return perch_error_set(err, E2BIG, PERCH_ERROR_USAGE,
				       "'%s' is inlined at %zu places; a probe may have %zu", name,
				       search.nr, most);
	if (search.nr)
		return (int)search.nr;
	perch_error_set(err, ENOENT, PERCH_ERROR_UNKNOWN_EVENT, "there is no function '%s' in '%s'",
			name, dso->path);
	if (missing_debug(symbols, dso))
		perch_error_remedy(err, "its debug information is incomplete: %s",
				   missing_debug(symbols, dso));
	return -ENOENT;
}

/* A place where a function is inlined may be in a part of the debug information that is missing. */
static int note_missing(struct perch_symbols *symbols, const struct perch_dso *dso,
			struct perch_probe_site *site, struct perch_error *err)
{
	const char *reason = site->inlined ? missing_debug(symbols, dso) : NULL;
	char *text;

	if (!reason)
		return 0;
	if (perch__asprintf(&text, "%s%sother places of the function: %s",
			    site->unread ? site->unread : "", site->unread ? ", " : "", reason) < 0)
		return PERCH__NO_MEMORY(err, "for the sites of a probe");
	free(site->unread);
	site->unread = text;
	return 0;
}

/* ---- arguments ---- */

/* Reads the arguments at a site, or after the prologue if they are not there before. */
static int find_arguments(struct function_site *site, const char *text,
			  struct perch_probe_site *result, struct perch_error *err)
{
	const struct perch_symbol *symbol;
	uint64_t after;
	bool late;
	int rc =
		perch__probe_arguments(site, text, &result->arguments, &result->unread, &late, err);

	if (rc || !late || site->returns)
		return rc;
	symbol = perch_symbols_find(site->symbols, site->dso, site->offset);
	if (!symbol || symbol->start != site->offset ||
	    perch_symbols_after_prologue(site->symbols, site->dso, site->offset, &after, NULL))
		return 0;
	free(result->arguments);
	free(result->unread);
	result->offset = site->offset = after;
	return perch__probe_arguments(site, text, &result->arguments, &result->unread, &late, err);
}

/* ---- lines ---- */

enum { MAX_FRAMES_OF_LINE = 16 };

/* The code of a line in one function: the calls that are inlined around it distinguish copies. */
struct line_site {
	uint64_t offset;   /* of its first instruction */
	uint64_t function; /* where that begins */
	uint32_t call[MAX_FRAMES_OF_LINE];
};

struct line_sites {
	struct perch_symbols *symbols;
	const struct perch_dso *dso;
	struct line_site *site;
	size_t nr, most;
};

static bool is_same_copy(const struct line_site *a, const struct line_site *b)
{
	return a->function == b->function && !memcmp(a->call, b->call, sizeof(a->call));
}

static int add_line_site(void *context, uint64_t offset)
{
	struct line_sites *sites = context;
	struct line_site site = { .offset = offset };
	const struct perch_symbol *symbol = perch_symbols_find(sites->symbols, sites->dso, offset);
	const struct perch_symbol_frame *frame;
	int nr = perch_symbols_frames(sites->symbols, sites->dso, offset, &frame);

	site.function = symbol ? symbol->start : offset;
	for (int i = 1; i < nr && i <= MAX_FRAMES_OF_LINE; i++)
		site.call[i - 1] = frame[i].line;
	for (size_t i = 0; i < sites->nr; i++) {
		if (!is_same_copy(&sites->site[i], &site))
			continue;
		if (offset < sites->site[i].offset)
			sites->site[i].offset = offset;
		return 0;
	}
	if (sites->nr == sites->most)
		return -E2BIG;
	sites->site[sites->nr++] = site;
	return 0;
}

/* Sets the offsets of the sites. Returns their number. */
static int find_line(struct perch_symbols *symbols, const struct perch_dso *dso,
		     const struct perch_probe_request *request, struct perch_probe_site *site,
		     size_t most, struct perch_error *err)
{
	struct line_sites sites = { symbols, dso, calloc(most, sizeof(*sites.site)), 0, most };
	uint32_t next;
	int rc;

	if (!sites.site)
		return PERCH__NO_MEMORY(err, "for the sites of a line");
	rc = perch_symbols_line(symbols, dso, request->source, request->line, add_line_site, &sites,
				&next, err);
	if (rc == -E2BIG)
		perch_error_set(err, E2BIG, PERCH_ERROR_USAGE,
				"the line is in more than %zu functions", most);
	if (!rc && !sites.nr) {
		rc = perch_error_set(err, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
				     "line %u of '%s' has no code", request->line, request->source);
		if (next)
			perch_error_remedy(err, "the next line that has code is %u", next);
	}
	for (size_t i = 0; i < sites.nr && !rc; i++)
		site[i] = (struct perch_probe_site){ .offset = sites.site[i].offset };
	for (size_t i = 0; i < sites.nr && !rc && request->returns; i++)
		if (sites.site[i].offset != sites.site[i].function)
			rc = perch_error_set(err, EINVAL, PERCH_ERROR_CONFLICT,
					     "no function begins at line %u of '%s': it has no "
					     "return",
					     request->line, request->source);
	free(sites.site);
	return rc ? rc : (int)sites.nr;
}

/* ---- all of it ---- */

static void clear_sites(struct perch_probe_site *site, int nr)
{
	for (int i = 0; i < nr; i++) {
		free(site[i].arguments);
		free(site[i].unread);
		site[i].arguments = site[i].unread = NULL;
	}
}

/* Finds the offsets. Returns their number. */
static int find_offsets(struct perch_symbols *symbols, const struct perch_dso *dso,
			const struct perch_probe_request *request, struct perch_probe_site *site,
			size_t most, struct perch_error *err)
{
	if (request->source)
		return find_line(symbols, dso, request, site, most, err);
	if (request->function)
		return find_function(symbols, dso, request->function, site, most, err);
	site[0] = (struct perch_probe_site){ .offset = request->offset };
	return 1;
}

int perch_find_probe(const struct perch_probe_request *request, struct perch_probe_site *site,
		     size_t most, struct perch_error *err)
{
	const struct perch_dso dso = { .kind = PERCH_DSO_FILE, .path = request->path };
	struct perch_symbols *symbols;
	int nr, rc = most ? perch_symbols_new(&symbols, NULL, err) : -EINVAL;

	if (rc)
		return rc;
	nr = find_offsets(symbols, &dso, request, site, most, err);
	for (int i = 0; i < nr && request->arguments && !rc; i++) {
		struct function_site at = { symbols, &dso, site[i].offset, request->returns };

		rc = find_arguments(&at, request->arguments, &site[i], err);
	}
	if (nr > 0 && !rc)
		rc = note_missing(symbols, &dso, &site[0], err);
	if (rc)
		clear_sites(site, nr);
	perch_symbols_free(symbols);
	return rc ? rc : nr;
}
