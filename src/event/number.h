/* SPDX-License-Identifier: MIT */
/* Numbers in those parts of event strings that are no words: addresses, offsets, lengths. */
#ifndef PERCH_EVENT_NUMBER_H
#define PERCH_EVENT_NUMBER_H

#include "internal.h"

/*
 * The number at offset *at of the text, hexadecimal after 0x, else decimal (a 0 in front changes
 * nothing); *at is then the byte behind it. Told: -EINVAL, there is none ("expected WHAT, found
 * ...") or it has letters; -ERANGE, it has more than 64 bits.
 */
int perch__take_number(struct perch__parser *parser, size_t *at, uint64_t *value, const char *what);

#endif
