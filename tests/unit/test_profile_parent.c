/* SPDX-License-Identifier: MIT */
/* Tests the column parent, and callees to ignore, with the functions of this program. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <unistd.h>
#include "profile_fixture.h"

__attribute__((noinline)) static void outer_caller(void)
{
	__asm__ volatile("nop; nop");
}

__attribute__((noinline)) static void inner_caller(void)
{
	__asm__ volatile("nop; nop; nop");
}

__attribute__((noinline)) static void sampled_leaf(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

/* Finds the offset in the file of an address of this program. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *data)
{
	uint64_t *address = data;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && *address >= start &&
		    *address - start < segment->p_filesz) {
			*address = *address - start + segment->p_offset;
			return 1;
		}
	}
	return 1; /* only the program, which is the first object */
}

#define BASE 0x10000000ull

/* An address in a function, as a sample of the process has it. */
static uint64_t in(void (*function)(void))
{
	uint64_t address = (uint64_t)(uintptr_t)function;

	dl_iterate_phdr(find_offset, &address);
	return BASE + address + 2;
}

static int setup_program(void **state)
{
	char path[256] = { 0 };
	struct fixture *f;

	setup(state);
	f = *state;
	perch_symbols_free(f->symbols);
	assert_int_equal(perch_symbols_new(&f->symbols, NULL, NULL), 0);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	map_file(f->processes, PID, BASE, 0x8000000, 0, path);
	return 0;
}

/* Samples in the leaf: called by both, by the outer one, and by neither. */
static void begin(struct fixture *f, const struct perch_profile_options *options)
{
	uint64_t leaf = in(sampled_leaf), inner = in(inner_caller), outer = in(outer_caller);

	perch_profile_free(f->profile);
	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, options, NULL),
			 0);
	stack(f, 40, 3, (uint64_t[]){ leaf, inner, outer });
	stack(f, 20, 2, (uint64_t[]){ leaf, outer });
	stack(f, 10, 1, (uint64_t[]){ leaf });
	finish(f);
	rows_of(f, 0, false);
}

/* The rows have these periods and texts, the largest first. */
static void check(struct fixture *f, const char *name, size_t nr, const uint64_t *periods,
		  const char *const *texts)
{
	assert_int_equal(f->nr, nr);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(f->rows[i].self, periods[i]);
		check_cell(f, i, name, texts[i]);
	}
}

static void groups_by_parent(void **state)
{
	struct fixture *f = *state;
	struct perch_profile_options options = { .names = "parent", .parent = "^(inn|out)er_" };

	for (unsigned flat = 0; flat < 2; flat++) {
		options.flat = flat;
		options.outermost_parent = false;
		begin(f, &options);
		check(f, "parent", 3, (uint64_t[]){ 40, 20, 10 },
		      (const char *[]){ "inner_caller", "outer_caller", "[other]" });
		options.outermost_parent = true;
		begin(f, &options);
		check(f, "parent", 2, (uint64_t[]){ 60, 10 },
		      (const char *[]){ "outer_caller", "[other]" });
	}
	/* the sampled function is one of the chain, and --max-stack leaves out the others */
	options = (struct perch_profile_options){
		.names = "parent", .parent = "caller|leaf", .outermost_parent = true, .max_stack = 2
	};
	begin(f, &options);
	check(f, "parent", 3, (uint64_t[]){ 40, 20, 10 },
	      (const char *[]){ "inner_caller", "outer_caller", "sampled_leaf" });
	options.parent = NULL;
	begin(f, &options);
	check(f, "parent", 1, (uint64_t[]){ 70 }, (const char *[]){ "[other]" });
}

static void sorts_samples_without_parent_last(void **state)
{
	const struct perch_column *by = column("parent");
	const struct perch_rows_options order = { .by = &by, .nr_by = 1 };
	const struct perch_profile_options options = { .names = "parent", .parent = "caller$" };
	struct fixture *f = *state;

	begin(f, &options);
	assert_int_equal(perch_profile_rows(f->profile, 0, &order, &f->rows, &f->nr, NULL), 0);
	check(f, "parent", 3, (uint64_t[]){ 40, 20, 10 },
	      (const char *[]){ "inner_caller", "outer_caller", "[other]" });
}

static void counts_samples_for_the_outermost_match(void **state)
{
	struct fixture *f = *state;
	struct perch_profile_options options = { .names = "sym", .ignore_callees = "_caller$" };

	for (unsigned flat = 0; flat < 2; flat++) {
		options.flat = flat;
		begin(f, &options);
		check(f, "sym", 2, (uint64_t[]){ 60, 10 },
		      (const char *[]){ "[.] outer_caller", "[.] sampled_leaf" });
		assert_int_equal(f->rows[0].children, 60);
	}
	options = (struct perch_profile_options){ .names = "sym", .ignore_callees = "^inner" };
	begin(f, &options);
	check(f, "sym", 2, (uint64_t[]){ 40, 30 },
	      (const char *[]){ "[.] inner_caller", "[.] sampled_leaf" });
	assert_int_equal(rows_of(f, 0, true), 3); /* its callers are left */
}

static const char *name_at(struct perch_addresses *addresses, uint32_t number)
{
	return perch_addresses_at(addresses, number)->symbol->name;
}

static void leaves_out_callees_of_chains(void **state)
{
	struct fixture *f = *state;
	struct perch_thread *thread = perch_processes_thread(f->processes, PID, PID);
	uint64_t ips[] = { PERCH_CONTEXT_USER, in(sampled_leaf), in(inner_caller),
			   in(outer_caller) };
	struct perch_record record = sample_record(PID, PID, 1, ips[1]);

	struct perch_addresses *addresses;
	struct perch_error err;
	uint32_t numbers[4];
	uint64_t whole;

	record.misc = PERCH_MISC_USER;
	record.sample.callchain.nr = NR(ips);
	record.sample.callchain.ip = ips;
	assert_int_equal(perch_addresses_new(&addresses, f->processes, f->symbols, NULL), 0);
	assert_int_equal(perch_addresses_outer_chain(addresses, thread, &record, numbers, 4), 3);
	whole = perch_addresses_at(addresses, numbers[1])->offset;
	assert_int_equal(perch_addresses_ignore_callees(addresses, "^inner", &err), 0);
	assert_int_equal(perch_addresses_outer_chain(addresses, thread, &record, numbers, 4), 2);
	assert_string_equal(name_at(addresses, numbers[0]), "inner_caller");
	assert_string_equal(name_at(addresses, numbers[1]), "outer_caller");
	/* the address of the call, before the one to which it returns */
	assert_int_equal(perch_addresses_at(addresses, numbers[0])->offset, whole - 1);
	assert_int_equal(perch_addresses_call_chain(addresses, thread, &record, numbers, 4), 3);

	assert_int_equal(perch_addresses_ignore_callees(addresses, "none", &err), 0);
	assert_int_equal(perch_addresses_outer_chain(addresses, thread, &record, numbers, 4), 3);
	assert_int_equal(perch_addresses_ignore_callees(addresses, "(", &err), -EINVAL);
	assert_non_null(strstr(err.message, "regular expression"));
	assert_int_equal(perch_addresses_outer_chain(addresses, thread, &record, numbers, 4), 3);
	perch_addresses_free(addresses);
}

static void refuses_wrong_expressions(void **state)
{
	const struct perch_profile_options wrong[] = {
		{ .names = "parent", .parent = "(" },
		{ .names = "sym", .ignore_callees = "\33[a" },
	};
	struct fixture *f = *state;
	struct perch_error err;

	for (size_t i = 0; i < NR(wrong); i++) {
		assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &wrong[i],
						   &err),
				 -EINVAL);
		assert_null(f->profile);
		assert_non_null(strstr(err.message, "regular expression"));
		assert_null(strchr(err.message, '\33'));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_program, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(groups_by_parent),
		TEST(sorts_samples_without_parent_last),
		TEST(counts_samples_for_the_outermost_match),
		TEST(leaves_out_callees_of_chains),
		TEST(refuses_wrong_expressions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
