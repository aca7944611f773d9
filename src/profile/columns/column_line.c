/* SPDX-License-Identifier: MIT */
/* Columns of source files and lines. */
#include <inttypes.h>

#include "profile/internal.h"

static uint64_t position_value(const struct perch_profile *profile, struct frame_id frame)
{
	const struct position *position = &profile->position[frame.nr];

	if (position->file)
		return position->hash;
	/* an offset of this function */
	return perch__hash_pair(profile->names_seed, position->function, position->hash);
}

static const struct position *position_of(const struct perch_profile *profile,
					  const struct cell *cell)
{
	return &profile->position[cell->row->numbers[ROW_FRAME]];
}

/* Without a line, the function and the offset in it, as in perf. */
static const char *srcline_text(struct perch_profile *profile, const struct cell *cell,
				char *buffer, size_t size)
{
	const struct perch_frame *frame = &cell->row->frame;
	const struct position *position = position_of(profile, cell);

	if (position->file)
		snprintf(buffer, size, "%s:%" PRIu32, position->file, position->line);
	else if (frame->symbol)
		snprintf(buffer, size, "%s+%" PRIu64,
			 perch_symbols_name(profile->symbols, frame->symbol),
			 position->offset - frame->symbol->start);
	else
		snprintf(buffer, size, "%s[%" PRIx64 "]",
			 perch_symbols_dso_name(profile->symbols, frame->dso), position->offset);
	return buffer;
}

const char *perch_profile_frame_line(struct perch_profile *profile, const struct perch_frame *frame,
				     char *buffer, size_t size)
{
	const struct position *position;

	buffer[0] = 0;
	if (!profile->with_lines || !frame->dso)
		return buffer;
	position = &profile->position[frame->number];
	if (position->file)
		snprintf(buffer, size, "%s:%" PRIu32, position->file, position->line);
	else if (frame->symbol && position->offset)
		snprintf(buffer, size, "+%" PRIu64, position->offset - frame->symbol->start);
	perch_clean_text(buffer, buffer, size);
	return buffer;
}

static int srcline_compare(struct perch_profile *profile, const struct cell *a,
			   const struct cell *b)
{
	const struct position *left = position_of(profile, a), *right = position_of(profile, b);
	int rc;

	if (!left->file != !right->file)
		return left->file ? -1 : 1;
	rc = left->file ? strcmp(left->file, right->file) : 0;
	if (!rc && left->line != right->line)
		rc = left->line < right->line ? -1 : 1;
	return rc ? rc : (left->offset > right->offset) - (left->offset < right->offset);
}

const struct perch_column_methods perch__column_srcline = {
	.frame_value = position_value,
	.compare = srcline_compare,
	.text = srcline_text,
};

/* ---- srcfile ---- */

static uint64_t file_value(const struct perch_profile *profile, struct frame_id frame)
{
	const char *file = profile->position[frame.nr].file;

	return file ? perch__hash_text(profile->names_seed, file) : 0;
}

static const char *srcfile_text(struct perch_profile *profile, const struct cell *cell,
				char *buffer, size_t size)
{
	const char *file = position_of(profile, cell)->file;

	snprintf(buffer, size, "%s", file ? file : "");
	return buffer;
}

static int srcfile_compare(struct perch_profile *profile, const struct cell *a,
			   const struct cell *b)
{
	const char *left = position_of(profile, a)->file, *right = position_of(profile, b)->file;

	return strcmp(left ? left : "", right ? right : "");
}

const struct perch_column_methods perch__column_srcfile = {
	.frame_value = file_value,
	.compare = srcfile_compare,
	.text = srcfile_text,
};
