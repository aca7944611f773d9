/* SPDX-License-Identifier: MIT */
/* Whom `perch stat` counts: the program, threads of -p and -t, CPUs of -a and -C. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "stat.h"

static int add_target(struct stat *stat, pid_t pid, int cpu)
{
	struct perch_target *grown = realloc(stat->target, (stat->nr_targets + 1) * sizeof(*grown));
	struct perch_error err;

	if (!grown) {
		perch_error_set(&err, ENOMEM, PERCH_CAUSE_NO_MEMORY, "no memory for the list of targets");
		return cli_error(STAT_COMMAND, &err);
	}
	stat->target = grown;
	stat->target[stat->nr_targets++] = (struct perch_target){ .pid = pid, .cpu = cpu };
	return 0;
}

static int no_such(const char *what, long number, const char *remedy)
{
	struct perch_error err;

	perch_error_set(&err, ESRCH, PERCH_CAUSE_BAD_TARGET, "there is no %s %ld", what, number);
	perch_error_remedy(&err, "%s", remedy);
	return cli_error(STAT_COMMAND, &err);
}

static int add_process(struct stat *stat, long pid)
{
	struct dirent *entry;
	char path[64];
	DIR *folder;
	int status = 0;

	snprintf(path, sizeof(path), "/proc/%ld/task", pid);
	folder = opendir(path);
	if (!folder)
		return no_such("process", pid, "it may have ended: 'pgrep -l NAME' lists those that run");
	while (!status && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			status = add_target(stat, atoi(entry->d_name), -1);
	closedir(folder);
	return status;
}

static int add_thread(struct stat *stat, long tid)
{
	return add_target(stat, tid, -1);
}

static int add_list(struct stat *stat, const char *list, const char *option, int (*add)(struct stat *, long))
{
	const char *at = list;

	for (;;) {
		char *end;
		long number;
		int status;

		errno = 0;
		number = strtol(at, &end, 10);
		if (errno || end == at || number <= 0 || number > INT32_MAX || (*end && *end != ','))
			return cli_usage_error(STAT_COMMAND, "%s %s is no list of numbers such as 12,34", option, list);
		status = add(stat, number);
		if (status || !*end)
			return status;
		at = end + 1;
	}
}

static int add_cpu(struct stat *stat, const struct perch_cpus *online, int cpu)
{
	for (size_t i = 0; i < online->nr; i++)
		if (online->cpu[i] == cpu)
			return add_target(stat, -1, cpu);
	return no_such("CPU that runs with the number", cpu, "/sys/devices/system/cpu/online lists those that do");
}

static int add_cpus(struct stat *stat)
{
	const struct perch_cpus *online;
	struct perch_cpus chosen = { 0 };
	const struct perch_cpus *wanted = &chosen;
	struct perch_error err;
	int status = 0;

	if (perch_machine_cpus(stat->machine, &online, &err))
		return cli_error(STAT_COMMAND, &err);
	if (!stat->cpu_list) {
		wanted = online;
	} else if (perch_cpus_parse(&chosen, stat->cpu_list, &err)) {
		cli_error(STAT_COMMAND, &err);
		return CLI_EXIT_USAGE;
	}
	for (size_t i = 0; !status && i < wanted->nr; i++)
		status = add_cpu(stat, online, wanted->cpu[i]);
	perch_cpus_clear(&chosen);
	return status;
}

int stat_choose_targets(struct stat *stat)
{
	int ways = (stat->all_cpus || stat->cpu_list) + !!stat->pids + !!stat->tids;

	if (ways > 1)
		return cli_usage_error(STAT_COMMAND, "-p, -t and CPUs (-a, -C) exclude each other");
	if (!ways && !stat->argv)
		return cli_usage_error(STAT_COMMAND, "no program to run, and none of -p, -t, -a and -C");
	if (stat->repeat > 1 && !stat->argv)
		return cli_usage_error(STAT_COMMAND, "-r needs a program to run again");
	if (stat->pids)
		return add_list(stat, stat->pids, "-p", add_process);
	if (stat->tids)
		return add_list(stat, stat->tids, "-t", add_thread);
	if (ways)
		return add_cpus(stat);
	return add_target(stat, 0, -1);	/* the program: its pid comes with each run */
}
