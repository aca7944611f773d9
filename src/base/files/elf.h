/* SPDX-License-Identifier: MIT */
/*
 * ELF files: headers, segments, sections, notes and build ids. The reader needs <elf.h> and the C
 * library, because libperch links nothing else. It is compiled into both libraries, and its names
 * are hidden in both.
 *
 * Nothing in a file is trusted: each offset and size is checked against the file's size. A file is
 * read and not mapped, so truncating it during the read is an error and not a signal.
 */
#ifndef PERCH_BASE_ELF_H
#define PERCH_BASE_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A part of the file that is mapped somewhere (PT_LOAD), that has notes (PT_NOTE), that the dynamic
 * linker reads (PT_DYNAMIC), or that finds unwinding rules (PT_GNU_EH_FRAME). */
struct perch__elf_segment {
	uint64_t address, offset, size; /* size: bytes in the file */
	uint64_t memory_size, align;
	uint32_t type, flags; /* PT_*, PF_* */
};

struct perch__elf_section {
	const char *name; /* "" if it is damaged */
	uint32_t type, link, info;
	uint64_t flags, address, offset, size, entry, alignment;
	bool code; /* has instructions */
};

struct perch__elf {
	int fd;			      /* -1 for an image */
	const unsigned char *image;   /* NULL for a file */
	uint64_t size;		      /* of the file at the time it was opened */
	bool wide;		      /* 64-bit */
	bool swapped;		      /* the other byte order */
	uint16_t type, machine;	      /* ET_*, EM_* */
	uint64_t entry;		      /* address where a program begins, or 0 */
	bool executable_data;	      /* readable pages may be executable: no PT_GNU_STACK,
				       * or one with PF_X */
	size_t nr_segments, nr_loads; /* the first nr_loads segments are of type PT_LOAD */
	struct perch__elf_segment *segment;
	/* NULL before perch__elf_read_sections(), then at least section 0, which stands for none */
	struct perch__elf_section *section;
	size_t nr_sections;  /* 0 if they are damaged */
	int sections_result; /* of the first call of perch__elf_read_sections() */
	char *names;	     /* of the sections */
};

/*
 * Reads headers and segments of an open file or of an image in memory. Neither is copied or closed,
 * and both must outlive elf. Returns 0; -EBADMSG if it is not an ELF file or is damaged; -ENOMEM;
 * or the errno of fstat(2) or pread(2). After an error there is nothing to clear.
 */
int perch__elf_init_file(struct perch__elf *elf, int fd);
int perch__elf_init_image(struct perch__elf *elf, const void *image, size_t size);
/* Reads the table of sections, on the first call only. Returns 0, -EBADMSG or -ENOMEM, as that. */
int perch__elf_read_sections(struct perch__elf *elf);
/* Returns the index of the first section with a name, or 0, which is never one. */
size_t perch__elf_find_section(const struct perch__elf *elf, const char *name);
/* Returns the first segment of a type, or NULL. */
const struct perch__elf_segment *perch__elf_segment_of_type(const struct perch__elf *elf,
							    uint32_t type);
/* Frees segments and sections. */
void perch__elf_clear(struct perch__elf *elf);

/* Returns a number of 1, 2, 4 or 8 bytes in the file's byte order. */
uint64_t perch__elf_word(const struct perch__elf *elf, const unsigned char *bytes, size_t size);
/* A member of a struct of <elf.h>. The 32-bit and 64-bit structs have the same member names. */
#define PERCH__ELF_FIELD(elf, bytes, structure, member)                                    \
	((elf)->wide ? perch__elf_word(elf, (bytes) + offsetof(Elf64_##structure, member), \
				       sizeof(((Elf64_##structure *)0)->member))           \
		     : perch__elf_word(elf, (bytes) + offsetof(Elf32_##structure, member), \
				       sizeof(((Elf32_##structure *)0)->member)))
#define PERCH__ELF_SIZE(elf, structure) \
	((elf)->wide ? sizeof(Elf64_##structure) : sizeof(Elf32_##structure))

/*
 * Reads at most `size` bytes at an offset. Returns the number of bytes, less than size at the end
 * of the file, or a negative errno.
 */
ssize_t perch__elf_read(const struct perch__elf *elf, void *buffer, uint64_t offset, size_t size);
/*
 * Returns a copy of a part of the file with a NUL after it, which the caller frees. Returns
 * -EBADMSG if it exceeds the file, -EFBIG if it has more than `most` bytes.
 */
int perch__elf_load(const struct perch__elf *elf, unsigned char **bytes, uint64_t offset,
		    uint64_t size, size_t most);

struct perch__elf_symbol {
	uint32_t name; /* offset in the section of names */
	uint32_t section;
	uint8_t type, binding, visibility; /* STT_, STB_, STV_ */
	uint64_t value, size;
};
/* Decodes an element of a symbol table. A section of SHN_XINDEX has its number elsewhere. */
struct perch__elf_symbol perch__elf_decode_symbol(const struct perch__elf *elf,
						  const unsigned char *bytes);

/* Loads the bytes of a section that is not compressed, with a NUL after them; the caller frees
 * them. Returns 0; -ENOENT: a section without bytes; -EFBIG: more than `most`; as
 * perch__elf_load().
 */
int perch__elf_load_plain(const struct perch__elf *elf, const struct perch__elf_section *section,
			  uint64_t most, unsigned char **bytes, size_t *size);
typedef int perch__elf_loader(const struct perch__elf *elf,
			      const struct perch__elf_section *section, uint64_t most,
			      unsigned char **bytes, size_t *size);

/* A symbol table. */
struct perch__elf_symbols {
	const struct perch__elf *elf;
	unsigned char *bytes,
		*extended; /* extended: section numbers of more than 16 bits, or NULL */
	size_t nr, nr_extended;
};
/* Loads the table in a section. Returns as the loader. */
int perch__elf_symbols_load(struct perch__elf_symbols *symbols, const struct perch__elf *elf,
			    size_t section, perch__elf_loader *loader);
/* Returns false if there is no symbol of that number. */
bool perch__elf_symbol(const struct perch__elf_symbols *symbols, size_t number,
		       struct perch__elf_symbol *symbol);
void perch__elf_symbols_clear(struct perch__elf_symbols *symbols);

/*
 * Finds the file offset of an address. code: search only executable segments. Returns false if no
 * segment contains the address.
 */
bool perch__elf_find_offset(const struct perch__elf *elf, uint64_t address, bool code,
			    uint64_t *offset);

struct perch__elf_note {
	uint32_t type;
	uint32_t name_size, size; /* name_size counts the name's NUL */
	const unsigned char *name, *data;
};

/*
 * Reads the note at byte *at of a segment or section, and moves *at to the next one. align is that
 * of the segment: notes are padded to 8 bytes if it is 8, else to 4. Returns 1; 0 at the end; or
 * -EBADMSG if the note exceeds the bytes.
 */
int perch__elf_next_note(struct perch__elf_note *note, const void *bytes, size_t size, size_t align,
			 bool swapped, size_t *at);

#define PERCH__BUILD_ID_MAX 20 /* bytes */

/* Finds the GNU build id in the bytes of notes. Returns its size, or 0 if there is none. */
int perch__elf_notes_build_id(const void *notes, size_t size, size_t align, bool swapped,
			      uint8_t build_id[PERCH__BUILD_ID_MAX]);
/*
 * Finds the build id of a file in its note segments, or in its note sections, which separate debug
 * files still have. Returns its size, 0 if there is none, or -ENOMEM.
 */
int perch__elf_build_id(struct perch__elf *elf, uint8_t build_id[PERCH__BUILD_ID_MAX]);

#endif
