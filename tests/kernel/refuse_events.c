/* SPDX-License-Identifier: MIT */
/*
 * Starts a program under a seccomp filter that makes perf_event_open fail with an errno, as
 * container runtimes do, send SIGSYS, or kill: refuse_events ERRNO|trap|kill|kill-thread PROGRAM
 * [ARGUMENTS]. The environment variable REFUSED names other system calls, which are separated by
 * commas.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_CALLS 16

static const struct {
	const char *name;
	unsigned number;
} calls[] = {
	{ "perf_event_open", SYS_perf_event_open },
#ifdef SYS_poll
	{ "poll", SYS_poll },
#endif
	{ "ppoll", SYS_ppoll },
#ifdef SYS_epoll_wait
	{ "epoll_wait", SYS_epoll_wait },
#endif
	{ "epoll_pwait", SYS_epoll_pwait },
	{ "rt_sigprocmask", SYS_rt_sigprocmask },
	{ "wait4", SYS_wait4 },
};

/* Adds the number of each name. Returns their number. Names that this machine lacks are left out.
 */
static int find_calls(char *names, unsigned *numbers)
{
	int nr = 0;

	for (char *name = strtok(names, ","); name && nr < MAX_CALLS; name = strtok(NULL, ","))
		for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
			if (!strcmp(calls[i].name, name))
				numbers[nr++] = calls[i].number;
	return nr;
}

static int refuse(unsigned action)
{
	char default_names[] = "perf_event_open", *names = getenv("REFUSED");
	struct sock_filter filter[MAX_CALLS + 3];
	struct sock_fprog program = { .filter = filter };
	unsigned numbers[MAX_CALLS];
	int nr = find_calls(names ? names : default_names, numbers);

	filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (int i = 0; i < nr; i++)
		filter[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i],
							     (unsigned char)(nr - i), 0);
	filter[1 + nr] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter[2 + nr] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	program.len = (unsigned short)(nr + 3);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return -errno;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned action;
	} actions[] = { { "trap", SECCOMP_RET_TRAP },
			{ "kill", SECCOMP_RET_KILL_PROCESS },
			{ "kill-thread", SECCOMP_RET_KILL_THREAD } };
	const int errnum = argc > 2 ? atoi(argv[1]) : 0;
	unsigned action = SECCOMP_RET_ERRNO | (unsigned)errnum;
	bool is_valid = errnum > 0 && errnum <= 4095;
	int rc;

	for (size_t i = 0; argc > 2 && i < sizeof(actions) / sizeof(*actions); i++)
		if (!strcmp(argv[1], actions[i].name)) {
			action = actions[i].action;
			is_valid = true;
		}
	if (!is_valid) {
		fprintf(stderr, "usage: refuse_events ERRNO|trap|kill|kill-thread PROGRAM "
				"[ARGUMENTS]\n");
		return 2;
	}
	rc = refuse(action);
	if (rc) {
		fprintf(stderr, "refuse_events: no filter: %s\n", strerror(-rc));
		return 77;
	}
	execvp(argv[2], argv + 2);
	fprintf(stderr, "refuse_events: %s: %s\n", argv[2], strerror(errno));
	return 127;
}
