/* SPDX-License-Identifier: MIT */
/* Reads the code of the kernel, from its ELF file or /proc/kcore. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbol/code.h"

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
	    (dso->build_id_size && perch_dso_is(dso, PERCH_DSO_IS_KERNEL)
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

/* The kernel runs at addresses of its ELF file plus shift. */
static int read_shifted(struct perch__elf *elf, uint64_t shift, struct perch_code *code,
			struct perch_error *err)
{
	int rc;

	code->address = code->offset - shift;
	rc = perch__code_of_elf(elf, code, err);
	code->address += shift;
	code->start += shift;
	code->end += shift;
	for (size_t i = 0; i < code->nr_parts; i++)
		code->part[i].address += shift;
	return rc;
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
	rc = read_shifted(&elf, shift, code, err);
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
	if (perch_dso_is(dso, PERCH_DSO_IS_KERNEL)) {
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
	uint64_t shift;
	int rc = perch__open_vmlinux(&file, sources, dso, &shift);

	if (rc)
		return rc;
	rc = read_shifted(&file.elf, shift, code, err);
	perch__elf_close(&file);
	return rc;
}

int perch__code_of_kernel(const struct sources *sources, const struct perch_dso *dso,
			  struct perch_code *code, struct perch_error *err)
{
	struct perch_code wanted = *code;
	int rc = -ENOENT;

	if (perch_dso_is(dso, PERCH_DSO_IS_KERNEL))
		rc = code_of_vmlinux(sources, dso, code, err);
	if (!rc || rc == -ENOMEM)
		return rc;
	/* a separate debug file has the addresses of the kernel and not its bytes */
	perch_code_clear(code);
	*code = wanted;
	return code_of_running(sources, dso, code, err);
}
