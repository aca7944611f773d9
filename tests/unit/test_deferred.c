/* SPDX-License-Identifier: MIT */
/* Call chains: the cpumode of addresses, and samples with a deferred user part. */
#include "record_fixture.h"

#define TYPE   (PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_CALLCHAIN)
#define COOKIE 0x100000007

static struct perch_parse_info parse_info;
static struct built built[16];
static bool with_marker; /* records begin with PERCH_CONTEXT_USER */

/*
 * A sample of thread tid with two kernel addresses, the second of them `mark`, and the cookie of
 * its deferred part.
 */
static struct perch_record waiting(int slot, uint32_t tid, uint64_t cookie, uint64_t mark)
{
	struct built *b = &built[slot];
	struct perch_record record;

	parse_info = layout_of(TYPE);
	start_record(b, PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL);
	put_u64(b, mark);
	put_u32(b, 1);
	put_u32(b, tid);
	put_u64(b, cookie ? 5 : 3);
	put_u64(b, PERCH_CONTEXT_KERNEL);
	put_u64(b, 0xffffffff81000000);
	put_u64(b, mark);
	if (cookie) {
		put_u64(b, PERCH_CONTEXT_USER_DEFERRED);
		put_u64(b, cookie);
	}
	end_record(b);
	assert_int_equal(perch_record_decode(&record, &parse_info, b->bytes, b->size, NULL), 0);
	record.event = slot;
	record.offset = 1000 + slot;
	return record;
}

/*
 * A record with nr user addresses. Linux 6.19 to 7.3 write no marker before them
 * (perf_callchain_deferred_output() of kernel/events/core.c, seen on 7.2).
 */
static struct perch_record completing(int slot, uint32_t tid, uint64_t cookie, uint64_t nr)
{
	struct built *b = &built[slot];
	struct perch_record record;

	parse_info = layout_of(TYPE);
	start_record(b, PERCH_RECORD_CALLCHAIN_DEFERRED, PERCH_MISC_USER);
	put_u64(b, cookie);
	put_u64(b, nr + with_marker);
	if (with_marker)
		put_u64(b, PERCH_CONTEXT_USER);
	for (uint64_t i = 0; i < nr; i++)
		put_u64(b, 0x400000 + i);
	put_u32(b, 1);
	put_u32(b, tid);
	end_record(b);
	assert_int_equal(perch_record_decode(&record, &parse_info, b->bytes, b->size, NULL), 0);
	return record;
}

static void expect_chain(const struct perch_record *record, uint64_t mark, uint64_t nr_user)
{
	struct perch_chain_address address;
	struct perch_chain chain;

	perch_chain_init(&chain, record);
	assert_true(perch_chain_next(&chain, &address));
	assert_int_equal(address.ip, 0xffffffff81000000);
	assert_int_equal(address.cpumode, PERCH_MISC_KERNEL);
	assert_true(perch_chain_next(&chain, &address));
	assert_int_equal(address.ip, mark);
	for (uint64_t i = 0; i < nr_user; i++) {
		assert_true(perch_chain_next(&chain, &address));
		assert_int_equal(address.ip, 0x400000 + i);
		assert_int_equal(address.cpumode, PERCH_MISC_USER);
	}
	assert_false(perch_chain_next(&chain, &address));
	assert_false(perch_chain_next(&chain, &address));
	assert_int_equal(chain.deferred, nr_user == 0);
}

static void expect_user_addresses(const struct perch_record *record, uint64_t nr)
{
	struct perch_chain_address address;
	struct perch_chain chain;

	perch_chain_init(&chain, record);
	for (uint64_t i = 0; i < nr; i++) {
		assert_true(perch_chain_next(&chain, &address));
		assert_int_equal(address.ip, 0x400000 + i);
		assert_int_equal(address.cpumode, PERCH_MISC_USER);
	}
	assert_false(perch_chain_next(&chain, &address));
}

static void markers_set_the_cpumode(void **state)
{
	static const struct {
		uint64_t marker;
		uint8_t cpumode;
	} markers[] = {
		{ PERCH_CONTEXT_HV, PERCH_MISC_HYPERVISOR },
		{ PERCH_CONTEXT_KERNEL, PERCH_MISC_KERNEL },
		{ PERCH_CONTEXT_USER, PERCH_MISC_USER },
		{ PERCH_CONTEXT_GUEST, PERCH_MISC_CPUMODE_UNKNOWN },
		{ PERCH_CONTEXT_GUEST_KERNEL, PERCH_MISC_GUEST_KERNEL },
		{ PERCH_CONTEXT_GUEST_USER, PERCH_MISC_GUEST_USER },
		{ PERCH_CONTEXT_MAX, PERCH_MISC_CPUMODE_UNKNOWN },
	};
	const size_t nr = sizeof(markers) / sizeof(markers[0]);
	struct perch_chain_address address;
	struct perch_record record;
	struct perch_chain chain;

	(void)state;
	parse_info = layout_of(PERCH_SAMPLE_CALLCHAIN);
	start_record(&built[0], PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
	put_u64(&built[0], 1 + 2 * nr);
	put_u64(&built[0], 0x1000);
	for (size_t i = 0; i < nr; i++) {
		put_u64(&built[0], markers[i].marker);
		put_u64(&built[0], 0x1001 + i);
	}
	assert_int_equal(decode(&record, &parse_info, &built[0]), 0);
	perch_chain_init(&chain, &record);
	assert_true(perch_chain_next(&chain, &address));
	assert_int_equal(address.cpumode, PERCH_MISC_USER);
	for (size_t i = 0; i < nr; i++) {
		assert_true(perch_chain_next(&chain, &address));
		assert_int_equal(address.ip, 0x1001 + i);
		assert_int_equal(address.cpumode, markers[i].cpumode);
	}
	assert_false(perch_chain_next(&chain, &address));
	assert_false(chain.deferred);
}

/* The kernel writes the cookie last; addresses after it are user addresses. */
static void addresses_after_a_cookie(void **state)
{
	struct perch_chain_address address;
	struct perch_record record;
	struct perch_chain chain;

	(void)state;
	parse_info = layout_of(PERCH_SAMPLE_CALLCHAIN);
	start_record(&built[0], PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL);
	put_u64(&built[0], 3);
	put_u64(&built[0], PERCH_CONTEXT_USER_DEFERRED);
	put_u64(&built[0], COOKIE);
	put_u64(&built[0], 0x400000);
	assert_int_equal(decode(&record, &parse_info, &built[0]), 0);
	perch_chain_init(&chain, &record);
	assert_true(perch_chain_next(&chain, &address));
	assert_int_equal(address.ip, 0x400000);
	assert_int_equal(address.cpumode, PERCH_MISC_USER);
	assert_false(perch_chain_next(&chain, &address));
	assert_true(chain.deferred);
	assert_int_equal(chain.cookie, COOKIE);
}

/* A chain may end after the marker; other records have no chain. */
static void chains_without_a_cookie(void **state)
{
	struct perch_chain_address address;
	struct perch_deferred *deferred_samples;
	struct perch_record record;
	struct perch_chain chain;

	(void)state;
	assert_int_equal(perch_deferred_new(&deferred_samples, 0, NULL), 0);
	parse_info = layout_of(PERCH_SAMPLE_CALLCHAIN);
	start_record(&built[0], PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL);
	put_u64(&built[0], 1);
	put_u64(&built[0], PERCH_CONTEXT_USER_DEFERRED);
	assert_int_equal(decode(&record, &parse_info, &built[0]), 0);
	perch_chain_init(&chain, &record);
	assert_false(perch_chain_next(&chain, &address));
	assert_false(chain.deferred);
	assert_int_equal(perch_deferred_hold(deferred_samples, &record), 0);
	start_record(&built[0], PERCH_RECORD_COMM, 0);
	put_u64(&built[0], 0);
	put_name(&built[0], "x");
	assert_int_equal(decode(&record, &parse_info, &built[0]), 0);
	perch_chain_init(&chain, &record);
	assert_false(perch_chain_next(&chain, &address));
	assert_int_equal(perch_deferred_hold(deferred_samples, &record), 0);
	assert_int_equal(perch_deferred_next(deferred_samples, &record, &record), 0);
	perch_deferred_free(deferred_samples);
	perch_deferred_free(NULL);
}

/*
 * Two samples with the same cookie, one of another thread, one with another cookie, one that is
 * complete.
 */
static void completes_samples_of_the_same_cookie(void **state)
{
	struct perch_deferred *deferred_samples;
	struct perch_record records[5], callchain_deferred, whole;

	(void)state;
	assert_int_equal(perch_deferred_new(&deferred_samples, 0, NULL), 0);
	records[0] = waiting(0, 10, COOKIE, 0xffffffff81000010);
	records[1] = waiting(1, 11, COOKIE, 0xffffffff81000011);
	records[2] = waiting(2, 10, COOKIE + 1, 0xffffffff81000012);
	records[3] = waiting(3, 10, COOKIE, 0xffffffff81000013);
	records[4] = waiting(4, 10, 0, 0xffffffff81000014);
	for (int i = 0; i < 5; i++)
		assert_int_equal(perch_deferred_hold(deferred_samples, &records[i]), i < 4);
	memset(built, 0xee, sizeof(built)); /* the bytes were copied */
	callchain_deferred = completing(5, 10, COOKIE, 3);
	for (int i = 0; i <= 3; i += 3) {
		assert_int_equal(perch_deferred_next(deferred_samples, &callchain_deferred, &whole),
				 1);
		assert_int_equal(whole.event, i);
		assert_int_equal(whole.offset, 1000 + i);
		assert_int_equal(whole.sample.tid, 10);
		expect_chain(&whole, 0xffffffff81000010 + i, 3);
	}
	assert_int_equal(perch_deferred_next(deferred_samples, &callchain_deferred, &whole), 0);
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(perch_deferred_next(deferred_samples, NULL, &whole), 1);
		assert_int_equal(whole.event, i);
		expect_chain(&whole, 0xffffffff81000010 + i, 0);
	}
	assert_int_equal(perch_deferred_next(deferred_samples, NULL, &whole), 0);
	perch_deferred_free(deferred_samples);
}

static void records_that_begin_with_a_marker(void **state)
{
	with_marker = true;
	completes_samples_of_the_same_cookie(state);
	built_swapped = true;
	completes_samples_of_the_same_cookie(state);
	built_swapped = false;
	with_marker = false;
}

/* The merged chain has one marker before the user part, and no cookie. */
static void a_merged_chain_has_one_marker(void **state)
{
	static const uint64_t words[] = {
		PERCH_CONTEXT_KERNEL, 0xffffffff81000000, 0xffffffff81000010,
		PERCH_CONTEXT_USER,   0x400000,		  0x400001
	};
	struct perch_deferred *deferred_samples;
	struct perch_record record, callchain_deferred, whole;

	(void)state;
	for (int i = 0; i < 2; i++) {
		with_marker = i;
		assert_int_equal(perch_deferred_new(&deferred_samples, 0, NULL), 0);
		record = waiting(0, 10, COOKIE, 0xffffffff81000010);
		assert_int_equal(perch_deferred_hold(deferred_samples, &record), 1);
		callchain_deferred = completing(1, 10, COOKIE, 2);
		assert_int_equal(perch_deferred_next(deferred_samples, &callchain_deferred, &whole),
				 1);
		assert_int_equal(whole.sample.callchain.nr, sizeof(words) / sizeof(words[0]));
		assert_memory_equal(whole.sample.callchain.ip, words, sizeof(words));
		perch_deferred_free(deferred_samples);
	}
	with_marker = false;
}

/*
 * The kernel takes samples after it has written the record, too, until the thread is in user space
 * again. A later record of the thread has another cookie.
 */
static void completes_samples_after_the_record(void **state)
{
	struct perch_deferred *deferred_samples;
	struct perch_record record, callchain_deferred, whole;

	(void)state;
	assert_int_equal(perch_deferred_new(&deferred_samples, 0, NULL), 0);
	callchain_deferred = completing(0, 10, COOKIE, 3);
	expect_user_addresses(&callchain_deferred, 3);
	assert_int_equal(perch_deferred_next(deferred_samples, &callchain_deferred, &whole), 0);
	assert_int_equal(perch_deferred_complete(deferred_samples, &callchain_deferred), 0);
	memset(built, 0xee, sizeof(built)); /* the words were copied */
	for (int i = 0; i < 2; i++) {
		record = waiting(1, 10, COOKIE, 0xffffffff81000010);
		assert_int_equal(perch_deferred_complete(deferred_samples, &record), 1);
		expect_chain(&record, 0xffffffff81000010, 3);
	}
	record = waiting(1, 10, COOKIE + 1, 0xffffffff81000010);
	assert_int_equal(perch_deferred_complete(deferred_samples, &record), 0);
	expect_chain(&record, 0xffffffff81000010, 0);
	record = waiting(1, 11, COOKIE, 0xffffffff81000010);
	assert_int_equal(perch_deferred_complete(deferred_samples, &record), 0);
	record = waiting(1, 10, 0, 0xffffffff81000010);
	assert_int_equal(perch_deferred_complete(deferred_samples, &record), 0);
	/* the next record replaces it; NULL ends the stream */
	callchain_deferred = completing(0, 10, COOKIE + 1, 2);
	assert_int_equal(perch_deferred_next(deferred_samples, &callchain_deferred, &whole), 0);
	record = waiting(1, 10, COOKIE, 0xffffffff81000010);
	assert_int_equal(perch_deferred_complete(deferred_samples, &record), 0);
	record = waiting(1, 10, COOKIE + 1, 0xffffffff81000010);
	assert_int_equal(perch_deferred_complete(deferred_samples, &record), 1);
	expect_chain(&record, 0xffffffff81000010, 2);
	assert_int_equal(perch_deferred_next(deferred_samples, NULL, &whole), 0);
	record = waiting(1, 10, COOKIE + 1, 0xffffffff81000010);
	assert_int_equal(perch_deferred_complete(deferred_samples, &record), 0);
	perch_deferred_free(deferred_samples);
}

/* A record that completes a sample proves that those of older samples of the thread are missing. */
static void returns_samples_without_their_record(void **state)
{
	static const struct {
		uint32_t tid;
		uint64_t cookie;
	} held[] = { { 10, 1 }, { 11, 2 }, { 10, 3 }, { 10, 5 }, { 10, 5 }, { 10, 7 } };
	struct perch_deferred *deferred_samples;
	struct perch_record record, callchain_deferred, whole;

	(void)state;
	assert_int_equal(perch_deferred_new(&deferred_samples, 0, NULL), 0);
	for (int i = 0; i < 6; i++) {
		record = waiting(i, held[i].tid, held[i].cookie, 0xffffffff81000010 + i);
		assert_int_equal(perch_deferred_hold(deferred_samples, &record), 1);
	}
	/* a record that completes no sample shows nothing about older ones */
	callchain_deferred = completing(8, 10, 4, 1);
	assert_int_equal(
		perch_deferred_next_incomplete(deferred_samples, &callchain_deferred, &whole), 0);
	callchain_deferred = completing(8, 10, 5, 1);
	for (int i = 0; i <= 2; i += 2) {
		assert_int_equal(perch_deferred_next_incomplete(deferred_samples,
								&callchain_deferred, &whole),
				 1);
		expect_chain(&whole, 0xffffffff81000010 + i, 0);
	}
	for (int i = 3; i <= 4; i++) {
		assert_int_equal(perch_deferred_next_incomplete(deferred_samples,
								&callchain_deferred, &whole),
				 0);
		assert_int_equal(perch_deferred_next(deferred_samples, &callchain_deferred, &whole),
				 1);
		expect_chain(&whole, 0xffffffff81000010 + i, 1);
	}
	assert_int_equal(perch_deferred_next_incomplete(deferred_samples, &record, &whole), 0);
	assert_int_equal(perch_deferred_next_incomplete(deferred_samples, NULL, &whole), 0);
	for (int i = 1; i <= 5; i += 4) {
		assert_int_equal(perch_deferred_next(deferred_samples, NULL, &whole), 1);
		expect_chain(&whole, 0xffffffff81000010 + i, 0);
	}
	assert_int_equal(perch_deferred_next(deferred_samples, NULL, &whole), 0);
	perch_deferred_free(deferred_samples);
}

/* The chains of many threads are more than the limit: the newest are remembered. */
static void remembered_chains_are_bounded(void **state)
{
	struct perch_deferred *deferred_samples;
	struct perch_record record, callchain_deferred, whole;
	int remembered = 0;

	(void)state;
	assert_int_equal(perch_deferred_new(&deferred_samples, 10000, NULL), 0);
	for (uint32_t tid = 1; tid <= 1000; tid++) {
		callchain_deferred = completing(0, tid, COOKIE, 2);
		assert_int_equal(perch_deferred_next(deferred_samples, &callchain_deferred, &whole),
				 0);
	}
	for (uint32_t tid = 1; tid <= 1000; tid++) {
		record = waiting(0, tid, COOKIE, 1);
		remembered += perch_deferred_complete(deferred_samples, &record);
	}
	assert_in_range(remembered, 1, 200);
	record = waiting(0, 1000, COOKIE, 1);
	assert_int_equal(perch_deferred_complete(deferred_samples, &record), 1);
	perch_deferred_free(deferred_samples);
}

static void samples_of_the_other_byte_order(void **state)
{
	built_swapped = true;
	completes_samples_of_the_same_cookie(state);
	built_swapped = false;
}

/* The sample has one byte order, the deferred record the other. */
static void merges_parts_of_two_byte_orders(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct perch_deferred *deferred_samples;
		struct perch_record record, callchain_deferred, whole;
		struct perch_parse_info parse_info_copy;

		assert_int_equal(perch_deferred_new(&deferred_samples, 0, NULL), 0);
		built_swapped = i;
		record = waiting(0, 10, COOKIE, 0xffffffff81000010);
		parse_info_copy = parse_info;
		record.parse_info = &parse_info_copy;
		assert_int_equal(perch_deferred_hold(deferred_samples, &record), 1);
		built_swapped = !i;
		callchain_deferred = completing(1, 10, COOKIE, 3);
		assert_int_equal(perch_deferred_next(deferred_samples, &callchain_deferred, &whole),
				 1);
		expect_chain(&whole, 0xffffffff81000010, 3);
		perch_deferred_free(deferred_samples);
	}
	built_swapped = false;
}

/* Memory is limited. At the limit a sample is not held; after others were returned it is. */
static void memory_is_bounded(void **state)
{
	struct perch_record record = waiting(0, 10, COOKIE, 1),
			    callchain_deferred = completing(1, 10, COOKIE, 2), whole;
	struct perch_deferred *deferred_samples;
	int held = 0, got = 0;

	(void)state;
	assert_int_equal(perch_deferred_new(&deferred_samples, 10000, NULL), 0);
	while (perch_deferred_hold(deferred_samples, &record) == 1)
		held++;
	assert_in_range(held, 20, 140);
	assert_int_equal(perch_deferred_hold(deferred_samples, &record), -ENOSPC);
	while (perch_deferred_next(deferred_samples, &callchain_deferred, &whole) == 1) {
		expect_chain(&whole, 1, 2);
		got++;
	}
	assert_int_equal(got, held);
	assert_int_equal(perch_deferred_hold(deferred_samples, &record), 1);
	perch_deferred_free(deferred_samples); /* while a sample still waits */
}

/* A sample of the random operations. */
struct listed {
	uint32_t tid;
	uint64_t cookie, mark;
	bool waits;
};

/* What the object must do, made of a list of all samples, and of the last cookie of each thread. */
struct model {
	struct perch_deferred *deferred_samples;
	struct listed list[2000];
	size_t nr;
	uint64_t last_cookie[4];
	size_t completed, held, incomplete, merged;
};

static void add_sample(struct model *model, uint32_t thread, uint64_t cookie)
{
	struct listed *one = &model->list[model->nr];
	struct perch_record record;
	int held;

	*one = (struct listed){ .tid = 10 + thread, .cookie = cookie, .mark = 0x1000 + model->nr };
	model->nr++;
	record = waiting(0, one->tid, cookie, one->mark);
	if (model->last_cookie[thread] == cookie) {
		assert_int_equal(perch_deferred_complete(model->deferred_samples, &record), 1);
		expect_chain(&record, one->mark, 1);
		model->completed++;
		return;
	}
	assert_int_equal(perch_deferred_complete(model->deferred_samples, &record), 0);
	held = perch_deferred_hold(model->deferred_samples, &record);
	assert_true(held == 1 || held == -ENOSPC);
	one->waits = held == 1;
	model->held += held == 1;
}

/* Expects the samples of the thread before `end` that wait, with or without the cookie. */
static void expect_samples(struct model *model, const struct perch_record *callchain_deferred,
			   uint32_t tid, size_t end, bool whole)
{
	uint64_t cookie = callchain_deferred->deferred.cookie;
	struct perch_record record;

	for (struct listed *one = model->list; one < model->list + end; one++) {
		if (!one->waits || one->tid != tid || (one->cookie == cookie) != whole)
			continue;
		assert_int_equal((whole ? perch_deferred_next : perch_deferred_next_incomplete)(
					 model->deferred_samples, callchain_deferred, &record),
				 1);
		expect_chain(&record, one->mark, whole);
		one->waits = false;
		model->merged += whole;
		model->incomplete += !whole;
	}
}

static void add_record(struct model *model, uint32_t thread, uint64_t cookie, bool in_order)
{
	struct perch_record callchain_deferred = completing(1, 10 + thread, cookie, 1), record;
	size_t first = 0;

	while (first < model->nr &&
	       !(model->list[first].waits && model->list[first].tid == 10 + thread &&
		 model->list[first].cookie == cookie))
		first++;
	if (in_order) {
		if (first < model->nr)
			expect_samples(model, &callchain_deferred, 10 + thread, first, false);
		assert_int_equal(perch_deferred_next_incomplete(model->deferred_samples,
								&callchain_deferred, &record),
				 0);
	}
	expect_samples(model, &callchain_deferred, 10 + thread, model->nr, true);
	assert_int_equal(perch_deferred_next(model->deferred_samples, &callchain_deferred, &record),
			 0);
	model->last_cookie[thread] = cookie;
}

/* Random operations, compared with a simple list, with many threads and cookies. */
static void equals_a_simple_list(void **state)
{
	struct model model = { 0 };
	uint64_t random = 1;

	(void)state;
	assert_int_equal(perch_deferred_new(&model.deferred_samples, 32 * 1024, NULL), 0);
	while (model.nr < 2000) {
		uint32_t thread;
		uint64_t cookie;

		random = random * 6364136223846793005u + 1442695040888963407u;
		thread = (random >> 40) % 4;
		cookie = 1 + (random >> 50) % 8;
		if ((random >> 60) % 4)
			add_sample(&model, thread, cookie);
		else
			add_record(&model, thread, cookie, random >> 30 & 1);
	}
	/* each operation has occurred */
	assert_true(model.completed && model.held && model.incomplete && model.merged);
	perch_deferred_free(model.deferred_samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markers_set_the_cpumode),
		cmocka_unit_test(addresses_after_a_cookie),
		cmocka_unit_test(chains_without_a_cookie),
		cmocka_unit_test(completes_samples_of_the_same_cookie),
		cmocka_unit_test(records_that_begin_with_a_marker),
		cmocka_unit_test(a_merged_chain_has_one_marker),
		cmocka_unit_test(completes_samples_after_the_record),
		cmocka_unit_test(returns_samples_without_their_record),
		cmocka_unit_test(remembered_chains_are_bounded),
		cmocka_unit_test(samples_of_the_other_byte_order),
		cmocka_unit_test(merges_parts_of_two_byte_orders),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(equals_a_simple_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
