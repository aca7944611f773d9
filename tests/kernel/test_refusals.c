/* SPDX-License-Identifier: MIT */
/* Open calls that this kernel refuses, and their explanations without a machine. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/explain.h>
#include <perch/open.h>

#define DUMMY .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_DUMMY, .disabled = 1

static const struct perch_attr dummy = { DUMMY, .size = sizeof(dummy), .exclude_kernel = 1 };

static void aux_pause_excludes_aux_resume(void **state)
{
	struct perch_attr attr = dummy;
	struct perch_error err = { 0 };
	int rc;

	(void)state;
	attr.aux_pause = attr.aux_resume = 1;
	rc = perch_open(&attr, NULL, -1, 0, NULL, &err);
	assert_int_equal(rc, -EINVAL);
	if (err.kind == PERCH_ERROR_TOO_NEW) {
		print_message("skipped: %s\n", err.message);
		skip();
	}
	assert_int_equal(err.cause, PERCH_CAUSE_AUX_PAUSE_RESUME);
	assert_string_equal(err.field, "aux_pause");
	assert_non_null(strstr(err.remedy, "aux_pause or aux_resume"));
}

/* Opens the event, and explains its refusal with probes. Skips if the kernel accepts it. */
static void explain_refusal(const struct perch_attr *attr, pid_t pid, int cpu, unsigned long flags,
			    struct perch_explanation *explanation)
{
	static const struct perch_probing probing = { .microseconds = 1000000 };
	struct perch_open_call call = {
		.attr = attr, .pid = pid, .cpu = cpu, .group_fd = -1, .flags = flags
	};
	struct perch_machine *machine;
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, flags);

	call.errnum = errno;
	if (fd >= 0) {
		close((int)fd);
		print_message("skipped: this kernel accepts the event\n");
		skip();
	}
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	assert_int_equal(perch_explain_open_call(&call, &probing, machine, explanation), 0);
	perch_machine_free(machine);
}

/* The kernel checks its reserved bits before the bits of read_format. */
static void reserved_bits_are_checked_first(void **state)
{
	const struct perch_attr deferred = { .type = PERCH_TYPE_SOFTWARE,
					     .size = PERCH_ATTR_SIZE_VER8,
					     .exclude_kernel = 1,
					     .defer_callchain = 1 };
	struct perch_attr both = deferred;
	struct perch_explanation explanation;

	(void)state;
	explain_refusal(&deferred, 0, -1, 0, &explanation);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_TOO_NEW);
	both.read_format = 192;
	explain_refusal(&both, 0, -1, 0, &explanation);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_TOO_NEW);
	assert_string_equal(explanation.finding[0].field[0], "defer_callchain");
	assert_int_equal(explanation.nr_next, 1);
	assert_int_equal(explanation.next[0].cause, PERCH_CAUSE_READ_FORMAT_BITS);
}

/* A cgroup of a hierarchy without perf_event: the kernel has the dummy event. */
static void a_cgroup_of_another_hierarchy_is_the_cause(void **state)
{
	static const char *const hierarchies[] = { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/pids",
						   "/sys/fs/cgroup/systemd",
						   "/sys/fs/cgroup/unified" };
	static const uint64_t events[] = { PERCH_COUNT_SW_DUMMY, PERCH_COUNT_SW_BPF_OUTPUT,
					   PERCH_COUNT_SW_CPU_CLOCK };
	struct perch_explanation explanation;
	struct perch_attr attr = dummy;
	long opened = -1;
	int fd = -1;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		fd = open(hierarchies[i], O_RDONLY | O_DIRECTORY);
		if (fd < 0)
			continue;
		opened = syscall(SYS_perf_event_open, &dummy, fd, 0, -1, PERCH_FLAG_PID_CGROUP);
		if (opened < 0 && errno == ENOENT)
			break;
		if (opened >= 0)
			close((int)opened);
		close(fd);
		fd = -1;
	}
	if (fd < 0) {
		print_message("skipped: there is no hierarchy of cgroups without perf_event\n");
		skip();
	}
	for (size_t i = 0; i < 3; i++) {
		attr.config = events[i];
		explain_refusal(&attr, fd, 0, PERCH_FLAG_PID_CGROUP, &explanation);
		assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_CGROUP_GONE);
		assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	}
	close(fd);
}

struct other_thread {
	pthread_t thread;
	pid_t tid;
	int leader; /* on itself, opened by itself with pid 0 */
	sem_t ready, end;
};

static void *lead(void *argument)
{
	struct other_thread *other = argument;

	other->tid = (pid_t)syscall(SYS_gettid);
	other->leader = perch_open(&dummy, NULL, -1, 0, NULL, NULL);
	sem_post(&other->ready);
	sem_wait(&other->end);
	return NULL;
}

static void start(struct other_thread *other)
{
	sem_init(&other->ready, 0, 0);
	sem_init(&other->end, 0, 0);
	assert_int_equal(pthread_create(&other->thread, NULL, lead, other), 0);
	sem_wait(&other->ready);
	assert_true(other->leader >= 0);
}

static void stop(struct other_thread *other)
{
	sem_post(&other->end);
	pthread_join(other->thread, NULL);
	close(other->leader);
	sem_destroy(&other->ready);
	sem_destroy(&other->end);
}

/* Explains the open call of a member; the leader was opened with this pid. */
static void expect_other_thread(pid_t pid, const struct other_thread *other, pid_t leader_pid)
{
	const struct perch_open_call_leader leader = {
		.attr = &dummy, .pid = leader_pid, .cpu = -1, .members = 1
	};
	const struct perch_target target = { .tid = pid, .cpu = -1 };
	const struct perch_open_call call = { .attr = &dummy,
					      .pid = pid,
					      .cpu = -1,
					      .group_fd = other->leader,
					      .errnum = EINVAL,
					      .leader = &leader };
	struct perch_error err;

	assert_int_equal(perch_open(&dummy, &target, other->leader, 0, NULL, NULL), -EINVAL);
	assert_int_equal(perch_explain(&call, NULL, &err), -EINVAL);
	assert_int_equal(err.cause, PERCH_CAUSE_GROUP_TARGET);
	assert_int_equal(err.kind, PERCH_ERROR_BAD_GROUP);
	assert_string_equal(err.field, "pid");
	assert_non_null(strstr(err.message, "need the leader's thread"));
}

static void members_need_the_thread_of_the_leader(void **state)
{
	struct other_thread other;
	struct perch_target of_other = { .cpu = -1 };
	int fd;

	(void)state;
	start(&other);
	expect_other_thread(0, &other, 0); /* each pid 0 is another thread */
	expect_other_thread(0, &other, other.tid);
	expect_other_thread(getpid(), &other, other.tid);
	expect_other_thread(getpid(), &other, 0);
	of_other.tid = other.tid; /* the remedy */
	fd = perch_open(&dummy, &of_other, other.leader, 0, NULL, NULL);
	assert_true(fd >= 0);
	close(fd);
	stop(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aux_pause_excludes_aux_resume),
		cmocka_unit_test(reserved_bits_are_checked_first),
		cmocka_unit_test(a_cgroup_of_another_hierarchy_is_the_cause),
		cmocka_unit_test(members_need_the_thread_of_the_leader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
