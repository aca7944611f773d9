/* SPDX-License-Identifier: MIT */
/*
 * System calls. A file calls only files below its own:
 *
 *	joiner.c	entries and exits -> calls
 *	arguments.c	an argument or a result as text
 *	  values.c	  what arguments point to: strings, struct sockaddr, sets and others
 *	  structs.c	  structs of fixed fields (structs.def)
 *	  words.c	  flags and constants (flags.def, flags_more.def)
 *	  say.c		  numbers
 *	table.c		names and numbers (calls.def)
 *	errno.c		names of errnos (errnos.def)
 */
#ifndef PERCH_SYSCALL_INTERNAL_H
#define PERCH_SYSCALL_INTERNAL_H

#include <stdint.h>
#include <string.h>
#include <perch/syscall.h>

enum perch__syscall_kind {
#define KIND(name) PERCH__ARG_##name,
#include "kinds.def"
#undef KIND
#define SET(name) PERCH__ARG_##name,
#define WORD(mask, value, name)
#define BIT(value, name)
#define IS(value, name)
#include "flags.def"
#include "flags_more.def"
#undef SET
#undef WORD
#undef BIT
#undef IS
	PERCH__ARG_NR
};

enum { PERCH__SYSCALL_COLUMNS = 4 }; /* of numbers in calls.def */

struct perch_syscall {
	const char *name;
	int16_t number[PERCH__SYSCALL_COLUMNS];
	uint16_t groups; /* without FILE and DESCRIPTOR, with what the result is */
	uint8_t kind[PERCH_SYSCALL_ARGUMENTS];
};

/* Text that is written into a buffer of the caller, and cut at its end. size is at least 1. */
struct perch__say {
	char *text;
	size_t size, length;
};

static inline void perch__say_put(struct perch__say *to, const char *text, size_t length)
{
	size_t left = to->size - 1 - to->length;

	length = length < left ? length : left;
	memcpy(to->text + to->length, text, length);
	to->length += length;
	to->text[to->length] = '\0';
}

static inline void perch__say_add(struct perch__say *to, const char *text)
{
	perch__say_put(to, text, strlen(text));
}

/* ---- table.c ---- */

bool perch__syscall_returns_address(const struct perch_syscall *syscall);

/* ---- say.c ---- */

void perch__say_number(struct perch__say *to, uint64_t number, unsigned base);
void perch__say_signed(struct perch__say *to, int64_t number);
void perch__say_hex(struct perch__say *to, uint64_t number); /* "0x1f" */
/* A pointer: NULL for 0. */
void perch__say_pointer(struct perch__say *to, uint64_t address);

/* ---- words.c ---- */

/* The words of a value: "O_RDONLY|O_CLOEXEC|0x8". Returns false if the kind has none. */
bool perch__say_words(struct perch__say *to, unsigned kind, uint64_t value);
void perch__say_signal(struct perch__say *to, int32_t number); /* SIGINT, SIGRT_2 */

/* ---- values.c: each returns false if it has put nothing, because memory cannot be read ---- */

bool perch__say_string(struct perch__say *to, const struct perch_syscall_process *process,
		       uint64_t address);
/* Reads memory as it was in the call: all of it, or nothing. */
static inline bool perch__read_whole(const struct perch_syscall_process *process, uint64_t address,
				     void *bytes, size_t size)
{
	bool verified = false;

	return process->read(process->context, address, bytes, size, &verified) == (ssize_t)size &&
	       verified;
}

/* nr: of bytes or elements, where the kind needs one */
bool perch__say_value(struct perch__say *to, unsigned kind,
		      const struct perch_syscall_process *process, uint64_t address, uint64_t nr);

/* ---- structs.c ---- */

/* True for a kind of structs.def; narrow: of a program of 32 bits. */
bool perch__is_struct(unsigned kind, bool narrow);
bool perch__say_struct(struct perch__say *to, unsigned kind,
		       const struct perch_syscall_process *process, uint64_t address, uint64_t nr);

#endif
