/* SPDX-License-Identifier: MIT */
/* Build ids: the name that the linker gave to a binary's bytes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

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

static int take_build_id(struct perch__elf *elf, uint8_t build_id[20])
{
	int size = perch__elf_build_id(elf, build_id);

	perch__elf_clear(elf);
	return size ? size : -ENODATA;
}

int perch_build_id_of_file(const char *path, uint8_t build_id[20])
{
	struct perch__elf elf;
	int fd = perch__open_regular(NULL, path);
	int rc;

	if (fd < 0)
		return fd;
	rc = perch__elf_init_file(&elf, fd);
	if (!rc)
		rc = take_build_id(&elf, build_id);
	close(fd);
	return rc == -EBADMSG ? -ENOEXEC : rc;
}

int perch_build_id_of_image(const void *image, size_t size, uint8_t build_id[20])
{
	struct perch__elf elf;
	int rc = perch__elf_init_image(&elf, image, size);

	if (!rc)
		rc = take_build_id(&elf, build_id);
	return rc == -EBADMSG ? -ENOEXEC : rc;
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
	found = perch__elf_notes_build_id(notes, size, 4, false, build_id);
	return found ? found : -ENODATA;
}

int perch_build_id_of_kernel(uint8_t build_id[20])
{
	return perch__notes_file_build_id("/sys/kernel/notes", build_id);
}
