/* SPDX-License-Identifier: MIT */
/* Opens a sampler: every event on every CPU and thread, and one ring per CPU. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "record/group_decoder.h"

static int no_memory(struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for a sampler");
}

/* Several attempts may fail before one succeeds. Only the error of the last attempt is reported. */
static int report_error(struct perch_error *err, const struct perch_error *attempt, int rc)
{
	if (err)
		*err = *attempt;
	return rc;
}

/* Returns the thread or cgroup, and the CPU, that an event is opened for. */
static struct perch_target target_of(const struct perch_sampler *sampler, size_t index, int cpu,
				     size_t thread)
{
	struct perch_target target = sampler->target;

	target.cpu = cpu;
	if (sampler->threads)
		target.tid = sampler->threads[thread];
	if (sampler->events[index].cgroup_fd > 0) {
		target.cgroup_fd = sampler->events[index].cgroup_fd;
		target.use_cgroup = 1;
	}
	return target;
}

/* Makes one open call, or several to find the precision and the optional parts that the kernel
 * accepts. The attr is then what the kernel accepted. */
static int open_attempt(struct perch_sampler *sampler, struct perch__sampler_event *event,
			const struct perch_target *target, int group, struct perch_error *attempt)
{
	for (;;) {
		struct perch_attr missing_features = { 0 };
		int fd = perch_open_optional(&event->attr, sampler->optional, &missing_features,
					     target, group, 0, sampler->machine, attempt);

		for (size_t i = 0; fd >= 0 && i < sizeof(missing_features); i++)
			((unsigned char *)&event->missing_features)[i] |=
				((const unsigned char *)&missing_features)[i];
		if (fd >= 0 || !event->precise_max || !event->attr.precise_ip || fd == -ESRCH ||
		    fd == -EACCES)
			return fd;
		event->attr.precise_ip--;
	}
}

/* Returns 1 if opened; 0 if the event is not for this CPU, or if one of several threads has ended.
 */
static int open_one(struct perch_sampler *sampler, size_t index, int cpu, size_t thread, int *fds,
		    struct perch_error *err)
{
	struct perch__sampler_event *event = &sampler->events[index];
	struct perch_target target = target_of(sampler, index, cpu, thread);
	bool leads = event->leader == (int)index;
	int group = leads ? -1 : fds[event->leader];
	struct perch_error attempt = { 0 };
	int fd;

	if (!perch_cpus_contains(event->cpus, cpu) ||
	    (!perch__is_tracking_event(sampler, index) &&
	     !perch_cpus_contains(sampler->event_cpus, cpu)))
		return 0;
	/* a member without its leader would be a group of its own, enabled from the start */
	if (!leads && group < 0)
		return 0;
	fd = open_attempt(sampler, event, &target, group, &attempt);
	if (fd == -ESRCH && sampler->nr_threads > 1)
		return 0;
	if (!leads && event->weak && (fd == -EINVAL || fd == -EBADF))
		sampler->refused_group = event->leader;
	if (fd < 0) {
		if (!perch__is_tracking_event(sampler, index))
			perch_error_prefix(&attempt, "%s: ", event->name);
		return report_error(err, &attempt, fd);
	}
	event->precise_max = false; /* found: the same precision holds on every CPU */
	fds[index] = fd;
	if (event->filter && perch_event_set_filter(fd, event->filter, &event->attr,
						    sampler->machine, &attempt) < 0) {
		perch_error_prefix(&attempt, "event '%s', ", event->name);
		return report_error(err, &attempt, -attempt.errnum);
	}
	return 1;
}

static int map_ring(struct perch_sampler *sampler, struct perch__cpu_ring *cpu_ring, int fd,
		    struct perch_error *err)
{
	enum perch_ring_mode mode = cpu_ring->backward ? PERCH_RING_OVERWRITE : PERCH_RING_FORWARD;
	bool tracking = sampler->overwrite && !cpu_ring->backward;
	size_t *pages = tracking ? &sampler->tracking_pages : &sampler->ring_pages;
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct perch_error attempt = { 0 };
	int rc;

	for (;;) {
		rc = perch_ring_open(&cpu_ring->ring, fd, *pages, mode, sampler->machine, &attempt);
		if (rc >= 0)
			return rc;
		if (rc != -EPERM || !(sampler->may_shrink || tracking) ||
		    *pages <= PERCH__MIN_RING_PAGES ||
		    (!tracking && *pages / 2 * page_bytes <= sampler->min_ring_bytes))
			return report_error(err, &attempt, rc);
		*pages /= 2;
	}
}

/* Explains a failed ioctl by errno. owner_fd is the descriptor whose ring the CPU uses. */
static int explain_ioctl(struct perch_sampler *sampler, size_t index,
			 const struct perch__id_info *info, unsigned long request, int owner_fd,
			 struct perch_error *err)
{
	size_t owner = sampler->rings[info->ring].polled % sampler->nr_events;
	size_t thread = sampler->rings[info->ring].polled / sampler->nr_events;
	const struct perch_open_call_leader other = {
		.attr = &sampler->events[owner].attr,
		.pid = target_of(sampler, owner, info->cpu, thread).tid,
		.cpu = info->cpu,
		.has_ring = true,
	};
	const struct perch_operation operation = {
		.kind = PERCH_OPERATION_IOCTL,
		.errnum = errno,
		.attr = &sampler->events[index].attr,
		.pid = info->pid,
		.cpu = info->cpu,
		.request = request,
		.argument = (unsigned long)owner_fd,
		.other_fd = owner_fd,
		.other = request == PERCH_IOC_SET_OUTPUT ? &other : NULL,
	};
	struct perch_explanation explanation;

	perch_explain_operation(&operation, sampler->machine, &explanation);
	perch_explanation_error(&explanation, err);
	perch_error_prefix(err, "event '%s': ", sampler->events[index].name);
	return -operation.errnum;
}

static int attach_to_ring(struct perch_sampler *sampler, size_t index, int fd,
			  const struct perch__id_info *info, struct perch_error *err)
{
	struct perch__cpu_ring *cpu_ring = &sampler->rings[info->ring];
	const struct perch_syscalls *calls = perch_machine_syscalls(sampler->machine);
	struct perch__sampler_event *event = &sampler->events[index];
	uint64_t id = 0;
	int owner;

	if (calls->ioctl(calls->context, fd, PERCH_IOC_ID, (unsigned long)&id) < 0)
		return explain_ioctl(sampler, index, info, PERCH_IOC_ID, 0, err);
	event->id_info[event->nr_ids] = *info;
	event->ids[event->nr_ids++] = id;
	if (!cpu_ring->ring) {
		int rc = map_ring(sampler, cpu_ring, fd, err);

		while (cpu_ring->fds[cpu_ring->polled] != fd)
			cpu_ring->polled++;
		return rc;
	}
	owner = cpu_ring->fds[cpu_ring->polled];
	if (calls->ioctl(calls->context, fd, PERCH_IOC_SET_OUTPUT, (unsigned long)owner) < 0)
		return explain_ioctl(sampler, index, info, PERCH_IOC_SET_OUTPUT, owner, err);
	return 0;
}

/* Opens every event of the current ring on one CPU and thread. */
static int open_thread(struct perch_sampler *sampler, int cpu, size_t thread, int *fds,
		       struct perch_error *err)
{
	const struct perch__cpu_ring *cpu_ring = &sampler->rings[sampler->nr_rings];
	int rc = 0;

	for (size_t index = 0; index < sampler->nr_events && rc >= 0; index++) {
		struct perch__id_info info = { cpu, target_of(sampler, index, cpu, thread).tid,
					       sampler->nr_rings, -1 };

		if (!perch__ring_has_event(sampler, cpu_ring, index))
			continue;
		rc = open_one(sampler, index, cpu, thread, fds, err);
		info.fd = fds[index];
		if (rc > 0)
			rc = attach_to_ring(sampler, index, fds[index], &info, err);
	}
	return rc;
}

static int open_cpu(struct perch_sampler *sampler, size_t cpu_index, bool backward,
		    struct perch_error *err)
{
	struct perch__cpu_ring *cpu_ring = &sampler->rings[sampler->nr_rings];
	int *fds = sampler->fds + cpu_index * sampler->nr_threads * sampler->nr_events;
	int rc = 0;

	*cpu_ring = (struct perch__cpu_ring){ .fds = fds,
					      .cpu = sampler->cpus->cpu[cpu_index],
					      .backward = backward };
	for (size_t thread = 0; thread < sampler->nr_threads && rc >= 0;
	     thread++, fds += sampler->nr_events)
		rc = open_thread(sampler, cpu_ring->cpu, thread, fds, err);
	if (cpu_ring->ring) {
		/* a ring of mode OVERWRITE is never drained: wait only for the end of its targets
		 */
		sampler->polls[sampler->nr_rings] =
			(struct pollfd){ cpu_ring->fds[cpu_ring->polled], backward ? 0 : POLLIN,
					 0 };
		sampler->nr_rings++;
	}
	return rc;
}

/* The rings of .overwrite precede the forward rings. */
static int open_cpus(struct perch_sampler *sampler, struct perch_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < sampler->cpus->nr; i++)
		rc = open_cpu(sampler, i, sampler->overwrite, err);
	if (!sampler->overwrite)
		return rc;
	sampler->nr_backward = sampler->current = sampler->nr_rings;
	for (size_t i = 0; rc >= 0 && sampler->tracking_event && i < sampler->cpus->nr; i++)
		rc = open_cpu(sampler, i, false, err);
	return rc;
}

/* True if this event, or another one of the same name, was opened on any CPU. */
static bool is_open_somewhere(const struct perch_sampler *sampler, size_t index)
{
	for (size_t i = 0; i < sampler->nr_events; i++)
		if (sampler->events[i].nr_ids &&
		    sampler->events[i].first == sampler->events[index].first)
			return true;
	return false;
}

static int check_opened(const struct perch_sampler *sampler, struct perch_error *err)
{
	for (size_t i = 0; i < sampler->nr_events; i++) {
		if (is_open_somewhere(sampler, i))
			continue;
		if (sampler->nr_threads > 1)
			return perch_error_set(err, ESRCH, PERCH_ERROR_NO_PROCESS,
					       "all %zu threads to sample have ended",
					       sampler->nr_threads);
		return perch_error_set(err, ENODEV, PERCH_ERROR_NO_CPU,
				       "the PMU of '%s' has none of the requested CPUs",
				       sampler->events[i].name);
	}
	return 0;
}

static int allocate(struct perch_sampler *sampler, struct perch_error *err)
{
	size_t max_rings = sampler->cpus->nr * (sampler->overwrite ? 2 : 1);
	size_t each, all;

	if (__builtin_mul_overflow(sampler->cpus->nr, sampler->nr_threads, &each) ||
	    __builtin_mul_overflow(each, sampler->nr_events, &all) || all > INT32_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "too many events, threads and CPUs for one sampler");
	sampler->fds = malloc(all * sizeof(*sampler->fds));
	sampler->rings = calloc(max_rings, sizeof(*sampler->rings));
	sampler->polls = calloc(max_rings, sizeof(*sampler->polls));
	if (!sampler->fds || !sampler->rings || !sampler->polls)
		return no_memory(err);
	sampler->nr_fds = all;
	memset(sampler->fds, 0xff, all * sizeof(*sampler->fds));
	for (size_t i = 0; i < sampler->nr_events; i++) {
		sampler->events[i].ids = calloc(each, sizeof(uint64_t));
		sampler->events[i].id_info = calloc(each, sizeof(struct perch__id_info));
		if (!sampler->events[i].ids || !sampler->events[i].id_info)
			return no_memory(err);
	}
	return 0;
}

/*
 * Uses the CPUs of the caller's list. With tracking_event, the tracking event is on all online
 * CPUs, and the caller's events only on the CPUs of the list.
 */
static int resolve_cpus(struct perch_sampler *sampler, const struct perch_sampler_options *options,
			struct perch_error *err)
{
	const struct perch_cpus *online;
	int rc;

	sampler->cpus = options->cpus;
	if (!options->tracking_event || !options->event.sideband)
		return 0;
	rc = perch_machine_cpus(sampler->machine, &online, err);
	for (size_t i = 0; !rc && i < options->cpus->nr; i++)
		if (!perch_cpus_contains(online, options->cpus->cpu[i]))
			return 0; /* the open call on that CPU fails and is explained */
	if (rc)
		return rc;
	sampler->cpus = online;
	sampler->event_cpus = options->cpus;
	return 0;
}

static void set_ring_sizes(struct perch_sampler *sampler,
			   const struct perch_sampler_options *options)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	sampler->overwrite = options && options->overwrite;
	sampler->ring_pages = options ? options->ring_pages : 0;
	sampler->may_shrink = !sampler->ring_pages;
	if (sampler->may_shrink)
		sampler->ring_pages =
			PERCH__RING_BYTES / page_bytes ? PERCH__RING_BYTES / page_bytes : 1;
	sampler->tracking_pages = PERCH__TRACKING_RING_BYTES / page_bytes
					  ? PERCH__TRACKING_RING_BYTES / page_bytes
					  : 1;
}

/* Finds the CPUs and threads. */
static int resolve_targets(struct perch_sampler *sampler, const struct perch_target *target,
			   const struct perch_sampler_options *options, struct perch_error *err)
{
	int rc;

	sampler->target = target ? *target : PERCH_SELF;
	sampler->nr_threads = 1;
	if (options && options->nr_threads && !options->threads)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       ".threads is NULL, but .nr_threads is %zu",
				       options->nr_threads);
	for (size_t i = 0; options && i < options->nr_threads; i++)
		if (options->threads[i] < 0)
			return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					       "%d is not a thread id", (int)options->threads[i]);
	if (options && options->nr_threads) {
		sampler->threads = options->threads;
		sampler->nr_threads = options->nr_threads;
	}
	if (sampler->target.cpu >= 0) {
		sampler->one_cpu_number = sampler->target.cpu;
		sampler->one_cpu = (struct perch_cpus){ 1, &sampler->one_cpu_number };
		sampler->cpus = &sampler->one_cpu;
	} else if (options && options->cpus && options->cpus->nr) {
		rc = resolve_cpus(sampler, options, err);
		if (rc < 0)
			return rc;
	} else {
		rc = perch_machine_cpus(sampler->machine, &sampler->cpus, err);
		if (rc < 0)
			return rc;
	}
	set_ring_sizes(sampler, options);
	return 0;
}

static int make_decoder(struct perch_sampler *sampler, struct perch_error *err)
{
	struct perch_decoder_event *events = calloc(sampler->nr_events, sizeof(*events));
	uint32_t *leader = calloc(sampler->nr_events, sizeof(*leader));
	int rc = -ENOMEM;

	for (size_t i = 0; events && leader && i < sampler->nr_events; i++) {
		events[i] = (struct perch_decoder_event){ &sampler->events[i].attr,
							  sampler->events[i].ids,
							  sampler->events[i].nr_ids };
		leader[i] = (uint32_t)sampler->events[i].leader;
	}
	if (events && leader)
		rc = perch__group_decoder_new(&sampler->decoder, events, leader, sampler->nr_events,
					      PERCH_BYTES_NATIVE, err);
	else
		no_memory(err);
	free(events);
	free(leader);
	return rc;
}

static int open_everywhere(struct perch_sampler *sampler, const struct perch_events *events,
			   const struct perch_sampler_options *options, struct perch_error *err)
{
	int rc = perch__sampler_build(sampler, events, options, err);

	for (size_t i = 0; i < events->nr; i++)
		sampler->events[i].cgroup_fd = options && options->cgroups ? options->cgroups[i]
									   : 0;
	if (rc >= 0)
		rc = allocate(sampler, err);
	if (rc >= 0)
		rc = open_cpus(sampler, err);
	return rc < 0 ? rc : check_opened(sampler, err);
}

/*
 * If the kernel refuses a weak group, the group is broken up and everything is opened again,
 * because the group's other members are already open as members.
 */
static int open_all(struct perch_sampler *sampler, const struct perch_events *events,
		    const struct perch_sampler_options *options, struct perch_error *err)
{
	struct perch_error attempt = { 0 };
	int rc;

	sampler->optional = options ? options->event.optional : NULL;
	for (size_t i = 0; i < events->nr; i++)
		sampler->events[i].leader = events->event[i].leader;
	for (;;) {
		sampler->refused_group = -1;
		rc = open_everywhere(sampler, events, options, &attempt);
		if (rc >= 0 || sampler->refused_group < 0)
			break;
		perch__sampler_close_events(sampler);
		perch__sampler_break_group(sampler, sampler->refused_group);
	}
	/* pointers to the caller's memory */
	sampler->threads = NULL;
	sampler->cpus = sampler->event_cpus = NULL;
	sampler->optional = NULL;
	for (size_t i = 0; i < sampler->nr_events; i++)
		sampler->events[i].filter = NULL;
	return rc < 0 ? report_error(err, &attempt, rc) : make_decoder(sampler, err);
}

static int check_events(const struct perch_events *events, struct perch_error *err)
{
	if (!events->nr || events->nr >= UINT16_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a sampler takes 1 to %u events, not %zu", UINT16_MAX - 1,
				       events->nr);
	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].leader < 0 || events->event[i].leader > (int)i)
			return perch_error_set(
				err, EINVAL, PERCH_ERROR_USAGE,
				"the leader of event '%s' is number %d, which does not precede it",
				events->event[i].name, events->event[i].leader);
	return 0;
}

int perch_sampler_open_events(struct perch_sampler **sampler, const struct perch_events *events,
			      const struct perch_target *target,
			      const struct perch_sampler_options *options, struct perch_error *err)
{
	struct perch_sampler *new_sampler;
	int rc;

	*sampler = NULL;
	rc = check_events(events, err);
	if (rc < 0)
		return rc;
	new_sampler = calloc(1, sizeof(*new_sampler));
	if (!new_sampler)
		return no_memory(err);
	new_sampler->machine = options ? options->event.machine : NULL;
	new_sampler->own_machine = !new_sampler->machine;
	new_sampler->nr_events = events->nr;
	new_sampler->events = calloc(events->nr + 1, sizeof(*new_sampler->events));
	if (!new_sampler->events)
		rc = no_memory(err);
	if (rc >= 0 && new_sampler->own_machine)
		rc = perch_machine_new(&new_sampler->machine, NULL, NULL, err);
	if (rc >= 0)
		rc = resolve_targets(new_sampler, target, options, err);
	if (rc >= 0)
		rc = open_all(new_sampler, events, options, err);
	if (rc < 0) {
		perch_sampler_close(new_sampler);
		return rc;
	}
	*sampler = new_sampler;
	return 0;
}

int perch_sampler_open(struct perch_sampler **sampler, const char *events,
		       const struct perch_target *target,
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
