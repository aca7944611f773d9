/* SPDX-License-Identifier: MIT */
/* Unwinds the trampolines of Python, which a map file names. */
#include "unwind_fixture.h"

#include <sys/stat.h>

enum { TRAMPOLINE = 0x700000, FRAME_POINTER = 0x7fff8888 };

static const struct program x86_program = {
	.cie = X86_CIE,
	.function = { CODE_OF(DW_CFA_nop), CODE_OF(DW_CFA_nop), X86_END },
};

/* Process 1, with files below the directory of the test. */
static void begin_below_root(struct unwinding *unwinding, const struct program *program,
			     unsigned size, const char *name)
{
	const struct perch_symbols_options options = { .root = path_in_directory("") };
	char line[64];

	mkdir(path_in_directory("tmp"), 0700);
	snprintf(line, sizeof(line), "%x %x %s\n", (unsigned)TRAMPOLINE, size, name);
	write_text(path_in_directory("tmp/perf-1.map"), line);
	write_program(path_in_directory("program"), program);
	memset(unwinding, 0, sizeof(*unwinding));
	unwinding->processes = new_processes();
	unwinding->symbols = new_symbols(&options);
	map_file(unwinding->processes, 1, MAP, CODE_SIZE, CODE_OFFSET, "/program");
	map_file(unwinding->processes, 1, TRAMPOLINE, 0x1000, 0, "//anon");
	unwinding->thread = perch_processes_thread(unwinding->processes, 1, 1);
	assert_int_equal(perch_unwinder_new(&unwinding->unwinder,
					    program->arm64 ? PERCH_ARCH_ARM64 : PERCH_ARCH_X86,
					    unwinding->processes, unwinding->symbols, NULL),
			 0);
}

/* What the code of a trampoline has on the stack, by byte: '1' the return address, '2' a word more,
 * 'f' the frame pointer below the return address. */
static const char *const x86_trampolines[] = {
	"11112222221",
	"111111112222221",
	"1ffffff1",
	"11111ffffff1",
};

/* Puts the stack of an instruction of a trampoline at a word. Returns the next word. */
static unsigned put_frame(struct unwinding *unwinding, unsigned at, char words)
{
	if (words != '1')
		unwinding->stack[at++] = words == 'f' ? FRAME_POINTER : 0x1111;
	unwinding->stack[at++] = loaded(CALLER + 5);
	unwinding->stack[at++] = loaded(LAST + 7);
	return at;
}

static void unwinds_trampolines_of_x86(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR(x86_trampolines); i++) {
		const char *words = x86_trampolines[i];
		size_t size = strlen(words);

		for (size_t at = 0; at < size; at++) {
			struct unwinding unwinding;

			begin_below_root(&unwinding, &x86_program, (unsigned)size, "py::f:a.py");
			put_frame(&unwinding, 0, words[at]);
			assert_int_equal(run_x86(&unwinding, TRAMPOLINE + at),
					 PERCH_UNWIND_OUTERMOST);
			assert_int_equal(unwinding.result.nr, 3);
			assert_int_equal(unwinding.ips[1], loaded(CALLER + 5) - 1);
			assert_int_equal(unwinding.ips[2], loaded(LAST + 7) - 1);
			finish(&unwinding);
		}
	}
}

/* From the interpreter, which the second part calls. */
static void unwinds_callers_of_trampolines_of_x86(void **state)
{
	static const uint8_t returns[] = { 6, 10, 6, 10 };

	(void)state;
	for (size_t i = 0; i < NR(x86_trampolines); i++) {
		struct unwinding unwinding;

		begin_below_root(&unwinding, &x86_program, (unsigned)strlen(x86_trampolines[i]),
				 "py::f:a.py");
		unwinding.stack[0] = TRAMPOLINE + returns[i];
		put_frame(&unwinding, 1, x86_trampolines[i][returns[i]]);
		assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)), PERCH_UNWIND_OUTERMOST);
		assert_int_equal(unwinding.result.nr, 4);
		assert_int_equal(unwinding.ips[1], TRAMPOLINE + returns[i] - 1);
		assert_int_equal(unwinding.ips[2], loaded(CALLER + 5) - 1);
		finish(&unwinding);
	}
}

/* Code of another size or name is not known. */
static void does_not_guess(void **state)
{
	static const struct {
		unsigned size;
		const char *name;
	} cases[] = { { 10, "py::f:a.py" }, { 13, "py::f:a.py" }, { 11, "python" } };

	(void)state;
	for (size_t i = 0; i < NR(cases); i++) {
		struct unwinding unwinding;

		begin_below_root(&unwinding, &x86_program, cases[i].size, cases[i].name);
		put_frame(&unwinding, 0, '2');
		unwinding.sampled.registers[6] = 1; /* no frame pointer */
		assert_int_equal(run_x86(&unwinding, TRAMPOLINE + 6), PERCH_UNWIND_NO_RULE);
		assert_int_equal(unwinding.result.nr, 1);
		/* the lookups of the unwinder are none of names */
		assert_int_equal(perch_symbols_misses(unwinding.symbols, unwinding.result.dso), 0);
		finish(&unwinding);
	}
}

static void unwinds_trampolines_of_arm64(void **state)
{
	const struct program program = {
		.arm64 = true,
		.cie = CODE_OF(DW_CFA_def_cfa, 31, 0),
		.function = { CODE_OF(DW_CFA_def_cfa, 31, 16, DW_CFA_offset | 29, 2,
				      DW_CFA_offset | 30, 1),
			      CODE_OF(DW_CFA_def_cfa, 31, 16, DW_CFA_offset | 29, 2,
				      DW_CFA_offset | 30, 1),
			      CODE_OF(DW_CFA_undefined, 30) },
	};
	static const struct {
		unsigned size, start, end, returns; /* start, end: with the frame */
	} cases[] = { { 20, 4, 16, 12 }, { 28, 8, 20, 16 } };

	(void)state;
	for (size_t i = 0; i < NR(cases); i++) {
		for (unsigned at = 0; at <= cases[i].size; at += 4) {
			bool called = at == cases[i].size;
			bool frame = at >= cases[i].start && at < cases[i].end;
			struct unwinding unwinding;
			unsigned word = 0;

			begin_below_root(&unwinding, &program, cases[i].size, "py::f:a.py");
			if (called) {
				unwinding.stack[word++] = FRAME_POINTER;
				unwinding.stack[word++] = TRAMPOLINE + cases[i].returns;
			}
			if (called || frame) {
				unwinding.stack[word++] = FRAME_POINTER;
				/* with an authentication code */
				unwinding.stack[word++] = loaded(CALLER + 4) | 0x25ull << 56;
			}
			unwinding.stack[word++] = FRAME_POINTER;
			unwinding.stack[word++] = loaded(LAST + 8);
			unwinding.sampled.registers[29] = 1; /* no frame pointer */
			unwinding.sampled.registers[30] = loaded(CALLER + 4);
			assert_int_equal(run(&unwinding, 32, 31,
					     called ? loaded(FUNCTION) : TRAMPOLINE + at),
					 PERCH_UNWIND_OUTERMOST);
			assert_int_equal(unwinding.result.nr, called ? 4 : 3);
			assert_int_equal(unwinding.ips[unwinding.result.nr - 2],
					 loaded(CALLER + 4) - 1);
			finish(&unwinding);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unwinds_trampolines_of_x86),
		cmocka_unit_test(unwinds_callers_of_trampolines_of_x86),
		cmocka_unit_test(does_not_guess),
		cmocka_unit_test(unwinds_trampolines_of_arm64),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
