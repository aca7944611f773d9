/* SPDX-License-Identifier: MIT */
/*
 * Call chains from branch records: call stacks, and the branches before a sample. The samples are
 * built: few machines have the hardware (LBR) that records them.
 */
#include <perch/session.h>

#include "session_fixture.h"

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

/* from, to: of each branch */
static void write_branches(const struct perch_attr *attr, uint64_t ip, const struct words *chain,
			   const struct words *from, const struct words *to)
{
	/* the second event is written only if samples name theirs */
	const bool named = attr->sample_type & PERCH_SAMPLE_IDENTIFIER;
	struct perch_file_event written[2] = {
		{ .attr = *attr, .name = "event", .ids = ids, .nr_ids = 1, .members = 1 },
		{ .attr = *attr, .name = "other", .ids = ids + 1, .nr_ids = 1, .members = 1 },
	};
	struct perch_writer *writer;
	struct perch_error err = { 0 };
	static char bytes[1 << 16];
	size_t size = 0;

	/* longer than a struct built */
#define PUT(value) (memcpy(bytes + size, &(uint64_t){ value }, 8), size += 8)
	PUT(0);
	if (named)
		PUT(ids[0]);
	PUT(ip);
	PUT(chain->nr);
	for (size_t i = 0; i < chain->nr; i++)
		PUT(chain->word[i]);
	PUT(from->nr);
	for (size_t i = 0; i < from->nr; i++) {
		PUT(from->word[i]);
		PUT(to->word[i]);
		PUT(0);
	}
#undef PUT
	*(struct perch_record_header *)bytes = (struct perch_record_header){
		PERCH_RECORD_SAMPLE, ip >= KERNEL ? PERCH_MISC_KERNEL : PERCH_MISC_USER, size
	};
	written[1].attr.branch_sample_type = PERCH_SAMPLE_BRANCH_ANY;
	assert_int_equal(perch_writer_open(&writer, path, written, named ? 2 : 1, &err), 0);
	assert_int_equal(perch_writer_append(writer, &(struct iovec){ bytes, size }, 1, &err), 0);
	close_writer(writer);
}

/* The target of each branch is the address 0x100 below it. */
static void write_sample(const struct perch_attr *attr, uint64_t ip, const struct words *chain,
			 const struct words *from)
{
	struct words to = *from;

	for (size_t i = 0; i < to.nr; i++)
		to.word[i] -= 0x100;
	write_branches(attr, ip, chain, from, &to);
}

/* Returns the length of the chain, whose addresses become those of words. */
static void read_chain(struct words *found, const struct perch_session_options *options,
		       struct perch_session_stats *stats)
{
	struct perch_session *session = open_session(options);
	struct perch_session_sample sample;
	struct perch_error err = { 0 };

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
	/* a precise sample in user space, taken in the kernel: its address is there once */
	check_chain(CODE, WORDS(PERCH_CONTEXT_KERNEL, KERNEL, PERCH_CONTEXT_USER, CODE, 1),
		    WORDS(CODE + 8, CODE + 16), WORDS(CODE, KERNEL, CODE + 8, CODE + 16));
	check_chain(CODE, WORDS(PERCH_CONTEXT_KERNEL, KERNEL, PERCH_CONTEXT_USER, CODE + 4, 1),
		    WORDS(CODE + 8, CODE + 16), WORDS(CODE, KERNEL, CODE + 4, CODE + 8, CODE + 16));
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

/* ---- branches before the sample ---- */

static void check_history(const struct perch_attr *attr, uint64_t ip, const struct words *chain,
			  const struct words *from, const struct words *to,
			  const struct words *expected)
{
	struct perch_session_options options = { .branch_history = 1 };
	struct perch_session_stats stats;
	struct words found;

	write_branches(attr, ip, chain, from, to);
	read_chain(&found, &options, &stats);
	assert_int_equal(found.nr, expected->nr);
	assert_memory_equal(found.word, expected->word, found.nr * 8);
	assert_int_equal(stats.cut_chains, 0);
}

static struct perch_attr attr_of_branches(void)
{
	struct perch_attr attr = call_stack_attr;

	attr.branch_sample_type = PERCH_SAMPLE_BRANCH_ANY;
	return attr;
}

static void adds_branches_before_the_sample(void **state)
{
	const struct perch_attr attr = attr_of_branches();
	struct words *chain = WORDS(PERCH_CONTEXT_USER, CODE, CODE + 0x105, CODE + 0x205);

	(void)state;
	/* a jump in the sampled function; callers have the address of the call */
	check_history(&attr, CODE, chain, WORDS(CODE - 4), WORDS(CODE - 2),
		      WORDS(CODE, CODE - 2, CODE - 4, CODE + 0x104, CODE + 0x204));
	/* the call of the innermost caller, and a jump before it */
	check_history(&attr, CODE, chain, WORDS(CODE + 0x100, CODE + 0x80),
		      WORDS(CODE - 8, CODE + 0xf0),
		      WORDS(CODE, CODE - 8, CODE + 0x100, CODE + 0xf0, CODE + 0x80, CODE + 0x204));
	/* a function that has returned is no caller; the call of the other caller is the oldest */
	check_history(&attr, CODE, chain, WORDS(CODE + 0x900, CODE + 0x100, CODE + 0x200),
		      WORDS(CODE - 2, CODE - 8, CODE + 0xf0),
		      WORDS(CODE, CODE - 2, CODE + 0x900, CODE - 8, CODE + 0x100, CODE + 0xf0,
			    CODE + 0x200));
	/* a sample at the target of a branch */
	check_history(&attr, CODE, chain, WORDS(CODE + 0x100), WORDS(CODE),
		      WORDS(CODE, CODE + 0x100, CODE + 0x204));
	check_history(&attr, CODE, NONE, WORDS(CODE + 0x100), WORDS(CODE - 8),
		      WORDS(CODE, CODE - 8, CODE + 0x100));
	check_history(&attr, CODE, chain, NONE, NONE, WORDS(CODE, CODE + 0x104, CODE + 0x204));
}

static void adds_branches_where_their_mode_ran(void **state)
{
	const struct perch_attr attr = attr_of_branches();
	struct words *chain = WORDS(PERCH_CONTEXT_KERNEL, KERNEL, KERNEL + 0x105,
				    PERCH_CONTEXT_USER, CODE, CODE + 0x105);

	(void)state;
	/* only of user space: before the kernel's functions */
	check_history(&attr, KERNEL, chain, WORDS(CODE - 4), WORDS(CODE - 2),
		      WORDS(KERNEL, KERNEL + 0x104, CODE, CODE - 2, CODE - 4, CODE + 0x104));
	/* the interrupted address is the source of the branch to the kernel */
	check_history(&attr, KERNEL, chain, WORDS(KERNEL + 0x100, CODE, CODE + 0x100),
		      WORDS(KERNEL - 8, KERNEL + 0x80, CODE - 8),
		      WORDS(KERNEL, KERNEL - 8, KERNEL + 0x100, KERNEL + 0x80, CODE, CODE - 8,
			    CODE + 0x100));
}

static void leaves_out_equal_iterations(void **state)
{
	const struct perch_attr attr = attr_of_branches();
	struct words *chain = WORDS(PERCH_CONTEXT_USER, CODE);

	(void)state;
	check_history(&attr, CODE, chain, WORDS(CODE + 1, CODE + 2, CODE + 1, CODE + 2, CODE + 9),
		      WORDS(CODE + 5, CODE + 6, CODE + 5, CODE + 6, CODE + 8),
		      WORDS(CODE, CODE + 5, CODE + 1, CODE + 6, CODE + 2, CODE + 8, CODE + 9));
	/* an iteration with another target is no equal one */
	check_history(&attr, CODE, chain, WORDS(CODE + 1, CODE + 1), WORDS(CODE + 5, CODE + 6),
		      WORDS(CODE, CODE + 5, CODE + 1, CODE + 6, CODE + 1));
	/* addresses that are none */
	check_history(&attr, CODE, chain, WORDS(CODE + 1, 0, PERCH_CONTEXT_USER),
		      WORDS(0, CODE + 6, 0), WORDS(CODE, CODE + 1, CODE + 6));
}

/* Call stacks have calls of user space: only return addresses of the kernel are changed. */
static void keeps_call_stacks_beside_branches(void **state)
{
	struct words *chain = WORDS(PERCH_CONTEXT_KERNEL, KERNEL, KERNEL + 0x105,
				    PERCH_CONTEXT_USER, CODE, CODE + 0x105);
	struct perch_attr attr = call_stack_attr;

	(void)state;
	/* without an event that has branches, the option has no effect */
	check_history(&attr, KERNEL, chain, WORDS(CODE + 8), WORDS(CODE),
		      WORDS(KERNEL, KERNEL + 0x105, CODE, CODE + 8));
	attr.sample_type |= PERCH_SAMPLE_IDENTIFIER;
	check_history(&attr, KERNEL, chain, WORDS(CODE + 8), WORDS(CODE),
		      WORDS(KERNEL, KERNEL + 0x104, CODE, CODE + 8));
}

static void refuses_branches_without_callees(void **state)
{
	const struct perch_session_options options = { .branch_history = 1,
						       .ignore_callees = "main" };
	struct perch_session *session;
	struct perch_error err = { 0 };

	(void)state;
	write_sample(&call_stack_attr, CODE, NONE, NONE);
	assert_int_equal(perch_session_open(&session, path, &options, &err), -EINVAL);
	assert_null(session);
	assert_non_null(strstr(err.message, "ignore_callees"));
}

static void limits_the_length_with_branches(void **state)
{
	const struct perch_attr attr = attr_of_branches();
	struct words chain = { .nr = 2, .word = { PERCH_CONTEXT_USER, CODE } };
	struct words from = { .nr = MANY }, to = { .nr = MANY }, found;
	struct perch_session_options options = { .branch_history = 1 };
	struct perch_session_stats stats;

	(void)state;
	/* each address has another mode */
	for (uint64_t i = 0; i < MANY; i++) {
		from.word[i] = CODE + 0x1000 + i;
		to.word[i] = KERNEL + i;
	}
	write_branches(&attr, CODE, &chain, &from, &to);
	read_chain(&found, &options, &stats);
	assert_int_equal(found.nr, PERCH_MAX_CALL_CHAIN);
	assert_int_equal(found.word[1], KERNEL);
	assert_int_equal(found.word[2], CODE + 0x1000);
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
		cmocka_unit_test(adds_branches_before_the_sample),
		cmocka_unit_test(adds_branches_where_their_mode_ran),
		cmocka_unit_test(leaves_out_equal_iterations),
		cmocka_unit_test(keeps_call_stacks_beside_branches),
		cmocka_unit_test(refuses_branches_without_callees),
		cmocka_unit_test(limits_the_length_with_branches),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
