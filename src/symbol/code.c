/* SPDX-License-Identifier: MIT */
/* Reads the code of a DSO. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code.h"

static int code_of_file(struct perch_symbols *symbols, const struct perch_dso *dso,
			struct perch_code *code, struct perch_error *err)
{
	const struct perch__elf_segment *found = NULL;
	struct perch__elf elf;
	struct stat status;
	int fd, rc = perch_symbols_open_file(symbols, dso, &fd, err);

	if (rc)
		return rc;
	rc = perch__elf_init_file(&elf, fd);
	if (rc) {
		close(fd);
		return perch_error_set(err, -rc, PERCH_ERROR_FILE, "not an ELF file");
	}
	for (size_t i = 0; i < elf.nr_segments; i++) {
		const struct perch__elf_segment *segment = &elf.segment[i];

		if (segment->type == PT_LOAD && code->offset >= segment->offset &&
		    code->offset - segment->offset < segment->size &&
		    (!found || segment->flags & PF_X))
			found = segment;
	}
	if (found) {
		code->address = code->offset - found->offset + found->address;
		rc = perch__code_of_elf(&elf, code, err);
	} else {
		rc = perch__code_error(err, ENOENT,
				       "no segment of the file has the bytes of the function");
	}
	if (perch_dso_is(dso, PERCH_DSO_IS_FILE) && !fstat(fd, &status))
		code->modified_at = (uint64_t)status.st_mtim.tv_sec * 1000000000 +
				    (uint64_t)status.st_mtim.tv_nsec;
	perch__elf_clear(&elf);
	close(fd);
	return rc;
}

int perch_symbols_read_code(struct perch_symbols *symbols, const struct perch_dso *dso,
			    uint64_t offset, uint64_t size, struct perch_code *code,
			    struct perch_error *err)
{
	const struct dso_kind *kind = perch__kind_of(dso);
	int rc;

	*code = (struct perch_code){ .offset = offset,
				     .size = size < PERCH_MAX_CODE ? (size_t)size
								   : PERCH_MAX_CODE };
	if (!size)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "the function has no size");
	if (kind->code)
		rc = kind->code(&symbols->sources, dso, code, err);
	else if (kind->open)
		rc = code_of_file(symbols, dso, code, err);
	else
		rc = perch__code_error(err, ENOENT, "no mapping was recorded at the address");
	if (rc)
		perch_code_clear(code);
	return rc;
}
