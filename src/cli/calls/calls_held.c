/* SPDX-License-Identifier: MIT */
/*
 * What is known of open calls: memory, as the kernel has read it, or as it was while the thread was
 * in the call, and paths of descriptors, which have the descriptor as address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "calls.h"

enum { MOST_CHUNKS = 8 }; /* pieces of a call */

struct calls_held {
	bool used;
	struct {
		enum calls_held_kind kind;
		uint64_t address;
		size_t size;
		char *bytes;
	} chunk[MOST_CHUNKS];
	size_t nr;
};

static struct calls_held *held_of(const struct calls_held_table *table,
				  const struct perch_syscall_open *open)
{
	return open && open->user[CALLS_HELD] ? &table->held[open->user[CALLS_HELD] - 1] : NULL;
}

void calls_discard_in_call(struct calls_held_table *table, const struct perch_syscall_open *open)
{
	struct calls_held *held = held_of(table, open);
	size_t left = 0;

	for (size_t i = 0; held && i < held->nr; i++) {
		if (held->chunk[i].kind == CALLS_BY_KERNEL)
			held->chunk[left++] = held->chunk[i];
		else
			free(held->chunk[i].bytes);
	}
	if (held)
		held->nr = left;
}

void calls_discard_held(struct calls_held_table *table, struct perch_syscall_open *open)
{
	struct calls_held *held = held_of(table, open);

	if (!held)
		return;
	for (size_t i = 0; i < held->nr; i++)
		free(held->chunk[i].bytes);
	*held = (struct calls_held){ .used = false };
	if (open->user[CALLS_HELD] - 1 < table->unused)
		table->unused = open->user[CALLS_HELD] - 1;
	open->user[CALLS_HELD] = 0;
}

void calls_hold(struct calls_held_table *table, struct perch_syscall_open *open,
		enum calls_held_kind kind, uint64_t address, const void *bytes, size_t size)
{
	struct calls_held *held = held_of(table, open);
	size_t index = table->unused;
	char *copy;

	if (!held) {
		while (index < table->nr && table->held[index].used)
			index++;
		if (index == table->nr &&
		    PERCH__ARRAY_RESERVE_ZEROED(table->held, table->capacity, index + 1))
			return;
		table->nr += index == table->nr;
		table->unused = index + 1;
		held = &table->held[index];
		*held = (struct calls_held){ .used = true };
		open->user[CALLS_HELD] = index + 1;
	}
	copy = held->nr < MOST_CHUNKS && size ? malloc(size) : NULL;
	if (!copy)
		return;
	memcpy(copy, bytes, size);
	held->chunk[held->nr].kind = kind;
	held->chunk[held->nr].address = address;
	held->chunk[held->nr].size = size;
	held->chunk[held->nr++].bytes = copy;
}

ssize_t calls_read_held(const struct calls_held_table *table, const struct perch_syscall_open *open,
			uint64_t now, bool is_path, uint64_t address, void *bytes, size_t size)
{
	const struct calls_held *held = held_of(table, open);

	for (size_t i = 0; held && i < held->nr; i++) {
		enum calls_held_kind kind = held->chunk[i].kind;
		size_t some = held->chunk[i].size < size ? held->chunk[i].size : size;

		if (held->chunk[i].address != address || (kind == CALLS_PATH_IN_CALL) != is_path ||
		    (kind != CALLS_BY_KERNEL && now <= open->user[CALLS_VERIFIED]))
			continue;
		memcpy(bytes, held->chunk[i].bytes, some);
		return (ssize_t)some;
	}
	return 0;
}

void calls_held_clear(struct calls_held_table *table)
{
	for (size_t i = 0; i < table->nr; i++)
		for (size_t k = 0; k < table->held[i].nr; k++)
			free(table->held[i].chunk[k].bytes);
	free(table->held);
	*table = (struct calls_held_table){ .held = NULL };
}
