/* SPDX-License-Identifier: MIT */
/* The machine of a test program that one directory tree describes. Include after cmocka.h. */
#ifndef PERCH_TEST_TREE_MACHINE_H
#define PERCH_TEST_TREE_MACHINE_H

#include <perch/machine.h>

#include "tree.h"

static struct perch_machine *machine;
static char root[PATH_MAX];

static inline int tree_machine_make(const struct tree_file *files, size_t nr)
{
	tree_make(root, files, nr);
	return perch_machine_new(&machine, root, NULL, NULL);
}

static inline int tree_machine_remove(void **state)
{
	(void)state;
	perch_machine_free(machine);
	tree_remove(root);
	return 0;
}

#endif
