/* SPDX-License-Identifier: MIT */
/*
 * The side-band cache. Its size is limited. When it is full, the records of processes that have
 * ended are dropped; if that is not enough, the older half of the records that the recording added.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "scan.h"

#define MAX_PASSES 32

/* A process that has ended. Its records before the end are dropped. */
struct ended {
	uint32_t pid;
	bool needed; /* a child that inherited its mappings still runs */
	size_t end;  /* offset of its last EXIT record */
};

struct ended_list {
	struct ended *ended;
	size_t nr, capacity;
};

bool perch__recorder_sideband_has(uint32_t type)
{
	switch (type) {
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
	case PERCH_RECORD_COMM:
	case PERCH_RECORD_FORK:
	case PERCH_RECORD_EXIT:
	case PERCH_RECORD_NAMESPACES:
	case PERCH_RECORD_KSYMBOL:
	case PERCH_RECORD_BPF_EVENT:
	case PERCH_RECORD_CGROUP:
	case PERCH_RECORD_TEXT_POKE:
		return true;
	default:
		return false;
	}
}

static const struct perch_record_header *header_at(const struct recorder_sideband *sideband,
						   size_t offset)
{
	return (const void *)(sideband->bytes + offset);
}

/* Returns a 4-byte word after the header, or 0 if the record is shorter. */
static uint32_t word_at(const struct recorder_sideband *sideband, size_t offset, unsigned index)
{
	const size_t start = sizeof(struct perch_record_header) + sizeof(uint32_t) * (size_t)index;
	uint32_t value = 0;

	if (header_at(sideband, offset)->size >= start + sizeof(value))
		memcpy(&value, sideband->bytes + offset + start, sizeof(value));
	return value;
}

static bool is_of_process(uint32_t type)
{
	return type == PERCH_RECORD_MMAP || type == PERCH_RECORD_MMAP2 ||
	       type == PERCH_RECORD_COMM || type == PERCH_RECORD_FORK ||
	       type == PERCH_RECORD_EXIT || type == PERCH_RECORD_NAMESPACES;
}

static int compare_pids(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static struct ended *find_in_list(const struct ended_list *list, uint32_t pid)
{
	size_t low = PERCH__SEARCH(list->nr, i, list->ended[i].pid < pid);

	return low < list->nr && list->ended[low].pid == pid ? &list->ended[low] : NULL;
}

/* Only the older half of the cache is searched: samples of processes that ended later may still be
 * in the rings. */
static int find_ended(const struct recorder_sideband *sideband, struct ended_list *list)
{
	size_t nr = 0;

	for (size_t at = sideband->synthesized; at < sideband->used / 2;
	     at += header_at(sideband, at)->size) {
		uint32_t pid = word_at(sideband, at, 0);
		struct ended *ended;

		if (header_at(sideband, at)->type != PERCH_RECORD_EXIT ||
		    pid != word_at(sideband, at, 2))
			continue;
		ended = PERCH__ARRAY_APPEND(list->ended, list->nr, list->capacity);
		if (!ended)
			return -ENOMEM;
		*ended = (struct ended){ pid, false, at };
	}
	if (list->nr)
		qsort(list->ended, list->nr, sizeof(*list->ended), compare_pids);
	/* of a pid that was used again, only the last end counts */
	for (size_t i = 0; i < list->nr; i++) {
		if (nr && list->ended[nr - 1].pid == list->ended[i].pid)
			nr--;
		list->ended[nr++] = list->ended[i];
	}
	list->nr = nr;
	return 0;
}

/* Marks ended processes whose children still run, then the parents of these, and so on. Returns
 * false if that takes too many passes. */
static bool mark_parents(const struct recorder_sideband *sideband, struct ended_list *list)
{
	bool changed = true;

	for (int pass = 0; changed; pass++) {
		if (pass == MAX_PASSES)
			return false;
		changed = false;
		for (size_t at = 0; at < sideband->used; at += header_at(sideband, at)->size) {
			struct ended *parent, *child;

			if (header_at(sideband, at)->type != PERCH_RECORD_FORK ||
			    word_at(sideband, at, 0) == word_at(sideband, at, 1))
				continue;
			parent = find_in_list(list, word_at(sideband, at, 1));
			child = find_in_list(list, word_at(sideband, at, 0));
			if (!parent || parent->needed || at > parent->end ||
			    (child && !child->needed && at < child->end))
				continue;
			parent->needed = changed = true;
		}
	}
	return true;
}

/* Removes the records of ended processes, and the records that the recording added before the
 * offset `until`.
 */
static void compact(struct recorder_sideband *sideband, const struct ended_list *list, size_t until)
{
	size_t to = 0, synthesized = 0;
	uint16_t size;

	for (size_t at = 0; at < sideband->used; at += size) {
		const struct perch_record_header *header = header_at(sideband, at);
		const struct ended *ended = is_of_process(header->type)
						    ? find_in_list(list, word_at(sideband, at, 0))
						    : NULL;

		size = header->size;
		if (at == sideband->synthesized)
			synthesized = to;
		if ((ended && !ended->needed && at <= ended->end) ||
		    (at >= sideband->synthesized && at < until)) {
			sideband->dropped += until != 0;
			continue;
		}
		memmove(sideband->bytes + to, sideband->bytes + at, size);
		to += size;
	}
	sideband->synthesized = sideband->synthesized < sideband->used ? synthesized : to;
	sideband->used = to;
}

static void shrink(struct recorder_sideband *sideband)
{
	struct ended_list list = { 0 };

	if (find_ended(sideband, &list) < 0 || !mark_parents(sideband, &list))
		list.nr = 0;
	compact(sideband, &list, 0);
	list.nr = 0;
	if (sideband->used > sideband->limit / 4 * 3)
		compact(sideband, &list,
			sideband->synthesized + (sideband->used - sideband->synthesized) / 2);
	free(list.ended);
}

int perch__recorder_sideband_add(struct recorder_sideband *sideband, const void *bytes, size_t size)
{
	if (!sideband->limit)
		sideband->limit = RECORDER_SIDEBAND_BYTES;
	if (sideband->used + size > sideband->limit && sideband->used > sideband->synthesized)
		shrink(sideband);
	if (PERCH__ARRAY_RESERVE(sideband->bytes, sideband->capacity, sideband->used + size))
		return -ENOMEM;
	memcpy(sideband->bytes + sideband->used, bytes, size);
	sideband->used += size;
	return 0;
}

void perch__recorder_sideband_end_synthesized(struct recorder_sideband *sideband)
{
	sideband->synthesized = sideband->used;
	/* with many running processes, the recording needs as much space again */
	sideband->limit = RECORDER_SIDEBAND_BYTES > 2 * sideband->synthesized
				  ? RECORDER_SIDEBAND_BYTES
				  : 2 * sideband->synthesized;
}

void perch__recorder_sideband_clear(struct recorder_sideband *sideband)
{
	free(sideband->bytes);
	*sideband = (struct recorder_sideband){ 0 };
}
