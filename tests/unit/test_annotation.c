/* SPDX-License-Identifier: MIT */
/* Samples by function and offset. The functions are those of a kallsyms file that is written here.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <perch/annotation.h>
#include "process_fixture.h"

#define TEXT   0xffffffff81000000ull
#define FIRST  (TEXT + 0x100)
#define SECOND (TEXT + 0x200)
#define END    (TEXT + 0x1000)

static char path[] = "/tmp/perch-annotation-XXXXXX";

struct fixture {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_annotation *annotation;
	const struct perch_annotated_function *functions;
	size_t nr;
};

static int write_kallsyms(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0)
		return -1;
	dprintf(fd, "%llx T _text\n%llx T _stext\n%llx T first\n%llx t second\n%llx T third\n",
		TEXT, TEXT, FIRST, SECOND, SECOND + 0x100);
	return close(fd);
}

static int remove_kallsyms(void **state)
{
	(void)state;
	return unlink(path);
}

static int setup(void **state)
{
	const struct perch_symbols_options options = { .kallsyms = path };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->processes = new_processes();
	map_kernel(f->processes, TEXT, END - TEXT, TEXT, "[kernel.kallsyms]_text");
	assert_int_equal(perch_symbols_new(&f->symbols, &options, NULL), 0);
	assert_int_equal(perch_annotation_new(&f->annotation, f->processes, f->symbols, NULL), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	perch_annotation_free(f->annotation);
	perch_symbols_free(f->symbols);
	perch_processes_free(f->processes);
	free(f);
	return 0;
}

static void hit(struct fixture *f, uint16_t event, uint64_t period, uint64_t ip)
{
	const struct perch_record record = {
		.type = PERCH_RECORD_SAMPLE,
		.misc = PERCH_MISC_KERNEL,
		.event = event,
		.sample = { .ip = ip, .pid = 1, .tid = 1, .period = period },
	};

	assert_int_equal(perch_annotation_add(f->annotation, &record, NULL), 0);
}

static void finish(struct fixture *f, unsigned event)
{
	assert_int_equal(perch_annotation_finish(f->annotation, NULL), 0);
	assert_int_equal(
		perch_annotation_functions(f->annotation, event, &f->functions, &f->nr, NULL), 0);
}

static void check_point(const struct perch_annotated_function *function, size_t at, uint64_t offset,
			uint32_t event, uint64_t samples, uint64_t period)
{
	assert_true(at < function->nr);
	assert_int_equal(function->point[at].offset, offset);
	assert_int_equal(function->point[at].event, event);
	assert_int_equal(function->point[at].samples, samples);
	assert_int_equal(function->point[at].period, period);
}

static void counts_by_offset_and_event(void **state)
{
	struct fixture *f = *state;

	hit(f, 0, 10, FIRST + 8);
	hit(f, 1, 7, FIRST + 8);
	hit(f, 0, 10, FIRST);
	hit(f, 0, 1000, SECOND + 255);
	hit(f, 0, 30, FIRST + 8);
	finish(f, 0);
	assert_int_equal(f->nr, 2);
	assert_string_equal(f->functions[0].symbol->name, "second");
	assert_int_equal(f->functions[0].period, 1000);
	check_point(&f->functions[0], 0, 255, 0, 1, 1000);
	assert_string_equal(f->functions[1].symbol->name, "first");
	assert_int_equal(f->functions[1].samples, 3);
	assert_int_equal(f->functions[1].period, 50);
	assert_int_equal(f->functions[1].nr, 3);
	check_point(&f->functions[1], 0, 0, 0, 1, 10);
	check_point(&f->functions[1], 1, 8, 0, 2, 40);
	check_point(&f->functions[1], 2, 8, 1, 1, 7);
}

static void lists_functions_of_an_event(void **state)
{
	struct fixture *f = *state;
	const struct perch_annotated_function *functions;
	size_t nr;

	hit(f, 3, 5, FIRST);
	hit(f, 0, 50, SECOND);
	hit(f, 3, 6, SECOND);
	finish(f, 3);
	assert_int_equal(f->nr, 2);
	assert_string_equal(f->functions[0].symbol->name, "second");
	assert_int_equal(f->functions[0].period, 6);
	assert_int_equal(perch_annotation_functions(f->annotation, 0, &functions, &nr, NULL), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(perch_annotation_functions(f->annotation, 1, &functions, &nr, NULL), 0);
	assert_int_equal(nr, 0);
	assert_int_equal(perch_annotation_functions(f->annotation, PERCH_ANNOTATION_ALL_EVENTS,
						    &functions, &nr, NULL),
			 0);
	assert_int_equal(nr, 2);
	assert_int_equal(functions[0].period, 56);
	assert_int_equal(functions[0].samples, 2);
}

static void counts_samples_without_a_function(void **state)
{
	struct fixture *f = *state;
	struct perch_annotation_total total;

	hit(f, 0, 10, FIRST);
	hit(f, 0, 20, 0x1234);
	hit(f, 0, 30, 0x1238);
	finish(f, 0);
	perch_annotation_get_total(f->annotation, 0, &total);
	assert_int_equal(total.samples, 3);
	assert_int_equal(total.period, 60);
	assert_int_equal(total.nameless_samples, 2);
	assert_int_equal(total.nameless_period, 50);
	perch_annotation_get_total(f->annotation, 70000, &total);
	assert_int_equal(total.samples, 0);
	assert_int_equal(f->nr, 1);
}

static void adds_samples_of_others(void **state)
{
	struct fixture *f = *state;
	const struct perch_annotated_function *functions;
	struct perch_annotation *all;
	struct perch_annotation_total total;
	size_t nr;

	assert_int_equal(perch_annotation_new(&all, f->processes, f->symbols, NULL), 0);
	assert_int_equal(perch_annotation_merge(all, f->annotation, NULL), 0);
	hit(f, 0, 10, SECOND);
	hit(f, 0, 20, FIRST);
	hit(f, 1, 40, 0x1234);
	assert_int_equal(perch_annotation_merge(all, f->annotation, NULL), 0);
	hit(f, 0, 100, SECOND);
	assert_int_equal(perch_annotation_merge(all, f->annotation, NULL), 0);
	assert_int_equal(perch_annotation_finish(all, NULL), 0);
	assert_int_equal(perch_annotation_functions(all, 0, &functions, &nr, NULL), 0);
	assert_int_equal(nr, 2);
	assert_string_equal(functions[0].symbol->name, "second");
	check_point(&functions[0], 0, 0, 0, 3, 120);
	check_point(&functions[1], 0, 0, 0, 2, 40);
	perch_annotation_get_total(all, 1, &total);
	assert_int_equal(total.nameless_period, 80);
	assert_int_equal(perch_annotation_merge(all, f->annotation, NULL), -EINVAL);
	assert_int_equal(perch_annotation_merge(f->annotation, all, NULL), -EINVAL);
	perch_annotation_free(all);
	finish(f, 0);
	check_point(&f->functions[0], 0, 0, 0, 2, 110);
}

static void sorts_equal_functions_by_address(void **state)
{
	struct fixture *f = *state;

	hit(f, 0, 10, SECOND);
	hit(f, 0, 10, SECOND + 0x100);
	hit(f, 0, 10, FIRST);
	finish(f, 0);
	assert_int_equal(f->nr, 3);
	assert_string_equal(f->functions[0].symbol->name, "first");
	assert_string_equal(f->functions[1].symbol->name, "second");
	assert_string_equal(f->functions[2].symbol->name, "third");
}

static void makes_an_empty_annotation(void **state)
{
	struct fixture *f = *state;
	const struct perch_record other = { .type = PERCH_RECORD_LOST };

	assert_int_equal(perch_annotation_add(f->annotation, &other, NULL), 0);
	finish(f, PERCH_ANNOTATION_ALL_EVENTS);
	assert_int_equal(f->nr, 0);
	perch_annotation_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_by_offset_and_event, setup, teardown),
		cmocka_unit_test_setup_teardown(lists_functions_of_an_event, setup, teardown),
		cmocka_unit_test_setup_teardown(counts_samples_without_a_function, setup, teardown),
		cmocka_unit_test_setup_teardown(adds_samples_of_others, setup, teardown),
		cmocka_unit_test_setup_teardown(sorts_equal_functions_by_address, setup, teardown),
		cmocka_unit_test_setup_teardown(makes_an_empty_annotation, setup, teardown),
	};

	return cmocka_run_group_tests(tests, write_kallsyms, remove_kallsyms);
}
