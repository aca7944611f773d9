/* SPDX-License-Identifier: MIT */
/* Reads BPF programs of the running kernel. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf.h"

/* Commands of bpf(2). */
enum {
	PROG_GET_NEXT_ID = 11,
	PROG_GET_FD_BY_ID = 13,
	OBJ_GET_INFO_BY_FD = 15,
	BTF_GET_FD_BY_ID = 19,
};

enum { MAX_BYTES = 16 << 20 }; /* of a program or a BTF */

static int call(const struct perch__bpf_calls *calls, int command, void *attr, size_t size)
{
	int rc = calls->bpf(calls->context, command, attr, size);

	return rc < 0 ? -errno : rc;
}

int perch__bpf_next(const struct perch__bpf_calls *calls, uint32_t *id)
{
	uint32_t attr[3] = { *id, 0, 0 }; /* start id, next id, flags */
	int rc = call(calls, PROG_GET_NEXT_ID, attr, sizeof(attr));

	if (!rc)
		*id = attr[1];
	return rc;
}

static int open_by_id(const struct perch__bpf_calls *calls, int command, uint32_t id)
{
	uint32_t attr[3] = { id, 0, 0 };

	return call(calls, command, attr, sizeof(attr));
}

static int get_info(const struct perch__bpf_calls *calls, int fd, void *info, size_t size)
{
	struct {
		uint32_t fd, size;
		uint64_t info;
	} attr = { (uint32_t)fd, (uint32_t)size, (uintptr_t)info };

	return call(calls, OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
}

/* An array that is requested: its members in info. */
struct request {
	enum perch__bpf_array array;
	uint64_t *offset;
	uint32_t *nr;
	uint32_t *element; /* NULL: `fixed` bytes */
	uint32_t fixed;
};

enum { REQUESTS = 7 };

static void list_requests(struct perch__bpf_info *info, struct request *requests)
{
	const struct request all[REQUESTS] = {
		{ PERCH__BPF_JITED, &info->jited, &info->jited_length, NULL, 1 },
		{ PERCH__BPF_ADDRESSES, &info->addresses, &info->nr_addresses, NULL, 8 },
		{ PERCH__BPF_LENGTHS, &info->lengths, &info->nr_lengths, NULL, 4 },
		{ PERCH__BPF_FUNCTIONS, &info->functions, &info->nr_functions, &info->function_size,
		  0 },
		{ PERCH__BPF_LINES, &info->lines, &info->nr_lines, &info->line_size, 0 },
		{ PERCH__BPF_JITED_LINES, &info->jited_lines, &info->nr_jited_lines,
		  &info->jited_line_size, 0 },
		{ PERCH__BPF_TAGS, &info->tags, &info->nr_tags, NULL, PERCH__BPF_TAG_SIZE },
	};

	memcpy(requests, all, sizeof(all));
}

/*
 * Requests the arrays that `sizes` has. Offsets in data become addresses of data, or the reverse.
 * Returns the bytes of all arrays, each rounded up to 8.
 */
static uint64_t request_arrays(struct perch__bpf_info *info, struct perch__bpf_info *sizes,
			       const uint8_t *data, uint64_t *arrays)
{
	struct request to[REQUESTS], from[REQUESTS];
	uint64_t used = 0;

	list_requests(info, to);
	list_requests(sizes, from);
	*arrays = 0;
	for (int i = 0; i < REQUESTS; i++) {
		uint64_t element = from[i].element ? *from[i].element : from[i].fixed;
		uint64_t size = (*from[i].nr * element + 7) / 8 * 8;

		*to[i].nr = *from[i].nr;
		if (to[i].element)
			*to[i].element = (uint32_t)element;
		*to[i].offset = (uintptr_t)data + used;
		*arrays |= UINT64_C(1) << to[i].array;
		used += size;
	}
	return used;
}

/* A program can change between the calls only if its id is that of another one. */
static bool same_sizes(struct perch__bpf_info *a, struct perch__bpf_info *b)
{
	struct request first[REQUESTS], second[REQUESTS];

	list_requests(a, first);
	list_requests(b, second);
	for (int i = 0; i < REQUESTS; i++)
		if (*first[i].nr != *second[i].nr ||
		    (first[i].element && *first[i].element != *second[i].element))
			return false;
	return a->id == b->id;
}

static int read_arrays(const struct perch__bpf_calls *calls, int fd,
		       struct perch__bpf_program *program)
{
	struct perch__bpf_info sizes = { 0 };
	uint64_t size, arrays;
	int rc = get_info(calls, fd, &sizes, sizeof(sizes));

	if (rc < 0)
		return rc;
	program->info = (struct perch__bpf_info){ 0 };
	size = request_arrays(&program->info, &sizes, NULL, &arrays);
	if (size > MAX_BYTES)
		return -E2BIG;
	program->owned = calloc(1, size ? size : 1);
	if (!program->owned)
		return -ENOMEM;
	request_arrays(&program->info, &sizes, program->owned, &program->arrays);
	rc = get_info(calls, fd, &program->info, sizeof(program->info));
	if (rc < 0)
		return rc;
	if (!same_sizes(&program->info, &sizes))
		return -EAGAIN;
	request_arrays(&program->info, &sizes, NULL, &arrays);
	program->data = program->owned;
	program->size = (uint32_t)size;
	return 0;
}

int perch__bpf_read(const struct perch__bpf_calls *calls, uint32_t id,
		    struct perch__bpf_program *program)
{
	int fd = open_by_id(calls, PROG_GET_FD_BY_ID, id), rc;

	*program = (struct perch__bpf_program){ 0 };
	if (fd < 0)
		return fd;
	rc = read_arrays(calls, fd, program);
	calls->close(calls->context, fd);
	if (rc < 0)
		perch__bpf_free(program);
	return rc;
}

void perch__bpf_free(struct perch__bpf_program *program)
{
	free(program->owned);
	*program = (struct perch__bpf_program){ 0 };
}

int perch__btf_read(const struct perch__bpf_calls *calls, uint32_t id, struct perch__btf *btf,
		    uint8_t **owned)
{
	struct {
		uint64_t bytes;
		uint32_t size, id;
	} info = { 0 };
	int fd = open_by_id(calls, BTF_GET_FD_BY_ID, id);
	int rc = fd < 0 ? fd : get_info(calls, fd, &info, sizeof(info));

	*owned = NULL;
	if (!rc && (!info.size || info.size > MAX_BYTES))
		rc = -E2BIG;
	if (!rc) {
		*owned = malloc(info.size);
		info.bytes = (uintptr_t)*owned;
		rc = *owned ? get_info(calls, fd, &info, sizeof(info)) : -ENOMEM;
	}
	if (fd >= 0)
		calls->close(calls->context, fd);
	if (rc < 0) {
		free(*owned);
		*owned = NULL;
		return rc;
	}
	*btf = (struct perch__btf){ *owned, info.size };
	return 0;
}

size_t perch__bpf_store(const struct perch__bpf_program *program, uint8_t *to)
{
	const uint32_t lengths[2] = { sizeof(program->info), program->size };
	const size_t head = sizeof(lengths) + sizeof(program->arrays);

	if (to) {
		memcpy(to, lengths, sizeof(lengths));
		memcpy(to + sizeof(lengths), &program->arrays, sizeof(program->arrays));
		memcpy(to + head, &program->info, sizeof(program->info));
		if (program->size)
			memcpy(to + head + sizeof(program->info), program->data, program->size);
	}
	return head + sizeof(program->info) + program->size;
}
