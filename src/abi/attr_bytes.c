/* SPDX-License-Identifier: MIT */
/* Attrs of other kernel versions and of the other byte order. */
#include <errno.h>
#include <string.h>

#include <perch/abi.h>

/* The words of an attr that are not 8 bytes long. */
static const struct {
	uint16_t offset, size;
} narrow[] = {
	{ 0, 4 },
	{ 4, 4 },
	{ offsetof(struct perch_attr, wakeup_events), 4 },
	{ offsetof(struct perch_attr, bp_type), 4 },
	{ offsetof(struct perch_attr, sample_stack_user), 4 },
	{ offsetof(struct perch_attr, clockid), 4 },
	{ offsetof(struct perch_attr, aux_watermark), 4 },
	{ offsetof(struct perch_attr, sample_max_stack), 2 },
	{ offsetof(struct perch_attr, reserved_2), 2 },
	{ offsetof(struct perch_attr, aux_sample_size), 4 },
	{ offsetof(struct perch_attr, aux_action), 4 },
};

static void reverse(unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size / 2; i++) {
		unsigned char first = bytes[i];

		bytes[i] = bytes[size - 1 - i];
		bytes[size - 1 - i] = first;
	}
}

static unsigned char mirrored(unsigned char byte)
{
	unsigned char out = 0;

	for (int bit = 0; bit < 8; bit++)
		if (byte & 1 << bit)
			out |= 0x80 >> bit;
	return out;
}

/*
 * Bit-fields start at the lowest bit of the first byte on little-endian machines and at the highest
 * bit of the first byte on big-endian machines. So bytes stay, and the bits of each byte are
 * mirrored. A field of several bits is mirrored back.
 */
static void mirror_fields(struct perch_attr *attr, size_t offset, size_t size)
{
	unsigned char *bytes = (unsigned char *)attr + offset;
	const struct perch_attr_field *fields;
	size_t nr;

	for (size_t i = 0; i < size; i++)
		bytes[i] = mirrored(bytes[i]);
	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		uint64_t value, reversed = 0;

		if (fields[i].offset != offset || fields[i].bit < 0 || fields[i].bits == 1)
			continue;
		value = perch_attr_get(attr, &fields[i]);
		for (unsigned bit = 0; bit < fields[i].bits; bit++)
			reversed |= (value >> bit & 1) << (fields[i].bits - 1 - bit);
		perch_attr_set(attr, &fields[i], reversed);
	}
}

static void swap_words(struct perch_attr *attr)
{
	unsigned char *bytes = (unsigned char *)attr;
	size_t next = 0;

	for (size_t at = 0; at < sizeof(*attr);) {
		size_t size = 8;

		if (next < sizeof(narrow) / sizeof(*narrow) && narrow[next].offset == at)
			size = narrow[next++].size;
		/* mirror_fields() converts the words with bit-fields */
		if (at != offsetof(struct perch_attr, flags) &&
		    at != offsetof(struct perch_attr, aux_action))
			reverse(bytes + at, size);
		at += size;
	}
	mirror_fields(attr, offsetof(struct perch_attr, flags), 8);
	mirror_fields(attr, offsetof(struct perch_attr, aux_action), 4);
}

int perch_attr_from_bytes(struct perch_attr *attr, const void *bytes, size_t size,
			  enum perch_byte_order order)
{
	const bool here_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const bool big = order == PERCH_BYTES_NATIVE ? here_big : order == PERCH_BYTES_BIG;
	const unsigned char *byte = bytes;
	int cut = 0;

	if (size < PERCH_ATTR_SIZE_VER0)
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	memcpy(attr, bytes, size < sizeof(*attr) ? size : sizeof(*attr));
	for (size_t i = sizeof(*attr); i < size && !cut; i++)
		cut = byte[i] != 0;
	if (big != here_big)
		swap_words(attr);
	return cut;
}
