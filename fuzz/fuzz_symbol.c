/* SPDX-License-Identifier: MIT */
/*
 * The input is an ELF file, an image in memory, and a list of kernel symbols.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <perch/symbol.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void look_up_all(struct perch_symbols *symbols, const struct perch_dso *dso, uint64_t base)
{
	const struct perch_symbol *symbol;

	for (uint64_t offset = 0; offset < 1 << 14; offset += 61) {
		symbol = perch_symbols_find(symbols, dso, base + offset);
		if (!symbol)
			continue;
		if (symbol->start > base + offset || symbol->end <= base + offset)
			abort();
		perch_symbols_name(symbols, symbol);
	}
	perch_symbols_dso_name(symbols, dso);
	perch_symbols_error(symbols, dso);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct perch_symbols_options options = { .kallsyms = path };
	struct perch_dso file = { .index = 0, .kind = PERCH_DSO_FILE, .path = path };
	struct perch_dso kernel = { .index = 1,
				    .kind = PERCH_DSO_KERNEL,
				    .path = "[kernel.kallsyms]" };
	struct perch_dso module = { .index = 2, .kind = PERCH_DSO_MODULE, .path = "[fuzz]" };
	struct perch_symbols *symbols;
	uint8_t build_id[20];

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	perch_build_id_of_image(bytes, size, build_id, NULL);
	perch_build_id_of_file(path, build_id, NULL);
	if (!perch_symbols_new(&symbols, &options, NULL)) {
		look_up_all(symbols, &file, 0);
		look_up_all(symbols, &file, (uint64_t)0 - (1 << 13));
		look_up_all(symbols, &kernel, 0xffffffff81000000);
		look_up_all(symbols, &module, 0xffffffffc0000000);
		perch_symbols_free(symbols);
	}
	close(fd);
	return 0;
}
