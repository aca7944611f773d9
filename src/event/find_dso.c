/* SPDX-License-Identifier: MIT */
/* The file that "bash" or "libc" means in an event. */
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

#include "elf_lookup.h"

/* Where programs are when the environment has no PATH. */
#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

static const char *const library_folders[] = { "/usr/local/lib", "/lib64", "/usr/lib64", "/lib",
					       "/usr/lib" };

int perch__elf_file_open(struct perch__elf *elf, const char *path,
			 const struct perch_machine *machine)
{
	char whole[PATH_MAX];
	struct stat status;
	int fd, rc = perch_machine_path(machine, whole, sizeof(whole), path);

	if (rc < 0)
		return rc;
	/* devices and queues must neither block nor become the terminal before it is seen what they
	 * are */
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

/* A library of another architecture has the right name and is not what this machine's programs
 * load. */
static bool loadable(const char *path, const struct perch_machine *machine)
{
	struct perch__elf elf, mine;
	bool same = true;

	if (perch__elf_file_open(&elf, path, machine))
		return false;
	if (!perch__elf_file_open(&mine, "/proc/self/exe", NULL)) {
		same = elf.machine == mine.machine && elf.wide == mine.wide &&
		       elf.swapped == mine.swapped;
		perch__elf_file_close(&mine);
	}
	perch__elf_file_close(&elf);
	return same;
}

/* How well a file's name fits: "libc" is meant by itself first, then by libc.so, then by the
 * highest libc.so.6. */
static int fit(const char *file, const char *name)
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

/* Keeps the better of path and folder/file. */
static void weigh(const char *folder, const char *file, const char *name, char *path, size_t size,
		  int *best, const struct perch_machine *machine)
{
	char candidate[PATH_MAX];
	int fits = fit(file, name);

	if (!fits || fits < *best ||
	    snprintf(candidate, sizeof(candidate), "%s/%s", folder, file) >= (int)size ||
	    (fits == *best && strverscmp(candidate, path) <= 0) || !loadable(candidate, machine))
		return;
	strcpy(path, candidate);
	*best = fits;
}

static int look_in_folder(const char *folder, const char *name, char *path, size_t size,
			  const struct perch_machine *machine)
{
	char whole[PATH_MAX];
	struct dirent *entry;
	int best = 0;
	DIR *files;

	if (perch_machine_path(machine, whole, sizeof(whole), folder) < 0)
		return -ENOENT;
	files = opendir(whole);
	if (!files)
		return -ENOENT;
	while ((entry = readdir(files)))
		weigh(folder, entry->d_name, name, path, size, &best, machine);
	closedir(files);
	return best ? 0 : -ENOENT;
}

/* Folders named after an architecture, as Debian has them: /usr/lib/x86_64-linux-gnu. */
static int look_in_multiarch(const char *folder, const char *name, char *path, size_t size,
			     const struct perch_machine *machine)
{
	char whole[PATH_MAX], inside[PATH_MAX];
	struct dirent *entry;
	int rc = -ENOENT;
	DIR *folders;

	if (perch_machine_path(machine, whole, sizeof(whole), folder) < 0)
		return -ENOENT;
	folders = opendir(whole);
	if (!folders)
		return -ENOENT;
	while (rc && (entry = readdir(folders)))
		if (entry->d_name[0] != '.' && strstr(entry->d_name, "-linux-") &&
		    snprintf(inside, sizeof(inside), "%s/%s", folder, entry->d_name) <
			    (int)sizeof(inside))
			rc = look_in_folder(inside, name, path, size, machine);
	closedir(folders);
	return rc;
}

static bool executable(const char *path, const struct perch_machine *machine)
{
	char whole[PATH_MAX];
	struct stat status;

	return perch_machine_path(machine, whole, sizeof(whole), path) >= 0 &&
	       !stat(whole, &status) && S_ISREG(status.st_mode) && status.st_mode & 0111;
}

/* Folders of PATH that are no absolute paths depend on where this process is: programs there are
 * named by a path. */
static int look_in_path(const char *name, char *path, size_t size,
			const struct perch_machine *machine)
{
	const char *folder = getenv("PATH");
	size_t length;

	if (!folder || !*folder)
		folder = USUAL_PATH;
	for (; *folder; folder += length + (folder[length] == ':')) {
		int written;

		length = strcspn(folder, ":");
		if (folder[0] != '/' || length >= size)
			continue;
		written = snprintf(path, size, "%.*s/%s", (int)length, folder, name);
		if (written > 0 && (size_t)written < size && executable(path, machine))
			return 0;
	}
	return -ENOENT;
}

/* The kernel reads a path when the event is opened, which may be somewhere else than here. */
static int absolute(const char *name, char *path, size_t size)
{
	char here[PATH_MAX];
	int length;

	while (name[0] == '.' && name[1] == '/')
		name += 2 + strspn(name + 2, "/");
	if (name[0] == '/')
		length = snprintf(path, size, "%s", name);
	else if (!getcwd(here, sizeof(here)))
		return -errno;
	else
		length = snprintf(path, size, "%s/%s", here, name);
	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

int perch__find_dso(const char *name, char *path, size_t size, const struct perch_machine *machine)
{
	int rc;

	if (strchr(name, '/'))
		return absolute(name, path, size);
	if (name[0] == '.')
		return -ENOENT;
	rc = look_in_path(name, path, size, machine);
	for (size_t i = 0; rc && i < PERCH__NR(library_folders); i++) {
		rc = look_in_multiarch(library_folders[i], name, path, size, machine);
		if (rc)
			rc = look_in_folder(library_folders[i], name, path, size, machine);
	}
	return rc;
}
