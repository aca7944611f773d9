/* SPDX-License-Identifier: MIT */
/* Inputs of fuzz_jitdump: a file of each byte order, with records of all types. */
#include <stdio.h>
#include <stdlib.h>

#include "corpus.h"
#include "jitdump.h"

static void write_functions(const struct jitdump *dump)
{
	static const char code[32] = { 0 };
	const struct jitdump_line lines[] = { { 0x1000, 1, "a.js" },
					      { 0x1008, 2, NULL },
					      { 0x1010, 3, "b.js" } };

	jitdump_header(dump, 62, 1, 0);
	jitdump_lines(dump, 5, 0x1000, lines, 3);
	jitdump_unwinding(dump, 5, code, sizeof(code), 20);
	jitdump_load(dump, 10, 0, 0x1000, "first", code, sizeof(code));
	jitdump_load(dump, 20, 1, 0x1010, "second", code, sizeof(code));
	jitdump_move(dump, 30, 0, 0x1000, 0x1800, sizeof(code));
	jitdump_close(dump, 40);
}

void corpus_write_jitdumps(void)
{
	for (int swapped = 0; swapped < 2; swapped++) {
		char *bytes = NULL;
		size_t size = 0;
		struct jitdump dump = { .file = open_memstream(&bytes, &size),
					.swapped = swapped,
					.pid = 12 };

		if (!dump.file)
			abort();
		write_functions(&dump);
		if (fclose(dump.file))
			abort();
		corpus_write("jitdump", swapped ? "swapped" : "native", bytes, size);
		free(bytes);
	}
}
