/* SPDX-License-Identifier: MIT */
/* Unwinding where rules are missing or incomplete, and instructions say what they do not. */
#include "unwind_fixture.h"

#include <sys/mman.h>

static void overwrite(uint64_t offset, const void *bytes, size_t size)
{
	FILE *file = fopen(path_in_directory("program"), "r+");

	assert_non_null(file);
	assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

/* Writes instructions at an address of the program. */
static void put_code(uint64_t address, const void *code, size_t size)
{
	overwrite(CODE_OFFSET + address - CODE, code, size);
}

static void run_stack(struct unwinding *unwinding, uint64_t pc, const uint64_t *stack, size_t size)
{
	unwinding->sampled.registers[7] = STACK;
	unwinding->sampled.registers[8] = pc;
	assert_int_equal(perch_unwind(unwinding->unwinder, unwinding->thread,
				      sample_of(&unwinding->sampled, stack, size), unwinding->ips,
				      8, &unwinding->result),
			 0);
}

/* The place of a register that was popped is below the stack pointer. */
static void keeps_popped_registers(void **state)
{
	static const struct {
		const char *code;
		size_t size;
		bool popped;
		unsigned at; /* the instruction of the sample */
	} rows[] = {
		{ "\xc3", 1, true, 0 },		    /* ret */
		{ "\xf3\xc3", 2, true, 0 },	    /* rep ret */
		{ "\xc2\x08\x00", 3, true, 0 },	    /* ret $8 */
		{ "\x5b\x41\x5c\xc3", 4, true, 0 }, /* pop %rbx; pop %r12; ret */
		/* to another function, after pop %rbp or pop %r12 */
		{ "\x5d\xe9\x00\x10\x00\x00", 6, true, 1 }, /* jmp rel32 */
		{ "\x5d\xeb\x40", 3, true, 1 },		    /* jmp rel8 */
		{ "\x5d\xff\xe0", 3, true, 1 },		    /* jmp *%rax */
		{ "\x41\x5c\x41\xff\xe3", 5, true, 2 },	    /* jmp *%r11 */
		{ "\x5d\x3e\xff\x60\x10", 5, true, 1 },	    /* notrack jmp *16(%rax) */
		/* the place may be in the red zone: the function may use the register */
		{ "\x90\xc3", 2, false, 0 },
		{ "\x5b\x90\xc3", 3, false, 0 },
		{ "\xf3\x90", 2, false, 0 },
		{ "\x41\xc3", 2, false, 0 },
		{ "\x90\xff\xe0", 3, false, 1 },     /* nop; jmp *%rax */
		{ "\x5d\xff\xd0", 3, false, 1 },     /* call *%rax */
		{ "\x5d\x5b\xff\xe0", 4, false, 1 }, /* the second pop is that of another word */
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
		assert_int_equal(run_x86(&unwinding, loaded(FUNCTION) + rows[i].at),
				 rows[i].popped ? PERCH_UNWIND_OUTERMOST : PERCH_UNWIND_BAD_RULE);
		assert_int_equal(unwinding.result.nr, rows[i].popped ? 3 : 2);
		assert_int_equal(unwinding.ips[1], loaded(CALLER + 5) - 1);
		if (rows[i].popped)
			assert_int_equal(unwinding.ips[2], loaded(LAST + 7) - 1);
		finish(&unwinding);
	}
}

/* A program whose function is a section of stubs without rules. */
static void begin_stubs(struct unwinding *unwinding, const char *name)
{
	const struct program program = { .cie = X86_CIE,
					 .function = { { 0 }, CODE_OF(DW_CFA_nop), X86_END } };
	struct built section = rules_section(&program), out;
	struct built_file file = code_file();

	file.machine = EM_X86_64;
	add_section(&file, (struct built_section){ ".eh_frame", SHT_PROGBITS, SHF_ALLOC,
						   .data = &section });
	add_section(&file, (struct built_section){ name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
						   FUNCTION, CODE_OFFSET, .size = 0x100 });
	make_elf(&out, &file);
	write_bytes(path_in_directory("program"), out.bytes, out.size);
	begin(unwinding, path_in_directory("program"), PERCH_ARCH_X86);
}

/* Many linkers write no rules for the procedure linkage table. */
static void unwinds_stubs_without_rules(void **state)
{
	static const struct {
		unsigned at, words; /* words: 0: the instruction is unknown */
		const char *code;
		size_t size;
	} rows[] = {
		/* the first stub: push; jmp; nopl */
		{ 0, 2, "\xff\x35\x02\x00\x00\x00", 6 },
		{ 6, 3, "\xff\x25\x04\x00\x00\x00", 6 },
		{ 12, 0, "\x0f\x1f\x40\x00", 4 },
		/* jmp; push; jmp */
		{ 16, 1, "\xff\x25\x06\x00\x00\x00", 6 },
		{ 22, 1, "\x68\x00\x00\x00\x00", 5 },
		{ 27, 2, "\xe9\xe0\xff\xff\xff", 5 },
		/* with indirect branch tracking: endbr64; push; bnd jmp */
		{ 32, 1, "\xf3\x0f\x1e\xfa", 4 },
		{ 36, 1, "\x68\x01\x00\x00\x00", 5 },
		{ 41, 2, "\xf2\xe9\xd1\xff\xff\xff", 6 },
		{ 48, 1, "\xf3\x0f\x1e\xfa", 4 },
		{ 52, 1, "\xf2\xff\x25\x08\x00\x00\x00", 7 },
		{ 59, 0, "\xe9\x00\x00\x00\x00", 5 },
		{ 64, 0, "\xff\xe0", 2 },
	};
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got", ".iplt", ".text.plt" };

	(void)state;
	for (size_t name = 0; name < NR(names); name++) {
		bool stubs = name + 1 < NR(names);
		struct unwinding unwinding;

		begin_stubs(&unwinding, names[name]);
		for (size_t i = 0; i < NR(rows); i++)
			put_code(FUNCTION + rows[i].at, rows[i].code, rows[i].size);
		for (size_t i = 0; i < NR(rows); i++) {
			bool found = stubs && rows[i].words;

			memset(unwinding.stack, 0, sizeof(unwinding.stack));
			if (found) {
				unwinding.stack[rows[i].words - 1] = loaded(CALLER + 5);
				unwinding.stack[rows[i].words] = loaded(LAST + 7);
			}
			assert_int_equal(run_x86(&unwinding, loaded(FUNCTION + rows[i].at)),
					 found ? PERCH_UNWIND_OUTERMOST : PERCH_UNWIND_NO_RULE);
			assert_int_equal(unwinding.result.nr, found ? 3 : 1);
			if (found)
				assert_int_equal(unwinding.ips[1], loaded(CALLER + 5) - 1);
		}
		finish(&unwinding);
	}
}

/* The trampolines of musl and Go have no rules. */
static void unwinds_signal_frames_without_rules(void **state)
{
	static const struct {
		const char *code;
		size_t size;
		unsigned first; /* the size of the first instruction */
	} rows[] = {
		{ "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9, 7 },
		{ "\xb8\x0f\x00\x00\x00\x0f\x05", 7, 5 },
	};
	enum { RETURN = CODE + 0x380, SP = 15, IP = 16, SAVED = 5 };
	const struct program program = { .cie = X86_CIE,
					 .function = { { 0 }, CODE_OF(DW_CFA_nop), X86_END } };

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		struct unwinding unwinding;
		uint64_t stack[64] = { loaded(RETURN) };

		begin_program(&unwinding, &program);
		put_code(RETURN, rows[i].code, rows[i].size);
		stack[1 + SAVED + SP] = STACK + 40 * sizeof(*stack);
		stack[1 + SAVED + IP] = loaded(CALLER);
		stack[40] = loaded(LAST + 4);
		run_stack(&unwinding, loaded(CALLER + 4), stack, sizeof(stack));
		assert_int_equal(unwinding.result.end, PERCH_UNWIND_OUTERMOST);
		assert_int_equal(unwinding.result.nr, 4);
		assert_int_equal(unwinding.ips[1], loaded(RETURN));
		assert_int_equal(unwinding.ips[2], loaded(CALLER));
		assert_int_equal(unwinding.ips[3], loaded(LAST + 4) - 1);
		/* samples in the trampoline, and in its system call */
		memmove(stack, stack + 1, 39 * sizeof(*stack));
		for (int step = 0; step < 3; step++) {
			uint64_t at = step == 0 ? 0 : step == 1 ? rows[i].first : rows[i].size;

			run_stack(&unwinding, loaded(RETURN + at), stack, sizeof(stack));
			assert_int_equal(unwinding.result.end, PERCH_UNWIND_OUTERMOST);
			assert_int_equal(unwinding.result.nr, 3);
			assert_int_equal(unwinding.ips[0], loaded(RETURN + at));
			assert_int_equal(unwinding.ips[1], loaded(CALLER));
		}
		run_stack(&unwinding, loaded(RETURN + 2), stack, sizeof(stack));
		assert_int_equal(unwinding.result.end, PERCH_UNWIND_NO_RULE);
		finish(&unwinding);
	}
}

/* makecontext(3) puts the address of a function on the stack. */
static void finds_functions_that_were_not_called(void **state)
{
	static const struct {
		const char *code; /* ends before the return address */
		size_t size;
		bool call;
	} rows[] = {
		{ "\x0f\x1f\x40\x00", 4, false },	     /* nopl */
		{ "\xe8\x10\x00\x00\x00", 5, true },	     /* call rel32 */
		{ "\xff\xd0", 2, true },		     /* call *%rax */
		{ "\xff\x50\x08", 3, true },		     /* call *8(%rax) */
		{ "\xff\x54\x24\x08", 4, true },	     /* call *8(%rsp) */
		{ "\xff\x15\x10\x00\x00\x00", 6, true },     /* call *x(%rip) */
		{ "\xff\x94\xc7\x00\x01\x00\x00", 7, true }, /* call *256(%rdi,%rax,8) */
		{ "\xff\xe0", 2, false },		     /* jmp *%rax */
	};
	const struct program program = { .cie = X86_CIE,
					 .function = { { 0 }, CODE_OF(DW_CFA_nop), X86_END } };

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		struct unwinding unwinding;

		begin_program(&unwinding, &program);
		put_code(CALLER - rows[i].size, rows[i].code, rows[i].size);
		unwinding.stack[0] = loaded(CALLER);
		unwinding.sampled.registers[6] = 1; /* no frame pointer */
		assert_int_equal(run_x86(&unwinding, loaded(CALLER + 16)),
				 rows[i].call ? PERCH_UNWIND_NO_RULE : PERCH_UNWIND_OUTERMOST);
		assert_int_equal(unwinding.result.nr, 2);
		assert_int_equal(unwinding.ips[1], loaded(CALLER) - rows[i].call);
		finish(&unwinding);
	}
}

/* It has its argument in place of a return address. */
static void ends_at_functions_that_were_not_called(void **state)
{
	static const struct {
		uint64_t misc;
		enum perch_unwind_end end;
		size_t nr;
	} rows[] = { { PERCH_MISC_MMAP_DATA, PERCH_UNWIND_OUTERMOST, 2 },
		     { 0, PERCH_UNWIND_NO_FILE, 3 } };
	const struct program program = { .cie = X86_CIE,
					 .function = { { 0 }, CODE_OF(DW_CFA_nop) } };
	enum { DATA = 0x10000 };

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		struct perch_record mmap = mmap_record(PERCH_MISC_USER | rows[i].misc, 1, DATA,
						       0x1000, 0, "/nowhere/data");
		struct unwinding unwinding;

		begin_program(&unwinding, &program);
		apply(unwinding.processes, &mmap);
		put_code(CALLER - 4, "\x0f\x1f\x40\x00", 4);
		unwinding.stack[0] = loaded(CALLER);
		unwinding.stack[1] = DATA + 8;
		unwinding.sampled.registers[6] = 1; /* no frame pointer */
		assert_int_equal(run_x86(&unwinding, loaded(CALLER + 16)), rows[i].end);
		assert_int_equal(unwinding.result.nr, rows[i].nr);
		assert_int_equal(unwinding.ips[1], loaded(CALLER));
		finish(&unwinding);
	}
}

/* A compiler may make the memory of its code not executable for a while. */
static void continues_in_memory_that_was_executable(void **state)
{
	static const struct {
		uint64_t start, size; /* of the executable mapping */
		bool code;
	} rows[] = { { 0x10000, 0x1000, true },
		     { 0xf000, 0x1001, true },
		     { 0x11fff, 0x1000, true },
		     { 0xf000, 0x1000, false },
		     { 0x12000, 0x1000, false } };
	enum { DATA = 0x10000 };
	const struct program program = { .cie = X86_CIE, .function = { CODE_OF(DW_CFA_nop) } };

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		struct perch_record code =
			mmap_record(PERCH_MISC_USER, 1, rows[i].start, rows[i].size, 0, "//anon");
		struct perch_record data = mmap_record(PERCH_MISC_USER | PERCH_MISC_MMAP_DATA, 1,
						       DATA, 0x2000, 0, "//anon");
		struct unwinding unwinding;

		begin_program(&unwinding, &program);
		apply(unwinding.processes, &code);
		apply(unwinding.processes, &data);
		unwinding.stack[0] = DATA + 8;
		unwinding.sampled.registers[6] = 1; /* no frame pointer */
		assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)),
				 rows[i].code ? PERCH_UNWIND_NO_RULE : PERCH_UNWIND_NO_MAPPING);
		finish(&unwinding);
	}
}

/* After clone(2) the C library has no rules: in the new thread, no stack that has a caller. */
static void parts_threads_after_clone(void **state)
{
	static const struct {
		const char *code;
		size_t size, after; /* after: offset of the instruction after the system call */
		unsigned instruction[4];
	} rows[] = {
		{ "\xb8\x38\x00\x00\x00\x0f\x05\x48\x85\xc0\x7c\x13\x74\x01\xc3",
		  15,
		  7,
		  { 0, 3, 5, 7 } },
		{ "\xb8\xb3\x01\x00\x00\x0f\x05\x48\x85\xc0\x7c\x18\x74\x01\xc3",
		  15,
		  7,
		  { 0, 3, 5, 7 } },
		{ "\x48\x89\x0e\x0f\x05\x85\xc0\x75\x0f\x31\xed", 11, 5, { 0, 2, 0, 2 } },
		/* another system call */
		{ "\xb8\x39\x00\x00\x00\x0f\x05\x48\x85\xc0\x7c\x13\x74\x01\xc3",
		  15,
		  0,
		  { 7, 10, 12, 14 } },
	};
	enum { AX, SYSTEM_CALL = CODE + 0x380 };
	const struct program program = { .cie = X86_CIE,
					 .function = { { 0 }, CODE_OF(DW_CFA_nop), X86_END } };

	(void)state;
	for (size_t i = 0; i < NR(rows) * NR(rows->instruction); i++) {
		const unsigned at = rows[i / 4].instruction[i % 4];
		uint64_t pc = loaded(SYSTEM_CALL + rows[i / 4].after + at);
		bool found = rows[i / 4].after;
		struct unwinding unwinding;

		begin_program(&unwinding, &program);
		put_code(SYSTEM_CALL, rows[i / 4].code, rows[i / 4].size);
		/* the frame pointer is that of the thread that called */
		unwinding.sampled.registers[6] = 1;
		assert_int_equal(run_x86(&unwinding, pc),
				 found ? PERCH_UNWIND_OUTERMOST : PERCH_UNWIND_NO_RULE);
		assert_int_equal(unwinding.result.nr, 1);
		unwinding.sampled.registers[AX] = (uint64_t)-ENOSYS;
		unwinding.stack[0] = loaded(LAST + 4);
		assert_int_equal(run_x86(&unwinding, pc),
				 found ? PERCH_UNWIND_OUTERMOST : PERCH_UNWIND_NO_RULE);
		assert_int_equal(unwinding.result.nr, found ? 2 : 1);
		if (found)
			assert_int_equal(unwinding.ips[1], loaded(LAST + 4) - 1);
		finish(&unwinding);
	}
}

static enum perch_unwind_end run_precise(struct unwinding *unwinding, uint64_t pc, uint16_t misc)
{
	struct perch_record *record =
		sample_of(&unwinding->sampled, unwinding->stack, sizeof(unwinding->stack));

	record->misc = misc;
	unwinding->sampled.registers[7] = STACK;
	unwinding->sampled.registers[8] = pc;
	assert_int_equal(perch_unwind(unwinding->unwinder, unwinding->thread, record,
				      unwinding->ips, 8, &unwinding->result),
			 0);
	return unwinding->result.end;
}

/* Precise samples have the registers after their instruction. */
static void takes_back_precise_calls(void **state)
{
	static const struct {
		const char *code;
		unsigned size; /* 0: no call */
	} rows[] = {
		{ "\xe8\x00\x01\x00\x00", 5 },	       /* call rel32 */
		{ "\x67\xe8\x00\x01\x00\x00", 6 },     /* addr32 call */
		{ "\xff\xd0", 2 },		       /* call *%rax */
		{ "\x41\xff\xd3", 3 },		       /* call *%r11 */
		{ "\x3e\xff\xd0", 3 },		       /* notrack call *%rax */
		{ "\xff\x10", 2 },		       /* call *(%rax) */
		{ "\xff\x50\x10", 3 },		       /* call *16(%rax) */
		{ "\xff\x90\x00\x01\x00\x00", 6 },     /* call *256(%rax) */
		{ "\xff\x15\x00\x01\x00\x00", 6 },     /* call *256(%rip) */
		{ "\xff\x14\xc8", 3 },		       /* call *(%rax,%rcx,8) */
		{ "\x41\xff\x54\xc8\x08", 5 },	       /* call *8(%r8,%rcx,8) */
		{ "\xff\x94\xc8\x00\x01\x00\x00", 7 }, /* call *256(%rax,%rcx,8) */
		{ "\xff\x14\xcd\x00\x01\x00\x00", 7 }, /* call *256(,%rcx,8) */
		{ "\xff\xe0\x90\x90\x90", 0 },	       /* jmp *%rax */
		{ "\xe9\x00\x01\x00\x00", 0 },	       /* jmp rel32 */
	};
	enum { AT = FUNCTION + 0x10 };
	const struct program program = {
		.cie = X86_CIE,
		.function = { CODE_OF(DW_CFA_def_cfa_offset, 16), { 0 }, X86_END },
	};

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		unsigned size = rows[i].size ? rows[i].size : 5;
		struct unwinding unwinding;

		begin_program(&unwinding, &program);
		put_code(AT, rows[i].code, size);
		unwinding.stack[0] = loaded(AT + size);
		unwinding.stack[1] = 1;
		unwinding.stack[2] = loaded(LAST + 7);
		assert_int_equal(run_precise(&unwinding, loaded(AT), PERCH_MISC_EXACT_IP),
				 rows[i].size ? PERCH_UNWIND_OUTERMOST : PERCH_UNWIND_NO_MAPPING);
		assert_int_equal(unwinding.result.nr, rows[i].size ? 2 : 1);
		assert_int_equal(unwinding.ips[0], loaded(AT));
		if (rows[i].size)
			assert_int_equal(unwinding.ips[1], loaded(LAST + 7) - 1);
		/* the registers of other samples are those before the instruction */
		assert_int_equal(run_precise(&unwinding, loaded(AT), 0), PERCH_UNWIND_NO_MAPPING);
		/* another return address is not that of the call */
		unwinding.stack[0]++;
		assert_int_equal(run_precise(&unwinding, loaded(AT), PERCH_MISC_EXACT_IP),
				 PERCH_UNWIND_NO_MAPPING);
		finish(&unwinding);
	}
}

static void says_why_a_precise_return_has_no_caller(void **state)
{
	const struct program program = { .cie = X86_CIE, .function = { CODE_OF(DW_CFA_nop) } };
	struct unwinding unwinding;

	(void)state;
	begin_program(&unwinding, &program);
	put_code(FUNCTION + 4, "\xc3\x90\xf3\xc3", 4);
	assert_int_equal(run_precise(&unwinding, loaded(FUNCTION + 4), 0), PERCH_UNWIND_OUTERMOST);
	unwinding.stack[0] = 1;
	assert_int_equal(run_precise(&unwinding, loaded(FUNCTION + 4), PERCH_MISC_EXACT_IP),
			 PERCH_UNWIND_RETURNED);
	assert_int_equal(run_precise(&unwinding, loaded(FUNCTION + 6), PERCH_MISC_EXACT_IP),
			 PERCH_UNWIND_RETURNED);
	assert_int_equal(run_precise(&unwinding, loaded(FUNCTION + 5), PERCH_MISC_EXACT_IP),
			 PERCH_UNWIND_NO_MAPPING);
	assert_int_equal(run_precise(&unwinding, loaded(FUNCTION + 4), 0), PERCH_UNWIND_NO_MAPPING);
	assert_int_equal(unwinding.result.nr, 1);
	assert_int_equal(perch_unwinder_count(unwinding.unwinder, NULL, PERCH_UNWIND_RETURNED), 2);
	finish(&unwinding);
}

/* The first instruction of a program: the stack begins with the number of arguments. */
static void ends_at_the_entry_of_the_program(void **state)
{
	const struct program program = {
		.cie = X86_CIE,
		.function = { CODE_OF(DW_CFA_advance_loc | 4, DW_CFA_undefined, 16) },
	};
	const uint64_t entry = FUNCTION;

	(void)state;
	for (int has_entry = 0; has_entry < 2; has_entry++) {
		struct unwinding unwinding;

		begin_program(&unwinding, &program);
		if (has_entry)
			overwrite(offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));
		unwinding.stack[0] = 1;
		assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)),
				 has_entry ? PERCH_UNWIND_OUTERMOST : PERCH_UNWIND_NO_MAPPING);
		assert_int_equal(run_x86(&unwinding, loaded(FUNCTION + 4)), PERCH_UNWIND_OUTERMOST);
		assert_int_equal(unwinding.result.nr, 1);
		finish(&unwinding);
	}
}

/* A return address in data is none. */
static void ends_at_data(void **state)
{
	static const char *const names[] = { "[heap]", "[stack]", "/nowhere/data", "//anon" };
	static const struct {
		uint32_t protection;
		bool code;
	} rows[] = { { PROT_READ | PROT_WRITE, false },
		     { PROT_READ | PROT_WRITE | PROT_EXEC, true },
		     { 0, true } }; /* old recordings do not have it */
	enum { DATA = 0x10000 };
	const struct program program = { .cie = X86_CIE, .function = { CODE_OF(DW_CFA_nop) } };

	(void)state;
	for (size_t i = 0; i < NR(names) * NR(rows); i++) {
		const char *name = names[i / NR(rows)];
		bool code = rows[i % NR(rows)].code;
		uint16_t misc = PERCH_MISC_USER | (code ? 0 : PERCH_MISC_MMAP_DATA);
		struct perch_record mmap = mmap_record(misc, 1, DATA, 0x1000, 0, name);
		bool file = !strcmp(name, "/nowhere/data");
		enum perch_unwind_end end = !code  ? PERCH_UNWIND_NO_MAPPING
					    : file ? PERCH_UNWIND_NO_FILE
						   : PERCH_UNWIND_NO_RULE;
		struct unwinding unwinding;

		mmap.mmap.protection = rows[i % NR(rows)].protection;
		begin_program(&unwinding, &program);
		apply(unwinding.processes, &mmap);
		unwinding.stack[0] = DATA + 8;
		unwinding.sampled.registers[6] = 1; /* no frame pointer */
		assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)), end);
		assert_int_equal(unwinding.result.nr, code ? 2 : 1);
		/* the sample itself is where it is */
		assert_int_equal(run_x86(&unwinding, DATA + 16), end);
		assert_int_equal(unwinding.result.nr, 1);
		finish(&unwinding);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_popped_registers),
		cmocka_unit_test(unwinds_stubs_without_rules),
		cmocka_unit_test(unwinds_signal_frames_without_rules),
		cmocka_unit_test(finds_functions_that_were_not_called),
		cmocka_unit_test(ends_at_functions_that_were_not_called),
		cmocka_unit_test(continues_in_memory_that_was_executable),
		cmocka_unit_test(ends_at_data),
		cmocka_unit_test(parts_threads_after_clone),
		cmocka_unit_test(takes_back_precise_calls),
		cmocka_unit_test(says_why_a_precise_return_has_no_caller),
		cmocka_unit_test(ends_at_the_entry_of_the_program),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
