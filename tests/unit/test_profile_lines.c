/* SPDX-License-Identifier: MIT */
/* Tests the columns of source files and lines with the debug information of this program. */
#define _GNU_SOURCE
#include <link.h>
#include <unistd.h>
#include "profile_fixture.h"

/* Two lines of one function, whose addresses it returns. */
__attribute__((noinline)) static uint64_t first_line(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

static unsigned line_of_call;

__attribute__((noinline)) static uint64_t call(void)
{
	uint64_t address = first_line();

	line_of_call = __LINE__ - 2;
	__asm__ volatile("");
	return address;
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

static void finds_lines_of_callers_and_samples(void **state)
{
	uint64_t return_address = call();
	const struct perch_column *srcline = column("srcline"), *srcfile = column("srcfile");
	char path[256] = { 0 }, buffer[PERCH_CELL_BYTES], expected[64];
	struct perch_symbols *own = NULL;
	const struct perch_rows_options children = { .children = true };
	const struct perch_profile_options options = { .names = "sym,srcline,srcfile" };
	struct fixture *f = *state;
	bool found = false;

	dl_iterate_phdr(find_offset, &return_address);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	map_file(f->processes, PID, BASE, 0x8000000, 0, path);
	assert_int_equal(perch_symbols_new(&own, NULL, NULL), 0);
	assert_int_equal(perch_profile_new(&f->profile, f->processes, own, &options, NULL), 0);
	/* a sample in other code, called from call() */
	stack(f, 10, 2, (uint64_t[]){ CODE + 1, BASE + return_address });
	finish(f);
	assert_int_equal(perch_profile_rows(f->profile, 0, &children, &f->rows, &f->nr, NULL), 0);
	assert_int_equal(f->nr, 2);
	snprintf(expected, sizeof(expected), "test_profile_lines.c:%u", line_of_call);
	for (size_t i = 0; i < f->nr; i++) {
		if (f->rows[i].self) {
			assert_string_equal(perch_profile_cell(f->profile, &f->rows[i], srcline,
							       buffer, sizeof(buffer)),
					    "first[10001]");
			assert_string_equal(perch_profile_cell(f->profile, &f->rows[i], srcfile,
							       buffer, sizeof(buffer)),
					    "");
			continue;
		}
		found = perch_symbols_has_debug_info(own, f->rows[i].frame.dso);
		if (!found)
			continue;
		/* the line of the call, not the line after it */
		assert_string_equal(perch_profile_cell(f->profile, &f->rows[i], srcline, buffer,
						       sizeof(buffer)),
				    expected);
		assert_string_equal(perch_profile_cell(f->profile, &f->rows[i], srcfile, buffer,
						       sizeof(buffer)),
				    "test_profile_lines.c");
	}
	perch_profile_free(f->profile);
	f->profile = NULL;
	perch_symbols_free(own);
	if (!found)
		skip(); /* built without debug information */
}

/* Returns the callers in the call graph of the sample, or 0 without debug information. */
static size_t callers_by(struct fixture *f, enum perch_call_graph_key key, const uint64_t *callers,
			 const char *line)
{
	const struct perch_profile_options options = { .names = "sym", .graph_key = key };
	struct perch_symbols *own = NULL;
	struct perch_call_graph tree;
	char text[PERCH_CELL_BYTES];
	size_t nr = 0;

	assert_int_equal(perch_symbols_new(&own, NULL, NULL), 0);
	assert_int_equal(perch_profile_new(&f->profile, f->processes, own, &options, NULL), 0);
	for (int i = 0; i < 3; i++)
		stack(f, 10 + i, 2, (uint64_t[]){ CODE + 1, callers[i] });
	finish(f);
	/* lines do not split rows */
	assert_int_equal(rows_of(f, 0, true), 2);
	rows_of(f, 0, false);
	assert_int_equal(perch_profile_call_graph(f->profile, &f->rows[0], PERCH_CALL_GRAPH_CALLEE,
						  false, 0, &tree, NULL),
			 0);
	for (uint32_t at = tree.node[tree.node[0].first_child].first_child; at;
	     at = tree.node[at].next) {
		const struct perch_frame *frame = &tree.node[at].frame;

		perch_profile_frame_line(f->profile, frame, text, sizeof(text));
		if (!nr && key != PERCH_CALL_GRAPH_FUNCTION)
			assert_string_equal(text, line);
		nr = perch_symbols_has_debug_info(own, frame->dso) ? nr + 1 : 0;
	}
	perch_call_graph_clear(&tree);
	perch_profile_free(f->profile);
	f->profile = NULL;
	perch_symbols_free(own);
	return nr;
}

static void merges_callers_by_function_line_or_address(void **state)
{
	uint64_t call_address = (uintptr_t)call, return_address = call();
	uint64_t callers[3];
	char path[256] = { 0 }, expected[64];
	struct fixture *f = *state;

	dl_iterate_phdr(find_offset, &return_address);
	dl_iterate_phdr(find_offset, &call_address);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	map_file(f->processes, PID, BASE, 0x8000000, 0, path);
	/* the first instruction of the function, and two addresses in the instruction of the call
	 */
	callers[0] = BASE + call_address + 1;
	callers[1] = BASE + return_address;
	callers[2] = BASE + return_address - 1;
	snprintf(expected, sizeof(expected), "test_profile_lines.c:%u", line_of_call);
	if (!callers_by(f, PERCH_CALL_GRAPH_FUNCTION, callers, expected))
		skip(); /* built without debug information */
	assert_int_equal(callers_by(f, PERCH_CALL_GRAPH_FUNCTION, callers, expected), 1);
	assert_int_equal(callers_by(f, PERCH_CALL_GRAPH_LINE, callers, expected), 2);
	assert_int_equal(callers_by(f, PERCH_CALL_GRAPH_ADDRESS, callers, expected), 3);
}

static const struct perch_symbol *function_of_row(struct fixture *f, const char *names,
						  uint64_t address)
{
	const struct perch_profile_options options = { .names = names, .flat = true };
	const struct perch_symbol *symbol;
	struct perch_symbols *own = NULL;

	assert_int_equal(perch_symbols_new(&own, NULL, NULL), 0);
	assert_int_equal(perch_profile_new(&f->profile, f->processes, own, &options, NULL), 0);
	hit(f, 0, 3, address);
	hit(f, 0, 4, address + 1);
	hit(f, 0, 5, CODE + 1);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 2);
	assert_int_equal(f->rows[0].self, 7);
	assert_int_equal(f->rows[1].self, 5);
	symbol = f->rows[0].frame.symbol;
	perch_profile_free(f->profile);
	f->profile = NULL;
	perch_symbols_free(own);
	return symbol;
}

static void looks_up_only_functions_that_are_shown(void **state)
{
	uint64_t address = (uintptr_t)call;
	char path[256] = { 0 };
	struct fixture *f = *state;

	dl_iterate_phdr(find_offset, &address);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	map_file(f->processes, PID, BASE, 0x8000000, 0, path);
	assert_non_null(function_of_row(f, "dso,sym", BASE + address));
	assert_null(function_of_row(f, "dso", BASE + address));
	assert_null(function_of_row(f, "comm,dso,level,dso_size", BASE + address));
	assert_non_null(function_of_row(f, "dso,symbol_size", BASE + address));
}

/* Addresses without a line are rows of their own; files without a name are one. */
static void separates_addresses_without_lines(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		start(f, i ? "srcfile" : "srcline");
		hit(f, 0, 2, CODE + 1);
		hit(f, 0, 1, CODE + 2);
		hit(f, 0, 2, CODE + 1);
		finish(f);
		assert_int_equal(rows_of(f, 0, false), i ? 1 : 2);
		check_cell(f, 0, i ? "srcfile" : "srcline", i ? "" : "first[10001]");
	}
}

static void limits_stacks(void **state)
{
	const struct perch_profile_options options = { .names = "sym", .max_stack = 2 };
	struct fixture *f = *state;

	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options, NULL),
			 0);
	stack(f, 10, 4, (uint64_t[]){ CODE + 4, CODE + 3, CODE + 2, CODE + 1 });
	finish(f);
	assert_int_equal(rows_of(f, 0, true), 2);
	check_row(f, CODE + 4, 10, 10, 1);
	check_row(f, CODE + 3, 0, 10, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(finds_lines_of_callers_and_samples),
		TEST(merges_callers_by_function_line_or_address),
		TEST(looks_up_only_functions_that_are_shown),
		TEST(separates_addresses_without_lines),
		TEST(limits_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
