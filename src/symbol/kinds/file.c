/* SPDX-License-Identifier: MIT */
/* DSOs that are files which programs map. */
#include <perch/file.h>

#include "symbol/debug_info.h"
#include "symbol/symbols.h"

static int load_file(struct perch_symbols *symbols, struct dso_symbols *cached)
{
	return perch__load_file(&cached->table, &symbols->sources, cached->dso, &cached->error,
				&cached->symtab_error, &cached->proof);
}

static int open_mapped_file(const struct sources *sources, const struct perch_dso *dso,
			    struct symbol_error *error, struct proof *proof)
{
	struct elf_file file = { .elf.fd = -1 };
	int rc = perch__open_file(&file, sources, dso, error), fd;

	*proof = file.proof;
	if (rc)
		return rc;
	fd = file.elf.fd;
	file.elf.fd = -1;
	perch__elf_close(&file);
	return fd;
}

void perch__open_debug_lines(const struct sources *sources, struct dso_symbols *cached)
{
	cached->debug = perch__debug_open(sources, cached->dso);
}

const struct dso_kind perch__kind_file = {
	.load = load_file,
	.open = open_mapped_file,
	.open_debug = perch__open_debug_of,
	.open_lines = perch__open_debug_lines,
	.recorded = 1 << PERCH_RECORDED_ELF | 1 << PERCH_RECORDED_DEX,
};
