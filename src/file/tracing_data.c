/* SPDX-License-Identifier: MIT */
/*
 * TRACING_DATA: the formats of the recorded tracepoints, as trace-cmd writes them (0.5 and 0.6):
 *
 *   17 08 44 "tracing" version\0  endian:u8  sizeof(long):u8  page size:u32
 *   "header_page\0" size:u64 text   "header_event\0" size:u64 text
 *   formats of ftrace:u32, for each: size:u64 text
 *   systems:u32, for each: name\0, formats:u32, for each: size:u64 text
 *
 *   /proc/kallsyms size:u32 text (mostly empty)   printk_formats of tracefs size:u32 text
 *
 * What follows is not needed. Numbers have the byte order that `endian` says.
 */
#include "base/kernel/format_field.h"
#include "base/no_memory.h"
#include "internal.h"

#define MAGIC	    "\x17\x08\x44tracing"
#define MAGIC_BYTES 10
#define NAME_BYTES  256 /* most bytes of the name of a system */

struct perch__tracepoint {
	uint64_t id;
	struct perch_tracepoint_text text;
	struct perch_tracepoint_format *format; /* NULL until it is needed */
	bool invalid;				/* the text cannot be parsed */
};

/* Copies a string, because another program may change the mapped file. */
static bool take_string(struct perch__view *view, char string[NAME_BYTES])
{
	size_t most = view->left < NAME_BYTES ? view->left : NAME_BYTES;

	memcpy(string, view->at, most);
	if (!memchr(string, 0, most))
		return false;
	view->at += strlen(string) + 1;
	view->left -= strlen(string) + 1;
	return true;
}

/* Removes "size:u64 text". */
static bool take_file(struct perch__view *view, struct perch__span *text)
{
	uint64_t size;

	if (!perch__take_u64(view, &size) || size > view->left)
		return false;
	*text = (struct perch__span){ (const char *)view->at, size };
	view->at += size;
	view->left -= size;
	return true;
}

/* Removes a named file of the header. */
static bool skip_header_file(struct perch__view *view, const char *name)
{
	struct perch__span text;
	char found[NAME_BYTES];

	return take_string(view, found) && !strcmp(found, name) && take_file(view, &text);
}

static bool take_header(struct perch__view *view, uint8_t *long_size)
{
	const bool here_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	char version[NAME_BYTES];
	uint32_t page_size;
	uint8_t big;

	if (view->left < MAGIC_BYTES || memcmp(view->at, MAGIC, MAGIC_BYTES))
		return false;
	view->at += MAGIC_BYTES;
	view->left -= MAGIC_BYTES;
	if (!take_string(view, version) || !perch__take(view, &big, 1) ||
	    !perch__take(view, long_size, 1))
		return false;
	view->swapped = !!big != here_big;
	return (*long_size == 4 || *long_size == 8) && perch__take_u32(view, &page_size) &&
	       skip_header_file(view, "header_page") && skip_header_file(view, "header_event");
}

/* Finds the line "ID: 372". */
static bool find_id(struct perch__span text, uint64_t *id)
{
	uint32_t number;

	while (text.length) {
		struct perch__span line = perch__span_cut(&text, '\n');

		if (perch__is_format_field(line))
			return false;
		if (!perch__span_begins(line, "ID:"))
			continue;
		perch__span_cut(&line, ':');
		if (!perch__span_number(perch__span_trim(line), &number))
			return false;
		*id = number;
		return true;
	}
	return false;
}

static int add_tracepoint(struct perch_reader *reader, uint64_t id,
			  const struct perch_tracepoint_text *text)
{
	struct perch__tracepoint *tracepoint = PERCH__ARRAY_APPEND(
		reader->tracepoints, reader->nr_tracepoints, reader->tracepoints_capacity);

	if (!tracepoint)
		return -ENOMEM;
	*tracepoint = (struct perch__tracepoint){ .id = id, .text = *text };
	return 0;
}

/* Adds the formats of a system. Returns 1, 0 at the end of the data, or -ENOMEM. */
static int add_system(struct perch_reader *reader, struct perch__view *view, const char *name,
		      uint8_t long_size)
{
	struct perch_tracepoint_text text = { .long_size = long_size };
	struct perch__span span;
	uint32_t nr;
	uint64_t id;

	if (!perch__take_u32(view, &nr))
		return 0;
	for (uint32_t i = 0; i < nr; i++) {
		if (!take_file(view, &span))
			return 0;
		if (!find_id(span, &id))
			continue;
		if (!text.system)
			text.system = perch__reader_strndup(reader, name, strlen(name));
		text.text = span.at;
		text.size = span.length;
		if (!text.system || add_tracepoint(reader, id, &text))
			return -ENOMEM;
	}
	return 1;
}

/* Removes "size:u32 text". */
static bool take_text(struct perch__view *view, struct perch__span *text)
{
	uint32_t size;

	if (!perch__take_u32(view, &size) || size > view->left)
		return false;
	*text = (struct perch__span){ (const char *)view->at, size };
	view->at += size;
	view->left -= size;
	return true;
}

static int compare_ids(const void *left, const void *right)
{
	const struct perch__tracepoint *one = left, *other = right;

	return (one->id > other->id) - (one->id < other->id);
}

/* Formats after damaged bytes are not found. */
static int read_tracing_data(struct perch_reader *reader)
{
	struct perch__view view = reader->feature[PERCH_FEATURE_TRACING_DATA];
	char system[NAME_BYTES];
	struct perch__span text;
	uint8_t long_size;
	uint32_t nr = 0;
	int rc;

	if (!view.at || !take_header(&view, &long_size))
		return 0;
	rc = add_system(reader, &view, "ftrace", long_size);
	if (rc > 0 && !perch__take_u32(&view, &nr))
		rc = 0;
	for (uint32_t i = 0; i < nr && rc > 0; i++)
		rc = take_string(&view, system) ? add_system(reader, &view, system, long_size) : 0;
	if (rc > 0 && take_text(&view, &text) && take_text(&view, &text) && text.length) {
		reader->trace_strings = text.at;
		reader->trace_strings_size = text.length;
	}
	if (reader->nr_tracepoints)
		qsort(reader->tracepoints, reader->nr_tracepoints, sizeof(*reader->tracepoints),
		      compare_ids);
	return rc < 0 ? rc : 0;
}

void perch__free_tracepoints(struct perch_reader *reader)
{
	for (size_t i = 0; i < reader->nr_tracepoints; i++)
		perch_tracepoint_format_free(reader->tracepoints[i].format);
	free(reader->tracepoints);
}

static int read_once(struct perch_reader *reader, struct perch_error *err)
{
	if (!reader->has_tracepoints && read_tracing_data(reader))
		return PERCH__NO_MEMORY(err, "for the formats of tracepoints");
	reader->has_tracepoints = true;
	return 0;
}

int perch_reader_trace_strings(struct perch_reader *reader, const char **text, size_t *size)
{
	int rc = read_once(reader, NULL);

	*text = rc ? NULL : reader->trace_strings;
	*size = rc ? 0 : reader->trace_strings_size;
	return rc ? rc : *text ? 0 : -ENOENT;
}

static int find_tracepoint(struct perch_reader *reader, uint64_t id,
			   struct perch__tracepoint **tracepoint, struct perch_error *err)
{
	struct perch__tracepoint wanted = { .id = id };

	if (read_once(reader, err))
		return -ENOMEM;
	*tracepoint = reader->nr_tracepoints
			      ? bsearch(&wanted, reader->tracepoints, reader->nr_tracepoints,
					sizeof(wanted), compare_ids)
			      : NULL;
	if (*tracepoint)
		return 0;
	if (!reader->feature[PERCH_FEATURE_TRACING_DATA].at)
		return perch_error_set(
			err, ENOENT, PERCH_ERROR_FORMAT,
			"the recording has no formats of tracepoints (TRACING_DATA)");
	return perch_error_set(err, ENOENT, PERCH_ERROR_FORMAT,
			       "the recording has no format of the tracepoint %llu",
			       (unsigned long long)id);
}

int perch_reader_tracepoint_text(struct perch_reader *reader, uint64_t id,
				 struct perch_tracepoint_text *text, struct perch_error *err)
{
	struct perch__tracepoint *tracepoint;
	int rc = find_tracepoint(reader, id, &tracepoint, err);

	*text = rc ? (struct perch_tracepoint_text){ 0 } : tracepoint->text;
	return rc;
}

int perch_reader_tracepoint(struct perch_reader *reader, uint64_t id,
			    const struct perch_tracepoint_format **format, struct perch_error *err)
{
	struct perch__tracepoint *tracepoint;
	int rc = find_tracepoint(reader, id, &tracepoint, err);

	*format = NULL;
	if (rc)
		return rc;
	/* a caller that asks for each sample and wants no reason does not parse it each time */
	if (tracepoint->invalid && !err)
		return -EBADMSG;
	if (!tracepoint->format)
		rc = perch_tracepoint_format_parse(&tracepoint->format, &tracepoint->text, err);
	tracepoint->invalid = rc && rc != -ENOMEM;
	*format = tracepoint->format;
	return rc;
}
