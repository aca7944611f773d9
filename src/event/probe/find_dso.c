/* SPDX-License-Identifier: MIT */
/* Finds and opens the executable or library of a probe: a path, or a name such as "bash" or "libc".
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <perch/probes.h>

#include "elf_lookup.h"

/* Used when the environment has no PATH. */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

static const char *const library_directories[] = { "/usr/local/lib", "/lib64", "/usr/lib64", "/lib",
						   "/usr/lib" };

int perch__elf_file_open(struct perch__elf *elf, const char *path,
			 const struct perch_machine *machine)
{
	char whole[PATH_MAX];
	struct stat status;
	int fd, rc = perch_machine_path(machine, path, whole, sizeof(whole));

	if (rc < 0)
		return rc;
	/* a path of a device or FIFO must not block, or become the controlling terminal */
	fd = open(whole, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		rc = -errno;
	else if (!S_ISREG(status.st_mode))
		rc = S_ISDIR(status.st_mode) ? -EISDIR : -EACCES;
	else
		rc = perch__elf_init_file(elf, fd);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	rc = perch__elf_read_sections(elf);
	if (rc < 0)
		perch__elf_file_close(elf);
	return rc;
}

void perch__elf_file_close(struct perch__elf *elf)
{
	close(elf->fd);
	perch__elf_clear(elf);
}

/* True if the library is of the same architecture as this process. */
static bool is_loadable(const char *path, const struct perch_machine *machine)
{
	struct perch__elf elf, own;
	bool same = true;

	if (perch__elf_file_open(&elf, path, machine))
		return false;
	if (!perch__elf_file_open(&own, "/proc/self/exe", NULL)) {
		same = elf.machine == own.machine && elf.wide == own.wide &&
		       elf.swapped == own.swapped;
		perch__elf_file_close(&own);
	}
	perch__elf_file_close(&elf);
	return same;
}

/* Ranks the name of a file for "libc": the name itself, then libc.so, then libc.so.6. 0 is no
 * match.
 */
static int rank_name(const char *file, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(file, name, length))
		return 0;
	if (!file[length])
		return 3;
	if (!strcmp(file + length, ".so"))
		return 2;
	return !strncmp(file + length, ".so.", 4);
}

/* Replaces path by directory/file if that ranks higher, or has a higher version. */
static void try_file(const char *directory, const char *file, const char *name, char *path,
		     size_t size, int *best, const struct perch_machine *machine)
{
	char candidate[PATH_MAX];
	int rank = rank_name(file, name);

	if (!rank || rank < *best ||
	    snprintf(candidate, sizeof(candidate), "%s/%s", directory, file) >= (int)size ||
	    (rank == *best && strverscmp(candidate, path) <= 0) || !is_loadable(candidate, machine))
		return;
	strcpy(path, candidate);
	*best = rank;
}

static int search_directory(const char *directory, const char *name, char *path, size_t size,
			    const struct perch_machine *machine)
{
	char whole[PATH_MAX];
	struct dirent *entry;
	int best = 0;
	DIR *files;

	if (perch_machine_path(machine, directory, whole, sizeof(whole)) < 0)
		return -ENOENT;
	files = opendir(whole);
	if (!files)
		return -ENOENT;
	while ((entry = readdir(files)))
		try_file(directory, entry->d_name, name, path, size, &best, machine);
	closedir(files);
	return best ? 0 : -ENOENT;
}

/* Searches the directories of architectures, such as /usr/lib/x86_64-linux-gnu of Debian. */
static int search_multiarch(const char *directory, const char *name, char *path, size_t size,
			    const struct perch_machine *machine)
{
	char whole[PATH_MAX], multiarch[PATH_MAX];
	struct dirent *entry;
	int rc = -ENOENT;
	DIR *directories;

	if (perch_machine_path(machine, directory, whole, sizeof(whole)) < 0)
		return -ENOENT;
	directories = opendir(whole);
	if (!directories)
		return -ENOENT;
	while (rc && (entry = readdir(directories)))
		if (entry->d_name[0] != '.' && strstr(entry->d_name, "-linux-") &&
		    snprintf(multiarch, sizeof(multiarch), "%s/%s", directory, entry->d_name) <
			    (int)sizeof(multiarch))
			rc = search_directory(multiarch, name, path, size, machine);
	closedir(directories);
	return rc;
}

static bool is_executable(const char *path, const struct perch_machine *machine)
{
	char whole[PATH_MAX];
	struct stat status;

	return perch_machine_path(machine, path, whole, sizeof(whole)) >= 0 &&
	       !stat(whole, &status) && S_ISREG(status.st_mode) && status.st_mode & 0111;
}

/* Relative directories of PATH are skipped: they depend on the current directory. */
static int search_path(const char *name, char *path, size_t size,
		       const struct perch_machine *machine)
{
	const char *directory = getenv("PATH");
	size_t length;

	if (!directory || !*directory)
		directory = DEFAULT_PATH;
	for (; *directory; directory += length + (directory[length] == ':')) {
		int written;

		length = strcspn(directory, ":");
		if (directory[0] != '/' || length >= size)
			continue;
		written = snprintf(path, size, "%.*s/%s", (int)length, directory, name);
		if (written > 0 && (size_t)written < size && is_executable(path, machine))
			return 0;
	}
	return -ENOENT;
}

/* The path must be absolute, because the current directory may change before the open call. */
static int make_absolute(const char *name, char *path, size_t size)
{
	char current[PATH_MAX];
	int length;

	while (name[0] == '.' && name[1] == '/')
		name += 2 + strspn(name + 2, "/");
	if (name[0] == '/')
		length = snprintf(path, size, "%s", name);
	else if (!getcwd(current, sizeof(current)))
		return -errno;
	else
		length = snprintf(path, size, "%s/%s", current, name);
	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

int perch__find_dso(const char *name, char *path, size_t size, const struct perch_machine *machine)
{
	int rc;

	if (strchr(name, '/'))
		return make_absolute(name, path, size);
	if (name[0] == '.')
		return -ENOENT;
	rc = search_path(name, path, size, machine);
	for (size_t i = 0; rc && i < PERCH__NR(library_directories); i++) {
		rc = search_multiarch(library_directories[i], name, path, size, machine);
		if (rc)
			rc = search_directory(library_directories[i], name, path, size, machine);
	}
	return rc;
}

int perch_probe_file(const char *name, char *path, size_t size, const struct perch_machine *machine,
		     struct perch_error *err)
{
	const int rc = perch__find_dso(name, path, size, machine);

	if (rc)
		perch_error_set(err, -rc, PERCH_ERROR_FILE,
				strchr(name, '/')
					? "there is no file '%s'"
					: "there is no program '%s' in PATH and no such library",
				name);
	if (rc && !strchr(name, '/'))
		perch_error_remedy(err, "use its path");
	return rc;
}
