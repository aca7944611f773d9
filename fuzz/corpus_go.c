/* SPDX-License-Identifier: MIT */
/* Inputs of fuzz_symbol: a stripped program in Go of each version of the function table. */
#include <stdio.h>

#include "corpus.h"
#include "go_program.h"

void corpus_write_go_programs(void)
{
	static const int versions[] = { 2, 16, 18, 20 };
	static struct go_program program;
	char name[32];

	for (unsigned i = 0; i < 16; i++) {
		const struct go_shape shape = { .version = versions[i & 3],
						.wide = i & 4,
						.big = !(i & 4) && (i & 1),
						.relocated = (i & 4) && (i & 1),
						.no_sections = i & 8 };

		go_make_program(&program, &shape);
		snprintf(name, sizeof(name), "go-%u", i);
		corpus_write("elf", name, program.bytes, sizeof(program.bytes));
	}
}
