/* SPDX-License-Identifier: MIT */
/* Each address has its own rules, in whichever order the addresses are looked up. */
#include "unwind_fixture.h"

enum { SIZE = 0x200 };

/* The return address is in this word of the stack. */
static uint64_t word_of(uint64_t at)
{
	if (at < 16 || at == 32)
		return 0;
	if (at < 100)
		return 1;
	return at < CALLER - FUNCTION ? 2 : 0;
}

/* step: to the next address, modulo SIZE. */
static void look_up_all(uint64_t first, uint64_t step)
{
	const struct program program = {
		.cie = X86_CIE,
		.function = { CODE_OF(DW_CFA_advance_loc | 16, DW_CFA_def_cfa_offset, 16,
				      /* a return in the middle of the function */
				      DW_CFA_advance_loc | 16, DW_CFA_remember_state,
				      DW_CFA_def_cfa_offset, 8, DW_CFA_advance_loc | 1,
				      DW_CFA_restore_state, DW_CFA_advance_loc1, 67,
				      DW_CFA_def_cfa_offset, 24),
			      CODE_OF(DW_CFA_nop), X86_END },
	};
	struct unwinding unwinding;

	begin_program(&unwinding, &program);
	for (uint64_t word = 0; word < 3; word++)
		unwinding.stack[word] = loaded(LAST + 8 + word);
	for (uint64_t i = 0; i < SIZE; i++) {
		uint64_t at = (first + i * step) % SIZE;

		assert_int_equal(run_x86(&unwinding, loaded(FUNCTION + at)),
				 PERCH_UNWIND_OUTERMOST);
		assert_int_equal(unwinding.result.nr, 2);
		assert_int_equal(unwinding.ips[1], loaded(LAST + 8 + word_of(at)) - 1);
	}
	finish(&unwinding);
}

static void finds_the_rules_of_each_address(void **state)
{
	(void)state;
	look_up_all(0, 1);
	look_up_all(SIZE - 1, SIZE - 1);
	for (uint64_t step = 3; step < 64; step += 2)
		look_up_all(step * 8, step);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_rules_of_each_address),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
