/* SPDX-License-Identifier: MIT */
/* Mean, standard deviation and standard error. */
#include "base/mean.h"
#include "test_base.h"

static struct perch__mean mean_of(const double *numbers, unsigned int nr)
{
	struct perch__mean mean = { 0 };

	for (unsigned int i = 0; i < nr; i++)
		perch__mean_add(&mean, numbers[i]);
	return mean;
}

static void is_zero_without_numbers(void **state)
{
	struct perch__mean mean = { 0 };
	(void)state;

	assert_true(mean.mean == 0);
	assert_true(perch__mean_deviation(&mean) == 0);
	assert_true(perch__mean_error(&mean) == 0);
	assert_true(perch__mean_error_percent(&mean) == 0);
	perch__mean_add(&mean, 7);
	assert_true(mean.mean == 7);
	assert_true(perch__mean_error(&mean) == 0);
}

static void computes_mean_and_error(void **state)
{
	static const double numbers[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct perch__mean mean = mean_of(numbers, 8);
	(void)state;

	assert_true(mean.mean == 5);
	assert_true(fabs(perch__mean_deviation(&mean) - 2.138089935299395) < 1e-12);
	assert_true(fabs(perch__mean_error(&mean) - 0.7559289460184544) < 1e-12);
	assert_true(fabs(perch__mean_error_percent(&mean) - 15.118578920369089) < 1e-12);
}

/* A naive sum of squares would lose all digits here. */
static void keeps_digits_of_large_numbers(void **state)
{
	static const double numbers[] = { 1e15 + 1, 1e15 + 2, 1e15 + 3 };
	struct perch__mean mean = mean_of(numbers, 3);
	(void)state;

	assert_true(mean.mean == 1e15 + 2);
	assert_true(perch__mean_deviation(&mean) == 1);
}

int test_base_mean(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_zero_without_numbers),
		cmocka_unit_test(computes_mean_and_error),
		cmocka_unit_test(keeps_digits_of_large_numbers),
	};

	return cmocka_run_group_tests_name("base/mean.h", tests, NULL, NULL);
}
