/* SPDX-License-Identifier: MIT */
/*
 * Synthesized records, compared with those that the kernel writes for the same mapping, thread,
 * namespaces and cgroup.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/synthesize.h>
#include "records.h"

#define MAX_RECORDS 8192

struct taken {
	const struct perch_attr *attr;
	struct perch_parse_info parse_info;
	char *bytes;
	size_t used, nr;
	struct perch_record *record; /* MAX_RECORDS */
};

static int take(void *context, const void *records, size_t size, struct perch_error *err)
{
	struct taken *taken = context;

	(void)err;
	taken->bytes = realloc(taken->bytes, taken->used + size);
	assert_non_null(taken->bytes);
	memcpy(taken->bytes + taken->used, records, size);
	taken->used += size;
	return 0;
}

/* Decodes the records, which no longer move. */
static void decode(struct taken *taken)
{
	taken->record = calloc(MAX_RECORDS, sizeof(*taken->record));
	assert_non_null(taken->record);
	perch_parse_info_init(&taken->parse_info, taken->attr, PERCH_BYTES_NATIVE);
	for (size_t at = 0; at < taken->used; at += taken->record[taken->nr++].size) {
		assert_true(taken->nr < MAX_RECORDS);
		assert_int_equal(perch_record_decode(&taken->record[taken->nr], &taken->parse_info,
						     taken->bytes + at, taken->used - at, NULL),
				 0);
	}
}

static struct taken *synthesize_self(const struct perch_attr *attr, uint32_t records)
{
	const struct perch_synthesize_options options = { .records = records, .attr = attr };
	struct taken *taken = calloc(1, sizeof(*taken));
	struct perch_synthesize_counts counts = { 0 };
	struct perch_error err = { 0 };

	assert_non_null(taken);
	taken->attr = attr;
	if (perch_synthesize_process(0, &options, NULL, take, taken, &counts, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(counts.denied + counts.ended + counts.skipped, 0);
	decode(taken);
	assert_int_equal(taken->nr, counts.records);
	return taken;
}

static void free_taken(struct taken *taken)
{
	free(taken->bytes);
	free(taken->record);
	free(taken);
}

static const struct perch_record *mapping_of(const struct taken *taken, const void *at)
{
	for (size_t i = 0; i < taken->nr; i++)
		if (taken->record[i].type == PERCH_RECORD_MMAP2 &&
		    taken->record[i].mmap.start == (uintptr_t)at)
			return &taken->record[i];
	fail_msg("no MMAP2 record of the mapping at %p", at);
	return NULL;
}

static void check_equal_mappings(const struct perch_record *a, const struct perch_record *b)
{
	/* flags without effect that Linux before 5.15 sets, but that are not in /proc */
	const uint32_t ignored = MAP_EXECUTABLE | MAP_DENYWRITE;

	assert_int_equal(a->misc, b->misc);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->mmap.pid, b->mmap.pid);
	assert_int_equal(a->mmap.length, b->mmap.length);
	/* of memory without a file the kernel records the address; /proc has 0 */
	if (a->mmap.inode)
		assert_int_equal(a->mmap.page_offset, b->mmap.page_offset);
	assert_int_equal(a->mmap.major, b->mmap.major);
	assert_int_equal(a->mmap.minor, b->mmap.minor);
	assert_int_equal(a->mmap.inode, b->mmap.inode);
	assert_int_equal(a->mmap.protection, b->mmap.protection);
	assert_int_equal(a->mmap.flags & ~ignored, b->mmap.flags & ~ignored);
	assert_text(&a->mmap.filename, b->mmap.filename.text);
}

/* Names that /proc writes differently: a newline, a removed file, memory without a file. */
static void mapping_equals_record_of_the_kernel(void **state)
{
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	const struct {
		const char *name;
		bool removed;
		int rights, flags;
	} cases[] = {
		{ "plain", false, PROT_READ | PROT_EXEC, MAP_PRIVATE },
		{ "two\nlines", false, PROT_READ | PROT_EXEC, MAP_SHARED },
		{ "removed", true, PROT_READ | PROT_EXEC, MAP_PRIVATE },
		{ "data", false, PROT_READ | PROT_WRITE, MAP_SHARED },
		{ NULL, false, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS },
	};
	struct perch_attr attr = live_attr();

	(void)state;
	attr.mmap = attr.mmap2 = attr.mmap_data = 1;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct perch_record *record;
		struct taken *taken;
		struct live live;
		char path[128];
		int fd = -1;
		void *at;

		snprintf(path, sizeof(path), "/tmp/perch %d %s", (int)getpid(),
			 cases[i].name ? cases[i].name : "");
		if (cases[i].name)
			fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
		assert_true(fd >= 0 || !cases[i].name);
		assert_true(fd < 0 || !ftruncate(fd, 3 * (off_t)bytes));
		if (cases[i].removed)
			unlink(path);
		record_self(&live, &attr);
		live_enable(&live);
		at = mmap(NULL, bytes, cases[i].rights, cases[i].flags, fd,
			  fd < 0 ? 0 : (off_t)bytes);
		record_end(&live);
		assert_ptr_not_equal(at, MAP_FAILED);
		for (record = NULL; (record = live_next(&live, PERCH_RECORD_MMAP2, record));)
			if (record->mmap.start == (uintptr_t)at)
				break;
		assert_non_null(record);
		taken = synthesize_self(&attr, PERCH_SYNTHESIZE_MMAP | PERCH_SYNTHESIZE_MMAP_DATA);
		check_equal_mappings(mapping_of(taken, at), record);
		munmap(at, bytes);
		if (fd >= 0 && !cases[i].removed)
			unlink(path);
		close(fd);
		live_close(&live);
		free_taken(taken);
	}
}

static void *wait_for_end(void *barrier)
{
	prctl(PR_SET_NAME, "new\nname");
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

/* The record of the kernel and the synthesized one have the same bytes of the body. */
static void check_equal_bodies(const struct taken *taken, const struct perch_record *wanted)
{
	size_t size = wanted->size - sizeof(struct perch_record_header) - taken->parse_info.id_size;

	for (size_t i = 0; i < taken->nr; i++)
		if (taken->record[i].type == wanted->type &&
		    taken->record[i].size == wanted->size &&
		    !memcmp((const char *)taken->record[i].bytes +
				    sizeof(struct perch_record_header),
			    (const char *)wanted->bytes + sizeof(struct perch_record_header), size))
			return;
	fail_msg("no synthesized %s record has the bytes of that of the kernel",
		 perch_record_name(wanted->type));
}

static void comm_of_each_thread_equals_record_of_the_kernel(void **state)
{
	struct perch_attr attr = live_attr();
	pthread_barrier_t barrier;
	struct taken *taken;
	struct live live;
	pthread_t thread;

	(void)state;
	attr.comm = 1;
	attr.inherit = 0;
	pthread_barrier_init(&barrier, NULL, 2);
	record_self(&live, &attr);
	live_enable(&live);
	prctl(PR_SET_NAME, "first thread");
	record_end(&live);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_end, &barrier), 0);
	pthread_barrier_wait(&barrier);
	taken = synthesize_self(&attr, PERCH_SYNTHESIZE_COMM);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	assert_int_equal(taken->nr, 2);
	check_equal_bodies(taken, only_record(&live, PERCH_RECORD_COMM));
	assert_text(&taken->record[0].comm.comm, "first thread");
	assert_text(&taken->record[1].comm.comm, "new\nname");
	assert_int_equal(taken->record[1].comm.pid, getpid());
	live_close(&live);
	free_taken(taken);
}

/* unshare(2) makes the kernel write the record. */
static void namespaces_equal_record_of_the_kernel(void **state)
{
	struct perch_attr attr = live_attr();
	struct taken *taken;
	struct live live;

	(void)state;
	attr.namespaces = 1;
	record_self(&live, &attr);
	live_enable(&live);
	if (unshare(CLONE_NEWUTS)) {
		live_close(&live);
		print_message("skipped: unshare: %s\n", strerror(errno));
		skip();
	}
	record_end(&live);
	taken = synthesize_self(&attr, PERCH_SYNTHESIZE_NAMESPACES);
	check_equal_bodies(taken, only_record(&live, PERCH_RECORD_NAMESPACES));
	live_close(&live);
	free_taken(taken);
}

static void cgroup_equals_record_of_the_kernel(void **state)
{
	struct taken *taken = calloc(1, sizeof(*taken));
	struct perch_synthesize_options options = { 0 };
	struct perch_synthesize_counts counts = { 0 };
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	char root[256], path[512];
	struct perch_error err;
	struct live live;
	int rc;

	(void)state;
	assert_non_null(taken);
	if (perch_machine_cgroups(NULL, root, sizeof(root), &err) < 0) {
		print_message("skipped: %s\n", err.message);
		free(taken);
		skip();
	}
	snprintf(path, sizeof(path), "%s/perch synthesized %d", root, (int)getpid());
	attr.cgroup = 1;
	record_self(&live, &attr);
	live_enable(&live);
	rc = mkdir(path, 0755) ? errno : 0;
	record_end(&live);
	if (rc || !live_count(&live, PERCH_RECORD_CGROUP)) {
		print_message("skipped: no cgroup that the kernel records: %s\n", strerror(rc));
		rmdir(path);
		live_close(&live);
		free(taken);
		skip();
	}
	options.attr = taken->attr = &attr;
	rc = perch_synthesize_cgroups(&options, NULL, take, taken, &counts, &err);
	rmdir(path);
	assert_int_equal(rc, 0);
	decode(taken);
	record = only_record(&live, PERCH_RECORD_CGROUP);
	check_equal_bodies(taken, record);
	assert_text(&taken->record[0].cgroup.path, "/");
	live_close(&live);
	free_taken(taken);
}

/* Processes that end while they are read are counted; they are no failure. */
static void ending_processes_are_no_failure(void **state)
{
	struct perch_synthesize_counts counts = { 0 };
	struct perch_error err = { 0 };
	pid_t child = fork();

	(void)state;
	while (!child) {
		pid_t grandchild = fork();

		if (!grandchild)
			_exit(0);
		if (grandchild > 0)
			waitpid(grandchild, NULL, 0);
	}
	assert_true(child > 0);
	for (int i = 0; i < 20; i++) {
		const struct perch_synthesize_options all = { .records = PERCH_SYNTHESIZE_ALL };
		struct taken taken = { .bytes = NULL };

		if (perch_synthesize_all_processes(&all, NULL, take, &taken, &counts, &err) < 0)
			fail_msg("%s", err.message);
		free(taken.bytes);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(counts.skipped, 0);
	assert_true(counts.processes >= 20 && counts.records >= counts.processes);
	print_message("%" PRIu64 " processes, %" PRIu64 " ended, %" PRIu64 " refused\n",
		      counts.processes, counts.ended, counts.denied);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mapping_equals_record_of_the_kernel),
		cmocka_unit_test(comm_of_each_thread_equals_record_of_the_kernel),
		cmocka_unit_test(namespaces_equal_record_of_the_kernel),
		cmocka_unit_test(cgroup_equals_record_of_the_kernel),
		cmocka_unit_test(ending_processes_are_no_failure),
	};

	return RECORDS_RUN(tests);
}
