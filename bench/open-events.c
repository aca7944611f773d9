/* SPDX-License-Identifier: MIT */
/*
 * Compares perch_set_open() of 2,000 events, which it enables after the last is open, with the same
 * system calls written by hand; and reads of a group of eight with read(2). The two alternate,
 * because the machine's speed may change during the run. The result is the least of the rounds.
 *
 * The events measure a child that sleeps, as `perch stat PROGRAM` does. On a running thread the
 * kernel reschedules all events for each one that is enabled: 2,000 of them take more than a second
 * with any program.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perch/count.h>

#include "bench.h"

#define EVENTS	   2000
#define ROUNDS	   61
#define BLOCKS	   401
#define READS_EACH 2000
#define MEMBERS	   8
#define MEMBER	   "task-clock"

static size_t nr_events, rounds, blocks;

static const char *describe_target(double ratio, double target)
{
	static char text[40];

	snprintf(text, sizeof(text), " (target <= %.2f%s)", target, bench_missed(ratio <= target));
	return text;
}

static void must(bool done, const char *what)
{
	if (done)
		return;
	fprintf(stderr, "%s failed\n", what);
	exit(EXIT_FAILURE);
}

static const struct perch_attr bare_attr = {
	.type = PERCH_TYPE_SOFTWARE,
	.size = PERCH_ATTR_SIZE_VER0,
	.config = PERCH_COUNT_SW_DUMMY,
	.read_format = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING,
	.disabled = 1,
};

static pid_t child;

static int bare_open(struct perch_attr *attr)
{
	return syscall(SYS_perf_event_open, attr, child, -1, -1, PERCH_FLAG_FD_CLOEXEC);
}

/* Returns the nanoseconds until all events are enabled. Closing them is not included: only the
 * kernel works there. */
static double open_bare(void)
{
	static int fds[EVENTS];
	struct perch_attr attr = bare_attr;
	double start = bench_cpu_ns(), took;

	for (size_t i = 0; i < nr_events; i++)
		must((fds[i] = bare_open(&attr)) >= 0, "perf_event_open");
	for (size_t i = 0; i < nr_events; i++)
		must(!ioctl(fds[i], PERCH_IOC_ENABLE, 0), "enabling");
	took = bench_cpu_ns() - start;
	for (size_t i = nr_events; i-- > 0;)
		close(fds[i]);
	return took;
}

static double open_set(const struct perch_events *events, const struct perch_targets *targets)
{
	const struct perch_options options = { .enabled = 1 };
	struct perch_set *set;
	double start = bench_cpu_ns(), took;

	must(!perch_set_open(&set, events, targets, &options, NULL), "perch_set_open");
	took = bench_cpu_ns() - start;
	perch_set_close(set);
	return took;
}

/* Each target is the same child. */
static void compare_opening(size_t events_each, size_t nr_targets)
{
	double perch = 0, bare = 0;
	struct perch_target *same = calloc(nr_targets, sizeof(*same));
	struct perch_event *event = calloc(events_each, sizeof(*event));
	const struct perch_targets targets = { .nr = nr_targets, .target = same };
	const struct perch_events events = { .nr = events_each, .event = event };
	struct perch_events one = { 0 };

	must(same && event && !perch_events_parse(&one, "dummy", NULL, NULL), "preparing");
	for (size_t i = 0; i < nr_targets; i++)
		same[i] = (struct perch_target){ .tid = child, .cpu = -1 };
	for (size_t i = 0; i < events_each; i++) {
		event[i] = one.event[0];
		event[i].leader = event[i].first = i;
	}
	for (size_t i = 0; i < rounds; i++) {
		/* each is first in every second round: the first may find more free memory in the
		 * kernel */
		if (i & 1)
			bench_keep_minimum(&bare, open_bare());
		bench_keep_minimum(&perch, open_set(&events, &targets));
		if (!(i & 1))
			bench_keep_minimum(&bare, open_bare());
	}
	printf("opening %zu events on %zu target%s: perch/bare %.3f%s, %.2f us and %.2f us each\n",
	       events_each, nr_targets, nr_targets > 1 ? "s" : "", perch / bare,
	       describe_target(perch / bare, 1.10), perch / nr_events / 1e3,
	       bare / nr_events / 1e3);
	perch_events_clear(&one);
	free(same);
	free(event);
}

static double read_group(struct perch_group *group, int fd)
{
	struct perch_count counts[MEMBERS];
	uint64_t words[3 + MEMBERS];
	double start = bench_cpu_ns();

	for (int i = 0; i < READS_EACH; i++)
		must(group ? !perch_group_read(group, counts, MEMBERS, NULL)
			   : read(fd, words, sizeof(words)) == sizeof(words),
		     "reading");
	return (bench_cpu_ns() - start) / READS_EACH;
}

static double read_set(struct perch_set *set)
{
	struct perch_count counts[MEMBERS];
	double start = bench_cpu_ns();

	for (int i = 0; i < READS_EACH; i++)
		must(!perch_set_read(set, counts, MEMBERS, NULL), "reading");
	return (bench_cpu_ns() - start) / READS_EACH;
}

static void compare_reading(void)
{
	double of_group = 0, of_set = 0, bare = 0;
	char text[MEMBERS * sizeof(MEMBER ",") + 3] = "{" MEMBER;
	const struct perch_options options = { .enabled = 1 };
	struct perch_target self = perch_self;
	const struct perch_targets targets = { .nr = 1, .target = &self };
	struct perch_events events = { 0 };
	struct perch_group *group;
	struct perch_set *set;

	for (int i = 1; i < MEMBERS; i++)
		strcat(text, "," MEMBER);
	strcat(text, "}");
	must(!perch_group_open(&group, text, NULL, &options, NULL), "perch_group_open");
	must(!perch_events_parse(&events, text, NULL, NULL) &&
		     !perch_set_open(&set, &events, &targets, &options, NULL),
	     "perch_set_open");
	for (size_t i = 0; i < blocks; i++) {
		bench_keep_minimum(&of_group, read_group(group, -1));
		bench_keep_minimum(&bare, read_group(NULL, perch_group_fd(group, 0)));
		bench_keep_minimum(&of_set, read_set(set));
	}
	printf("group of %d read: perch/bare %.3f%s, %.0f ns and %.0f ns\n", MEMBERS,
	       of_group / bare, describe_target(of_group / bare, 1.05), of_group, bare);
	printf("the same read as a set: perch/bare %.3f%s, %.0f ns\n", of_set / bare,
	       describe_target(of_set / bare, 1.05), of_set);
	perch_group_close(group);
	perch_set_close(set);
	perch_events_clear(&events);
}

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	usleep(10000); /* until the child sleeps */
	return pid;
}

int main(void)
{
	struct perch_attr attr = bare_attr;
	struct rlimit limit;
	int fd;

	nr_events = bench_size(EVENTS, 100);
	rounds = bench_size(ROUNDS, 2);
	blocks = bench_size(BLOCKS, 2);
	child = start_sleeper();
	fd = bare_open(&attr);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	if (fd < 0 || setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < nr_events + 100) {
		printf("open-events: skipped, it needs perf events and %zu descriptors\n",
		       nr_events + 100);
		kill(child, SIGKILL);
		return BENCH_SKIPPED;
	}
	close(fd);
	compare_opening(nr_events, 1);
	compare_opening(20, nr_events / 20);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	compare_reading();
	return 0;
}
