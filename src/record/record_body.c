/* SPDX-License-Identifier: MIT */
/* Decodes the bodies of all records but samples, by the rows of fields.def. */
#include "base/kernel/mmap_build_id.h"
#include "fields.h"

/* Decodes a name. Its NUL must be in the body. Returns its size with the padding. */
static int decode_text(struct perch_text *text, const char *start, size_t most)
{
	const char *end = most ? memchr(start, 0, most) : NULL;

	if (!end)
		return -EBADMSG;
	text->text = start;
	text->length = end - start;
	return perch__padded((size_t)text->length + 1);
}

static void decode_number(void *to, const char *from, size_t size, bool swap)
{
	if (size == 8)
		memcpy(to, &(uint64_t){ perch__u64(from, swap) }, 8);
	else if (size == 4)
		memcpy(to, &(uint32_t){ perch__u32(from, swap) }, 4);
	else
		memcpy(to, &(uint16_t){ perch__u16(from, swap) }, 2);
}

/*
 * Linux 3.10 of RHEL 7 (and 3.12 to 3.15) write no prot and flags: the name is where they are in
 * newer records. A name has at least two characters, and begins with printable ones. Zeros follow
 * up to a multiple of 8 bytes. prot and flags are no such text: a byte of prot is 0, and flags is
 * not. Tools write other numbers than the kernel: perf inject --jit the mode of the file to prot.
 */
static bool is_name(const char *text, size_t most)
{
	size_t length = strnlen(text, most), end = perch__padded(length + 1);

	if (length < 2 || end > most)
		return false;
	for (size_t i = 0; i < length && i < sizeof(uint32_t); i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	for (size_t i = length; i < end; i++)
		if (text[i])
			return false;
	return true;
}

/*
 * Bytes 32 to 55 of MMAP2 are the device and inode, or, with MMAP_BUILD_ID in misc, a build id. The
 * byte with the size of the build id may be more than the 20 bytes there are.
 */
#define BUILD_ID_AT   32u
#define PROTECTION_AT 56u

/* Another event's flag can be in the record, see struct perch_mmap_record. But a tool may have put
 * build ids into records of an event without them, as perch record and perf inject do. */
static void check_build_id_bit(struct perch_record *record, const struct perch__body *body)
{
	const uint8_t *at = (const uint8_t *)body->at + BUILD_ID_AT;

	if (record->misc & PERCH_MISC_MMAP_BUILD_ID && !body->build_id &&
	    body->size >= PROTECTION_AT &&
	    !perch__is_mmap_build_id(at, perch__u32(at + 4, body->swap)))
		record->misc &= ~PERCH_MISC_MMAP_BUILD_ID;
}

/* Kernels that do not write prot and flags have the name there. */
static bool lacks_protection(const struct perch_record *record, const struct perch__body *body)
{
	return !(record->misc & PERCH_MISC_MMAP_BUILD_ID) && body->size >= PROTECTION_AT &&
	       is_name(body->at + PROTECTION_AT, body->size - PROTECTION_AT);
}

static int decode_build_id(struct perch_mmap_record *map, const char *at, size_t most)
{
	uint8_t size;

	if (most < 4 + sizeof(map->build_id))
		return -EBADMSG;
	size = *(const uint8_t *)at;
	map->build_id_size = size < sizeof(map->build_id) ? size : sizeof(map->build_id);
	memcpy(map->build_id, at + 4, map->build_id_size);
	return 4 + sizeof(map->build_id);
}

static int decode_read(struct perch_read_values *values, const struct perch_record *record,
		       const struct perch__body *body, size_t at, struct perch_error *err)
{
	const uint64_t *words = (const uint64_t *)body->at;
	struct perch__truncated_field truncated;
	const uint64_t *after = perch__decode_read(values, body->read_format, words + at / 8,
						   words + body->size / 8, body->swap, &truncated);

	if (!after)
		return perch__truncated(record, truncated.at, truncated.field, err);
	return (const char *)after - (body->at + at);
}

/* Sets the pointer of an array whose number of items is decoded. Returns its size in bytes. */
static int decode_items(struct perch_record *record, const struct perch__row *row, const char *at,
			size_t most)
{
	uint64_t nr = perch__number_of_items(record, row);

	if (nr > most / row->size)
		return -EBADMSG;
	memcpy((char *)record + row->offset, &at, sizeof(at));
	return nr * row->size;
}

/* Decodes a field that is no number at a byte of the body. Returns its size in bytes, or -EBADMSG.
 */
static int decode_field(struct perch_record *record, const struct perch__body *body, size_t at,
			const struct perch__row *row, struct perch_error *err)
{
	const char *from = body->at + at;
	size_t most = body->size - at, number = row->counted ? row->number_size : 0;
	char *member = (char *)record + row->offset;
	int used = -EBADMSG;

	switch (row->source) {
	case PERCH__SOURCE_FIXED:
		if (most >= row->size) {
			memcpy(member, from, row->size);
			used = row->size;
		}
		break;
	case PERCH__SOURCE_TEXT:
		used = decode_text((struct perch_text *)member, from, most);
		break;
	case PERCH__SOURCE_BUILD_ID:
		used = decode_build_id(&record->mmap, from, most);
		break;
	case PERCH__SOURCE_READ:
		return decode_read((struct perch_read_values *)member, record, body, at, err);
	case PERCH__SOURCE_ARRAY:
		if (most < number)
			return perch__truncated(record, from, row->number_name, err);
		if (number)
			decode_number((char *)record + row->number_offset, from, number,
				      body->swap);
		from += number;
		used = decode_items(record, row, from, most - number);
		break;
	case PERCH__SOURCE_BIT:
		*(bool *)member = record->misc & row->bit;
		return 0;
	case PERCH__SOURCE_VALUE: /* exceeds the body */
	case PERCH__SOURCE_NONE:
		break;
	}
	return used < 0 ? perch__truncated(record, from, row->name, err) : used + (int)number;
}

/* Clears the numbers of the arrays after a failure. */
static void clear_arrays(struct perch_record *record)
{
	for (const struct perch__row *row = perch__rows(record->type); !row->is_record; row++)
		if (row->source == PERCH__SOURCE_ARRAY)
			memset((char *)record + row->number_offset, 0, row->number_size);
}

/* Returns the size of the known fields with the padding, or -EBADMSG. */
static int decode_fields(struct perch_record *record, const struct perch__body *body,
			 const struct perch__row *row, struct perch_error *err)
{
	const bool swap = body->swap;
	const char *const from = body->at;
	const size_t size = body->size;
	size_t at = 0, without_values = SIZE_MAX;

	if (record->type == PERCH_RECORD_MMAP2) {
		check_build_id_bit(record, body);
		if (lacks_protection(record, body))
			without_values = PROTECTION_AT;
	}
	for (; !row->is_record; row++) {
		int used;

		if ((record->misc & row->misc) != row->misc || record->misc & row->no_misc)
			continue;
		if (row->source == PERCH__SOURCE_VALUE && row->size <= size - at) {
			if (at == without_values)
				continue;
			decode_number((char *)record + row->offset, from + at, row->size, swap);
			at += row->size;
			continue;
		}
		used = decode_field(record, body, at, row, err);
		if (used < 0) {
			clear_arrays(record);
			return used;
		}
		at += used;
		if (at > body->size)
			at = body->size; /* the padding is cut */
	}
	at = perch__padded(at);
	return at < body->size ? at : body->size;
}

int perch__decode_body(struct perch_record *record, const struct perch__body *body,
		       struct perch_error *err)
{
	const struct perch__row *rows = perch__rows(record->type);
	int used = 0;

	if (record->type >= PERCH__FIRST_USER_TYPE)
		return 0;
	if (rows)
		used = decode_fields(record, body, rows, err);
	if (used < 0)
		return used;
	record->trailing_bytes = body->size - used;
	return 0;
}

/*
 * Oversized records. The kernel builds a KSYMBOL, BPF_EVENT or TEXT_POKE record once and writes it
 * to one event after the other. For each event it adds the size of the trailer to header.size, but
 * never subtracts it again (Linux 5.1 to at least 6.18). So if several events record at the same
 * time, all but the first get records that are too large. The trailer follows the body as it
 * should; the bytes after it are old contents of the ring.
 */
size_t perch__body_end(uint32_t type, const char *bytes, size_t size, bool swap)
{
	const struct perch__body body = { .at = bytes + PERCH__HEADER_BYTES,
					  .size = size - PERCH__HEADER_BYTES,
					  .swap = swap };
	const struct perch_parse_info parse_info = { 0 };
	struct perch_record record = { .type = type, .parse_info = &parse_info };
	int used = perch__may_be_oversized(type) && size >= PERCH__HEADER_BYTES
			   ? decode_fields(&record, &body, perch__rows(type), NULL)
			   : 0;

	return used > 0 ? PERCH__HEADER_BYTES + (size_t)used : 0;
}

size_t perch__extent_oversized(const struct perch_parse_info *parse_info, uint32_t type,
			       const void *bytes, size_t size)
{
	size_t end = perch__body_end(type, bytes, size, parse_info->swapped);

	return end && end + parse_info->id_size < size ? end + parse_info->id_size : size;
}
