/* SPDX-License-Identifier: MIT */
/* One run: open the events, let the program go, wait, read. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <perch/count.h>
#include <perch/explain.h>

#include "stat.h"

static volatile sig_atomic_t stopped;
static volatile sig_atomic_t child;

static void on_signal(int number)
{
	stopped = 1;
	if (number == SIGTERM && child > 0)
		kill(child, SIGTERM);	/* Ctrl-C reaches the program by itself */
}

bool stat_stopped(void)
{
	return stopped;
}

/* Also where they were ignored, as in a script's background jobs: counting until a signal is what -p and -a are for. */
void stat_catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM };
	const struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < CLI_NR(numbers); i++)
		sigaction(numbers[i], &action, NULL);
}

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* More descriptors than the soft limit, once: the hard one is what the administrator means. */
static bool raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static int open_once(const struct perch_attr *attr, const struct perch_target *target, int leader)
{
	int fd = perch_open(attr, target, leader, 0, NULL, NULL);

	if (fd == -EMFILE && raise_descriptors())
		fd = perch_open(attr, target, leader, 0, NULL, NULL);
	return fd;
}

/* What perf takes for "this machine has it not", and goes on. */
static bool means_unsupported(int errnum)
{
	return errnum == EINVAL || errnum == ENOSYS || errnum == ENOENT || errnum == EOPNOTSUPP || errnum == ENXIO;
}

/* The kernel's side is refused to ordinary users: count user space, and show it. */
static void fall_back_to_user(struct stat_event *event, struct perch_attr *attr)
{
	size_t length = strlen(event->name);
	bool modifiers = event->event->modified || event->event->attr.precise_ip || event->event->attr.pinned ||
			 event->event->attr.exclusive || event->event->precise_max ||
			 (length && event->name[length - 1] == '/');

	attr->exclude_kernel = attr->exclude_hv = 1;
	if (event->user_only)
		return;
	event->user_only = true;
	snprintf(event->name + length, sizeof(event->name) - length, modifiers ? "u" : ":u");
}

/* The descriptor that leads the event's group on a target, -1 when it leads itself. */
static const struct stat_event *leader_of(const struct stat *stat, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (stat->event[i].event->leader == stat->event[index].event->leader && stat->event[i].supported)
			return &stat->event[i];
	return NULL;
}

static int build(const struct stat *stat, const struct stat_event *event, bool leads, struct perch_attr *attr,
		 struct perch_error *err)
{
	bool program = stat->argv && stat->nr_targets == 1 && !stat->target[0].pid;
	struct perch_options options = {
		.read = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING,
		.inherit = !stat->no_inherit && stat->target[0].cpu < 0,
		.enable_on_exec = program,
		.machine = stat->machine,
	};
	int rc = perch_attr_build(attr, event->event, &options, err);

	if (!rc && !leads)	/* members follow their leader */
		attr->disabled = attr->enable_on_exec = attr->pinned = attr->exclusive = 0;
	if (!rc && event->user_only)
		attr->exclude_kernel = attr->exclude_hv = 1;
	return rc;
}

static struct perch_target actual(const struct stat *stat, size_t index)
{
	struct perch_target target = stat->target[index];

	if (!target.pid)
		target.pid = stat->program.pid;
	return target;
}

static int refused(struct stat *stat, struct stat_event *event, const struct perch_attr *attr,
		   const struct perch_target *target, int leader, int rc)
{
	struct perch_call call = { attr, target->pid, target->cpu, leader, PERCH_FLAG_FD_CLOEXEC, -rc };

	event->attr = *attr;
	event->errnum = -rc;
	if (means_unsupported(-rc)) {
		event->supported = false;
		return 0;
	}
	perch_explain(&call, stat->machine, &event->reason);
	perch_error_prefix(&event->reason, "%s: ", event->name);
	return cli_error(STAT_COMMAND, &event->reason);
}

static int open_event(struct stat *stat, size_t index)
{
	struct stat_event *event = &stat->event[index];
	const struct stat_event *leader = leader_of(stat, index);
	struct perch_attr attr;
	size_t gone = 0;

	if (build(stat, event, !leader, &attr, &event->reason))
		return cli_error(STAT_COMMAND, &event->reason);
	for (size_t i = 0; i < stat->nr_targets; i++) {
		struct perch_target target = actual(stat, i);
		int leader_fd = leader ? leader->fd[i] : -1;
		int fd = open_once(&attr, &target, leader_fd);

		if (fd == -EACCES && !attr.exclude_kernel && !attr.exclude_user) {
			fall_back_to_user(event, &attr);
			fd = open_once(&attr, &target, leader_fd);
		}
		event->fd[i] = fd;
		if (fd == -ESRCH && ++gone < stat->nr_targets)
			continue;	/* a thread that ended meanwhile: the others stay */
		if (fd < 0)
			return refused(stat, event, &attr, &target, leader_fd, fd);
	}
	event->supported = true;
	return 0;
}

static void close_events(struct stat *stat)
{
	for (size_t i = 0; i < stat->events.nr; i++)
		for (size_t k = 0; k < stat->nr_targets; k++)
			if (stat->event[i].fd[k] >= 0) {
				close(stat->event[i].fd[k]);
				stat->event[i].fd[k] = -1;
			}
}

static int open_events(struct stat *stat)
{
	int status = 0;

	for (size_t i = 0; !status && i < stat->events.nr; i++) {
		for (size_t k = 0; k < stat->nr_targets; k++)
			stat->event[i].fd[k] = -1;
		status = open_event(stat, i);
	}
	return status;
}

static void enable_events(const struct stat *stat)
{
	for (size_t i = 0; i < stat->events.nr; i++)
		for (size_t k = 0; k < stat->nr_targets; k++)
			if (stat->event[i].fd[k] >= 0 && !leader_of(stat, i))
				ioctl(stat->event[i].fd[k], PERCH_IOC_ENABLE, 0);
}

/* Why events are not supported; asked while the program runs, for it reads files. */
static void explain_unsupported(struct stat *stat)
{
	for (size_t i = 0; i < stat->events.nr; i++) {
		struct stat_event *event = &stat->event[i];
		struct perch_call call = { &event->attr, stat->target[0].pid, stat->target[0].cpu, -1,
					   PERCH_FLAG_FD_CLOEXEC, event->errnum };

		if (!event->supported && !event->reason.errnum)
			perch_explain(&call, stat->machine, &event->reason);
	}
}

static void read_event(const struct stat *stat, struct stat_event *event)
{
	double sums[3] = { 0, 0, 0 };

	for (size_t i = 0; i < stat->nr_targets; i++) {
		uint64_t words[3];

		/* no bytes: a pinned event that lost its counter, which is not counted */
		if (event->fd[i] < 0 || read(event->fd[i], words, sizeof(words)) != sizeof(words))
			continue;
		sums[0] += words[2] < words[1] ? perch_scale(words[0], words[1], words[2]) : words[0];
		sums[1] += words[1];
		sums[2] += words[2];
	}
	stat_add(&event->value, sums[0]);
	stat_add(&event->enabled, sums[1]);
	stat_add(&event->running, sums[2]);
	if (stat->verbose && event->supported)
		fprintf(stat->output, "%s: %.0f %.0f %.0f\n", event->name, sums[0], sums[1], sums[2]);
}

/* A process that has ended but whose parent has not asked for its status answers kill(2) still, a pidfd (5.3) not. */
static bool lives(pid_t pid)
{
	struct pollfd ended = { .fd = syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int ready;

	if (ended.fd < 0)
		return !kill(pid, 0) || errno == EPERM;
	ready = poll(&ended, 1, 0);
	close(ended.fd);
	return ready == 0;
}

static bool targets_live(const struct stat *stat)
{
	for (size_t i = 0; i < stat->nr_targets; i++)
		if (stat->target[i].cpu >= 0 || lives(stat->target[i].pid))
			return true;
	return false;
}

static void wait_for_targets(const struct stat *stat)
{
	struct timespec pause = { .tv_nsec = 10000000 };

	while (!stopped && targets_live(stat))
		nanosleep(&pause, NULL);
}

static double seconds(const struct timeval *time)
{
	return time->tv_sec + time->tv_usec / 1e6;
}

static int wait_for_program(struct stat *stat)
{
	struct rusage usage = { 0 };
	int wait_status = 0;
	int rc;

	rc = cli_program_wait(&stat->program, 0, &wait_status, &usage);
	child = 0;
	if (rc < 0) {
		cli_note(STAT_COMMAND, "the program's status is lost: %s", strerror(-rc));
		return CLI_EXIT_FAILURE;
	}
	stat->status = cli_program_status(wait_status);
	stat->user_seconds = seconds(&usage.ru_utime);
	stat->sys_seconds = seconds(&usage.ru_stime);
	return 0;
}

static int start_program(struct stat *stat)
{
	struct perch_error err;
	int rc = cli_program_start(&stat->program, stat->argv, &err);

	if (rc)
		return cli_error(STAT_COMMAND, &err);
	child = stat->program.pid;
	return 0;
}

static int release_program(struct stat *stat)
{
	struct perch_error err;
	int rc = cli_program_release(&stat->program, &err);

	if (!rc)
		return 0;
	cli_error(STAT_COMMAND, &err);
	return cli_program_exit_status(-rc);
}

int stat_run(struct stat *stat)
{
	double start;
	int status;

	if (stat->argv) {
		status = start_program(stat);
		if (status)
			return status;
	}
	status = open_events(stat);
	if (status) {
		if (stat->argv)
			cli_program_cancel(&stat->program);
		return status;
	}
	start = now_ns();
	if (!stat->argv || stat->target[0].pid)
		enable_events(stat);
	if (stat->argv) {
		status = release_program(stat);
		if (status)
			return status;
		explain_unsupported(stat);
		status = wait_for_program(stat);
	} else {
		explain_unsupported(stat);
		wait_for_targets(stat);
	}
	stat_add(&stat->elapsed_ns, now_ns() - start);
	for (size_t i = 0; i < stat->events.nr; i++)
		read_event(stat, &stat->event[i]);
	if (stat->elapsed_ns.nr < stat->repeat)
		close_events(stat);	/* the last run's go with the process */
	return status;
}
