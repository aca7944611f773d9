/* SPDX-License-Identifier: MIT */
/*
 * The section BUILD_ID: build ids by path. They are those of the records, or of the files as the
 * processes see them. A path alone does not say which file was mapped, so a path is left out if
 * some of its files have no build id in their records, and not all of its files have the same one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <perch/symbol.h>

#include "base/no_memory.h"
#include "internal.h"

struct build_id {
	uint8_t size, bytes[20]; /* size 0: unknown, or none */
};

/* The vdso has no file, but the kernel maps the same image into every process. */
static int vdso_build_id(uint8_t build_id[20])
{
	unsigned long long start, end;
	int size = -ENOENT;
	char line[512];
	FILE *file = fopen("/proc/self/maps", "re");

	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, "[vdso]") && sscanf(line, "%llx-%llx", &start, &end) == 2 &&
		    start == getauxval(AT_SYSINFO_EHDR))
			size = perch_build_id_of_image((const void *)(uintptr_t)start, end - start,
						       build_id, NULL);
	if (file)
		fclose(file);
	return size;
}

/* Reads the build id of the file that was mapped, wherever that can be opened now. */
static int mapped_build_id(const struct recorder_scan *scan, struct perch_symbols *symbols,
			   const struct recorder_dso *mapped, uint8_t build_id[20])
{
	const struct perch_dso dso = { .kind = PERCH_DSO_FILE,
				       .path = mapped->path,
				       .device_major = mapped->major,
				       .device_minor = mapped->minor,
				       .inode = mapped->inode,
				       .inode_generation = mapped->inode_generation,
				       .pid = mapped->pid,
				       .map_start = mapped->start,
				       .map_end = mapped->end };
	char path[32];
	int fd, size;

	if (!mapped->inode)
		return -ENOENT;
	if (perch_symbols_open_file(symbols, &dso, &fd, NULL))
		fd = perch__recorder_open_pinned_inode(&scan->pinned, &scan->dsos, mapped);
	if (fd < 0)
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	size = perch_build_id_of_file(path, build_id, NULL);
	close(fd);
	return size;
}

static void find_build_id(const struct recorder_scan *scan, struct perch_symbols *symbols,
			  const struct recorder_dso *dso, struct build_id *build_id)
{
	int size = dso->build_id_size;

	if (size)
		memcpy(build_id->bytes, dso->build_id, sizeof(build_id->bytes));
	else if (*dso->path == '[')
		size = vdso_build_id(build_id->bytes);
	else
		size = mapped_build_id(scan, symbols, dso, build_id->bytes);
	build_id->size = size > 0 ? (uint8_t)size : 0;
}

static int by_path(const void *one, const void *other)
{
	const struct recorder_dso *a = *(const struct recorder_dso *const *)one;
	const struct recorder_dso *b = *(const struct recorder_dso *const *)other;

	return strcmp(a->path, b->path);
}

static bool same(const struct build_id *a, const struct build_id *b)
{
	return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

/* Writes the build ids of the files with one path. */
static int write_path(struct perch_writer *writer, struct recorder_dso *const *dso,
		      const struct build_id *build_id, size_t nr, struct perch_error *err)
{
	bool all_recorded = true, all_same = true;
	int rc = 0;

	for (size_t i = 0; i < nr; i++) {
		all_recorded &= dso[i]->build_id_size > 0;
		all_same &= same(&build_id[i], &build_id[0]);
	}
	for (size_t i = 0; i < nr && rc >= 0; i++)
		if (build_id[i].size && (i ? all_recorded : all_recorded || all_same))
			rc = perch_writer_add_build_id(writer, PERCH_MISC_USER, build_id[i].bytes,
						       build_id[i].size, dso[i]->path, err);
	return rc;
}

static int write_files(const struct perch_recorder *recorder, struct perch_symbols *symbols,
		       struct recorder_dso **dso, struct build_id *build_id,
		       struct perch_error *err)
{
	const struct recorder_dsos *dsos = &recorder->scan.dsos;
	int rc = 0;

	for (size_t i = 0; i < dsos->nr; i++)
		dso[i] = &dsos->dso[i];
	qsort(dso, dsos->nr, sizeof(*dso), by_path);
	for (size_t i = 0; i < dsos->nr; i++)
		find_build_id(&recorder->scan, symbols, dso[i], &build_id[i]);
	for (size_t i = 0, nr; i < dsos->nr && rc >= 0; i += nr) {
		for (nr = 1; i + nr < dsos->nr && !strcmp(dso[i + nr]->path, dso[i]->path); nr++)
			;
		rc = write_path(recorder->output.writer, dso + i, build_id + i, nr, err);
	}
	return rc;
}

/* A module that was unloaded meanwhile has none. */
static int write_modules(const struct perch_recorder *recorder, struct perch_error *err)
{
	const struct recorder_scan *scan = &recorder->scan;
	struct build_id build_id = { 0 };
	int rc = 0;

	for (size_t i = 0; i < scan->nr_modules && rc >= 0; i++) {
		int size = perch_build_id_of_module(scan->module[i], build_id.bytes, NULL);

		if (size > 0)
			rc = perch_writer_add_build_id(recorder->output.writer, PERCH_MISC_KERNEL,
						       build_id.bytes, (size_t)size,
						       scan->module[i], err);
	}
	return rc;
}

int perch__recorder_write_build_ids(const struct perch_recorder *recorder, struct perch_error *err)
{
	const size_t nr = recorder->scan.dsos.nr;
	struct perch_symbols *symbols = NULL;
	struct recorder_dso **dso;
	struct build_id *build_id, kernel = { 0 };
	/* the build id of another file would prove that one to be the mapped one */
	const struct perch_symbols_options options = { .verified_only = true };
	int rc = 0, size;

	if (recorder->options.no_build_ids)
		return 0;
	size = recorder->options.no_kernel ? 0 : perch_build_id_of_kernel(kernel.bytes, NULL);
	if (size > 0)
		rc = perch_writer_add_build_id(recorder->output.writer, PERCH_MISC_KERNEL,
					       kernel.bytes, (size_t)size, "[kernel.kallsyms]",
					       err);
	if (rc >= 0 && !recorder->options.no_kernel)
		rc = write_modules(recorder, err);
	if (rc < 0 || !nr)
		return rc;
	dso = calloc(nr, sizeof(*dso));
	build_id = calloc(nr, sizeof(*build_id));
	if (!dso || !build_id)
		rc = PERCH__NO_MEMORY(err, "for the build ids of the file");
	else
		rc = perch_symbols_new(&symbols, &options, err);
	if (!rc)
		rc = write_files(recorder, symbols, dso, build_id, err);
	perch_symbols_free(symbols);
	free(dso);
	free(build_id);
	return rc;
}
