/* SPDX-License-Identifier: MIT */
/* Samples with registers and stacks, and programs with built unwinding rules. */
#ifndef TESTS_UNWIND_FIXTURE_H
#define TESTS_UNWIND_FIXTURE_H

#include "process_fixture.h"
#include "symbol_fixture.h"

#include <dwarf.h>

#include <perch/unwind.h>

/* ---- samples ---- */

enum { X86_REGISTERS = 24, ARM64_REGISTERS = 33 };

/* A sample with all registers and a stack of words. */
struct sampled {
	struct perch_parse_info parse_info;
	struct perch_record record;
	uint64_t registers[ARM64_REGISTERS];
};

static inline struct perch_record *sample_of(struct sampled *sampled, const void *stack,
					     uint64_t size)
{
	sampled->record = (struct perch_record){
		.type = PERCH_RECORD_SAMPLE,
		.parse_info = &sampled->parse_info,
		.sample = { .regs_user = { .abi = PERCH_SAMPLE_REGS_ABI_64,
					   .mask = (1ull << ARM64_REGISTERS) - 1,
					   .nr = ARM64_REGISTERS,
					   .value = sampled->registers },
			    .stack_user = { .size = size, .dynamic_size = size, .data = stack } },
	};
	return &sampled->record;
}

/* ---- built rules ---- */

enum {
	MAP = 0x400000,
	FUNCTION = CODE,
	CALLER = CODE + 0x100,
	LAST = CODE + 0x200,
	STACK = 0x7fff0000
};

/* The address in the process of an address in the file. */
static inline uint64_t loaded(uint64_t address)
{
	return MAP + address - CODE;
}

static inline void put_entry(struct built *section, const struct built *body)
{
	struct built entry = *body;

	while ((entry.size + 4) % 8)
		put_number(&entry, DW_CFA_nop, 1);
	put_number(section, entry.size, 4);
	put_bytes(section, entry.bytes, entry.size);
}

/* Instructions with alignments of 1 and -8. */
static inline void put_cie(struct built *section, bool eh_frame, uint8_t return_column,
			   const uint8_t *code, size_t size)
{
	struct built body = { .big = section->big };

	put_number(&body, eh_frame ? 0 : UINT32_MAX, 4);
	put_number(&body, 1, 1);
	put_bytes(&body, eh_frame ? "zR" : "", eh_frame ? 3 : 1);
	put_number(&body, 1, 1);
	put_number(&body, 0x78, 1);
	put_number(&body, return_column, 1);
	if (eh_frame) {
		put_number(&body, 1, 1);
		put_number(&body, DW_EH_PE_absptr, 1);
	}
	put_bytes(&body, code, size);
	put_entry(section, &body);
}

static inline void put_fde(struct built *section, bool eh_frame, uint64_t start,
			   const uint8_t *code, size_t size)
{
	struct built body = { .big = section->big };

	put_number(&body, eh_frame ? section->size + 4 : 0, 4);
	put_number(&body, start, 8);
	put_number(&body, 0x100, 8);
	if (eh_frame)
		put_number(&body, 0, 1);
	put_bytes(&body, code, size);
	put_entry(section, &body);
}

struct rules_of {
	const uint8_t *code;
	size_t size;
};
#define CODE_OF(...)                                                                       \
	{                                                                                  \
		(const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }) \
	}

/* A program of up to three functions. */
struct program {
	bool arm64, big, debug_frame;
	struct rules_of cie, function[3];
};

/* The section with the rules of a program. */
static inline struct built rules_section(const struct program *program)
{
	struct built section = { .big = program->big };

	put_cie(&section, !program->debug_frame, program->arm64 ? 30 : 16, program->cie.code,
		program->cie.size);
	for (size_t i = 0; i < 3; i++)
		if (program->function[i].size)
			put_fde(&section, !program->debug_frame, FUNCTION + 0x100 * i,
				program->function[i].code, program->function[i].size);
	if (!program->debug_frame)
		put_number(&section, 0, 4);
	return section;
}

static inline void write_program(const char *path, const struct program *program)
{
	struct built section = rules_section(program), out;
	struct built_file file = code_file();

	file.big = program->big;
	file.machine = program->arm64 ? EM_AARCH64 : EM_X86_64;
	add_section(&file,
		    (struct built_section){ program->debug_frame ? ".debug_frame" : ".eh_frame",
					    SHT_PROGBITS, program->debug_frame ? 0 : SHF_ALLOC,
					    .data = &section });
	make_elf(&out, &file);
	write_bytes(path, out.bytes, out.size);
}

/* The objects that unwind a program of process 1. */
struct unwinding {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_unwinder *unwinder;
	struct perch_thread *thread;
	struct perch_unwind_result result;
	uint64_t ips[8];
	struct sampled sampled;
	uint64_t stack[16];
};

static inline void begin(struct unwinding *unwinding, const char *path, enum perch_arch arch)
{
	memset(unwinding, 0, sizeof(*unwinding));
	unwinding->processes = new_processes();
	unwinding->symbols = new_symbols(NULL);
	map_file(unwinding->processes, 1, MAP, CODE_SIZE, CODE_OFFSET, path);
	unwinding->thread = perch_processes_thread(unwinding->processes, 1, 1);
	assert_int_equal(perch_unwinder_new(&unwinding->unwinder, arch, unwinding->processes,
					    unwinding->symbols, NULL),
			 0);
}

static inline void begin_program(struct unwinding *unwinding, const struct program *program)
{
	const char *path = path_in_directory("program");

	write_program(path, program);
	begin(unwinding, path, program->arm64 ? PERCH_ARCH_ARM64 : PERCH_ARCH_X86);
}

/* Unwinds from a program counter, with the stack pointer at the first word of the stack. */
static inline enum perch_unwind_end run(struct unwinding *unwinding, unsigned pc_bit,
					unsigned sp_bit, uint64_t pc)
{
	unwinding->sampled.registers[pc_bit] = pc;
	unwinding->sampled.registers[sp_bit] = STACK;
	assert_int_equal(perch_unwind(unwinding->unwinder, unwinding->thread,
				      sample_of(&unwinding->sampled, unwinding->stack,
						sizeof(unwinding->stack)),
				      unwinding->ips, 8, &unwinding->result),
			 0);
	return unwinding->result.end;
}

static inline enum perch_unwind_end run_x86(struct unwinding *unwinding, uint64_t pc)
{
	return run(unwinding, 8, 7, pc);
}

static inline void finish(struct unwinding *unwinding)
{
	perch_unwinder_free(unwinding->unwinder);
	perch_symbols_free(unwinding->symbols);
	perch_processes_free(unwinding->processes);
}

/* x86-64 after a call: CFA = sp + 8, the return address is at CFA - 8. */
#define X86_CIE CODE_OF(DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1)
#define X86_END CODE_OF(DW_CFA_undefined, 16)

#endif
