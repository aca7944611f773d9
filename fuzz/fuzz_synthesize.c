/* SPDX-License-Identifier: MIT */
/*
 * The input is the files of a process and of the kernel, separated by zeros, in a directory tree in
 * place of /proc. Each record must be complete and must decode. The untrusted files are those whose
 * text a process chooses: its mappings and its name.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <perch/record.h>
#include <perch/synthesize.h>
#include "tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const struct tree_file files[] = { { "/proc/7/maps", "" },     { "/proc/7/task/7/comm", "" },
					  { "/proc/7/status", "" },   { "/proc/7/ns/net", "" },
					  { "/proc/kallsyms", "" },   { "/proc/modules", "" },
					  { "/proc/self/mounts", "" } };
#define NR_FILES (sizeof(files) / sizeof(files[0]))

static char root[PATH_MAX];

static void remove_tree(void)
{
	tree_remove(root);
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
	char whole[PATH_MAX + 64];
	int fd;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	fd = open(whole, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd))
		abort();
}

/* Each file has the bytes up to the next zero; the last one has the rest. */
static void write_files(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < NR_FILES; i++) {
		const uint8_t *end = i + 1 < NR_FILES && size ? memchr(bytes, 0, size) : NULL;
		size_t length = end ? (size_t)(end - bytes) : size;

		write_file(files[i].path, bytes, length);
		bytes += length + (end != NULL);
		size -= length + (end != NULL);
	}
}

struct taken {
	struct perch_parse_info parse_info;
	uint64_t records;
};

static int take(void *context, const void *records, size_t size, struct perch_error *err)
{
	struct taken *taken = context;
	const char *at = records;
	struct perch_record record;

	(void)err;
	for (size_t done = 0; done < size; done += record.size) {
		if (perch_record_decode(&record, &taken->parse_info, at + done, size - done, NULL))
			abort();
		if (record.type == PERCH_RECORD_MMAP2 &&
		    (record.mmap.filename.length >= PATH_MAX || !record.mmap.length))
			abort();
		if (record.sample_id.time != 5 && record.type != PERCH_RECORD_FORK)
			abort();
		taken->records++;
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct perch_attr attr = { .sample_id_all = 1,
						.sample_type = PERCH_SAMPLE_TIME };
	static const struct perch_synthesize_options options = { .records = PERCH_SYNTHESIZE_ALL,
								 .attr = &attr,
								 .time = 5 };
	struct perch_synthesize_counts counts = { 0 };
	static struct perch_machine *machine;
	struct taken taken = { .records = 0 };

	if (!machine) {
		tree_make(root, files, NR_FILES);
		atexit(remove_tree);
		if (perch_machine_new(&machine, root, NULL, NULL))
			abort();
	}
	perch_parse_info_init(&taken.parse_info, &attr, PERCH_BYTES_NATIVE);
	write_files(bytes, size);
	perch_synthesize_process(7, &options, machine, take, &taken, &counts, NULL);
	perch_synthesize_kernel(&options, machine, take, &taken, &counts, NULL);
	if (taken.records != counts.records)
		abort();
	return 0;
}
