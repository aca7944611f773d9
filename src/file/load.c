/* SPDX-License-Identifier: MIT */
/*
 * Maps a recording: a file, the temporary copy of a pipe, or the files of a directory. All are in
 * one range of addresses, so an offset identifies a record in any of the files.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/compressed_file.h"
#include "base/files/io.h"
#include "base/no_memory.h"
#include "internal.h"

#define MAX_PARTS 16384u /* files of a directory: a process can have about 65,000 mappings */

static int cannot_read(int errnum, struct perch_error *err)
{
	perch_error_set(err, errnum, PERCH_ERROR_FILE, "%s", strerror(errnum));
	if (errnum == ENOENT)
		perch_error_remedy(err, "Check the path");
	else if (errnum == EACCES)
		perch_error_remedy(err, "Read it as the user who recorded it");
	return -errnum;
}

static uint64_t whole_pages(uint64_t size)
{
	uint64_t page = sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

/* ---- mappings ---- */

/* Reads a file into memory, for file systems that cannot map files. */
static int read_copy(struct perch_reader *reader, int fd, uint8_t *address, uint64_t *size,
		     struct perch_error *err)
{
	ssize_t have;

	if (mmap(address, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) == MAP_FAILED)
		return PERCH__NO_MEMORY(err, "for the %llu bytes of the file",
					(unsigned long long)*size);
	reader->copied = true;
	have = perch__pread_upto(fd, address, *size, 0);
	if (have < 0)
		return cannot_read((int)-have, err);
	*size = (uint64_t)have;
	return 0;
}

static int map_at(struct perch_reader *reader, int fd, uint64_t base, uint64_t *size,
		  struct perch_error *err)
{
	uint8_t *address = (uint8_t *)reader->file + base;

	if (!*size || mmap(address, *size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED)
		return 0;
	return read_copy(reader, fd, address, size, err);
}

static int reserve_extent(struct perch_reader *reader, uint64_t extent, struct perch_error *err)
{
	void *range =
		mmap(NULL, extent, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (range == MAP_FAILED)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no address range for the %llu bytes of the file",
				       (unsigned long long)extent);
	reader->file = range;
	reader->extent = extent;
	return 0;
}

void perch__unload(struct perch_reader *reader)
{
	if (reader->file)
		munmap((void *)reader->file, reader->extent);
	reader->file = NULL;
}

/* ---- a file, or a pipe ---- */

static int load_plain(struct perch_reader *reader, int fd, const struct stat *status,
		      struct perch_error *err)
{
	int rc;

	reader->size = status->st_size;
	reader->modified = status->st_mtim;
	reader->range = perch__reader_alloc(reader, sizeof(*reader->range));
	if (!reader->range)
		return PERCH__NO_MEMORY(err, "to read a file");
	reader->nr_ranges = 1;
	if (!reader->size)
		return 0;
	rc = reserve_extent(reader, whole_pages(reader->size), err);
	return rc ? rc : map_at(reader, fd, 0, &reader->size, err);
}

/* Loads what a compressed file has. Its time is that of the file. */
static int load_compressed(struct perch_reader *reader, int fd, enum compression compression,
			   const struct stat *status, struct perch_error *err)
{
	const char *message, *remedy;
	struct stat plain;
	uint64_t most;
	int copy = perch__decompress_file(fd, compression, &most), rc;

	if (copy < 0) {
		message = perch__decompress_message(copy, &remedy);
		perch_error_set(err, -copy, PERCH_ERROR_FILE, "%s", message);
		perch_error_remedy(err, "%s", remedy);
		return copy;
	}
	rc = fstat(copy, &plain) ? cannot_read(errno, err) : 0;
	if (!rc) {
		plain.st_mtim = status->st_mtim;
		reader->was_compressed = true;
		rc = load_plain(reader, copy, &plain, err);
	}
	close(copy);
	return rc;
}

static int load_regular(struct perch_reader *reader, int fd, const struct stat *status,
			struct perch_error *err)
{
	uint8_t start[PERCH__COMPRESSION_BYTES];
	enum compression compression;
	ssize_t got = pread(fd, start, sizeof(start), 0);

	return got > 0 && perch__find_compression(start, (size_t)got, &compression)
		       ? load_compressed(reader, fd, compression, status, err)
		       : load_plain(reader, fd, status, err);
}

/* Input from a pipe, or from standard input at an offset. The time of the recording is the time
 * when it was read. */
static int load_stream(struct perch_reader *reader, int fd, struct perch_error *err)
{
	struct stat status;
	int fd_copy = perch__spool(fd, err), rc;

	if (fd_copy < 0)
		return fd_copy;
	rc = fstat(fd_copy, &status) ? cannot_read(errno, err)
				     : load_regular(reader, fd_copy, &status, err);
	close(fd_copy);
	return rc;
}

/* ---- a directory ---- */

struct load_part {
	unsigned long number; /* of "data.N" */
	uint64_t size;
};

struct load_parts {
	struct load_part *part;
	size_t nr, capacity;
};

/* Parses the N of "data.N". Returns false for other names. */
static bool part_number(const char *name, unsigned long *number)
{
	size_t digits;

	if (strncmp(name, "data.", 5))
		return false;
	digits = strspn(name + 5, "0123456789");
	if (!digits || digits > 9 || name[5 + digits] || (name[5] == '0' && digits > 1))
		return false;
	*number = strtoul(name + 5, NULL, 10);
	return true;
}

static int add_part(struct load_parts *parts, unsigned long number, struct perch_error *err)
{
	struct load_part *part;

	if (parts->nr == MAX_PARTS)
		return perch_error_set(err, EFBIG, PERCH_ERROR_UNSUPPORTED_FILE,
				       "the directory has more than %u files", MAX_PARTS);
	part = PERCH__ARRAY_APPEND(parts->part, parts->nr, parts->capacity);
	if (!part)
		return PERCH__NO_MEMORY(err, "for the files of the directory");
	part->number = number;
	return 0;
}

static int by_number(const void *left, const void *right)
{
	const struct load_part *a = left, *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

static int list_parts(int directory, struct load_parts *parts, struct perch_error *err)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	unsigned long number;

	if (!dir) {
		rc = cannot_read(errno, err);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (!rc && (entry = readdir(dir)))
		if (part_number(entry->d_name, &number))
			rc = add_part(parts, number, err);
	closedir(dir);
	if (parts->nr)
		qsort(parts->part, parts->nr, sizeof(*parts->part), by_number);
	return rc;
}

/* Opens a file of the directory. */
static int open_part(int directory, const char *name, struct stat *status, struct perch_error *err)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;

	if (fd >= 0 && !fstat(fd, status) && S_ISREG(status->st_mode))
		return fd;
	rc = fd < 0 ? cannot_read(errno, err)
		    : perch_error_set(err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
				      "not a regular file");
	perch_error_prefix(err, "%s: ", name);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int measure_parts(struct perch_reader *reader, int directory, struct load_parts *parts,
			 uint64_t *extent, struct perch_error *err)
{
	*extent = whole_pages(reader->size);
	for (size_t i = 0; i < parts->nr; i++) {
		struct stat status;
		char name[32];
		int fd;

		snprintf(name, sizeof(name), "data.%lu", parts->part[i].number);
		fd = open_part(directory, name, &status, err);
		if (fd < 0)
			return fd;
		close(fd);
		parts->part[i].size = status.st_size;
		if (*extent + whole_pages(status.st_size) > INT64_MAX)
			return perch_error_set(err, EFBIG, PERCH_ERROR_UNSUPPORTED_FILE,
					       "the directory's files are too large");
		*extent += whole_pages(status.st_size);
	}
	return 0;
}

/* Maps the files after the one with the header. All their bytes are records. */
static int map_parts(struct perch_reader *reader, int directory, const struct load_parts *parts,
		     struct perch_error *err)
{
	uint64_t base = whole_pages(reader->size);

	for (size_t i = 0; i < parts->nr; i++) {
		uint64_t planned = whole_pages(parts->part[i].size), size = parts->part[i].size;
		struct stat status;
		char name[32];
		int fd, rc;

		snprintf(name, sizeof(name), "data.%lu", parts->part[i].number);
		fd = open_part(directory, name, &status, err);
		if (fd < 0)
			return fd;
		if ((uint64_t)status.st_size < size)
			size = status.st_size;
		rc = map_at(reader, fd, base, &size, err);
		close(fd);
		if (rc)
			return rc;
		reader->range[reader->nr_ranges++] =
			(struct perch__range){ base, base, base + size };
		base += planned;
	}
	return 0;
}

static int load_parts(struct perch_reader *reader, int directory, int header,
		      struct load_parts *parts, struct perch_error *err)
{
	uint64_t extent;
	int rc = list_parts(directory, parts, err);

	if (!rc)
		rc = measure_parts(reader, directory, parts, &extent, err);
	if (rc)
		return rc;
	reader->range = perch__reader_alloc(reader, (parts->nr + 1) * sizeof(*reader->range));
	if (!reader->range)
		return PERCH__NO_MEMORY(err, "for the files of the directory");
	reader->nr_ranges = 1;
	if (parts->nr)
		reader->missing_files = parts->part[parts->nr - 1].number + 1 - parts->nr;
	if (!reader->size)
		return 0;
	rc = reserve_extent(reader, extent, err);
	if (!rc)
		rc = map_at(reader, header, 0, &reader->size, err);
	return rc ? rc : map_parts(reader, directory, parts, err);
}

static int no_recording(int directory, struct perch_error *err)
{
	perch_error_set(err, EISDIR, PERCH_ERROR_FILE,
			"not a perf.data directory: no file 'data' in it");
	perch_error_remedy(err, faccessat(directory, "perf.data", F_OK, 0)
					? "Name the file of the recording"
					: "Name the recording in it: perf.data");
	return -EISDIR;
}

/* A recording by several threads has the header and common records in "data", and the records of
 * each ring in "data.N". */
static int load_directory(struct perch_reader *reader, int directory, struct perch_error *err)
{
	struct load_parts parts = { 0 };
	struct stat status;
	int header = openat(directory, "data", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;

	if (header < 0 && errno == ENOENT)
		return no_recording(directory, err);
	if (header >= 0)
		close(header);
	header = open_part(directory, "data", &status, err);
	if (header < 0)
		return header;
	reader->directory = true;
	reader->size = status.st_size;
	reader->modified = status.st_mtim;
	reader->owner = status.st_uid;
	reader->has_owner = reader->path;
	rc = load_parts(reader, directory, header, &parts, err);
	free(parts.part);
	close(header);
	return rc;
}

/* ---- any input ---- */

/* A file is mapped only from its beginning: at another offset, it is read as a pipe is. */
static int load_descriptor(struct perch_reader *reader, int fd, struct perch_error *err)
{
	struct stat status;

	if (fstat(fd, &status))
		return cannot_read(errno, err);
	if (isatty(fd))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "is a terminal: pipe a recording into it");
	if (S_ISDIR(status.st_mode))
		return load_directory(reader, fd, err);
	if (S_ISREG(status.st_mode) && lseek(fd, 0, SEEK_CUR) == 0)
		return load_regular(reader, fd, &status, err);
	return load_stream(reader, fd, err);
}

static int load_path(struct perch_reader *reader, struct perch_error *err)
{
	int fd = open(reader->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;
	struct stat status;

	if (fd < 0)
		return cannot_read(errno, err);
	if (fstat(fd, &status))
		rc = cannot_read(errno, err);
	else if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISFIFO(status.st_mode))
		rc = load_descriptor(reader, fd, err);
	else
		rc = perch__ask_for_recording(
			perch_error_set(err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
					"not a regular file, pipe or directory"),
			err);
	close(fd);
	if (!rc && S_ISREG(status.st_mode)) {
		reader->owner = status.st_uid;
		reader->has_owner = true;
	}
	return rc;
}

int perch__load(struct perch_reader *reader, struct perch_error *err)
{
	return reader->path ? load_path(reader, err) : load_descriptor(reader, reader->fd, err);
}

bool perch_is_recording(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	enum compression compression;
	struct stat status;
	uint64_t magic = 0;
	ssize_t got = 0;

	if (fd < 0)
		return false;
	if (!fstat(fd, &status) && S_ISDIR(status.st_mode)) {
		int data = openat(fd, "data", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

		close(fd);
		fd = data;
	}
	/* another process may write to a FIFO only when this one reads it */
	if (fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode))
		got = pread(fd, &magic, sizeof(magic), 0);
	if (got == sizeof(magic) && perch__find_compression(&magic, sizeof(magic), &compression))
		got = perch__decompress_first(fd, compression, &magic, sizeof(magic));
	if (fd >= 0)
		close(fd);
	return got == sizeof(magic) && perch__is_magic(magic);
}
