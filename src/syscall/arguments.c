/* SPDX-License-Identifier: MIT */
/* An argument or a result as text. */
#include <stdlib.h>

#include "internal.h"

#define AT_FDCWD_VALUE (-100)
#define ANONYMOUS      0x20 /* MAP_ANONYMOUS */
#define MOST_ERRNO     4095

/* 0644, 0 */
static void put_octal(struct perch__say *to, uint64_t number)
{
	if (number)
		perch__say_put(to, "0", 1);
	perch__say_number(to, number, 8);
}

/* ---- arguments ---- */

static void put_descriptor(struct perch__say *to, int fd,
			   const struct perch_syscall_process *process)
{
	char path[512], clean[sizeof(path)];
	bool verified = false;
	size_t length;

	perch__say_signed(to, fd);
	if (fd < 0 || !process || !process->path)
		return;
	length = process->path(process->context, fd, path, sizeof(path), &verified);
	if (!length)
		return;
	perch_clean_text(path, clean, sizeof(clean));
	perch__say_put(to, "<", 1);
	perch__say_add(to, clean);
	perch__say_put(to, ">?", verified ? 1 : 2);
}

/* The flags of open(2) differ on ARM. */
static unsigned open_flags_of(const struct perch_syscall_call *call)
{
	return call->abi == PERCH_SYSCALL_ARM64 ? PERCH__ARG_ARM_OPEN_FLAGS : PERCH__ARG_OPEN_FLAGS;
}

/* How many bytes or elements an argument points to, where another argument says it. */
static uint64_t number_of(const struct perch_syscall_call *call, unsigned kind, unsigned index)
{
	if (kind == PERCH__ARG_FD_SET)
		return call->argument[0];
	if (kind == PERCH__ARG_CPU_SET)
		return index && call->argument[index - 1] < UINT32_MAX
			       ? 8 * call->argument[index - 1]
			       : 0;
	return index + 1 < PERCH_SYSCALL_ARGUMENTS ? call->argument[index + 1] : 0;
}

/* The kind of a struct that some machines have in another form; NONE: it is not known here. */
static unsigned struct_of(const struct perch_syscall_call *call, unsigned kind, uint64_t nr)
{
	bool is_x86 = call->abi == PERCH_SYSCALL_X86_64 || call->abi == PERCH_SYSCALL_I386;

	if (kind == PERCH__ARG_EPOLL_EVENT && !is_x86)
		return PERCH__ARG_ALIGNED_EPOLL_EVENT;
	/* RISC-V has no sa_restorer */
	if (kind == PERCH__ARG_SIGACTION && call->abi == PERCH_SYSCALL_GENERIC)
		return PERCH__ARG_NONE;
	if (kind == PERCH__ARG_SOCKET_VALUE && nr != sizeof(int))
		return PERCH__ARG_NONE;
	return kind == PERCH__ARG_TIMESPEC_OR_VALUE ? PERCH__ARG_TIMESPEC : kind;
}

/* What an argument points to; its address if that cannot be read. */
static void put_memory(struct perch__say *to, const struct perch_syscall_call *call, unsigned kind,
		       unsigned index, const struct perch_syscall_process *process)
{
	uint64_t address = call->argument[index], nr = number_of(call, kind, index);
	bool narrow = call->abi == PERCH_SYSCALL_I386;
	bool done = false;

	kind = struct_of(call, kind, nr);
	if (address && process && process->read) {
		if (kind == PERCH__ARG_PATH || kind == PERCH__ARG_STRING)
			done = perch__say_string(to, process, address);
		else if (!narrow || kind == PERCH__ARG_SOCKADDR || perch__is_struct(kind, true))
			done = perch__say_value(to, kind, process, address, nr);
	}
	if (!done)
		perch__say_pointer(to, address);
}

/* True for a call with FUTEX_WAIT and others, whose fourth argument is a time. */
static bool futex_has_time(uint64_t operation)
{
	/* WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2 */
	return 1u << (operation & 0x1f) & (1u << 0 | 1u << 6 | 1u << 9 | 1u << 11 | 1u << 13);
}

static void put_option(struct perch__say *to, const struct perch_syscall_call *call, unsigned index)
{
	uint64_t level = call->argument[index - 1], value = call->argument[index];

	if (level == 1)
		perch__say_words(to, PERCH__ARG_SOCKET_OPTION, value);
	else if (level == 6)
		perch__say_words(to, PERCH__ARG_TCP_OPTION, value);
	else
		perch__say_signed(to, (int32_t)value);
}

/* _IOC(...) of an unknown request says its parts. */
static void put_request(struct perch__say *to, uint32_t request)
{
	static const char *const direction[] = { "_IOC_NONE", "_IOC_WRITE", "_IOC_READ",
						 "_IOC_READ|_IOC_WRITE" };
	char text[64];
	struct perch__say words = { text, sizeof(text), 0 };

	perch__say_words(&words, PERCH__ARG_IOCTL, request);
	if (text[0] != '0') {
		perch__say_add(to, text);
		return;
	}
	perch__say_add(to, "_IOC(");
	perch__say_add(to, direction[request >> 30]);
	perch__say_add(to, ", ");
	perch__say_hex(to, request >> 8 & 0xff);
	perch__say_add(to, ", ");
	perch__say_hex(to, request & 0xff);
	perch__say_add(to, ", ");
	perch__say_hex(to, request >> 16 & 0x3fff);
	perch__say_add(to, ")");
}

/* The third argument of fcntl(2). Returns false if the command has none. */
static bool put_fcntl(struct perch__say *to, const struct perch_syscall_call *call, unsigned index,
		      const struct perch_syscall_process *process)
{
	uint64_t command = call->argument[index - 1], value = call->argument[index];

	switch (command) {
	case 1:	   /* F_GETFD */
	case 3:	   /* F_GETFL */
	case 9:	   /* F_GETOWN */
	case 11:   /* F_GETSIG */
	case 1025: /* F_GETLEASE */
	case 1032: /* F_GETPIPE_SZ */
	case 1034: /* F_GET_SEALS */
		return false;
	case 0:	   /* F_DUPFD */
	case 1030: /* F_DUPFD_CLOEXEC */
	case 8:	   /* F_SETOWN */
	case 1031: /* F_SETPIPE_SZ */
		perch__say_signed(to, (int32_t)value);
		return true;
	case 2: /* F_SETFD */
		return perch__say_words(to, PERCH__ARG_DESCRIPTOR_FLAGS, value);
	case 4: /* F_SETFL */
		return perch__say_words(to, open_flags_of(call), value);
	case 10: /* F_SETSIG */
		perch__say_signal(to, (int32_t)value);
		return true;
	case 5: /* F_GETLK, F_SETLK, F_SETLKW */
	case 6:
	case 7:
	case 36: /* the same for open file descriptions */
	case 37:
	case 38:
		put_memory(to, call, PERCH__ARG_FILE_LOCK, index, process);
		return true;
	default:
		perch__say_pointer(to, value);
		return true;
	}
}

/* Returns false for an argument that the call does not use. */
static bool put_argument(struct perch__say *to, const struct perch_syscall_call *call,
			 unsigned index, const struct perch_syscall_process *process)
{
	uint64_t value = call->argument[index];
	unsigned kind = call->syscall->kind[index];

	switch (kind) {
	case PERCH__ARG_NONE:
		return false;
	case PERCH__ARG_UNKNOWN:
	case PERCH__ARG_HEX:
		if (value)
			perch__say_hex(to, value);
		else
			perch__say_put(to, "0", 1);
		return true;
	case PERCH__ARG_INT:
		perch__say_signed(to, (int32_t)value);
		return true;
	case PERCH__ARG_UNSIGNED:
		perch__say_number(to, (uint32_t)value, 10);
		return true;
	case PERCH__ARG_LONG:
		perch__say_signed(to, (int64_t)value);
		return true;
	case PERCH__ARG_SIZE:
		perch__say_number(to, value, 10);
		return true;
	case PERCH__ARG_POINTER:
	case PERCH__ARG_ADDRESS:
	case PERCH__ARG_BUFFER:
		perch__say_pointer(to, value);
		return true;
	case PERCH__ARG_ID:
		if ((uint32_t)value == UINT32_MAX)
			perch__say_put(to, "-1", 2);
		else
			perch__say_number(to, (uint32_t)value, 10);
		return true;
	case PERCH__ARG_MAP_FD:
		if (index && call->argument[index - 1] & ANONYMOUS)
			perch__say_signed(to, (int32_t)value);
		else
			put_descriptor(to, (int32_t)value, process);
		return true;
	case PERCH__ARG_DIRFD:
		if ((int32_t)value == AT_FDCWD_VALUE) {
			perch__say_add(to, "AT_FDCWD");
			return true;
		}
		/* fall through */
	case PERCH__ARG_FD:
		put_descriptor(to, (int32_t)value, process);
		return true;
	case PERCH__ARG_OPEN_MODE:
		/* O_CREAT, and the bit that O_TMPFILE has beside O_DIRECTORY */
		if (!(call->argument[index - 1] & (0100 | 020000000)))
			return false;
		/* fall through */
	case PERCH__ARG_MODE:
		put_octal(to, (uint32_t)value & 07777777);
		return true;
	case PERCH__ARG_PAIR:
		perch__say_signed(to, (int64_t)(call->argument[index + 1] << 32 | (uint32_t)value));
		return true;
	case PERCH__ARG_TIMESPEC_OR_VALUE:
		if (!futex_has_time(call->argument[1])) {
			perch__say_number(to, (uint32_t)value, 10);
			return true;
		}
		/* fall through */
	case PERCH__ARG_PATH:
	case PERCH__ARG_STRING:
		put_memory(to, call, kind, index, process);
		return true;
	case PERCH__ARG_FCNTL_ARGUMENT:
		return put_fcntl(to, call, index, process);
	case PERCH__ARG_SOCKET_OPTION:
		put_option(to, call, index);
		return true;
	case PERCH__ARG_IOCTL:
		put_request(to, (uint32_t)value);
		return true;
	case PERCH__ARG_SIGNAL:
		perch__say_signal(to, (int32_t)value);
		return true;
	case PERCH__ARG_OPEN_FLAGS:
		return perch__say_words(to, open_flags_of(call), value);
	default:
		if (kind < PERCH__ARG_TIMESPEC || kind > PERCH__ARG_FCNTL_ARGUMENT)
			return perch__say_words(to, kind, value);
		put_memory(to, call, kind, index, process);
		return true;
	}
}

/* The kind of an argument, where a number in two arguments counts as one. */
static int position_of(const struct perch_syscall *syscall, unsigned index)
{
	unsigned at = 0;

	for (unsigned i = 0; at < PERCH_SYSCALL_ARGUMENTS; i++, at++) {
		if (i == index)
			return (int)at;
		at += syscall->kind[i] == PERCH__ARG_PAIR;
	}
	return -1;
}

size_t perch_syscall_argument_text(const struct perch_syscall_call *call, unsigned index,
				   const struct perch_syscall_process *process, char *text,
				   size_t size)
{
	struct perch__say to = { text, size, 0 };
	struct perch_syscall_call shifted;
	struct perch_syscall kinds;
	int at;

	text[0] = '\0';
	if (index >= PERCH_SYSCALL_ARGUMENTS)
		return 0;
	if (!call->syscall || call->syscall->kind[0] == PERCH__ARG_UNKNOWN) {
		perch__say_hex(&to, call->argument[index]);
		return to.length;
	}
	at = position_of(call->syscall, index);
	if (at < 0 || call->syscall->kind[index] == PERCH__ARG_NONE)
		return 0;
	if (at == (int)index) {
		if (!put_argument(&to, call, index, process))
			return 0;
		return to.length;
	}
	/* behind a pair: its value moves to the place of its kind */
	shifted = *call;
	kinds = *call->syscall;
	shifted.syscall = &kinds;
	memset(kinds.kind, PERCH__ARG_NONE, sizeof(kinds.kind));
	kinds.kind[at] = call->syscall->kind[index];
	if (kinds.kind[at] == PERCH__ARG_PAIR && at + 1 == PERCH_SYSCALL_ARGUMENTS)
		kinds.kind[at] = PERCH__ARG_HEX;
	return put_argument(&to, &shifted, (unsigned)at, process) ? to.length : 0;
}

/* ---- results ---- */

static void put_errno(struct perch__say *to, int errnum)
{
	const char *name = perch_errno_name(errnum);
	const char *what = errnum >= 512 ? NULL : strerror(errnum);

	/* the kernel restarts the call, or returns EINTR after a signal handler */
	if (errnum >= 512 && errnum <= 516 && errnum != 515) {
		perch__say_add(to, "? ");
		what = "interrupted by a signal";
	} else {
		perch__say_add(to, "-1 ");
	}
	if (name)
		perch__say_add(to, name);
	else
		perch__say_number(to, (uint64_t)errnum, 10);
	if (!what)
		return;
	perch__say_add(to, " (");
	perch__say_add(to, what);
	perch__say_add(to, ")");
}

size_t perch_syscall_result_text(const struct perch_syscall_call *call, int64_t result, char *text,
				 size_t size)
{
	struct perch__say to = { text, size, 0 };

	text[0] = '\0';
	if (result < 0 && result >= -MOST_ERRNO)
		put_errno(&to, (int)-result);
	else if (call->syscall && perch__syscall_returns_address(call->syscall))
		perch__say_hex(&to, (uint64_t)result);
	else
		perch__say_signed(&to, result);
	return to.length;
}
