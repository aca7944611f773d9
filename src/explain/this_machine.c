/* SPDX-License-Identifier: MIT */
/* The machine that explains if the caller passes none. */
#include "internal.h"

struct perch_machine *perch__machine_of(struct perch_machine *machine, bool from_log,
					struct perch_machine **own)
{
	*own = NULL;
	/* without memory the rules that need no fact explain */
	if (!machine && !from_log && perch_machine_new(own, NULL, NULL, NULL))
		*own = NULL;
	return machine ? machine : *own;
}
