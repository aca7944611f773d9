/* SPDX-License-Identifier: MIT */
/* What the writers of files and of pipes share: buffers, errors, and the events. */
#include <unistd.h>
#include "base/files/new_file.h"
#include "base/reserved.h"
#include "base/no_memory.h"
#include "writer.h"

#define ATTR_SIZE_USUAL 128u /* PERF_ATTR_SIZE_VER7: perf 6.1 and later read it */

/* ---- buffers ---- */

/* Makes space for `size` bytes at the end, and counts them. */
static uint8_t *extend(struct perch__bytes *bytes, size_t size)
{
	if (size > SIZE_MAX - bytes->size ||
	    PERCH__ARRAY_RESERVE(bytes->data, bytes->capacity, bytes->size + size))
		bytes->failed = true;
	if (bytes->failed)
		return NULL;
	bytes->size += size;
	return bytes->data + bytes->size - size;
}

void perch__bytes_put(struct perch__bytes *bytes, const void *data, size_t size)
{
	uint8_t *to = size ? extend(bytes, size) : NULL;

	if (to)
		memcpy(to, data, size);
}

void perch__bytes_put_zeros(struct perch__bytes *bytes, size_t size)
{
	uint8_t *to = size ? extend(bytes, size) : NULL;

	if (to)
		memset(to, 0, size);
}

void perch__bytes_put_u32(struct perch__bytes *bytes, uint32_t value)
{
	perch__bytes_put(bytes, &value, sizeof(value));
}

void perch__bytes_put_u64(struct perch__bytes *bytes, uint64_t value)
{
	perch__bytes_put(bytes, &value, sizeof(value));
}

/* The length in the file includes the padding. */
void perch__bytes_put_text(struct perch__bytes *bytes, const char *text)
{
	size_t length = strlen(text) + 1;
	size_t padded = (length + PERCH__NAME_ALIGN - 1) / PERCH__NAME_ALIGN * PERCH__NAME_ALIGN;

	perch__bytes_put_u32(bytes, padded);
	perch__bytes_put(bytes, text, length);
	perch__bytes_put_zeros(bytes, padded - length);
}

void perch__bytes_free(struct perch__bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct perch__bytes){ 0 };
}

/* ---- errors ---- */

int perch__writer_failed(struct perch_writer *writer, int errnum, struct perch_error *err)
{
	writer->failed = true;
	perch_error_set(err, errnum, PERCH_ERROR_FILE, "cannot write to %s: %s", writer->path,
			strerror(errnum));
	if (perch__new_file_remedy(errnum))
		perch_error_remedy(err, "%s", perch__new_file_remedy(errnum));
	return -errnum;
}

/* ---- the events ---- */

/*
 * Returns the smallest attr size for the fields that are set: old perf versions refuse larger
 * attrs.
 */
static uint32_t attr_size_needed(const struct perch_file_event *events, size_t nr)
{
	uint32_t needed = ATTR_SIZE_USUAL;

	for (size_t i = 0; i < nr; i++) {
		const uint8_t *bytes = (const uint8_t *)&events[i].attr;
		uint32_t size = sizeof(events[i].attr);

		while (size > needed && !bytes[size - 1])
			size--;
		needed = (size + 7) / 8 * 8;
	}
	return needed;
}

static int copy_event(struct perch_file_event *to, const struct perch_file_event *from)
{
	uint64_t *ids = NULL;

	*to = *from;
	to->ids = NULL;
	to->name = strdup(from->name ? from->name : "");
	if (!to->name)
		return -ENOMEM;
	if (from->nr_ids) {
		ids = malloc(from->nr_ids * sizeof(*ids));
		if (!ids)
			return -ENOMEM;
		memcpy(ids, from->ids, from->nr_ids * sizeof(*ids));
	}
	to->ids = ids;
	return 0;
}

static int copy_events(struct perch_writer *writer, const struct perch_file_event *events,
		       size_t nr, struct perch_error *err)
{
	writer->events = calloc(nr, sizeof(*writer->events));
	if (!writer->events)
		return PERCH__NO_MEMORY(err, "to write a perf.data file");
	for (; writer->nr_events < nr; writer->nr_events++) {
		struct perch_file_event *to = &writer->events[writer->nr_events];

		if (copy_event(to, &events[writer->nr_events])) {
			free((char *)to->name);
			return PERCH__NO_MEMORY(err, "to write a perf.data file");
		}
	}
	return 0;
}

void perch__writer_free(struct perch_writer *writer)
{
	for (size_t i = 0; i < writer->nr_events; i++) {
		free((char *)writer->events[i].name);
		free((uint64_t *)writer->events[i].ids);
	}
	for (size_t i = 0; i < PERCH__FEATURE_BITS; i++)
		perch__bytes_free(&writer->feature[i]);
	perch__compressor_free(writer->compressor);
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer->events);
	free(writer->old);
	free(writer->path);
	free(writer);
}

int perch__writer_new(struct perch_writer **result, const char *path,
		      const struct perch_file_event *events, size_t nr, struct perch_error *err)
{
	struct perch_writer *writer;
	int rc;

	*result = NULL;
	if (!nr || nr > UINT16_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a perf.data file has 1 to %d events, not %zu", UINT16_MAX,
				       nr);
	for (size_t i = 0; i < nr; i++) {
		if (PERCH__CHECK_RESERVED(&events[i], "perch_file_event", err))
			return -EINVAL;
	}
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return PERCH__NO_MEMORY(err, "to write a perf.data file");
	writer->fd = -1;
	writer->header.magic = PERCH__MAGIC;
	writer->header.size = sizeof(writer->header);
	writer->header.attr_size = attr_size_needed(events, nr) + sizeof(struct perch__section);
	writer->path = strdup(path);
	rc = writer->path ? copy_events(writer, events, nr, err)
			  : PERCH__NO_MEMORY(err, "to write a perf.data file");
	if (rc)
		perch__writer_free(writer);
	else
		*result = writer;
	return rc;
}

const struct perch_file_event *perch__writer_events(const struct perch_writer *writer, size_t *nr)
{
	*nr = writer->nr_events;
	return writer->events;
}

uint32_t perch__writer_attr_size(const struct perch_writer *writer)
{
	return writer->header.attr_size - sizeof(struct perch__section);
}
