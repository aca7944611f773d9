/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a perf.data file, read in both orders.
 *
 *	clang -g -O1 -fsanitize=fuzzer,address,undefined -DPERCH_HAVE_ZSTD -Iinclude \
 *		fuzz/fuzz_reader.c src/{error,abi,machine,event,record,file}/?*.c -lzstd -o fuzz_reader
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <perch/file.h>
#include "touch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_records(struct perch_reader *reader)
{
	struct perch_record record;
	struct perch_error err;

	while (perch_reader_next(reader, &record, &err) > 0)
		touch_record(&record);
}

static void touch_header(struct perch_reader *reader)
{
	const struct perch_file_event *events;
	const struct perch_build_id *ids;
	const char *const *arguments;
	size_t nr = perch_reader_events(reader, &events);

	for (size_t i = 0; i < nr; i++) {
		touch_bytes(events[i].ids, events[i].nr_ids * sizeof(uint64_t));
		touch_bytes(events[i].name, strlen(events[i].name));
		if (events[i].members > nr - i)
			abort();
	}
	nr = perch_reader_build_ids(reader, &ids);
	for (size_t i = 0; i < nr; i++) {
		touch_bytes(ids[i].bytes, ids[i].size);
		touch_bytes(ids[i].path, strlen(ids[i].path));
	}
	nr = perch_reader_command_line(reader, &arguments);
	for (size_t i = 0; i < nr; i++)
		touch_bytes(arguments[i], strlen(arguments[i]));
}

static void read_file(const char *path, enum perch_order order, FILE *nowhere)
{
	struct perch_reader_damage damage;
	struct perch_reader *reader;
	struct perch_error err;
	uint64_t done, total;

	if (perch_reader_open(&reader, path, order, &err))
		return;
	touch_header(reader);
	perch_reader_print_header(reader, nowhere);
	read_records(reader);
	perch_reader_progress(reader, &done, &total);
	if (done > total)
		abort();
	perch_reader_rewind(reader);
	read_records(reader);
	perch_reader_damage(reader, &damage);
	perch_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	static int fd = -1;
	static char path[64];

	if (fd < 0) {
		nowhere = fopen("/dev/null", "w");
		fd = memfd_create("perf.data", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (!nowhere || fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	read_file(path, PERCH_ORDER_FILE, nowhere);
	read_file(path, PERCH_ORDER_TIME, nowhere);
	return 0;
}
