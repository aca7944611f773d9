/* SPDX-License-Identifier: MIT */
/* Opens the file of a DSO, and loads its table from it. */
#include <fcntl.h>
#include <unistd.h>

#include "index/index.h"

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

int perch__open_debug_of(const struct sources *sources, const struct perch_dso *dso)
{
	struct elf_file file, debug;
	struct symbol_error ignored;
	bool has_file;
	int fd = -1;

	has_file = !perch__open_file(&file, sources, dso, &ignored);
	if (!perch__open_debug(&debug, sources, dso, has_file ? &file : NULL)) {
		fd = fcntl(debug.elf.fd, F_DUPFD_CLOEXEC, 0);
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

	if (!sources->debuginfod)
		return -ENOENT;
	has_file = !perch__open_file(&file, sources, dso, &ignored);
	if (!(has_file && perch__elf_has_debug_info(&file)) &&
	    !perch__open_debuginfod(&debug, sources->debuginfod, dso, has_file ? &file : NULL,
				    error)) {
		fd = fcntl(debug.elf.fd, F_DUPFD_CLOEXEC, 0);
		perch__elf_close(&debug);
	}
	if (has_file)
		perch__elf_close(&file);
	return fd < 0 ? -ENOENT : fd;
}

/* Keeps the key of a table that is not in the index. Without memory, it is not stored. */
static void keep_key(struct table *table, const struct index_key *key)
{
	table->index = perch__malloc(sizeof(*key));
	if (table->index)
		*table->index = *key;
}

int perch__load_elf(struct table *table, struct elf_file *file, struct elf_file *debug)
{
	struct index_key key;
	size_t symbols;
	int rc = 0;

	if (perch__table_key(&key, table, file, debug)) {
		if (perch__table_read_index(table, &key))
			return 0;
		keep_key(table, &key);
	}
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
	if (has_file && perch__elf_sections(&file) == -ENOMEM) {
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
	rc = perch__load_elf(table, has_file ? &file : NULL, has_debug ? &debug : NULL);
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
