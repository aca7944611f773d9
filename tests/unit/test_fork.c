/* SPDX-License-Identifier: MIT */
/*
 * The check for objects that were opened before a fork: real forks, and kernels without
 * MADV_WIPEONFORK, which the replaced madvise() imitates.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/error.h>

#include "base/fork.h"

#define THREADS 8

static bool old_kernel;

int __real_madvise(void *memory, size_t size, int advice);
int __wrap_madvise(void *memory, size_t size, int advice);

int __wrap_madvise(void *memory, size_t size, int advice)
{
	if (!old_kernel)
		return __real_madvise(memory, size, advice);
	errno = EINVAL;
	return -1;
}

/* The status of a child that runs the function. */
static int in_child(pid_t child, bool (*function)(uint32_t), uint32_t generation)
{
	int status;

	assert_int_not_equal(child, -1);
	if (!child)
		_exit(function(generation) ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* A grandchild recognizes objects of its parent and of the parent of that. */
static bool is_stale_in_the_grandchild(uint32_t generation)
{
	return perch__is_forked(generation) && perch__is_forked(generation - 1) &&
	       perch__fork_generation() > generation;
}

/* A child recognizes the objects of its parent before and after it opens its own. */
static bool is_stale_in_the_child(uint32_t generation)
{
	uint32_t own;

	if (!perch__is_forked(generation) || perch__is_forked(0))
		return false;
	own = perch__fork_generation();
	if (own != generation + 1 || perch__is_forked(own) || !perch__is_forked(generation) ||
	    perch__fork_generation() != own)
		return false;
	return !in_child(fork(), is_stale_in_the_grandchild, own);
}

static void a_child_recognizes_objects_of_its_parent(void **state)
{
	uint32_t generation;

	(void)state;
	assert_false(perch__is_forked(0));
	generation = perch__fork_generation();
	assert_int_not_equal(generation, 0);
	assert_int_equal(perch__fork_generation(), generation);
	assert_false(perch__is_forked(generation));
	for (int i = 0; i < 3; i++)
		assert_int_equal(in_child(fork(), is_stale_in_the_child, generation), 0);
	assert_false(perch__is_forked(generation));
	assert_int_equal(perch__fork_generation(), generation);
}

/* A child that opens nothing, and its child. */
static bool is_stale_without_own_objects(uint32_t generation)
{
	int status;
	pid_t child;

	if (!perch__is_forked(generation))
		return false;
	child = fork();
	if (!child)
		_exit(perch__is_forked(generation) ? 0 : 1);
	return waitpid(child, &status, 0) == child && !status;
}

static void a_grandchild_recognizes_objects_of_its_grandparent(void **state)
{
	uint32_t generation = perch__fork_generation();

	(void)state;
	assert_int_equal(in_child(fork(), is_stale_without_own_objects, generation), 0);
}

static bool is_forked(uint32_t generation)
{
	return perch__is_forked(generation);
}

/* A system call clone(2) without CLONE_VM runs no handler of the C library. */
static void a_child_of_clone_recognizes_objects_of_its_parent(void **state)
{
	uint32_t generation = perch__fork_generation();
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	(void)state;
	assert_int_equal(in_child(child, is_forked, generation), 0);
}

static int check_in_clone(void *generation)
{
	return perch__is_forked(*(uint32_t *)generation);
}

/* With CLONE_VM, as after vfork(2), the memory of the parent is used, with its mappings. */
static void a_child_with_the_memory_of_its_parent_may_use_its_objects(void **state)
{
	static char stack[65536] __attribute__((aligned(16)));
	uint32_t generation = perch__fork_generation();
	int status;
	pid_t child = clone(check_in_clone, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
			    &generation);

	(void)state;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static pthread_barrier_t barrier;

static void *get_generation(void *context)
{
	pthread_barrier_wait(&barrier);
	*(uint32_t *)context = perch__fork_generation();
	return NULL;
}

/* Threads that are the first in a process get one generation. */
static bool threads_agree(uint32_t generation)
{
	uint32_t found[THREADS];
	pthread_t threads[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, get_generation, &found[i]);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < THREADS; i++)
		if (found[i] <= generation || found[i] != found[0] || perch__is_forked(found[i]))
			return false;
	return true;
}

static void threads_of_a_child_get_one_generation(void **state)
{
	uint32_t generation = perch__fork_generation();

	(void)state;
	for (int i = 0; i < 50; i++)
		assert_int_equal(in_child(fork(), threads_agree, generation), 0);
}

/* Runs in a process of its own: the next generation is made as on a kernel before 4.14. */
static bool old_kernels_are_checked_too(uint32_t generation)
{
	(void)generation;
	old_kernel = true;
	generation = perch__fork_generation();
	return generation && !perch__is_forked(generation) &&
	       !in_child(fork(), is_stale_in_the_child, generation) &&
	       !in_child(fork(), is_stale_without_own_objects, generation);
}

static void kernels_without_wipeonfork_have_a_handler(void **state)
{
	(void)state;
	/* must be the first test: no generation was made yet */
	assert_int_equal(*perch__fork_word, 0);
	assert_int_equal(in_child(fork(), old_kernels_are_checked_too, 0), 0);
	assert_int_equal(*perch__fork_word, 0);
}

static void the_error_names_the_object(void **state)
{
	struct perch_error err;

	(void)state;
	assert_int_equal(PERCH__FORK_ERROR(&err, "the counter '%s'", "cycles"), -ESTALE);
	assert_int_equal(err.kind, PERCH_ERROR_FORK);
	assert_int_equal(err.errnum, ESTALE);
	assert_string_equal(err.message, "the counter 'cycles' was opened before fork(2), in the "
					 "parent process");
	assert_string_not_equal(err.remedy, "");
	assert_int_equal(PERCH__FORK_ERROR(NULL, "the ring"), -ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_without_wipeonfork_have_a_handler),
		cmocka_unit_test(a_child_recognizes_objects_of_its_parent),
		cmocka_unit_test(a_grandchild_recognizes_objects_of_its_grandparent),
		cmocka_unit_test(a_child_of_clone_recognizes_objects_of_its_parent),
		cmocka_unit_test(a_child_with_the_memory_of_its_parent_may_use_its_objects),
		cmocka_unit_test(threads_of_a_child_get_one_generation),
		cmocka_unit_test(the_error_names_the_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
