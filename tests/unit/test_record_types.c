/* SPDX-License-Identifier: MIT */
/*
 * The body of each record type, in both byte orders: complete, with additional bytes, and cut to
 * every length.
 */
#include <perch/fields.h>

#include "record_types.h"

static void put_trailer_of(struct built *b, uint64_t sample_type)
{
	put_trailer(b, sample_type, BUILT_TIME, BUILT_ID);
}

/* The kernel may write a too large size for these, so nothing can be between body and trailer. */
static bool is_stretched(uint32_t type)
{
	return type == PERCH_RECORD_KSYMBOL || type == PERCH_RECORD_BPF_EVENT ||
	       type == PERCH_RECORD_TEXT_POKE;
}

static void put_more(struct built *b, size_t more)
{
	for (size_t i = 0; i < more; i++)
		put_bytes(b, "\xee", 1);
}

/* Finds a field by its full name. */
struct search {
	const char *name;
	char path[4][32]; /* of the enclosing groups and lists */
	size_t depth;
	bool found;
	uint64_t value;
};

static int find_named_field(void *context, const struct perch_field *field)
{
	struct search *search = context;
	char path[160] = "";

	if (field->kind == PERCH_FIELD_END) {
		search->depth--;
		return 0;
	}
	for (size_t i = 0; i < search->depth; i++)
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "%s.", search->path[i]);
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "%s",
		 field->name ? field->name : "[]");
	if (!strcmp(path, search->name)) {
		search->found = true;
		search->value = field->value;
	}
	if (field->kind == PERCH_FIELD_LIST || field->kind == PERCH_FIELD_GROUP)
		snprintf(search->path[search->depth++], sizeof(search->path[0]), "%s",
			 field->name ? field->name : "[]");
	return 0;
}

/*
 * more: bytes of a newer kernel between the body and the trailer, or excess bytes after the
 * trailer.
 */
static void check_case(const struct type_case *one, uint64_t trailer, size_t more)
{
	struct search identifier = { .name = "sample_id.identifier" };
	struct perch_parse_info parse_info = layout_of(trailer);
	struct perch_record record;
	struct built b;

	start_record(&b, one->type, one->misc);
	one->build(&b);
	if (!is_stretched(one->type))
		put_more(&b, more);
	put_trailer_of(&b, trailer);
	if (is_stretched(one->type))
		put_more(&b, more);
	assert_int_equal(decode(&record, &parse_info, &b), 0);
	assert_int_equal(record.type, one->type);
	assert_int_equal(record.misc, one->misc);
	assert_int_equal(record.size, b.size);
	assert_int_equal(record.trailing_bytes, more);
	assert_int_equal(record.event, 0);
	assert_int_equal(record.offset, 0);
	assert_ptr_equal(record.parse_info, &parse_info);
	if (trailer) {
		check_trailer(&record.sample_id);
		assert_int_equal(perch_record_fields(&record, PERCH_ARCH_UNKNOWN, find_named_field,
						     &identifier),
				 0);
		assert_int_equal(identifier.value, BUILT_ID);
	} else {
		assert_int_equal(
			record.sample_id.has | record.sample_id.time | record.sample_id.tid, 0);
	}
	one->check(&record);
}

static void decodes_every_type(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_CASES; i++) {
		check_case(&cases[i], TRAILER, 0);
		check_case(&cases[i], 0, 0);
		check_case(&cases[i], TRAILER, 16);
	}
}

static void decodes_every_type_of_the_other_byte_order(void **state)
{
	built_swapped = true;
	decodes_every_type(state);
	built_swapped = false;
}

/* ---- names of missing fields ---- */

static void check_name(const struct type_case *one, const char *name)
{
	static const char number[] = "number of ";
	struct search search = { .name = strncmp(name, number, strlen(number))
						 ? name
						 : name + strlen(number) };
	struct perch_parse_info parse_info = layout_of(TRAILER);
	struct perch_record record;
	struct built b;

	start_record(&b, one->type, one->misc);
	one->build(&b);
	put_trailer_of(&b, TRAILER);
	assert_int_equal(decode(&record, &parse_info, &b), 0);
	assert_int_equal(
		perch_record_fields(&record, PERCH_ARCH_UNKNOWN, find_named_field, &search), 0);
	if (!search.found)
		fail_msg("type %u has no field %s", one->type, search.name);
}

/* The error of a cut body has the missing field and its byte. */
static void expect_missing(const struct type_case *one, size_t cut, const char *field)
{
	struct perch_parse_info parse_info = layout_of(TRAILER);
	struct perch_error err = { 0 };
	struct perch_record record;
	char expected[64];
	struct built b;

	start_record(&b, one->type, one->misc);
	one->build(&b);
	b.size -= cut < b.size - 8 ? cut : b.size - 8;
	put_trailer_of(&b, TRAILER);
	end_record(&b);
	memset(&record, 0xa5, sizeof(record));
	assert_int_equal(perch_record_decode(&record, &parse_info, b.bytes, b.size, &err),
			 -EBADMSG);
	assert_int_equal(err.kind, PERCH_ERROR_FORMAT);
	snprintf(expected, sizeof(expected), ": %s at byte ", field);
	if (!strstr(err.message, expected) || !strstr(err.message, perch_record_name(one->type)))
		fail_msg("type %u: %s", one->type, err.message);
	check_trailer(&record.sample_id);
}

static void missing_field_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_CASES; i++) {
		if (!cases[i].first)
			continue;
		expect_missing(&cases[i], SIZE_MAX, cases[i].first);
		expect_missing(&cases[i], 8, cases[i].last);
		check_name(&cases[i], cases[i].first);
		check_name(&cases[i], cases[i].last);
	}
}

/* Counts and lengths that exceed the record, also those that overflow when multiplied. */
static void impossible_counts(void **state)
{
	static const uint64_t counts[] = {
		4, 1000, 0x0fffffffffffffff, 0x1000000000000001, 0x2000000000000000, UINT64_MAX
	};
	static const uint32_t types[] = { PERCH_RECORD_NAMESPACES,
					  PERCH_RECORD_CALLCHAIN_DEFERRED };
	struct perch_parse_info parse_info = layout_of(0);
	struct perch_record record;
	struct built b;

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (size_t k = 0; k < 2; k++) {
			start_record(&b, types[k], 0);
			put_u64(&b, 1);
			put_u64(&b, counts[i]);
			put_words(&b, 1, 3);
			assert_int_equal(decode(&record, &parse_info, &b), -EBADMSG);
		}
	}
	for (uint16_t old = 0; old <= 40; old += 8) {
		start_record(&b, PERCH_RECORD_TEXT_POKE, 0);
		put_u64(&b, 1);
		put_u16(&b, old);
		put_u16(&b, UINT16_MAX);
		put_bytes(&b, "twenty bytes of code", 20);
		assert_int_equal(decode(&record, &parse_info, &b), -EBADMSG);
		assert_int_equal(record.text_poke.new_length, 0);
	}
}

/* A size that is not a multiple of 8: the odd bytes are trailing bytes. */
static void sizes_that_are_not_multiples_of_8(void **state)
{
	struct perch_parse_info parse_info = layout_of(0);
	struct perch_record record;
	struct built b;

	(void)state;
	for (size_t odd = 1; odd < 8; odd++) {
		start_record(&b, PERCH_RECORD_LOST, 0);
		put_words(&b, 1, 2);
		put_bytes(&b, "1234567", odd);
		assert_int_equal(decode(&record, &parse_info, &b), 0);
		assert_int_equal(record.lost.lost, 2);
		assert_int_equal(record.trailing_bytes, odd);
	}
}

static void unknown_types_keep_their_bytes(void **state)
{
	struct perch_parse_info parse_info = layout_of(TRAILER);
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_MAX, 0);
	put_words(&b, 1, 4);
	put_trailer_of(&b, TRAILER);
	assert_int_equal(decode(&record, &parse_info, &b), 0);
	check_trailer(&record.sample_id);
	assert_int_equal(record.trailing_bytes, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_every_type),
		cmocka_unit_test(decodes_every_type_of_the_other_byte_order),
		cmocka_unit_test(missing_field_is_named),
		cmocka_unit_test(impossible_counts),
		cmocka_unit_test(sizes_that_are_not_multiples_of_8),
		cmocka_unit_test(unknown_types_keep_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
