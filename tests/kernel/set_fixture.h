/* SPDX-License-Identifier: MIT */
/* Helpers for tests of sets: fresh pages to fault in, and sets that must open. Include after
 * cmocka.h. */
#ifndef PERCH_TEST_SET_FIXTURE_H
#define PERCH_TEST_SET_FIXTURE_H

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <perch/count.h>

#define PAGES	     64
#define NO_SUCH_TYPE 0x7ffffff0

static inline char *fresh_pages(void)
{
	size_t size = PAGES * sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	madvise(pages, size, MADV_NOHUGEPAGE);
	return pages;
}

/* Writes to the first nr pages: one fault each. */
static inline void touch(char *pages, int nr)
{
	for (int i = 0; i < nr; i++)
		((volatile char *)pages)[i * sysconf(_SC_PAGESIZE)] = 1;
}

static inline void drop(char *pages)
{
	munmap(pages, PAGES * sysconf(_SC_PAGESIZE));
}

static inline struct perch_events parse(const char *text)
{
	struct perch_events events = { 0 };
	struct perch_error err;

	if (perch_events_parse(&events, text, NULL, &err))
		fail_msg("%s: %s", text, err.message);
	return events;
}

static inline struct perch_set *open_events(const struct perch_events *events,
					    const struct perch_targets *targets,
					    const struct perch_options *options, unsigned may)
{
	static struct perch_target self = { .cpu = -1 };
	const struct perch_targets mine = { .nr = 1, .target = &self };
	struct perch_options wanted = options ? *options : (struct perch_options){ 0 };
	struct perch_set *set;
	struct perch_error err;

	wanted.may = may;
	if (perch_set_open(&set, events, targets ? targets : &mine, &wanted, &err))
		fail_msg("%s", err.message);
	return set;
}

/* The events can be freed, because they have no strings. */
static inline struct perch_set *open_set(const char *text, const struct perch_targets *targets,
					 const struct perch_options *options)
{
	struct perch_events events = parse(text);
	struct perch_set *set = open_events(&events, targets, options, 0);

	perch_events_clear(&events);
	return set;
}

static inline void read_set(struct perch_set *set, struct perch_count *counts)
{
	struct perch_error err;

	if (perch_set_read(set, counts, perch_set_events(set) * perch_set_targets(set), &err))
		fail_msg("%s", err.message);
}

static inline struct perch_count sum_of(const struct perch_set *set,
					const struct perch_count *counts, size_t event)
{
	struct perch_count sum;

	perch_count_sum(&sum, counts + event * perch_set_targets(set), perch_set_targets(set));
	return sum;
}

static inline struct perch_cpus online(struct perch_machine *machine)
{
	const struct perch_cpus *cpus;
	struct perch_error err;

	if (perch_machine_cpus(machine, &cpus, &err))
		fail_msg("%s", err.message);
	return *cpus;
}

static inline void run_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	assert_int_equal(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
}

#endif
