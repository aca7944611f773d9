/* SPDX-License-Identifier: MIT */
/* Opening a sampler: every event on every thread and CPU, and one ring for each CPU. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static int no_memory(struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_CAUSE_NO_MEMORY, "no memory for a sampler");
}

/* A PMU that counts on some CPUs only (one of a hybrid machine's, an uncore's) lists them. */
static const struct perch_cpus *pmu_cpus(struct perch_machine *machine, uint32_t type)
{
	const struct perch_pmu *pmus;
	size_t nr;

	if (type < PERCH_TYPE_MAX || perch_machine_pmus(machine, &pmus, &nr, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].type == type)
			return pmus[i].cpus.nr ? &pmus[i].cpus : NULL;
	return NULL;
}

static bool has_cpu(const struct perch_cpus *cpus, int cpu)
{
	for (size_t i = 0; cpus && i < cpus->nr; i++)
		if (cpus->cpu[i] == cpu)
			return true;
	return !cpus;
}

/* The kernel fills such a ring from its end and does not look at a tail: nothing here reads that. */
static int refuse_backward(const char *name, struct perch_error *err)
{
	perch_error_set(err, EINVAL, PERCH_CAUSE_USAGE,
			"event '%s' has write_backward, and the sampler does not read overwrite rings", name);
	perch_error_field(err, "write_backward", NULL);
	perch_error_remedy(err, "leave write_backward off, or open the event by perch_open() and map its ring read-only "
			   "with mmap(2)");
	return -EINVAL;
}

/*
 * One event is enough to tell of mappings and names: the first one does. Members of a group start and stop with their
 * leader, which alone begins disabled.
 */
static int build_event(struct perch_sampler *sampler, size_t index, const struct perch_events *events,
		       const struct perch_sampler_options *options, struct perch_error *err)
{
	struct perch__sampler_event *event = &sampler->events[index];
	const struct perch_event *from = &events->event[index];
	struct perch_options wanted = options ? options->event : (struct perch_options){ 0 };
	int rc;

	if (wanted.write_backward || from->attr.write_backward)
		return refuse_backward(from->name, err);
	wanted.machine = sampler->machine;
	wanted.sample |= from->attr.sample_type | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME;
	wanted.sample_id_all = 1;
	if (events->nr > 1)
		wanted.sample |= PERCH_SAMPLE_IDENTIFIER;
	if (from->attr.sample_period) {
		wanted.period = from->attr.freq ? 0 : from->attr.sample_period;
		wanted.frequency = from->attr.freq ? from->attr.sample_freq : 0;
	}
	if (index)
		wanted.follow = 0;
	if (from->leader != (int)index) {
		wanted.enabled = 1;
		wanted.enable_on_exec = 0;
		wanted.pinned = wanted.exclusive = 0;
	}
	rc = perch_attr_build(&event->attr, from, &wanted, err);
	if (rc < 0)
		return rc;
	snprintf(event->name, sizeof(event->name), "%s", from->name);
	event->leader = from->leader;
	event->precise_max = from->precise_max;
	event->cpus = pmu_cpus(sampler->machine, event->attr.type);
	if (event->precise_max)
		event->attr.precise_ip = 3;
	return 0;
}

/* The error of a try that another one made up for is nobody's business: only the last one is told. */
static int tell(struct perch_error *err, const struct perch_error *said, int rc)
{
	if (err)
		*err = *said;
	return rc;
}

/* 1: opened; 0: not on this CPU, or the thread is gone while there are others. */
static int open_one(struct perch_sampler *sampler, size_t index, int cpu, size_t thread, int *fds, struct perch_error *err)
{
	struct perch__sampler_event *event = &sampler->events[index];
	struct perch_target target = sampler->target;
	bool leads = event->leader == (int)index;
	int group = leads ? -1 : fds[event->leader];
	struct perch_error said = { 0 };
	int fd;

	if (!has_cpu(event->cpus, cpu))
		return 0;
	/* a member whose leader is not here would count alone, enabled from the start */
	if (!leads && group < 0)
		return 0;
	target.cpu = cpu;
	if (sampler->threads)
		target.pid = sampler->threads[thread];
	fd = perch_open(&event->attr, &target, group, 0, sampler->machine, &said);
	while (fd < 0 && event->precise_max && event->attr.precise_ip && fd != -ESRCH && fd != -EACCES) {
		event->attr.precise_ip--;
		fd = perch_open(&event->attr, &target, group, 0, sampler->machine, &said);
	}
	if (fd == -ESRCH && sampler->nr_threads > 1)
		return 0;
	if (fd < 0)
		return tell(err, &said, fd);
	event->precise_max = false;	/* settled, and the same on every CPU */
	fds[index] = fd;
	return 1;
}

static int map_lane(struct perch_sampler *sampler, struct perch__lane *lane, int fd, struct perch_error *err)
{
	struct perch_error said = { 0 };
	int rc;

	for (;;) {
		rc = perch_ring_open(&lane->ring, fd, sampler->ring_pages, sampler->machine, &said);
		if (rc >= 0)
			return rc;
		if (rc != -EPERM || !sampler->shrink || sampler->ring_pages <= PERCH__RING_MIN_PAGES)
			return tell(err, &said, rc);
		sampler->ring_pages /= 2;
	}
}

static int attach(struct perch_sampler *sampler, struct perch__lane *lane, size_t index, int fd, struct perch_error *err)
{
	const struct perch_calls *calls = perch_machine_calls(sampler->machine);
	struct perch__sampler_event *event = &sampler->events[index];
	uint64_t id = 0;
	int owner;

	if (calls->control(calls->context, fd, PERCH_IOC_ID, (unsigned long)&id) < 0)
		return perch_error_set(err, errno, PERCH_CAUSE_SYSTEM, "no id for event '%s': %s", event->name,
				       strerror(errno));
	event->ids[event->nr_ids++] = id;
	if (!lane->ring) {
		int rc = map_lane(sampler, lane, fd, err);

		while (lane->fds[lane->polled] != fd)
			lane->polled++;
		return rc;
	}
	owner = lane->fds[lane->polled];
	if (calls->control(calls->context, fd, PERCH_IOC_SET_OUTPUT, (unsigned long)owner) < 0)
		return perch_error_set(err, errno, PERCH_CAUSE_SYSTEM, "event '%s' cannot write into the ring of '%s': %s",
				       event->name, sampler->events[0].name, strerror(errno));
	return 0;
}

static int open_cpu(struct perch_sampler *sampler, size_t cpu_index, struct perch_error *err)
{
	struct perch__lane *lane = &sampler->lanes[sampler->nr_lanes];
	int *fds = sampler->fds + cpu_index * sampler->nr_threads * sampler->nr_events;
	int cpu = sampler->cpus->cpu[cpu_index];

	lane->fds = fds;
	for (size_t thread = 0; thread < sampler->nr_threads; thread++, fds += sampler->nr_events)
		for (size_t index = 0; index < sampler->nr_events; index++) {
			int rc = open_one(sampler, index, cpu, thread, fds, err);

			if (rc > 0)
				rc = attach(sampler, lane, index, fds[index], err);
			if (rc < 0) {
				sampler->nr_lanes += lane->ring != NULL;
				return rc;
			}
		}
	if (lane->ring)
		sampler->polls[sampler->nr_lanes++] = (struct pollfd){ lane->fds[lane->polled], POLLIN, 0 };
	return 0;
}

static int allocate(struct perch_sampler *sampler, struct perch_error *err)
{
	size_t each, all;

	if (__builtin_mul_overflow(sampler->cpus->nr, sampler->nr_threads, &each) ||
	    __builtin_mul_overflow(each, sampler->nr_events, &all) || all > INT32_MAX)
		return perch_error_set(err, EINVAL, PERCH_CAUSE_USAGE, "too many events, threads and CPUs for a sampler");
	sampler->fds = malloc(all * sizeof(*sampler->fds));
	sampler->lanes = calloc(sampler->cpus->nr, sizeof(*sampler->lanes));
	sampler->polls = calloc(sampler->cpus->nr, sizeof(*sampler->polls));
	if (!sampler->fds || !sampler->lanes || !sampler->polls)
		return no_memory(err);
	sampler->nr_fds = all;
	memset(sampler->fds, 0xff, all * sizeof(*sampler->fds));
	for (size_t i = 0; i < sampler->nr_events; i++) {
		sampler->events[i].ids = calloc(each, sizeof(uint64_t));
		if (!sampler->events[i].ids)
			return no_memory(err);
	}
	return 0;
}

/* Which CPUs, which threads. */
static int choose(struct perch_sampler *sampler, const struct perch_target *target,
		  const struct perch_sampler_options *options, struct perch_error *err)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	int rc;

	sampler->target = *target;
	sampler->nr_threads = 1;
	if (options && options->nr_threads && options->threads) {
		sampler->threads = options->threads;
		sampler->nr_threads = options->nr_threads;
	}
	if (target->cpu >= 0) {
		sampler->one_cpu_number = target->cpu;
		sampler->one_cpu = (struct perch_cpus){ 1, &sampler->one_cpu_number };
		sampler->cpus = &sampler->one_cpu;
	} else if (options && options->cpus && options->cpus->nr) {
		sampler->cpus = options->cpus;
	} else {
		rc = perch_machine_cpus(sampler->machine, &sampler->cpus, err);
		if (rc < 0)
			return rc;
	}
	sampler->ring_pages = options ? options->ring_pages : 0;
	sampler->shrink = !sampler->ring_pages;
	if (sampler->shrink)
		sampler->ring_pages = PERCH__RING_BYTES / page_bytes ? PERCH__RING_BYTES / page_bytes : 1;
	return 0;
}

static int make_decoder(struct perch_sampler *sampler, struct perch_error *err)
{
	struct perch_decoder_event *events = calloc(sampler->nr_events, sizeof(*events));
	int rc;

	if (!events)
		return no_memory(err);
	for (size_t i = 0; i < sampler->nr_events; i++)
		events[i] = (struct perch_decoder_event){ &sampler->events[i].attr, sampler->events[i].ids,
							  sampler->events[i].nr_ids };
	rc = perch_decoder_new(&sampler->decoder, events, sampler->nr_events, err);
	free(events);
	return rc;
}

static int open_all(struct perch_sampler *sampler, const struct perch_events *events,
		    const struct perch_sampler_options *options, struct perch_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < sampler->nr_events && rc >= 0; i++)
		rc = build_event(sampler, i, events, options, err);
	if (rc >= 0)
		rc = allocate(sampler, err);
	for (size_t i = 0; rc >= 0 && i < sampler->cpus->nr; i++)
		rc = open_cpu(sampler, i, err);
	if (rc >= 0 && !sampler->nr_lanes && sampler->nr_threads > 1)
		rc = perch_error_set(err, ESRCH, PERCH_CAUSE_NO_PROCESS, "none of the %zu threads to sample is there any more",
				     sampler->nr_threads);
	else if (rc >= 0 && !sampler->nr_lanes)
		rc = perch_error_set(err, ENODEV, PERCH_CAUSE_NO_CPU, "the PMU of '%s' has none of the CPUs asked for",
				     sampler->events[0].name);
	sampler->threads = NULL;	/* the caller's memory, like the list of CPUs: not needed from here on */
	sampler->cpus = NULL;
	return rc < 0 ? rc : make_decoder(sampler, err);
}

int perch_sampler_open_events(struct perch_sampler **sampler, const struct perch_events *events,
			      const struct perch_target *target, const struct perch_sampler_options *options,
			      struct perch_error *err)
{
	struct perch_sampler *made = calloc(1, sizeof(*made));
	int rc = 0;

	*sampler = NULL;
	if (!made)
		return no_memory(err);
	if (!events->nr || events->nr > UINT16_MAX) {
		free(made);
		return perch_error_set(err, EINVAL, PERCH_CAUSE_USAGE, "a sampler of %zu events", events->nr);
	}
	made->machine = options ? options->event.machine : NULL;
	made->own_machine = !made->machine;
	made->nr_events = events->nr;
	made->events = calloc(events->nr, sizeof(*made->events));
	if (!made->events)
		rc = no_memory(err);
	if (rc >= 0 && made->own_machine)
		rc = perch_machine_new(&made->machine, NULL, NULL, err);
	if (rc >= 0)
		rc = choose(made, target, options, err);
	if (rc >= 0)
		rc = open_all(made, events, options, err);
	if (rc < 0) {
		perch_sampler_close(made);
		return rc;
	}
	*sampler = made;
	return 0;
}

int perch_sampler_open(struct perch_sampler **sampler, const char *events, const struct perch_target *target,
		       const struct perch_sampler_options *options, struct perch_error *err)
{
	struct perch_events parsed = { 0 };
	int rc;

	*sampler = NULL;
	rc = perch_events_parse(&parsed, events, options ? options->event.machine : NULL, err);
	if (rc < 0)
		return rc;
	rc = perch_sampler_open_events(sampler, &parsed, target, options, err);
	perch_events_clear(&parsed);
	return rc;
}
