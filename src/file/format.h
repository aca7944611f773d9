/* SPDX-License-Identifier: MIT */
/*
 * The perf.data format, in the byte order of the recording machine:
 *
 *	header | ids of each attr | attrs | start | records | feature table | feature sections
 *
 * perch writes the start: a moment, in 32 bytes that the header does not mention, so perf ignores
 * them. A recording that was killed has no features, but still its date.
 *
 * The header has the offsets of attrs and records, so the order may differ. The feature table
 * follows the records. It has one entry for each bit that is set in the header's bitmap.
 */
#ifndef PERCH_FILE_FORMAT_H
#define PERCH_FILE_FORMAT_H

#include <stdint.h>

#define PERCH__MAGIC	    0x32454c4946524550u /* "PERFILE2" when little-endian */
#define PERCH__MAGIC_V1	    0x454c494646524550u /* "PERFFILE", in either order: perf before 3.2 */

#define PERCH__FEATURE_BITS 256
#define PERCH__ATTR_MIN	    64u	  /* the attr of the first release */
#define PERCH__ATTR_MAX	    4096u /* the limit of perf_event_open(2) */
#define PERCH__NAME_ALIGN   64u	  /* strings in features are padded to this */
/* misc of a build id record: its size byte is valid */
#define PERCH__BUILD_ID_SIZE_KNOWN (1u << 15)
#define PERCH__MOST_RECORD	   65536u /* a record's size is 16 bits */

struct perch__section {
	uint64_t offset, size;
};

struct perch__file_header {
	uint64_t magic;
	uint64_t size;	    /* of this header: 104; 72 without features; 16 in a pipe */
	uint64_t attr_size; /* of one entry: attr and section of ids */
	struct perch__section attrs;
	struct perch__section data;
	struct perch__section event_types; /* obsolete */
	uint64_t features[PERCH__FEATURE_BITS / 64];
};

/* Directly before the records; of a file without a start its magic is missing. */
struct perch__file_start {
	uint64_t magic, clock; /* that of the samples, as in CLOCK_DATA */
	uint64_t wall, time;   /* one moment by the wall clock and by that clock, in ns */
};
#define PERCH__START_MAGIC	0x5452415453484350u /* "PCHSTART" when little-endian */

#define PERCH__UPDATE_NAME	2u  /* type of an EVENT_UPDATE: the event's name follows */
#define PERCH__UPDATE_HEAD	24u /* header, type, id */

#define PERCH__HEADER_SIZE	104u
#define PERCH__HEADER_SIZE_BARE 72u
#define PERCH__HEADER_SIZE_PIPE 16u

_Static_assert(sizeof(struct perch__file_header) == PERCH__HEADER_SIZE, "the header is 104 bytes");

/* An entry of the BUILD_ID feature, and a HEADER_BUILD_ID record. The path follows, NUL-terminated
 * and padded. */
struct perch__build_id_record {
	uint32_t type;
	uint16_t misc;
	uint16_t size;
	int32_t pid;
	uint8_t id[20];
	uint8_t id_size;
	uint8_t reserved[3];
};

#endif
