/* SPDX-License-Identifier: MIT */
/*
 * User call chains that the running kernel writes later (Linux 6.19): each sample gets the user
 * addresses of its CALLCHAIN_DEFERRED record, behind those of the kernel.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/sampler.h>

#include "build/one_target.h"

#define TIMES 20

/* Not inlined, and with code after their calls, so that the kernel finds the caller's frame. */
#define NOT_INLINED __attribute__((noinline))

static char *pages;
static long page_size;

static NOT_INLINED void touch_page(int index)
{
	pages[index * page_size] = 1;
	__asm__ volatile("");
}

static NOT_INLINED void sleep_once(int index)
{
	(void)index;
	nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	__asm__ volatile("");
}

/* Its address is in each call chain. It has one page of code at most. */
static NOT_INLINED void repeat(void (*work)(int index))
{
	for (int i = 0; i < TIMES; i++)
		work(i);
	__asm__ volatile("");
}

/* What the samples of this thread had. */
struct seen {
	size_t samples, incomplete, with_kernel, with_repeat;
};

static void check_sample(const struct perch_record *record, struct seen *seen)
{
	bool kernel = false, user = false, repeats = false;
	struct perch_chain_address address;
	struct perch_chain chain;

	perch_chain_init(&chain, record);
	while (perch_chain_next(&chain, &address)) {
		bool high = (int64_t)address.ip < 0;

		/* the addresses of user space are low, and come last */
		assert_int_equal(address.cpumode, high ? PERCH_MISC_KERNEL : PERCH_MISC_USER);
		assert_false(high && user);
		kernel |= high;
		user |= !high;
		repeats |= address.ip - (uintptr_t)repeat < 4096;
	}
	seen->samples++;
	seen->incomplete += chain.deferred;
	seen->with_kernel += kernel;
	seen->with_repeat += repeats;
}

static void read_samples(struct perch_sampler *sampler, struct seen *seen)
{
	struct perch_deferred *deferred;
	struct perch_record record, sample;

	assert_int_equal(perch_deferred_new(&deferred, 0, NULL), 0);
	while (perch_sampler_next_ordered(sampler, true, &record, NULL) > 0) {
		if (record.type == PERCH_RECORD_CALLCHAIN_DEFERRED) {
			while (perch_deferred_next_incomplete(deferred, &record, &sample) > 0 ||
			       perch_deferred_next(deferred, &record, &sample) > 0)
				check_sample(&sample, seen);
		} else if (record.type == PERCH_RECORD_SAMPLE &&
			   (perch_deferred_complete(deferred, &record) > 0 ||
			    perch_deferred_hold(deferred, &record) <= 0)) {
			check_sample(&record, seen);
		}
	}
	while (perch_deferred_next(deferred, NULL, &sample) > 0)
		check_sample(&sample, seen);
	perch_deferred_free(deferred);
}

/* Samples each event, with deferred call chains. */
static struct seen sample_work(const char *events, void (*work)(int index))
{
	const struct perch_target target = { .tid = 0, .cpu = -1 };
	const struct perch_sampler_options options = {
		.event = { .period = 1,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN,
			   .exclude_callchain_kernel = strchr(events, ':') != NULL,
			   .defer_callchain = 1,
			   .defer_output = 1 },
	};
	struct perch_sampler *sampler;
	struct seen seen = { 0 };
	struct perch_error err;
	int rc = perch_sampler_open(&sampler, events, ONE_TARGET(&target), &options, &err);

	if (rc == -EACCES || (rc == -EINVAL && !strcmp(err.since, "6.19"))) {
		print_message("skipped: %s\n", err.message);
		skip();
	}
	if (rc)
		fail_msg("%s", err.message);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	repeat(work);
	assert_int_equal(perch_sampler_disable(sampler, NULL), 0);
	read_samples(sampler, &seen);
	perch_sampler_close(sampler);
	print_message("%s: %zu samples, %zu incomplete, %zu with addresses of the kernel, %zu with "
		      "the caller\n",
		      events, seen.samples, seen.incomplete, seen.with_kernel, seen.with_repeat);
	return seen;
}

/* Faults in user space: the chains have no kernel part. Ordinary users may sample them. */
static void chains_of_page_faults(void **state)
{
	struct seen seen;

	(void)state;
	page_size = sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, TIMES * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	madvise(pages, TIMES * page_size, MADV_NOHUGEPAGE);
	seen = sample_work("page-faults:u", touch_page);
	munmap(pages, TIMES * page_size);
	assert_true(seen.samples >= TIMES);
	assert_int_equal(seen.incomplete, 0);
	assert_int_equal(seen.with_kernel, 0);
	assert_true(seen.with_repeat >= TIMES);
}

/* The kernel switches to another thread in a system call: both parts are in the chain. */
static void chains_of_context_switches(void **state)
{
	struct seen seen = sample_work("context-switches", sleep_once);

	(void)state;
	/* a sleep can end before the kernel switches */
	assert_true(seen.samples > 0);
	assert_int_equal(seen.incomplete, 0);
	assert_int_equal(seen.with_kernel, seen.samples);
	assert_true(seen.with_repeat > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_of_page_faults),
		cmocka_unit_test(chains_of_context_switches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
