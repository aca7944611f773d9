/* SPDX-License-Identifier: MIT */
/* Whom `perch record` samples: the threads of -p and -t, the CPUs of -C. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"

#define COMMAND "record"

static int gone(const char *what, long number)
{
	struct perch_error err;

	perch_error_set(&err, ESRCH, PERCH_CAUSE_NO_PROCESS, "there is no %s %ld (any more)", what, number);
	perch_error_remedy(&err, "use pgrep -l NAME to find its number");
	return cli_error(COMMAND, &err);
}

static int add_thread(struct record *record, pid_t tid)
{
	/* room grows in powers of two */
	if (!(record->nr_threads & (record->nr_threads - 1))) {
		size_t room = record->nr_threads ? record->nr_threads * 2 : 1;
		pid_t *grown = realloc(record->threads, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		record->threads = grown;
	}
	record->threads[record->nr_threads++] = tid;
	return 0;
}

static int add_process(struct record *record, long pid)
{
	size_t before = record->nr_threads;
	struct dirent *entry;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%ld/task", pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]) && add_thread(record, atoi(entry->d_name)) < 0)
			break;
	if (folder)
		closedir(folder);
	return record->nr_threads > before ? 0 : gone("process", pid);
}

static int add_single(struct record *record, long tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld", tid);
	if (access(path, F_OK) < 0)
		return gone("thread", tid);
	return add_thread(record, tid) < 0 ? CLI_EXIT_FAILURE : 0;
}

static int add_list(struct record *record, const char *text, int (*add)(struct record *, long), const char *option)
{
	const char *at = text;

	for (;;) {
		char *end;
		long number;
		int status;

		errno = 0;
		number = strtol(at, &end, 10);
		if (errno || end == at || (*end && *end != ',') || number <= 0 || number > INT32_MAX)
			return cli_usage_error(COMMAND, "%s %s: not a number, nor a list such as 12,34", option, text);
		status = add(record, number);
		if (status)
			return status;
		if (!*end)
			return 0;
		at = end + 1;
	}
}

static int choose_cpus(struct record *record)
{
	const struct perch_cpus *online;
	struct perch_error err;

	if (perch_cpus_parse(&record->cpus, record->cpu_list, &err) < 0) {
		cli_error(COMMAND, &err);
		return CLI_EXIT_USAGE;
	}
	if (perch_machine_cpus(record->machine, &online, &err) < 0)
		return cli_error(COMMAND, &err);
	for (size_t i = 0; i < record->cpus.nr; i++) {
		size_t k = 0;

		while (k < online->nr && online->cpu[k] != record->cpus.cpu[i])
			k++;
		if (k < online->nr)
			continue;
		perch_error_set(&err, ENODEV, PERCH_CAUSE_NO_CPU, "CPU %d is not there or offline", record->cpus.cpu[i]);
		perch_error_remedy(&err, "/sys/devices/system/cpu/online lists those that run");
		return cli_error(COMMAND, &err);
	}
	return 0;
}

int record_choose_target(struct record *record)
{
	int status = 0;

	if (record->pids)
		status = add_list(record, record->pids, add_process, "-p");
	if (!status && record->tids)
		status = add_list(record, record->tids, add_single, "-t");
	if (!status && record->cpu_list)
		status = choose_cpus(record);
	return status;
}
