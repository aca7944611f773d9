/* SPDX-License-Identifier: MIT */
/*
 * ELF files, as far as probes need them: where a function's code lies in the file, and what its notes say of USDT
 * probes. The reader is perch's own, on the declarations of <elf.h> alone, for libperch links libc and nothing else.
 * Nothing in a file is trusted: each offset and size is held against the file's size, and the file is read rather
 * than mapped, so that one that shrinks meanwhile ends in an error and not in a signal.
 */
#ifndef PERCH_EVENT_ELF_FILE_H
#define PERCH_EVENT_ELF_FILE_H

#include <elf.h>
#include <stddef.h>

#include "internal.h"

/* A PT_LOAD segment: the part of the file that is mapped somewhere. */
struct perch__elf_segment {
	uint64_t address, offset, size;		/* size: bytes in the file */
	bool code;				/* may be executed */
};

struct perch__elf_section {
	uint32_t name, type, link, info;	/* name: offset in the section of names */
	uint64_t flags, address, offset, size, entry;
};

struct perch__elf {
	int fd;
	uint64_t size;				/* of the file, when it was opened */
	bool wide;				/* 64 bit */
	bool swapped;				/* of the other endianness */
	uint16_t machine;			/* EM_* */
	size_t nr_segments, nr_sections, names;	/* names: index of the section of sections' names */
	struct perch__elf_segment *segment;
	struct perch__elf_section *section;
};

/*
 * path: below the machine's root. -errno of open(2); -EISDIR and -EACCES for what is no regular file; -EBADMSG for what
 * is no ELF file or a damaged one; -ENOMEM.
 */
int perch__elf_file_open(struct perch__elf *elf, const char *path, const struct perch_machine *machine);
void perch__elf_file_close(struct perch__elf *elf);

/* A number of 1, 2, 4 or 8 bytes in the file's endianness. */
uint64_t perch__elf_word(const struct perch__elf *elf, const unsigned char *bytes, size_t size);
/* A member of one of <elf.h>'s structures, whose 32 and 64 bit forms have the same names. */
#define PERCH__ELF_FIELD(elf, bytes, structure, member)						\
	((elf)->wide ? perch__elf_word(elf, (bytes) + offsetof(Elf64_##structure, member),	\
				       sizeof(((Elf64_##structure *)0)->member)) :		\
		       perch__elf_word(elf, (bytes) + offsetof(Elf32_##structure, member),	\
				       sizeof(((Elf32_##structure *)0)->member)))
#define PERCH__ELF_SIZE(elf, structure) ((elf)->wide ? sizeof(Elf64_##structure) : sizeof(Elf32_##structure))

/* Reads at most `size` bytes at an offset: as many as there are, or a negative errno. */
ssize_t perch__elf_read(const struct perch__elf *elf, void *buffer, uint64_t offset, size_t size);
/* A part of the file with a NUL behind it, to free(). -EBADMSG: beyond the end; -EFBIG: more than `most` bytes. */
int perch__elf_load(const struct perch__elf *elf, unsigned char **bytes, uint64_t offset, uint64_t size, size_t most);
/* Where in the file the byte of an address is. code: it must be executable. False: nowhere. */
bool perch__elf_place(const struct perch__elf *elf, uint64_t address, bool code, uint64_t *offset);

/* What is known of a function that was looked for. */
struct perch__elf_function {
	uint64_t offset;	/* of its first instruction in the file */
	unsigned rank;		/* 0: not found; the more visible a symbol, the higher */
	bool several;		/* different functions have the name, and none of them more right to it */
	bool indirect;		/* STT_GNU_IFUNC: the code at offset chooses a function, and is not it */
	bool elsewhere;		/* the file only refers to it */
	bool any;		/* the file names at least one function of its own */
	bool stripped;		/* it has no .symtab, which names the functions that it does not export */
};

/*
 * The function of that name: "malloc", or "memcpy@GLIBC_2.2.5" of a version. -ENOENT: not found, *function says more;
 * -EBADMSG, -EFBIG, -ENOMEM, -EIO.
 */
int perch__elf_find_function(const struct perch__elf *elf, const char *name, struct perch__elf_function *function);
/* Offers the names of all its functions. */
void perch__elf_offer_functions(const struct perch__elf *elf, struct perch__nearest *nearest);

/* One place of a USDT probe: the probe hits when the instruction there runs. */
struct perch__usdt_site {
	uint64_t offset;	/* of the instruction in the file */
	uint64_t counter;	/* of the 16-bit reference counter in the file; 0: the probe has none */
};
#define PERCH__USDT_SITES 256
/*
 * All places of the probe, at most PERCH__USDT_SITES of them (-E2BIG: it has more). -ENOENT: none has that name;
 * nearest, when not NULL, is then offered the names "PROVIDER:NAME" of the file. Other errors as above.
 */
int perch__elf_usdt_sites(const struct perch__elf *elf, const char *provider, const char *name,
			  struct perch__usdt_site site[PERCH__USDT_SITES], size_t *nr, struct perch__nearest *nearest);

/*
 * The file that an unquoted or quoted name in an event means. A name with a slash is a path. One without is looked up
 * as a program in PATH, then as a library in the usual folders: "libc" finds libc.so or the highest libc.so.*, in the
 * folder of this machine's architecture first. path: absolute and without the machine's root. -ENOENT; -ENAMETOOLONG.
 */
int perch__find_binary(const char *name, char *path, size_t size, const struct perch_machine *machine);

#endif
