/* SPDX-License-Identifier: MIT */
/* The fields that `perch script -F` selects, for each type of events. */
#ifndef PERCH_CLI_SCRIPT_FIELDS_H
#define PERCH_CLI_SCRIPT_FIELDS_H

#include <stdbool.h>
#include <stdint.h>
#include <perch/abi.h>

/* A field is a bit of a mask; the table in fields.c has their names. */
#define SCRIPT_COMM	      (UINT64_C(1) << 0)
#define SCRIPT_TID	      (UINT64_C(1) << 1)
#define SCRIPT_PID	      (UINT64_C(1) << 2)
#define SCRIPT_TIME	      (UINT64_C(1) << 3)
#define SCRIPT_CPU	      (UINT64_C(1) << 4)
#define SCRIPT_EVENT	      (UINT64_C(1) << 5)
#define SCRIPT_TRACE	      (UINT64_C(1) << 6)
#define SCRIPT_IP	      (UINT64_C(1) << 7)
#define SCRIPT_SYM	      (UINT64_C(1) << 8)
#define SCRIPT_DSO	      (UINT64_C(1) << 9)
#define SCRIPT_DSOFF	      (UINT64_C(1) << 10)
#define SCRIPT_ADDR	      (UINT64_C(1) << 11)
#define SCRIPT_SYMOFF	      (UINT64_C(1) << 12)
#define SCRIPT_SRCLINE	      (UINT64_C(1) << 13)
#define SCRIPT_PERIOD	      (UINT64_C(1) << 14)
#define SCRIPT_IREGS	      (UINT64_C(1) << 15)
#define SCRIPT_UREGS	      (UINT64_C(1) << 16)
#define SCRIPT_BRSTACK	      (UINT64_C(1) << 17)
#define SCRIPT_BRSTACKSYM     (UINT64_C(1) << 18)
#define SCRIPT_BRSTACKOFF     (UINT64_C(1) << 19)
#define SCRIPT_DATA_SRC	      (UINT64_C(1) << 20)
#define SCRIPT_WEIGHT	      (UINT64_C(1) << 21)
#define SCRIPT_BPF_OUTPUT     (UINT64_C(1) << 22)
#define SCRIPT_PHYS_ADDR      (UINT64_C(1) << 23)
#define SCRIPT_MISC	      (UINT64_C(1) << 24)
#define SCRIPT_TOD	      (UINT64_C(1) << 25)
#define SCRIPT_DATA_PAGE_SIZE (UINT64_C(1) << 26)
#define SCRIPT_CODE_PAGE_SIZE (UINT64_C(1) << 27)
#define SCRIPT_INS_LAT	      (UINT64_C(1) << 28)
#define SCRIPT_RETIRE_LAT     (UINT64_C(1) << 29)
#define SCRIPT_CGROUP	      (UINT64_C(1) << 30)
#define SCRIPT_FLAGS	      (UINT64_C(1) << 31)
#define SCRIPT_TRANSACTION    (UINT64_C(1) << 32)
#define SCRIPT_INSN	      (UINT64_C(1) << 34)
#define SCRIPT_INSNLEN	      (UINT64_C(1) << 35)
#define SCRIPT_BRSTACKINSN    (UINT64_C(1) << 36)
#define SCRIPT_BRSTACKINSNLEN (UINT64_C(1) << 37)
#define SCRIPT_SRCCODE	      (UINT64_C(1) << 38)
#define SCRIPT_DISASM	      (UINT64_C(1) << 39)
#define SCRIPT_METRIC	      (UINT64_C(1) << 40)
#define SCRIPT_BRSTACKDISASM  (UINT64_C(1) << 41)
/* those of instruction traces and of guests: accepted, no sample has them */
#define SCRIPT_NEVER (UINT64_C(1) << 33)
/* the code between the branches of a branch stack */
#define SCRIPT_PATH (SCRIPT_BRSTACKINSN | SCRIPT_BRSTACKINSNLEN | SCRIPT_BRSTACKDISASM)
/* -j without -F: all that an event has, except what other fields say or what takes long to find */
#define SCRIPT_ALL                                                                                 \
	(((UINT64_C(1) << 33) - 1) & ~(SCRIPT_SRCLINE | SCRIPT_TOD | SCRIPT_FLAGS | SCRIPT_DSOFF | \
				       SCRIPT_BRSTACKSYM | SCRIPT_BRSTACKOFF))

enum script_type {
	SCRIPT_HARDWARE,
	SCRIPT_SOFTWARE,
	SCRIPT_TRACEPOINT,
	SCRIPT_HW_CACHE,
	SCRIPT_RAW,
	SCRIPT_BREAKPOINT,
	SCRIPT_SYNTH, /* events that perf makes of instruction traces */
	SCRIPT_OTHER, /* events of other PMUs */
	SCRIPT_NR_TYPES,
};

/* What -F selects. */
struct script_fields {
	bool any_set; /* -F was given */
	struct script_choice {
		uint64_t fields;
		uint64_t asked; /* the fields that -F names */
		bool set;	/* -F names fields for this type, or for all */
	} type[SCRIPT_NR_TYPES];
};

/* Sets perf's defaults. */
void script_fields_init(struct script_fields *fields);
/*
 * Parses the argument of an option -F. Returns 0, or a negative errno after it has printed a usage
 * error.
 */
int script_fields_parse(struct script_fields *fields, const char *argument);

/* True if events of any type have one of the fields. */
bool script_fields_any(const struct script_fields *fields, uint64_t mask);

enum script_type script_type_of(const struct perch_attr *attr);
/* "hardware" */
const char *script_type_name(enum script_type type);

/* A row of the table of fields. */
struct script_field {
	const char *name;
	uint64_t field;
	uint64_t needs;	    /* one of these bits of sample_type; 0: none */
	const char *lacks;  /* what samples without it do not have */
	const char *remedy; /* the option of record, or NULL */
};
/*
 * Returns the fields of an event, without the ones that its samples lack. missing: the first field
 * that -F names and its samples lack, or NULL.
 */
uint64_t script_fields_of(const struct script_choice *choice, enum script_type type,
			  const struct perch_attr *attr, const struct script_field **missing);
/* The fields that events of a type never have. */
uint64_t script_fields_invalid(enum script_type type);
/* Returns the row of a field. */
const struct script_field *script_field_at(uint64_t field);
/* Returns a row by its index, or NULL behind the last one. */
const struct script_field *script_field_get(size_t index);

#endif
