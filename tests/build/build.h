/* SPDX-License-Identifier: MIT */
/*
 * Builds records and attrs as a kernel writes them, from a description of their contents, in either
 * byte order. The code follows the kernel: perf_output_sample(), the functions near it, and
 * perf_event.h. It does not use libperch's decoder, only the constants of perch/abi.h.
 */
#ifndef BUILD_H
#define BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/abi.h>

#define BUILD_RECORD_MAX 65528 /* header.size has 16 bits and is a multiple of 8 */
#define BUILD_ENTRIES	 48    /* at most, of each list */
#define BUILD_REGISTERS	 64
#define BUILD_BLOB	 1024
#define BUILD_TEXT	 200

/* ---- random numbers ---- */

/* A pseudo-random generator. All random choices of a case depend on its seed. */
struct build_rng {
	uint64_t state;
};
uint64_t build_random(struct build_rng *rng);
uint64_t build_below(struct build_rng *rng, uint64_t bound);
bool build_percent(struct build_rng *rng, unsigned percent);
/* A number of a random kind: small, with the highest bit, all ones, one bit, or any. */
uint64_t build_number(struct build_rng *rng);
/* The number in an environment variable, or `otherwise` if it is not set. */
uint64_t build_number_from(const char *name, uint64_t otherwise);

/* ---- descriptions ---- */

/* The properties of an attr and its machine that determine the bytes. */
struct build_shape {
	bool big_endian;
	bool sample_id_all;
	bool build_id;
	uint64_t sample_type, read_format, branch_sample_type;
	uint64_t regs_user, regs_intr;
	uint64_t period;
};

struct build_sample_id {
	uint32_t pid, tid, cpu;
	uint64_t time, id, stream_id;
};

struct build_value {
	uint64_t value, id, lost;
};

struct build_values {
	uint64_t nr; /* 1 without PERCH_FORMAT_GROUP */
	uint64_t enabled, running;
	struct build_value value[BUILD_ENTRIES];
};

struct build_words {
	uint64_t nr;
	uint64_t word[BUILD_REGISTERS];
};

struct build_blob {
	uint64_t size;
	uint8_t byte[BUILD_BLOB];
};

struct build_branch {
	uint64_t from, to;
	uint64_t mispred, predicted, in_tx, abort, cycles, type, spec, new_type, priv, reserved;
	uint64_t counters;
};

struct build_registers {
	uint64_t abi;
	struct build_words value; /* one for each bit of the mask; not written with abi 0 */
};

struct build_sample {
	uint64_t ip, addr, period, weight, data_src, transaction, phys_addr, cgroup, data_page_size,
		code_page_size;
	struct build_values read;
	struct build_words callchain;
	/* its size with the 4 bytes of the size itself is a multiple of 8 */
	struct build_blob raw;
	/* no branch stack: only nr = 0 is written, also with HW_INDEX */
	bool no_branch_stack;
	uint64_t hw_index, nr_branches;
	struct build_branch branch[BUILD_ENTRIES];
	struct build_registers user, intr;
	struct build_blob stack; /* size 0: a kernel thread, nothing follows */
	uint64_t stack_dynamic;
	struct build_blob aux;
};

struct build_namespace {
	uint64_t dev, ino;
};

/* The contents of a record. Each type uses the members that the kernel documents for it. */
struct build_record {
	struct build_shape shape;
	uint32_t type;
	uint16_t misc;
	struct build_sample_id sample_id; /* of the trailer, or of the sample */
	uint32_t pid, tid, ppid, ptid;
	uint64_t time, id, stream_id;
	uint64_t address, length, page_offset;
	uint32_t major, minor, protection, flags;
	uint64_t inode, generation;
	uint8_t build_id_size, build_id[20]; /* with PERCH_MISC_MMAP_BUILD_ID */
	uint64_t lost;
	uint64_t aux_offset, aux_size, aux_flags;
	uint64_t nr_namespaces;
	struct build_namespace ns[BUILD_ENTRIES];
	uint16_t kind, kind_flags; /* KSYMBOL, BPF_EVENT */
	uint32_t bpf_id;
	uint8_t tag[8];
	struct build_blob before, after; /* TEXT_POKE */
	uint64_t hw_id, cookie;
	struct build_words chain;   /* CALLCHAIN_DEFERRED */
	struct build_values values; /* READ */
	char text[BUILD_TEXT];
	struct build_sample sample;
	/*
	 * number of bytes that a newer kernel appends to the body, or by which a KSYMBOL, BPF_EVENT
	 * or TEXT_POKE record is oversized; a multiple of 8
	 */
	unsigned newer;
};

/* ---- random contents, and writing ---- */

/* Any fields in sample_type, any formats. */
void build_fill_shape(struct build_shape *shape, struct build_rng *rng);
/* Fills a record of a type for record->shape. Type 0 chooses one, also unknown types. */
void build_fill(struct build_record *record, uint32_t type, struct build_rng *rng);
void build_fill_sample(struct build_record *record, struct build_rng *rng);

/* Bytes that are written. */
struct build_bytes {
	_Alignas(8) uint8_t byte[BUILD_RECORD_MAX + 8];
	size_t size;
	bool big_endian;
};
void build_put(struct build_bytes *bytes, const void *data, size_t size);
/* size: 1, 2, 4 or 8 */
void build_put_number(struct build_bytes *bytes, uint64_t value, unsigned size);
void build_put_zeros(struct build_bytes *bytes, size_t size);
/*
 * A bit-field in a word of `width` bits. `first` is the number of bits that are declared before it.
 */
uint64_t build_bits(bool big_endian, unsigned width, unsigned first, unsigned bits, uint64_t value);

/* The whole record, with its header. */
void build_write(struct build_bytes *bytes, const struct build_record *record);
void build_write_sample(struct build_bytes *bytes, const struct build_record *record);
void build_write_values(struct build_bytes *bytes, uint64_t format,
			const struct build_values *values);

/* The attr of a shape, for the decoder: in this machine's byte order. */
void build_attr(struct perch_attr *attr, const struct build_shape *shape);

/*
 * A field of an attr, by the kernel's name and in the kernel's order. bits is 0 for a whole word.
 */
struct build_attr_field {
	const char *name;
	unsigned bytes; /* of the word: 2, 4 or 8 */
	unsigned bits;	/* of a bit-field */
};
#define BUILD_ATTR_FIELDS 80
#define BUILD_ATTR_BYTES  144
struct build_attr_values {
	size_t nr;
	uint64_t value[BUILD_ATTR_FIELDS];
};
const struct build_attr_field *build_attr_fields(size_t *nr);
void build_fill_attr(struct build_attr_values *values, struct build_rng *rng);
/* Writes all BUILD_ATTR_BYTES bytes. */
void build_write_attr(struct build_bytes *bytes, const struct build_attr_values *values);

/* ---- comparing ---- */

struct perch_record;
/* NULL if the decoded record equals the description; else the difference, in a static buffer. */
const char *build_difference(const struct perch_record *decoded, const struct build_record *record);

#endif
