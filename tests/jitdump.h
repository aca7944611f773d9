/* SPDX-License-Identifier: MIT */
/* Writes files of JIT compilers for tests: jitdump, in both byte orders, and perf maps. */
#ifndef TESTS_JITDUMP_H
#define TESTS_JITDUMP_H

#include <byteswap.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct jitdump {
	FILE *file;
	bool swapped; /* the other byte order */
	uint32_t pid;
};

struct jitdump_line {
	uint64_t address;
	uint32_t line;
	const char *file; /* NULL: as before */
};

static inline void jitdump_u32(const struct jitdump *dump, uint32_t number)
{
	if (dump->swapped)
		number = bswap_32(number);
	fwrite(&number, sizeof(number), 1, dump->file);
}

static inline void jitdump_u64(const struct jitdump *dump, uint64_t number)
{
	if (dump->swapped)
		number = bswap_64(number);
	fwrite(&number, sizeof(number), 1, dump->file);
}

static inline void jitdump_prefix(const struct jitdump *dump, uint32_t type, size_t size,
				  uint64_t time)
{
	jitdump_u32(dump, type);
	jitdump_u32(dump, (uint32_t)(16 + size));
	jitdump_u64(dump, time);
}

static inline void jitdump_header(const struct jitdump *dump, uint32_t machine, uint64_t time,
				  uint64_t flags)
{
	jitdump_u32(dump, 0x4a695444);
	jitdump_u32(dump, 1);
	jitdump_u32(dump, 40);
	jitdump_u32(dump, machine);
	jitdump_u32(dump, 0);
	jitdump_u32(dump, dump->pid);
	jitdump_u64(dump, time);
	jitdump_u64(dump, flags);
}

static inline void jitdump_load(const struct jitdump *dump, uint64_t time, uint64_t index,
				uint64_t address, const char *name, const void *code, size_t size)
{
	jitdump_prefix(dump, 0, 40 + strlen(name) + 1 + size, time);
	jitdump_u32(dump, dump->pid);
	jitdump_u32(dump, dump->pid);
	jitdump_u64(dump, address);
	jitdump_u64(dump, address);
	jitdump_u64(dump, size);
	jitdump_u64(dump, index);
	fwrite(name, 1, strlen(name) + 1, dump->file);
	fwrite(code, 1, size, dump->file);
}

static inline void jitdump_move(const struct jitdump *dump, uint64_t time, uint64_t index,
				uint64_t from, uint64_t to, uint64_t size)
{
	jitdump_prefix(dump, 1, 48, time);
	jitdump_u32(dump, dump->pid);
	jitdump_u32(dump, dump->pid);
	jitdump_u64(dump, from);
	jitdump_u64(dump, from);
	jitdump_u64(dump, to);
	jitdump_u64(dump, size);
	jitdump_u64(dump, index);
}

/* Comes before the load of the function. */
static inline void jitdump_lines(const struct jitdump *dump, uint64_t time, uint64_t address,
				 const struct jitdump_line *line, size_t nr)
{
	size_t size = 16;

	for (size_t i = 0; i < nr; i++)
		size += 16 + (line[i].file ? strlen(line[i].file) : 1) + 1;
	jitdump_prefix(dump, 2, size, time);
	jitdump_u64(dump, address);
	jitdump_u64(dump, nr);
	for (size_t i = 0; i < nr; i++) {
		const char *file = line[i].file ? line[i].file : "\xff";

		jitdump_u64(dump, line[i].address);
		jitdump_u32(dump, line[i].line);
		jitdump_u32(dump, 0);
		fwrite(file, 1, strlen(file) + 1, dump->file);
	}
}

/* Comes before the load of the function. bytes: .eh_frame, then .eh_frame_hdr. */
static inline void jitdump_unwinding(const struct jitdump *dump, uint64_t time, const void *bytes,
				     size_t size, size_t header_size)
{
	jitdump_prefix(dump, 4, 24 + size, time);
	jitdump_u64(dump, size);
	jitdump_u64(dump, header_size);
	jitdump_u64(dump, size);
	fwrite(bytes, 1, size, dump->file);
}

static inline void jitdump_close(const struct jitdump *dump, uint64_t time)
{
	jitdump_prefix(dump, 3, 0, time);
}

static inline void perf_map_line(FILE *map, uint64_t address, size_t size, const char *name)
{
	fprintf(map, "%llx %zx %s\n", (unsigned long long)address, size, name);
}

#endif
