/* SPDX-License-Identifier: MIT */
/* Records of tasks: FORK, EXIT, COMM, READ, NAMESPACES. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <stdatomic.h>
#include <cmocka.h>

#include "needs.h"
#include "records.h"
#include "work.h"

/*
 * Opens an inherited event on the current CPU. Children stay on that CPU and write to the same
 * ring.
 */
static void open_inherited(struct live *live, struct perch_attr *attr)
{
	struct perch_target target = { .tid = 0, .cpu = stay_on_current_cpu() };

	attr->inherit = 1;
	record_open(live, attr, &target, 0);
	assert_int_equal(live_enable(live), 0);
}

static void check_task(const struct live *live, const struct perch_record *record, pid_t pid,
		       pid_t tid, pid_t ppid, pid_t ptid)
{
	assert_int_equal(record->task.pid, pid);
	assert_int_equal(record->task.tid, tid);
	assert_int_equal(record->task.ppid, ppid);
	assert_int_equal(record->task.ptid, ptid);
	/* the clock is read once for the trailer and once for the record */
	assert_in_range(record->task.time, live->from, live->to);
	assert_true(record->task.time >= record->sample_id.time);
}

/* The parent writes FORK, and the task that exits writes EXIT. */
static void process_has_fork_and_exit_records(void **state)
{
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	struct live live;
	pid_t child;

	(void)state;
	attr.task = 1;
	open_inherited(&live, &attr);
	child = fork();
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	record_end(&live);
	record = only_record(&live, PERCH_RECORD_FORK);
	check_task(&live, record, child, child, getpid(), current_tid());
	assert_written_by(record, getpid(), current_tid());
	record = only_record(&live, PERCH_RECORD_EXIT);
	check_task(&live, record, child, child, getpid(), getpid());
	assert_written_by(record, child, child);
	live_close(&live);
}

static void *store_tid(void *argument)
{
	*(pid_t *)argument = current_tid();
	return NULL;
}

/*
 * In an EXIT record ppid and ptid are those of the parent process, also for a thread that another
 * thread created.
 */
static void thread_has_fork_and_exit_records(void **state)
{
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	struct live live;
	pthread_t thread;
	pid_t tid;

	(void)state;
	attr.task = 1;
	open_inherited(&live, &attr);
	assert_int_equal(pthread_create(&thread, NULL, store_tid, &tid), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	/* the thread may write its EXIT record after pthread_join() */
	for (int i = 0; i < 6000 && !live_count(&live, PERCH_RECORD_EXIT); i++) {
		usleep(5000);
		record_take(&live);
	}
	record_end(&live);
	record = only_record(&live, PERCH_RECORD_FORK);
	check_task(&live, record, getpid(), tid, getpid(), current_tid());
	assert_written_by(record, getpid(), current_tid());
	record = only_record(&live, PERCH_RECORD_EXIT);
	check_task(&live, record, getpid(), tid, getppid(), getppid());
	assert_written_by(record, getpid(), tid);
	live_close(&live);
}

/* Names of various lengths, also with control characters. */
static void comm_record_has_name(void **state)
{
	static const char *const names[] = { "",
					     "p",
					     "perch",
					     "seven77",
					     "eight888",
					     "\033[31m\n\t\"\\",
					     "fifteen fifteen",
					     "sixteen is cut!!" };
	struct perch_attr attr = live_attr();
	const struct perch_record *record = NULL;
	char before[16];
	struct live live;

	(void)state;
	prctl(PR_GET_NAME, before);
	attr.comm = 1;
	record_self(&live, &attr);
	assert_int_equal(live_enable(&live), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		prctl(PR_SET_NAME, names[i]);
	prctl(PR_SET_NAME, before);
	record_end(&live);
	assert_int_equal(live_count(&live, PERCH_RECORD_COMM),
			 sizeof(names) / sizeof(names[0]) + 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char expected[16] = "";

		strncat(expected, names[i], 15);
		record = live_next(&live, PERCH_RECORD_COMM, record);
		assert_text(&record->comm.comm, expected);
		assert_int_equal(record->comm.pid, getpid());
		assert_int_equal(record->comm.tid, current_tid());
		assert_written_by(record, getpid(), current_tid());
		assert_false(record->comm.exec);
	}
	live_close(&live);
}

static void execute(void *argument)
{
	(void)argument;
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

/* Starts a child that waits, so that an event can be opened before the child does its work. */
static pid_t start_stopped(void (*work)(void *), void *argument, int *go)
{
	int pipes[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) == 1)
			work(argument);
		_exit(0);
	}
	close(pipes[0]);
	*go = pipes[1];
	return child;
}

static void let_child_run(pid_t child, int go)
{
	int status;

	assert_int_equal(write(go, "g", 1), 1);
	close(go);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Opens the event while the child waits, then lets the child run and reads its records. */
static void record_child(struct live *live, const struct perch_attr *attr, void (*work)(void *),
			 void *argument, pid_t *child)
{
	int go;

	*child = start_stopped(work, argument, &go);
	{
		struct perch_target target = { .tid = *child, .cpu = -1 };
		struct perch_error err = { 0 };
		int rc = live_open(live, attr, &target, 0, &err);

		if (rc < 0) {
			let_child_run(*child, go);
			skip_or_fail("records of a child", rc, &err);
		}
	}
	assert_int_equal(live_enable(live), 0);
	let_child_run(*child, go);
	record_take(live);
}

static void exec_has_comm_record(void **state)
{
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	struct live live;
	pid_t child;

	(void)state;
	attr.comm = attr.comm_exec = attr.task = 1;
	record_child(&live, &attr, execute, NULL, &child);
	record = only_record(&live, PERCH_RECORD_COMM);
	assert_text(&record->comm.comm, "true");
	assert_true(record->comm.exec);
	assert_int_equal(record->comm.pid, child);
	assert_int_equal(record->comm.tid, child);
	assert_written_by(record, child, child);
	record = only_record(&live, PERCH_RECORD_EXIT);
	check_task(&live, record, child, child, getpid(), getpid());
	live_close(&live);
}

#define WRITES 17

static volatile uint64_t watched;

/*
 * Opens an event that is not inherited. Without one the kernel may swap all events of parent and
 * child at a context switch. The child would then end with the events of the parent and write no
 * READ record.
 */
static int open_uninherited_event(void)
{
	struct perch_attr attr = live_attr();

	return perch_open(&attr, &perch_self, -1, 0, NULL, NULL);
}

/*
 * When the child ends, its READ record has its count, and the kernel adds the count to that of the
 * parent.
 */
static void read_record_has_count_of_child(void **state)
{
	int uninherited = open_uninherited_event();
	struct perch_attr attr = live_sampling(PERCH_TYPE_BREAKPOINT, 0, 0);
	struct perch_target target = { .tid = 0, .cpu = stay_on_current_cpu() };
	const struct perch_record *record;
	struct perch_read_value value;
	uint64_t read_words[5];
	struct live live;
	pid_t child;

	(void)state;
	if (!breakpoints_may_fire()) {
		close(uninherited);
		skip();
	}
	attr.sample_period = 1000000;
	attr.bp_type = PERCH_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&watched;
	attr.bp_len = sizeof(watched);
	attr.inherit = attr.inherit_stat = 1;
	attr.read_format = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING |
			   PERCH_FORMAT_ID | PERCH_FORMAT_LOST;
	record_open(&live, &attr, &target, 0);
	assert_int_equal(live_enable(&live), 0);
	child = fork();
	if (!child) {
		for (int i = 0; i < WRITES; i++)
			watched++;
		pass_time();
		_exit(0);
	}
	watched++;
	assert_int_equal(waitpid(child, NULL, 0), child);
	record_end(&live);
	close(uninherited);
	if (!live_count(&live, PERCH_RECORD_READ)) {
		live_close(&live);
		print_message(
			"skipped: this kernel loses the READ record of a task that exits, as 5.13 to 6.18 did\n");
		skip();
	}
	record = only_record(&live, PERCH_RECORD_READ);
	assert_int_equal(record->read.pid, child);
	assert_int_equal(record->read.tid, child);
	assert_written_by(record, child, child);
	assert_int_equal(record->read.values.nr, 1);
	perch_read_values_at(&record->read.values, 0, &value);
	assert_int_equal(value.value, WRITES);
	assert_int_equal(value.id, live.id);
	assert_int_equal(value.lost, 0);
	assert_int_equal(read(live.fd, read_words, sizeof(read_words)), sizeof(read_words));
	assert_int_equal(read_words[0], WRITES + 1);
	assert_int_equal(read_words[3], live.id);
	assert_true(record->read.values.running_ns > 0);
	assert_true(record->read.values.enabled_ns >= record->read.values.running_ns);
	assert_true(read_words[1] > record->read.values.enabled_ns &&
		    read_words[2] > record->read.values.running_ns);
	live_close(&live);
}

#define CHILDREN 5

/* Runs children that share the CPU with this thread, and returns their READ records. */
static size_t count_read_records(uint64_t fields)
{
	struct perch_attr attr = live_sampling(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_DUMMY, fields);
	struct perch_target target = { .tid = 0, .cpu = stay_on_current_cpu() };
	struct live live;
	size_t nr;

	attr.inherit = attr.inherit_stat = 1;
	record_open(&live, &attr, &target, 0);
	assert_int_equal(live_enable(&live), 0);
	for (int i = 0; i < CHILDREN; i++)
		if (!fork())
			_exit(0);
	for (int i = 0; i < CHILDREN; i++)
		assert_true(wait(NULL) > 0);
	record_end(&live);
	nr = live_count(&live, PERCH_RECORD_READ);
	live_close(&live);
	if (!nr) {
		print_message("skipped: this kernel loses the READ record of a task that exits\n");
		skip();
	}
	return nr;
}

/* A child that ends with the events of its parent writes none. */
static void at_most_one_read_record_is_missing(void **state)
{
	(void)state;
	assert_in_range(count_read_records(0), CHILDREN - 1, CHILDREN);
}

static void event_that_is_not_inherited_keeps_all_read_records(void **state)
{
	int uninherited = open_uninherited_event();

	(void)state;
	assert_int_equal(count_read_records(0), CHILDREN);
	close(uninherited);
}

/* Skipped before Linux 6.12, which refuses the fields for an inherited event. */
static void sample_read_with_tid_keeps_all_read_records(void **state)
{
	(void)state;
	assert_int_equal(count_read_records(PERCH_SAMPLE_READ | PERCH_SAMPLE_TID), CHILDREN);
}

/* The namespace links in /proc of the child, in memory shared with the parent. */
struct links {
	int failed;
	dev_t dev[PERCH_NR_NAMESPACES];
	ino_t ino[PERCH_NR_NAMESPACES];
};

static void unshare_namespaces(void *argument)
{
	static const char *const names[PERCH_NR_NAMESPACES] = {
		[PERCH_NET_NS_INDEX] = "net",	    [PERCH_UTS_NS_INDEX] = "uts",
		[PERCH_IPC_NS_INDEX] = "ipc",	    [PERCH_PID_NS_INDEX] = "pid",
		[PERCH_USER_NS_INDEX] = "user",	    [PERCH_MNT_NS_INDEX] = "mnt",
		[PERCH_CGROUP_NS_INDEX] = "cgroup",
	};
	struct links *links = argument;

	links->failed = unshare(CLONE_NEWUTS | CLONE_NEWIPC) ? errno : 0;
	for (int i = 0; i < PERCH_NR_NAMESPACES; i++) {
		char path[64];
		struct stat st = { 0 };

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		/* without the link the kernel does not support this namespace and writes zeros */
		stat(path, &st);
		links->dev[i] = st.st_dev;
		links->ino[i] = st.st_ino;
	}
}

static void namespaces_record_has_links(void **state)
{
	struct links *links = mmap(NULL, sizeof(*links), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	struct perch_ns_link_info link;
	struct live live;
	pid_t child;

	(void)state;
	assert_ptr_not_equal(links, MAP_FAILED);
	attr.namespaces = 1;
	record_child(&live, &attr, unshare_namespaces, links, &child);
	if (links->failed) {
		print_message("skipped: unshare: %s\n", strerror(links->failed));
		skip();
	}
	record = only_record(&live, PERCH_RECORD_NAMESPACES);
	assert_int_equal(record->namespaces.pid, child);
	assert_int_equal(record->namespaces.tid, child);
	assert_written_by(record, child, child);
	assert_true(record->namespaces.nr >= PERCH_NR_NAMESPACES);
	for (int i = 0; i < PERCH_NR_NAMESPACES; i++) {
		perch_namespace_at(record, i, &link);
		if (link.dev != links->dev[i] || link.ino != links->ino[i])
			fail_msg("namespace %d: %#" PRIx64 " %" PRIu64 ", expected %#jx %ju", i,
				 link.dev, link.ino, (uintmax_t)links->dev[i],
				 (uintmax_t)links->ino[i]);
	}
	perch_namespace_at(record, record->namespaces.nr, &link);
	assert_true(!link.dev && !link.ino);
	live_close(&live);
	munmap(links, sizeof(*links));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process_has_fork_and_exit_records),
		cmocka_unit_test(thread_has_fork_and_exit_records),
		cmocka_unit_test(comm_record_has_name),
		cmocka_unit_test(exec_has_comm_record),
		cmocka_unit_test(read_record_has_count_of_child),
		cmocka_unit_test(at_most_one_read_record_is_missing),
		cmocka_unit_test(event_that_is_not_inherited_keeps_all_read_records),
		cmocka_unit_test(sample_read_with_tid_keeps_all_read_records),
		cmocka_unit_test(namespaces_record_has_links),
	};

	return RECORDS_RUN(tests);
}
