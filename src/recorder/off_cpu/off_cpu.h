/* SPDX-License-Identifier: MIT */
/*
 * Off-CPU time of threads, without BPF. A sampler of its own has an event whose samples have the
 * call chain of the thread that leaves its CPU, and SWITCH records, which say when a thread leaves
 * and comes back, and if it was preempted. The event is sched:sched_switch, which also has the
 * state of the thread, or context-switches where this user may not use tracepoints. Intervals are
 * made from both in the order of time. They become samples of the event "offcpu-time", which the
 * recorder writes. Of what the kernel wrote, nothing is written: at 100,000 switches per second
 * that would be 40 MB per second.
 *
 * The event "offcpu-time" is opened as perf does, as the software event bpf-output, which never
 * occurs, so that the samples have an event with ids. The fields of both events are the same: a
 * sample of off-CPU time is the one of the switch, with another id, time and period.
 *
 * What a switch costs, in us of CPU time, with perf bench sched pipe on a virtual machine with
 *Linux 6.18 (ORC unwinder), each the least of five runs:
 *
 *	SWITCH records alone, read by perf			2.8
 *	and context-switches that are only counted		3.6
 *	and a sample of each without a call chain		4.4
 *	and its call chain (perf)				7.0
 *	sched:sched_switch in its place				7.3
 *
 * So 100,000 switches per second cost 14 % of two CPUs before there is a call chain, which is the
 * floor: without SWITCH records nothing says when a thread comes back, unless all CPUs are
 *recorded. In perch's recorder, which adds 0.8 in all, these were tried against 4.4
 *(context-switches):
 *
 *	call chains without the kernel				2.9
 *	call chains without user space				3.6
 *	at most 8 addresses (max-stack=8)			4.0
 *	each 10th or 1,000,000th switch (period)		4.5
 *	sched:sched_switch					4.9
 *	wakers							7.0
 *
 * The first three leave out what a user looks for, and can be asked for. A period has no effect:
 * with PERF_SAMPLE_PERIOD the kernel samples each occurrence of a software event
 * (perf_swevent_event()). Without that bit it has, but whether a wait will be long is not known
 * when it begins, so long ones would lack their call chains as often as short ones. Switches of
 * idle CPUs are filtered by the kernel, which makes no call chain for them.
 */
#ifndef PERCH_RECORDER_OFF_CPU_H
#define PERCH_RECORDER_OFF_CPU_H

#include <sys/uio.h>
#include <perch/off_cpu.h>
#include <perch/sampler.h>

#include "base/hash_table.h"
#include "timeline/internal.h"

/* ---- off_cpu_sample.c: samples of off-CPU time ---- */

/* The sample of a context switch. Zeros are none. */
struct off_cpu_switch {
	const char *bytes; /* NULL: none; then the fields are zeros */
	size_t size;
	size_t chain; /* offset of the call chain, which begins with its number of entries */
	size_t rest;  /* offset of what follows the raw data; .size: it was left out */
	uint64_t cgroup;
	uint32_t state; /* PERCH_OFF_CPU_UNKNOWN: the event does not have it */
	bool before;	/* it was before the recording */
};

/* Where the fields are, for both events. */
struct off_cpu_layout {
	struct perch_parse_info parse_info;
	uint64_t id;		  /* of the event offcpu-time */
	size_t tid, time, period; /* offsets in a sample */
	size_t ip;		  /* 0: none */
	size_t ids[2];		  /* offsets of ID and IDENTIFIER; 0: none */
	size_t rest_words;	  /* words after the raw data, if all their fields are empty */
	size_t cgroup_word;	  /* the one of them that is the cgroup; SIZE_MAX: none */
};

struct off_cpu_bytes {
	char *bytes;
	size_t used, capacity;
};

/* Returns false if the fields of the attr do not suffice, or if values of counters are among them.
 */
bool perch__off_cpu_layout_init(struct off_cpu_layout *layout, const struct perch_attr *attr,
				uint64_t id);
/* Finds the parts of a decoded sample of a context switch. */
struct off_cpu_switch perch__off_cpu_switch(const struct off_cpu_layout *layout,
					    const struct perch_record *record);
/* Makes a switch of a call chain alone, which begins with a marker. Returns the bytes that it needs
 * in to; NULL: none is made. */
size_t perch__off_cpu_make_switch(const struct off_cpu_layout *layout, const uint64_t *chain,
				  size_t nr, char *to, struct off_cpu_switch *made);
/* Returns the call chain of a switch: the number of entries, and the entries. */
const uint64_t *perch__off_cpu_chain(const struct off_cpu_switch *from, uint64_t *nr);
/*
 * Appends a sample. only_chain: the copied stack and the registers are left out, because those of
 * other intervals of the sum differ. Returns 0 or -ENOMEM.
 */
int perch__off_cpu_append(const struct off_cpu_layout *layout, struct off_cpu_bytes *to,
			  const struct off_cpu_switch *from, const struct perch_off_cpu *interval,
			  uint64_t time, bool only_chain);

/* ---- intervals.c: switches -> intervals ---- */

/* The event sched:sched_waking of the sampler. It is not there if wakers are not recorded. */
#define OFF_CPU_WAKING 1

enum off_cpu_position {
	OFF_CPU_UNSEEN, /* it was on the CPU or not when the recording began */
	OFF_CPU_NEW,	/* it was created, and has not run */
	OFF_CPU_ON,
	OFF_CPU_OFF,
};

/* The thread that made another one runnable. */
struct off_cpu_waker {
	uint32_t flags; /* PERCH_OFF_CPU_WOKEN and others; 0: unknown */
	uint32_t pid, tid;
	uint64_t nr, *chain;
	size_t capacity;
};

struct off_cpu_thread {
	uint32_t tid, pid;
	enum off_cpu_position position;
	bool ended; /* it has yet to leave the CPU */
	uint32_t state;
	uint64_t out; /* when it left the CPU, or ended */
	char *sample; /* a copy of its last switch */
	size_t capacity;
	struct off_cpu_switch last; /* points into the copy */
	struct off_cpu_waker waker; /* since it left the CPU */
};

/* Short intervals of one thread, state and call chain. */
struct off_cpu_sum {
	uint32_t tid, pid, state;
	uint64_t hash, ns, intervals, start;
	size_t at; /* of the copy of its first switch in .copies */
	struct off_cpu_switch first;
};

/* Records of a ring were lost in (from, to]. */
struct off_cpu_loss {
	uint64_t from, to;
};
#define OFF_CPU_MAX_LOSSES 64

struct off_cpu_counts {
	uint64_t intervals, ns;	    /* in samples, those of sums included */
	uint64_t summed, summed_ns; /* among them: in sums */
	uint64_t without_stack;	    /* among them */
	uint64_t not_ended;	    /* among them */
	/* that span lost records: in no sample. A missing switch has no time. */
	uint64_t lost_intervals, lost_ns;
	uint64_t dropped_intervals, dropped_ns; /* without memory: in no sample */
};

struct off_cpu_intervals {
	/* set by the caller */
	struct off_cpu_layout layout;
	uint64_t threshold; /* ns */
	uint64_t started;   /* when the events were enabled; 0: unknown */
	bool cpu_wide;	    /* switches are seen after the end of a thread */
	size_t woken_at;    /* offset of the woken thread's id in the data of sched:sched_waking */
	size_t state_at;    /* that of prev_state in sched:sched_switch; 0: another event */
	struct timeline_task_states states; /* the bits of prev_state */

	uint64_t now; /* of the last record */
	struct off_cpu_thread *thread;
	size_t nr, capacity;
	struct perch__hash_table table;
	size_t copied;	/* bytes of the copies of the threads' last switches */
	uint64_t swept; /* when ended threads were removed */
	struct off_cpu_sum *sum;
	size_t nr_sums, sums_capacity;
	struct perch__hash_table sums;
	struct off_cpu_bytes copies;
	uint64_t oldest_sum;
	struct off_cpu_loss loss[OFF_CPU_MAX_LOSSES];
	size_t nr_losses;
	struct off_cpu_bytes samples; /* finished ones, for the caller to take */
	uint64_t nr_samples;
	struct off_cpu_counts counts;
};

/* Takes a record; they come in the order of time. */
void perch__off_cpu_take(struct off_cpu_intervals *intervals, const struct perch_record *record);
/* An interval that overlaps (from, to] is counted separately. UINT64_MAX: up to the end. */
void perch__off_cpu_add_loss(struct off_cpu_intervals *intervals, uint64_t from, uint64_t to);
/* Call this when some records were taken: sums that are old become samples. */
void perch__off_cpu_end_round(struct off_cpu_intervals *intervals);
/* A thread that does not run: if it had no switch, it was off the CPU all the time, up to now. */
void perch__off_cpu_add_waiting(struct off_cpu_intervals *intervals, uint32_t pid, uint32_t tid,
				uint64_t time);
/* A thread that does not run, before its first switch: where it waits. state: of enum
 * perch_off_cpu_state; nr: entries of the call chain, 0: unknown. */
void perch__off_cpu_set_wait(struct off_cpu_intervals *intervals, uint32_t pid, uint32_t tid,
			     uint32_t state, const uint64_t *chain, size_t nr);
/* The state of a letter as in /proc/PID/status. */
uint32_t perch__off_cpu_state_of_letter(char letter);
/* Ends all intervals at a time: nothing is recorded after it. */
void perch__off_cpu_end(struct off_cpu_intervals *intervals, uint64_t time);
void perch__off_cpu_clear(struct off_cpu_intervals *intervals);

/* ---- off_cpu.c: the sampler ---- */

struct recorder_off_cpu {
	struct perch_sampler *sampler;
	bool stacks;	 /* the kernel lets this user have them */
	bool wakers;	 /* they are recorded */
	bool taken;	 /* the caller has the finished samples */
	uint64_t lost;	 /* records, at the end */
	uint64_t unseen; /* among them: without a LOST record */
	const struct perch_machine *machine;
	uint32_t *tids; /* of the targets */
	size_t nr_tids;
	struct off_cpu_waits *waits; /* that were found, and not used yet; NULL: none */
	uint64_t hidden_waits;	     /* of them: those whose stacks this user may not read */
	struct off_cpu_intervals intervals;
};

/*
 * Opens the sampler. event: the attr of the event offcpu-time as it was opened. wakers: record them
 * as well. Returns 0 or a negative errno.
 */
int perch__off_cpu_open(struct recorder_off_cpu **off_cpu, const struct perch_attr *event,
			uint64_t id, const struct perch_event_terms *terms,
			const struct perch_targets *targets,
			const struct perch_sampler_options *options, bool wakers,
			struct perch_error *err);
/* Reads all records of switches, which are disabled, and ends all intervals at a time. */
void perch__off_cpu_finish(struct recorder_off_cpu *off_cpu, uint64_t end);
/* Reads one round. Returns the samples that were finished, valid until the next call. */
struct iovec perch__off_cpu_read(struct recorder_off_cpu *off_cpu, uint64_t *nr_samples);
void perch__off_cpu_close(struct recorder_off_cpu *off_cpu);

/* ---- waits.c ---- */

/* Reads the process and the state of a thread, as its letter. Returns false if it has ended. */
bool perch__off_cpu_read_status(const struct perch_machine *machine, uint32_t tid, uint32_t *pid,
				char *letter);
/* Finds out where the targets wait that do not run, before the events are enabled. */
void perch__off_cpu_read_waits(struct recorder_off_cpu *off_cpu);
/*
 * Passes what was found to the intervals, before they take records. /proc/kallsyms is read now,
 * which takes 40 ms of CPU time: not while the events wait to be enabled. use: false frees it.
 */
void perch__off_cpu_end_waits(struct recorder_off_cpu *off_cpu, bool use);

#endif
