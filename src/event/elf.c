/* SPDX-License-Identifier: MIT */
/* ELF files opened, their segments and sections read and checked. */
#define _GNU_SOURCE
#include <byteswap.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"

enum {
	/* linkers make a dozen; each symbol is held against all of them */
	MOST_SEGMENTS = 1 << 9,
	/* objects may have one for each function; executables have dozens */
	MOST_SECTIONS = 1 << 18,
};

uint64_t perch__elf_word(const struct perch__elf *elf, const unsigned char *bytes, size_t size)
{
	uint64_t eight;
	uint32_t four;
	uint16_t two;

	switch (size) {
	case 1:
		return bytes[0];
	case 2:
		memcpy(&two, bytes, sizeof(two));
		return elf->swapped ? bswap_16(two) : two;
	case 4:
		memcpy(&four, bytes, sizeof(four));
		return elf->swapped ? bswap_32(four) : four;
	default:
		memcpy(&eight, bytes, sizeof(eight));
		return elf->swapped ? bswap_64(eight) : eight;
	}
}

ssize_t perch__elf_read(const struct perch__elf *elf, void *buffer, uint64_t offset, size_t size)
{
	size_t done = 0;

	if (offset > INT64_MAX - size)
		return -EBADMSG;
	while (done < size) {
		ssize_t got =
			pread(elf->fd, (char *)buffer + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += got;
	}
	return done;
}

int perch__elf_load(const struct perch__elf *elf, unsigned char **result, uint64_t offset,
		    uint64_t size, size_t most)
{
	unsigned char *bytes;
	ssize_t got;

	if (offset > elf->size || size > elf->size - offset)
		return -EBADMSG;
	if (size > most)
		return -EFBIG;
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	got = perch__elf_read(elf, bytes, offset, size);
	if (got != (ssize_t)size) { /* it shrank while we look at it */
		free(bytes);
		return got < 0 ? got : -EBADMSG;
	}
	bytes[size] = '\0';
	*result = bytes;
	return 0;
}

bool perch__elf_place(const struct perch__elf *elf, uint64_t address, bool code, uint64_t *offset)
{
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct perch__elf_segment *segment = &elf->segment[i];

		if (address < segment->address || address - segment->address >= segment->size ||
		    (code && !segment->code))
			continue;
		*offset = address - segment->address + segment->offset;
		return true;
	}
	return false;
}

/* Segments that reach beyond the file's end are left out: no symbol may point into them. */
static int read_segments(struct perch__elf *elf, const unsigned char *header)
{
	uint64_t offset = PERCH__ELF_FIELD(elf, header, Ehdr, e_phoff);
	size_t nr = PERCH__ELF_FIELD(elf, header, Ehdr, e_phnum), size = PERCH__ELF_SIZE(elf, Phdr);
	unsigned char *table;
	int rc;

	if (!nr)
		return 0;
	if (nr > MOST_SEGMENTS || PERCH__ELF_FIELD(elf, header, Ehdr, e_phentsize) != size)
		return -EBADMSG;
	rc = perch__elf_load(elf, &table, offset, nr * size, MOST_SEGMENTS * sizeof(Elf64_Phdr));
	if (rc)
		return rc;
	elf->segment = calloc(nr, sizeof(*elf->segment));
	for (size_t i = 0; elf->segment && i < nr; i++) {
		const unsigned char *one = table + i * size;
		struct perch__elf_segment *segment = &elf->segment[elf->nr_segments];

		if (PERCH__ELF_FIELD(elf, one, Phdr, p_type) != PT_LOAD)
			continue;
		segment->address = PERCH__ELF_FIELD(elf, one, Phdr, p_vaddr);
		segment->offset = PERCH__ELF_FIELD(elf, one, Phdr, p_offset);
		segment->size = PERCH__ELF_FIELD(elf, one, Phdr, p_filesz);
		segment->code = PERCH__ELF_FIELD(elf, one, Phdr, p_flags) & PF_X;
		if (segment->offset <= elf->size && segment->size <= elf->size - segment->offset)
			elf->nr_segments++;
	}
	free(table);
	return elf->segment ? 0 : -ENOMEM;
}

static void take_section(const struct perch__elf *elf, const unsigned char *one,
			 struct perch__elf_section *section)
{
	*section = (struct perch__elf_section){
		.name = PERCH__ELF_FIELD(elf, one, Shdr, sh_name),
		.type = PERCH__ELF_FIELD(elf, one, Shdr, sh_type),
		.link = PERCH__ELF_FIELD(elf, one, Shdr, sh_link),
		.info = PERCH__ELF_FIELD(elf, one, Shdr, sh_info),
		.flags = PERCH__ELF_FIELD(elf, one, Shdr, sh_flags),
		.address = PERCH__ELF_FIELD(elf, one, Shdr, sh_addr),
		.offset = PERCH__ELF_FIELD(elf, one, Shdr, sh_offset),
		.size = PERCH__ELF_FIELD(elf, one, Shdr, sh_size),
		.entry = PERCH__ELF_FIELD(elf, one, Shdr, sh_entsize),
	};
}

/* Numbers that do not fit the header's 16 bits are in section 0. */
static int count_sections(struct perch__elf *elf, const unsigned char *header, uint64_t offset,
			  uint64_t *nr)
{
	unsigned char first[sizeof(Elf64_Shdr)];
	size_t size = PERCH__ELF_SIZE(elf, Shdr);

	*nr = PERCH__ELF_FIELD(elf, header, Ehdr, e_shnum);
	elf->names = PERCH__ELF_FIELD(elf, header, Ehdr, e_shstrndx);
	if (*nr && elf->names != SHN_XINDEX)
		return 0;
	if (perch__elf_read(elf, first, offset, size) != (ssize_t)size)
		return -EBADMSG;
	if (!*nr)
		*nr = PERCH__ELF_FIELD(elf, first, Shdr, sh_size);
	if (elf->names == SHN_XINDEX)
		elf->names = PERCH__ELF_FIELD(elf, first, Shdr, sh_link);
	return 0;
}

static int read_sections(struct perch__elf *elf, const unsigned char *header)
{
	uint64_t nr, offset = PERCH__ELF_FIELD(elf, header, Ehdr, e_shoff);
	size_t size = PERCH__ELF_SIZE(elf, Shdr);
	unsigned char *table;
	int rc;

	if (!offset)
		return 0;
	if (PERCH__ELF_FIELD(elf, header, Ehdr, e_shentsize) != size ||
	    count_sections(elf, header, offset, &nr) || nr > MOST_SECTIONS)
		return -EBADMSG;
	rc = perch__elf_load(elf, &table, offset, nr * size, MOST_SECTIONS * sizeof(Elf64_Shdr));
	if (rc)
		return rc;
	elf->section = calloc(nr ? nr : 1, sizeof(*elf->section));
	for (; elf->section && elf->nr_sections < nr; elf->nr_sections++)
		take_section(elf, table + elf->nr_sections * size, &elf->section[elf->nr_sections]);
	free(table);
	return elf->section ? 0 : -ENOMEM;
}

static int examine(struct perch__elf *elf)
{
	static const uint16_t one = 1;
	unsigned char mine = *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
	unsigned char header[sizeof(Elf64_Ehdr)];
	ssize_t got = perch__elf_read(elf, header, 0, sizeof(header));
	int rc;

	if (got < 0)
		return got;
	if (got < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(header, ELFMAG, SELFMAG))
		return -EBADMSG;
	elf->wide = header[EI_CLASS] == ELFCLASS64;
	elf->swapped = header[EI_DATA] != mine;
	if ((!elf->wide && header[EI_CLASS] != ELFCLASS32) ||
	    got < (ssize_t)PERCH__ELF_SIZE(elf, Ehdr) ||
	    (header[EI_DATA] != ELFDATA2LSB && header[EI_DATA] != ELFDATA2MSB))
		return -EBADMSG;
	elf->machine = PERCH__ELF_FIELD(elf, header, Ehdr, e_machine);
	rc = read_segments(elf, header);
	return rc ? rc : read_sections(elf, header);
}

int perch__elf_file_open(struct perch__elf *elf, const char *path,
			 const struct perch_machine *machine)
{
	char whole[PATH_MAX];
	struct stat status;
	int rc = perch_machine_path(machine, whole, sizeof(whole), path);

	memset(elf, 0, sizeof(*elf));
	elf->fd = -1;
	if (rc < 0)
		return rc;
	/* devices and queues must neither block nor become the terminal before it is seen what they
	 * are */
	elf->fd = open(whole, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (elf->fd < 0 || fstat(elf->fd, &status))
		rc = -errno;
	else if (!S_ISREG(status.st_mode))
		rc = S_ISDIR(status.st_mode) ? -EISDIR : -EACCES;
	else {
		elf->size = status.st_size;
		rc = examine(elf);
	}
	if (rc < 0)
		perch__elf_file_close(elf);
	return rc < 0 ? rc : 0;
}

void perch__elf_file_close(struct perch__elf *elf)
{
	if (elf->fd >= 0)
		close(elf->fd);
	free(elf->segment);
	free(elf->section);
	memset(elf, 0, sizeof(*elf));
	elf->fd = -1;
}
