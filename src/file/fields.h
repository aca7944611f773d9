/* SPDX-License-Identifier: MIT */
/* Telling the fields of perf.data's own records: a cursor over the bytes that calls the caller's
 * function. */
#ifndef PERCH_FILE_FIELDS_H
#define PERCH_FILE_FIELDS_H

#include "internal.h"

struct perch__teller {
	const uint8_t *at, *end; /* what has not been told */
	bool swapped;
	uint16_t misc;
	perch_field_function *function;
	void *context;
	/* of the first function that did not return 0: nothing is told after it */
	int rc;
};

/* A number of 1, 2, 4 or 8 bytes in the record's order. */
uint64_t perch__teller_load(const struct perch__teller *teller, const uint8_t *at, size_t size);

/* Each tells one field, of no bytes. */
void perch__tell_field(struct perch__teller *teller, const char *name, enum perch_field_kind kind,
		       uint64_t value);
void perch__tell_words(struct perch__teller *teller, const char *name, uint64_t value,
		       const char *words);
void perch__tell_bytes(struct perch__teller *teller, const char *name, enum perch_field_kind kind,
		       const void *bytes, size_t length);
static inline void perch__tell_end(struct perch__teller *teller)
{
	perch__tell_field(teller, NULL, PERCH_FIELD_END, 0);
}

/*
 * A field of `size` bytes at the cursor. TEXT ends at its first NUL; END skips the bytes; numbers
 * are of 1, 2, 4 or 8 bytes, and SIGNED ones are extended from there. words: of WORDS, by value.
 */
struct perch__part {
	const char *name;
	enum perch_field_kind kind;
	uint16_t size;
	const char *const *words;
	uint8_t nr_words;
};
/* Tells parts until one does not fit: how many did. */
size_t perch__tell_parts(struct perch__teller *teller, const struct perch__part *parts, size_t nr);
/* A list of `nr` entries of these parts each, as far as they are there. */
void perch__tell_list(struct perch__teller *teller, const char *name, uint64_t nr,
		      const struct perch__part *parts, size_t nr_parts);

/* fields_parts.c: what follows the parts of one size. */
void perch__tell_attr_record(struct perch__teller *teller);
void perch__tell_build_id(struct perch__teller *teller);
void perch__tell_id_index(struct perch__teller *teller);
void perch__tell_auxtrace_info(struct perch__teller *teller);
void perch__tell_auxtrace_error(struct perch__teller *teller);
void perch__tell_thread_map(struct perch__teller *teller);
void perch__tell_cpu_map(struct perch__teller *teller);
void perch__tell_stat_config(struct perch__teller *teller);
void perch__tell_event_update(struct perch__teller *teller);
void perch__tell_feature(struct perch__teller *teller);
void perch__tell_packed(struct perch__teller *teller);
void perch__tell_packed2(struct perch__teller *teller);
void perch__tell_bpf_metadata(struct perch__teller *teller);
void perch__tell_schedstat_cpu(struct perch__teller *teller);
void perch__tell_schedstat_domain(struct perch__teller *teller);

#define PERCH__NR(array) (sizeof(array) / sizeof((array)[0]))

#endif
