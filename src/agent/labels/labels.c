/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <perch/process.h>

#include "labels.h"

const char *agent_label(const struct agent_labels *labels, const char *key)
{
	for (size_t i = 0; i < labels->nr; i++)
		if (!strcmp(agent_label_key(labels, i), key))
			return agent_label_value(labels, i);
	return NULL;
}

static void remove_label(struct agent_labels *labels, const char *key)
{
	for (size_t i = 0; i < labels->nr; i++) {
		size_t from, size;

		if (strcmp(agent_label_key(labels, i), key))
			continue;
		/* a value comes after its key, and the next label after the value */
		from = labels->label[i].key;
		size = strlen(key) + 1 + strlen(agent_label_value(labels, i)) + 1;
		memmove(labels->text + from, labels->text + from + size,
			labels->used - from - size);
		labels->used -= size;
		memset(labels->text + labels->used, 0, size);
		labels->nr--;
		for (size_t k = i; k < labels->nr; k++) {
			labels->label[k].key = (uint16_t)(labels->label[k + 1].key - size);
			labels->label[k].value = (uint16_t)(labels->label[k + 1].value - size);
		}
		return;
	}
}

void agent_labels_set(struct agent_labels *labels, const char *key, const char *value)
{
	size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;

	remove_label(labels, key);
	if (value_size == 1)
		return;
	if (labels->nr == AGENT_LABELS_MAX || value_size > AGENT_LABEL_MAX + 1 ||
	    key_size > AGENT_LABEL_MAX + 1 ||
	    labels->used + key_size + value_size > AGENT_LABELS_BYTES) {
		labels->incomplete = true;
		return;
	}
	labels->label[labels->nr].key = (uint16_t)labels->used;
	memcpy(labels->text + labels->used, key, key_size);
	labels->used += key_size;
	labels->label[labels->nr].value = (uint16_t)labels->used;
	perch_clean_text(value, labels->text + labels->used, value_size);
	labels->used += strlen(labels->text + labels->used) + 1;
	labels->nr++;
}

void agent_labels_add_path(struct agent_labels *labels, const char *path)
{
	struct perch_cgroup_names names;

	perch_cgroup_find_names(path, &names);
	agent_labels_set(labels, AGENT_CONTAINER_ID, names.container_id);
	agent_labels_set(labels, AGENT_CONTAINER_NAME, names.container_name);
	agent_labels_set(labels, AGENT_CONTAINER_RUNTIME, names.runtime);
	agent_labels_set(labels, AGENT_POD_UID, names.pod_uid);
	agent_labels_set(labels, AGENT_UNIT, names.unit);
	agent_labels_set(labels, AGENT_SERVICE_NAME, names.service);
}
