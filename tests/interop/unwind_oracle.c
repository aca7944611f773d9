/* SPDX-License-Identifier: MIT */
/*
 * Runs a program that has frame pointers, and samples it with user call chains, registers and
 * copies of the stack. The kernel follows the frame pointers, so each sample has what unwinding
 * must give. Prints "samples equal entry signal short other" for unwind.sh:
 *
 *	unwind_oracle STACK PROGRAM [NAME...]
 *
 * Each NAME is part of a function's name or of a DSO's path that must be in a chain; those that are
 * not are printed to stderr, and the exit status is 4.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perch/sampler.h>

#include "unwind_compare.h"

/* Returns the number of lost records. */
static unsigned take_records(struct oracle *oracle, struct perch_sampler *sampler, bool all)
{
	struct perch_record record;
	unsigned lost = 0;

	while (perch_sampler_next_ordered(sampler, all, &record, NULL) > 0) {
		if (record.type == PERCH_RECORD_LOST)
			lost += (unsigned)record.lost.lost;
		if (oracle_take(oracle, &record))
			exit(2);
	}
	return lost;
}

/* Starts a child that waits for a byte before it executes the program. */
static pid_t start(char **argv, int *go)
{
	int pipe_fds[2];
	pid_t child;
	char byte;

	if (pipe(pipe_fds))
		exit(2);
	child = fork();
	*go = pipe_fds[1];
	if (child)
		return child;
	close(pipe_fds[1]);
	if (read(pipe_fds[0], &byte, 1) == 1)
		execvp(argv[0], argv);
	_exit(127);
}

int main(int argc, char **argv)
{
	const uint64_t registers = perch_unwind_registers(perch_arch_here());
	const struct perch_sampler_options options = {
		.event = { .frequency = 4000,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
				     PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_REGS_USER |
				     PERCH_SAMPLE_STACK_USER,
			   .sample_regs_user = registers,
			   .sample_stack_user = argc > 1 ? (uint32_t)atoi(argv[1]) : 0,
			   .sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_COMM |
				       PERCH_SIDEBAND_TASK,
			   .inherit = 1,
			   .may = PERCH_MAY_EXCLUDE_KERNEL },
		.ring_pages = 4096,
	};
	struct perch_targets targets = { 0 };
	struct oracle oracle = { 0 };
	struct perch_sampler *sampler;
	struct perch_error err;
	unsigned lost = 0;
	int go, status;
	pid_t child;

	if (argc < 3 || argc > 3 + ORACLE_MAX_NAMES || !registers)
		return fputs("skipped: no registers to unwind with\n", stderr), 77;
	oracle.name = (const char **)(argv + 3);
	oracle.nr_names = (size_t)argc - 3;
	child = start(argv + 2, &go);
	if (perch_targets_add_process(&targets, child, NULL, &err) < 0 ||
	    perch_sampler_open(&sampler, "cpu-clock", &targets, &options, &err) < 0 ||
	    oracle_begin(&oracle, perch_arch_here(), NULL, &err) ||
	    perch_sampler_enable(sampler, &err) < 0 || write(go, "", 1) != 1)
		return perch_error_print(stderr, &err), 2;
	while (perch_sampler_wait(sampler, 100, &err) >= 0)
		lost += take_records(&oracle, sampler, false);
	lost += take_records(&oracle, sampler, true);
	waitpid(child, &status, 0);
	printf("%u %u %u %u %u %u\n", oracle.samples, oracle.equal, oracle.entry, oracle.signal,
	       oracle.too_short, oracle.other);
	status = status ? 3 : oracle_missing_names(&oracle) ? 4 : 0;
	if (!oracle.samples) {
		perch_error_print(stderr, &err);
		oracle_print_others(&oracle);
	}
	if (lost)
		fprintf(stderr, "%u records were lost\n", lost);
	perch_sampler_close(sampler);
	oracle_end(&oracle);
	perch_targets_clear(&targets);
	return status;
}
