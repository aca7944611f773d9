/* SPDX-License-Identifier: MIT */
/* What the files share that tell a record field by field. */
#ifndef PERCH_RECORD_FIELDS_H
#define PERCH_RECORD_FIELDS_H

#include <perch/fields.h>
#include "internal.h"

#define PERCH__NR(array) (sizeof(array) / sizeof((array)[0]))

/* A walk on its way. */
struct perch__walk {
	const struct perch_record *record;
	enum perch_arch arch;
	perch_field_function *function;
	void *context;
	int rc; /* once the function returned it, nothing more is told */
};

/* What a value's bits mean, cut to size; returns the length they want. */
typedef size_t perch__words_function(enum perch_arch arch, uint64_t value, char *text, size_t size);
#define PERCH__WORDS_BYTES 512

/* Fields of variable form, by their functions: those that BY() in fields.def names. */
typedef void perch__part_function(struct perch__walk *walk, const char *name);

void perch__field(struct perch__walk *walk, const char *name, enum perch_field_kind kind,
		  uint64_t value);
void perch__field_words(struct perch__walk *walk, const char *name, uint64_t value,
			perch__words_function *words);
void perch__field_bytes(struct perch__walk *walk, const char *name, const void *bytes,
			size_t length);
void perch__field_text(struct perch__walk *walk, const char *name, const struct perch_text *text);

/* Like snprintf(3) for a text of several words: `length` goes on where there is no room. */
struct perch__words {
	char *text;
	size_t size;
	size_t length;
	const char *between;
};
void perch__words_init(struct perch__words *words, char *text, size_t size, const char *between);
__attribute__((format(printf, 2, 3))) void perch__add_word(struct perch__words *words,
							   const char *format, ...);

struct perch__bit {
	uint64_t bit;
	const char *word;
};
/* Those of the bits in value, and what is left of it in hexadecimal. */
void perch__add_bits(struct perch__words *words, const struct perch__bit *bits, size_t nr,
		     uint64_t value);

/* words*.c */
perch__words_function perch__words_protection, perch__words_map_flags, perch__words_aux_flags,
	perch__words_ksymbol_type, perch__words_ksymbol_flags, perch__words_bpf_type,
	perch__words_data_src, perch__words_transaction, perch__words_branch, perch__words_context,
	perch__words_abi, perch__words_namespace;
/* A branch's flags with the first of the kernel's bits lowest, on every machine. */
uint64_t perch__branch_flags(const struct perch_branch_entry *entry);

/* fields_parts.c and fields_sample.c */
perch__part_function perch__tell_read_record, perch__tell_mmap_build_id,
	perch__tell_namespace_links, perch__tell_bpf_tag, perch__tell_text_poke_before,
	perch__tell_text_poke_after, perch__tell_deferred_chain, perch__tell_trailer_id,
	perch__tell_trailer_identifier;
perch__part_function perch__tell_sample_identifier, perch__tell_sample_read,
	perch__tell_sample_callchain, perch__tell_sample_raw, perch__tell_sample_branches,
	perch__tell_sample_user_registers, perch__tell_sample_stack, perch__tell_sample_weight,
	perch__tell_sample_intr_registers, perch__tell_sample_aux;
void perch__tell_read_values(struct perch__walk *walk, const char *name,
			     const struct perch_read_values *values);
void perch__tell_chain(struct perch__walk *walk, const char *name, const uint64_t *ip, uint64_t nr);

#endif
