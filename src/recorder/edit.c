/* SPDX-License-Identifier: MIT */
/*
 * Records that are written in place of those of the rings: MMAP2 with the build id that the
 * recorder has read, as the kernel writes them for events with attr.build_id. The kernel lets
 * nobody write into a ring, so the pieces of the ring are split around copies.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/kernel/mmap_build_id.h"
#include "scan.h"

/* Returns a copy of the record, or NULL without memory. It is valid until the next one is made. */
static char *add_edit(struct recorder_edits *edits, size_t ring, size_t offset, const void *bytes,
		      uint16_t size)
{
	struct recorder_edit *added;

	if (PERCH__ARRAY_RESERVE(edits->bytes, edits->bytes_capacity, edits->used + size))
		return NULL;
	added = PERCH__ARRAY_APPEND(edits->edit, edits->nr, edits->capacity);
	if (!added)
		return NULL;
	*added = (struct recorder_edit){ ring, offset, edits->used, size };
	edits->used += size;
	return memcpy(edits->bytes + added->at, bytes, size);
}

static void set_build_id(struct perch_record *mapping, const struct recorder_file_id *file)
{
	struct perch_mmap_record *mmap = &mapping->mmap;

	mapping->misc |= PERCH_MISC_MMAP_BUILD_ID;
	mmap->build_id_size = file->size;
	memcpy(mmap->build_id, file->bytes, sizeof(mmap->build_id));
	mmap->major = mmap->minor = 0;
	mmap->inode = mmap->inode_generation = 0;
}

/* Finds the build id of the mapping as the record has it. Returns NULL if there is none. */
static const struct recorder_file_id *find_id(struct recorder_ids *ids,
					      const struct perch_record *mapping, uint16_t size,
					      uint8_t id[PERCH__MMAP_BUILD_ID_BYTES])
{
	const struct recorder_file_id *file;

	if (mapping->type != PERCH_RECORD_MMAP2 || mapping->mmap.build_id_size ||
	    size < PERCH__MMAP_BUILD_ID_AT + PERCH__MMAP_BUILD_ID_BYTES)
		return NULL;
	file = perch__recorder_ids_find(ids, &mapping->mmap);
	return file && perch__put_mmap_build_id(id, file->bytes, file->size) ? file : NULL;
}

const void *perch__recorder_edit_mapping(struct recorder_edits *edits, struct recorder_ids *ids,
					 struct perch_record *mapping, size_t ring, size_t offset,
					 const void *bytes, uint16_t size)
{
	const struct perch_record_header *header = bytes;
	uint8_t id[PERCH__MMAP_BUILD_ID_BYTES];
	const struct recorder_file_id *file = find_id(ids, mapping, size, id);
	struct perch_record_header *edited;
	char *copy;

	if (!file && header->misc == mapping->misc)
		return bytes;
	copy = add_edit(edits, ring, offset, bytes, size);
	if (!copy)
		return bytes;
	if (file) {
		memcpy(copy + PERCH__MMAP_BUILD_ID_AT, id, sizeof(id));
		set_build_id(mapping, file);
	}
	edited = (void *)copy;
	edited->misc = mapping->misc;
	return copy;
}

void perch__recorder_edit_in_place(struct recorder_ids *ids,
				   const struct perch_parse_info *parse_info, char *bytes,
				   size_t size)
{
	uint8_t id[PERCH__MMAP_BUILD_ID_BYTES];
	struct perch_record_header *header;
	struct perch_record mapping;

	for (size_t at = 0; at < size; at += header->size) {
		header = (void *)(bytes + at);
		if (header->type != PERCH_RECORD_MMAP2 ||
		    perch_record_decode(&mapping, parse_info, header, header->size, NULL) < 0 ||
		    !find_id(ids, &mapping, header->size, id))
			continue;
		memcpy(bytes + at + PERCH__MMAP_BUILD_ID_AT, id, sizeof(id));
		header->misc |= PERCH_MISC_MMAP_BUILD_ID;
	}
}

static size_t put_piece(struct iovec *to, char *from, size_t size)
{
	if (!size)
		return 0;
	*to = (struct iovec){ from, size };
	return 1;
}

/* Puts the bytes of a ring from `from` to `end`. */
static size_t put_range(struct iovec *to, const struct iovec pieces[2], size_t from, size_t end)
{
	size_t first = pieces[0].iov_len, nr = 0;

	if (from < first)
		nr = put_piece(to, (char *)pieces[0].iov_base + from,
			       (end < first ? end : first) - from);
	if (end > first) {
		from = from > first ? from - first : 0;
		nr += put_piece(to + nr, (char *)pieces[1].iov_base + from, end - first - from);
	}
	return nr;
}

size_t perch__recorder_edits_splice(const struct recorder_edits *edits, size_t *next, size_t ring,
				    const struct iovec pieces[2], struct iovec *to)
{
	size_t bytes = pieces[0].iov_len + pieces[1].iov_len, at = 0, nr = 0;

	for (; *next < edits->nr && edits->edit[*next].ring == ring; ++*next) {
		const struct recorder_edit *edit = &edits->edit[*next];

		nr += put_range(to + nr, pieces, at, edit->offset);
		nr += put_piece(to + nr, edits->bytes + edit->at, edit->size);
		at = edit->offset + edit->size;
	}
	return nr + put_range(to + nr, pieces, at, bytes);
}

void perch__recorder_edits_clear(struct recorder_edits *edits)
{
	free(edits->edit);
	free(edits->bytes);
	*edits = (struct recorder_edits){ 0 };
}
