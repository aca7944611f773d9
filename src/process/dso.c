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
	const struct perch_dso *dso = value;
	const struct key *key = wanted;

	return strlen(dso->path) == key->length && !memcmp(dso->path, key->path, key->length);
}

static bool same_build(const void *value, const void *wanted)
{
	const struct perch_dso *dso = value;
	const struct key *key = wanted;

	return dso->build_id_size == key->size &&
	       !memcmp(dso->build_id, key->build_id, key->size) && same_path(value, wanted);
}

static uint64_t hash_build(const struct key *key)
{
	return perch__hash_bytes(key->build_id, key->size,
				 perch__hash_bytes(key->path, key->length, 2));
}

static int set_build_id(struct perch_processes *processes, struct perch_dso *dso,
			const struct key *key)
{
	dso->build_id_size = key->size;
	memcpy(dso->build_id, key->build_id, key->size);
	return perch__strings_add(&processes->builds, hash_build(key), dso);
}

static bool same_header_path(const void *value, const void *path)
{
	return !strcmp(((const struct header_build_id *)value)->path, path);
}

/* The build id that the file's header tells for a path. */
static const struct header_build_id *find_header_build_id(const struct perch_processes *processes,
							  const char *path)
{
	return perch__strings_find(&processes->header_build_id_index,
				   perch__hash_bytes(path, strlen(path), 0), same_header_path,
				   path);
}

struct perch_dso *perch__dso_new(struct perch_processes *processes, const char *path, size_t length,
				 enum perch_dso_kind kind)
{
	struct perch_dso *dso = calloc(1, sizeof(*dso));
	char *copy = strndup(path, length);

	if (!dso || !copy || perch__grow(&processes->dso, processes->nr_dsos, sizeof(dso))) {
		free(dso);
		free(copy);
		return NULL;
	}
	dso->index = processes->nr_dsos;
	dso->kind = kind;
	dso->path = copy;
	processes->dso[processes->nr_dsos++] = dso;
	return dso;
}

/*
 * One path with two build ids is two binaries; an unknown build id fits any. So the first binary of
 * each path is known by its path, and every one whose build id is known by both.
 */
struct perch_dso *perch__dso_named(struct perch_processes *processes, const char *path,
				   size_t length, enum perch_dso_kind kind, const uint8_t *build_id,
				   size_t size)
{
	struct key key = { path, length, build_id, size };
	uint64_t hash = perch__hash_bytes(path, length, 0);
	struct perch_dso *dso = NULL, *first;

	if (size)
		dso = perch__strings_find(&processes->builds, hash_build(&key), same_build, &key);
	if (dso)
		return dso;
	first = perch__strings_find(&processes->dsos, hash, same_path, &key);
	if (first && (!size || !first->build_id_size))
		return !size || !set_build_id(processes, first, &key) ? first : NULL;
	dso = perch__dso_new(processes, path, length, kind);
	if (!dso || (!first && perch__strings_add(&processes->dsos, hash, dso)))
		return NULL;
	if (!size) {
		const struct header_build_id *header = find_header_build_id(processes, dso->path);

		key.build_id = header ? header->bytes : NULL;
		key.size = header ? header->size : 0;
	}
	return !key.size || !set_build_id(processes, dso, &key) ? dso : NULL;
}

/* Names that stand for no file, as the kernel gives them. */
static const struct {
	const char *name;
	bool prefix;
	enum perch_dso_kind kind;
} special_names[] = {
	{ "[vdso]", false, PERCH_DSO_VDSO },	 { "[vdso32]", false, PERCH_DSO_ANON },
	{ "[vsyscall]", false, PERCH_DSO_ANON }, { "[heap]", false, PERCH_DSO_ANON },
	{ "[stack", true, PERCH_DSO_ANON },	 { "[uprobes]", false, PERCH_DSO_ANON },
	{ "/SYSV", true, PERCH_DSO_ANON },
};

/* Code that a program made itself: shown by its process, as one has to know whose it is. */
static const char *const generated_names[] = { "//anon", "/dev/zero", "/anon_hugepage", "[anon" };

static struct perch_dso *kernel_dso(struct perch_processes *processes,
				    const struct perch_mmap_record *mmap)
{
	static const char kernel[] = "[kernel.kallsyms]";
	const char *name = mmap->filename.text;
	struct perch_dso *dso;

	if (!strncmp(name, kernel, sizeof(kernel) - 1) || !strncmp(name, "[guest.kernel", 13)) {
		dso = perch__dso_named(processes, kernel, sizeof(kernel) - 1, PERCH_DSO_KERNEL,
				       mmap->build_id, mmap->build_id_size);
		/* pgoff is the address of the symbol that the name ends in, as it was when recorded
		 */
		if (dso)
			dso->text_start = mmap->page_offset;
		processes->kernel_dso = dso;
	} else {
		dso = perch__dso_named(processes, name, mmap->filename.length, PERCH_DSO_MODULE,
				       mmap->build_id, mmap->build_id_size);
	}
	if (dso) {
		dso->start = mmap->start;
		dso->length = mmap->length;
	}
	return dso;
}

struct perch_dso *perch__dso_of_mapping(struct perch_processes *processes,
					const struct perch_mmap_record *mmap, bool kernel)
{
	const char *name = mmap->filename.text;
	char made[32];

	if (kernel)
		return kernel_dso(processes, mmap);
	for (size_t i = 0; i < sizeof(special_names) / sizeof(*special_names); i++)
		if (special_names[i].prefix
			    ? !strncmp(name, special_names[i].name, strlen(special_names[i].name))
			    : !strcmp(name, special_names[i].name))
			return perch__dso_named(processes, name, mmap->filename.length,
						special_names[i].kind, mmap->build_id,
						mmap->build_id_size);
	for (size_t i = 0; i < sizeof(generated_names) / sizeof(*generated_names); i++)
		if (!strncmp(name, generated_names[i], strlen(generated_names[i]))) {
			snprintf(made, sizeof(made), "[JIT] tid %u", mmap->pid);
			return perch__dso_named(processes, made, strlen(made), PERCH_DSO_ANON, NULL,
						0);
		}
	return perch__dso_named(processes, name, mmap->filename.length, PERCH_DSO_FILE,
				mmap->build_id, mmap->build_id_size);
}

/* The first that is told for a path counts. */
int perch_processes_add_build_id(struct perch_processes *processes, const char *path,
				 const uint8_t *bytes, size_t size)
{
	struct key key = { path, strlen(path), bytes, size };
	uint64_t hash = perch__hash_bytes(path, key.length, 0);
	struct perch_dso *dso;
	struct header_build_id *header;

	if (!size || size > sizeof(header->bytes))
		return -EINVAL;
	if (find_header_build_id(processes, path))
		return 0;
	header = malloc(sizeof(*header) + key.length + 1);
	if (!header ||
	    perch__grow(&processes->header_build_id, processes->nr_header_build_ids,
			sizeof(header)) ||
	    perch__strings_add(&processes->header_build_id_index, hash, header)) {
		free(header);
		return -ENOMEM;
	}
	processes->header_build_id[processes->nr_header_build_ids++] = header;
	header->size = size;
	memcpy(header->bytes, bytes, size);
	memcpy(header->path, path, key.length + 1);
	dso = perch__strings_find(&processes->dsos, hash, same_path, &key);
	return dso && !dso->build_id_size ? set_build_id(processes, dso, &key) : 0;
}
