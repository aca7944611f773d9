/* SPDX-License-Identifier: MIT */
/*
 * Copies input from a pipe to a temporary file, because a recording is read more than once. The
 * file has no name, so nothing remains after the program ends.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/files/compressed_file.h"
#include "base/files/io.h"
#include "base/no_memory.h"
#include "internal.h"

#define CHUNK	    (256u << 10)
#define CHECK_EVERY (16u << 20) /* bytes between checks of the free space */

static int cannot_create(int errnum, struct perch_error *err)
{
	perch_error_set(err, errnum, PERCH_ERROR_FILE,
			"cannot create a temporary file for piped input in %s: %s",
			perch__temporary_directory(), strerror(errnum));
	perch_error_remedy(err, "Set TMPDIR to a writable directory");
	return -errnum;
}

static int wait_for(int fd)
{
	struct pollfd wanted = { .fd = fd, .events = POLLIN };

	return poll(&wanted, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

/*
 * Reads the available bytes, at most size; 0 at the end. A FIFO that was opened with O_NONBLOCK may
 * not have a writer yet: poll(2) waits for one.
 */
static ssize_t read_some(int fd, void *bytes, size_t size)
{
	while (true) {
		int rc = wait_for(fd);
		ssize_t got;

		if (rc)
			return rc;
		got = read(fd, bytes, size);
		if (got >= 0)
			return got;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
}

/* ---- the end of the recording ---- */

/* Finds the records in the stream: a stream may continue forever after the last record. */
struct spool_scanner {
	bool has_header, pipe, swapped;
	bool ended; /* no record can be found in the rest */
	/* first bytes of the header, then of each record, enough to determine its length */
	uint8_t head[16];
	size_t have, want; /* bytes in head: so far, and in all */
	uint64_t skip;	   /* bytes up to the next record */
};

/* False if this is neither perf.data nor compressed. Records are searched in a piped recording
 * only. */
static bool read_header(struct spool_scanner *scanner)
{
	uint64_t magic = perch__u64(scanner->head), size = perch__u64(scanner->head + 8);
	enum compression compression;

	scanner->has_header = true;
	scanner->pipe = size == PERCH__HEADER_SIZE_PIPE ||
			__builtin_bswap64(size) == PERCH__HEADER_SIZE_PIPE;
	scanner->swapped = scanner->pipe && size != PERCH__HEADER_SIZE_PIPE;
	return perch__is_magic(magic) ||
	       perch__find_compression(scanner->head, sizeof(scanner->head), &compression);
}

static void skip_record(struct spool_scanner *scanner)
{
	uint16_t size = perch__u16(scanner->head + 6);
	size_t whole;

	if (scanner->swapped)
		size = __builtin_bswap16(size);
	whole = size < sizeof(scanner->head) ? size : sizeof(scanner->head);
	if (size < sizeof(struct perch_record_header))
		scanner->ended = true;
	else if (scanner->have < whole)
		scanner->want = whole;
	else {
		uint64_t payload = perch__record_payload(scanner->swapped, scanner->head, size);

		if (__builtin_add_overflow(payload, size - whole, &scanner->skip))
			scanner->skip = UINT64_MAX;
		scanner->have = 0;
		scanner->want = sizeof(struct perch_record_header);
	}
}

/* Scans the next bytes of the stream. False if this is not perf.data. */
static bool scan_bytes(struct spool_scanner *scanner, const uint8_t *bytes, size_t size)
{
	while (size && !scanner->ended && (!scanner->has_header || scanner->pipe)) {
		uint64_t part = scanner->skip ? scanner->skip : scanner->want - scanner->have;

		if (part > size)
			part = size;
		if (scanner->skip) {
			scanner->skip -= part;
		} else {
			memcpy(scanner->head + scanner->have, bytes, part);
			scanner->have += part;
		}
		bytes += part;
		size -= part;
		if (scanner->skip || scanner->have < scanner->want)
			continue;
		if (scanner->has_header) {
			skip_record(scanner);
		} else {
			if (!read_header(scanner))
				return false;
			scanner->have = 0;
			scanner->want = sizeof(struct perch_record_header);
		}
	}
	return true;
}

/* ---- copying ---- */

static int cannot_write(int errnum, struct perch_error *err)
{
	perch_error_set(err, errnum, PERCH_ERROR_FILE,
			"cannot write piped input to a temporary file: %s",
			errnum == ENOSPC ? "too little free space" : strerror(errnum));
	perch_error_remedy(err, "Set TMPDIR to a directory with more free space");
	return -errnum;
}

/* Endless input must not fill the disk. */
static bool has_free_space(int file)
{
	struct statvfs space;

	return fstatvfs(file, &space) || !space.f_blocks ||
	       (uint64_t)space.f_bavail * space.f_frsize >= PERCH__MIN_FREE;
}

/* Copies up to the end of the recording. Input that is not perf.data is refused at once. */
static int copy_pipe(int from, int to, uint8_t *bytes, struct perch_error *err)
{
	struct spool_scanner scanner = { .want = sizeof(scanner.head) };
	uint64_t copied = 0, checked = 0;
	ssize_t got;
	int rc;

	while (!scanner.ended && (got = read_some(from, bytes, CHUNK)) != 0) {
		if (got < 0)
			return perch_error_set(err, -got, PERCH_ERROR_FILE, "%s", strerror(-got));
		if (!scan_bytes(&scanner, bytes, got))
			return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
					       "piped input is not perf.data");
		rc = perch__write_all(to, bytes, got);
		copied += got;
		if (!rc && copied - checked >= CHECK_EVERY) {
			checked = copied;
			rc = has_free_space(to) ? 0 : -ENOSPC;
		}
		if (rc)
			return cannot_write(-rc, err);
	}
	return 0;
}

int perch__spool(int from, struct perch_error *err)
{
	int file = perch__open_temporary(), rc;
	uint8_t *bytes;

	if (file < 0)
		return cannot_create(-file, err);
	bytes = malloc(CHUNK);
	rc = bytes ? copy_pipe(from, file, bytes, err)
		   : PERCH__NO_MEMORY(err, "to read piped input");
	free(bytes);
	if (!rc)
		return file;
	close(file);
	return rc;
}
