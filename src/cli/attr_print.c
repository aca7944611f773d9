/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "attr_print.h"
#include "options.h"

static const char line[] = "------------------------------------------------------------\n";

static void print_block(FILE *out, const struct perch_attr *attr)
{
	struct perch_attr_text text;

	fprintf(out, "%sperf_event_attr:\n", line);
	for (size_t at = 0; perch_attr_next_text(attr, &at, &text);)
		fprintf(out, "  %-32s %s\n", text.label, text.value);
	fputs(line, out);
}

static void print_open_call(FILE *out, pid_t pid, int cpu, int group_fd, unsigned long flags,
			    int result)
{
	fprintf(out, "sys_perf_event_open: pid %d  cpu %d  group_fd %d  flags %#lx", pid, cpu,
		group_fd, flags);
	if (result < 0)
		fprintf(out, "\nsys_perf_event_open failed, error %d\n", result);
	else
		fprintf(out, " = %d\n", result);
}

static int open_event(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		      int group_fd, unsigned long flags)
{
	struct cli_shown_calls *shown = context;
	int fd = perch_kernel_syscalls.perf_event_open(perch_kernel_syscalls.context, attr, pid,
						       cpu, group_fd, flags);
	int error = errno;

	if (*shown->level < 2)
		return fd;
	if (memcmp(attr, &shown->last, sizeof(*attr)))
		print_block(stderr, attr);
	shown->last = *attr;
	print_open_call(stderr, pid, cpu, group_fd, flags, fd < 0 ? -error : fd);
	errno = error;
	return fd;
}

void cli_show_calls(struct cli_shown_calls *shown, const int *level)
{
	memset(shown, 0, sizeof(*shown));
	shown->calls = perch_kernel_syscalls;
	shown->calls.context = shown; /* the other functions ignore it */
	shown->calls.perf_event_open = open_event;
	shown->level = level;
}
