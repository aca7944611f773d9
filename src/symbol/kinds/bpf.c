/* SPDX-License-Identifier: MIT */
/* Code that the kernel generates, as BPF programs: one function, whose bytes the recording has. */
#include <stdio.h>
#include <stdlib.h>

#include "base/kernel/bpf.h"
#include "base/no_memory.h"
#include "symbol/code.h"
#include "symbol/debug_info.h"

enum { MAX_PROGRAMS = 16384, MAX_FUNCTIONS = 4096 };

/* The whole DSO is one function, and its path is the function's name. */
static int load_bpf(struct perch_symbols *symbols, struct dso_symbols *cached)
{
	const struct perch_dso *dso = cached->dso;
	struct table *table = &cached->table;
	size_t size = strlen(dso->path) + 1;

	(void)symbols;
	table->entry = perch__calloc(1, sizeof(*table->entry));
	if (!table->entry || perch__table_blob(table, perch__strdup(dso->path), size) < 0)
		return -ENOMEM;
	table->nr = table->capacity = 1;
	table->entry[0] = (struct entry){ .start = dso->start,
					  .end = dso->start + dso->length,
					  .parent = NO_ENTRY,
					  .symbol = NO_ENTRY,
					  .type = STT_FUNC };
	return 0;
}

/* The functions of a program follow each other in its machine code. */
static const uint8_t *find_function(const struct perch__bpf_program *program,
				    const struct perch_dso *dso, size_t *size)
{
	const size_t tagged = sizeof("bpf_prog_") - 1 + (size_t)2 * PERCH__BPF_TAG_SIZE;
	uint32_t nr, element, length;
	const uint8_t *bytes = perch__bpf_array(program, PERCH__BPF_JITED, 1, &nr, &element);
	uint64_t address, at = 0;
	char name[64];

	if (!bytes || element != 1)
		return NULL;
	for (uint32_t i = 0;
	     i < MAX_FUNCTIONS && perch__bpf_function(program, i, &address, &length); i++) {
		if (at + length > nr)
			return NULL;
		perch__bpf_function_name(program, NULL, i, name, sizeof(name));
		if (address == dso->start && length == dso->length &&
		    !strncmp(name, dso->path, tagged)) {
			*size = length;
			return bytes + at;
		}
		at += length;
	}
	return NULL;
}

static uint32_t native_machine(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#elif defined(__i386__)
	return EM_386;
#elif defined(__arm__)
	return EM_ARM;
#elif defined(__powerpc64__)
	return EM_PPC64;
#elif defined(__s390x__)
	return EM_S390;
#elif defined(__riscv)
	return EM_RISCV;
#else
	return EM_NONE;
#endif
}

static int code_of_bpf(const struct sources *sources, const struct perch_dso *dso,
		       struct perch_code *code, struct perch_error *err)
{
	static const uint16_t one = 1;
	struct perch__bpf_program program;
	const uint8_t *at = sources->bpf_programs, *bytes = NULL;
	size_t left = sources->bpf_programs_size, size = 0, skip = code->offset - dso->start;

	if (sources->foreign)
		return perch_error_set(
			err, ENOENT, PERCH_ERROR_FILE,
			"generated code of the kernel of another machine is not read");
	if (left >= sizeof(uint32_t)) {
		at += sizeof(uint32_t);
		left -= sizeof(uint32_t);
		for (int i = 0; !bytes && i < MAX_PROGRAMS && perch__bpf_take(&at, &left, &program);
		     i++)
			bytes = find_function(&program, dso, &size);
	}
	if (!bytes || code->offset < dso->start || skip >= size)
		return perch_error_set(err, ENOENT, PERCH_ERROR_FILE,
				       "the recording does not have the code of the function");
	if (code->size > size - skip)
		code->size = size - skip;
	code->bytes = perch__malloc(code->size);
	if (!code->bytes || perch__code_add_part(code, code->offset, PERCH_CODE_INSTRUCTIONS))
		return PERCH__NO_MEMORY(err, "for code");
	memcpy(code->bytes, bytes + skip, code->size);
	code->address = code->offset;
	code->start = dso->start;
	code->end = dso->start + size;
	code->machine = native_machine();
	code->wide = sizeof(void *) == 8;
	code->big_endian = !*(const unsigned char *)&one;
	return 0;
}

static const char *bpf_name(const struct dso_symbols *cached, char *buffer, size_t size)
{
	(void)buffer;
	(void)size;
	return cached->dso->path;
}

static void open_bpf_lines(const struct sources *sources, struct dso_symbols *cached)
{
	cached->bpf = perch__bpf_lines_open(sources, cached->dso);
}

const struct dso_kind perch__kind_bpf = {
	.load = load_bpf,
	.name = bpf_name,
	.open_lines = open_bpf_lines,
	.code = code_of_bpf,
};
