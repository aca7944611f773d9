/* SPDX-License-Identifier: MIT */
/*
 * The functions of /proc/kallsyms in a file: the kernel needs longer to print its symbols than a
 * small report needs for everything else.
 *
 * A cache is used only by the user who wrote it, on the same boot, with the same modules at the
 * same addresses, and if /proc/kallsyms begins with the same bytes: if the kernel hides addresses
 * now, it does not. Generated code of the kernel (BPF programs, trampolines) is left out: it
 * changes at any time, and recordings have records of it.
 *
 * The functions of the kernel are sorted by address and in blocks. A report reads the blocks that
 * have its functions, because there are more than 100,000. Of a block that is damaged, none is
 * used.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/files/decompress.h"
#include "base/files/io.h"
#include "base/files/user_cache.h"
#include "base/nr.h"
#include "base/search.h"
#include "kallsyms.h"

enum {
	BOOT_ID_SIZE = 36,
	FIRST_BYTES = 4096,
	MAX_CACHE = 1 << 26,
	BLOCK = 128, /* functions */
};

static const char magic[8] = { 'P', 'E', 'R', 'C', 'H', 'K', 'S', '2' };

/*
 * The beginning of the file. The index, the functions, their names and the lines of modules, as in
 * /proc/kallsyms, follow.
 */
struct kallsyms_head {
	char magic[sizeof(magic)];
	char boot[BOOT_ID_SIZE];
	uint32_t crc;	  /* of this head, with 0 here, and of the index */
	uint64_t modules; /* hash of their names, sizes and addresses */
	uint64_t text_start, stext;
	uint32_t nr; /* functions */
	uint32_t names_size, lines_size;
	uint32_t lines_crc;
	uint64_t first_size;
	char first[FIRST_BYTES]; /* of /proc/kallsyms */
};

/* A block. The index has one more, which is the end of the last block. */
struct index {
	uint64_t start; /* of its first function */
	uint32_t names; /* offset of its first name */
	uint32_t crc;	/* of its functions and names */
};

struct function {
	uint64_t start;
	uint32_t name; /* offset from the first name of the block */
	uint32_t binding;
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
static bool describe_kernel(struct kallsyms_head *head)
{
	*head = (struct kallsyms_head){ 0 };
	memcpy(head->magic, magic, sizeof(magic));
	if (read_file("/proc/sys/kernel/random/boot_id", head->boot, sizeof(head->boot)) !=
	    sizeof(head->boot))
		return false;
	head->first_size = read_file("/proc/kallsyms", head->first, sizeof(head->first));
	head->modules = hash_modules();
	return head->first_size;
}

static bool same_kernel(const struct kallsyms_head *a, const struct kallsyms_head *b)
{
	return !memcmp(a->magic, b->magic, sizeof(a->magic)) &&
	       !memcmp(a->boot, b->boot, sizeof(a->boot)) && a->modules == b->modules &&
	       a->first_size == b->first_size && !memcmp(a->first, b->first, sizeof(a->first));
}

/* ---- the file ---- */

struct kallsyms_cache {
	int fd;
	struct kallsyms_head head;
	uint64_t shift; /* recorded addresses minus those of the file */
	bool has_shift;
	size_t nr_blocks;
	struct index *index;
	struct table **block; /* NULL: not read */
};

static uint64_t offset_of_functions(const struct kallsyms_cache *cache)
{
	return sizeof(cache->head) + (cache->nr_blocks + 1) * sizeof(*cache->index);
}

static uint64_t offset_of_names(const struct kallsyms_cache *cache)
{
	return offset_of_functions(cache) + cache->head.nr * sizeof(struct function);
}

static uint64_t offset_of_lines(const struct kallsyms_cache *cache)
{
	return offset_of_names(cache) + cache->head.names_size;
}

static uint32_t crc_of_start(const struct kallsyms_head *head, const struct index *index,
			     size_t nr_blocks)
{
	struct kallsyms_head copy = *head;
	uint32_t crc;

	copy.crc = 0;
	crc = perch__crc32(0, &copy, sizeof(copy));
	return perch__crc32(crc, index, (nr_blocks + 1) * sizeof(*index));
}

/* Reads the head and the index. Returns false if they are not those of this moment. */
static bool read_start(struct kallsyms_cache *cache, uint64_t file_size)
{
	struct kallsyms_head *head = &cache->head, now;
	size_t nr;

	if (!describe_kernel(&now) || perch__pread_all(cache->fd, head, sizeof(*head), 0) ||
	    !same_kernel(&now, head) || !head->nr)
		return false;
	cache->nr_blocks = (head->nr + (size_t)BLOCK - 1) / BLOCK;
	nr = cache->nr_blocks + 1;
	if (offset_of_lines(cache) + head->lines_size != file_size)
		return false;
	cache->index = perch__calloc(nr, sizeof(*cache->index));
	cache->block = perch__calloc(nr, sizeof(struct table *));
	if (!cache->index || !cache->block ||
	    perch__pread_all(cache->fd, cache->index, nr * sizeof(*cache->index), sizeof(*head)) ||
	    crc_of_start(head, cache->index, cache->nr_blocks) != head->crc ||
	    cache->index[nr - 1].names != head->names_size)
		return false;
	for (size_t i = 1; i < nr; i++)
		if (cache->index[i].start <= cache->index[i - 1].start ||
		    cache->index[i].names <= cache->index[i - 1].names)
			return false;
	return true;
}

struct kallsyms_cache *perch__kallsyms_cache_open(uint64_t *text_start, uint64_t *stext)
{
	struct kallsyms_cache *cache;
	uint64_t size = 0;

	cache = perch__calloc(1, sizeof(*cache));
	if (!cache)
		return NULL;
	cache->fd =
		perch__user_cache_open("kallsyms", sizeof(struct kallsyms_head), MAX_CACHE, &size);
	if (cache->fd < 0 || !read_start(cache, size)) {
		perch__kallsyms_cache_close(cache);
		return NULL;
	}
	*text_start = cache->head.text_start;
	*stext = cache->head.stext;
	return cache;
}

bool perch__kallsyms_cache_set_shift(struct kallsyms_cache *cache, uint64_t shift)
{
	if (!cache->has_shift)
		cache->shift = shift;
	cache->has_shift = true;
	return cache->shift == shift;
}

void perch__kallsyms_cache_close(struct kallsyms_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; cache->block && i < cache->nr_blocks; i++) {
		if (cache->block[i])
			perch__table_free(cache->block[i]);
		free(cache->block[i]);
	}
	if (cache->fd >= 0)
		close(cache->fd);
	free(cache->block);
	free(cache->index);
	free(cache);
}

char *perch__kallsyms_cache_modules(const struct kallsyms_cache *cache, size_t *size)
{
	char *lines = perch__malloc(cache->head.lines_size + (size_t)1);

	*size = cache->head.lines_size;
	if (lines && !perch__pread_all(cache->fd, lines, *size, offset_of_lines(cache)) &&
	    perch__crc32(0, lines, *size) == cache->head.lines_crc) {
		lines[*size] = 0;
		return lines;
	}
	free(lines);
	return NULL;
}

/* ---- blocks ---- */

static size_t functions_in(const struct kallsyms_cache *cache, size_t block)
{
	size_t left = cache->head.nr - block * BLOCK;

	return left < BLOCK ? left : BLOCK;
}

/* Fills a table from the functions of a block. Returns false if they are damaged. */
static bool fill_block(struct table *table, const struct function *function, size_t nr,
		       const struct index *index, uint64_t shift)
{
	for (size_t i = 0; i < nr; i++) {
		struct entry *entry = perch__table_add(table);
		uint64_t end = i + 1 < nr ? function[i + 1].start : index[1].start;

		if (!entry || function[i].name >= table->blob[0].size || function[i].start >= end)
			return false;
		*entry = (struct entry){ .start = function[i].start + shift,
					 .end = end + shift,
					 .name = function[i].name,
					 .parent = NO_ENTRY,
					 .symbol = NO_ENTRY,
					 .binding = (uint8_t)function[i].binding,
					 .type = STT_FUNC };
	}
	return function[0].start == index[0].start;
}

static bool read_block(const struct kallsyms_cache *cache, size_t block, struct table *table)
{
	const struct index *index = &cache->index[block];
	size_t nr = functions_in(cache, block), size = index[1].names - index[0].names;
	struct function function[BLOCK];
	char *names = perch__malloc(size + 1);
	uint32_t crc;

	if (perch__table_blob(table, names, size) < 0 ||
	    perch__pread_all(cache->fd, function, nr * sizeof(*function),
			     offset_of_functions(cache) + block * sizeof(function)) ||
	    perch__pread_all(cache->fd, names, size, offset_of_names(cache) + index->names))
		return false;
	names[size] = 0;
	crc = perch__crc32(0, function, nr * sizeof(*function));
	return perch__crc32(crc, names, size) == index->crc &&
	       fill_block(table, function, nr, index, cache->shift);
}

/* Returns the block, which is read at the first call, or NULL if that is not possible. */
static struct table *get_block(struct kallsyms_cache *cache, size_t block)
{
	struct table *table = cache->block[block];

	if (table)
		return table;
	table = perch__calloc(1, sizeof(*table));
	if (table && !read_block(cache, block, table)) {
		perch__table_free(table);
		free(table);
		table = NULL;
	}
	cache->block[block] = table;
	return table;
}

int perch__kallsyms_cache_find(struct kallsyms_cache *cache, uint64_t address, struct table **table,
			       struct entry **entry)
{
	size_t low =
		PERCH__SEARCH(cache->nr_blocks, i, cache->index[i].start <= address - cache->shift);

	*table = NULL;
	*entry = NULL;
	if (!low)
		return 0;
	*table = get_block(cache, low - 1);
	if (!*table)
		return -EIO;
	*entry = perch__table_find(*table, address);
	return 0;
}

void perch__kallsyms_cache_leave(const struct kallsyms_cache *cache, const struct table *table)
{
	for (size_t i = 0; i < cache->nr_blocks; i++) {
		const struct table *block = cache->block[i];

		for (size_t j = 0; block && j < block->nr; j++) {
			const struct entry *from = &block->entry[j];
			struct entry *to = from->symbol == NO_ENTRY
						   ? NULL
						   : perch__table_find(table, from->start);

			if (to && to->start == from->start)
				to->symbol = from->symbol;
		}
	}
}

/* ---- writing ---- */

struct kallsyms_head *perch__kallsyms_cache_start(void)
{
	struct kallsyms_head *head = perch__malloc(sizeof(*head));

	if (head && perch__user_cache_is_used() && describe_kernel(head))
		return head;
	free(head);
	return NULL;
}

bool perch__kallsyms_cache_is_of(const struct kallsyms_head *head, const char *text, size_t size)
{
	struct kallsyms_head now;

	return head->first_size <= size && !memcmp(text, head->first, head->first_size) &&
	       describe_kernel(&now) && same_kernel(&now, head);
}

/* What is written after the head. */
struct cache_parts {
	struct index *index;
	struct function *function;
	size_t nr_blocks;
	char *names;
	const char *lines;
};

/* Makes the index, the functions and the names. Returns false if out of memory. */
static bool make_parts(struct cache_parts *parts, struct kallsyms_head *head,
		       const struct table *table)
{
	size_t nr = table->nr, names_size = 0;

	for (size_t i = 0; i < nr; i++)
		names_size += strlen(perch__table_name(table, &table->entry[i])) + 1;
	parts->nr_blocks = (nr + BLOCK - 1) / BLOCK;
	parts->index = perch__calloc(parts->nr_blocks + 1, sizeof(*parts->index));
	parts->function = perch__calloc(nr, sizeof(*parts->function));
	parts->names = perch__malloc(names_size);
	if (!nr || names_size > MAX_CACHE || !parts->index || !parts->function || !parts->names)
		return false;
	head->nr = (uint32_t)nr;
	for (size_t i = 0; i < nr; i++) {
		const struct entry *entry = &table->entry[i];
		const char *name = perch__table_name(table, entry);
		struct index *index = &parts->index[i / BLOCK];

		if (i % BLOCK == 0)
			*index = (struct index){ entry->start, head->names_size, 0 };
		parts->function[i] = (struct function){ entry->start,
							head->names_size - index->names,
							entry->binding };
		strcpy(parts->names + head->names_size, name);
		head->names_size += (uint32_t)strlen(name) + 1;
	}
	parts->index[parts->nr_blocks] =
		(struct index){ table->entry[nr - 1].end, head->names_size, 0 };
	return true;
}

static void set_checksums(const struct cache_parts *parts, struct kallsyms_head *head)
{
	for (size_t i = 0; i < parts->nr_blocks; i++) {
		struct index *index = &parts->index[i];
		size_t first = i * BLOCK, nr = head->nr - first;

		index->crc = perch__crc32(0, parts->function + first,
					  (nr < BLOCK ? nr : BLOCK) * sizeof(*parts->function));
		index->crc = perch__crc32(index->crc, parts->names + index[0].names,
					  index[1].names - index[0].names);
	}
	head->lines_crc = perch__crc32(0, parts->lines, head->lines_size);
	head->crc = crc_of_start(head, parts->index, parts->nr_blocks);
}

static void write_parts(const struct kallsyms_head *head, const struct cache_parts *parts)
{
	const struct perch__cache_part part[] = {
		{ head, sizeof(*head) },
		{ parts->index, (parts->nr_blocks + 1) * sizeof(*parts->index) },
		{ parts->function, head->nr * sizeof(*parts->function) },
		{ parts->names, head->names_size },
		{ parts->lines, head->lines_size },
	};

	perch__user_cache_write("kallsyms", part, PERCH__NR(part));
}

void perch__kallsyms_cache_store(struct kallsyms_head *head, const struct kallsyms_content *content)
{
	struct cache_parts parts = { .lines = content->lines };

	head->text_start = content->text_start;
	head->stext = content->stext;
	head->lines_size = (uint32_t)content->lines_size;
	if (content->lines_size <= MAX_CACHE && make_parts(&parts, head, content->kernel)) {
		set_checksums(&parts, head);
		write_parts(head, &parts);
	}
	free(parts.index);
	free(parts.function);
	free(parts.names);
}
