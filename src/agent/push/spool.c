/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/files/io.h"
#include "base/files/new_file.h"
#include "base/files/trusted_directory.h"
#include "base/no_memory.h"
#include "spool.h"

enum {
	NAMES_MAX = 100000, /* that are looked at in a directory */
	SECOND = 1000000000,
};
static const uint64_t default_bytes = 64 << 20, default_memory = 8 << 20;
static const uint64_t default_age = 3600ull * SECOND;
/* The clock was wrong if a window begins this much later than now. */
static const uint64_t future_max = 600ull * SECOND;

struct item {
	struct agent_spool_entry entry;
	void *bytes; /* of the body, without a directory */
};

struct agent_spool {
	struct agent_spool_options options;
	char *directory;
	int dir; /* -1: in memory */
	struct item *item;
	size_t nr, capacity; /* sorted by begin */
	uint64_t bytes, foreign, taken_over;
};

static uint64_t stored_bytes(const struct agent_spool *spool, const struct agent_spool_entry *entry)
{
	return entry->size + (spool->dir >= 0 ? AGENT_SPOOL_HEAD : 0);
}

static void count_drop(const struct agent_spool *spool, const struct agent_spool_entry *entry,
		       enum agent_drop_reason reason)
{
	if (spool->options.dropped)
		spool->options.dropped(spool->options.context, entry->target, reason, entry->size);
}

/* Returns the index of an entry, nr if it is gone. Entries that are looked for are old. */
static size_t find_item(const struct agent_spool *spool, const struct agent_spool_entry *entry)
{
	size_t i = 0;

	while (i < spool->nr &&
	       (spool->item[i].entry.target != entry->target ||
		spool->item[i].entry.begin != entry->begin ||
		memcmp(spool->item[i].entry.profile_id, entry->profile_id, AGENT_PROFILE_ID)))
		i++;
	return i;
}

/* Inserts an entry by its begin, most often at the end. Returns 0 or -ENOMEM. */
static int insert_entry(struct agent_spool *spool, const struct agent_spool_entry *entry,
			void *bytes)
{
	size_t at;

	if (!PERCH__ARRAY_APPEND(spool->item, spool->nr, spool->capacity))
		return -ENOMEM;
	for (at = spool->nr - 1; at && spool->item[at - 1].entry.begin > entry->begin; at--)
		spool->item[at] = spool->item[at - 1];
	spool->item[at] = (struct item){ *entry, bytes };
	spool->bytes += stored_bytes(spool, entry);
	return 0;
}

static void remove_at(struct agent_spool *spool, size_t at, bool remove_file)
{
	struct item *item = &spool->item[at];
	char name[AGENT_SPOOL_NAME];

	if (spool->dir >= 0 && remove_file) {
		agent_spool_name(&item->entry, name);
		unlinkat(spool->dir, name, 0);
	}
	free(item->bytes);
	spool->bytes -= stored_bytes(spool, &item->entry);
	spool->nr--;
	memmove(item, item + 1, (spool->nr - at) * sizeof(*item));
}

static void drop_at(struct agent_spool *spool, size_t at, enum agent_drop_reason reason,
		    bool remove_file)
{
	struct agent_spool_entry entry = spool->item[at].entry;

	remove_at(spool, at, remove_file);
	count_drop(spool, &entry, reason);
}

void agent_spool_remove(struct agent_spool *spool, const struct agent_spool_entry *entry)
{
	size_t at = find_item(spool, entry);

	if (at < spool->nr)
		remove_at(spool, at, true);
}

void agent_spool_drop(struct agent_spool *spool, const struct agent_spool_entry *entry,
		      enum agent_drop_reason reason)
{
	size_t at = find_item(spool, entry);

	if (at < spool->nr)
		drop_at(spool, at, reason, true);
}

void agent_spool_expire(struct agent_spool *spool, uint64_t now)
{
	for (size_t i = 0; i < spool->nr;) {
		const struct agent_spool_entry *entry = &spool->item[i].entry;
		bool late = entry->begin < now && now - entry->begin > spool->options.age;
		bool early = entry->begin > now && entry->begin - now > future_max;

		if ((late || early) && !entry->sent)
			drop_at(spool, i, AGENT_DROP_AGE, true);
		else
			i++;
	}
}

/* Drops the oldest until there is space. A window whose bytes are all sent waits for its answer. */
static void make_space(struct agent_spool *spool, uint64_t bytes)
{
	for (size_t i = 0; i < spool->nr && (spool->bytes + bytes > spool->options.bytes ||
					     spool->nr >= AGENT_SPOOL_ENTRIES_MAX);) {
		if (spool->item[i].entry.sent)
			i++;
		else
			drop_at(spool, i, AGENT_DROP_SPOOL, true);
	}
}

/* ---- files ---- */

/* Only a regular file of this user, without another name, is one of the spool. */
static bool is_own_file(const struct stat *status)
{
	return S_ISREG(status->st_mode) && status->st_uid == geteuid() && status->st_nlink == 1;
}

static int write_file(struct agent_spool *spool, const struct agent_spool_entry *entry,
		      const void *bytes)
{
	uint8_t head[AGENT_SPOOL_HEAD];
	char name[AGENT_SPOOL_NAME];
	struct perch__new_file file;
	int rc = perch__new_file_make(&file, spool->dir, 0600);

	if (rc)
		return rc;
	agent_spool_make_head(entry, bytes, head);
	rc = perch__write_all(file.fd, head, sizeof(head));
	if (!rc)
		rc = perch__write_all(file.fd, bytes, entry->size);
	if (rc) {
		perch__new_file_discard(&file);
		return rc;
	}
	agent_spool_name(entry, name);
	return perch__new_file_name(&file, name, false);
}

/*
 * Reads a file. *own: it is one of the spool, so it may be removed. Returns its bytes, for free(),
 * or NULL.
 */
static void *read_file(const struct agent_spool *spool, const char *name, size_t *size, bool *own)
{
	int fd =
		openat(spool->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat status;
	void *bytes = NULL;

	*own = fd >= 0 && !fstat(fd, &status) && is_own_file(&status);
	if (*own && status.st_size <= AGENT_SPOOL_HEAD + AGENT_BODY_MAX) {
		*size = (size_t)status.st_size;
		bytes = malloc(*size + 1);
		if (bytes && perch__pread_all(fd, bytes, *size, 0)) {
			free(bytes);
			bytes = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	return bytes;
}

void *agent_spool_load(struct agent_spool *spool, const struct agent_spool_entry *entry)
{
	size_t at = find_item(spool, entry), size = 0;
	struct agent_spool_entry found = *entry;
	char name[AGENT_SPOOL_NAME];
	const void *body = NULL;
	void *bytes;
	bool own = true;

	if (at == spool->nr)
		return NULL;
	if (spool->dir < 0) {
		bytes = malloc(entry->size + 1);
		return bytes ? memcpy(bytes, spool->item[at].bytes, entry->size) : NULL;
	}
	agent_spool_name(entry, name);
	bytes = read_file(spool, name, &size, &own);
	if (bytes)
		body = agent_spool_parse(bytes, size, &found);
	if (!body || found.size != entry->size) {
		free(bytes);
		drop_at(spool, at, AGENT_DROP_DAMAGED, own);
		return NULL;
	}
	/* what was taken over has its flags in the head */
	spool->item[at].entry.gzip = found.gzip;
	return memmove(bytes, body, found.size);
}

int agent_spool_mark(struct agent_spool *spool, const struct agent_spool_entry *entry, bool sent)
{
	size_t at = find_item(spool, entry);
	char from[AGENT_SPOOL_NAME], to[AGENT_SPOOL_NAME];

	if (at == spool->nr)
		return -ENOENT;
	agent_spool_name(&spool->item[at].entry, from);
	spool->item[at].entry.sent = sent;
	agent_spool_name(&spool->item[at].entry, to);
	if (spool->dir < 0 || !strcmp(from, to) || !renameat(spool->dir, from, spool->dir, to))
		return 0;
	spool->item[at].entry.sent = !sent;
	return -errno;
}

/* ---- what an earlier agent has left ---- */

static void take_over_file(struct agent_spool *spool, const char *name)
{
	struct agent_spool_entry entry;
	struct stat status;
	bool temporary = !strncmp(name, ".perch.", 7);

	if (fstatat(spool->dir, name, &status, AT_SYMLINK_NOFOLLOW) || !is_own_file(&status) ||
	    (!temporary && !agent_spool_parse_name(name, &entry))) {
		spool->foreign++;
		return;
	}
	if (temporary) {
		unlinkat(spool->dir, name, 0);
		return;
	}
	entry.size = status.st_size > AGENT_SPOOL_HEAD ? (uint64_t)status.st_size - AGENT_SPOOL_HEAD
						       : 0;
	if (entry.sent || entry.size > AGENT_BODY_MAX) {
		unlinkat(spool->dir, name, 0);
		count_drop(spool, &entry, entry.sent ? AGENT_DROP_UNANSWERED : AGENT_DROP_DAMAGED);
	} else if (insert_entry(spool, &entry, NULL)) {
		spool->foreign++;
	} else {
		spool->taken_over++;
		make_space(spool, 0);
	}
}

static int take_over(struct agent_spool *spool)
{
	int fd = openat(spool->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *name;

	if (!dir) {
		int rc = -errno;

		if (fd >= 0)
			close(fd);
		return rc;
	}
	for (size_t i = 0; i < NAMES_MAX && (name = readdir(dir)); i++)
		if (strcmp(name->d_name, ".") && strcmp(name->d_name, ".."))
			take_over_file(spool, name->d_name);
	closedir(dir);
	return 0;
}

static int open_directory(struct agent_spool *spool, struct perch_error *err)
{
	struct perch__trusted_directory directory = {
		.path = spool->directory,
		.what = "the spool",
		.remedy = "Choose another directory by --spool",
		.create = true,
		.mode = 0700,
	};
	int rc;

	spool->dir = perch__trusted_directory_open(&directory);
	if (spool->dir < 0)
		return perch__trusted_directory_error(&directory, spool->dir, err);
	if (flock(spool->dir, LOCK_EX | LOCK_NB)) {
		rc = errno == EWOULDBLOCK ? EBUSY : errno;
		return perch_error_set(err, rc, PERCH_ERROR_FILE, "the spool %s: %s",
				       directory.path,
				       rc == EBUSY ? "another agent uses it" : strerror(rc));
	}
	rc = take_over(spool);
	return rc ? perch_error_set(err, -rc, PERCH_ERROR_FILE, "the spool %s: %s", directory.path,
				    strerror(-rc))
		  : 0;
}

void agent_spool_limit(struct agent_spool *spool, uint64_t bytes, uint64_t age)
{
	uint64_t most = spool->options.directory ? default_bytes : default_memory;

	spool->options.bytes = bytes ? bytes : most;
	spool->options.age = age ? age : default_age;
	make_space(spool, 0);
}

int agent_spool_open(struct agent_spool **result, const struct agent_spool_options *options,
		     uint64_t now, struct perch_error *err)
{
	struct agent_spool *spool = calloc(1, sizeof(*spool));
	int rc = 0;

	*result = NULL;
	if (!spool)
		return PERCH__NO_MEMORY(err, "for the spool");
	spool->options = *options;
	spool->dir = -1;
	agent_spool_limit(spool, options->bytes, options->age);
	if (options->directory) {
		spool->directory = strdup(options->directory);
		rc = spool->directory ? open_directory(spool, err)
				      : PERCH__NO_MEMORY(err, "for the spool");
	}
	if (rc) {
		agent_spool_close(spool);
		return rc;
	}
	agent_spool_expire(spool, now);
	*result = spool;
	return 0;
}

void agent_spool_close(struct agent_spool *spool)
{
	if (!spool)
		return;
	while (spool->nr)
		remove_at(spool, spool->nr - 1, false);
	if (spool->dir >= 0)
		close(spool->dir);
	free(spool->item);
	free(spool->directory);
	free(spool);
}

const char *agent_spool_directory(const struct agent_spool *spool)
{
	return spool->directory;
}

bool agent_spool_is_in(const struct agent_spool *spool, const char *path)
{
	struct stat own, other;

	if (!path || !spool->directory)
		return !path && !spool->directory;
	return !strcmp(spool->directory, path) ||
	       (!fstat(spool->dir, &own) && !stat(path, &other) && own.st_dev == other.st_dev &&
		own.st_ino == other.st_ino);
}

/* ---- entries ---- */

int agent_spool_add(struct agent_spool *spool, const struct agent_spool_entry *entry,
		    const void *bytes, uint64_t now)
{
	uint64_t stored = stored_bytes(spool, entry);
	void *copy = NULL;
	int rc = 0;

	agent_spool_expire(spool, now);
	if (entry->size > AGENT_BODY_MAX || stored > spool->options.bytes) {
		count_drop(spool, entry, AGENT_DROP_SIZE);
		return -EFBIG;
	}
	make_space(spool, stored);
	if (spool->dir >= 0) {
		rc = write_file(spool, entry, bytes);
	} else {
		copy = malloc(entry->size + 1);
		if (copy)
			memcpy(copy, bytes, entry->size);
		else
			rc = -ENOMEM;
	}
	if (!rc) {
		rc = insert_entry(spool, entry, copy);
		if (rc && spool->dir >= 0) {
			char name[AGENT_SPOOL_NAME];

			agent_spool_name(entry, name);
			unlinkat(spool->dir, name, 0);
		}
	}
	if (rc) {
		free(copy);
		count_drop(spool, entry, AGENT_DROP_STORE);
	}
	return rc;
}

void agent_spool_move(struct agent_spool *from, struct agent_spool *to, uint64_t now)
{
	if (from->dir >= 0)
		return;
	for (size_t i = 0; i < from->nr; i++)
		agent_spool_add(to, &from->item[i].entry, from->item[i].bytes, now);
	while (from->nr)
		remove_at(from, from->nr - 1, false);
}

bool agent_spool_oldest(const struct agent_spool *spool, uint64_t target,
			struct agent_spool_entry *entry)
{
	for (size_t i = 0; i < spool->nr; i++) {
		if (spool->item[i].entry.target != target || spool->item[i].entry.sent)
			continue;
		*entry = spool->item[i].entry;
		return true;
	}
	return false;
}

void agent_spool_stats(const struct agent_spool *spool, struct agent_spool_stats *stats)
{
	*stats = (struct agent_spool_stats){
		.bytes = spool->bytes,
		.entries = spool->nr,
		.oldest = spool->nr ? spool->item[0].entry.begin : 0,
		.foreign = spool->foreign,
		.taken_over = spool->taken_over,
	};
}
