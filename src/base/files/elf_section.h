/* SPDX-License-Identifier: MIT */
/*
 * Bytes of sections of ELF files, which may be compressed: SHF_COMPRESSED, or .zdebug_* of old
 * tools; and what relocations have.
 */
#ifndef PERCH_BASE_ELF_SECTION_H
#define PERCH_BASE_ELF_SECTION_H

#include "base/files/decompress.h"
#include "base/files/elf.h"

struct perch__compressed_section {
	enum compression compression;
	uint64_t offset, size; /* of the compressed bytes in the file */
	uint64_t bytes;	       /* their number after decompression, limited */
};

bool perch__elf_is_compressed(const struct perch__elf_section *section);
/* Describes a compressed section. Returns 0, -EBADMSG: damaged, or -EFBIG: too large. */
int perch__elf_compressed_section(const struct perch__elf *elf,
				  const struct perch__elf_section *section,
				  struct perch__compressed_section *result);
/* The limit of the decompressed bytes of all sections: some may share their bytes in the file. */
uint64_t perch__elf_most_decompressed(const struct perch__elf *elf);
/*
 * Loads the bytes of a section, decompressed, with a NUL after them; the caller frees them. Returns
 * 0; -ENOENT: a section without bytes; -EBADMSG; -EFBIG: more than `most` bytes; -ENOTSUP: perch
 * was built without the library that decompresses them; -ENOMEM; or the errno of reading.
 */
int perch__elf_load_section(const struct perch__elf *elf, const struct perch__elf_section *section,
			    uint64_t most, unsigned char **bytes, size_t *size);

struct perch__elf_relocation {
	uint64_t offset;
	int64_t addend; /* 0 if it has none */
	uint32_t type, symbol;
};
/* Decodes a relocation of a table, SHT_RELA with addends, or SHT_REL. */
struct perch__elf_relocation perch__elf_relocation(const struct perch__elf *elf,
						   const unsigned char *table, size_t index,
						   bool addend);

#endif
