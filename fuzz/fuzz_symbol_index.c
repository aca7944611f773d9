/* SPDX-License-Identifier: MIT */
/*
 * The input is what an index of symbols has after its head, whose checksum would be right. The
 * first byte says if it is a table of functions or frames of addresses.
 */
#include <stdlib.h>
#include <string.h>

#include "symbol/index/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void look_up_function(char *bytes, size_t size)
{
	struct table table = { 0 };

	if (perch__table_take_index(&table, bytes, size))
		for (size_t i = 0; i < table.nr; i++) {
			const struct entry *found = perch__table_find(&table, table.entry[i].start);

			if (found && strlen(perch__table_name(&table, found)) > size)
				abort();
		}
	else if (table.nr || table.entry)
		abort();
	perch__table_free(&table);
}

static void read_texts(const struct debug_frame *frame, size_t nr, size_t size)
{
	for (size_t i = 0; i < nr; i++)
		if ((frame[i].function && strlen(frame[i].function) > size) ||
		    (frame[i].file && strlen(frame[i].file) > size))
			abort();
}

static void look_up_frames(char *bytes, size_t size)
{
	const struct index_key key = { .kind = "frames" };
	struct frame_index *index = perch__frame_index_new(&key, bytes, size);
	struct debug_frame frame[MAX_DEBUG_FRAMES];

	for (uint64_t offset = 0; index && offset < 256; offset++) {
		int nr = perch__frame_index_find(index, offset, frame);

		if (nr > 0)
			read_texts(frame, (size_t)nr, size);
	}
	perch__frame_index_free(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *copy;

	if (!size)
		return 0;
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, bytes + 1, size - 1);
	copy[size - 1] = 0;
	if (*bytes & 1)
		look_up_frames(copy, size - 1);
	else
		look_up_function(copy, size - 1);
	return 0;
}
