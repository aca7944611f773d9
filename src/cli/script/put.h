/* SPDX-License-Identifier: MIT */
/* Writes numbers as text at a position in a buffer, and returns the end; printf takes longer. */
#ifndef PERCH_CLI_SCRIPT_PUT_H
#define PERCH_CLI_SCRIPT_PUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline char *put_bytes(char *at, const char *text, size_t length)
{
	memcpy(at, text, length);
	return at + length;
}

static inline char *put_text(char *at, const char *text)
{
	return put_bytes(at, text, strlen(text));
}

static inline char *put_spaces(char *at, int nr)
{
	for (; nr > 0; nr--)
		*at++ = ' ';
	return at;
}

/* Writes at least `digits` decimal digits, right-aligned in a field of at least `width` columns. */
static inline char *put_number(char *at, uint64_t number, int digits, int width)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char text[24], *end = text + sizeof(text), *start = end;
	int length;

	for (; number >= 10; number /= 100) {
		start -= 2;
		memcpy(start, pairs + 2 * (number % 100), 2);
	}
	if (number || start == end)
		*--start = '0' + number;
	while (end - start < digits)
		*--start = '0';
	length = (int)(end - start);
	return put_bytes(put_spaces(at, width - length), start, (size_t)length);
}

/* Writes a number below 1000 with three digits. */
static inline char *put_thousandths(char *at, uint32_t number)
{
	at[0] = (char)('0' + number / 100);
	at[1] = (char)('0' + number / 10 % 10);
	at[2] = (char)('0' + number % 10);
	return at + 3;
}

/* Writes a number that may be -1, right-aligned. */
static inline char *put_signed(char *at, int32_t number, int width)
{
	char text[16], *end = text;

	if (number >= 0)
		return put_number(at, (uint64_t)number, 1, width);
	*end++ = '-';
	end = put_number(end, -(uint64_t)number, 1, 0);
	at = put_spaces(at, width - (int)(end - text));
	return put_bytes(at, text, (size_t)(end - text));
}

/* Writes a hexadecimal number, right-aligned in a field of at least `width` columns. */
static inline char *put_hex(char *at, uint64_t number, int width)
{
	int digits = number ? (67 - __builtin_clzll(number)) / 4 : 1;

	at = put_spaces(at, width - digits);
	while (digits--)
		*at++ = "0123456789abcdef"[number >> 4 * digits & 15];
	return at;
}

/* "0x1f" */
static inline char *put_address(char *at, uint64_t number)
{
	return put_hex(put_bytes(at, "0x", 2), number, 0);
}

#endif
