/* SPDX-License-Identifier: MIT */
/*
 * Records told field by field: for printing, for tools that do not know every record, and as the
 * reference. The table behind it (src/record/fields.def) is what perch-records(7) is made of.
 */
#ifndef PERCH_FIELDS_H
#define PERCH_FIELDS_H

#include <perch/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Machines whose registers and notes perch can name. */
enum perch_arch {
	PERCH_ARCH_UNKNOWN,
	PERCH_ARCH_X86,
	PERCH_ARCH_ARM,
	PERCH_ARCH_ARM64,
	PERCH_ARCH_RISCV,
	PERCH_ARCH_S390,
	PERCH_ARCH_POWERPC,
	PERCH_ARCH_LOONGARCH,
	PERCH_ARCH_MIPS,
	PERCH_ARCH_CSKY,
};
/* By the machine's name as of uname(2) and a file's ARCH feature: "x86_64", "i686", "aarch64",
 * "s390x", "ppc64le", ... */
PERCH_API enum perch_arch perch_arch_by_name(const char *name);
PERCH_API enum perch_arch perch_arch_here(void);
/* Register number bit of a register mask: "ip", "x29"; NULL when it has no name there. */
PERCH_API const char *perch_register_name(enum perch_arch arch, unsigned int bit);

enum perch_field_kind {
	PERCH_FIELD_NUMBER, /* value, decimal */
	PERCH_FIELD_SIGNED, /* value as int64_t, decimal: what may be -1 */
	/* value, a mask or an identity that people write in hexadecimal */
	PERCH_FIELD_HEX,
	PERCH_FIELD_ADDRESS, /* value, an address */
	PERCH_FIELD_TIME,    /* value, ns */
	/* value, and in text what its bits mean: "KERNEL|EXACT_IP", "L1 hit" */
	PERCH_FIELD_FLAGS,
	PERCH_FIELD_TEXT,  /* text, length: not trusted, not cleaned */
	PERCH_FIELD_BYTES, /* text, length: raw bytes */
	/* value: how many; what follows up to END are its entries, unnamed or groups */
	PERCH_FIELD_LIST,
	PERCH_FIELD_GROUP, /* what follows up to END are its parts */
	PERCH_FIELD_END,   /* of a LIST or GROUP */
};

struct perch_field {
	/* As in perch-records(7): "pid", "callchain"; no two parts of a group have the same. NULL
	 * for entries of a list and END. */
	const char *name;
	enum perch_field_kind kind;
	uint64_t value;
	const char *text; /* it and the name live until the function returns */
	size_t length;
};
/* Returns 0 to go on; anything else ends the walk and is what perch_record_fields() returns. */
typedef int perch_field_function(void *context, const struct perch_field *field);
/*
 * Calls function for each field that the record has, in the order of its bytes: those of its body,
 * then, as a group "sample_id", its trailer. The header's (type, misc, size) are not among them. 0,
 * or what the function returned.
 */
PERCH_API int perch_record_fields(const struct perch_record *record, enum perch_arch arch,
				  perch_field_function *function, void *context);

/* What the bits mean, in words, cut to size; like snprintf(3) the length they want. */
/* "USER|EXACT_IP" */
PERCH_API size_t perch_format_misc(uint32_t type, uint16_t misc, char *text, size_t size);
/* "LOAD, L1 hit, ..." */
PERCH_API size_t perch_format_data_src(uint64_t data_src, char *text, size_t size);
PERCH_API size_t perch_format_transaction(uint64_t transaction, char *text, size_t size);
PERCH_API size_t perch_format_branch(const struct perch_branch_entry *entry, char *text,
				     size_t size);
PERCH_API size_t perch_format_aux_flags(uint64_t flags, char *text, size_t size);

/*
 * One function for each record, for those who would rather not write the switch. What is NULL goes
 * to .other, and where that is NULL too, nowhere. Each returns 0 to go on, or what
 * perch_record_visit() is to return.
 */
typedef int perch_visit_function(void *context, const struct perch_record *record);
struct perch_visitor {
	perch_visit_function *mmap; /* MMAP and MMAP2 */
	perch_visit_function *lost;
	perch_visit_function *comm;
	perch_visit_function *exit;
	perch_visit_function *throttle; /* THROTTLE and UNTHROTTLE */
	perch_visit_function *fork;
	perch_visit_function *read;
	perch_visit_function *sample;
	perch_visit_function *aux;
	perch_visit_function *itrace_start;
	perch_visit_function *lost_samples;
	perch_visit_function *context_switch; /* SWITCH and SWITCH_CPU_WIDE */
	perch_visit_function *namespaces;
	perch_visit_function *ksymbol;
	perch_visit_function *bpf_event;
	perch_visit_function *cgroup;
	perch_visit_function *text_poke;
	perch_visit_function *aux_output_hw_id;
	perch_visit_function *callchain_deferred;
	/* a type of the kernel's that this version does not know */
	perch_visit_function *unknown;
	perch_visit_function *file; /* perf.data's own types, from 64 on */
	perch_visit_function *other;
};
PERCH_API int perch_record_visit(const struct perch_record *record,
				 const struct perch_visitor *visitor, void *context);

#ifdef __cplusplus
}
#endif
#endif
