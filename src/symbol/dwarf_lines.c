/* SPDX-License-Identifier: MIT */
/*
 * Line tables. A table is a program that makes rows. It runs once, and every few rows its state is
 * kept as a mark; the row of an address is found by running from the mark before it. So the memory
 * is small, and the program is decoded once and not sorted.
 */
#include <stdio.h>
#include <stdlib.h>

#include <dwarf.h>

#include "dwarf.h"

enum {
	ROWS_PER_MARK = 16,
	LONGEST_FREQUENT = 16, /* bytes of an opcode */
	MAX_FILES = 1 << 20,
	MAX_MARKS = 1 << 26,
	MAX_FORMATS = 16,  /* of entries of directories and files */
	MAX_OVERLAPS = 64, /* sequences that are compared with an address */
};

/* A row, and where the program continues after it. */
struct mark {
	uint64_t address;
	uint32_t file, line, next;
};

/* What a special opcode adds. */
struct advance {
	uint32_t address;
	int32_t line;
};

/* Rows of increasing addresses. */
struct sequence {
	uint64_t start, end;
	uint32_t mark, nr_marks;
};

struct file {
	const char *name;
	uint64_t directory;
	char *path; /* NULL before its first use, unless it is the name */
};

struct dwarf_lines {
	int error; /* 0, -ENOMEM or -ENOTSUP */
	bool swapped;
	struct dwarf_format format; /* of the table: the version may differ from the unit's */
	const uint8_t *program, *end;
	uint8_t smallest_instruction, line_range, first_special;
	int8_t line_base;
	struct advance special[256]; /* by opcode */
	const uint8_t *operands;     /* number of each standard opcode */
	bool usual_operands;	     /* the frequent ones have the usual numbers */
	const char **directory;
	size_t nr_directories, directories_capacity;
	struct file *file;
	size_t nr_files, files_capacity;
	struct mark *mark;
	size_t nr_marks, marks_capacity;
	struct sequence *sequence; /* sorted */
	size_t nr_sequences, sequences_capacity;
};

/* ---- the program ---- */

struct machine {
	struct cursor cursor;
	const struct dwarf_lines *lines;
	uint64_t address;
	uint32_t file, line;
};

enum step {
	STEP_NONE,
	STEP_ROW,
	STEP_END, /* of a sequence, with a row */
	STEP_ERROR,
};

static void reset(struct machine *machine)
{
	machine->address = 0;
	machine->file = machine->line = 1;
}

static enum step run_extended(struct machine *machine)
{
	struct cursor *cursor = &machine->cursor;
	uint64_t size = perch__read_uleb(cursor);
	const uint8_t *end;

	if (!size || size > (size_t)(cursor->end - cursor->at))
		return STEP_ERROR;
	end = cursor->at + size;
	switch (perch__read(cursor, 1)) {
	case DW_LNE_end_sequence:
		cursor->at = end;
		return STEP_END;
	case DW_LNE_set_address:
		/* an address of another size is not understood */
		if (size - 1 != 4 && size - 1 != 8)
			return STEP_ERROR;
		machine->address = perch__read(cursor, (unsigned)size - 1);
		break;
	case DW_LNE_define_file:
		return STEP_ERROR;
	default:
		break;
	}
	cursor->at = end;
	return STEP_NONE;
}

static inline enum step run_standard(struct machine *machine, uint8_t opcode)
{
	const struct dwarf_lines *lines = machine->lines;
	struct cursor *cursor = &machine->cursor;

	switch (opcode) {
	case DW_LNS_copy:
		return STEP_ROW;
	case DW_LNS_advance_pc:
		machine->address += perch__read_uleb(cursor) * lines->smallest_instruction;
		break;
	case DW_LNS_advance_line:
		machine->line += (uint32_t)perch__read_sleb(cursor);
		break;
	case DW_LNS_set_file:
		machine->file = (uint32_t)perch__read_uleb(cursor);
		break;
	case DW_LNS_const_add_pc:
		machine->address += lines->special[255].address;
		break;
	case DW_LNS_fixed_advance_pc:
		machine->address += perch__read(cursor, 2);
		break;
	default:
		for (unsigned i = lines->operands[opcode - 1]; i; i--)
			perch__read_uleb(cursor);
		break;
	}
	return STEP_NONE;
}

/* Runs one opcode of any kind. */
static enum step run_opcode(struct machine *machine)
{
	const struct dwarf_lines *lines = machine->lines;
	uint8_t opcode = *machine->cursor.at++;

	if (opcode >= lines->first_special) {
		machine->address += lines->special[opcode].address;
		machine->line += (uint32_t)lines->special[opcode].line;
		return STEP_ROW;
	}
	return opcode ? run_standard(machine, opcode) : run_extended(machine);
}

/*
 * Runs to the next row, or to an opcode that is not frequent. The frequent ones have an operand of
 * one byte, or two for a line. cursor: not at its end
 */
static enum step run(struct machine *machine)
{
	const uint8_t *at = machine->cursor.at, *end = machine->cursor.end;
	const struct dwarf_lines *lines = machine->lines;
	uint64_t address = machine->address;
	uint32_t line = machine->line;
	enum step step = STEP_NONE;

	while (end - at > LONGEST_FREQUENT) {
		uint8_t opcode = *at, operand = at[1];

		if (opcode >= lines->first_special) {
			address += lines->special[opcode].address;
			line += (uint32_t)lines->special[opcode].line;
			at++;
			step = STEP_ROW;
			break;
		}
		if (opcode == DW_LNS_copy && lines->usual_operands) {
			at++;
			step = STEP_ROW;
			break;
		}
		if (opcode == DW_LNS_negate_stmt && lines->usual_operands) {
			at++;
		} else if (opcode == DW_LNS_advance_line && operand >= 0x80 && at[2] < 0x80 &&
			   lines->usual_operands) {
			int number = (operand & 0x7f) | at[2] << 7;

			line += (uint32_t)((number ^ 0x2000) - 0x2000);
			at += 3;
		} else if (operand >= 0x80 || !lines->usual_operands) {
			break;
		} else if (opcode == DW_LNS_set_column) {
			at += 2;
		} else if (opcode == DW_LNS_set_file) {
			machine->file = operand;
			at += 2;
		} else if (opcode == DW_LNS_advance_line) {
			line += (uint32_t)((int)(operand ^ 0x40) - 0x40);
			at += 2;
		} else if (opcode == DW_LNS_advance_pc) {
			address += (uint64_t)operand * lines->smallest_instruction;
			at += 2;
		} else if (!opcode && operand && operand <= LONGEST_FREQUENT - 2 &&
			   at[2] == DW_LNE_set_discriminator) {
			at += 2 + operand;
		} else {
			break;
		}
	}
	machine->cursor.at = at;
	machine->address = address;
	machine->line = line;
	return step ? step : run_opcode(machine);
}

static int add_mark(struct dwarf_lines *lines, const struct machine *machine)
{
	struct mark *mark = PERCH__ARRAY_APPEND_MAX(lines->mark, lines->nr_marks,
						    lines->marks_capacity, MAX_MARKS);

	if (!mark)
		return DWARF_APPEND_ERROR(lines->nr_marks, MAX_MARKS);
	mark->address = machine->address;
	mark->file = machine->file;
	mark->line = machine->line;
	mark->next = (uint32_t)(machine->cursor.at - lines->program);
	return 0;
}

/* Adds the sequence of the marks from `first` on. */
static int add_sequence(struct dwarf_lines *lines, size_t first, uint64_t end)
{
	struct sequence *sequence;

	if (first == lines->nr_marks)
		return 0;
	if (lines->mark[first].address >= end) {
		lines->nr_marks = first;
		return 0;
	}
	sequence = PERCH__ARRAY_APPEND_MAX(lines->sequence, lines->nr_sequences,
					   lines->sequences_capacity, MAX_MARKS);
	if (!sequence)
		return DWARF_APPEND_ERROR(lines->nr_sequences, MAX_MARKS);
	*sequence = (struct sequence){ lines->mark[first].address, end, (uint32_t)first,
				       (uint32_t)(lines->nr_marks - first) };
	return 0;
}

/* Runs the program and keeps its marks. */
static int run_program(struct dwarf_lines *lines)
{
	struct machine machine = { .cursor = { lines->program, lines->end, lines->swapped, false },
				   .lines = lines };
	size_t rows = 0, first = 0;
	uint64_t before = 0;
	int rc = 0;

	reset(&machine);
	while (machine.cursor.at < machine.cursor.end && !rc) {
		enum step step = run(&machine);

		if (step == STEP_NONE)
			continue;
		if (step == STEP_ERROR || machine.cursor.failed)
			return -ENOTSUP;
		/* libdw sorts such rows */
		if (rows && machine.address < before)
			return -ENOTSUP;
		before = machine.address;
		if (step == STEP_ROW) {
			if (rows++ % ROWS_PER_MARK == 0)
				rc = add_mark(lines, &machine);
			continue;
		}
		rc = add_sequence(lines, first, machine.address);
		first = lines->nr_marks;
		rows = 0;
		reset(&machine);
	}
	if (!rc && rows) /* it has no end */
		rc = add_sequence(lines, first, before);
	return machine.cursor.failed ? -ENOTSUP : rc;
}

static int by_start(const void *left, const void *right)
{
	const struct sequence *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->mark > b->mark) - (a->mark < b->mark);
}

/* ---- the header ---- */

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
static int read_described(struct dwarf *dwarf, const struct dwarf_unit *unit,
			  const struct dwarf_lines *lines, struct cursor *cursor,
			  const struct dwarf_spec *format, unsigned nr, struct file *file)
{
	*file = (struct file){ 0 };
	for (unsigned i = 0; i < nr; i++) {
		struct dwarf_value value;

		if (!format[i].wanted) {
			if (!perch__skip_form(cursor, format[i].form, lines->format))
				return -ENOTSUP;
			continue;
		}
		if (!perch__dwarf_value(cursor, &format[i], lines->format, &value))
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

		if (form > UINT16_MAX || form == DW_FORM_implicit_const)
			return -ENOTSUP;
		format[i].form = (uint16_t)form;
		format[i].wanted = content == DW_LNCT_path || content == DW_LNCT_directory_index
					   ? (uint16_t)content
					   : 0;
	}
	nr = perch__read_uleb(cursor);
	if (nr > (size_t)(cursor->end - cursor->at)) /* each has at least one byte */
		return -ENOTSUP;
	for (uint64_t i = 0; i < nr && !rc; i++) {
		struct file file;

		rc = read_described(dwarf, unit, lines, cursor, format, nr_formats, &file);
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
	struct dwarf_section *section = &dwarf->section[DWARF_LINE];
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
	lines->format.offset_size = 4;
	length = perch__read(cursor, 4);
	if (length == UINT32_MAX) {
		lines->format.offset_size = 8;
		length = perch__read(cursor, 8);
	}
	offset = (uint64_t)(cursor->at - section->bytes);
	if (cursor->failed || length > INT32_MAX || !perch__dwarf_bytes(section, offset, length))
		return false;
	lines->end = cursor->end = cursor->at + length;
	lines->format.version = (uint8_t)perch__read(cursor, 2);
	if (lines->format.version < 2 || lines->format.version > 5)
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

static int read_table(struct dwarf *dwarf, struct dwarf_unit *unit, struct dwarf_lines *lines)
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
	if (!rc)
		rc = cursor.failed ? -ENOTSUP : run_program(lines);
	if (!rc && lines->nr_sequences)
		qsort(lines->sequence, lines->nr_sequences, sizeof(*lines->sequence), by_start);
	return rc;
}

static struct dwarf_lines *lines_of(struct dwarf *dwarf, struct dwarf_unit *unit)
{
	if (unit->lines)
		return unit->lines;
	unit->lines = calloc(1, sizeof(*unit->lines));
	if (unit->lines && unit->stmt_list.form)
		unit->lines->error = read_table(dwarf, unit, unit->lines);
	return unit->lines;
}

void perch__dwarf_free_lines(struct dwarf_lines *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < lines->nr_files; i++)
		free(lines->file[i].path);
	free(lines->directory);
	free(lines->file);
	free(lines->mark);
	free(lines->sequence);
	free(lines);
}

/* ---- lookup ---- */

static int path_of(struct dwarf_lines *lines, uint64_t index, const char **path)
{
	const char *directory;
	struct file *file;
	size_t size;

	*path = NULL;
	if (index >= lines->nr_files || !lines->file[index].name)
		return 0;
	file = &lines->file[index];
	if (*file->name == '/') {
		*path = file->name;
		return 0;
	}
	if (!file->path) {
		directory = file->directory < lines->nr_directories
				    ? lines->directory[file->directory]
				    : NULL;
		size = (directory ? strlen(directory) + 1 : 0) + strlen(file->name) + 1;
		file->path = malloc(size);
		if (!file->path)
			return -ENOMEM;
		snprintf(file->path, size, "%s%s%s", directory ? directory : "",
			 directory ? "/" : "", file->name);
	}
	*path = file->path;
	return 0;
}

int perch__dwarf_file(struct dwarf *dwarf, struct dwarf_unit *unit, uint64_t index,
		      const char **file)
{
	struct dwarf_lines *lines = lines_of(dwarf, unit);

	*file = NULL;
	if (!lines || lines->error)
		return lines ? lines->error : -ENOMEM;
	return path_of(lines, index, file);
}

static const struct sequence *find_sequence(const struct dwarf_lines *lines, uint64_t address)
{
	size_t low = 0, high = lines->nr_sequences;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines->sequence[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = 0; i < MAX_OVERLAPS && low--; i++)
		if (address < lines->sequence[low].end)
			return &lines->sequence[low];
	return NULL;
}

/* Returns the last mark of a sequence that is not after the address. */
static const struct mark *find_mark(const struct dwarf_lines *lines,
				    const struct sequence *sequence, uint64_t address)
{
	const struct mark *mark = lines->mark + sequence->mark;
	size_t low = 1, high = sequence->nr_marks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (mark[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return &mark[low - 1];
}

static void set_machine(struct machine *machine, const struct dwarf_lines *lines,
			const struct mark *mark)
{
	*machine = (struct machine){
		.cursor = { lines->program + mark->next, lines->end, lines->swapped, false },
		.lines = lines,
		.address = mark->address,
		.file = mark->file,
		.line = mark->line,
	};
}

int perch__dwarf_has_row(struct dwarf *dwarf, struct dwarf_unit *unit, uint64_t start, uint64_t end,
			 bool *has)
{
	struct dwarf_lines *lines = lines_of(dwarf, unit);

	if (!lines || lines->error)
		return lines ? lines->error : -ENOMEM;
	*has = false;
	for (size_t i = 0; i < lines->nr_sequences && !*has; i++) {
		const struct sequence *sequence = &lines->sequence[i];
		struct machine machine;
		enum step step = STEP_ROW;

		if (sequence->start >= end)
			break;
		if (sequence->end <= start)
			continue;
		set_machine(&machine, lines, find_mark(lines, sequence, start));
		while (step != STEP_END && step != STEP_ERROR && machine.address < end && !*has) {
			*has = step == STEP_ROW && machine.address >= start;
			if (machine.cursor.at == machine.cursor.end)
				break;
			step = run(&machine);
		}
	}
	return 0;
}

int perch__dwarf_line(struct dwarf *dwarf, struct dwarf_unit *unit, uint64_t address,
		      const char **file, uint32_t *line)
{
	struct dwarf_lines *lines = lines_of(dwarf, unit);
	const struct sequence *sequence;
	const struct mark *mark;
	struct machine machine;
	struct mark row;
	int rc;

	if (!lines || lines->error)
		return lines ? lines->error : -ENOMEM;
	sequence = find_sequence(lines, address);
	if (!sequence)
		return 0;
	mark = find_mark(lines, sequence, address);
	row = *mark;
	set_machine(&machine, lines, mark);
	while (machine.cursor.at < machine.cursor.end) {
		enum step step = run(&machine);

		if (step == STEP_NONE)
			continue;
		if (step != STEP_ROW || machine.address > address)
			break;
		row.file = machine.file;
		row.line = machine.line;
	}
	rc = path_of(lines, row.file, file);
	*line = !rc && *file && row.line <= INT32_MAX ? row.line : 0;
	return rc;
}
