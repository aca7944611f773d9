/* SPDX-License-Identifier: MIT */
/* Lists of targets: threads of processes, CPUs, cgroups. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define MAX_ROUNDS 32 /* of reading a task folder that keeps growing */

int perch__targets_reserve(struct perch_targets *targets, size_t more, struct perch_error *err)
{
	struct perch_target *larger = NULL;

	if (more <= SIZE_MAX - targets->nr)
		larger = reallocarray(targets->target, targets->nr + more ? targets->nr + more : 1,
				      sizeof(*larger));
	if (!larger)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for a list of targets");
	targets->target = larger;
	return 0;
}

int perch_targets_add(struct perch_targets *targets, const struct perch_target *target,
		      struct perch_error *err)
{
	int rc;

	if (target->pid < -1)
		return perch_error_set(err, EINVAL, PERCH_ERROR_BAD_TARGET,
				       "%d is no process or thread", (int)target->pid);
	if (target->cpu < -1)
		return perch_error_set(err, EINVAL, PERCH_ERROR_NO_CPU, "%d is no CPU",
				       target->cpu);
	rc = perch__targets_reserve(targets, 1, err);
	if (!rc)
		targets->target[targets->nr++] = *target;
	return rc;
}

/* ---- Threads ---- */

struct threads {
	/* the first `sorted` are in order: those of earlier rounds */
	size_t nr, sorted;
	pid_t *tid;
};

static int ascending(const void *left, const void *right)
{
	pid_t one = *(const pid_t *)left, other = *(const pid_t *)right;

	return (one > other) - (one < other);
}

static int add_thread(struct threads *threads, pid_t tid)
{
	pid_t *larger;

	if (threads->sorted && bsearch(&tid, threads->tid, threads->sorted, sizeof(tid), ascending))
		return 0;
	larger = reallocarray(threads->tid, threads->nr + 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	threads->tid = larger;
	threads->tid[threads->nr++] = tid;
	return 0;
}

/* "123" -> 123; 0: something else. */
static pid_t number_of(const char *name)
{
	char *end;
	long number;

	if (!isdigit((unsigned char)name[0]))
		return 0;
	number = strtol(name, &end, 10);
	return *end || number > INT_MAX ? 0 : (pid_t)number;
}

/* One reading of the folder: those not seen before go behind the others. */
static int read_threads(struct threads *threads, const char *path)
{
	const struct dirent *entry;
	DIR *folder = opendir(path);
	int rc = 0;

	if (!folder)
		return -errno;
	while (!rc && (entry = readdir(folder))) {
		pid_t tid = number_of(entry->d_name);

		if (tid)
			rc = add_thread(threads, tid);
	}
	closedir(folder);
	return rc;
}

/*
 * A thread that starts while the folder is read may be missed. Whoever starts it was there before,
 * so the folder is read until it has nothing new: from then on all that start are children of
 * threads that are known.
 */
static int list_threads(struct threads *threads, const char *path)
{
	int rc = read_threads(threads, path);

	for (int round = 0; !rc && threads->nr > threads->sorted && round < MAX_ROUNDS; round++) {
		qsort(threads->tid, threads->nr, sizeof(*threads->tid), ascending);
		threads->sorted = threads->nr;
		rc = read_threads(threads, path);
		if (rc == -ENOENT || rc == -ESRCH)
			rc = 0; /* it ended meanwhile: whoever opens the events learns it */
	}
	return rc;
}

static int no_process(pid_t pid, const char *what, int error, struct perch_error *err)
{
	if (error == -ENOMEM)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for a list of threads");
	if (error != -ENOENT && error != -ESRCH)
		return perch_error_set(err, -error, PERCH_ERROR_FILE,
				       "cannot list the threads of process %d: %s", (int)pid,
				       strerror(-error));
	perch_error_set(err, ESRCH, PERCH_ERROR_NO_PROCESS, "no %s %d runs here", what, (int)pid);
	perch_error_field(err, "pid", NULL);
	perch_error_remedy(err, "check the number, and that it is one of this pid namespace");
	return -ESRCH;
}

static int task_folder(char *path, size_t size, pid_t pid, const struct perch_machine *machine)
{
	char name[64] = "/proc/self/task";

	if (pid)
		snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	return perch_machine_path(machine, path, size, name);
}

int perch_targets_add_process(struct perch_targets *targets, pid_t pid,
			      struct perch_machine *machine, struct perch_error *err)
{
	struct threads threads = { 0 };
	char path[PATH_MAX];
	int rc;

	if (pid < 0)
		return perch_error_set(err, EINVAL, PERCH_ERROR_BAD_TARGET, "%d is no process",
				       (int)pid);
	if (task_folder(path, sizeof(path), pid, machine) < 0)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the machine's root is too long a path");
	rc = list_threads(&threads, path);
	if (!rc && !threads.nr)
		rc = -ESRCH;
	if (rc)
		rc = no_process(pid, "process", rc, err);
	else
		rc = perch__targets_reserve(targets, threads.nr, err);
	for (size_t i = 0; !rc && i < threads.nr; i++)
		targets->target[targets->nr++] =
			(struct perch_target){ .pid = threads.tid[i], .cpu = -1 };
	free(threads.tid);
	return rc;
}

int perch_targets_add_thread(struct perch_targets *targets, pid_t tid,
			     struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_target target = { .pid = tid, .cpu = -1 };
	char path[PATH_MAX];

	if (tid < 0)
		return perch_error_set(err, EINVAL, PERCH_ERROR_BAD_TARGET, "%d is no thread",
				       (int)tid);
	if (task_folder(path, sizeof(path), tid, machine) < 0)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the machine's root is too long a path");
	if (tid && access(path, F_OK))
		return no_process(tid, "thread", -errno, err);
	return perch_targets_add(targets, &target, err);
}
