/* SPDX-License-Identifier: MIT */
/*
 * DSOs. Two mappings show the same file if they have the same path and the same build id, or the
 * same path, device and inode. With only one of both bits on each side, they are different files:
 * the path alone proves nothing, since a container has other files.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "internal.h"

struct dso_key {
	const char *path;
	size_t length;
	const uint8_t *build_id;
	size_t size;
	const struct perch_mmap_record *mmap; /* has device and inode; NULL if they are unknown */
};

static bool same_path(const void *items, uint32_t index, const void *wanted)
{
	const struct perch_dso *dso = ((struct perch_dso *const *)items)[index];
	const struct dso_key *key = wanted;

	return strlen(dso->path) == key->length && !memcmp(dso->path, key->path, key->length);
}

static bool same_build_id(const void *items, uint32_t index, const void *wanted)
{
	const struct perch_dso *dso = ((struct perch_dso *const *)items)[index];
	const struct dso_key *key = wanted;

	return dso->build_id_size == key->size &&
	       !memcmp(dso->build_id, key->build_id, key->size) && same_path(items, index, wanted);
}

/* Records that were made from /proc have no generation. */
static bool same_file(const void *items, uint32_t index, const void *wanted)
{
	const struct perch_dso *dso = ((struct perch_dso *const *)items)[index];
	const struct dso_key *key = wanted;
	const struct perch_mmap_record *mmap = key->mmap;

	return dso->inode == mmap->inode && dso->device_major == mmap->major &&
	       dso->device_minor == mmap->minor &&
	       (dso->inode_generation == mmap->inode_generation || !dso->inode_generation ||
		!mmap->inode_generation) &&
	       same_path(items, index, wanted);
}

static uint64_t hash_path(const struct perch_processes *processes, const struct dso_key *key)
{
	return perch__hash_bytes(processes->seed, key->path, key->length);
}

static uint64_t hash_build_id(const struct perch_processes *processes, const struct dso_key *key)
{
	return perch__hash_bytes(hash_path(processes, key), key->build_id, key->size);
}

static uint64_t hash_file(const struct perch_processes *processes, const struct dso_key *key)
{
	uint64_t device = (uint64_t)key->mmap->major << 32 | key->mmap->minor;

	return perch__hash_pair(hash_path(processes, key), device, key->mmap->inode);
}

static struct perch_dso *dso_at(const struct perch_processes *processes, uint32_t index)
{
	return index == PERCH__HASH_NONE ? NULL : processes->dso[index];
}

static struct perch_dso *find_by_path(const struct perch_processes *processes,
				      const struct dso_key *key)
{
	return dso_at(processes, perch__hash_find(&processes->by_path, hash_path(processes, key),
						  same_path, processes->dso, key));
}

static struct perch_dso *find_by_build_id(const struct perch_processes *processes,
					  const struct dso_key *key)
{
	return dso_at(processes,
		      perch__hash_find(&processes->by_build_id, hash_build_id(processes, key),
				       same_build_id, processes->dso, key));
}

static struct perch_dso *find_by_file(const struct perch_processes *processes,
				      const struct dso_key *key)
{
	return dso_at(processes, perch__hash_find(&processes->by_file, hash_file(processes, key),
						  same_file, processes->dso, key));
}

static int set_build_id(struct perch_processes *processes, struct perch_dso *dso,
			const struct dso_key *key)
{
	dso->build_id_size = key->size;
	memcpy(dso->build_id, key->build_id, key->size);
	return perch__hash_add(&processes->by_build_id, hash_build_id(processes, key), dso->index);
}

static int set_file(struct perch_processes *processes, struct perch_dso *dso,
		    const struct dso_key *key)
{
	dso->device_major = key->mmap->major;
	dso->device_minor = key->mmap->minor;
	dso->inode = key->mmap->inode;
	dso->inode_generation = key->mmap->inode_generation;
	return perch__hash_add(&processes->by_file, hash_file(processes, key), dso->index);
}

static bool same_header_path(const void *items, uint32_t index, const void *path)
{
	return !strcmp(((struct header_build_id *const *)items)[index]->path, path);
}

static struct header_build_id *find_any_header_build_id(const struct perch_processes *processes,
							const char *path)
{
	uint64_t hash = perch__hash_text(processes->seed, path);
	uint32_t index = perch__hash_find(&processes->header_paths, hash, same_header_path,
					  processes->header_build_id, path);

	return index == PERCH__HASH_NONE ? NULL : processes->header_build_id[index];
}

/* Returns the only build id that the file's header has for a path, or NULL. */
static const struct header_build_id *find_header_build_id(const struct perch_processes *processes,
							  const char *path)
{
	const struct header_build_id *header = find_any_header_build_id(processes, path);

	return header && !header->ambiguous ? header : NULL;
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

/* Adds what the key has to a DSO that lacks it. Returns the DSO, or NULL if out of memory. */
static struct perch_dso *complete_dso(struct perch_processes *processes, struct perch_dso *dso,
				      const struct dso_key *key)
{
	if (key->size && !dso->build_id_size && set_build_id(processes, dso, key))
		return NULL;
	if (key->mmap && !dso->inode && set_file(processes, dso, key))
		return NULL;
	if (key->mmap && !dso->inode_generation)
		dso->inode_generation = key->mmap->inode_generation;
	return dso;
}

/* Adds a DSO. first: the DSO of the same path, or NULL. */
static struct perch_dso *add_dso(struct perch_processes *processes, struct perch_dso *first,
				 const struct dso_key *key, enum perch_dso_kind kind)
{
	struct perch_dso *dso = perch__dso_new(processes, key->path, key->length, kind);

	if (!dso ||
	    (!first && perch__hash_add(&processes->by_path, hash_path(processes, key), dso->index)))
		return NULL;
	if (first)
		first->shared_path = dso->shared_path = true;
	return complete_dso(processes, dso, key);
}

/* Changes the index of a DSO. PERCH__HASH_NONE: no lookup finds it any more. */
static void set_index(struct perch_processes *processes, struct perch_dso *dso, uint32_t index)
{
	const struct perch_mmap_record mmap = { .major = dso->device_major,
						.minor = dso->device_minor,
						.inode = dso->inode };
	const struct dso_key key = { dso->path, strlen(dso->path), dso->build_id,
				     dso->build_id_size, &mmap };
	const struct {
		struct perch__hash_table *table;
		uint64_t hash;
	} found[] = {
		{ &processes->by_path, hash_path(processes, &key) },
		{ &processes->by_build_id, hash_build_id(processes, &key) },
		{ &processes->by_file, hash_file(processes, &key) },
	};

	for (size_t i = 0; i < PERCH__NR(found); i++)
		if (index == PERCH__HASH_NONE)
			perch__hash_remove(found[i].table, found[i].hash, dso->index);
		else
			perch__hash_move(found[i].table, found[i].hash, dso->index, index);
	dso->index = index;
}

/* If the first DSO of a path was freed, the next one is the first. */
static void set_first_of_path(struct perch_processes *processes, const struct perch_dso *dso)
{
	const struct dso_key key = { .path = dso->path, .length = strlen(dso->path) };

	/* it cannot fail: the table had one more entry */
	if (dso->shared_path && !find_by_path(processes, &key))
		perch__hash_add(&processes->by_path, hash_path(processes, &key), dso->index);
}

void perch__dso_free(struct perch_dso *dso)
{
	free((char *)dso->path);
	free(dso);
}

size_t perch__dsos_free_unused(struct perch_processes *processes, const bool *used)
{
	size_t old = processes->nr_dsos;
	uint32_t nr = 0;

	for (size_t i = 0; i < old; i++) {
		struct perch_dso *dso = processes->dso[i];

		if (used[i]) {
			if (nr < i)
				set_index(processes, dso, nr);
			processes->dso[nr++] = dso;
		} else {
			set_index(processes, dso, PERCH__HASH_NONE);
			perch__dso_free(dso);
		}
	}
	processes->nr_dsos = nr;
	for (size_t i = 0; i < nr; i++)
		set_first_of_path(processes, processes->dso[i]);
	return old - nr;
}

/* The build id of the header is that of the path: it may not be that of a second file. */
static struct perch_dso *find_with_header(struct perch_processes *processes,
					  struct perch_dso *first, const struct dso_key *key,
					  enum perch_dso_kind kind)
{
	char *path = strndup(key->path, key->length);
	const struct header_build_id *header = path ? find_header_build_id(processes, path) : NULL;
	struct dso_key with = *key;
	struct perch_dso *dso = NULL;

	if (!path)
		return NULL;
	free(path);
	if (header) {
		with.build_id = header->bytes;
		with.size = header->size;
		dso = find_by_build_id(processes, &with);
	}
	if (!dso && first && !first->build_id_size) {
		dso = first;
		dso->build_id_of_path |= header && !dso->inode;
	}
	if (dso && !(key->mmap && dso->inode))
		return complete_dso(processes, dso, &with);
	dso = add_dso(processes, first, &with, kind);
	if (dso)
		dso->build_id_of_path = header;
	return dso;
}

/*
 * Records without build id, device and inode match any DSO of the path. The first DSO of each path
 * is found by the path, all with a build id or an inode by these.
 */
static struct perch_dso *find_or_add(struct perch_processes *processes, const struct dso_key *key,
				     enum perch_dso_kind kind)
{
	struct perch_dso *dso = NULL, *first;

	if (key->size)
		dso = find_by_build_id(processes, key);
	else if (key->mmap)
		dso = find_by_file(processes, key);
	if (dso)
		return complete_dso(processes, dso, key);
	first = find_by_path(processes, key);
	if (!key->size && !key->mmap && first)
		return first;
	if (!key->size)
		return find_with_header(processes, first, key, kind);
	if (first && !first->build_id_size && !first->inode)
		return complete_dso(processes, first, key);
	return add_dso(processes, first, key, kind);
}

struct perch_dso *perch__dso_named(struct perch_processes *processes, const char *path,
				   size_t length, enum perch_dso_kind kind, const uint8_t *build_id,
				   size_t size)
{
	const struct dso_key key = { path, length, build_id, size, NULL };

	return find_or_add(processes, &key, kind);
}

/* A protection with other bits is the mode of the file, from perf inject --jit. */
static bool is_data(const struct perch_record *record)
{
	const uint32_t bits = PROT_READ | PROT_WRITE | PROT_EXEC;
	uint32_t protection = record->mmap.protection;

	return record->misc & PERCH_MISC_MMAP_DATA ||
	       (protection && !(protection & ~bits) && !(protection & PROT_EXEC));
}

/* Not by the protection: old kernels record none, and perf inject --jit the mode of the file. */
static void set_code_size(struct perch_dso *dso, const struct perch_record *record)
{
	const struct perch_mmap_record *mmap = &record->mmap;

	if (!is_data(record) && (!dso->has_code || mmap->page_offset < dso->code_offset)) {
		dso->has_code = true;
		dso->code_offset = mmap->page_offset;
	}
	/* MMAP records may be of data, too */
	if (!is_data(record) && mmap->protection & PROT_EXEC) {
		dso->code_map_start = mmap->start;
		dso->code_map_offset = mmap->page_offset;
		dso->code_map_size = mmap->length;
	}
	if (!(record->misc & PERCH_MISC_MMAP_DATA))
		dso->code_size = mmap->length;
}

/* A mapping of a file has the file's build id, or device and inode, or in old recordings neither.
 */
static struct perch_dso *file_dso(struct perch_processes *processes,
				  const struct perch_record *record)
{
	const struct perch_mmap_record *mmap = &record->mmap;
	const struct dso_key key = { mmap->filename.text, mmap->filename.length, mmap->build_id,
				     mmap->build_id_size,
				     mmap->inode && !mmap->build_id_size ? mmap : NULL };
	struct perch_dso *dso = find_or_add(processes, &key, PERCH_DSO_FILE);

	if (dso) {
		dso->pid = mmap->pid;
		dso->map_start = mmap->start;
		dso->map_end = mmap->start + mmap->length;
		set_code_size(dso, record);
	}
	return dso;
}

/* Names that the kernel uses for mappings without a file. */
struct special_name {
	const char *name;
	bool prefix;
	enum perch_dso_kind kind;
};

static const struct special_name special_names[] = {
	{ "[vdso]", false, PERCH_DSO_VDSO },	 { "[vdso32]", false, PERCH_DSO_ANON },
	{ "[vsyscall]", false, PERCH_DSO_ANON }, { "[heap]", false, PERCH_DSO_ANON },
	{ "[stack", true, PERCH_DSO_ANON },	 { "[uprobes]", false, PERCH_DSO_ANON },
	{ "/SYSV", true, PERCH_DSO_ANON },
};

static const struct special_name *find_special(const char *name)
{
	for (size_t i = 0; i < PERCH__NR(special_names); i++) {
		const struct special_name *special = &special_names[i];

		if (special->prefix ? !strncmp(name, special->name, strlen(special->name))
				    : !strcmp(name, special->name))
			return special;
	}
	return NULL;
}

/* names: ends with NULL. */
static bool begins_with_one(const char *name, const char *const *names)
{
	for (size_t i = 0; names[i]; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Memory without a file. Only the kernel gives these names, and some recorders none. */
static bool is_anonymous(const struct perch_mmap_record *mmap)
{
	static const char *const names[] = { "//anon", "/dev/zero", "/anon_hugepage", "[anon",
					     NULL };

	return !mmap->filename.length || begins_with_one(mmap->filename.text, names);
}

/*
 * Some compilers map a file in memory or in a temporary directory twice, to write to one mapping
 * and run the other, and some share one with other processes, which needs shared mappings. Nobody
 * else opens the file: it is deleted, or in /dev/shm. ELF files have private mappings, and many
 * have a build id.
 */
static bool is_shared_memory(const struct perch_mmap_record *mmap)
{
	static const char deleted[] = " (deleted)";
	const char *name = mmap->filename.text;
	size_t length = mmap->filename.length;

	if (mmap->build_id_size || mmap->flags & MAP_PRIVATE)
		return false;
	if (!strncmp(name, "/memfd:", 7))
		return true;
	/* old records have no flags */
	return mmap->flags & MAP_SHARED &&
	       (!strncmp(name, "/dev/shm/", 9) ||
		(length >= sizeof(deleted) &&
		 !strcmp(name + length - (sizeof(deleted) - 1), deleted)));
}

/*
 * Executable memory without a file is for generated code (JIT): its DSO has the path of the
 * process's perf map, as in perf, because addresses of two processes have nothing in common.
 */
static bool is_generated(const struct perch_record *record)
{
	static const char *const names[] = { "[heap]", "[stack", "/SYSV", NULL };
	const struct perch_mmap_record *mmap = &record->mmap;

	return !is_data(record) && (is_anonymous(mmap) || is_shared_memory(mmap) ||
				    begins_with_one(mmap->filename.text, names));
}

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
		processes->unmapped.kernel_dso = dso;
	} else if (!*name) {
		return processes->unmapped.unknown;
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

/* The vdso of 64-bit processes is near their stack. The other one has other functions at the same
 * offsets, so it is another DSO, with the name that perf has for it. */
static const char vdso_of_32_bits[] = "[vdso32]";

static bool is_vdso_of_32_bits(const struct perch_mmap_record *mmap)
{
	return !strcmp(mmap->filename.text, "[vdso]") && mmap->start < UINT32_MAX;
}

struct perch_dso *perch__dso_of_mapping(struct perch_processes *processes,
					const struct perch_record *record, bool kernel)
{
	const struct perch_mmap_record *mmap = &record->mmap;
	const char *name = mmap->filename.text;
	const struct special_name *special;
	struct perch_dso *dso;
	char jit_name[32];

	if (kernel)
		return kernel_dso(processes, mmap);
	if (is_vdso_of_32_bits(mmap))
		return perch__dso_named(processes, vdso_of_32_bits, strlen(vdso_of_32_bits),
					PERCH_DSO_VDSO, mmap->build_id, mmap->build_id_size);
	if (is_generated(record)) {
		snprintf(jit_name, sizeof(jit_name), "/tmp/perf-%u.map", mmap->pid);
		return perch__dso_named(processes, jit_name, strlen(jit_name), PERCH_DSO_ANON, NULL,
					0);
	}
	special = find_special(name);
	if (special) {
		dso = perch__dso_named(processes, name, mmap->filename.length, special->kind,
				       mmap->build_id, mmap->build_id_size);
		if (dso)
			set_code_size(dso, record);
		return dso;
	}
	if (!*name)
		name = "//anon";
	if (is_anonymous(mmap))
		return perch__dso_named(processes, name, strlen(name), PERCH_DSO_ANON, NULL, 0);
	return file_dso(processes, record);
}

/*
 * A recorder that finds the ELF file of the kernel stores its path with the build id. The maps of
 * the kernel are named [kernel.kallsyms] in any case.
 */
static int set_kernel_image(struct perch_processes *processes, const struct header_build_id *header)
{
	const char *slash = strrchr(header->path, '/');
	struct perch_dso *dso = processes->unmapped.kernel_dso;

	/* "/vmlinux" or "/vmlinux-6.1.0"; programs have other names, such as vmlinux2elf */
	if (!slash || strncmp(slash, "/vmlinux", 8) || (slash[8] && slash[8] != '-') ||
	    dso->kernel_image)
		return 0;
	dso->kernel_image = header->path;
	return dso->build_id_size
		       ? 0
		       : set_build_id(processes, dso,
				      &(struct dso_key){ dso->path, strlen(dso->path),
							 header->bytes, header->size, NULL });
}

int perch_processes_add_build_id(struct perch_processes *processes, const char *path,
				 const uint8_t *bytes, size_t size)
{
	const struct dso_key key = { path, strlen(path), bytes, size, NULL };
	struct header_build_id *header = find_any_header_build_id(processes, path);
	struct perch_dso *dso;

	if (!size || size > sizeof(header->bytes))
		return -EINVAL;
	if (header) {
		header->ambiguous |= header->size != size || memcmp(header->bytes, bytes, size);
		return 0;
	}
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
	header->ambiguous = false;
	header->size = size;
	memcpy(header->bytes, bytes, size);
	memcpy(header->path, path, key.length + 1);
	dso = find_by_path(processes, &key);
	if (dso && !dso->build_id_size && !dso->shared_path) {
		dso->build_id_of_path = true;
		if (set_build_id(processes, dso, &key))
			return -ENOMEM;
	}
	return set_kernel_image(processes, header);
}
