/* SPDX-License-Identifier: MIT */
/* Tests synthesized records with a directory tree in place of /proc. */
#define _GNU_SOURCE /* nftw */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/record.h>
#include <perch/synthesize.h>
#include "tree_machine.h"

#define NR(array)   (sizeof(array) / sizeof((array)[0]))
#define MAX_RECORDS 4096
#define CODE	    "1000-3000 r-xp 00002000 fe:01 77                         /bin/worker\n"

/* clang-format off */
static const struct tree_file files[] = {
	/* a process with two threads */
	{ "/proc/7/status", "Name:\tworker\nTgid:\t7\nPid:\t7\nPPid:\t3\n" },
	{ "/proc/8/status", "Name:\thelper\nTgid:\t7\nPid:\t8\nPPid:\t3\n" },
	{ "/proc/7/task/7/comm", "worker\n" },
	{ "/proc/7/task/8/comm", "help\ner\n" },
	{ "/proc/7/maps",
	  CODE
	  "4000-5000 rw-s 00000000 fe:01 77                         /bin/worker\n"
	  "6000-7000 r-xp 00000000 00:00 0 \n"
	  "7fff0000-7fff2000 r-xp 00000000 00:00 0                  [vdso]\n" },
	/* paths that a process chooses */
	{ "/proc/9/task/9/comm", "\033[31mred\n" },
	{ "/proc/9/maps",
	  "1000-2000 r-xp 00000000 fe:01 1 /tmp/two\\012lines\n"
	  "2000-3000 r-xp 00000000 fe:01 2 /tmp/gone (deleted)\n"
	  "3000-4000 r-xp 00000000 fe:01 3 /tmp/a b  c\n"
	  "4000-5000 r-xp 00000000 fe:01 4 /tmp/back\\slash\\0\n" },
	/* lines of other forms */
	{ "/proc/11/task/11/comm", "damaged\n" },
	{ "/proc/11/maps",
	  "\n"
	  "garbage\n"
	  "1000-1000 r-xp 00000000 fe:01 1 /empty\n"
	  "2000-1000 r-xp 00000000 fe:01 1 /backwards\n"
	  "10000000000000000-20000000000000000 r-xp 0 0:0 0 /too/large\n"
	  "1000-2000 r-x 00000000 fe:01 1 /short\n"
	  "1000-2000 r-xp 00000000 fe01 1 /device\n"
	  "1000-2000 r-xp 00000000 fe:01 x /inode\n"
	  "1000-2000 r-xp 0 100000000:01 1 /major\n"
	  "-1000-2000 r-xp 0 fe:01 1 /negative\n"
	  "1000-2000 r-xp 00000000 fe:01 1" },
	/* a thread that ended while its process was read */
	{ "/proc/13/task/13/comm", "late\n" },
	{ "/proc/13/task/14/status", "" },
	{ "/proc/13/maps", CODE },
	/* the process ended */
	{ "/proc/15/task/15/comm", "zombie\n" },
	{ "/proc/17/ns/net", "" },
	{ "/proc/17/ns/pid", "" },
	{ "/proc/17/task/17/comm", "isolated\n" },
	{ "/proc/17/maps", "" },
	{ "/proc/self/mounts", "" },
	{ "/proc/kallsyms",
	  "ffff800000010000 T _text\n"
	  "ffff800000010100 T start_kernel\n"
	  "bad line\n"
	  "ffff800000050000 T _etext\n" },
	{ "/proc/modules",
	  "snd_hda 3000 2 - Live 0xffff800002000000\n"
	  "ext4 1000 2 - Live 0xffff800001000000\n"
	  "hidden 1000 2 - Live 0x0000000000000000\n"
	  "not a module\n"
	  "out_of_tree 1000 2 - Live 0xffff800003000000\n" },
	{ "/proc/sys/kernel/osrelease", "6.1.0-test\n" },
	{ "/lib/modules/6.1.0-test/modules.dep",
	  "kernel/sound/snd-hda.ko.xz: kernel/sound/snd.ko.xz\n"
	  "kernel/fs/ext3.ko:\n"
	  "\n"
	  "/opt/out-of-tree.ko: kernel/ext4.ko\n" },
};
/* clang-format on */

/* The records that the sink has received. */
struct taken {
	struct perch_parse_info parse_info;
	struct perch_record record[MAX_RECORDS];
	size_t nr, batches;
	char *batch[16];
	size_t fail_at; /* number of the batch that is refused; 0 is none */
};
static struct taken taken;

static int take(void *context, const void *records, size_t size, struct perch_error *err)
{
	struct taken *to = context;
	char *copy = aligned_alloc(8, size);
	uint16_t bytes;

	assert_true(size && size <= 65536 && !((uintptr_t)records % 8));
	assert_non_null(copy);
	memcpy(copy, records, size);
	to->batch[to->batches++ % NR(to->batch)] = copy;
	if (to->batches == to->fail_at)
		return perch_error_set(err, EIO, PERCH_ERROR_FILE, "the sink is full");
	for (size_t at = 0; at < size; at += bytes) {
		struct perch_record *record = &to->record[to->nr++];

		assert_true(to->nr < MAX_RECORDS);
		bytes = ((const struct perch_record_header *)(copy + at))->size;
		assert_true(bytes && at + bytes <= size && !(bytes % 8));
		assert_int_equal(
			perch_record_decode(record, &to->parse_info, copy + at, bytes, NULL), 0);
	}
	return 0;
}

static int reset(void **state)
{
	static const struct perch_attr none;

	(void)state;
	for (size_t i = 0; i < NR(taken.batch); i++)
		free(taken.batch[i]);
	memset(&taken, 0, sizeof(taken));
	perch_parse_info_init(&taken.parse_info, &none, PERCH_BYTES_NATIVE);
	return 0;
}

/* Makes the records of a process. */
static int make(pid_t pid, uint32_t records, struct perch_synthesize_counts *counts,
		struct perch_error *err)
{
	const struct perch_synthesize_options options = { .records = records };

	memset(counts, 0, sizeof(*counts));
	return perch_synthesize_process(pid, &options, machine, take, &taken, counts, err);
}

static const struct perch_record *record_at(size_t index, uint32_t type)
{
	assert_true(index < taken.nr);
	assert_int_equal(taken.record[index].type, type);
	return &taken.record[index];
}

static void check_comm(size_t index, uint32_t pid, uint32_t tid, const char *name)
{
	const struct perch_record *record = record_at(index, PERCH_RECORD_COMM);

	assert_int_equal(record->misc, PERCH_MISC_USER);
	assert_int_equal(record->comm.pid, pid);
	assert_int_equal(record->comm.tid, tid);
	assert_string_equal(record->comm.comm.text, name);
}

static void check_map(size_t index, uint64_t start, uint64_t length, const char *name)
{
	const struct perch_record *record = record_at(index, PERCH_RECORD_MMAP2);

	assert_int_equal(record->mmap.start, start);
	assert_int_equal(record->mmap.length, length);
	assert_string_equal(record->mmap.filename.text, name);
}

/* The order of readdir(3) is not that of the numbers. */
static size_t comm_of(uint32_t tid)
{
	for (size_t i = 0; i < taken.nr; i++)
		if (taken.record[i].type == PERCH_RECORD_COMM && taken.record[i].comm.tid == tid)
			return i;
	fail_msg("no COMM record of thread %u", tid);
	return 0;
}

static void names_each_thread_and_maps_the_process_once(void **state)
{
	struct perch_synthesize_counts counts;
	const struct perch_record *code;

	(void)state;
	assert_int_equal(make(7, 0, &counts, NULL), 0);
	assert_int_equal(taken.nr, 5);
	check_comm(comm_of(7), 7, 7, "worker");
	check_comm(comm_of(8), 7, 8, "help\ner");
	check_map(2, 0x1000, 0x2000, "/bin/worker");
	check_map(3, 0x6000, 0x1000, "//anon");
	check_map(4, 0x7fff0000, 0x2000, "[vdso]");
	code = record_at(2, PERCH_RECORD_MMAP2);
	assert_int_equal(code->misc, PERCH_MISC_USER);
	assert_int_equal(code->mmap.pid, 7);
	assert_int_equal(code->mmap.tid, 7);
	assert_int_equal(code->mmap.page_offset, 0x2000);
	assert_int_equal(code->mmap.major, 0xfe);
	assert_int_equal(code->mmap.minor, 1);
	assert_int_equal(code->mmap.inode, 77);
	assert_int_equal(code->mmap.protection, PROT_READ | PROT_EXEC);
	assert_int_equal(code->mmap.flags, MAP_PRIVATE);
	assert_int_equal(counts.records, 5);
	assert_int_equal(counts.processes, 1);
	assert_int_equal(counts.ended + counts.denied + counts.skipped, 0);
}

static void thread_stands_for_its_process(void **state)
{
	struct perch_synthesize_counts counts;

	(void)state;
	assert_int_equal(make(8, 0, &counts, NULL), 0);
	assert_int_equal(taken.nr, 5);
	check_comm(comm_of(7), 7, 7, "worker");
}

static void data_mappings_are_optional(void **state)
{
	struct perch_synthesize_counts counts;

	(void)state;
	assert_int_equal(make(7, PERCH_SYNTHESIZE_MMAP_DATA, &counts, NULL), 0);
	assert_int_equal(taken.nr, 1);
	check_map(0, 0x4000, 0x1000, "/bin/worker");
	assert_int_equal(taken.record[0].misc, PERCH_MISC_USER | PERCH_MISC_MMAP_DATA);
	assert_int_equal(taken.record[0].mmap.protection, PROT_READ | PROT_WRITE);
	assert_int_equal(taken.record[0].mmap.flags, MAP_SHARED);
}

static void fork_records_have_parents(void **state)
{
	struct perch_synthesize_counts counts;

	(void)state;
	assert_int_equal(make(7, PERCH_SYNTHESIZE_FORK, &counts, NULL), 0);
	assert_int_equal(taken.nr, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct perch_record *record = record_at(i, PERCH_RECORD_FORK);
		uint32_t parent = record->task.tid == 7 ? 3 : 7;

		assert_int_equal(record->misc, PERCH_MISC_FORK_EXEC);
		assert_int_equal(record->task.pid, 7);
		assert_int_equal(record->task.ppid, parent);
		assert_int_equal(record->task.ptid, parent);
	}
}

static void namespaces_are_inodes(void **state)
{
	struct perch_synthesize_counts counts;
	const struct perch_record *record;
	char path[PATH_MAX];
	struct stat net;

	(void)state;
	assert_true(perch_machine_path(machine, "/proc/17/ns/net", path, sizeof(path)) > 0);
	assert_int_equal(stat(path, &net), 0);
	assert_int_equal(make(17, PERCH_SYNTHESIZE_NAMESPACES, &counts, NULL), 0);
	assert_int_equal(taken.nr, 1);
	record = record_at(0, PERCH_RECORD_NAMESPACES);
	assert_int_equal(record->namespaces.pid, 17);
	assert_int_equal(record->namespaces.nr, PERCH_NR_NAMESPACES);
	assert_int_equal(record->namespaces.link[PERCH_NET_NS_INDEX].ino, net.st_ino);
	assert_int_equal(record->namespaces.link[PERCH_UTS_NS_INDEX].ino, 0);
	/* process 7 has none in this tree: a record of zeros would be wrong */
	assert_int_equal(make(7, PERCH_SYNTHESIZE_NAMESPACES, &counts, NULL), 0);
	assert_int_equal(counts.records, 0);
}

static void paths_are_those_of_kernel_records(void **state)
{
	struct perch_synthesize_counts counts;

	(void)state;
	assert_int_equal(make(9, 0, &counts, NULL), 0);
	assert_int_equal(taken.nr, 5);
	check_comm(0, 9, 9, "\033[31mred");
	check_map(1, 0x1000, 0x1000, "/tmp/two\nlines");
	check_map(2, 0x2000, 0x1000, "/tmp/gone (deleted)");
	check_map(3, 0x3000, 0x1000, "/tmp/a b  c");
	check_map(4, 0x4000, 0x1000, "/tmp/back\\slash\\0");
}

static void lines_of_other_forms_are_counted(void **state)
{
	struct perch_synthesize_counts counts;

	(void)state;
	assert_int_equal(make(11, PERCH_SYNTHESIZE_MMAP, &counts, NULL), 0);
	assert_int_equal(taken.nr, 1); /* the last line, which has neither path nor newline */
	check_map(0, 0x1000, 0x1000, "//anon");
	assert_int_equal(counts.skipped, 10);
}

/* Writes a file of the tree. */
static void write_maps(pid_t pid, const char *text)
{
	char path[PATH_MAX], name[64];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	assert_true(perch_machine_path(machine, name, path, sizeof(path)) > 0);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void long_paths_are_replaced(void **state)
{
	struct perch_synthesize_counts counts;
	char *text = malloc(100000);
	size_t head;

	(void)state;
	assert_non_null(text);
	head = (size_t)sprintf(text, "1000-2000 r-xp 00000000 fe:01 1 ");
	memset(text + head, '/', 99999 - head);
	/* PATH_MAX includes the final zero */
	text[head + PATH_MAX - 1] = '\0';
	write_maps(17, text);
	assert_int_equal(make(17, PERCH_SYNTHESIZE_MMAP, &counts, NULL), 0);
	check_map(0, 0x1000, 0x1000, text + head);
	text[head + PATH_MAX - 1] = '/';
	text[head + PATH_MAX] = '\0';
	write_maps(17, text);
	assert_int_equal(make(17, PERCH_SYNTHESIZE_MMAP, &counts, NULL), 0);
	check_map(1, 0x1000, 0x1000, "//toolong");
	/* longer than any line of the kernel */
	text[head + PATH_MAX] = '/';
	strcpy(text + 99000, "\n3000-4000 r-xp 00000000 fe:01 1 /next\n");
	write_maps(17, text);
	assert_int_equal(make(17, PERCH_SYNTHESIZE_MMAP, &counts, NULL), 0);
	assert_int_equal(taken.nr, 3);
	check_map(2, 0x3000, 0x1000, "/next");
	assert_int_equal(counts.skipped, 1);
	write_maps(17, "");
	free(text);
}

static void ended_threads_and_processes_are_counted(void **state)
{
	struct perch_synthesize_counts counts;
	struct perch_error err;

	(void)state;
	assert_int_equal(make(13, 0, &counts, NULL), 0);
	check_comm(0, 13, 13, "late");
	assert_int_equal(taken.nr, 2);
	assert_int_equal(counts.ended, 1);
	/* the threads were read, then the process ended */
	assert_int_equal(make(15, 0, &counts, &err), -ESRCH);
	assert_int_equal(err.kind, PERCH_ERROR_NO_PROCESS);
	assert_int_equal(counts.ended, 1);
	assert_int_equal(make(1234, 0, &counts, &err), -ESRCH);
	assert_string_equal(err.message, "there is no process or thread 1234");
}

static void invalid_arguments_are_refused(void **state)
{
	struct perch_synthesize_counts counts;
	struct perch_error err;

	(void)state;
	assert_int_equal(make(7, 1 << 6, &counts, &err), -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_USAGE);
	assert_int_equal(make(-1, 0, &counts, &err), -EINVAL);
	assert_int_equal(taken.nr, 0);
}

/* Runs as an ordinary user, who may not read the mappings. */
static int refused_child(void)
{
	const struct perch_synthesize_options all = { .records = PERCH_SYNTHESIZE_COMM |
								 PERCH_SYNTHESIZE_MMAP };
	struct perch_synthesize_counts counts = { 0 };
	struct perch_error err;

	if (!getuid() && setuid(65534))
		return 1;
	if (perch_synthesize_process(7, &all, machine, take, &taken, &counts, &err) != -EACCES ||
	    err.kind != PERCH_ERROR_PRIVILEGE || !strstr(err.remedy, "CAP_SYS_PTRACE") ||
	    counts.denied != 1 || counts.records != 2 || taken.nr != 2)
		return 2;
	memset(&counts, 0, sizeof(counts));
	if (perch_synthesize_all_processes(&all, machine, take, &taken, &counts, &err) ||
	    counts.denied != 1 || !counts.records)
		return 3;
	return 0;
}

static void refused_mappings_are_reported(void **state)
{
	char path[PATH_MAX];
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(chmod(root, 0755), 0);
	assert_true(perch_machine_path(machine, "/proc/7/maps", path, sizeof(path)) > 0);
	assert_int_equal(chmod(path, 0), 0);
	child = fork();
	if (!child)
		_exit(refused_child());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(status, 0);
}

static void sample_id_is_that_of_the_attr(void **state)
{
	const struct perch_attr attr = {
		.sample_id_all = 1,
		.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
			       PERCH_SAMPLE_ID | PERCH_SAMPLE_STREAM_ID | PERCH_SAMPLE_CPU |
			       PERCH_SAMPLE_IDENTIFIER,
	};
	const struct perch_synthesize_options options = {
		.records = PERCH_SYNTHESIZE_ALL, .attr = &attr, .time = 1234, .id = 77
	};
	struct perch_synthesize_counts counts = { 0 };

	(void)state;
	perch_parse_info_init(&taken.parse_info, &attr, PERCH_BYTES_NATIVE);
	assert_int_equal(
		perch_synthesize_process(7, &options, machine, take, &taken, &counts, NULL), 0);
	assert_int_equal(perch_synthesize_kernel(&options, machine, take, &taken, &counts, NULL),
			 0);
	assert_int_equal(taken.nr, counts.records);
	assert_int_equal(taken.nr, 2 + 2 + 4 + 4);
	for (size_t i = 0; i < taken.nr; i++) {
		assert_int_equal(taken.record[i].sample_id.time, 1234);
		assert_int_equal(taken.record[i].sample_id.id, 77);
		assert_int_equal(taken.record[i].sample_id.tid, 0);
		if (taken.record[i].type == PERCH_RECORD_FORK)
			assert_int_equal(taken.record[i].task.time, 1234);
	}
}

static void many_records_come_in_batches(void **state)
{
	const size_t lines = 2000;
	struct perch_synthesize_counts counts;
	struct perch_error err;
	char *text = malloc(lines * 64), *at = text;

	(void)state;
	assert_non_null(text);
	for (size_t i = 1; i <= lines; i++)
		at += sprintf(at, "%zx000-%zx800 r-xp 00000000 fe:01 1 /lib/%zu\n", i, i, i);
	write_maps(17, text);
	assert_int_equal(make(17, PERCH_SYNTHESIZE_MMAP, &counts, &err), 0);
	assert_int_equal(taken.nr, lines);
	assert_true(taken.batches > 1);
	for (size_t i = 0; i < lines; i++)
		assert_int_equal(taken.record[i].mmap.start, (i + 1) << 12);
	/* the first failure of the sink ends the synthesis */
	reset(NULL);
	taken.fail_at = 1;
	assert_int_equal(make(17, PERCH_SYNTHESIZE_MMAP, &counts, &err), -EIO);
	assert_string_equal(err.message, "the sink is full");
	assert_int_equal(taken.batches, 1);
	write_maps(17, "");
	free(text);
}

static void each_process_of_the_targets_once(void **state)
{
	struct perch_target threads[] = {
		{ .tid = 8, .cpu = -1 }, { .tid = 7, .cpu = -1 }, { .tid = 9 }, { .tid = 8 }
	};
	struct perch_targets targets = { .nr = NR(threads), .target = threads };
	const struct perch_synthesize_options comm = { .records = PERCH_SYNTHESIZE_COMM };
	struct perch_synthesize_counts counts = { 0 }, all = { 0 };

	(void)state;
	assert_int_equal(
		perch_synthesize_targets(&targets, &comm, machine, take, &taken, &counts, NULL), 0);
	assert_int_equal(counts.processes, 2);
	assert_int_equal(taken.nr, 3);
	check_comm(2, 9, 9, "\033[31mred");
	/* a CPU stands for all processes */
	threads[2] = (struct perch_target){ .tid = -1 };
	assert_int_equal(
		perch_synthesize_targets(&targets, &comm, machine, take, &taken, &all, NULL), 0);
	assert_int_equal(all.processes, 6);
	assert_int_equal(all.records, 7);
	comm_of(11);
	comm_of(17);
}

static void kernel_and_modules(void **state)
{
	struct perch_synthesize_counts counts = { 0 };
	const struct perch_record *record;

	(void)state;
	assert_int_equal(perch_synthesize_kernel(NULL, machine, take, &taken, &counts, NULL), 0);
	assert_int_equal(taken.nr, 4);
	record = record_at(0, PERCH_RECORD_MMAP);
	assert_int_equal(record->misc, PERCH_MISC_KERNEL);
	assert_int_equal(record->mmap.pid, UINT32_MAX);
	assert_true(record->mmap.start == 0xffff800000010000);
	assert_int_equal(record->mmap.length, 0x40000);
	assert_true(record->mmap.page_offset == 0xffff800000010000);
	assert_string_equal(record->mmap.filename.text, "[kernel.kallsyms]_text");
	record = record_at(1, PERCH_RECORD_MMAP);
	assert_true(record->mmap.start == 0xffff800001000000);
	assert_int_equal(record->mmap.length, 1000);
	assert_string_equal(record->mmap.filename.text, "[ext4]");
	record = record_at(2, PERCH_RECORD_MMAP);
	assert_true(record->mmap.start == 0xffff800002000000);
	assert_int_equal(record->mmap.length, 3000);
	assert_string_equal(record->mmap.filename.text,
			    "/lib/modules/6.1.0-test/kernel/sound/snd-hda.ko.xz");
	record = record_at(3, PERCH_RECORD_MMAP);
	assert_string_equal(record->mmap.filename.text, "/opt/out-of-tree.ko");
	assert_int_equal(counts.denied, 1);
	assert_int_equal(counts.skipped, 1);
}

static void hidden_kernel_is_explained(void **state)
{
	static const struct {
		const char *restricted, *message, *remedy;
	} cases[] = {
		{ "0\n", "need kernel.perf_event_paranoid <= 1 (currently 2)",
		  "run with CAP_SYSLOG, or as root: sysctl kernel.perf_event_paranoid=1" },
		{ "1\n", "kernel.kptr_restrict is 1",
		  "run with CAP_SYSLOG, or as root: sysctl kernel.kptr_restrict=0" },
		{ "2\n", "kernel.kptr_restrict is 2", "as root: sysctl kernel.kptr_restrict=1" },
	};
	char path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < NR(cases); i++) {
		const struct tree_file hidden[] = {
			{ "/proc/kallsyms",
			  "0000000000000000 T _text\n0000000000000000 T _etext\n" },
			{ "/proc/sys/kernel/kptr_restrict", cases[i].restricted },
			{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
		};
		struct perch_machine *other;
		struct perch_error err;

		tree_make(path, hidden, NR(hidden));
		assert_int_equal(perch_machine_new(&other, path, NULL, NULL), 0);
		assert_int_equal(perch_synthesize_kernel(NULL, other, take, &taken, NULL, &err),
				 -EACCES);
		assert_non_null(strstr(err.message, cases[i].message));
		assert_string_equal(err.remedy, cases[i].remedy);
		assert_int_equal(taken.nr, 0);
		/* the tree has no cgroups */
		assert_int_equal(perch_synthesize_cgroups(NULL, other, take, &taken, NULL, &err),
				 -ENOENT);
		perch_machine_free(other);
		tree_remove(path);
	}
}

static int fail_without_reason(void *context, const void *records, size_t size,
			       struct perch_error *err)
{
	(void)context, (void)records, (void)size, (void)err;
	return -EPIPE;
}

/* The kernel's addresses are hidden, and then the sink fails: err has the reason of the result. */
static void failure_of_the_sink_is_the_reason(void **state)
{
	const size_t modules = 2000;
	char *text = malloc(modules * 64), *at = text, path[PATH_MAX];
	struct perch_machine *other;
	struct perch_error err;

	(void)state;
	assert_non_null(text);
	for (size_t i = 1; i <= modules; i++)
		at += sprintf(at, "module%zu 1000 2 - Live 0x%zx000\n", i, i);
	const struct tree_file hidden[] = {
		{ "/proc/kallsyms", "0000000000000000 T _text\n" },
		{ "/proc/modules", text },
	};
	tree_make(path, hidden, NR(hidden));
	assert_int_equal(perch_machine_new(&other, path, NULL, NULL), 0);
	assert_int_equal(perch_synthesize_kernel(NULL, other, take, &taken, NULL, &err), -EACCES);
	assert_true(taken.batches > 1);
	assert_non_null(strstr(err.message, "hidden"));
	for (size_t last = taken.batches, batch = 1; batch <= last; batch++) {
		reset(NULL);
		taken.fail_at = batch;
		assert_int_equal(perch_synthesize_kernel(NULL, other, take, &taken, NULL, &err),
				 -EIO);
		assert_string_equal(err.message, "the sink is full");
	}
	assert_int_equal(perch_synthesize_kernel(NULL, other, fail_without_reason, NULL, NULL,
						 &err),
			 -EPIPE);
	assert_int_equal(err.errnum, EPIPE);
	assert_non_null(strstr(err.message, "Broken pipe"));
	perch_machine_free(other);
	tree_remove(path);
	free(text);
}

static void calling_process_of_this_machine(void **state)
{
	struct perch_synthesize_counts counts = { 0 };
	uint64_t address = (uint64_t)(uintptr_t)calling_process_of_this_machine;
	bool found = false;

	(void)state;
	assert_int_equal(perch_synthesize_process(0, NULL, NULL, take, &taken, &counts, NULL), 0);
	assert_int_equal(taken.record[0].comm.pid, getpid());
	for (size_t i = 0; i < taken.nr; i++)
		found |= taken.record[i].type == PERCH_RECORD_MMAP2 &&
			 address - taken.record[i].mmap.start < taken.record[i].mmap.length;
	assert_true(found);
	assert_int_equal(counts.ended + counts.denied + counts.skipped, 0);
}

/* The build id of the C library, which each distribution's build has. */
static void mappings_have_build_ids(void **state)
{
	const struct perch_synthesize_options options = { .records = PERCH_SYNTHESIZE_BUILD_IDS };
	size_t found = 0;

	(void)state;
	assert_int_equal(perch_synthesize_process(0, &options, NULL, take, &taken, NULL, NULL), 0);
	assert_int_equal(taken.record[0].type, PERCH_RECORD_COMM);
	for (size_t i = 0; i < taken.nr; i++) {
		const struct perch_record *record = &taken.record[i];

		if (record->type != PERCH_RECORD_MMAP2)
			continue;
		if (record->mmap.filename.text[0] != '/') {
			assert_int_equal(record->mmap.build_id_size, 0);
			assert_false(record->misc & PERCH_MISC_MMAP_BUILD_ID);
		}
		if (!strstr(record->mmap.filename.text, "/libc.so.6"))
			continue;
		found++;
		assert_true(record->misc & PERCH_MISC_MMAP_BUILD_ID);
		assert_true(record->mmap.build_id_size >= 8);
		assert_int_equal(record->mmap.inode, 0);
		assert_int_equal(record->mmap.protection, PROT_READ | PROT_EXEC);
	}
	assert_true(found);
}

/* A file is read only if it is the one of the mapping: these have other inodes. */
static void mapping_of_another_file_has_no_build_id(void **state)
{
	const struct perch_synthesize_options options = { .records = PERCH_SYNTHESIZE_BUILD_IDS };

	(void)state;
	assert_int_equal(perch_synthesize_process(7, &options, machine, take, &taken, NULL, NULL),
			 0);
	assert_int_equal(record_at(2, PERCH_RECORD_MMAP2)->mmap.build_id_size, 0);
	assert_int_equal(record_at(2, PERCH_RECORD_MMAP2)->mmap.inode, 77);
}

static int make_machine(void **state)
{
	(void)state;
	return tree_machine_make(files, NR(files));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_each_thread_and_maps_the_process_once),
		TEST(thread_stands_for_its_process),
		TEST(mappings_have_build_ids),
		TEST(mapping_of_another_file_has_no_build_id),
		TEST(data_mappings_are_optional),
		TEST(fork_records_have_parents),
		TEST(namespaces_are_inodes),
		TEST(paths_are_those_of_kernel_records),
		TEST(lines_of_other_forms_are_counted),
		TEST(long_paths_are_replaced),
		TEST(ended_threads_and_processes_are_counted),
		TEST(invalid_arguments_are_refused),
		TEST(refused_mappings_are_reported),
		TEST(sample_id_is_that_of_the_attr),
		TEST(many_records_come_in_batches),
		TEST(each_process_of_the_targets_once),
		TEST(kernel_and_modules),
		TEST(hidden_kernel_is_explained),
		TEST(failure_of_the_sink_is_the_reason),
		TEST(calling_process_of_this_machine),
	};

	return cmocka_run_group_tests(tests, make_machine, tree_machine_remove);
}
