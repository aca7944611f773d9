/* SPDX-License-Identifier: MIT */
/* Attrs, flags, requests and errnos as text. */
#ifndef PERCH_CLI_EXPLAIN_FORMAT_H
#define PERCH_CLI_EXPLAIN_FORMAT_H

#include "explain.h"

/*
 * Functions that write a number as text into the buffer and return it, and the reverse functions.
 */

/* "ENOENT"; "errno 4000" if there is no name. May return a static string. */
const char *explain_format_errno(int errnum, char *buffer, size_t size);
/* Returns 0 if the name is unknown. */
int explain_parse_errno(const char *name, size_t length);
/* "FD_CLOEXEC|0x40"; "0" */
const char *explain_format_open_flags(unsigned long flags, char *buffer, size_t size);
/* "PERF_EVENT_IOC_PERIOD"; hexadecimal if the request is unknown. */
const char *explain_format_request(unsigned long request, char *buffer, size_t size);
/* The name comes without "PERF_EVENT_IOC_". Returns 0 if it is unknown. */
unsigned long explain_parse_request(const char *name, size_t length);
/* "PROT_READ|PROT_WRITE" */
const char *explain_format_protection(int protection, char *buffer, size_t size);
/* "MAP_SHARED" */
const char *explain_format_map_flags(int flags, char *buffer, size_t size);
/* One constant PROT_* or MAP_*. Returns -1 if the name is unknown. */
long explain_parse_map_constant(const char *name, size_t length);
/* "mmap", "ioctl", "read", "munmap" */
const char *explain_operation_name(enum perch_operation_kind kind);

/*
 * Copies the readable bytes of an attr that this version has; the rest is zero. copy->size is the
 * size that was passed. Returns false if attr is NULL.
 */
bool explain_attr_copy(struct perch_attr *copy, const struct perch_attr *attr);

typedef void explain_field_callback(void *context, const char *name, uint64_t value,
				    bool is_signed);
/*
 * Calls each() once for every field that is not zero. A field with several names has the one that
 * the attr selects: sample_freq or sample_period, bp_addr or config1.
 */
void explain_attr_for_each_field(const struct perch_attr *attr, explain_field_callback *each,
				 void *context);
/* The same for 8-byte words beyond this version's struct perch_attr: "word_144". */
void explain_attr_for_each_unknown_word(const struct perch_attr *attr, explain_field_callback *each,
					void *context);

struct explain_attr_format {
	FILE *out;
	bool partial; /* some fields are unknown */
	bool memory;  /* pointers of the attr can be read through the machine's process */
	struct perch_machine *machine; /* for names of PMUs; may be NULL */
};
/* "{type=0 HARDWARE, size=136, config=0 cycles, sample_type=IP|TID, disabled=1, ...}" */
void explain_attr_print(const struct explain_attr_format *format, const struct perch_attr *attr);
/* "cycles"; returns false if the config has no name. */
bool explain_format_config(uint32_t type, uint64_t config, char *buffer, size_t size);

#endif
