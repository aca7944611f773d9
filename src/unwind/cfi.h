/* SPDX-License-Identifier: MIT */
/* The entries of call frame information: what cfi_program.c needs of cfi.c. */
#ifndef PERCH_UNWIND_CFI_H
#define PERCH_UNWIND_CFI_H

#include "internal.h"

enum { CFI_MAX_COLUMN = 255 };

/* What the functions of a common entry (CIE) share. */
struct cfi_common {
	struct cursor program;
	uint64_t code_factor, return_register;
	int64_t data_factor;
	uint8_t address_size, encoding;
	bool has_augmentation, signal_frame;
};

/* The programs of a function: that of its CIE, which runs first, and that of its own entry. */
struct cfi_program {
	struct cfi_common common;
	struct cursor entry;
	uint64_t start, end; /* of the function */
};

/* Finds the function of an address. Returns 1, 0 without one, or -EBADMSG. */
int perch__cfi_find_function(const struct cfi *cfi, uint64_t address, struct cfi_program *program);
/* Reads a pointer; other kinds than absolute and relative ones are not written by linkers. */
uint64_t perch__cfi_read_pointer(const struct cfi *cfi, const struct cfi_common *common,
				 struct cursor *cursor, uint8_t encoding);

#endif
