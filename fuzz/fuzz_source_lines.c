/* SPDX-License-Identifier: MIT */
/*
 * The input is an ELF file with debug information, whose inlined functions and lines are looked up.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <perch/symbol.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void look_up_all(struct perch_symbols *symbols, const struct perch_dso *dso)
{
	for (uint64_t offset = 0; offset < 1 << 14; offset += 37) {
		const struct perch_symbol_frame *frame;
		int nr = perch_symbols_frames(symbols, dso, offset, &frame);

		if (nr < 1)
			abort();
		for (int i = 0; i < nr; i++) {
			if (frame[i].symbol && frame[i].symbol->inlined != (i + 1 < nr))
				abort();
			if (frame[i].symbol)
				perch_symbols_name(symbols, frame[i].symbol);
			if (frame[i].line && !frame[i].file)
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct perch_dso file = { .kind = PERCH_DSO_FILE, .path = path };
	struct perch_symbols *symbols;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!perch_symbols_new(&symbols, NULL, NULL)) {
		if (size % 2) /* by a thread */
			perch_symbols_start_debug_info(symbols, &file);
		look_up_all(symbols, &file);
		perch_symbols_free(symbols);
	}
	close(fd);
	return 0;
}
