/* SPDX-License-Identifier: MIT */
/*
 * An epoll loop over the rings of all CPUs, with records merged by time: shows on which CPU two
 * children ran, and their registers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <perch/fields.h>
#include <perch/sampler.h>

#define CHILDREN 2

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

static int take_records(struct perch_sampler *sampler, bool flush, uint64_t *last)
{
	struct perch_record record;
	int rc, samples = 0;

	while ((rc = perch_sampler_next_ordered(sampler, flush, &record, NULL)) > 0) {
		if (record.type == PERCH_RECORD_LOST)
			printf("%" PRIu64 " records lost\n", record.lost.lost);
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		if (record.sample.time < *last)
			return -1;
		*last = record.sample.time;
		if (samples++ % 50)
			continue; /* print one of fifty */
		printf("%" PRIu64 " ns: process %u on CPU %u:", record.sample.time,
		       record.sample.pid, record.sample.cpu);
		print_registers(&record);
		putchar('\n');
	}
	return rc < 0 ? rc : samples;
}

static int watch_ring(struct perch_sampler *sampler, int epoll, size_t ring)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = ring };
	int fd = perch_sampler_ring_fd(sampler, ring);

	return fd < 0 ? fd : epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Runs until all children have ended: their rings hang up one after the other. */
static int loop(struct perch_sampler *sampler, int epoll)
{
	size_t open = 0;
	struct epoll_event event;
	uint64_t last = 0;
	int samples = 0, rc;

	for (size_t ring = 0; ring < perch_sampler_rings(sampler); ring++)
		open += watch_ring(sampler, epoll, ring) == 0;
	while (open && epoll_wait(epoll, &event, 1, -1) >= 0) {
		if (event.events & EPOLLHUP) {
			/* a target of the ring has ended: the ring has another descriptor then, or
			 * none */
			epoll_ctl(epoll, EPOLL_CTL_DEL,
				  perch_sampler_ring_fd(sampler, event.data.u64), NULL);
			perch_sampler_wait(sampler, 0, NULL);
			open -= watch_ring(sampler, epoll, event.data.u64) != 0;
		}
		rc = take_records(sampler, false, &last);
		if (rc < 0)
			return rc;
		samples += rc;
	}
	rc = take_records(sampler, true, &last);
	return rc < 0 ? rc : samples + rc;
}

static int run_children(void)
{
	for (int child = 0; child < CHILDREN; child++) {
		pid_t pid = fork();

		if (pid < 0)
			return -1;
		if (pid)
			continue;
		for (volatile long i = 0; i < 300000000; i++)
			;
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
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
	struct perch_target target = PERCH_SELF;
	struct perch_sampler *sampler;
	int go[2], epoll = epoll_create1(EPOLL_CLOEXEC), samples, status;
	struct perch_error err;
	char byte = 0;

	/* the target is a child that waits until the sampler is open */
	if (epoll < 0 || pipe(go) || (target.tid = fork()) < 0)
		return perror("merge-in-loop"), 1;
	if (!target.tid) {
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0 || run_children());
	}
	if (perch_sampler_open(&sampler, "cpu-clock:u", &target, &options, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	close(go[0]);
	close(go[1]);
	samples = loop(sampler, epoll);
	perch_sampler_close(sampler);
	close(epoll);
	printf("%d samples sorted by time\n", samples);
	return waitpid(target.tid, &status, 0) != target.tid || status || samples < 1;
}
