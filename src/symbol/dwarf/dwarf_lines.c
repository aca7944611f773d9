/* SPDX-License-Identifier: MIT */
/*
 * Line tables. A table is a program that makes rows. It runs once, and every few rows its state is
 * kept as a mark; the row of an address is found by running from the mark before it. So the memory
 * is small, and the program is decoded once and not sorted.
 */
#include <stdlib.h>

#include "base/search.h"
#include "dwarf_lines.h"

enum {
	MAX_OVERLAPS = 64, /* sequences that are compared with an address */
};

static struct dwarf_lines *lines_of(struct dwarf_unit *unit)
{
	if (unit->lines)
		return unit->lines;
	unit->lines = perch__calloc(1, sizeof(*unit->lines));
	if (unit->lines && unit->stmt_list.form) {
		unit->lines->unit_directory = unit->directory;
		unit->lines->error = perch__line_header(unit->dwarf, unit, unit->lines);
		if (!unit->lines->error)
			unit->lines->error = perch__line_program(unit->lines);
	}
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

/* A directory that may be NULL, and the slash after it. */
static void put_directory(char **to, const char *directory)
{
	if (directory) {
		*to = stpcpy(*to, directory);
		*(*to)++ = '/';
	}
}

/* Returns the path of a file, which may be relative to a directory that may be relative. */
static char *make_path(const struct dwarf_lines *lines, const struct file *file)
{
	const char *directory = NULL, *unit = lines->unit_directory, *name = file->name;
	char *path, *to;

	if (file->directory < lines->nr_directories)
		directory = lines->directory[file->directory];
	if (!unit || *unit != '/' || (directory && *directory == '/'))
		unit = NULL;
	if (unit && directory)
		directory = perch__relative_path(directory);
	else if (unit)
		name = perch__relative_path(name);
	to = path = perch__malloc((unit ? strlen(unit) + 1 : 0) +
				  (directory ? strlen(directory) + 1 : 0) + strlen(name) + 1);
	if (!path)
		return NULL;
	put_directory(&to, unit);
	put_directory(&to, directory);
	strcpy(to, name);
	return path;
}

static int path_of(struct dwarf_lines *lines, uint64_t index, const char **path)
{
	struct file *file;

	*path = NULL;
	if (index >= lines->nr_files || !lines->file[index].name)
		return 0;
	file = &lines->file[index];
	if (*file->name == '/') {
		*path = file->name;
		return 0;
	}
	if (!file->path) {
		file->path = make_path(lines, file);
		if (!file->path)
			return -ENOMEM;
	}
	*path = file->path;
	return 0;
}

/* A split unit may have a table of its files; its rows are those of the skeleton. */
static struct dwarf_lines *rows_of(struct dwarf_unit *unit)
{
	return lines_of(unit->skeleton ? unit->skeleton : unit);
}

int perch__dwarf_file(struct dwarf_unit *unit, uint64_t index, const char **file)
{
	struct dwarf_lines *lines = unit->stmt_list.form ? lines_of(unit) : rows_of(unit);

	*file = NULL;
	if (!lines || lines->error)
		return lines ? lines->error : -ENOMEM;
	return path_of(lines, index, file);
}

static const struct sequence *find_sequence(const struct dwarf_lines *lines, uint64_t address)
{
	size_t low = PERCH__SEARCH(lines->nr_sequences, i, lines->sequence[i].start <= address);

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

	return mark + PERCH__SEARCH(sequence->nr_marks - 1, i, mark[1 + i].address <= address);
}

static void set_machine(struct machine *machine, const struct dwarf_lines *lines,
			const struct mark *mark)
{
	*machine = (struct machine){
		.cursor = { lines->program + mark->next, lines->end, lines->swapped, false },
		.lines = lines,
		.address = mark->address,
		.before = mark->address,
		.file = mark->file,
		.line = mark->line,
	};
}

int perch__dwarf_has_row(struct dwarf_unit *unit, uint64_t start, uint64_t end, bool *has)
{
	struct dwarf_lines *lines = rows_of(unit);

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
		while (step <= STEP_ROW && machine.address < end && !*has) {
			*has = step == STEP_ROW && machine.address >= start;
			if (machine.cursor.at == machine.cursor.end)
				break;
			machine.rows = 1;
			step = perch__line_run(&machine);
		}
	}
	return 0;
}

int perch__dwarf_next_row(struct dwarf_unit *unit, uint64_t address, uint64_t end, uint64_t *next)
{
	struct dwarf_lines *lines = rows_of(unit);
	const struct sequence *sequence;
	struct machine machine;

	*next = end;
	if (!lines || lines->error)
		return lines ? lines->error : -ENOMEM;
	sequence = find_sequence(lines, address);
	if (!sequence)
		return 0;
	set_machine(&machine, lines, find_mark(lines, sequence, address));
	while (machine.cursor.at < machine.cursor.end) {
		enum step step;

		machine.rows = 1;
		step = perch__line_run(&machine);
		if (step == STEP_ROW && machine.address > address && machine.address < end)
			*next = machine.address;
		if (step > STEP_ROW || (step == STEP_ROW && machine.address > address))
			break;
	}
	return 0;
}

int perch__dwarf_line(struct dwarf_unit *unit, uint64_t address, const char **file, uint32_t *line)
{
	struct dwarf_lines *lines = rows_of(unit);
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
		enum step step;

		machine.rows = 1;
		step = perch__line_run(&machine);
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

/* ---- addresses of a line ---- */

/* True if a path is the wanted one, or ends in it. */
static bool ends_in(const char *path, const char *wanted)
{
	const size_t length = strlen(path), tail = strlen(wanted);

	return tail && length >= tail && !strcmp(path + length - tail, wanted) &&
	       (length == tail || path[length - tail - 1] == '/');
}

/* Marks the files with a name: a bit for each. Returns NULL if there are none, or without memory.
 */
static uint8_t *find_files(struct dwarf_lines *lines, const char *source)
{
	const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source;
	uint8_t *files = perch__calloc(lines->nr_files / 8 + 1, 1);
	bool any = false;

	for (size_t i = 0; files && i < lines->nr_files; i++) {
		const char *path;

		if (!lines->file[i].name || !ends_in(lines->file[i].name, name) ||
		    path_of(lines, i, &path) || !path || !ends_in(path, source))
			continue;
		files[i / 8] |= (uint8_t)(1 << i % 8);
		any = true;
	}
	if (any)
		return files;
	free(files);
	return NULL;
}

static int visit_sequence(const struct dwarf_lines *lines, const struct sequence *sequence,
			  const uint8_t *files, struct line_search *search)
{
	uint32_t last = 0; /* the line of the row before, if it is of one of the files */
	struct machine machine;
	enum step step = STEP_ROW;
	int rc = 0;

	set_machine(&machine, lines, &lines->mark[sequence->mark]);
	while (step <= STEP_ROW && !rc) {
		const bool is_of = step == STEP_ROW && machine.file < lines->nr_files &&
				   files[machine.file / 8] >> machine.file % 8 & 1;

		if (is_of && machine.line > search->line &&
		    (!search->next || machine.line < search->next))
			search->next = machine.line;
		if (is_of && machine.line == search->line && last != machine.line)
			rc = search->visit(search->context, machine.address);
		if (step == STEP_ROW)
			last = is_of ? machine.line : 0;
		if (machine.cursor.at == machine.cursor.end || machine.address > sequence->end)
			break;
		machine.rows = 1;
		step = perch__line_run(&machine);
	}
	return rc;
}

int perch__dwarf_visit_unit_line(struct dwarf_unit *unit, struct line_search *search)
{
	struct dwarf_lines *lines = lines_of(unit);
	uint8_t *files;
	int rc = 0;

	if (!lines)
		return -ENOMEM;
	files = lines->error ? NULL : find_files(lines, search->source);
	search->has_file |= files != NULL;
	for (size_t i = 0; files && i < lines->nr_sequences && !rc; i++)
		rc = visit_sequence(lines, &lines->sequence[i], files, search);
	free(files);
	return rc;
}
