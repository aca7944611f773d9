/* SPDX-License-Identifier: MIT */
/* Visiting and formatting the fields of a record: what the files of perch/fields.h share. */
#ifndef PERCH_RECORD_FIELDS_H
#define PERCH_RECORD_FIELDS_H

#include <perch/fields.h>
#include "internal.h"

/* One run of perch_record_fields(). */
struct perch__walk {
	const struct perch_record *record;
	enum perch_arch arch;
	perch_field_function *function;
	void *context;
	int rc; /* what the function returned; no fields are emitted once it is not 0 */
};

/* fields_emit.c: these call the function of the walk for one field. */
void perch__emit_field(struct perch__walk *walk, const char *name, enum perch_field_kind kind,
		       uint64_t value);
void perch__emit_bytes(struct perch__walk *walk, const char *name, const void *bytes,
		       size_t length);
void perch__emit_text(struct perch__walk *walk, const char *name, const struct perch_text *text);

/* Writes the names of a value's flags, at most size bytes with the NUL. Returns the full length. */
typedef size_t perch__format_function(enum perch_arch arch, uint64_t value, char *text,
				      size_t size);
#define PERCH__FORMAT_BYTES 512
void perch__emit_flags(struct perch__walk *walk, const char *name, uint64_t value,
		       perch__format_function *format);

/* Emits a field that is not a single value: EMIT() in fields.def names the function. */
typedef void perch__emit_function(struct perch__walk *walk, const char *name);
perch__emit_function perch__emit_read_record, perch__emit_mmap_build_id,
	perch__emit_namespace_links, perch__emit_bpf_tag, perch__emit_text_poke_old_bytes,
	perch__emit_text_poke_new_bytes, perch__emit_deferred_chain, perch__emit_trailer_id,
	perch__emit_trailer_identifier;
perch__emit_function perch__emit_sample_identifier, perch__emit_sample_read,
	perch__emit_sample_callchain, perch__emit_sample_raw, perch__emit_sample_branches,
	perch__emit_sample_regs_user, perch__emit_sample_stack, perch__emit_sample_weight,
	perch__emit_sample_regs_intr, perch__emit_sample_aux;

/* A list of names that is written into a buffer. length counts what does not fit too. */
struct perch__text {
	char *text;
	size_t size;
	size_t length;
	const char *separator;
};
void perch__text_init(struct perch__text *out, char *text, size_t size, const char *separator);
__attribute__((format(printf, 2, 3))) void perch__text_add(struct perch__text *out,
							   const char *format, ...);

struct perch__flag {
	uint64_t bit;
	const char *name;
};
/* Adds the names of the bits in value. Bits without a name are added in hexadecimal. */
void perch__text_add_flags(struct perch__text *out, const struct perch__flag *bits, size_t nr,
			   uint64_t value);

/* format_flags.c, format_data_src.c, branch.c */
perch__format_function perch__format_protection, perch__format_map_flags, perch__format_aux_flags,
	perch__format_ksymbol_type, perch__format_ksymbol_flags, perch__format_bpf_type,
	perch__format_data_src, perch__format_transaction, perch__format_branch,
	perch__format_context, perch__format_abi, perch__format_namespace;
/* Returns the flags of a branch as one number: the first bit-field is lowest, on every machine. */
uint64_t perch__branch_flags(const struct perch_branch_entry *entry);

#endif
