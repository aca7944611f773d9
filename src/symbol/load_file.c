/* SPDX-License-Identifier: MIT */
/* Loads the table of a DSO from its file, or of the vdso from memory. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

int perch__open_file(struct elf_file *file, const struct sources *sources,
		     const struct perch_dso *dso, struct symbol_error *error)
{
	size_t size = perch__own_build_id_size(dso);
	int rc = -ENOENT;

	if (size)
		rc = perch__open_if_same(file,
					 perch__open_build_id_cache(sources, dso->build_id, size,
								    PERCH_CACHED_ELF),
					 sources, dso);
	if (!rc || rc == -ENOMEM)
		return rc;
	rc = perch__open_mapped(file, sources, dso, error);
	if (rc && rc != -ENOMEM && size) {
		struct symbol_error ignored; /* the request for its debug file has the same */
		int fd = perch__debuginfod_find(sources->debuginfod, dso, DEBUGINFOD_EXECUTABLE,
						dso->build_id, size, &ignored);
		struct proof proof = file->proof;

		if (!perch__open_if_same(file, fd, sources, dso))
			return 0;
		file->proof = proof;
	}
	return rc;
}

static int open_debug_of_module(const struct sources *sources, const struct perch_dso *dso)
{
	struct module_file module;
	struct symbol_error ignored;
	struct elf_file debug;
	bool has_file = !perch__open_module(&module, sources, dso, &ignored);
	int fd = -1;

	if (!perch__open_module_debug(&debug, sources, dso, has_file ? &module : NULL, &ignored)) {
		fd = fcntl(debug.fd, F_DUPFD_CLOEXEC, 0);
		perch__elf_close(&debug);
	}
	if (has_file)
		perch__close_module(&module);
	return fd < 0 ? -ENOENT : fd;
}

int perch__open_debug_of(const struct sources *sources, const struct perch_dso *dso)
{
	struct elf_file file, debug;
	struct symbol_error ignored;
	bool has_file;
	int fd = -1;

	if (dso->kind == PERCH_DSO_MODULE)
		return open_debug_of_module(sources, dso);
	has_file = !perch__open_file(&file, sources, dso, &ignored);
	if (!perch__open_debug(&debug, sources, dso, has_file ? &file : NULL)) {
		fd = fcntl(debug.fd, F_DUPFD_CLOEXEC, 0);
		perch__elf_close(&debug);
	}
	if (has_file)
		perch__elf_close(&file);
	return fd < 0 ? -ENOENT : fd;
}

int perch__download_debug_of(const struct sources *sources, const struct perch_dso *dso,
			     struct symbol_error *error)
{
	struct elf_file file, debug;
	struct symbol_error ignored;
	bool has_file;
	int fd = -1;

	if (!sources->debuginfod || dso->kind != PERCH_DSO_FILE)
		return -ENOENT;
	has_file = !perch__open_file(&file, sources, dso, &ignored);
	if (!(has_file && perch__elf_has_debug_info(&file)) &&
	    !perch__open_debuginfod(&debug, sources->debuginfod, dso, has_file ? &file : NULL,
				    error)) {
		fd = fcntl(debug.fd, F_DUPFD_CLOEXEC, 0);
		perch__elf_close(&debug);
	}
	if (has_file)
		perch__elf_close(&file);
	return fd < 0 ? -ENOENT : fd;
}

/* Adds the functions or variables of a file and of its debug file, or of its .gnu_debugdata. Either
 * may be NULL. Without a symbol table, adds those of the function table of the Go runtime. */
static int load(struct table *table, struct elf_file *file, struct elf_file *debug)
{
	size_t symbols;
	int rc = 0;

	if (debug) {
		symbols = perch__elf_section_of_type(debug, SHT_SYMTAB);
		rc = perch__elf_symbols(table, debug, symbols, file ? file : debug);
	}
	if (!rc && file && (symbols = perch__elf_section_of_type(file, SHT_SYMTAB)))
		rc = perch__elf_symbols(table, file, symbols, file);
	if (!rc && file && (symbols = perch__elf_section_of_type(file, SHT_DYNSYM)))
		rc = perch__elf_symbols(table, file, symbols, file);
	if (!rc && file && !table->of_variables)
		rc = perch__elf_plt(table, file);
	if (!rc && file && !table->of_variables && !debug &&
	    !perch__elf_section_of_type(file, SHT_SYMTAB))
		rc = perch__elf_go_functions(table, file);
	return rc ? rc : perch__table_finish(table);
}

static void set_mini_error(struct symbol_error *error, int rc)
{
	perch__set_symbol_error(error, "its .gnu_debugdata %s",
				rc == -EBADMSG	 ? "is damaged; install the file again"
				: rc == -EFBIG	 ? "is too large"
				: rc == -ENOTSUP ? "is not read: perch was built without liblzma"
						 : "cannot be read");
}

int perch__load_file(struct table *table, const struct sources *sources,
		     const struct perch_dso *dso, struct symbol_error *error,
		     struct symbol_error *symtab_error, struct proof *proof)
{
	struct elf_file file, debug;
	bool has_file = false, has_debug = false, stripped, asked;
	int rc = perch__open_file(&file, sources, dso, error), mini = -ENOENT;

	if (rc == -ENOMEM)
		return rc;
	has_file = !rc;
	*proof = file.proof;
	if (has_file && perch__elf_decompress(&file, WANT_SYMBOLS) == -ENOMEM) {
		perch__elf_close(&file);
		return -ENOMEM;
	}
	if (!has_file || !perch__elf_section_of_type(&file, SHT_SYMTAB))
		has_debug = !perch__open_debug(&debug, sources, dso, has_file ? &file : NULL);
	if (has_file && !has_debug && !perch__elf_section_of_type(&file, SHT_SYMTAB)) {
		mini = perch__elf_open_mini(&debug, &file);
		has_debug = !mini;
	}
	if (!has_debug && (!has_file || !perch__elf_section_of_type(&file, SHT_SYMTAB)))
		has_debug = !perch__open_debuginfod(&debug, sources->debuginfod, dso,
						    has_file ? &file : NULL, symtab_error);
	if (has_debug && !has_file && !perch__elf_has_offsets(&debug)) {
		perch__elf_close(&debug);
		has_debug = false;
	}
	if (!has_file && !has_debug)
		return 0;
	if (!has_file) /* it has the recorded build id */
		*proof = (struct proof){ .state = PERCH_SYMBOLS_VERIFIED };
	rc = load(table, has_file ? &file : NULL, has_debug ? &debug : NULL);
	stripped = has_file && !has_debug && !perch__elf_section_of_type(&file, SHT_SYMTAB);
	/* the servers find files by their build id */
	asked = sources->debuginfod &&
		(perch__own_build_id_size(dso) || (has_file && file.build_id_size));
	if (has_file)
		perch__elf_close(&file);
	if (has_debug)
		perch__elf_close(&debug);
	error->text[0] = 0;
	if (!rc && (!table->nr || stripped))
		perch__set_symbol_reason(
			error, asked ? PERCH_SYMBOLS_NOT_ON_SERVERS : PERCH_SYMBOLS_STRIPPED,
			"%s: the file is stripped, and no debug file was found%s",
			table->of_go ? "only functions in Go"
			: table->nr  ? "only exported symbols"
				     : "no symbols",
			asked ? " here or by debuginfod" : "");
	if (!rc && mini && mini != -ENOENT)
		set_mini_error(symtab_error, mini);
	return rc;
}

/*
 * Returns the size of this process's vdso: whole pages up to the end of the section headers, which
 * are last.
 */
static size_t vdso_size(const uint8_t *image)
{
	const ElfW(Ehdr) *header = (const void *)image;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t end = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;

	return (end + page - 1) & ~(page - 1);
}

/* Opens this process's vdso if it is the recorded one, or that of the build id cache. */
static int open_vdso(struct elf_file *file, const struct sources *sources,
		     const struct perch_dso *dso, struct symbol_error *error)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	bool wide = strcmp(dso->path, "[vdso32]"), own = wide == (sizeof(void *) == 8);
	int rc = -ENOENT;

	if (own && image && !memcmp(image, ELFMAG, SELFMAG) &&
	    (dso->build_id_size || !sources->foreign))
		rc = perch__elf_open_image(file, image, vdso_size(image));
	if (!rc && dso->build_id_size &&
	    !perch__same_build_id(dso->build_id, dso->build_id_size, file->build_id,
				  (size_t)file->build_id_size)) {
		perch__elf_close(file);
		rc = -ESTALE;
	}
	if (rc && rc != -ENOMEM && dso->build_id_size && /* of another kernel */
	    !perch__open_if_same(file,
				 perch__open_build_id_cache(sources, dso->build_id,
							    dso->build_id_size, PERCH_CACHED_VDSO),
				 sources, dso))
		rc = 0;
	if (rc)
		perch__set_symbol_error(error, own ? "the vdso of another kernel"
						   : "the vdso of 32-bit programs");
	return rc;
}

int perch__load_vdso(struct table *table, const struct sources *sources,
		     const struct perch_dso *dso, struct symbol_error *error)
{
	struct elf_file file;
	int rc = open_vdso(&file, sources, dso, error);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	rc = perch__elf_sections(&file);
	if (!rc)
		rc = load(table, &file, NULL);
	perch__elf_close(&file);
	return rc == -ENOMEM ? rc : 0;
}

int perch__load_module(struct table *table, struct sources *sources, const struct perch_dso *dso,
		       struct symbol_error *error, struct proof *proof)
{
	const bool named = sources->kallsyms_path;
	int rc = perch__load_listed_module(table, sources, dso, error);
	char name[MODULE_NAME_SIZE];

	if (rc)
		return rc;
	if (!table->nr) {
		perch__table_free(table);
		return perch__load_module_file(table, sources, dso, error, proof);
	}
	perch__module_name(dso->path, name);
	*proof = perch__kernel_proof(named, !named && (dso->build_id_size ||
						       perch__module_start(name) == dso->start));
	return perch__table_finish(table);
}

/* Writes an image to a file without a name. Returns a descriptor or a negative errno. */
static int file_of_image(const struct elf_file *file)
{
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	ssize_t written = fd < 0 ? -1 : pwrite(fd, file->image, file->size, 0);
	int error = errno;

	if (written == (ssize_t)file->size)
		return fd;
	if (fd >= 0)
		close(fd);
	return written < 0 ? -error : -EIO;
}

int perch__open_dso(const struct sources *sources, const struct perch_dso *dso,
		    struct symbol_error *error, struct proof *proof)
{
	struct elf_file file = { .fd = -1 };
	struct module_file module;
	int rc, fd;

	if (dso->kind == PERCH_DSO_MODULE) {
		rc = perch__open_module(&module, sources, dso, error);
		if (rc)
			return rc;
		*proof = module.file.proof;
		fd = module.installed;
		module.installed = -1;
		perch__close_module(&module);
		return fd;
	}
	rc = dso->kind == PERCH_DSO_VDSO ? open_vdso(&file, sources, dso, error)
					 : perch__open_file(&file, sources, dso, error);
	*proof = file.proof;
	if (rc)
		return rc;
	if (file.image) {
		fd = file_of_image(&file);
		if (fd < 0)
			perch__set_symbol_errno(error, -fd);
	} else {
		fd = file.fd;
		file.fd = -1;
	}
	perch__elf_close(&file);
	return fd;
}
