/* SPDX-License-Identifier: MIT */
/* What samplers do instead of failing: PERCH_MAY_*, with a simulated kernel. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "build/one_target.h"
#include "sampler_fixture.h"

struct fixture {
	struct kernel k;
	struct perch_syscalls calls;
	struct perch_sampler_options options;
	struct perch_sampler *sampler;
	struct perch_error err;
};

static int set_up(void **state)
{
	struct fixture *s = calloc(1, sizeof(*s));

	s->k.gone = -5;
	s->calls = fake_calls(&s->k);
	s->options.event.period = 1000;
	*state = s;
	return perch_machine_new(&s->options.event.machine, NULL, &s->calls, NULL);
}

static int tear_down(void **state)
{
	struct fixture *s = *state;

	perch_sampler_close(s->sampler);
	perch_machine_free(s->options.event.machine);
	assert_int_equal(s->k.maps, s->k.unmaps);
	for (int i = 0; i < s->k.nr; i++)
		assert_true(s->k.fd[i].closed);
	free(s);
	return 0;
}

static int open_may(struct fixture *s, const char *events, unsigned may)
{
	const struct perch_target target = { .tid = 11, .cpu = 0 };

	s->options.event.may = may;
	return perch_sampler_open(&s->sampler, events, ONE_TARGET(&target), &s->options, &s->err);
}

static size_t ids_of(const struct fixture *s, size_t index)
{
	const uint64_t *ids;
	const char *name;
	size_t nr;

	perch_sampler_event(s->sampler, index, &name, &ids, &nr);
	return nr;
}

static int refuse_kernel(const struct perch_attr *attr, int cpu, int group)
{
	(void)cpu, (void)group;
	return attr->exclude_kernel ? 0 : EACCES;
}

static void excludes_the_kernel_if_allowed(void **state)
{
	struct fixture *s = *state;

	s->k.refuse = refuse_kernel;
	assert_int_equal(open_may(s, "cpu-clock,page-faults:u", 0), -EACCES);
	assert_int_equal(open_may(s, "cpu-clock,page-faults:u", PERCH_MAY_EXCLUDE_KERNEL), 0);
	assert_true(perch_sampler_user_only(s->sampler, 0));
	assert_false(perch_sampler_user_only(s->sampler, 1)); /* as requested */
	assert_false(perch_sampler_user_only(s->sampler, 9));
	assert_true(s->k.fd[0].attr.exclude_kernel && s->k.fd[0].attr.exclude_hv);
}

/*
 * Linux 7.3, 7.2.10 and 6.12.113: call chains of the kernel and TEXT_POKE records need the same
 * permission, even for an event that excludes the kernel.
 */
static int refuse_kernel_and_its_chains(const struct perch_attr *attr, int cpu, int group)
{
	bool chains = attr->sample_type & PERCH_SAMPLE_CALLCHAIN && !attr->exclude_callchain_kernel;

	(void)cpu, (void)group;
	return !attr->exclude_kernel || attr->text_poke || chains ? EACCES : 0;
}

static void excludes_the_kernel_from_call_chains(void **state)
{
	struct fixture *s = *state;

	s->k.refuse = refuse_kernel_and_its_chains;
	s->options.event.sample = PERCH_SAMPLE_CALLCHAIN;
	assert_int_equal(open_may(s, "cpu-clock,page-faults:u", 0), -EACCES);
	assert_int_equal(open_may(s, "cpu-clock,page-faults:u,cs/call-graph=no/u",
				  PERCH_MAY_EXCLUDE_KERNEL),
			 0);
	for (int i = 0; i < s->k.nr; i++) {
		const struct perch_attr *attr = &s->k.fd[i].attr;

		assert_true(attr->exclude_kernel);
		assert_int_equal(attr->exclude_callchain_kernel,
				 !!(attr->sample_type & PERCH_SAMPLE_CALLCHAIN));
		assert_false(attr->exclude_callchain_user);
	}
	assert_true(perch_sampler_user_only(s->sampler, 0));
	assert_true(perch_sampler_user_only(s->sampler, 1));
	assert_false(perch_sampler_user_only(s->sampler, 2)); /* as requested */
}

/* The kernel part of unwound stacks is excluded too, though the chain has nothing else. */
static void excludes_the_kernel_from_stack_copies(void **state)
{
	struct fixture *s = *state;

	s->k.refuse = refuse_kernel_and_its_chains;
	assert_int_equal(open_may(s, "cpu-clock/call-graph=dwarf/", PERCH_MAY_EXCLUDE_KERNEL), 0);
	assert_true(s->k.fd[0].attr.exclude_callchain_kernel &&
		    s->k.fd[0].attr.exclude_callchain_user);
	assert_int_equal(s->k.fd[0].attr.sample_stack_user, 8192);
}

static void leaves_out_changes_of_kernel_code(void **state)
{
	struct fixture *s = *state;

	s->k.refuse = refuse_kernel_and_its_chains;
	s->options.event.sideband = PERCH_SIDEBAND_TEXT_POKE | PERCH_SIDEBAND_COMM;
	assert_int_equal(open_may(s, "cpu-clock:u", 0), -EACCES);
	assert_int_equal(open_may(s, "cpu-clock:u", PERCH_MAY_EXCLUDE_KERNEL), 0);
	assert_true(s->k.fd[0].attr.comm && !s->k.fd[0].attr.text_poke);
	assert_true(perch_sampler_user_only(s->sampler, 0));
}

/* The tracking event follows the caller's events. */
static void leaves_out_changes_of_kernel_code_of_the_tracking_event(void **state)
{
	struct fixture *s = *state;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	s->k.refuse = refuse_kernel_and_its_chains;
	s->options.event.sideband = PERCH_SIDEBAND_TEXT_POKE | PERCH_SIDEBAND_COMM;
	s->options.tracking_event = true;
	assert_int_equal(open_may(s, "cpu-clock:u", PERCH_MAY_EXCLUDE_KERNEL), 0);
	assert_false(perch_sampler_user_only(s->sampler, 0)); /* as requested */
	assert_true(perch_sampler_user_only(s->sampler, 1));
	assert_false(perch_sampler_event(s->sampler, 1, &name, &ids, &nr)->text_poke);
}

static void events_of_the_kernel_are_not_excluded(void **state)
{
	struct fixture *s = *state;

	s->k.refuse = refuse_kernel;
	assert_int_equal(open_may(s, "context-switches", PERCH_MAY_EXCLUDE_KERNEL), -EACCES);
	assert_null(s->sampler);
	/* with both, it is skipped */
	assert_int_equal(open_may(s, "context-switches,page-faults",
				  PERCH_MAY_EXCLUDE_KERNEL | PERCH_MAY_SKIP),
			 0);
	assert_non_null(perch_sampler_skipped(s->sampler, 0));
	assert_false(perch_sampler_user_only(s->sampler, 0));
	assert_true(perch_sampler_user_only(s->sampler, 1));
}

/* The kernel checks permission first. */
static int refuse_cycles_later(const struct perch_attr *attr, int cpu, int group)
{
	(void)cpu, (void)group;
	if (!attr->exclude_kernel)
		return EACCES;
	return attr->type == PERCH_TYPE_HARDWARE ? ENOENT : 0;
}

static void skips_what_is_unsupported_without_the_kernel_too(void **state)
{
	struct fixture *s = *state;

	s->k.refuse = refuse_cycles_later;
	assert_int_equal(open_may(s, "cycles,page-faults", PERCH_MAY_EXCLUDE_KERNEL), -ENOENT);
	assert_null(strstr(s->err.message, "perf_event_paranoid"));
	assert_int_equal(
		open_may(s, "cycles,page-faults", PERCH_MAY_EXCLUDE_KERNEL | PERCH_MAY_SKIP), 0);
	assert_int_equal(perch_sampler_skipped(s->sampler, 0)->errnum, ENOENT);
	assert_false(perch_sampler_user_only(s->sampler, 0));
	assert_true(perch_sampler_user_only(s->sampler, 1));
}

static int refuse_cycles(const struct perch_attr *attr, int cpu, int group)
{
	(void)cpu, (void)group;
	return attr->type == PERCH_TYPE_HARDWARE ? ENOENT : 0;
}

static void skips_unsupported_events(void **state)
{
	struct fixture *s = *state;

	s->k.refuse = refuse_cycles;
	s->options.event.sideband = PERCH_SIDEBAND_COMM;
	assert_int_equal(open_may(s, "cycles,page-faults", 0), -ENOENT);
	assert_int_equal(open_may(s, "cycles,page-faults,instructions", PERCH_MAY_SKIP), 0);
	assert_int_equal(perch_sampler_skipped(s->sampler, 0)->errnum, ENOENT);
	assert_non_null(strstr(perch_sampler_skipped(s->sampler, 0)->message, "cycles"));
	assert_null(perch_sampler_skipped(s->sampler, 1));
	assert_non_null(perch_sampler_skipped(s->sampler, 2));
	assert_int_equal(ids_of(s, 0), 0);
	assert_int_equal(ids_of(s, 1), 1);
	/* the first event that is open writes the side-band records */
	assert_true(s->k.fd[s->k.nr - 1].attr.comm);
}

static void leads_a_group_after_its_leader_is_skipped(void **state)
{
	struct fixture *s = *state;

	s->k.refuse = refuse_cycles;
	assert_int_equal(open_may(s, "{cycles,page-faults,minor-faults}", PERCH_MAY_SKIP), 0);
	assert_int_equal(perch_sampler_leader(s->sampler, 1), 1);
	assert_int_equal(perch_sampler_leader(s->sampler, 2), 1);
	assert_int_equal(s->k.fd[s->k.nr - 2].group, -1);
	assert_int_equal(s->k.fd[s->k.nr - 1].group, 1000 + s->k.nr - 2);
	assert_int_equal(perch_sampler_enable(s->sampler, NULL), 0);
	assert_true(s->k.fd[s->k.nr - 2].on);
}

static void fails_if_no_event_is_left(void **state)
{
	struct fixture *s = *state;

	s->k.refuse = refuse_cycles;
	assert_int_equal(open_may(s, "cycles,instructions", PERCH_MAY_SKIP), -ENOENT);
	assert_null(s->sampler);
	assert_non_null(strstr(s->err.message, "cycles"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(excludes_the_kernel_if_allowed),
		TEST(excludes_the_kernel_from_call_chains),
		TEST(excludes_the_kernel_from_stack_copies),
		TEST(leaves_out_changes_of_kernel_code),
		TEST(events_of_the_kernel_are_not_excluded),
		TEST(leaves_out_changes_of_kernel_code_of_the_tracking_event),
		TEST(skips_what_is_unsupported_without_the_kernel_too),
		TEST(skips_unsupported_events),
		TEST(leads_a_group_after_its_leader_is_skipped),
		TEST(fails_if_no_event_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
