/* SPDX-License-Identifier: MIT */
/* DSOs: each path and build id of the MMAP records has one. */
#include <stdio.h>

#include "internal.h"

struct key {
	const char *path;
	size_t length;
	const uint8_t *build_id;
	size_t size;
};

static bool same_path(const void *items, uint32_t index, const void *wanted)
{
	const struct perch_dso *dso = ((struct perch_dso *const *)items)[index];
	const struct key *key = wanted;

	return strlen(dso->path) == key->length && !memcmp(dso->path, key->path, key->length);
}

static bool same_build_id(const void *items, uint32_t index, const void *wanted)
{
	const struct perch_dso *dso = ((struct perch_dso *const *)items)[index];
	const struct key *key = wanted;

	return dso->build_id_size == key->size &&
	       !memcmp(dso->build_id, key->build_id, key->size) && same_path(items, index, wanted);
}

static uint64_t hash_path(const struct perch_processes *processes, const struct key *key)
{
	return perch__hash_bytes(processes->seed, key->path, key->length);
}

static uint64_t hash_build_id(const struct perch_processes *processes, const struct key *key)
{
	return perch__hash_bytes(hash_path(processes, key), key->build_id, key->size);
}

static struct perch_dso *find_by_path(const struct perch_processes *processes,
				      const struct key *key)
{
	uint32_t index = perch__hash_find(&processes->by_path, hash_path(processes, key), same_path,
					  processes->dso, key);

	return index == PERCH__HASH_NONE ? NULL : processes->dso[index];
}

static struct perch_dso *find_by_build_id(const struct perch_processes *processes,
					  const struct key *key)
{
	uint32_t index = perch__hash_find(&processes->by_build_id, hash_build_id(processes, key),
					  same_build_id, processes->dso, key);

	return index == PERCH__HASH_NONE ? NULL : processes->dso[index];
}

static int set_build_id(struct perch_processes *processes, struct perch_dso *dso,
			const struct key *key)
{
	dso->build_id_size = key->size;
	memcpy(dso->build_id, key->build_id, key->size);
	return perch__hash_add(&processes->by_build_id, hash_build_id(processes, key), dso->index);
}

static bool same_header_path(const void *items, uint32_t index, const void *path)
{
	return !strcmp(((struct header_build_id *const *)items)[index]->path, path);
}

/* Returns the build id that the file's header has for a path, or NULL. */
static const struct header_build_id *find_header_build_id(const struct perch_processes *processes,
							  const char *path)
{
	uint64_t hash = perch__hash_text(processes->seed, path);
	uint32_t index = perch__hash_find(&processes->header_paths, hash, same_header_path,
					  processes->header_build_id, path);

	return index == PERCH__HASH_NONE ? NULL : processes->header_build_id[index];
}

struct perch_dso *perch__dso_new(struct perch_processes *processes, const char *path, size_t length,
				 enum perch_dso_kind kind)
{
	struct perch_dso *dso = calloc(1, sizeof(*dso));
	char *copy = strndup(path, length);

	if (!dso || !copy || PERCH__ARRAY_RESERVE_BY_NR(processes->dso, processes->nr_dsos, 1)) {
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
 * A path with two build ids is two DSOs. A DSO without a build id matches any. So the first DSO of
 * each path is found by path, and every DSO with a build id is found by both.
 */
struct perch_dso *perch__dso_named(struct perch_processes *processes, const char *path,
				   size_t length, enum perch_dso_kind kind, const uint8_t *build_id,
				   size_t size)
{
	struct key key = { path, length, build_id, size };
	struct perch_dso *dso = size ? find_by_build_id(processes, &key) : NULL, *first;

	if (dso)
		return dso;
	first = find_by_path(processes, &key);
	if (first && (!size || !first->build_id_size))
		return !size || !set_build_id(processes, first, &key) ? first : NULL;
	dso = perch__dso_new(processes, path, length, kind);
	if (!dso || (!first &&
		     perch__hash_add(&processes->by_path, hash_path(processes, &key), dso->index)))
		return NULL;
	if (!size) {
		const struct header_build_id *header = find_header_build_id(processes, dso->path);

		key.build_id = header ? header->bytes : NULL;
		key.size = header ? header->size : 0;
	}
	return !key.size || !set_build_id(processes, dso, &key) ? dso : NULL;
}

/* Names that the kernel uses for mappings without a file. */
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

/* Memory for generated code (JIT). Its DSO has the path of the process's perf map, as in perf,
 * because addresses of two processes have nothing in common. */
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
		/* pgoff is the recorded address of the symbol at the end of the name */
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
	char jit_name[32];

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
			snprintf(jit_name, sizeof(jit_name), "/tmp/perf-%u.map", mmap->pid);
			return perch__dso_named(processes, jit_name, strlen(jit_name),
						PERCH_DSO_ANON, NULL, 0);
		}
	return perch__dso_named(processes, name, mmap->filename.length, PERCH_DSO_FILE,
				mmap->build_id, mmap->build_id_size);
}

/*
 * A recorder that finds the ELF file of the kernel stores its path with the build id. The maps of
 * the kernel are named [kernel.kallsyms] in any case.
 */
static int set_kernel_image(struct perch_processes *processes, const struct header_build_id *header)
{
	const char *slash = strrchr(header->path, '/');
	struct perch_dso *dso = processes->kernel_dso;

	/* "/vmlinux" or "/vmlinux-6.1.0"; programs have other names, such as vmlinux2elf */
	if (!slash || strncmp(slash, "/vmlinux", 8) || (slash[8] && slash[8] != '-') ||
	    dso->kernel_image)
		return 0;
	dso->kernel_image = header->path;
	return dso->build_id_size ? 0
				  : set_build_id(processes, dso,
						 &(struct key){ dso->path, strlen(dso->path),
								header->bytes, header->size });
}

/* If a path has several build ids, the first one counts. */
int perch_processes_add_build_id(struct perch_processes *processes, const char *path,
				 const uint8_t *bytes, size_t size)
{
	struct key key = { path, strlen(path), bytes, size };
	struct header_build_id *header;
	struct perch_dso *dso;

	if (!size || size > sizeof(header->bytes))
		return -EINVAL;
	if (find_header_build_id(processes, path))
		return 0;
	header = malloc(sizeof(*header) + key.length + 1);
	if (!header ||
	    PERCH__ARRAY_RESERVE_BY_NR(processes->header_build_id, processes->nr_header_build_ids,
				       1) ||
	    perch__hash_add(&processes->header_paths, perch__hash_text(processes->seed, path),
			    processes->nr_header_build_ids)) {
		free(header);
		return -ENOMEM;
	}
	processes->header_build_id[processes->nr_header_build_ids++] = header;
	header->size = size;
	memcpy(header->bytes, bytes, size);
	memcpy(header->path, path, key.length + 1);
	dso = find_by_path(processes, &key);
	if (dso && !dso->build_id_size && set_build_id(processes, dso, &key))
		return -ENOMEM;
	return set_kernel_image(processes, header);
}
