/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <perch/probes.h>

#include "probes.h"

static struct perch_probes *defined; /* for the function of atexit(3) */

static void remove_defined(void)
{
	perch_probes_free(defined);
}

static bool has_probe(const struct perch_events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].path)
			return true;
	return false;
}

int cli_inherit_probes(const char *command, const struct cli_target *target,
		       struct perch_events *events, struct perch_machine *machine)
{
	struct perch_error err;

	/* the open call of an ordinary user is refused, and the refusal is explained */
	if (cli_target_system_wide(target) || !has_probe(events) ||
	    !perch_machine_privileged(machine))
		return 0;
	if (perch_probes_define(&defined, events, machine, &err)) {
		perch_error_remedy(
			&err,
			"measure only the first thread with -i, or every process with -a, or mount tracefs and make it writable");
		return cli_error(command, &err);
	}
	atexit(remove_defined);
	return 0;
}
