/* SPDX-License-Identifier: MIT */
/* The parts of the reader that several of its files need. */
#include "internal.h"

struct perch__allocation {
	struct perch__allocation *next;
	_Alignas(16) uint8_t bytes[];
};

void *perch__reader_alloc(struct perch_reader *reader, size_t size)
{
	struct perch__allocation *allocation = calloc(1, sizeof(*allocation) + size);

	if (!allocation)
		return NULL;
	allocation->next = reader->allocations;
	reader->allocations = allocation;
	return allocation->bytes;
}

const char *perch__reader_strndup(struct perch_reader *reader, const char *text, size_t length)
{
	char *copy = perch__reader_alloc(reader, length + 1);

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

void perch__reader_free_all(struct perch_reader *reader)
{
	while (reader->allocations) {
		struct perch__allocation *next = reader->allocations->next;

		free(reader->allocations);
		reader->allocations = next;
	}
}

bool perch__take_text(struct perch__view *view, const char **text, size_t *length)
{
	struct perch__view rest = *view;
	uint32_t size;

	if (!perch__take_u32(&rest, &size) || size > rest.left)
		return false;
	*text = (const char *)rest.at;
	*length = strnlen(*text, size);
	rest.at += size;
	rest.left -= size;
	*view = rest;
	return true;
}

bool perch__is_magic(uint64_t word)
{
	uint64_t swapped = __builtin_bswap64(word);

	return word == PERCH__MAGIC || swapped == PERCH__MAGIC || word == PERCH__MAGIC_V1 ||
	       swapped == PERCH__MAGIC_V1;
}

int perch__ask_for_recording(int rc, struct perch_error *err)
{
	perch_error_remedy(err, "Give a recording (perf.data) as this library or perf makes it");
	return rc;
}
