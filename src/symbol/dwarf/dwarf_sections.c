/* SPDX-License-Identifier: MIT */
/*
 * The bytes of the sections of debug information. They are read in blocks when they are needed,
 * into memory that is reserved for the whole section, so their addresses do not change. A
 * compressed section is decompressed when its first byte is needed. The file is not mapped: a
 * mapped file that becomes shorter ends the program.
 */
#define _GNU_SOURCE /* MADV_HUGEPAGE */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files/elf_section.h"
#include "base/files/io.h"
#include "base/memory.h"
#include "dwarf.h"

#ifdef __has_feature
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(bytes, size)	 ((void)(bytes), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(bytes, size) ((void)(bytes), (void)(size))
#endif

enum {
	BLOCK = 1 << 16,
	HUGE_PAGE = 1 << 21,
	GUARD = 64, /* bytes after the section at least, for the address sanitizer */
};
#define MOST_WHOLE_BYTES (1ull << 30)

static const char *const section_name[NR_DWARF_SECTIONS] = {
	[DWARF_INFO] = ".debug_info",
	[DWARF_ABBREV] = ".debug_abbrev",
	[DWARF_LINE] = ".debug_line",
	[DWARF_STR] = ".debug_str",
	[DWARF_LINE_STR] = ".debug_line_str",
	[DWARF_RANGES] = ".debug_ranges",
	[DWARF_RNGLISTS] = ".debug_rnglists",
	[DWARF_ADDR] = ".debug_addr",
	[DWARF_STR_OFFSETS] = ".debug_str_offsets",
};

/* Reserves memory for a section, and for the NUL after it. */
static int map_memory(struct dwarf_section *section)
{
	size_t spare = 0;

	if (section->size >= 2 * (size_t)HUGE_PAGE)
		spare = HUGE_PAGE;
	section->mapping_size = section->size + 1 + spare + GUARD;
	section->mapping = mmap(NULL, section->mapping_size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (section->mapping == MAP_FAILED) {
		section->mapping = NULL;
		return -ENOMEM;
	}
	section->bytes = section->mapping;
	if (spare) {
		section->bytes += -(uintptr_t)section->mapping & (HUGE_PAGE - 1);
		/* fewer page faults; without it the program is only slower */
		madvise(section->bytes, section->size & ~((size_t)HUGE_PAGE - 1), MADV_HUGEPAGE);
	}
	spare = section->mapping_size -
		(size_t)(section->bytes + section->size + 1 - (uint8_t *)section->mapping);
	ASAN_POISON_MEMORY_REGION(section->bytes + section->size + 1, spare);
	return 0;
}

/* Prepares for reading a section in blocks. */
static int reserve_section(struct dwarf_section *section)
{
	size_t blocks = section->size / BLOCK + 1;

	if (map_memory(section))
		return -ENOMEM;
	section->have = perch__calloc(blocks / 64 + 1, sizeof(*section->have));
	return section->have ? 0 : -ENOMEM;
}

/* Takes all bytes of a section now: those of an image, and of a relocatable file, relocated. */
static int take_whole(struct dwarf_section *section, struct elf_file *file, size_t index,
		      uint64_t *left)
{
	unsigned char *bytes;
	int rc = perch__elf_load_section(&file->elf, &file->elf.section[index],
					 *left < MOST_WHOLE_BYTES ? *left : MOST_WHOLE_BYTES,
					 &bytes, &section->size);

	if (rc)
		return rc;
	*left -= section->size;
	rc = map_memory(section);
	if (!rc) {
		memcpy(section->bytes, bytes, section->size);
		if (file->elf.type == ET_REL)
			rc = perch__elf_relocate(file, index, section->bytes, section->size);
	}
	free(bytes);
	return rc;
}

static int take_compressed(struct dwarf_section *section, struct elf_file *file, size_t index,
			   uint64_t *left)
{
	struct perch__compressed_section from;
	int rc = perch__elf_compressed_section(&file->elf, &file->elf.section[index], &from);

	if (rc || !from.size || !from.bytes)
		return rc ? rc : -EBADMSG;
	if (from.bytes > *left)
		return -EFBIG;
	*left -= from.bytes;
	section->fd = file->elf.fd;
	section->offset = from.offset;
	section->size = from.bytes;
	section->compressed_size = from.size;
	section->compression = from.compression;
	return 0;
}

/* left: the bytes that may be decompressed or copied */
static int take_section(struct dwarf_section *section, struct elf_file *file, size_t index,
			uint64_t *left)
{
	const struct perch__elf_section *from = &file->elf.section[index];

	if (from->type == SHT_NOBITS || !from->size)
		return 0;
	if (file->elf.fd < 0 || file->elf.type == ET_REL)
		return take_whole(section, file, index, left);
	if (perch__elf_is_compressed(from))
		return take_compressed(section, file, index, left);
	if (from->offset > file->elf.size || from->size > file->elf.size - from->offset ||
	    from->size >= SIZE_MAX / 2)
		return -EBADMSG;
	section->fd = file->elf.fd;
	section->offset = from->offset;
	section->size = from->size;
	return reserve_section(section);
}

/* True if a name is ".debug_..." or ".zdebug_..." of a section. */
static bool is_section(const char *name, enum dwarf_section_id id, const char *suffix)
{
	size_t length = strlen(section_name[id]);

	name += !strncmp(name, ".z", 2);
	return *name && !strncmp(name + 1, section_name[id] + 1, length - 1) &&
	       !strcmp(name + length, suffix);
}

int perch__dwarf_sections(struct dwarf_section section[NR_DWARF_SECTIONS], struct elf_file *file,
			  const char *suffix)
{
	uint64_t left = perch__elf_most_decompressed(&file->elf);

	if (perch__elf_sections(file))
		return -EBADMSG;
	for (size_t i = 1; i < file->elf.nr_sections; i++)
		for (int id = 0; id < NR_DWARF_SECTIONS; id++) {
			int rc = 0;

			if (!section[id].size && is_section(file->elf.section[i].name, id, suffix))
				rc = take_section(&section[id], file, i, &left);
			if (rc)
				return rc;
		}
	return section[DWARF_INFO].size && section[DWARF_ABBREV].size ? 0 : -EBADMSG;
}

int perch__dwarf_load_sections(struct dwarf_section section[NR_DWARF_SECTIONS])
{
	for (int id = 0; id < NR_DWARF_SECTIONS; id++)
		if (section[id].size && !perch__dwarf_bytes(&section[id], 0, section[id].size))
			return -EBADMSG;
	return 0;
}

void perch__dwarf_free_sections(struct dwarf_section section[NR_DWARF_SECTIONS])
{
	for (int id = 0; id < NR_DWARF_SECTIONS; id++) {
		if (section[id].job)
			perch__decompress_drop(section[id].job);
		if (section[id].mapping) {
			ASAN_UNPOISON_MEMORY_REGION(section[id].mapping, section[id].mapping_size);
			munmap(section[id].mapping, section[id].mapping_size);
		}
		free(section[id].have);
	}
}

static bool read_file(const struct dwarf_section *section, uint64_t offset, uint8_t *bytes,
		      size_t size)
{
	return !perch__pread_all(section->fd, bytes, size, section->offset + offset);
}

/* Maps the memory of a compressed section, and describes what is decompressed into it. */
static int map_part(struct dwarf_section *section, struct compressed_part *part)
{
	int rc = section->mapping ? 0 : map_memory(section);

	*part = (struct compressed_part){
		.compression = section->compression,
		.fd = section->fd,
		.offset = section->offset,
		.size = section->compressed_size,
		.to = section->bytes,
		.to_size = section->size,
	};
	return rc;
}

void perch__dwarf_start_sections(struct dwarf_section section[NR_DWARF_SECTIONS],
				 struct decompress_thread *thread)
{
	/* the largest one first */
	static const enum dwarf_section_id wanted[] = { DWARF_INFO,	DWARF_ABBREV,
							DWARF_RNGLISTS, DWARF_RANGES,
							DWARF_LINE_STR, DWARF_STR,
							DWARF_LINE };
	struct compressed_part part;

	for (size_t i = 0; i < PERCH__NR(wanted); i++) {
		struct dwarf_section *from = &section[wanted[i]];

		if (from->compressed_size && !map_part(from, &part))
			from->job = perch__decompress_start(thread, &part);
	}
}

/* Decompresses a section at the first call. Returns false if there are no bytes. */
static bool decompress_section(struct dwarf_section *section)
{
	struct compressed_part part;
	int rc;

	if (!section->compressed_size)
		return section->bytes;
	rc = map_part(section, &part);
	if (!rc)
		rc = section->job ? perch__decompress_finish(section->job)
				  : perch__decompress_part(&part);
	section->job = NULL;
	section->compressed_size = 0;
	section->lacks_memory = rc == -ENOMEM;
	if (rc)
		section->size = 0;
	return !rc;
}

static bool has_block(const struct dwarf_section *section, size_t block)
{
	return section->have[block / 64] >> block % 64 & 1;
}

/* Reads the blocks from first to last that are missing. */
static bool read_blocks(struct dwarf_section *section, size_t first, size_t last)
{
	while (first <= last) {
		size_t next = first + 1, size;

		if (has_block(section, first)) {
			first++;
			continue;
		}
		while (next <= last && !has_block(section, next))
			next++;
		size = (next - first) * BLOCK;
		if (size > section->size - first * BLOCK)
			size = section->size - first * BLOCK;
		if (!read_file(section, first * BLOCK, section->bytes + first * BLOCK, size))
			return false;
		for (; first < next; first++)
			section->have[first / 64] |= 1ull << first % 64;
	}
	return true;
}

const uint8_t *perch__dwarf_bytes(struct dwarf_section *section, uint64_t offset, uint64_t size)
{
	if (offset > section->size || size > section->size - offset || !section->size ||
	    !decompress_section(section))
		return NULL;
	if (section->have && size &&
	    !read_blocks(section, offset / BLOCK, (offset + size - 1) / BLOCK))
		return NULL;
	return section->bytes + offset;
}

size_t perch__dwarf_peek(struct dwarf_section *section, uint64_t offset, void *bytes, size_t size)
{
	if (offset >= section->size || !decompress_section(section))
		return 0;
	if (size > section->size - offset)
		size = section->size - offset;
	if (!section->have)
		memcpy(bytes, section->bytes + offset, size);
	else if (!read_file(section, offset, bytes, size))
		return 0;
	return size;
}

const char *perch__dwarf_text(struct dwarf_section *section, uint64_t offset)
{
	const char *text;

	if (offset >= section->size || !decompress_section(section))
		return NULL;
	text = (const char *)section->bytes + offset;
	if (!section->have)
		return text;
	/* the text may end in a later block; after the last one is a NUL */
	for (size_t from = offset; from < section->size;) {
		size_t block = from / BLOCK, end = (block + 1) * BLOCK;

		if (end > section->size)
			end = section->size;
		if (!read_blocks(section, block, block))
			return NULL;
		if (memchr(section->bytes + from, 0, end - from))
			return text;
		from = end;
	}
	return text;
}
