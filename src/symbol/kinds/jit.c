/* SPDX-License-Identifier: MIT */
/* Code of JIT compilers that write a jitdump. */
#include <stdlib.h>

#include "base/no_memory.h"
#include "symbol/code.h"

/* Finds a function of a jitdump. */
static const struct perch_symbol *find_jit(struct perch_symbols *symbols,
					   struct dso_symbols *cached, uint64_t offset)
{
	struct perch_jit_function function;
	const struct perch_symbol *found;

	if (!cached->dso->jitdump || perch_jitdump_find(cached->dso->jitdump, offset, &function) ||
	    PERCH__ARRAY_RESERVE_ZEROED(cached->jit_symbol, cached->nr_jit_symbols,
					(size_t)function.number + 1))
		return NULL;
	if (cached->jit_symbol[function.number])
		return perch__symbol_at(symbols, cached->jit_symbol[function.number] - 1);
	found = perch__symbols_add_generated(
		symbols, &(struct perch_symbol){ .start = function.offset,
						 .end = function.offset + function.size,
						 .name = function.name,
						 .dso = cached->dso });
	if (found)
		cached->jit_symbol[function.number] = found->index + 1;
	return found;
}

static bool is_wide(uint32_t machine)
{
	return machine != EM_386 && machine != EM_ARM && machine != EM_PPC && machine != EM_MIPS;
}

static int code_of_jitdump(const struct sources *sources, const struct perch_dso *dso,
			   struct perch_code *code, struct perch_error *err)
{
	static const uint16_t one = 1;
	bool native_big = !*(const unsigned char *)&one, swapped;
	struct perch_jit_function function;
	size_t skip, size;
	void *bytes;
	int rc = -ENOENT;

	(void)sources;
	if (dso->jitdump)
		rc = perch_jitdump_read_code(dso->jitdump, code->offset, PERCH_MAX_CODE, &function,
					     &bytes, &size, &code->machine, &swapped);
	if (rc == -ENOMEM)
		return PERCH__NO_MEMORY(err, "for code");
	if (rc)
		return perch__code_error(err, ENOENT,
					 "the jitdump file does not have the code of the function");
	skip = code->offset - function.offset;
	if (skip >= size) {
		free(bytes);
		return perch__code_error(err, ENOENT, "the function is too large");
	}
	memmove(bytes, (uint8_t *)bytes + skip, size - skip);
	code->bytes = bytes;
	if (code->size > size - skip)
		code->size = size - skip;
	code->address = function.address + skip;
	code->start = function.address;
	code->end = function.address + function.size;
	code->wide = is_wide(code->machine);
	code->big_endian = swapped ? !native_big : native_big;
	return perch__code_add_part(code, code->address, PERCH_CODE_INSTRUCTIONS)
		       ? PERCH__NO_MEMORY(err, "for code")
		       : 0;
}

static const char *jit_name(const struct dso_symbols *cached, char *buffer, size_t size)
{
	return perch__name_of_generated(cached->dso, "jit-%u.dump", buffer, size);
}

const struct dso_kind perch__kind_jit = {
	.find = find_jit,
	.name = jit_name,
	.code = code_of_jitdump,
};
