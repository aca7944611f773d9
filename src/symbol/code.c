/* SPDX-License-Identifier: MIT */
/* Reads the code of a DSO: of its file or a jitdump. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code.h"

static int no_memory(struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for code");
}

static int failed(struct perch_error *err, int errnum, const char *text)
{
	return perch_error_set(err, errnum, PERCH_ERROR_FILE, "%s", text);
}

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
		rc = failed(err, ENOENT, "no segment of the file has the bytes of the function");
	}
	if (dso->kind == PERCH_DSO_FILE && !fstat(fd, &status))
		code->modified_at = (uint64_t)status.st_mtim.tv_sec * 1000000000 +
				    (uint64_t)status.st_mtim.tv_nsec;
	perch__elf_clear(&elf);
	close(fd);
	return rc;
}

static bool is_wide(uint32_t machine)
{
	return machine != EM_386 && machine != EM_ARM && machine != EM_PPC && machine != EM_MIPS;
}

static int code_of_jitdump(const struct perch_dso *dso, struct perch_code *code,
			   struct perch_error *err)
{
	static const uint16_t one = 1;
	bool native_big = !*(const unsigned char *)&one, swapped;
	struct perch_jit_function function;
	size_t skip, size;
	void *bytes;
	int rc = -ENOENT;

	if (dso->jitdump)
		rc = perch_jitdump_read_code(dso->jitdump, code->offset, PERCH_MAX_CODE, &function,
					     &bytes, &size, &code->machine, &swapped);
	if (rc == -ENOMEM)
		return no_memory(err);
	if (rc)
		return failed(err, ENOENT,
			      "the jitdump file does not have the code of the function");
	skip = code->offset - function.offset;
	if (skip >= size) {
		free(bytes);
		return failed(err, ENOENT, "the function is too large");
	}
	memmove(bytes, (uint8_t *)bytes + skip, size - skip);
	code->bytes = bytes;
	if (code->size > size - skip)
		code->size = size - skip;
	code->address = function.address + skip;
	code->start = function.address;
	code->end = function.address + function.size;
	code->wide = is_wide(code->machine);
	code->big_endian = swapped ? !native_big : native_big;
	return perch__code_add_part(code, code->address, PERCH_CODE_INSTRUCTIONS) ? no_memory(err)
										  : 0;
}

static int read_code(struct perch_symbols *symbols, const struct perch_dso *dso,
		     struct perch_code *code, struct perch_error *err)
{
	switch (dso->kind) {
	case PERCH_DSO_FILE:
	case PERCH_DSO_VDSO:
		return code_of_file(symbols, dso, code, err);
	case PERCH_DSO_KERNEL:
	case PERCH_DSO_MODULE:
		return perch__code_of_kernel(&symbols->sources, dso, code, err);
	case PERCH_DSO_KERNEL_CODE:
		return perch__code_of_bpf(&symbols->sources, dso, code, err);
	case PERCH_DSO_JIT:
		return code_of_jitdump(dso, code, err);
	case PERCH_DSO_ANON:
		failed(err, ENOENT,
		       "the code was in memory without a file, of which a recording has no bytes");
		perch_error_remedy(err,
				   "A jitdump file has them: start the program with the option "
				   "of its compiler that writes one, and record with -k mono");
		return -ENOENT;
	default:
		return failed(err, ENOENT, "no mapping was recorded at the address");
	}
}

int perch_symbols_read_code(struct perch_symbols *symbols, const struct perch_dso *dso,
			    uint64_t offset, uint64_t size, struct perch_code *code,
			    struct perch_error *err)
{
	int rc;

	*code = (struct perch_code){ .offset = offset,
				     .size = size < PERCH_MAX_CODE ? (size_t)size
								   : PERCH_MAX_CODE };
	if (!size)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "the function has no size");
	rc = read_code(symbols, dso, code, err);
	if (rc)
		perch_code_clear(code);
	return rc;
}
