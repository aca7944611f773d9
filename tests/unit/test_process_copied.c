/* SPDX-License-Identifier: MIT */
/* Tests anonymous memory that has the text of a file, by records as the kernel and recorders write
 * them. */
#include "process_fixture.h"

#define MIB	  (1ull << 20)
#define DATA	  PERCH_MISC_MMAP_DATA
#define PROGRAM	  "/bin/program"
#define GENERATED "/tmp/perf-1.map"

struct mapping {
	uint64_t start, end, offset; /* in units of the case */
	const char *name;
	uint16_t misc;
};

struct copy {
	const char *what;
	uint64_t unit;
	struct mapping mapping[6];
	uint64_t address; /* that is looked up */
	const char *path;
	uint64_t offset;
};

static const struct copy copies[] = {
	{ "inside of the text of a program",
	  0x1000,
	  { { 0x400, 0x500, 1, PROGRAM, 0 }, { 0x410, 0x420, 0, "//anon", 0 } },
	  0x415,
	  PROGRAM,
	  0x16 },
	{ "the text that follows the copy",
	  0x1000,
	  { { 0x400, 0x500, 1, PROGRAM, 0 }, { 0x410, 0x420, 0, "//anon", 0 } },
	  0x425,
	  PROGRAM,
	  0x26 },
	{ "all of the text",
	  0x1000,
	  { { 0x400, 0x500, 1, PROGRAM, 0 }, { 0x400, 0x500, 0, "/anon_hugepage (deleted)", 0 } },
	  0x400,
	  PROGRAM,
	  1 },
	{ "more than the text",
	  0x1000,
	  { { 0x400, 0x500, 1, PROGRAM, 0 }, { 0x400, 0x501, 0, "//anon", 0 } },
	  0x400,
	  GENERATED,
	  0x400 },
	{ "outside of the text",
	  0x1000,
	  { { 0x400, 0x500, 1, PROGRAM, 0 }, { 0x500, 0x501, 0, "//anon", 0 } },
	  0x500,
	  GENERATED,
	  0x500 },
	{ "in the place of data of the file",
	  0x1000,
	  { { 0x400, 0x500, 1, PROGRAM, DATA }, { 0x410, 0x420, 0, "//anon", 0 } },
	  0x415,
	  GENERATED,
	  0x415 },
	{ "a part of a copy again",
	  0x1000,
	  { { 0x400, 0x500, 1, PROGRAM, 0 },
	    { 0x410, 0x420, 0, "//anon", 0 },
	    { 0x418, 0x430, 0, "//anon", 0 } },
	  0x42f,
	  PROGRAM,
	  0x30 },
	{ "data were mapped before it became executable",
	  0x1000,
	  { { 0x400, 0x500, 1, PROGRAM, 0 },
	    { 0x400, 0x500, 0, "//anon", DATA },
	    { 0x400, 0x480, 0, "//anon", 0 } },
	  0x47f,
	  PROGRAM,
	  0x80 },
	{ "data over a part of another file",
	  0x1000,
	  { { 0x400, 0x480, 1, PROGRAM, 0 },
	    { 0x480, 0x500, 1, "/bin/other", 0 },
	    { 0x470, 0x490, 0, "//anon", 0 } },
	  0x475,
	  GENERATED,
	  0x475 },
	{ "between two mappings, which were there before",
	  0x1000,
	  { { 0x400, 0x410, 1, PROGRAM, 0 },
	    { 0x420, 0x500, 0x21, PROGRAM, 0 },
	    { 0x410, 0x420, 0, "//anon", 0 } },
	  0x41f,
	  PROGRAM,
	  0x20 },
	{ "between two mappings, in the order of /proc/PID/maps",
	  0x1000,
	  { { 0x400, 0x410, 1, PROGRAM, 0 },
	    { 0x410, 0x418, 0, "//anon", 0 },
	    { 0x418, 0x420, 0, "//anon", 0 },
	    { 0x420, 0x500, 0x21, PROGRAM, 0 } },
	  0x411,
	  PROGRAM,
	  0x12 },
	{ "between mappings with a gap",
	  0x1000,
	  { { 0x400, 0x410, 1, PROGRAM, 0 },
	    { 0x410, 0x418, 0, "//anon", 0 },
	    { 0x420, 0x500, 0x21, PROGRAM, 0 } },
	  0x411,
	  GENERATED,
	  0x411 },
	{ "between mappings with another distance",
	  0x1000,
	  { { 0x400, 0x410, 1, PROGRAM, 0 },
	    { 0x410, 0x420, 0, "//anon", 0 },
	    { 0x420, 0x500, 0x22, PROGRAM, 0 } },
	  0x411,
	  GENERATED,
	  0x411 },
	{ "between mappings of two files",
	  0x1000,
	  { { 0x400, 0x410, 1, PROGRAM, 0 },
	    { 0x410, 0x420, 0, "//anon", 0 },
	    { 0x420, 0x500, 0x21, "/bin/other", 0 } },
	  0x411,
	  GENERATED,
	  0x411 },
	/* after dlclose(3), which has no record, other memory may be there */
	{ "a part of a library, in small pages",
	  0x1000,
	  { { 0x400, 0x500, 1, "/lib/libx.so.1", 0 }, { 0x410, 0x420, 0, "//anon", 0 } },
	  0x415,
	  GENERATED,
	  0x415 },
	{ "a part of a library, in large pages",
	  MIB,
	  { { 3, 17, 1, "/lib/libx.so.1", 0 }, { 4, 16, 0, "//anon", 0 } },
	  5,
	  "/lib/libx.so.1",
	  3 },
};

static void anonymous_memory_has_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR(copies); i++) {
		const struct copy *copy = &copies[i];
		struct perch_processes *processes = new_processes();
		struct perch_location found;

		print_message("%s\n", copy->what);
		for (const struct mapping *map = copy->mapping; map->name; map++) {
			struct perch_record record =
				mmap_record(PERCH_MISC_USER | map->misc, 1, map->start * copy->unit,
					    (map->end - map->start) * copy->unit,
					    map->offset * copy->unit, map->name);

			apply(processes, &record);
		}
		found = locate(processes, 1, PERCH_MISC_USER, copy->address * copy->unit + 8);
		assert_string_equal(found.dso->path, copy->path);
		assert_int_equal(found.offset, copy->offset * copy->unit + 8);
		assert_false(found.not_executable);
		perch_processes_free(processes);
	}
}

/* A child has the copies of its parent, and a program that it executes has none of them. */
static void copies_end_with_the_program(void **state)
{
	struct perch_processes *processes = new_processes();

	(void)state;
	map_file(processes, 1, 0x400000, 0x100000, 0x1000, PROGRAM);
	map_file(processes, 1, 0x410000, 0x10000, 0, "//anon");
	fork_thread(processes, 1, 1, 2, 2);
	check_user(processes, 2, 0x410008, PROGRAM, 0x11008);
	name_thread(processes, 2, 2, "other", true);
	map_file(processes, 2, 0x410000, 0x10000, 0, "//anon");
	check_user(processes, 2, 0x410008, "/tmp/perf-2.map", 0x410008);
	check_user(processes, 1, 0x410008, PROGRAM, 0x11008);
	perch_processes_free(processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anonymous_memory_has_text),
		cmocka_unit_test(copies_end_with_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
