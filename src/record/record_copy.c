/* SPDX-License-Identifier: MIT */
/*
 * Copies a decoded record with its bytes. Pointers of the view into the bytes are moved to the same
 * offset of the copied bytes. Arrays elsewhere, as a merged call chain, are appended.
 */
#include <stdlib.h>

#include "base/no_memory.h"
#include "fields.h"

struct copied {
	struct perch_record record;
	struct perch_parse_info parse_info;
	_Alignas(8) char bytes[]; /* the record, then the arrays that are not in it */
};

/* Visits the pointers of a record: first to find the size of the copy, then to move them. */
struct mover {
	const char *from; /* bytes of the record */
	size_t size;
	char *to;    /* bytes of the copy; NULL while the size is measured */
	size_t used; /* bytes of the copy so far */
};

static const void *moved(struct mover *mover, const void *array, size_t size)
{
	uintptr_t at = (uintptr_t)array, from = (uintptr_t)mover->from;
	const size_t start = mover->used;

	if (!array)
		return NULL;
	if (at >= from && at - from <= mover->size && size <= mover->size - (at - from))
		return mover->to ? mover->to + (at - from) : array;
	mover->used += perch__padded(size);
	if (!mover->to)
		return array;
	if (size)
		memcpy(mover->to + start, array, size);
	return mover->to + start;
}

/* Moves the pointer that is at this place. */
static void move_pointer(struct mover *mover, void *pointer, size_t size)
{
	const void *array;

	memcpy(&array, pointer, sizeof(array));
	array = moved(mover, array, size);
	memcpy(pointer, &array, sizeof(array));
}

static void move_text(struct mover *mover, struct perch_text *text)
{
	move_pointer(mover, &text->text, text->text ? text->length + 1u : 0);
}

static void move_read(struct mover *mover, struct perch_read_values *read)
{
	/* a single value is followed by the times, which are read from there */
	size_t words = read->nr * read->words_each;

	if (!(read->format & PERCH_FORMAT_GROUP))
		words += !!(read->format & PERCH_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(read->format & PERCH_FORMAT_TOTAL_TIME_RUNNING);
	move_pointer(mover, &read->words, words * sizeof(uint64_t));
}

static void move_pointers(struct mover *mover, struct perch_record *record)
{
	const struct perch__row *row = perch__rows(record->type);

	for (; row && !row->is_record; row++) {
		void *member = (char *)record + row->offset;

		if (row->source == PERCH__SOURCE_TEXT)
			move_text(mover, member);
		else if (row->source == PERCH__SOURCE_READ)
			move_read(mover, member);
		else if (row->source == PERCH__SOURCE_ARRAY)
			move_pointer(mover, member,
				     perch__number_of_items(record, row) * row->size);
	}
	if (record->type == PERCH_RECORD_SAMPLE) /* a part of branch_stack in an array of its own */
		move_pointer(mover, &record->sample.branches.counters,
			     record->sample.branches.nr * sizeof(uint64_t));
}

int perch_record_copy(struct perch_record **copy, const struct perch_record *record,
		      struct perch_error *err)
{
	struct mover mover = { .from = record->bytes, .size = record->size };
	struct perch_record view = *record;
	struct copied *copied;

	*copy = NULL;
	mover.used = perch__padded(record->size);
	move_pointers(&mover, &view);
	copied = malloc(sizeof(*copied) + mover.used);
	if (!copied)
		return PERCH__NO_MEMORY(err, "for a copy of a record of %u bytes", record->size);
	copied->record = *record;
	copied->parse_info = *record->parse_info;
	copied->record.parse_info = &copied->parse_info;
	copied->record.bytes = copied->bytes;
	if (record->size)
		memcpy(copied->bytes, record->bytes, record->size);
	mover.to = copied->bytes;
	mover.used = perch__padded(record->size);
	move_pointers(&mover, &copied->record);
	*copy = &copied->record;
	return 0;
}

void perch_record_free(struct perch_record *copy)
{
	free(copy); /* the first member of struct copied */
}
