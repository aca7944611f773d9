/* SPDX-License-Identifier: MIT */
/* A profile without memory refuses the sample, and takes later samples. */
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profile_fixture.h"

#define SAMPLES 3000

static unsigned calls, failing; /* each failing-th call of realloc(3) fails; 0 is none */

/* With `holding`, realloc(3) in another thread sets *moved and does not return while it is set: the
 * profile still has the pointer to memory that is free. */
static struct {
	bool holding;
	pthread_t main;
	pid_t parent;
	void *moved;
} hold;

/* The linker replaces realloc(3) and free(3) of the libraries by these. */
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);

static void *held_realloc(void *old, size_t size)
{
	void *items = __real_realloc(old, size);

	__atomic_store_n(&hold.moved, old, __ATOMIC_RELEASE);
	while (__atomic_load_n(&hold.moved, __ATOMIC_ACQUIRE))
		usleep(1000);
	return items;
}

void *__wrap_realloc(void *old, size_t size)
{
	unsigned period;

	if (old && __atomic_load_n(&hold.holding, __ATOMIC_ACQUIRE) &&
	    !pthread_equal(pthread_self(), hold.main))
		return held_realloc(old, size);
	period = __atomic_load_n(&failing, __ATOMIC_RELAXED);
	return period && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % period == 0
		       ? NULL
		       : __real_realloc(old, size);
}

/* A child of fork(2) has the pointer. */
void __wrap_free(void *memory)
{
	if (memory && memory == __atomic_load_n(&hold.moved, __ATOMIC_ACQUIRE) &&
	    getpid() != hold.parent)
		_exit(1);
	__real_free(memory);
}

/* New contexts, addresses and stacks, some with many children. */
static int add_sample(struct fixture *f, unsigned i)
{
	const uint64_t ips[] = { PERCH_CONTEXT_USER, CODE + i, CODE + i / 20, CODE };
	struct perch_record record = sample_record(PID, PID + i / 3, 1, CODE + i);

	record.sample.callchain.nr = 4;
	record.sample.callchain.ip = ips;
	return perch_profile_add(f->profile, &record, NULL);
}

static void check_refusals(struct fixture *f, bool flat, unsigned threads)
{
	const struct perch_profile_options options = {
		.names = "tid,sym", .flat = flat, .threads = threads > 0, .max_threads = threads
	};

	for (unsigned period = 2; period < 9; period++) {
		unsigned added = 0, refused = 0;
		uint64_t self = 0;

		perch_profile_free(f->profile);
		assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options,
						   NULL),
				 0);
		__atomic_store_n(&failing, period, __ATOMIC_RELAXED);
		for (unsigned i = 0; i < SAMPLES; i++) {
			int rc = add_sample(f, i);

			assert_true(!rc || rc == -ENOMEM);
			added += !rc;
			refused += rc < 0;
		}
		__atomic_store_n(&failing, 0, __ATOMIC_RELAXED);
		assert_true(refused);
		assert_int_equal(add_sample(f, SAMPLES - 1), 0);
		finish(f);
		rows_of(f, 0, false);
		for (size_t i = 0; i < f->nr; i++)
			self += f->rows[i].self;
		assert_int_equal(self, added + 1);
	}
}

static void refused_samples_leave_a_valid_profile(void **state)
{
	check_refusals(*state, false, 0);
	check_refusals(*state, false, 1);
	check_refusals(*state, false, 3);
}

static void refused_samples_leave_a_valid_flat_profile(void **state)
{
	check_refusals(*state, true, 0);
	check_refusals(*state, true, 1);
}

static void a_child_frees_nothing_that_the_thread_has_freed(void **state)
{
	const struct perch_profile_options options = { .names = "tid,sym", .threads = true };
	struct fixture *f = *state;
	int status;
	pid_t child;

	perch_profile_free(f->profile);
	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options, NULL),
			 0);
	hold.main = pthread_self();
	hold.parent = getpid();
	__atomic_store_n(&hold.holding, true, __ATOMIC_RELEASE);
	/* the thread counts a second batch, and waits; there is space for more */
	for (unsigned i = 0; i < 4 * SAMPLES / 3; i++)
		assert_int_equal(add_sample(f, i), 0);
	while (!__atomic_load_n(&hold.moved, __ATOMIC_ACQUIRE))
		usleep(1000);
	child = fork();
	if (!child) {
		perch_profile_free(f->profile);
		_exit(0);
	}
	__atomic_store_n(&hold.holding, false, __ATOMIC_RELEASE);
	__atomic_store_n(&hold.moved, NULL, __ATOMIC_RELEASE);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(refused_samples_leave_a_valid_profile, setup,
						teardown),
		cmocka_unit_test_setup_teardown(refused_samples_leave_a_valid_flat_profile, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_child_frees_nothing_that_the_thread_has_freed,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
