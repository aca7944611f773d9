/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <perch/disassembler.h>

bool perch_instruction_ends_run(const struct perch_instruction *instruction)
{
	const char *name = instruction->mnemonic;

	if (instruction->flow != PERCH_FLOW_JUMP)
		return instruction->flow == PERCH_FLOW_RETURN;
	/* other jumps have a condition */
	return !strncmp(name, "jmp", 3) || !strncmp(name, "ljmp", 4) || !strcmp(name, "j") ||
	       !strcmp(name, "b") || !strcmp(name, "br");
}

#ifdef PERCH_HAVE_CAPSTONE
#include <ctype.h>
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <capstone/capstone.h>

#include "base/library.h"
#include "base/memory.h"
#include "base/nr.h"
#include "base/no_memory.h"
#include "internal.h"

#define TEXT_(number) #number
#define TEXT(number)  TEXT_(number)
#define LIBRARY	      "libcapstone.so." TEXT(CS_API_MAJOR)
#define ARM_FLAG_BE8  0x00800000u /* data is big-endian, instructions are little-endian */
#define MAX_UNDECODED 8		  /* bytes in a row */
#define MAX_LENGTH    15	  /* of an instruction of x86 */

/* The functions of capstone. It stays loaded. */
static struct {
	cs_err (*open)(cs_arch arch, cs_mode mode, csh *handle);
	cs_err (*close)(csh *handle);
	cs_err (*option)(csh handle, cs_opt_type type, size_t value);
	bool (*iterate)(csh handle, const uint8_t **code, size_t *size, uint64_t *address,
			cs_insn *instruction);
	cs_insn *(*allocate)(csh handle);
	void (*release)(cs_insn *instruction, size_t count);
	bool (*in_group)(csh handle, const cs_insn *instruction, unsigned group);
	bool ready;
} library;

struct perch_disassembler {
	const struct perch_code *code;
	const struct capstone_architecture *architecture;
	csh handle;
	cs_insn *instruction;
	cs_mode mode;
	size_t at;     /* bytes that are done */
	size_t part;   /* of the code */
	bool switched; /* to the mode of the part */
};

struct capstone_architecture {
	uint32_t machine; /* EM_* */
	cs_arch arch;
	cs_mode mode, wide_mode;
	bool by_file;		     /* the byte order of instructions is that of the file */
	uint8_t unit;		     /* instructions are a multiple of it */
	const char *calls, *returns; /* mnemonics that capstone does not group, between spaces */
};

static const struct capstone_architecture architectures[] = {
	{ EM_X86_64, CS_ARCH_X86, CS_MODE_64, CS_MODE_64, false, 1, "", "" },
	{ EM_386, CS_ARCH_X86, CS_MODE_32, CS_MODE_32, false, 1, "", "" },
	{ EM_AARCH64, CS_ARCH_ARM64, CS_MODE_ARM, CS_MODE_ARM, false, 4, " bl blr ", " ret " },
	{ EM_ARM, CS_ARCH_ARM, CS_MODE_ARM, CS_MODE_ARM, true, 4, " bl blx ", "" },
	{ EM_PPC64, CS_ARCH_PPC, CS_MODE_64, CS_MODE_64, true, 4, " bl bctrl bctl bcl bla ",
	  " blr " },
	{ EM_PPC, CS_ARCH_PPC, CS_MODE_32, CS_MODE_32, true, 4, " bl bctrl bctl bcl bla ",
	  " blr " },
	{ EM_S390, CS_ARCH_SYSZ, CS_MODE_BIG_ENDIAN, CS_MODE_BIG_ENDIAN, false, 2,
	  " brasl bras basr basl ", "" },
	{ EM_MIPS, CS_ARCH_MIPS, CS_MODE_MIPS32, CS_MODE_MIPS64, true, 4, " jal jalr bal ", "" },
#if CS_API_MAJOR >= 5
	{ EM_RISCV, CS_ARCH_RISCV, CS_MODE_RISCV32 | CS_MODE_RISCVC,
	  CS_MODE_RISCV64 | CS_MODE_RISCVC, false, 2, " jal jalr call ", " ret c.ret " },
#endif
};

static bool load_capstone(void)
{
	const struct perch__function functions[] = {
		{ "cs_open", &library.open },		{ "cs_close", &library.close },
		{ "cs_option", &library.option },	{ "cs_disasm_iter", &library.iterate },
		{ "cs_malloc", &library.allocate },	{ "cs_free", &library.release },
		{ "cs_insn_group", &library.in_group },
	};

	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	bool ready;

	pthread_mutex_lock(&mutex);
	if (!library.ready && perch__load_library(LIBRARY, functions, PERCH__NR(functions)))
		library.ready = !library.option(0, CS_OPT_MEM, (size_t)&perch__capstone_memory);
	ready = library.ready;
	pthread_mutex_unlock(&mutex);
	return ready;
}

static const struct capstone_architecture *find_architecture(uint32_t machine)
{
	for (size_t i = 0; i < PERCH__NR(architectures); i++)
		if (architectures[i].machine == machine)
			return &architectures[i];
	return NULL;
}

int perch_disassembler_new(struct perch_disassembler **result, const struct perch_code *code,
			   bool intel, struct perch_error *err)
{
	const struct capstone_architecture *architecture = find_architecture(code->machine);
	struct perch_disassembler *new;
	cs_err rc;

	*result = NULL;
	if (!architecture)
		return perch_error_set(err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
				       "instructions of the architecture %u (e_machine) are not "
				       "supported by capstone %d",
				       code->machine, CS_API_MAJOR);
	errno = 0;
	if (!load_capstone()) {
		if (errno == ENOMEM)
			return PERCH__NO_MEMORY(err, "for a disassembler");
		perch_error_set(err, ENOENT, PERCH_ERROR_FILE, LIBRARY " cannot be loaded");
		perch_error_remedy(
			err, "Install the library capstone (libcapstone" TEXT(CS_API_MAJOR) ")");
		return -ENOENT;
	}
	new = perch__calloc(1, sizeof(*new));
	if (!new)
		return PERCH__NO_MEMORY(err, "for a disassembler");
	new->code = code;
	new->architecture = architecture;
	new->mode = code->wide ? architecture->wide_mode : architecture->mode;
	if (architecture->by_file && code->big_endian &&
	    !(code->machine == EM_ARM && code->flags & ARM_FLAG_BE8))
		new->mode |= CS_MODE_BIG_ENDIAN;
	if (code->machine == EM_ARM)
		new->mode |= CS_MODE_V8;
	rc = library.open(architecture->arch, new->mode, &new->handle);
	if (rc) {
		free(new);
		if (rc == CS_ERR_MEM)
			return PERCH__NO_MEMORY(err, "for a disassembler");
		return perch_error_set(err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
				       "this capstone was built without the architecture %u "
				       "(e_machine)",
				       code->machine);
	}
	library.option(new->handle, CS_OPT_DETAIL, CS_OPT_ON);
	if (architecture->arch == CS_ARCH_X86)
		library.option(new->handle, CS_OPT_SYNTAX,
			       intel ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT);
	new->instruction = library.allocate(new->handle);
	if (!new->instruction) {
		perch_disassembler_free(new);
		return PERCH__NO_MEMORY(err, "for a disassembler");
	}
	*result = new;
	return 0;
}

void perch_disassembler_free(struct perch_disassembler *disassembler)
{
	if (!disassembler)
		return;
	if (disassembler->instruction)
		library.release(disassembler->instruction, 1);
	library.close(&disassembler->handle);
	free(disassembler);
}

void perch_disassembler_rewind(struct perch_disassembler *disassembler)
{
	disassembler->at = disassembler->part = 0;
	disassembler->switched = false;
}

/* ---- text ---- */

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; length && (at = strstr(at, word)); at++)
		if (at > words && at[-1] == ' ' && at[length] == ' ')
			return true;
	return false;
}

static enum perch_flow flow_of(const struct perch_disassembler *disassembler, const cs_insn *from)
{
	const struct capstone_architecture *architecture = disassembler->architecture;

	if (has_word(architecture->calls, from->mnemonic) ||
	    library.in_group(disassembler->handle, from, CS_GRP_CALL))
		return PERCH_FLOW_CALL;
	if (has_word(architecture->returns, from->mnemonic) ||
	    library.in_group(disassembler->handle, from, CS_GRP_RET) ||
	    (architecture->arch == CS_ARCH_SYSZ && !strcmp(from->mnemonic, "br") &&
	     !strcmp(from->op_str, "%r14")) ||
	    (architecture->arch == CS_ARCH_ARM && !strncmp(from->mnemonic, "bx", 2) &&
	     !strcmp(from->op_str, "lr")))
		return PERCH_FLOW_RETURN;
	/* capstone has no groups for all jumps of s390 and PowerPC */
	if (library.in_group(disassembler->handle, from, CS_GRP_JUMP) ||
	    (architecture->arch == CS_ARCH_SYSZ &&
	     (from->mnemonic[0] == 'j' || !strncmp(from->mnemonic, "br", 2))) ||
	    (architecture->arch == CS_ARCH_PPC && from->mnemonic[0] == 'b'))
		return PERCH_FLOW_JUMP;
	return PERCH_FLOW_NEXT;
}

/*
 * Takes a target, which is the last operand, from the operands: "%r1, 0x1234", "x0, #0x1234".
 * Indirect jumps have a register or a memory operand there.
 */
static void take_target(struct perch_instruction *to)
{
	char *comma = strrchr(to->operands, ','), *last = comma ? comma + 1 : to->operands;
	char *start, *end;
	uint64_t target;

	start = last + strspn(last, " #");
	if (!isdigit((unsigned char)*start))
		return;
	errno = 0;
	target = strtoull(start, &end, 0);
	if (*end || errno)
		return;
	to->has_target = true;
	to->target = target;
	*start = 0;
	/* the '#' belongs to the number */
	while (start > to->operands && start[-1] == '#')
		*--start = 0;
}

/* x86: an operand that is relative to the next instruction. */
static void find_memory(const struct perch_disassembler *disassembler, const cs_insn *from,
			struct perch_instruction *to)
{
	if (disassembler->architecture->arch != CS_ARCH_X86 || !from->detail)
		return;
	for (uint8_t i = 0; i < from->detail->x86.op_count; i++) {
		const cs_x86_op *operand = &from->detail->x86.operands[i];

		if (operand->type != X86_OP_MEM || operand->mem.base != X86_REG_RIP)
			continue;
		to->has_memory = true;
		to->memory = from->address + from->size + (uint64_t)operand->mem.disp;
	}
}

/* objdump(1) has no spaces between operands of x86. */
static void remove_spaces(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		*to++ = *at;
		while (*at == ',' && at[1] == ' ')
			at++;
	}
	*to = 0;
}

static void set_instruction(const struct perch_disassembler *disassembler, const cs_insn *from,
			    struct perch_instruction *to)
{
	to->size = from->size;
	to->flow = flow_of(disassembler, from);
	snprintf(to->mnemonic, sizeof(to->mnemonic), "%s", from->mnemonic);
	snprintf(to->operands, sizeof(to->operands), "%s", from->op_str);
	if (disassembler->architecture->arch == CS_ARCH_X86 &&
	    disassembler->code->machine != EM_NONE)
		remove_spaces(to->operands);
	if (to->flow == PERCH_FLOW_JUMP || to->flow == PERCH_FLOW_CALL)
		take_target(to);
	find_memory(disassembler, from, to);
}

static void set_bytes(struct perch_instruction *to, size_t size)
{
	size_t used = 0;

	to->size = size;
	snprintf(to->mnemonic, sizeof(to->mnemonic), ".byte");
	to->operands[0] = 0;
	for (size_t i = 0; i < size; i++)
		used += (size_t)snprintf(to->operands + used, sizeof(to->operands) - used,
					 "%s0x%02x", i ? "," : "", to->bytes[i]);
}

/* ---- instructions that capstone does not decode ---- */

/*
 * Returns the length of the memory or register operand at bytes, which starts with ModRM and may
 * have SIB and a displacement; 0 if it is cut off.
 * Intel's Software Developer's Manual, volume 2, chapter 2.1.
 */
static size_t operand_length(const uint8_t *bytes, size_t left)
{
	size_t length = 1;
	unsigned mode, base;

	if (!left)
		return 0;
	mode = bytes[0] >> 6;
	base = bytes[0] & 7;
	if (mode != 3 && base == 4) {
		if (left < 2)
			return 0;
		base = bytes[1] & 7;
		length++;
	}
	if (mode == 1)
		length += 1;
	else if (mode == 2 || (!mode && base == 5))
		length += 4;
	return length <= left ? length : 0;
}

/* True if an instruction with the prefix VEX or EVEX ends with one byte of immediate operand. */
static bool has_immediate(unsigned map, uint8_t opcode)
{
	if (map == 1)
		return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
		       (opcode >= 0xc4 && opcode <= 0xc6);
	return map == 3;
}

/*
 * Returns the length of an instruction of x86-64 with the prefix VEX or EVEX (AVX, AVX-512), which
 * capstone 4 decodes only in part: all of them have the same form. 0: it is none, or is cut off.
 */
static size_t vector_length(const uint8_t *bytes, size_t left)
{
	static const struct {
		uint8_t first, prefix, map_bits;
	} forms[] = { { 0xc5, 2, 0 }, { 0xc4, 3, 0x1f }, { 0x62, 4, 0x07 } };
	unsigned map;
	size_t length;

	for (size_t i = 0; i < PERCH__NR(forms); i++) {
		size_t prefix = forms[i].prefix;

		if (bytes[0] != forms[i].first || left < prefix + 2)
			continue;
		map = forms[i].map_bits ? bytes[1] & forms[i].map_bits : 1;
		if (!map || map > 6 || map == 4)
			return 0;
		length = operand_length(bytes + prefix + 1, left - prefix - 1);
		if (!length)
			return 0;
		length += prefix + 1 + has_immediate(map, bytes[prefix]);
		return length <= left && length <= MAX_LENGTH ? length : 0;
	}
	return 0;
}

static void set_undecoded(const struct perch_disassembler *disassembler, enum perch_code_kind kind,
			  size_t left, struct perch_instruction *to)
{
	size_t unit = kind == PERCH_CODE_THUMB ? 2 : disassembler->architecture->unit, length = 0;

	if (disassembler->code->machine == EM_X86_64)
		length = vector_length(to->bytes, left);
	to->undecoded = true;
	to->vector = length > 0;
	if (!length)
		length = left < unit ? left : unit;
	set_bytes(to, length);
}

/* ---- the next instruction ---- */

/* Selects the part of the current byte, and returns how many bytes it has from there on. */
static size_t enter_part(struct perch_disassembler *disassembler, enum perch_code_kind *kind)
{
	const struct perch_code *code = disassembler->code;
	uint64_t address = code->address + disassembler->at;
	uint64_t end = code->address + code->size;
	cs_mode mode = disassembler->mode;

	while (disassembler->part + 1 < code->nr_parts &&
	       code->part[disassembler->part + 1].address <= address) {
		disassembler->part++;
		disassembler->switched = false;
	}
	*kind = code->part[disassembler->part].kind;
	if (!disassembler->switched && code->machine == EM_ARM) {
		if (*kind == PERCH_CODE_THUMB)
			mode |= CS_MODE_THUMB;
		library.option(disassembler->handle, CS_OPT_MODE, mode);
	}
	disassembler->switched = true;
	if (disassembler->part + 1 < code->nr_parts)
		end = code->part[disassembler->part + 1].address;
	return (size_t)(end - address);
}

bool perch_disassembler_next(struct perch_disassembler *disassembler, struct perch_instruction *to)
{
	const struct perch_code *code = disassembler->code;
	size_t left;
	const uint8_t *bytes = code->bytes + disassembler->at;
	uint64_t address = code->address + disassembler->at;
	enum perch_code_kind kind;

	if (disassembler->at >= code->size)
		return false;
	*to = (struct perch_instruction){ .address = address, .bytes = bytes };
	left = enter_part(disassembler, &kind);
	if (kind == PERCH_CODE_DATA) {
		to->data = true;
		set_bytes(to, left < MAX_UNDECODED / 2 ? left : MAX_UNDECODED / 2);
	} else if (library.iterate(disassembler->handle, &bytes, &left, &address,
				   disassembler->instruction)) {
		set_instruction(disassembler, disassembler->instruction, to);
	} else {
		set_undecoded(disassembler, kind, left, to);
	}
	disassembler->at += to->size;
	return true;
}

#else

int perch_disassembler_new(struct perch_disassembler **result, const struct perch_code *code,
			   bool intel, struct perch_error *err)
{
	(void)code, (void)intel;
	*result = NULL;
	perch_error_set(err, ENOTSUP, PERCH_ERROR_NOT_SUPPORTED,
			"this perch was built without capstone, which it needs to show "
			"instructions");
	perch_error_remedy(err, "Build it with the headers of capstone (Debian: libcapstone-dev)");
	return -ENOTSUP;
}

bool perch_disassembler_next(struct perch_disassembler *disassembler,
			     struct perch_instruction *instruction)
{
	(void)disassembler, (void)instruction;
	return false;
}

void perch_disassembler_rewind(struct perch_disassembler *disassembler)
{
	(void)disassembler;
}

void perch_disassembler_free(struct perch_disassembler *disassembler)
{
	(void)disassembler;
}
#endif
