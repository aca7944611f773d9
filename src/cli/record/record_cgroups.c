/* SPDX-License-Identifier: MIT */
/* -G: each event belongs to the cgroup of its place in the list; a single cgroup, to all events
 * before it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define COMMAND "record"

int record_set_cgroups(void *value, const char *text, bool negated)
{
	struct record *record = value;

	if (negated) {
		cli_usage_error(COMMAND, "--cgroup cannot be negated");
		return -EINVAL;
	}
	if (!record->events.nr) {
		cli_usage_error(COMMAND,
				"-G binds the events before it, and there is no -e before it");
		return -EINVAL;
	}
	return cli_assign_cgroups(COMMAND, &record->cgroups, text, record->events.nr) ? -EINVAL
											: 0;
}

/* The library knows where cgroups are mounted, and keeps the descriptor. The CPU does not matter:
 * the sampler has its own. */
static int open_cgroup(struct record *record, const char *name)
{
	int cpu = 0;
	const struct perch_cpus one = { 1, &cpu };
	struct perch_targets *opened = &record->opened_cgroups;
	struct perch_error err;

	if (perch_targets_add_cgroup(opened, name, &one, record->machine, &err) < 0) {
		cli_error(COMMAND, &err);
		return -1;
	}
	return opened->target[opened->nr - 1].cgroup_fd;
}

/* Events of one cgroup share its descriptor. */
int record_open_cgroups(struct record *record)
{
	char **name = record->cgroups.name;

	if (!record->cgroups.nr)
		return 0;
	record->cgroup_fds = calloc(record->events.nr, sizeof(*record->cgroup_fds));
	if (!record->cgroup_fds)
		return CLI_EXIT_FAILURE;
	for (size_t i = 0; i < record->cgroups.nr; i++) {
		size_t same = 0;

		if (!name[i] || !*name[i])
			continue;
		while (!name[same] || strcmp(name[same], name[i]))
			same++;
		record->cgroup_fds[i] = same < i ? record->cgroup_fds[same]
						 : open_cgroup(record, name[i]);
		if (record->cgroup_fds[i] < 0)
			return CLI_EXIT_FAILURE;
	}
	return 0;
}

void record_clear_cgroups(struct record *record)
{
	perch_targets_clear(&record->opened_cgroups);
	cli_clear_cgroups(&record->cgroups);
	free(record->cgroup_fds);
}
