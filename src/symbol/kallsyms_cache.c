/* SPDX-License-Identifier: MIT */
/*
 * The functions of /proc/kallsyms in a file: the kernel needs longer to print its symbols than a
 * small report needs for everything else.
 *
 * A cache is used only by the user who wrote it, on the same boot, with the same modules at the
 * same addresses, and if /proc/kallsyms begins with the same bytes: if the kernel hides addresses
 * now, it does not. Generated code of the kernel (BPF programs, trampolines) is left out: it
 * changes at any time, and recordings have records of it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "decompress.h"
#include "kallsyms.h"

enum { BOOT_ID_SIZE = 36, FIRST_BYTES = 4096, MAX_CACHE = 1 << 26 };

static const char magic[8] = "PERCHKS1";

/* The beginning of the file. The lines of functions follow, as in /proc/kallsyms. */
struct head {
	char magic[sizeof(magic)];
	char boot[BOOT_ID_SIZE];
	uint32_t crc; /* of the lines */
	uint64_t size;
	uint64_t modules; /* hash of their names, sizes and addresses */
	uint64_t first_size;
	char first[FIRST_BYTES]; /* of /proc/kallsyms */
};

/* ---- what the cache depends on ---- */

/* Returns the bytes that were read, or 0. */
static size_t read_file(const char *path, char *bytes, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, bytes, size);

	if (fd >= 0)
		close(fd);
	return got > 0 ? (size_t)got : 0;
}

/* The other columns of /proc/modules change while a module is used. */
static uint64_t hash_modules(void)
{
	FILE *modules = fopen("/proc/modules", "re");
	uint64_t hash = 0;
	char *line = NULL;
	size_t size = 0;

	while (modules && getline(&line, &size, modules) > 0) {
		char name[128], bytes[32], address[32], text[200];

		if (sscanf(line, "%127s %31s %*s %*s %*s %31s", name, bytes, address) != 3)
			continue;
		snprintf(text, sizeof(text), "%s %s %s", name, bytes, address);
		hash = perch__hash_pair(1, hash, perch__hash_text(1, text));
	}
	free(line);
	if (modules)
		fclose(modules);
	return hash;
}

/* Sets what a cache of this moment begins with. Returns false if that is unknown. */
static bool describe(struct head *head)
{
	*head = (struct head){ 0 };
	memcpy(head->magic, magic, sizeof(magic));
	if (read_file("/proc/sys/kernel/random/boot_id", head->boot, sizeof(head->boot)) !=
	    sizeof(head->boot))
		return false;
	head->first_size = read_file("/proc/kallsyms", head->first, sizeof(head->first));
	head->modules = hash_modules();
	return head->first_size;
}

static bool same(const struct head *a, const struct head *b)
{
	return !memcmp(a->magic, b->magic, sizeof(a->magic)) &&
	       !memcmp(a->boot, b->boot, sizeof(a->boot)) && a->modules == b->modules &&
	       a->first_size == b->first_size && !memcmp(a->first, b->first, sizeof(a->first));
}

/* ---- the file ---- */

/*
 * With sudo, HOME may be that of another user: nothing is written there. A missing directory is
 * made in the one above it.
 */
static bool is_own(const char *path)
{
	const char *slash = strrchr(path, '/');
	char above[PATH_MAX];
	struct stat status;

	if (!stat(path, &status))
		return status.st_uid == geteuid();
	return errno == ENOENT &&
	       snprintf(above, sizeof(above), "%.*s/", (int)(slash - path), path) <
		       (int)sizeof(above) &&
	       !stat(above, &status) && status.st_uid == geteuid();
}

/* Makes the path of the directory. Returns false if there is to be no cache. */
static bool directory(char *path, size_t size)
{
	const char *use = secure_getenv("PERCH_CACHE"), *home = secure_getenv("XDG_CACHE_HOME");
	const char *below = "/perch";

	if (use && !strcmp(use, "0"))
		return false;
	if (!home || *home != '/') {
		home = secure_getenv("HOME");
		below = "/.cache/perch";
	}
	return home && *home == '/' && is_own(home) &&
	       snprintf(path, size, "%s%s", home, below) < (int)size - NAME_MAX;
}

/* Opens the cache if nobody else can write or read it. */
static int open_own(const char *path, uint64_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    !(status.st_mode & 077) && status.st_size > (off_t)sizeof(struct head) &&
	    status.st_size <= MAX_CACHE) {
		*size = (uint64_t)status.st_size;
		return fd;
	}
	close(fd);
	return -1;
}

char *perch__kallsyms_cached(size_t *size)
{
	char path[PATH_MAX], *text = NULL;
	struct head *now, *head;
	uint64_t file_size;
	int fd = -1;

	if (!directory(path, sizeof(path)))
		return NULL;
	strcat(path, "/kallsyms");
	now = calloc(2, sizeof(*now));
	head = now ? now + 1 : NULL;
	if (now)
		fd = open_own(path, &file_size);
	if (fd >= 0 && describe(now) && !perch__read_all(fd, head, sizeof(*head)) &&
	    same(now, head) && head->size == file_size - sizeof(*head))
		text = malloc(head->size + 1);
	if (text)
		perch__use_large_pages(text, head->size + 1);
	if (text && (perch__read_all(fd, text, head->size) ||
		     perch__crc32(0, text, head->size) != head->crc)) {
		free(text);
		text = NULL;
	}
	if (text) {
		*size = head->size;
		text[head->size] = 0;
	}
	if (fd >= 0)
		close(fd);
	free(now);
	return text;
}

/* ---- writing ---- */

static bool is_generated(const char *line, const char *end)
{
	const char *bracket = end[-1] == ']' ? memrchr(line, '[', (size_t)(end - line)) : NULL;

	return bracket && (!strncmp(bracket, "[bpf]", 5) || !strncmp(bracket, "[__builtin__", 12));
}

/* Copies the lines of functions. Returns their bytes. */
static size_t copy_functions(char *to, const char *text, size_t size)
{
	const char *at = text, *end = text + size, *newline;
	char *next = to;

	for (; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		const char *type = memchr(at, ' ', (size_t)(newline - at));

		if (!type || newline - type < 4 || !strchr("tTwW", type[1]) ||
		    is_generated(at, newline))
			continue;
		memcpy(next, at, (size_t)(newline + 1 - at));
		next += newline + 1 - at;
	}
	return (size_t)(next - to);
}

/* Other processes see the whole file or none. */
static void write_file(const char *directory_path, const struct head *head, const char *text)
{
	char temporary[PATH_MAX + 16], path[PATH_MAX + 16];
	bool written;
	int fd;

	snprintf(temporary, sizeof(temporary), "%s/kallsyms-XXXXXX", directory_path);
	snprintf(path, sizeof(path), "%s/kallsyms", directory_path);
	fd = mkostemp(temporary, O_CLOEXEC); /* of mode 0600 */
	if (fd < 0)
		return;
	written = !perch__write_all(fd, head, sizeof(*head)) &&
		  !perch__write_all(fd, text, head->size);
	if (close(fd) || !written || rename(temporary, path))
		unlink(temporary);
}

/* Makes the directory and the one above it, as the XDG specification wants. */
static bool make_directory(char *path)
{
	char *slash = strrchr(path, '/');

	if (!mkdir(path, 0700) || errno == EEXIST)
		return true;
	*slash = 0;
	mkdir(path, 0700);
	*slash = '/';
	return !mkdir(path, 0700) || errno == EEXIST;
}

void perch__kallsyms_store(const char *text, size_t size)
{
	struct head *head = malloc(sizeof(*head));
	char path[PATH_MAX], *lines = malloc(size + 1);

	if (head && lines && directory(path, sizeof(path)) && describe(head) &&
	    head->first_size <= size && !memcmp(text, head->first, head->first_size)) {
		head->size = copy_functions(lines, text, size);
		head->crc = perch__crc32(0, lines, head->size);
		if (head->size && head->size <= MAX_CACHE - sizeof(*head) && make_directory(path))
			write_file(path, head, lines);
	}
	free(lines);
	free(head);
}
