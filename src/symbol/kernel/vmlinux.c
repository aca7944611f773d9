/* SPDX-License-Identifier: MIT */
/*
 * The ELF file of the kernel: the one that the user names, or one with the recorded build id. It
 * has functions, and lines if it has debug information.
 */
#include <limits.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "symbol/internal.h"

/* The build id of the recorded kernel. */
struct wanted_kernel {
	uint8_t build_id[20];
	size_t size; /* 0 if unknown */
};

/*
 * Opens the file if it is the recorded kernel. Takes fd, which may be a negative errno. Returns 0,
 * -ENOMEM, or another errno with error.
 */
static int open_kernel(struct elf_file *file, int fd, const char *path,
		       const struct wanted_kernel *wanted, struct symbol_error *error)
{
	int rc = fd < 0 ? fd : perch__elf_open(file, fd);

	if (rc) {
		perch__set_symbol_error(error, "%s: %s", path,
					rc == -ENOEXEC ? "not an ELF file" : strerror(-rc));
		return rc;
	}
	if (wanted->size && !perch__same_build_id(wanted->build_id, wanted->size, file->build_id,
						  (size_t)file->build_id_size)) {
		perch__set_symbol_error(
			error, "%s is another kernel: its build id is not the recorded one", path);
		rc = -ESTALE;
	} else {
		rc = perch__elf_sections(file);
		if (!rc && !perch__elf_section_of_type(file, SHT_SYMTAB))
			rc = -ENOEXEC;
		if (rc)
			perch__set_symbol_error(error, "%s has no symbol table", path);
	}
	if (rc)
		perch__elf_close(file);
	return rc;
}

/* Sets the recorded build id, or that of the running kernel if the recording is of this machine. */
static void set_wanted(struct wanted_kernel *wanted, const struct sources *sources,
		       const struct perch_dso *dso)
{
	int size;

	wanted->size = dso->build_id_size;
	memcpy(wanted->build_id, dso->build_id, sizeof(wanted->build_id));
	if (wanted->size || sources->foreign)
		return;
	size = perch_build_id_of_kernel(wanted->build_id, NULL);
	wanted->size = size > 0 ? (size_t)size : 0;
}

static bool open_path(struct elf_file *file, const struct sources *sources, const char *path,
		      const struct wanted_kernel *wanted)
{
	struct symbol_error ignored;

	return !open_kernel(file, perch__open_regular(sources->root, path), path, wanted, &ignored);
}

/* Finds the file where distributions install it. Only a file with the build id is the kernel. */
static bool find_kernel(struct elf_file *file, const struct sources *sources,
			const struct perch_dso *dso, const struct wanted_kernel *wanted)
{
	static const char *const by_release[] = {
		"/usr/lib/debug/boot/vmlinux-%s",	"/usr/lib/debug/lib/modules/%s/vmlinux",
		"/usr/lib/debug/boot/vmlinux-%s.debug", "/boot/vmlinux-%s",
		"/lib/modules/%s/build/vmlinux",
	};
	static const enum perch_cached_file kinds[] = { PERCH_CACHED_DEBUG, PERCH_CACHED_ELF,
							PERCH_CACHED_VMLINUX };
	struct symbol_error ignored;
	char path[PATH_MAX], id[2 * 20 + 2];
	struct utsname here;

	if (wanted->size < 2)
		return false;
	for (size_t i = 0; i < PERCH__NR(kinds); i++)
		if (!open_kernel(file,
				 perch__open_build_id_cache(sources, wanted->build_id, wanted->size,
							    kinds[i]),
				 "", wanted, &ignored))
			return true;
	perch__build_id_path(wanted->build_id, wanted->size, id);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%s.debug", id);
	if (open_path(file, sources, path, wanted) ||
	    (dso->kernel_image && open_path(file, sources, dso->kernel_image, wanted)))
		return true;
	if (uname(&here))
		return false;
	for (size_t i = 0; i < PERCH__NR(by_release); i++) {
		snprintf(path, sizeof(path), by_release[i], here.release);
		if (open_path(file, sources, path, wanted))
			return true;
	}
	return false;
}

/* Returns 0, -ENOMEM, or another errno with error. */
static int open_vmlinux(struct elf_file *file, const struct sources *sources,
			const struct perch_dso *dso, struct symbol_error *error)
{
	struct wanted_kernel wanted;

	if (sources->no_vmlinux)
		return -ENOENT;
	set_wanted(&wanted, sources, dso);
	if (sources->vmlinux_path) {
		wanted.size = dso->build_id_size;
		return open_kernel(file, perch__open_regular(NULL, sources->vmlinux_path),
				   sources->vmlinux_path, &wanted, error);
	}
	return find_kernel(file, sources, dso, &wanted) ? 0 : -ENOENT;
}

/*
 * Sets the recorded address of the kernel minus that in the file: kernels load at a random address
 * (KASLR). Returns false if it is not known.
 */
static bool find_shift(const struct table *table, const struct perch_dso *dso, uint64_t *shift)
{
	uint64_t text = 0, stext = 0;

	for (size_t i = 0; i < table->nr; i++) {
		const char *name = perch__table_name(table, &table->entry[i]);

		if (!strcmp(name, "_text"))
			text = table->entry[i].start;
		else if (!strcmp(name, "_stext"))
			stext = table->entry[i].start;
	}
	*shift = perch__kernel_shift(dso->text_start, text, stext);
	return dso->text_start && (text || stext);
}

static void move_table(struct table *table, uint64_t shift)
{
	for (size_t i = 0; i < table->nr; i++) {
		table->entry[i].start += shift;
		table->entry[i].end += shift;
	}
	for (size_t i = 0; i < table->nr_limits; i++)
		table->limit[i] += table->limit[i] ? shift : 0;
}

/* Adds the functions at their addresses in the file. Returns 0 or -ENOMEM. */
static int add_functions(struct table *table, struct elf_file *file)
{
	/* offsets in the DSO of the kernel are addresses */
	struct perch__elf_segment all = { .size = UINT64_MAX, .memory_size = UINT64_MAX };
	struct elf_file mapped = *file;

	mapped.elf.segment = &all;
	mapped.elf.nr_loads = 1;
	return perch__elf_symbols(table, file, perch__elf_section_of_type(file, SHT_SYMTAB),
				  &mapped);
}

int perch__open_vmlinux(struct elf_file *file, const struct sources *sources,
			const struct perch_dso *dso, uint64_t *shift)
{
	struct symbol_error ignored;
	struct table table = { 0 };
	int rc = open_vmlinux(file, sources, dso, &ignored);

	if (rc)
		return rc;
	rc = add_functions(&table, file);
	if (!rc && !find_shift(&table, dso, shift))
		rc = -ENOENT;
	perch__table_free(&table);
	if (rc)
		perch__elf_close(file);
	return rc;
}

int perch__load_vmlinux(struct table *table, const struct sources *sources,
			const struct perch_dso *dso, struct symbol_error *error,
			struct proof *proof)
{
	struct elf_file file;
	uint64_t shift;
	int rc = open_vmlinux(&file, sources, dso, error);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	rc = add_functions(table, &file);
	perch__elf_close(&file);
	if (rc)
		return rc;
	if (!find_shift(table, dso, &shift)) {
		perch__table_free(table);
		perch__set_symbol_error(error,
					"the recording does not have the address of the kernel, "
					"or %s has no symbol _text",
					sources->vmlinux_path ? sources->vmlinux_path : "vmlinux");
		return 0;
	}
	move_table(table, shift);
	/* a file that was searched has the build id of the running kernel, on the recorded machine
	 */
	*proof = perch__kernel_proof(sources->vmlinux_path,
				     dso->build_id_size || !sources->vmlinux_path);
	return perch__table_finish(table);
}
