/* SPDX-License-Identifier: MIT */
/* Instructions of several architectures, from bytes that assemblers made of the texts below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <perch/disassembler.h>

#define ADDRESS 0x1000

struct expected {
	const char *mnemonic; /* NULL ends */
	uint8_t size;
	enum perch_flow flow;
	uint64_t target; /* 0 is none */
};

struct program {
	uint32_t machine;
	bool wide, big;
	enum perch_code_kind kind;
	uint8_t bytes[32];
	size_t size;
	struct expected expected[8];
};

static const struct program programs[] = {
	{ EM_X86_64,
	  true,
	  false,
	  PERCH_CODE_INSTRUCTIONS,
	  { 0x48, 0x89, 0xe5, 0x75, 0xfb, 0xe8, 0x03, 0, 0, 0, 0xff, 0xe0, 0xc3 },
	  13,
	  { { "movq", 3, PERCH_FLOW_NEXT, 0 },
	    { "jne", 2, PERCH_FLOW_JUMP, ADDRESS },
	    { "callq", 5, PERCH_FLOW_CALL, ADDRESS + 13 },
	    { "jmpq", 2, PERCH_FLOW_JUMP, 0 },
	    { "retq", 1, PERCH_FLOW_RETURN, 0 } } },
	{ EM_386,
	  false,
	  false,
	  PERCH_CODE_INSTRUCTIONS,
	  { 0x89, 0xe5, 0x74, 0xfc, 0xc3 },
	  5,
	  { { "movl", 2, PERCH_FLOW_NEXT, 0 },
	    { "je", 2, PERCH_FLOW_JUMP, ADDRESS },
	    { "retl", 1, PERCH_FLOW_RETURN, 0 } } },
	/* mov x29, sp; b.ne 1000; cbz x0, 1000; bl 1010; ret */
	{ EM_AARCH64,
	  true,
	  false,
	  PERCH_CODE_INSTRUCTIONS,
	  { 0xfd, 0x03, 0x00, 0x91, 0xe1, 0xff, 0xff, 0x54, 0xc0, 0xff,
	    0xff, 0xb4, 0x01, 0x00, 0x00, 0x94, 0xc0, 0x03, 0x5f, 0xd6 },
	  20,
	  { { "mov", 4, PERCH_FLOW_NEXT, 0 },
	    { "b.ne", 4, PERCH_FLOW_JUMP, ADDRESS },
	    { "cbz", 4, PERCH_FLOW_JUMP, ADDRESS },
	    { "bl", 4, PERCH_FLOW_CALL, ADDRESS + 16 },
	    { "ret", 4, PERCH_FLOW_RETURN, 0 } } },
	/* mov r0, r1; bne 1000; bx lr */
	{ EM_ARM,
	  false,
	  false,
	  PERCH_CODE_INSTRUCTIONS,
	  { 0x01, 0x00, 0xa0, 0xe1, 0xfd, 0xff, 0xff, 0x1a, 0x1e, 0xff, 0x2f, 0xe1 },
	  12,
	  { { "mov", 4, PERCH_FLOW_NEXT, 0 },
	    { "bne", 4, PERCH_FLOW_JUMP, ADDRESS },
	    { "bx", 4, PERCH_FLOW_RETURN, 0 } } },
	/* movs r0, #1; bne 1000; bx lr */
	{ EM_ARM,
	  false,
	  false,
	  PERCH_CODE_THUMB,
	  { 0x01, 0x20, 0xfd, 0xd1, 0x70, 0x47 },
	  6,
	  { { "movs", 2, PERCH_FLOW_NEXT, 0 },
	    { "bne", 2, PERCH_FLOW_JUMP, ADDRESS },
	    { "bx", 2, PERCH_FLOW_RETURN, 0 } } },
	/* nop; bdnz 1000; bl 1000; blr, of either byte order */
	{ EM_PPC64,
	  true,
	  true,
	  PERCH_CODE_INSTRUCTIONS,
	  { 0x60, 0, 0, 0, 0x42, 0x00, 0xff, 0xfc, 0x4b, 0xff, 0xff, 0xf9, 0x4e, 0x80, 0x00, 0x20 },
	  16,
	  { { "nop", 4, PERCH_FLOW_NEXT, 0 },
	    { "bdnz", 4, PERCH_FLOW_JUMP, ADDRESS },
	    { "bl", 4, PERCH_FLOW_CALL, ADDRESS },
	    { "blr", 4, PERCH_FLOW_RETURN, 0 } } },
	{ EM_PPC64,
	  true,
	  false,
	  PERCH_CODE_INSTRUCTIONS,
	  { 0, 0, 0, 0x60, 0x20, 0x00, 0x80, 0x4e },
	  8,
	  { { "nop", 4, PERCH_FLOW_NEXT, 0 }, { "blr", 4, PERCH_FLOW_RETURN, 0 } } },
	/* lr %r1,%r2; jne 1000; brasl %r14,1000; br %r14 */
	{ EM_S390,
	  true,
	  true,
	  PERCH_CODE_INSTRUCTIONS,
	  { 0x18, 0x12, 0xa7, 0x74, 0xff, 0xff, 0xc0, 0xe5, 0xff, 0xff, 0xff, 0xfd, 0x07, 0xfe },
	  14,
	  { { "lr", 2, PERCH_FLOW_NEXT, 0 },
	    { "jne", 4, PERCH_FLOW_JUMP, ADDRESS },
	    { "brasl", 6, PERCH_FLOW_CALL, ADDRESS },
	    { "br", 2, PERCH_FLOW_RETURN, 0 } } },
};

static struct perch_code code_of(const uint8_t *bytes, size_t size, uint32_t machine,
				 struct perch_code_part *part, size_t nr_parts)
{
	return (struct perch_code){
		.bytes = (uint8_t *)bytes,
		.size = size,
		.address = ADDRESS,
		.machine = machine,
		.wide = true,
		.part = part,
		.nr_parts = nr_parts,
	};
}

/* Skips the test where capstone is missing. */
static struct perch_disassembler *open_disassembler(const struct perch_code *code)
{
	struct perch_disassembler *disassembler;
	struct perch_error err;
	int rc = perch_disassembler_new(&disassembler, code, false, &err);

	if (rc) {
		print_message("skipped: %s\n", err.message);
		skip();
	}
	return disassembler;
}

static void check_program(const struct program *program)
{
	struct perch_code_part part = { .address = ADDRESS, .kind = program->kind };
	struct perch_code code = code_of(program->bytes, program->size, program->machine, &part, 1);
	struct perch_disassembler *disassembler;
	struct perch_instruction instruction;
	uint64_t at = ADDRESS;

	code.wide = program->wide;
	code.big_endian = program->big;
	disassembler = open_disassembler(&code);
	/* the second time from the start again */
	for (int i = 0; i < 2; i++, at = ADDRESS) {
		for (const struct expected *expected = program->expected; expected->mnemonic;
		     expected++) {
			assert_true(perch_disassembler_next(disassembler, &instruction));
			assert_string_equal(instruction.mnemonic, expected->mnemonic);
			assert_int_equal(instruction.address, at);
			assert_int_equal(instruction.size, expected->size);
			assert_int_equal(instruction.flow, expected->flow);
			assert_int_equal(instruction.has_target, expected->target != 0);
			assert_int_equal(perch_instruction_ends_run(&instruction),
					 expected->flow == PERCH_FLOW_RETURN ||
						 !strcmp(expected->mnemonic, "jmpq"));
			if (expected->target)
				assert_int_equal(instruction.target, expected->target);
			at += instruction.size;
		}
		assert_false(perch_disassembler_next(disassembler, &instruction));
		perch_disassembler_rewind(disassembler);
	}
	perch_disassembler_free(disassembler);
}

static void finds_instructions_of_architectures(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		check_program(&programs[i]);
}

static void shows_bytes_that_are_no_instruction(void **state)
{
	/* 0x06 is no instruction in 64-bit mode; the last one is cut */
	static const uint8_t bytes[] = { 0x90, 0x06, 0x90, 0x48, 0x89 };
	struct perch_code_part part = { .address = ADDRESS };
	struct perch_code code = code_of(bytes, sizeof(bytes), EM_X86_64, &part, 1);
	struct perch_disassembler *disassembler = open_disassembler(&code);
	struct perch_instruction instruction;
	size_t undecoded = 0, size = 0;

	(void)state;
	while (perch_disassembler_next(disassembler, &instruction)) {
		size += instruction.size;
		if (!instruction.undecoded)
			continue;
		undecoded += instruction.size;
		assert_string_equal(instruction.mnemonic, ".byte");
	}
	assert_int_equal(size, sizeof(bytes));
	assert_int_equal(undecoded, 3);
	perch_disassembler_free(disassembler);
}

static void shows_data_of_arm64(void **state)
{
	static const uint8_t bytes[] = { 0xc0, 0x03, 0x5f, 0xd6, 1,    2,    3,
					 4,    5,    6,	   0x1f, 0x20, 0x03, 0xd5 };
	struct perch_code_part part[] = {
		{ .address = ADDRESS, .kind = PERCH_CODE_INSTRUCTIONS },
		{ .address = ADDRESS + 4, .kind = PERCH_CODE_DATA },
		{ .address = ADDRESS + 10, .kind = PERCH_CODE_INSTRUCTIONS },
	};
	struct perch_code code = code_of(bytes, sizeof(bytes), EM_AARCH64, part, 3);
	struct perch_disassembler *disassembler = open_disassembler(&code);
	struct perch_instruction instruction;

	(void)state;
	assert_true(perch_disassembler_next(disassembler, &instruction));
	assert_int_equal(instruction.flow, PERCH_FLOW_RETURN);
	assert_true(perch_disassembler_next(disassembler, &instruction));
	assert_true(instruction.data);
	assert_false(instruction.undecoded);
	assert_string_equal(instruction.operands, "0x01,0x02,0x03,0x04");
	assert_true(perch_disassembler_next(disassembler, &instruction));
	assert_string_equal(instruction.operands, "0x05,0x06");
	assert_true(perch_disassembler_next(disassembler, &instruction));
	assert_string_equal(instruction.mnemonic, "nop");
	assert_false(perch_disassembler_next(disassembler, &instruction));
	perch_disassembler_free(disassembler);
}

static void refuses_unknown_architectures(void **state)
{
	static const uint8_t bytes[4];
	struct perch_code_part part = { .address = ADDRESS };
	struct perch_code code = code_of(bytes, sizeof(bytes), 0xfeed, &part, 1);
	struct perch_disassembler *disassembler;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_disassembler_new(&disassembler, &code, false, &err), -ENOTSUP);
	assert_null(disassembler);
	assert_true(err.message[0]);
	perch_disassembler_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_instructions_of_architectures),
		cmocka_unit_test(shows_bytes_that_are_no_instruction),
		cmocka_unit_test(shows_data_of_arm64),
		cmocka_unit_test(refuses_unknown_architectures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
