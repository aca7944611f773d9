/* SPDX-License-Identifier: MIT */
/* Samples: each field, empty ones, and counts that cannot be. */
#include "record_fixture.h"

#define EVERYTHING ((PERCH_SAMPLE_MAX - 1) & ~(uint64_t)PERCH_SAMPLE_WEIGHT)
#define GROUP_FORMAT                                                \
	(PERCH_FORMAT_GROUP | PERCH_FORMAT_ID | PERCH_FORMAT_LOST | \
	 PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING)

static struct perch_layout layout_of_everything(void)
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
	struct perch_layout layout;

	perch_layout_init(&layout, &attr, PERCH_BYTES_NATIVE);
	return layout;
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

	check_trailer(&record->identity);
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

static void check_sized_fields(const struct perch_sample *sample)
{
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
	assert_int_equal(sample->callchain.nr, 3);
	assert_int_equal(sample->callchain.ip[2], 0x402000);
	assert_int_equal(sample->raw.size, 12);
	assert_memory_equal(sample->raw.data, "raw bytes 12", 12);
	assert_int_equal(sample->branches.nr, 2);
	assert_int_equal(sample->branches.hw_index, 5);
	assert_int_equal(sample->branches.entry[1].from, 0x103);
	assert_int_equal(sample->branches.counters[1], 0xc1);
	assert_int_equal(sample->regs_user.abi, PERCH_SAMPLE_REGS_ABI_64);
	assert_int_equal(sample->regs_user.nr, 4);
	assert_int_equal(sample->regs_user.mask, 0xf);
	assert_int_equal(sample->regs_user.value[3], 0x203);
	assert_int_equal(sample->stack_user.size, 16);
	assert_int_equal(sample->stack_user.dynamic_size, 8);
	assert_memory_equal(sample->stack_user.data, "sixteen bytes...", 16);
}

static void check_last_fields(const struct perch_sample *sample)
{
	assert_int_equal(sample->weight, 0x57);
	assert_int_equal(sample->data_src, 0xda);
	assert_int_equal(sample->transaction, 0x7a);
	assert_int_equal(sample->regs_intr.nr, 2);
	assert_int_equal(sample->regs_intr.value[1], 0x301);
	assert_int_equal(sample->phys_addr, 0xf0);
	assert_int_equal(sample->cgroup, 0xc6);
	assert_int_equal(sample->data_page_size, 4096);
	assert_int_equal(sample->code_page_size, 2097152);
	assert_int_equal(sample->aux.size, 8);
	assert_memory_equal(sample->aux.data, "auxbytes", 8);
}

static void sample_with_every_field(void **state)
{
	struct perch_layout layout = layout_of_everything();
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL);
	put_fixed_fields(&b);
	put_sized_fields(&b);
	put_last_fields(&b);
	assert_int_equal(decode(&record, &layout, &b), 0);
	check_fixed_fields(&record);
	check_sized_fields(&record.sample);
	check_last_fields(&record.sample);
	/* A later kernel may have more to say: that is no error. */
	put_u64(&b, 0);
	assert_int_equal(decode(&record, &layout, &b), 0);
	check_last_fields(&record.sample);
}

/*
 * No registers in a kernel thread (abi 0), no stack (size 0, and then no dyn_size), empty chains.
 */
static void sample_with_empty_fields(void **state)
{
	struct perch_layout layout = layout_of_everything();
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
	assert_int_equal(decode(&record, &layout, &b), 0);
	check_fixed_fields(&record);
	check_last_fields(&record.sample);
	assert_int_equal(record.sample.callchain.nr, 0);
	assert_int_equal(record.sample.branches.nr, 0);
	assert_int_equal(record.sample.regs_user.nr, 0);
	assert_int_equal(record.sample.regs_user.abi, 0);
	assert_null(record.sample.regs_user.value);
	assert_int_equal(record.sample.stack_user.size, 0);
}

/*
 * Each counting field with a count that the record cannot hold, up to those that overflow when
 * multiplied.
 */
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
			struct perch_layout layout = layout_of(types[i]);
			struct perch_record record;
			struct built b;

			if (types[i] == PERCH_SAMPLE_RAW && (uint32_t)counts[k] < 64)
				continue; /* its size has 32 bits */
			layout.read_format = PERCH_FORMAT_GROUP | PERCH_FORMAT_ID;
			start_record(&b, PERCH_RECORD_SAMPLE, 0);
			put_u64(&b, counts[k]);
			for (int w = 0; w < 8; w++)
				put_u64(&b, 0);
			assert_int_equal(decode(&record, &layout, &b), -EBADMSG);
		}
	}
}

static void stack_size_is_bounded_by_what_was_copied(void **state)
{
	struct perch_layout layout = layout_of(PERCH_SAMPLE_STACK_USER);
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_SAMPLE, 0);
	put_u64(&b, 8);
	put_u64(&b, 0);
	put_u64(&b, 1u << 20);
	assert_int_equal(decode(&record, &layout, &b), 0);
	assert_int_equal(record.sample.stack_user.dynamic_size, 8);
}

static void impossible_headers_are_refused(void **state)
{
	struct perch_layout layout = layout_of(0);
	struct perch_error err = { 0 };
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_COMM, 3);
	for (uint16_t size = 0; size < 8; size++) {
		memcpy(b.bytes + 6, &size, sizeof(size));
		assert_int_equal(perch_record_decode(&record, &layout, b.bytes, 64, &err),
				 -EBADMSG);
		assert_int_equal(record.type, PERCH_RECORD_COMM);
		assert_int_equal(record.misc, 3);
	}
	end_record(&b);
	assert_int_equal(perch_record_decode(&record, &layout, b.bytes + 4, 64, &err), -EINVAL);
	assert_int_equal(perch_record_decode(&record, &layout, b.bytes, 64, NULL), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_with_every_field),
		cmocka_unit_test(sample_with_empty_fields),
		cmocka_unit_test(impossible_counts_are_refused),
		cmocka_unit_test(stack_size_is_bounded_by_what_was_copied),
		cmocka_unit_test(impossible_headers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
