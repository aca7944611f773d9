/* SPDX-License-Identifier: MIT */
/* Lists of targets, and the threads of a process. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/reserved.h"
#include "base/no_memory.h"
#include "internal.h"

#define MAX_ROUNDS 32 /* of reading a task directory that keeps growing */

int perch__targets_reserve(struct perch_targets *targets, size_t more, struct perch_error *err)
{
	/* The caller may have allocated the array, so its capacity is nr and not more. */
	size_t capacity = targets->nr;

	if (PERCH__CHECK_RESERVED(targets, "perch_targets", err))
		return -EINVAL;
	if (more > SIZE_MAX - targets->nr ||
	    PERCH__ARRAY_RESERVE(targets->target, capacity, targets->nr + more))
		return PERCH__NO_MEMORY(err, "for a list of targets");
	return 0;
}

int perch_targets_add(struct perch_targets *targets, const struct perch_target *target,
		      struct perch_error *err)
{
	int rc = perch__check_listed_target(target, err);

	if (!rc)
		rc = perch__targets_reserve(targets, 1, err);
	if (!rc)
		targets->target[targets->nr++] = *target;
	return rc;
}

/* ---- Threads ---- */

struct threads {
	pid_t *tid;
	size_t nr, capacity;
	size_t sorted; /* threads found in earlier rounds, at the start of the array, in order */
};

static int by_tid(const void *left, const void *right)
{
	pid_t one = *(const pid_t *)left, other = *(const pid_t *)right;

	return (one > other) - (one < other);
}

static int add_thread(struct threads *threads, pid_t tid)
{
	pid_t *added;

	if (threads->sorted && bsearch(&tid, threads->tid, threads->sorted, sizeof(tid), by_tid))
		return 0;
	added = PERCH__ARRAY_APPEND(threads->tid, threads->nr, threads->capacity);
	if (!added)
		return -ENOMEM;
	*added = tid;
	return 0;
}

/* Returns the number of a thread's directory; 0 for other names. */
static pid_t parse_tid(const char *name)
{
	char *end;
	long number;

	if (!isdigit((unsigned char)name[0]))
		return 0;
	number = strtol(name, &end, 10);
	return *end || number > INT_MAX ? 0 : (pid_t)number;
}

/* Reads the directory once and appends the threads that earlier rounds did not find. */
static int read_threads(struct threads *threads, const char *path)
{
	const struct dirent *entry;
	DIR *directory = opendir(path);
	int rc = 0;

	if (!directory)
		return -errno;
	while (!rc && (entry = readdir(directory))) {
		pid_t tid = parse_tid(entry->d_name);

		if (tid)
			rc = add_thread(threads, tid);
	}
	closedir(directory);
	return rc;
}

/*
 * Reading may miss a thread that starts meanwhile. So the directory is read again until it has no
 * new thread: threads that start later are children of threads in the list.
 */
static int list_threads(struct threads *threads, const char *path)
{
	int rc = read_threads(threads, path);

	for (int round = 0; !rc && threads->nr > threads->sorted && round < MAX_ROUNDS; round++) {
		qsort(threads->tid, threads->nr, sizeof(*threads->tid), by_tid);
		threads->sorted = threads->nr;
		rc = read_threads(threads, path);
		if (rc == -ENOENT || rc == -ESRCH)
			rc = 0; /* the process has ended: opening the events reports that */
	}
	return rc;
}

static int thread_error(pid_t pid, const char *what, int error, struct perch_error *err)
{
	if (error == -ENOMEM)
		return PERCH__NO_MEMORY(err, "for a list of threads");
	if (error != -ENOENT && error != -ESRCH)
		return perch_error_set(err, -error, PERCH_ERROR_FILE,
				       "cannot list the threads of process %d: %s", (int)pid,
				       strerror(-error));
	perch_error_set(err, ESRCH, PERCH_ERROR_NO_PROCESS, "there is no %s %d", what, (int)pid);
	perch_error_field(err, "pid", NULL);
	perch_error_remedy(err, "check the number, and that it is of this pid namespace");
	return -ESRCH;
}

static int task_directory(char *path, size_t size, pid_t pid, const struct perch_machine *machine)
{
	char name[64] = "/proc/self/task";

	if (pid)
		snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	return perch_machine_path(machine, name, path, size);
}

int perch_targets_add_process(struct perch_targets *targets, pid_t pid,
			      struct perch_machine *machine, struct perch_error *err)
{
	struct threads threads = { 0 };
	char path[PATH_MAX];
	int rc;

	if (pid < 0)
		return perch_error_set(err, EINVAL, PERCH_ERROR_BAD_TARGET, "%d is not a process",
				       (int)pid);
	if (task_directory(path, sizeof(path), pid, machine) < 0)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the root directory of the machine is too long");
	rc = list_threads(&threads, path);
	if (!rc && !threads.nr)
		rc = -ESRCH;
	if (rc)
		rc = thread_error(pid, "process", rc, err);
	else
		rc = perch__targets_reserve(targets, threads.nr, err);
	for (size_t i = 0; !rc && i < threads.nr; i++)
		targets->target[targets->nr++] =
			(struct perch_target){ .tid = threads.tid[i], .cpu = -1 };
	free(threads.tid);
	return rc;
}

int perch_targets_add_thread(struct perch_targets *targets, pid_t tid,
			     struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_target target = { .tid = tid, .cpu = -1 };
	char path[PATH_MAX];

	if (tid < 0)
		return perch_error_set(err, EINVAL, PERCH_ERROR_BAD_TARGET, "%d is not a thread",
				       (int)tid);
	if (task_directory(path, sizeof(path), tid, machine) < 0)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the root directory of the machine is too long");
	if (tid && access(path, F_OK))
		return thread_error(tid, "thread", -errno, err);
	return perch_targets_add(targets, &target, err);
}
