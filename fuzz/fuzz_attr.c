/* SPDX-License-Identifier: MIT */
/*
 * The input is an attr of any size and either byte order. The decoded attr is copied field by
 * field, written again in its first form, named, and used for parse infos of both byte orders and
 * for decoders.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/event.h>
#include <perch/record.h>

#include "build/build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An attr is the sum of its fields. */
static void copy_by_fields(const struct perch_attr *attr)
{
	const struct perch_attr_field *field;
	struct perch_attr copy = { 0 };
	size_t nr;

	field = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++)
		perch_attr_set(&copy, &field[i], perch_attr_get(attr, &field[i]));
	if (memcmp(&copy, attr, sizeof(copy)))
		abort();
}

/* Writing the fields again, in the byte order of their machine, gives the bytes of the input. */
static void write_again(const struct perch_attr *attr, const void *from, size_t size, bool swap)
{
	static struct build_bytes bytes;
	struct build_attr_values values;
	const struct build_attr_field *field = build_attr_fields(&values.nr);

	for (size_t i = 0; i < values.nr; i++)
		values.value[i] = perch_attr_get(attr, perch_attr_get_field(field[i].name));
	bytes.big_endian = swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	build_write_attr(&bytes, &values);
	if (memcmp(bytes.byte, from, size < bytes.size ? size & ~7ul : bytes.size))
		abort();
}

static void check_layout(const struct perch_attr *attr, enum perch_byte_order order)
{
	struct perch_decoder_event event = { .attr = attr };
	struct perch_decoder *decoder;
	struct perch_parse_info parse_info;

	perch_parse_info_init(&parse_info, attr, order);
	if (parse_info.sample_type != attr->sample_type || parse_info.nr_regs_user > 64 ||
	    parse_info.nr_regs_intr > 64 || parse_info.id_size > 48 ||
	    parse_info.fixed_words > 10 || parse_info.sample_id_word >= parse_info.fixed_words ||
	    parse_info.sample_time_word >= parse_info.fixed_words ||
	    8 * parse_info.trailer_id_word > parse_info.id_size ||
	    8 * parse_info.trailer_time_word > parse_info.id_size)
		abort();
	if (perch_decoder_new(&decoder, &event, 1, order, NULL))
		abort();
	perch_decoder_free(decoder);
}

static void one_attr(const void *bytes, size_t size, bool swap)
{
	const enum perch_byte_order other =
		__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? PERCH_BYTES_LITTLE : PERCH_BYTES_BIG;
	struct perch_attr attr;
	char name[256], few[9];
	int rc = perch_attr_from_bytes(&attr, bytes, size, swap ? other : PERCH_BYTES_NATIVE);

	if (size < PERCH_ATTR_SIZE_VER0 ? rc != -EINVAL : rc != 0 && rc != 1)
		abort();
	if (rc < 0)
		return;
	write_again(&attr, bytes, size, swap);
	copy_by_fields(&attr);
	check_layout(&attr, PERCH_BYTES_LITTLE);
	check_layout(&attr, PERCH_BYTES_BIG);
	if (memchr(perch_attr_name(&attr, name, sizeof(name)), 0, sizeof(name)) == NULL ||
	    memchr(perch_attr_name(&attr, few, sizeof(few)), 0, sizeof(few)) == NULL)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *bytes = malloc(size ? size : 1);

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	one_attr(bytes, size, false);
	one_attr(bytes, size, true);
	free(bytes);
	return 0;
}
