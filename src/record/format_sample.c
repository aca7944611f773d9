/* SPDX-License-Identifier: MIT */
/* What bits of a sample mean in words: why a transaction was aborted, and branches. */
#include <stdio.h>

#include "fields.h"

size_t perch_format_transaction(uint64_t transaction, char *text, size_t size)
{
	static const struct perch__flag bits[] = {
		{ PERCH_TXN_ELISION, "ELISION" },
		{ PERCH_TXN_TRANSACTION, "TRANSACTION" },
		{ PERCH_TXN_SYNC, "SYNC" },
		{ PERCH_TXN_ASYNC, "ASYNC" },
		{ PERCH_TXN_RETRY, "RETRY" },
		{ PERCH_TXN_CONFLICT, "CONFLICT" },
		{ PERCH_TXN_CAPACITY_WRITE, "CAPACITY_WRITE" },
		{ PERCH_TXN_CAPACITY_READ, "CAPACITY_READ" },
	};
	const uint64_t code = transaction >> PERCH_TXN_ABORT_SHIFT;
	struct perch__text out;

	perch__text_init(&out, text, size, "|");
	perch__text_add_flags(&out, bits, PERCH__NR(bits), transaction & ~PERCH_TXN_ABORT_MASK);
	out.separator = ", ";
	if (code)
		perch__text_add(&out, "abort code 0x%llx", (unsigned long long)code);
	return out.length;
}

size_t perch__format_transaction(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	(void)arch;
	return perch_format_transaction(value, text, size);
}

/* The kernel's bit-fields of a branch by their place on a little-endian machine. */
#define MISPRED	       (1u << 0)
#define PREDICTED      (1u << 1)
#define IN_TX	       (1u << 2)
#define ABORT	       (1u << 3)
#define CYCLES_SHIFT   4
#define TYPE_SHIFT     20
#define SPEC_SHIFT     24
#define NEW_TYPE_SHIFT 26
#define PRIV_SHIFT     30
#define RESERVED_SHIFT 33

uint64_t perch__branch_flags(const struct perch_branch_entry *entry)
{
	return (entry->mispred ? MISPRED : 0) | (entry->predicted ? PREDICTED : 0) |
	       (entry->in_tx ? IN_TX : 0) | (entry->abort ? ABORT : 0) |
	       (uint64_t)entry->cycles << CYCLES_SHIFT | (uint64_t)entry->type << TYPE_SHIFT |
	       (uint64_t)entry->spec << SPEC_SHIFT | (uint64_t)entry->new_type << NEW_TYPE_SHIFT |
	       (uint64_t)entry->priv << PRIV_SHIFT | (uint64_t)entry->reserved << RESERVED_SHIFT;
}

static const char *const branch_types[] = {
	NULL,	  "COND",      "UNCOND",   "IND",  "CALL", "IND_CALL", "RET",	"SYSCALL",
	"SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ",  "SERROR",   "NO_TX", NULL,
};
static const char *const new_types[] = {
	"FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1", "ARCH_2", "ARCH_3", "ARCH_4", "ARCH_5",
};
static const char *const arm64_types[] = {
	"FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "FIQ",
	"DEBUG_HALT", "DEBUG_EXIT", "DEBUG_INST", "DEBUG_DATA",
};
static const char *const speculations[] = { NULL, "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH",
					    "SPEC_CORRECT_PATH" };
static const char *const privileges[] = { NULL, "USER", "KERNEL", "HYPERVISOR" };

/* A part that has no word is told as it is. */
static void add_part(struct perch__text *out, const char *const *parts, size_t nr,
		     unsigned int part, const char *name)
{
	if (part < nr && parts[part])
		perch__text_add(out, "%s", parts[part]);
	else if (part)
		perch__text_add(out, "%s_%u", name, part);
}

static void add_type(struct perch__text *out, enum perch_arch arch, unsigned int type,
		     unsigned int new_type)
{
	const char *const *extended = arch == PERCH_ARCH_ARM64 ? arm64_types : new_types;

	if (type != PERCH_BR_EXTEND_ABI) {
		add_part(out, branch_types, PERCH__NR(branch_types), type, "TYPE");
		if (new_type)
			perch__text_add(out, "NEW_TYPE_%u", new_type);
	} else if (new_type < PERCH__NR(new_types)) {
		perch__text_add(out, "%s", extended[new_type]);
	} else {
		perch__text_add(out, "NEW_TYPE_%u", new_type);
	}
}

size_t perch__format_branch(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const struct perch__flag bits[] = {
		{ MISPRED, "MISPRED" },
		{ PREDICTED, "PREDICTED" },
		{ IN_TX, "IN_TX" },
		{ ABORT, "ABORT" },
	};
	struct perch__text out;

	perch__text_init(&out, text, size, "|");
	perch__text_add_flags(&out, bits, PERCH__NR(bits),
			      value & (MISPRED | PREDICTED | IN_TX | ABORT));
	add_type(&out, arch, value >> TYPE_SHIFT & 15, value >> NEW_TYPE_SHIFT & 15);
	add_part(&out, speculations, PERCH__NR(speculations), value >> SPEC_SHIFT & 3, "SPEC");
	add_part(&out, privileges, PERCH__NR(privileges), value >> PRIV_SHIFT & 7, "PRIV");
	perch__text_add_flags(&out, NULL, 0, value >> RESERVED_SHIFT << RESERVED_SHIFT);
	return out.length;
}

size_t perch_format_branch(const struct perch_branch_entry *entry, char *text, size_t size)
{
	return perch__format_branch(PERCH_ARCH_UNKNOWN, perch__branch_flags(entry), text, size);
}
