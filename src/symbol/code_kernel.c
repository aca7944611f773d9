/* SPDX-License-Identifier: MIT */
/* Reads the code of the kernel: from its ELF file or /proc/kcore, and that of BPF programs from the
 * recording. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/kernel/bpf.h"
#include "code.h"

enum { MAX_PROGRAMS = 16384, MAX_FUNCTIONS = 4096 };

static const char kcore[] = "/proc/kcore";

/* Finds the functions _text and _stext of the running kernel; 0 is unknown, or hidden. */
static void find_running_kernel(uint64_t *text, uint64_t *stext)
{
	FILE *kallsyms = fopen("/proc/kallsyms", "re");
	char line[512], name[8];
	uint64_t address;

	*text = *stext = 0;
	while (kallsyms && (!*text || !*stext) && fgets(line, sizeof(line), kallsyms)) {
		if (sscanf(line, "%" SCNx64 " %*c %7s", &address, name) != 2)
			continue;
		if (!strcmp(name, "_text"))
			*text = address;
		else if (!strcmp(name, "_stext"))
			*stext = address;
		/* other functions follow them */
		if (*stext && !*text && address > *stext)
			break;
	}
	if (kallsyms)
		fclose(kallsyms);
}

/* Checks that the running kernel is the recorded one. Returns 0 or -ESTALE. */
static int check_running(const struct sources *sources, const struct perch_dso *dso,
			 struct perch_error *err)
{
	uint8_t running[20];
	int size = perch_build_id_of_kernel(running, NULL);

	if (!sources->root &&
	    (dso->build_id_size && dso->kind == PERCH_DSO_KERNEL
		     ? size > 0 && perch__same_build_id(dso->build_id, dso->build_id_size, running,
							(size_t)size)
		     : !sources->foreign))
		return 0;
	perch_error_set(
		err, ESTALE, PERCH_ERROR_FILE,
		"the running kernel is not the recorded one, and no ELF file of that was found");
	perch_error_remedy(err, "Name its ELF file by -k, or add it to the build id cache (perch "
				"buildid-cache -a)");
	return -ESTALE;
}

int perch__code_of_kcore(const char *path, uint64_t shift, struct perch_code *code,
			 struct perch_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
	struct perch__elf elf;

	if (fd < 0) {
		rc = -errno;
		perch_error_set(err, -rc, PERCH_ERROR_FILE,
				"no ELF file of the kernel was found, and %s: %s", path,
				strerror(-rc));
		perch_error_remedy(
			err, rc == -EACCES || rc == -EPERM
				     ? "Run as root, or install the debug file of the kernel"
				     : "Install the debug file of the kernel, or name it by -k");
		return rc;
	}
	rc = perch__elf_init_file(&elf, fd);
	if (rc) {
		close(fd);
		return perch_error_set(err, -rc, PERCH_ERROR_FILE, "%s cannot be read: %s", path,
				       strerror(-rc));
	}
	code->address = code->offset - shift;
	rc = perch__code_of_elf(&elf, code, err);
	code->address += shift;
	code->start += shift;
	code->end += shift;
	for (size_t i = 0; i < code->nr_parts; i++)
		code->part[i].address += shift;
	code->live = true;
	code->section[0] = 0;
	perch__elf_clear(&elf);
	close(fd);
	return rc;
}

static int not_there(struct perch_error *err, const char *what)
{
	return perch_error_set(
		err, ESTALE, PERCH_ERROR_FILE,
		"%s was loaded again since the recording, or its address is hidden, so /proc/kcore "
		"cannot be used",
		what);
}

/* Code is where the recording says, or moved by shift: the kernel may have been started again. */
static int find_shift(const struct perch_dso *dso, uint64_t *shift, struct perch_error *err)
{
	char name[MODULE_NAME_SIZE];
	uint8_t build_id[20];
	uint64_t text, stext;
	int size;

	*shift = 0;
	if (dso->kind == PERCH_DSO_KERNEL) {
		find_running_kernel(&text, &stext);
		if (!dso->text_start || (!text && !stext))
			return not_there(err, "the kernel");
		*shift = perch__kernel_shift(dso->text_start, text, stext);
		return 0;
	}
	perch__module_name(dso->path, name);
	size = perch__module_build_id(name, build_id);
	if (!dso->start || perch__module_start(name) != dso->start ||
	    (dso->build_id_size &&
	     (size <= 0 ||
	      !perch__same_build_id(dso->build_id, dso->build_id_size, build_id, (size_t)size))))
		return not_there(err, "the module");
	return 0;
}

static int code_of_running(const struct sources *sources, const struct perch_dso *dso,
			   struct perch_code *code, struct perch_error *err)
{
	uint64_t shift;
	int rc = check_running(sources, dso, err);

	if (!rc)
		rc = find_shift(dso, &shift, err);
	return rc ? rc : perch__code_of_kcore(kcore, shift, code, err);
}

/* The same of the ELF file. */
static int code_of_vmlinux(const struct sources *sources, const struct perch_dso *dso,
			   struct perch_code *code, struct perch_error *err)
{
	struct elf_file file;
	struct perch__elf elf;
	uint64_t shift;
	int rc = perch__open_vmlinux(&file, sources, dso, &shift);

	if (rc)
		return rc;
	rc = perch__elf_init_file(&elf, file.fd);
	if (rc) {
		perch__elf_close(&file);
		return rc;
	}
	code->address = code->offset - shift;
	rc = perch__code_of_elf(&elf, code, err);
	code->address += shift;
	code->start += shift;
	code->end += shift;
	for (size_t i = 0; i < code->nr_parts; i++)
		code->part[i].address += shift;
	perch__elf_clear(&elf);
	perch__elf_close(&file);
	return rc;
}

int perch__code_of_kernel(const struct sources *sources, const struct perch_dso *dso,
			  struct perch_code *code, struct perch_error *err)
{
	struct perch_code wanted = *code;
	int rc = -ENOENT;

	if (dso->kind == PERCH_DSO_KERNEL)
		rc = code_of_vmlinux(sources, dso, code, err);
	if (!rc || rc == -ENOMEM)
		return rc;
	/* a separate debug file has the addresses of the kernel and not its bytes */
	perch_code_clear(code);
	*code = wanted;
	return code_of_running(sources, dso, code, err);
}

/* ---- BPF programs ---- */

/* The functions of a program follow each other in its machine code. */
static const uint8_t *find_function(const struct perch__bpf_program *program,
				    const struct perch_dso *dso, size_t *size)
{
	const size_t tagged = sizeof("bpf_prog_") - 1 + (size_t)2 * PERCH__BPF_TAG_SIZE;
	uint32_t nr, element, length;
	const uint8_t *bytes = perch__bpf_array(program, PERCH__BPF_JITED, 1, &nr, &element);
	uint64_t address, at = 0;
	char name[64];

	if (!bytes || element != 1)
		return NULL;
	for (uint32_t i = 0;
	     i < MAX_FUNCTIONS && perch__bpf_function(program, i, &address, &length); i++) {
		if (at + length > nr)
			return NULL;
		perch__bpf_function_name(program, NULL, i, name, sizeof(name));
		if (address == dso->start && length == dso->length &&
		    !strncmp(name, dso->path, tagged)) {
			*size = length;
			return bytes + at;
		}
		at += length;
	}
	return NULL;
}

static uint32_t native_machine(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#elif defined(__i386__)
	return EM_386;
#elif defined(__arm__)
	return EM_ARM;
#elif defined(__powerpc64__)
	return EM_PPC64;
#elif defined(__s390x__)
	return EM_S390;
#elif defined(__riscv)
	return EM_RISCV;
#else
	return EM_NONE;
#endif
}

int perch__code_of_bpf(const struct sources *sources, const struct perch_dso *dso,
		       struct perch_code *code, struct perch_error *err)
{
	static const uint16_t one = 1;
	struct perch__bpf_program program;
	const uint8_t *at = sources->bpf_programs, *bytes = NULL;
	size_t left = sources->bpf_programs_size, size = 0, skip = code->offset - dso->start;

	if (sources->foreign)
		return perch_error_set(
			err, ENOENT, PERCH_ERROR_FILE,
			"generated code of the kernel of another machine is not read");
	if (left >= sizeof(uint32_t)) {
		at += sizeof(uint32_t);
		left -= sizeof(uint32_t);
		for (int i = 0; !bytes && i < MAX_PROGRAMS && perch__bpf_take(&at, &left, &program);
		     i++)
			bytes = find_function(&program, dso, &size);
	}
	if (!bytes || code->offset < dso->start || skip >= size)
		return perch_error_set(err, ENOENT, PERCH_ERROR_FILE,
				       "the recording does not have the code of the function");
	if (code->size > size - skip)
		code->size = size - skip;
	code->bytes = perch__malloc(code->size);
	if (!code->bytes || perch__code_add_part(code, code->offset, PERCH_CODE_INSTRUCTIONS))
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for code");
	memcpy(code->bytes, bytes + skip, code->size);
	code->address = code->offset;
	code->start = dso->start;
	code->end = dso->start + size;
	code->machine = native_machine();
	code->wide = sizeof(void *) == 8;
	code->big_endian = !*(const unsigned char *)&one;
	return 0;
}
