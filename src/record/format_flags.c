/* SPDX-License-Identifier: MIT */
/* Formats flags and types as text: misc, and fields of records except branches and data_src. */
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "fields.h"

void perch__text_init(struct perch__text *out, char *text, size_t size, const char *separator)
{
	*out = (struct perch__text){ .text = text, .size = size, .separator = separator };
	if (size)
		text[0] = '\0';
}

void perch__text_add(struct perch__text *out, const char *format, ...)
{
	const char *separator = out->length ? out->separator : "";
	char name[PERCH__FORMAT_BYTES];
	va_list args;
	size_t space = out->length < out->size ? out->size - out->length : 0;
	int length;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	length = snprintf(space ? out->text + out->length : NULL, space, "%s%s", separator, name);
	out->length += length > 0 ? (size_t)length : 0;
}

void perch__text_add_flags(struct perch__text *out, const struct perch__flag *bits, size_t nr,
			   uint64_t value)
{
	for (size_t i = 0; i < nr; i++) {
		if (!(value & bits[i].bit))
			continue;
		perch__text_add(out, "%s", bits[i].name);
		value &= ~bits[i].bit;
	}
	if (value)
		perch__text_add(out, "0x%llx", (unsigned long long)value);
}

static const char *const cpumodes[] = { NULL,	      "KERNEL",	      "USER",
					"HYPERVISOR", "GUEST_KERNEL", "GUEST_USER" };

/* The meaning of a bit of misc depends on the record type. Type 0 matches every type. */
static const struct {
	uint32_t type;
	uint16_t bit;
	const char *name;
} misc_bits[] = {
	{ PERCH_RECORD_MMAP, PERCH_MISC_PROC_MAP_PARSE_TIMEOUT, "PROC_MAP_PARSE_TIMEOUT" },
	{ PERCH_RECORD_MMAP2, PERCH_MISC_PROC_MAP_PARSE_TIMEOUT, "PROC_MAP_PARSE_TIMEOUT" },
	{ PERCH_RECORD_MMAP, PERCH_MISC_MMAP_DATA, "MMAP_DATA" },
	{ PERCH_RECORD_MMAP2, PERCH_MISC_MMAP_DATA, "MMAP_DATA" },
	{ PERCH_RECORD_MMAP2, PERCH_MISC_MMAP_BUILD_ID, "MMAP_BUILD_ID" },
	{ PERCH_RECORD_COMM, PERCH_MISC_COMM_EXEC, "COMM_EXEC" },
	{ PERCH_RECORD_FORK, PERCH_MISC_FORK_EXEC, "FORK_EXEC" },
	{ PERCH_RECORD_SWITCH, PERCH_MISC_SWITCH_OUT, "SWITCH_OUT" },
	{ PERCH_RECORD_SWITCH, PERCH_MISC_SWITCH_OUT_PREEMPT, "SWITCH_OUT_PREEMPT" },
	{ PERCH_RECORD_SWITCH_CPU_WIDE, PERCH_MISC_SWITCH_OUT, "SWITCH_OUT" },
	{ PERCH_RECORD_SWITCH_CPU_WIDE, PERCH_MISC_SWITCH_OUT_PREEMPT, "SWITCH_OUT_PREEMPT" },
	{ PERCH_RECORD_SAMPLE, PERCH_MISC_EXACT_IP, "EXACT_IP" },
	/* written by perf: dropped by a BPF filter */
	{ PERCH_RECORD_LOST_SAMPLES, 1 << 15, "LOST_SAMPLES_BPF" },
	/* written by perf, in its BUILD_ID records */
	{ 67, 1 << 15, "BUILD_ID_SIZE" },
	{ 0, PERCH_MISC_EXT_RESERVED, "EXT_RESERVED" },
};

size_t perch_format_misc(uint32_t type, uint16_t misc, char *text, size_t size)
{
	unsigned int mode = misc & PERCH_MISC_CPUMODE_MASK;
	struct perch__text out;

	perch__text_init(&out, text, size, "|");
	if (mode < PERCH__NR(cpumodes) && cpumodes[mode]) {
		perch__text_add(&out, "%s", cpumodes[mode]);
		misc &= ~PERCH_MISC_CPUMODE_MASK;
	}
	for (size_t i = 0; i < PERCH__NR(misc_bits); i++) {
		if (!(misc & misc_bits[i].bit) || (misc_bits[i].type && misc_bits[i].type != type))
			continue;
		perch__text_add(&out, "%s", misc_bits[i].name);
		misc &= ~misc_bits[i].bit;
	}
	perch__text_add_flags(&out, NULL, 0, misc);
	return out.length;
}

static size_t format_bits(const struct perch__flag *bits, size_t nr, uint64_t value, char *text,
			  size_t size)
{
	struct perch__text out;

	perch__text_init(&out, text, size, "|");
	perch__text_add_flags(&out, bits, nr, value);
	return out.length;
}

size_t perch__format_protection(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const struct perch__flag bits[] = {
		{ PROT_READ, "READ" },
		{ PROT_WRITE, "WRITE" },
		{ PROT_EXEC, "EXEC" },
	};

	(void)arch;
	if (!value)
		return (size_t)snprintf(text, size, "NONE");
	return format_bits(bits, PERCH__NR(bits), value, text, size);
}

/* The numbers depend on the architecture that recorded them. */
size_t perch__format_map_flags(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const struct perch__flag generic[] = {
		{ 0x1, "SHARED" },	  { 0x2, "PRIVATE" },	  { 0x10, "FIXED" },
		{ 0x20, "ANONYMOUS" },	  { 0x100, "GROWSDOWN" }, { 0x800, "DENYWRITE" },
		{ 0x1000, "EXECUTABLE" }, { 0x2000, "LOCKED" },	  { 0x4000, "NORESERVE" },
		{ 0x40000, "HUGETLB" },	  { 0x80000, "SYNC" },
	};
	static const struct perch__flag powerpc[] = {
		{ 0x1, "SHARED" },	{ 0x2, "PRIVATE" },	{ 0x10, "FIXED" },
		{ 0x20, "ANONYMOUS" },	{ 0x40, "NORESERVE" },	{ 0x80, "LOCKED" },
		{ 0x100, "GROWSDOWN" }, { 0x800, "DENYWRITE" }, { 0x1000, "EXECUTABLE" },
		{ 0x40000, "HUGETLB" }, { 0x80000, "SYNC" },
	};
	static const struct perch__flag mips[] = {
		{ 0x1, "SHARED" },	 { 0x2, "PRIVATE" },	   { 0x10, "FIXED" },
		{ 0x400, "NORESERVE" },	 { 0x800, "ANONYMOUS" },   { 0x1000, "GROWSDOWN" },
		{ 0x2000, "DENYWRITE" }, { 0x4000, "EXECUTABLE" }, { 0x8000, "LOCKED" },
		{ 0x80000, "HUGETLB" },
	};

	if (arch == PERCH_ARCH_POWERPC)
		return format_bits(powerpc, PERCH__NR(powerpc), value, text, size);
	if (arch == PERCH_ARCH_MIPS)
		return format_bits(mips, PERCH__NR(mips), value, text, size);
	return format_bits(generic, PERCH__NR(generic), value, text, size);
}

size_t perch_format_aux_flags(uint64_t flags, char *text, size_t size)
{
	static const struct perch__flag bits[] = {
		{ PERCH_AUX_FLAG_TRUNCATED, "TRUNCATED" },
		{ PERCH_AUX_FLAG_OVERWRITE, "OVERWRITE" },
		{ PERCH_AUX_FLAG_PARTIAL, "PARTIAL" },
		{ PERCH_AUX_FLAG_COLLISION, "COLLISION" },
	};
	const uint64_t format = flags & PERCH_AUX_FLAG_PMU_FORMAT_TYPE_MASK;
	struct perch__text out;

	perch__text_init(&out, text, size, "|");
	if (format)
		perch__text_add(&out, "FORMAT_%u", (unsigned int)(format >> 8));
	perch__text_add_flags(&out, bits, PERCH__NR(bits), flags & ~format);
	return out.length;
}

size_t perch__format_aux_flags(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	(void)arch;
	return perch_format_aux_flags(value, text, size);
}

/* Formats the name of a number, or the number in hexadecimal. */
static size_t format_name(const char *const *names, size_t nr, uint64_t value, char *text,
			  size_t size)
{
	int length = value < nr ? snprintf(text, size, "%s", names[value])
				: snprintf(text, size, "0x%llx", (unsigned long long)value);

	return length > 0 ? (size_t)length : 0;
}

size_t perch__format_ksymbol_type(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const char *const types[] = { "UNKNOWN", "BPF", "OOL" };

	(void)arch;
	return format_name(types, PERCH__NR(types), value, text, size);
}

size_t perch__format_ksymbol_flags(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const struct perch__flag bits[] = { { PERCH_RECORD_KSYMBOL_FLAGS_UNREGISTER,
						     "UNREGISTER" } };

	(void)arch;
	return format_bits(bits, PERCH__NR(bits), value, text, size);
}

size_t perch__format_bpf_type(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const char *const types[] = { "UNKNOWN", "PROG_LOAD", "PROG_UNLOAD" };

	(void)arch;
	return format_name(types, PERCH__NR(types), value, text, size);
}

size_t perch__format_abi(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const char *const abis[] = { "NONE", "32-bit", "64-bit" };

	(void)arch;
	return format_name(abis, PERCH__NR(abis), value, text, size);
}

size_t perch__format_namespace(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const char *const kinds[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };

	(void)arch;
	return format_name(kinds, PERCH__NR(kinds), value, text, size);
}

size_t perch__format_context(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const struct {
		uint64_t marker;
		const char *name;
	} contexts[] = {
		{ PERCH_CONTEXT_HV, "HYPERVISOR" },
		{ PERCH_CONTEXT_KERNEL, "KERNEL" },
		{ PERCH_CONTEXT_USER, "USER" },
		{ PERCH_CONTEXT_USER_DEFERRED, "USER_DEFERRED" },
		{ PERCH_CONTEXT_GUEST, "GUEST" },
		{ PERCH_CONTEXT_GUEST_KERNEL, "GUEST_KERNEL" },
		{ PERCH_CONTEXT_GUEST_USER, "GUEST_USER" },
	};
	int length;

	(void)arch;
	for (size_t i = 0; i < PERCH__NR(contexts); i++)
		if (contexts[i].marker == value)
			return format_name(&contexts[i].name, 1, 0, text, size);
	length = snprintf(text, size, "CONTEXT%lld", (long long)value);
	return length > 0 ? (size_t)length : 0;
}

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
