/* SPDX-License-Identifier: MIT */
/* BPF programs: names and lines from BPF_PROG_INFO and BPF_BTF. tests/interop/bpf.sh has real ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <perch/symbol.h>
#include <perch/synthesize.h>

#include "base/kernel/bpf.h"

#define START  0xffffffffc0001000ull
#define SECOND 0xffffffffc0002000ull
#define NAME   "bpf_prog_0102030405060708_main"

/* Two functions, with one line each, and one more of the first. */
static const struct data {
	uint64_t address[2];
	uint32_t length[2];
	uint32_t function[2][2];
	uint32_t line[3][4];
	uint64_t jited_line[3];
	uint8_t tag[2][8];
} data = {
	{ START, SECOND },
	{ 0x40, 0x20 },
	{ { 0, 1 }, { 7, 2 } },
	{ { 0, 11, 1, 5 << 10 | 3 }, { 4, 11, 1, 6 << 10 }, { 7, 11, 1, 20 << 10 } },
	{ START, START + 0x10, SECOND },
	{ { 1, 2, 3, 4, 5, 6, 7, 8 }, { 0xaa, 0, 0, 0, 0, 0, 0, 0xbb } },
};

static const struct types {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t size, types, types_size, texts, texts_size;
	uint32_t function[2][3];
	char text[24];
} types = {
	0xeb9f,
	1,
	0,
	24,
	0,
	24,
	24,
	24,
	{ { 1, 12u << 24, 0 }, { 6, 12u << 24, 0 } },
	"\0main\0part\0file.c",
};

static struct perch__bpf_program make_program(void)
{
#define AT(member) offsetof(struct data, member)
	return (struct perch__bpf_program){
		.info = { .type = 1,
			  .id = 7,
			  .tag = { 1, 2, 3, 4, 5, 6, 7, 8 },
			  .name = "short",
			  .btf = 9,
			  .nr_addresses = 2,
			  .addresses = AT(address),
			  .nr_lengths = 2,
			  .lengths = AT(length),
			  .nr_functions = 2,
			  .function_size = 8,
			  .functions = AT(function),
			  .nr_lines = 3,
			  .line_size = 16,
			  .lines = AT(line),
			  .nr_jited_lines = 3,
			  .jited_line_size = 8,
			  .jited_lines = AT(jited_line),
			  .nr_tags = 2,
			  .tags = AT(tag) },
		.arrays = 1 << PERCH__BPF_ADDRESSES | 1 << PERCH__BPF_LENGTHS |
			  1 << PERCH__BPF_FUNCTIONS | 1 << PERCH__BPF_LINES |
			  1 << PERCH__BPF_JITED_LINES | 1 << PERCH__BPF_TAGS,
		.data = (const uint8_t *)&data,
		.size = sizeof(data),
	};
#undef AT
}

/* The features of a recording. */
static uint8_t programs[1024], btfs[512];
static size_t programs_size, btfs_size;

static void make_features(const struct perch__bpf_program *program)
{
	const uint32_t one = 1, head[2] = { 9, sizeof(types) };

	memcpy(programs, &one, sizeof(one));
	programs_size = sizeof(one) + perch__bpf_store(program, programs + sizeof(one));
	memcpy(btfs, &one, sizeof(one));
	memcpy(btfs + sizeof(one), head, sizeof(head));
	memcpy(btfs + sizeof(one) + sizeof(head), &types, sizeof(types));
	btfs_size = sizeof(one) + sizeof(head) + sizeof(types);
}

static struct perch_symbols *symbols_with_programs(size_t size, size_t btf_size)
{
	struct perch_symbols *symbols;

	assert_int_equal(perch_symbols_new(&symbols, NULL, NULL), 0);
	perch_symbols_set_bpf_programs(symbols, programs, size, btfs, btf_size);
	return symbols;
}

static struct perch_dso code(const char *name, uint64_t start, uint64_t length)
{
	return (struct perch_dso){
		.kind = PERCH_DSO_KERNEL_CODE, .path = name, .start = start, .length = length
	};
}

static uint32_t line_of(struct perch_symbols *symbols, const struct perch_dso *dso,
			uint64_t address)
{
	const struct perch_symbol_frame *frame;

	assert_int_equal(perch_symbols_frames(symbols, dso, address, &frame), 1);
	assert_non_null(frame->symbol);
	assert_string_equal(frame->symbol->name, dso->path);
	if (frame->line)
		assert_string_equal(frame->file, "file.c");
	return frame->line;
}

static void finds_lines(void **state)
{
	const struct perch__bpf_program program = make_program();
	struct perch_dso dsos[] = { code(NAME, START, 0x40),
				    code("bpf_prog_aa000000000000bb_part", SECOND, 0x20),
				    code("bpf_prog_aa000000000000bc_part", SECOND, 0x20),
				    code(NAME, START, 0x41) };
	struct perch_symbols *symbols;

	(void)state;
	make_features(&program);
	symbols = symbols_with_programs(programs_size, btfs_size);
	for (uint32_t i = 0; i < 4; i++)
		dsos[i].index = i;
	assert_int_equal(line_of(symbols, &dsos[0], START), 5);
	assert_int_equal(line_of(symbols, &dsos[0], START + 0xf), 5);
	assert_int_equal(line_of(symbols, &dsos[0], START + 0x10), 6);
	assert_int_equal(line_of(symbols, &dsos[0], START + 0x3f), 6);
	assert_int_equal(line_of(symbols, &dsos[1], SECOND + 1), 20);
	assert_true(perch_symbols_has_debug_info(symbols, &dsos[1]));
	/* another program at the same address */
	assert_int_equal(line_of(symbols, &dsos[2], SECOND + 1), 0);
	assert_int_equal(line_of(symbols, &dsos[3], START), 0);
	assert_false(perch_symbols_has_debug_info(symbols, &dsos[2]));
	perch_symbols_free(symbols);
}

static void names_functions(void **state)
{
	struct perch__bpf_program program = make_program();
	const struct perch__btf btf = { (const uint8_t *)&types, sizeof(types) };
	char name[64];

	(void)state;
	perch__bpf_function_name(&program, &btf, 0, name, sizeof(name));
	assert_string_equal(name, NAME);
	perch__bpf_function_name(&program, &btf, 1, name, sizeof(name));
	assert_string_equal(name, "bpf_prog_aa000000000000bb_part");
	/* the names are unknown */
	perch__bpf_function_name(&program, NULL, 1, name, sizeof(name));
	assert_string_equal(name, "bpf_prog_aa000000000000bb");
	/* programs without BTF */
	program.info.nr_functions = 0;
	perch__bpf_function_name(&program, NULL, 1, name, sizeof(name));
	assert_string_equal(name, "bpf_prog_aa000000000000bb_F");
	program.info.nr_addresses = 1;
	perch__bpf_function_name(&program, NULL, 0, name, sizeof(name));
	assert_string_equal(name, "bpf_prog_0102030405060708_short");
}

/* No line is found, and nothing outside of the bytes is read: a sanitizer checks the copies. */
static void ignores_features_that_are_not_whole(void **state)
{
	const struct perch__bpf_program program = make_program();
	struct perch_dso dso = code(NAME, START, 0x40);

	(void)state;
	make_features(&program);
	for (size_t size = 0; size < programs_size; size++) {
		struct perch_symbols *symbols = symbols_with_programs(0, 0);
		uint8_t *copy = malloc(size ? size : 1);

		assert_non_null(copy);
		memcpy(copy, programs, size);
		perch_symbols_set_bpf_programs(symbols, copy, size, btfs, btfs_size);
		assert_int_equal(line_of(symbols, &dso, START), 0);
		perch_symbols_free(symbols);
		free(copy);
	}
	for (size_t size = 0; size < btfs_size; size++) {
		struct perch_symbols *symbols = symbols_with_programs(programs_size, size);

		assert_int_equal(line_of(symbols, &dso, START), 0);
		perch_symbols_free(symbols);
	}
}

/* Each word of the information is replaced by large numbers. */
static void ignores_arrays_outside_of_the_data(void **state)
{
	static const uint32_t numbers[] = { 0x7fffffff, UINT32_MAX, sizeof(data), 1u << 28 };
	struct perch_dso dso = code(NAME, START, 0x40);

	(void)state;
	for (size_t at = 0; at < sizeof(struct perch__bpf_info); at += 4)
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
			struct perch__bpf_program program = make_program();
			struct perch_symbols *symbols;

			memcpy((char *)&program.info + at, &numbers[i], 4);
			make_features(&program);
			symbols = symbols_with_programs(programs_size, btfs_size);
			line_of(symbols, &dso, START + 0x12);
			perch_symbols_free(symbols);
		}
}

/* ---- the running kernel ---- */

static int no_record(void *context, const void *records, size_t size, struct perch_error *err)
{
	(void)context;
	(void)records;
	(void)size;
	(void)err;
	fail();
	return 0;
}

static int refuse(void *context, int command, void *attr, size_t size)
{
	(void)command;
	(void)attr;
	(void)size;
	errno = *(int *)context;
	return -1;
}

static void reports_why_programs_are_not_listed(void **state)
{
	static const struct {
		int errnum, rc;
	} cases[] = { { EPERM, -EACCES }, { ENOSYS, -EACCES }, { ENOENT, 0 }, { EIO, -EIO } };
	struct perch_syscalls calls = perch_kernel_syscalls;
	struct perch_machine *machine;
	struct perch_error err;
	int errnum;

	(void)state;
	calls.context = &errnum;
	calls.bpf = refuse;
	assert_int_equal(perch_machine_new(&machine, NULL, &calls, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		errnum = cases[i].errnum;
		assert_int_equal(perch_synthesize_bpf(NULL, machine, no_record, NULL, NULL, &err),
				 cases[i].rc);
	}
	perch_machine_free(machine);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_lines),
		cmocka_unit_test(names_functions),
		cmocka_unit_test(ignores_features_that_are_not_whole),
		cmocka_unit_test(ignores_arrays_outside_of_the_data),
		cmocka_unit_test(reports_why_programs_are_not_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
