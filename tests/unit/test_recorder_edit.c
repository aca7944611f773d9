/* SPDX-License-Identifier: MIT */
/* The recorder writes build ids that it has read into records of mappings, around which the pieces
 * of the rings are split. The mapped file is a copy of this program. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>
#include <perch/symbol.h>

#include "recorder/internal.h"

#define NAME_BYTES 64

struct mmap2 {
	struct perch_record_header header;
	uint32_t pid, tid;
	uint64_t start, length, page_offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		};
		uint8_t id[24];
	};
	uint32_t protection, flags;
	char name[NAME_BYTES];
};

static char directory[] = "/tmp/perch-edit-XXXXXX", path[NAME_BYTES];
static uint8_t build_id[20];
static int size;
static uint32_t device[2];
static uint64_t inode;
static struct recorder_scan *scan;

static char *read_self(size_t *bytes)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat status;
	char *copy;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	*bytes = (size_t)status.st_size;
	copy = malloc(*bytes);
	assert_int_equal(read(fd, copy, *bytes), status.st_size);
	close(fd);
	return copy;
}

/* Writes this program into the file in place, with another last byte of its build id. */
static void write_file(uint8_t last)
{
	size_t bytes;
	char *copy = read_self(&bytes), *id;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	size = perch_build_id_of_file("/proc/self/exe", build_id, NULL);
	if (size >= 16) {
		id = memmem(copy, bytes, build_id, (size_t)size);
		assert_non_null(id);
		id[size - 1] = (char)last;
		build_id[size - 1] = last;
	}
	assert_true(fd >= 0);
	assert_int_equal(write(fd, copy, bytes), bytes);
	close(fd);
	free(copy);
}

/* The device that records of mappings have, which is not always that of stat(2). */
static void find_device(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_non_null(maps);
	device[0] = device[1] = UINT32_MAX;
	while (fgets(line, sizeof(line), maps))
		if (strtoull(line, NULL, 16) == (uintptr_t)at)
			assert_int_equal(sscanf(line, "%*s %*s %*s %x:%x %" SCNu64, &device[0],
						&device[1], &inode),
					 3);
	assert_true(device[0] != UINT32_MAX);
	fclose(maps);
	munmap(at, 4096);
	close(fd);
}

static struct mmap2 mapping(void)
{
	struct mmap2 map = { .header = { PERCH_RECORD_MMAP2, PERCH_MISC_USER, sizeof(map) },
			     .pid = (uint32_t)getpid(),
			     .tid = (uint32_t)getpid(),
			     .start = 0x1000,
			     .length = 0x1000,
			     .major = device[0],
			     .minor = device[1],
			     .inode = inode,
			     .protection = PROT_READ | PROT_EXEC,
			     .flags = MAP_PRIVATE };

	snprintf(map.name, sizeof(map.name), "%s", path);
	return map;
}

static struct mmap2 with_id(void)
{
	struct mmap2 map = mapping();

	map.header.misc |= PERCH_MISC_MMAP_BUILD_ID;
	memset(map.id, 0, sizeof(map.id));
	map.id[0] = (uint8_t)size;
	memcpy(map.id + 4, build_id, (size_t)size);
	return map;
}

static int begin(void **state)
{
	const struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .sample_id_all = 1 };

	(void)state;
	write_file(1);
	find_device();
	scan = calloc(1, sizeof(*scan));
	scan->lost = calloc(1, sizeof(*scan->lost));
	perch_parse_info_init(&scan->parse_info, &attr, PERCH_BYTES_NATIVE);
	scan->mmap_parse_info = scan->parse_info;
	return perch__recorder_ids_begin(&scan->ids);
}

static int end(void **state)
{
	(void)state;
	free(scan->lost);
	perch__recorder_scan_clear(scan);
	free(scan);
	unlink(path);
	return 0;
}

static void need_build_id(void)
{
	if (size >= 16)
		return;
	print_message("skipped: this program has no build id\n");
	skip();
}

/* Scans records as one round of a ring, which begins again after `first` bytes. Returns what would
 * be written. */
static void scan_round(const void *bytes, size_t all, size_t first, char *written)
{
	struct iovec pieces[2] = { { (char *)bytes, first },
				   { (char *)bytes + first, all - first } };
	struct iovec to[32];
	size_t next = 0, nr, at = 0;

	scan->edits.nr = scan->edits.used = 0;
	perch__recorder_ids_next_round(&scan->ids);
	perch__recorder_scan_ring(scan, 0, pieces);
	nr = perch__recorder_edits_splice(&scan->edits, &next, 0, pieces, to);
	assert_true(nr <= 2 + 2 * scan->edits.nr);
	assert_int_equal(next, scan->edits.nr);
	for (size_t i = 0; i < nr; i++) {
		assert_true(to[i].iov_len && at + to[i].iov_len <= all);
		memcpy(written + at, to[i].iov_base, to[i].iov_len);
		at += to[i].iov_len;
	}
	assert_int_equal(at, all);
}

struct ring {
	struct mmap2 first;
	struct perch_record_header other[2];
	struct mmap2 vdso, second, third;
	struct perch_record_header last[3];
};

static void build_ids_are_written_wherever_the_ring_begins_again(void **state)
{
	struct ring ring = { mapping(), { { PERCH_RECORD_SAMPLE, 0, 16 } }, mapping(), mapping(),
			     mapping(), { { PERCH_RECORD_SAMPLE, 0, 24 } } };
	struct ring wanted, written;

	(void)state;
	need_build_id();
	strcpy(ring.vdso.name, "[vdso]");
	ring.vdso.inode = ring.vdso.major = ring.vdso.minor = 0;
	wanted = ring;
	wanted.first = wanted.second = wanted.third = with_id();
	for (size_t first = 8; first <= sizeof(ring); first += 8) {
		memset(&written, 0, sizeof(written));
		scan_round(&ring, sizeof(ring), first, (char *)&written);
		assert_memory_equal(&written, &wanted, sizeof(written));
	}
	assert_int_equal(scan->ids.nr, 1);
	assert_int_equal(scan->samples, 2 * sizeof(ring) / 8);
	/* the DSO is the one of the written records */
	assert_int_equal(scan->dsos.nr, 2);
	assert_int_equal(scan->dsos.dso[0].build_id_size, size);
}

static void mark_of_another_recording_is_removed(void **state)
{
	struct mmap2 map = mapping(), written, wanted;

	(void)state;
	perch__recorder_ids_clear(&scan->ids); /* --no-buildid-mmap */
	wanted = map;
	map.header.misc |= PERCH_MISC_MMAP_BUILD_ID;
	scan_round(&map, sizeof(map), sizeof(map), (char *)&written);
	assert_memory_equal(&written, &wanted, sizeof(written));
}

/* In the same round it is not read again. */
static void file_that_is_written_in_place_is_read_again(void **state)
{
	struct mmap2 map = mapping(), written, wanted = with_id();

	(void)state;
	need_build_id();
	scan_round(&map, sizeof(map), sizeof(map), (char *)&written);
	assert_memory_equal(&written, &wanted, sizeof(written));
	usleep(20000); /* times of files have the resolution of the clock tick */
	write_file(2);
	wanted = with_id();
	scan_round(&map, sizeof(map), sizeof(map), (char *)&written);
	assert_memory_equal(&written, &wanted, sizeof(written));
}

static void files_of_ended_processes_are_searched_at_most_16_times(void **state)
{
	struct mmap2 map = mapping(), written, wanted;

	(void)state;
	need_build_id();
	scan_round(&map, sizeof(map), sizeof(map), (char *)&written);
	assert_int_equal(scan->ids.nr_witnesses, 1);
	assert_int_equal(scan->ids.witness[0].pid, getpid());
	map.inode++; /* no file has it there */
	map.pid = INT32_MAX;
	wanted = map;
	for (int i = 0; i < 40; i++) {
		scan_round(&map, sizeof(map), sizeof(map), (char *)&written);
		assert_memory_equal(&written, &wanted, sizeof(written));
	}
	assert_int_equal(perch__recorder_ids_missing(&scan->ids), 1);
	assert_string_equal(scan->ids.missing, path);
	assert_int_equal(scan->ids.file[1].attempts, 16);
}

static void deleted_file_is_not_one_with_its_path(void **state)
{
	struct mmap2 map = mapping(), written, wanted = map;
	int fd = open(path, O_RDONLY | O_CLOEXEC); /* so the new one has another inode */

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	write_file(3);
	scan_round(&map, sizeof(map), sizeof(map), (char *)&written);
	assert_memory_equal(&written, &wanted, sizeof(written));
	assert_int_equal(perch__recorder_ids_missing(&scan->ids), 1);
	close(fd);
}

static void records_from_proc_get_build_ids(void **state)
{
	struct mmap2 map[2] = { mapping(), mapping() }, wanted[2] = { with_id(), mapping() };

	(void)state;
	need_build_id();
	strcpy(map[1].name, "//anon");
	strcpy(wanted[1].name, "//anon");
	memset(map[1].name + 7, 0, sizeof(map[1].name) - 7);
	memset(wanted[1].name + 7, 0, sizeof(wanted[1].name) - 7);
	perch__recorder_edit_in_place(&scan->ids, &scan->parse_info, (char *)map, sizeof(map));
	assert_memory_equal(map, wanted, sizeof(map));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(build_ids_are_written_wherever_the_ring_begins_again),
		TEST(mark_of_another_recording_is_removed),
		TEST(file_that_is_written_in_place_is_read_again),
		TEST(files_of_ended_processes_are_searched_at_most_16_times),
		TEST(deleted_file_is_not_one_with_its_path),
		TEST(records_from_proc_get_build_ids),
	};
	int failed;

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/program", directory);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(directory);
	return failed;
}
