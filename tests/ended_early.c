/* SPDX-License-Identifier: MIT */
/*
 * A case that fails ends at its assertion, and what it had allocated is never freed. Without this,
 * LeakSanitizer would report that as a second cause of the failure. Linked with every cmocka
 * program; the linker replaces the function that runs the cases.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

int __lsan_is_turned_off(void);
int __real__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t nr,
				   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t nr,
				   CMFixtureFunction setup, CMFixtureFunction teardown);

static int nr_failed;

/* LeakSanitizer asks at the end of the program. */
int __lsan_is_turned_off(void)
{
	return nr_failed != 0;
}

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t nr,
				   CMFixtureFunction setup, CMFixtureFunction teardown)
{
	int failed = __real__cmocka_run_group_tests(name, tests, nr, setup, teardown);

	nr_failed |= failed;
	return failed;
}
