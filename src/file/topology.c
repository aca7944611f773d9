/* SPDX-License-Identifier: MIT */
/* Where the CPUs of the recorded machine are: CPU_TOPOLOGY and NUMA_TOPOLOGY. */
#include <stdlib.h>

#include "internal.h"

#define MAX_CPUS 65536

/* Skips a list of texts. */
static bool skip_texts(struct perch__view *view)
{
	uint32_t nr;
	const char *text;
	size_t length;

	if (!perch__take_u32(view, &nr))
		return false;
	while (nr--)
		if (!perch__take_text(view, &text, &length))
			return false;
	return true;
}

/* Texts of sockets and of cores come first; core and socket of each CPU; then the same of dies. */
static void read_cores(struct perch__view view, struct perch_cpu_topology *cpus, size_t nr)
{
	uint32_t core, socket, die;

	if (!skip_texts(&view) || !skip_texts(&view))
		return;
	for (size_t i = 0; i < nr; i++) {
		if (!perch__take_u32(&view, &core) || !perch__take_u32(&view, &socket))
			return;
		cpus[i].core = (int)core;
		cpus[i].socket = (int)socket;
	}
	if (!skip_texts(&view))
		return;
	for (size_t i = 0; i < nr && perch__take_u32(&view, &die); i++)
		cpus[i].die = (int)die;
}

static void read_nodes(struct perch__view view, struct perch_cpu_topology *cpus, size_t nr)
{
	uint32_t nodes, node;
	uint64_t total, available;
	const char *text;
	size_t length;

	if (!perch__take_u32(&view, &nodes))
		return;
	while (nodes-- && perch__take_u32(&view, &node) && perch__take_u64(&view, &total) &&
	       perch__take_u64(&view, &available) && perch__take_text(&view, &text, &length)) {
		struct perch_cpus list = { 0 };
		char copy[4096];

		if (length >= sizeof(copy))
			continue;
		memcpy(copy, text, length);
		copy[length] = 0;
		if (perch_cpus_parse(&list, copy, NULL))
			continue;
		for (size_t i = 0; i < list.nr; i++)
			if ((size_t)list.cpu[i] < nr)
				cpus[list.cpu[i]].node = (int)node;
		perch_cpus_clear(&list);
	}
}

int perch_reader_topology(const struct perch_reader *reader, struct perch_cpu_topology **cpus,
			  size_t *nr)
{
	struct perch__view count = reader->feature[PERCH_FEATURE_NRCPUS];
	uint32_t available = 0;

	*cpus = NULL;
	*nr = 0;
	if (!perch__take_u32(&count, &available) || !available || available > MAX_CPUS)
		return 0;
	*cpus = calloc(available, sizeof(**cpus));
	if (!*cpus)
		return -ENOMEM;
	*nr = available;
	for (size_t i = 0; i < *nr; i++)
		(*cpus)[i] = (struct perch_cpu_topology){ (int)i, -1, -1, -1, -1, { 0 } };
	read_cores(reader->feature[PERCH_FEATURE_CPU_TOPOLOGY], *cpus, *nr);
	read_nodes(reader->feature[PERCH_FEATURE_NUMA_TOPOLOGY], *cpus, *nr);
	return 0;
}
