/* SPDX-License-Identifier: MIT */
/* Tests unwinding: of this process, and of files with built rules. */
#define _GNU_SOURCE
#include "unwind_fixture.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "unwind/internal.h"

/* ---- this process ---- */

#ifdef __x86_64__
/* By the bits of asm/perf_regs.h. */
static const int general[X86_REGISTERS] = {
	[0] = REG_RAX,	[1] = REG_RBX,	[2] = REG_RCX,	[3] = REG_RDX,	[4] = REG_RSI,
	[5] = REG_RDI,	[6] = REG_RBP,	[7] = REG_RSP,	[8] = REG_RIP,	[16] = REG_R8,
	[17] = REG_R9,	[18] = REG_R10, [19] = REG_R11, [20] = REG_R12, [21] = REG_R13,
	[22] = REG_R14, [23] = REG_R15,
};

struct captured {
	struct sampled sampled;
	uint64_t callers[3]; /* return addresses, innermost first */
	size_t limit;	     /* bytes of stack to copy; 0 is all */
	size_t size;
	_Alignas(8) uint8_t stack[1 << 18];
};

static uint64_t end_of_stack(void)
{
	pthread_attr_t attributes;
	void *start;
	size_t size;

	assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
	pthread_attr_getstack(&attributes, &start, &size);
	pthread_attr_destroy(&attributes);
	return (uintptr_t)start + size;
}

/* Copies also what is between the variables, so AddressSanitizer must not see it. */
static __attribute__((noinline, no_sanitize("address"))) void copy_words(
	uint64_t *to, const volatile uint64_t *from, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		to[i] = from[i];
}

static __attribute__((noinline)) void innermost(struct captured *captured)
{
	uint64_t end = end_of_stack(), sp;
	ucontext_t context;

	captured->callers[0] = (uintptr_t)__builtin_return_address(0);
	getcontext(&context);
	for (size_t i = 0; i < X86_REGISTERS; i++)
		captured->sampled.registers[i] =
			(uint64_t)context.uc_mcontext.gregs[i < 9 || i > 15 ? general[i] : REG_RAX];
	sp = captured->sampled.registers[7];
	captured->size = end - sp < sizeof(captured->stack) ? end - sp : sizeof(captured->stack);
	if (captured->limit && captured->limit < captured->size)
		captured->size = captured->limit;
	copy_words((uint64_t *)captured->stack, (const uint64_t *)(uintptr_t)sp,
		   captured->size / sizeof(uint64_t));
}

static __attribute__((noinline)) void middle(struct captured *captured, volatile char *space)
{
	volatile char more[300];

	more[0] = space[0];
	captured->callers[1] = (uintptr_t)__builtin_return_address(0);
	innermost(captured);
	space[0] = more[0];
}

static __attribute__((noinline)) void outer(struct captured *captured, size_t size)
{
	volatile char *space = __builtin_alloca(size);

	space[0] = 0;
	captured->callers[2] = (uintptr_t)__builtin_return_address(0);
	middle(captured, space);
	space[1] = 0;
}

/* Captures the stack, and unwinds it with an array of `max` addresses. */
static struct perch_unwind_result unwind_self(struct captured *captured, uint64_t *ips, size_t max)
{
	struct perch_processes *processes = new_processes();
	struct perch_symbols *symbols = new_symbols(NULL);
	struct perch_unwind_result result;
	struct perch_unwinder *unwinder;
	struct perch_record *record;

	outer(captured, 1000);
	record = sample_of(&captured->sampled, captured->stack, captured->size);
	assert_int_equal(perch_processes_add_running(processes, 0, NULL, NULL), 0);
	assert_int_equal(perch_unwinder_new(&unwinder, PERCH_ARCH_X86, processes, symbols, NULL),
			 0);
	assert_int_equal(perch_unwind(unwinder,
				      perch_processes_thread(processes, (uint32_t)getpid(),
							     (uint32_t)getpid()),
				      record, ips, max, &result),
			 0);
	assert_int_equal(perch_unwinder_count(unwinder, NULL, result.end), 1);
	assert_int_equal(perch_unwinder_count(unwinder, result.dso, result.end), 1);
	result.dso = NULL; /* freed below */
	perch_unwinder_free(unwinder);
	perch_symbols_free(symbols);
	perch_processes_free(processes);
	return result;
}

static void unwinds_this_process(void **state)
{
	struct captured *captured = calloc(1, sizeof(*captured));
	struct perch_unwind_result result;
	uint64_t ips[64];

	(void)state;
	result = unwind_self(captured, ips, 64);
	assert_int_equal(result.end, PERCH_UNWIND_OUTERMOST);
	assert_true(result.nr > 5);
	assert_int_equal(ips[0], captured->sampled.registers[8]);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(ips[i + 1], captured->callers[i] - 1);
	free(captured);
}

static void reports_short_stack(void **state)
{
	struct captured *captured = calloc(1, sizeof(*captured));
	struct perch_unwind_result result;
	uint64_t ips[64];

	(void)state;
	captured->limit = 8;
	result = unwind_self(captured, ips, 64);
	assert_int_equal(result.end, PERCH_UNWIND_TRUNCATED);
	assert_int_equal(result.nr, 1);
	/* the frames of innermost() and middle() need more than 300 bytes, outer() another 1000 */
	captured->limit = 900 + 968; /* with the ucontext_t */
	result = unwind_self(captured, ips, 64);
	assert_int_equal(result.end, PERCH_UNWIND_TRUNCATED);
	assert_in_range(result.nr, 1, 4);
	for (size_t i = 1; i < result.nr; i++)
		assert_int_equal(ips[i], captured->callers[i - 1] - 1);
	free(captured);
}

static void stores_no_more_than_fits(void **state)
{
	struct captured *captured = calloc(1, sizeof(*captured));
	uint64_t ips[3] = { 0, 0, 99 };
	struct perch_unwind_result result = unwind_self(captured, ips, 2);

	(void)state;
	assert_int_equal(result.end, PERCH_UNWIND_MAX_FRAMES);
	assert_int_equal(result.nr, 2);
	assert_int_equal(ips[2], 99);
	assert_int_equal(unwind_self(captured, ips, 0).nr, 0);
	free(captured);
}
#endif

/* ---- built rules ---- */

static void uses_rules_of_both_sections(void **state)
{
	struct unwinding unwinding;

	(void)state;
	for (int debug_frame = 0; debug_frame < 2; debug_frame++) {
		const struct program program = {
			.debug_frame = debug_frame,
			.cie = X86_CIE,
			/* pushed: bx */
			.function = { CODE_OF(DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 3, 2),
				      /* the frame is at bx */
				      CODE_OF(DW_CFA_def_cfa, 3, 16), X86_END },
		};

		begin_program(&unwinding, &program);
		unwinding.stack[0] = STACK + 40;
		unwinding.stack[1] = loaded(CALLER + 5);
		unwinding.stack[6] = loaded(LAST + 7);
		assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)), PERCH_UNWIND_OUTERMOST);
		assert_int_equal(unwinding.result.nr, 3);
		assert_int_equal(unwinding.ips[0], loaded(FUNCTION));
		assert_int_equal(unwinding.ips[1], loaded(CALLER + 5) - 1);
		assert_int_equal(unwinding.ips[2], loaded(LAST + 7) - 1);
		assert_null(perch_unwinder_error(unwinding.unwinder, unwinding.result.dso));
		finish(&unwinding);
	}
}

/* A call may be the last instruction of a function. */
static void looks_up_the_call_and_not_the_return_address(void **state)
{
	const struct program program = { .cie = X86_CIE,
					 .function = { CODE_OF(DW_CFA_nop), X86_END } };
	struct unwinding unwinding;

	(void)state;
	begin_program(&unwinding, &program);
	unwinding.stack[0] = loaded(LAST);
	assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)), PERCH_UNWIND_OUTERMOST);
	assert_int_equal(unwinding.result.nr, 2);
	finish(&unwinding);
}

static void evaluates_expressions(void **state)
{
	/* of a PLT stub: CFA = sp + 8 + (((ip & 15) >= 11) << 3) */
	const struct program program = {
		.cie = X86_CIE,
		.function = { CODE_OF(DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16,
				      0, DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3,
				      DW_OP_shl, DW_OP_plus),
			      /* the return address is at CFA - 16, and bp is CFA - 3 */
			      CODE_OF(DW_CFA_expression, 16, 2, DW_OP_lit16, DW_OP_minus,
				      DW_CFA_val_expression, 6, 2, DW_OP_lit3, DW_OP_minus,
				      DW_CFA_def_cfa_offset, 24),
			      X86_END },
	};
	struct unwinding unwinding;

	(void)state;
	begin_program(&unwinding, &program);
	unwinding.stack[0] = loaded(CALLER + 5);
	unwinding.stack[1] = loaded(CALLER + 6);
	unwinding.stack[2] = unwinding.stack[3] = loaded(LAST + 7);
	assert_int_equal(run_x86(&unwinding, loaded(FUNCTION + 10)), PERCH_UNWIND_OUTERMOST);
	assert_int_equal(unwinding.ips[1], loaded(CALLER + 5) - 1);
	assert_int_equal(run_x86(&unwinding, loaded(FUNCTION + 11)), PERCH_UNWIND_OUTERMOST);
	assert_int_equal(unwinding.ips[1], loaded(CALLER + 6) - 1);
	assert_int_equal(unwinding.ips[2], loaded(LAST + 7) - 1);
	finish(&unwinding);
}

static void ends_where_the_rules_lead_nowhere(void **state)
{
	const struct {
		struct rules_of rules;
		enum perch_unwind_end end;
	} rows[] = {
		{ CODE_OF(DW_CFA_def_cfa_offset, 0xf8, 1), PERCH_UNWIND_TRUNCATED },
		{ CODE_OF(DW_CFA_def_cfa_register, 3), PERCH_UNWIND_LOOP },
		{ CODE_OF(DW_CFA_offset | 16, 9), PERCH_UNWIND_BAD_RULE },
		{ CODE_OF(DW_CFA_def_cfa_expression, 1, DW_OP_drop), PERCH_UNWIND_BAD_RULE },
		{ CODE_OF(DW_CFA_def_cfa_expression, 3, DW_OP_skip, 0xfd, 0xff),
		  PERCH_UNWIND_BAD_RULE },
	};
	struct unwinding unwinding;

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		const struct program program = { .cie = X86_CIE, .function = { rows[i].rules } };

		begin_program(&unwinding, &program);
		assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)), rows[i].end);
		assert_int_equal(unwinding.result.nr, 1);
		finish(&unwinding);
	}
}

static void refuses_damaged_rules(void **state)
{
	const struct rules_of rows[] = {
		/* too many remembered states; a large register; an unknown instruction; no operand
		 */
		CODE_OF(DW_CFA_undefined, 0x80, 0x80, 4),
		CODE_OF(DW_CFA_offset_extended, 0xff, 0xff, 0xff, 0x7f, 1),
		CODE_OF(0x3e),
		CODE_OF(DW_CFA_def_cfa_expression, 100, DW_OP_lit0),
	};
	struct unwinding unwinding;

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		const struct program program = { .cie = X86_CIE, .function = { rows[i] } };

		begin_program(&unwinding, &program);
		assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)), PERCH_UNWIND_NO_FILE);
		assert_string_equal(perch_unwinder_error(unwinding.unwinder, unwinding.result.dso),
				    "its call frame information is damaged");
		finish(&unwinding);
	}
}

static void uses_frame_pointer_without_rules(void **state)
{
	const struct program program = { .cie = X86_CIE,
					 .function = { { 0 }, CODE_OF(DW_CFA_nop), X86_END } };
	struct unwinding unwinding;

	(void)state;
	begin_program(&unwinding, &program);
	unwinding.sampled.registers[6] = STACK + 16;
	unwinding.stack[2] = STACK + 64;
	unwinding.stack[3] = loaded(LAST + 3);
	assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)), PERCH_UNWIND_OUTERMOST);
	assert_int_equal(unwinding.ips[1], loaded(LAST + 3) - 1);
	/* not a return address */
	unwinding.stack[3] = 12345;
	assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)), PERCH_UNWIND_NO_RULE);
	assert_int_equal(unwinding.result.nr, 1);
	/* the first function of a program: its frame pointer is 0 */
	unwinding.stack[2] = 0;
	unwinding.stack[3] = loaded(FUNCTION + 0x300);
	assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)), PERCH_UNWIND_OUTERMOST);
	assert_int_equal(unwinding.result.nr, 2);
	/* not in the stack */
	unwinding.sampled.registers[6] = 0x1000;
	assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)), PERCH_UNWIND_NO_RULE);
	finish(&unwinding);
}

static void names_missing_files_and_mappings(void **state)
{
	struct unwinding unwinding;

	(void)state;
	begin(&unwinding, path_in_directory("missing"), PERCH_ARCH_X86);
	assert_int_equal(run_x86(&unwinding, loaded(FUNCTION)), PERCH_UNWIND_NO_FILE);
	assert_string_equal(perch_unwinder_error(unwinding.unwinder, unwinding.result.dso),
			    "no such file");
	assert_int_equal(run_x86(&unwinding, 0x10), PERCH_UNWIND_NO_MAPPING);
	assert_int_equal(unwinding.result.nr, 1);
	assert_null(unwinding.result.dso);
	assert_int_equal(perch_unwinder_count(unwinding.unwinder, NULL, PERCH_UNWIND_NO_MAPPING),
			 1);
	assert_int_equal(perch_unwinder_count(unwinding.unwinder, NULL, PERCH_UNWIND_ENDS), 0);
	finish(&unwinding);
}

static void names_the_registers(void **state)
{
	(void)state;
	assert_int_equal(perch_unwind_registers(PERCH_ARCH_X86), 0xff01ff);
	assert_int_equal(perch_unwind_registers(PERCH_ARCH_ARM64), 0x1ffffffffull);
	assert_int_equal(perch_unwind_registers(PERCH_ARCH_S390), 0);
}

static void refuses_other_registers(void **state)
{
	struct unwinding unwinding;
	struct perch_record *record;

	(void)state;
	begin(&unwinding, path_in_directory("missing"), PERCH_ARCH_X86);
	record = sample_of(&unwinding.sampled, unwinding.stack, sizeof(unwinding.stack));
	record->sample.regs_user.abi = PERCH_SAMPLE_REGS_ABI_NONE;
	perch_unwind(unwinding.unwinder, unwinding.thread, record, unwinding.ips, 8,
		     &unwinding.result);
	assert_int_equal(unwinding.result.end, PERCH_UNWIND_NO_REGISTERS);
	record->sample.regs_user.abi = PERCH_SAMPLE_REGS_ABI_64;
	record->sample.regs_user.mask = 0x7f; /* no stack pointer */
	perch_unwind(unwinding.unwinder, unwinding.thread, record, unwinding.ips, 8,
		     &unwinding.result);
	assert_int_equal(unwinding.result.end, PERCH_UNWIND_UNSUPPORTED);
	finish(&unwinding);
	begin(&unwinding, path_in_directory("missing"), PERCH_ARCH_ARM64);
	record = sample_of(&unwinding.sampled, unwinding.stack, sizeof(unwinding.stack));
	record->sample.regs_user.abi = PERCH_SAMPLE_REGS_ABI_32;
	perch_unwind(unwinding.unwinder, unwinding.thread, record, unwinding.ips, 8,
		     &unwinding.result);
	assert_int_equal(unwinding.result.end, PERCH_UNWIND_UNSUPPORTED);
	finish(&unwinding);
	begin(&unwinding, path_in_directory("missing"), PERCH_ARCH_S390);
	assert_int_equal(run_x86(&unwinding, 1), PERCH_UNWIND_UNSUPPORTED);
	finish(&unwinding);
}

/* ---- i386 ---- */

static void unwind_narrow(struct unwinding *unwinding, const uint32_t *stack, size_t size)
{
	struct perch_record *record = sample_of(&unwinding->sampled, stack, size);

	record->sample.regs_user.abi = PERCH_SAMPLE_REGS_ABI_32;
	assert_int_equal(perch_unwind(unwinding->unwinder, unwinding->thread, record,
				      unwinding->ips, 8, &unwinding->result),
			 0);
}

/* The registers of a sample have 64 bits each; the words of the stack have 32. */
static void unwinds_32_bit_programs_by_frame_pointer(void **state)
{
	const uint32_t stack[] = { 0, 0, STACK + 24, (uint32_t)loaded(CALLER + 5),
				   0, 0, 0,	     (uint32_t)loaded(LAST + 7),
				   0, 0, 0,	     0 };
	struct unwinding unwinding;

	(void)state;
	begin(&unwinding, path_in_directory("missing"), PERCH_ARCH_X86);
	unwinding.sampled.registers[8] = 0xffffffff00000000 | loaded(FUNCTION);
	unwinding.sampled.registers[7] = STACK;
	unwinding.sampled.registers[6] = STACK + 8;
	unwind_narrow(&unwinding, stack, sizeof(stack));
	assert_int_equal(unwinding.result.nr, 3);
	assert_int_equal(unwinding.ips[0], loaded(FUNCTION));
	assert_int_equal(unwinding.ips[1], loaded(CALLER + 5) - 1);
	assert_int_equal(unwinding.ips[2], loaded(LAST + 7) - 1);
	finish(&unwinding);
}

/* Rules of a 64-bit file count for no 32-bit program. */
static void refuses_64_bit_rules_for_32_bit_programs(void **state)
{
	const struct program program = { .cie = X86_CIE,
					 .function = { CODE_OF(DW_CFA_nop), X86_END } };
	const uint32_t stack[] = { (uint32_t)loaded(CALLER + 5), 0, 0, 0 };
	struct unwinding unwinding;

	(void)state;
	begin_program(&unwinding, &program);
	unwinding.sampled.registers[8] = loaded(FUNCTION);
	unwinding.sampled.registers[7] = STACK;
	unwind_narrow(&unwinding, stack, sizeof(stack));
	assert_int_equal(unwinding.result.end, PERCH_UNWIND_NO_RULE);
	assert_int_equal(unwinding.result.nr, 1);
	finish(&unwinding);
}

/* ---- arm64 ---- */

static enum perch_unwind_end run_arm64(struct unwinding *unwinding, uint64_t pc)
{
	return run(unwinding, 32, 31, pc);
}

static const struct program arm64 = {
	.arm64 = true,
	.cie = CODE_OF(DW_CFA_def_cfa, 31, 0),
	/* a leaf function; one that saves x29 and x30; the first one */
	.function = { CODE_OF(DW_CFA_nop),
		      CODE_OF(DW_CFA_AARCH64_negate_ra_state, DW_CFA_def_cfa_offset, 32,
			      DW_CFA_offset | 29, 4, DW_CFA_offset | 30, 3),
		      CODE_OF(DW_CFA_undefined, 30) },
};

static void unwinds_arm64(void **state)
{
	struct unwinding unwinding;

	(void)state;
	begin_program(&unwinding, &arm64);
	unwinding.sampled.registers[30] = loaded(CALLER + 8);
	/* signed */
	unwinding.stack[1] = loaded(LAST + 4) | 0x25ull << 48;
	assert_int_equal(run_arm64(&unwinding, loaded(FUNCTION)), PERCH_UNWIND_OUTERMOST);
	assert_int_equal(unwinding.result.nr, 3);
	assert_int_equal(unwinding.ips[1], loaded(CALLER + 8) - 1);
	assert_int_equal(unwinding.ips[2], loaded(LAST + 4) - 1);
	finish(&unwinding);
}

/* The vdso's return from a signal handler has no rules, and is found by its instructions. */
static void unwinds_signal_frames_of_arm64(void **state)
{
	static const uint8_t code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };
	struct program program = arm64;
	struct unwinding unwinding;
	uint64_t stack[128] = { 0 };
	FILE *file;

	(void)state;
	begin_program(&unwinding, &program);
	file = fopen(path_in_directory("program"), "r+");
	assert_non_null(file);
	fseek(file, CODE_OFFSET + 0x380, SEEK_SET);
	assert_int_equal(fwrite(code, 1, sizeof(code), file), sizeof(code));
	fclose(file);
	/* the handler is a leaf function; its caller has the frame of the signal */
	unwinding.sampled.registers[30] = loaded(CODE + 0x380);
	/* x30, sp and pc of the interrupted leaf function */
	stack[(128 + 184) / 8 + 30] = loaded(LAST + 4);
	stack[(128 + 184) / 8 + 31] = STACK + 800;
	stack[(128 + 184) / 8 + 32] = loaded(FUNCTION);
	unwinding.sampled.registers[31] = STACK;
	unwinding.sampled.registers[32] = loaded(FUNCTION + 4);
	assert_int_equal(perch_unwind(unwinding.unwinder, unwinding.thread,
				      sample_of(&unwinding.sampled, stack, sizeof(stack)),
				      unwinding.ips, 8, &unwinding.result),
			 0);
	assert_int_equal(unwinding.result.end, PERCH_UNWIND_OUTERMOST);
	assert_int_equal(unwinding.result.nr, 4);
	assert_int_equal(unwinding.ips[1], loaded(CODE + 0x380));
	assert_int_equal(unwinding.ips[2], loaded(FUNCTION));
	assert_int_equal(unwinding.ips[3], loaded(LAST + 4) - 1);
	/* the handler has a stack of its own: the other one is not in the copy */
	for (int below = 0; below < 2; below++) {
		stack[(128 + 184) / 8 + 31] = below ? STACK - 0x10000 : STACK + 0x8000;
		stack[(128 + 184) / 8 + 32] = loaded(CALLER);
		assert_int_equal(perch_unwind(unwinding.unwinder, unwinding.thread,
					      sample_of(&unwinding.sampled, stack, sizeof(stack)),
					      unwinding.ips, 8, &unwinding.result),
				 0);
		assert_int_equal(unwinding.result.end, PERCH_UNWIND_TRUNCATED);
		assert_int_equal(unwinding.result.nr, 3);
		assert_int_equal(unwinding.ips[2], loaded(CALLER));
	}
	finish(&unwinding);
}

/* As in the vdso of arm64. */
static void finds_signal_frames_in_files_without_rules(void **state)
{
	static const uint8_t code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };
	const char *path = path_in_directory("vdso");
	struct built_file file = code_file();
	struct unwinding unwinding;
	uint64_t stack[128] = { 0 };
	struct built out;

	(void)state;
	file.machine = EM_AARCH64;
	make_elf(&out, &file);
	memset(out.bytes + out.size, 0, CODE_OFFSET + 0x388 - out.size);
	memcpy(out.bytes + CODE_OFFSET + 0x380, code, sizeof(code));
	write_bytes(path, out.bytes, CODE_OFFSET + 0x388);
	begin_program(&unwinding, &arm64);
	map_file(unwinding.processes, 1, MAP + 0x100000, CODE_SIZE, CODE_OFFSET, path);
	unwinding.sampled.registers[30] = loaded(CODE + 0x380) + 0x100000;
	stack[(128 + 184) / 8 + 30] = loaded(LAST + 4);
	stack[(128 + 184) / 8 + 31] = STACK + 800;
	stack[(128 + 184) / 8 + 32] = loaded(FUNCTION);
	unwinding.sampled.registers[31] = STACK;
	unwinding.sampled.registers[32] = loaded(FUNCTION + 4);
	assert_int_equal(perch_unwind(unwinding.unwinder, unwinding.thread,
				      sample_of(&unwinding.sampled, stack, sizeof(stack)),
				      unwinding.ips, 8, &unwinding.result),
			 0);
	assert_int_equal(unwinding.result.end, PERCH_UNWIND_OUTERMOST);
	assert_int_equal(unwinding.result.nr, 4);
	assert_int_equal(unwinding.ips[2], loaded(FUNCTION));
	finish(&unwinding);
}

/* Only the innermost function has its return address in a register. */
static void refuses_leaf_functions_that_call(void **state)
{
	struct unwinding unwinding;

	(void)state;
	begin_program(&unwinding, &arm64);
	unwinding.sampled.registers[30] = loaded(FUNCTION + 8);
	assert_int_equal(run_arm64(&unwinding, loaded(FUNCTION)), PERCH_UNWIND_LOOP);
	assert_int_equal(unwinding.result.nr, 2);
	finish(&unwinding);
}

static void unwinds_the_other_byte_order(void **state)
{
	struct program big = arm64;
	struct unwinding unwinding;

	(void)state;
	big.big = true;
	begin_program(&unwinding, &big);
	unwinding.sampled.parse_info.swapped = true;
	unwinding.sampled.registers[30] = __builtin_bswap64(loaded(CALLER + 8));
	unwinding.stack[1] = __builtin_bswap64(loaded(LAST + 4));
	unwinding.sampled.registers[32] = __builtin_bswap64(loaded(FUNCTION));
	unwinding.sampled.registers[31] = __builtin_bswap64(STACK);
	assert_int_equal(perch_unwind(unwinding.unwinder, unwinding.thread,
				      sample_of(&unwinding.sampled, unwinding.stack,
						sizeof(unwinding.stack)),
				      unwinding.ips, 8, &unwinding.result),
			 0);
	assert_int_equal(unwinding.result.end, PERCH_UNWIND_OUTERMOST);
	assert_int_equal(unwinding.result.nr, 3);
	assert_int_equal(unwinding.ips[2], loaded(LAST + 4) - 1);
	finish(&unwinding);
}

/* ---- expressions ---- */

struct code {
	uint8_t bytes[32];
	size_t size;
};

/* Adds an operation, whose operand has a number of bytes. */
static void put_operation(struct code *code, uint8_t operation, uint64_t operand, size_t size)
{
	code->bytes[code->size++] = operation;
	memcpy(code->bytes + code->size, &operand, size); /* little-endian, as the expressions */
	code->size += size;
}

static enum outcome evaluate(const uint8_t *bytes, size_t size, uint64_t *value)
{
	static const uint64_t words[2] = { 0x1122334455667788, 2 };
	const struct copied_stack stack = { .bytes = (const uint8_t *)words,
					    .start = STACK,
					    .size = sizeof(words) };
	const struct registers registers = { .valid = 1 << 3, .value[3] = 40 };
	const struct expression expression = { bytes, size, false };

	*value = 0;
	return perch__expression_evaluate(&expression, &registers, &stack, NULL, value);
}

static void calculates(void **state)
{
	static const struct {
		uint8_t atom;
		uint64_t left, right, value;
	} rows[] = {
		{ DW_OP_plus, 3, 4, 7 },
		{ DW_OP_minus, 3, 4, UINT64_MAX },
		{ DW_OP_mul, 3, 4, 12 },
		{ DW_OP_div, (uint64_t)-12, 4, (uint64_t)-3 },
		{ DW_OP_div, (uint64_t)INT64_MIN, UINT64_MAX, (uint64_t)INT64_MIN },
		{ DW_OP_mod, 14, 4, 2 },
		{ DW_OP_and, 6, 3, 2 },
		{ DW_OP_or, 6, 3, 7 },
		{ DW_OP_xor, 6, 3, 5 },
		{ DW_OP_shl, 1, 4, 16 },
		{ DW_OP_shl, 1, 64, 0 },
		{ DW_OP_shr, 16, 4, 1 },
		{ DW_OP_shra, (uint64_t)-16, 2, (uint64_t)-4 },
		{ DW_OP_shra, (uint64_t)-16, 99, (uint64_t)-1 },
		{ DW_OP_lt, (uint64_t)-1, 0, 1 },
		{ DW_OP_le, 1, 1, 1 },
		{ DW_OP_gt, (uint64_t)-1, 0, 0 },
		{ DW_OP_ge, 1, 2, 0 },
		{ DW_OP_eq, 1, 1, 1 },
		{ DW_OP_ne, 1, 1, 0 },
	};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		struct code code = { .size = 0 };

		put_operation(&code, DW_OP_const8u, rows[i].left, 8);
		put_operation(&code, DW_OP_const8s, rows[i].right, 8);
		put_operation(&code, rows[i].atom, 0, 0);
		assert_int_equal(evaluate(code.bytes, code.size, &value), FOUND);
		assert_int_equal(value, rows[i].value);
		assert_int_equal(evaluate(code.bytes + 9, code.size - 9, &value), INVALID);
	}
}

/* Reads a number of bytes at an address; 0: a word. */
static enum outcome read_memory(uint64_t address, uint64_t size, uint64_t *value)
{
	struct code code = { .size = 0 };

	put_operation(&code, DW_OP_const8u, address, 8);
	put_operation(&code, size ? DW_OP_deref_size : DW_OP_deref, size, size ? 1 : 0);
	return evaluate(code.bytes, code.size, value);
}

static void reads_memory_and_registers(void **state)
{
	static const uint8_t of_value[] = { DW_OP_bregx, 3, 0x7f };
	static const uint8_t without[] = { DW_OP_breg4, 0 };
	uint64_t value;

	(void)state;
	assert_int_equal(read_memory(STACK, 2, &value), FOUND);
	assert_int_equal(value, 0x7788);
	assert_int_equal(read_memory(STACK, 0, &value), FOUND);
	assert_int_equal(value, 0x1122334455667788);
	/* the last bytes of the stack, and a part that is not in it */
	assert_int_equal(read_memory(STACK + 15, 1, &value), FOUND);
	assert_int_equal(value, 0);
	assert_int_equal(read_memory(STACK + 15, 2, &value), ABOVE_STACK);
	assert_int_equal(read_memory(STACK - 1, 0, &value), BELOW_STACK);
	assert_int_equal(read_memory(STACK + 9, 0, &value), ABOVE_STACK);
	assert_int_equal(evaluate(of_value, sizeof(of_value), &value), FOUND);
	assert_int_equal(value, 39);
	assert_int_equal(evaluate(without, sizeof(without), &value), INVALID);
}

static void reads_operands(void **state)
{
	static const struct {
		uint8_t code[6], size;
		uint64_t value;
	} rows[] = {
		{ { DW_OP_const1u, 0xfe }, 2, 0xfe },
		{ { DW_OP_const1s, 0xfe }, 2, (uint64_t)-2 },
		{ { DW_OP_const2u, 0xfe, 0xff }, 3, 0xfffe },
		{ { DW_OP_const2s, 0xfe, 0xff }, 3, (uint64_t)-2 },
		{ { DW_OP_const4u, 1, 2, 3, 0x84 }, 5, 0x84030201 },
		{ { DW_OP_const4s, 1, 2, 3, 0x84 }, 5, 0xffffffff84030201 },
		{ { DW_OP_constu, 0xff, 0x7f }, 3, 0x3fff },
		{ { DW_OP_consts, 0xff, 0x7f }, 3, (uint64_t)-1 },
		{ { DW_OP_lit1, DW_OP_plus_uconst, 0x80, 1 }, 4, 129 },
		{ { DW_OP_lit1, DW_OP_lit2, DW_OP_pick, 1 }, 4, 1 },
		{ { DW_OP_lit1, DW_OP_bra, 1, 0, DW_OP_drop, DW_OP_lit5 }, 6, 5 },
	};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		/* without its last byte the operand is missing */
		assert_int_equal(evaluate(rows[i].code, rows[i].size, &value), FOUND);
		assert_int_equal(value, rows[i].value);
		assert_int_equal(evaluate(rows[i].code, rows[i].size - 1u, &value), INVALID);
	}
}

/* Division by zero, an endless loop, and a stack that overflows. */
static void limits_expressions(void **state)
{
	static const uint8_t rows[][4] = {
		{ DW_OP_lit1, DW_OP_lit0, DW_OP_div, DW_OP_nop },
		{ DW_OP_nop, DW_OP_skip, 0xfc, 0xff },
		{ DW_OP_lit1, DW_OP_skip, 0xfc, 0xff },
		{ DW_OP_lit1, DW_OP_skip, 0x9d, 0xff },
		{ DW_OP_lit1, DW_OP_skip, 1, 0 },
	};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < NR(rows); i++)
		assert_int_equal(evaluate(rows[i], sizeof(rows[i]), &value), INVALID);
}

/* The operations of all expressions of a sample are limited, too; 32-bit programs have 32-bit
 * words. */
static void limits_samples_and_words(void **state)
{
	static const uint32_t words[2] = { 0x11223344, 0x55667788 };
	unsigned left = 5;
	const struct copied_stack stack = { .bytes = (const uint8_t *)words,
					    .start = STACK,
					    .size = sizeof(words),
					    .narrow = true,
					    .operations = &left };
	const struct registers registers = { .valid = 1 << 3, .value[3] = STACK + 8 };
	static const uint8_t code[] = { DW_OP_breg3, 0x7c, DW_OP_deref };
	static const uint8_t wraps_code[] = { DW_OP_breg3, 0xff, 0xff, 0xff, 0xff, 0x0f };
	const struct expression ops = { code, sizeof(code), false };
	const struct expression wraps = { wraps_code, sizeof(wraps_code), false };
	uint64_t value;

	(void)state;
	assert_int_equal(perch__expression_evaluate(&ops, &registers, &stack, NULL, &value), FOUND);
	assert_int_equal(value, 0x55667788);
	assert_int_equal(perch__expression_evaluate(&wraps, &registers, &stack, NULL, &value),
			 FOUND);
	assert_int_equal(value, STACK + 7);
	assert_int_equal(left, 2);
	assert_int_equal(perch__expression_evaluate(&ops, &registers, &stack, NULL, &value), FOUND);
	assert_int_equal(perch__expression_evaluate(&ops, &registers, &stack, NULL, &value),
			 INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		cmocka_unit_test(unwinds_this_process),
		cmocka_unit_test(reports_short_stack),
		cmocka_unit_test(stores_no_more_than_fits),
#endif
		cmocka_unit_test(uses_rules_of_both_sections),
		cmocka_unit_test(looks_up_the_call_and_not_the_return_address),
		cmocka_unit_test(evaluates_expressions),
		cmocka_unit_test(ends_where_the_rules_lead_nowhere),
		cmocka_unit_test(refuses_damaged_rules),
		cmocka_unit_test(uses_frame_pointer_without_rules),
		cmocka_unit_test(names_missing_files_and_mappings),
		cmocka_unit_test(names_the_registers),
		cmocka_unit_test(refuses_other_registers),
		cmocka_unit_test(unwinds_32_bit_programs_by_frame_pointer),
		cmocka_unit_test(refuses_64_bit_rules_for_32_bit_programs),
		cmocka_unit_test(unwinds_arm64),
		cmocka_unit_test(unwinds_signal_frames_of_arm64),
		cmocka_unit_test(finds_signal_frames_in_files_without_rules),
		cmocka_unit_test(refuses_leaf_functions_that_call),
		cmocka_unit_test(unwinds_the_other_byte_order),
		cmocka_unit_test(calculates),
		cmocka_unit_test(reads_memory_and_registers),
		cmocka_unit_test(reads_operands),
		cmocka_unit_test(limits_expressions),
		cmocka_unit_test(limits_samples_and_words),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
