/* SPDX-License-Identifier: MIT */
/*
 * Bytes -> typed views, of all 22 records of the kernel and every field of a sample. Zero copy: a
 * view points into the bytes it was made from and lives as long as they do. Decoding never
 * allocates and never reads beyond the record. Records of unknown type are kept whole in .bytes.
 *
 * Records of a machine of the other byte order are decoded too: numbers in views are right, arrays
 * of words stay as they lie in the record, and perch_word() reads one. perch-records(7) documents
 * every record and field; perch/fields.h walks them.
 */
#ifndef PERCH_RECORD_H
#define PERCH_RECORD_H

#include <stdbool.h>
#include <perch/abi.h>
#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the machine that wrote the records. */
enum perch_byte_order { PERCH_BYTES_NATIVE, PERCH_BYTES_LITTLE, PERCH_BYTES_BIG };

/* Where a sample's and a trailer's fields are: worked out once per attr. Plain data, may be copied.
 */
struct perch_parse_info {
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t branch_sample_type;
	uint64_t regs_user; /* masks */
	uint64_t regs_intr;
	uint64_t period; /* of samples without PERCH_SAMPLE_PERIOD: the attr's */
	bool sample_id_all;
	uint8_t id_size; /* bytes of the trailer on records that are not samples */
	/* u64s from IDENTIFIER to PERIOD at the start of a sample's body */
	uint8_t fixed_words;
	uint8_t nr_regs_user; /* registers in the masks */
	uint8_t nr_regs_intr;
	int8_t sample_id_word; /* u64 index of the id in a sample's body, -1: none */
	/* u64 index of the id counted from the record's end (1 = last), -1: none */
	int8_t trailer_id_word;
	int8_t sample_time_word; /* the same for the time */
	int8_t trailer_time_word;
	bool swapped; /* the bytes are in the other order than this machine's */
	/* their order: bit-fields that the kernel declares in one order lie by it */
	bool big_endian;
};
/* attr: in this machine's order, as perch_attr_from_bytes() gives it; it is not needed afterwards.
 */
PERCH_API void perch_parse_info_init(struct perch_parse_info *parse_info,
				     const struct perch_attr *attr, enum perch_byte_order order);

/* The identity of a record: from its trailer, or from the sample itself. `has` is a set of
 * PERCH_SAMPLE_* bits. */
struct perch_sample_id {
	uint64_t has;
	uint32_t pid, tid;
	uint64_t time; /* ns of the attr's clock */
	uint64_t id;
	uint64_t stream_id;
	uint32_t cpu;
};

/* A name inside a record: not trusted, may hold any byte; length without NUL. Always NUL-terminated
 * in the bytes. */
struct perch_text {
	const char *text;
	uint32_t length;
};

struct perch_mmap_record { /* MMAP, MMAP2 */
	uint32_t pid, tid;
	uint64_t start, length;
	uint64_t page_offset;  /* bytes into the file */
	uint32_t major, minor; /* MMAP2 without build id */
	uint64_t inode, inode_generation;
	uint32_t protection, flags; /* MMAP2: PROT_*, MAP_* */
	uint8_t build_id_size;	    /* 0: none; at most 20 */
	uint8_t build_id[20];
	struct perch_text filename;
};
struct perch_comm_record {
	uint32_t pid, tid;
	bool exec;
	struct perch_text comm;
};
struct perch_task_record {
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
}; /* FORK, EXIT */
/* LOST: records; LOST_SAMPLES: samples, id 0 */
struct perch_lost_record {
	uint64_t id, lost;
};
struct perch_throttle_record {
	uint64_t time, id, stream_id;
};			  /* THROTTLE, UNTHROTTLE */
struct perch_aux_record { /* AUX: bytes that came into the AUX area */
	/* free-running: masked by the area's size it is the place in the area */
	uint64_t offset;
	uint64_t size;
	uint64_t flags; /* PERCH_AUX_FLAG_* */
};
struct perch_itrace_record {
	uint32_t pid, tid;
};			     /* ITRACE_START */
struct perch_switch_record { /* SWITCH: the identity's thread; SWITCH_CPU_WIDE */
	bool out;	     /* off the CPU; else on it */
	bool preempt;	     /* off while it could have run on */
	/* SWITCH_CPU_WIDE: the next thread when out, else the one before */
	uint32_t other_pid, other_tid;
};
struct perch_namespaces_record {
	uint32_t pid, tid;
	/* by enum perch_ns_index; a kernel may tell fewer or more */
	uint64_t nr;
	const struct perch_ns_link_info *link; /* read them by perch_namespace_at() */
};
struct perch_ksymbol_record {
	uint64_t address;
	uint32_t length; /* bytes of code */
	uint16_t type;	 /* enum perch_ksymbol_type */
	uint16_t flags;	 /* PERCH_RECORD_KSYMBOL_FLAGS_* */
	struct perch_text name;
};
struct perch_bpf_record {
	uint16_t type, flags;
	uint32_t id;
	uint8_t tag[8];
}; /* BPF_EVENT */
struct perch_cgroup_record {
	uint64_t id;
	struct perch_text path;
};
struct perch_text_poke_record { /* the kernel changed its own code */
	uint64_t address;
	uint16_t old_length, new_length;
	const uint8_t *before, *after;
};
struct perch_hw_id_record {
	uint64_t hw_id;
}; /* AUX_OUTPUT_HW_ID */
/* CALLCHAIN_DEFERRED: the user part of earlier samples' chains */
struct perch_deferred_record {
	uint64_t cookie;
	uint64_t nr;
	const uint64_t *ip; /* as those of a sample's callchain */
};

struct perch_read_value {
	uint64_t value, id, lost;
};
/* Values of PERCH_SAMPLE_READ and of READ records; entries are decoded on demand by
 * perch_read_values_at(). */
struct perch_read_values {
	uint64_t nr; /* 1 without PERCH_FORMAT_GROUP */
	uint64_t enabled_ns, running_ns;
	const uint64_t *words; /* first entry */
	uint8_t words_each;
	bool swapped;
	uint64_t format;
};
/* Value number index, in this machine's order; zeros past the end. The record's bytes must still be
 * there. */
PERCH_API void perch_read_values_at(const struct perch_read_values *values, uint64_t index,
				    struct perch_read_value *value);

/* READ: an inherited counter's last value as its task exits */
struct perch_read_record {
	uint32_t pid, tid;
	struct perch_read_values values;
};

/* abi 0: none */
struct perch_registers {
	uint64_t abi, mask;
	uint32_t nr;
	const uint64_t *value;
};

struct perch_sample {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time, addr, id, stream_id;
	uint32_t cpu;
	uint64_t period;
	struct perch_read_values read;
	/* innermost first, with PERCH_CONTEXT_* markers */
	struct {
		uint64_t nr;
		const uint64_t *ip;
	} callchain;
	struct {
		uint32_t size;
		const void *data;
	} raw;
	struct {
		uint64_t nr, hw_index;
		const struct perch_branch_entry *entry;
		const uint64_t *counters;
	} branches;
	struct perch_registers regs_user;
	/* dynamic_size <= size: bytes copied */
	struct {
		uint64_t size, dynamic_size;
		const void *data;
	} stack_user;
	/* or union perch_sample_weight, with PERCH_SAMPLE_WEIGHT_STRUCT */
	uint64_t weight;
	uint64_t data_src, transaction;
	struct perch_registers regs_intr;
	uint64_t phys_addr, cgroup, data_page_size, code_page_size;
	struct {
		uint64_t size;
		const void *data;
	} aux;
};

struct perch_record {
	uint32_t type; /* PERCH_RECORD_* or a perf.data type of 64 and above */
	uint16_t misc;
	uint16_t size;	/* whole record with its 8 byte header */
	uint16_t event; /* index of the attr it belongs to */
	/*
	 * bytes behind the last field known here: a newer kernel's, or damage; of KSYMBOL,
	 * BPF_EVENT and TEXT_POKE, behind the trailer: see perch-records(7)
	 */
	uint16_t trailing_bytes;
	const void *bytes; /* the record itself, 8-byte aligned */
	uint64_t offset;   /* where in the file it starts; 0 when live */
	/* what it was decoded by: the caller's, or the decoder's */
	const struct perch_parse_info *parse_info;
	struct perch_sample_id sample_id;
	union {
		struct perch_mmap_record mmap;
		struct perch_comm_record comm;
		struct perch_task_record task;
		struct perch_lost_record lost;
		struct perch_throttle_record throttle;
		struct perch_read_record read;
		struct perch_aux_record aux;
		struct perch_itrace_record itrace;
		struct perch_switch_record context_switch;
		struct perch_namespaces_record namespaces;
		struct perch_ksymbol_record ksymbol;
		struct perch_bpf_record bpf;
		struct perch_cgroup_record cgroup;
		struct perch_text_poke_record text_poke;
		struct perch_hw_id_record hw_id;
		struct perch_deferred_record deferred;
		struct perch_sample sample;
	};
};

/* A word of an array in the record (callchain, registers, counters), in this machine's order. */
static inline uint64_t perch_word(const struct perch_record *record, const uint64_t *at)
{
	return record->parse_info->swapped ? __builtin_bswap64(*at) : *at;
}

/* Entry number index of a sample's branch stack, its bits in their places whoever wrote them; zeros
 * past the end. */
PERCH_API void perch_branch_at(const struct perch_record *record, uint64_t index,
			       struct perch_branch_entry *entry);
/* Namespace number index of a NAMESPACES record; zeros past the end. */
PERCH_API void perch_namespace_at(const struct perch_record *record, uint64_t index,
				  struct perch_ns_link_info *link);

/*
 * Decodes one record. bytes must be 8-byte aligned and hold at least `size` bytes, of which
 * header.size are used. Returns 0, or -EBADMSG with the byte offset and the field, as
 * perch-records(7) calls it; the header fields of *record are still valid when size >= 8. Unknown
 * types give 0 with .bytes and .sample_id alone; so do perf.data's own ones, from 64 on, without
 * .sample_id. The parse info must live as long as the record is looked at.
 */
PERCH_API int perch_record_decode(struct perch_record *record,
				  const struct perch_parse_info *parse_info, const void *bytes,
				  size_t size, struct perch_error *err);

/*
 * A stream of several attrs: tells which one each record belongs to, by id, in constant time. Attrs
 * and ids are copied; at most 65535 attrs. Records that carry no id, or id 0, belong to the first
 * attr. A sample with an id that no attr has cannot be decoded: -EBADMSG.
 *
 * perch_decoder_new() gives -EINVAL without attrs, with too many of them or with more than 2^28
 * ids, and -ENOMEM; *decoder is then NULL. Records point into the decoder's layouts: it must live
 * as long as they are looked at.
 */
struct perch_decoder;
struct perch_decoder_event {
	const struct perch_attr *attr;
	const uint64_t *ids;
	size_t nr_ids;
};
PERCH_API int perch_decoder_new(struct perch_decoder **decoder,
				const struct perch_decoder_event *events, size_t nr,
				enum perch_byte_order order, struct perch_error *err);
PERCH_API void perch_decoder_free(struct perch_decoder *decoder); /* NULL: nothing */
/*
 * As perch_record_decode(). size: of all bytes there are, best with the records behind this one:
 * what is decoded next is fetched from memory meanwhile.
 */
PERCH_API int perch_decoder_decode(struct perch_decoder *decoder, struct perch_record *record,
				   const void *bytes, size_t size, struct perch_error *err);
/* Time of a record, in ns, without decoding the rest; false when it has none. */
PERCH_API bool perch_decoder_time(const struct perch_decoder *decoder, const void *bytes,
				  size_t size, uint64_t *time);

/* ---- callchains ---- */

/* One address of a chain and whose it is. */
struct perch_chain_address {
	uint64_t ip;
	/* PERCH_MISC_KERNEL, _USER, _HYPERVISOR, _GUEST_*; as the sample's before any marker */
	uint8_t cpumode;
};
/* Goes through a callchain, innermost first, without its markers. Plain data. */
struct perch_chain {
	const uint64_t *at, *end;
	bool swapped;
	uint8_t cpumode;
	/* met the marker of a user part that a later record tells, */
	bool deferred;
	uint64_t cookie; /* with this cookie */
};
/* Of a SAMPLE or a CALLCHAIN_DEFERRED record, whose bytes must live as long; without one: no
 * addresses. */
PERCH_API void perch_chain_init(struct perch_chain *chain, const struct perch_record *record);
PERCH_API bool perch_chain_next(struct perch_chain *chain, struct perch_chain_address *address);

/*
 * Kernels from 6.19 may tell the user part of a callchain later, once for all samples of one stay
 * in the kernel (attr bits defer_callchain, defer_output). A stitcher keeps such samples, in
 * bounded memory, until that record comes.
 */
struct perch_deferred;
/* bytes: the most that is kept of samples; 0: 16 MiB. -ENOMEM, with *stitcher NULL. */
PERCH_API int perch_deferred_new(struct perch_deferred **deferred, size_t bytes,
				 struct perch_error *err);
PERCH_API void perch_deferred_free(struct perch_deferred *deferred); /* NULL: nothing */
/*
 * 1: the sample waits, its bytes were copied (not its layout); 0: it is whole, or no sample;
 * -ENOSPC: no room, it is to be used as it is.
 */
PERCH_API int perch_deferred_hold(struct perch_deferred *deferred,
				  const struct perch_record *record);
/*
 * The kept samples that `deferred`, a CALLCHAIN_DEFERRED record, completes (same thread, same
 * cookie), oldest first: 1 and a sample, whose .callchain is whole and lives until the next call;
 * 0: no more. deferred NULL: what waits in vain, as it is.
 */
PERCH_API int perch_deferred_next(struct perch_deferred *deferred,
				  const struct perch_record *callchain_deferred,
				  struct perch_record *record);

/* "SAMPLE", "MMAP2", ... and the perf.data types from 64 on, as `perf report --stats` names them;
 * NULL when unknown. */
PERCH_API const char *perch_record_name(uint32_t type);

#ifdef __cplusplus
}
#endif
#endif
