/* SPDX-License-Identifier: MIT */
/* The input of fuzz_tracepoint: the text of a format, then the bytes of sample.raw. */
#ifndef FUZZ_TRACEPOINT_INPUT_H
#define FUZZ_TRACEPOINT_INPUT_H

#include <stdint.h>

#define TRACEPOINT_INPUT_SWAPPED 1 /* the record has the other byte order */
#define TRACEPOINT_INPUT_LONG_4	 2 /* the format is of a machine with long of 4 bytes */

struct tracepoint_input {
	uint8_t flags;
	uint8_t unused;
	uint16_t text_size; /* in the byte order of this machine; the rest is sample.raw */
};

#endif
