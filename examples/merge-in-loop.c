/* SPDX-License-Identifier: MIT */
/*
 * An epoll loop with one descriptor for a whole sampler, and records merged by time: shows on which
 * CPU the threads of a child process ran, and their registers. The threads end at different times.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <perch/fields.h>
#include <perch/sampler.h>

#define THREADS 3

/* Prints the sampled registers by name. The lowest bit of the mask is the first value. */
static void print_registers(const struct perch_record *record)
{
	const struct perch_registers *registers = &record->sample.regs_user;
	uint32_t at = 0;

	for (unsigned bit = 0; bit < 64 && at < registers->nr; bit++) {
		const char *name = perch_register_name(perch_arch_here(), bit);

		if (registers->mask >> bit & 1)
			printf(" %s=%#" PRIx64, name ? name : "?",
			       perch_word(record, &registers->value[at++]));
	}
}

/* Reads until there is no record left: the descriptor reports the same records only once. */
static int take_records(struct perch_sampler *sampler, bool flush, uint64_t *last)
{
	struct perch_record record;
	struct perch_error err;
	int rc, samples = 0;

	while ((rc = perch_sampler_next_ordered(sampler, flush, &record, &err)) > 0) {
		if (record.type == PERCH_RECORD_LOST)
			printf("%" PRIu64 " records lost\n", record.lost.lost);
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		if (record.sample.time < *last)
			return -1;
		*last = record.sample.time;
		if (samples++ % 50)
			continue; /* print one of fifty */
		printf("%" PRIu64 " ns: thread %u on CPU %u:", record.sample.time,
		       record.sample.tid, record.sample.cpu);
		print_registers(&record);
		putchar('\n');
	}
	if (rc < 0)
		perch_error_print(stderr, &err);
	return rc < 0 ? rc : samples;
}

/* Runs until all threads have ended. */
static int loop(struct perch_sampler *sampler, int epoll)
{
	struct epoll_event event = { .events = EPOLLIN };
	uint64_t last = 0;
	int samples = 0, wakeups = 0, rc;
	bool ended = false;

	/* other descriptors of the program would be in the same epoll */
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, perch_sampler_fd(sampler, NULL), &event) < 0)
		return -1;
	while (!ended && epoll_wait(epoll, &event, 1, -1) >= 0) {
		wakeups++;
		ended = perch_sampler_ended(sampler);
		rc = take_records(sampler, ended, &last);
		if (rc < 0)
			return rc;
		samples += rc;
	}
	rc = take_records(sampler, true, &last);
	printf("%d wakeups\n", wakeups);
	return rc < 0 ? rc : samples + rc;
}

static void *work(void *number)
{
	for (volatile long i = 0; i < 100000000 * (long)(size_t)number; i++)
		;
	return NULL;
}

static int run_threads(void)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
			return 1;
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(void)
{
	/* sample the first two registers of this machine */
	const struct perch_sampler_options options = {
		.event = { .frequency = 1000,
			   .inherit = 1,
			   .wakeup_events = 50,
			   .enabled = 1,
			   .sample_regs_user = 3,
			   .sample = PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CPU |
				     PERCH_SAMPLE_REGS_USER },
	};
	struct perch_targets targets = { 0 };
	struct perch_sampler *sampler;
	int go[2], epoll = epoll_create1(EPOLL_CLOEXEC), samples, status;
	struct perch_error err;
	pid_t child;
	char byte = 0;

	/* the target is a child that waits until the sampler is open */
	if (epoll < 0 || pipe(go) || (child = fork()) < 0)
		return perror("merge-in-loop"), 1;
	if (!child) {
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0 || run_threads());
	}
	if (perch_targets_add_process(&targets, child, NULL, &err) < 0 ||
	    perch_sampler_open(&sampler, "cpu-clock:u", &targets, &options, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	perch_targets_clear(&targets);
	close(go[0]);
	close(go[1]);
	samples = loop(sampler, epoll);
	perch_sampler_close(sampler);
	close(epoll);
	printf("%d samples sorted by time\n", samples);
	return waitpid(child, &status, 0) != child || status || samples < 1;
}
