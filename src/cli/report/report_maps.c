/* SPDX-License-Identifier: MIT */
/* The memory mappings of processes, for --mmaps. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/search.h"
#include "options.h"
#include "report.h"
#include "report_maps.h"

struct map {
	uint64_t start, end, page_offset, inode;
	uint32_t protection, flags;
	size_t name; /* in report_maps.names */
};

/* The mappings of a process. A forked process has those of its parent until one of them changes. */
struct space {
	size_t users;
	struct map *map; /* sorted, without overlaps */
	size_t nr, capacity;
};

struct mapped_process {
	uint32_t pid;
	struct space *space; /* NULL: none */
};

struct report_maps {
	struct mapped_process *process; /* sorted by pid */
	size_t nr, capacity;
	char *names; /* each with a NUL */
	size_t used, size;
};

struct report_maps *report_maps_new(void)
{
	return calloc(1, sizeof(struct report_maps));
}

static void release_space(struct space *space)
{
	if (!space || --space->users)
		return;
	free(space->map);
	free(space);
}

void report_maps_free(struct report_maps *maps)
{
	if (!maps)
		return;
	for (size_t i = 0; i < maps->nr; i++)
		release_space(maps->process[i].space);
	free(maps->process);
	free(maps->names);
	free(maps);
}

/* Returns the index of the first process with this or a larger pid. */
static size_t position_of(const struct report_maps *maps, uint32_t pid)
{
	return PERCH__SEARCH(maps->nr, i, maps->process[i].pid < pid);
}

static struct space *space_of(const struct report_maps *maps, uint32_t pid)
{
	size_t at = position_of(maps, pid);

	return at < maps->nr && maps->process[at].pid == pid ? maps->process[at].space : NULL;
}

/* Gives a process other mappings. */
static int set_space(struct report_maps *maps, uint32_t pid, struct space *space)
{
	size_t at = position_of(maps, pid);

	if (at == maps->nr || maps->process[at].pid != pid) {
		if (PERCH__ARRAY_RESERVE(maps->process, maps->capacity, maps->nr + 1))
			return -ENOMEM;
		memmove(&maps->process[at + 1], &maps->process[at],
			(maps->nr - at) * sizeof(*maps->process));
		maps->nr++;
		maps->process[at] = (struct mapped_process){ pid, NULL };
	}
	if (space)
		space->users++;
	release_space(maps->process[at].space);
	maps->process[at].space = space;
	return 0;
}

static int append_map(struct space *space, const struct map *map)
{
	if (PERCH__ARRAY_RESERVE(space->map, space->capacity, space->nr + 1))
		return -ENOMEM;
	space->map[space->nr++] = *map;
	return 0;
}

/* Adds the part of a mapping between two addresses, if there is one. */
static int append_part(struct space *space, const struct map *map, uint64_t start, uint64_t end)
{
	struct map part = *map;

	part.start = start > map->start ? start : map->start;
	part.end = end < map->end ? end : map->end;
	part.page_offset += part.start - map->start;
	return part.start < part.end ? append_map(space, &part) : 0;
}

/* Makes mappings from those of a process and a new one, which replaces what it covers. */
static struct space *with_map(const struct space *old, const struct map *map)
{
	struct space *space = calloc(1, sizeof(*space));
	size_t nr = old ? old->nr : 0;
	int rc = space ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !rc; i++)
		rc = append_part(space, &old->map[i], 0, map->start);
	if (!rc)
		rc = append_map(space, map);
	for (size_t i = 0; i < nr && !rc; i++)
		rc = append_part(space, &old->map[i], map->end, UINT64_MAX);
	if (!rc)
		return space;
	if (space)
		free(space->map);
	free(space);
	return NULL;
}

/* Returns the index of the first mapping that ends after an address. */
static size_t first_behind(const struct space *space, uint64_t address)
{
	return PERCH__SEARCH(space->nr, i, space->map[i].end <= address);
}

/* True if no other process has these mappings, and the new one covers none of them. */
static bool is_free(const struct space *space, const struct map *map)
{
	size_t at = space && space->users == 1 ? first_behind(space, map->start) : 0;

	return space && space->users == 1 && (at == space->nr || space->map[at].start >= map->end);
}

static int insert_map(struct space *space, const struct map *map)
{
	size_t at = first_behind(space, map->start);

	if (append_map(space, map))
		return -ENOMEM;
	memmove(&space->map[at + 1], &space->map[at], (space->nr - 1 - at) * sizeof(*map));
	space->map[at] = *map;
	return 0;
}

static int add_name(struct report_maps *maps, const struct perch_text *name, size_t *at)
{
	if (PERCH__ARRAY_RESERVE(maps->names, maps->size, maps->used + name->length + 1))
		return -ENOMEM;
	*at = maps->used;
	memcpy(maps->names + maps->used, name->text, name->length);
	maps->names[maps->used + name->length] = 0;
	maps->used += name->length + 1;
	return 0;
}

static int add_map(struct report_maps *maps, const struct perch_record *record)
{
	const struct perch_mmap_record *mmap = &record->mmap;
	struct space *space = space_of(maps, mmap->pid), *changed;
	struct map map = { mmap->start, mmap->start + mmap->length, mmap->page_offset,
			   mmap->inode, mmap->protection,	    mmap->flags };

	if (map.end <= map.start)
		return 0;
	/* this record has only whether the mapping is executable */
	if (record->type == PERCH_RECORD_MMAP)
		map.protection = record->misc & PERCH_MISC_MMAP_DATA ? 0 : PROT_EXEC;
	if (add_name(maps, &mmap->filename, &map.name))
		return -ENOMEM;
	if (is_free(space, &map))
		return insert_map(space, &map);
	changed = with_map(space, &map);
	if (!changed)
		return -ENOMEM;
	if (!set_space(maps, mmap->pid, changed))
		return 0;
	changed->users = 1;
	release_space(changed);
	return -ENOMEM;
}

int report_maps_add(struct report_maps *maps, const struct perch_record *record)
{
	switch (record->type) {
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
		if ((record->misc & PERCH_MISC_CPUMODE_MASK) == PERCH_MISC_USER)
			return add_map(maps, record);
		return 0;
	case PERCH_RECORD_COMM:
		return record->comm.exec ? set_space(maps, record->comm.pid, NULL) : 0;
	case PERCH_RECORD_FORK:
		/* a recorder that made the record from /proc adds the mappings itself */
		if (record->task.pid == record->task.ppid || record->misc & PERCH_MISC_FORK_EXEC)
			return 0;
		return set_space(maps, record->task.pid, space_of(maps, record->task.ppid));
	}
	return 0;
}

void report_maps_put(FILE *out, const struct report_maps *maps, uint32_t pid, int indent)
{
	const struct space *space = space_of(maps, pid);

	for (size_t i = 0; space && i < space->nr; i++) {
		const struct map *map = &space->map[i];

		fprintf(out, "%*s%" PRIx64 "-%" PRIx64 " %c%c%c%c %08" PRIx64 " %" PRIu64 " ",
			indent, "", map->start, map->end, map->protection & PROT_READ ? 'r' : '-',
			map->protection & PROT_WRITE ? 'w' : '-',
			map->protection & PROT_EXEC ? 'x' : '-',
			map->flags & MAP_SHARED ? 's' : 'p', map->page_offset, map->inode);
		cli_put_clean(out, maps->names + map->name);
		putc('\n', out);
	}
}
