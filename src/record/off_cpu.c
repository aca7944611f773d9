/* SPDX-License-Identifier: MIT */
/* Decodes samples of off-CPU time. */
#include <string.h>
#include <perch/off_cpu.h>

#include "record/off_cpu.h"

/* Copies the next bytes of the raw data. Returns false if there are fewer. */
static bool take_bytes(const char **at, size_t *left, void *to, size_t size)
{
	if (*left < size)
		return false;
	memcpy(to, *at, size);
	*at += size;
	*left -= size;
	return true;
}

static void take_waker(struct perch_off_cpu *off_cpu, const char *at, size_t left)
{
	struct off_cpu_waker_head waker;

	if (!take_bytes(&at, &left, &waker, sizeof(waker)) || waker.nr > left / sizeof(uint64_t)) {
		off_cpu->flags &= ~(uint32_t)PERCH_OFF_CPU_WOKEN;
		return;
	}
	off_cpu->waker_pid = waker.pid;
	off_cpu->waker_tid = waker.tid;
	off_cpu->waker_nr = waker.nr;
	off_cpu->waker_chain = waker.nr ? at : NULL;
}

bool perch_off_cpu_decode(struct perch_off_cpu *off_cpu, const struct perch_sample *sample)
{
	const char *at = sample->raw.data;
	size_t left = at ? sample->raw.size : 0;
	struct off_cpu_head head;
	struct off_cpu_tail tail;

	*off_cpu = (struct perch_off_cpu){ 0 };
	if (!take_bytes(&at, &left, &head, sizeof(head)) || head.nr > left / sizeof(uint64_t))
		return false;
	*off_cpu = (struct perch_off_cpu){ .pid = head.pid,
					   .tid = head.tid,
					   .ns = head.ns,
					   .nr = head.nr,
					   .chain = head.nr ? at : NULL };
	at += head.nr * sizeof(uint64_t);
	left -= head.nr * sizeof(uint64_t);
	/* samples of perf end here */
	if (!take_bytes(&at, &left, &off_cpu->cgroup, sizeof(off_cpu->cgroup)) ||
	    !take_bytes(&at, &left, &tail, sizeof(tail)))
		return true;
	off_cpu->state = tail.state;
	off_cpu->flags = tail.flags;
	off_cpu->intervals = tail.intervals;
	off_cpu->start = tail.start;
	if (tail.flags & PERCH_OFF_CPU_WOKEN)
		take_waker(off_cpu, at, left);
	return true;
}

const char *perch_off_cpu_state_name(uint32_t state)
{
	static const char *const names[] = {
		[PERCH_OFF_CPU_UNKNOWN] = "unknown",
		[PERCH_OFF_CPU_BLOCKED] = "blocked",
		[PERCH_OFF_CPU_PREEMPTED] = "preempted",
		[PERCH_OFF_CPU_SLEEPING] = "sleeping",
		[PERCH_OFF_CPU_UNINTERRUPTIBLE] = "uninterruptible",
		[PERCH_OFF_CPU_STOPPED] = "stopped",
		[PERCH_OFF_CPU_DEAD] = "dead",
		[PERCH_OFF_CPU_PARKED] = "parked",
		[PERCH_OFF_CPU_IDLE] = "idle",
	};

	return names[state < sizeof(names) / sizeof(names[0]) ? state : 0];
}
