/* SPDX-License-Identifier: MIT */
/* What perf writes first into a file: which threads and CPUs were recorded, and where each id
 * counts. */
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define MAP_BYTES (60u << 10)

struct id_entry {
	uint64_t id, ring, cpu, tid;
};
#define ID_ENTRIES (MAP_BYTES / sizeof(struct id_entry))

struct id_index {
	uint64_t nr;
	struct id_entry entry[ID_ENTRIES];
};

static void flush_ids(struct synthesizer *made, struct id_index *index)
{
	if (index->nr)
		synthesize_plain(made, PERCH_RECORD_ID_INDEX, index,
				 sizeof(index->nr) + index->nr * sizeof(index->entry[0]));
	index->nr = 0;
}

static void add_ids(struct synthesizer *made, struct id_index *index, size_t event,
		    const uint64_t *ids, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		size_t ring;
		pid_t pid;
		int cpu;

		if (perch_sampler_id_info(made->record->sampler, event, i, &cpu, &pid, &ring) < 0)
			continue;
		if (index->nr == ID_ENTRIES)
			flush_ids(made, index);
		index->entry[index->nr++] = (struct id_entry){ ids[i], ring, (uint64_t)(int64_t)cpu,
							       (uint64_t)(int64_t)pid };
	}
}

static void make_id_index(struct synthesizer *made)
{
	struct id_index *index = calloc(1, sizeof(*index));
	const uint64_t *ids;
	const char *name;
	size_t nr;

	for (size_t i = 0; index && perch_sampler_event(made->record->sampler, i, &name, &ids, &nr);
	     i++)
		add_ids(made, index, i, ids, nr);
	if (index)
		flush_ids(made, index);
	free(index);
}

struct thread_entry {
	uint64_t tid;
	char comm[16];
};
#define THREAD_ENTRIES (MAP_BYTES / sizeof(struct thread_entry))

static void make_thread_map(struct synthesizer *made)
{
	const struct record *record = made->record;
	size_t nr = record->threads ? record->nr_threads : 1;
	struct {
		uint64_t nr;
		struct thread_entry entry[];
	} * map;

	if (nr > THREAD_ENTRIES)
		nr = THREAD_ENTRIES; /* for information: samples tell their threads themselves */
	map = calloc(1, sizeof(*map) + nr * sizeof(map->entry[0]));
	if (!map)
		return;
	map->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		pid_t tid = record->threads	  ? record->threads[i]
			    : record->system_wide ? -1
						  : record->program.pid;

		map->entry[i].tid = (uint64_t)(int64_t)tid;
		if (tid > 0)
			synthesize_read_comm(tid, tid, map->entry[i].comm,
					     sizeof(map->entry[i].comm));
	}
	synthesize_plain(made, PERCH_RECORD_THREAD_MAP, map,
			 sizeof(*map) + nr * sizeof(map->entry[0]));
	free(map);
}

/* A list of CPU numbers: kind 0 of the record. */
static void make_cpu_map(struct synthesizer *made)
{
	const struct perch_cpus *cpus = made->record->cpus.nr ? &made->record->cpus : NULL;
	struct {
		uint16_t kind, nr;
		uint16_t cpu[];
	} * map;
	size_t size;

	if (!cpus && perch_machine_cpus(made->record->machine, &cpus, NULL) < 0)
		return;
	size = (sizeof(*map) + cpus->nr * sizeof(map->cpu[0]) + 7) & ~(size_t)7;
	if (size > MAP_BYTES)
		return;
	map = calloc(1, size);
	if (!map)
		return;
	map->nr = (uint16_t)cpus->nr;
	for (size_t i = 0; i < cpus->nr; i++)
		map->cpu[i] = (uint16_t)cpus->cpu[i];
	synthesize_plain(made, PERCH_RECORD_CPU_MAP, map, size);
	free(map);
}

void synthesize_maps(struct synthesizer *made)
{
	make_id_index(made);
	make_thread_map(made);
	make_cpu_map(made);
}
