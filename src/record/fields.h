/* SPDX-License-Identifier: MIT */
/* The rows of fields.def, and what emits and formats the fields of a record. */
#ifndef PERCH_RECORD_FIELDS_H
#define PERCH_RECORD_FIELDS_H

#include <perch/fields.h>
#include "internal.h"

struct perch__walk;
/* Emits a field: fields.def names the function. */
typedef void perch__emit_function(struct perch__walk *walk, const char *name);
/* Writes the names of a value's flags, at most size bytes with the NUL. Returns the full length. */
typedef size_t perch__format_function(enum perch_arch arch, uint64_t value, char *text,
				      size_t size);

/* ---- record_type.c: the rows of fields.def ---- */

enum perch__source { /* fields.def describes each */
		     PERCH__SOURCE_NONE,
		     PERCH__SOURCE_VALUE,
		     PERCH__SOURCE_TEXT,
		     PERCH__SOURCE_FIXED,
		     PERCH__SOURCE_READ,
		     PERCH__SOURCE_BUILD_ID,
		     PERCH__SOURCE_ARRAY,
		     PERCH__SOURCE_BIT
};

struct perch__row {
	const char *name;
	const char *number_name; /* of the number of items, in errors */
	perch__format_function *format;
	perch__emit_function *emit;
	/* the field exists if: */
	uint64_t sample_type;	/* one of these bits is set, or it is 0 */
	uint16_t misc, no_misc; /* all bits of misc and none of no_misc are set */
	uint16_t bit;		/* BIT: of misc */
	uint16_t offset;	/* of the member in struct perch_record */
	uint16_t size;		/* of the member; ARRAY: of an item */
	uint16_t number_offset; /* ARRAY, BUILD_ID: of the number of items in struct perch_record */
	uint8_t number_size;	/* 0: there is none */
	bool counted;		/* ARRAY: the number is before it */
	bool is_record;		/* no field, but the start of a record */
	enum perch__source source;
	enum perch_field_kind kind;
};

/* Returns the first row of a type, up to one with .is_record; NULL for unknown types. */
const struct perch__row *perch__rows(uint32_t type);
const struct perch__row *perch__trailer_rows(void);

/* Returns an integer of the view. */
static inline uint64_t perch__number_at(const struct perch_record *record, uint16_t offset,
					uint16_t size)
{
	const char *at = (const char *)record + offset;

	if (size == sizeof(uint8_t))
		return *(const uint8_t *)at;
	if (size == sizeof(uint16_t))
		return perch__u16(at, false);
	return size == sizeof(uint32_t) ? perch__u32(at, false) : perch__u64(at, false);
}

static inline uint64_t perch__number_of_items(const struct perch_record *record,
					      const struct perch__row *row)
{
	return perch__number_at(record, row->number_offset, row->number_size);
}

static inline bool perch__has_field(const struct perch_record *record, const struct perch__row *row)
{
	if (row->sample_type && !(record->parse_info->sample_type & row->sample_type))
		return false;
	return (record->misc & row->misc) == row->misc && !(record->misc & row->no_misc);
}

/* ---- emitting them ---- */

/* One run of perch_record_fields(). */
struct perch__walk {
	const struct perch_record *record;
	size_t extent; /* of the record: where its trailer ends */
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

#define PERCH__FORMAT_BYTES 512
void perch__emit_flags(struct perch__walk *walk, const char *name, uint64_t value,
		       perch__format_function *format);

void perch__emit_read(struct perch__walk *walk, const char *name,
		      const struct perch_read_values *values);

perch__emit_function perch__emit_namespace_links, perch__emit_deferred_chain,
	perch__emit_trailer_id, perch__emit_trailer_identifier, perch__emit_sample_identifier,
	perch__emit_sample_callchain, perch__emit_sample_branches, perch__emit_sample_regs_user,
	perch__emit_sample_stack, perch__emit_sample_weight, perch__emit_sample_regs_intr;

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
