/* SPDX-License-Identifier: MIT */
/*
 * What comes out of a pipe has to be gone through more than once. It is kept in a file that has no
 * name, so that nothing of it is left behind, and memory stays free.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "internal.h"

#define CHUNK	   (256u << 10)
#define LOOK_EVERY (16u << 20) /* bytes after which the room that is left is looked at, */
#define LEAVE	   (64u << 20) /* and how much of it is left to others */

static int no_place(const char *folder, struct perch_error *err)
{
	int errnum = errno;

	perch_error_set(err, errnum, PERCH_ERROR_FILE,
			"no temporary file in %s to keep what is piped in: %s", folder,
			strerror(errnum));
	perch_error_remedy(err, "Set TMPDIR to a folder that can be written to");
	return -errnum;
}

/* Not /tmp where nothing else is said: that one may be memory. */
static int open_nameless(struct perch_error *err)
{
	const char *folder = secure_getenv("TMPDIR");
	char path[PATH_MAX];
	int fd;

	if (!folder || !folder[0])
		folder = "/var/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
	if (fd >= 0)
		return fd;
	/* file systems that have no such files */
	if (snprintf(path, sizeof(path), "%s/perch-XXXXXX", folder) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return no_place(folder, err);
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return no_place(folder, err);
	unlink(path);
	return fd;
}

static int wait_for(int fd)
{
	struct pollfd wanted = { .fd = fd, .events = POLLIN };

	return poll(&wanted, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

/*
 * What there is, up to size; 0 at the end. A FIFO opened without waiting has no writer at first;
 * poll(2) waits for one.
 */
static ssize_t take(int fd, void *bytes, size_t size)
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

static int keep(int file, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t done = write(file, bytes, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		bytes += done;
		size -= done;
	}
	return 0;
}

/* ---- what can be a recording ---- */

/* Where the stream is among the records: it may go on for ever behind what is none. */
struct follower {
	bool begun, pipe, swapped;
	bool ended; /* nothing behind this can be told apart into records */
	/* of the header, then of each record, as far as it takes to know how far that one goes */
	uint8_t head[16];
	size_t have, want; /* bytes in it, and how many it takes */
	uint64_t skip;	   /* until the next record */
};

/* False when this is not perf.data. Of a file only the magic number is looked at: its reader knows
 * what it holds. */
static bool begin(struct follower *follower)
{
	uint64_t magic = perch__u64(follower->head), size = perch__u64(follower->head + 8);

	follower->begun = true;
	follower->pipe = size == PERCH__HEADER_SIZE_PIPE ||
			 __builtin_bswap64(size) == PERCH__HEADER_SIZE_PIPE;
	follower->swapped = follower->pipe && size != PERCH__HEADER_SIZE_PIPE;
	return perch__is_magic(magic);
}

static void enter_record(struct follower *follower)
{
	uint16_t size = perch__u16(follower->head + 6);
	size_t whole;

	if (follower->swapped)
		size = __builtin_bswap16(size);
	whole = size < sizeof(follower->head) ? size : sizeof(follower->head);
	if (size < sizeof(struct perch_record_header))
		follower->ended = true;
	else if (follower->have < whole)
		follower->want = whole;
	else {
		uint64_t payload = perch__record_payload(follower->swapped, follower->head, size);

		if (__builtin_add_overflow(payload, size - whole, &follower->skip))
			follower->skip = UINT64_MAX;
		follower->have = 0;
		follower->want = sizeof(struct perch_record_header);
	}
}

/* Takes up what has come. False when it is not perf.data. */
static bool follow(struct follower *follower, const uint8_t *bytes, size_t size)
{
	while (size && !follower->ended && (!follower->begun || follower->pipe)) {
		uint64_t part = follower->skip ? follower->skip : follower->want - follower->have;

		if (part > size)
			part = size;
		if (follower->skip) {
			follower->skip -= part;
		} else {
			memcpy(follower->head + follower->have, bytes, part);
			follower->have += part;
		}
		bytes += part;
		size -= part;
		if (follower->skip || follower->have < follower->want)
			continue;
		if (follower->begun) {
			enter_record(follower);
		} else {
			if (!begin(follower))
				return false;
			follower->have = 0;
			follower->want = sizeof(struct perch_record_header);
		}
	}
	return true;
}

/* ---- keeping it ---- */

static int cannot_keep(int errnum, struct perch_error *err)
{
	perch_error_set(err, errnum, PERCH_ERROR_FILE,
			"what is piped in cannot be kept in a temporary file: %s",
			errnum == ENOSPC ? "too little room is left there" : strerror(errnum));
	perch_error_remedy(err, "Set TMPDIR to a folder with more room");
	return -errnum;
}

/* Whoever pipes without end must not fill the disk for everyone. */
static bool leaves_room(int file)
{
	struct statvfs room;

	return fstatvfs(file, &room) || !room.f_blocks ||
	       (uint64_t)room.f_bavail * room.f_frsize >= LEAVE;
}

/* Whatever is no perf.data, or behind its last record, and may never end, is let go of at once. */
static int copy(int from, int to, uint8_t *bytes, struct perch_error *err)
{
	struct follower follower = { .want = sizeof(follower.head) };
	uint64_t kept = 0, looked = 0;
	ssize_t got;
	int rc;

	while (!follower.ended && (got = take(from, bytes, CHUNK)) != 0) {
		if (got < 0)
			return perch_error_set(err, -got, PERCH_ERROR_FILE, "%s", strerror(-got));
		if (!follow(&follower, bytes, got))
			return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
					       "what is piped in is not perf.data");
		rc = keep(to, bytes, got);
		kept += got;
		if (!rc && kept - looked >= LOOK_EVERY) {
			looked = kept;
			rc = leaves_room(to) ? 0 : -ENOSPC;
		}
		if (rc)
			return cannot_keep(-rc, err);
	}
	return 0;
}

int perch__spool(int from, struct perch_error *err)
{
	int file = open_nameless(err), rc;
	uint8_t *bytes;

	if (file < 0)
		return file;
	bytes = malloc(CHUNK);
	rc = bytes ? copy(from, file, bytes, err)
		   : perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				     "no memory to read what is piped in");
	free(bytes);
	if (!rc)
		return file;
	close(file);
	return rc;
}
