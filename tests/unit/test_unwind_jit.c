/* SPDX-License-Identifier: MIT */
/* Unwinds code of JIT compilers, by the unwinding information of a jitdump that is written here. */
#include "unwind_fixture.h"

#include <unistd.h>

#include <perch/jitdump.h>

#include "jitdump.h"

enum { JIT = 0x700000, JIT_SIZE = 0x4d, FRAME = 24 };

/* The .eh_frame of a function without a frame pointer, as V8 writes it: relative addresses. */
static struct built jit_eh_frame(bool big, uint8_t frame)
{
	struct built section = { .big = big }, body = { .big = big };
	const uint8_t cie[] = { DW_CFA_def_cfa, 7, frame, DW_CFA_offset | 16, 1 };
	size_t distance = (JIT_SIZE + 7) & ~7;

	put_number(&body, 0, 4);
	put_number(&body, 1, 1);
	put_bytes(&body, "zR", 3);
	put_number(&body, 1, 1);
	put_number(&body, 0x78, 1);
	put_number(&body, 16, 1);
	put_number(&body, 1, 1);
	put_number(&body, DW_EH_PE_pcrel | DW_EH_PE_sdata4, 1);
	put_bytes(&body, cie, sizeof(cie));
	put_entry(&section, &body);
	body = (struct built){ .big = big };
	put_number(&body, section.size + 4, 4);
	put_number(&body, -(uint64_t)(distance + section.size + 8), 4);
	put_number(&body, JIT_SIZE, 4);
	put_number(&body, 0, 1);
	put_entry(&section, &body);
	put_number(&section, 0, 4);
	return section;
}

static void write_dump(const char *path, const struct built *eh_frame, size_t size, bool swapped)
{
	static const uint8_t code[JIT_SIZE], zeros[20];
	struct jitdump dump = { .file = fopen(path, "w"), .swapped = swapped, .pid = 1 };
	struct built all = *eh_frame;

	assert_non_null(dump.file);
	put_bytes(&all, zeros, sizeof(zeros));
	jitdump_header(&dump, EM_X86_64, 1, 0);
	jitdump_unwinding(&dump, 5, all.bytes, size ? size : all.size, sizeof(zeros));
	jitdump_load(&dump, 5, 0, JIT, "function", code, sizeof(code));
	assert_int_equal(fclose(dump.file), 0);
}

/* Unwinds from the function to its caller, if rules is true. */
static void check_unwinding(const char *path, bool rules)
{
	const struct program program = { .cie = X86_CIE,
					 .function = { { 0 }, CODE_OF(DW_CFA_nop), X86_END } };
	struct unwinding unwinding;

	begin_program(&unwinding, &program);
	assert_int_equal(perch_processes_use_jitdump(unwinding.processes, NULL, NULL), 0);
	map_file(unwinding.processes, 1, 0x1000, 0x1000, 0, path);
	assert_int_equal(perch_processes_advance(unwinding.processes, 10), 0);
	unwinding.stack[0] = unwinding.stack[1] = 0x1234;
	unwinding.stack[FRAME / 8 - 1] = loaded(CALLER + 5);
	unwinding.stack[FRAME / 8] = loaded(LAST + 7);
	if (rules) {
		assert_int_equal(run_x86(&unwinding, JIT + JIT_SIZE - 1), PERCH_UNWIND_OUTERMOST);
		assert_int_equal(unwinding.result.nr, 3);
		assert_int_equal(unwinding.ips[1], loaded(CALLER + 5) - 1);
	} else {
		assert_int_not_equal(run_x86(&unwinding, JIT + 1), PERCH_UNWIND_OUTERMOST);
		assert_int_equal(unwinding.result.nr, 1);
	}
	finish(&unwinding);
}

static void uses_rules_of_a_jitdump(void **state)
{
	(void)state;
	for (int swapped = 0; swapped < 2; swapped++) {
		const char *path = path_in_directory("jit-1.dump");
		bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != swapped;
		struct built eh_frame = jit_eh_frame(big, FRAME);

		write_dump(path, &eh_frame, 0, swapped);
		check_unwinding(path, true);
		unlink(path);
	}
}

static void refuses_damaged_rules_of_a_jitdump(void **state)
{
	const char *path = path_in_directory("jit-1.dump");
	struct built eh_frame = jit_eh_frame(false, FRAME);

	(void)state;
	/* smaller than the table, and only the table */
	write_dump(path, &eh_frame, 10, false);
	check_unwinding(path, false);
	write_dump(path, &eh_frame, 20, false);
	check_unwinding(path, false);
	/* an entry that is cut off */
	write_dump(path, &eh_frame, 40, false);
	check_unwinding(path, false);
	for (size_t i = 4; i < eh_frame.size; i++)
		eh_frame.bytes[i] = 0xff;
	write_dump(path, &eh_frame, 0, false);
	check_unwinding(path, false);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uses_rules_of_a_jitdump),
		cmocka_unit_test(refuses_damaged_rules_of_a_jitdump),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
