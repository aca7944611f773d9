/* SPDX-License-Identifier: MIT */
/* The vdso: code that the kernel maps into each process. */
#define _GNU_SOURCE
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include <perch/file.h>

#include "symbol/symbols.h"

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

static int load_vdso(struct perch_symbols *symbols, struct dso_symbols *cached)
{
	struct elf_file file;
	int rc = open_vdso(&file, &symbols->sources, cached->dso, &cached->error);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	rc = perch__elf_sections(&file);
	if (!rc)
		rc = perch__load_elf(&cached->table, &file, NULL);
	perch__elf_close(&file);
	return rc == -ENOMEM ? rc : 0;
}

/* Writes an image to a file without a name. Returns a descriptor or a negative errno. */
static int file_of_image(const struct elf_file *file)
{
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	ssize_t written = fd < 0 ? -1 : pwrite(fd, file->elf.image, file->elf.size, 0);
	int error = errno;

	if (written == (ssize_t)file->elf.size)
		return fd;
	if (fd >= 0)
		close(fd);
	return written < 0 ? -error : -EIO;
}

static int open_vdso_file(const struct sources *sources, const struct perch_dso *dso,
			  struct symbol_error *error, struct proof *proof)
{
	struct elf_file file = { .elf.fd = -1 };
	int rc = open_vdso(&file, sources, dso, error), fd;

	*proof = file.proof;
	if (rc)
		return rc;
	if (file.elf.image) {
		fd = file_of_image(&file);
		if (fd < 0)
			perch__set_symbol_errno(error, -fd);
	} else {
		fd = file.elf.fd;
		file.elf.fd = -1;
	}
	perch__elf_close(&file);
	return fd;
}

const struct dso_kind perch__kind_vdso = {
	.load = load_vdso,
	.fixed_name = "[vdso]",
	.open = open_vdso_file,
	.recorded = 1 << PERCH_RECORDED_ELF | 1 << PERCH_RECORDED_DEX,
};
