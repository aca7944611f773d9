/* SPDX-License-Identifier: MIT */
/*
 * Walks over entries. Most entries are of no interest, so what passes over them is short: an
 * abbreviation knows the size of its entries, and where in them the sibling is.
 */
#include "dwarf.h"

/* Reads the number that a step begins with. */
static uint64_t read_number(struct cursor *cursor, const struct dwarf_step *step)
{
	return step->size ? perch__read(cursor, step->size) : perch__read_uleb(cursor);
}

uint64_t perch__dwarf_step(struct cursor *cursor, const struct dwarf_step *step)
{
	perch__skip(cursor, step->bytes);
	switch ((enum dwarf_skip)step->skip) {
	case SKIP_NONE:
		break;
	case SKIP_LEB:
		perch__read_uleb(cursor); /* signed numbers have as many bytes */
		break;
	case SKIP_TEXT:
		perch__read_text(cursor);
		break;
	case SKIP_BLOCK:
		perch__skip(cursor, read_number(cursor, step));
		break;
	case SKIP_SIBLING:
		return read_number(cursor, step);
	}
	return 0;
}

/* Skips the attributes of an entry one after the other. */
static uint64_t skip_steps(const struct abbreviations *table,
			   const struct abbreviation *abbreviation, struct cursor *cursor)
{
	uint64_t sibling = 0;

	for (uint32_t i = 0; i < abbreviation->nr_steps; i++) {
		uint64_t found = perch__dwarf_step(cursor, &table->step[abbreviation->step + i]);

		sibling = found ? found : sibling;
	}
	return sibling;
}

inline uint64_t perch__dwarf_skip(const struct abbreviations *table,
				  const struct abbreviation *abbreviation, struct cursor *cursor)
{
	struct cursor sibling = *cursor;

	if (!abbreviation->size || abbreviation->size > cursor->end - cursor->at)
		return skip_steps(table, abbreviation, cursor);
	cursor->at += abbreviation->size;
	sibling.at += abbreviation->sibling;
	return abbreviation->sibling ? perch__read(&sibling, 4) : 0;
}

/* Passes over what is inside of an entry. */
static int skip_inside(struct dwarf_walk *walk)
{
	struct dwarf_walk inside = *walk;
	const struct abbreviation *abbreviation;
	int rc;

	inside.stops = inside.goes = 0;
	inside.goes_if_unlinked = true;
	inside.depth = 1;
	rc = perch__dwarf_next(&inside, &abbreviation);
	walk->cursor = inside.cursor;
	return rc;
}

inline int perch__dwarf_pass(struct dwarf_walk *walk, const struct abbreviation *abbreviation,
			     uint64_t sibling)
{
	struct cursor *cursor = &walk->cursor;

	if (cursor->failed)
		return -ENOTSUP;
	if (!abbreviation->has_children)
		return 0;
	if (abbreviation->kind & walk->goes)
		walk->depth++;
	/* a sibling that is not behind the entry is none, because a walk would not end */
	else if (sibling > (uint64_t)(cursor->at - walk->start) &&
		 sibling <= (uint64_t)(cursor->end - walk->start))
		cursor->at = walk->start + sibling;
	else if (walk->goes_if_unlinked)
		walk->depth++;
	else
		return skip_inside(walk);
	return 0;
}

int perch__dwarf_next(struct dwarf_walk *walk, const struct abbreviation **found)
{
	const struct abbreviations *table = walk->table;
	const uint8_t *at = walk->cursor.at, *const end = walk->cursor.end;
	const unsigned stops = walk->stops, goes = walk->goes;
	size_t depth = walk->depth;

	*found = NULL;
	while (depth && at < end) {
		const uint8_t *entry = at;
		const struct abbreviation *abbreviation;
		uint64_t code = *at++;

		if (code >= 0x80) {
			walk->cursor.at = entry;
			code = perch__read_long_uleb(&walk->cursor);
			at = walk->cursor.at;
		}
		if (!code) {
			depth--;
			continue;
		}
		if (code >= table->nr_codes)
			return -ENOTSUP;
		abbreviation = &table->code[code];
		/* most entries */
		if (!(abbreviation->kind & stops) && abbreviation->size &&
		    abbreviation->size <= end - at &&
		    (!abbreviation->has_children || (abbreviation->kind & goes))) {
			at += abbreviation->size;
			depth += abbreviation->has_children;
			continue;
		}
		if (!abbreviation->tag)
			return -ENOTSUP;
		walk->cursor.at = at;
		walk->depth = depth;
		if (abbreviation->kind & stops) {
			walk->entry = entry;
			*found = abbreviation;
			return 0;
		}
		if (perch__dwarf_pass(walk, abbreviation,
				      perch__dwarf_skip(table, abbreviation, &walk->cursor)))
			return -ENOTSUP;
		at = walk->cursor.at;
		depth = walk->depth;
	}
	walk->cursor.at = at;
	walk->depth = depth;
	return 0;
}
