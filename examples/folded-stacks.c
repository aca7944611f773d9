/* SPDX-License-Identifier: MIT */
/*
 * A profiler without a file: samples the call chains of a process with all its threads, and prints
 * folded stacks, the input of flame graphs:
 *
 *	folded-stacks [PID [SECONDS]] >stacks
 *
 * Without a process it samples a child of its own for a second.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <perch/profile.h>
#include <perch/sampler.h>
#include <perch/synthesize.h>

struct profiler {
	struct perch_sampler *sampler;
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_addresses *addresses;
	char **stack; /* one line for each sample */
	size_t nr, capacity;
	uint64_t lost;
};

/* ---- a child that works, with two threads ---- */

__attribute__((noinline)) static void work_hard(void)
{
	for (volatile int i = 0; i < 3000; i++)
		;
}

__attribute__((noinline)) static void work(void)
{
	for (;;)
		work_hard();
}

static void *run_helper(void *unused)
{
	prctl(PR_SET_NAME, "helper");
	work();
	return unused;
}

static pid_t start_child(void)
{
	pid_t child = fork();
	pthread_t helper;

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "worker");
	if (!pthread_create(&helper, NULL, run_helper, NULL))
		work();
	_exit(1);
}

/* ---- sampling ---- */

/* Opens the events, then adds what runs already: what changes in between is in both. */
static int start(struct profiler *profiler, pid_t pid, struct perch_error *err)
{
	const struct perch_sampler_options options = {
		.event = { .frequency = 997,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
				     PERCH_SAMPLE_CALLCHAIN,
			   .sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_COMM |
				       PERCH_SIDEBAND_TASK,
			   .inherit = 1,
			   .may = PERCH_MAY_EXCLUDE_KERNEL },
	};
	struct perch_synthesize_counts counts = { 0 };
	struct perch_targets targets = { 0 };
	int rc = perch_targets_add_process(&targets, pid, NULL, err);

	if (rc >= 0)
		rc = perch_sampler_open(&profiler->sampler, "cpu-clock", &targets, &options, err);
	if (rc >= 0)
		rc = perch_synthesize_targets(&targets, NULL, NULL,
					      perch_processes_apply_synthesized,
					      profiler->processes, &counts, err);
	if (rc >= 0 && counts.denied)
		fprintf(stderr, "%" PRIu64 " processes: this user may not read the mappings\n",
			counts.denied);
	/* an ordinary user may not see the addresses of the kernel, and samples user space only */
	perch_synthesize_kernel(NULL, NULL, perch_processes_apply_synthesized, profiler->processes,
				NULL, NULL);
	perch_targets_clear(&targets);
	return rc < 0 ? rc : perch_sampler_enable(profiler->sampler, err);
}

static const char *name_of(struct profiler *profiler, uint32_t number)
{
	const struct perch_address *address = perch_addresses_at(profiler->addresses, number);

	return address->symbol ? perch_symbols_name(profiler->symbols, address->symbol)
			       : perch_symbols_dso_name(profiler->symbols, address->dso);
}

/* Adds "comm;outermost;...;innermost". */
static int add_sample(struct profiler *profiler, const struct perch_record *record)
{
	struct perch_thread *thread =
		perch_processes_thread(profiler->processes, record->sample.pid, record->sample.tid);
	uint32_t chain[PERCH_MAX_CALL_CHAIN];
	char comm[64], *line = NULL;
	size_t size;
	FILE *to;
	int nr;

	if (profiler->nr == profiler->capacity) {
		size_t capacity = 2 * profiler->capacity + 1024;
		char **stack = realloc(profiler->stack, capacity * sizeof(*stack));

		if (!stack)
			return -1;
		profiler->stack = stack;
		profiler->capacity = capacity;
	}
	nr = thread ? perch_addresses_call_chain(profiler->addresses, thread, record, chain,
						 PERCH_MAX_CALL_CHAIN)
		    : -1;
	to = nr < 0 ? NULL : open_memstream(&line, &size);
	if (!to)
		return -1;
	perch_clean_text(perch_thread_comm(thread), comm, sizeof(comm));
	fputs(comm, to);
	while (nr > 0)
		fprintf(to, ";%s", name_of(profiler, chain[--nr]));
	if (fclose(to))
		return -1;
	profiler->stack[profiler->nr++] = line;
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
			return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
					       "no memory for the profile");
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

/* ---- output ---- */

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_stacks(struct profiler *profiler)
{
	size_t count = 0;

	if (profiler->nr)
		qsort(profiler->stack, profiler->nr, sizeof(*profiler->stack), compare_lines);
	for (size_t i = 0; i < profiler->nr; i++) {
		count++;
		if (i + 1 == profiler->nr || strcmp(profiler->stack[i], profiler->stack[i + 1])) {
			printf("%s %zu\n", profiler->stack[i], count);
			count = 0;
		}
	}
	if (!profiler->nr)
		fputs("no samples: the process used no CPU time\n", stderr);
	if (profiler->lost)
		fprintf(stderr, "%" PRIu64 " records were lost\n", profiler->lost);
}

static void clear(struct profiler *profiler)
{
	for (size_t i = 0; i < profiler->nr; i++)
		free(profiler->stack[i]);
	free(profiler->stack);
	perch_sampler_close(profiler->sampler);
	perch_addresses_free(profiler->addresses);
	perch_symbols_free(profiler->symbols);
	perch_processes_free(profiler->processes);
}

int main(int argc, char **argv)
{
	pid_t child = argc > 1 ? 0 : start_child();
	struct profiler profiler = { 0 };
	struct perch_error err;
	int rc;

	rc = perch_processes_new(&profiler.processes, &err);
	if (rc >= 0)
		rc = perch_symbols_new(&profiler.symbols, NULL, &err);
	if (rc >= 0)
		rc = perch_addresses_new(&profiler.addresses, profiler.processes, profiler.symbols,
					 &err);
	if (rc >= 0)
		rc = start(&profiler, child ? child : atoi(argv[1]), &err);
	if (rc >= 0)
		rc = run(&profiler, argc > 2 ? atof(argv[2]) : 1, &err);
	if (rc < 0)
		perch_error_print(stderr, &err);
	else
		print_stacks(&profiler);
	clear(&profiler);
	if (child > 0)
		kill(child, SIGKILL);
	return rc < 0;
}
