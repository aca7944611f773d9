/* SPDX-License-Identifier: MIT */
/*
 * Compressed parts of ELF files: the ELF file in .gnu_debugdata, and sections with SHF_COMPRESSED.
 * libelf 0.188 decompresses only zlib. A file with other ones is replaced by a copy in memory whose
 * sections are not compressed, which libelf and libdw read as any other.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define MOST_MINI_BYTES	   (256ull << 20)
#define MOST_MODULE_BYTES  (1ull << 30)
#define FREE_MODULE_BYTES  (16ull << 20) /* allowed with any ratio */
#define MOST_SECTION_BYTES (4ull << 30)	 /* of all decompressed sections of a file */
enum {
	MOST_RATIO = 1024,    /* of decompressed to compressed bytes: zlib reaches 1032 */
	FREE_BYTES = 1 << 20, /* allowed with any ratio */
	MOST_FILE_RATIO = 64, /* of whole files: those of modules reach 10 */
};

/* The limit of the decompressed bytes of a file. A small file cannot fill the memory. */
static uint64_t most_bytes_of(uint64_t size, uint64_t most)
{
	uint64_t in_proportion = size > most / MOST_FILE_RATIO ? most : size * MOST_FILE_RATIO;

	return in_proportion > FREE_MODULE_BYTES ? in_proportion : FREE_MODULE_BYTES;
}

int perch__elf_open_mini(struct elf_file *mini, const struct elf_file *file)
{
	size_t index = perch__elf_section(file, ".gnu_debugdata", SHT_PROGBITS);
	const struct section *section = &file->section[index];
	uint64_t written;
	int fd, rc;

	if (!index || file->image || !section->size)
		return -ENOENT;
	if (section->offset > file->size || section->size > file->size - section->offset)
		return -EBADMSG;
	fd = memfd_create("gnu_debugdata", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = perch__decompress_range(COMPRESSION_XZ, file->fd, section->offset, section->size, fd,
				     0, most_bytes_of(section->size, MOST_MINI_BYTES), &written);
	if (rc) {
		close(fd);
		return rc;
	}
	rc = perch__elf_open(mini, fd);
	if (!rc && (perch__elf_sections(mini) || !perch__elf_section_of_type(mini, SHT_SYMTAB))) {
		perch__elf_close(mini);
		rc = -EBADMSG;
	}
	return rc == -ENOEXEC ? -EBADMSG : rc;
}

int perch__elf_open_compressed(struct elf_file *file, int fd)
{
	static const struct {
		const char *magic;
		size_t size;
		enum compression compression;
	} formats[] = {
		{ "\x1f\x8b", 2, COMPRESSION_GZIP },
		{ "\xfd\x37zXZ", 6, COMPRESSION_XZ },
		{ "\x28\xb5\x2f\xfd", 4, COMPRESSION_ZSTD },
	};
	char start[6] = "";
	uint64_t written;
	struct stat status;
	int copy, rc = -ENOEXEC;

	if (pread(fd, start, sizeof(start), 0) != sizeof(start) || !memcmp(start, ELFMAG, SELFMAG))
		return perch__elf_open(file, fd);
	copy = fstat(fd, &status) ? -1 : memfd_create("module", MFD_CLOEXEC);
	for (size_t i = 0; copy >= 0 && i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!memcmp(start, formats[i].magic, formats[i].size))
			rc = perch__decompress_range(
				formats[i].compression, fd, 0, (uint64_t)status.st_size, copy, 0,
				most_bytes_of((uint64_t)status.st_size, MOST_MODULE_BYTES),
				&written);
	close(fd);
	if (copy >= 0 && !rc)
		return perch__elf_open(file, copy);
	if (copy >= 0)
		close(copy);
	return rc;
}

/* ---- compressed sections ---- */

static bool is_wide(const struct elf_file *file)
{
	return file->header.e_ident[EI_CLASS] == ELFCLASS64;
}

/* A number of 4 or 8 bytes in the byte order of the file. */
static uint64_t number_at(const struct elf_file *file, const uint8_t *bytes, size_t size)
{
	uint32_t half;
	uint64_t whole;

	if (size == 4) {
		memcpy(&half, bytes, 4);
		return file->swapped ? __builtin_bswap32(half) : half;
	}
	memcpy(&whole, bytes, 8);
	return file->swapped ? __builtin_bswap64(whole) : whole;
}

static void put_number(const struct elf_file *file, uint8_t *bytes, size_t size, uint64_t value)
{
	uint32_t half = (uint32_t)value;

	if (size == 4) {
		half = file->swapped ? __builtin_bswap32(half) : half;
		memcpy(bytes, &half, 4);
	} else {
		value = file->swapped ? __builtin_bswap64(value) : value;
		memcpy(bytes, &value, 8);
	}
}

struct compression_header {
	uint32_t type, size; /* ELFCOMPRESS_, and the size of this header */
	uint64_t bytes, alignment;
};

static bool read_header(const struct elf_file *file, const struct section *section,
			struct compression_header *header)
{
	uint8_t bytes[sizeof(Elf64_Chdr)];
	size_t word = is_wide(file) ? 8 : 4;

	header->size = is_wide(file) ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	if (file->image || section->type == SHT_NOBITS || section->size < header->size ||
	    section->offset > file->size || section->size > file->size - section->offset ||
	    pread(file->fd, bytes, header->size, (off_t)section->offset) != (ssize_t)header->size)
		return false;
	header->type = (uint32_t)number_at(file, bytes, 4);
	/* Elf64_Chdr has 4 unused bytes after the type */
	header->bytes = number_at(file, bytes + word, word);
	header->alignment = number_at(file, bytes + 2 * word, word);
	return true;
}

int perch__compressed_section_of(const struct elf_file *file, size_t index,
				 struct compressed_section *result)
{
	const struct section *section = &file->section[index];
	struct compression_header header;

	if (!read_header(file, section, &header) ||
	    (header.type != ELFCOMPRESS_ZLIB && header.type != ELFCOMPRESS_ZSTD) ||
	    header.alignment > 4096 || (header.alignment & (header.alignment - 1)))
		return -EBADMSG;
	if (header.bytes > MOST_SECTION_BYTES ||
	    (header.bytes > FREE_BYTES && header.bytes / MOST_RATIO > section->size))
		return -EFBIG;
	*result = (struct compressed_section){
		.compression = header.type == ELFCOMPRESS_ZLIB ? COMPRESSION_ZLIB
							       : COMPRESSION_ZSTD,
		.offset = section->offset + header.size,
		.size = section->size - header.size,
		.bytes = header.bytes,
		.alignment = header.alignment,
	};
	return 0;
}

static bool has_symbols(const struct elf_file *file, size_t index)
{
	uint32_t type = file->section[index].type;

	return type == SHT_SYMTAB || type == SHT_DYNSYM || type == SHT_STRTAB ||
	       type == SHT_SYMTAB_SHNDX;
}

/* True if libelf cannot decompress what is wanted. */
static bool needs_copy(const struct elf_file *file, enum wanted_sections wanted)
{
	struct compression_header header;

	for (size_t i = 1; i < file->nr_sections; i++) {
		const struct section *section = &file->section[i];

		if (!(section->flags & SHF_COMPRESSED))
			continue;
		if (has_symbols(file, i)
			    ? wanted == WANT_SYMBOLS
			    : wanted == WANT_DEBUG && read_header(file, section, &header) &&
				      header.type == ELFCOMPRESS_ZSTD)
			return true;
	}
	return false;
}

/* The copy that is made. */
struct copy {
	const struct elf_file *file;
	enum wanted_sections wanted; /* decompressed */
	bool only_wanted;	     /* other sections are not copied */
	int fd;
	uint64_t copied, end; /* end: where the next decompressed section begins */
	uint64_t decompressed;
	uint8_t *headers; /* of the sections */
};

/* Copies a range to the same offset. Sections that overlap would make the copy larger: refused. */
static int copy_range(struct copy *copy, uint64_t offset, uint64_t size)
{
	uint8_t bytes[1 << 13];

	if (offset > copy->file->size || size > copy->file->size - offset)
		return -EBADMSG;
	copy->copied += size;
	if (copy->copied > 2 * copy->file->size)
		return -EBADMSG;
	while (size) {
		ssize_t got = pread(copy->file->fd, bytes,
				    size < sizeof(bytes) ? size : sizeof(bytes), (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		if (pwrite(copy->fd, bytes, (size_t)got, (off_t)offset) != got)
			return -ENOMEM;
		offset += (size_t)got;
		size -= (size_t)got;
	}
	return 0;
}

/* Changes the header of a section, which is not compressed now. */
static void set_header(struct copy *copy, size_t index, uint64_t size, uint64_t alignment)
{
	const struct elf_file *file = copy->file;
	uint8_t *bytes = copy->headers + index * file->header.e_shentsize;
	uint64_t flags = file->section[index].flags & ~(uint64_t)SHF_COMPRESSED;

	if (is_wide(file)) {
		put_number(file, bytes + offsetof(Elf64_Shdr, sh_flags), 8, flags);
		put_number(file, bytes + offsetof(Elf64_Shdr, sh_offset), 8, copy->end);
		put_number(file, bytes + offsetof(Elf64_Shdr, sh_size), 8, size);
		put_number(file, bytes + offsetof(Elf64_Shdr, sh_addralign), 8, alignment);
	} else {
		put_number(file, bytes + offsetof(Elf32_Shdr, sh_flags), 4, flags);
		put_number(file, bytes + offsetof(Elf32_Shdr, sh_offset), 4, copy->end);
		put_number(file, bytes + offsetof(Elf32_Shdr, sh_size), 4, size);
		put_number(file, bytes + offsetof(Elf32_Shdr, sh_addralign), 4, alignment);
	}
}

static int decompress_section(struct copy *copy, size_t index)
{
	struct compressed_section section;
	uint64_t written;
	int rc = perch__compressed_section_of(copy->file, index, &section);

	if (rc)
		return rc;
	if (section.bytes > MOST_SECTION_BYTES - copy->decompressed ||
	    (!is_wide(copy->file) && copy->end + section.bytes > UINT32_MAX))
		return -EFBIG;
	copy->end = (copy->end + 4095) & ~4095ull;
	rc = perch__decompress_range(section.compression, copy->file->fd, section.offset,
				     section.size, copy->fd, copy->end, section.bytes, &written);
	if (rc || written != section.bytes)
		return rc && rc != -EFBIG ? rc : -EBADMSG;
	set_header(copy, index, written, section.alignment);
	copy->end += written;
	copy->decompressed += written;
	return 0;
}

static bool is_debug_section(const struct section *section)
{
	return !strncmp(section->name, ".debug_", 7) || section->type == SHT_STRTAB;
}

static int copy_sections(struct copy *copy)
{
	const struct elf_file *file = copy->file;
	int rc = 0;

	for (size_t i = 1; !rc && i < file->nr_sections; i++) {
		const struct section *section = &file->section[i];
		bool is_wanted = has_symbols(file, i) == (copy->wanted == WANT_SYMBOLS);

		if (copy->only_wanted && !is_debug_section(section))
			continue;
		if ((section->flags & SHF_COMPRESSED) && is_wanted)
			rc = decompress_section(copy, i);
		else if (section->type != SHT_NOBITS && section->size &&
			 section->offset <= file->size &&
			 section->size <= file->size - section->offset)
			rc = copy_range(copy, section->offset, section->size);
	}
	return rc;
}

static int fill_copy(struct copy *copy)
{
	const struct elf_file *file = copy->file;
	uint64_t at = file->header.e_shoff;
	uint64_t size = file->nr_sections * file->header.e_shentsize;
	int rc;

	if (file->header.e_shentsize != (is_wide(file) ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		return -EBADMSG;
	rc = copy_range(copy, 0, file->header.e_ehsize);
	if (!rc && file->header.e_phnum)
		rc = copy_range(copy, file->header.e_phoff,
				(uint64_t)file->header.e_phnum * file->header.e_phentsize);
	if (rc)
		return rc;
	copy->headers = (uint8_t *)perch__elf_bytes(file, at, size);
	if (!copy->headers)
		return -EBADMSG;
	rc = copy_sections(copy);
	if (!rc && pwrite(copy->fd, copy->headers, size, (off_t)at) != (ssize_t)size)
		rc = -ENOMEM;
	return rc;
}

static int make_copy(struct copy *copy, struct elf_file *result)
{
	int rc;

	copy->fd = memfd_create("decompressed", MFD_CLOEXEC);
	if (copy->fd < 0)
		return -errno;
	rc = fill_copy(copy);
	free(copy->headers);
	if (rc) {
		close(copy->fd);
		return rc;
	}
	rc = perch__elf_open(result, copy->fd);
	if (!rc && perch__elf_sections(result)) {
		perch__elf_close(result);
		rc = -EBADMSG;
	}
	return rc;
}

int perch__elf_decompress(struct elf_file *file, enum wanted_sections wanted)
{
	struct copy copy = { .file = file, .wanted = wanted, .end = file->size };
	struct elf_file result;
	int rc = file->image ? 0 : perch__elf_sections(file);

	if (rc || file->image || !needs_copy(file, wanted))
		return rc;
	rc = make_copy(&copy, &result);
	if (rc)
		return rc;
	perch__elf_close(file);
	*file = result;
	return 0;
}

int perch__elf_copy_debug(struct elf_file *result, struct elf_file *file)
{
	struct copy copy = {
		.file = file, .wanted = WANT_DEBUG, .only_wanted = true, .end = file->size
	};

	if (file->image || perch__elf_sections(file) || file->size > MOST_SECTION_BYTES)
		return -EBADMSG;
	return make_copy(&copy, result);
}
