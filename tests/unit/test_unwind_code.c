/* SPDX-License-Identifier: MIT */
/* Unwinding where rules are missing or incomplete, and instructions say what they do not. */
#include "unwind_fixture.h"

/* Writes instructions at an address of the program. */
static void put_code(uint64_t address, const void *code, size_t size)
{
	FILE *file = fopen(path_in_directory("program"), "r+");

	assert_non_null(file);
	assert_int_equal(fseek(file, (long)(CODE_OFFSET + address - CODE), SEEK_SET), 0);
	assert_int_equal(fwrite(code, 1, size, file), size);
	fclose(file);
}

/* The place of a register that was popped is below the stack pointer. */
static void keeps_popped_registers(void **state)
{
	static const struct {
		const char *code;
		size_t size;
		bool popped;
	} rows[] = {
		{ "\xc3", 1, true },		 /* ret */
		{ "\xf3\xc3", 2, true },	 /* rep ret */
		{ "\xc2\x08\x00", 3, true },	 /* ret $8 */
		{ "\x5b\x41\x5c\xc3", 4, true }, /* pop %rbx; pop %r12; ret */
		/* the place may be in the red zone: the function may use the register */
		{ "\x90\xc3", 2, false },
		{ "\x5b\x90\xc3", 3, false },
		{ "\xf3\x90", 2, false },
		{ "\x41\xc3", 2, false },
	};

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		const struct program program = {
			.cie = X86_CIE,
			/* bp was pushed below the return address; the caller has its frame at bp */
			.function = { CODE_OF(DW_CFA_offset | 6, 2),
				      CODE_OF(DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 6, 2),
				      X86_END },
		};
		struct unwinding unwinding;

		begin_program(&unwinding, &program);
		put_code(FUNCTION, rows[i].code, rows[i].size);
		unwinding.sampled.registers[6] = STACK + 16;
		unwinding.stack[0] = loaded(CALLER + 5);
		unwinding.stack[3] = loaded(LAST + 7);
		assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)),
				 rows[i].popped ? PERCH_UNWIND_OUTERMOST : PERCH_UNWIND_BAD_RULE);
		assert_int_equal(unwinding.result.nr, rows[i].popped ? 3 : 2);
		assert_int_equal(unwinding.ips[1], loaded(CALLER + 5) - 1);
		if (rows[i].popped)
			assert_int_equal(unwinding.ips[2], loaded(LAST + 7) - 1);
		finish(&unwinding);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_popped_registers),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
