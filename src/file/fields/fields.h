/* SPDX-License-Identifier: MIT */
/* Fields of perf.data's own records: a cursor over the bytes, which calls the caller's function for
 * each field. */
#ifndef PERCH_FILE_FIELDS_H
#define PERCH_FILE_FIELDS_H

#include "base/nr.h"
#include "file/internal.h"

struct perch__emitter {
	const uint8_t *at, *end; /* the bytes without a field so far */
	bool swapped;
	uint16_t misc;
	perch_field_function *function;
	void *context;
	int rc; /* of the first call that did not return 0; the function is not called after it */
};

/* Returns a number of 1, 2, 4 or 8 bytes in the record's byte order. */
uint64_t perch__emitter_load(const struct perch__emitter *emitter, const uint8_t *at, size_t size);

/* Each emits one field, and does not advance the cursor. */
void perch__emitter_field(struct perch__emitter *emitter, const char *name,
			  enum perch_field_kind kind, uint64_t value);
void perch__emitter_flags(struct perch__emitter *emitter, const char *name, uint64_t value,
			  const char *text);
void perch__emitter_bytes(struct perch__emitter *emitter, const char *name,
			  enum perch_field_kind kind, const void *bytes, size_t length);
static inline void perch__emitter_end(struct perch__emitter *emitter)
{
	perch__emitter_field(emitter, NULL, PERCH_FIELD_END, 0);
}

/*
 * A field of `size` bytes. TEXT ends at its first NUL, END is padding, numbers have 1, 2, 4 or 8
 * bytes. FLAGS have a name for each value.
 */
struct perch__field_format {
	const char *name;
	enum perch_field_kind kind;
	uint16_t size;
	const char *const *names;
	uint8_t nr_names;
};
/* Emits fields until the record ends. Returns their number. */
size_t perch__emitter_fields(struct perch__emitter *emitter,
			     const struct perch__field_format *fields, size_t nr);
/* Emits a list of `nr` items of these fields, or fewer if the record is shorter. */
void perch__emitter_list(struct perch__emitter *emitter, const char *name, uint64_t nr,
			 const struct perch__field_format *fields, size_t nr_fields);

/* fields_variable.c: the fields of variable size, by record type. */
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
void perch__emit_file_compressed(struct perch__emitter *emitter);
void perch__emit_file_compressed2(struct perch__emitter *emitter);
void perch__emit_file_bpf_metadata(struct perch__emitter *emitter);
void perch__emit_file_schedstat_cpu(struct perch__emitter *emitter);
void perch__emit_file_schedstat_domain(struct perch__emitter *emitter);

#endif
