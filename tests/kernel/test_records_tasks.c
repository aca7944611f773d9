/* SPDX-License-Identifier: MIT */
/* Records of tasks as the kernel writes them: FORK, EXIT, COMM, READ, NAMESPACES. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <stdatomic.h>
#include <cmocka.h>

#include "records.h"

/* Children write into the ring of the CPU that they share with us. */
static void sideband(struct live *live, struct perch_attr *attr)
{
	struct perch_target target = { .pid = 0, .cpu = stay_here() };

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

/* FORK is told by the parent, EXIT by who exits. */
static void a_process(void **state)
{
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	struct live live;
	pid_t child;

	(void)state;
	attr.task = 1;
	sideband(&live, &attr);
	child = fork();
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	record_end(&live);
	record = record_only(&live, PERCH_RECORD_FORK);
	check_task(&live, record, child, child, getpid(), this_thread());
	assert_told_by(record, getpid(), this_thread());
	record = record_only(&live, PERCH_RECORD_EXIT);
	check_task(&live, record, child, child, getpid(), getpid());
	assert_told_by(record, child, child);
	live_close(&live);
}

static void *say_who(void *argument)
{
	*(pid_t *)argument = this_thread();
	return NULL;
}

/* An EXIT's ppid and ptid are the parent process's: a thread has that of its process, whoever made
 * it. */
static void a_thread(void **state)
{
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	struct live live;
	pthread_t thread;
	pid_t tid;

	(void)state;
	attr.task = 1;
	sideband(&live, &attr);
	assert_int_equal(pthread_create(&thread, NULL, say_who, &tid), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	/* joined is not gone: the record comes a moment later */
	for (int i = 0; i < 200 && !live_count(&live, PERCH_RECORD_EXIT); i++) {
		usleep(5000);
		record_take(&live);
	}
	record_end(&live);
	record = record_only(&live, PERCH_RECORD_FORK);
	check_task(&live, record, getpid(), tid, getpid(), this_thread());
	assert_told_by(record, getpid(), this_thread());
	record = record_only(&live, PERCH_RECORD_EXIT);
	check_task(&live, record, getpid(), tid, getppid(), getppid());
	assert_told_by(record, getpid(), tid);
	live_close(&live);
}

/* Names of every length, with bytes that no terminal should see. */
static void a_name(void **state)
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
		char kept[16] = "";

		strncat(kept, names[i], 15);
		record = live_next(&live, PERCH_RECORD_COMM, record);
		assert_text(&record->comm.comm, kept);
		assert_int_equal(record->comm.pid, getpid());
		assert_int_equal(record->comm.tid, this_thread());
		assert_told_by(record, getpid(), this_thread());
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

/* A child that stops before its work, so that an event is there when it begins. */
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

static void let_go(pid_t child, int go)
{
	int status;

	assert_int_equal(write(go, "g", 1), 1);
	close(go);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The event of another process is opened before it runs. */
static void of_child(struct live *live, const struct perch_attr *attr, void (*work)(void *),
		     void *argument, pid_t *child)
{
	int go;

	*child = start_stopped(work, argument, &go);
	{
		struct perch_target target = { .pid = *child, .cpu = -1 };
		struct perch_error err = { 0 };
		int rc = live_open(live, attr, &target, 0, &err);

		if (rc < 0) {
			let_go(*child, go);
			skip_or_fail("records of a child", rc, &err);
		}
	}
	assert_int_equal(live_enable(live), 0);
	let_go(*child, go);
	record_take(live);
}

static void an_exec(void **state)
{
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	struct live live;
	pid_t child;

	(void)state;
	attr.comm = attr.comm_exec = attr.task = 1;
	of_child(&live, &attr, execute, NULL, &child);
	record = record_only(&live, PERCH_RECORD_COMM);
	assert_text(&record->comm.comm, "true");
	assert_true(record->comm.exec);
	assert_int_equal(record->comm.pid, child);
	assert_int_equal(record->comm.tid, child);
	assert_told_by(record, child, child);
	record = record_only(&live, PERCH_RECORD_EXIT);
	check_task(&live, record, child, child, getpid(), getpid());
	live_close(&live);
}

#define WRITES 17

static volatile uint64_t watched;

/*
 * An event that is not inherited: without one the kernel may swap all events of parent and child as
 * it switches between them, and the child would end with ours, of which nothing is told.
 */
static int keep_events_apart(void)
{
	struct perch_attr attr = live_attr();

	return perch_open(&attr, &PERCH_SELF, -1, 0, NULL, NULL);
}

/* The child's counter ends with it: READ tells its value, and it is added to ours. */
static void a_last_count(void **state)
{
	int apart = keep_events_apart();
	struct perch_attr attr = live_sampling(PERCH_TYPE_BREAKPOINT, 0, 0);
	struct perch_target target = { .pid = 0, .cpu = stay_here() };
	const struct perch_record *record;
	struct perch_read_value value;
	uint64_t read_words[5];
	struct live live;
	pid_t child;

	(void)state;
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
		_exit(0);
	}
	watched++;
	assert_int_equal(waitpid(child, NULL, 0), child);
	record_end(&live);
	close(apart);
	if (!live_count(&live, PERCH_RECORD_READ)) {
		live_close(&live);
		print_message(
			"skipped: this kernel loses the READ record of a task that exits, as 5.13 to 6.18 did\n");
		skip();
	}
	record = record_only(&live, PERCH_RECORD_READ);
	assert_int_equal(record->read.pid, child);
	assert_int_equal(record->read.tid, child);
	assert_told_by(record, child, child);
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

/* What the child finds in its /proc, for the parent. */
struct links {
	int failed;
	dev_t dev[PERCH_NR_NAMESPACES];
	ino_t ino[PERCH_NR_NAMESPACES];
};

static void leave_namespaces(void *argument)
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
		/* a kernel without that kind has no link, and tells zeros */
		stat(path, &st);
		links->dev[i] = st.st_dev;
		links->ino[i] = st.st_ino;
	}
}

static void namespaces(void **state)
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
	of_child(&live, &attr, leave_namespaces, links, &child);
	if (links->failed) {
		print_message("skipped: unshare: %s\n", strerror(links->failed));
		skip();
	}
	record = record_only(&live, PERCH_RECORD_NAMESPACES);
	assert_int_equal(record->namespaces.pid, child);
	assert_int_equal(record->namespaces.tid, child);
	assert_told_by(record, child, child);
	assert_true(record->namespaces.nr >= PERCH_NR_NAMESPACES);
	for (int i = 0; i < PERCH_NR_NAMESPACES; i++) {
		perch_namespace_at(record, i, &link);
		if (link.dev != links->dev[i] || link.ino != links->ino[i])
			fail_msg("namespace %d: %#" PRIx64 " %" PRIu64 " in place of %#jx %ju", i,
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
		cmocka_unit_test(a_process),	cmocka_unit_test(a_thread),
		cmocka_unit_test(a_name),	cmocka_unit_test(an_exec),
		cmocka_unit_test(a_last_count), cmocka_unit_test(namespaces),
	};

	return RECORDS_RUN(tests);
}
