/* SPDX-License-Identifier: MIT */
/*
 * Opens the file that a process mapped. Its path is not enough: a process in a container sees other
 * files, and a file may have been replaced. A file is verified if its build id is the recorded one,
 * or without a recorded build id if device and inode are, on the machine that was recorded, and its
 * content is not newer than the recording. Device and inode prove only that: a copy has other ones,
 * and the same content. So without a build id, another file is used, too, if it can be the mapped
 * one, and is said to be unverified. A verified file is preferred, wherever it is.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* ---- device and inode ---- */

/* An inode that was used again has another generation. Not all file systems report it. */
static bool other_generation(int fd, const struct perch_dso *dso)
{
	long generation = 0; /* the kernel writes an int or a long */
	uint32_t here;

	if (!dso->inode_generation || ioctl(fd, FS_IOC_GETVERSION, &generation))
		return false;
	memcpy(&here, &generation, sizeof(here));
	return here && here != (uint32_t)dso->inode_generation;
}

static bool same_inode(int fd, const struct perch_dso *dso)
{
	return perch__is_file(fd, dso->device_major, dso->device_minor, dso->inode) &&
	       !other_generation(fd, dso);
}

/* ---- times ---- */

uint64_t perch__ns_of(const struct statx_timestamp *time)
{
	return time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* True if the content of the file was written after the recording, or the file made after it. */
static bool times_newer(const struct statx *status, uint64_t recorded_at)
{
	return perch__ns_of(&status->stx_mtime) > recorded_at ||
	       (status->stx_mask & STATX_BTIME && perch__ns_of(&status->stx_btime) > recorded_at);
}

static bool is_newer(int fd, uint64_t recorded_at)
{
	struct statx status;

	return recorded_at && !statx(fd, "", AT_EMPTY_PATH, STATX_MTIME | STATX_BTIME, &status) &&
	       times_newer(&status, recorded_at);
}

/*
 * True if a file or its name was changed after the recording: also if it was moved to its path. The
 * build id cache makes links to files, which changes the ctime and nothing else.
 */
static bool was_changed(const struct sources *sources, const char *path)
{
	struct statx status;

	if (perch__is_undated(sources))
		return false;
	if (!sources->recorded_at ||
	    statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, &status))
		return true;
	if (S_ISREG(status.stx_mode) && status.stx_nlink > 1 && status.stx_mask & STATX_BTIME)
		return times_newer(&status, sources->recorded_at);
	return perch__ns_of(&status.stx_ctime) > sources->recorded_at;
}

/* ---- one file ---- */

static struct proof unverified(enum perch_symbols_reason reason, const char *text)
{
	return (struct proof){ PERCH_SYMBOLS_UNVERIFIED, reason, text };
}

/* Of a file that can be the mapped one. */
static struct proof prove(const struct elf_file *file, const struct sources *sources,
			  const struct perch_dso *dso)
{
	if (sources->root)
		return unverified(PERCH_SYMBOLS_NAMED,
				  "it is in the directory that the user named");
	if (sources->foreign)
		return unverified(PERCH_SYMBOLS_OTHER_MACHINE, "recorded on another machine");
	if (!dso->inode)
		return unverified(PERCH_SYMBOLS_NO_INODE,
				  "the recording has only its path, not its inode");
	if (!same_inode(file->elf.fd, dso))
		return unverified(PERCH_SYMBOLS_OTHER_FILE,
				  "it has another inode: it was replaced or copied since the "
				  "recording, or the process was in a container or chroot");
	if (perch__is_undated(sources))
		return unverified(PERCH_SYMBOLS_NO_TIME,
				  "the recording does not say when it was made, so the file may "
				  "have been written since");
	if (is_newer(file->elf.fd, sources->recorded_at))
		return unverified(PERCH_SYMBOLS_REPLACED, "it was written since the recording");
	return (struct proof){ .state = PERCH_SYMBOLS_VERIFIED };
}

/* Sets the proof. Returns 0; -ESTALE for another file; -EXDEV if that is not certain. */
static int check_same(struct elf_file *file, const struct sources *sources,
		      const struct perch_dso *dso)
{
	size_t size = perch__own_build_id_size(dso);
	const char *misfit;
	bool same;

	if (size) {
		same = perch__same_build_id(dso->build_id, size, file->build_id,
					    (size_t)file->build_id_size);
		file->proof.state = same ? PERCH_SYMBOLS_VERIFIED : PERCH_SYMBOLS_REFUSED;
		return same ? 0 : -ESTALE;
	}
	misfit = perch__misfit(file, sources->arch, dso);
	if (misfit) {
		file->proof = (struct proof){ .state = PERCH_SYMBOLS_REFUSED, .text = misfit };
		return -ESTALE;
	}
	file->proof = prove(file, sources, dso);
	if (file->proof.state == PERCH_SYMBOLS_VERIFIED || !sources->verified_only || sources->root)
		return 0;
	file->proof.state = PERCH_SYMBOLS_REFUSED;
	return sources->foreign ? -EXDEV : -ESTALE;
}

/* Opens an executable or shared object if it is the file of the DSO. Takes fd, which may be a
 * negative errno. */
int perch__open_if_same(struct elf_file *file, int fd, const struct sources *sources,
			const struct perch_dso *dso)
{
	struct proof proof;
	int rc;

	*file = (struct elf_file){ .elf.fd = -1 };
	rc = fd < 0 ? fd : perch__elf_open(file, fd);
	if (rc)
		return rc;
	if (file->elf.type != ET_EXEC && file->elf.type != ET_DYN)
		rc = -ELIBBAD;
	if (!rc)
		rc = check_same(file, sources, dso);
	if (!rc && perch__elf_sections(file))
		rc = -ELIBBAD;
	if (!rc)
		return 0;
	proof = file->proof;
	perch__elf_close(file);
	file->proof = proof;
	return rc;
}

/* The same, only a file that is verified. */
static int open_verified(struct elf_file *file, int fd, const struct sources *sources,
			 const struct perch_dso *dso)
{
	int rc = perch__open_if_same(file, fd, sources, dso);

	if (rc || file->proof.state == PERCH_SYMBOLS_VERIFIED)
		return rc;
	perch__elf_close(file);
	return -ESTALE;
}

/* ---- the places where it may be ---- */

/*
 * Opens the file as the process sees it, if that still runs. What it has mapped is found also if
 * its path is gone, but that needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. Another process may
 * have got the pid: then the file is another one.
 */
static int open_of_process(struct elf_file *file, const struct sources *sources,
			   const struct perch_dso *dso, const char *path)
{
	char of_process[96];
	int rc, first;

	snprintf(of_process, sizeof(of_process), "/proc/%" PRIu32 "/root", dso->pid);
	first = open_verified(file, path ? perch__open_regular(of_process, path) : -ENOENT, sources,
			      dso);
	if (!first || first == -ENOMEM)
		return first;
	snprintf(of_process, sizeof(of_process), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		 dso->pid, dso->map_start, dso->map_end);
	rc = open_verified(file, perch__open_regular(NULL, of_process), sources, dso);
	if (!rc || rc == -ENOMEM)
		return rc;
	snprintf(of_process, sizeof(of_process), "/proc/%" PRIu32 "/exe", dso->pid);
	rc = open_verified(file, perch__open_regular(NULL, of_process), sources, dso);
	return !rc || rc == -ENOMEM ? rc : first;
}

/* The same of a file that the caller has open. */
static int open_of_caller(struct elf_file *file, const struct sources *sources,
			  const struct perch_dso *dso)
{
	int own = sources->open_file ? sources->open_file(sources->open_context, dso) : -1;
	int fd = own < 0 ? -ENOENT : fcntl(own, F_DUPFD_CLOEXEC, 0);

	return open_verified(file, own >= 0 && fd < 0 ? -errno : fd, sources, dso);
}

/*
 * The reason why the file at the path cannot be used. at_path: the errno of opening it. of_process:
 * the errno of opening the file as the process sees it.
 */
static void set_reason(struct symbol_error *error, const struct sources *sources,
		       const struct perch_dso *dso, int at_path, int of_process)
{
	bool compared = !sources->root && !sources->foreign && dso->pid;
	bool other = at_path == -ESTALE || at_path == -ENOENT || at_path == -ENOTDIR;
	bool recording = sources->recorded || sources->recorded_at;
	bool ended = compared && other && recording &&
		     !perch__recorded_process_runs(dso->pid, sources->recorded_at);

	if (at_path == -ELIBBAD) {
		perch__set_symbol_reason(error, PERCH_SYMBOLS_STRIPPED,
					 "the ELF file has no symbol tables");
	} else if (at_path == -EXDEV && !sources->root) {
		perch__set_symbol_error(
			error, "recorded on another machine, and without the build id of the file");
	} else if (at_path == -ESTALE && (!compared || !recording)) {
		perch__set_symbol_error(error,
					dso->build_id_size
						? "the build id of the file is not the recorded one"
						: "another file than the one that was mapped");
	} else if (compared && (at_path == -ESTALE || at_path == -ENOENT) &&
		   (of_process == -EACCES || of_process == -EPERM)) {
		perch__set_symbol_reason(error, PERCH_SYMBOLS_NO_PERMISSION,
					 "in the mount namespace of process %" PRIu32
					 ", which this user may not read",
					 dso->pid);
	} else if (ended && dso->inode &&
		   perch__device_is_gone(dso->device_major, dso->device_minor)) {
		perch__set_symbol_reason(error, PERCH_SYMBOLS_NOT_MOUNTED,
					 "on a file system that is not mounted here");
	} else if (ended && perch__other_namespace("mnt", dso->mount_namespace)) {
		perch__set_symbol_reason(
			error, PERCH_SYMBOLS_OTHER_MOUNTS,
			"in another mount namespace (container), whose process has ended");
	} else if (at_path == -ESTALE && (was_changed(sources, dso->path) || !ended)) {
		perch__set_symbol_reason(error, PERCH_SYMBOLS_REPLACED,
					 "replaced since the recording");
	} else if (at_path == -ESTALE) {
		perch__set_symbol_reason(error, PERCH_SYMBOLS_OTHER_FILE,
					 "another file is at its path: it was replaced, or "
					 "the process was in a container or chroot");
	} else if (ended) {
		perch__set_symbol_reason(error, PERCH_SYMBOLS_NO_FILE_ANY_MORE,
					 "no such file: it was deleted or moved, or the "
					 "process was in a container or chroot");
	} else {
		perch__set_symbol_errno(error, -at_path);
	}
}

/* The text of a refused file at the path ends with what cannot be the mapped file. */
static void add_misfit(struct symbol_error *error, const struct proof *proof)
{
	size_t length = strlen(error->text);

	if (proof->state == PERCH_SYMBOLS_REFUSED && proof->text && !proof->reason)
		snprintf(error->text + length, sizeof(error->text) - length,
			 "; the file at its path %s", proof->text);
}

int perch__open_mapped(struct elf_file *file, const struct sources *sources,
		       const struct perch_dso *dso, struct symbol_error *error)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(dso->path);
	bool deleted = length >= sizeof(suffix) &&
		       !strcmp(dso->path + length - (sizeof(suffix) - 1), suffix);
	/* a process of another machine has nothing in common with one of this */
	bool live = !sources->root && dso->pid &&
		    (perch__own_build_id_size(dso) || (dso->inode && !sources->foreign));
	struct elf_file of_process;
	int at_path, rc = -ENOENT;

	*file = (struct elf_file){ .elf.fd = -1 };
	if (dso->path[0] != '/') {
		perch__set_symbol_error(error, "not a file path");
		return -ENOENT;
	}
	at_path = deleted ? -ENOENT
			  : perch__open_if_same(file, perch__open_regular(sources->root, dso->path),
						sources, dso);
	if (at_path == -ENOMEM || (!at_path && file->proof.state == PERCH_SYMBOLS_VERIFIED))
		return at_path;
	if (live)
		rc = open_of_caller(&of_process, sources, dso);
	if (rc && rc != -ENOMEM && live)
		rc = open_of_process(&of_process, sources, dso, deleted ? NULL : dso->path);
	if ((!rc || rc == -ENOMEM) && !at_path)
		perch__elf_close(file);
	if (!rc)
		*file = of_process;
	if (!rc || rc == -ENOMEM || !at_path)
		return rc == -ENOMEM ? rc : 0;
	if (deleted) {
		perch__set_symbol_reason(error, PERCH_SYMBOLS_DELETED, "the file was deleted");
	} else {
		set_reason(error, sources, dso, at_path, rc);
		add_misfit(error, &file->proof);
	}
	return at_path == -ELIBBAD ? -ENOEXEC : at_path;
}
