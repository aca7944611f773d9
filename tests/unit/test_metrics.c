/* SPDX-License-Identifier: MIT */
/* Ratios, rates and times computed from counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <perch/metrics.h>

static const struct perch_attr clock_attr = { .type = PERCH_TYPE_SOFTWARE,
					      .config = PERCH_COUNT_SW_TASK_CLOCK };
static const struct perch_attr cycles = { .type = PERCH_TYPE_HARDWARE,
					  .config = PERCH_COUNT_HW_CPU_CYCLES };
static const struct perch_attr instructions = { .type = PERCH_TYPE_HARDWARE,
						.config = PERCH_COUNT_HW_INSTRUCTIONS };
static const struct perch_attr faults = { .type = PERCH_TYPE_SOFTWARE,
					  .config = PERCH_COUNT_SW_PAGE_FAULTS };

static bool count_at(const void *context, size_t index, struct perch_metric_count *count)
{
	const struct perch_metric_count *all = context;

	*count = all[index];
	return count->attr;
}

/* Returns the metrics of a count as text, separated by ", ". */
static const char *metrics_text(const struct perch_metric_count *count, size_t nr, size_t index)
{
	const struct perch_metric_counts counts = {
		.nr = nr, .at = count_at, .context = count, .wall_ns = 2e9
	};
	static char text[160];
	struct perch_metric metric[PERCH_METRICS_MAX];
	size_t found = perch_metrics(&counts, index, metric), used = 0;

	text[0] = 0;
	for (size_t i = 0; i < found; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*f%s %s",
					 i ? ", " : "", metric[i].decimals, metric[i].value,
					 metric[i].sign, metric[i].unit);
	return text;
}

static void computes_ratios_rates_and_times(void **state)
{
	const struct perch_metric_count count[] = { { .attr = &clock_attr, .value = 1e9 },
						    { .attr = &cycles, .value = 3e9 },
						    { .attr = &instructions, .value = 6e9 },
						    { .attr = &faults, .value = 2500 } };

	(void)state;
	assert_string_equal(metrics_text(count, 4, 0), "0.500 CPUs utilized");
	assert_string_equal(metrics_text(count, 4, 1), "3.000 GHz");
	assert_string_equal(metrics_text(count, 4, 2), "2.00  insn per cycle");
	assert_string_equal(metrics_text(count, 4, 3), "2.500 K/sec");
}

static void refuses_reserved_members(void **state)
{
	struct perch_metric_count count = { .attr = &clock_attr, .value = 1e9 };
	struct perch_metric_counts counts = {
		.nr = 1, .at = count_at, .context = &count, .wall_ns = 2e9
	};
	struct perch_metric metric[PERCH_METRICS_MAX];

	(void)state;
	assert_int_equal(perch_metrics(&counts, 0, metric), 1);
	counts.reserved[1] = 1;
	assert_int_equal(perch_metrics(&counts, 0, metric), 0);
	counts.reserved[1] = 0;
	count.reserved[1] = 1;
	assert_int_equal(perch_metrics(&counts, 0, metric), 0);
}

static void joins_only_counts_of_one_part_and_mode(void **state)
{
	struct perch_metric_count count[] = { { .attr = &cycles, .value = 3e9 },
					      { .attr = &instructions, .value = 6e9 } };

	(void)state;
	assert_string_equal(metrics_text(count, 2, 1), "2.00  insn per cycle");
	count[0].part = 1;
	assert_string_equal(metrics_text(count, 2, 1), "");
	count[0].part = 0;
	count[0].user_only = true;
	assert_string_equal(metrics_text(count, 2, 1), "");
	count[0].user_only = false;
	count[0].attr = NULL; /* it was not counted */
	assert_string_equal(metrics_text(count, 2, 1), "");
}

static void names_units_of_ratios(void **state)
{
	(void)state;
	assert_string_equal(perch_metric_unit(&cycles), "GHz");
	assert_string_equal(perch_metric_unit(&instructions), "insn per cycle");
	assert_null(perch_metric_unit(&faults));
	assert_true(perch_metric_is_clock(&clock_attr));
	assert_false(perch_metric_is_clock(&faults));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(computes_ratios_rates_and_times),
		cmocka_unit_test(refuses_reserved_members),
		cmocka_unit_test(joins_only_counts_of_one_part_and_mode),
		cmocka_unit_test(names_units_of_ratios),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
