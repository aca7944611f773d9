/* SPDX-License-Identifier: MIT */
/* Why a process cannot be watched, and which programs are not what they would be without being
 * watched. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "explain_ptrace.h"
#include "options.h"

/* A number after the word in the status file of a process; -1 when it cannot be read. */
static long status_field(pid_t pid, const char *word, const char *format)
{
	char path[32], line[256];
	long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)) &&
		    sscanf(line + strlen(word), format, &value) == 1)
			break;
	fclose(file);
	return value;
}

static bool may(int capability)
{
	const long long held = status_field(getpid(), "CapEff:", "%lx");

	return held >= 0 && held >> capability & 1;
}

/* Reasons that hold for any process. Returns false when none of them does. */
static bool refused_by_policy(struct tracer *tracer, const struct perch_sandbox *sandbox, int error,
			      struct perch_error *err)
{
	if (sandbox->yama > 1 && !(sandbox->yama == 2 && may(PERCH_CAP_SYS_PTRACE))) {
		perch_error_set(err, error, PERCH_ERROR_PRIVILEGE,
				"kernel.yama.ptrace_scope is %d, which forbids watching "
				"programs%s",
				sandbox->yama, sandbox->yama == 2 ? " without CAP_SYS_PTRACE" : "");
		perch_error_remedy(
			err,
			sandbox->yama == 2
				? "run perch as root, or sysctl kernel.yama.ptrace_scope=1"
				: "boot with another value: this one cannot be changed while the system runs");
		return true;
	}
	if (sandbox->seccomp == 2) {
		perch_error_set(err, error, PERCH_ERROR_PRIVILEGE,
				"ptrace is refused (%s): most likely by the seccomp filter "
				"%s%s is under",
				strerror(error),
				sandbox->container[0] ? "that the container of " : "",
				sandbox->container[0] ? sandbox->container : "this process");
		perch_error_remedy(
			err, sandbox->container[0]
				     ? "start the container with --cap-add SYS_PTRACE, or with "
				       "--security-opt seccomp=unconfined"
				     : "run perch outside of what put the filter there");
		return true;
	}
	(void)tracer;
	return false;
}

static bool refused_by_process(const struct perch_sandbox *sandbox, pid_t pid, int error,
			       struct perch_error *err)
{
	const long tracer = status_field(pid, "TracerPid:", "%ld");
	const long uid = status_field(pid, "Uid:", "%*d %ld");

	if (tracer > 0) {
		perch_error_set(err, error, PERCH_ERROR_PRIVILEGE,
				"process %d is watched by process %ld already", pid, tracer);
		perch_error_remedy(err, "end that debugger or tracer first: the kernel allows one");
	} else if (pid == getpid()) {
		perch_error_set(err, error, PERCH_ERROR_USAGE, "process %d is perch itself", pid);
		perch_error_remedy(err, "give the number of another process");
	} else if (uid >= 0 && uid != (long)geteuid() && !may(PERCH_CAP_SYS_PTRACE)) {
		perch_error_set(err, error, PERCH_ERROR_PRIVILEGE, "process %d belongs to user %ld",
				pid, uid);
		perch_error_remedy(err, "run perch as that user or as root");
	} else if (sandbox->yama == 1 && !may(PERCH_CAP_SYS_PTRACE)) {
		perch_error_set(err, error, PERCH_ERROR_PRIVILEGE,
				"kernel.yama.ptrace_scope is 1: only a process's ancestors "
				"may watch it");
		perch_error_remedy(
			err,
			"start the program by perch explain -- PROGRAM, run perch as root, or sysctl "
			"kernel.yama.ptrace_scope=0");
	} else {
		return false;
	}
	return true;
}

int tracer_ptrace_error(struct tracer *tracer, pid_t tid, int error, struct perch_error *err)
{
	struct perch_sandbox sandbox = { .yama = -1 };

	if (error == ESRCH) {
		perch_error_set(err, error, PERCH_ERROR_NO_PROCESS, "no process %d", tid);
		perch_error_remedy(err, "check its number with ps: it may have ended");
		return -error;
	}
	/* without facts there are still the reasons that the process itself shows */
	perch_machine_sandbox(tracer->job->machine, &sandbox, NULL);
	if (tid && refused_by_process(&sandbox, tid, error, err))
		return -error;
	if (refused_by_policy(tracer, &sandbox, error, err))
		return -error;
	perch_error_set(
		err, error, PERCH_ERROR_PRIVILEGE, "ptrace is refused (%s)%s", strerror(error),
		tid ? ": the process may not be looked into, or has rights that perch has not"
		    : "");
	perch_error_remedy(err, tid ? "run perch as root"
				    : "see what the security modules of this system log");
	return -error;
}

/* The kernel gives a watched program more rights only when the watcher could have them itself. */
void tracer_check_set_uid(struct tracer *tracer, pid_t tid)
{
	char path[32], target[256], clean[256];
	const bool no_new_privs = tracer->setup && tracer->setup->no_new_privs;
	struct statvfs mount;
	struct stat file;
	ssize_t length;
	bool by_mode, by_capability;

	if (tracer->said_set_uid || (!no_new_privs && may(PERCH_CAP_SYS_PTRACE)))
		return;
	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	if (stat(path, &file) || statvfs(path, &mount) || mount.f_flag & ST_NOSUID)
		return;
	by_mode = (file.st_mode & S_ISUID && file.st_uid != geteuid()) ||
		  ((file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		   file.st_gid != getegid());
	by_capability = getxattr(path, "security.capability", NULL, 0) > 0;
	if (!by_mode && !by_capability)
		return;
	length = readlink(path, target, sizeof(target) - 1);
	target[length < 0 ? 0 : length] = 0;
	perch_clean_text(clean, sizeof(clean), target);
	tracer->said_set_uid = true;
	cli_note(EXPLAIN_COMMAND,
		 "'%s' %s, which it does not get while it is watched: run perch as root", clean,
		 by_mode ? "is set-uid or set-gid" : "has capabilities of its file");
}
