/* SPDX-License-Identifier: MIT */
/* Paths of cgroups, by CGROUP records. */
#include "internal.h"

#define MAX_CGROUPS 65536
#define MAX_BYTES   (16u << 20) /* of all paths */

struct cgroup {
	uint64_t id;
	bool replaced;	      /* by one that is not stored */
	struct cgroup *older; /* that had the id before; its path stays valid */
	char path[];
};

static bool same_id(const void *cgroups, uint32_t index, const void *id)
{
	return ((struct cgroup *const *)cgroups)[index]->id == *(const uint64_t *)id;
}

static uint32_t find_cgroup(const struct perch_processes *processes, uint64_t id)
{
	return perch__hash_find(&processes->cgroups.by_id, perch__hash_integer(processes->seed, id),
				same_id, processes->cgroups.cgroup, &id);
}

/* Returns the index of a new cgroup, or PERCH__HASH_NONE if out of memory. */
static uint32_t add_cgroup(struct perch_processes *processes, struct cgroup *cgroup)
{
	struct cgroups *cgroups = &processes->cgroups;

	if (PERCH__ARRAY_RESERVE(cgroups->cgroup, cgroups->capacity, cgroups->nr + 1) ||
	    perch__hash_add(&cgroups->by_id, perch__hash_integer(processes->seed, cgroup->id),
			    cgroups->nr))
		return PERCH__HASH_NONE;
	cgroups->cgroup[cgroups->nr] = cgroup;
	return cgroups->nr++;
}

int perch__cgroups_apply(struct perch_processes *processes, const struct perch_record *record)
{
	const struct perch_cgroup_record *from = &record->cgroup;
	struct cgroups *cgroups = &processes->cgroups;
	uint32_t index = find_cgroup(processes, from->id);
	size_t size = (size_t)from->path.length + 1;
	struct cgroup *cgroup;

	if (index != PERCH__HASH_NONE && !strcmp(cgroups->cgroup[index]->path, from->path.text))
		return 0;
	/* no name is better than that of an older cgroup */
	if (cgroups->bytes + size > MAX_BYTES || cgroups->nr_paths >= MAX_CGROUPS) {
		if (index != PERCH__HASH_NONE)
			cgroups->cgroup[index]->replaced = true;
		return 0;
	}
	cgroup = malloc(sizeof(*cgroup) + size);
	if (!cgroup)
		return -ENOMEM;
	cgroup->id = from->id;
	cgroup->replaced = false;
	cgroup->older = index == PERCH__HASH_NONE ? NULL : cgroups->cgroup[index];
	memcpy(cgroup->path, from->path.text, size - 1);
	cgroup->path[size - 1] = '\0';
	if (index != PERCH__HASH_NONE) {
		cgroups->cgroup[index] = cgroup;
	} else if (add_cgroup(processes, cgroup) == PERCH__HASH_NONE) {
		free(cgroup);
		return -ENOMEM;
	}
	cgroups->nr_paths++;
	cgroups->bytes += size;
	return 0;
}

const char *perch_processes_cgroup_name(const struct perch_processes *processes, uint64_t id)
{
	uint32_t index = find_cgroup(processes, id);

	return index == PERCH__HASH_NONE || processes->cgroups.cgroup[index]->replaced
		       ? NULL
		       : processes->cgroups.cgroup[index]->path;
}

void perch__cgroups_clear(struct cgroups *cgroups)
{
	for (size_t i = 0; i < cgroups->nr; i++) {
		struct cgroup *cgroup = cgroups->cgroup[i];

		while (cgroup) {
			struct cgroup *older = cgroup->older;

			free(cgroup);
			cgroup = older;
		}
	}
	free(cgroups->cgroup);
	perch__hash_clear(&cgroups->by_id);
}
