/* SPDX-License-Identifier: MIT */
/*
 * Threads that sample themselves: each thread joins one sampler, with a ring of its own, and leaves
 * it at its end. A real-time signal reports each sample at once.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <perch/sampler.h>

enum { THREADS = 4, PAGES = 1000 };

static struct perch_sampler *sampler;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one thread at a time uses it */
static volatile sig_atomic_t nr_signals, signal_fd;

/* The event is found later: another thread may be changing the sampler now. */
static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	nr_signals++;
	signal_fd = info->si_fd;
}

static void touch_pages(void)
{
	long page = sysconf(_SC_PAGESIZE);
	volatile char *memory = calloc(PAGES, page);

	for (long i = 0; memory && i < PAGES; i++)
		memory[i * page] = 1;
	free((void *)memory);
}

static void *run(void *unused)
{
	struct perch_error err;
	int rc;

	(void)unused;
	pthread_mutex_lock(&lock);
	rc = perch_sampler_add_thread(sampler, 0, &err);
	pthread_mutex_unlock(&lock);
	if (rc < 0) {
		perch_error_print(stderr, &err);
		exit(1);
	}
	touch_pages();
	pthread_mutex_lock(&lock);
	perch_sampler_remove_thread(sampler, 0, NULL); /* its samples stay */
	pthread_mutex_unlock(&lock);
	return NULL;
}

static unsigned long long count_samples(void)
{
	unsigned long long samples = 0;
	struct perch_record record;

	while (perch_sampler_next(sampler, &record, NULL) > 0)
		samples += record.type == PERCH_RECORD_SAMPLE;
	return samples;
}

int main(void)
{
	const struct perch_sampler_options options = {
		.event = { .period = 100, .sample = PERCH_SAMPLE_ADDR, .enabled = 1 },
		.per_thread = true,
	};
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART };
	unsigned long long samples;
	pthread_t threads[THREADS];
	struct perch_error err;
	size_t rings = 0, index, id, ring;
	pid_t tid;
	int cpu;

	action.sa_sigaction = on_fault;
	if (sigaction(SIGRTMIN, &action, NULL) < 0)
		return perror("sigaction"), 1;
	if (perch_sampler_open(&sampler, "page-faults:u", NULL, &options, &err) < 0 ||
	    perch_sampler_set_signal(sampler, SIGRTMIN, 0, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	touch_pages();
	if (perch_sampler_event_of_fd(sampler, signal_fd, &index, &id) < 0 ||
	    perch_sampler_id_info(sampler, index, id, &cpu, &tid, &ring) < 0)
		return fprintf(stderr, "the signal is of no event\n"), 1;
	samples = count_samples();
	for (size_t i = 0; i < perch_sampler_rings(sampler); i++)
		rings += perch_sampler_ring(sampler, i) != NULL;
	printf("%llu samples, %d signals, the last one of event %zu, %zu ring left\n", samples,
	       (int)nr_signals, index, rings);
	perch_sampler_close(sampler);
	return !samples || !nr_signals || index || rings != 1;
}
