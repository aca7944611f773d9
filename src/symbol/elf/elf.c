/* SPDX-License-Identifier: MIT */
/*
 * ELF files with their symbols and debug information. Offsets and sizes in a file are not trusted:
 * each is checked against the file's size.
 */
#include <unistd.h>

#include "base/memory.h"
#include "symbol/internal.h"

char *perch__elf_bytes(const struct elf_file *file, uint64_t offset, uint64_t size)
{
	unsigned char *bytes;

	return perch__elf_load(&file->elf, &bytes, offset, size, SIZE_MAX / 2) ? NULL
									       : (char *)bytes;
}

/* rc: of reading the headers. Reads the build id; closes the file after an error. */
static int open_elf(struct elf_file *file, int rc)
{
	if (!rc)
		rc = file->build_id_size = perch__elf_build_id(&file->elf, file->build_id);
	if (rc < 0)
		perch__elf_close(file);
	return rc >= 0 ? 0 : rc == -ENOMEM ? rc : -ENOEXEC;
}

int perch__elf_open(struct elf_file *file, int fd)
{
	*file = (struct elf_file){ .build_id_size = 0 };
	return open_elf(file, perch__elf_init_file(&file->elf, fd));
}

int perch__elf_open_image(struct elf_file *file, const void *image, size_t size)
{
	*file = (struct elf_file){ .build_id_size = 0 };
	return open_elf(file, perch__elf_init_image(&file->elf, image, size));
}

void perch__elf_close(struct elf_file *file)
{
	perch__elf_clear(&file->elf);
	if (file->elf.fd >= 0)
		close(file->elf.fd);
	*file = (struct elf_file){ .elf.fd = -1 };
}

int perch__elf_sections(struct elf_file *file)
{
	int rc = perch__elf_read_sections(&file->elf);

	return !rc || rc == -ENOMEM ? rc : -ENOEXEC;
}

size_t perch__elf_section(const struct elf_file *file, const char *name, uint32_t type)
{
	for (size_t i = 1; i < file->elf.nr_sections; i++)
		if (file->elf.section[i].type == type && !strcmp(file->elf.section[i].name, name))
			return i;
	return 0;
}

size_t perch__elf_section_of_type(const struct elf_file *file, uint32_t type)
{
	for (size_t i = 1; i < file->elf.nr_sections; i++)
		if (file->elf.section[i].type == type)
			return i;
	return 0;
}

bool perch__elf_has_debug_info(struct elf_file *file)
{
	return !perch__elf_sections(file) &&
	       (perch__elf_section(file, ".debug_info", SHT_PROGBITS) ||
		perch__elf_section(file, ".zdebug_info", SHT_PROGBITS));
}

/*
 * The segments of a debug file have addresses but no bytes, and the offsets in the mapped file are
 * unknown. GNU linkers place code at the offset that equals its address minus the first segment's.
 */
static bool has_no_bytes(const struct perch__elf_segment *segment)
{
	return (segment->flags & PF_X) && !segment->size;
}

bool perch__elf_has_offsets(const struct elf_file *file)
{
	bool gap = false;

	for (size_t i = 0; i < file->elf.nr_loads; i++) {
		const struct perch__elf_segment *segment = &file->elf.segment[i],
						*before = segment - 1;

		gap |= i && (segment->address & ~4095ull) !=
				    ((before->address + before->memory_size + 4095) & ~4095ull);
		gap |= i && (segment->address & 4095);
		if (gap && has_no_bytes(segment))
			return false;
	}
	return true;
}

uint64_t perch__elf_offset(const struct elf_file *file, uint64_t address,
			   const struct perch__elf_section *section)
{
	for (size_t i = 0; i < file->elf.nr_loads; i++) {
		const struct perch__elf_segment *segment = &file->elf.segment[i];
		uint64_t size = segment->memory_size > segment->size ? segment->memory_size
								     : segment->size;

		if (address < segment->address || address - segment->address >= size)
			continue;
		if (has_no_bytes(segment))
			return address - (file->elf.segment[0].address & ~4095ull);
		return address - segment->address + segment->offset;
	}
	return address - section->address + section->offset;
}

bool perch__elf_data_offset(const struct perch__elf_segment *segment, size_t nr, uint64_t address,
			    uint64_t *offset)
{
	const struct perch__elf_segment *own = NULL;
	uint64_t at;

	for (size_t i = 0; i < nr && !own; i++)
		if (segment[i].size && address >= segment[i].address &&
		    address - segment[i].address < segment[i].memory_size)
			own = &segment[i];
	if (!own)
		return false;
	at = address - own->address + own->offset;
	for (size_t i = 0; i < nr; i++)
		if (&segment[i] != own && at >= segment[i].offset &&
		    at - segment[i].offset < segment[i].size && address - own->address >= own->size)
			return false;
	*offset = at;
	return true;
}
