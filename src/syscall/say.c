/* SPDX-License-Identifier: MIT */
/* Numbers as text. */
#include "internal.h"

void perch__say_number(struct perch__say *to, uint64_t number, unsigned base)
{
	char digits[24], *at = digits + sizeof(digits);

	do {
		*--at = "0123456789abcdef"[number % base];
		number /= base;
	} while (number);
	perch__say_put(to, at, (size_t)(digits + sizeof(digits) - at));
}

void perch__say_signed(struct perch__say *to, int64_t number)
{
	if (number < 0)
		perch__say_put(to, "-", 1);
	perch__say_number(to, number < 0 ? -(uint64_t)number : (uint64_t)number, 10);
}

void perch__say_hex(struct perch__say *to, uint64_t number)
{
	perch__say_put(to, "0x", 2);
	perch__say_number(to, number, 16);
}

void perch__say_pointer(struct perch__say *to, uint64_t address)
{
	if (address)
		perch__say_hex(to, address);
	else
		perch__say_put(to, "NULL", 4);
}
