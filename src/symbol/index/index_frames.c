/* SPDX-License-Identifier: MIT */
/*
 * Frames of addresses in an index: what was found in debug information. After the head are the
 * addresses in their order, the frames of all, and the texts. The text at 0 is none.
 *
 * New addresses are collected while frames are looked up. When the debug information is closed, a
 * file with those of the old one and the new ones is written. Of two processes that do so at once,
 * the later one wins, and the addresses of the other are found once more.
 */
#include <string.h>

#include "base/search.h"
#include "index.h"

enum { MOST_ADDRESSES = 1 << 18 };

struct frames_head {
	uint64_t nr, nr_frames; /* addresses and frames */
};

struct stored_address {
	uint64_t offset;
	uint32_t first, nr; /* frames */
};

struct stored_frame {
	uint32_t function, file; /* offsets in the texts; 0: unknown */
	uint32_t line;
	uint32_t zero;
};

/* An address that was added. */
struct added_address {
	uint64_t offset;
	size_t first, nr;
};

struct frame_index {
	struct index_key key;
	char *bytes; /* of the file; NULL: none */
	const struct stored_address *address;
	const struct stored_frame *frame;
	const char *texts;
	size_t nr;
	struct added_address *added;
	size_t nr_added, added_capacity;
	struct debug_frame *added_frame;
	size_t nr_added_frames, frames_capacity;
};

/* ---- reading ---- */

static bool check_addresses(const struct frame_index *index, const struct frames_head *head)
{
	for (size_t i = 0; i < head->nr; i++) {
		const struct stored_address *at = &index->address[i];

		if ((i && at->offset <= at[-1].offset) || at->nr > MAX_DEBUG_FRAMES ||
		    at->first > head->nr_frames || at->nr > head->nr_frames - at->first)
			return false;
	}
	return true;
}

static bool check_frames(const struct frame_index *index, size_t nr, size_t texts_size)
{
	for (size_t i = 0; i < nr; i++)
		if (index->frame[i].function >= texts_size || index->frame[i].file >= texts_size)
			return false;
	return true;
}

/* Finds the parts in the bytes. Returns false if they are damaged. */
static bool find_parts(struct frame_index *index, size_t size)
{
	struct frames_head head;
	size_t addresses, frames;

	if (size < sizeof(head))
		return false;
	memcpy(&head, index->bytes, sizeof(head));
	size -= sizeof(head);
	if (head.nr > size / sizeof(*index->address))
		return false;
	addresses = head.nr * sizeof(*index->address);
	size -= addresses;
	if (head.nr_frames > size / sizeof(*index->frame))
		return false;
	frames = head.nr_frames * sizeof(*index->frame);
	index->address = (const void *)(index->bytes + sizeof(head));
	index->frame = (const void *)(index->bytes + sizeof(head) + addresses);
	index->texts = index->bytes + sizeof(head) + addresses + frames;
	index->nr = head.nr;
	return check_addresses(index, &head) && check_frames(index, head.nr_frames, size - frames);
}

struct frame_index *perch__frame_index_new(const struct index_key *key, char *bytes, size_t size)
{
	struct frame_index *index = perch__calloc(1, sizeof(*index));

	if (!index) {
		free(bytes);
		return NULL;
	}
	index->key = *key;
	index->bytes = bytes;
	if (index->bytes && !find_parts(index, size)) {
		free(index->bytes);
		*index = (struct frame_index){ .key = *key };
	}
	return index;
}

struct frame_index *perch__frame_index_open(const struct index_key *key)
{
	size_t size = 0;
	char *bytes = perch__index_read(key, &size);

	return perch__frame_index_new(key, bytes, size);
}

bool perch__frame_index_is_stored(const struct frame_index *index)
{
	return index->bytes;
}

static const char *text_at(const struct frame_index *index, uint32_t offset)
{
	return offset ? index->texts + offset : NULL;
}

int perch__frame_index_find(const struct frame_index *index, uint64_t offset,
			    struct debug_frame frame[MAX_DEBUG_FRAMES])
{
	size_t low = PERCH__SEARCH(index->nr, i, index->address[i].offset < offset);
	const struct stored_address *at;

	if (low == index->nr || index->address[low].offset != offset)
		return -ENOENT;
	at = &index->address[low];
	for (uint32_t i = 0; i < at->nr; i++) {
		const struct stored_frame *from = &index->frame[at->first + i];

		frame[i] = (struct debug_frame){
			.function = text_at(index, from->function),
			.file = text_at(index, from->file),
			.line = from->line,
		};
	}
	return (int)at->nr;
}

/* ---- adding ---- */

void perch__frame_index_add(struct frame_index *index, uint64_t offset,
			    const struct debug_frame *frame, size_t nr)
{
	struct added_address *added;

	if (index->nr + index->nr_added >= MOST_ADDRESSES ||
	    PERCH__ARRAY_RESERVE(index->added_frame, index->frames_capacity,
				 index->nr_added_frames + nr))
		return;
	added = PERCH__ARRAY_APPEND(index->added, index->nr_added, index->added_capacity);
	if (!added)
		return;
	*added = (struct added_address){ offset, index->nr_added_frames, nr };
	if (nr)
		memcpy(index->added_frame + index->nr_added_frames, frame, nr * sizeof(*frame));
	index->nr_added_frames += nr;
}

/* ---- writing ---- */

/* What is written. Texts are found by their contents, so each is there once. */
struct frame_writer {
	struct stored_address *address;
	struct stored_frame *frame;
	size_t nr, nr_frames;
	char *text;
	size_t text_size, text_capacity;
	uint32_t *offset; /* of the texts, by number */
	size_t nr_texts, texts_capacity;
	struct perch__hash_table table; /* text -> number */
	bool failed;
};

static bool same_text(const void *items, uint32_t number, const void *key)
{
	const struct frame_writer *writer = items;

	return !strcmp(writer->text + writer->offset[number], key);
}

/* Returns the offset of a text, which is added if it is new. */
static uint32_t offset_of(struct frame_writer *writer, const char *text)
{
	uint64_t hash = text ? perch__hash_text(writer->table.seed, text) : 0;
	uint32_t number = text ? perch__hash_find(&writer->table, hash, same_text, writer, text)
			       : PERCH__HASH_NONE;
	size_t size = text ? strlen(text) + 1 : 1, at = writer->text_size;

	if (number != PERCH__HASH_NONE)
		return writer->offset[number];
	if (!text && at)
		return 0;
	if (PERCH__ARRAY_RESERVE_MAX(writer->text, writer->text_capacity, at + size,
				     INDEX_BYTES_MAX) ||
	    PERCH__ARRAY_RESERVE(writer->offset, writer->texts_capacity, writer->nr_texts + 1) ||
	    (text && perch__hash_add(&writer->table, hash, (uint32_t)writer->nr_texts))) {
		writer->failed = true;
		return 0;
	}
	memcpy(writer->text + at, text ? text : "", size);
	writer->text_size += size;
	writer->offset[writer->nr_texts++] = (uint32_t)at;
	return (uint32_t)at;
}

static void write_address(struct frame_writer *writer, uint64_t offset,
			  const struct debug_frame *frame, size_t nr)
{
	writer->address[writer->nr++] =
		(struct stored_address){ offset, (uint32_t)writer->nr_frames, (uint32_t)nr };
	for (size_t i = 0; i < nr && !writer->failed; i++)
		writer->frame[writer->nr_frames++] = (struct stored_frame){
			.function = offset_of(writer, frame[i].function),
			.file = offset_of(writer, frame[i].file),
			.line = frame[i].line,
		};
}

static int by_offset(const void *left, const void *right)
{
	const struct added_address *a = left, *b = right;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Merges the addresses of the file and the new ones. */
static void merge_addresses(struct frame_writer *writer, const struct frame_index *index)
{
	struct debug_frame frame[MAX_DEBUG_FRAMES];
	size_t old = 0, added = 0;

	while (old < index->nr || added < index->nr_added) {
		const struct added_address *next = &index->added[added];

		if (added == index->nr_added ||
		    (old < index->nr && index->address[old].offset < next->offset)) {
			uint64_t offset = index->address[old++].offset;
			int nr = perch__frame_index_find(index, offset, frame);

			write_address(writer, offset, frame, (size_t)nr);
			continue;
		}
		/* the same address may have been looked up twice */
		if (!writer->nr || writer->address[writer->nr - 1].offset != next->offset)
			write_address(writer, next->offset,
				      next->nr ? index->added_frame + next->first : NULL, next->nr);
		added++;
	}
}

static size_t frames_of_file(const struct frame_index *index)
{
	size_t nr = 0;

	for (size_t i = 0; i < index->nr; i++)
		nr += index->address[i].nr;
	return nr;
}

/* Returns what is before the texts, or NULL if out of memory. */
static char *join_parts(const struct frame_writer *writer, size_t *size)
{
	struct frames_head head = { writer->nr, writer->nr_frames };
	size_t addresses = writer->nr * sizeof(*writer->address);
	size_t frames = writer->nr_frames * sizeof(*writer->frame);
	char *bytes;

	*size = sizeof(head) + addresses + frames;
	bytes = perch__malloc(*size);
	if (!bytes)
		return NULL;
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), writer->address, addresses);
	memcpy(bytes + sizeof(head) + addresses, writer->frame, frames);
	return bytes;
}

void perch__frame_index_store(struct frame_index *index)
{
	size_t nr = index->nr + index->nr_added;
	size_t nr_frames = frames_of_file(index) + index->nr_added_frames, size;
	struct frame_writer writer = { .table.seed = perch__hash_seed(index) };
	char *bytes;

	if (!index->nr_added)
		return;
	qsort(index->added, index->nr_added, sizeof(*index->added), by_offset);
	writer.address = perch__reallocarray(NULL, nr, sizeof(*writer.address));
	writer.frame = perch__reallocarray(NULL, nr_frames + 1, sizeof(*writer.frame));
	if (writer.address && writer.frame) {
		offset_of(&writer, NULL);
		merge_addresses(&writer, index);
		bytes = writer.failed ? NULL : join_parts(&writer, &size);
		if (bytes)
			perch__index_write(&index->key, bytes, size, writer.text, writer.text_size);
		free(bytes);
	}
	perch__hash_clear(&writer.table);
	free(writer.address);
	free(writer.frame);
	free(writer.text);
	free(writer.offset);
}

void perch__frame_index_free(struct frame_index *index)
{
	if (!index)
		return;
	free(index->bytes);
	free(index->added);
	free(index->added_frame);
	free(index);
}
