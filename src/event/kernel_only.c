/* SPDX-License-Identifier: MIT */
/*
 * Whether an event occurs only in the kernel. The kernel compares exclude_user and exclude_kernel
 * with the registers that the event passes:
 *
 * - page faults and alignment faults pass those of the fault, in user space or in the kernel
 * - switches and migrations pass those of the scheduler
 * - tracepoints pass those of the kernel function that they are in, except tracepoints of system
 *   calls ("syscalls:"), which pass those of the system call, and uprobes, also if the command has
 *   defined them in tracefs, with names as "uprobe:libc:malloc"
 * - clocks count time and pass no registers
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "kernel_only.h"

static const uint64_t software[] = {
	PERCH_COUNT_SW_CONTEXT_SWITCHES,
	PERCH_COUNT_SW_CPU_MIGRATIONS,
	PERCH_COUNT_SW_CGROUP_SWITCHES,
};

/* A line of uprobe_events is "p:system/name path:offset", with "r" for a return probe. */
static bool is_uprobe_line(const char *line, const char *name, size_t system, size_t length)
{
	return (line[0] == 'p' || line[0] == 'r') && line[1] == ':' &&
	       !strncmp(line + 2, name, system) && line[2 + system] == '/' &&
	       !strncmp(line + 3 + system, name + system + 1, length) &&
	       line[3 + system + length] == ' ';
}

/* Systems of tracepoints that occur in user space too. */
static bool is_user_system(const char *name, size_t length)
{
	static const char *const systems[] = { "syscalls", "uprobe", "uretprobe" };

	for (size_t i = 0; i < PERCH__NR(systems); i++)
		if (length == strlen(systems[i]) && !strncmp(name, systems[i], length))
			return true;
	return false;
}

static enum perch__kernel_only of_tracepoint(const char *name, struct perch_machine *machine)
{
	enum perch__kernel_only result = PERCH__KERNEL_ONLY_YES;
	size_t system = name ? strcspn(name, ":/.") : 0, length;
	char path[PATH_MAX], line[1024];
	FILE *file;

	if (!name || name[system] != ':')
		return PERCH__KERNEL_ONLY_UNKNOWN;
	if (is_user_system(name, system))
		return PERCH__KERNEL_ONLY_NO;
	length = strcspn(name + system + 1, ":/.");
	if (perch_machine_tracefs(machine, path, sizeof(path) - sizeof("/uprobe_events"), NULL) < 0)
		return PERCH__KERNEL_ONLY_UNKNOWN;
	strcat(path, "/uprobe_events");
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (is_uprobe_line(line, name, system, length))
			result = PERCH__KERNEL_ONLY_NO;
	if (file)
		fclose(file);
	return result; /* a kernel without uprobes has no such file */
}

enum perch__kernel_only perch__kernel_only(const struct perch_attr *attr, const char *name,
					   struct perch_machine *machine)
{
	char found[512];

	if (attr->type == PERCH_TYPE_TRACEPOINT && !name && machine &&
	    !perch_machine_tracepoint(machine, attr->config, found, sizeof(found), NULL))
		return of_tracepoint(found, machine);
	if (attr->type == PERCH_TYPE_TRACEPOINT)
		return of_tracepoint(name, machine);
	for (size_t i = 0; attr->type == PERCH_TYPE_SOFTWARE && i < PERCH__NR(software); i++)
		if (attr->config == software[i])
			return PERCH__KERNEL_ONLY_YES;
	if (attr->type >= PERCH_TYPE_MAX && machine) {
		const struct perch_pmu *pmu = perch_machine_pmu_of_type(machine, attr->type);

		if (pmu && !strcmp(pmu->name, "kprobe"))
			return PERCH__KERNEL_ONLY_YES;
	}
	return PERCH__KERNEL_ONLY_NO;
}

bool perch_event_is_kernel_only(const struct perch_event *event, struct perch_machine *machine)
{
	return perch__kernel_only(&event->attr, event->name, machine) == PERCH__KERNEL_ONLY_YES;
}
