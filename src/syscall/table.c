/* SPDX-License-Identifier: MIT */
/* Names and numbers of system calls. */
#include <stddef.h>

#include "internal.h"

#define NETWORK	    PERCH_SYSCALL_NETWORK
#define PROCESS	    PERCH_SYSCALL_PROCESS
#define MEMORY	    PERCH_SYSCALL_MEMORY
#define SIGNALS	    PERCH_SYSCALL_SIGNALS
#define IPC	    PERCH_SYSCALL_IPC
#define CREDENTIALS PERCH_SYSCALL_CREDENTIALS
#define CLOCK_CALLS PERCH_SYSCALL_CLOCK

/* Bits of the groups of a row that are no groups: what the result is. */
#define NEW_DESCRIPTOR 0x4000
#define NEW_ADDRESS    0x8000

/* The kinds of a row, by their short names. */
#define KINDS(...) KINDS_(__VA_ARGS__, NONE, NONE, NONE, NONE, NONE, NONE)
#define KINDS_(a, b, c, d, e, f, ...)              \
	{                                          \
		K(a), K(b), K(c), K(d), K(e), K(f) \
	}
#define K(name)				    PERCH__ARG_##name
#define CALL(name, a, b, c, d, groups, ...) { #name, { a, b, c, d }, groups, KINDS(__VA_ARGS__) },

static const struct perch_syscall calls[] = {
#include "calls.def"
};

#define NR_CALLS (sizeof(calls) / sizeof(calls[0]))
#define X32_BIT	 0x40000000

/* Returns the column of calls.def, or -1. */
static int column_of(enum perch_syscall_abi abi)
{
	switch (abi) {
	case PERCH_SYSCALL_X86_64:
		return 0;
	case PERCH_SYSCALL_I386:
		return 1;
	case PERCH_SYSCALL_ARM64:
	case PERCH_SYSCALL_GENERIC:
		return 2;
	case PERCH_SYSCALL_S390X:
		return 3;
	default:
		return -1;
	}
}

enum perch_syscall_abi perch_syscall_abi_of(const char *machine, bool narrow)
{
	static const struct {
		const char *machine;
		enum perch_syscall_abi wide, narrow;
	} abis[] = {
		{ "x86_64", PERCH_SYSCALL_X86_64, PERCH_SYSCALL_I386 },
		{ "i386", PERCH_SYSCALL_I386, PERCH_SYSCALL_I386 },
		{ "i486", PERCH_SYSCALL_I386, PERCH_SYSCALL_I386 },
		{ "i586", PERCH_SYSCALL_I386, PERCH_SYSCALL_I386 },
		{ "i686", PERCH_SYSCALL_I386, PERCH_SYSCALL_I386 },
		{ "aarch64", PERCH_SYSCALL_ARM64, PERCH_SYSCALL_UNKNOWN },
		{ "riscv64", PERCH_SYSCALL_GENERIC, PERCH_SYSCALL_UNKNOWN },
		{ "loongarch64", PERCH_SYSCALL_GENERIC, PERCH_SYSCALL_UNKNOWN },
		{ "s390x", PERCH_SYSCALL_S390X, PERCH_SYSCALL_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(abis) / sizeof(abis[0]); i++)
		if (!strcmp(machine, abis[i].machine))
			return narrow ? abis[i].narrow : abis[i].wide;
	return PERCH_SYSCALL_UNKNOWN;
}

const struct perch_syscall *perch_syscall_find(enum perch_syscall_abi abi, int64_t number)
{
	int column = column_of(abi);

	if (abi == PERCH_SYSCALL_X86_64 && number >= X32_BIT)
		number -= X32_BIT;
	for (size_t i = 0; column >= 0 && number >= 0 && i < NR_CALLS; i++)
		if (calls[i].number[column] == number)
			return &calls[i];
	return NULL;
}

const struct perch_syscall *perch_syscall_find_name(enum perch_syscall_abi abi, const char *name,
						    int64_t *number)
{
	int column = column_of(abi);

	if (number)
		*number = -1;
	for (size_t i = 0; column >= 0 && i < NR_CALLS; i++) {
		if (calls[i].number[column] < 0 || strcmp(calls[i].name, name))
			continue;
		if (number)
			*number = calls[i].number[column];
		return &calls[i];
	}
	return NULL;
}

const char *perch_syscall_name(const struct perch_syscall *syscall)
{
	return syscall->name;
}

bool perch_syscall_is_in(const struct perch_syscall *syscall, unsigned groups)
{
	unsigned own = syscall->groups;

	for (size_t i = 0; i < PERCH_SYSCALL_ARGUMENTS; i++) {
		unsigned kind = syscall->kind[i];

		if (kind == PERCH__ARG_PATH)
			own |= PERCH_SYSCALL_FILE;
		if (kind == PERCH__ARG_FD || kind == PERCH__ARG_DIRFD || kind == PERCH__ARG_MAP_FD)
			own |= PERCH_SYSCALL_DESCRIPTOR;
	}
	return own & groups;
}

bool perch_syscall_reads_memory(const struct perch_syscall *syscall)
{
	for (size_t i = 0; i < PERCH_SYSCALL_ARGUMENTS; i++) {
		unsigned kind = syscall->kind[i];

		if (kind == PERCH__ARG_PATH || kind == PERCH__ARG_STRING ||
		    (kind >= PERCH__ARG_TIMESPEC && kind <= PERCH__ARG_FCNTL_ARGUMENT))
			return true;
	}
	return false;
}

bool perch_syscall_returns_descriptor(const struct perch_syscall *syscall)
{
	return syscall->groups & NEW_DESCRIPTOR;
}

bool perch__syscall_returns_address(const struct perch_syscall *syscall)
{
	return syscall->groups & NEW_ADDRESS;
}
