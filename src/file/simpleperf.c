/* SPDX-License-Identifier: MIT */
/*
 * Features of simpleperf, the recorder of Android. They have the functions that samples hit,
 * because the files of a phone are not at hand where its recording is read:
 *
 *   FILE       u32 size, then: path\0  u32 kind  u64 address  u32 nr  nr * (u64 address  u32 size
 *              name\0), then by kind: u32 nr and nr * u64 of a DEX file; u64 offset of the address
 *   FILE2      u32 size, then a protobuf message: 1 path, 2 kind, 3 address, 4 functions (1
 * address, 2 size, 3 name), 6 and 7 a message with the offset of the address (1) META_INFO  name\0
 * value\0 ...; event_type_info: a line "NAME,TYPE,CONFIG" for each event
 */
#include <stdlib.h>
#include "base/no_memory.h"
#include "internal.h"

enum { OFFSET_OF_ELF = 6, OFFSET_OF_MODULE = 7 };

/* Takes a text up to its NUL. */
static bool take_string(struct perch__view *view, struct perch__view *text)
{
	const uint8_t *end = memchr(view->at, 0, view->left);

	if (!end)
		return false;
	*text = (struct perch__view){ .at = view->at, .left = (size_t)(end - view->at) };
	view->left -= text->left + 1;
	view->at = end + 1;
	return true;
}

static const char *copy_text(struct perch_reader *reader, const struct perch__view *text)
{
	return perch__reader_strndup(reader, (const char *)text->at, text->left);
}

/* Adds a function to those of a file. Returns false if out of memory. */
static bool add_function(struct perch_reader *reader, struct perch_recorded_file *file,
			 struct perch_recorded_function *functions, uint64_t address, uint64_t size,
			 const struct perch__view *name)
{
	struct perch_recorded_function *function = &functions[file->nr_functions];

	*function = (struct perch_recorded_function){ .address = address,
						      .size = size,
						      .name = copy_text(reader, name) };
	file->nr_functions += function->name != NULL;
	return function->name;
}

/* Makes the array of functions, of which there are at most so many. */
static struct perch_recorded_function *new_functions(struct perch_reader *reader,
						     struct perch_recorded_file *file, size_t nr)
{
	struct perch_recorded_function *functions =
		perch__reader_alloc(reader, (nr + 1) * sizeof(*functions));

	file->functions = functions;
	return functions;
}

/* ---- FILE ---- */

enum { LEAST_BYTES = 8 + 4 + 1 }; /* of a function */

static int parse_file(struct perch_reader *reader, struct perch__view view,
		      struct perch_recorded_file *file)
{
	struct perch_recorded_function *functions;
	struct perch__view text;
	uint32_t kind, nr;

	if (!take_string(&view, &text) || !perch__take_u32(&view, &kind) ||
	    !perch__take_u64(&view, &file->address) || !perch__take_u32(&view, &nr) ||
	    nr > view.left / LEAST_BYTES)
		return -EBADMSG;
	file->path = copy_text(reader, &text);
	functions = new_functions(reader, file, nr);
	if (!file->path || !functions)
		return -ENOMEM;
	file->kind = kind < PERCH_RECORDED_OTHER ? kind : PERCH_RECORDED_OTHER;
	while (nr--) {
		uint64_t address;
		uint32_t size;

		if (!perch__take_u64(&view, &address) || !perch__take_u32(&view, &size) ||
		    !take_string(&view, &text))
			return -EBADMSG;
		if (!add_function(reader, file, functions, address, size, &text))
			return -ENOMEM;
	}
	if (file->kind != PERCH_RECORDED_DEX)
		perch__take_u64(&view, &file->offset);
	return 0;
}

/* ---- FILE2 ---- */

static bool take_varint(struct perch__view *view, uint64_t *value)
{
	uint8_t byte;

	*value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (!perch__take(view, &byte, 1))
			return false;
		*value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return true;
	}
	return false;
}

struct proto_field {
	uint64_t number, value;
	struct perch__view bytes; /* of a text or message */
};

static bool take_field(struct perch__view *view, struct proto_field *field)
{
	enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };
	uint64_t key, size = 0;

	*field = (struct proto_field){ 0 };
	if (!take_varint(view, &key))
		return false;
	field->number = key >> 3;
	if ((key & 7) == VARINT)
		return take_varint(view, &field->value);
	if ((key & 7) == BYTES ? !take_varint(view, &size)
			       : (size = (key & 7) == FIXED64 ? 8 : 4,
				  (key & 7) != FIXED64 && (key & 7) != FIXED32))
		return false;
	if (size > view->left)
		return false;
	field->bytes = (struct perch__view){ .at = view->at, .left = size };
	view->at += size;
	view->left -= size;
	return true;
}

static int parse_function(struct perch_reader *reader, struct perch__view view,
			  struct perch_recorded_file *file,
			  struct perch_recorded_function *functions)
{
	struct perch__view name = { .at = (const uint8_t *)"" };
	uint64_t address = 0, size = 0;
	struct proto_field field;

	while (view.left) {
		if (!take_field(&view, &field))
			return -EBADMSG;
		if (field.number == 1)
			address = field.value;
		else if (field.number == 2)
			size = field.value;
		else if (field.number == 3)
			name = field.bytes;
	}
	if (!name.at || memchr(name.at, 0, name.left))
		return -EBADMSG;
	return add_function(reader, file, functions, address, size, &name) ? 0 : -ENOMEM;
}

/* Sets what a field of a file says. Returns 0, -EBADMSG or -ENOMEM. */
static int set_field(struct perch_reader *reader, const struct proto_field *field,
		     struct perch_recorded_file *file, struct perch_recorded_function *functions)
{
	struct perch__view view = field->bytes;
	struct proto_field offset;

	switch (field->number) {
	case 1:
		file->path = copy_text(reader, &view);
		return file->path ? 0 : -ENOMEM;
	case 2:
		file->kind = field->value < PERCH_RECORDED_OTHER ? field->value
								 : PERCH_RECORDED_OTHER;
		return 0;
	case 3:
		file->address = field->value;
		return 0;
	case 4:
		return parse_function(reader, view, file, functions);
	case OFFSET_OF_ELF:
	case OFFSET_OF_MODULE:
		file->offset = 0; /* which is not written */
		while (view.left) {
			if (!take_field(&view, &offset))
				return -EBADMSG;
			if (offset.number == 1)
				file->offset = offset.value;
		}
		return 0;
	default:
		return 0;
	}
}

static int parse_message(struct perch_reader *reader, struct perch__view view,
			 struct perch_recorded_file *file)
{
	struct perch_recorded_function *functions;
	struct perch__view all = view;
	struct proto_field field;
	size_t nr = 0;
	int rc = 0;

	while (all.left) {
		if (!take_field(&all, &field))
			return -EBADMSG;
		nr += field.number == 4;
	}
	file->path = "";
	functions = new_functions(reader, file, nr);
	if (!functions)
		return -ENOMEM;
	while (view.left && !rc) {
		take_field(&view, &field);
		rc = set_field(reader, &field, file, functions);
	}
	return rc;
}

/* ---- both ---- */

static int parse_files(struct perch_reader *reader, struct perch__view view,
		       int (*parse)(struct perch_reader *reader, struct perch__view view,
				    struct perch_recorded_file *file),
		       struct perch_error *err)
{
	struct perch__view all = view;
	uint32_t size;
	size_t nr = 0;

	for (; all.left && !reader->damaged_functions; nr++) {
		if (!perch__take_u32(&all, &size) || size > all.left) {
			reader->damaged_functions = true;
			break;
		}
		all.at += size;
		all.left -= size;
	}
	reader->recorded_file =
		perch__reader_alloc(reader, (nr + 1) * sizeof(*reader->recorded_file));
	if (!reader->recorded_file)
		return PERCH__NO_MEMORY(err, "for the functions of the file");
	while (nr-- && perch__take_u32(&view, &size)) {
		struct perch_recorded_file file = { .offset = UINT64_MAX };
		struct perch__view part = { view.at, size, view.swapped };
		int rc = parse(reader, part, &file);

		if (rc == -ENOMEM)
			return PERCH__NO_MEMORY(err, "for the functions of the file");
		if (rc) /* the functions before the damage are right */
			reader->damaged_functions = true;
		if (file.path)
			reader->recorded_file[reader->nr_recorded_files++] = file;
		view.at += size;
		view.left -= size;
	}
	return 0;
}

int perch__parse_recorded_files(struct perch_reader *reader, struct perch_error *err)
{
	if (reader->simpleperf[PERCH__SIMPLEPERF_FILE].at)
		return parse_files(reader, reader->simpleperf[PERCH__SIMPLEPERF_FILE], parse_file,
				   err);
	if (reader->simpleperf[PERCH__SIMPLEPERF_FILE2].at)
		return parse_files(reader, reader->simpleperf[PERCH__SIMPLEPERF_FILE2],
				   parse_message, err);
	return 0;
}

size_t perch_reader_recorded_files(const struct perch_reader *reader,
				   const struct perch_recorded_file **files)
{
	*files = reader->recorded_file;
	return reader->nr_recorded_files;
}

/* ---- META_INFO ---- */

/* Names the events of a line "NAME,TYPE,CONFIG". A name may have commas. */
static int name_events(struct perch_reader *reader, char *line, struct perch_error *err)
{
	char *config = strrchr(line, ','), *type, *end, *config_end;
	uint64_t numbers[2];

	if (!config)
		return 0;
	*config++ = 0;
	type = strrchr(line, ',');
	if (!type)
		return 0;
	*type++ = 0;
	numbers[0] = strtoull(type, &end, 10);
	numbers[1] = strtoull(config, &config_end, 10);
	if (end == type || *end || config_end == config || *config_end || !*line)
		return 0;
	for (size_t i = 0; i < reader->nr_events; i++) {
		struct perch_file_event *event = &reader->events[i];

		if (event->name || event->attr.type != numbers[0] ||
		    event->attr.config != numbers[1])
			continue;
		event->name = perch__reader_strndup(reader, line, strlen(line));
		if (!event->name)
			return PERCH__NO_MEMORY(err, "for the functions of the file");
	}
	return 0;
}

int perch__parse_meta_info(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__view view = reader->simpleperf[PERCH__SIMPLEPERF_META_INFO], name, value;
	int rc = 0;

	while (!rc && view.left && take_string(&view, &name) && take_string(&view, &value)) {
		char *text, *save = NULL;

		if (strcmp((const char *)name.at, "event_type_info"))
			continue;
		text = strndup((const char *)value.at, value.left);
		if (!text)
			return PERCH__NO_MEMORY(err, "for the functions of the file");
		for (char *line = strtok_r(text, "\n", &save); line && !rc;
		     line = strtok_r(NULL, "\n", &save))
			rc = name_events(reader, line, err);
		free(text);
	}
	return rc;
}
