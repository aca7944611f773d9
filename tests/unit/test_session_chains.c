/* SPDX-License-Identifier: MIT */
/*
 * Call chains from branch records that are call stacks. The samples are built: few machines have
 * the hardware (LBR) that records them.
 */
#include <perch/session.h>

#include "file_fixture.h"

#define CODE   0x401000ull
#define KERNEL 0xffffffff81000000ull
#define MANY   (PERCH_MAX_CALL_CHAIN + 44)

static const struct perch_attr call_stack_attr = {
	.type = PERCH_TYPE_HARDWARE,
	.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_BRANCH_STACK,
	.branch_sample_type = PERCH_SAMPLE_BRANCH_USER | PERCH_SAMPLE_BRANCH_CALL_STACK,
};

struct words {
	size_t nr;
	uint64_t word[2 * MANY];
};

/* from: of each branch; its target is the address 0x100 below it */
static void write_sample(const struct perch_attr *attr, uint64_t ip, const struct words *chain,
			 const struct words *from)
{
	const struct perch_file_event event = {
		.attr = *attr, .name = "event", .ids = ids, .nr_ids = 1, .members = 1
	};
	struct perch_writer *writer;
	struct perch_error err = { 0 };
	static char bytes[1 << 16];
	size_t size = 0;

	/* longer than a struct built */
#define PUT(value) (memcpy(bytes + size, &(uint64_t){ value }, 8), size += 8)
	PUT(0);
	PUT(ip);
	PUT(chain->nr);
	for (size_t i = 0; i < chain->nr; i++)
		PUT(chain->word[i]);
	PUT(from->nr);
	for (size_t i = 0; i < from->nr; i++) {
		PUT(from->word[i]);
		PUT(from->word[i] - 0x100);
		PUT(0);
	}
#undef PUT
	*(struct perch_record_header *)bytes = (struct perch_record_header){
		PERCH_RECORD_SAMPLE, ip >= KERNEL ? PERCH_MISC_KERNEL : PERCH_MISC_USER, size
	};
	assert_int_equal(perch_writer_open(&writer, path, &event, 1, &err), 0);
	assert_int_equal(perch_writer_append(writer, &(struct iovec){ bytes, size }, 1, &err), 0);
	close_writer(writer);
}

/* Returns the length of the chain, whose addresses become those of words. */
static void read_chain(struct words *found, const struct perch_session_options *options,
		       struct perch_session_stats *stats)
{
	struct perch_session *session;
	struct perch_session_sample sample;
	struct perch_error err = { 0 };

	if (perch_session_open(&session, path, options, &err))
		fail_msg("%s", err.message);
	assert_int_equal(perch_session_next_sample(session, &sample, &err), 1);
	found->nr = sample.nr;
	for (size_t i = 0; i < sample.nr; i++)
		found->word[i] = perch_session_address(session, sample.chain[i])->offset;
	assert_int_equal(perch_session_next_sample(session, &sample, &err), 0);
	perch_session_get_stats(session, stats);
	perch_session_close(session);
}

static void check_chain(uint64_t ip, const struct words *chain, const struct words *from,
			const struct words *expected)
{
	struct perch_session_stats stats;
	struct words found;

	write_sample(&call_stack_attr, ip, chain, from);
	read_chain(&found, NULL, &stats);
	assert_int_equal(found.nr, expected->nr);
	assert_memory_equal(found.word, expected->word, found.nr * 8);
	assert_int_equal(stats.cut_chains, 0);
	assert_int_equal(stats.incomplete_chains, 0);
}

#define WORDS(...) (&(struct words){ sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, { __VA_ARGS__ } })
#define NONE	   (&(struct words){ 0 })

static void replaces_the_user_part_of_the_chain(void **state)
{
	(void)state;
	check_chain(CODE, WORDS(PERCH_CONTEXT_USER, CODE, 1, 2), WORDS(CODE + 8, CODE + 16),
		    WORDS(CODE, CODE + 8, CODE + 16));
	/* the user part of a sample in the kernel begins with the user registers */
	check_chain(KERNEL,
		    WORDS(PERCH_CONTEXT_KERNEL, KERNEL, KERNEL + 1, PERCH_CONTEXT_USER, CODE, 1),
		    WORDS(CODE + 8, CODE + 16),
		    WORDS(KERNEL, KERNEL + 1, CODE, CODE + 8, CODE + 16));
	/* or has no address: the newest branch is the call of the innermost function */
	check_chain(KERNEL, WORDS(PERCH_CONTEXT_KERNEL, KERNEL, PERCH_CONTEXT_USER),
		    WORDS(CODE + 0x108), WORDS(KERNEL, CODE + 8, CODE + 0x108));
	/* no call has not returned */
	check_chain(CODE, WORDS(PERCH_CONTEXT_USER, CODE, 1, 2), NONE, WORDS(CODE));
}

static void keeps_chains_without_a_user_part(void **state)
{
	struct words *chain = WORDS(PERCH_CONTEXT_KERNEL, KERNEL, KERNEL + 1);

	(void)state;
	check_chain(KERNEL, chain, WORDS(CODE + 8), WORDS(KERNEL, KERNEL + 1));
	check_chain(KERNEL, chain, NONE, WORDS(KERNEL, KERNEL + 1));
	check_chain(CODE, NONE, WORDS(CODE + 8), WORDS(CODE));
}

static void ends_at_branches_that_are_no_calls(void **state)
{
	struct words *chain = WORDS(PERCH_CONTEXT_USER, CODE, 1, 2);

	(void)state;
	check_chain(CODE, chain, WORDS(CODE + 8, 0, CODE + 16), WORDS(CODE, CODE + 8));
	check_chain(CODE, chain, WORDS(CODE + 8, PERCH_CONTEXT_KERNEL, KERNEL),
		    WORDS(CODE, CODE + 8));
}

static void keeps_chains_of_other_branches(void **state)
{
	struct words *chain = WORDS(PERCH_CONTEXT_USER, CODE, 1, 2);
	struct perch_attr attr = call_stack_attr;
	struct perch_session_options options = { .keep_stacks = 1 };
	struct perch_session_stats stats;
	struct words found;

	(void)state;
	attr.branch_sample_type = PERCH_SAMPLE_BRANCH_USER | PERCH_SAMPLE_BRANCH_ANY_CALL;
	write_sample(&attr, CODE, chain, WORDS(CODE + 8));
	read_chain(&found, NULL, &stats);
	assert_int_equal(found.nr, 3);
	write_sample(&call_stack_attr, CODE, chain, WORDS(CODE + 8));
	read_chain(&found, &options, &stats);
	assert_int_equal(found.nr, 3);
}

/* More than hardware has. */
static void limits_the_length(void **state)
{
	struct words chain = { .nr = MANY }, from = { .nr = MANY }, found;
	struct perch_session_stats stats;

	(void)state;
	for (uint64_t i = 0; i < MANY; i++) {
		chain.word[i] = KERNEL + i;
		from.word[i] = CODE + i;
	}
	chain.word[0] = PERCH_CONTEXT_KERNEL;
	chain.word[1] = PERCH_CONTEXT_USER;
	write_sample(&call_stack_attr, CODE, &chain, &from);
	read_chain(&found, NULL, &stats);
	assert_int_equal(found.nr, PERCH_MAX_CALL_CHAIN);
	assert_int_equal(found.word[1], CODE);
	assert_int_equal(stats.cut_chains, 1);

	chain.word[1] = KERNEL + 1;
	chain.word[MANY - 1] = PERCH_CONTEXT_USER;
	write_sample(&call_stack_attr, KERNEL + 1, &chain, &from);
	read_chain(&found, NULL, &stats);
	assert_int_equal(found.nr, PERCH_MAX_CALL_CHAIN);
	assert_int_equal(stats.cut_chains, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaces_the_user_part_of_the_chain),
		cmocka_unit_test(keeps_chains_without_a_user_part),
		cmocka_unit_test(ends_at_branches_that_are_no_calls),
		cmocka_unit_test(keeps_chains_of_other_branches),
		cmocka_unit_test(limits_the_length),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
