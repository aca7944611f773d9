/* SPDX-License-Identifier: MIT */
/* The code of binaries, split into instructions. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/disassembler.h>

#include "base/array.h"
#include "code.h"
#include "messages.h"
#include "put.h"

#define MAX_STORED (64u << 20) /* bytes of all blocks: then they are read again */

struct script_code *script_code_of(struct script *script)
{
	const struct perch_sources_options sources = { .root = script->input.options.symbols.root };

	if (script->code)
		return script->code;
	script->code = calloc(1, sizeof(*script->code));
	if (!script->code || perch_sources_new(&script->code->sources, &sources, NULL)) {
		script_code_free(script->code);
		return script->code = NULL;
	}
	script->code->by_offset.seed = perch__hash_seed(script);
	return script->code;
}

static void clear_block(struct script_block *block)
{
	for (uint32_t i = 0; block->assembly && i < block->nr; i++)
		free(block->assembly[i].text);
	free(block->assembly);
	free(block->bytes);
	free(block->length);
}

static void clear_blocks(struct script_code *code)
{
	for (size_t i = 0; i < code->nr; i++)
		clear_block(&code->block[i]);
	perch__hash_clear(&code->by_offset);
	code->nr = code->bytes = 0;
}

void script_code_free(struct script_code *code)
{
	if (!code)
		return;
	clear_blocks(code);
	free(code->block);
	free(code->reason);
	perch_sources_free(code->sources);
	free(code);
}

void script_code_print_notes(const struct script_code *code)
{
	struct perch_sources_stats sources;

	if (!code)
		return;
	perch_sources_get_stats(code->sources, &sources);
	if (code->missing)
		cli_note(SCRIPT_COMMAND,
			 "the instructions of %llu %s are missing; the first one: %s",
			 (unsigned long long)code->missing,
			 cli_word(code->missing, "address", "addresses"),
			 code->reason ? code->reason : "out of memory");
	if (sources.missing)
		cli_note(SCRIPT_COMMAND, "%zu source %s missing; the first one: %s",
			 sources.missing, cli_word(sources.missing, "file is", "files are"),
			 sources.missing_path);
	if (sources.newer)
		cli_note(SCRIPT_COMMAND, "%zu source %s newer than the binary; the first one: %s",
			 sources.newer, cli_word(sources.newer, "file is", "files are"),
			 sources.newer_path);
}

/* ---- blocks ---- */

/* True if what follows in memory is not what is executed next. */
static bool leaves(const struct perch_instruction *instruction)
{
	return instruction->flow == PERCH_FLOW_CALL || perch_instruction_ends_run(instruction);
}

static void note_missing(struct script_code *code, const struct perch_error *err)
{
	if (!code->missing && asprintf(&code->reason, "%s%s%s", err->message,
				       err->remedy[0] ? ". " : "", err->remedy) < 0)
		code->reason = NULL;
	code->missing++;
}

/* Instructions are read where they are in memory: their targets are addresses of the process. */
static void move_code(struct perch_code *code, uint64_t address)
{
	uint64_t distance = address - code->address;

	code->address += distance;
	for (size_t i = 0; i < code->nr_parts; i++)
		code->part[i].address += distance;
}

/* Returns the bytes that the text takes, or 0 if out of memory. */
static size_t set_text(struct script_assembly *assembly,
		       const struct perch_instruction *instruction)
{
	bool operands = instruction->operands[0] || instruction->has_target;
	size_t size = strlen(instruction->mnemonic) + 2 * strlen(instruction->operands) + 2;
	char *to = malloc(size);

	*assembly = (struct script_assembly){ .text = to,
					      .target = instruction->target,
					      .has_target = instruction->has_target };
	if (!to)
		return 0;
	to = put_text(to, instruction->mnemonic);
	if (operands)
		*to++ = ' ';
	/* a space after each comma, on all architectures */
	for (const char *at = instruction->operands; *at; at++) {
		*to++ = *at;
		if (*at == ',' && at[1] && at[1] != ' ')
			*to++ = ' ';
	}
	*to = 0;
	return size;
}

static int add_instruction(struct script_code *owner, struct script_block *block,
			   const struct perch_instruction *instruction)
{
	block->length[block->nr] =
		(uint8_t)(instruction->size | (leaves(instruction) ? SCRIPT_LEAVES : 0));
	if (block->assembly) {
		size_t size = set_text(&block->assembly[block->nr], instruction);

		if (!size)
			return -ENOMEM;
		owner->bytes += size;
	}
	block->nr++;
	return 0;
}

/* Finds the instructions in the bytes. Returns 0 or a negative errno. */
static int decode(struct script_code *owner, struct script_block *block,
		  const struct perch_code *code, struct perch_error *err)
{
	struct perch_disassembler *disassembler;
	struct perch_instruction instruction;
	uint32_t at = 0;
	int rc = perch_disassembler_new(&disassembler, code, false, err);

	if (rc)
		return rc;
	while (!rc && at < block->size && perch_disassembler_next(disassembler, &instruction) &&
	       (!instruction.undecoded || instruction.vector) && !instruction.data &&
	       instruction.size <= SCRIPT_MAX_INSTRUCTION) {
		rc = add_instruction(owner, block, &instruction);
		at += (uint32_t)instruction.size;
	}
	perch_disassembler_free(disassembler);
	return rc;
}

static int allocate(struct script_code *owner, struct script_block *block)
{
	block->length = malloc(block->size);
	if (block->with_text) {
		block->assembly = calloc(block->size, sizeof(*block->assembly));
		owner->bytes += block->size * sizeof(*block->assembly);
	}
	return block->length && (block->assembly || !block->with_text) ? 0 : -ENOMEM;
}

/* Reads the code of a block. A block without instructions is one, too. Returns 0 or -ENOMEM. */
static int read_block(struct script *script, struct script_block *block)
{
	struct perch_code code;
	struct perch_error err;
	int rc = perch_symbols_read_code(script->symbols, block->dso, block->offset,
					 block->size + SCRIPT_MAX_INSTRUCTION, &code, &err);

	if (rc == -ENOMEM)
		return rc;
	if (!rc) {
		if (block->with_text)
			move_code(&code, block->address);
		rc = allocate(script->code, block);
		if (!rc)
			rc = decode(script->code, block, &code, &err);
		block->bytes = code.bytes;
		block->nr_bytes = (uint32_t)code.size;
		code.bytes = NULL;
		perch_code_clear(&code);
	}
	if (!rc && !block->nr)
		rc = perch_error_set(&err, ENOENT, PERCH_ERROR_FILE,
				     "the bytes at the address are no instruction");
	if (rc && rc != -ENOMEM)
		note_missing(script->code, &err);
	return rc == -ENOMEM ? rc : 0;
}

static bool same_block(const void *blocks, uint32_t index, const void *key)
{
	const struct script_block *block = (const struct script_block *)blocks + index;
	const struct script_block *wanted = key;

	return block->dso == wanted->dso && block->offset == wanted->offset &&
	       block->size == wanted->size && block->address == wanted->address &&
	       block->with_text == wanted->with_text;
}

const struct script_block *script_find_block(struct script *script,
					     const struct script_block *wanted)
{
	struct script_code *code = script_code_of(script);
	struct script_block *block;
	uint64_t hash;
	uint32_t index;

	if (!code)
		return NULL;
	hash = perch__hash_integer(code->by_offset.seed,
				   wanted->offset ^ wanted->address ^
					   (uint64_t)wanted->dso->index << 40 ^
					   (uint64_t)wanted->size << 20);
	index = perch__hash_find(&code->by_offset, hash, same_block, code->block, wanted);
	if (index != PERCH__HASH_NONE)
		return &code->block[index];
	if (code->bytes > MAX_STORED)
		clear_blocks(code);
	block = PERCH__ARRAY_APPEND(code->block, code->nr, code->capacity);
	if (!block)
		return NULL;
	*block = *wanted;
	if (read_block(script, block) ||
	    perch__hash_add(&code->by_offset, hash, (uint32_t)(code->nr - 1))) {
		clear_block(block);
		code->nr--;
		return NULL;
	}
	code->bytes += sizeof(*block) + 2 * (size_t)wanted->size + SCRIPT_MAX_INSTRUCTION;
	return block;
}
