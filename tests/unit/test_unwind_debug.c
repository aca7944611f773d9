/* SPDX-License-Identifier: MIT */
/* Tests unwinding with the rules of separate debug files, in files that are built here. */
#define _GNU_SOURCE
#include "unwind_fixture.h"

#include <zlib.h>

static const uint8_t this_id[4] = { 0xab, 0xcd, 1, 2 }, other_id[4] = { 0xab, 0xcd, 1, 3 };

/* The program without the function in the middle has .eh_frame, or no rules at all. */
static const struct program with_eh_frame = { .cie = X86_CIE,
					      .function = { CODE_OF(DW_CFA_nop), { 0 }, X86_END } };
/* The function in the middle needs 8 bytes of stack. */
static const struct program with_debug_frame = {
	.debug_frame = true,
	.cie = X86_CIE,
	.function = { CODE_OF(DW_CFA_nop), CODE_OF(DW_CFA_def_cfa_offset, 16), X86_END },
};

enum kind {
	PLAIN,
	COMPRESSED,
	GNU_COMPRESSED,
	ZSTD,
	HUGE_CLAIM,
	GNU_HUGE_CLAIM,
	ZSTD_OTHER_CLAIM,
	EH_FRAME
};

/* Puts what the section has in its place: a header, and its compressed bytes. */
static void compress_section(struct built *section, enum kind kind)
{
	uint64_t claim = kind == HUGE_CLAIM || kind == GNU_HUGE_CLAIM ? 1ull << 40 : section->size;
	struct built out = { 0 };
	uLongf size = sizeof(out.bytes) - 24;
	uint8_t *at;

	if (kind == ZSTD || kind == ZSTD_OTHER_CLAIM) {
		put_number(&out, 2, 8); /* ELFCOMPRESS_ZSTD */
		put_number(&out, section->size + (kind == ZSTD_OTHER_CLAIM), 8);
		put_number(&out, 8, 8);
		/* a frame of one segment with a block that is stored */
		put_number(&out, 0xfd2fb528, 4);
		put_number(&out, 0xa0, 1);
		put_number(&out, section->size, 4);
		put_number(&out, section->size << 3 | 1, 3);
		put_bytes(&out, section->bytes, section->size);
		*section = out;
		return;
	}
	if (kind == COMPRESSED || kind == HUGE_CLAIM) {
		put_number(&out, ELFCOMPRESS_ZLIB, 8);
		put_number(&out, claim, 8);
		put_number(&out, 8, 8);
	} else {
		put_bytes(&out, "ZLIB", 4);
		out.big = true;
		put_number(&out, claim, 8);
		out.big = false;
	}
	at = out.bytes + out.size;
	assert_int_equal(compress(at, &size, section->bytes, section->size), Z_OK);
	out.size += size;
	*section = out;
}

static void write_debug(const struct program *program, enum kind kind, const uint8_t *id)
{
	const struct built_symbol symbol = { "work", CODE, 16, STB_GLOBAL, STT_FUNC, TEXT, 0 };
	struct built section = rules_section(program), symbols, names, note, out;
	bool gnu = kind == GNU_COMPRESSED || kind == GNU_HUGE_CLAIM;
	bool flag = kind == COMPRESSED || kind == HUGE_CLAIM || kind == ZSTD ||
		    kind == ZSTD_OTHER_CLAIM;
	struct built_file file = code_file();

	if (gnu || flag)
		compress_section(&section, kind);
	add_build_id(&file, &note, id, 4);
	make_symbols(&symbols, &names, false, &symbol, 1);
	add_symbols(&file, SHT_SYMTAB, &symbols, &names);
	add_section(&file, (struct built_section){ kind == EH_FRAME ? ".eh_frame"
						   : gnu	    ? ".zdebug_frame"
								    : ".debug_frame",
						   SHT_PROGBITS, flag ? SHF_COMPRESSED : 0,
						   .data = &section });
	make_elf(&out, &file);
	write_bytes(path_in_directory("home/.debug/.build-id/ab/cd0102/debug"), out.bytes,
		    out.size);
}

/* A stripped program, with the rules or without. */
static void write_stripped(const char *path, const struct program *program)
{
	struct built section, note, out;
	struct built_file file = code_file();

	add_build_id(&file, &note, this_id, 4);
	if (program) {
		section = rules_section(program);
		add_section(&file, (struct built_section){ ".eh_frame", SHT_PROGBITS, SHF_ALLOC,
							   .data = &section });
	}
	make_elf(&out, &file);
	write_bytes(path, out.bytes, out.size);
}

/* Unwinds from the first function, which the one in the middle called. */
static enum perch_unwind_end unwind_stripped(const struct program *program,
					     struct unwinding *unwinding)
{
	const char *path = path_in_directory("program");

	write_stripped(path, program);
	begin(unwinding, path, PERCH_ARCH_X86);
	unwinding->sampled.registers[6] = 1; /* no frame pointer */
	unwinding->stack[0] = loaded(CALLER + 5);
	unwinding->stack[2] = loaded(LAST + 7);
	return run_x86(unwinding, loaded(FUNCTION));
}

static void uses_separate_debug_files(void **state)
{
	const struct program *const programs[] = { &with_eh_frame, NULL };
#ifdef PERCH_HAVE_ZSTD
	const enum kind last = ZSTD;
#else
	const enum kind last = GNU_COMPRESSED;
#endif
	struct unwinding unwinding;

	(void)state;
	setenv("HOME", path_in_directory("home"), 1);
	for (size_t i = 0; i < 2; i++) {
		for (enum kind kind = PLAIN; kind <= last; kind++) {
			write_debug(&with_debug_frame, kind, this_id);
			assert_int_equal(unwind_stripped(programs[i], &unwinding),
					 PERCH_UNWIND_OUTERMOST);
			assert_int_equal(unwinding.result.nr, 3);
			assert_int_equal(unwinding.ips[2], loaded(LAST + 7) - 1);
			assert_null(perch_unwinder_error(unwinding.unwinder, unwinding.result.dso));
			finish(&unwinding);
		}
		/* of another build */
		write_debug(&with_debug_frame, PLAIN, other_id);
		assert_int_equal(unwind_stripped(programs[i], &unwinding), PERCH_UNWIND_NO_RULE);
		assert_int_equal(unwinding.result.nr, 2 - i);
		finish(&unwinding);
	}
}

static void uses_eh_frame_of_debug_files(void **state)
{
	struct program program = with_debug_frame;
	struct unwinding unwinding;

	(void)state;
	setenv("HOME", path_in_directory("home"), 1);
	program.debug_frame = false;
	write_debug(&program, EH_FRAME, this_id);
	assert_int_equal(unwind_stripped(NULL, &unwinding), PERCH_UNWIND_OUTERMOST);
	assert_int_equal(unwinding.result.nr, 3);
	finish(&unwinding);
	/* not if the file itself has some */
	assert_int_equal(unwind_stripped(&with_eh_frame, &unwinding), PERCH_UNWIND_NO_RULE);
	assert_int_equal(unwinding.result.nr, 2);
	finish(&unwinding);
}

static void refuses_damaged_debug_files(void **state)
{
	const struct program damaged = { .debug_frame = true,
					 .cie = X86_CIE,
					 .function = { CODE_OF(0x3e) } };
	struct unwinding unwinding;

	(void)state;
	setenv("HOME", path_in_directory("home"), 1);
	for (int i = 0; i < 4; i++) {
		static const enum kind kinds[] = { PLAIN, HUGE_CLAIM, GNU_HUGE_CLAIM,
						   ZSTD_OTHER_CLAIM };

		write_debug(i ? &with_debug_frame : &damaged, kinds[i], this_id);
		assert_int_equal(unwind_stripped(NULL, &unwinding), PERCH_UNWIND_NO_FILE);
		assert_string_equal(perch_unwinder_error(unwinding.unwinder, unwinding.result.dso),
				    "its call frame information is damaged");
		finish(&unwinding);
		/* the rules of the file itself count all the same */
		assert_int_equal(unwind_stripped(&with_eh_frame, &unwinding), PERCH_UNWIND_NO_RULE);
		assert_int_equal(unwinding.result.nr, 2);
		finish(&unwinding);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uses_separate_debug_files),
		cmocka_unit_test(uses_eh_frame_of_debug_files),
		cmocka_unit_test(refuses_damaged_debug_files),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
