/* SPDX-License-Identifier: MIT */
/* Positions of fields that depend on the attr: in a sample, in the trailer, and the record's end.
 */
#include "internal.h"

/* The fields at the start of a sample that have one word each, in order. */
static const uint64_t fixed_order[] = {
	PERCH_SAMPLE_IDENTIFIER, PERCH_SAMPLE_IP,   PERCH_SAMPLE_TID,
	PERCH_SAMPLE_TIME,	 PERCH_SAMPLE_ADDR, PERCH_SAMPLE_ID,
	PERCH_SAMPLE_STREAM_ID,	 PERCH_SAMPLE_CPU,  PERCH_SAMPLE_PERIOD,
};

static const uint64_t trailer_order[] = {
	PERCH_SAMPLE_TID,	PERCH_SAMPLE_TIME, PERCH_SAMPLE_ID,
	PERCH_SAMPLE_STREAM_ID, PERCH_SAMPLE_CPU,  PERCH_SAMPLE_IDENTIFIER,
};

/* Returns the number of words before a field; -1 if sample_type does not have the field. */
static int words_before(const uint64_t *order, size_t nr, uint64_t sample_type, uint64_t field)
{
	int words = 0;

	if (!(sample_type & field))
		return -1;
	for (size_t i = 0; i < nr && order[i] != field; i++)
		words += !!(sample_type & order[i]);
	return words;
}

static int words_of(const uint64_t *order, size_t nr, uint64_t sample_type)
{
	int words = 0;

	for (size_t i = 0; i < nr; i++)
		words += !!(sample_type & order[i]);
	return words;
}

static void find_in_sample(struct perch_parse_info *parse_info, uint64_t id_field)
{
	uint64_t type = parse_info->sample_type;

	parse_info->fixed_words = words_of(fixed_order, PERCH__NR(fixed_order), type);
	parse_info->sample_time_word =
		words_before(fixed_order, PERCH__NR(fixed_order), type, PERCH_SAMPLE_TIME);
	parse_info->sample_id_word =
		words_before(fixed_order, PERCH__NR(fixed_order), type, id_field);
}

static void find_in_trailer(struct perch_parse_info *parse_info, uint64_t id_field)
{
	uint64_t type = parse_info->sample_type;
	int words = words_of(trailer_order, PERCH__NR(trailer_order), type);
	int id = words_before(trailer_order, PERCH__NR(trailer_order), type, id_field);
	int time = words_before(trailer_order, PERCH__NR(trailer_order), type, PERCH_SAMPLE_TIME);

	parse_info->id_size = words * sizeof(uint64_t);
	parse_info->trailer_id_word = id < 0 ? -1 : words - id;
	parse_info->trailer_time_word = time < 0 ? -1 : words - time;
}

void perch_parse_info_init(struct perch_parse_info *parse_info, const struct perch_attr *attr,
			   enum perch_byte_order order)
{
	const bool here_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const bool big = order == PERCH_BYTES_NATIVE ? here_big : order == PERCH_BYTES_BIG;
	/* IDENTIFIER is the same number as ID, at a position that other fields do not change */
	uint64_t id_field = attr->sample_type & PERCH_SAMPLE_IDENTIFIER ? PERCH_SAMPLE_IDENTIFIER
									: PERCH_SAMPLE_ID;

	*parse_info = (struct perch_parse_info){
		.sample_type = attr->sample_type,
		.read_format = attr->read_format,
		.branch_sample_type = attr->branch_sample_type,
		.regs_user = attr->sample_regs_user,
		.regs_intr = attr->sample_regs_intr,
		.period = attr->sample_period,
		.sample_id_all = attr->sample_id_all,
		.nr_regs_user = __builtin_popcountll(attr->sample_regs_user),
		.nr_regs_intr = __builtin_popcountll(attr->sample_regs_intr),
		.trailer_id_word = -1,
		.trailer_time_word = -1,
		.swapped = big != here_big,
		.big_endian = big,
		.build_id = attr->build_id,
	};
	find_in_sample(parse_info, id_field);
	if (parse_info->sample_id_all)
		find_in_trailer(parse_info, id_field);
}

int perch_parse_info_from_bytes(struct perch_parse_info *parse_info, struct perch_attr *attr,
				const void *bytes, size_t size, enum perch_byte_order order,
				struct perch_error *err)
{
	struct perch_attr read;
	int rc;

	perch_parse_info_init(parse_info, &(struct perch_attr){ 0 }, order);
	rc = perch_attr_from_bytes(&read, bytes, size, order);
	if (rc < 0) {
		*parse_info = (struct perch_parse_info){ 0 };
		read = (struct perch_attr){ 0 };
		perch_error_set(err, -rc, PERCH_ERROR_USAGE,
				"an attr has at least %d bytes, but only %zu are available",
				PERCH_ATTR_SIZE_VER0, size);
	} else {
		perch_parse_info_init(parse_info, &read, order);
	}
	if (attr)
		*attr = read;
	return rc;
}
