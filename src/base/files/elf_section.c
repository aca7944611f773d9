/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/elf_section.h"
#include "base/memory.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define MOST_SECTION_BYTES (4ull << 30)
#define MOST_FILE_BYTES	   (8ull << 30)
enum {
	/* of decompressed to compressed bytes: those of debug information have 3 to 50, those of a
	 * whole file below 10 */
	MOST_RATIO = 256,
	MOST_TOTAL_RATIO = 64,
	FREE_BYTES = 1 << 20, /* allowed with any ratio */
	FREE_TOTAL = 16 << 20,
	GNU_HEADER = 12, /* "ZLIB", and the size, which is always big-endian */
};

static bool is_of_gnu(const struct perch__elf_section *section)
{
	return !strncmp(section->name, ".zdebug_", 8);
}

bool perch__elf_is_compressed(const struct perch__elf_section *section)
{
	return section->flags & SHF_COMPRESSED || is_of_gnu(section);
}

static int read_gnu_header(const uint8_t *header, size_t got,
			   struct perch__compressed_section *result)
{
	if (got < GNU_HEADER || memcmp(header, "ZLIB", 4))
		return -EBADMSG;
	*result = (struct perch__compressed_section){ .compression = COMPRESSION_ZLIB,
						      .size = GNU_HEADER };
	for (size_t i = 4; i < GNU_HEADER; i++)
		result->bytes = result->bytes << 8 | header[i];
	return 0;
}

/* result->size is that of the header. */
static int read_header(const struct perch__elf *elf, const struct perch__elf_section *section,
		       struct perch__compressed_section *result)
{
	uint8_t header[sizeof(Elf64_Chdr)];
	size_t most = section->size < sizeof(header) ? section->size : sizeof(header);
	ssize_t got = perch__elf_read(elf, header, section->offset, most);
	uint64_t type;

	if (got < 0)
		return -EBADMSG;
	if (is_of_gnu(section))
		return read_gnu_header(header, (size_t)got, result);
	if ((size_t)got < PERCH__ELF_SIZE(elf, Chdr))
		return -EBADMSG;
	type = PERCH__ELF_FIELD(elf, header, Chdr, ch_type);
	if (type != ELFCOMPRESS_ZLIB && type != ELFCOMPRESS_ZSTD)
		return -EBADMSG;
	*result = (struct perch__compressed_section){
		.compression = type == ELFCOMPRESS_ZLIB ? COMPRESSION_ZLIB : COMPRESSION_ZSTD,
		.size = PERCH__ELF_SIZE(elf, Chdr),
		.bytes = PERCH__ELF_FIELD(elf, header, Chdr, ch_size),
	};
	return 0;
}

int perch__elf_compressed_section(const struct perch__elf *elf,
				  const struct perch__elf_section *section,
				  struct perch__compressed_section *result)
{
	int rc = section->type == SHT_NOBITS || section->offset > elf->size ||
				 section->size > elf->size - section->offset
			 ? -EBADMSG
			 : read_header(elf, section, result);

	if (rc)
		return rc;
	if (result->bytes > MOST_SECTION_BYTES ||
	    (result->bytes > FREE_BYTES && result->bytes / MOST_RATIO > section->size))
		return -EFBIG;
	result->offset = section->offset + result->size;
	result->size = section->size - result->size;
	return 0;
}

uint64_t perch__elf_most_decompressed(const struct perch__elf *elf)
{
	return elf->size < (MOST_FILE_BYTES - FREE_TOTAL) / MOST_TOTAL_RATIO
		       ? FREE_TOTAL + MOST_TOTAL_RATIO * elf->size
		       : MOST_FILE_BYTES;
}

static int load_compressed(const struct perch__elf *elf, const struct perch__elf_section *section,
			   uint64_t most, unsigned char **bytes, size_t *size)
{
	struct perch__compressed_section compressed;
	unsigned char *from;
	int rc = perch__elf_compressed_section(elf, section, &compressed);

	if (rc)
		return rc;
	if (compressed.bytes > most)
		return -EFBIG;
	rc = perch__elf_load(elf, &from, compressed.offset, compressed.size, SIZE_MAX / 2);
	if (rc)
		return rc;
	*size = compressed.bytes;
	*bytes = perch__malloc(*size + 1);
	rc = *bytes ? perch__decompress_memory(compressed.compression, from, compressed.size,
					       *bytes, *size)
		    : -ENOMEM;
	free(from);
	if (rc) {
		free(*bytes);
		*bytes = NULL;
	} else {
		(*bytes)[*size] = 0;
	}
	return rc;
}

int perch__elf_load_section(const struct perch__elf *elf, const struct perch__elf_section *section,
			    uint64_t most, unsigned char **bytes, size_t *size)
{
	return section->type != SHT_NOBITS && section->size && perch__elf_is_compressed(section)
		       ? load_compressed(elf, section, most, bytes, size)
		       : perch__elf_load_plain(elf, section, most, bytes, size);
}

struct perch__elf_relocation perch__elf_relocation(const struct perch__elf *elf,
						   const unsigned char *table, size_t index,
						   bool addend)
{
	size_t size = addend ? PERCH__ELF_SIZE(elf, Rela) : PERCH__ELF_SIZE(elf, Rel);
	const unsigned char *one = table + index * size;
	uint64_t info = PERCH__ELF_FIELD(elf, one, Rel, r_info);
	struct perch__elf_relocation result = {
		.offset = PERCH__ELF_FIELD(elf, one, Rel, r_offset),
		.type = (uint32_t)(elf->wide ? ELF64_R_TYPE(info) : ELF32_R_TYPE(info)),
		.symbol = (uint32_t)(elf->wide ? ELF64_R_SYM(info) : ELF32_R_SYM((uint32_t)info)),
	};

	if (addend)
		result.addend = elf->wide ? (int64_t)perch__elf_word(
						    elf, one + offsetof(Elf64_Rela, r_addend), 8)
					  : (int32_t)perch__elf_word(
						    elf, one + offsetof(Elf32_Rela, r_addend), 4);
	return result;
}
