/* SPDX-License-Identifier: MIT */
/*
 * explain-overhead PERCH: runs `PERCH explain -- explain-overhead work` and the bare
 * `explain-overhead work` alternately, and prints the ratio of their times. The work is 100,000
 * system calls that have nothing to do with events. Then the same for 200,000 calls of mmap, munmap
 * and read each, by a program that has open events, or a seccomp filter, or reads an event; and
 * with `strace -f --seccomp-bpf` of the same system calls, if there is one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <perch/abi.h>

#include "bench.h"

#define SYSCALLS       100000
#define ROUNDS	       41
#define MAPPINGS       200000
#define MAPPING_ROUNDS 3

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

static int open_event(void)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = PERCH_ATTR_SIZE_VER0,
				   .config = PERCH_COUNT_SW_PAGE_FAULTS,
				   .disabled = 1,
				   .exclude_kernel = 1 };

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0ul);
}

/* A filter that refuses acct(2) and allows all others. */
static bool install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_acct, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* "mappings": with events whose numbers are not adjacent, and a filter; "reads": of an event. */
static int work_mappings(bool read_event)
{
	const size_t rounds = bench_size(MAPPINGS, 1000), page = sysconf(_SC_PAGESIZE);
	int event = open_event(), file = open("/dev/zero", O_RDONLY);
	char buffer[64];
	void *mapping;

	/* the file is between the events */
	if (event < 0 || file < 0 || open_event() < 0 || open_event() < 0 ||
	    (!read_event && !install_filter()))
		return 1;
	for (size_t i = 0; i < rounds; i++) {
		if (read(read_event ? event : file, buffer, sizeof(buffer)) < 0)
			return 1;
		mapping = mmap(NULL, page, PROT_READ, MAP_PRIVATE, file, 0);
		if (mapping == MAP_FAILED || munmap(mapping, page))
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

static void compare_mappings(char *perch, char *self, char *what, const char *text,
			     const posix_spawn_file_actions_t *quiet)
{
	char *bare[] = { self, what, NULL };
	char *watched[] = { perch, (char *)"explain", (char *)"--", self, what, NULL };
	char *strace[] = { (char *)"/usr/bin/strace",
			   (char *)"-f",
			   (char *)"--seccomp-bpf",
			   (char *)"-o/dev/null",
			   (char *)"-etrace=perf_event_open,ioctl,read,readv,mmap",
			   self,
			   what,
			   NULL };
	char **command[] = { bare, watched, strace };
	const size_t commands = access(strace[0], X_OK) ? 2 : 3;
	const size_t rounds = bench_size(MAPPING_ROUNDS, 1);
	double time[3][MAPPING_ROUNDS], median[3] = { 0 };

	for (size_t i = 0; i < rounds; i++)
		for (size_t j = 0; j < commands; j++)
			time[j][i] = run(command[j], quiet);
	for (size_t j = 0; j < commands; j++)
		median[j] = bench_median(time[j], rounds);
	printf("explain, %zu calls of mmap, munmap and read each, %s: %.0f ms, bare %.0f ms (medians)\n",
	       bench_size(MAPPINGS, 1000), text, median[1], median[0]);
	printf("  ratio to bare %.2f", median[1] / median[0]);
	if (commands == 3)
		printf(", to strace --seccomp-bpf %.2f (target <= 1.00%s)", median[1] / median[2],
		       bench_missed(median[1] <= median[2]));
	putchar('\n');
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
	if (!strcmp(argv[1], "mappings") || !strcmp(argv[1], "reads"))
		return work_mappings(!strcmp(argv[1], "reads"));
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
	compare_mappings(argv[1], argv[0], (char *)"mappings", "beside events", &quiet);
	compare_mappings(argv[1], argv[0], (char *)"reads", "the reads of an event", &quiet);
	return 0;
}
