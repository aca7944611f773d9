/* SPDX-License-Identifier: MIT */
/* A look at the headers of what is about to be written: counts, times, and which binaries were
 * mapped. */
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define NAMES_MAX (1u << 16)

static uint64_t hash(const char *name)
{
	uint64_t value = 0xcbf29ce484222325;

	for (; *name; name++)
		value = (value ^ (unsigned char)*name) * 0x100000001b3;
	return value ^ value >> 32;
}

static size_t slot_of(const struct record_names *names, const char *name)
{
	size_t at = hash(name) & (names->slots - 1);

	while (names->slot[at] && strcmp(names->slot[at], name))
		at = (at + 1) & (names->slots - 1);
	return at;
}

static bool grow(struct record_names *names)
{
	struct record_names bigger = { .nr = names->nr,
				       .slots = names->slots ? names->slots * 2 : 64 };

	bigger.slot = calloc(bigger.slots, sizeof(*bigger.slot));
	if (!bigger.slot)
		return false;
	for (size_t i = 0; i < names->slots; i++)
		if (names->slot[i])
			bigger.slot[slot_of(&bigger, names->slot[i])] = names->slot[i];
	free(names->slot);
	*names = bigger;
	return true;
}

/* Names come from the recorded programs: a bound keeps one of them from filling our memory. */
void record_add_name(struct record_names *names, const char *name)
{
	size_t at;

	if (names->nr >= NAMES_MAX || (names->nr * 2 >= names->slots && !grow(names)))
		return;
	at = slot_of(names, name);
	if (names->slot[at])
		return;
	names->slot[at] = strdup(name);
	names->nr += names->slot[at] != NULL;
}

void record_clear_names(struct record_names *names)
{
	for (size_t i = 0; i < names->slots; i++)
		free(names->slot[i]);
	free(names->slot);
	*names = (struct record_names){ 0 };
}

/* The byte at an offset of a batch that may be in two pieces. */
static const char *at(const struct iovec pieces[2], size_t offset)
{
	if (offset < pieces[0].iov_len)
		return (const char *)pieces[0].iov_base + offset;
	return (const char *)pieces[1].iov_base + (offset - pieces[0].iov_len);
}

/* Words are aligned, and so never in two pieces. */
static uint64_t word(const struct iovec pieces[2], size_t offset)
{
	return *(const uint64_t *)at(pieces, offset);
}

static const void *whole(struct record *record, const struct iovec pieces[2], size_t offset,
			 uint16_t size)
{
	size_t first = pieces[0].iov_len;

	if (offset >= first || offset + size <= first)
		return at(pieces, offset);
	first -= offset;
	memcpy(record->wrapped, at(pieces, offset), first);
	memcpy((char *)record->wrapped + first, pieces[1].iov_base, size - first);
	return record->wrapped;
}

static void note_mapping(struct record *record, const void *bytes, uint16_t size)
{
	struct perch_record mapping;
	const char *name;

	if (perch_record_decode(&mapping, &record->told_layout, bytes, size, NULL) < 0 ||
	    mapping.misc & PERCH_MISC_MMAP_DATA)
		return;
	name = mapping.mmap.filename.text;
	if (name[0] == '/' && name[1] != '/')
		record_add_name(&record->dsos, name);
	else if (!strcmp(name, "[vdso]"))
		record_add_name(&record->dsos, name);
}

static void note_sample_time(struct record *record, uint64_t time)
{
	if (!record->first_time || time < record->first_time)
		record->first_time = time;
	if (time > record->last_time)
		record->last_time = time;
}

/* What does not fit into memory is missing in the files to come, which is told. */
static void keep_side(struct record *record, const struct iovec pieces[2], size_t offset,
		      uint16_t size)
{
	if (record_sideband_add(&record->side, whole(record, pieces, offset, size), size) < 0)
		record->side.forgotten++;
}

static void note_other(struct record *record, size_t ring, const struct iovec pieces[2],
		       size_t offset, const struct perch_record_header *header)
{
	uint64_t *lost = &record->lost_at[record->nr_file_events * record->nr_rings + ring];

	if (record_keeps_sideband(record) && record_sideband_has(header->type))
		keep_side(record, pieces, offset, header->size);
	switch (header->type) {
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
		note_mapping(record, whole(record, pieces, offset, header->size), header->size);
		break;
	case PERCH_RECORD_LOST:
		if (header->size >= 24)
			*lost += word(pieces, offset + 16);
		break;
	case PERCH_RECORD_LOST_SAMPLES:
		if (header->size >= 16)
			*lost += word(pieces, offset + 8);
		break;
	case PERCH_RECORD_THROTTLE:
		record->throttled++;
		break;
	}
}

void record_scan(struct record *record, size_t ring, const struct iovec pieces[2])
{
	size_t bytes = pieces[0].iov_len + pieces[1].iov_len;
	size_t time = 8 + 8 * (size_t)record->parse_info.sample_time_word;
	size_t first = bytes, last = bytes;
	uint64_t samples = 0;
	uint16_t size;

	for (size_t offset = 0; offset < bytes; offset += size) {
		const struct perch_record_header *header = (const void *)at(pieces, offset);

		size = header->size;
		if (header->type != PERCH_RECORD_SAMPLE) {
			note_other(record, ring, pieces, offset, header);
			continue;
		}
		samples++;
		last = offset;
		if (first == bytes)
			first = offset;
	}
	record->samples += samples;
	/* within a ring they lie in the order of time */
	if (samples && record->samples_alike && record->parse_info.sample_time_word >= 0 &&
	    first + time + 8 <= bytes && last + time + 8 <= bytes) {
		note_sample_time(record, word(pieces, first + time));
		note_sample_time(record, word(pieces, last + time));
	}
}
