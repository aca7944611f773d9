/* SPDX-License-Identifier: MIT */
/* Records of what was there before the recording began: the kernel, its modules, and running
 * processes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

struct mapping {
	int32_t pid, tid;
	uint64_t start, length, page_offset;
};

/* Bytes of kernel text as the firmware map tells, which is much cheaper to read than all symbols;
 * 0: not told. */
static uint64_t text_length_of_map(void)
{
	uint64_t length = 0;
#ifdef __x86_64__ /* elsewhere the range begins or ends with other symbols */
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
				break; /* hidden from this user */
			*start = address;
			*length = text_length_of_map();
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

static void make_kernel(struct synthesizer *made)
{
	struct mapping mapping = { .pid = -1 };

	if (!find_kernel(&mapping.start, &mapping.length))
		return;
	mapping.page_offset = mapping.start;
	synthesize_record(made, PERCH_RECORD_MMAP, PERCH_MISC_KERNEL, &mapping, sizeof(mapping),
			  "[kernel.kallsyms]_text");
}

static void make_modules(struct synthesizer *made)
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
		synthesize_record(made, PERCH_RECORD_MMAP, PERCH_MISC_KERNEL, &mapping,
				  sizeof(mapping), shown);
	}
	if (file)
		fclose(file);
}

/* The program before its exec: a fork of ours. */
static void make_program(struct synthesizer *made)
{
	uint32_t body[2] = { made->record->program.pid, made->record->program.pid };

	synthesize_record(made, PERCH_RECORD_COMM, PERCH_MISC_USER, body, sizeof(body), "perch");
	if (made->record->flag[RECORD_NAMESPACES])
		synthesize_namespaces(made, made->record->program.pid);
}

int record_synthesize(struct record *record)
{
	struct synthesizer *made = malloc(sizeof(*made));
	int rc;

	if (!made)
		return perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to record with");
	made->record = record;
	made->err = &record->err;
	made->used = 0;
	made->rc = 0;
	synthesize_maps(made);
	if (record->flag[RECORD_CGROUPS])
		synthesize_cgroups(made);
	if (!record->user_only) {
		make_kernel(made);
		make_modules(made);
	}
	if (record->program_argv && !record->system_wide && !record->threads)
		make_program(made);
	if (record->system_wide)
		synthesize_processes(made);
	else if (record->threads)
		synthesize_threads(made, record->threads, record->nr_threads);
	synthesize_flush(made);
	record_sideband_end_synthesized(&record->side);
	rc = made->rc;
	free(made);
	return rc;
}
