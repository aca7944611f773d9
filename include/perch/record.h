/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Records: bytes decoded into typed views.
 *
 * All 22 record types of the kernel and every field of a sample are decoded; perch-records(7) lists
 * them. Decoding does not copy: a view points into the bytes it was decoded from, and is valid as
 * long as they are. Decoding does not allocate memory and does not read beyond the record.
 *
 * Records of the other byte order are decoded too: perch_parse_info_init() has the order of the
 * bytes. Every number that is a member of a view is then in this machine's order, and so is what
 * the functions return. Pointers point into the record, to bytes in the order of the record:
 *
 * | member | read by |
 * |---|---|
 * | callchain.ip of a sample, ip of CALLCHAIN_DEFERRED | perch_chain_next(), or perch_word() |
 * | value of registers | perch_word() |
 * | branches.entry | perch_branch_at() |
 * | branches.counters | perch_word() |
 * | words of read values | perch_read_values_at(), perch_read_values_find() |
 * | link of NAMESPACES | perch_namespace_at() |
 * | raw.data of a tracepoint | perch_tracepoint_get_u64() and others of perch/tracepoint.h |
 * | stack_user.data, aux.data, raw.data of other events | the program: copied memory, trace data |
 *
 * Names, build ids and tags are bytes and have no order. perch_record_fields() visits all fields
 * in this machine's order.
 *
 * A record begins at a multiple of 8 bytes, as in ring buffers and files, or anywhere with
 * perch_record_decode_pieces().
 *
 * Threads: any number of threads may decode with the same parse info or decoder at the same time.
 * All other objects: one thread per object at a time.
 *
 * Fork: all objects are plain memory. A child can use and free its copies. Records of a ring are
 * not in the child, because it has not the mapping of the ring.
 *
 * Signals: a function is async-signal-safe only if its description says so, and only with err NULL.
 * The signal handler must not interrupt a call that uses the same object. errno may change.
 */
#ifndef PERCH_RECORD_H
#define PERCH_RECORD_H

#include <stdbool.h>
#include <sys/uio.h>
#include <perch/abi.h>
#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The positions of fields in the records of one attr.
 *
 * Plain data: may be copied. A "word" is 8 bytes.
 */
struct perch_parse_info {
	uint64_t sample_type;	     /**< of the attr */
	uint64_t read_format;	     /**< of the attr */
	uint64_t branch_sample_type; /**< of the attr */
	uint64_t regs_user;	     /**< mask of registers: sample_regs_user of the attr */
	uint64_t regs_intr;	     /**< mask of registers: sample_regs_intr of the attr */
	uint64_t period;	     /**< period of samples without PERCH_SAMPLE_PERIOD */
	bool sample_id_all;	     /**< records other than samples have a trailer */
	uint8_t id_size;	     /**< size of the trailer in bytes */
	uint8_t fixed_words;	  /**< words from IDENTIFIER to PERIOD at the start of a sample */
	uint8_t nr_regs_user;	  /**< number of registers in regs_user */
	uint8_t nr_regs_intr;	  /**< number of registers in regs_intr */
	int8_t sample_id_word;	  /**< word index of the id in a sample's body; -1 if none */
	int8_t trailer_id_word;	  /**< id: words from the record's end, 1 is the last; -1 if none */
	int8_t sample_time_word;  /**< word index of the time in a sample's body; -1 if none */
	int8_t trailer_time_word; /**< time: words from the record's end; -1 if none */
	bool swapped;		  /**< the bytes are in the other order than this machine's */
	bool big_endian;	  /**< the bytes are big-endian; this decides on bit-fields */
	bool build_id;		  /**< of the attr: MMAP2 records may have build ids */
	uint64_t reserved[4];	  /**< for members of later versions */
};

/**
 * Finds the positions of fields for an attr.
 *
 * Async-signal-safe.
 *
 * @param[out] parse_info  the result
 * @param attr             in this machine's order, as from perch_attr_from_bytes(); not used
 * afterwards
 * @param order            the byte order of the records
 */
PERCH_API void perch_parse_info_init(struct perch_parse_info *parse_info,
				     const struct perch_attr *attr, enum perch_byte_order order);

/**
 * Finds the positions of fields for an attr that another machine or kernel version recorded.
 *
 * Async-signal-safe.
 *
 * @param[out] parse_info  the result; zeros after a failure
 * @param[out] attr        the attr in this machine's order; NULL is allowed
 * @param bytes            the attr as recorded, of any alignment
 * @param size             of bytes, at least PERCH_ATTR_SIZE_VER0
 * @param order            the byte order of the attr and of the records
 * @param[out] err         the reason of a failure; NULL is allowed
 * @return 0; 1 if the attr has fields that this version does not know; or a negative errno
 * @retval -EINVAL  size is less than PERCH_ATTR_SIZE_VER0
 */
PERCH_API int perch_parse_info_from_bytes(struct perch_parse_info *parse_info,
					  struct perch_attr *attr, const void *bytes, size_t size,
					  enum perch_byte_order order, struct perch_error *err);

/** Thread, time, event and CPU of a record: from its trailer, or from the sample. */
struct perch_sample_id {
	uint64_t has;	    /**< the valid members: a set of PERCH_SAMPLE_* bits; others are 0 */
	uint32_t pid;	    /**< process; with PERCH_SAMPLE_TID */
	uint32_t tid;	    /**< thread; with PERCH_SAMPLE_TID */
	uint64_t time;	    /**< in ns, by the clock of the attr */
	uint64_t id;	    /**< event; with PERCH_SAMPLE_ID or PERCH_SAMPLE_IDENTIFIER */
	uint64_t stream_id; /**< event, also if inherited; with PERCH_SAMPLE_STREAM_ID */
	uint32_t cpu;	    /**< with PERCH_SAMPLE_CPU */
};

/** A name in a record: untrusted, may have any bytes. */
struct perch_text {
	const char *text; /**< NUL-terminated; points into the record */
	uint32_t length;  /**< in bytes, without the NUL */
};

/**
 * MMAP and MMAP2: a mapping.
 *
 * The kernel sets PERCH_MISC_MMAP_BUILD_ID also in records of events without attr.build_id, if
 * another event of any process gets the same mapping with its build id (Linux 5.12 to 7.2, except
 * 6.12.113, 7.2.11 and later ones of these series: perf_event_mmap_output() does not restore misc
 * for the next event). These records have the device and inode. The decoder recognizes these
 * records, and clears the flag in misc.
 */
struct perch_mmap_record {
	uint32_t pid;		    /**< process; UINT32_MAX for the kernel, in files */
	uint32_t tid;		    /**< thread that called mmap(2) */
	uint64_t start;		    /**< address */
	uint64_t length;	    /**< in bytes */
	uint64_t page_offset;	    /**< offset in the file, in bytes */
	uint32_t major;		    /**< device of the file; MMAP2 without a build id */
	uint32_t minor;		    /**< device of the file; MMAP2 without a build id */
	uint64_t inode;		    /**< MMAP2 without a build id */
	uint64_t inode_generation;  /**< MMAP2 without a build id */
	uint32_t protection;	    /**< PROT_* flags; MMAP2. 0 from Linux 3.10 (RHEL 7) to 3.15 */
	uint32_t flags;		    /**< MAP_* flags; MMAP2. 0 from Linux 3.10 (RHEL 7) to 3.15 */
	uint8_t build_id_size;	    /**< at most 20; 0 if there is no build id */
	uint8_t build_id[20];	    /**< MMAP2 with PERCH_MISC_MMAP_BUILD_ID */
	struct perch_text filename; /**< as the process sees it, or "[vdso]", "//anon"... */
};

/** COMM: a thread changed its name. */
struct perch_comm_record {
	uint32_t pid;		/**< process */
	uint32_t tid;		/**< thread */
	bool exec;		/**< by execve(2) */
	struct perch_text comm; /**< the new name */
};

/** FORK and EXIT: a thread was created or ended. */
struct perch_task_record {
	uint32_t pid;  /**< process of the thread */
	uint32_t ppid; /**< parent process; of a new thread, its own process */
	uint32_t tid;  /**< thread */
	uint32_t ptid; /**< FORK: the thread that created it; EXIT: see perch-records(7) */
	uint64_t time; /**< in ns */
};

/** LOST and LOST_SAMPLES. */
struct perch_lost_record {
	uint64_t id;   /**< LOST: the event that wrote the next record; LOST_SAMPLES: 0 */
	uint64_t lost; /**< LOST: number of records; LOST_SAMPLES: number of samples */
};

/** THROTTLE and UNTHROTTLE: sampling stopped or restarted. */
struct perch_throttle_record {
	uint64_t time;	    /**< in ns */
	uint64_t id;	    /**< event */
	uint64_t stream_id; /**< event, also if inherited */
};

/** AUX: new data in the AUX area. */
struct perch_aux_record {
	uint64_t offset; /**< position in bytes since the start of the trace; modulo the size of the
			  * area, its offset in the area
			  */
	uint64_t size;	 /**< in bytes */
	uint64_t flags;	 /**< PERCH_AUX_FLAG_* */
};

/** ITRACE_START: instruction tracing of a thread started. */
struct perch_itrace_record {
	uint32_t pid; /**< process */
	uint32_t tid; /**< thread */
};

/** SWITCH, of the thread in sample_id, and SWITCH_CPU_WIDE: a context switch. */
struct perch_switch_record {
	bool out;	    /**< the thread was scheduled out; false: in */
	bool preempt;	    /**< it was scheduled out although it could continue (preempted) */
	uint32_t other_pid; /**< SWITCH_CPU_WIDE: process of other_tid */
	uint32_t other_tid; /**< SWITCH_CPU_WIDE: the next thread if out, else the previous one */
};

/** NAMESPACES of a thread. */
struct perch_namespaces_record {
	uint32_t pid; /**< process */
	uint32_t tid; /**< thread */
	uint64_t nr;  /**< entries of link; their number depends on the kernel */
	const struct perch_ns_link_info *link; /**< by enum perch_ns_index; perch_namespace_at() */
};

/** KSYMBOL: a function was added to or removed from the kernel. */
struct perch_ksymbol_record {
	uint64_t address;	/**< start */
	uint32_t length;	/**< of the code, in bytes */
	uint16_t type;		/**< enum perch_ksymbol_type */
	uint16_t flags;		/**< PERCH_RECORD_KSYMBOL_FLAGS_* */
	struct perch_text name; /**< of the function */
};

/** BPF_EVENT: a BPF program was loaded or unloaded. */
struct perch_bpf_record {
	uint16_t type;	/**< enum perch_bpf_event_type */
	uint16_t flags; /**< none are defined */
	uint32_t id;	/**< of the program, as in bpf(2) */
	uint8_t tag[8]; /**< hash of the instructions */
};

/** CGROUP: a cgroup was created. */
struct perch_cgroup_record {
	uint64_t id;		/**< inode of its directory */
	struct perch_text path; /**< from the root of the hierarchy */
};

/** TEXT_POKE: the kernel changed its own code. */
struct perch_text_poke_record {
	uint64_t address;      /**< of the change */
	uint16_t old_length;   /**< in bytes */
	uint16_t new_length;   /**< in bytes */
	const uint8_t *before; /**< the old code: old_length bytes */
	const uint8_t *after;  /**< the new code: new_length bytes */
};

/** AUX_OUTPUT_HW_ID: the number of an event in the trace. */
struct perch_hw_id_record {
	uint64_t hw_id; /**< as the PMU defines it */
};

/** CALLCHAIN_DEFERRED: the user part of the call chains of earlier samples. */
struct perch_deferred_record {
	uint64_t cookie; /**< that of the samples */
	uint64_t nr;	 /**< entries of ip */
	/** Addresses of user space; Linux 6.19 to 7.3 write no marker before them. Read by
	 * perch_chain_next(), or by perch_word(). */
	const uint64_t *ip;
};

/** The value of one counter. */
struct perch_read_value {
	uint64_t value;	      /**< the count */
	uint64_t id;	      /**< event; with PERCH_FORMAT_ID, else 0 */
	uint64_t lost;	      /**< lost samples; with PERCH_FORMAT_LOST, else 0 */
	uint64_t reserved[1]; /**< for members of later versions */
};

/** Counter values in a record; perch_read_values_at() decodes one of them. */
struct perch_read_values {
	uint64_t nr;	       /**< number of values; 1 without PERCH_FORMAT_GROUP */
	uint64_t enabled_ns;   /**< time enabled; 0 if not in the format */
	uint64_t running_ns;   /**< time on the PMU; 0 if not in the format */
	const uint64_t *words; /**< the first value, in the order of the record */
	uint8_t words_each;    /**< words per value */
	bool swapped;	       /**< the words are in the other byte order */
	uint64_t format;       /**< read_format of the attr */
};

/**
 * Decodes one counter value.
 *
 * Async-signal-safe.
 *
 * @param values      the values; the bytes of their record must be valid
 * @param index       from 0
 * @param[out] value  in this machine's order; zeros if index is too large
 */
PERCH_API void perch_read_values_at(const struct perch_read_values *values, uint64_t index,
				    struct perch_read_value *value);

/**
 * Finds the value of an event by its id.
 *
 * Async-signal-safe.
 *
 * @param values      the values; the bytes of their record must be valid
 * @param id          event, as from perch_event_id()
 * @param[out] value  in this machine's order; zeros if there is none
 * @return false if no value has this id, or the read format does not have PERCH_FORMAT_ID
 */
PERCH_API bool perch_read_values_find(const struct perch_read_values *values, uint64_t id,
				      struct perch_read_value *value);

/** READ: the final value of an inherited counter whose thread ended. */
struct perch_read_record {
	uint32_t pid;			 /**< process */
	uint32_t tid;			 /**< thread */
	struct perch_read_values values; /**< by read_format of the attr */
};

/** Registers in a sample. */
struct perch_registers {
	uint64_t abi;	       /**< enum perch_sample_regs_abi; 0 if there are none */
	uint64_t mask;	       /**< bit numbers of asm/perf_regs.h; see perch_register_name() */
	uint32_t nr;	       /**< entries of value */
	const uint64_t *value; /**< one per bit of mask, lowest first; perch_word() reads them */
};

/** SAMPLE. Fields that sample_type does not select are 0 or NULL. */
struct perch_sample {
	/** instruction; for a data breakpoint on x86 the one after the access, see
	 * enum perch_breakpoint_type */
	uint64_t ip;
	uint32_t pid;		       /**< process */
	uint32_t tid;		       /**< thread */
	uint64_t time;		       /**< in ns, by the clock of the attr */
	uint64_t addr;		       /**< accessed address */
	uint64_t id;		       /**< event */
	uint64_t stream_id;	       /**< event, also if inherited */
	uint32_t cpu;		       /**< CPU number */
	uint64_t period;	       /**< number of events that the sample represents */
	struct perch_read_values read; /**< counter values */
	/** Call chain; perch_chain_next() walks it. */
	struct {
		uint64_t nr; /**< entries of ip */
		/** innermost first, with PERCH_CONTEXT_* markers; perch_word() reads them */
		const uint64_t *ip;
	} callchain;
	/** Data of the event: of a tracepoint, its fields. */
	struct {
		uint32_t size; /**< in bytes */
		/** not aligned to 8 bytes; perch/tracepoint.h reads fields of tracepoints */
		const void *data;
	} raw;
	/** Branch stack, newest branch first. */
	struct {
		uint64_t nr;				/**< entries */
		uint64_t hw_index;			/**< UINT64_MAX if unknown */
		const struct perch_branch_entry *entry; /**< perch_branch_at() reads them */
		/** one per entry, perch_word() reads them; NULL if there are none */
		const uint64_t *counters;
	} branches;
	struct perch_registers regs_user; /**< registers of user space */
	/** Copy of the user stack, from the stack pointer upwards. */
	struct {
		uint64_t size;	       /**< bytes reserved */
		uint64_t dynamic_size; /**< bytes copied: at most size */
		const void *data;      /**< the bytes after dynamic_size are undefined */
	} stack_user;
	uint64_t weight;      /**< or union perch_sample_weight, with PERCH_SAMPLE_WEIGHT_STRUCT */
	uint64_t data_src;    /**< see perch_format_data_src() */
	uint64_t transaction; /**< see perch_format_transaction() */
	struct perch_registers regs_intr; /**< registers of the interrupted code */
	uint64_t phys_addr;		  /**< physical address of addr; 0 if unknown */
	uint64_t cgroup;		  /**< inode of the cgroup's directory */
	uint64_t data_page_size;	  /**< of the page of addr, in bytes; 0 if unknown */
	uint64_t code_page_size;	  /**< of the page of ip, in bytes; 0 if unknown */
	/** Data of the AUX area. */
	struct {
		uint64_t size;	  /**< in bytes */
		const void *data; /**< points into the record */
	} aux;
};

/** A decoded record. */
struct perch_record {
	uint32_t type; /**< PERCH_RECORD_*, or a type of perf.data from 64 on */
	uint16_t misc; /**< PERCH_MISC_* */
	uint16_t size; /**< of the record with its header of 8 bytes */
	/** Index of its attr in the array of perch_decoder_new(); else 0. */
	uint16_t event;
	/**
	 * Bytes after the last known field: those of a newer kernel, or damage. KSYMBOL, BPF_EVENT
	 * and TEXT_POKE have them after the trailer: see perch-records(7).
	 */
	uint16_t trailing_bytes;
	const void *bytes; /**< the whole record, aligned to 8 bytes */
	uint64_t offset;   /**< offset in the file; 0 if not from a file */
	/** The parse info it was decoded with: the caller's, or one of the decoder. */
	const struct perch_parse_info *parse_info;
	struct perch_sample_id sample_id; /**< thread, time, event and CPU */
	uint64_t reserved[2];		  /**< for members of later versions; not initialized */
	/** The view for the type; undefined for unknown types. */
	union {
		struct perch_mmap_record mmap;		   /**< MMAP, MMAP2 */
		struct perch_comm_record comm;		   /**< COMM */
		struct perch_task_record task;		   /**< FORK, EXIT */
		struct perch_lost_record lost;		   /**< LOST, LOST_SAMPLES */
		struct perch_throttle_record throttle;	   /**< THROTTLE, UNTHROTTLE */
		struct perch_read_record read;		   /**< READ */
		struct perch_aux_record aux;		   /**< AUX */
		struct perch_itrace_record itrace;	   /**< ITRACE_START */
		struct perch_switch_record context_switch; /**< SWITCH, SWITCH_CPU_WIDE */
		struct perch_namespaces_record namespaces; /**< NAMESPACES */
		struct perch_ksymbol_record ksymbol;	   /**< KSYMBOL */
		struct perch_bpf_record bpf;		   /**< BPF_EVENT */
		struct perch_cgroup_record cgroup;	   /**< CGROUP */
		struct perch_text_poke_record text_poke;   /**< TEXT_POKE */
		struct perch_hw_id_record hw_id;	   /**< AUX_OUTPUT_HW_ID */
		struct perch_deferred_record deferred;	   /**< CALLCHAIN_DEFERRED */
		struct perch_sample sample;		   /**< SAMPLE */
		uint64_t reserved_view[80];		   /**< for longer views */
	};
};

/**
 * Reads a word of an array in a record.
 *
 * Async-signal-safe.
 *
 * @param record  the record
 * @param at      a word of one of its arrays: call chain, registers, branch counters
 * @return the word, in this machine's order
 */
static inline uint64_t perch_word(const struct perch_record *record, const uint64_t *at)
{
	return record->parse_info->swapped ? __builtin_bswap64(*at) : *at;
}

/**
 * Decodes one entry of a sample's branch stack.
 *
 * Async-signal-safe.
 *
 * @param record      a sample
 * @param index       from 0
 * @param[out] entry  in this machine's order of bytes and bits; zeros if index is too large
 */
PERCH_API void perch_branch_at(const struct perch_record *record, uint64_t index,
			       struct perch_branch_entry *entry);

/**
 * Decodes one entry of a NAMESPACES record.
 *
 * Async-signal-safe.
 *
 * @param record     the record
 * @param index      enum perch_ns_index
 * @param[out] link  in this machine's order; zeros if index is too large
 */
PERCH_API void perch_namespace_at(const struct perch_record *record, uint64_t index,
				  struct perch_ns_link_info *link);

/**
 * Decodes one record.
 *
 * Records of unknown type have only .bytes and .sample_id. Records of perf.data, of types from 64
 * on, have only .bytes.
 *
 * Async-signal-safe.
 *
 * @param[out] record  the record; after a failure with size >= 8 the members of its header are set
 * @param parse_info   must stay valid while the record is used
 * @param bytes        aligned to 8 bytes
 * @param size         the number of bytes available; the record's own size may be less
 * @param[out] err     the reason of a failure. err.field is the field that exceeds the record, as a
 *                     path of perch-records(7) ("callchain", "read.values", "size" of the header),
 *                     and err.column its byte offset in the record. Its kind is
 *                     PERCH_ERROR_TRUNCATED if size is less than the size in the header, else
 *                     PERCH_ERROR_FORMAT. NULL is allowed.
 * @return 0, or a negative errno
 * @retval -EBADMSG  the record is damaged or incomplete
 * @retval -EINVAL   bytes are not aligned: perch_record_decode_pieces() accepts them
 */
PERCH_API int perch_record_decode(struct perch_record *record,
				  const struct perch_parse_info *parse_info, const void *bytes,
				  size_t size, struct perch_error *err);

/** Bytes of scratch that are enough for any record. */
#define PERCH_SCRATCH_BYTES 65544u

/**
 * Decodes one record whose bytes lie anywhere: in several pieces, or not aligned to 8 bytes.
 *
 * A record at the end of a ring buffer continues at its start, and a buffer that was read from a
 * socket or a pipe may have a part of a record. The first piece begins with the record. A record
 * that lies whole and aligned in it is decoded there. Otherwise its bytes are copied to the
 * scratch, and the record points there. record.size is the number of bytes to skip for the next
 * record.
 *
 * Async-signal-safe.
 *
 * @param[out] record   as with perch_record_decode()
 * @param parse_info    must stay valid while the record is used
 * @param pieces        the pieces, in order; a piece may be empty
 * @param nr            number of pieces
 * @param scratch       space for the record, which must stay valid while the record is used; need
 *                      not be aligned
 * @param scratch_size  of scratch in bytes: PERCH_SCRATCH_BYTES are always enough
 * @param[out] err      as with perch_record_decode()
 * @return 0, or a negative errno
 * @retval -EBADMSG  the record is damaged, or the pieces end before it: then err.kind is
 *                   PERCH_ERROR_TRUNCATED
 * @retval -ENOSPC   the scratch is too small
 */
PERCH_API int perch_record_decode_pieces(struct perch_record *record,
					 const struct perch_parse_info *parse_info,
					 const struct iovec *pieces, size_t nr, void *scratch,
					 size_t scratch_size, struct perch_error *err);

/**
 * Copies a decoded record, so that it can be used after its bytes have changed.
 *
 * The copy is one allocation with the view, the parse info and the bytes of the record. All
 * pointers of the copy point into it, also those of a sample whose deferred call chain was merged.
 * Bytes that follow a record of perf.data (AUXTRACE, HEADER_TRACING_DATA) are not copied.
 *
 * @param[out] copy  the copy, for perch_record_free(); NULL after a failure
 * @param record     a record that was decoded without an error
 * @param[out] err   the reason of a failure; NULL is allowed
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_record_copy(struct perch_record **copy, const struct perch_record *record,
				struct perch_error *err);

/**
 * Frees a copy that perch_record_copy() made, with all that it points to.
 *
 * @param copy  NULL is allowed
 */
PERCH_API void perch_record_free(struct perch_record *copy);

/** Decodes the records of several attrs: finds the attr of a record by its id. */
struct perch_decoder;

/** An attr of a decoder, and the ids of its events. */
struct perch_decoder_event {
	const struct perch_attr *attr; /**< copied */
	const uint64_t *ids;  /**< copied; an id of several attrs belongs to the first one */
	size_t nr_ids;	      /**< entries of ids */
	uint64_t reserved[2]; /**< must be 0 */
};

/**
 * Makes a decoder.
 *
 * @param[out] decoder  the new decoder; NULL after a failure
 * @param events        attrs with their ids
 * @param nr            number of events: 1 to 65535
 * @param order         the byte order of the records
 * @param[out] err      the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EINVAL  nr is out of range, or there are more than 2^28 ids
 * @retval -ENOMEM  out of memory
 */
PERCH_API int perch_decoder_new(struct perch_decoder **decoder,
				const struct perch_decoder_event *events, size_t nr,
				enum perch_byte_order order, struct perch_error *err);

/**
 * Frees a decoder. Records that it decoded point to its parse infos, so they must not be used
 * afterwards.
 *
 * @param decoder  NULL is allowed
 */
PERCH_API void perch_decoder_free(struct perch_decoder *decoder);

/**
 * Decodes one record, in constant time for any number of attrs and ids.
 *
 * A record without an id, or with id 0, belongs to the first attr. A sample with an unknown id
 * cannot be decoded.
 *
 * Async-signal-safe.
 *
 * @param decoder      must stay valid while the record is used
 * @param bytes        aligned to 8 bytes
 * @param size         the number of bytes available; if it includes the next records, they are
 *                     prefetched
 * @param[out] record  as with perch_record_decode()
 * @param[out] err     the reason of a failure; NULL is allowed
 * @return 0, or a negative errno, as perch_record_decode()
 */
PERCH_API int perch_decoder_decode(struct perch_decoder *decoder, const void *bytes, size_t size,
				   struct perch_record *record, struct perch_error *err);

/**
 * Decodes one record whose bytes lie anywhere: perch_decoder_decode() for the bytes of
 * perch_record_decode_pieces().
 *
 * Async-signal-safe.
 *
 * @param decoder       must stay valid while the record is used
 * @param pieces        the pieces, in order; the first one begins with the record
 * @param nr            number of pieces
 * @param scratch       space for the record, which must stay valid while the record is used
 * @param scratch_size  of scratch in bytes: PERCH_SCRATCH_BYTES are always enough
 * @param[out] record   as with perch_record_decode()
 * @param[out] err      the reason of a failure; NULL is allowed
 * @return 0, or a negative errno, as perch_record_decode_pieces()
 */
PERCH_API int perch_decoder_decode_pieces(struct perch_decoder *decoder, const struct iovec *pieces,
					  size_t nr, void *scratch, size_t scratch_size,
					  struct perch_record *record, struct perch_error *err);

/**
 * Reads the time of a record without decoding the rest.
 *
 * Async-signal-safe.
 *
 * @param decoder    the decoder
 * @param bytes      aligned to 8 bytes
 * @param size       the number of bytes available
 * @param[out] time  in ns
 * @return false if the record has no time
 */
PERCH_API bool perch_decoder_time(const struct perch_decoder *decoder, const void *bytes,
				  size_t size, uint64_t *time);

/** An address of a call chain. */
struct perch_chain_address {
	uint64_t ip;	      /**< the address */
	uint8_t cpumode;      /**< PERCH_MISC_KERNEL, _USER, _HYPERVISOR, _GUEST_*, or unknown */
	uint64_t reserved[1]; /**< for members of later versions */
};

/** A position in a call chain. Plain data. */
struct perch_chain {
	const uint64_t *at;   /**< next word */
	const uint64_t *end;  /**< end of the chain */
	bool swapped;	      /**< the words are in the other byte order */
	uint8_t cpumode;      /**< of the next address; at first, that of the record */
	bool deferred;	      /**< the user part is in a later CALLCHAIN_DEFERRED record, */
	uint64_t cookie;      /**< with this cookie */
	uint64_t reserved[2]; /**< for members of later versions */
};

/**
 * Starts to walk a call chain.
 *
 * Async-signal-safe.
 *
 * @param[out] chain  at the first word
 * @param record      SAMPLE or CALLCHAIN_DEFERRED, whose bytes must stay valid; other records have
 *                    an empty chain
 */
PERCH_API void perch_chain_init(struct perch_chain *chain, const struct perch_record *record);

/**
 * Reads the next address of a call chain, innermost first. Markers are skipped.
 *
 * Async-signal-safe.
 *
 * @param chain         the position
 * @param[out] address  the address
 * @return false at the end of the chain
 */
PERCH_API bool perch_chain_next(struct perch_chain *chain, struct perch_chain_address *address);

/**
 * Samples that wait for the user part of their call chain.
 *
 * With the attr bits defer_callchain and defer_output, the kernel writes the user part of call
 * chains later, in one CALLCHAIN_DEFERRED record for all samples between entry to and exit from the
 * kernel. This object holds such samples until that record, in limited memory. A program does this
 * for each record of a stream in the order of time:
 *
 *     if (record.type == PERCH_RECORD_CALLCHAIN_DEFERRED) {
 *         while (perch_deferred_next_incomplete(deferred, &record, &sample) > 0)
 *             use(&sample);
 *         while (perch_deferred_next(deferred, &record, &sample) > 0)
 *             use(&sample);
 *     } else if (perch_deferred_complete(deferred, &record) > 0 ||
 *                perch_deferred_hold(deferred, &record) <= 0) {
 *         use(&record);
 *     }
 *
 * and at the end, with NULL:
 *
 *     while (perch_deferred_next(deferred, NULL, &sample) > 0)
 *         use(&sample);
 *
 * A completed call chain has PERCH_CONTEXT_USER before its user part. An incomplete one still has
 * PERCH_CONTEXT_USER_DEFERRED and the cookie: perch_chain_next() sets perch_chain.deferred. A chain
 * stays incomplete if its record was lost, or if the recording ended before it.
 *
 * @since Linux 6.19
 */
struct perch_deferred;

/**
 * Makes an object that holds samples with deferred call chains.
 *
 * @param[out] deferred  the new object; NULL after a failure
 * @param bytes          the limit of memory for samples, and as much again for the last call chain
 *                       of each thread; 0 is 16 MiB
 * @param[out] err       the reason of a failure; NULL is allowed
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_deferred_new(struct perch_deferred **deferred, size_t bytes,
				 struct perch_error *err);

/**
 * Frees the object and the samples that it holds.
 *
 * @param deferred  NULL is allowed
 */
PERCH_API void perch_deferred_free(struct perch_deferred *deferred);

/**
 * Holds a sample if its call chain has a deferred part.
 *
 * @param deferred  the object
 * @param record    any record; its bytes are copied, its parse info must stay valid
 * @retval 1        the sample is held: perch_deferred_next() returns it later
 * @retval 0        it is complete, or not a sample
 * @retval -ENOSPC  the limit is reached, or no memory: use the incomplete sample. It is the only
 *                  error, so it needs no err.
 */
PERCH_API int perch_deferred_hold(struct perch_deferred *deferred,
				  const struct perch_record *record);

/**
 * Returns the held samples of a CALLCHAIN_DEFERRED record, one per call, oldest first.
 *
 * @param deferred            the object
 * @param callchain_deferred  returns the samples of its thread with its cookie, with the complete
 *                            call chain; NULL returns all held samples as they are, and another
 *                            stream may follow
 * @param[out] record         the sample; valid until the next call with this object
 * @return 1 with a sample; 0 if there are no more
 */
PERCH_API int perch_deferred_next(struct perch_deferred *deferred,
				  const struct perch_record *callchain_deferred,
				  struct perch_record *record);

/**
 * Returns held samples whose CALLCHAIN_DEFERRED record is missing, one per call, oldest first.
 *
 * A thread returns to user space once for each cookie. So when a record completes a sample, no
 * record will complete older samples of that thread with other cookies. Call it before
 * perch_deferred_next(), with a stream in the order of time.
 *
 * @param deferred            the object
 * @param callchain_deferred  returns samples of its thread that are older than those with its
 *                            cookie; NULL returns none
 * @param[out] record         the sample, as it was held; valid until the next call with this object
 * @return 1 with a sample; 0 if there are no more
 */
PERCH_API int perch_deferred_next_incomplete(struct perch_deferred *deferred,
					     const struct perch_record *callchain_deferred,
					     struct perch_record *record);

/**
 * Completes a sample that comes after its CALLCHAIN_DEFERRED record: the kernel took it after it
 * had written the record, but before the thread returned to user space. Call it before
 * perch_deferred_hold(). The object has the last record of each thread that perch_deferred_next()
 * was called with.
 *
 * @param deferred        the object
 * @param[in,out] record  any record. The call chain of a completed sample is valid until the next
 *                        call with this object.
 * @retval 1  the sample is complete
 * @retval 0  unchanged: it has no deferred part, is not a sample, or its record has not come yet
 */
PERCH_API int perch_deferred_complete(struct perch_deferred *deferred, struct perch_record *record);

/**
 * Returns the name of a record type: "SAMPLE", "MMAP2"...
 *
 * Async-signal-safe.
 *
 * @param type  PERCH_RECORD_*, or a type of perf.data, whose names are those of perf report --stats
 * @return a static string; NULL if the type is unknown
 */
PERCH_API const char *perch_record_name(uint32_t type);

#ifdef __cplusplus
}
#endif
#endif
