/* SPDX-License-Identifier: MIT */
/* Options -p, -t, -u, -a, -C and -G -> a list of targets. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/kernel/process_owner.h"
#include "target.h"

bool cli_target_system_wide(const struct cli_target *target)
{
	return !cli_target_has_tasks(target) && (target->all_cpus || target->cpu_list);
}

bool cli_target_has_tasks(const struct cli_target *target)
{
	return target->pids || target->tids || target->user;
}

int cli_target_check_inherit(const char *command, const struct cli_target *target,
			     const char *option)
{
	if (!cli_target_system_wide(target))
		return 0;
	return cli_usage_error(command,
			       "%s has no effect with %s, which measures all threads of the CPUs: "
			       "leave it out",
			       option, target->cpu_list ? "-C" : "-a");
}

/* Writes the CPUs as ranges: "0-3,8". Ends in "..." if they do not fit. */
static const char *format_cpus(const struct perch_cpus *cpus, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0, next; i < cpus->nr; i = next) {
		char range[32];
		int length;

		for (next = i + 1; next < cpus->nr && cpus->cpu[next] == cpus->cpu[next - 1] + 1;)
			next++;
		length = snprintf(range, sizeof(range), "%s%d", i ? "," : "", cpus->cpu[i]);
		if (next > i + 1)
			length += snprintf(range + length, sizeof(range) - length, "-%d",
					   cpus->cpu[next - 1]);
		if (used + length + sizeof("...") > size) {
			strcpy(text + used, "...");
			break;
		}
		memcpy(text + used, range, length + 1);
		used += length;
	}
	return text;
}

int cli_target_cpus(const char *command, const struct cli_target *target,
		    struct perch_machine *machine, struct perch_cpus *cpus)
{
	const struct perch_cpus *online;
	struct perch_error err;
	char text[256];

	*cpus = (struct perch_cpus){ 0 };
	if (!target->cpu_list)
		return 0;
	if (perch_cpus_parse(cpus, target->cpu_list, &err)) {
		cli_error(command, &err);
		return CLI_EXIT_USAGE;
	}
	if (perch_machine_cpus(machine, &online, &err))
		return cli_error(command, &err);
	for (size_t i = 0; i < cpus->nr; i++) {
		if (perch_cpus_contains(online, cpus->cpu[i]))
			continue;
		perch_error_set(&err, ENODEV, PERCH_ERROR_NO_CPU,
				"CPU %d does not exist or is offline (online: %s)", cpus->cpu[i],
				format_cpus(online, text, sizeof(text)));
		perch_error_remedy(&err, "choose from the CPUs that are online");
		return cli_error(command, &err);
	}
	return 0;
}

typedef int add_task(struct perch_targets *targets, pid_t id, struct perch_machine *machine,
		     struct perch_error *err);

/* In -p "$(pgrep NAME)" there may be no process. Without the quotes the next word follows. */
static int refuse_list(const char *command, const char *option, const char *list)
{
	if (*list && *list != '-')
		return cli_usage_error(command, "%s %s: expected numbers such as 12,34", option,
				       list);
	return cli_usage_error(
		command,
		"%s needs numbers such as 12,34, and '%s' is none: check that the process runs",
		option, list);
}

/* Adds the processes or threads of "12,34". */
static int add_tasks(const char *command, const char *option, const char *list, add_task *add,
		     struct perch_machine *machine, struct perch_targets *targets)
{
	for (const char *rest = list; rest;) {
		struct perch_error err;
		uint32_t id;

		if (!cli_take_id(&rest, &id) || !id)
			return refuse_list(command, option, list);
		if (add(targets, (pid_t)id, machine, &err))
			return cli_error(command, &err);
	}
	return 0;
}

/* The number of a user that is given by name or number. Returns 0 or a negative errno. */
static int find_user(const char *text, uid_t *user)
{
	const struct passwd *entry = getpwnam(text);
	uint64_t number;

	if (entry)
		*user = entry->pw_uid;
	else if (cli_parse_number(text, &number) && number < UINT32_MAX)
		*user = (uid_t)number;
	else
		return -EINVAL;
	return 0;
}

/* Adds the processes of -u, without this one: what it does depends on their samples. */
static int add_user(const char *command, const char *text, struct perch_machine *machine,
		    struct perch_targets *targets)
{
	size_t before = targets->nr;
	struct perch_error err;
	uid_t user;
	int status;

	if (find_user(text, &user))
		return cli_usage_error(command,
				       "-u %s: there is no such user: 'getent passwd' "
				       "lists them%s",
				       text,
				       strchr(text, '/') ? "; a function of a file, in perch "
							   "trace, is FILE:FUNCTION"
							 : "");
	status = cli_target_add_processes(command, &user, machine, targets);
	if (status || targets->nr > before)
		return status;
	perch_error_set(&err, ESRCH, PERCH_ERROR_NO_PROCESS, "the user %s has no process", text);
	perch_error_remedy(&err, "'ps -e -o user=,pid=,args=' lists processes and their users");
	return cli_error(command, &err);
}

/* True for processes of the user. */
static bool is_of_user(pid_t pid, uid_t user)
{
	uid_t users[2];

	return pid != getpid() && !perch__process_users((unsigned)pid, users) && users[1] == user;
}

int cli_target_add_processes(const char *command, const uid_t *user, struct perch_machine *machine,
			     struct perch_targets *targets)
{
	char path[PATH_MAX];
	struct perch_error err;
	struct dirent *entry;
	DIR *directory;
	int rc = 0;

	if (perch_machine_path(machine, "/proc", path, sizeof(path)) < 0)
		return CLI_EXIT_FAILURE;
	directory = opendir(path);
	while (directory && !rc && (entry = readdir(directory))) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0 && (!user || is_of_user((pid_t)pid, *user)))
			rc = perch_targets_add_process(targets, (pid_t)pid, machine, &err);
		if (rc == -ESRCH)
			rc = 0;
	}
	if (directory)
		closedir(directory);
	return rc ? cli_error(command, &err) : 0;
}

static int by_pid(const void *one, const void *other)
{
	pid_t a = ((const struct perch_target *)one)->tid,
	      b = ((const struct perch_target *)other)->tid;

	return (a > b) - (a < b);
}

/*
 * Removes duplicates: a thread that is given twice (-p 12,12, or -t with one of its threads) is
 * counted once.
 */
static void remove_duplicates(struct perch_targets *targets)
{
	size_t last = 0;

	if (targets->nr < 2)
		return;
	qsort(targets->target, targets->nr, sizeof(*targets->target), by_pid);
	for (size_t i = 1; i < targets->nr; i++)
		if (targets->target[i].tid != targets->target[last].tid)
			targets->target[++last] = targets->target[i];
	targets->nr = last + 1;
}

char *cli_next_name(const char **list)
{
	const char *end = strchrnul(*list, ',');
	char *name = strndup(*list, end - *list);

	*list = *end ? end + 1 : NULL;
	return name;
}

static bool reserve_cgroups(struct cli_cgroups *cgroups, size_t nr)
{
	if (nr <= cgroups->nr)
		return true;
	if (PERCH__ARRAY_RESERVE_BY_NR(cgroups->name, cgroups->nr, nr - cgroups->nr))
		return false;
	while (cgroups->nr < nr)
		cgroups->name[cgroups->nr++] = NULL;
	return true;
}

int cli_assign_cgroups(const char *command, struct cli_cgroups *cgroups, const char *names,
		       size_t nr_events)
{
	const char *rest = names;

	if (!reserve_cgroups(cgroups, nr_events))
		return cli_no_memory(command);
	while (rest) {
		char *name = cli_next_name(&rest);

		if (!name)
			return cli_no_memory(command);
		while (cgroups->used < nr_events && cgroups->name[cgroups->used])
			cgroups->used++;
		if (cgroups->used == nr_events) {
			free(name);
			return cli_usage_error(
				command, "-G %s: there are more cgroups than events before -G",
				names);
		}
		cgroups->name[cgroups->used++] = name;
	}
	for (size_t i = 1; cgroups->used == 1 && i < nr_events; i++) {
		cgroups->name[i] = strdup(cgroups->name[0]);
		if (!cgroups->name[i])
			return cli_no_memory(command);
	}
	return 0;
}

void cli_clear_cgroups(struct cli_cgroups *cgroups)
{
	for (size_t i = 0; i < cgroups->nr; i++)
		free(cgroups->name[i]);
	free(cgroups->name);
}

static int contradiction(const char *command, const struct cli_target *target)
{
	const char *tasks = target->pids ? "-p" : target->tids ? "-t" : target->user ? "-u" : NULL;

	if (tasks && target->all_cpus)
		return cli_refuse_both(command, tasks, "-a");
	if (tasks && target->cgroups)
		return cli_refuse_both(command, tasks, "-G");
	if (target->cgroups && !target->all_cpus && !target->cpu_list)
		return cli_usage_error(command, "-G needs CPUs: add -a or -C CPUS");
	return 0;
}

int cli_target_choose(const char *command, const struct cli_target *target,
		      struct perch_machine *machine, struct perch_targets *targets)
{
	struct perch_cpus cpus = { 0 };
	struct perch_error err;
	int status = contradiction(command, target);
	int rc = 0;

	if (!status && target->pids)
		status = add_tasks(command, "-p", target->pids, perch_targets_add_process, machine,
				   targets);
	if (!status && target->tids)
		status = add_tasks(command, "-t", target->tids, perch_targets_add_thread, machine,
				   targets);
	if (!status && target->user)
		status = add_user(command, target->user, machine, targets);
	if (!status)
		status = cli_target_cpus(command, target, machine, &cpus);
	if (status)
		goto out;
	remove_duplicates(targets);
	if (cli_target_system_wide(target))
		rc = perch_targets_add_cpus(targets, cpus.nr ? &cpus : NULL, machine, &err);
	else if (cpus.nr && targets->nr)
		rc = perch_targets_split(targets, &cpus, machine, &err);
	if (rc)
		status = cli_error(command, &err);
out:
	perch_cpus_clear(&cpus);
	return status;
}
