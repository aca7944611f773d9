/* SPDX-License-Identifier: MIT */
/*
 * Finds files: build ids, and separate debug files.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/decompress.h"
#include "base/files/io.h"
#include "base/no_memory.h"
#include "internal.h"

void perch__build_id_path(const uint8_t *build_id, size_t size, char text[2 * 20 + 2])
{
	struct perch_build_id_text id;

	perch_format_build_id(&id, build_id, size);
	sprintf(text, "%.2s/%s", id.text, id.text + 2);
}

int perch__open_build_id_cache(const struct sources *sources, const uint8_t *build_id,
			       size_t build_id_size, enum perch_cached_file kind)
{
	struct perch_build_id_text id;

	if (!sources->cache || build_id_size < 2 || build_id_size > 20)
		return -ENOENT;
	perch_format_build_id(&id, build_id, build_id_size);
	return perch_build_id_cache_open_file(sources->cache, &id, kind);
}

/* ---- build ids ---- */

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

size_t perch__own_build_id_size(const struct perch_dso *dso)
{
	return dso->build_id_of_path && dso->shared_path ? 0 : dso->build_id_size;
}

/* Clears elf. */
static int read_build_id(struct perch__elf *elf, uint8_t build_id[20])
{
	int size = perch__elf_build_id(elf, build_id);

	perch__elf_clear(elf);
	return size ? size : -ENODATA;
}

int perch__build_id_result(int rc, const char *what, struct perch_error *err)
{
	if (rc >= 0)
		return rc;
	if (rc == -ENODATA)
		return perch_error_set(err, ENODATA, PERCH_ERROR_FORMAT, "%s has no build id",
				       what);
	if (rc == -EBADMSG || rc == -ENOEXEC)
		return perch_error_set(err, ENOEXEC, PERCH_ERROR_FORMAT, "%s is not an ELF file",
				       what);
	if (rc == -ENOMEM)
		return PERCH__NO_MEMORY(err, "to read the build id of %s", what);
	return perch_error_set(err, -rc, PERCH_ERROR_FILE, "%s: %s", what, strerror(-rc));
}

/* Reads the build id of a kernel module that is compressed as a whole. Takes fd. */
static int compressed_build_id(int fd, uint8_t build_id[20])
{
	struct elf_file file;
	int rc = perch__elf_open_compressed(&file, fd);

	if (rc)
		return rc;
	rc = file.build_id_size ? file.build_id_size : -ENODATA;
	memcpy(build_id, file.build_id, sizeof(file.build_id));
	perch__elf_close(&file);
	return rc;
}

int perch_build_id_of_file(const char *path, uint8_t build_id[20], struct perch_error *err)
{
	struct perch__elf elf;
	int fd = perch__open_regular(NULL, path), rc = fd;

	if (fd >= 0) {
		rc = perch__elf_init_file(&elf, fd);
		if (!rc)
			rc = read_build_id(&elf, build_id);
		if (rc == -EBADMSG)
			rc = compressed_build_id(fd, build_id);
		else
			close(fd);
	}
	return perch__build_id_result(rc, path, err);
}

int perch_build_id_of_image(const void *image, size_t size, uint8_t build_id[20],
			    struct perch_error *err)
{
	struct perch__elf elf;
	int rc = perch__elf_init_image(&elf, image, size);

	if (!rc)
		rc = read_build_id(&elf, build_id);
	return perch__build_id_result(rc, "the image", err);
}

int perch__notes_file_build_id(const char *path, uint8_t build_id[20])
{
	char notes[8192];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t size;
	int found;

	if (fd < 0)
		return -errno;
	size = perch__read_upto(fd, notes, sizeof(notes));
	close(fd);
	found = perch__elf_notes_build_id(notes, size < 0 ? 0 : (size_t)size, 4, false, build_id);
	return found ? found : -ENODATA;
}

int perch_build_id_of_kernel(uint8_t build_id[20], struct perch_error *err)
{
	static const char path[] = "/sys/kernel/notes";

	return perch__build_id_result(perch__notes_file_build_id(path, build_id), path, err);
}

/* ---- separate debug files ---- */

/* The debug file to find, and where. */
struct wanted_file {
	const struct sources *sources;
	const uint8_t *build_id;
	size_t build_id_size;
	bool has_crc;
	uint32_t crc; /* CRC of the debug file, compared if one of the files has no build id */
	const char *root[2]; /* NULL is "/" */
	size_t nr_roots;
	char root_of_process[32];
	struct elf_file *debug;
	bool found;
};

/* A process in a container may have debug files of its own. */
static void set_roots(struct wanted_file *wanted, const struct perch_dso *dso)
{
	const struct sources *sources = wanted->sources;

	wanted->root[wanted->nr_roots++] = sources->root;
	if (perch__root_of_process(sources, dso, wanted->root_of_process))
		wanted->root[wanted->nr_roots++] = wanted->root_of_process;
}

bool perch__root_of_process(const struct sources *sources, const struct perch_dso *dso,
			    char path[32])
{
	if (sources->root || sources->foreign || !dso->pid ||
	    !perch__recorded_process_runs(dso->pid, sources->recorded_at))
		return false;
	snprintf(path, 32, "/proc/%" PRIu32 "/root", dso->pid);
	return true;
}

static bool same_crc(int fd, uint32_t wanted)
{
	uint8_t *buffer = perch__malloc(1 << 16);
	uint32_t crc = 0;
	off_t at = 0;
	ssize_t got = 0;

	while (buffer && (got = pread(fd, buffer, 1 << 16, at)) > 0) {
		crc = perch__crc32(crc, buffer, (size_t)got);
		at += got;
	}
	free(buffer);
	return buffer && !got && crc == wanted;
}

/* Opens fd as a debug file if it matches. Closes fd otherwise. */
static int open_matching(struct elf_file *debug, int fd, const struct wanted_file *wanted)
{
	bool matches;

	if (fd < 0)
		return fd;
	if (perch__elf_open(debug, fd))
		return -ENOENT;
	if (wanted->build_id_size && debug->build_id_size)
		matches = perch__same_build_id(wanted->build_id, wanted->build_id_size,
					       debug->build_id, (size_t)debug->build_id_size);
	else
		matches = wanted->has_crc && same_crc(debug->elf.fd, wanted->crc);
	if (matches && !perch__elf_sections(debug) && perch__elf_section_of_type(debug, SHT_SYMTAB))
		return 0;
	perch__elf_close(debug);
	return -ENOENT;
}

/*
 * Takes fd, which may be a negative errno. A matching file without debug information is used if
 * there is none with it. Returns true if the search ends.
 */
static bool try_file(struct wanted_file *wanted, int fd)
{
	struct elf_file file;
	bool complete;

	if (open_matching(&file, fd, wanted))
		return false;
	complete = perch__elf_has_debug_info(&file);
	if (wanted->found && complete)
		perch__elf_close(wanted->debug);
	if (wanted->found && !complete)
		perch__elf_close(&file);
	else
		*wanted->debug = file;
	wanted->found = true;
	return complete;
}

static bool debug_by_build_id(struct wanted_file *wanted)
{
	static const enum perch_cached_file kinds[] = { PERCH_CACHED_DEBUG, PERCH_CACHED_ELF };
	char path[sizeof("/usr/lib/debug/.build-id/.debug") + 2 * 20 + 2], id[2 * 20 + 2];

	if (wanted->build_id_size < 2)
		return false;
	perch__build_id_path(wanted->build_id, wanted->build_id_size, id);
	for (size_t i = 0; i < 2; i++)
		if (try_file(wanted, perch__open_build_id_cache(wanted->sources, wanted->build_id,
								wanted->build_id_size, kinds[i])))
			return true;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%s.debug", id);
	for (size_t i = 0; i < wanted->nr_roots; i++)
		if (try_file(wanted, perch__open_regular(wanted->root[i], path)))
			return true;
	return false;
}

/*
 * Returns the file name in .gnu_debuglink, which the caller frees, or NULL. The CRC follows the
 * name in the section.
 */
static char *read_link(const struct elf_file *dso, struct wanted_file *wanted)
{
	size_t index = perch__elf_section(dso, ".gnu_debuglink", SHT_PROGBITS);
	const struct perch__elf_section *section = &dso->elf.section[index];
	uint64_t size = index ? section->size : 0;
	size_t crc_at;
	char *link;

	if (!index || size > PATH_MAX)
		return NULL;
	link = perch__elf_bytes(dso, section->offset, size);
	if (!link)
		return NULL;
	crc_at = (strlen(link) + 4) & ~(size_t)3;
	/* The name must not contain a directory: the file must not choose where perch searches. */
	if (!*link || strchr(link, '/') || !strcmp(link, "..") || crc_at + 4 > size) {
		free(link);
		return NULL;
	}
	memcpy(&wanted->crc, link + crc_at, 4);
	if (dso->elf.swapped)
		wanted->crc = __builtin_bswap32(wanted->crc);
	wanted->has_crc = true;
	return link;
}

static void debug_by_link(struct wanted_file *wanted, const char *path, const struct elf_file *dso)
{
	static const struct {
		const char *before, *after;
	} locations[] = {
		{ "", "/" },
		{ "", "/.debug/" },
		{ "/usr/lib/debug", "/" },
	};
	char *link = read_link(dso, wanted);
	const char *slash = strrchr(path, '/');
	bool done = !link || !slash;

	for (size_t i = 0; !done && i < 3 * wanted->nr_roots; i++) {
		char *candidate;

		if (perch__asprintf(&candidate, "%s%.*s%s%s", locations[i % 3].before,
				    (int)(slash - path), path, locations[i % 3].after, link) < 0)
			break;
		/* the link may name the file itself */
		if (strcmp(candidate, path))
			done = try_file(wanted,
					perch__open_regular(wanted->root[i / 3], candidate));
		free(candidate);
	}
	free(link);
}

int perch__open_debug(struct elf_file *debug, const struct sources *sources,
		      const struct perch_dso *dso, const struct elf_file *file)
{
	struct wanted_file wanted = { .sources = sources,
				      .build_id = dso->build_id,
				      .build_id_size = perch__own_build_id_size(dso),
				      .debug = debug };

	if (!wanted.build_id_size && file) {
		wanted.build_id = file->build_id;
		wanted.build_id_size = (size_t)file->build_id_size;
	}
	set_roots(&wanted, dso);
	if (!debug_by_build_id(&wanted) && file)
		debug_by_link(&wanted, dso->path, file);
	return wanted.found ? 0 : -ENOENT;
}
