/* SPDX-License-Identifier: MIT */
/*
 * ELF files by libelf. Offsets and sizes in a file are not trusted: each is checked against the
 * file's size.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/io.h"
#include "base/memory.h"
#include "internal.h"

static bool in_file(const struct elf_file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset;
}

char *perch__elf_bytes(const struct elf_file *file, uint64_t offset, uint64_t size)
{
	char *bytes;

	if (!in_file(file, offset, size) || size >= SIZE_MAX / 2)
		return NULL;
	bytes = perch__malloc(size + 1);
	if (!bytes)
		return NULL;
	bytes[size] = 0;
	if (file->image) {
		memcpy(bytes, file->image + offset, size);
		return bytes;
	}
	if (perch__pread_all(file->fd, bytes, size, offset)) { /* the file was truncated */
		free(bytes);
		return NULL;
	}
	return bytes;
}

/* Segments and the build id, which need no libelf. */
static int read_segments(struct elf_file *file)
{
	struct perch__elf elf;
	int rc = file->image ? perch__elf_init_image(&elf, file->image, file->size)
			     : perch__elf_init_file(&elf, file->fd);

	if (rc)
		return rc == -ENOMEM ? rc : -ENOEXEC;
	file->swapped = elf.swapped;
	file->executable_data = elf.executable_data;
	file->build_id_size = perch__elf_build_id(&elf, file->build_id);
	if (file->build_id_size < 0) {
		perch__elf_clear(&elf);
		return -ENOMEM;
	}
	file->segment = elf.segment;
	elf.segment = NULL;
	for (size_t i = 0; i < elf.nr_segments; i++) {
		if (file->segment[i].type == PT_LOAD)
			file->segment[file->nr_segments++] = file->segment[i];
	}
	perch__elf_clear(&elf);
	return 0;
}

static int examine(struct elf_file *file)
{
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF ||
	    !gelf_getehdr(file->elf, &file->header))
		return -ENOEXEC;
	return read_segments(file);
}

int perch__elf_open(struct elf_file *file, int fd)
{
	struct stat status;
	int rc;

	*file = (struct elf_file){ .fd = fd };
	if (fstat(fd, &status)) {
		close(fd);
		return -EIO;
	}
	file->size = (uint64_t)status.st_size;
	/* files of /proc have size 0, and reading some of them has side effects */
	if (file->size >= sizeof(Elf32_Ehdr)) {
		elf_version(EV_CURRENT);
		file->elf = PERCH__COUNTED_CALL(elf_begin(fd, ELF_C_READ, NULL));
	}
	rc = examine(file);
	if (rc)
		perch__elf_close(file);
	return rc;
}

int perch__elf_open_image(struct elf_file *file, const void *image, size_t size)
{
	int rc;

	*file = (struct elf_file){ .fd = -1, .image = image, .size = size };
	if (size >= sizeof(Elf32_Ehdr)) {
		elf_version(EV_CURRENT);
		file->elf = PERCH__COUNTED_CALL(elf_memory((char *)(uintptr_t)image, size));
	}
	rc = examine(file);
	if (rc)
		perch__elf_close(file);
	return rc;
}

void perch__elf_close(struct elf_file *file)
{
	if (file->elf)
		elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->section);
	free(file->segment);
	*file = (struct elf_file){ .fd = -1 };
}

static void take_section(struct elf_file *file, struct section *section, const GElf_Shdr *header,
			 size_t names)
{
	const char *name = elf_strptr(file->elf, names, header->sh_name);

	*section = (struct section){
		.name = name ? name : "",
		.address = header->sh_addr,
		.offset = header->sh_offset,
		.size = header->sh_size,
		.flags = header->sh_flags,
		.entry_size = header->sh_entsize,
		.alignment = header->sh_addralign,
		.type = header->sh_type,
		.link = header->sh_link,
		.info = header->sh_info,
		.code = (header->sh_flags & SHF_ALLOC) && (header->sh_flags & SHF_EXECINSTR),
		.text = name && strstr(name, "text"),
	};
}

int perch__elf_sections(struct elf_file *file)
{
	size_t nr, names;

	if (file->section)
		return 0;
	if (elf_getshdrnum(file->elf, &nr) || nr > file->size / sizeof(Elf32_Shdr) ||
	    (nr && elf_getshdrstrndx(file->elf, &names)))
		return -ENOEXEC;
	file->section = perch__calloc(nr ? nr : 1, sizeof(*file->section));
	if (!file->section)
		return -ENOMEM;
	for (size_t i = 1; i < nr; i++) {
		Elf_Scn *section = elf_getscn(file->elf, i);
		GElf_Shdr header;

		if (!section || !gelf_getshdr(section, &header))
			break;
		take_section(file, &file->section[i], &header, names);
		file->nr_sections = i + 1;
	}
	return 0;
}

size_t perch__elf_section(const struct elf_file *file, const char *name, uint32_t type)
{
	for (size_t i = 1; i < file->nr_sections; i++)
		if (file->section[i].type == type && !strcmp(file->section[i].name, name))
			return i;
	return 0;
}

size_t perch__elf_section_of_type(const struct elf_file *file, uint32_t type)
{
	for (size_t i = 1; i < file->nr_sections; i++)
		if (file->section[i].type == type)
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

	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct perch__elf_segment *segment = &file->segment[i], *before = segment - 1;

		gap |= i && (segment->address & ~4095ull) !=
				    ((before->address + before->memory_size + 4095) & ~4095ull);
		gap |= i && (segment->address & 4095);
		if (gap && has_no_bytes(segment))
			return false;
	}
	return true;
}

uint64_t perch__elf_offset(const struct elf_file *file, uint64_t address,
			   const struct section *section)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct perch__elf_segment *segment = &file->segment[i];
		uint64_t size = segment->memory_size > segment->size ? segment->memory_size
								     : segment->size;

		if (address < segment->address || address - segment->address >= size)
			continue;
		if (has_no_bytes(segment))
			return address - (file->segment[0].address & ~4095ull);
		return address - segment->address + segment->offset;
	}
	return address - section->address + section->offset;
}
