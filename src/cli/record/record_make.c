/* SPDX-License-Identifier: MIT */
/* Records made here, gathered before they are written. */
#include <errno.h>
#include <string.h>

#include "record.h"

void synthesize_flush(struct synthesizer *made)
{
	struct iovec piece = { made->bytes, made->used };

	if (!made->rc && made->used && made->record->writer)
		made->rc = perch_writer_append(made->record->writer, &piece, 1, made->err);
	if (!made->rc && made->used && record_keeps_sideband(made->record) &&
	    record_sideband_add(&made->record->side, made->bytes, made->used) < 0)
		made->rc = perch_error_set(made->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
					   "no memory to record with");
	made->used = 0;
}

/* Room for a record of so many bytes; NULL: not for one as large. */
static char *room_for(struct synthesizer *made, size_t size)
{
	char *room;

	if (made->rc || size > UINT16_MAX)
		return NULL;
	if (made->used + size > sizeof(made->bytes))
		synthesize_flush(made);
	room = (char *)made->bytes + made->used;
	memset(room, 0, size);
	made->used += size;
	return room;
}

void synthesize_record(struct synthesizer *made, uint32_t type, uint16_t misc, const void *body,
		       size_t size, const char *name)
{
	size_t length = name ? strlen(name) : 0;
	size_t padded = name ? (length + 8) & ~(size_t)7 : 0;
	struct perch_record_header header = { type, misc, 0 };
	size_t all = sizeof(header) + size + padded + made->record->parse_info.id_size;
	char *to = room_for(made, all);

	if (!to)
		return;
	header.size = (uint16_t)all;
	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), body, size);
	if (name)
		memcpy(to + sizeof(header) + size, name, length);
}

void synthesize_plain(struct synthesizer *made, uint32_t type, const void *body, size_t size)
{
	struct perch_record_header header = { type, 0, (uint16_t)(sizeof(header) + size) };
	char *to = room_for(made, sizeof(header) + size);

	if (!to)
		return;
	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), body, size);
}
