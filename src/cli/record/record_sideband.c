/* SPDX-License-Identifier: MIT */
/*
 * What each of several files begins with, so that it can be read alone: what was there before the
 * recording, and every mapping, name and task since. It is kept in bounded memory: when that is
 * full, processes that ended long ago are forgotten, and if that is not enough, the oldest of what
 * was told since.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define MOST_PASSES 32

/* A process that is forgotten: its records up to its end. */
struct ended {
	uint32_t pid;
	/* one that it forked goes on, and needs what it had mapped */
	bool kept;
	size_t end; /* offset of its last EXIT */
};

struct ended_list {
	struct ended *at;
	size_t nr, room;
};

bool record_sideband_has(uint32_t type)
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

static const struct perch_record_header *header_at(const struct record_sideband *side,
						   size_t offset)
{
	return (const void *)(side->bytes + offset);
}

/* The number of a word of 4 bytes behind the header; 0 when the record ends before it. */
static uint32_t half_word(const struct record_sideband *side, size_t offset, unsigned index)
{
	uint32_t value = 0;

	if (header_at(side, offset)->size >= sizeof(struct perch_record_header) + 4 * (index + 1))
		memcpy(&value,
		       side->bytes + offset + sizeof(struct perch_record_header) +
			       4 * (size_t)index,
		       sizeof(value));
	return value;
}

static bool is_of_process(uint32_t type)
{
	return type == PERCH_RECORD_MMAP || type == PERCH_RECORD_MMAP2 ||
	       type == PERCH_RECORD_COMM || type == PERCH_RECORD_FORK ||
	       type == PERCH_RECORD_EXIT || type == PERCH_RECORD_NAMESPACES;
}

static int by_pid(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static struct ended *find(const struct ended_list *list, uint32_t pid)
{
	size_t low = 0, high = list->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->at[middle].pid == pid)
			return &list->at[middle];
		if (list->at[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Those whose end was told in the first half: samples of later ones may still be in the rings. */
static int gather_ended(const struct record_sideband *side, struct ended_list *list)
{
	size_t nr = 0;

	for (size_t at = side->made; at < side->used / 2; at += header_at(side, at)->size) {
		uint32_t pid = half_word(side, at, 0);

		if (header_at(side, at)->type != PERCH_RECORD_EXIT || pid != half_word(side, at, 2))
			continue;
		if (list->nr == list->room) {
			size_t room = list->room ? 2 * list->room : 256;
			struct ended *grown = realloc(list->at, room * sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			list->at = grown;
			list->room = room;
		}
		list->at[list->nr++] = (struct ended){ pid, false, at };
	}
	if (list->nr)
		qsort(list->at, list->nr, sizeof(*list->at), by_pid);
	/* of a number that was used again, the last end */
	for (size_t i = 0; i < list->nr; i++) {
		if (nr && list->at[nr - 1].pid == list->at[i].pid)
			nr--;
		list->at[nr++] = list->at[i];
	}
	list->nr = nr;
	return 0;
}

/* One who forked a process that goes on is kept, and so is who forked that one. False: that would
 * go on for too long. */
static bool keep_parents(const struct record_sideband *side, struct ended_list *list)
{
	bool changed = true;

	for (int pass = 0; changed; pass++) {
		if (pass == MOST_PASSES)
			return false;
		changed = false;
		for (size_t at = 0; at < side->used; at += header_at(side, at)->size) {
			struct ended *parent, *child;

			if (header_at(side, at)->type != PERCH_RECORD_FORK ||
			    half_word(side, at, 0) == half_word(side, at, 1))
				continue;
			parent = find(list, half_word(side, at, 1));
			child = find(list, half_word(side, at, 0));
			if (!parent || parent->kept || at > parent->end ||
			    (child && !child->kept && at < child->end))
				continue;
			parent->kept = changed = true;
		}
	}
	return true;
}

/* Moves what stays together. Whatever was told before so_far goes too. */
static void squeeze(struct record_sideband *side, const struct ended_list *list, size_t so_far)
{
	size_t to = 0, made = 0;
	uint16_t size;

	for (size_t at = 0; at < side->used; at += size) {
		const struct perch_record_header *header = header_at(side, at);
		const struct ended *ended =
			is_of_process(header->type) ? find(list, half_word(side, at, 0)) : NULL;

		size = header->size;
		if (at == side->made)
			made = to;
		if ((ended && !ended->kept && at <= ended->end) ||
		    (at >= side->made && at < so_far)) {
			side->forgotten += so_far != 0;
			continue;
		}
		memmove(side->bytes + to, side->bytes + at, size);
		to += size;
	}
	side->made = side->made < side->used ? made : to;
	side->used = to;
}

static void forget(struct record_sideband *side)
{
	struct ended_list list = { 0 };

	if (gather_ended(side, &list) < 0 || !keep_parents(side, &list))
		list.nr = 0;
	squeeze(side, &list, 0);
	list.nr = 0;
	if (side->used > side->most / 4 * 3)
		squeeze(side, &list, side->made + (side->used - side->made) / 2);
	free(list.at);
}

int record_sideband_add(struct record_sideband *side, const void *bytes, size_t size)
{
	if (!side->most)
		side->most = RECORD_SIDEBAND_BYTES;
	if (side->used + size > side->most && side->used > side->made)
		forget(side);
	if (side->used + size > side->room) {
		size_t room = side->room ? side->room : 1 << 20;
		char *grown;

		while (room < side->used + size)
			room *= 2;
		grown = realloc(side->bytes, room);
		if (!grown)
			return -ENOMEM;
		side->bytes = grown;
		side->room = room;
	}
	memcpy(side->bytes + side->used, bytes, size);
	side->used += size;
	return 0;
}

void record_sideband_end_synthesized(struct record_sideband *side)
{
	side->made = side->used;
	/* of many processes there is more to tell, and something must fit behind what was made */
	side->most = RECORD_SIDEBAND_BYTES > 2 * side->made ? RECORD_SIDEBAND_BYTES
							    : 2 * side->made;
}
