/* SPDX-License-Identifier: MIT */
/* An index as a file of the user's cache. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files/decompress.h"
#include "base/files/io.h"
#include "base/files/user_cache.h"
#include "base/nr.h"
#include "index.h"

#define DIRECTORY   "symbols"
#define LIMIT_BYTES (512ull << 20) /* of all files */
#define SECOND	    1000000000ull
enum {
	SETTLED_SECONDS = 2,  /* since the last change of a file that can have an index */
	USED_SECONDS = 86400, /* a file is marked as used once in this time */
};

/* Another version of perch, or another byte order, has other ones. */
static const char magic[8] = { 'P', 'E', 'R', 'C', 'H', 'I', 'X', '2' };
static const uint32_t order_mark = 0x01020304;

/* What a file begins with. The rest follows. */
struct index_head {
	char magic[sizeof(magic)];
	uint32_t order;
	uint32_t crc; /* of what follows this head, and of the key */
	struct index_key key;
};

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

bool perch__index_key_add(struct index_key *key, const struct elf_file *file)
{
	struct indexed_file *to = &key->file[key->nr];
	struct timespec now;
	struct stat status;

	if (file->elf.fd < 0 || key->nr == MAX_INDEXED_FILES || fstat(file->elf.fd, &status) ||
	    !S_ISREG(status.st_mode) || clock_gettime(CLOCK_REALTIME, &now))
		return false;
	*to = (struct indexed_file){
		.device = status.st_dev,
		.inode = status.st_ino,
		.size = (uint64_t)status.st_size,
		.modified = ns_of(&status.st_mtim),
		.changed = ns_of(&status.st_ctim),
	};
	if (file->build_id_size > 0)
		memcpy(to->build_id, file->build_id, (size_t)file->build_id_size);
	key->nr++;
	return to->changed + SETTLED_SECONDS * SECOND < ns_of(&now);
}

static void make_name(const struct index_key *key, char name[INDEX_NAME_SIZE])
{
	snprintf(name, INDEX_NAME_SIZE, DIRECTORY "/%016llx",
		 (unsigned long long)perch__hash_bytes(1, key, sizeof(*key)));
}

static uint32_t crc_of(const struct index_key *key, const void *bytes, size_t size)
{
	return perch__crc32(perch__crc32(0, key, sizeof(*key)), bytes, size);
}

/* The time of its last use decides which file is removed when there are too many. */
static void mark_as_used(int fd)
{
	struct timespec now;
	struct stat status;

	if (!clock_gettime(CLOCK_REALTIME, &now) && !fstat(fd, &status) &&
	    status.st_mtim.tv_sec + USED_SECONDS < now.tv_sec)
		futimens(fd, NULL);
}

static bool read_head(int fd, const struct index_key *key, struct index_head *head)
{
	return !perch__pread_all(fd, head, sizeof(*head), 0) &&
	       !memcmp(head->magic, magic, sizeof(magic)) && head->order == order_mark &&
	       !memcmp(&head->key, key, sizeof(*key));
}

char *perch__index_read(const struct index_key *key, size_t *size)
{
	char name[INDEX_NAME_SIZE], *bytes = NULL;
	struct index_head head;
	uint64_t file_size;
	int fd;

	make_name(key, name);
	fd = perch__user_cache_open(name, sizeof(head), INDEX_BYTES_MAX, &file_size);
	if (fd < 0)
		return NULL;
	*size = (size_t)file_size - sizeof(head);
	if (read_head(fd, key, &head))
		bytes = perch__malloc(*size + 1);
	if (bytes && (perch__pread_all(fd, bytes, *size, sizeof(head)) ||
		      crc_of(key, bytes, *size) != head.crc)) {
		free(bytes);
		bytes = NULL;
	}
	if (bytes) {
		bytes[*size] = 0;
		mark_as_used(fd);
	}
	close(fd);
	return bytes;
}

void perch__index_write(const struct index_key *key, const void *bytes, size_t size,
			const void *texts, size_t texts_size)
{
	struct index_head head = { .order = order_mark, .key = *key };
	const struct perch__cache_part parts[] = {
		{ &head, sizeof(head) },
		{ bytes, size },
		{ texts, texts_size },
	};
	char name[INDEX_NAME_SIZE];

	if (size > INDEX_BYTES_MAX || texts_size > INDEX_BYTES_MAX ||
	    sizeof(head) + size + texts_size > INDEX_BYTES_MAX)
		return;
	memcpy(head.magic, magic, sizeof(magic));
	head.crc = perch__crc32(crc_of(key, bytes, size), texts, texts_size);
	make_name(key, name);
	if (!perch__user_cache_write(name, parts, PERCH__NR(parts)))
		perch__user_cache_limit(DIRECTORY, LIMIT_BYTES);
}
