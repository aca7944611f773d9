/* SPDX-License-Identifier: MIT */
/*
 * For open-syscalls.sh: opens a counter, or a group of three, with or without libperch. A getppid()
 * before and after marks the system calls in the output of strace. The heap exists before, as in
 * most programs, and libperch has opened an object before: for the first one of a process it maps a
 * page, by which a child is recognized.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <perch/count.h>

static int bare(uint64_t config, int leader, uint64_t read_format)
{
	struct perch_attr attr = {
		.type = PERCH_TYPE_SOFTWARE,
		.size = PERCH_ATTR_SIZE_VER0,
		.config = config,
		.read_format = read_format,
		.disabled = leader < 0,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERCH_FLAG_FD_CLOEXEC);
}

static int open_bare(bool group)
{
	const uint64_t times = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING;
	uint64_t format = group ? times | PERCH_FORMAT_GROUP : times;
	int leader = bare(PERCH_COUNT_SW_PAGE_FAULTS, -1, format);

	if (leader >= 0 && group &&
	    (bare(PERCH_COUNT_SW_TASK_CLOCK, leader, format) < 0 ||
	     bare(PERCH_COUNT_SW_DUMMY, leader, format) < 0))
		return -1;
	return leader;
}

static int open_perch(bool group)
{
	struct perch_counter *counter;
	struct perch_group *members;

	return group ? perch_group_open(&members, "{page-faults:u,task-clock:u,dummy:u}", NULL,
					NULL, NULL)
		     : perch_counter_open(&counter, "page-faults:u", NULL, NULL, NULL);
}

int main(int argc, char **argv)
{
	bool by_perch = argc > 1 && !strcmp(argv[1], "perch");
	bool group = argc > 2 && !strcmp(argv[2], "group");
	char *volatile heap; /* volatile: malloc() must not be optimised away */
	struct perch_counter *first;
	int rc;

	if (by_perch && perch_counter_open(&first, "page-faults:u", NULL, NULL, NULL))
		return 1;
	if (by_perch)
		perch_counter_close(first);
	heap = malloc(100000);
	free(heap);
	getppid();
	rc = by_perch ? open_perch(group) : open_bare(group);
	getppid();
	return rc < 0;
}
