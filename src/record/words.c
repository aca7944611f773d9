/* SPDX-License-Identifier: MIT */
/* What bits mean in words: misc, flags and kinds of records. */
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "fields.h"

void perch__words_init(struct perch__words *words, char *text, size_t size, const char *between)
{
	*words = (struct perch__words){ .text = text, .size = size, .between = between };
	if (size)
		text[0] = '\0';
}

void perch__add_word(struct perch__words *words, const char *format, ...)
{
	const char *between = words->length ? words->between : "";
	char word[PERCH__WORDS_BYTES];
	va_list args;
	size_t room = words->length < words->size ? words->size - words->length : 0;
	int length;

	va_start(args, format);
	vsnprintf(word, sizeof(word), format, args);
	va_end(args);
	length = snprintf(room ? words->text + words->length : NULL, room, "%s%s", between, word);
	words->length += length > 0 ? (size_t)length : 0;
}

void perch__add_bits(struct perch__words *words, const struct perch__bit *bits, size_t nr,
		     uint64_t value)
{
	for (size_t i = 0; i < nr; i++) {
		if (!(value & bits[i].bit))
			continue;
		perch__add_word(words, "%s", bits[i].word);
		value &= ~bits[i].bit;
	}
	if (value)
		perch__add_word(words, "0x%llx", (unsigned long long)value);
}

static const char *const cpumodes[] = { NULL,	      "KERNEL",	      "USER",
					"HYPERVISOR", "GUEST_KERNEL", "GUEST_USER" };

/* A bit of misc has another meaning in each record; in those of type 0 of the table, the same in
 * all others. */
static const struct {
	uint32_t type;
	uint16_t bit;
	const char *word;
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
	/* written by perf: a filter dropped them */
	{ PERCH_RECORD_LOST_SAMPLES, 1 << 15, "LOST_SAMPLES_BPF" },
	/* written by perf, in its BUILD_ID records */
	{ 67, 1 << 15, "BUILD_ID_SIZE" },
	{ 0, PERCH_MISC_EXT_RESERVED, "EXT_RESERVED" },
};

size_t perch_format_misc(uint32_t type, uint16_t misc, char *text, size_t size)
{
	unsigned int mode = misc & PERCH_MISC_CPUMODE_MASK;
	struct perch__words words;

	perch__words_init(&words, text, size, "|");
	if (mode < PERCH__NR(cpumodes) && cpumodes[mode]) {
		perch__add_word(&words, "%s", cpumodes[mode]);
		misc &= ~PERCH_MISC_CPUMODE_MASK;
	}
	for (size_t i = 0; i < PERCH__NR(misc_bits); i++) {
		if (!(misc & misc_bits[i].bit) || (misc_bits[i].type && misc_bits[i].type != type))
			continue;
		perch__add_word(&words, "%s", misc_bits[i].word);
		misc &= ~misc_bits[i].bit;
	}
	perch__add_bits(&words, NULL, 0, misc);
	return words.length;
}

static size_t bit_words(const struct perch__bit *bits, size_t nr, uint64_t value, char *text,
			size_t size)
{
	struct perch__words words;

	perch__words_init(&words, text, size, "|");
	perch__add_bits(&words, bits, nr, value);
	return words.length;
}

size_t perch__words_protection(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const struct perch__bit bits[] = {
		{ PROT_READ, "READ" },
		{ PROT_WRITE, "WRITE" },
		{ PROT_EXEC, "EXEC" },
	};

	(void)arch;
	if (!value)
		return (size_t)snprintf(text, size, "NONE");
	return bit_words(bits, PERCH__NR(bits), value, text, size);
}

/* As the recording machine numbers them: three sets of numbers are in use. */
size_t perch__words_map_flags(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const struct perch__bit generic[] = {
		{ 0x1, "SHARED" },	  { 0x2, "PRIVATE" },	  { 0x10, "FIXED" },
		{ 0x20, "ANONYMOUS" },	  { 0x100, "GROWSDOWN" }, { 0x800, "DENYWRITE" },
		{ 0x1000, "EXECUTABLE" }, { 0x2000, "LOCKED" },	  { 0x4000, "NORESERVE" },
		{ 0x40000, "HUGETLB" },	  { 0x80000, "SYNC" },
	};
	static const struct perch__bit powerpc[] = {
		{ 0x1, "SHARED" },	{ 0x2, "PRIVATE" },	{ 0x10, "FIXED" },
		{ 0x20, "ANONYMOUS" },	{ 0x40, "NORESERVE" },	{ 0x80, "LOCKED" },
		{ 0x100, "GROWSDOWN" }, { 0x800, "DENYWRITE" }, { 0x1000, "EXECUTABLE" },
		{ 0x40000, "HUGETLB" }, { 0x80000, "SYNC" },
	};
	static const struct perch__bit mips[] = {
		{ 0x1, "SHARED" },	 { 0x2, "PRIVATE" },	   { 0x10, "FIXED" },
		{ 0x400, "NORESERVE" },	 { 0x800, "ANONYMOUS" },   { 0x1000, "GROWSDOWN" },
		{ 0x2000, "DENYWRITE" }, { 0x4000, "EXECUTABLE" }, { 0x8000, "LOCKED" },
		{ 0x80000, "HUGETLB" },
	};

	if (arch == PERCH_ARCH_POWERPC)
		return bit_words(powerpc, PERCH__NR(powerpc), value, text, size);
	if (arch == PERCH_ARCH_MIPS)
		return bit_words(mips, PERCH__NR(mips), value, text, size);
	return bit_words(generic, PERCH__NR(generic), value, text, size);
}

size_t perch_format_aux_flags(uint64_t flags, char *text, size_t size)
{
	static const struct perch__bit bits[] = {
		{ PERCH_AUX_FLAG_TRUNCATED, "TRUNCATED" },
		{ PERCH_AUX_FLAG_OVERWRITE, "OVERWRITE" },
		{ PERCH_AUX_FLAG_PARTIAL, "PARTIAL" },
		{ PERCH_AUX_FLAG_COLLISION, "COLLISION" },
	};
	const uint64_t format = flags & PERCH_AUX_FLAG_PMU_FORMAT_TYPE_MASK;
	struct perch__words words;

	perch__words_init(&words, text, size, "|");
	if (format)
		perch__add_word(&words, "FORMAT_%u", (unsigned int)(format >> 8));
	perch__add_bits(&words, bits, PERCH__NR(bits), flags & ~format);
	return words.length;
}

size_t perch__words_aux_flags(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	(void)arch;
	return perch_format_aux_flags(value, text, size);
}

/* The word of that number, or the number. */
static size_t numbered(const char *const *words, size_t nr, uint64_t value, char *text, size_t size)
{
	int length = value < nr ? snprintf(text, size, "%s", words[value])
				: snprintf(text, size, "0x%llx", (unsigned long long)value);

	return length > 0 ? (size_t)length : 0;
}

size_t perch__words_ksymbol_type(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const char *const types[] = { "UNKNOWN", "BPF", "OOL" };

	(void)arch;
	return numbered(types, PERCH__NR(types), value, text, size);
}

size_t perch__words_ksymbol_flags(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const struct perch__bit bits[] = { { PERCH_RECORD_KSYMBOL_FLAGS_UNREGISTER,
						    "UNREGISTER" } };

	(void)arch;
	return bit_words(bits, PERCH__NR(bits), value, text, size);
}

size_t perch__words_bpf_type(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const char *const types[] = { "UNKNOWN", "PROG_LOAD", "PROG_UNLOAD" };

	(void)arch;
	return numbered(types, PERCH__NR(types), value, text, size);
}

size_t perch__words_abi(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const char *const abis[] = { "NONE", "32-bit", "64-bit" };

	(void)arch;
	return numbered(abis, PERCH__NR(abis), value, text, size);
}

size_t perch__words_namespace(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const char *const kinds[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };

	(void)arch;
	return numbered(kinds, PERCH__NR(kinds), value, text, size);
}

size_t perch__words_context(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	static const struct {
		uint64_t marker;
		const char *word;
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
			return numbered(&contexts[i].word, 1, 0, text, size);
	length = snprintf(text, size, "CONTEXT%lld", (long long)value);
	return length > 0 ? (size_t)length : 0;
}
