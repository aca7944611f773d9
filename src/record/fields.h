/* SPDX-License-Identifier: MIT */
/* What the files share that tell a record field by field. */
#ifndef PERCH_RECORD_FIELDS_H
#define PERCH_RECORD_FIELDS_H

#include <perch/fields.h>
#include "internal.h"

/* A walk on its way. */
struct perch__walk {
	const struct perch_record *record;
	enum perch_arch arch;
	perch_field_function *function;
	void *context;
	int rc; /* once the function returned it, nothing more is told */
};

/* What a value's bits mean, cut to size; returns the length they want. */
typedef size_t perch__format_function(enum perch_arch arch, uint64_t value, char *text,
				      size_t size);
#define PERCH__FORMAT_BYTES 512

/* Fields of variable form, by their functions: those that BY() in fields.def names. */
typedef void perch__emit_function(struct perch__walk *walk, const char *name);

void perch__emit_field(struct perch__walk *walk, const char *name, enum perch_field_kind kind,
		       uint64_t value);
void perch__emit_flags(struct perch__walk *walk, const char *name, uint64_t value,
		       perch__format_function *format);
void perch__emit_bytes(struct perch__walk *walk, const char *name, const void *bytes,
		       size_t length);
void perch__emit_text(struct perch__walk *walk, const char *name, const struct perch_text *text);

/* Like snprintf(3) for a text of several words: `length` goes on where there is no room. */
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
/* Those of the bits in value, and what is left of it in hexadecimal. */
void perch__text_add_flags(struct perch__text *out, const struct perch__flag *bits, size_t nr,
			   uint64_t value);

/* format_*.c */
perch__format_function perch__format_protection, perch__format_map_flags, perch__format_aux_flags,
	perch__format_ksymbol_type, perch__format_ksymbol_flags, perch__format_bpf_type,
	perch__format_data_src, perch__format_transaction, perch__format_branch,
	perch__format_context, perch__format_abi, perch__format_namespace;
/* A branch's flags with the first of the kernel's bits lowest, on every machine. */
uint64_t perch__branch_flags(const struct perch_branch_entry *entry);

/* fields_parts.c and fields_sample.c */
perch__emit_function perch__emit_read_record, perch__emit_mmap_build_id,
	perch__emit_namespace_links, perch__emit_bpf_tag, perch__emit_text_poke_old_bytes,
	perch__emit_text_poke_new_bytes, perch__emit_deferred_chain, perch__emit_trailer_id,
	perch__emit_trailer_identifier;
perch__emit_function perch__emit_sample_identifier, perch__emit_sample_read,
	perch__emit_sample_callchain, perch__emit_sample_raw, perch__emit_sample_branches,
	perch__emit_sample_regs_user, perch__emit_sample_stack, perch__emit_sample_weight,
	perch__emit_sample_regs_intr, perch__emit_sample_aux;
void perch__emit_read_values(struct perch__walk *walk, const char *name,
			     const struct perch_read_values *values);
void perch__emit_chain(struct perch__walk *walk, const char *name, const uint64_t *ip, uint64_t nr);

#endif
