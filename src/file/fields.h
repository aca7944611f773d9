/* SPDX-License-Identifier: MIT */
/* Telling the fields of perf.data's own records: a cursor over the bytes that calls the caller's
 * function. */
#ifndef PERCH_FILE_FIELDS_H
#define PERCH_FILE_FIELDS_H

#include "internal.h"

struct perch__emitter {
	const uint8_t *at, *end; /* what has not been told */
	bool swapped;
	uint16_t misc;
	perch_field_function *function;
	void *context;
	/* of the first function that did not return 0: nothing is told after it */
	int rc;
};

/* A number of 1, 2, 4 or 8 bytes in the record's order. */
uint64_t perch__emitter_load(const struct perch__emitter *emitter, const uint8_t *at, size_t size);

/* Each tells one field, of no bytes. */
void perch__emitter_field(struct perch__emitter *emitter, const char *name,
			  enum perch_field_kind kind, uint64_t value);
void perch__emitter_flags(struct perch__emitter *emitter, const char *name, uint64_t value,
			  const char *words);
void perch__emitter_bytes(struct perch__emitter *emitter, const char *name,
			  enum perch_field_kind kind, const void *bytes, size_t length);
static inline void perch__emitter_end(struct perch__emitter *emitter)
{
	perch__emitter_field(emitter, NULL, PERCH_FIELD_END, 0);
}

/*
 * A field of `size` bytes at the cursor. TEXT ends at its first NUL; END skips the bytes; numbers
 * are of 1, 2, 4 or 8 bytes, and SIGNED ones are extended from there. words: of WORDS, by value.
 */
struct perch__field_format {
	const char *name;
	enum perch_field_kind kind;
	uint16_t size;
	const char *const *names;
	uint8_t nr_names;
};
/* Tells parts until one does not fit: how many did. */
size_t perch__emitter_parts(struct perch__emitter *emitter, const struct perch__field_format *parts,
			    size_t nr);
/* A list of `nr` entries of these parts each, as far as they are there. */
void perch__emitter_list(struct perch__emitter *emitter, const char *name, uint64_t nr,
			 const struct perch__field_format *parts, size_t nr_parts);

/* fields_parts.c: what follows the parts of one size. */
void perch__emit_file_attr_record(struct perch__emitter *emitter);
void perch__emit_file_build_id(struct perch__emitter *emitter);
void perch__emit_file_id_index(struct perch__emitter *emitter);
void perch__emit_file_auxtrace_info(struct perch__emitter *emitter);
void perch__emit_file_auxtrace_error(struct perch__emitter *emitter);
void perch__emit_file_thread_map(struct perch__emitter *emitter);
void perch__emit_file_cpu_map(struct perch__emitter *emitter);
void perch__emit_file_stat_config(struct perch__emitter *emitter);
void perch__emit_file_event_update(struct perch__emitter *emitter);
void perch__emit_file_feature(struct perch__emitter *emitter);
void perch__emit_file_packed(struct perch__emitter *emitter);
void perch__emit_file_packed2(struct perch__emitter *emitter);
void perch__emit_file_bpf_metadata(struct perch__emitter *emitter);
void perch__emit_file_schedstat_cpu(struct perch__emitter *emitter);
void perch__emit_file_schedstat_domain(struct perch__emitter *emitter);

#define PERCH__NR(array) (sizeof(array) / sizeof((array)[0]))

#endif
