/* SPDX-License-Identifier: MIT */
/* The words of a call, for text and JSON: which fields of an attr count, and how its numbers are
 * called. */
#ifndef PERCH_CLI_EXPLAIN_ATTR_H
#define PERCH_CLI_EXPLAIN_ATTR_H

#include "explain.h"

/*
 * The attr as far as it can be read and is known here, zero beyond. attr.size is as passed. Returns
 * false when there is none.
 */
bool explain_attr_copy(struct perch_attr *copy, const struct perch_attr *attr);

/*
 * Calls each() for every field that is not zero, once for each word: sample_freq or sample_period,
 * bp_addr or config1, as the attr itself says.
 */
typedef void explain_field_callback(void *context, const char *name, uint64_t value,
				    bool is_signed);
void explain_attr_for_each_field(const struct perch_attr *attr, explain_field_callback *each,
				 void *context);
/* The same for words that lie beyond what is known here: "word_144". */
void explain_attr_for_each_unknown_word(const struct perch_attr *attr, explain_field_callback *each,
					void *context);

/*
 * "{type=0 HARDWARE, size=136, config=0 cycles, sample_type=IP|TID, disabled=1, ...}". machine:
 * names of PMUs, NULL: none are known; memory: pointers of the attr are those of the machine's
 * process now.
 */
struct explain_attr_format {
	FILE *out;
	bool partial;
	bool memory;
	struct perch_machine *machine;
};
void explain_attr_print(const struct explain_attr_format *words, const struct perch_attr *attr);
/* "cycles"; false when that config has no name of its own. */
bool explain_format_config(uint32_t type, uint64_t config, char *buffer, size_t size);

/* "FD_CLOEXEC|0x40"; "0" */
const char *explain_format_open_flags(unsigned long flags, char *buffer, size_t size);
/* "PERF_EVENT_IOC_PERIOD"; a number in hex when it is none of them. */
const char *explain_format_request(unsigned long request, char *buffer, size_t size);
/* And back, without "PERF_EVENT_IOC_"; 0 when there is none of that name. */
unsigned long explain_parse_request(const char *name, size_t length);
/* "PROT_READ|PROT_WRITE", "MAP_SHARED" */
const char *explain_format_protection(int protection, char *buffer, size_t size);
const char *explain_format_map_flags(int flags, char *buffer, size_t size);
/* A bit of PROT_* or MAP_* by its whole name; -1 when there is none. */
long explain_parse_map_constant(const char *name, size_t length);
/* "mmap", "ioctl", "read", "munmap" */
const char *explain_operation_name(enum perch_operation_kind kind);

#endif
