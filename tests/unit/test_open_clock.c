/* SPDX-License-Identifier: MIT */
/* Conversion between the clock of the CPU and times of samples, and times of an event, with built
 * control pages. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <perch/open.h>

static void converts_in_both_directions(void **state)
{
	const struct perch_clock_conversion invalid = { .time_mult = 1, .time_shift = 32 };
	/* 2.5 GHz: 0.4 ns in each cycle */
	const struct perch_clock_conversion valid = { .time_zero = 1000,
						      .time_mult = 858993459,
						      .time_shift = 31 };
	const uint64_t cycles[] = { 0, 1, 7, 2500000000, UINT64_C(1) << 52, UINT64_C(1) << 60 };

	(void)state;
	assert_int_equal(perch_clock_check(&invalid, NULL), -EINVAL);
	assert_int_equal(perch_clock_check(&valid, NULL), 0);
	assert_int_equal(perch_clock_to_time(&valid, 0), 1000);
	assert_int_equal(perch_clock_to_time(&valid, 2500000000), 1000000999);
	for (size_t i = 0; i < sizeof(cycles) / sizeof(cycles[0]); i++) {
		uint64_t time = perch_clock_to_time(&valid, cycles[i]);
		uint64_t back = perch_clock_from_time(&valid, time);

		/* one ns is 2.5 cycles */
		assert_true(back <= cycles[i] && cycles[i] - back <= 3);
		assert_true(perch_clock_to_time(&valid, back + 3) >= time);
	}
}

/* A time before time_zero is a clock below 0, which wraps as in the kernel. */
static void wraps_with_a_negative_zero(void **state)
{
	const struct perch_clock_conversion clock = { .time_zero = -UINT64_C(500),
						      .time_mult = 1 << 10,
						      .time_shift = 10 };

	(void)state;
	assert_int_equal(perch_clock_to_time(&clock, 700), 200);
	assert_int_equal(perch_clock_from_time(&clock, 200), 700);
}

/* A counter of 32 bits has wrapped since the kernel read it. */
static void extends_short_clocks(void **state)
{
	const struct perch_clock_conversion clock = { .time_mult = 1 << 10,
						      .time_shift = 10,
						      .time_cycles = UINT64_C(0x5fffffff0),
						      .time_mask = UINT32_MAX };

	(void)state;
	assert_int_equal(perch_clock_to_time(&clock, 0x10), 0x600000010);
	assert_int_equal(perch_clock_to_time(&clock, 0xfffffff8), 0x5fffffff8);
}

static void reads_pages(void **state)
{
	static struct perch_mmap_page page;
	struct perch_clock_conversion clock;
	uint64_t enabled, running;
	struct perch_error err;

	(void)state;
	page.time_zero = 5;
	page.time_mult = 3;
	page.time_shift = 1;
	page.time_cycles = 77;
	page.time_mask = 255;
	page.time_enabled = 1000;
	page.time_running = 400;
	assert_int_equal(perch_clock_from_page(&clock, &page, &err), -EOPNOTSUPP);
	assert_int_equal(err.kind, PERCH_ERROR_NOT_SUPPORTED);
	page.cap_user_time_zero = 1;
	assert_int_equal(perch_clock_from_page(&clock, &page, &err), 0);
	assert_true(clock.time_zero == 5 && clock.time_mult == 3 && clock.time_shift == 1);
	assert_true(clock.time_cycles == 0 && clock.time_mask == 0);
	page.cap_user_time_short = 1;
	assert_int_equal(perch_clock_from_page(&clock, &page, &err), 0);
	assert_true(clock.time_cycles == 77 && clock.time_mask == 255);
	page.time_mult = 0;
	assert_int_equal(perch_clock_from_page(&clock, &page, &err), -EINVAL);
	assert_int_equal(perch_page_times(&page, &enabled, &running, &err), 0);
	assert_true(enabled == 1000 && running == 400);
	page.lock = 1; /* the kernel is writing */
	assert_int_equal(perch_page_times(&page, &enabled, &running, &err), -EAGAIN);
	assert_int_equal(perch_clock_from_page(&clock, &page, &err), -EAGAIN);
}

static void refuses_fields_of_the_options_in_events(void **state)
{
	struct perch_event event = { .name = "mine",
				     .attr = { .type = PERCH_TYPE_SOFTWARE,
					       .config = PERCH_COUNT_SW_PAGE_FAULTS,
					       .exclude_kernel = 1 } };
	struct perch_attr attr;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_attr_build(&attr, &event, NULL, &err), 0);
	event.attr.sample_type = PERCH_SAMPLE_IP;
	assert_int_equal(perch_attr_build(&attr, &event, NULL, &err), -EINVAL);
	assert_string_equal(err.field, "sample_type");
	event.attr.sample_type = 0;
	event.attr.inherit = 1;
	assert_int_equal(perch_attr_build(&attr, &event, NULL, &err), -EINVAL);
	assert_string_equal(err.field, "inherit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(converts_in_both_directions),
		cmocka_unit_test(wraps_with_a_negative_zero),
		cmocka_unit_test(extends_short_clocks),
		cmocka_unit_test(reads_pages),
		cmocka_unit_test(refuses_fields_of_the_options_in_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
