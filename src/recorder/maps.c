/* SPDX-License-Identifier: MIT */
/*
 * The records that perf puts first into a file: what each id counts, and which threads and CPUs are
 * recorded. Only files have these types, so they are not part of perch/synthesize.h. And the name
 * of the program before its execve(2).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/no_memory.h"
#include "internal.h"

#define MAP_BYTES (60u << 10)

/* Writes a record: header, body, and zeros up to a multiple of 8 bytes and for the sample id. */
static int write_record(const struct recorder_sink *to, struct perch_record_header header,
			const void *body, size_t size, size_t id_size)
{
	size_t all = sizeof(header) + ((size + 7) & ~(size_t)7) + id_size;
	char *record = calloc(1, all);
	int rc;

	if (!record)
		return PERCH__NO_MEMORY(to->err, "to record with");
	header.size = (uint16_t)all;
	memcpy(record, &header, sizeof(header));
	memcpy(record + sizeof(header), body, size);
	rc = to->sink(to->context, record, all, to->err);
	free(record);
	return rc;
}

/* Writes a record of a type of perf.data, which has no sample id. */
static int write_map(const struct recorder_sink *to, uint32_t type, const void *body, size_t size)
{
	return write_record(to, (struct perch_record_header){ type, 0, 0 }, body, size, 0);
}

int perch__recorder_write_child(const struct recorder_sink *to, pid_t pid, size_t id_size)
{
	struct {
		uint32_t pid, tid;
		char comm[16];
	} body = { (uint32_t)pid, (uint32_t)pid, "" };

	prctl(PR_GET_NAME, body.comm);
	return write_record(to,
			    (struct perch_record_header){ PERCH_RECORD_COMM, PERCH_MISC_USER, 0 },
			    &body, 2 * sizeof(body.pid) + strlen(body.comm) + 1, id_size);
}

struct id_entry {
	uint64_t id, ring, cpu, tid;
};
#define ID_ENTRIES (MAP_BYTES / sizeof(struct id_entry))

struct id_index {
	uint64_t nr;
	struct id_entry entry[ID_ENTRIES];
};

static int flush_ids(const struct recorder_sink *to, struct id_index *index)
{
	const size_t size = sizeof(index->nr) + index->nr * sizeof(index->entry[0]);
	int rc = index->nr ? write_map(to, PERCH_RECORD_ID_INDEX, index, size) : 0;

	index->nr = 0;
	return rc;
}

static int add_ids(const struct recorder_sink *to, struct id_index *index,
		   const struct perch_sampler *sampler, size_t event, const uint64_t *ids,
		   size_t nr)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < nr; i++) {
		size_t ring;
		pid_t pid;
		int cpu;

		if (perch_sampler_id_info(sampler, event, i, &cpu, &pid, &ring) < 0)
			continue;
		if (index->nr == ID_ENTRIES)
			rc = flush_ids(to, index);
		index->entry[index->nr++] = (struct id_entry){ ids[i], ring, (uint64_t)(int64_t)cpu,
							       (uint64_t)(int64_t)pid };
	}
	return rc;
}

int perch__recorder_write_id_index(const struct recorder_sink *to,
				   const struct perch_sampler *sampler)
{
	struct id_index *index = calloc(1, sizeof(*index));
	const uint64_t *ids;
	const char *name;
	size_t nr;
	int rc = 0;

	if (!index)
		return PERCH__NO_MEMORY(to->err, "to record with");
	for (size_t i = 0; rc >= 0 && perch_sampler_event(sampler, i, &name, &ids, &nr); i++)
		rc = add_ids(to, index, sampler, i, ids, nr);
	if (rc >= 0)
		rc = flush_ids(to, index);
	free(index);
	return rc;
}

struct thread_entry {
	uint64_t tid;
	char comm[16];
};
#define THREAD_ENTRIES (MAP_BYTES / sizeof(struct thread_entry))

int perch__recorder_write_thread_map(const struct recorder_sink *to, struct perch_machine *machine,
				     const pid_t *threads, size_t nr)
{
	struct {
		uint64_t nr;
		struct thread_entry entry[];
	} * map;
	int rc;

	if (nr > THREAD_ENTRIES)
		nr = THREAD_ENTRIES; /* no reader needs the map: samples have their thread */
	map = calloc(1, sizeof(*map) + nr * sizeof(map->entry[0]));
	if (!map)
		return PERCH__NO_MEMORY(to->err, "to record with");
	map->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		struct perch_process_state state;
		pid_t tid = threads[i];

		map->entry[i].tid = (uint64_t)(int64_t)tid;
		if (tid > 0 && !perch_machine_process(machine, tid, &state, NULL))
			memcpy(map->entry[i].comm, state.name, sizeof(map->entry[i].comm));
	}
	rc = write_map(to, PERCH_RECORD_THREAD_MAP, map, sizeof(*map) + nr * sizeof(map->entry[0]));
	free(map);
	return rc;
}

/* A list of CPU numbers: kind 0 of the record. */
int perch__recorder_write_cpu_map(const struct recorder_sink *to, const struct perch_cpus *cpus)
{
	struct {
		uint16_t kind, nr;
		uint16_t cpu[];
	} * map;
	size_t size = sizeof(*map) + cpus->nr * sizeof(map->cpu[0]);
	int rc;

	if (size > MAP_BYTES)
		return 0; /* no reader needs it either */
	map = calloc(1, size);
	if (!map)
		return PERCH__NO_MEMORY(to->err, "to record with");
	map->nr = (uint16_t)cpus->nr;
	for (size_t i = 0; i < cpus->nr; i++)
		map->cpu[i] = (uint16_t)cpus->cpu[i];
	rc = write_map(to, PERCH_RECORD_CPU_MAP, map, size);
	free(map);
	return rc;
}
