/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Fields of records: visits each field of any record, and formats flags as text.
 *
 * For programs that print records, or that handle records without knowing every type.
 * perch-records(7) lists the fields; both are made from src/record/fields.def.
 *
 * No function of this header can fail, so none has err. perch_record_fields() and
 * perch_record_visit() return what the caller's function returns.
 *
 * Threads: any number of threads may call these functions at the same time.
 *
 * Fork: there is no state, so a child may call them too.
 *
 * Signals: no function is async-signal-safe: they format text. perch_arch_by_name(),
 * perch_arch_here() and perch_register_name() are.
 */
#ifndef PERCH_FIELDS_H
#define PERCH_FIELDS_H

#include <perch/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Architectures whose registers have names here. */
enum perch_arch {
	PERCH_ARCH_UNKNOWN,   /**< any other */
	PERCH_ARCH_X86,	      /**< x86, 32 and 64 bits */
	PERCH_ARCH_ARM,	      /**< 32-bit ARM */
	PERCH_ARCH_ARM64,     /**< 64-bit ARM */
	PERCH_ARCH_RISCV,     /**< RISC-V */
	PERCH_ARCH_S390,      /**< s390 and s390x */
	PERCH_ARCH_POWERPC,   /**< PowerPC, 32 and 64 bits */
	PERCH_ARCH_LOONGARCH, /**< LoongArch */
	PERCH_ARCH_MIPS,      /**< MIPS */
	PERCH_ARCH_CSKY,      /**< C-SKY */
};

/**
 * Finds the architecture of a machine name.
 *
 * @param name  as from uname(2) or the ARCH feature of a file: "x86_64", "i686", "aarch64"...;
 *              NULL is allowed
 * @return the architecture, or PERCH_ARCH_UNKNOWN
 */
PERCH_API enum perch_arch perch_arch_by_name(const char *name);

/**
 * Returns the architecture that the library was built for.
 *
 * @return the architecture, or PERCH_ARCH_UNKNOWN
 */
PERCH_API enum perch_arch perch_arch_here(void);

/**
 * Returns the name of a register: "ip", "x29"...
 *
 * @param arch  the architecture of the sample
 * @param bit   bit number in the mask of registers
 * @return a static string; NULL if there is no such register
 */
PERCH_API const char *perch_register_name(enum perch_arch arch, unsigned int bit);

/** The meaning and the format of the value of a field. */
enum perch_field_kind {
	PERCH_FIELD_NUMBER,  /**< value, in decimal */
	PERCH_FIELD_SIGNED,  /**< value as int64_t, in decimal: it may be -1 */
	PERCH_FIELD_HEX,     /**< value, in hexadecimal: a mask, or an opaque number */
	PERCH_FIELD_ADDRESS, /**< value, an address */
	PERCH_FIELD_TIME,    /**< value, in ns */
	PERCH_FIELD_FLAGS,   /**< value, and in text the names of its bits: "KERNEL|EXACT_IP" */
	PERCH_FIELD_TEXT,    /**< text and length: untrusted, may have any bytes */
	PERCH_FIELD_BYTES,   /**< text and length: raw bytes */
	PERCH_FIELD_LIST,    /**< value is the number of entries, which follow, up to END */
	PERCH_FIELD_GROUP,   /**< its parts follow, up to END */
	PERCH_FIELD_END,     /**< end of a LIST or GROUP */
};

/** A field of a record. name and text are valid until the function returns. */
struct perch_field {
	/** As in perch-records(7), unique in its group; NULL for entries of a list and END. */
	const char *name;
	enum perch_field_kind kind; /**< which of the members below are used */
	uint64_t value;		    /**< the number */
	const char *text;	    /**< TEXT, BYTES, FLAGS; NULL for other kinds */
	size_t length;		    /**< of text, in bytes */
};

/**
 * Receives one field.
 *
 * @param context  as passed to perch_record_fields()
 * @param field    the field
 * @return 0 to continue; any other value ends the visit
 */
typedef int perch_field_function(void *context, const struct perch_field *field);

/**
 * Visits the fields of a record, in the order of their bytes.
 *
 * The fields of the body are followed by the trailer, as a group "sample_id". The header (type,
 * misc, size) is not visited.
 *
 * @param record    a decoded record
 * @param arch      the architecture of the machine that wrote it, for names of registers and flags
 * @param function  called for each field
 * @param context   passed to the function
 * @return 0, or the result of the function that ended the visit
 */
PERCH_API int perch_record_fields(const struct perch_record *record, enum perch_arch arch,
				  perch_field_function *function, void *context);

/**
 * Formats the header's misc: "USER|EXACT_IP".
 *
 * @param type       the record's type
 * @param misc       the record's misc
 * @param[out] text  cut to size, with a NUL; NULL is allowed if size is 0
 * @param size       of text, in bytes
 * @return the length of the whole text, as snprintf(3)
 */
PERCH_API size_t perch_format_misc(uint32_t type, uint16_t misc, char *text, size_t size);

/**
 * Formats data_src of a sample: "LOAD, L1 hit...".
 *
 * @param data_src   the value
 * @param[out] text  cut to size, with a NUL; NULL is allowed if size is 0
 * @param size       of text, in bytes
 * @return the length of the whole text, as snprintf(3)
 */
PERCH_API size_t perch_format_data_src(uint64_t data_src, char *text, size_t size);

/** The parts of data_src of a sample. */
enum perch_mem_part {
	PERCH_MEM_PART_OPERATION, /**< "LOAD" */
	PERCH_MEM_PART_LEVEL,	  /**< where the data was: "L1 or L2 hit", "Local RAM miss" */
	PERCH_MEM_PART_SNOOP,	  /**< "HitM" */
	PERCH_MEM_PART_TLB,	  /**< "L1 or L2 hit" */
	PERCH_MEM_PART_LOCK,	  /**< "Yes" or "No" */
	PERCH_MEM_PART_BLOCKED,	  /**< what blocked the access: " Data Addr", with a blank */
};

/**
 * Formats one part of data_src of a sample as perf prints it; "N/A" if the sample lacks it.
 *
 * @param data_src   the value
 * @param part       which part
 * @param[out] text  cut to size, with a NUL; NULL is allowed if size is 0
 * @param size       of text, in bytes
 * @return the length of the whole text, as snprintf(3)
 */
PERCH_API size_t perch_format_mem_part(uint64_t data_src, enum perch_mem_part part, char *text,
				       size_t size);

/**
 * Formats transaction of a sample: "TRANSACTION|SYNC, abort code 0x1".
 *
 * @param transaction  the value
 * @param[out] text    cut to size, with a NUL; NULL is allowed if size is 0
 * @param size         of text, in bytes
 * @return the length of the whole text, as snprintf(3)
 */
PERCH_API size_t perch_format_transaction(uint64_t transaction, char *text, size_t size);

/**
 * Formats the flags of a branch: "PREDICTED|CALL".
 *
 * @param entry      as from perch_branch_at()
 * @param[out] text  cut to size, with a NUL; NULL is allowed if size is 0
 * @param size       of text, in bytes
 * @return the length of the whole text, as snprintf(3)
 */
PERCH_API size_t perch_format_branch(const struct perch_branch_entry *entry, char *text,
				     size_t size);

/**
 * Formats the flags of an AUX record: "TRUNCATED|PARTIAL".
 *
 * @param flags      the value
 * @param[out] text  cut to size, with a NUL; NULL is allowed if size is 0
 * @param size       of text, in bytes
 * @return the length of the whole text, as snprintf(3)
 */
PERCH_API size_t perch_format_aux_flags(uint64_t flags, char *text, size_t size);

/**
 * Receives one record.
 *
 * @param context  as passed to perch_record_visit()
 * @param record   the record
 * @return what perch_record_visit() returns
 */
typedef int perch_visit_function(void *context, const struct perch_record *record);

/** A function for each record type. Types without a function use .other. */
struct perch_visitor {
	perch_visit_function *mmap;		  /**< MMAP and MMAP2 */
	perch_visit_function *lost;		  /**< LOST */
	perch_visit_function *comm;		  /**< COMM */
	perch_visit_function *exit;		  /**< EXIT */
	perch_visit_function *throttle;		  /**< THROTTLE and UNTHROTTLE */
	perch_visit_function *fork;		  /**< FORK */
	perch_visit_function *read;		  /**< READ */
	perch_visit_function *sample;		  /**< SAMPLE */
	perch_visit_function *aux;		  /**< AUX */
	perch_visit_function *itrace_start;	  /**< ITRACE_START */
	perch_visit_function *lost_samples;	  /**< LOST_SAMPLES */
	perch_visit_function *context_switch;	  /**< SWITCH and SWITCH_CPU_WIDE */
	perch_visit_function *namespaces;	  /**< NAMESPACES */
	perch_visit_function *ksymbol;		  /**< KSYMBOL */
	perch_visit_function *bpf_event;	  /**< BPF_EVENT */
	perch_visit_function *cgroup;		  /**< CGROUP */
	perch_visit_function *text_poke;	  /**< TEXT_POKE */
	perch_visit_function *aux_output_hw_id;	  /**< AUX_OUTPUT_HW_ID */
	perch_visit_function *callchain_deferred; /**< CALLCHAIN_DEFERRED */
	perch_visit_function *unknown; /**< types of the kernel that this version does not know */
	perch_visit_function *file;    /**< types of perf.data, from 64 on */
	perch_visit_function *other;   /**< types without a function; NULL ignores them */
	perch_visit_function *reserved[8]; /**< must be NULL */
};

/**
 * Calls the function for the record's type.
 *
 * @param record   a decoded record
 * @param visitor  the functions
 * @param context  passed to the function
 * @return the result of the function; 0 if there is none
 */
PERCH_API int perch_record_visit(const struct perch_record *record,
				 const struct perch_visitor *visitor, void *context);

#ifdef __cplusplus
}
#endif
#endif
