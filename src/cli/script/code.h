/* SPDX-License-Identifier: MIT */
/* The code of binaries, split into instructions, and source files. They are read once. */
#ifndef PERCH_CLI_SCRIPT_CODE_H
#define PERCH_CLI_SCRIPT_CODE_H

#include <perch/source.h>

#include "base/hash_table.h"
#include "script.h"

#define SCRIPT_MAX_INSTRUCTION 16  /* bytes */
#define SCRIPT_CODE_THREADS    256 /* whose last source line is remembered */

/* An instruction as text, for the assembler. */
struct script_assembly {
	char *text; /* without the target, which is the last operand; NULL: out of memory */
	uint64_t target;
	bool has_target; /* a jump or a call */
};

/* Instructions one after the other. */
struct script_block {
	const struct perch_dso *dso;
	uint64_t offset;
	uint64_t address; /* in memory, of blocks with text; else 0 */
	uint32_t size;	  /* that was asked for */
	bool with_text;
	uint32_t nr; /* of instructions; the bytes after the last one are none */
	uint32_t nr_bytes;
	uint8_t *bytes;
	uint8_t *length;		  /* of each, with SCRIPT_LEAVES */
	struct script_assembly *assembly; /* of each; NULL without text */
};

/* in a length: a jump, call or return, after which the next instruction is not executed */
#define SCRIPT_LEAVES 0x80u

struct script_code {
	struct script_block *block;
	size_t nr, capacity;
	struct perch__hash_table by_offset; /* -> block */
	size_t bytes;			    /* of all blocks */
	uint64_t missing;		    /* how often code was not found */
	char *reason;			    /* why, the first time; NULL: out of memory */
	struct perch_sources *sources;
	struct script_last_line {
		uint32_t tid, line;
		const char *file;
	} last_line[SCRIPT_CODE_THREADS];
};

/* Returns script->code, or NULL if out of memory. */
struct script_code *script_code_of(struct script *script);

/*
 * Returns the instructions that begin in wanted->size bytes from wanted->offset of wanted->dso on,
 * with_text as text for the memory of the process, where they are at wanted->address. Valid until
 * the next call; NULL: out of memory.
 */
const struct script_block *script_find_block(struct script *script,
					     const struct script_block *wanted);

#endif
