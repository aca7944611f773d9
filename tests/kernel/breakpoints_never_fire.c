/* SPDX-License-Identifier: MIT */
/*
 * Pretends a host on which hardware breakpoints can be opened and never fire, for programs that are
 * started with this library in LD_PRELOAD. CONTRIBUTING.md says how tests run with it.
 *
 * The kernel checks each breakpoint as the program passes it, and takes a debug register for it.
 * The breakpoint is then opened again at an address that nothing accesses: a page below the lowest
 * one that can be mapped. Between the two calls it may fire.
 *
 * Not replaced: system calls without the function of the C library, programs that are linked
 * statically, and those whose privileges come from their file, which ignore LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOWHERE 0x1000

typedef long system_call(long number, ...);
typedef int device_control(int fd, unsigned long request, ...);

/* Not in a constructor: those of other libraries may make system calls before. */
static system_call *real_syscall(void)
{
	static system_call *found;

	if (!found)
		found = (system_call *)dlsym(RTLD_NEXT, "syscall");
	return found;
}

static device_control *real_ioctl(void)
{
	static device_control *found;

	if (!found)
		found = (device_control *)dlsym(RTLD_NEXT, "ioctl");
	return found;
}

/*
 * Copies the attr of an accepted call, which is readable, with another address. Its offset in the
 * page stays, and with it the alignment. Returns false if it is no breakpoint.
 */
static int move(const struct perf_event_attr *attr, struct perf_event_attr *moved)
{
	size_t size = attr->size ? attr->size : PERF_ATTR_SIZE_VER0;

	if (attr->type != PERF_TYPE_BREAKPOINT)
		return 0;
	memset(moved, 0, sizeof(*moved));
	memcpy(moved, attr, size < sizeof(*moved) ? size : sizeof(*moved));
	moved->size = size < sizeof(*moved) ? size : sizeof(*moved);
	moved->bp_addr = NOWHERE | (attr->bp_addr & (NOWHERE - 1));
	return 1;
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
	struct perf_event_attr moved;
	va_list arguments;
	long a[6], result;

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	result = real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number != SYS_perf_event_open || result < 0 ||
	    !move((const struct perf_event_attr *)a[0], &moved))
		return result;
	close((int)result);
	return real_syscall()(number, &moved, a[1], a[2], a[3], a[4], a[5]);
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	struct perf_event_attr moved;
	va_list arguments;
	void *argument;
	int result;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	result = real_ioctl()(fd, request, argument);
	if (request != PERF_EVENT_IOC_MODIFY_ATTRIBUTES || result < 0 || !move(argument, &moved))
		return result;
	return real_ioctl()(fd, request, &moved);
}
