/* SPDX-License-Identifier: MIT */
#ifndef PERCH_SYMBOL_DWP_H
#define PERCH_SYMBOL_DWP_H

#include "dwarf.h"

/* A file with the split units of a program, FILE.dwp. */
struct dwp;
/* Takes fd. Returns NULL if the file cannot be read as one. */
struct dwp *perch__dwp_open(int fd);
void perch__dwp_free(struct dwp *dwp);
/* Finds the split unit of a skeleton unit. Returns 0, -ENODATA: the .dwp lacks it, or -ENOMEM. */
int perch__dwp_take(struct dwp *dwp, struct dwarf_unit *skeleton);

#endif
