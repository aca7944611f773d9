/* SPDX-License-Identifier: MIT */
/* The sampler of context switches, and its rounds. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <perch/tracepoint.h>

#include "base/no_memory.h"
#include "recorder/off_cpu/off_cpu.h"
#include "recorder/pieces.h"

#define RING_BYTES	    (2u << 20)
#define ALL_RINGS_BYTES	    (64u << 20)

#define SWITCH		    "sched:sched_switch"
#define WAKING		    "sched:sched_waking"
#define FIRST_PID_NAMESPACE 0xeffffffcu /* the inode of that of the machine */
#define COPIES                                                                          \
	(PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER | PERCH_SAMPLE_BRANCH_STACK | \
	 PERCH_SAMPLE_REGS_INTR)

/* ---- opening ---- */

static bool same_fields(const struct perch_attr *one, const struct perch_attr *other)
{
	return one->sample_type == other->sample_type &&
	       one->branch_sample_type == other->branch_sample_type &&
	       one->sample_regs_user == other->sample_regs_user &&
	       one->sample_regs_intr == other->sample_regs_intr &&
	       one->sample_stack_user == other->sample_stack_user;
}

/* The waker has call chains by frame pointers: nothing else of it is kept. */
static void set_fields_of_waking(struct perch_event *waking, const struct perch_attr *event,
				 const struct perch_event_terms *terms)
{
	waking->attr.sample_type = event->sample_type & ~(uint64_t)COPIES;
	waking->terms.max_stack = terms->max_stack;
	waking->terms.call_graph = PERCH_CALL_GRAPH_FP;
}

/* Finds a field in the data of a tracepoint. states: gets the states of the field; NULL: it has
 * none. */
static int find_field(size_t *offset, const char *event, const char *name, size_t size,
		      struct timeline_task_states *states, struct perch_machine *machine,
		      struct perch_error *err)
{
	struct perch_tracepoint_format *format;
	const struct perch_tracepoint_field *field;
	int rc = perch_tracepoint_format_read(&format, event, machine, err);

	if (rc < 0)
		return rc;
	field = perch_tracepoint_format_find(format, name);
	if (field && field->size == size)
		*offset = field->offset;
	else
		rc = perch_error_set(err, EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				     "the fields of %s are unknown: leave out wakers", event);
	if (rc >= 0 && states)
		perch__timeline_read_states(states, perch_tracepoint_format_print_fmt(format));
	perch_tracepoint_format_free(format);
	return rc;
}

/* Finds the woken thread in the data of sched:sched_waking. */
static int find_woken(struct recorder_off_cpu *off_cpu, struct perch_machine *machine,
		      struct perch_error *err)
{
	struct stat status;
	int rc = find_field(&off_cpu->intervals.woken_at, WAKING, "pid", sizeof(uint32_t), NULL,
			    machine, err);

	/* the tracepoint has the ids of the machine, and samples those of the namespace */
	if (rc >= 0 && !stat("/proc/self/ns/pid", &status) && status.st_ino != FIRST_PID_NAMESPACE)
		return perch_error_set(err, EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				       "wakers cannot be recorded in a PID namespace");
	return rc;
}

/* Opens an event of switches, and that of wakers. */
static int open_event(struct recorder_off_cpu *off_cpu, const char *name, const char *filter,
		      const struct perch_attr *event, const struct perch_event_terms *terms,
		      const struct perch_targets *targets,
		      const struct perch_sampler_options *options, struct perch_error *err)
{
	struct perch_machine *machine = options->event.machine;
	struct perch_events events;
	int rc = perch_events_parse(&events, name, machine, err);

	if (rc >= 0 && filter)
		rc = perch_events_set_filter(&events, 0, filter, machine, err);
	if (rc >= 0 && off_cpu->wakers)
		rc = perch_events_add(&events, WAKING, machine, err);
	if (rc >= 0) {
		events.event[0].attr.sample_type = event->sample_type;
		events.event[0].terms = *terms;
		if (off_cpu->wakers)
			set_fields_of_waking(&events.event[OFF_CPU_WAKING], event, terms);
		rc = perch_sampler_open_events(&off_cpu->sampler, &events, targets, options, err);
	}
	perch_events_clear(&events);
	return rc;
}

/*
 * A switch takes about 400 bytes, and a CPU may have 100,000 in a second: rings of the default size
 * would be full after 13 ms. They are larger if this process may lock any memory; all of them
 * together have a limit.
 */
static size_t ring_pages(const struct perch_sampler_options *options)
{
	struct perch_machine *machine = options->event.machine;
	size_t pages = RING_BYTES / (size_t)sysconf(_SC_PAGESIZE);
	const struct perch_cpus *cpus;
	uint64_t capabilities;

	if (options->per_thread || perch_machine_capabilities(machine, &capabilities, NULL) < 0 ||
	    !(capabilities >> PERCH_CAP_IPC_LOCK & 1) ||
	    perch_machine_cpus(machine, &cpus, NULL) < 0 || cpus->nr * RING_BYTES > ALL_RINGS_BYTES)
		return 0;
	return pages;
}

/*
 * The tracepoint has the state of the thread. A switch of an idle CPU is no time of a thread, and
 * its call chain costs as much. Who may not use tracepoints gets the software event.
 */
static int open_switches(struct recorder_off_cpu *off_cpu, const struct perch_attr *event,
			 const struct perch_event_terms *terms, const struct perch_targets *targets,
			 const struct perch_sampler_options *options, struct perch_error *err)
{
	size_t *state_at = &off_cpu->intervals.state_at;
	const char *filter = off_cpu->intervals.cpu_wide ? "prev_pid != 0" : NULL;
	int rc = find_field(state_at, SWITCH, "prev_state", sizeof(uint64_t),
			    &off_cpu->intervals.states, options->event.machine, NULL);

	if (rc >= 0)
		rc = open_event(off_cpu, SWITCH, filter, event, terms, targets, options, err);
	if (rc >= 0 || off_cpu->wakers)
		return rc;
	*state_at = 0;
	return open_event(off_cpu, "context-switches", NULL, event, terms, targets, options, err);
}

/* A user who may not profile the kernel gets SWITCH records, which have no call chains. */
static int open_sampler(struct recorder_off_cpu *off_cpu, const struct perch_attr *event,
			const struct perch_event_terms *terms, const struct perch_targets *targets,
			const struct perch_sampler_options *options, struct perch_error *err)
{
	const bool copies = terms->call_graph == PERCH_CALL_GRAPH_DWARF;
	struct perch_sampler_options own = *options;
	int rc = off_cpu->wakers ? find_woken(off_cpu, options->event.machine, err) : 0;

	if (rc < 0)
		return rc;
	own.event.period = 1;
	own.event.frequency = 0;
	own.event.sideband = PERCH_SIDEBAND_SWITCH | PERCH_SIDEBAND_TASK;
	own.event.inherit_stat = 0;
	own.event.read &= PERCH_FORMAT_ID | PERCH_FORMAT_LOST;
	own.tracking_event = false;
	if (!own.ring_pages)
		own.ring_pages = ring_pages(options);
	/* a switch occurs in the kernel: only its call chain can leave the kernel out, but not all
	 * of it, which is the case if user space is unwound from copies of the stack */
	own.event.exclude_callchain_kernel |= own.event.exclude_kernel && !copies;
	own.event.exclude_kernel = 0;
	rc = open_switches(off_cpu, event, terms, targets, &own, err);
	off_cpu->stacks = rc >= 0;
	if ((rc != -EACCES && rc != -EPERM) || !(own.event.may & PERCH_MAY_EXCLUDE_KERNEL) ||
	    off_cpu->wakers)
		return rc;
	own.event.exclude_kernel = 1;
	own.event.exclude_callchain_kernel = !copies;
	return open_event(off_cpu, "dummy", NULL, event, terms, targets, &own, err);
}

static int keep_tids(struct recorder_off_cpu *off_cpu, const struct perch_targets *targets,
		     struct perch_error *err)
{
	off_cpu->tids = calloc(targets->nr + 1, sizeof(*off_cpu->tids));
	if (!off_cpu->tids)
		return PERCH__NO_MEMORY(err, "to record with");
	for (size_t i = 0; i < targets->nr; i++) {
		pid_t tid = targets->target[i].tid;

		if (tid > 0)
			off_cpu->tids[off_cpu->nr_tids++] = (uint32_t)tid;
		off_cpu->intervals.cpu_wide |= tid < 0;
	}
	return 0;
}

int perch__off_cpu_open(struct recorder_off_cpu **result, const struct perch_attr *event,
			uint64_t id, const struct perch_event_terms *terms,
			const struct perch_targets *targets,
			const struct perch_sampler_options *options, bool wakers,
			struct perch_error *err)
{
	struct recorder_off_cpu *off_cpu = calloc(1, sizeof(*off_cpu));
	const struct perch_attr *attr;
	const uint64_t *ids;
	const char *name;
	size_t nr;
	int rc;

	*result = off_cpu;
	if (!off_cpu)
		return PERCH__NO_MEMORY(err, "to record with");
	off_cpu->wakers = wakers;
	off_cpu->machine = options->event.machine;
	rc = keep_tids(off_cpu, targets, err);
	if (rc >= 0)
		rc = open_sampler(off_cpu, event, terms, targets, options, err);
	if (rc < 0)
		return rc;
	attr = perch_sampler_event(off_cpu->sampler, 0, &name, &ids, &nr);
	if (!perch__off_cpu_layout_init(&off_cpu->intervals.layout, attr, id) ||
	    !same_fields(attr, event))
		return perch_error_set(err, EINVAL, PERCH_ERROR_CONFLICT,
				       "off-CPU time cannot be recorded with samples of these "
				       "fields");
	return 0;
}

void perch__off_cpu_close(struct recorder_off_cpu *off_cpu)
{
	if (!off_cpu)
		return;
	perch_sampler_close(off_cpu->sampler);
	perch__off_cpu_end_waits(off_cpu, false);
	perch__off_cpu_clear(&off_cpu->intervals);
	free(off_cpu->tids);
	free(off_cpu);
}

/* ---- lost records ---- */

static uint64_t time_at(const struct off_cpu_layout *layout, const struct iovec pieces[2],
			size_t offset)
{
	const struct perch_record_header *header = (const void *)recorder_byte_at(pieces, offset);
	size_t at = layout->time,
	       from_end = sizeof(uint64_t) * (size_t)layout->parse_info.trailer_time_word;

	if (header->type != PERCH_RECORD_SAMPLE)
		at = header->size > from_end ? header->size - from_end : 0;
	return at && at < header->size ? recorder_word_at(pieces, offset + at) : 0;
}

static void add_loss_once(struct off_cpu_intervals *intervals, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < intervals->nr_losses; i++)
		if (intervals->loss[i].to == to)
			return; /* its record was still in the ring in the round before */
	perch__off_cpu_add_loss(intervals, from, to);
}

/*
 * A LOST record is written when its ring has space again. What it counts was lost after the record
 * before it, perhaps before records of other rings that have an earlier time. Rounds deliver the
 * records up to the time of the round before, so the losses are looked for before the round.
 */
static void find_losses(struct recorder_off_cpu *off_cpu)
{
	struct off_cpu_intervals *intervals = &off_cpu->intervals;

	for (size_t i = 0; i < perch_sampler_rings(off_cpu->sampler); i++) {
		struct perch_ring *ring = perch_sampler_ring(off_cpu->sampler, i);
		const struct perch_record_header *header;
		struct iovec pieces[2];
		size_t bytes = ring ? perch_ring_peek(ring, pieces) : 0, before = SIZE_MAX;

		for (size_t at = 0; at < bytes; at += header->size) {
			header = (const void *)recorder_byte_at(pieces, at);
			if (header->size < sizeof(*header) || header->size > bytes - at)
				break; /* another program changed the memory */
			if (header->type == PERCH_RECORD_LOST)
				add_loss_once(intervals,
					      before == SIZE_MAX
						      ? intervals->now
						      : time_at(&intervals->layout, pieces, before),
					      time_at(&intervals->layout, pieces, at));
			before = at;
		}
	}
}

/* What was lost at the end has no LOST record. Returns the number of records that were lost. */
static uint64_t count_lost(struct recorder_off_cpu *off_cpu)
{
	struct perch_sampler_stats stats;
	const uint64_t *ids;
	const char *name;
	uint64_t lost = 0, of_id;
	size_t nr;

	perch_sampler_get_stats(off_cpu->sampler, &stats);
	perch_sampler_event(off_cpu->sampler, 0, &name, &ids, &nr);
	for (size_t i = 0; i < nr; i++)
		if (!perch_sampler_lost(off_cpu->sampler, 0, i, &of_id, NULL))
			lost += of_id;
	return lost > stats.lost ? lost : stats.lost;
}

/* ---- rounds ---- */

static void add_waiting(struct recorder_off_cpu *off_cpu, uint32_t tid, uint64_t end)
{
	uint32_t pid;
	char letter;

	if (perch__off_cpu_read_status(off_cpu->machine, tid, &pid, &letter) &&
	    !strchr("RXZ", letter))
		perch__off_cpu_add_waiting(&off_cpu->intervals, pid, tid, end);
}

/*
 * A target, or a thread of an earlier window of time, without any switch runs all the time, or not
 * at all. A user who looks for what hangs needs the latter.
 */
static void add_all_waiting(struct recorder_off_cpu *off_cpu, uint64_t end)
{
	const struct off_cpu_intervals *intervals = &off_cpu->intervals;

	for (size_t i = 0; i < off_cpu->nr_tids; i++)
		add_waiting(off_cpu, off_cpu->tids[i], end);
	for (size_t i = 0; i < intervals->nr; i++)
		if (intervals->thread[i].position == OFF_CPU_UNSEEN)
			add_waiting(off_cpu, intervals->thread[i].tid, end);
}

static void take_round(struct recorder_off_cpu *off_cpu, bool all)
{
	struct off_cpu_intervals *intervals = &off_cpu->intervals;
	struct perch_record record;

	if (off_cpu->taken)
		intervals->samples.used = intervals->nr_samples = 0;
	off_cpu->taken = false;
	perch__off_cpu_end_waits(off_cpu, true);
	find_losses(off_cpu);
	while (perch_sampler_next_ordered(off_cpu->sampler, all, &record, NULL) > 0)
		perch__off_cpu_take(intervals, &record);
}

void perch__off_cpu_finish(struct recorder_off_cpu *off_cpu, uint64_t end)
{
	struct off_cpu_intervals *intervals = &off_cpu->intervals;
	struct perch_sampler_stats stats;

	take_round(off_cpu, true);
	perch_sampler_get_stats(off_cpu->sampler, &stats);
	off_cpu->lost = count_lost(off_cpu);
	if (off_cpu->lost > stats.lost + off_cpu->unseen)
		perch__off_cpu_add_loss(intervals, intervals->now, UINT64_MAX);
	off_cpu->unseen = off_cpu->lost - stats.lost;
	add_all_waiting(off_cpu, end);
	perch__off_cpu_end(intervals, end);
}

struct iovec perch__off_cpu_read(struct recorder_off_cpu *off_cpu, uint64_t *nr_samples)
{
	struct off_cpu_intervals *intervals = &off_cpu->intervals;

	take_round(off_cpu, false);
	perch__off_cpu_end_round(intervals);
	off_cpu->taken = true;
	*nr_samples = intervals->nr_samples;
	return (struct iovec){ intervals->samples.bytes, intervals->samples.used };
}
