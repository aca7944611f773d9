/* SPDX-License-Identifier: MIT */
/* Modules of the kernel. */
#include <fcntl.h>
#include <stdio.h>
#include <perch/file.h>

#include "symbol/code.h"

static int load_module(struct perch_symbols *symbols, struct dso_symbols *cached)
{
	struct sources *sources = &symbols->sources;
	const struct perch_dso *dso = cached->dso;
	struct table *table = &cached->table;
	const bool named = sources->kallsyms_path;
	int rc = perch__load_listed_module(table, sources, dso, &cached->error);
	char name[MODULE_NAME_SIZE];

	if (rc)
		return rc;
	if (!table->nr) {
		perch__table_free(table);
		return perch__load_module_file(table, sources, dso, &cached->error, &cached->proof);
	}
	perch__module_name(dso->path, name);
	cached->proof = perch__kernel_proof(
		named, !named && (dso->build_id_size || perch__module_start(name) == dso->start));
	return perch__table_finish(table);
}

static int open_module_file(const struct sources *sources, const struct perch_dso *dso,
			    struct symbol_error *error, struct proof *proof)
{
	struct module_file module;
	int rc = perch__open_module(&module, sources, dso, error), fd;

	if (rc)
		return rc;
	*proof = module.file.proof;
	fd = module.installed;
	module.installed = -1;
	perch__close_module(&module);
	return fd;
}

static int open_debug_of_module(const struct sources *sources, const struct perch_dso *dso)
{
	struct module_file module;
	struct symbol_error ignored;
	struct elf_file debug;
	bool has_file = !perch__open_module(&module, sources, dso, &ignored);
	int fd = -1;

	if (!perch__open_module_debug(&debug, sources, dso, has_file ? &module : NULL, &ignored)) {
		fd = fcntl(debug.elf.fd, F_DUPFD_CLOEXEC, 0);
		perch__elf_close(&debug);
	}
	if (has_file)
		perch__close_module(&module);
	return fd < 0 ? -ENOENT : fd;
}

static bool is_module_file(const char *name)
{
	static const char *const ends[] = { ".ko", ".ko.gz", ".ko.xz", ".ko.zst" };
	size_t length = strlen(name);

	for (size_t i = 0; i < PERCH__NR(ends); i++) {
		size_t end = strlen(ends[i]);

		if (length > end && !strcmp(name + length - end, ends[i]))
			return true;
	}
	return false;
}

/* "[snd_hda_intel]" of its path, or of that name. */
static const char *module_name(const struct dso_symbols *cached, char *buffer, size_t size)
{
	const char *base = perch__base_name(cached->dso->path);

	if (*base == '[' || !is_module_file(base))
		return base;
	snprintf(buffer, size, "[%.*s]", (int)strcspn(base, "."), base);
	for (char *at = buffer; *at; at++)
		if (*at == '-')
			*at = '_';
	return buffer;
}

const struct dso_kind perch__kind_module = {
	.load = load_module,
	.name = module_name,
	.open = open_module_file,
	.open_debug = open_debug_of_module,
	.open_lines = perch__open_debug_lines,
	.code = perch__code_of_kernel,
	.no_file = "no file of the module",
	.recorded = 1 << PERCH_RECORDED_MODULE,
};
