/* SPDX-License-Identifier: MIT */
/* The records that perf puts first into a file: what each id counts, and which threads and CPUs are
 * recorded. */
#include <stdlib.h>
#include <string.h>

#include <perch/file.h> /* the types of records that only files have */

#include "synthesize.h"

#define MAP_BYTES (60u << 10)

struct id_entry {
	uint64_t id, ring, cpu, tid;
};
#define ID_ENTRIES (MAP_BYTES / sizeof(struct id_entry))

struct id_index {
	uint64_t nr;
	struct id_entry entry[ID_ENTRIES];
};

static void flush_ids(struct synthesizer *synthesizer, struct id_index *index)
{
	if (index->nr)
		synthesize_plain(synthesizer, PERCH_RECORD_ID_INDEX, index,
				 sizeof(index->nr) + index->nr * sizeof(index->entry[0]));
	index->nr = 0;
}

static void add_ids(struct synthesizer *synthesizer, struct id_index *index,
		    const struct perch_sampler *sampler, size_t event, const uint64_t *ids,
		    size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		size_t ring;
		pid_t pid;
		int cpu;

		if (perch_sampler_id_info(sampler, event, i, &cpu, &pid, &ring) < 0)
			continue;
		if (index->nr == ID_ENTRIES)
			flush_ids(synthesizer, index);
		index->entry[index->nr++] = (struct id_entry){ ids[i], ring, (uint64_t)(int64_t)cpu,
							       (uint64_t)(int64_t)pid };
	}
}

void synthesize_id_index(struct synthesizer *synthesizer, const struct perch_sampler *sampler)
{
	struct id_index *index = calloc(1, sizeof(*index));
	const uint64_t *ids;
	const char *name;
	size_t nr;

	for (size_t i = 0; index && perch_sampler_event(sampler, i, &name, &ids, &nr); i++)
		add_ids(synthesizer, index, sampler, i, ids, nr);
	if (index)
		flush_ids(synthesizer, index);
	free(index);
}

struct thread_entry {
	uint64_t tid;
	char comm[16];
};
#define THREAD_ENTRIES (MAP_BYTES / sizeof(struct thread_entry))

void synthesize_thread_map(struct synthesizer *synthesizer, const pid_t *threads, size_t nr)
{
	struct {
		uint64_t nr;
		struct thread_entry entry[];
	} * map;

	if (nr > THREAD_ENTRIES)
		nr = THREAD_ENTRIES; /* no reader needs the map: samples have their thread */
	map = calloc(1, sizeof(*map) + nr * sizeof(map->entry[0]));
	if (!map)
		return;
	map->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		pid_t tid = threads[i];

		map->entry[i].tid = (uint64_t)(int64_t)tid;
		if (tid > 0)
			synthesize_read_comm(tid, tid, map->entry[i].comm,
					     sizeof(map->entry[i].comm));
	}
	synthesize_plain(synthesizer, PERCH_RECORD_THREAD_MAP, map,
			 sizeof(*map) + nr * sizeof(map->entry[0]));
	free(map);
}

/* A list of CPU numbers: kind 0 of the record. */
void synthesize_cpu_map(struct synthesizer *synthesizer, const struct perch_cpus *cpus)
{
	struct {
		uint16_t kind, nr;
		uint16_t cpu[];
	} * map;
	size_t size = (sizeof(*map) + cpus->nr * sizeof(map->cpu[0]) + 7) & ~(size_t)7;

	if (size > MAP_BYTES)
		return;
	map = calloc(1, size);
	if (!map)
		return;
	map->nr = (uint16_t)cpus->nr;
	for (size_t i = 0; i < cpus->nr; i++)
		map->cpu[i] = (uint16_t)cpus->cpu[i];
	synthesize_plain(synthesizer, PERCH_RECORD_CPU_MAP, map, size);
	free(map);
}
