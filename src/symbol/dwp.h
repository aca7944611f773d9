/* SPDX-License-Identifier: MIT */
#ifndef PERCH_SYMBOL_DWP_H
#define PERCH_SYMBOL_DWP_H

#include <elfutils/libdw.h>

#include "internal.h"

/* A file with the split units of a program, FILE.dwp. */
struct dwp;
/* Takes fd. Returns NULL if the file cannot be read as one. */
struct dwp *perch__dwp_open(int fd);
void perch__dwp_free(struct dwp *dwp);
/*
 * Makes a copy of the debug information of a program in which all skeleton units name the file in
 * memory that perch__dwp_select() writes. Returns 0 or a negative errno.
 */
int perch__dwp_redirect(const struct dwp *dwp, struct elf_file *result, struct elf_file *file);
/* The same for the file that has a file descriptor. */
int perch__split_redirect(struct elf_file *result, struct elf_file *file, int target);
/* Puts the split unit with an id into the file in memory. Returns false if the .dwp lacks it. */
bool perch__dwp_select(struct dwp *dwp, uint64_t id);

#endif
