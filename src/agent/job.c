/* SPDX-License-Identifier: MIT */
/*
 * A profile is made in a child process. It has a copy of the window and of the processes as they
 * are now, so the rings are read meanwhile; what it needs for names and debug information is free
 * when it ends, and whatever it reads of a strange program can end only itself. Its memory has a
 * limit, above which names are missing, and it is the first that the kernel kills.
 */
#define _GNU_SOURCE /* memfd_create */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "memory.h"
#include "state.h"

#define MOST_BYTES   (64u << 20) /* of a profile */
#define MOST_SECONDS 60u	 /* until it is killed */
#define MOST_FILES   1024	 /* open in it */

#ifdef __has_feature
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
/* Bytes that a child may allocate. 0: no limit, because the sanitizer takes terabytes for itself.
 */
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#define MOST_DATA 0
#else
#define MOST_DATA (32u << 20)
#endif

/* ---- in the child ---- */

static void close_range_of(unsigned first, unsigned last)
{
	unsigned most = (unsigned)sysconf(_SC_OPEN_MAX);

	if (first > last || !syscall(SYS_close_range, first, last, 0u))
		return;
	/* before Linux 5.9 */
	for (unsigned fd = first; fd <= last && fd < most; fd++)
		close((int)fd);
}

static int compare_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* All but the output and the files that names are read from. */
static void close_descriptors(const struct agent_source *source, int output)
{
	int open_file[MOST_FILES], next = STDERR_FILENO + 1;
	size_t nr = agent_source_files(source, open_file, MOST_FILES);

	/* where one is not in the list, no number may get another file */
	if (nr == MOST_FILES)
		return;
	open_file[nr++] = output;
	qsort(open_file, nr, sizeof(*open_file), compare_numbers);
	for (size_t i = 0; i < nr; i++) {
		if (open_file[i] < next)
			continue;
		close_range_of((unsigned)next, (unsigned)open_file[i] - 1);
		next = open_file[i] + 1;
	}
	close_range_of((unsigned)next, ~0u);
}

static void limit_memory(void)
{
	struct rlimit limit = { 0 };
	int fd;

	if (MOST_DATA != 0) {
		limit.rlim_cur = limit.rlim_max = agent_used_memory() + MOST_DATA;
		setrlimit(RLIMIT_DATA, &limit);
	}
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		close(fd);
	}
	limit.rlim_cur = limit.rlim_max = MOST_BYTES;
	setrlimit(RLIMIT_FSIZE, &limit);
}

static _Noreturn void make_profile(const struct agent *agent, const struct agent_job *job,
				   uint64_t from, uint64_t to)
{
	struct agent_unnamed unnamed = { .files = { 0 } };
	struct perch_error err = { 0 };
	FILE *out;
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "perch-profile");
	setpriority(PRIO_PROCESS, 0, 10);
	close_descriptors(agent->source, job->fd);
	limit_memory();
	agent_window_choose(agent->window, job->cgroup);
	out = fdopen(job->fd, "w");
	if (!out)
		_exit(1);
	rc = agent_encode(agent, job->kind, from, to, out, &unnamed, &err);
	if (job->unnamed)
		*job->unnamed = unnamed;
	if (rc < 0) {
		rewind(out);
		(void)!ftruncate(job->fd, 0);
		fprintf(out, "%s\n", err.message);
	}
	if (fflush(out))
		_exit(1);
	_exit(rc < 0);
}

/* ---- in the agent ---- */

/* Returns memory that the child has, too; NULL if there is none. */
static struct agent_unnamed *make_shared(void)
{
	void *shared = mmap(NULL, sizeof(struct agent_unnamed), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return shared == MAP_FAILED ? NULL : shared;
}

static void free_job(struct agent_job *job)
{
	if (job->fd >= 0)
		close(job->fd);
	if (job->unnamed)
		munmap(job->unnamed, sizeof(*job->unnamed));
	free(job);
}

int agent_job_start(struct agent *agent, enum agent_kind kind, uint64_t from, uint64_t to,
		    const char *cgroup,
		    void (*done)(struct agent *agent, struct agent_job *job, bool ok),
		    void *context)
{
	struct agent_job *job;

	if (agent->nr_jobs >= AGENT_MOST_JOBS)
		return -EAGAIN;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	*job = (struct agent_job){ .kind = kind,
				   .cgroup = cgroup,
				   .started = agent_now(),
				   .done = done,
				   .context = context,
				   .fd = memfd_create("perch-profile", MFD_CLOEXEC) };
	job->unnamed = make_shared();
	job->pid = job->fd < 0 ? -1 : fork();
	if (!job->pid)
		make_profile(agent, job, from, to);
	job->cgroup = NULL; /* the text is that of a request, which may end first */
	if (job->pid < 0) {
		int rc = -errno;

		free_job(job);
		return rc;
	}
	job->next = agent->jobs;
	agent->jobs = job;
	agent->nr_jobs++;
	return 0;
}

static void end_job(struct agent *agent, struct agent_job **at, bool ok)
{
	struct agent_job *job = *at;

	*at = job->next;
	agent->nr_jobs--;
	*(ok ? &agent->profiles[job->kind] : &agent->failed[job->kind]) += 1;
	if (ok && job->unnamed)
		agent->unnamed = *job->unnamed;
	job->done(agent, job, ok);
	free_job(job);
}

static void count_cpu(struct agent *agent, const struct rusage *usage)
{
	agent->child_cpu_us +=
		(uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
		(uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

void agent_jobs_reap(struct agent *agent)
{
	struct agent_job **at = &agent->jobs;
	struct rusage usage;
	int status;

	while (*at) {
		struct agent_job *job = *at;
		pid_t pid = wait4(job->pid, &status, WNOHANG, &usage);

		if (pid == job->pid) {
			count_cpu(agent, &usage);
			end_job(agent, at, WIFEXITED(status) && !WEXITSTATUS(status));
			continue;
		}
		if (pid < 0 && errno == ECHILD) { /* its id may be that of another process */
			end_job(agent, at, false);
			continue;
		}
		if (agent_now() - job->started > MOST_SECONDS * 1000000000ull)
			kill(job->pid, SIGKILL);
		at = &job->next;
	}
}

void agent_jobs_end(struct agent *agent)
{
	while (agent->jobs) {
		kill(agent->jobs->pid, SIGKILL);
		waitpid(agent->jobs->pid, NULL, 0);
		end_job(agent, &agent->jobs, false);
	}
}
