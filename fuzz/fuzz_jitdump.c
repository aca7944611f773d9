/* SPDX-License-Identifier: MIT */
/*
 * The input is a jitdump file.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <perch/jitdump.h>
#include <perch/symbol.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char root[] = "/tmp/perch-fuzz-XXXXXX";
static char path[64];

static void remove_files(void)
{
	unlink(path);
	rmdir(root);
}

static void make_files(void)
{
	if (path[0])
		return;
	if (!mkdtemp(root))
		abort();
	snprintf(path, sizeof(path), "%s/jit-12.dump", root);
	atexit(remove_files);
}

static void look_up(struct perch_processes *processes, struct perch_symbols *symbols,
		    struct perch_thread *thread, uint64_t address)
{
	const struct perch_symbol_frame *frames;
	struct perch_jit_function function;
	struct perch_location location;
	const struct perch_symbol *symbol;
	void *eh_frame;
	size_t size;
	bool swapped;

	perch_processes_resolve(processes, thread, PERCH_MISC_USER, address, &location);
	if (location.dso->kind != PERCH_DSO_JIT)
		return;
	symbol = perch_symbols_find(symbols, location.dso, location.offset);
	if (!symbol || symbol->start > location.offset || symbol->end <= location.offset ||
	    perch_jitdump_find(location.dso->jitdump, location.offset, &function) ||
	    strcmp(function.name, symbol->name))
		abort();
	perch_symbols_name(symbols, symbol);
	if (!perch_jitdump_read_eh_frame(location.dso->jitdump, location.offset, &function,
					 &eh_frame, &size, &swapped) &&
	    !size)
		abort();
	free(eh_frame);
	perch_symbols_frames(symbols, location.dso, location.offset, &frames);
}

static void look_up_all(struct perch_processes *processes)
{
	struct perch_thread *thread = perch_processes_thread(processes, 12, 12);
	struct perch_symbols *symbols;

	if (!thread || perch_symbols_new(&symbols, NULL, NULL))
		return;
	for (unsigned bits = 0; bits < 64; bits += 3) {
		if (perch_processes_advance(processes, (1ull << bits) - 1))
			break;
		for (uint64_t address = 0; address < 1 << 13; address += 61)
			look_up(processes, symbols, thread, address);
		look_up(processes, symbols, thread, UINT64_MAX - 100);
	}
	perch_symbols_free(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct perch_jitdump_options options = { .root = root };
	struct perch_record record = {
		.type = PERCH_RECORD_MMAP2,
		.misc = PERCH_MISC_USER,
		.mmap = { .pid = 12,
			  .tid = 12,
			  .start = 1 << 20,
			  .length = 4096,
			  .filename = { "/jit-12.dump", strlen("/jit-12.dump") } },
	};
	struct perch_processes *processes;
	FILE *file;

	make_files();
	file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		abort();
	if (perch_processes_new(&processes, NULL))
		return 0;
	if (!perch_processes_use_jitdump(processes, &options, NULL) &&
	    !perch_processes_apply(processes, &record))
		look_up_all(processes);
	perch_processes_free(processes);
	return 0;
}
