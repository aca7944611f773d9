/* SPDX-License-Identifier: MIT */
/* Tests that call chains end at functions of the Go runtime that switch stacks. */
#include "unwind_fixture.h"

/* Each function has its return address at the top of the stack; the last one is outermost. */
static const struct program rules = {
	.debug_frame = true,
	.cie = X86_CIE,
	.function = { CODE_OF(DW_CFA_nop), CODE_OF(DW_CFA_def_cfa_offset, 16), X86_END },
};

/* name: of the function in the middle */
static void write_go_program(const char *path, const char *name, const char *section_of_go)
{
	const struct built_symbol symbol[] = {
		{ "runtime.park_m", FUNCTION, 0x100, STB_GLOBAL, STT_FUNC, TEXT, 0 },
		{ name, CALLER, 0x100, STB_GLOBAL, STT_FUNC, TEXT, 0 },
		{ "main.main", LAST, 0x100, STB_GLOBAL, STT_FUNC, TEXT, 0 },
	};
	struct built section = rules_section(&rules), information = { 0 }, symbols, names, out;
	struct built_file file = code_file();

	make_symbols(&symbols, &names, false, symbol, 3);
	add_symbols(&file, SHT_SYMTAB, &symbols, &names);
	add_section(&file,
		    (struct built_section){ ".debug_frame", SHT_PROGBITS, .data = &section });
	put_number(&information, 0, 8);
	add_section(&file,
		    (struct built_section){ section_of_go, SHT_PROGBITS, .data = &information });
	make_elf(&out, &file);
	unlink(path);
	write_bytes(path, out.bytes, out.size);
}

/* Unwinds from a function, and checks the number of functions. */
static enum perch_unwind_end unwind_go(const char *name, const char *section, uint64_t from,
				       size_t nr)
{
	const char *path = path_in_directory("program");
	struct unwinding unwinding;
	enum perch_unwind_end end;

	write_go_program(path, name, section);
	begin(&unwinding, path, PERCH_ARCH_X86);
	unwinding.stack[0] = from == FUNCTION ? loaded(CALLER + 5) : 0;
	unwinding.stack[from == FUNCTION ? 2 : 1] = loaded(LAST + 7);
	end = run_x86(&unwinding, loaded(from));
	assert_int_equal(unwinding.result.nr, nr);
	if (from == FUNCTION)
		assert_int_equal(unwinding.ips[1], loaded(CALLER + 5) - 1);
	assert_int_equal(perch_unwinder_count(unwinding.unwinder, unwinding.result.dso, end), 1);
	/* what the runtime does is not looked up twice */
	assert_int_equal(perch_symbols_misses(unwinding.symbols, unwinding.result.dso), 0);
	finish(&unwinding);
	return end;
}

static void chains_end_where_the_runtime_switches_stacks(void **state)
{
	static const char *const names[] = { "runtime.mcall",	       "runtime.systemstack.abi0",
					     "runtime.morestack.abi0", "time.now",
					     "runtime.nanotime1",      "runtime.asmcgocall.abi0" };
	static const char *const sections[] = { ".gopclntab", ".go.buildinfo" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(unwind_go(names[i], sections[i % 2], FUNCTION, 2),
				 PERCH_UNWIND_OTHER_STACK);
		/* the rules do not say whether it has switched */
		assert_int_equal(unwind_go(names[i], sections[i % 2], CALLER + 4, 1),
				 PERCH_UNWIND_OTHER_STACK);
	}
}

static void other_functions_have_callers(void **state)
{
	(void)state;
	assert_int_equal(unwind_go("runtime.mcall2", ".gopclntab", FUNCTION, 3),
			 PERCH_UNWIND_OUTERMOST);
	assert_int_equal(unwind_go("runtime.schedule", ".gopclntab", FUNCTION, 3),
			 PERCH_UNWIND_OUTERMOST);
	assert_int_equal(unwind_go("time.Now", ".gopclntab", CALLER + 4, 2),
			 PERCH_UNWIND_OUTERMOST);
	/* not a program in Go */
	assert_int_equal(unwind_go("runtime.mcall", ".other", FUNCTION, 3), PERCH_UNWIND_OUTERMOST);
}

static void code_without_rules_is_of_go(void **state)
{
	(void)state;
	assert_int_equal(unwind_go("main.a", ".gopclntab", LAST + 0x180, 1),
			 PERCH_UNWIND_NO_RULE_OF_GO);
	assert_int_equal(unwind_go("main.a", ".other", LAST + 0x180, 1), PERCH_UNWIND_NO_RULE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_end_where_the_runtime_switches_stacks),
		cmocka_unit_test(other_functions_have_callers),
		cmocka_unit_test(code_without_rules_is_of_go),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
