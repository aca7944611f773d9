/* SPDX-License-Identifier: MIT */
/*
 * The build id in a MMAP2 record, at the place of the device and inode: its size of up to 20, three
 * zeros, the id, zeros up to 20 bytes.
 *
 * The mark PERCH_MISC_MMAP_BUILD_ID can be that of another event (struct perch_mmap_record). A
 * device and an inode that look like a build id have a small minor number. As part of an id of 8
 * bytes that is so unlikely that those below 2^20 are taken for a device and an inode. So are
 * shorter ids.
 */
#ifndef PERCH_BASE_MMAP_BUILD_ID_H
#define PERCH_BASE_MMAP_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	PERCH__MMAP_BUILD_ID_AT = 40,	 /* in the record, with its header */
	PERCH__MMAP_BUILD_ID_BYTES = 24, /* size and id */
	PERCH__MMAP_MINORS = 1 << 20,
	PERCH__MMAP_CERTAIN_ID = 16 /* bytes */
};

/* word: bytes 4 to 7, in the byte order of the record. */
static inline bool perch__is_mmap_build_id(const uint8_t at[PERCH__MMAP_BUILD_ID_BYTES],
					   uint32_t word)
{
	const size_t size = at[0], end = PERCH__MMAP_BUILD_ID_BYTES;

	if (!size || 4 + size > end || at[1] || at[2] || at[3])
		return false;
	for (size_t i = 4 + size; i < end; i++)
		if (at[i])
			return false;
	return size >= PERCH__MMAP_CERTAIN_ID || word >= PERCH__MMAP_MINORS;
}

/* Writes the bytes of an id of up to 20 bytes. Returns false if readers would not take them for a
 * build id in a record of an event without attr.build_id. */
static inline bool perch__put_mmap_build_id(uint8_t at[PERCH__MMAP_BUILD_ID_BYTES],
					    const uint8_t *id, size_t size)
{
	uint32_t word;

	memset(at, 0, PERCH__MMAP_BUILD_ID_BYTES);
	at[0] = (uint8_t)size;
	memcpy(at + 4, id, size);
	memcpy(&word, at + 4, sizeof(word));
	return perch__is_mmap_build_id(at, word);
}

#endif
