/* SPDX-License-Identifier: MIT */
/* Code of DSOs: code.c finds it, elf/code_elf.c reads it from files, kernel/code_kernel.c that of
 * the kernel.
 */
#ifndef PERCH_SYMBOL_CODE_H
#define PERCH_SYMBOL_CODE_H

#include "symbols.h"

/*
 * Reads the bytes of an address range of an open ELF file; code->address and code->size are the
 * range, which is shortened to what the segment has. Returns 0 or a negative errno, with err.
 */
int perch__code_of_elf(struct perch__elf *elf, struct perch_code *code, struct perch_error *err);
/* Sets err to a text. Returns -errnum. */
static inline int perch__code_error(struct perch_error *err, int errnum, const char *text)
{
	return perch_error_set(err, errnum, PERCH_ERROR_FILE, "%s", text);
}

/* One part without data. Returns 0 or -ENOMEM. */
int perch__code_add_part(struct perch_code *code, uint64_t address, enum perch_code_kind kind);
/*
 * The same of the kernel and its modules. code->offset and code->size are the
 * range.
 */
int perch__code_of_kernel(const struct sources *sources, const struct perch_dso *dso,
			  struct perch_code *code, struct perch_error *err);
/*
 * From the file /proc/kcore at path, where code has other addresses than in the recording: those
 * minus shift. For tests.
 */
int perch__code_of_kcore(const char *path, uint64_t shift, struct perch_code *code,
			 struct perch_error *err);

#endif
