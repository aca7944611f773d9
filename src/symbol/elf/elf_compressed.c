/* SPDX-License-Identifier: MIT */
/*
 * ELF files that are compressed: as a whole, or in .gnu_debugdata of another one. They are
 * decompressed to a file in memory.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/compressed_file.h"
#include "symbol/internal.h"

#define MOST_MINI_BYTES	  (256ull << 20)
#define MOST_MODULE_BYTES (1ull << 30)
#define FREE_MODULE_BYTES (16ull << 20) /* allowed with any ratio */
enum {
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
	const struct perch__elf_section *section = &file->elf.section[index];
	uint64_t written;
	int fd, rc;

	if (!index || file->elf.image || !section->size)
		return -ENOENT;
	if (section->offset > file->elf.size || section->size > file->elf.size - section->offset)
		return -EBADMSG;
	fd = memfd_create("gnu_debugdata", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = perch__decompress_range(COMPRESSION_XZ, file->elf.fd, section->offset, section->size,
				     fd, 0, most_bytes_of(section->size, MOST_MINI_BYTES),
				     &written);
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
	uint8_t start[PERCH__COMPRESSION_BYTES];
	enum compression compression;
	uint64_t written;
	struct stat status;
	int copy, rc;

	if (pread(fd, start, sizeof(start), 0) != sizeof(start) ||
	    !perch__find_compression(start, sizeof(start), &compression))
		return perch__elf_open(file, fd);
	copy = fstat(fd, &status) ? -1 : memfd_create("module", MFD_CLOEXEC);
	rc = copy < 0 ? -ENOEXEC
		      : perch__decompress_range(
				compression, fd, 0, (uint64_t)status.st_size, copy, 0,
				most_bytes_of((uint64_t)status.st_size, MOST_MODULE_BYTES),
				&written);
	close(fd);
	if (!rc)
		return perch__elf_open(file, copy);
	if (copy >= 0)
		close(copy);
	return rc;
}
