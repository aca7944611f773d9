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
#include <unistd.h>
#include "internal.h"

#define CHUNK (256u << 10)

static int no_place(const char *folder, struct perch_error *err)
{
	int errnum = errno;

	perch_error_set(err, errnum, PERCH_ERROR_FILE, "no temporary file in %s to keep what is piped in: %s", folder,
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
 * What there is, up to size; 0 at the end. A FIFO opened without waiting has no writer at first; poll(2) waits for one.
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

static bool is_magic(uint64_t word)
{
	uint64_t turned = __builtin_bswap64(word);

	return word == PERCH__MAGIC || turned == PERCH__MAGIC || word == PERCH__MAGIC_V1 || turned == PERCH__MAGIC_V1;
}

/* Whatever is no perf.data, and may never end, is let go of at once. */
static int copy(int from, int to, uint8_t *bytes, struct perch_error *err)
{
	size_t used = 0;
	bool known = false;
	ssize_t got;
	int rc;

	while ((got = take(from, bytes + used, CHUNK - used)) > 0) {
		used += got;
		if (!known && used < sizeof(uint64_t))
			continue;
		if (!known && !is_magic(perch__u64(bytes)))
			return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT, "what is piped in is not perf.data");
		known = true;
		rc = keep(to, bytes, used);
		if (rc)
			return perch_error_set(err, -rc, PERCH_ERROR_FILE,
					       "what is piped in cannot be kept in a temporary file: %s", strerror(-rc));
		used = 0;
	}
	if (got < 0)
		return perch_error_set(err, -got, PERCH_ERROR_FILE, "%s", strerror(-got));
	rc = keep(to, bytes, used);
	return rc ? perch_error_set(err, -rc, PERCH_ERROR_FILE, "a temporary file: %s", strerror(-rc)) : 0;
}

int perch__spool(int from, struct perch_error *err)
{
	int file = open_nameless(err), rc;
	uint8_t *bytes;

	if (file < 0)
		return file;
	bytes = malloc(CHUNK);
	rc = bytes ? copy(from, file, bytes, err)
		   : perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory to read what is piped in");
	free(bytes);
	if (!rc)
		return file;
	close(file);
	return rc;
}
