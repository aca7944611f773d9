/* SPDX-License-Identifier: MIT */
/* Reads the headers of line tables: the opcodes, directories and files. */
#include <stdlib.h>

#include <dwarf.h>

#include "dwarf_lines.h"

enum {
	MAX_FILES = 1 << 20,
	MAX_FORMATS = 16, /* of entries of directories and files */
};

static int add_directory(struct dwarf_lines *lines, const char *name)
{
	const char **directory = PERCH__ARRAY_APPEND_MAX(lines->directory, lines->nr_directories,
							 lines->directories_capacity, MAX_FILES);

	if (!directory)
		return DWARF_APPEND_ERROR(lines->nr_directories, MAX_FILES);
	*directory = name;
	return 0;
}

static int add_file(struct dwarf_lines *lines, const char *name, uint64_t directory)
{
	struct file *file = PERCH__ARRAY_APPEND_MAX(lines->file, lines->nr_files,
						    lines->files_capacity, MAX_FILES);

	if (!file)
		return DWARF_APPEND_ERROR(lines->nr_files, MAX_FILES);
	file->name = name;
	file->directory = directory;
	return 0;
}

/* DWARF 2 to 4: directory 0 is the unit's, and there is no file 0. */
static int read_old_files(struct dwarf_lines *lines, const struct dwarf_unit *unit,
			  struct cursor *cursor)
{
	int rc = add_directory(lines, unit->directory);
	const char *name;

	while (!rc && (name = perch__read_text(cursor)) && *name)
		rc = add_directory(lines, name);
	if (!rc)
		rc = add_file(lines, NULL, 0);
	while (!rc && (name = perch__read_text(cursor)) && *name) {
		rc = add_file(lines, name, perch__read_uleb(cursor));
		perch__read_uleb(cursor);
		perch__read_uleb(cursor);
	}
	return rc;
}

/* Reads a directory or a file: its parts are described by formats. */
static int read_described(struct dwarf *dwarf, const struct dwarf_unit *unit, struct cursor *cursor,
			  const struct dwarf_spec *format, unsigned nr, struct file *file)
{
	*file = (struct file){ 0 };
	for (unsigned i = 0; i < nr; i++) {
		struct dwarf_value value;

		if (!format[i].wanted) {
			perch__dwarf_step(cursor, &format[i].step);
			continue;
		}
		if (!perch__dwarf_value(cursor, &format[i], &value))
			return -ENOTSUP;
		if (format[i].wanted == DW_LNCT_directory_index)
			file->directory = value.number;
		else if (perch__dwarf_value_text(dwarf, unit, &value, &file->name))
			return -ENOTSUP;
	}
	return cursor->failed || !file->name ? -ENOTSUP : 0;
}

/* DWARF 5: a list of directories or of files. */
static int read_list(struct dwarf *dwarf, const struct dwarf_unit *unit, struct dwarf_lines *lines,
		     struct cursor *cursor, bool files)
{
	struct dwarf_spec format[MAX_FORMATS];
	unsigned nr_formats = (unsigned)perch__read(cursor, 1);
	uint64_t nr;
	int rc = 0;

	if (nr_formats > MAX_FORMATS)
		return -ENOTSUP;
	for (unsigned i = 0; i < nr_formats; i++) {
		uint64_t content = perch__read_uleb(cursor), form = perch__read_uleb(cursor);

		if (form == DW_FORM_implicit_const ||
		    !perch__dwarf_form(&format[i], form, lines->format))
			return -ENOTSUP;
		format[i].wanted = content == DW_LNCT_path || content == DW_LNCT_directory_index
					   ? (uint16_t)content
					   : 0;
	}
	nr = perch__read_uleb(cursor);
	if (nr > (size_t)(cursor->end - cursor->at)) /* each has at least one byte */
		return -ENOTSUP;
	for (uint64_t i = 0; i < nr && !rc; i++) {
		struct file file;

		rc = read_described(dwarf, unit, cursor, format, nr_formats, &file);
		if (!rc)
			rc = files ? add_file(lines, file.name, file.directory)
				   : add_directory(lines, file.name);
	}
	return rc;
}

/* Reads the length of the table and of its header; *program is after the header. */
static bool read_sizes(struct dwarf *dwarf, struct dwarf_lines *lines, uint64_t offset,
		       struct cursor *cursor, const uint8_t **program)
{
	struct dwarf_section *section = dwarf->section[DWARF_LINE];
	uint64_t length;
	size_t size = 12;

	if (offset >= section->size)
		return false;
	if (size > section->size - offset)
		size = section->size - offset;
	cursor->at = perch__dwarf_bytes(section, offset, size);
	if (!cursor->at)
		return false;
	cursor->end = cursor->at + size;
	length = perch__read_unit_length(cursor, &lines->format);
	offset = (uint64_t)(cursor->at - section->bytes);
	if (cursor->failed || length > INT32_MAX || !perch__dwarf_bytes(section, offset, length))
		return false;
	lines->end = cursor->end = cursor->at + length;
	if (!perch__read_version(cursor, &lines->format))
		return false;
	if (lines->format.version == 5) {
		lines->format.address_size = (uint8_t)perch__read(cursor, 1);
		if (perch__read(cursor, 1)) /* segments */
			return false;
	}
	length = perch__read(cursor, lines->format.offset_size);
	if (cursor->failed || length > (size_t)(cursor->end - cursor->at))
		return false;
	*program = cursor->at + length;
	return true;
}

int perch__line_header(struct dwarf *dwarf, struct dwarf_unit *unit, struct dwarf_lines *lines)
{
	struct cursor cursor = { .swapped = dwarf->swapped };
	uint64_t operations = 1;
	int rc = 0;

	lines->format = unit->format;
	lines->swapped = dwarf->swapped;
	if (!read_sizes(dwarf, lines, unit->stmt_list.number, &cursor, &lines->program))
		return -ENOTSUP;
	lines->smallest_instruction = (uint8_t)perch__read(&cursor, 1);
	if (lines->format.version >= 4)
		operations = perch__read(&cursor, 1);
	perch__skip(&cursor, 1);
	lines->line_base = (int8_t)perch__read(&cursor, 1);
	lines->line_range = (uint8_t)perch__read(&cursor, 1);
	lines->first_special = (uint8_t)perch__read(&cursor, 1);
	if (operations != 1 || !lines->line_range || !lines->first_special)
		return -ENOTSUP;
	for (unsigned opcode = lines->first_special; opcode < 256; opcode++) {
		unsigned number = opcode - lines->first_special;

		lines->special[opcode].address =
			number / lines->line_range * lines->smallest_instruction;
		lines->special[opcode].line = lines->line_base + (int)(number % lines->line_range);
	}
	lines->operands = cursor.at;
	perch__skip(&cursor, lines->first_special - 1u);
	lines->usual_operands = !cursor.failed && lines->first_special > DW_LNS_negate_stmt;
	if (lines->format.version < 5)
		rc = read_old_files(lines, unit, &cursor);
	for (int files = 0; lines->format.version == 5 && files < 2 && !rc; files++)
		rc = read_list(dwarf, unit, lines, &cursor, files);
	return !rc && cursor.failed ? -ENOTSUP : rc;
}
