/* SPDX-License-Identifier: MIT */
/*
 * BPF programs: what bpf(2) reports about them, as perf.data has it in its feature
 * BPF_PROG_INFO, and BTF, as in the feature BPF_BTF. Bytes of a file are not trusted: each function
 * checks what it reads. All numbers have the byte order of this machine.
 */
#ifndef PERCH_BASE_BPF_H
#define PERCH_BASE_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERCH__BPF_TAG_SIZE 8

/* The information of a program, up to the last member of Linux 5.18 (struct bpf_prog_info). */
struct perch__bpf_info {
	uint32_t type, id;
	uint8_t tag[PERCH__BPF_TAG_SIZE];
	uint32_t jited_length, translated_length;
	uint64_t jited, translated;
	uint64_t load_time; /* ns since boot */
	uint32_t uid, nr_maps;
	uint64_t maps;
	char name[16];
	uint32_t interface, bits;
	uint64_t network_device, network_inode;
	uint32_t nr_addresses, nr_lengths;
	uint64_t addresses, lengths; /* of the functions */
	uint32_t btf, function_size;
	uint64_t functions;
	uint32_t nr_functions, nr_lines;
	uint64_t lines, jited_lines;
	uint32_t nr_jited_lines, line_size, jited_line_size, nr_tags;
	uint64_t tags;
	uint64_t run_time, runs, recursions;
	uint32_t verified, attach_btf, attach_type, pad;
};

_Static_assert(sizeof(struct perch__bpf_info) == 232, "the size of the kernel's struct");

/* The arrays of a program. The values are bits of perch__bpf_program.arrays. */
enum perch__bpf_array {
	PERCH__BPF_JITED = 0,	  /* machine code */
	PERCH__BPF_ADDRESSES = 3, /* uint64_t: start of each function */
	PERCH__BPF_LENGTHS = 4,	  /* uint32_t: bytes of each function */
	PERCH__BPF_FUNCTIONS = 5, /* two uint32_t: instruction, type in BTF */
	PERCH__BPF_LINES = 6,	  /* four uint32_t: instruction, file, text, line << 10 | column */
	PERCH__BPF_JITED_LINES = 7, /* uint64_t: address of each of the lines */
	PERCH__BPF_TAGS = 8,	    /* of each function */
	PERCH__BPF_ARRAYS,
};

/* A program. Pointers of info are offsets in data. */
struct perch__bpf_program {
	struct perch__bpf_info info;
	uint64_t arrays;
	const uint8_t *data; /* not aligned */
	uint32_t size;
	uint8_t *owned; /* data, if it must be freed */
};

/* ---- bpf.c ---- */

/*
 * Takes the first program of the bytes of BPF_PROG_INFO after their number (uint32_t). Returns
 * false at the end, and at a program that is not whole.
 */
bool perch__bpf_take(const uint8_t **at, size_t *left, struct perch__bpf_program *program);

/*
 * Returns an array whose elements have at least `least` bytes; NULL if the program does not have
 * it, or not whole.
 */
const uint8_t *perch__bpf_array(const struct perch__bpf_program *program,
				enum perch__bpf_array array, size_t least, uint32_t *nr,
				uint32_t *size);

/* The address and length of a function. Returns false after the last one. */
bool perch__bpf_function(const struct perch__bpf_program *program, uint32_t index,
			 uint64_t *address, uint32_t *length);

/* The bytes of a BTF. */
struct perch__btf {
	const uint8_t *bytes;
	size_t size;
};

/* Returns a text of a BTF, or NULL. */
const char *perch__btf_text(const struct perch__btf *btf, uint32_t offset);

/*
 * Makes the name that the kernel gives a function: "bpf_prog_TAG_NAME". btf: NULL if unknown. The
 * tag is always known; a name that is unknown is left out.
 */
void perch__bpf_function_name(const struct perch__bpf_program *program,
			      const struct perch__btf *btf, uint32_t index, char *name,
			      size_t size);

/*
 * Takes the first BTF of the bytes of BPF_BTF after their number (uint32_t). Returns false at the
 * end, and at one that is not whole.
 */
bool perch__btf_take(const uint8_t **at, size_t *left, uint32_t *id, struct perch__btf *btf);

/* ---- bpf_read.c ---- */

/* bpf(2), with a context as the first argument: returns -1 and sets errno on failure. */
struct perch__bpf_calls {
	void *context;
	int (*bpf)(void *context, int command, void *attr, size_t size);
	int (*close)(void *context, int fd);
};

/* Sets *id to the next larger id of a loaded program. Returns 0, -ENOENT at the end, or another
 * negative errno. */
int perch__bpf_next(const struct perch__bpf_calls *calls, uint32_t *id);
/* Reads a program. Returns 0, -ENOENT if it was unloaded, or another negative errno. */
int perch__bpf_read(const struct perch__bpf_calls *calls, uint32_t id,
		    struct perch__bpf_program *program);
void perch__bpf_free(struct perch__bpf_program *program);
/* Reads the BTF with an id. Its bytes are in memory of their own, *owned. Returns 0 or a negative
 * errno. */
int perch__btf_read(const struct perch__bpf_calls *calls, uint32_t id, struct perch__btf *btf,
		    uint8_t **owned);
/* Appends a program in the form of BPF_PROG_INFO. Returns the number of bytes; to may be NULL. */
size_t perch__bpf_store(const struct perch__bpf_program *program, uint8_t *to);

#endif
