/* SPDX-License-Identifier: MIT */
/*
 * Files of kernel modules. They are relocatable, and may be compressed. The kernel loads the
 * sections with code one after the other, in the order of the file, at the address that is
 * recorded; the code of its initialization is elsewhere.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "symbol/internal.h"

enum { MOST_INFO = 1 << 20, MOST_RELEASE = 128 };

/* ---- the loaded module ---- */

void perch__module_name(const char *path, char name[MODULE_NAME_SIZE])
{
	const char *base = strrchr(path, '/');
	size_t length;

	base = base ? base + 1 : path;
	base += *base == '[';
	length = strcspn(base, "].");
	if (length >= MODULE_NAME_SIZE)
		length = MODULE_NAME_SIZE - 1;
	for (size_t i = 0; i < length; i++)
		name[i] = base[i] == '-' ? '_' : base[i];
	name[length] = 0;
}

uint64_t perch__module_start(const char *name)
{
	FILE *modules = fopen("/proc/modules", "re");
	char line[4096], at[MODULE_NAME_SIZE];
	unsigned long long start = 0;

	while (modules && fgets(line, sizeof(line), modules))
		if (sscanf(line, "%63s %*s %*s %*s %*s %llx", at, &start) == 2 && !strcmp(at, name))
			break;
		else
			start = 0;
	if (modules)
		fclose(modules);
	return start;
}

int perch__module_build_id(const char *name, uint8_t build_id[20])
{
	char path[64 + MODULE_NAME_SIZE];

	if (!*name || strchr(name, '/') || name[0] == '.')
		return -ENOENT;
	snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", name);
	return perch__notes_file_build_id(path, build_id);
}

int perch_build_id_of_module(const char *name, uint8_t build_id[20], struct perch_error *err)
{
	char module[MODULE_NAME_SIZE];

	perch__module_name(name, module);
	return perch__build_id_result(perch__module_build_id(module, build_id), module, err);
}

/* True if the module has been loaded since before the recording: it is on this boot. */
static bool is_loaded(const struct sources *sources, const struct perch_dso *dso, const char *name)
{
	return !sources->foreign && dso->start && perch__module_start(name) == dso->start;
}

/* ---- where the kernel places its code ---- */

/* Whether the kernel keeps the code for unloading the module (CONFIG_MODULE_UNLOAD). */
enum unload { UNLOAD_UNKNOWN, UNLOAD_NO, UNLOAD_YES };

static bool begins_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/*
 * Of other architectures the kernel adds code of its own (PLT) before these sections. Its size is
 * not in the file.
 */
static bool has_computable_layout(const struct elf_file *file)
{
	return file->elf.machine == EM_X86_64 || file->elf.machine == EM_386 ||
	       file->elf.machine == EM_AARCH64;
}

/* arm64 sets the sizes of these when it loads the module. */
static bool has_unknown_size(const struct elf_file *file, const struct perch__elf_section *section)
{
	return file->elf.machine == EM_AARCH64 &&
	       (!strcmp(section->name, ".plt") || begins_with(section->name, ".text.ftrace"));
}

static bool is_core_code(const struct perch__elf_section *section)
{
	return section->code && !begins_with(section->name, ".init");
}

/* Reads the address of a section of the loaded module, which only root may. */
static bool read_address(const char *module, const char *section, uint64_t *address)
{
	char path[PATH_MAX], text[32] = "";
	unsigned long long number = 0;
	FILE *file;

	if (!*section || strchr(section, '/') || !strcmp(section, ".") || !strcmp(section, "..") ||
	    snprintf(path, sizeof(path), "/sys/module/%s/sections/%s", module, section) >=
		    (int)sizeof(path))
		return false;
	file = fopen(path, "re");
	if (file && fgets(text, sizeof(text), file))
		number = strtoull(text, NULL, 16);
	if (file)
		fclose(file);
	*address = number;
	return number;
}

/* Returns false if the kernel does not say it. */
static bool use_loaded_layout(struct elf_file *file, const struct perch_dso *dso,
			      const char *module)
{
	uint64_t address;

	if (!read_address(module, ".text", &address))
		return false;
	for (size_t i = 1; i < file->elf.nr_sections; i++) {
		struct perch__elf_section *section = &file->elf.section[i];

		section->code = is_core_code(section) &&
				read_address(module, section->name, &address) &&
				address >= dso->start && section->size <= dso->length &&
				address - dso->start <= dso->length - section->size;
		section->offset = section->code ? address : section->offset;
	}
	return true;
}

/* Returns false if the code does not fit in the recorded module. */
static bool lay_out(struct elf_file *file, const struct perch_dso *dso, enum unload unload)
{
	bool computable = has_computable_layout(file);
	uint64_t at = 0;

	for (size_t i = 1; i < file->elf.nr_sections; i++) {
		struct perch__elf_section *section = &file->elf.section[i];
		uint64_t mask = section->alignment ? section->alignment - 1 : 0;
		bool exit = begins_with(section->name, ".exit");

		computable &= !has_unknown_size(file, section) && !(mask & (mask + 1)) &&
			      mask < 1 << 21 &&
			      !(exit && section->code && unload == UNLOAD_UNKNOWN);
		section->code = computable && is_core_code(section) &&
				!(exit && unload == UNLOAD_NO);
		if (!section->code)
			continue;
		at = (at + mask) & ~mask;
		section->offset = dso->start + at;
		if (section->size > UINT32_MAX)
			return false;
		at += section->size;
		if (dso->length && at > dso->length)
			return false;
	}
	return true;
}

/* ---- one file ---- */

/* What a file must be. */
struct wanted_module {
	const struct sources *sources;
	const struct perch_dso *dso;
	char name[MODULE_NAME_SIZE];
	char release[MOST_RELEASE]; /* "" if unknown */
	uint8_t build_id[20];
	size_t size; /* 0: unknown; then the release decides */
	bool loaded;
};

static void set_wanted(struct wanted_module *wanted, const struct sources *sources,
		       const struct perch_dso *dso)
{
	const char *release = sources->release;
	struct utsname here;
	int size;

	*wanted = (struct wanted_module){ .sources = sources, .dso = dso };
	perch__module_name(dso->path, wanted->name);
	if (!release && !sources->foreign && !uname(&here))
		release = here.release;
	/* it becomes a part of a path */
	if (release && strlen(release) < sizeof(wanted->release) && !strchr(release, '/') &&
	    *release != '.')
		strcpy(wanted->release, release);
	wanted->size = dso->build_id_size;
	memcpy(wanted->build_id, dso->build_id, sizeof(wanted->build_id));
	wanted->loaded = is_loaded(sources, dso, wanted->name);
	if (wanted->size || !wanted->loaded)
		return;
	size = perch__module_build_id(wanted->name, wanted->build_id);
	wanted->size = size > 0 ? (size_t)size : 0;
}

/*
 * Reads "vermagic=RELEASE SMP preempt mod_unload ..." in .modinfo, where texts end with NUL.
 * Returns false if there is none.
 */
static bool read_magic(const struct elf_file *file, char release[MOST_RELEASE], enum unload *unload)
{
	size_t index = perch__elf_section(file, ".modinfo", SHT_PROGBITS);
	const struct perch__elf_section *section = &file->elf.section[index];
	char *info, *at, *end;
	bool found = false;

	if (!index || section->size > MOST_INFO)
		return false;
	info = perch__elf_bytes(file, section->offset, section->size);
	if (!info)
		return false;
	end = info + section->size;
	for (at = info; at < end && !found; at += strlen(at) + 1) {
		size_t length;

		if (!begins_with(at, "vermagic="))
			continue;
		length = strcspn(at + 9, " ");
		*unload = strstr(at, " mod_unload") ? UNLOAD_YES : UNLOAD_NO;
		found = length < MOST_RELEASE;
		if (found) {
			memcpy(release, at + 9, length);
			release[length] = 0;
		}
	}
	free(info);
	return found;
}

static bool same_build(const struct wanted_module *wanted, const struct elf_file *file,
		       const char *release)
{
	if (wanted->size)
		return perch__same_build_id(wanted->build_id, wanted->size, file->build_id,
					    (size_t)file->build_id_size);
	return *wanted->release && !strcmp(release, wanted->release);
}

/* Places the code. Returns 0, -ENOEXEC or -ESTALE. */
static int check_module(struct elf_file *file, const struct wanted_module *wanted)
{
	char release[MOST_RELEASE] = "";
	enum unload unload = UNLOAD_UNKNOWN;

	if (file->elf.type != ET_REL || perch__elf_sections(file))
		return -ENOEXEC;
	read_magic(file, release, &unload);
	if (!same_build(wanted, file, release))
		return -ESTALE;
	file->proof = perch__kernel_proof(wanted->sources->root, wanted->size);
	if (wanted->loaded && use_loaded_layout(file, wanted->dso, wanted->name))
		return 0;
	return lay_out(file, wanted->dso, unload) ? 0 : -ESTALE;
}

/*
 * Opens the file if it is the module, and places its code. Takes fd, which may be a negative errno.
 * installed: NULL, or set to the file before it was decompressed. Returns 0, -ENOMEM, -ESTALE: it
 * is another build, or another errno.
 */
static int open_if_same(struct elf_file *file, int *installed, int fd,
			const struct wanted_module *wanted)
{
	int rc, copy = -1;

	if (fd < 0)
		return fd;
	if (installed && (copy = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
		close(fd);
		return -ESTALE;
	}
	rc = perch__elf_open_compressed(file, fd);
	if (!rc) {
		file->elf.nr_loads = 0; /* a relocatable file has none */
		rc = check_module(file, wanted);
		if (rc)
			perch__elf_close(file);
	}
	if (!rc && installed)
		*installed = copy;
	else if (copy >= 0)
		close(copy);
	return rc;
}

/* ---- the places where it may be ---- */

static const char *const directories[] = { "/lib/modules", "/usr/lib/modules" };

/* Finds the module in a modules.dep: lines "PATH: PATHS", relative to its directory. */
static bool find_in_list(FILE *list, const struct wanted_module *wanted, const char *directory,
			 char path[PATH_MAX])
{
	char line[4096], name[MODULE_NAME_SIZE];
	bool whole = true;

	while (fgets(line, sizeof(line), list)) {
		char *colon = whole ? strchr(line, ':') : NULL;

		/* a line may be long: only its beginning has the path */
		whole = strchr(line, '\n');
		if (!colon)
			continue;
		*colon = 0;
		perch__module_name(line, name);
		if (!strcmp(name, wanted->name))
			return (*line == '/' ? snprintf(path, PATH_MAX, "%s", line)
					     : snprintf(path, PATH_MAX, "%s/%s/%s", directory,
							wanted->release, line)) < PATH_MAX;
	}
	return false;
}

static bool find_path(const struct wanted_module *wanted, char path[PATH_MAX])
{
	bool found = false;

	for (size_t i = 0; *wanted->release && !found && i < 2; i++) {
		FILE *list;
		int fd;

		snprintf(path, PATH_MAX, "%s/%s/modules.dep", directories[i], wanted->release);
		fd = perch__open_regular(wanted->sources->root, path);
		list = fd < 0 ? NULL : fdopen(fd, "r");
		if (list)
			found = find_in_list(list, wanted, directories[i], path);
		if (list)
			fclose(list);
		else if (fd >= 0)
			close(fd);
	}
	return found;
}

int perch__open_module(struct module_file *module, const struct sources *sources,
		       const struct perch_dso *dso, struct symbol_error *error)
{
	struct wanted_module wanted;
	int rc = -ENOENT, other;

	set_wanted(&wanted, sources, dso);
	module->installed = -1;
	snprintf(module->path, sizeof(module->path), "%s", dso->path);
	if (wanted.size)
		rc = open_if_same(&module->file, &module->installed,
				  perch__open_build_id_cache(sources, wanted.build_id, wanted.size,
							     PERCH_CACHED_ELF),
				  &wanted);
	if (rc && rc != -ENOMEM && dso->path[0] == '/')
		rc = open_if_same(&module->file, &module->installed,
				  perch__open_regular(sources->root, dso->path), &wanted);
	if (rc && rc != -ENOMEM && find_path(&wanted, module->path)) {
		other = open_if_same(&module->file, &module->installed,
				     perch__open_regular(sources->root, module->path), &wanted);
		rc = other == -ENOENT ? rc : other;
	}
	if (rc == -ESTALE)
		perch__set_symbol_error(error, "%s is another build of the module", module->path);
	else if (rc == -ENOTSUP)
		perch__set_symbol_error(error,
					"%s is compressed, and perch was built without the "
					"library that reads it",
					module->path);
	else if (rc == -EFBIG)
		perch__set_symbol_error(
			error,
			"%s has more than 64 times its size (and 16 MiB) when it is "
			"decompressed: it is not read",
			module->path);
	return rc;
}

void perch__close_module(struct module_file *module)
{
	perch__elf_close(&module->file);
	if (module->installed >= 0)
		close(module->installed);
}

/* ---- debug files ---- */

/* Gives the code of a debug file the addresses that it has in the module. */
static void copy_addresses(struct elf_file *debug, const struct elf_file *file)
{
	for (size_t i = 1; i < debug->elf.nr_sections; i++) {
		struct perch__elf_section *section = &debug->elf.section[i];
		const struct perch__elf_section *from = NULL;

		for (size_t j = 1; section->code && !from && j < file->elf.nr_sections; j++)
			if (!strcmp(file->elf.section[j].name, section->name) &&
			    file->elf.section[j].size == section->size)
				from = &file->elf.section[j];
		section->code = from && from->code;
		section->offset = section->code ? from->offset : section->offset;
	}
}

/* Opens fd if it is a debug file of this build. Takes fd. */
static int open_debug_file(struct elf_file *debug, int fd, const struct wanted_module *wanted,
			   const struct elf_file *file)
{
	const uint8_t *build_id = wanted->size || !file ? wanted->build_id : file->build_id;
	size_t size = wanted->size || !file ? wanted->size : (size_t)file->build_id_size;

	if (fd < 0)
		return fd;
	if (perch__elf_open_compressed(debug, fd))
		return -ENOENT;
	if (debug->elf.type == ET_REL && perch__elf_has_debug_info(debug) &&
	    perch__same_build_id(build_id, size, debug->build_id, (size_t)debug->build_id_size))
		return 0;
	perch__elf_close(debug);
	return -ENOENT;
}

/* Opens the debug file at a path, or at that of the other directory: /lib may be /usr/lib. */
static int debug_by_path(struct elf_file *debug, const char *path,
			 const struct wanted_module *wanted, const struct elf_file *file)
{
	static const char *const ends[] = { "", ".debug" };
	const char *below = begins_with(path, "/usr/lib/") ? path + 4 : path;
	const char *end = strstr(below, ".ko");
	char whole[PATH_MAX];
	int rc = -ENOENT;

	for (size_t i = 0; end && begins_with(below, "/lib/modules/") && rc && i < 4; i++) {
		if (snprintf(whole, sizeof(whole), "/usr/lib/debug%s%.*s%s", i / 2 ? "/usr" : "",
			     (int)(end + 3 - below), below, ends[i % 2]) < (int)sizeof(whole))
			rc = open_debug_file(debug,
					     perch__open_regular(wanted->sources->root, whole),
					     wanted, file);
	}
	return rc;
}

static int find_debug_file(struct elf_file *debug, const struct wanted_module *wanted,
			   const char *path, struct elf_file *file, struct symbol_error *error)
{
	const struct sources *sources = wanted->sources;
	const uint8_t *build_id = wanted->size || !file ? wanted->build_id : file->build_id;
	size_t size = wanted->size || !file ? wanted->size : (size_t)file->build_id_size;
	char below[PATH_MAX], id[2 * 20 + 2];

	if (size >= 2) {
		perch__build_id_path(build_id, size, id);
		snprintf(below, sizeof(below), "/usr/lib/debug/.build-id/%s.debug", id);
		if (!open_debug_file(debug,
				     perch__open_build_id_cache(sources, build_id, size,
								PERCH_CACHED_DEBUG),
				     wanted, file) ||
		    !open_debug_file(debug, perch__open_regular(sources->root, below), wanted,
				     file))
			return 0;
	}
	if (!debug_by_path(debug, path, wanted, file))
		return 0;
	if (!perch__open_debuginfod(debug, sources->debuginfod, wanted->dso, file, error)) {
		if (debug->elf.type == ET_REL && perch__elf_has_debug_info(debug))
			return 0;
		perch__elf_close(debug);
	}
	return -ENOENT;
}

int perch__open_module_debug(struct elf_file *debug, const struct sources *sources,
			     const struct perch_dso *dso, struct module_file *module,
			     struct symbol_error *error)
{
	struct elf_file *file = module ? &module->file : NULL;
	char path[PATH_MAX];
	struct wanted_module wanted;

	set_wanted(&wanted, sources, dso);
	if (module || dso->path[0] == '/' || !find_path(&wanted, path))
		snprintf(path, sizeof(path), "%s", module ? module->path : dso->path);
	if (find_debug_file(debug, &wanted, path, file, error))
		return -ENOENT;
	debug->elf.nr_loads = 0;
	if (file)
		copy_addresses(debug, file);
	else if (!lay_out(debug, dso, UNLOAD_UNKNOWN)) {
		perch__elf_close(debug);
		return -ENOENT;
	}
	return 0;
}

/* ---- its functions ---- */

int perch__load_module_file(struct table *table, const struct sources *sources,
			    const struct perch_dso *dso, struct symbol_error *error,
			    struct proof *proof)
{
	struct symbol_error ignored;
	struct module_file module;
	struct elf_file *file = &module.file;
	size_t symbols;
	int rc = perch__open_module(&module, sources, dso, error);

	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		module.installed = -1;
		if (perch__open_module_debug(file, sources, dso, NULL, &ignored))
			return 0;
		file->proof = perch__kernel_proof(false, true); /* it has the build id */
	}
	*proof = file->proof;
	symbols = perch__elf_section_of_type(file, SHT_SYMTAB);
	rc = symbols ? perch__elf_symbols(table, file, symbols, file) : 0;
	perch__close_module(&module);
	return rc ? rc : perch__table_finish(table);
}
