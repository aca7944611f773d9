/* SPDX-License-Identifier: MIT */
/*
 * The input is the map file of a JIT compiler.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <perch/symbol.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char root[] = "/tmp/perch-fuzz-XXXXXX";
static char path[64];

static void remove_files(void)
{
	char directory[64];

	unlink(path);
	snprintf(directory, sizeof(directory), "%s/tmp", root);
	rmdir(directory);
	rmdir(root);
}

static void make_files(void)
{
	if (path[0])
		return;
	if (!mkdtemp(root))
		abort();
	snprintf(path, sizeof(path), "%s/tmp", root);
	if (mkdir(path, 0700))
		abort();
	snprintf(path, sizeof(path), "%s/tmp/perf-12.map", root);
	atexit(remove_files);
}

static void look_up(struct perch_symbols *symbols, const struct perch_dso *dso, uint64_t address)
{
	const struct perch_symbol *symbol = perch_symbols_find(symbols, dso, address);

	if (!symbol)
		return;
	if (symbol->start > address || symbol->end <= address)
		abort();
	perch_symbols_name(symbols, symbol);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct perch_symbols_options options = { .root = root };
	struct perch_dso dso = { .kind = PERCH_DSO_ANON, .path = "/tmp/perf-12.map" };
	struct perch_symbols *symbols;
	FILE *file;

	make_files();
	file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		abort();
	if (perch_symbols_new(&symbols, &options, NULL))
		return 0;
	for (uint64_t address = 0; address < 1 << 12; address += 7)
		look_up(symbols, &dso, address);
	look_up(symbols, &dso, UINT64_MAX);
	perch_symbols_damaged_lines(symbols, &dso);
	perch_symbols_error(symbols, &dso);
	perch_symbols_free(symbols);
	return 0;
}
