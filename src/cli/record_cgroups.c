/* SPDX-License-Identifier: MIT */
/* -G: each event belongs to the cgroup of its place in the list; a single cgroup, to all events before it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define COMMAND "record"

static int add_cgroup(struct record *record, const char *name, size_t length)
{
	char **larger = reallocarray(record->cgroups, record->nr_cgroups + 1, sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	record->cgroups = larger;
	larger[record->nr_cgroups] = strndup(name, length);
	if (!larger[record->nr_cgroups])
		return -ENOMEM;
	record->nr_cgroups++;
	return 0;
}

int record_set_cgroups(void *value, const char *text, bool negated)
{
	struct record *record = value;

	if (negated) {
		cli_usage_error(COMMAND, "--cgroup cannot be negated");
		return -EINVAL;
	}
	if (!record->events.nr) {
		cli_usage_error(COMMAND, "-G binds the events before it, and there is no -e before it");
		return -EINVAL;
	}
	for (const char *at = text; ; at++) {
		size_t length = strcspn(at, ",");

		if (record->nr_cgroups == record->events.nr) {
			cli_usage_error(COMMAND, "-G %s: more cgroups than events", text);
			return -EINVAL;
		}
		if (add_cgroup(record, at, length) < 0)
			return -ENOMEM;
		at += length;
		if (!*at)
			break;
	}
	if (record->nr_cgroups == 1)
		for (size_t i = 1; i < record->events.nr; i++)
			if (add_cgroup(record, text, strlen(text)) < 0)
				return -ENOMEM;
	return 0;
}

/* The library knows where cgroups are mounted, and keeps the descriptor. The CPU does not matter: the sampler has its own. */
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
	size_t nr = record->events.nr;

	if (!record->nr_cgroups)
		return 0;
	record->cgroup_fds = calloc(nr, sizeof(*record->cgroup_fds));
	if (!record->cgroup_fds)
		return CLI_EXIT_FAILURE;
	for (size_t i = 0; i < record->nr_cgroups; i++) {
		size_t same = 0;

		if (!record->cgroups[i][0])
			continue;
		while (strcmp(record->cgroups[same], record->cgroups[i]))
			same++;
		record->cgroup_fds[i] = same < i ? record->cgroup_fds[same] : open_cgroup(record, record->cgroups[i]);
		if (record->cgroup_fds[i] < 0)
			return CLI_EXIT_FAILURE;
	}
	return 0;
}

void record_clear_cgroups(struct record *record)
{
	perch_targets_clear(&record->opened_cgroups);
	for (size_t i = 0; i < record->nr_cgroups; i++)
		free(record->cgroups[i]);
	free(record->cgroups);
	free(record->cgroup_fds);
}
