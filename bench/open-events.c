/* SPDX-License-Identifier: MIT */
/*
 * perch_set_open() of 2,000 events that are enabled when all are there, beside the same calls by hand; and reads of a
 * group of eight by read(2), beside bare ones. The sides take turns, so that a change of the machine's speed meets both.
 * The least of the rounds counts: what is beyond it was somebody else's.
 *
 * The events are a child's that sleeps, as those of `perch stat PROGRAM` are: on a thread that runs, the kernel schedules
 * all events anew for each that is enabled, and 2,000 of them take it more than a second whoever asks.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <perch/count.h>

#define EVENTS 2000
#define ROUNDS 61
#define BLOCKS 401
#define READS_EACH 2000
#define MEMBERS 8
#define MEMBER "task-clock"

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static void keep_least(double *least, double took)
{
	if (!*least || took < *least)
		*least = took;
}

static const char *judge(double ratio, double target)
{
	static char text[40];

	snprintf(text, sizeof(text), " (target <= %.2f%s)", target, ratio > target ? ", MISSED" : "");
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

/* Nanoseconds from nothing to all enabled. Closing is the kernel's work alone and is not counted. */
static double open_bare(void)
{
	static int fds[EVENTS];
	struct perch_attr attr = bare_attr;
	double start = now_ns(), took;

	for (int i = 0; i < EVENTS; i++)
		must((fds[i] = bare_open(&attr)) >= 0, "perf_event_open");
	for (int i = 0; i < EVENTS; i++)
		must(!ioctl(fds[i], PERCH_IOC_ENABLE, 0), "enabling");
	took = now_ns() - start;
	for (int i = EVENTS; i-- > 0;)
		close(fds[i]);
	return took;
}

static double open_set(const struct perch_events *events, const struct perch_targets *targets)
{
	const struct perch_options options = { .enabled = 1 };
	struct perch_set *set;
	double start = now_ns(), took;

	must(!perch_set_open(&set, events, targets, &options, 0, NULL), "perch_set_open");
	took = now_ns() - start;
	perch_set_close(set);
	return took;
}

/* So many events, each on so many targets: the child again and again. */
static void compare_opening(int nr_events, int nr_targets)
{
	double perch = 0, bare = 0;
	struct perch_target *same = calloc(nr_targets, sizeof(*same));
	struct perch_event *event = calloc(nr_events, sizeof(*event));
	const struct perch_targets targets = { .nr = nr_targets, .target = same };
	const struct perch_events events = { .nr = nr_events, .event = event };
	struct perch_events one = { 0 };

	must(same && event && !perch_events_parse(&one, "dummy", NULL, NULL), "preparing");
	for (int i = 0; i < nr_targets; i++)
		same[i] = (struct perch_target){ child, -1, 0 };
	for (int i = 0; i < nr_events; i++) {
		event[i] = one.event[0];
		event[i].leader = event[i].first = i;
	}
	for (int i = 0; i < ROUNDS; i++) {
		/* each goes first in turn: the kernel's allocator may be kinder to every second one */
		if (i & 1)
			keep_least(&bare, open_bare());
		keep_least(&perch, open_set(&events, &targets));
		if (!(i & 1))
			keep_least(&bare, open_bare());
	}
	printf("opening %d events on %d target%s: perch/bare %.3f%s, %.2f us and %.2f us each\n", nr_events, nr_targets,
	       nr_targets > 1 ? "s" : "", perch / bare, judge(perch / bare, 1.10), perch / EVENTS / 1e3,
	       bare / EVENTS / 1e3);
	perch_events_clear(&one);
	free(same);
	free(event);
}

static double read_group(struct perch_group *group, int fd)
{
	struct perch_count counts[MEMBERS];
	uint64_t words[3 + MEMBERS];
	double start = now_ns();

	for (int i = 0; i < READS_EACH; i++)
		must(group ? !perch_group_read(group, counts, MEMBERS, NULL)
			   : read(fd, words, sizeof(words)) == sizeof(words), "reading");
	return (now_ns() - start) / READS_EACH;
}

static double read_set(struct perch_set *set)
{
	struct perch_count counts[MEMBERS];
	double start = now_ns();

	for (int i = 0; i < READS_EACH; i++)
		must(!perch_set_read(set, counts, MEMBERS, NULL), "reading");
	return (now_ns() - start) / READS_EACH;
}

static void compare_reading(void)
{
	double of_group = 0, of_set = 0, bare = 0;
	char text[MEMBERS * sizeof(MEMBER ",") + 3] = "{" MEMBER;
	const struct perch_options options = { .enabled = 1 };
	struct perch_target self = PERCH_SELF;
	const struct perch_targets targets = { .nr = 1, .target = &self };
	struct perch_events events = { 0 };
	struct perch_group *group;
	struct perch_set *set;

	for (int i = 1; i < MEMBERS; i++)
		strcat(text, "," MEMBER);
	strcat(text, "}");
	must(!perch_group_open(&group, text, NULL, &options, NULL), "perch_group_open");
	must(!perch_events_parse(&events, text, NULL, NULL) &&
	     !perch_set_open(&set, &events, &targets, &options, 0, NULL), "perch_set_open");
	for (int i = 0; i < BLOCKS; i++) {
		keep_least(&of_group, read_group(group, -1));
		keep_least(&bare, read_group(NULL, perch_group_fd(group, 0)));
		keep_least(&of_set, read_set(set));
	}
	printf("group of %d read: perch/bare %.3f%s, %.0f ns and %.0f ns\n", MEMBERS, of_group / bare,
	       judge(of_group / bare, 1.05), of_group, bare);
	printf("the same read as a set: perch/bare %.3f%s, %.0f ns\n", of_set / bare, judge(of_set / bare, 1.05), of_set);
	perch_group_close(group);
	perch_set_close(set);
	perch_events_clear(&events);
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	usleep(10000);	/* until it sleeps */
	return pid;
}

int main(void)
{
	struct perch_attr attr = bare_attr;
	struct rlimit limit;
	int fd;

	child = sleeper();
	fd = bare_open(&attr);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	if (fd < 0 || setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < EVENTS + 100) {
		puts("skipped: this needs perf events and some 2,100 descriptors");
		kill(child, SIGKILL);
		return 77;
	}
	close(fd);
	compare_opening(EVENTS, 1);
	compare_opening(20, EVENTS / 20);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	compare_reading();
	return 0;
}
