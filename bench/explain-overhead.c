/* SPDX-License-Identifier: MIT */
/*
 * explain-overhead PERCH: runs `PERCH explain -- explain-overhead work` and the bare
 * `explain-overhead work` alternately, and prints the ratio of their times. The work is 100,000
 * system calls that have nothing to do with events.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define SYSCALLS 100000
#define ROUNDS	 41

extern char **environ;

static int work(void)
{
	static char buffer[4096];
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
	size_t rounds = bench_size(SYSCALLS, 1000) / 5;
	struct stat status;

	for (size_t i = 0; i < rounds; i++) {
		syscall(SYS_getppid);
		if (read(zero, buffer, 16) != 16 ||
		    read(zero, buffer, sizeof(buffer)) != sizeof(buffer) ||
		    write(null, buffer, 64) != 64 || stat("/dev/null", &status))
			return 1;
	}
	return 0;
}

/* Returns milliseconds. */
static double run(char **arguments, const posix_spawn_file_actions_t *quiet)
{
	double start = bench_now_ns();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, arguments[0], quiet, NULL, arguments, environ) ||
	    waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "%s failed\n", arguments[0]);
		exit(1);
	}
	return (bench_now_ns() - start) / 1e6;
}

int main(int argc, char **argv)
{
	char *bare[] = { argv[0], (char *)"work", NULL };
	char *watched[] = { argc > 1 ? argv[1] : NULL,
			    (char *)"explain",
			    (char *)"--",
			    argv[0],
			    (char *)"work",
			    NULL };
	posix_spawn_file_actions_t quiet;
	size_t rounds = bench_size(ROUNDS, 2);
	double time[2][ROUNDS] = { 0 }, median[2];

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "work"))
		return work();
	/* hides the last line of perch explain: that no open call failed */
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	run(bare, &quiet);
	run(watched, &quiet);
	for (size_t i = 0; i < rounds; i++) {
		time[0][i] = run(bare, &quiet);
		time[1][i] = run(watched, &quiet);
	}
	for (int i = 0; i < 2; i++)
		median[i] = bench_median(time[i], rounds);
	printf("explain, %zu other system calls: %.2f ms, bare %.2f ms (medians); best %.2f and %.2f\n",
	       bench_size(SYSCALLS, 1000), median[1], median[0], time[1][0], time[0][0]);
	printf("  ratio of medians %.3f, of best %.3f (target <= 1.10%s)\n", median[1] / median[0],
	       time[1][0] / time[0][0], bench_missed(median[1] <= 1.1 * median[0]));
	return 0;
}
