/* SPDX-License-Identifier: MIT */
/* The input of fuzz_record: two attrs, then records. */
#ifndef FUZZ_RECORD_INPUT_H
#define FUZZ_RECORD_INPUT_H

#include <stdint.h>

#define RECORD_INPUT_ID_ALL 1 /* attrs have sample_id_all */
#define RECORD_INPUT_BIG    2 /* big-endian records; else little-endian */

/* Numbers are in the byte order of this machine. The records follow; each header has its size. */
struct record_input {
	uint64_t sample_type, read_format, branch_sample_type, regs_user, regs_intr;
	uint64_t other_type; /* sample_type of the second attr */
	uint32_t id, other_id;
	uint8_t flags;
	uint8_t unused[7];
};

#endif
