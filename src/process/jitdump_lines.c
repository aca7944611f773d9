/* SPDX-License-Identifier: MIT */
/*
 * Lines of functions of a jitdump. Their records are read when a line of a function is first asked
 * for.
 *
 * V8 writes addresses that are 0x40 too large: perf inject makes an ELF file of each function, with
 * the code at that offset, and old versions took the addresses as those of the file. The jitdump
 * does not say which addresses it has. An address less than 0x40 behind the start of a function is
 * not from V8, and one behind its end is. Without either, a line counts if both rules agree.
 */
#include "base/search.h"
#include "base/text.h"
#include "internal.h"

enum {
	ELF_HEADER = 0x40,
	RECORD_START = 32, /* type, size, time, address, number of lines */
	ENTRY_START = 16,  /* address, line, column */
	MAX_RECORD = 1 << 24,
	MAX_EXAMINED = 256, /* functions */
};

static int compare_line(const void *a, const void *b)
{
	const struct jit_line *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Versions of V8 write other bytes of their memory in place of the name. */
static bool is_name(const char *name)
{
	size_t left = strlen(name);

	while (left) {
		struct perch__character character = perch__next_character(name, left);

		if (!character.printable)
			return false;
		name += character.size;
		left -= character.size;
	}
	return true;
}

/* At most 7 bytes may follow the last entry, and only zeros. */
static bool is_end(const char *at, const char *end)
{
	static const char zeros[7];

	return (size_t)(end - at) <= sizeof(zeros) && !memcmp(at, zeros, (size_t)(end - at));
}

/* Takes the lines from a record. Returns false if it is damaged. */
static bool parse_lines(const struct perch_jitdump *jitdump, const struct jit_function *function,
			struct jit_lines *lines, size_t size, uint64_t nr)
{
	char *at = lines->record + RECORD_START, *end = lines->record + size;
	const char *file = NULL;

	for (uint64_t i = 0; i < nr; i++) {
		size_t left = (size_t)(end - at);
		const uint8_t *entry = (const uint8_t *)at;
		uint64_t address;
		char *name = at + ENTRY_START;
		struct jit_line *line = &lines->line[lines->nr];

		if (left <= ENTRY_START || !memchr(name, 0, left - ENTRY_START))
			return false;
		at = name + strlen(name) + 1;
		/* "\xff" is the file of the line before */
		if (strcmp(name, "\xff"))
			file = *name && is_name(name) ? name : NULL;
		address = perch__jitdump_u64(jitdump, entry);
		if (!file || address < function->address ||
		    address - function->address > function->size + ELF_HEADER)
			return false;
		*line = (struct jit_line){ .at = address - function->address,
					   .file = file,
					   .line = perch__jitdump_u32(jitdump, entry + 8),
					   .order = (uint32_t)i };
		lines->nr++;
	}
	return is_end(at, end);
}

/* Returns the lines of a function, which are none if its record is damaged; or NULL if out of
 * memory. */
static struct jit_lines *read_lines(struct perch_jitdump *jitdump,
				    const struct jit_function *function)
{
	size_t size = function->lines_size;
	bool readable = size >= RECORD_START && size <= MAX_RECORD;
	char *record = NULL;
	uint64_t nr = 0;
	struct jit_lines *lines;
	int rc = 0;

	if (readable)
		record = perch__jitdump_bytes(jitdump, function->lines_at, size, &rc);
	if (rc == -ENOMEM)
		return NULL;
	readable = record;
	if (record)
		nr = perch__jitdump_u64(jitdump, (const uint8_t *)record + 24);
	/* an entry has a name, with a NUL at its end */
	if (record && nr > (size - RECORD_START) / (ENTRY_START + 1)) {
		readable = false;
		nr = 0;
	}
	lines = calloc(1, sizeof(*lines) + nr * sizeof(lines->line[0]));
	if (!lines) {
		free(record);
		return NULL;
	}
	lines->record = record;
	if (!readable || !parse_lines(jitdump, function, lines, size, nr)) {
		jitdump->damaged++;
		jitdump->damaged_lines++;
		lines->nr = 0;
	}
	qsort(lines->line, lines->nr, sizeof(lines->line[0]), compare_line);
	return lines;
}

/* Returns 0 or -ENOMEM. A file that was closed has no more lines. */
static int need_lines(struct perch_jitdump *jitdump, struct jit_function *function)
{
	if (!function->lines_at || function->lines || jitdump->fd < 0)
		return 0;
	function->lines = read_lines(jitdump, function);
	return function->lines ? 0 : -ENOMEM;
}

/* Finds out whether addresses of lines are too large. */
static int examine_jitdump(struct perch_jitdump *jitdump)
{
	while (!jitdump->right_lines && jitdump->examined < jitdump->nr_functions &&
	       jitdump->examined < MAX_EXAMINED) {
		struct jit_function *function = &jitdump->function[jitdump->examined];
		const struct jit_lines *lines;

		if (need_lines(jitdump, function))
			return -ENOMEM;
		lines = function->lines;
		jitdump->examined++;
		if (!lines || !lines->nr)
			continue;
		jitdump->right_lines |= lines->line[0].at < ELF_HEADER;
		jitdump->large_lines |= lines->line[lines->nr - 1].at > function->size;
	}
	return 0;
}

/* Returns the last line at or before an offset in the code, or NULL. */
static const struct jit_line *find_lines(const struct jit_lines *lines, uint64_t offset)
{
	size_t low = PERCH__SEARCH(lines->nr, i, lines->line[i].at <= offset);

	return low ? &lines->line[low - 1] : NULL;
}

int perch_jitdump_find_line(struct perch_jitdump *jitdump, uint64_t offset, const char **file,
			    uint32_t *number)
{
	struct perch_jit_function found;
	struct jit_function *function;
	const struct jit_line *line, *other;

	*file = NULL;
	*number = 0;
	if (perch_jitdump_find(jitdump, offset, &found))
		return -ENOENT;
	function = &jitdump->function[found.number];
	if (examine_jitdump(jitdump) || need_lines(jitdump, function))
		return -ENOMEM;
	if (!function->lines)
		return -ENOENT;
	offset -= function->offset;
	line = find_lines(function->lines, offset);
	if (!jitdump->right_lines) {
		other = find_lines(function->lines, offset + ELF_HEADER);
		if (jitdump->large_lines)
			line = other;
		else if (line &&
			 (!other || line->line != other->line || strcmp(line->file, other->file)))
			line = NULL;
	}
	if (!line || !line->line || line->line > INT32_MAX)
		return -ENOENT;
	*file = line->file;
	*number = line->line;
	return 0;
}
