/* SPDX-License-Identifier: MIT */
/* Names of flags, requests and errnos. */
#ifndef PERCH_TRACE_NAMES_H
#define PERCH_TRACE_NAMES_H

#include "trace.h"

/*
 * Functions that write a number as text into the buffer and return it, and the reverse functions.
 */

/* "ENOENT"; "errno 4000" if there is no name. May return a static string. */
const char *trace_format_errno(int errnum, char *buffer, size_t size);
/* "FD_CLOEXEC|0x40"; "0" */
const char *trace_format_open_flags(unsigned long flags, char *buffer, size_t size);
/* "PERF_EVENT_IOC_PERIOD"; hexadecimal if the request is unknown. */
const char *trace_format_request(unsigned long request, char *buffer, size_t size);
/* The name comes without "PERF_EVENT_IOC_". Returns 0 if it is unknown. */
unsigned long trace_parse_request(const char *name, size_t length);
/* "PROT_READ|PROT_WRITE" */
const char *trace_format_protection(int protection, char *buffer, size_t size);
/* "MAP_SHARED" */
const char *trace_format_map_flags(int flags, char *buffer, size_t size);
/* One constant PROT_* or MAP_*. Returns -1 if the name is unknown. */
long trace_parse_map_constant(const char *name, size_t length);
/* "mmap", "ioctl", "read", "munmap" */
const char *trace_operation_name(enum perch_operation_kind kind);

#endif
