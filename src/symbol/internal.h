/* SPDX-License-Identifier: MIT */
/*
 * The symbol room inside: tables of functions, the files they come from, and how files are found.
 */
#ifndef PERCH_SYMBOL_INTERNAL_H
#define PERCH_SYMBOL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gelf.h>
#include <perch/symbol.h>

#include "base/elf.h"

#define NO_ENTRY UINT32_MAX

/* ---- table.c: the functions of one binary ---- */

/* One symbol, compact: a table has tens of thousands and most are never looked up. */
struct entry {
	uint64_t start, end; /* binary's offsets; until settled, size 0: end == start */
	uint32_t name;	     /* into blob[blob_index] */
	uint32_t parent;     /* the entry around this one; until settled: its section's
			      * place in table.limit, or its group */
	uint32_t symbol;     /* index of the struct perch_symbol, or NO_ENTRY */
	uint8_t blob_index;
	uint8_t binding, type; /* STB_, STT_ */
	bool plt;	       /* a stub that calls the function of that name */
};

/* Bytes that names are in; a NUL follows the last one. */
struct blob {
	char *bytes;
	size_t size;
	bool borrowed;	  /* somebody else frees them, later */
	const void *file; /* until settled: the elf_file and section they are from */
	uint32_t section;
};

enum { MAX_BLOBS = 4 };

struct table {
	struct entry *entry;
	size_t nr, allocated;
	struct blob blob[MAX_BLOBS];
	unsigned nr_blobs;
	uint64_t *limit; /* until settled: where sections end */
	size_t nr_limits;
	unsigned comparisons; /* of names: a hostile file could ask for millions */
	bool grouped;	      /* symbols do not reach to the next one of another group */
};

/* NULL when out of memory. */
struct entry *perch__table_add(struct table *table);
/* Takes the bytes (frees them on failure). The blob's index or -ENOMEM. */
int perch__table_blob(struct table *table, char *bytes, size_t size);
const char *perch__table_name(const struct table *table, const struct entry *entry);
/*
 * After the last perch__table_add(): sorts, gives symbols of no size the room up to the next one,
 * keeps the best of those at one address. 0 or -ENOMEM.
 */
int perch__table_finish(struct table *table);
/* The innermost symbol around the offset, or NULL. */
struct entry *perch__table_find(const struct table *table, uint64_t offset);
void perch__table_free(struct table *table);

/* ---- elf.c: an ELF file, opened and checked ---- */

struct section {
	const char *name; /* libelf's; lives as long as the Elf */
	uint64_t address, offset, size, flags, entry_size;
	uint32_t type, link, info;
	bool code, text; /* holds instructions; and says so in its name */
};

struct elf_file {
	int fd; /* -1 when in memory */
	const uint8_t *image;
	uint64_t size;
	Elf *elf;
	GElf_Ehdr header;
	bool swapped; /* byte order is not this machine's */
	struct section *section;
	size_t nr_sections;
	struct perch__elf_segment *segment; /* PT_LOAD */
	size_t nr_segments;
	int build_id_size; /* 0: has none */
	uint8_t build_id[20];
};

/* Takes fd in any case. 0; -ENOEXEC: not an ELF file, or a broken one; -ENOMEM, -EIO. */
int perch__elf_open(struct elf_file *file, int fd);
int perch__elf_open_image(struct elf_file *file, const void *image, size_t size);
/*
 * Sections are read when needed: a build id does not need them. Idempotent. 0, -ENOEXEC, -ENOMEM.
 */
int perch__elf_sections(struct elf_file *file);
void perch__elf_close(struct elf_file *file);
/* A copy of bytes of the file with a NUL behind; NULL when they are not all there, or no memory. */
char *perch__elf_bytes(const struct elf_file *file, uint64_t offset, uint64_t size);
/* Index, or 0 (which is no section) when there is none. */
size_t perch__elf_section(const struct elf_file *file, const char *name, uint32_t type);
size_t perch__elf_section_of_type(const struct elf_file *file, uint32_t type);
/*
 * From a virtual address as linked to the file offset: by the segments, else by the section that
 * it is in.
 */
uint64_t perch__elf_offset(const struct elf_file *file, uint64_t address,
			   const struct section *section);

/* ---- elf_symbols.c ---- */

/*
 * Adds the functions of symbol table section `index` of file. layout: the file that was mapped,
 * whose segments turn addresses into offsets; the same file, or the one that `file` holds the
 * debug information of. 0 or -ENOMEM: symbols that make no sense are left out.
 */
int perch__elf_symbols(struct table *table, struct elf_file *file, size_t index,
		       const struct elf_file *layout);
/* Adds a name@plt for each stub that calls into other objects. */
int perch__elf_plt(struct table *table, struct elf_file *file);

/* ---- build_id.c ---- */

/*
 * Of a file that holds bare notes of this machine, as /sys/kernel/notes. Its size or a negative
 * errno.
 */
int perch__notes_file_build_id(const char *path, uint8_t build_id[20]);
/* Sizes may differ by zeros at the end: files of old versions pad to 20 bytes. */
bool perch__same_build_id(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size);

/* ---- files.c: finding and opening ---- */

/*
 * Opens a regular file, and nothing else, for reading: never waits, never touches a device. root:
 * NULL, or the directory that path cannot leave, not even through symbolic links. A descriptor or
 * a negative errno.
 */
int perch__open_regular(const char *root, const char *path);
/*
 * The separate debug file of a binary: by build id or by .gnu_debuglink. binary: NULL when it is
 * gone, then build_id decides. 0, or -ENOENT: there is none.
 */
int perch__open_debug(struct elf_file *debug, const char *root, const char *path,
		      struct elf_file *dso, const uint8_t *build_id, size_t build_id_size);
/*
 * What perf kept of a binary in ~/.debug by its build id; kind: "elf", "debug", "kallsyms". A
 * descriptor or -errno.
 */
int perch__open_build_id_cache(const uint8_t *build_id, size_t build_id_size, const char *kind);

/* ---- sources of a binary's table; error gets the reason when there are no symbols ---- */

struct symbol_error {
	char text[200];
};
void perch__set_symbol_error(struct symbol_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "no such file", "permission denied"... */
void perch__set_symbol_errno(struct symbol_error *error, int errnum);

struct kallsyms;
struct sources {
	char *root, *kallsyms_path;
	bool foreign;		   /* what runs here is not believed without a build id */
	struct kallsyms *kallsyms; /* those read so far, a list */
};
/* 0 (the table may be empty, then error says why) or -ENOMEM. */
int perch__load_file(struct table *table, const struct sources *sources,
		     const struct perch_dso *dso, struct symbol_error *error);
int perch__load_vdso(struct table *table, const struct sources *sources,
		     const struct perch_dso *dso, struct symbol_error *error);
int perch__load_kernel(struct table *table, struct sources *sources, const struct perch_dso *dso,
		       struct symbol_error *error);
int perch__load_module(struct table *table, struct sources *sources, const struct perch_dso *dso,
		       struct symbol_error *error);
void perch__kallsyms_free(struct kallsyms *list);

/* ---- name.c ---- */

/*
 * The name without mangling, malloc'd; NULL when it is not mangled (or out of memory, or absurdly
 * long).
 */
char *perch__demangle(const char *name);

#endif
