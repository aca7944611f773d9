/* SPDX-License-Identifier: MIT */
/* Sets on the running kernel: events on CPUs, threads and cgroups, groups that break up, targets that end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/count.h>

#define PAGES 64
#define NOBODY 65534
#define NO_SUCH_TYPE 0x7ffffff0

static char *fresh_pages(void)
{
	size_t size = PAGES * sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	madvise(pages, size, MADV_NOHUGEPAGE);
	return pages;
}

/* The first `nr` of them, one fault each. */
static void touch(char *pages, int nr)
{
	for (int i = 0; i < nr; i++)
		((volatile char *)pages)[i * sysconf(_SC_PAGESIZE)] = 1;
}

static void drop(char *pages)
{
	munmap(pages, PAGES * sysconf(_SC_PAGESIZE));
}

static struct perch_events parse(const char *text)
{
	struct perch_events events = { 0 };
	struct perch_error err;

	if (perch_events_parse(&events, text, NULL, &err))
		fail_msg("%s: %s", text, err.message);
	return events;
}

static struct perch_set *open_events(const struct perch_events *events, const struct perch_targets *targets,
				     const struct perch_options *options, unsigned may)
{
	static struct perch_target self = PERCH_SELF_INIT;
	const struct perch_targets mine = { .nr = 1, .target = &self };
	struct perch_set *set;
	struct perch_error err;

	if (perch_set_open(&set, events, targets ? targets : &mine, options, may, &err))
		fail_msg("%s", err.message);
	return set;
}

/* The set copies what it needs but strings, and these events have none. */
static struct perch_set *open_set(const char *text, const struct perch_targets *targets,
				  const struct perch_options *options)
{
	struct perch_events events = parse(text);
	struct perch_set *set = open_events(&events, targets, options, 0);

	perch_events_clear(&events);
	return set;
}

static void read_set(struct perch_set *set, struct perch_count *counts)
{
	struct perch_error err;

	if (perch_set_read(set, counts, perch_set_events(set) * perch_set_targets(set), &err))
		fail_msg("%s", err.message);
}

static struct perch_count sum_of(const struct perch_set *set, const struct perch_count *counts, size_t event)
{
	struct perch_count sum;

	perch_count_sum(&sum, counts + event * perch_set_targets(set), perch_set_targets(set));
	return sum;
}

static struct perch_cpus online(struct perch_machine *machine)
{
	const struct perch_cpus *cpus;
	struct perch_error err;

	if (perch_machine_cpus(machine, &cpus, &err))
		fail_msg("%s", err.message);
	return *cpus;
}

static void run_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	assert_int_equal(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
}

/* This thread on each CPU: another number of faults on each, and their sum is what one counter of the thread says. */
static void cpus_of_a_thread_add_up(void **state)
{
	struct perch_targets targets = { 0 };
	struct perch_machine *machine;
	struct perch_counter *all;
	struct perch_cpus cpus;
	struct perch_set *set;
	struct perch_count *counts, count, sum;
	cpu_set_t before;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	cpus = online(machine);
	for (size_t i = 0; i < cpus.nr; i++) {
		struct perch_target target = { 0, cpus.cpu[i], 0 };

		assert_int_equal(perch_targets_add(&targets, &target, NULL), 0);
	}
	set = open_set("page-faults:u,{dummy:u,page-faults:u}", &targets, NULL);
	assert_int_equal(perch_set_targets(set), cpus.nr);
	assert_int_equal(perch_counter_open(&all, "page-faults:u", NULL, NULL, NULL), 0);
	counts = calloc(3 * cpus.nr, sizeof(*counts));
	assert_int_equal(perch_set_enable(set, NULL) | perch_counter_enable(all), 0);
	for (size_t i = 0; i < cpus.nr && i < PAGES; i++) {
		char *pages = fresh_pages();

		run_on(cpus.cpu[i]);
		touch(pages, i + 1);
		drop(pages);
	}
	assert_int_equal(perch_counter_disable(all) | perch_set_disable(set, NULL), 0);
	read_set(set, counts);
	perch_counter_read(all, &count, NULL);
	for (size_t i = 0; i < cpus.nr && i < PAGES; i++)
		assert_true(counts[i].value >= i + 1 && counts[i].value == counts[2 * cpus.nr + i].value);
	sum = sum_of(set, counts, 0);
	assert_int_equal(sum.value, count.value);
	assert_int_equal(sum_of(set, counts, 1).value, 0);
	sched_setaffinity(0, sizeof(before), &before);
	free(counts);
	perch_counter_close(all);
	perch_set_close(set);
	perch_targets_clear(&targets);
	perch_machine_free(machine);
}

static void all_cpus_are_each_of_them(void **state)
{
	struct perch_target everywhere = { -1, -1, 0 };
	struct perch_targets targets = { .nr = 1, .target = &everywhere };
	struct perch_machine *machine;
	struct perch_events events;
	struct perch_count *counts;
	struct perch_set *set;
	struct perch_error err;
	char *pages;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	events = parse("page-faults,{task-clock,context-switches}");
	if (perch_set_open(&set, &events, &targets, NULL, 0, &err) == -EACCES) {
		print_message("skipped: %s\n", err.message);
		perch_events_clear(&events);
		perch_machine_free(machine);
		skip();
	}
	assert_int_equal(perch_set_targets(set), online(machine).nr);
	assert_int_equal(perch_set_target(set, 0)->pid, -1);
	assert_int_equal(perch_set_target(set, 0)->cpu, online(machine).cpu[0]);
	counts = calloc(perch_set_events(set) * perch_set_targets(set), sizeof(*counts));
	pages = fresh_pages();
	assert_int_equal(perch_set_enable(set, NULL), 0);
	touch(pages, PAGES);
	assert_int_equal(perch_set_disable(set, NULL), 0);
	read_set(set, counts);
	assert_true(sum_of(set, counts, 0).value >= PAGES);
	assert_true(sum_of(set, counts, 1).value > 0);
	for (size_t i = 0; i < perch_set_targets(set); i++)
		assert_int_equal(counts[i].state, PERCH_COUNT_FULL);
	drop(pages);
	free(counts);
	perch_set_close(set);
	perch_events_clear(&events);
	perch_machine_free(machine);
}

struct worker {
	pthread_t thread;
	pthread_barrier_t *barrier;
	pid_t tid;
	int pages;
};

static void *work(void *given)
{
	struct worker *worker = given;
	char *pages = fresh_pages();

	worker->tid = syscall(SYS_gettid);
	pthread_barrier_wait(worker->barrier);	/* known */
	pthread_barrier_wait(worker->barrier);	/* counted from here */
	touch(pages, worker->pages);
	drop(pages);
	return NULL;
}

/* Their counts stay readable, and exact, when they have ended. */
static void threads_that_end_keep_their_counts(void **state)
{
	struct perch_options options = { .enabled = 1 };
	struct perch_targets targets = { 0 };
	struct worker workers[3] = { { .pages = 10 }, { .pages = 20 }, { .pages = 30 } };
	pthread_barrier_t barrier;
	struct perch_count counts[6], delta;
	struct perch_count before[6];
	struct perch_set *set;

	(void)state;
	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 3; i++) {
		workers[i].barrier = &barrier;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++) {
		struct perch_target target = { workers[i].tid, -1, 0 };

		assert_int_equal(perch_targets_add(&targets, &target, NULL), 0);
	}
	set = open_set("{page-faults:u,task-clock:u}", &targets, &options);
	read_set(set, before);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++)
		pthread_join(workers[i].thread, NULL);
	read_set(set, counts);
	for (int i = 0; i < 3; i++) {
		perch_count_delta(&delta, &counts[i], &before[i]);
		/* and a few that its end costs */
		assert_true(delta.value >= (uint64_t)workers[i].pages && delta.value < (uint64_t)workers[i].pages + 9);
		assert_true(counts[3 + i].value > 0);
		assert_int_equal(delta.state, PERCH_COUNT_FULL);
	}
	perch_set_close(set);
	pthread_barrier_destroy(&barrier);
	perch_targets_clear(&targets);
}

static pid_t ended_thread(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static void targets_that_are_gone(void **state)
{
	struct perch_target target[] = { { ended_thread(), -1, 0 }, PERCH_SELF_INIT };
	struct perch_targets both = { .nr = 2, .target = target }, gone = { .nr = 1, .target = target };
	struct perch_events events = parse("{page-faults:u,dummy:u},task-clock:u");
	struct perch_count counts[6];
	struct perch_set *set;
	struct perch_error err;
	char text[32];

	(void)state;
	assert_int_equal(perch_set_open(&set, &events, &both, NULL, 0, &err), -ESRCH);
	assert_null(set);
	snprintf(text, sizeof(text), "thread %d", (int)target[0].pid);
	assert_non_null(strstr(err.message, text));
	assert_non_null(strstr(err.message, "page-faults:u"));
	assert_int_equal(perch_set_open(&set, &events, &gone, NULL, PERCH_SET_MAY_LOSE_TARGETS, &err), -ESRCH);
	assert_int_equal(err.kind, PERCH_ERROR_NO_PROCESS);
	set = open_events(&events, &both, NULL, PERCH_SET_MAY_LOSE_TARGETS);
	assert_int_equal(perch_set_fd(set, 0, 0), -1);
	assert_true(perch_set_fd(set, 0, 1) >= 0);
	read_set(set, counts);
	assert_int_equal(counts[0].state, PERCH_COUNT_ABSENT);
	assert_int_equal(counts[1].state, PERCH_COUNT_IDLE);
	assert_int_equal(sum_of(set, counts, 0).state, PERCH_COUNT_IDLE);
	perch_set_close(set);
	perch_events_clear(&events);
}

static void children_are_counted_in_groups(void **state)
{
	struct perch_options options = { .enabled = 1, .inherit = 1 };
	struct perch_set *set = open_set("{page-faults:u,dummy:u},page-faults:u", NULL, &options);
	struct perch_count counts[3];
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		touch(fresh_pages(), PAGES);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(perch_set_disable(set, NULL), 0);
	read_set(set, counts);
	assert_true(counts[0].value >= PAGES);
	assert_true(counts[2].value >= PAGES);
	assert_int_equal(counts[1].value, 0);
	assert_int_equal(counts[1].state, PERCH_COUNT_FULL);
	perch_set_close(set);
}

/* Disabled until the program starts; the leader alone waits, and all of the group count. */
static void enable_on_exec_waits(void **state)
{
	struct perch_options options = { .enable_on_exec = 1, .inherit = 1 };
	struct perch_target target = { 0, -1, 0 };
	struct perch_targets targets = { .nr = 1, .target = &target };
	struct perch_count counts[3];
	struct perch_set *set;
	int go[2];

	(void)state;
	assert_int_equal(pipe(go), 0);
	target.pid = fork();
	if (!target.pid) {
		char byte;

		close(go[1]);
		touch(fresh_pages(), PAGES);
		if (read(go[0], &byte, 1) == 0)
			execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	close(go[0]);
	set = open_set("{page-faults:u,task-clock:u},page-faults:u", &targets, &options);
	read_set(set, counts);
	assert_int_equal(counts[0].state, PERCH_COUNT_IDLE);
	close(go[1]);
	assert_int_equal(waitpid(target.pid, NULL, 0), target.pid);
	read_set(set, counts);
	assert_true(counts[0].value > 0 && counts[1].value > 0);
	assert_int_equal(counts[0].value, counts[2].value);
	perch_set_close(set);
}

static void resets_and_differences_are_exact(void **state)
{
	struct perch_set *set = open_set("{page-faults:u,dummy:u},page-faults:u", NULL, NULL);
	struct perch_count first[3], second[3], delta;
	struct perch_error err;
	char *pages = fresh_pages();

	(void)state;
	assert_int_equal(perch_set_enable(set, NULL), 0);
	touch(pages, PAGES);
	assert_int_equal(perch_set_disable(set, NULL), 0);
	assert_int_equal(perch_set_reset(set, &err), 0);
	read_set(set, first);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(first[i].value, 0);
		assert_int_equal(first[i].enabled_ns, 0);
		assert_int_equal(first[i].state, PERCH_COUNT_IDLE);
	}
	drop(pages);
	for (int round = 0; round < 3; round++) {
		pages = fresh_pages();
		assert_int_equal(perch_set_enable(set, NULL), 0);
		touch(pages, PAGES);
		assert_int_equal(perch_set_disable(set, NULL), 0);
		read_set(set, second);
		perch_count_delta(&delta, &second[2], round ? &first[2] : NULL);
		assert_int_equal(delta.value, PAGES);
		assert_int_equal(delta.scaled, PAGES);
		assert_int_equal(delta.state, PERCH_COUNT_FULL);
		assert_true(delta.enabled_ns > 0 && delta.enabled_ns <= second[2].enabled_ns);
		memcpy(first, second, sizeof(first));
		drop(pages);
	}
	assert_int_equal(second[0].value, 3 * PAGES);
	perch_set_close(set);
}

/* Somebody joins the group by its descriptor: its own members are read as before. */
static void strangers_in_the_group(void **state)
{
	struct perch_set *set = open_set("{page-faults:u,dummy:u}", NULL, NULL);
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERCH_COUNT_SW_CPU_CLOCK,
				   .exclude_kernel = 1 };
	int fd = perch_open(&attr, NULL, perch_set_fd(set, 0, 0), 0, NULL, NULL);
	struct perch_count counts[2];
	char *pages = fresh_pages();

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(perch_set_enable(set, NULL), 0);
	touch(pages, PAGES);
	assert_int_equal(perch_set_disable(set, NULL), 0);
	read_set(set, counts);
	assert_int_equal(counts[0].value, PAGES);
	assert_int_equal(counts[1].value, 0);
	read_set(set, counts);
	close(fd);
	read_set(set, counts);
	assert_int_equal(counts[0].value, PAGES);
	drop(pages);
	perch_set_close(set);
}

static void what_the_machine_has_not(void **state)
{
	struct perch_events events = parse("{page-faults:u,dummy:u,task-clock:u},page-faults:u");
	struct perch_target target = PERCH_SELF_INIT;
	struct perch_targets self = { .nr = 1, .target = &target };
	const struct perch_set_event *event;
	struct perch_count counts[4];
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	events.event[0].attr.type = events.event[3].attr.type = NO_SUCH_TYPE;
	assert_int_equal(perch_set_open(&set, &events, &self, NULL, 0, &err), -ENOENT);
	assert_non_null(strstr(err.message, "page-faults:u"));
	set = open_events(&events, NULL, NULL, PERCH_SET_MAY_SKIP);
	event = perch_set_event(set, 0);
	assert_true(event->skipped && event->reason->errnum == ENOENT && *event->reason->message);
	assert_int_equal(event->attr.type, NO_SUCH_TYPE);
	event = perch_set_event(set, 1);	/* leads now */
	assert_int_equal(event->event.leader, 1);
	assert_int_equal(event->event.members, 2);
	assert_true(event->attr.disabled);
	assert_int_equal(perch_set_event(set, 2)->event.leader, 1);
	perch_set_explain(set, NULL);
	assert_true(perch_set_event(set, 3)->skipped);
	assert_int_equal(perch_set_event(set, 3)->reason->errnum, ENOENT);
	assert_int_equal(perch_set_enable(set, NULL), 0);
	read_set(set, counts);
	assert_int_equal(counts[0].state, PERCH_COUNT_ABSENT);
	assert_int_equal(counts[1].state, PERCH_COUNT_FULL);
	assert_true(counts[2].value > 0);
	assert_null(perch_set_event(set, 4));
	assert_null(perch_set_target(set, 1));
	assert_int_equal(perch_set_fd(set, 4, 0), -1);
	assert_int_equal(perch_set_read(set, counts, 3, &err), -EINVAL);
	perch_set_close(set);
	perch_events_clear(&events);
}

/* An inherited leader takes no member that is not: what a PMU with too few counters says as well. */
static void weak_groups_break_up(void **state)
{
	struct perch_options options = { .enabled = 1, .inherit = 1 };
	struct perch_events events = parse("{page-faults:u,dummy:u,task-clock:u}");
	struct perch_target target = PERCH_SELF_INIT;
	struct perch_targets self = { .nr = 1, .target = &target };
	struct perch_count counts[3];
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	events.event[1].terms.inherit = PERCH_SAID_NO;
	assert_int_equal(perch_set_open(&set, &events, &self, &options, 0, &err), -EINVAL);
	assert_non_null(strstr(err.message, "dummy:u"));
	events.event[0].weak = true;
	set = open_events(&events, NULL, &options, 0);
	for (int i = 0; i < 3; i++) {
		const struct perch_set_event *event = perch_set_event(set, i);

		assert_true(event->broken && !event->skipped);
		assert_int_equal(event->event.leader, i);
		assert_int_equal(event->event.members, 1);
		assert_int_equal(event->attr.inherit, i != 1);
	}
	read_set(set, counts);
	assert_true(counts[2].value > 0);
	assert_int_equal(counts[1].state, PERCH_COUNT_FULL);
	perch_set_close(set);
	perch_events_clear(&events);
}

static int open_descriptors(void)
{
	int nr = 0;

	for (int fd = 0; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* To break it up frees no debug register: the event that finds none is the error, and nothing stays open. */
static void weak_groups_of_too_many_breakpoints(void **state)
{
	static uint64_t watched[20];
	struct perch_events events = parse("{dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,"
					   "dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u}");
	struct perch_target target = PERCH_SELF_INIT;
	struct perch_targets self = { .nr = 1, .target = &target };
	int before = open_descriptors(), rc;
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	for (size_t i = 0; i < events.nr; i++) {
		struct perch_event *event = &events.event[i];

		event->attr.type = PERCH_TYPE_BREAKPOINT;
		event->attr.config = 0;
		event->attr.bp_type = PERCH_BREAKPOINT_W;
		event->attr.bp_addr = (uintptr_t)&watched[i];
		event->attr.bp_len = 8;
		event->weak = true;
	}
	rc = perch_set_open(&set, &events, &self, NULL, 0, &err);
	if (rc != -ENOSPC) {
		print_message("skipped: %s\n", rc ? err.message : "this machine has more debug registers");
		perch_set_close(set);
		perch_events_clear(&events);
		skip();
	}
	assert_int_equal(err.kind, PERCH_ERROR_BREAKPOINTS);
	assert_int_equal(open_descriptors(), before);
	events.event[1].leader = 1;
	events.nr = 1;
	set = open_events(&events, NULL, NULL, 0);
	assert_int_equal(perch_set_enable(set, NULL), 0);
	for (int i = 0; i < 5; i++)
		((volatile uint64_t *)watched)[0] = i;
	assert_int_equal(perch_set_disable(set, NULL), 0);
	struct perch_count count;
	read_set(set, &count);
	assert_int_equal(count.value, 5);
	perch_set_close(set);
	events.nr = 18;
	perch_events_clear(&events);
}

/* Nobody gave a machine: what makes the open fail is told with its facts all the same. */
static void a_cpu_that_is_not_there(void **state)
{
	struct perch_events events = parse("page-faults:u");
	struct perch_target target = { -1, 4000, 0 };
	const struct perch_targets there = { .nr = 1, .target = &target };
	struct perch_set *set;
	struct perch_error err;
	int rc;

	(void)state;
	rc = perch_set_open(&set, &events, &there, NULL, 0, &err);
	if (rc == -EACCES)
		skip();
	assert_int_equal(rc, -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_NO_CPU);
	assert_non_null(strstr(err.message, "page-faults:u on CPU 4000: there is no CPU 4000"));
	perch_events_clear(&events);
}

static void lost_samples_are_read(void **state)
{
	const struct perch_attr optional = { .read_format = ~UINT64_C(0) };
	struct perch_options options = { .read = PERCH_FORMAT_LOST | PERCH_FORMAT_ID, .optional = &optional };
	struct perch_set *set = open_set("{page-faults:u,dummy:u},task-clock:u", NULL, &options);
	const struct perch_set_event *event = perch_set_event(set, 2);
	struct perch_count counts[3];

	(void)state;
	read_set(set, counts);
	assert_true(counts[0].id && counts[1].id && counts[2].id && counts[0].id != counts[1].id);
	for (int i = 0; i < 3; i++)
		assert_int_equal(counts[i].lost, 0);
	/* times are never let go, and the rest was kept or told */
	assert_int_equal(event->attr.read_format | (event->dropped ? event->dropped->read_format : 0),
			 PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING | PERCH_FORMAT_ID |
			 PERCH_FORMAT_LOST);
	perch_set_close(set);
}

/* A cgroup of its own, with a process in it that faults. */
static bool fault_in(const char *folder)
{
	char path[4200];
	pid_t pid = fork();
	int fd, status;

	if (!pid) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
		fd = open(path, O_WRONLY);
		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(1);
		touch(fresh_pages(), PAGES);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void cgroups(void **state)
{
	struct perch_options options = { .enabled = 1 };
	struct perch_targets targets = { 0 };
	struct perch_count *counts, sum;
	struct perch_machine *machine;
	char mounted[4096] = "", name[32], folder[4160];
	struct perch_set *set;
	struct perch_error err;
	bool joined;
	int rc;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	rc = perch_machine_cgroups(machine, mounted, sizeof(mounted), NULL) < 0 ? ENOENT : 0;
	snprintf(name, sizeof(name), "perch-test-%d", (int)getpid());
	snprintf(folder, sizeof(folder), "%s/%s", mounted, name);
	if (rc || mkdir(folder, 0755)) {
		print_message("skipped: no cgroup can be made here: %s\n", strerror(rc ? rc : errno));
		perch_machine_free(machine);
		skip();
	}
	rc = perch_targets_add_cgroup(&targets, name, NULL, machine, &err);
	if (rc) {
		rmdir(folder);
		fail_msg("%s", err.message);
	}
	set = open_set("page-faults,{task-clock,dummy}", &targets, &options);
	counts = calloc(3 * perch_set_targets(set), sizeof(*counts));
	touch(fresh_pages(), PAGES);	/* not in the cgroup */
	read_set(set, counts);
	assert_int_equal(sum_of(set, counts, 0).value, 0);
	joined = fault_in(folder);
	read_set(set, counts);
	sum = sum_of(set, counts, 0);
	rmdir(folder);
	assert_true(joined);
	assert_true(sum.value >= PAGES);
	assert_true(sum_of(set, counts, 1).value > 0);
	free(counts);
	perch_set_close(set);
	perch_targets_clear(&targets);
	perch_machine_free(machine);
}

static int count_as_nobody(void)
{
	struct perch_events events = parse("{page-faults,dummy:u},page-faults:u");
	struct perch_target target = PERCH_SELF_INIT;
	struct perch_targets self = { .nr = 1, .target = &target };
	struct perch_set *set;
	struct perch_error err;

	if (setgid(NOBODY) || setuid(NOBODY))
		return 2;
	if (perch_set_open(&set, &events, &self, NULL, 0, &err) != -EACCES || err.kind != PERCH_ERROR_PARANOID)
		return 3;
	if (perch_set_open(&set, &events, &self, NULL, PERCH_SET_MAY_DROP_KERNEL, &err))
		return 4;
	if (!perch_set_event(set, 0)->user_only || !perch_set_event(set, 0)->attr.exclude_kernel)
		return 5;
	return perch_set_event(set, 1)->user_only || perch_set_event(set, 2)->user_only ? 6 : 0;
}

static void the_kernels_side_is_let_go(void **state)
{
	struct perch_machine *machine;
	int status;
	long paranoid;
	pid_t pid;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	if (geteuid() || perch_machine_sysctl(machine, PERCH_SYSCTL_PARANOID, &paranoid, NULL) || paranoid != 2) {
		print_message("skipped: needs root and kernel.perf_event_paranoid=2\n");
		perch_machine_free(machine);
		skip();
	}
	perch_machine_free(machine);
	pid = fork();
	if (!pid)
		_exit(count_as_nobody());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_of_a_thread_add_up),
		cmocka_unit_test(all_cpus_are_each_of_them),
		cmocka_unit_test(threads_that_end_keep_their_counts),
		cmocka_unit_test(targets_that_are_gone),
		cmocka_unit_test(children_are_counted_in_groups),
		cmocka_unit_test(enable_on_exec_waits),
		cmocka_unit_test(resets_and_differences_are_exact),
		cmocka_unit_test(strangers_in_the_group),
		cmocka_unit_test(what_the_machine_has_not),
		cmocka_unit_test(weak_groups_break_up),
		cmocka_unit_test(weak_groups_of_too_many_breakpoints),
		cmocka_unit_test(a_cpu_that_is_not_there), cmocka_unit_test(lost_samples_are_read),
		cmocka_unit_test(cgroups),
		cmocka_unit_test(the_kernels_side_is_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
