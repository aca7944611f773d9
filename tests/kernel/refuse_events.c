/* SPDX-License-Identifier: MIT */
/*
 * Starts a program under a seccomp filter that makes perf_event_open fail with an errno, as
 * container runtimes do, send SIGSYS, or kill: refuse_events ERRNO|trap|kill|kill-thread PROGRAM
 * [ARGUMENTS]
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

static int refuse(unsigned action)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(instructions) / sizeof(*instructions), instructions };

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
