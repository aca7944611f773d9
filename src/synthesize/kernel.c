/* SPDX-License-Identifier: MIT */
/* The kernel and its modules. */
#include <string.h>

#include "internal.h"

struct kernel_mapping {
	int32_t pid, tid;
	uint64_t start, length, page_offset;
};

static void add_mapping(struct perch__batch *batch, uint64_t start, uint64_t length,
			uint64_t page_offset, const char *name)
{
	const struct kernel_mapping body = { -1, 0, start, length, page_offset };

	perch__batch_add(batch, PERCH_RECORD_MMAP, PERCH_MISC_KERNEL, &body, sizeof(body), name);
}

/*
 * Returns the size of the kernel's code by /proc/iomem, which is much shorter than /proc/kallsyms,
 * or 0 if it has no such line.
 */
static uint64_t kernel_code_size(struct perch__batch *batch)
{
	uint64_t length = 0;
#ifdef __x86_64__ /* on other architectures the range is not that of _text to _etext */
	FILE *file = perch__batch_open_stream(batch, "/proc/iomem");
	unsigned long long start, end;

	while (file && !length && perch__batch_next_line(batch, file))
		if (strstr(batch->line, ": Kernel code") &&
		    sscanf(batch->line, " %llx-%llx", &start, &end) == 2 && end > start)
			length = end - start + 1;
	if (file)
		fclose(file);
#else
	(void)batch;
#endif
	return length;
}

/* Finds the range of the code. *start is 0 if the addresses are hidden. Returns 0, or ENOENT if a
 * symbol is missing. */
static int find_kernel(struct perch__batch *batch, FILE *symbols, uint64_t *start, uint64_t *length)
{
	unsigned long long address;
	char type, name[256];

	*start = *length = 0;
	while (perch__batch_next_line(batch, symbols)) {
		if (sscanf(batch->line, "%llx %c %255s", &address, &type, name) != 3)
			continue;
		if (!*start && !strcmp(name, "_text")) {
			*start = address;
			*length = address ? kernel_code_size(batch) : 0;
			if (!address || *length)
				return 0;
		} else if (*start && !strcmp(name, "_etext") && address > *start) {
			*length = address - *start;
			return 0;
		}
	}
	return ENOENT;
}

/* The kernel shows addresses to users with CAP_SYSLOG if kptr_restrict is 0 or 1, to others if it
 * is 0 and they may profile the kernel. */
static int hidden(struct perch__batch *batch)
{
	const char *restrict_name = perch_sysctl_name(PERCH_SYSCTL_KPTR_RESTRICT);
	const char *paranoid_name = perch_sysctl_name(PERCH_SYSCTL_PARANOID);
	long restricted = 0, paranoid = 0;

	perch_machine_sysctl(batch->machine, PERCH_SYSCTL_KPTR_RESTRICT, &restricted, NULL);
	perch_machine_sysctl(batch->machine, PERCH_SYSCTL_PARANOID, &paranoid, NULL);
	if (restricted) {
		perch_error_set(batch->err, EACCES, PERCH_ERROR_PRIVILEGE,
				"kernel addresses in /proc/kallsyms are hidden: %s is %ld",
				restrict_name, restricted);
		perch_error_remedy(batch->err, "%sas root: sysctl %s=%d",
				   restricted == 1 ? "run with CAP_SYSLOG, or " : "", restrict_name,
				   restricted == 1 ? 0 : 1);
	} else {
		perch_error_set(batch->err, EACCES, PERCH_ERROR_PRIVILEGE,
				"kernel addresses in /proc/kallsyms are hidden: without CAP_SYSLOG "
				"they need %s <= 1 (currently %ld)",
				paranoid_name, paranoid);
		perch_error_remedy(batch->err, "run with CAP_SYSLOG, or as root: sysctl %s=1",
				   paranoid_name);
	}
	return -EACCES;
}

int perch__add_kernel(struct perch__batch *batch)
{
	FILE *symbols = perch__batch_open_stream(batch, "/proc/kallsyms");
	uint64_t start = 0, length = 0;
	int errnum = symbols ? 0 : errno;

	if (symbols) {
		errnum = find_kernel(batch, symbols, &start, &length);
		fclose(symbols);
	}
	if (errnum)
		return perch_error_set(batch->err, errnum, PERCH_ERROR_FILE,
				       symbols ? "/proc/kallsyms lacks _text or _etext"
					       : "/proc/kallsyms cannot be read: %s",
				       strerror(errnum));
	if (!start)
		return hidden(batch);
	add_mapping(batch, start, length, start, "[kernel.kallsyms]_text");
	return 0;
}

/* A line is "name size references users state address". */
static void add_module(struct perch__batch *batch)
{
	unsigned long long size, start;
	char name[128], shown[132];

	if (sscanf(batch->line, "%127s %llu %*s %*s %*s %llx", name, &size, &start) != 3) {
		batch->counts.skipped++;
		return;
	}
	if (!start) {
		batch->counts.denied++;
		return;
	}
	snprintf(shown, sizeof(shown), "[%s]", name);
	add_mapping(batch, start, size, 0, shown);
}

int perch__add_modules(struct perch__batch *batch)
{
	FILE *file = perch__batch_open_stream(batch, "/proc/modules");

	if (!file && errno == ENOENT)
		return 0; /* a kernel without modules */
	if (!file)
		return perch_error_set(batch->err, errno, PERCH_ERROR_FILE,
				       "/proc/modules cannot be read: %s", strerror(errno));
	while (!batch->rc && perch__batch_next_line(batch, file))
		add_module(batch);
	fclose(file);
	return 0;
}
