/* SPDX-License-Identifier: MIT */
/* Reads the headers of records before they are written: counts, times, and which DSOs are mapped.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "scan.h"
#include "recorder/pieces.h"

#define MAX_DSOS (1u << 16) /* the recorded programs choose the paths */

static bool same_dso(const void *items, uint32_t index, const void *wanted)
{
	const struct recorder_dso *dso = (const struct recorder_dso *)items + index;
	const struct perch_mmap_record *mmap = wanted;

	if (dso->build_id_size != mmap->build_id_size || strcmp(dso->path, mmap->filename.text))
		return false;
	if (dso->build_id_size)
		return !memcmp(dso->build_id, mmap->build_id, dso->build_id_size);
	return dso->inode == mmap->inode && dso->major == mmap->major && dso->minor == mmap->minor;
}

static uint64_t hash_dso(uint64_t seed, const struct perch_mmap_record *mmap)
{
	uint64_t hash = perch__hash_text(seed, mmap->filename.text);

	return mmap->build_id_size
		       ? perch__hash_bytes(hash, mmap->build_id, mmap->build_id_size)
		       : perch__hash_pair(hash, (uint64_t)mmap->major << 32 | mmap->minor,
					  mmap->inode);
}

/* Returns NULL if there is no memory for a file: it then has no build id in the recording. */
static struct recorder_dso *add_dso(struct recorder_dsos *dsos,
				    const struct perch_mmap_record *mmap, uint64_t hash)
{
	struct recorder_dso *added;
	char *path;

	if (perch__hash_reserve(&dsos->table, dsos->nr + 1))
		return NULL;
	path = strdup(mmap->filename.text);
	added = path ? PERCH__ARRAY_APPEND_MAX(dsos->dso, dsos->nr, dsos->capacity, MAX_DSOS)
		     : NULL;
	if (!added) {
		free(path);
		return NULL;
	}
	*added = (struct recorder_dso){ .path = path, .build_id_size = mmap->build_id_size };
	if (mmap->build_id_size) {
		memcpy(added->build_id, mmap->build_id, mmap->build_id_size);
	} else {
		added->major = mmap->major;
		added->minor = mmap->minor;
		added->inode = mmap->inode;
		added->inode_generation = mmap->inode_generation;
	}
	perch__hash_add(&dsos->table, hash, dsos->nr - 1);
	return added;
}

/* Returns NULL if there is no memory. */
static struct recorder_dso *find_or_add_dso(struct recorder_dsos *dsos,
					    const struct perch_mmap_record *mmap)
{
	uint32_t index;
	uint64_t hash;

	if (!dsos->nr)
		dsos->table.seed = perch__hash_seed(dsos);
	hash = hash_dso(dsos->table.seed, mmap);
	index = perch__hash_find(&dsos->table, hash, same_dso, dsos->dso, mmap);
	return index == PERCH__HASH_NONE ? add_dso(dsos, mmap, hash) : &dsos->dso[index];
}

static void take_dso(struct recorder_scan *scan, const struct perch_mmap_record *mmap)
{
	struct recorder_dsos *dsos = &scan->dsos;
	struct recorder_dso *dso = find_or_add_dso(dsos, mmap);

	if (!dso)
		return;
	dso->pid = mmap->pid;
	dso->start = mmap->start;
	dso->end = mmap->start + mmap->length;
	perch__recorder_pin(&scan->pinned, dsos, (uint32_t)(dso - dsos->dso));
}

/* Returns its index among those of another thread, or UINT32_MAX without memory. */
static uint32_t merge_dso(struct recorder_dsos *to, const struct recorder_dso *dso)
{
	struct perch_mmap_record mmap = { .filename.text = dso->path,
					  .build_id_size = dso->build_id_size,
					  .major = dso->major,
					  .minor = dso->minor,
					  .inode = dso->inode,
					  .inode_generation = dso->inode_generation };
	struct recorder_dso *found;

	memcpy(mmap.build_id, dso->build_id, dso->build_id_size);
	found = find_or_add_dso(to, &mmap);
	if (!found)
		return UINT32_MAX;
	if (!found->pid) {
		found->pid = dso->pid;
		found->start = dso->start;
		found->end = dso->end;
	}
	return (uint32_t)(found - to->dso);
}

void perch__recorder_scan_merge(struct recorder_scan *to, struct recorder_scan *from)
{
	uint32_t *index = calloc(from->dsos.nr + 1, sizeof(*index));

	for (size_t i = 0; i < from->dsos.nr; i++) {
		uint32_t added = merge_dso(&to->dsos, &from->dsos.dso[i]);

		if (index)
			index[i] = added;
	}
	if (index)
		perch__recorder_pinned_move(&to->pinned, &to->dsos, &from->pinned, index);
	free(index);
	to->samples += from->samples;
	to->throttled += from->throttled;
	to->unwritten_bytes += from->unwritten_bytes;
	to->unwritten_samples += from->unwritten_samples;
	if (from->first_time && (!to->first_time || from->first_time < to->first_time))
		to->first_time = from->first_time;
	if (from->last_time > to->last_time)
		to->last_time = from->last_time;
	/* a file that several of them lack is counted each time */
	to->missing_files += perch__recorder_ids_missing(&from->ids) + from->missing_files;
	if (!to->ids.missing[0])
		memcpy(to->ids.missing, from->ids.missing, sizeof(to->ids.missing));
}

void perch__recorder_scan_clear(struct recorder_scan *scan)
{
	for (size_t i = 0; i < scan->dsos.nr; i++)
		free(scan->dsos.dso[i].path);
	perch__recorder_pinned_clear(&scan->pinned);
	perch__recorder_ids_clear(&scan->ids);
	perch__recorder_edits_clear(&scan->edits);
	perch__recorder_users_clear(&scan->users);
	free(scan->dsos.dso);
	perch__hash_clear(&scan->dsos.table);
	scan->dsos = (struct recorder_dsos){ 0 };
	for (size_t i = 0; i < scan->nr_modules; i++)
		free(scan->module[i]);
	free(scan->module);
	scan->module = NULL;
	scan->nr_modules = scan->modules_capacity = 0;
}

void perch__recorder_scan_reset(struct recorder_scan *scan)
{
	scan->samples = scan->throttled = 0;
	scan->first_time = scan->last_time = 0;
}

static const void *record_at(struct recorder_scan *scan, const struct iovec pieces[2],
			     size_t offset, uint16_t size)
{
	size_t first = pieces[0].iov_len;

	if (offset >= first || offset + size <= first)
		return recorder_byte_at(pieces, offset);
	first -= offset;
	memcpy(scan->joined, recorder_byte_at(pieces, offset), first);
	memcpy((char *)scan->joined + first, pieces[1].iov_base, size - first);
	return scan->joined;
}

static void take_mapping(struct recorder_scan *scan, const struct perch_record *mapping)
{
	const char *name = mapping->mmap.filename.text;

	if (mapping->misc & PERCH_MISC_MMAP_DATA)
		return;
	perch__recorder_users_mapped(&scan->users, &mapping->mmap);
	if ((name[0] == '/' && name[1] != '/') || !strcmp(name, "[vdso]"))
		take_dso(scan, &mapping->mmap);
}

/* Returns the record as it is to be written. */
static const void *scan_ring_mapping(struct recorder_scan *scan, size_t ring, size_t offset,
				     const void *bytes, uint16_t size)
{
	struct perch_record mapping;

	if (perch_record_decode(&mapping, &scan->mmap_parse_info, bytes, size, NULL) < 0)
		return bytes;
	bytes = perch__recorder_edit_mapping(&scan->edits, &scan->ids, &mapping, ring, offset,
					     bytes, size);
	take_mapping(scan, &mapping);
	return bytes;
}

static void scan_mapping(struct recorder_scan *scan, const void *bytes, uint16_t size)
{
	struct perch_record mapping;

	if (perch_record_decode(&mapping, &scan->mmap_parse_info, bytes, size, NULL) >= 0)
		take_mapping(scan, &mapping);
}

/* A module that cannot be added has no build id in the recording. */
static void scan_module(struct recorder_scan *scan, const void *bytes, uint16_t size)
{
	struct perch_record mapping;
	const char *name;
	char **added;

	if (perch_record_decode(&mapping, &scan->mmap_parse_info, bytes, size, NULL) < 0)
		return;
	name = mapping.mmap.filename.text;
	if (!strncmp(name, "[kernel.kallsyms]", 17))
		return;
	/* they are made again for each file of record --switch-output */
	for (size_t i = 0; i < scan->nr_modules; i++)
		if (!strcmp(scan->module[i], name))
			return;
	added = PERCH__ARRAY_APPEND_MAX(scan->module, scan->nr_modules, scan->modules_capacity,
					MAX_DSOS);
	if (added && !(*added = strdup(name)))
		scan->nr_modules--;
}

static void scan_sample_time(struct recorder_scan *scan, uint64_t time)
{
	if (!scan->first_time || time < scan->first_time)
		scan->first_time = time;
	if (time > scan->last_time)
		scan->last_time = time;
}

static void scan_fork(struct recorder_scan *scan, uint64_t word)
{
	uint32_t pids[2]; /* of the child and its parent */

	memcpy(pids, &word, sizeof(pids));
	perch__recorder_users_forked(&scan->users, pids[0], pids[1]);
}

static void scan_other(struct recorder_scan *scan, size_t ring, const struct iovec pieces[2],
		       size_t offset, const struct perch_record_header *header)
{
	bool mapping = header->type == PERCH_RECORD_MMAP || header->type == PERCH_RECORD_MMAP2;
	const void *bytes;

	if (mapping || (scan->sideband && perch__recorder_sideband_has(header->type))) {
		bytes = record_at(scan, pieces, offset, header->size);
		if (mapping)
			bytes = scan_ring_mapping(scan, ring, offset, bytes, header->size);
		if (scan->sideband && perch__recorder_sideband_has(header->type) &&
		    perch__recorder_sideband_add(scan->sideband, bytes, header->size) < 0)
			scan->sideband->dropped++;
	}
	switch (header->type) {
	case PERCH_RECORD_LOST:
		if (header->size >= 24)
			scan->lost[ring] += recorder_word_at(pieces, offset + 16);
		break;
	case PERCH_RECORD_LOST_SAMPLES:
		if (header->size >= 16)
			scan->lost[ring] += recorder_word_at(pieces, offset + 8);
		break;
	case PERCH_RECORD_FORK:
		if (header->size >= 24)
			scan_fork(scan, recorder_word_at(pieces, offset + 8));
		break;
	case PERCH_RECORD_THROTTLE:
		scan->throttled++;
		break;
	}
}

void perch__recorder_scan_ring(struct recorder_scan *scan, size_t ring,
			       const struct iovec pieces[2])
{
	size_t bytes = pieces[0].iov_len + pieces[1].iov_len;
	size_t time = 8 + 8 * (size_t)scan->parse_info.sample_time_word;
	size_t first = bytes, last = bytes;
	uint64_t samples = 0;
	uint16_t size;

	for (size_t offset = 0; offset < bytes; offset += size) {
		const struct perch_record_header *header =
			(const void *)recorder_byte_at(pieces, offset);

		size = header->size;
		if (header->type != PERCH_RECORD_SAMPLE) {
			scan_other(scan, ring, pieces, offset, header);
			continue;
		}
		samples++;
		last = offset;
		if (first == bytes)
			first = offset;
	}
	scan->samples += samples;
	/* within a ring, samples are in the order of time */
	if (samples && scan->same_time_word && scan->parse_info.sample_time_word >= 0 &&
	    first + time + 8 <= bytes && last + time + 8 <= bytes) {
		scan_sample_time(scan, recorder_word_at(pieces, first + time));
		scan_sample_time(scan, recorder_word_at(pieces, last + time));
	}
}

uint64_t perch__recorder_scan_count_samples(const struct iovec *pieces, int nr, uint64_t bytes)
{
	uint64_t samples = 0;
	size_t offset = 0; /* in the piece; a record may end in the next one */

	for (int i = 0; i < nr && bytes; i++) {
		while (bytes && offset < pieces[i].iov_len) {
			const struct perch_record_header *header =
				(const void *)((const char *)pieces[i].iov_base + offset);

			if (header->size < sizeof(*header) || header->size > bytes)
				return samples;
			samples += header->type == PERCH_RECORD_SAMPLE;
			offset += header->size;
			bytes -= header->size;
		}
		offset -= offset < pieces[i].iov_len ? offset : pieces[i].iov_len;
	}
	return samples;
}

void perch__recorder_scan_synthesized(struct recorder_scan *scan, const void *bytes, size_t size)
{
	const char *at = bytes;
	uint16_t record;

	for (size_t offset = 0; offset < size; offset += record) {
		const struct perch_record_header *header = (const void *)(at + offset);

		record = header->size;
		if (header->type == PERCH_RECORD_MMAP2)
			scan_mapping(scan, header, record);
		else if (header->type == PERCH_RECORD_MMAP &&
			 (header->misc & PERCH_MISC_CPUMODE_MASK) == PERCH_MISC_KERNEL)
			scan_module(scan, header, record);
	}
}
