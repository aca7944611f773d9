/* SPDX-License-Identifier: MIT */
/* Entries of lists: branches, whose flags are decoded and formatted, and namespaces. */
#include "fields.h"

/*
 * The kernel declares the flags as bit-fields, in the same order on every machine. Compilers for
 * big-endian machines place the first bit-field in the highest bits, others in the lowest. So flags
 * of the other byte order are unpacked by the rule of the machine that wrote them.
 */
struct bit_fields {
	uint64_t word;
	unsigned int taken;
	bool from_top;
};

static uint64_t take_bits(struct bit_fields *fields, unsigned int width)
{
	unsigned int shift = fields->from_top ? 64 - fields->taken - width : fields->taken;

	fields->taken += width;
	return fields->word >> shift & ((1ull << width) - 1);
}

static void unpack_flags(struct perch_branch_entry *entry, struct bit_fields fields)
{
	entry->flags = 0;
	entry->mispred = take_bits(&fields, 1);
	entry->predicted = take_bits(&fields, 1);
	entry->in_tx = take_bits(&fields, 1);
	entry->abort = take_bits(&fields, 1);
	entry->cycles = take_bits(&fields, 16);
	entry->type = take_bits(&fields, 4);
	entry->spec = take_bits(&fields, 2);
	entry->new_type = take_bits(&fields, 4);
	entry->priv = take_bits(&fields, 3);
	entry->reserved = take_bits(&fields, 31);
}

void perch_branch_at(const struct perch_record *record, uint64_t index,
		     struct perch_branch_entry *entry)
{
	const struct perch_branch_entry *from;

	*entry = (struct perch_branch_entry){ 0 };
	if (record->type != PERCH_RECORD_SAMPLE || index >= record->sample.branches.nr)
		return;
	from = &record->sample.branches.entry[index];
	if (!record->parse_info->swapped) {
		*entry = *from;
		return;
	}
	entry->from = perch__u64(&from->from, true);
	entry->to = perch__u64(&from->to, true);
	unpack_flags(entry, (struct bit_fields){ .word = perch__u64(&from->flags, true),
						 .from_top = record->parse_info->big_endian });
}

void perch_namespace_at(const struct perch_record *record, uint64_t index,
			struct perch_ns_link_info *link)
{
	const bool swap = record->parse_info->swapped;
	const struct perch_ns_link_info *from;

	*link = (struct perch_ns_link_info){ 0 };
	if (record->type != PERCH_RECORD_NAMESPACES || index >= record->namespaces.nr)
		return;
	from = &record->namespaces.link[index];
	link->dev = perch__u64(&from->dev, swap);
	link->ino = perch__u64(&from->ino, swap);
}

/* The bit-fields of a branch as they are on a little-endian machine. */
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

/* A value without a name is written as NAME_value. */
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
