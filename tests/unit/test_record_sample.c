/* SPDX-License-Identifier: MIT */
/* Samples: each field, empty fields, and impossible counts. */
#include "record_fixture.h"

#define EVERYTHING ((PERCH_SAMPLE_MAX - 1) & ~(uint64_t)PERCH_SAMPLE_WEIGHT)
#define GROUP_FORMAT                                                \
	(PERCH_FORMAT_GROUP | PERCH_FORMAT_ID | PERCH_FORMAT_LOST | \
	 PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING)

static struct perch_parse_info layout_of_everything(void)
{
	struct perch_attr attr = {
		.sample_type = EVERYTHING,
		.read_format = GROUP_FORMAT,
		.branch_sample_type = PERCH_SAMPLE_BRANCH_ANY | PERCH_SAMPLE_BRANCH_HW_INDEX |
				      PERCH_SAMPLE_BRANCH_COUNTERS,
		.sample_regs_user = 0xf,
		.sample_regs_intr = 0x30,
		.sample_id_all = 1,
	};
	struct perch_parse_info parse_info;

	perch_parse_info_init(&parse_info, &attr, built_order());
	return parse_info;
}

static void put_fixed_fields(struct built *b)
{
	put_u64(b, BUILT_ID);
	put_u64(b, 0xffffffff81000000);
	put_u32(b, BUILT_PID);
	put_u32(b, BUILT_TID);
	put_u64(b, BUILT_TIME);
	put_u64(b, 0xadd0);
	put_u64(b, BUILT_ID);
	put_u64(b, BUILT_STREAM);
	put_u32(b, BUILT_CPU);
	put_u32(b, 0);
	put_u64(b, 250000);
}

static void put_sized_fields(struct built *b)
{
	put_u64(b, 2); /* READ: a group of two */
	put_u64(b, 1000);
	put_u64(b, 900);
	for (uint64_t i = 1; i <= 6; i++)
		put_u64(b, i);
	put_u64(b, 3); /* CALLCHAIN */
	put_u64(b, (uint64_t)PERCH_CONTEXT_USER);
	put_u64(b, 0x401000);
	put_u64(b, 0x402000);
	put_u32(b, 12); /* RAW */
	put_bytes(b, "raw bytes 12", 12);
	put_u64(b, 2); /* BRANCH_STACK */
	put_u64(b, 5);
	for (uint64_t i = 0; i < 6; i++)
		put_u64(b, 0x100 + i);
	put_u64(b, 0xc0);
	put_u64(b, 0xc1);
	put_u64(b, PERCH_SAMPLE_REGS_ABI_64); /* REGS_USER */
	for (uint64_t i = 0; i < 4; i++)
		put_u64(b, 0x200 + i);
	put_u64(b, 16); /* STACK_USER */
	put_bytes(b, "sixteen bytes...", 16);
	put_u64(b, 8);
}

static void put_last_fields(struct built *b)
{
	put_u64(b, 0x57); /* WEIGHT_STRUCT */
	put_u64(b, 0xda);
	put_u64(b, 0x7a);
	put_u64(b, PERCH_SAMPLE_REGS_ABI_32); /* REGS_INTR */
	put_u64(b, 0x300);
	put_u64(b, 0x301);
	put_u64(b, 0xf0); /* PHYS_ADDR, CGROUP, page sizes */
	put_u64(b, 0xc6);
	put_u64(b, 4096);
	put_u64(b, 2097152);
	put_u64(b, 8); /* AUX */
	put_bytes(b, "auxbytes", 8);
}

static void check_fixed_fields(const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;

	check_trailer(&record->sample_id);
	assert_int_equal(sample->ip, 0xffffffff81000000);
	assert_int_equal(sample->pid, BUILT_PID);
	assert_int_equal(sample->tid, BUILT_TID);
	assert_int_equal(sample->time, BUILT_TIME);
	assert_int_equal(sample->addr, 0xadd0);
	assert_int_equal(sample->id, BUILT_ID);
	assert_int_equal(sample->stream_id, BUILT_STREAM);
	assert_int_equal(sample->cpu, BUILT_CPU);
	assert_int_equal(sample->period, 250000);
}

static void check_sized_fields(const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;
	struct perch_branch_entry entry;
	struct perch_read_value value;

	assert_int_equal(sample->read.nr, 2);
	assert_int_equal(sample->read.enabled_ns, 1000);
	assert_int_equal(sample->read.running_ns, 900);
	perch_read_values_at(&sample->read, 1, &value);
	assert_int_equal(value.value, 4);
	assert_int_equal(value.id, 5);
	assert_int_equal(value.lost, 6);
	perch_read_values_at(&sample->read, 2, &value);
	assert_int_equal(value.value, 0);
	assert_true(perch_read_values_find(&sample->read, 5, &value));
	assert_int_equal(value.value, 4);
	assert_false(perch_read_values_find(&sample->read, 99, &value));
	assert_int_equal(value.value, 0);
	assert_int_equal(sample->callchain.nr, 3);
	assert_int_equal(perch_word(record, sample->callchain.ip + 2), 0x402000);
	assert_int_equal(sample->raw.size, 12);
	assert_memory_equal(sample->raw.data, "raw bytes 12", 12);
	assert_int_equal(sample->branches.nr, 2);
	assert_int_equal(sample->branches.hw_index, 5);
	perch_branch_at(record, 1, &entry);
	assert_int_equal(entry.from, 0x103);
	assert_int_equal(entry.to, 0x104);
	perch_branch_at(record, 2, &entry);
	assert_int_equal(entry.from | entry.to | entry.flags, 0);
	assert_int_equal(perch_word(record, sample->branches.counters + 1), 0xc1);
	assert_int_equal(sample->regs_user.abi, PERCH_SAMPLE_REGS_ABI_64);
	assert_int_equal(sample->regs_user.nr, 4);
	assert_int_equal(sample->regs_user.mask, 0xf);
	assert_int_equal(perch_word(record, sample->regs_user.value + 3), 0x203);
	assert_int_equal(sample->stack_user.size, 16);
	assert_int_equal(sample->stack_user.dynamic_size, 8);
	assert_memory_equal(sample->stack_user.data, "sixteen bytes...", 16);
}

static void check_last_fields(const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;

	assert_int_equal(sample->weight, 0x57);
	assert_int_equal(sample->data_src, 0xda);
	assert_int_equal(sample->transaction, 0x7a);
	assert_int_equal(sample->regs_intr.nr, 2);
	assert_int_equal(perch_word(record, sample->regs_intr.value + 1), 0x301);
	assert_int_equal(sample->phys_addr, 0xf0);
	assert_int_equal(sample->cgroup, 0xc6);
	assert_int_equal(sample->data_page_size, 4096);
	assert_int_equal(sample->code_page_size, 2097152);
	assert_int_equal(sample->aux.size, 8);
	assert_memory_equal(sample->aux.data, "auxbytes", 8);
}

static void sample_with_every_field(void **state)
{
	struct perch_parse_info parse_info = layout_of_everything();
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL);
	put_fixed_fields(&b);
	put_sized_fields(&b);
	put_last_fields(&b);
	assert_int_equal(decode(&record, &parse_info, &b), 0);
	assert_int_equal(record.trailing_bytes, 0);
	check_fixed_fields(&record);
	check_sized_fields(&record);
	check_last_fields(&record);
	/* Additional bytes of a newer kernel are no error. */
	put_u64(&b, 0);
	assert_int_equal(decode(&record, &parse_info, &b), 0);
	assert_int_equal(record.trailing_bytes, 8);
	check_last_fields(&record);
}

static void sample_of_the_other_byte_order(void **state)
{
	built_swapped = true;
	sample_with_every_field(state);
	built_swapped = false;
}

/* Fields that the attr does not select are zero in the view. */
static void sample_without_fields(void **state)
{
	static const struct perch_sample zeros;
	const size_t from = offsetof(struct perch_sample, read);
	struct perch_parse_info parse_info = layout_of(0);
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_SAMPLE, 0);
	assert_int_equal(decode(&record, &parse_info, &b), 0);
	assert_int_equal(
		record.sample.ip | record.sample.pid | record.sample.tid | record.sample.time, 0);
	assert_int_equal(record.sample.addr | record.sample.id | record.sample.stream_id |
				 record.sample.cpu,
			 0);
	assert_int_equal(record.sample.period, 0);
	assert_memory_equal(&record.sample.read, &zeros.read, sizeof(zeros) - from);
	assert_int_equal(record.sample_id.has | record.sample_id.id | record.sample_id.time |
				 record.sample_id.cpu,
			 0);
}

static const struct {
	uint64_t type;
	const char *field;
	const char *at;
} cut_samples[] = {
	{ PERCH_SAMPLE_IP | PERCH_SAMPLE_TID, "ip", "8" },
	{ PERCH_SAMPLE_READ, "number of read.values", "8" },
	{ PERCH_SAMPLE_CALLCHAIN, "number of callchain entries", "8" },
	{ PERCH_SAMPLE_RAW, "raw size", "8" },
	{ PERCH_SAMPLE_BRANCH_STACK, "number of branch_stack.entries", "8" },
	{ PERCH_SAMPLE_REGS_USER, "user_regs.abi", "8" },
	{ PERCH_SAMPLE_STACK_USER, "user_stack.size", "8" },
	{ PERCH_SAMPLE_WEIGHT_STRUCT, "weight", "8" },
	{ PERCH_SAMPLE_DATA_SRC, "data_src", "8" },
	{ PERCH_SAMPLE_TRANSACTION, "transaction", "8" },
	{ PERCH_SAMPLE_REGS_INTR, "intr_regs.abi", "8" },
	{ PERCH_SAMPLE_PHYS_ADDR, "phys_addr", "8" },
	{ PERCH_SAMPLE_CGROUP, "cgroup", "8" },
	{ PERCH_SAMPLE_DATA_PAGE_SIZE, "data_page_size", "8" },
	{ PERCH_SAMPLE_CODE_PAGE_SIZE, "code_page_size", "8" },
	{ PERCH_SAMPLE_AUX, "aux size", "8" },
};

static void truncated_field_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cut_samples) / sizeof(cut_samples[0]); i++) {
		struct perch_parse_info parse_info = layout_of(cut_samples[i].type);
		struct perch_error err = { 0 };
		struct perch_record record;
		char expected[64];
		struct built b;

		parse_info.read_format = PERCH_FORMAT_GROUP;
		start_record(&b, PERCH_RECORD_SAMPLE, 0);
		end_record(&b);
		assert_int_equal(perch_record_decode(&record, &parse_info, b.bytes, b.size, &err),
				 -EBADMSG);
		snprintf(expected, sizeof(expected), ": %s at byte %s exceeds",
			 cut_samples[i].field, cut_samples[i].at);
		if (!strstr(err.message, expected))
			fail_msg("%s: %s", expected, err.message);
	}
}

/* The byte of the error is that of the first field that exceeds the record. */
static void error_has_the_byte_of_the_field(void **state)
{
	struct perch_parse_info parse_info =
		layout_of(PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME | PERCH_SAMPLE_PERIOD);
	struct perch_error err = { 0 };
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_SAMPLE, 0);
	put_u64(&b, 1);
	put_u64(&b, 2);
	end_record(&b);
	assert_int_equal(perch_record_decode(&record, &parse_info, b.bytes, b.size, &err),
			 -EBADMSG);
	assert_non_null(strstr(err.message, ": period at byte 24 exceeds"));
}

/* The kernel writes WEIGHT_STRUCT as a number that is the same in both byte orders. */
static void weight_parts_of_either_order(void **state)
{
	struct perch_parse_info parse_info;

	(void)state;
	for (int i = 0; i < 2; i++) {
		union perch_sample_weight weight;
		struct perch_record record;
		struct built b;

		built_swapped = i;
		parse_info = layout_of(PERCH_SAMPLE_WEIGHT_STRUCT);
		start_record(&b, PERCH_RECORD_SAMPLE, 0);
		put_u64(&b, 0x0003000200000001);
		assert_int_equal(decode(&record, &parse_info, &b), 0);
		weight.full = record.sample.weight;
		assert_int_equal(weight.var1_dw, 1);
		assert_int_equal(weight.var2_w, 2);
		assert_int_equal(weight.var3_w, 3);
	}
	built_swapped = false;
}

/*
 * The same flags on machines of both kinds: predicted, abort, cycles 300, type 5, spec 2, new_type
 * 9, priv 3. Bit-fields of big-endian machines start at the highest bit.
 */
static void branch_flags_of_either_order(void **state)
{
	static const uint64_t little = 1u << 1 | 1u << 3 | 300u << 4 | 5u << 20 | 2u << 24 |
				       9u << 26 | 3ull << 30;
	static const uint64_t big = 1ull << 62 | 1ull << 60 | 300ull << 44 | 5ull << 40 |
				    2ull << 38 | 9ull << 34 | 3ull << 31;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct perch_parse_info parse_info;
		struct perch_branch_entry entry;
		struct perch_record record;
		struct built b;

		built_swapped = i;
		parse_info = layout_of(PERCH_SAMPLE_BRANCH_STACK);
		start_record(&b, PERCH_RECORD_SAMPLE, 0);
		put_u64(&b, 1);
		put_u64(&b, 0x1000);
		put_u64(&b, 0x2000);
		put_u64(&b, built_order() == PERCH_BYTES_BIG ? big : little);
		assert_int_equal(decode(&record, &parse_info, &b), 0);
		perch_branch_at(&record, 0, &entry);
		assert_int_equal(entry.from, 0x1000);
		assert_int_equal(entry.to, 0x2000);
		assert_int_equal(entry.mispred, 0);
		assert_int_equal(entry.predicted, 1);
		assert_int_equal(entry.in_tx, 0);
		assert_int_equal(entry.abort, 1);
		assert_int_equal(entry.cycles, 300);
		assert_int_equal(entry.type, 5);
		assert_int_equal(entry.spec, 2);
		assert_int_equal(entry.new_type, 9);
		assert_int_equal(entry.priv, 3);
		assert_int_equal(entry.reserved, 0);
	}
	built_swapped = false;
}

/* The kernel writes hw_index for an empty stack, but not if there is no stack. */
static void empty_branch_stacks(void **state)
{
	struct perch_parse_info parse_info =
		layout_of(PERCH_SAMPLE_BRANCH_STACK | PERCH_SAMPLE_WEIGHT);
	struct perch_error err = { 0 };
	struct perch_record record;
	struct built b;

	(void)state;
	parse_info.branch_sample_type = PERCH_SAMPLE_BRANCH_ANY | PERCH_SAMPLE_BRANCH_HW_INDEX;
	for (int hw_index = 0; hw_index < 2; hw_index++) {
		start_record(&b, PERCH_RECORD_SAMPLE, 0);
		put_u64(&b, 0);
		if (hw_index)
			put_u64(&b, 5);
		put_u64(&b, 0x3e);
		end_record(&b);
		assert_int_equal(perch_record_decode(&record, &parse_info, b.bytes, b.size, &err),
				 0);
		assert_int_equal(err.errnum, 0); /* untouched */
		assert_int_equal(record.sample.branches.nr, 0);
		assert_int_equal(record.sample.branches.hw_index, hw_index ? 5 : 0);
		assert_int_equal(record.sample.weight, 0x3e);
		assert_int_equal(record.trailing_bytes, 0);
	}
	put_u64(&b, 0); /* of a newer kernel, after complete fields */
	end_record(&b);
	assert_int_equal(perch_record_decode(&record, &parse_info, b.bytes, b.size, &err), 0);
	assert_int_equal(record.sample.branches.hw_index, 5);
	assert_int_equal(record.trailing_bytes, 8);
}

/*
 * No registers in a kernel thread (abi 0), no stack (size 0, and then no dyn_size), empty chains.
 */
static void sample_with_empty_fields(void **state)
{
	struct perch_parse_info parse_info = layout_of_everything();
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL);
	put_fixed_fields(&b);
	put_u64(&b, 0); /* READ: nr, times */
	put_u64(&b, 0);
	put_u64(&b, 0);
	put_u64(&b, 0); /* CALLCHAIN */
	put_u32(&b, 4); /* RAW */
	put_u32(&b, 0);
	put_u64(&b, 0); /* BRANCH_STACK, hw_index */
	put_u64(&b, (uint64_t)-1);
	put_u64(&b, 0); /* REGS_USER: no abi */
	put_u64(&b, 0); /* STACK_USER */
	put_last_fields(&b);
	assert_int_equal(decode(&record, &parse_info, &b), 0);
	check_fixed_fields(&record);
	check_last_fields(&record);
	assert_int_equal(record.sample.callchain.nr, 0);
	assert_int_equal(record.sample.branches.nr, 0);
	assert_int_equal(record.sample.regs_user.nr, 0);
	assert_int_equal(record.sample.regs_user.abi, 0);
	assert_null(record.sample.regs_user.value);
	assert_int_equal(record.sample.stack_user.size, 0);
}

/* Counts that exceed the record, also those that overflow when multiplied. */
static void impossible_counts_are_refused(void **state)
{
	static const uint64_t types[] = {
		PERCH_SAMPLE_CALLCHAIN, PERCH_SAMPLE_RAW,	 PERCH_SAMPLE_BRANCH_STACK,
		PERCH_SAMPLE_READ,	PERCH_SAMPLE_STACK_USER, PERCH_SAMPLE_AUX,
	};
	static const uint64_t counts[] = {
		1000,
		0xfffffff0,
		0x0aaaaaaaaaaaaaabu,
		0x1fffffffffffffffu,
		0x2000000000000001u,
		0x5555555555555556u,
		0xfffffffffffffff8u,
		UINT64_MAX - 1,
		UINT64_MAX,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
			struct perch_parse_info parse_info = layout_of(types[i]);
			struct perch_record record;
			struct built b;

			if (types[i] == PERCH_SAMPLE_RAW && (uint32_t)counts[k] < 64)
				continue; /* its size has 32 bits */
			parse_info.read_format = PERCH_FORMAT_GROUP | PERCH_FORMAT_ID;
			start_record(&b, PERCH_RECORD_SAMPLE, 0);
			put_u64(&b, counts[k]);
			for (int w = 0; w < 8; w++)
				put_u64(&b, 0);
			assert_int_equal(decode(&record, &parse_info, &b), -EBADMSG);
		}
	}
}

/*
 * The kernel makes size and bytes a multiple of 8; other writers may not. The next field starts at
 * a multiple of 8.
 */
static void raw_is_padded(void **state)
{
	struct perch_parse_info parse_info = layout_of(PERCH_SAMPLE_RAW | PERCH_SAMPLE_WEIGHT);

	(void)state;
	for (uint32_t size = 0; size <= 13; size++) {
		struct perch_record record;
		struct built b;

		start_record(&b, PERCH_RECORD_SAMPLE, 0);
		put_u32(&b, size);
		put_bytes(&b, "thirteen byte", size);
		b.size = (b.size + 7) / 8 * 8;
		put_u64(&b, 0x57);
		assert_int_equal(decode(&record, &parse_info, &b), 0);
		assert_int_equal(record.sample.raw.size, size);
		assert_memory_equal(record.sample.raw.data, "thirteen byte", size);
		assert_int_equal(record.sample.weight, 0x57);
		assert_int_equal(record.trailing_bytes, 0);
	}
}

static void stack_size_is_bounded_by_what_was_copied(void **state)
{
	struct perch_parse_info parse_info = layout_of(PERCH_SAMPLE_STACK_USER);
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_SAMPLE, 0);
	put_u64(&b, 8);
	put_u64(&b, 0);
	put_u64(&b, 1u << 20);
	assert_int_equal(decode(&record, &parse_info, &b), 0);
	assert_int_equal(record.sample.stack_user.dynamic_size, 8);
}

static void impossible_headers_are_refused(void **state)
{
	struct perch_parse_info parse_info = layout_of(0);
	struct perch_error err = { 0 };
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_COMM, 3);
	for (uint16_t size = 0; size < 8; size++) {
		memcpy(b.bytes + 6, &size, sizeof(size));
		assert_int_equal(perch_record_decode(&record, &parse_info, b.bytes, 64, &err),
				 -EBADMSG);
		assert_int_equal(record.type, PERCH_RECORD_COMM);
		assert_int_equal(record.misc, 3);
	}
	end_record(&b);
	memcpy(b.bytes + 4, &(struct perch_record_header){ PERCH_RECORD_SWITCH, 0, 8 }, 8);
	assert_int_equal(perch_record_decode(&record, &parse_info, b.bytes + 4, 64, &err), -EINVAL);
	assert_int_equal(perch_record_decode(&record, &parse_info, b.bytes, 64, NULL), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_with_every_field),
		cmocka_unit_test(sample_of_the_other_byte_order),
		cmocka_unit_test(sample_without_fields),
		cmocka_unit_test(truncated_field_is_named),
		cmocka_unit_test(error_has_the_byte_of_the_field),
		cmocka_unit_test(weight_parts_of_either_order),
		cmocka_unit_test(branch_flags_of_either_order),
		cmocka_unit_test(empty_branch_stacks),
		cmocka_unit_test(sample_with_empty_fields),
		cmocka_unit_test(impossible_counts_are_refused),
		cmocka_unit_test(raw_is_padded),
		cmocka_unit_test(stack_size_is_bounded_by_what_was_copied),
		cmocka_unit_test(impossible_headers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
