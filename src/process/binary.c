/* SPDX-License-Identifier: MIT */
/* Binaries: what the names in MMAP records stand for, each made once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct key {
	const char *path;
	size_t length;
	const uint8_t *build_id;
	size_t size;
};

static bool same_binary(const void *value, const void *wanted)
{
	const struct perch_binary *binary = value;
	const struct key *key = wanted;

	if (strlen(binary->path) != key->length || memcmp(binary->path, key->path, key->length))
		return false;
	/* one path with two build ids is two binaries; an unknown build id fits any */
	return !key->size || !binary->build_id_size ||
	       (binary->build_id_size == key->size && !memcmp(binary->build_id, key->build_id, key->size));
}

static void learn_build_id(struct perch_processes *processes, struct perch_binary *binary)
{
	for (size_t i = 0; i < processes->nr_build_ids; i++)
		if (!strcmp(processes->build_id[i].path, binary->path)) {
			binary->build_id_size = processes->build_id[i].size;
			memcpy(binary->build_id, processes->build_id[i].bytes, sizeof(binary->build_id));
			return;
		}
}

struct perch_binary *perch__binary_named(struct perch_processes *processes, const char *path, size_t length,
					 enum perch_binary_kind kind, const uint8_t *build_id, size_t size)
{
	struct key key = { path, length, build_id, size };
	uint64_t hash = perch__hash_bytes(path, length, 0);
	struct perch_binary *binary = perch__strings_find(&processes->binaries, hash, same_binary, &key);
	char *copy;

	if (!binary) {
		binary = calloc(1, sizeof(*binary));
		copy = strndup(path, length);
		if (!binary || !copy || perch__grow(&processes->binary, processes->nr_binaries, sizeof(binary)) ||
		    perch__strings_add(&processes->binaries, hash, binary)) {
			free(binary);
			free(copy);
			return NULL;
		}
		binary->index = processes->nr_binaries;
		binary->kind = kind;
		binary->path = copy;
		processes->binary[processes->nr_binaries++] = binary;
		if (!size)
			learn_build_id(processes, binary);
	}
	if (size && !binary->build_id_size) {
		binary->build_id_size = size;
		memcpy(binary->build_id, build_id, size);
	}
	return binary;
}

/* Names that stand for no file, as the kernel gives them. */
static const struct {
	const char *name;
	bool prefix;
	enum perch_binary_kind kind;
} special[] = {
	{ "[vdso]", false, PERCH_BINARY_VDSO },
	{ "[vdso32]", false, PERCH_BINARY_ANON },
	{ "[vsyscall]", false, PERCH_BINARY_ANON },
	{ "[heap]", false, PERCH_BINARY_ANON },
	{ "[stack", true, PERCH_BINARY_ANON },
	{ "[uprobes]", false, PERCH_BINARY_ANON },
	{ "/SYSV", true, PERCH_BINARY_ANON },
};

/* Code that a program made itself: shown by its process, as one has to know whose it is. */
static const char *const generated[] = { "//anon", "/dev/zero", "/anon_hugepage", "[anon" };

static struct perch_binary *kernel_binary(struct perch_processes *processes, const struct perch_mmap_record *mmap)
{
	static const char kernel[] = "[kernel.kallsyms]";
	const char *name = mmap->filename.text;
	struct perch_binary *binary;

	if (!strncmp(name, kernel, sizeof(kernel) - 1) || !strncmp(name, "[guest.kernel", 13)) {
		binary = perch__binary_named(processes, kernel, sizeof(kernel) - 1, PERCH_BINARY_KERNEL,
					     mmap->build_id, mmap->build_id_size);
		/* pgoff is the address of the symbol that the name ends in, as it was when recorded */
		if (binary)
			binary->text_start = mmap->page_offset;
		processes->kernel_binary = binary;
	} else {
		binary = perch__binary_named(processes, name, mmap->filename.length, PERCH_BINARY_MODULE,
					     mmap->build_id, mmap->build_id_size);
	}
	if (binary) {
		binary->start = mmap->start;
		binary->length = mmap->length;
	}
	return binary;
}

struct perch_binary *perch__binary_of(struct perch_processes *processes, const struct perch_mmap_record *mmap,
				      bool kernel)
{
	const char *name = mmap->filename.text;
	char made[32];

	if (kernel)
		return kernel_binary(processes, mmap);
	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
		if (special[i].prefix ? !strncmp(name, special[i].name, strlen(special[i].name))
				      : !strcmp(name, special[i].name))
			return perch__binary_named(processes, name, mmap->filename.length, special[i].kind,
						   mmap->build_id, mmap->build_id_size);
	for (size_t i = 0; i < sizeof(generated) / sizeof(*generated); i++)
		if (!strncmp(name, generated[i], strlen(generated[i]))) {
			snprintf(made, sizeof(made), "[JIT] tid %u", mmap->pid);
			return perch__binary_named(processes, made, strlen(made), PERCH_BINARY_ANON, NULL, 0);
		}
	return perch__binary_named(processes, name, mmap->filename.length, PERCH_BINARY_FILE, mmap->build_id,
				   mmap->build_id_size);
}

int perch_processes_build_id(struct perch_processes *processes, const char *path, const uint8_t *bytes, size_t size)
{
	size_t at = processes->nr_build_ids;

	if (!size || size > sizeof(processes->build_id->bytes))
		return -EINVAL;
	if (perch__grow(&processes->build_id, at, sizeof(*processes->build_id)))
		return -ENOMEM;
	processes->build_id[at].path = strdup(path);
	if (!processes->build_id[at].path)
		return -ENOMEM;
	processes->build_id[at].size = size;
	memcpy(processes->build_id[at].bytes, bytes, size);
	processes->nr_build_ids++;
	for (size_t i = 0; i < processes->nr_binaries; i++)
		if (!processes->binary[i]->build_id_size && !strcmp(processes->binary[i]->path, path))
			learn_build_id(processes, processes->binary[i]);
	return 0;
}
