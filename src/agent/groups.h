/* SPDX-License-Identifier: MIT */
/* Samples with the same labels of containers, services and rules. */
#ifndef PERCH_AGENT_GROUPS_H
#define PERCH_AGENT_GROUPS_H

#include <stdio.h>

#include "base/hash_table.h"
#include "labels/labels.h"
#include "window/window.h"

#define AGENT_MOST_GROUPS 4096 /* the rest of the samples is in the first one */

struct agent_groups {
	struct agent_labels *labels; /* of the groups; the first one has those of no cgroup */
	size_t nr, capacity;
	uint32_t *of; /* by index of the labels of a row; AGENT_NONE: no row has them */
	struct perch__hash_table index;
};

/* Finds the groups of rows. mount: where cgroups are, if the environments of their processes may be
 * read; NULL: they may not. Returns 0 or -ENOMEM; the caller clears them in both cases. */
int agent_groups_find(struct agent_groups *groups, const struct agent_label_rules *rules,
		      const char *mount, const struct agent_window *window,
		      const struct agent_row *rows, size_t nr);
void agent_groups_clear(struct agent_groups *groups);

/* ---- series.c ---- */

/* The profile of a group. */
struct agent_pprof {
	char *bytes;
	size_t size;
};

/* Writes a request of Pyroscope with the profiles of all groups. Returns 0 or a negative errno. */
int agent_groups_put(const struct agent_groups *groups, const struct agent_pprof *pprof,
		     const uint8_t *profile_id, FILE *out, struct perch_error *err);

#endif
