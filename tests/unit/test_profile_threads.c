/* SPDX-License-Identifier: MIT */
/* A profile whose samples are counted in threads has the rows of one without threads. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profile_fixture.h"
#include "base/batch_thread.h"
#include "wiped.h"

#define STACKS	  60000
#define DEPTH	  12
#define FUNCTIONS 400

/* A random stack, which shares outer frames with the one before. Words 1 and on: innermost first.
 */
struct random_stack {
	uint64_t words[1 + DEPTH];
	size_t nr;
	uint32_t tid;
};

static void next_stack(struct random_stack *stack)
{
	size_t shared = stack->nr ? (size_t)rand() % stack->nr : 0;
	uint64_t outer[DEPTH];
	size_t nr = shared + 1 + (size_t)rand() % (DEPTH - shared);

	memcpy(outer, stack->words + 1 + stack->nr - shared, shared * sizeof(*outer));
	for (size_t i = 1; i <= nr - shared; i++)
		stack->words[i] = CODE + (uint64_t)rand() % FUNCTIONS;
	memcpy(stack->words + 1 + nr - shared, outer, shared * sizeof(*outer));
	stack->words[0] = PERCH_CONTEXT_USER;
	stack->nr = nr;
	stack->tid = PID + (uint32_t)rand() % 100;
}

static struct perch_record record_of(const struct random_stack *stack)
{
	struct perch_record record =
		sample_record(PID, stack->tid, (uint64_t)rand() % 1000, stack->words[1]);

	record.sample.callchain.nr = 1 + stack->nr;
	record.sample.callchain.ip = stack->words;
	return record;
}

static struct perch_profile *new_profile(struct fixture *f, bool flat, unsigned threads)
{
	const struct perch_profile_options options = {
		.names = "tid,sym", .flat = flat, .threads = threads > 0, .max_threads = threads
	};
	struct perch_profile *profile;

	assert_int_equal(perch_profile_new(&profile, f->processes, f->symbols, &options, NULL), 0);
	return profile;
}

static void check_same_rows(struct perch_profile *profile, struct perch_profile *other)
{
	const struct perch_rows_options options = { .children = true };
	const struct perch_row *rows, *others;
	size_t nr, nr_others;

	assert_int_equal(perch_profile_rows(profile, 0, &options, &rows, &nr, NULL), 0);
	assert_int_equal(perch_profile_rows(other, 0, &options, &others, &nr_others, NULL), 0);
	assert_true(nr > FUNCTIONS);
	assert_int_equal(nr, nr_others);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(rows[i].frame.offset, others[i].frame.offset);
		assert_int_equal(perch_profile_value(profile, &rows[i], column("tid")),
				 perch_profile_value(other, &others[i], column("tid")));
		assert_int_equal(rows[i].self, others[i].self);
		assert_int_equal(rows[i].children, others[i].children);
		assert_int_equal(rows[i].samples, others[i].samples);
	}
}

static void check_snapshots(struct perch_profile *profile, struct perch_profile *other)
{
	struct perch_profile *snapshot, *other_snapshot;

	assert_int_equal(perch_profile_snapshot(profile, &snapshot, NULL), 0);
	assert_int_equal(perch_profile_snapshot(other, &other_snapshot, NULL), 0);
	check_same_rows(snapshot, other_snapshot);
	perch_profile_free(snapshot);
	perch_profile_free(other_snapshot);
}

static void check_rows(struct fixture *f, bool flat, unsigned threads)
{
	struct perch_profile *profile = new_profile(f, flat, 0);
	struct perch_profile *counted = new_profile(f, flat, threads);
	struct random_stack stack = { .nr = 0 };

	srand(42);
	for (size_t i = 0; i < STACKS; i++) {
		struct perch_record record;

		/* batches that are not counted yet have the mappings before this one */
		if (i % 97 == 0)
			map_file(f->processes, PID, CODE + (uint64_t)rand() % FUNCTIONS, 64, CODE,
				 i % 2 ? "/bin/first" : "/bin/second");
		next_stack(&stack);
		record = record_of(&stack);
		assert_int_equal(perch_profile_add(profile, &record, NULL), 0);
		assert_int_equal(perch_profile_add(counted, &record, NULL), 0);
		if (i == STACKS / 3)
			check_snapshots(profile, counted);
		if (i == STACKS / 2) {
			assert_int_equal(perch_profile_decay(profile, 3, 4, NULL), 0);
			assert_int_equal(perch_profile_decay(counted, 3, 4, NULL), 0);
		}
	}
	assert_int_equal(perch_profile_finish(profile, NULL), 0);
	assert_int_equal(perch_profile_finish(counted, NULL), 0);
	check_same_rows(profile, counted);
	perch_profile_free(profile);
	perch_profile_free(counted);
}

static void rows_of_stacks_are_equal(void **state)
{
	for (unsigned threads = 1; threads < 5; threads++)
		check_rows(*state, false, threads);
}

static void rows_of_flat_profiles_are_equal(void **state)
{
	for (unsigned threads = 1; threads < 3; threads++)
		check_rows(*state, true, threads);
}

static void check_end(struct fixture *f, unsigned threads)
{
	struct perch_profile *profile = new_profile(f, false, threads);
	struct random_stack stack = { .nr = 0 };
	int status;
	pid_t child;

	for (size_t i = 0; i < 5000; i++) {
		struct perch_record record;

		next_stack(&stack);
		record = record_of(&stack);
		assert_int_equal(perch_profile_add(profile, &record, NULL), 0);
	}
	child = fork();
	if (!child) {
		perch_profile_free(profile);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	perch_profile_free(profile);
}

/* A child that does not know that it is one would wait for the thread of its parent. */
static void ends_with_samples_that_are_not_counted(void **state)
{
	if (!is_wiped_on_fork()) {
		print_message("skipped: memory is not cleared in a child\n");
		skip();
	}
	check_end(*state, 1);
	check_end(*state, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- the thread itself ---- */

static int read_mask(void *mask, void *batch)
{
	(void)batch;
	return pthread_sigmask(SIG_BLOCK, NULL, mask);
}

/* Returns the signals that are blocked in a thread. */
static sigset_t blocked_in_thread(bool writes)
{
	sigset_t mask;
	struct perch__batch_thread *thread =
		perch__batch_thread_new(&(struct perch__batch_job){ .run = read_mask,
								    .context = &mask,
								    .batch_size = 1,
								    .nr_batches = 2,
								    .writes = writes });
	void *batch = malloc(1);

	sigemptyset(&mask);
	assert_non_null(thread);
	assert_int_equal(perch__batch_thread_pass(thread, &batch), 0);
	assert_int_equal(perch__batch_thread_wait(thread), 0);
	perch__batch_thread_free(thread);
	free(batch);
	return mask;
}

/* A thread gets SIGBUS of a mapped file that became shorter. The signals of a failed write come to
 * the thread that writes. Both, unless the program blocks them. */
static void has_own_signals_only(void **state)
{
	sigset_t mask = blocked_in_thread(true), pipe, saved;

	(void)state;
	assert_true(sigismember(&mask, SIGINT));
	assert_false(sigismember(&mask, SIGPIPE));
	assert_false(sigismember(&mask, SIGXFSZ));
	mask = blocked_in_thread(false);
	assert_true(sigismember(&mask, SIGPIPE));
	assert_false(sigismember(&mask, SIGBUS));
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &saved);
	mask = blocked_in_thread(true);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	assert_true(sigismember(&mask, SIGPIPE));
	assert_false(sigismember(&mask, SIGXFSZ));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_of_stacks_are_equal),
		TEST(rows_of_flat_profiles_are_equal),
		TEST(ends_with_samples_that_are_not_counted),
		cmocka_unit_test(has_own_signals_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
