/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_PATH, statx */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "messages.h"
#include "output_file.h"

/* ---- signals ---- */

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
static struct sigaction before[CLI_NR(ending)];
static struct cli_output_file *volatile temporaries;

/* Removes the files with temporary names, and passes the signal on. */
static void remove_temporaries(int number)
{
	for (struct cli_output_file *file = temporaries; file; file = file->next)
		unlinkat(file->new.dir, file->new.temporary, 0);
	for (size_t i = 0; i < CLI_NR(ending); i++)
		sigaction(ending[i], &before[i], NULL);
	raise(number);
}

static void register_temporary(struct cli_output_file *file)
{
	const struct sigaction action = { .sa_handler = remove_temporaries };
	struct sigaction *old = before;

	if (!file->new.temporary[0])
		return;
	for (size_t i = 0; i < CLI_NR(ending) && !temporaries; i++, old++)
		if (!sigaction(ending[i], NULL, old) && old->sa_handler != SIG_IGN)
			sigaction(ending[i], &action, NULL);
	file->next = temporaries;
	temporaries = file;
}

static void unregister_temporary(struct cli_output_file *file)
{
	struct cli_output_file *last = NULL;

	for (struct cli_output_file *at = temporaries; at && at != file; at = at->next)
		last = at;
	if (last)
		last->next = file->next;
	else if (temporaries == file)
		temporaries = file->next;
}

static struct sigaction file_limit;
static bool file_limit_ignored;

void cli_ignore_file_limit(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (!file_limit_ignored && !sigaction(SIGXFSZ, &ignore, &file_limit))
		file_limit_ignored = true;
}

void cli_restore_file_limit(void)
{
	if (file_limit_ignored)
		sigaction(SIGXFSZ, &file_limit, NULL);
}

/* ---- opening ---- */

static int refuse_path(const char *path, int error, const char *why, struct perch_error *err)
{
	perch_error_set(err, error, PERCH_ERROR_FILE, "%s cannot be written: %s", path,
			why ? why : strerror(error));
	if (!why && perch__new_file_remedy(error))
		perch_error_remedy(err, "%s", perch__new_file_remedy(error));
	return -error;
}

static int refuse_link(const char *path, struct perch_error *err)
{
	refuse_path(path, ELOOP, "it is a symbolic link", err);
	perch_error_remedy(err, "Remove the link, or name another file (-o)");
	return -ELOOP;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* True if the name is that of an open descriptor, such as /dev/stdout or /proc/self/fd/3: others
 * have the file open, and would not see one that replaces it. */
static bool is_descriptor(int at, const char *path, const struct stat *status)
{
	int link = openat(at, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct statfs system;
	struct stat own;
	bool is_link;

	is_link = link >= 0 && !fstat(link, &own) && S_ISLNK(own.st_mode) &&
		  !fstatfs(link, &system) && system.f_type == PROC_SUPER_MAGIC;
	if (link >= 0)
		close(link);
	for (int fd = 0; fd <= STDERR_FILENO && !is_link; fd++)
		is_link = !fstat(fd, &own) && is_same(&own, status);
	return is_link;
}

/* True for a file on which another one is mounted, as in containers: it cannot be replaced. */
static bool is_mount_point(int fd)
{
#ifdef STATX_ATTR_MOUNT_ROOT
	struct statx status;

	return !statx(fd, "", AT_EMPTY_PATH, 0, &status) &&
	       status.stx_attributes & STATX_ATTR_MOUNT_ROOT;
#else
	(void)fd;
	return false;
#endif
}

/* Sets the directory and the last part of a path. Returns 0 or a negative errno. */
static int split_path(struct cli_output_file *file, int at, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *directory = strndup(path, slash ? (size_t)(slash - path + 1) : 0);

	file->name = strdup(slash ? slash + 1 : path);
	if (!directory || !file->name) {
		free(directory);
		return -ENOMEM;
	}
	file->dir = openat(at, *directory ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (file->dir < 0 && errno == EACCES) /* it may be written to and not be listed */
		file->dir =
			openat(at, *directory ? directory : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(directory);
	if (file->dir < 0)
		return -errno;
	return *file->name ? 0 : -EISDIR;
}

/* Sets the directory and the name of an open file, behind all links. */
static int split_target(struct cli_output_file *file, int at, const char *path, int fd,
			const struct stat *status)
{
	char own[64], target[PATH_MAX];
	struct stat found;
	ssize_t length;

	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	length = readlink(own, target, sizeof(target) - 1);
	if (length > 0) {
		target[length] = 0;
		if (*target == '/' && !lstat(target, &found) && is_same(&found, status))
			return split_path(file, AT_FDCWD, target);
	}
	if (!fstatat(at, path, &found, AT_SYMLINK_NOFOLLOW) && is_same(&found, status))
		return split_path(file, at, path);
	return -ENOENT; /* it has another name now, or none */
}

/* The new file gets mode and owner of the old one. Members of a group that it cannot be given to
 * may not read it. */
static int copy_rights(int fd, const struct stat *old, unsigned flags)
{
	mode_t mode = flags & CLI_OUTPUT_PRIVATE ? 0600 : old->st_mode & 0777;
	struct stat new;

	if (fstat(fd, &new))
		return -errno;
	if ((new.st_uid != old->st_uid || new.st_gid != old->st_gid) &&
	    fchown(fd, old->st_uid, old->st_gid) && fchown(fd, -1, old->st_gid) &&
	    new.st_gid != old->st_gid)
		mode &= ~(mode_t)070;
	return fchmod(fd, mode) ? -errno : 0;
}

/* True if errors of creating a file say nothing about writing to one that exists. */
static bool cannot_create(int rc)
{
	return rc == -EACCES || rc == -EPERM || rc == -EROFS || rc == -ENOENT;
}

/* The file of this descriptor is replaced. Returns 1 if it cannot be. */
static int prepare_replacement(struct cli_output_file *file, int at, const char *path, int fd,
			       const struct stat *status, unsigned flags)
{
	int rc;

	if (!S_ISREG(status->st_mode) || is_mount_point(fd) || is_descriptor(at, path, status))
		return 1;
	rc = split_target(file, at, path, fd, status);
	if (!rc)
		rc = perch__new_file_make(&file->new, file->dir, 0600);
	if (!rc)
		rc = copy_rights(file->new.fd, status, flags);
	file->replaces = true;
	return cannot_create(rc) ? 1 : rc;
}

/* What may not be written to although the user has the right to. */
static int check_existing(int at, const char *path, const struct stat *status, unsigned flags,
			  struct perch_error *err)
{
	struct stat link;

	if (flags & CLI_OUTPUT_NEW)
		return refuse_path(path, EEXIST, NULL, err);
	if (flags & CLI_OUTPUT_OWN_NAME && !S_ISREG(status->st_mode))
		return refuse_path(path, EINVAL, "it is not a regular file", err);
	if (flags & CLI_OUTPUT_NO_LINK && S_ISREG(status->st_mode) &&
	    !is_descriptor(at, path, status) &&
	    (fstatat(at, path, &link, AT_SYMLINK_NOFOLLOW) || S_ISLNK(link.st_mode)))
		return refuse_link(path, err);
	return 0;
}

/* Opens the stream: a copy of the descriptor, so that its close reports what the file system has
 * delayed. Takes `fd`. */
static int open_stream(struct cli_output_file *file, int fd)
{
	file->stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (file->stream)
		return 0;
	if (fd >= 0)
		close(fd);
	return errno ? -errno : -ENOMEM;
}

/* Removes the content of a file that is written in place. */
static int empty(int fd, unsigned flags)
{
	if (flags & CLI_OUTPUT_PRIVATE && fchmod(fd, 0600))
		return -errno;
	return ftruncate(fd, 0) ? -errno : 0;
}

static int open_existing(struct cli_output_file *file, int at, const char *path, int fd,
			 unsigned flags, struct perch_error *err)
{
	struct stat status;
	int rc = fstat(fd, &status) ? -errno : 0;

	if (!rc)
		rc = check_existing(at, path, &status, flags, err);
	if (rc) {
		close(fd);
		return rc;
	}
	rc = prepare_replacement(file, at, path, fd, &status, flags);
	if (rc > 0) { /* in place */
		perch__new_file_discard(&file->new);
		fcntl(fd, F_SETFL, 0); /* not O_NONBLOCK */
		rc = S_ISREG(status.st_mode) ? empty(fd, flags) : 0;
		if (!rc)
			rc = open_stream(file, dup(fd));
	} else if (!rc) {
		rc = open_stream(file, dup(file->new.fd));
	}
	close(fd);
	return rc ? refuse_path(path, -rc, NULL, err) : 0;
}

static int open_new(struct cli_output_file *file, int at, const char *path, unsigned flags,
		    struct perch_error *err)
{
	int rc = split_path(file, at, path);

	if (!rc)
		rc = perch__new_file_make(&file->new, file->dir,
					  flags & CLI_OUTPUT_PRIVATE ? 0600 : 0666);
	if (!rc)
		rc = open_stream(file, dup(file->new.fd));
	file->replaces = !(flags & CLI_OUTPUT_NEW); /* another may appear until the end */
	return rc ? refuse_path(path, -rc, NULL, err) : 0;
}

static int open_file(struct cli_output_file *file, int at, const char *path, unsigned flags,
		     struct perch_error *err)
{
	bool own = flags & CLI_OUTPUT_OWN_NAME;
	int how = O_WRONLY | O_NOCTTY | O_CLOEXEC | (own ? O_NOFOLLOW : 0);
	int fd = openat(at, path, how | O_NONBLOCK);
	struct stat status;

	/* a FIFO that nobody reads yet: as the shell, waits for the reader */
	if (fd < 0 && errno == ENXIO && !(flags & (CLI_OUTPUT_NO_LINK | CLI_OUTPUT_OWN_NAME)) &&
	    !fstatat(at, path, &status, 0) && S_ISFIFO(status.st_mode))
		fd = openat(at, path, how);
	if (fd < 0 && errno == ENOENT) {
		if (fstatat(at, path, &status, AT_SYMLINK_NOFOLLOW))
			return open_new(file, at, path, flags, err);
		if (flags & (CLI_OUTPUT_NO_LINK | CLI_OUTPUT_NEW))
			return refuse_link(path, err);
		/* a link to nothing: the kernel decides whether it may be followed */
		fd = openat(at, path, how | O_CREAT, flags & CLI_OUTPUT_PRIVATE ? 0600 : 0666);
		file->made = fd >= 0;
	}
	if (fd >= 0)
		return open_existing(file, at, path, fd, flags, err);
	if (errno == ELOOP && own)
		return refuse_link(path, err);
	return refuse_path(path, errno,
			   errno == ENXIO ? "it is a FIFO or a socket, and nobody reads it" : NULL,
			   err);
}

int cli_output_open_at(struct cli_output_file *file, int at, const char *path, unsigned flags,
		       struct perch_error *err)
{
	int rc;

	*file = (struct cli_output_file){ .new = { .fd = -1, .dir = -1 }, .dir = -1 };
	cli_ignore_file_limit();
	file->path = strdup(path);
	rc = file->path ? open_file(file, at, path, flags, err)
			: refuse_path(path, ENOMEM, NULL, err);
	if (rc)
		cli_output_discard(file);
	else
		register_temporary(file);
	return rc;
}

int cli_output_open(struct cli_output_file *file, const char *path, unsigned flags,
		    struct perch_error *err)
{
	return cli_output_open_at(file, AT_FDCWD, path, flags, err);
}

/* ---- the end ---- */

int cli_output_close(struct cli_output_file *file, int error, struct perch_error *err)
{
	int rc;

	errno = 0;
	if (ferror(file->stream) && !error)
		error = EIO;
	if (fclose(file->stream) && !error)
		error = errno ? errno : EIO;
	file->stream = NULL;
	if (!error && file->new.fd >= 0)
		error = -perch__new_file_name(&file->new, file->name, file->replaces);
	if (!error)
		file->made = false;
	rc = error ? refuse_path(file->path, error, NULL, err) : 0;
	cli_output_discard(file);
	return rc;
}

void cli_output_discard(struct cli_output_file *file)
{
	if (!file->path)
		return;
	if (file->stream)
		fclose(file->stream);
	perch__new_file_discard(&file->new);
	unregister_temporary(file);
	if (file->made && file->dir >= 0)
		unlinkat(file->dir, file->name, 0);
	if (file->dir >= 0)
		close(file->dir);
	free(file->path);
	free(file->name);
	*file = (struct cli_output_file){ .new = { .fd = -1, .dir = -1 }, .dir = -1 };
}
