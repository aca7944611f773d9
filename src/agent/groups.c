/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "groups.h"

static bool same_labels(const void *labels, uint32_t index, const void *key)
{
	const struct agent_labels *one = &((const struct agent_labels *)labels)[index], *two = key;

	return one->nr == two->nr && one->used == two->used &&
	       !memcmp(one->text, two->text, one->used);
}

static int get_group(struct agent_groups *groups, const struct agent_labels *labels,
		     uint32_t *index)
{
	uint64_t hash = perch__hash_bytes(groups->index.seed, labels->text, labels->used);
	struct agent_labels *added;

	*index = perch__hash_find(&groups->index, hash, same_labels, groups->labels, labels);
	if (*index != PERCH__HASH_NONE)
		return 0;
	*index = 0;
	if (groups->nr == AGENT_MOST_GROUPS)
		return 0;
	added = PERCH__ARRAY_APPEND(groups->labels, groups->nr, groups->capacity);
	if (!added || perch__hash_add(&groups->index, hash, (uint32_t)groups->nr - 1))
		return -ENOMEM;
	*added = *labels;
	*index = (uint32_t)groups->nr - 1;
	return 0;
}

/* A rule has the last word, the environment the one before. */
static void find_labels(const struct agent_label_rules *rules, struct agent_service_reader *reader,
			const char *cgroup, struct agent_labels *labels)
{
	char service[AGENT_LABEL_MAX + 1];

	if (!cgroup)
		cgroup = "";
	*labels = (struct agent_labels){ .nr = 0 };
	agent_labels_add_path(labels, cgroup);
	if (reader->mount && agent_service_reader_find(reader, cgroup, service))
		agent_labels_set(labels, AGENT_SERVICE_NAME, service);
	agent_label_rules_apply(rules, cgroup, labels);
}

int agent_groups_find(struct agent_groups *groups, const struct agent_label_rules *rules,
		      const char *mount, const struct agent_window *window,
		      const struct agent_row *rows, size_t nr)
{
	size_t nr_labels = agent_window_nr_labels(window);
	struct agent_service_reader reader = { .mount = mount };
	struct agent_labels labels;
	uint32_t first;
	int rc;

	*groups = (struct agent_groups){ .nr = 0 };
	groups->index.seed = perch__hash_seed(groups);
	groups->of = malloc((nr_labels + 1) * sizeof(*groups->of));
	if (!groups->of)
		return -ENOMEM;
	for (size_t i = 0; i < nr_labels; i++)
		groups->of[i] = AGENT_NONE;
	find_labels(rules, &reader, NULL, &labels);
	rc = get_group(groups, &labels, &first);
	for (size_t i = 0; i < nr && !rc; i++) {
		if (groups->of[rows[i].labels] != AGENT_NONE)
			continue;
		find_labels(rules, &reader, agent_window_labels(window, rows[i].labels).cgroup,
			    &labels);
		rc = get_group(groups, &labels, &groups->of[rows[i].labels]);
	}
	agent_service_reader_end(&reader);
	return rc;
}

void agent_groups_clear(struct agent_groups *groups)
{
	perch__hash_clear(&groups->index);
	free(groups->labels);
	free(groups->of);
}
