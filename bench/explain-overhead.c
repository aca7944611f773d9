/* SPDX-License-Identifier: MIT */
/*
 * For explain-overhead.sh: starts ARGUMENTS (perch explain -- this program, or this program) in turns with the bare
 * program and prints the ratio of their times. The program makes 100,000 calls that have nothing to do with events.
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
#include <time.h>
#include <unistd.h>

#define CALLS 100000
#define ROUNDS 41

extern char **environ;

static int work(void)
{
	static char buffer[4096];
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
	struct stat status;

	for (int i = 0; i < CALLS / 5; i++) {
		syscall(SYS_getppid);
		if (read(zero, buffer, 16) != 16 || read(zero, buffer, sizeof(buffer)) != sizeof(buffer) ||
		    write(null, buffer, 64) != 64 || stat("/dev/null", &status))
			return 1;
	}
	return 0;
}

static double run(char **arguments, const posix_spawn_file_actions_t *quiet)
{
	struct timespec start, end;
	int status;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &start);
	if (posix_spawn(&pid, arguments[0], quiet, NULL, arguments, environ) || waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "%s failed\n", arguments[0]);
		exit(1);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6;
}

static int ascending(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
	char *bare[] = { argv[0], (char *)"work", NULL };
	char *watched[] = { argc > 1 ? argv[1] : NULL, (char *)"explain", (char *)"--", argv[0], (char *)"work", NULL };
	posix_spawn_file_actions_t quiet;
	double time[2][ROUNDS];

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "work"))
		return work();
	/* the last line of perch explain, which says that there was nothing */
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	run(bare, &quiet);
	run(watched, &quiet);
	for (int i = 0; i < ROUNDS; i++) {
		time[0][i] = run(bare, &quiet);
		time[1][i] = run(watched, &quiet);
	}
	qsort(time[0], ROUNDS, sizeof(double), ascending);
	qsort(time[1], ROUNDS, sizeof(double), ascending);
	printf("explain, %d other calls: %.2f ms, bare %.2f ms (medians); best %.2f and %.2f\n", CALLS,
	       time[1][ROUNDS / 2], time[0][ROUNDS / 2], time[1][0], time[0][0]);
	printf("  ratio of medians %.3f, of best %.3f (target 1.1)%s\n", time[1][ROUNDS / 2] / time[0][ROUNDS / 2],
	       time[1][0] / time[0][0], time[1][ROUNDS / 2] > 1.1 * time[0][ROUNDS / 2] ? " MISSED" : "");
	return 0;
}
