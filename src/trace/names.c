/* SPDX-License-Identifier: MIT */
/* Names of errnos, flags and ioctl requests, to print and to parse logs. */
#include <string.h>
#include <sys/mman.h>
#include <perch/syscall.h>

#include "names.h"

struct name {
	const char *name;
	unsigned long value;
};

static const struct name open_flags[] = {
	{ "FD_NO_GROUP", PERCH_FLAG_FD_NO_GROUP },
	{ "FD_OUTPUT", PERCH_FLAG_FD_OUTPUT },
	{ "PID_CGROUP", PERCH_FLAG_PID_CGROUP },
	{ "FD_CLOEXEC", PERCH_FLAG_FD_CLOEXEC },
};

static const struct name protections[] = {
	{ "PROT_READ", PROT_READ },
	{ "PROT_WRITE", PROT_WRITE },
	{ "PROT_EXEC", PROT_EXEC },
};

/* Flags that the C library of an architecture or an old one does not define. */
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif

static const struct name map_flags[] = {
	{ "MAP_SHARED_VALIDATE", MAP_SHARED_VALIDATE },
	{ "MAP_SHARED", MAP_SHARED },
	{ "MAP_PRIVATE", MAP_PRIVATE },
	{ "MAP_FIXED", MAP_FIXED },
	{ "MAP_FIXED_NOREPLACE", MAP_FIXED_NOREPLACE },
	{ "MAP_GROWSDOWN", MAP_GROWSDOWN },
#ifdef MAP_32BIT
	{ "MAP_32BIT", MAP_32BIT },
#endif
	{ "MAP_SYNC", MAP_SYNC },
	{ "MAP_ANONYMOUS", MAP_ANONYMOUS },
	{ "MAP_LOCKED", MAP_LOCKED },
	{ "MAP_NORESERVE", MAP_NORESERVE },
	{ "MAP_POPULATE", MAP_POPULATE },
	{ "MAP_NONBLOCK", MAP_NONBLOCK },
	{ "MAP_STACK", MAP_STACK },
	{ "MAP_HUGETLB", MAP_HUGETLB },
};

/* clang-format off */
#define REQUEST(word) { #word, PERCH_IOC_##word }
/* clang-format on */
static const struct name requests[] = {
	REQUEST(ENABLE),  REQUEST(DISABLE),	 REQUEST(REFRESH),    REQUEST(RESET),
	REQUEST(PERIOD),  REQUEST(SET_OUTPUT),	 REQUEST(SET_FILTER), REQUEST(ID),
	REQUEST(SET_BPF), REQUEST(PAUSE_OUTPUT), REQUEST(QUERY_BPF),  REQUEST(MODIFY_ATTRIBUTES),
};

const char *trace_format_errno(int errnum, char *buffer, size_t size)
{
	const char *name = perch_errno_name(errnum);

	if (name)
		return name;
	snprintf(buffer, size, "errno %d", errnum);
	return buffer;
}

/* "A|B|0x40" */
static const char *format_bits(const struct name *names, size_t nr, unsigned long value,
			       char *buffer, size_t size)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (size_t i = 0; i < nr && used < size; i++) {
		if ((value & names[i].value) != names[i].value)
			continue;
		used += snprintf(buffer + used, size - used, "%s%s", used ? "|" : "",
				 names[i].name);
		value &= ~names[i].value;
	}
	if ((value || !used) && used < size)
		snprintf(buffer + used, size - used, value ? "%s%#lx" : "%s%lu", used ? "|" : "",
			 value);
	return buffer;
}

const char *trace_format_open_flags(unsigned long flags, char *buffer, size_t size)
{
	return format_bits(open_flags, TRACE_NR(open_flags), flags, buffer, size);
}

const char *trace_format_protection(int protection, char *buffer, size_t size)
{
	return format_bits(protections, TRACE_NR(protections), (unsigned)protection, buffer, size);
}

const char *trace_format_map_flags(int flags, char *buffer, size_t size)
{
	return format_bits(map_flags, TRACE_NR(map_flags), (unsigned)flags, buffer, size);
}

static const struct name *find_name(const struct name *names, size_t nr, const char *name,
				    size_t length)
{
	for (size_t i = 0; i < nr; i++)
		if (strlen(names[i].name) == length && !memcmp(names[i].name, name, length))
			return &names[i];
	return NULL;
}

long trace_parse_map_constant(const char *name, size_t length)
{
	const struct name *found = find_name(protections, TRACE_NR(protections), name, length);

	if (!found)
		found = find_name(map_flags, TRACE_NR(map_flags), name, length);
	return found ? (long)found->value : -1;
}

const char *trace_format_request(unsigned long request, char *buffer, size_t size)
{
	for (size_t i = 0; i < TRACE_NR(requests); i++)
		if ((uint32_t)requests[i].value == (uint32_t)request) {
			snprintf(buffer, size, "PERF_EVENT_IOC_%s", requests[i].name);
			return buffer;
		}
	snprintf(buffer, size, "%#lx", request);
	return buffer;
}

unsigned long trace_parse_request(const char *name, size_t length)
{
	const struct name *found = find_name(requests, TRACE_NR(requests), name, length);

	return found ? found->value : 0;
}

const char *trace_operation_name(enum perch_operation_kind kind)
{
	static const char *const names[] = {
		[PERCH_OPERATION_MMAP] = "mmap",   [PERCH_OPERATION_IOCTL] = "ioctl",
		[PERCH_OPERATION_READ] = "read",   [PERCH_OPERATION_MUNMAP] = "munmap",
		[PERCH_OPERATION_READV] = "readv",
	};

	return names[kind];
}
