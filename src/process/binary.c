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

static bool same_path(const void *value, const void *wanted)
{
	const struct perch_binary *binary = value;
	const struct key *key = wanted;

	return strlen(binary->path) == key->length && !memcmp(binary->path, key->path, key->length);
}

static bool same_build(const void *value, const void *wanted)
{
	const struct perch_binary *binary = value;
	const struct key *key = wanted;

	return binary->build_id_size == key->size && !memcmp(binary->build_id, key->build_id, key->size) &&
	       same_path(value, wanted);
}

static uint64_t hash_build(const struct key *key)
{
	return perch__hash_bytes(key->build_id, key->size, perch__hash_bytes(key->path, key->length, 2));
}

static int set_build_id(struct perch_processes *processes, struct perch_binary *binary, const struct key *key)
{
	binary->build_id_size = key->size;
	memcpy(binary->build_id, key->build_id, key->size);
	return perch__strings_add(&processes->builds, hash_build(key), binary);
}

static bool tells_path(const void *value, const void *path)
{
	return !strcmp(((const struct told *)value)->path, path);
}

/* The build id that the file's header tells for a path. */
static const struct told *told_of(const struct perch_processes *processes, const char *path)
{
	return perch__strings_find(&processes->told_index, perch__hash_bytes(path, strlen(path), 0), tells_path, path);
}

struct perch_binary *perch__binary_new(struct perch_processes *processes, const char *path, size_t length,
				       enum perch_binary_kind kind)
{
	struct perch_binary *binary = calloc(1, sizeof(*binary));
	char *copy = strndup(path, length);

	if (!binary || !copy || perch__grow(&processes->binary, processes->nr_binaries, sizeof(binary))) {
		free(binary);
		free(copy);
		return NULL;
	}
	binary->index = processes->nr_binaries;
	binary->kind = kind;
	binary->path = copy;
	processes->binary[processes->nr_binaries++] = binary;
	return binary;
}

/*
 * One path with two build ids is two binaries; an unknown build id fits any. So the first binary of each path is known
 * by its path, and every one whose build id is known by both.
 */
struct perch_binary *perch__binary_named(struct perch_processes *processes, const char *path, size_t length,
					 enum perch_binary_kind kind, const uint8_t *build_id, size_t size)
{
	struct key key = { path, length, build_id, size };
	uint64_t hash = perch__hash_bytes(path, length, 0);
	struct perch_binary *binary = NULL, *first;

	if (size)
		binary = perch__strings_find(&processes->builds, hash_build(&key), same_build, &key);
	if (binary)
		return binary;
	first = perch__strings_find(&processes->binaries, hash, same_path, &key);
	if (first && (!size || !first->build_id_size))
		return !size || !set_build_id(processes, first, &key) ? first : NULL;
	binary = perch__binary_new(processes, path, length, kind);
	if (!binary || (!first && perch__strings_add(&processes->binaries, hash, binary)))
		return NULL;
	if (!size) {
		const struct told *told = told_of(processes, binary->path);

		key.build_id = told ? told->bytes : NULL;
		key.size = told ? told->size : 0;
	}
	return !key.size || !set_build_id(processes, binary, &key) ? binary : NULL;
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

/* The first that is told for a path counts. */
int perch_processes_build_id(struct perch_processes *processes, const char *path, const uint8_t *bytes, size_t size)
{
	struct key key = { path, strlen(path), bytes, size };
	uint64_t hash = perch__hash_bytes(path, key.length, 0);
	struct perch_binary *binary;
	struct told *told;

	if (!size || size > sizeof(told->bytes))
		return -EINVAL;
	if (told_of(processes, path))
		return 0;
	told = malloc(sizeof(*told) + key.length + 1);
	if (!told || perch__grow(&processes->told, processes->nr_told, sizeof(told)) ||
	    perch__strings_add(&processes->told_index, hash, told)) {
		free(told);
		return -ENOMEM;
	}
	processes->told[processes->nr_told++] = told;
	told->size = size;
	memcpy(told->bytes, bytes, size);
	memcpy(told->path, path, key.length + 1);
	binary = perch__strings_find(&processes->binaries, hash, same_path, &key);
	return binary && !binary->build_id_size ? set_build_id(processes, binary, &key) : 0;
}
