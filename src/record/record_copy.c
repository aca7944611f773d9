/* SPDX-License-Identifier: MIT */
/*
 * Copies a decoded record with its bytes. Pointers of the view into the bytes are moved to the same
 * offset of the copied bytes. Arrays elsewhere, as a merged call chain, are appended.
 */
#include <stdlib.h>

#include "internal.h"

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

#define MOVE(mover, pointer, size) ((pointer) = moved(mover, pointer, size))

static void move_text(struct mover *mover, struct perch_text *text)
{
	MOVE(mover, text->text, text->text ? text->length + 1u : 0);
}

static void move_read(struct mover *mover, struct perch_read_values *read)
{
	/* a single value is followed by the times, which are read from there */
	size_t words = read->nr * read->words_each;

	if (!(read->format & PERCH_FORMAT_GROUP))
		words += !!(read->format & PERCH_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(read->format & PERCH_FORMAT_TOTAL_TIME_RUNNING);
	MOVE(mover, read->words, words * sizeof(uint64_t));
}

static void move_registers(struct mover *mover, struct perch_registers *registers)
{
	MOVE(mover, registers->value, registers->nr * sizeof(uint64_t));
}

static void move_sample(struct mover *mover, struct perch_sample *sample)
{
	move_read(mover, &sample->read);
	MOVE(mover, sample->callchain.ip, sample->callchain.nr * sizeof(uint64_t));
	MOVE(mover, sample->raw.data, sample->raw.size);
	MOVE(mover, sample->branches.entry,
	     sample->branches.nr * sizeof(struct perch_branch_entry));
	MOVE(mover, sample->branches.counters, sample->branches.nr * sizeof(uint64_t));
	move_registers(mover, &sample->regs_user);
	MOVE(mover, sample->stack_user.data, sample->stack_user.size);
	move_registers(mover, &sample->regs_intr);
	MOVE(mover, sample->aux.data, sample->aux.size);
}

static void move_pointers(struct mover *mover, struct perch_record *record)
{
	switch (record->type) {
	case PERCH_RECORD_SAMPLE:
		move_sample(mover, &record->sample);
		break;
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
		move_text(mover, &record->mmap.filename);
		break;
	case PERCH_RECORD_COMM:
		move_text(mover, &record->comm.comm);
		break;
	case PERCH_RECORD_READ:
		move_read(mover, &record->read.values);
		break;
	case PERCH_RECORD_NAMESPACES:
		MOVE(mover, record->namespaces.link,
		     record->namespaces.nr * sizeof(struct perch_ns_link_info));
		break;
	case PERCH_RECORD_KSYMBOL:
		move_text(mover, &record->ksymbol.name);
		break;
	case PERCH_RECORD_CGROUP:
		move_text(mover, &record->cgroup.path);
		break;
	case PERCH_RECORD_TEXT_POKE:
		MOVE(mover, record->text_poke.before, record->text_poke.old_length);
		MOVE(mover, record->text_poke.after, record->text_poke.new_length);
		break;
	case PERCH_RECORD_CALLCHAIN_DEFERRED:
		MOVE(mover, record->deferred.ip, record->deferred.nr * sizeof(uint64_t));
		break;
	default:
		break;
	}
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
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for a copy of a record of %u bytes",
				       record->size);
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
