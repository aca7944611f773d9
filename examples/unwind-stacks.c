/* SPDX-License-Identifier: MIT */
/*
 * Samples a process without frame pointers, and prints a folded stack for each sample, the input of
 * flame graphs. Samples have registers and a copy of the user stack, which the program unwinds:
 *
 *	unwind-stacks [PID [SECONDS]] >stacks
 *
 * Without a process it samples a child: gzip(1), which has no frame pointers in Debian.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <perch/sampler.h>
#include <perch/unwind.h>

struct profiler {
	struct perch_sampler *sampler;
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_unwinder *unwinder;
	uint64_t samples, complete, lost;
};

static pid_t start_child(void)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!freopen("/dev/null", "w", stdout))
		_exit(1);
	execlp("gzip", "gzip", "-c", "/dev/zero", (char *)NULL);
	_exit(1);
}

static int start(struct profiler *profiler, pid_t pid, struct perch_error *err)
{
	const struct perch_sampler_options options = {
		.event = { .frequency = 997,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
				     PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER,
			   .sample_regs_user = perch_unwind_registers(perch_arch_here()),
			   .sample_stack_user = 16384,
			   .sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_COMM |
				       PERCH_SIDEBAND_TASK,
			   .inherit = 1,
			   .exclude_kernel = 1 },
		.ring_pages = 256,
	};
	struct perch_targets targets = { 0 };
	int rc = perch_targets_add_process(&targets, pid, NULL, err);

	if (rc >= 0)
		rc = perch_sampler_open(&profiler->sampler, "cpu-clock", &targets, &options, err);
	/* the process is added after the sampler was opened: nothing is missed in between */
	if (rc >= 0)
		rc = perch_processes_add_running(profiler->processes, pid, NULL, err);
	perch_targets_clear(&targets);
	return rc < 0 ? rc : perch_sampler_enable(profiler->sampler, err);
}

static void print_function(struct profiler *profiler, struct perch_thread *thread, uint64_t ip)
{
	const struct perch_symbol *symbol;
	struct perch_location location;

	perch_processes_resolve(profiler->processes, thread, PERCH_MISC_USER, ip, &location);
	symbol = perch_symbols_find(profiler->symbols, location.dso, location.offset);
	printf(";%s", symbol ? perch_symbols_name(profiler->symbols, symbol)
			     : perch_symbols_dso_name(profiler->symbols, location.dso));
}

/* Prints "comm;outermost;...;innermost 1". */
static int add_sample(struct profiler *profiler, const struct perch_record *record)
{
	struct perch_thread *thread =
		perch_processes_thread(profiler->processes, record->sample.pid, record->sample.tid);
	struct perch_unwind_result result;
	uint64_t ips[256];
	char comm[64];

	if (!thread || perch_unwind(profiler->unwinder, thread, record, ips, 256, &result))
		return -1;
	profiler->samples++;
	profiler->complete += result.end == PERCH_UNWIND_OUTERMOST;
	perch_clean_text(perch_thread_comm(thread), comm, sizeof(comm));
	fputs(comm, stdout);
	while (result.nr)
		print_function(profiler, thread, ips[--result.nr]);
	puts(" 1");
	return 0;
}

static int take_records(struct profiler *profiler, bool all, struct perch_error *err)
{
	struct perch_record record;
	int rc;

	while ((rc = perch_sampler_next_ordered(profiler->sampler, all, &record, err)) > 0) {
		if (record.type == PERCH_RECORD_LOST || record.type == PERCH_RECORD_LOST_SAMPLES)
			profiler->lost += record.lost.lost;
		if (perch_processes_apply(profiler->processes, &record) < 0 ||
		    (record.type == PERCH_RECORD_SAMPLE && add_sample(profiler, &record) < 0))
			return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "out of memory");
	}
	return rc;
}

/* Samples for some time, or until the process has ended. */
static int run(struct profiler *profiler, double seconds, struct perch_error *err)
{
	struct timespec now, start;
	double left = seconds;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (rc >= 0 && left > 0) {
		if (perch_sampler_wait(profiler->sampler, (int)(1000 * left) + 1, NULL) < 0)
			break; /* -ENODATA: the process has ended */
		rc = take_records(profiler, false, err);
		clock_gettime(CLOCK_MONOTONIC, &now);
		left = seconds - (double)(now.tv_sec - start.tv_sec) -
		       (double)(now.tv_nsec - start.tv_nsec) / 1e9;
	}
	perch_sampler_disable(profiler->sampler, NULL);
	return rc < 0 ? rc : take_records(profiler, true, err);
}

int main(int argc, char **argv)
{
	int pid = argc > 1 ? atoi(argv[1]) : 0;
	pid_t child = argc > 1 ? 0 : start_child();
	struct profiler profiler = { 0 };
	struct perch_error err;
	int rc;

	if (argc > 3 || (argc > 1 && pid <= 0))
		return fputs("usage: unwind-stacks [PID [SECONDS]]\n", stderr), 2;
	if (!perch_unwind_registers(perch_arch_here()))
		return puts("no unwinding on this architecture"), 0;
	rc = perch_processes_new(&profiler.processes, &err);
	if (rc >= 0)
		rc = perch_symbols_new(&profiler.symbols, NULL, &err);
	if (rc >= 0)
		rc = perch_unwinder_new(&profiler.unwinder, perch_arch_here(), profiler.processes,
					profiler.symbols, &err);
	if (rc >= 0)
		rc = start(&profiler, child ? child : pid, &err);
	if (rc >= 0)
		rc = run(&profiler, argc > 2 ? atof(argv[2]) : 1, &err);
	if (rc < 0)
		perch_error_print(stderr, &err);
	fprintf(stderr, "%" PRIu64 " samples, %" PRIu64 " unwound to the end, %" PRIu64 " lost\n",
		profiler.samples, profiler.complete, profiler.lost);
	perch_sampler_close(profiler.sampler);
	perch_unwinder_free(profiler.unwinder);
	perch_symbols_free(profiler.symbols);
	perch_processes_free(profiler.processes);
	if (child > 0)
		kill(child, SIGKILL);
	return rc < 0;
}
