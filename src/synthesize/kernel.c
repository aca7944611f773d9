/* SPDX-License-Identifier: MIT */
/* The kernel and its modules. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/no_memory.h"
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

/* ---- modules ---- */

enum { MAX_MODULES = 1 << 16 };

struct module {
	char name[64];
	uint64_t start, size;
	char *path; /* of its file; NULL if unknown */
};

struct modules {
	struct module *module;
	size_t nr, capacity;
};

/* A line is "name size references users state address". */
static int take_module(struct perch__batch *batch, struct modules *modules)
{
	struct module *module = PERCH__ARRAY_APPEND_MAX(modules->module, modules->nr,
							modules->capacity, MAX_MODULES);
	unsigned long long size, start;

	if (!module)
		return -ENOMEM;
	*module = (struct module){ 0 };
	if (sscanf(batch->line, "%63s %llu %*s %*s %*s %llx", module->name, &size, &start) != 3) {
		batch->counts.skipped++;
		modules->nr--;
	} else if (!start) {
		batch->counts.denied++;
		modules->nr--;
	} else {
		module->start = start;
		module->size = size;
	}
	return 0;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct module *)left)->name, ((const struct module *)right)->name);
}

static int by_start(const void *left, const void *right)
{
	const struct module *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Sets the name of the module that is in a file. */
static void name_of_file(const char *path, struct module *module)
{
	const char *base = strrchr(path, '/');
	size_t length;

	base = base ? base + 1 : path;
	length = strcspn(base, ".");
	if (length >= sizeof(module->name))
		length = sizeof(module->name) - 1;
	for (size_t i = 0; i < length; i++)
		module->name[i] = base[i] == '-' ? '_' : base[i];
	module->name[length] = 0;
}

/*
 * Finds the paths of the files: lines "PATH: PATHS" in modules.dep, relative to its directory. The
 * modules are sorted by name.
 */
static void find_paths(struct perch__batch *batch, struct modules *modules)
{
	struct perch_release release;
	char directory[64 + sizeof(release.text)], path[PATH_MAX];
	struct module wanted, *found;
	FILE *list;

	if (!modules->nr || perch_machine_release(batch->machine, &release, NULL) < 0)
		return;
	snprintf(directory, sizeof(directory), "/lib/modules/%s/", release.text);
	snprintf(path, sizeof(path), "%smodules.dep", directory);
	list = perch__batch_open_stream(batch, path);
	while (list && perch__batch_next_line(batch, list)) {
		char *colon = strchr(batch->line, ':');

		if (!colon)
			continue;
		*colon = 0;
		name_of_file(batch->line, &wanted);
		found = bsearch(&wanted, modules->module, modules->nr, sizeof(wanted), by_name);
		if (found && !found->path &&
		    snprintf(path, sizeof(path), "%s%s", *batch->line == '/' ? "" : directory,
			     batch->line) < (int)sizeof(path))
			found->path = strdup(path);
	}
	if (list)
		fclose(list);
}

static void add_module(struct perch__batch *batch, const struct module *module)
{
	char shown[sizeof(module->name) + 2];

	snprintf(shown, sizeof(shown), "[%s]", module->name);
	add_mapping(batch, module->start, module->size, 0, module->path ? module->path : shown);
}

int perch__add_modules(struct perch__batch *batch)
{
	FILE *file = perch__batch_open_stream(batch, "/proc/modules");
	struct modules modules = { 0 };
	int rc = 0;

	if (!file && errno == ENOENT)
		return 0; /* a kernel without modules */
	if (!file)
		return perch_error_set(batch->err, errno, PERCH_ERROR_FILE,
				       "/proc/modules cannot be read: %s", strerror(errno));
	while (!rc && perch__batch_next_line(batch, file))
		rc = take_module(batch, &modules);
	fclose(file);
	if (rc)
		PERCH__NO_MEMORY(batch->err, "for the modules of the kernel");
	if (modules.nr) {
		qsort(modules.module, modules.nr, sizeof(*modules.module), by_name);
		find_paths(batch, &modules);
		qsort(modules.module, modules.nr, sizeof(*modules.module), by_start);
	}
	for (size_t i = 0; i < modules.nr; i++) {
		if (!batch->rc && !rc)
			add_module(batch, &modules.module[i]);
		free(modules.module[i].path);
	}
	free(modules.module);
	return rc;
}
