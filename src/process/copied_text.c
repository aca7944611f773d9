/* SPDX-License-Identifier: MIT */
/*
 * Programs that copy their own text to anonymous memory at start, for large pages (node
 * --use-largepages, PHP's opcache.huge_code_pages, iodlr, BOLT's hugify): they map memory over a
 * part of the text, copy the text back, and make it executable. The kernel's record of that is one
 * of anonymous memory. It has the bytes of the file at these addresses.
 */
#include "internal.h"

enum { MAX_PIECES = 64 };
#define LARGE_PAGE (2ull << 20)

/* A file whose byte at an address has the offset address + shift. */
struct copied_text {
	struct perch_dso *dso;
	uint64_t shift;
};

static bool is_file(const struct map *map)
{
	return map && perch_dso_is(map->dso, PERCH_DSO_IS_FILE);
}

static bool is_generated(const struct map *map)
{
	return map && perch_dso_is(map->dso, PERCH_DSO_IS_MEMORY) && !map->not_executable;
}

static bool text_of_file(const struct map *map, struct copied_text *text)
{
	if (!is_file(map))
		return false;
	*text = (struct copied_text){ map->dso, map->offset - map->start };
	return true;
}

static bool same_copy(const struct copied_text *a, const struct copied_text *b)
{
	return a->dso == b->dso && a->shift == b->shift;
}

/* What was executable at the addresses, before data took its place. */
static bool text_of_map(const struct map *map, struct copied_text *text)
{
	if (map && map->text) {
		*text = (struct copied_text){ map->text, map->text_shift };
		return true;
	}
	return map && !map->not_executable && text_of_file(map, text);
}

/* The range lies inside of the text of one file. */
static bool find_below(const struct space *space, const struct map *map, struct copied_text *text)
{
	const struct map *at = perch__space_find(space, map->start);

	if (!text_of_map(at, text))
		return false;
	for (int i = 0; at->end < map->end; i++) {
		struct copied_text next;

		at = perch__space_find(space, at->end);
		if (i == MAX_PIECES || !text_of_map(at, &next) || !same_copy(text, &next))
			return false;
	}
	return true;
}

/*
 * Nothing is recorded when a library is unmapped, and a compiler may map memory at its addresses
 * later. Then the memory has not both ends at the boundary of a large page, as copies have. A
 * program is never unmapped.
 */
static bool may_be_unmapped(const struct map *map, const struct copied_text *text)
{
	const char *slash = strrchr(text->dso->path, '/');

	return strstr(slash ? slash : text->dso->path, ".so") &&
	       (map->start % LARGE_PAGE || map->end % LARGE_PAGE);
}

/* True if what lies between two mappings of a file continues them: its text, if one of them is. */
static bool continues(const struct map *before, const struct map *after, struct copied_text *text)
{
	struct copied_text other;

	return text_of_file(before, text) && text_of_file(after, &other) &&
	       same_copy(text, &other) && !(before->not_executable && after->not_executable);
}

static bool find_between(const struct space *space, const struct map *map, struct copied_text *text)
{
	return map->start && continues(perch__space_find(space, map->start - 1),
				       perch__space_find(space, map->end), text);
}

void perch__find_copied_text(const struct space *space, struct map *map)
{
	struct copied_text text;

	/* after exec, what is mapped at an address may be that of the old program */
	if (!perch_dso_is(map->dso, PERCH_DSO_IS_MEMORY) || space->before)
		return;
	if ((!find_below(space, map, &text) && !find_between(space, map, &text)) ||
	    may_be_unmapped(map, &text))
		return;
	if (map->not_executable) {
		map->text = text.dso;
		map->text_shift = text.shift;
	} else {
		map->dso = text.dso;
		map->offset = map->start + text.shift;
	}
}

int perch__insert_copied_text(struct space *space, const struct map *after)
{
	const struct map *map = after;
	struct map copied = { .end = after->start };
	struct copied_text text;
	int i = 0;

	if (!is_file(after) || space->before)
		return 0;
	do
		map = map->start ? perch__space_find(space, map->start - 1) : NULL;
	while (is_generated(map) && i++ < MAX_PIECES);
	if (!i || !continues(map, after, &text))
		return 0;
	copied.start = map->end;
	if (may_be_unmapped(&copied, &text))
		return 0;
	copied.dso = text.dso;
	copied.offset = copied.start + text.shift;
	return perch__space_insert(space, &copied);
}
