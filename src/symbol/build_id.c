/* SPDX-License-Identifier: MIT */
/* Build ids: the name that the linker gave to a binary's bytes. */
#include <byteswap.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static uint32_t word_at(const uint8_t *bytes, bool swapped)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return swapped ? bswap_32(word) : word;
}

int perch__notes_build_id(const void *notes, size_t size, size_t align, bool swapped,
			  uint8_t build_id[20])
{
	const uint8_t *bytes = notes;
	size_t mask = align == 8 ? 7 : 3;
	size_t at = 0;

	while (size - at >= 12) {
		uint64_t name_size = word_at(bytes + at, swapped);
		uint64_t data_size = word_at(bytes + at + 4, swapped);
		uint32_t type = word_at(bytes + at + 8, swapped);
		uint64_t data = at + ((12 + name_size + mask) & ~(uint64_t)mask);
		uint64_t next = data + ((data_size + mask) & ~(uint64_t)mask);

		if (data > size || data_size > size - data)
			return 0;
		if (type == NT_GNU_BUILD_ID && name_size == 4 &&
		    !memcmp(bytes + at + 12, "GNU", 4) && data_size > 0 && data_size <= 20) {
			memset(build_id, 0, 20);
			memcpy(build_id, bytes + data, data_size);
			return (int)data_size;
		}
		if (next >= size)
			return 0;
		at = next;
	}
	return 0;
}

bool perch__same_build_id(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
	size_t common = a_size < b_size ? a_size : b_size;
	const uint8_t *longer = a_size > b_size ? a : b;
	size_t all = a_size > b_size ? a_size : b_size;

	if (!common || memcmp(a, b, common))
		return false;
	for (size_t i = common; i < all; i++)
		if (longer[i])
			return false;
	return true;
}

static int take_build_id(struct elf_file *file, uint8_t build_id[20])
{
	int size = file->build_id_size;

	memcpy(build_id, file->build_id, 20);
	perch__elf_close(file);
	return size ? size : -ENODATA;
}

int perch_build_id_of_file(const char *path, uint8_t build_id[20])
{
	struct elf_file file;
	int fd = perch__open_regular(NULL, path);
	int rc;

	if (fd < 0)
		return fd;
	rc = perch__elf_open(&file, fd);
	return rc ? rc : take_build_id(&file, build_id);
}

int perch_build_id_of_image(const void *image, size_t size, uint8_t build_id[20])
{
	struct elf_file file;
	int rc = perch__elf_open_image(&file, image, size);

	return rc ? rc : take_build_id(&file, build_id);
}

int perch__notes_file_build_id(const char *path, uint8_t build_id[20])
{
	char notes[8192];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t size = 0;
	int found;

	if (fd < 0)
		return -errno;
	while (size < sizeof(notes)) {
		ssize_t got = read(fd, notes + size, sizeof(notes) - size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		size += (size_t)got;
	}
	close(fd);
	found = perch__notes_build_id(notes, size, 4, false, build_id);
	return found ? found : -ENODATA;
}

int perch_build_id_of_kernel(uint8_t build_id[20])
{
	return perch__notes_file_build_id("/sys/kernel/notes", build_id);
}
