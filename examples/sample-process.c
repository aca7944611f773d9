/* SPDX-License-Identifier: MIT */
/*
 * Samples a running process for a second, without a file, and prints where it spends its time: DSOs
 * and functions.
 *
 *	sample-process [PID]
 *
 * Without a process it samples a child of its own.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <perch/profile.h>
#include <perch/sampler.h>

__attribute__((noinline)) static void work(void)
{
	for (volatile int i = 0; i < 100000; i++)
		;
}

static pid_t start_child(void)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		work();
}

int main(int argc, char **argv)
{
	struct perch_sampler_options options = {
		.event = { .frequency = 1000,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
				     PERCH_SAMPLE_PERIOD,
			   .sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_COMM |
				       PERCH_SIDEBAND_TASK,
			   .inherit = 1,
			   .may = PERCH_MAY_EXCLUDE_KERNEL },
	};
	pid_t child = argc > 1 ? 0 : start_child(), pid = child ? child : atoi(argv[1]);
	struct perch_targets targets = { 0 };
	struct perch_sampler *sampler = NULL;
	struct perch_processes *processes = NULL;
	struct perch_symbols *symbols = NULL;
	const struct perch_profile_options columns = { .names = "dso,sym" };
	struct perch_profile *profile = NULL;
	struct perch_profile_total total;
	const struct perch_row *rows;
	struct perch_record record;
	struct perch_error err;
	size_t nr;

	/* the process is added after the sampler was opened: nothing is missed in between */
	if (perch_targets_add_process(&targets, pid, NULL, &err) < 0 ||
	    perch_sampler_open(&sampler, "cpu-clock", &targets, &options, &err) < 0 ||
	    perch_processes_new(&processes, &err) < 0 ||
	    perch_processes_add_running(processes, pid, NULL, &err) < 0 ||
	    perch_symbols_new(&symbols, NULL, &err) < 0 ||
	    perch_profile_new(&profile, processes, symbols, &columns, &err) < 0 ||
	    perch_sampler_enable(sampler, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	sleep(1);
	perch_sampler_disable(sampler, NULL);

	while (perch_sampler_next_ordered(sampler, true, &record, NULL) > 0) {
		perch_processes_apply(processes, &record);
		if (perch_profile_add(profile, &record, &err) < 0)
			return perch_error_print(stderr, &err), 1;
	}
	if (perch_profile_finish(profile, &err) < 0 ||
	    perch_profile_rows(profile, 0, NULL, &rows, &nr, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	perch_profile_get_total(profile, 0, &total);
	for (size_t i = 0; i < nr && i < 10; i++) {
		const struct perch_frame *frame = &rows[i].frame;

		printf("%5.1f %%  %-20s  %s\n", 100.0 * rows[i].self / total.period,
		       perch_symbols_dso_name(symbols, frame->dso),
		       frame->symbol ? perch_symbols_name(symbols, frame->symbol) : "?");
	}
	if (!nr)
		puts("no samples: the process used no CPU time");
	perch_profile_free(profile);
	perch_symbols_free(symbols);
	perch_processes_free(processes);
	perch_sampler_close(sampler);
	perch_targets_clear(&targets);
	if (child > 0)
		kill(child, SIGKILL);
	return 0;
}
