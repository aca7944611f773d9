/* SPDX-License-Identifier: MIT */
/* Kernel functions from the ELF file of the kernel. */
#include <unistd.h>

#include "internal.h"

/* Opens the file if it is the recorded kernel. Returns 0, -ENOMEM, or another errno with error. */
static int open_kernel(struct elf_file *file, const struct sources *sources,
		       const struct perch_dso *dso, struct symbol_error *error)
{
	const char *path = sources->vmlinux_path;
	int fd = perch__open_regular(NULL, path);
	int rc = fd < 0 ? fd : perch__elf_open(file, fd);

	if (rc) {
		perch__set_symbol_error(error, "%s: %s", path,
					rc == -ENOEXEC ? "not an ELF file" : strerror(-rc));
		return rc;
	}
	if (dso->build_id_size &&
	    !perch__same_build_id(dso->build_id, dso->build_id_size, file->build_id,
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

/*
 * Returns the address of the kernel's text in the file, by the symbol that recordings name. Returns
 * 0 if there is none.
 */
static uint64_t find_text(const struct table *table, uint64_t recorded)
{
	uint64_t text = 0, stext = 0;

	for (size_t i = 0; i < table->nr; i++) {
		const char *name = perch__table_name(table, &table->entry[i]);

		if (!strcmp(name, "_text"))
			text = table->entry[i].start;
		else if (!strcmp(name, "_stext"))
			stext = table->entry[i].start;
	}
	return text && recorded != stext ? text : stext;
}

/* Kernels load at a random address (KASLR). Returns false if it is not known. */
static bool move(struct table *table, const struct perch_dso *dso)
{
	uint64_t text = find_text(table, dso->text_start);
	uint64_t shift = dso->text_start - text;

	if (!dso->text_start || !text)
		return false;
	for (size_t i = 0; i < table->nr; i++) {
		table->entry[i].start += shift;
		table->entry[i].end += shift;
	}
	for (size_t i = 0; i < table->nr_limits; i++)
		table->limit[i] += table->limit[i] ? shift : 0;
	return true;
}

int perch__load_vmlinux(struct table *table, const struct sources *sources,
			const struct perch_dso *dso, struct symbol_error *error)
{
	/* offsets in the DSO of the kernel are addresses */
	struct perch__elf_segment all = { .size = UINT64_MAX, .memory_size = UINT64_MAX };
	struct elf_file file, mapped;
	int rc = open_kernel(&file, sources, dso, error);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	mapped = file;
	mapped.segment = &all;
	mapped.nr_segments = 1;
	rc = perch__elf_symbols(table, &file, perch__elf_section_of_type(&file, SHT_SYMTAB),
				&mapped);
	perch__elf_close(&file);
	if (rc)
		return rc;
	if (!move(table, dso)) {
		perch__table_free(table);
		perch__set_symbol_error(error,
					"the recording does not have the address of the kernel, "
					"or %s has no symbol _text",
					sources->vmlinux_path);
		return 0;
	}
	return perch__table_finish(table);
}
