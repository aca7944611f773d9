/* SPDX-License-Identifier: MIT */
/* Builds records field by field, as the kernel writes them. */
#ifndef BUILD_RECORD_H
#define BUILD_RECORD_H

#include <stdbool.h>
#include <string.h>
#include <perch/abi.h>

/* Whether records are built in the other byte order. */
static bool built_swapped;

struct built {
	_Alignas(8) uint8_t bytes[1 << 14];
	size_t size;
};

static inline void put_bytes(struct built *built, const void *data, size_t size)
{
	memcpy(built->bytes + built->size, data, size);
	built->size += size;
}

static inline void put_u16(struct built *built, uint16_t value)
{
	value = built_swapped ? __builtin_bswap16(value) : value;
	put_bytes(built, &value, sizeof(value));
}

static inline void put_u32(struct built *built, uint32_t value)
{
	value = built_swapped ? __builtin_bswap32(value) : value;
	put_bytes(built, &value, sizeof(value));
}

static inline void put_u64(struct built *built, uint64_t value)
{
	value = built_swapped ? __builtin_bswap64(value) : value;
	put_bytes(built, &value, sizeof(value));
}

/* A NUL-terminated name, padded with zeros to 8 bytes. */
static inline void put_name(struct built *built, const char *name)
{
	put_bytes(built, name, strlen(name) + 1);
	while (built->size % 8)
		built->bytes[built->size++] = 0;
}

static inline void start_record(struct built *built, uint32_t type, uint16_t misc)
{
	memset(built, 0, sizeof(*built));
	put_u32(built, type);
	put_u16(built, misc);
	put_u16(built, 0);
}

static inline void set_record_size(void *bytes, uint16_t size)
{
	size = built_swapped ? __builtin_bswap16(size) : size;
	memcpy((char *)bytes + 6, &size, sizeof(size));
}

static inline void end_record(struct built *built)
{
	set_record_size(built->bytes, built->size);
}

#define BUILT_PID    1001
#define BUILT_TID    1002
#define BUILT_TIME   123456789
#define BUILT_ID     77
#define BUILT_STREAM 78
#define BUILT_CPU    3

/* The sample_id trailer for an attr with these sample bits. */
static inline void put_trailer(struct built *built, uint64_t sample_type, uint64_t time,
			       uint64_t id)
{
	if (sample_type & PERCH_SAMPLE_TID) {
		put_u32(built, BUILT_PID);
		put_u32(built, BUILT_TID);
	}
	if (sample_type & PERCH_SAMPLE_TIME)
		put_u64(built, time);
	if (sample_type & PERCH_SAMPLE_ID)
		put_u64(built, id);
	if (sample_type & PERCH_SAMPLE_STREAM_ID)
		put_u64(built, BUILT_STREAM);
	if (sample_type & PERCH_SAMPLE_CPU) {
		put_u32(built, BUILT_CPU);
		put_u32(built, 0);
	}
	if (sample_type & PERCH_SAMPLE_IDENTIFIER)
		put_u64(built, id);
}

#endif
