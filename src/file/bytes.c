/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include "internal.h"

static bool reserve(struct perch__bytes *bytes, size_t size)
{
	size_t capacity = bytes->capacity ? bytes->capacity : 256;
	uint8_t *data;

	if (bytes->failed || size > SIZE_MAX / 2 - bytes->size) {
		bytes->failed = true;
		return false;
	}
	while (capacity < bytes->size + size)
		capacity *= 2;
	if (capacity == bytes->capacity)
		return true;
	data = realloc(bytes->data, capacity);
	if (!data) {
		bytes->failed = true;
		return false;
	}
	bytes->data = data;
	bytes->capacity = capacity;
	return true;
}

void perch__bytes_put(struct perch__bytes *bytes, const void *data, size_t size)
{
	if (!size || !reserve(bytes, size))
		return;
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

void perch__bytes_put_zeros(struct perch__bytes *bytes, size_t size)
{
	if (!size || !reserve(bytes, size))
		return;
	memset(bytes->data + bytes->size, 0, size);
	bytes->size += size;
}

void perch__bytes_put_u32(struct perch__bytes *bytes, uint32_t value)
{
	perch__bytes_put(bytes, &value, sizeof(value));
}

void perch__bytes_put_u64(struct perch__bytes *bytes, uint64_t value)
{
	perch__bytes_put(bytes, &value, sizeof(value));
}

/* The length that is written includes the padding. */
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
