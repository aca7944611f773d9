/* SPDX-License-Identifier: MIT */
/*
 * Names are found file by file, and what was read for one is freed before the next is read if it is
 * much: so the memory that this takes is that of the largest file, and not of all of them. If it is
 * not enough for a file, the rest of its functions have the name of the file.
 */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "base/no_memory.h"
#include "memory.h"

#define MOST_LINES  64	       /* functions at an address */
#define MOST_GROWTH (6u << 20) /* bytes, until what was read is freed */
#define NAME_BYTES  4096

struct text {
	uint64_t hash;
	char *text;
};

struct address {
	const struct agent_address *address; /* NULL: not in the rows */
	uint32_t number;
	uint32_t first, nr; /* functions */
};

struct agent_names {
	const struct agent_window *window;
	const struct agent_source *source;
	struct address *address; /* by number */
	size_t nr_addresses;
	struct agent_function *function;
	size_t nr_functions, function_capacity;
	struct text *text;
	size_t nr_texts, text_capacity;
	struct perch__hash_table texts;
	struct perch_symbols *symbols;
	const struct perch_session *session; /* whose DSOs the symbols are of */
	uint64_t memory;		     /* of this process before they were read */
	const struct perch_dso *unread;	     /* a file that needs too much memory; NULL: none */
	bool no_functions;		     /* all files have only their own names */
	struct agent_unnamed unnamed;
};

/* ---- texts, each once ---- */

static bool is_text(const void *texts, uint32_t index, const void *key)
{
	return !strcmp(((const struct text *)texts)[index].text, key);
}

/* Returns the copy of a text, or NULL if out of memory. */
static const char *keep(struct agent_names *names, const char *text)
{
	uint64_t hash = perch__hash_text(names->texts.seed, text);
	uint32_t index = perch__hash_find(&names->texts, hash, is_text, names->text, text);
	struct text *new;

	if (index != PERCH__HASH_NONE)
		return names->text[index].text;
	new = PERCH__ARRAY_APPEND(names->text, names->nr_texts, names->text_capacity);
	if (!new)
		return NULL;
	new->text = strdup(text);
	if (!new->text || perch__hash_add(&names->texts, hash, names->nr_texts - 1)) {
		free(new->text);
		names->nr_texts--;
		return NULL;
	}
	return new->text;
}

/* ---- functions at an address ---- */

/* Innermost first. Returns their number, at least 1. *single is one of them. */
static int find_frames(struct agent_names *names, const struct agent_address *address,
		       struct perch_symbol_frame *single, const struct perch_symbol_frame **frames)
{
	struct perch_symbols *symbols = names->symbols;
	const struct perch_dso *dso = address->dso;
	int nr;

	*frames = single;
	if (names->no_functions || dso == names->unread)
		return 1;
	nr = perch_symbols_frames_shown(symbols, dso, address->offset,
					perch_symbols_find(symbols, dso, address->offset),
					address->caller ? PERCH_FRAMES_CALLER : 0, single, frames);
	return nr < 0 ? 1 : nr; /* without memory for lines, the function is left */
}

static bool add_function(struct agent_names *names, const char *name,
			 const struct perch_symbol_frame *frame)
{
	struct agent_function *function =
		PERCH__ARRAY_APPEND(names->function, names->nr_functions, names->function_capacity);

	if (!function)
		return false;
	function->name = keep(names, name);
	function->line = frame->line;
	if (frame->symbol)
		function->system_name = keep(names, frame->symbol->name);
	if (frame->file)
		function->file = keep(names, frame->file);
	return function->name && (!frame->symbol || function->system_name) &&
	       (!frame->file || function->file);
}

static bool add_address(struct agent_names *names, struct address *to)
{
	const struct perch_dso *dso = to->address->dso;
	struct perch_symbol_frame single = { 0 };
	const struct perch_symbol_frame *frames = &single;
	char buffer[NAME_BYTES];
	int nr = dso ? find_frames(names, to->address, &single, &frames) : 1;

	to->first = (uint32_t)names->nr_functions;
	for (int i = 0; i < nr && i < MOST_LINES; i++) {
		const char *name =
			dso ? perch_symbols_name_shown(names->symbols, dso, to->address->mode,
						       frames[i].symbol, buffer, sizeof(buffer))
			    : "[truncated]";

		/* processes have it in common, so that engines add their samples up */
		if (!frames[i].symbol && dso && perch_dso_is(dso, PERCH_DSO_IS_MEMORY) &&
		    !strncmp(name, "[JIT] ", 6))
			name = "[JIT]";
		if (!add_function(names, name, &frames[i]))
			return false;
		names->function[names->nr_functions - 1].inlined = i + 1 < nr;
		to->nr++;
	}
	return true;
}

/* ---- file by file ---- */

static void close_symbols(struct agent_names *names)
{
	perch_symbols_free(names->symbols); /* writes its cache */
	names->symbols = NULL;
}

/* Symbols know a DSO by its index, which is another one in another session. */
static int open_symbols(struct agent_names *names, const struct perch_dso *dso,
			struct perch_error *err)
{
	const struct perch_session *session = agent_source_session(names->source, dso);

	if (names->symbols &&
	    (names->session != session || agent_allocated_memory() > names->memory + MOST_GROWTH))
		close_symbols(names);
	if (names->symbols)
		return 0;
	names->session = session;
	names->memory = agent_allocated_memory();
	return agent_source_new_symbols(names->source, &names->symbols, err);
}

static void note_rows(struct agent_names *names, const struct agent_row *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		for (uint32_t stack = rows[i].stack; stack != AGENT_NONE;) {
			uint32_t number = agent_window_address(names->window, stack);
			struct address *address = &names->address[number];

			address->number = number;
			address->address = agent_window_frame(names->window, stack, &stack);
		}
	}
}

static int compare_addresses(const void *a, const void *b)
{
	const struct agent_address *first = (*(struct address *const *)a)->address,
				   *second = (*(struct address *const *)b)->address;
	uintptr_t dso = (uintptr_t)first->dso, other = (uintptr_t)second->dso;

	if (dso != other)
		return dso < other ? -1 : 1;
	return (first->offset > second->offset) - (first->offset < second->offset);
}

static int name_address(struct agent_names *names, struct address *to, struct perch_error *err)
{
	int rc;

	if (add_address(names, to))
		return 0;
	/* what was read of the file is freed, so there is memory for the name of the file */
	names->nr_functions = to->first;
	to->nr = 0;
	names->unread = to->address->dso;
	close_symbols(names);
	rc = open_symbols(names, names->unread, err);
	if (rc >= 0 && !add_address(names, to))
		rc = PERCH__NO_MEMORY(err, "for names");
	return rc;
}

/* The names of a file are complete. */
static void count_unnamed(struct agent_names *names, const struct perch_dso *dso)
{
	enum agent_unnamed_reason reason = AGENT_UNNAMED_OTHER;

	if (!dso || !names->symbols || !perch_dso_is(dso, PERCH_DSO_IS_FILE))
		return;
	if (names->no_functions || dso == names->unread) {
		names->unnamed.files[AGENT_UNNAMED_MEMORY]++;
		return;
	}
	if (!perch_symbols_error(names->symbols, dso))
		return;
	switch (perch_symbols_error_reason(names->symbols, dso)) {
	case PERCH_SYMBOLS_STRIPPED:
	case PERCH_SYMBOLS_NOT_ON_SERVERS:
		reason = AGENT_UNNAMED_STRIPPED;
		break;
	case PERCH_SYMBOLS_NO_PERMISSION:
		reason = AGENT_UNNAMED_PERMISSION;
		break;
	case PERCH_SYMBOLS_REPLACED:
	case PERCH_SYMBOLS_NOT_MOUNTED:
	case PERCH_SYMBOLS_OTHER_MOUNTS:
	case PERCH_SYMBOLS_OTHER_FILE:
	case PERCH_SYMBOLS_NO_FILE:
	case PERCH_SYMBOLS_NO_FILE_ANY_MORE:
	case PERCH_SYMBOLS_DELETED:
		reason = AGENT_UNNAMED_GONE;
		break;
	default:
		break;
	}
	names->unnamed.files[reason]++;
}

static int name_all(struct agent_names *names, struct address **order, size_t nr,
		    struct perch_error *err)
{
	const struct perch_dso *dso = NULL;
	int rc = 0;

	qsort(order, nr, sizeof(*order), compare_addresses);
	for (size_t i = 0; i < nr && rc >= 0; i++) {
		if (order[i]->address->dso != dso) {
			count_unnamed(names, dso);
			dso = order[i]->address->dso;
			rc = open_symbols(names, dso, err);
		}
		if (rc >= 0)
			rc = name_address(names, order[i], err);
	}
	count_unnamed(names, dso);
	close_symbols(names);
	return rc;
}

int agent_names_new(struct agent_names **result, const struct agent_window *window,
		    const struct agent_source *source, const struct agent_row *rows, size_t nr,
		    bool functions, struct perch_error *err)
{
	struct agent_names *names = calloc(1, sizeof(*names));
	struct address **order = NULL;
	size_t nr_used = 0;
	int rc;

	*result = names;
	if (!names)
		return PERCH__NO_MEMORY(err, "for names");
	names->window = window;
	names->source = source;
	names->no_functions = !functions;
	names->texts.seed = perch__hash_seed(names);
	names->nr_addresses = agent_window_nr_addresses(window);
	names->address = calloc(names->nr_addresses + 1, sizeof(*names->address));
	order = calloc(names->nr_addresses + 1, sizeof(*order));
	if (!names->address || !order) {
		free(order);
		return PERCH__NO_MEMORY(err, "for names");
	}
	note_rows(names, rows, nr);
	for (size_t i = 0; i < names->nr_addresses; i++)
		if (names->address[i].address)
			order[nr_used++] = &names->address[i];
	rc = name_all(names, order, nr_used, err);
	free(order);
	return rc;
}

void agent_names_unnamed(const struct agent_names *names, struct agent_unnamed *unnamed)
{
	*unnamed = names->unnamed;
}

void agent_names_free(struct agent_names *names)
{
	if (!names)
		return;
	close_symbols(names);
	for (size_t i = 0; i < names->nr_texts; i++)
		free(names->text[i].text);
	free(names->text);
	perch__hash_clear(&names->texts);
	free(names->function);
	free(names->address);
	free(names);
}

const struct agent_function *agent_names_at(const struct agent_names *names, uint32_t address,
					    size_t *nr)
{
	*nr = names->address[address].nr;
	return &names->function[names->address[address].first];
}
