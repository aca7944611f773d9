/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <stdio.h>

#include "synthesize.h"

int synthesize_flush(struct synthesizer *synthesizer)
{
	if (!synthesizer->rc && synthesizer->used)
		synthesizer->rc = synthesizer->sink(synthesizer->context, synthesizer->bytes,
						    synthesizer->used, synthesizer->err);
	synthesizer->used = 0;
	return synthesizer->rc;
}

/*
 * Makes space for a record, zeroed. Returns NULL after a failure, or if the size exceeds that of
 * any record.
 */
static char *reserve(struct synthesizer *synthesizer, size_t size)
{
	char *record;

	if (synthesizer->rc || size > UINT16_MAX)
		return NULL;
	if (synthesizer->used + size > sizeof(synthesizer->bytes))
		synthesize_flush(synthesizer);
	record = (char *)synthesizer->bytes + synthesizer->used;
	memset(record, 0, size);
	synthesizer->used += size;
	return record;
}

void synthesize_record(struct synthesizer *synthesizer, uint32_t type, uint16_t misc,
		       const void *body, size_t size, const char *name)
{
	size_t length = name ? strlen(name) : 0;
	size_t padded = name ? (length + 8) & ~(size_t)7 : 0;
	struct perch_record_header header = { type, misc, 0 };
	size_t all = sizeof(header) + size + padded + synthesizer->id_size;
	char *to = reserve(synthesizer, all);

	if (!to)
		return;
	header.size = (uint16_t)all;
	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), body, size);
	if (name)
		memcpy(to + sizeof(header) + size, name, length);
}

void synthesize_plain(struct synthesizer *synthesizer, uint32_t type, const void *body, size_t size)
{
	struct perch_record_header header = { type, 0, (uint16_t)(sizeof(header) + size) };
	char *to = reserve(synthesizer, sizeof(header) + size);

	if (!to)
		return;
	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), body, size);
}

struct mapping {
	int32_t pid, tid;
	uint64_t start, length, page_offset;
};

/*
 * Returns the size of the kernel's code by /proc/iomem, which is much shorter than /proc/kallsyms,
 * or 0 if it has no such line.
 */
static uint64_t kernel_code_size(void)
{
	uint64_t length = 0;
#ifdef __x86_64__ /* on other architectures the range is not that of _text to _etext */
	FILE *file = fopen("/proc/iomem", "re");
	unsigned long long start, end;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, ": Kernel code") &&
		    sscanf(line, " %llx-%llx", &start, &end) == 2 && end > start) {
			length = end - start + 1;
			break;
		}
	if (file)
		fclose(file);
#endif
	return length;
}

static bool find_kernel(uint64_t *start, uint64_t *length)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address;
	char line[512], name[256];
	char type;

	*start = *length = 0;
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %c %255s", &address, &type, name) != 3)
			continue;
		if (!*start && !strcmp(name, "_text")) {
			if (!address)
				break; /* kernel.kptr_restrict hides addresses */
			*start = address;
			*length = kernel_code_size();
		} else if (*start && !strcmp(name, "_etext") && address > *start) {
			*length = address - *start;
		}
		if (*length)
			break;
	}
	if (file)
		fclose(file);
	return *length;
}

void synthesize_kernel(struct synthesizer *synthesizer)
{
	struct mapping mapping = { .pid = -1 };

	if (!find_kernel(&mapping.start, &mapping.length))
		return;
	mapping.page_offset = mapping.start;
	synthesize_record(synthesizer, PERCH_RECORD_MMAP, PERCH_MISC_KERNEL, &mapping,
			  sizeof(mapping), "[kernel.kallsyms]_text");
}

void synthesize_modules(struct synthesizer *synthesizer)
{
	FILE *file = fopen("/proc/modules", "re");
	unsigned long long size, start;
	char line[4096], name[128], shown[132];

	while (file && fgets(line, sizeof(line), file)) {
		struct mapping mapping = { .pid = -1 };

		if (sscanf(line, "%127s %llu %*s %*s %*s %llx", name, &size, &start) != 3 || !start)
			continue;
		mapping.start = start;
		mapping.length = size;
		snprintf(shown, sizeof(shown), "[%s]", name);
		synthesize_record(synthesizer, PERCH_RECORD_MMAP, PERCH_MISC_KERNEL, &mapping,
				  sizeof(mapping), shown);
	}
	if (file)
		fclose(file);
}
