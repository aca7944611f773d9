/* SPDX-License-Identifier: MIT */
/* The text of frames. It is made once for each address, and copied for each sample. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "put.h"
#include "script.h"

#define CHUNK PERCH__OUTPUT_BYTES
#define UNIT  SCRIPT_LINE_UNIT

/* 32 bits have an offset in 8 GiB of text, and the number of a kind of code. */
#define MODE_BITS 3
static const char modes[1u << MODE_BITS] = { '?', 'k', '.', 'H', 'g', 'u' };

enum { SAMPLED, RETURN, SINGLE };

/*
 * perf ends chains that it cannot continue with the address -1. The line has the fields of the
 * other frames, so that scripts which read them need to know nothing of it.
 */
static void make_truncated(struct script_lines *lines)
{
	char *at = put_bytes(lines->truncated, "\tffffffffffffffff", 17);

	if (lines->fields & SCRIPT_SYM)
		at = put_bytes(at, " [stack truncated]", 18);
	if (lines->fields & SCRIPT_DSO)
		at = put_bytes(at, " ([unknown])", 12);
	*at++ = '\n';
	lines->truncated_length = (uint32_t)(at - lines->truncated);
}

struct script_lines *script_lines_new(const struct script *script, uint64_t fields)
{
	struct script_lines *lines = calloc(1, sizeof(*lines));

	if (lines) {
		lines->script = script;
		lines->fields = fields;
		make_truncated(lines);
	}
	return lines;
}

void script_lines_free(struct script_lines *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < lines->nr_chunks; i++)
		free(lines->chunk[i]);
	for (size_t i = 0; i < sizeof(lines->offsets) / sizeof(*lines->offsets); i++)
		free(lines->offsets[i].line);
	free(lines->chunk);
	free(lines->buffer);
	free(lines);
}

const char *script_dso_path(struct script *script, const struct perch_dso *dso)
{
	char path[SCRIPT_MAX_PATH];

	if (dso->index < script->nr_dsos && script->dso[dso->index])
		return script->dso[dso->index];
	if (PERCH__ARRAY_RESERVE_ZEROED(script->dso, script->nr_dsos, (size_t)dso->index + 1))
		return NULL;
	if (perch_dso_is(dso, PERCH_DSO_IS_FILE) || perch_dso_is(dso, PERCH_DSO_IS_GENERATED))
		perch_clean_text(dso->path, path, sizeof(path));
	else if (dso->kernel_image && dso->length)
		perch_clean_text(dso->kernel_image, path, sizeof(path));
	else
		snprintf(path, sizeof(path), "%s", perch_symbols_dso_name(script->symbols, dso));
	script->dso[dso->index] = strdup(path);
	return script->dso[dso->index];
}

struct perch_address script_named(const struct script *script, const struct perch_address *address,
				  bool is_return)
{
	struct perch_address named = *address;

	if (is_return)
		named.symbol = perch_symbols_caller(script->symbols, address->dso, address->offset,
						    address->symbol);
	return named;
}

/* ---- the memory of lines ---- */

/*
 * Copies the lines of an address into a chunk, and returns their offset, or 0 if out of memory.
 * Lines that are printed together are mostly close to each other in memory.
 */
static uint32_t store_line(struct script_lines *lines, const struct script_line *line,
			   const char *text)
{
	size_t size = (offsetof(struct script_line, text) + line->length + UNIT - 1) / UNIT * UNIT;
	struct script_line *copy;
	size_t offset;

	if (!lines->nr_chunks || lines->chunk_used + size > CHUNK) {
		if ((lines->nr_chunks + 1) * (uint64_t)(CHUNK / UNIT) > UINT32_MAX >> MODE_BITS ||
		    PERCH__ARRAY_RESERVE(lines->chunk, lines->chunks_capacity,
					 lines->nr_chunks + 1))
			return 0;
		lines->chunk[lines->nr_chunks] = malloc(CHUNK);
		if (!lines->chunk[lines->nr_chunks])
			return 0;
		/* no line is at offset 0 */
		lines->chunk_used = lines->nr_chunks++ ? 0 : UNIT;
	}
	copy = (struct script_line *)(lines->chunk[lines->nr_chunks - 1] + lines->chunk_used);
	*copy = *line;
	memcpy(copy->text, text, line->length);
	offset = (lines->nr_chunks - 1) * (CHUNK / UNIT) + lines->chunk_used / UNIT;
	lines->chunk_used += size;
	return (uint32_t)offset;
}

/* The lines at an offset of lines->offsets. */
static inline const struct script_line *line_at(const struct script_lines *lines, uint32_t word)
{
	uint32_t offset = word >> MODE_BITS;

	return (const struct script_line *)(lines->chunk[offset / (CHUNK / UNIT)] +
					    (size_t)(offset % (CHUNK / UNIT)) * UNIT);
}

static inline char mode_of(uint32_t word)
{
	return modes[word & ((1u << MODE_BITS) - 1)];
}

static uint32_t with_mode(uint32_t offset, char cpumode_char)
{
	const char *mode = memchr(modes, cpumode_char, sizeof(modes));

	return offset << MODE_BITS | (mode ? (uint32_t)(mode - modes) : 0);
}

/* Returns the offset of the lines of an address, with its mode, or 0 if they are not made. */
static inline uint32_t find_line(const struct script_lines *lines, uint32_t number, int kind)
{
	const struct script_offsets *offsets = &lines->offsets[kind];

	return number < offsets->nr ? offsets->line[number] : 0;
}

static int set_line(struct script_lines *lines, uint32_t number, int kind, uint32_t offset)
{
	struct script_offsets *offsets = &lines->offsets[kind];

	if (PERCH__ARRAY_RESERVE_ZEROED(offsets->line, offsets->nr, (size_t)number + 1))
		return -ENOMEM;
	offsets->line[number] = offset;
	return 0;
}

/* ---- the text of a frame ---- */

static struct script *script_of(const struct script_lines *lines)
{
	return (struct script *)(uintptr_t)lines->script;
}

static bool is_object_file(const struct perch_dso *dso)
{
	return perch_dso_is(dso, PERCH_DSO_IS_FILE) && dso->path[0] == '/' && dso->path[1] != '/';
}

/* Writes " (path)" or " (path+0xoff)". Returns the end, or NULL if out of memory. */
static char *put_dso(const struct script_lines *lines, char *at,
		     const struct perch_address *address)
{
	const char *path = script_dso_path(script_of(lines), address->dso);

	if (!path)
		return NULL;
	at = put_text(put_bytes(at, " (", 2), path);
	if (lines->fields & SCRIPT_DSOFF && is_object_file(address->dso))
		at = put_address(put_bytes(at, "+", 1), address->offset);
	*at++ = ')';
	return at;
}

static char *put_name(const struct script_lines *lines, char *at, const char *name,
		      const struct perch_address *address)
{
	*at++ = ' ';
	at = put_bytes(at, name, strnlen(name, SCRIPT_MAX_NAME));
	if (lines->fields & SCRIPT_SYMOFF && address->symbol)
		at = put_address(put_bytes(at, "+", 1), address->offset - address->symbol->start);
	return at;
}

/* Writes "\n  file:line". Without a line, perf has the file of the code and its address. */
static char *put_source(const struct script_lines *lines, char *at,
			const struct perch_address *address, const struct perch_symbol_frame *frame)
{
	const char *file = frame && frame->line ? frame->file : NULL;
	const char *slash = file ? strrchr(file, '/') : NULL;

	if (file) {
		at = put_bytes(at, "\n  ", 3);
		file = slash && !lines->script->full_path ? slash + 1 : file;
		at = put_bytes(at, file, strnlen(file, SCRIPT_MAX_PATH));
		return put_number(put_bytes(at, ":", 1), frame->line, 1, 0);
	}
	if (!perch_dso_is(address->dso, PERCH_DSO_IS_MAPPED) ||
	    perch_dso_is(address->dso, PERCH_DSO_IS_MEMORY))
		return at;
	file = script_dso_path(script_of(lines), address->dso);
	if (!file)
		return NULL;
	slash = strrchr(file, '/');
	at = put_text(put_bytes(at, "\n  ", 3), slash ? slash + 1 : file);
	at = put_hex(put_bytes(at, "[", 1), address->offset, 0);
	return put_bytes(at, "]", 1);
}

/* Writes what follows the address. Returns the end, or NULL if out of memory. */
static char *put_function(const struct script_lines *lines, char *at,
			  const struct perch_address *address,
			  const struct perch_symbol_frame *frame)
{
	struct perch_symbols *symbols = lines->script->symbols;

	if (lines->fields & SCRIPT_SYM)
		at = put_name(lines, at,
			      address->symbol ? perch_symbols_name(symbols, address->symbol)
					      : "[unknown]",
			      address);
	if (lines->fields & SCRIPT_DSO)
		at = put_dso(lines, at, address);
	if (at && lines->fields & SCRIPT_SRCLINE)
		at = put_source(lines, at, address, frame);
	return at;
}

static char *put_ip(char *at, const struct perch_address *address)
{
	*at++ = '\t';
	return put_hex(at, address->offset, 16);
}

bool script_stops_at(const struct script *script, const struct perch_symbol *symbol)
{
	const char *list = script->stop_at, *name;
	size_t length;

	if (!list || !symbol)
		return false;
	name = perch_symbols_name(script->symbols, symbol);
	length = strlen(name);
	for (; *list;
	     list += list[strcspn(list, ",")] ? strcspn(list, ",") + 1 : strcspn(list, ","))
		if (strcspn(list, ",") == length && !strncmp(list, name, length))
			return true;
	return false;
}

/* Writes the lines of the functions that are inlined at an address, as perf does. */
static char *put_inlined(struct script_lines *lines, char *at, const struct perch_address *address,
			 const struct perch_symbol_frame *frame, int nr, bool *stop)
{
	for (int i = 0; i < nr && at && !*stop; i++) {
		const char *name = frame[i].symbol ? perch_symbols_name(lines->script->symbols,
									frame[i].symbol)
						   : "[unknown]";

		if (at + 2 * SCRIPT_MAX_LINE > lines->buffer + CHUNK)
			break;
		at = put_ip(at, address);
		if (lines->fields & SCRIPT_SYM)
			at = put_name(lines, at, name, address);
		if (lines->fields & SCRIPT_SRCLINE)
			at = put_source(lines, at, address, &frame[i]);
		if (at)
			at = put_bytes(at, " (inlined)\n", 11);
		*stop = script_stops_at(lines->script, frame[i].symbol);
	}
	return at;
}

/*
 * Finds the functions at an address, and at a return address those of the call: what the address
 * after the call is part of may be another function. Returns their number, 0 if they are not
 * needed, or -ENOMEM.
 */
static int find_frames(const struct script_lines *lines, const struct perch_address *address,
		       int kind, const struct perch_symbol_frame **frame)
{
	bool inlined = kind != SINGLE && !lines->script->no_inline;
	bool call = kind == RETURN && address->offset;

	if ((!inlined && !(lines->fields & SCRIPT_SRCLINE)) ||
	    !perch_symbols_has_debug_info(lines->script->symbols, address->dso))
		return 0;
	return perch_symbols_frames(lines->script->symbols, address->dso, address->offset - call,
				    frame);
}

/* As a return address, it may be after a call that is the end of another function. */
static bool is_first(const struct perch_address *address)
{
	return !address->symbol || address->offset == address->symbol->start;
}

/* Makes the lines of an address. Returns their offset with the mode, or 0 if out of memory. */
static uint32_t make_line(struct script_lines *lines, uint32_t number, int kind)
{
	const struct perch_address *found = perch_session_address(lines->script->session, number);
	const struct perch_address named = script_named(lines->script, found, kind == RETURN);
	const struct perch_address *address = &named;
	const struct perch_symbol_frame *frame = NULL;
	int nr = find_frames(lines, address, kind, &frame);
	bool inlined = kind != SINGLE && !lines->script->no_inline && nr > 0 &&
		       frame[nr - 1].symbol == address->symbol;
	struct script_line line = { .stop = false };
	uint32_t offset;
	char *end;

	if (!lines->buffer)
		lines->buffer = malloc(CHUNK);
	end = lines->buffer;
	if (!end || nr < 0)
		return 0;
	if (inlined)
		end = put_inlined(lines, end, address, frame, nr - 1, &line.stop);
	if (end && !line.stop) {
		if (kind != SINGLE)
			end = put_ip(end, address);
		/* the line of the address, or of the call that is inlined */
		end = put_function(lines, end, address, inlined ? &frame[nr - 1] : frame);
		if (end && kind != SINGLE)
			*end++ = '\n';
		line.stop = script_stops_at(lines->script, address->symbol);
	}
	if (!end)
		return 0;
	line.length = (uint32_t)(end - lines->buffer);
	offset = store_line(lines, &line, lines->buffer);
	if (!offset)
		return 0;
	offset = with_mode(offset, address->cpumode_char);
	if (set_line(lines, number, kind, offset) ||
	    /* without inlined functions, most return addresses have the same lines */
	    (!nr && kind != SINGLE && !is_first(found) &&
	     set_line(lines, number, SAMPLED + RETURN - kind, offset)))
		return 0;
	return offset;
}

const struct script_line *script_lines_chain(struct script_lines *lines, uint32_t number,
					     char *cpumode_char)
{
	char called = *cpumode_char;
	uint32_t offset = find_line(lines, number, called ? RETURN : SAMPLED);

	/* the address itself is seldom in the CPU's cache */
	if (!offset || (called && mode_of(offset) != called)) {
		int kind = perch_session_address(lines->script->session, number)->cpumode_char ==
					   called
				   ? RETURN
				   : SAMPLED;

		offset = find_line(lines, number, kind);
		if (!offset)
			offset = make_line(lines, number, kind);
	}
	*cpumode_char = mode_of(offset);
	return offset ? line_at(lines, offset) : NULL;
}

const struct script_line *script_lines_single(struct script_lines *lines, uint32_t number)
{
	uint32_t offset = find_line(lines, number, SINGLE);

	if (!offset)
		offset = make_line(lines, number, SINGLE);
	return offset ? line_at(lines, offset) : NULL;
}

void script_lines_prefetch_offsets(const struct script_lines *lines, const uint32_t *chain,
				   size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct script_offsets *offsets = &lines->offsets[i ? RETURN : SAMPLED];

		if (chain[i] < offsets->nr)
			__builtin_prefetch(&offsets->line[chain[i]]);
	}
}

int script_put_chain(const struct script *script, const struct script_event *event,
		     const struct perch_session_sample *sample)
{
	size_t nr = sample->nr;
	char called = 0;

	if (script->max_stack && nr > script->max_stack)
		nr = (size_t)script->max_stack;
	perch__output_bytes(event->out, "\n", 1);
	for (size_t i = 0; i < nr; i++) {
		const struct script_line *line =
			script_lines_chain(event->lines, sample->chain[i], &called);

		if (!line)
			return -ENOMEM;
		called = script_called(event->has_calls, called);
		perch__output_bytes(event->out, line->text, line->length);
		if (line->stop)
			break;
		if (sample->truncated && i + 1 == sample->nr)
			perch__output_bytes(event->out, event->lines->truncated,
					    event->lines->truncated_length);
	}
	return 0;
}
