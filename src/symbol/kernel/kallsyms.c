/* SPDX-License-Identifier: MIT */
/*
 * Kernel and module functions from /proc/kallsyms or a copy of it: about 120,000 lines "address
 * type name\t[module]".
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text_stream.h"
#include "kallsyms.h"

enum {
	FIRST_SIZE = 8 << 20, /* of the buffer: large enough for most files */
	MAX_SIZE = 1 << 28,   /* of a file: larger than that of any kernel */
	SMALLEST_PAGE = 4096,
};

static const char proc_kallsyms[] = "/proc/kallsyms";

/* A function of a module. It is added to a table when the table of that module is loaded. */
struct module_line {
	uint64_t address;
	uint32_t name, module; /* offsets in text */
	uint8_t binding;
};

/* One file. It is read once. */
struct kallsyms {
	struct kallsyms *next;
	char *path; /* or the build id in hexadecimal, for a file of the build id cache */
	char *text;
	size_t size;
	/* perch__table_finish() was not called, and there is no blob: names are offsets in text */
	struct table kernel;
	struct kallsyms_cache *cache; /* has the functions of the kernel; text those of modules */
	struct module_line *module;
	size_t nr_modules, modules_capacity;
	uint64_t text_start, stext; /* addresses of _text and _stext; 0 if not in the file */
	bool zeros;		    /* the addresses of all functions are 0 */
	int error;		    /* errno, if it cannot be read */
};

/*
 * Reads the whole file. Its size is not known, because the kernel generates the text during the
 * read.
 */
static int read_all(int fd, char **text, size_t *size)
{
	size_t capacity = 0, have = 0;
	char *bytes = NULL;
	int error = 0;

	while (true) {
		ssize_t got;

		if (have + 1 >= capacity &&
		    PERCH__ARRAY_RESERVE(bytes, capacity, capacity ? capacity + 1 : FIRST_SIZE)) {
			error = ENOMEM;
			break;
		}
		got = read(fd, bytes + have, capacity - 1 - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			error = errno;
		else
			have += (size_t)got;
		if (have > MAX_SIZE)
			error = EFBIG;
		if (got <= 0 || error)
			break;
	}
	if (error) {
		free(bytes);
		return error;
	}
	bytes[have] = 0;
	*text = bytes;
	*size = have;
	return 0;
}

/* The parts of a line, NUL-terminated in place. */
struct kallsyms_line {
	uint64_t address;
	char type;
	char *name;
	char *module; /* NULL for a function of the kernel */
};

static const uint8_t hex_value[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Parses the line from at to end, where a NUL has replaced the newline. */
static bool parse_line(char *at, char *end, struct kallsyms_line *line)
{
	char *tab, *bracket;

	line->address = 0;
	while (hex_value[(uint8_t)*at])
		line->address = line->address << 4 | (uint64_t)(hex_value[(uint8_t)*at++] - 1);
	if (end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return false;
	line->type = at[1];
	line->name = at + 3;
	line->module = NULL;
	if (end[-1] != ']')
		return true;
	tab = memchr(line->name, '\t', (size_t)(end - line->name));
	if (tab && tab[1] == '[') {
		*tab = 0;
		line->module = tab + 2;
		bracket = end - 1;
		*bracket = 0;
	}
	return true;
}

/* Generated code of the kernel also has a name in brackets, but is not a module. */
static bool is_kernel_code(const char *module)
{
	return !module || !strcmp(module, "bpf") || !strncmp(module, "__builtin__", 11);
}

static int add_module_line(struct kallsyms *kallsyms, const struct kallsyms_line *line,
			   uint8_t binding)
{
	struct module_line *added = PERCH__ARRAY_APPEND(kallsyms->module, kallsyms->nr_modules,
							kallsyms->modules_capacity);

	if (!added)
		return ENOMEM;
	*added = (struct module_line){ line->address, (uint32_t)(line->name - kallsyms->text),
				       (uint32_t)(line->module - kallsyms->text), binding };
	return 0;
}

static int add_line(struct kallsyms *kallsyms, const struct kallsyms_line *line)
{
	uint8_t binding = line->type == 't' ? STB_LOCAL : line->type == 'T' ? STB_GLOBAL : STB_WEAK;
	struct entry *entry;

	/* a mapping symbol of ARM or RISC-V */
	if (line->name[0] == '$')
		return 0;
	if (line->address)
		kallsyms->zeros = false;
	if (!is_kernel_code(line->module))
		return add_module_line(kallsyms, line, binding);
	entry = perch__table_add(&kallsyms->kernel);
	if (!entry)
		return ENOMEM;
	entry->start = entry->end = line->address;
	entry->name = (uint32_t)(line->name - kallsyms->text);
	entry->binding = binding;
	entry->type = STT_FUNC;
	entry->parent = line->module != NULL;
	if (line->name[0] == '_' && line->name[1] == 't' && !strcmp(line->name, "_text"))
		kallsyms->text_start = line->address;
	else if (line->name[0] == '_' && line->name[1] == 's' && !strcmp(line->name, "_stext"))
		kallsyms->stext = line->address;
	return 0;
}

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static int parse_kallsyms(struct kallsyms *kallsyms)
{
	char *at = kallsyms->text, *end = kallsyms->text + kallsyms->size, *newline;
	struct kallsyms_line line;
	int error = 0;

	kallsyms->zeros = true;
	kallsyms->kernel.grouped = true;
	for (; !error && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		*newline = 0;
		if (parse_line(at, newline, &line) && is_text(line.type))
			error = add_line(kallsyms, &line);
	}
	if (!kallsyms->kernel.nr && !kallsyms->nr_modules)
		kallsyms->zeros = false;
	return error;
}

/* The addresses of all functions are 0. */
static bool hides_addresses(const char *text, size_t size)
{
	const char *last = size > 1 ? memrchr(text, '\n', size - 1) : NULL;

	return last && !strncmp(last + 1, "0000", 4) && strtoull(last + 1, NULL, 16) == 0;
}

/* The names stay in the kallsyms text, which outlives the table. */
static void use_text(struct table *table, const struct kallsyms *kallsyms)
{
	table->blob[0] =
		(struct blob){ .bytes = kallsyms->text, .size = kallsyms->size, .borrowed = true };
	table->nr_blobs = 1;
}

/* Adds the functions of the kernel to an empty table. Returns 0 or -ENOMEM. */
static int make_table(struct table *table, const struct kallsyms *kallsyms, uint64_t shift,
		      bool with_generated)
{
	table->entry = perch__reallocarray(NULL, kallsyms->kernel.nr + 1, sizeof(*table->entry));
	if (!table->entry)
		return -ENOMEM;
	perch__use_large_pages(table->entry, kallsyms->kernel.nr * sizeof(*table->entry));
	table->capacity = kallsyms->kernel.nr + 1;
	use_text(table, kallsyms);
	table->grouped = true;
	for (size_t i = 0; i < kallsyms->kernel.nr; i++) {
		struct entry *entry = &table->entry[table->nr];

		*entry = kallsyms->kernel.entry[i];
		entry->start += shift;
		entry->end += shift;
		table->nr += with_generated || !entry->parent;
	}
	return perch__table_finish(table);
}

/* Returns the lines of the functions of modules, or NULL if out of memory. */
static char *module_lines(const struct kallsyms *kallsyms, size_t *size)
{
	char *text = NULL;
	FILE *out = perch__open_text(&text, size);

	for (size_t i = 0; out && i < kallsyms->nr_modules; i++) {
		const struct module_line *line = &kallsyms->module[i];

		fprintf(out, "%016" PRIx64 " %c %s\t[%s]\n", line->address,
			line->binding == STB_LOCAL    ? 't'
			: line->binding == STB_GLOBAL ? 'T'
						      : 'W',
			kallsyms->text + line->name, kallsyms->text + line->module);
	}
	if (out)
		perch__close_text(out, &text);
	return text;
}

/* Stores what was parsed. head: of the text. */
static void store_cache(const struct kallsyms *kallsyms, struct kallsyms_head *head)
{
	struct table table = { 0 };
	struct kallsyms_content content = { .kernel = &table,
					    .text_start = kallsyms->text_start,
					    .stext = kallsyms->stext };
	char *lines = module_lines(kallsyms, &content.lines_size);

	content.lines = lines;
	if (lines && !make_table(&table, kallsyms, 0, false))
		perch__kallsyms_cache_store(head, &content);
	perch__table_free(&table);
	free(lines);
}

/* Reads the text of a file, from which a cache is made if it is /proc/kallsyms. */
static void read_text(struct kallsyms *kallsyms, int fd)
{
	struct kallsyms_head *head = NULL;

	if (fd >= 0 && !strcmp(kallsyms->path, proc_kallsyms))
		head = perch__kallsyms_cache_start();
	kallsyms->error = fd < 0 ? -fd : read_all(fd, &kallsyms->text, &kallsyms->size);
	if (!kallsyms->error) {
		bool stored = head && !hides_addresses(kallsyms->text, kallsyms->size) &&
			      perch__kallsyms_cache_is_of(head, kallsyms->text, kallsyms->size);

		kallsyms->error = parse_kallsyms(kallsyms);
		if (stored && !kallsyms->error)
			store_cache(kallsyms, head);
	}
	free(head);
}

/* Adds a file to the list. Returns NULL if out of memory. */
static struct kallsyms *add_kallsyms(struct sources *sources, const char *path)
{
	struct kallsyms *kallsyms = perch__calloc(1, sizeof(*kallsyms));

	if (kallsyms)
		kallsyms->path = perch__strdup(path);
	if (!kallsyms || !kallsyms->path) {
		free(kallsyms);
		return NULL;
	}
	kallsyms->next = sources->kallsyms;
	sources->kallsyms = kallsyms;
	return kallsyms;
}

/* Reads and closes fd, which may be a negative errno. Returns NULL if out of memory. */
static struct kallsyms *read_kallsyms(struct sources *sources, const char *path, int fd)
{
	struct kallsyms *kallsyms = add_kallsyms(sources, path);

	if (kallsyms)
		read_text(kallsyms, fd);
	if (fd >= 0)
		close(fd);
	return kallsyms;
}

static struct kallsyms *find_kallsyms(const struct sources *sources, const char *path)
{
	for (struct kallsyms *kallsyms = sources->kallsyms; kallsyms; kallsyms = kallsyms->next)
		if (!strcmp(kallsyms->path, path) &&
		    !(kallsyms->cache && sources->no_kallsyms_cache))
			return kallsyms;
	return NULL;
}

/* Returns /proc/kallsyms from its cache, or NULL. */
static struct kallsyms *open_cache(struct sources *sources)
{
	uint64_t text_start = 0, stext = 0;
	struct kallsyms_cache *cache = perch__kallsyms_cache_open(&text_start, &stext);
	struct kallsyms *kallsyms = cache ? add_kallsyms(sources, proc_kallsyms) : NULL;

	if (!kallsyms) {
		perch__kallsyms_cache_close(cache);
		return NULL;
	}
	kallsyms->cache = cache;
	kallsyms->text_start = text_start;
	kallsyms->stext = stext;
	return kallsyms;
}

/* from_cache: generated code of the kernel is not needed. */
static struct kallsyms *kallsyms_at(struct sources *sources, const char *path, bool from_cache)
{
	struct kallsyms *kallsyms = find_kallsyms(sources, path);

	if (!kallsyms && from_cache && !sources->no_kallsyms_cache && !strcmp(path, proc_kallsyms))
		kallsyms = open_cache(sources);
	return kallsyms ? kallsyms : read_kallsyms(sources, path, perch__open_regular(NULL, path));
}

/* The same, with the functions of modules. */
static struct kallsyms *modules_at(struct sources *sources, const char *path)
{
	struct kallsyms *kallsyms = kallsyms_at(sources, path, true);

	if (!kallsyms || !kallsyms->cache || kallsyms->text)
		return kallsyms;
	kallsyms->text = perch__kallsyms_cache_modules(kallsyms->cache, &kallsyms->size);
	if (kallsyms->text) {
		kallsyms->error = parse_kallsyms(kallsyms);
		kallsyms->zeros = false;
		return kallsyms;
	}
	sources->no_kallsyms_cache = true;
	return kallsyms_at(sources, path, false);
}

/* Returns the kallsyms file of a kernel in the build id cache, or NULL. */
static struct kallsyms *kallsyms_from_cache(struct sources *sources, const struct perch_dso *dso)
{
	char name[2 * 20 + 1];
	struct kallsyms *kallsyms;
	int fd;

	for (size_t i = 0; i < dso->build_id_size && i < 20; i++)
		sprintf(name + 2 * i, "%02x", dso->build_id[i]);
	kallsyms = find_kallsyms(sources, name);
	if (kallsyms)
		return kallsyms;
	fd = perch__open_build_id_cache(sources, dso->build_id, dso->build_id_size,
					PERCH_CACHED_KALLSYMS);
	return fd < 0 ? NULL : read_kallsyms(sources, name, fd);
}

void perch__kallsyms_free(struct kallsyms *list)
{
	while (list) {
		struct kallsyms *next = list->next;

		perch__table_free(&list->kernel);
		perch__kallsyms_cache_close(list->cache);
		free(list->module);
		free(list->text);
		free(list->path);
		free(list);
		list = next;
	}
}

/*
 * Returns 0 if the running kernel is the recorded one, or if nothing shows that it is another one.
 */
static int check_kernel(const struct sources *sources, const struct perch_dso *dso,
			struct symbol_error *error)
{
	uint8_t running[20];
	int size;

	if (!dso->build_id_size) {
		if (!sources->foreign)
			return 0;
		perch__set_symbol_error(
			error, "recorded on another machine, and no kallsyms file was given");
		return -ESTALE;
	}
	size = perch_build_id_of_kernel(running, NULL);
	if (size < 0 ? !sources->foreign
		     : perch__same_build_id(dso->build_id, dso->build_id_size, running,
					    (size_t)size))
		return 0;
	perch__set_symbol_error(
		error,
		"the running kernel is not the recorded one, and no kallsyms file was given");
	return -ESTALE;
}

static const char hidden_addresses[] =
	"kernel addresses are hidden: run as root, or set "
	"`sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1`";

/* Returns false, with the reason in error, if the file has no kernel functions. */
static bool usable(const struct kallsyms *kallsyms, struct symbol_error *error)
{
	if (kallsyms->error)
		perch__set_symbol_error(error, "%s: %s", kallsyms->path, strerror(kallsyms->error));
	else if (kallsyms->zeros)
		perch__set_symbol_error(error, "%s", hidden_addresses);
	else if (!kallsyms->kernel.nr && !kallsyms->cache)
		perch__set_symbol_error(error, "%s has no functions", kallsyms->path);
	else
		return true;
	return false;
}

/*
 * Sets the recorded address of the kernel minus its address in this file: kernels load at a random
 * address (KASLR). Returns false if it is not known, so that names would be those of other
 * functions. A file that the user names, and the kernel that runs now, have the same addresses.
 */
static bool find_shift(const struct sources *sources, const struct kallsyms *kallsyms,
		       const struct perch_dso *dso, uint64_t *shift)
{
	*shift = 0;
	if (!dso->text_start || (!kallsyms->text_start && !kallsyms->stext))
		return sources->kallsyms_path || !sources->recorded;
	*shift = perch__kernel_shift(dso->text_start, kallsyms->text_start, kallsyms->stext);
	return true;
}

static int choose_kallsyms(struct sources *sources, const struct perch_dso *dso,
			   struct symbol_error *error, struct kallsyms **found)
{
	const char *path = sources->kallsyms_path;

	*found = NULL;
	if (!path && check_kernel(sources, dso, error)) {
		*found = kallsyms_from_cache(sources, dso);
		return 0;
	}
	/* without a map of the kernel, generated code is part of its DSO */
	*found = kallsyms_at(sources, path ? path : proc_kallsyms, dso->length);
	return *found ? 0 : -ENOMEM;
}

int perch__load_kernel(struct table *table, struct sources *sources, const struct perch_dso *dso,
		       struct symbol_error *error, struct proof *proof)
{
	struct kallsyms *kallsyms;
	uint64_t shift;
	bool same_address;

	if (sources->vmlinux_path && !sources->no_vmlinux)
		return perch__load_vmlinux(table, sources, dso, error, proof);
	if (choose_kallsyms(sources, dso, error, &kallsyms))
		return -ENOMEM;
	/* of another kernel, or with hidden addresses */
	if (!kallsyms || !usable(kallsyms, error))
		return sources->kallsyms_path
			       ? 0
			       : perch__load_vmlinux(table, sources, dso, error, proof);
	if (!find_shift(sources, kallsyms, dso, &shift)) {
		perch__set_symbol_error(error,
					"the recording does not have the address of the "
					"kernel: record as root, or give the kallsyms file of "
					"that boot (--kallsyms)");
		return 0;
	}
	/* KASLR: this is the boot that was recorded; programs that run need no address */
	same_address = !shift && !sources->foreign && (dso->text_start || !sources->recorded);
	*proof = perch__kernel_proof(sources->kallsyms_path,
				     !sources->kallsyms_path &&
					     (dso->build_id_size || same_address));
	if (kallsyms->cache && perch__kallsyms_cache_set_shift(kallsyms->cache, shift)) {
		table->cache = kallsyms->cache;
		return 0;
	}
	if (kallsyms->cache) {
		sources->no_kallsyms_cache = true;
		return perch__load_kernel(table, sources, dso, error, proof);
	}
	return make_table(table, kallsyms, shift, true);
}

static bool same_module(const struct sources *sources, const struct perch_dso *dso,
			const char *name)
{
	uint8_t loaded[20];
	int size;

	if (!dso->build_id_size)
		return !sources->foreign;
	size = perch__module_build_id(name, loaded);
	return size < 0 ? !sources->foreign
			: perch__same_build_id(dso->build_id, dso->build_id_size, loaded,
					       (size_t)size);
}

static int add_module(struct table *table, const struct kallsyms *kallsyms, const char *name,
		      uint64_t shift)
{
	for (size_t i = 0; i < kallsyms->nr_modules; i++) {
		const struct module_line *line = &kallsyms->module[i];
		struct entry *entry;

		if (strcmp(kallsyms->text + line->module, name))
			continue;
		entry = perch__table_add(table);
		if (!entry)
			return -ENOMEM;
		entry->start = entry->end = line->address + shift;
		entry->name = line->name;
		entry->binding = line->binding;
		entry->type = STT_FUNC;
		entry->parent = NO_ENTRY;
	}
	return 0;
}

/*
 * True if the addresses are those of the recording: the kernel loads a module at the beginning of a
 * page, which has its first function.
 */
static bool is_at(const struct table *table, const struct perch_dso *dso)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < table->nr; i++) {
		first = table->entry[i].start < first ? table->entry[i].start : first;
		last = table->entry[i].start > last ? table->entry[i].start : last;
	}
	return !dso->start || !table->nr ||
	       (first >= dso->start && first - dso->start < SMALLEST_PAGE &&
		(!dso->length || last - dso->start < dso->length));
}

int perch__load_listed_module(struct table *table, struct sources *sources,
			      const struct perch_dso *dso, struct symbol_error *error)
{
	const char *path = sources->kallsyms_path;
	struct kallsyms *kallsyms;
	char name[MODULE_NAME_SIZE];
	uint64_t start = 0;

	perch__module_name(dso->path, name);
	if (!path && !same_module(sources, dso, name)) {
		perch__set_symbol_error(error, "the loaded module is not the recorded one");
		return 0;
	}
	kallsyms = modules_at(sources, path ? path : proc_kallsyms);
	if (!kallsyms)
		return -ENOMEM;
	if (!usable(kallsyms, error))
		return 0;
	if (!path)
		start = perch__module_start(name);
	use_text(table, kallsyms);
	if ((path || start) &&
	    add_module(table, kallsyms, name, start && dso->start ? dso->start - start : 0))
		return -ENOMEM;
	if (!table->nr)
		perch__set_symbol_error(error, "the module is not loaded");
	if (path && !is_at(table, dso)) {
		perch__table_free(table);
		perch__set_symbol_error(error, "%s has other addresses of the module", path);
	}
	return 0;
}
