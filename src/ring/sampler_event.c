/* SPDX-License-Identifier: MIT */
/* The attrs of a sampler's events, and of the tracking event for side-band records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/kernel/dummy_event.h"
#include "base/no_memory.h"
#include "internal.h"

#define SAMPLE_ID_BITS                                                              \
	(PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_ID | \
	 PERCH_SAMPLE_CPU | PERCH_SAMPLE_STREAM_ID | PERCH_SAMPLE_IDENTIFIER)

/* All events of a ring write in the same direction, and the ring is mapped for it. */
static int check_backward(const struct perch_event *from, const struct perch_options *wanted,
			  bool overwrite, struct perch_error *err)
{
	bool backward = wanted->write_backward || from->attr.write_backward ||
			from->terms.overwrite == PERCH_TRISTATE_YES;

	if (overwrite && from->terms.overwrite == PERCH_TRISTATE_NO) {
		perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"event '%s' has the term no-overwrite, but .overwrite is set for the sampler",
			from->name);
		perch_error_remedy(err, "remove the term, or sample without .overwrite");
	} else if (backward && !overwrite) {
		perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"event '%s' has write_backward, but .overwrite is not set for the sampler",
			from->name);
		perch_error_remedy(
			err, "set .overwrite of struct perch_sampler_options for all events, or "
			     "remove write_backward and the term overwrite");
	} else {
		return 0;
	}
	perch_error_field(err, "write_backward", NULL);
	return -EINVAL;
}

/* Returns the number of events in the group of a leader. */
static size_t count_members(const struct perch_sampler *sampler, size_t nr, int leader)
{
	size_t members = 0;

	for (size_t i = 0; i < nr; i++)
		members += sampler->events[i].leader == leader;
	return members;
}

/* Events of all processes have nothing to inherit: their samples have the counts of the CPU. */
static bool has_threads(const struct perch_sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_targets; i++)
		if (sampler->targets[i].target.tid >= 0 && !sampler->targets[i].target.use_cgroup)
			return true;
	return false;
}

/*
 * Since Linux 6.12 the kernel inherits events with PERCH_SAMPLE_READ, if samples name their thread:
 * the samples of a child have its own counts. A dummy event finds it out, because distributions
 * backport features. Other refusals than that of older kernels are those of the events, too.
 */
static bool inherits_counts(struct perch_sampler *sampler)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(sampler->machine);
	const struct perch_attr attr = {
		.type = PERCH_TYPE_SOFTWARE,
		.size = PERCH_ATTR_SIZE_VER0,
		.config = PERCH_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERCH_SAMPLE_TID | PERCH_SAMPLE_READ,
		.disabled = 1,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd;

	if (sampler->counts_inherited == PERCH_TRISTATE_UNSET) {
		fd = calls->perf_event_open(calls->context, &attr, 0, -1, -1,
					    PERCH_FLAG_FD_CLOEXEC);
		sampler->counts_inherited = fd < 0 && errno == EINVAL ? PERCH_TRISTATE_NO
								      : PERCH_TRISTATE_YES;
		if (fd >= 0)
			calls->close(calls->context, fd);
	}
	return sampler->counts_inherited == PERCH_TRISTATE_YES;
}

/*
 * Modifier S: the leader's samples have the counts of all members. The members take no samples, but
 * get the same sample_type, so that one record format holds for the group. Kernels that cannot
 * inherit it record no child.
 */
static void set_leader_sampling(struct perch_sampler *sampler, struct perch_options *wanted,
				struct perch_event *event, bool leads, size_t members)
{
	bool inherit = wanted->inherit || event->terms.inherit == PERCH_TRISTATE_YES;

	wanted->sample |= PERCH_SAMPLE_READ;
	wanted->read |= PERCH_FORMAT_ID;
	if (members > 1)
		wanted->read |= PERCH_FORMAT_GROUP;
	if (inherit && (!has_threads(sampler) || !inherits_counts(sampler))) {
		wanted->inherit = wanted->inherit_thread = wanted->inherit_stat = 0;
		event->terms.inherit = PERCH_TRISTATE_UNSET;
	}
	if (leads)
		return;
	wanted->period = wanted->frequency = 0;
	event->attr.sample_period = 0;
	event->attr.freq = 0;
}

/* A rate of the event itself replaces that of the options. */
static void use_event_rate(struct perch_options *wanted, const struct perch_attr *attr)
{
	if (!attr->sample_period)
		return;
	wanted->period = attr->freq ? 0 : attr->sample_period;
	wanted->frequency = attr->freq ? attr->sample_freq : 0;
}

/* Members of a group start and stop with their leader, so only the leader starts disabled. */
static void set_group_member(struct perch_options *wanted)
{
	wanted->enabled = 1;
	wanted->enable_on_exec = 0;
	wanted->pinned = wanted->exclusive = 0;
}

/* Most PMUs outside the cores only count. Probes of the kernel sample like tracepoints. */
static bool may_only_count(const struct perch_attr *attr, struct perch_machine *machine)
{
	const struct perch_pmu *pmu =
		attr->type < PERCH_TYPE_MAX ? NULL : perch_machine_pmu_of_type(machine, attr->type);

	return pmu && !pmu->core && strcmp(pmu->name, "kprobe") && strcmp(pmu->name, "uprobe");
}

/* The kernel accepts an event without a rate, but never takes a sample of it. */
static int check_rate(const struct perch__sampler_event *event, const struct perch_options *options,
		      struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_attr *attr = &event->attr;

	if (attr->sample_period || perch__is_dummy(attr) || options->sideband ||
	    options->inherit_stat || may_only_count(attr, machine))
		return 0;
	perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
			"event '%s' needs a period or a frequency to take samples", event->name);
	perch_error_field(err, "sample_period", NULL);
	perch_error_remedy(
		err,
		"set .event.frequency or .event.period of struct perch_sampler_options, or give the "
		"event a term, as in cycles/freq=1000/");
	return -EINVAL;
}

/*
 * Returns the minimum size of a sample of a user thread: one word per field, the registers, and the
 * stack. Only samples of kernel threads have no stack.
 */
static size_t min_sample_size(const struct perch_attr *attr)
{
	size_t words = 1 + (size_t)__builtin_popcountll(attr->sample_type), bytes = 0;

	if (attr->sample_type & PERCH_SAMPLE_REGS_USER)
		words += (size_t)__builtin_popcountll(attr->sample_regs_user);
	if (attr->sample_type & PERCH_SAMPLE_REGS_INTR)
		words += (size_t)__builtin_popcountll(attr->sample_regs_intr);
	if (attr->sample_type & PERCH_SAMPLE_STACK_USER && attr->sample_stack_user)
		/* and dyn_size */
		bytes = sizeof(uint64_t) + attr->sample_stack_user;
	bytes += words * sizeof(uint64_t);
	return bytes < PERCH__MAX_RECORD_SIZE ? bytes : PERCH__MAX_RECORD_SIZE;
}

/*
 * A sample that is larger than its ring is always lost, and in a ring of mode OVERWRITE it
 * overwrites itself. After a loss the kernel writes a LOST record together with the next sample, so
 * the ring must hold both.
 */
static int check_ring_size(struct perch_sampler *sampler, size_t index, struct perch_error *err)
{
	const struct perch__sampler_event *event = &sampler->events[index];
	size_t least = event->attr.sample_period
			       ? min_sample_size(&event->attr) + PERCH__MAX_LOST_SIZE
			       : 0;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = 1;

	if (least > sampler->min_ring_bytes)
		sampler->min_ring_bytes = least;
	if (sampler->ring_pages > SIZE_MAX / page || least < sampler->ring_pages * page)
		return 0;
	while (pages * page <= least)
		pages *= 2;
	if (sampler->may_shrink) {
		sampler->ring_pages = pages;
		return 0;
	}
	perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
			"%s: a ring of %zu KiB is too small for a sample of at least %zu bytes",
			event->name, sampler->ring_pages * page / 1024,
			least - PERCH__MAX_LOST_SIZE);
	perch_error_field(err, event->attr.sample_stack_user ? "sample_stack_user" : "sample_type",
			  NULL);
	perch_error_remedy(err, "use rings of at least %zu pages (%zu KiB)%s", pages,
			   pages * page / 1024,
			   event->attr.sample_stack_user ? ", or copy less of the stack" : "");
	return -EINVAL;
}

/* The kernel refuses to map the ring of an inherited event that is on any CPU. */
static int check_per_thread(const struct perch_sampler *sampler, const struct perch_attr *attr,
			    const char *name, struct perch_error *err)
{
	if (!sampler->per_thread || !attr->inherit)
		return 0;
	perch_error_set(err, EINVAL, PERCH_ERROR_CONFLICT,
			"event '%s' has inherit, but .per_thread maps the ring of an event on any "
			"CPU, which the kernel refuses for inherited events",
			name);
	perch_error_field(err, "inherit", NULL);
	perch_error_remedy(err,
			   "remove inherit and add each thread with perch_sampler_add_thread(), or "
			   "sample without .per_thread: one ring per CPU");
	return -EINVAL;
}

/* Threads that are added later need these strings, which are the caller's. */
static int copy_strings(struct perch__sampler_event *event, const struct perch_event *from,
			struct perch_error *err)
{
	if (from->filter && !event->filter) {
		event->filter = strdup(from->filter);
		if (!event->filter)
			return PERCH__NO_MEMORY(err, "for a sampler");
	}
	if (!from->path)
		return 0;
	if (!event->path)
		event->path = strdup(from->path);
	if (!event->path)
		return PERCH__NO_MEMORY(err, "for a sampler");
	event->attr.config1 = (uintptr_t)event->path;
	return 0;
}

/* Index of the first event that is not skipped. */
static size_t first_open(const struct perch_sampler *sampler)
{
	size_t index = 0;

	while (sampler->events[index].skipped)
		index++;
	return index;
}

static int build_event(struct perch_sampler *sampler, size_t index,
		       const struct perch_events *events, const struct perch_options *options,
		       struct perch_error *err)
{
	struct perch__sampler_event *event = &sampler->events[index];
	struct perch_event from = events->event[index];
	const struct perch_event *leader = &events->event[event->leader];
	struct perch_options wanted = *options;
	bool leads = event->leader == (int)index;
	int rc;

	rc = check_backward(&from, &wanted, sampler->overwrite, err);
	if (rc < 0)
		return rc;
	wanted.write_backward = sampler->overwrite;
	wanted.self_monitoring = 0; /* only for counters; arm64 refuses it on whole CPUs */
	wanted.sample |= from.attr.sample_type;
	from.attr.sample_type = 0; /* perch_attr_build() refuses what the options set */
	use_event_rate(&wanted, &from.attr);
	if (index != first_open(sampler) || sampler->tracking_event)
		wanted.sideband = wanted.defer_output = 0;
	if (leader->leader_sampling)
		set_leader_sampling(sampler, &wanted, &from, leads,
				    count_members(sampler, events->nr, event->leader));
	if (!leads)
		set_group_member(&wanted);
	rc = perch_attr_build(&event->attr, &from, &wanted, err);
	if (rc >= 0)
		rc = check_per_thread(sampler, &event->attr, from.name, err);
	if (rc < 0)
		return rc;
	snprintf(event->name, sizeof(event->name), "%s", from.name);
	rc = leads || !leader->leader_sampling ? check_rate(event, options, sampler->machine, err)
					       : 0;
	if (rc < 0)
		return rc;
	memset(&event->missing_features, 0, sizeof(event->missing_features));
	event->first = from.first;
	event->weak = leader->weak;
	event->user_only = false;
	event->precise_max = from.precise_max;
	event->cpus = perch_attr_cpus(&event->attr, sampler->machine);
	if (event->precise_max)
		event->attr.precise_ip = 3;
	return copy_strings(event, &from, err);
}

/* True if the first event can write the side-band records of all targets, on all CPUs, all the
 * time. */
static bool first_event_tracks_all(const struct perch_sampler *sampler,
				   const struct perch_options *options)
{
	const struct perch__sampler_event *first = &sampler->events[first_open(sampler)];

	if (first->attr.pinned || first->attr.inherit != options->inherit ||
	    !(first->attr.sample_type & PERCH_SAMPLE_TIME))
		return false;
	for (size_t i = 0; i < sampler->nr_targets; i++)
		if (sampler->targets[i].target.cpu >= 0 &&
		    !perch_cpus_contains(first->cpus, sampler->targets[i].target.cpu))
			return false;
	return true;
}

/* The tracking event counts nothing. It needs no more rights than the first event: an unprivileged
 * user's events exclude the kernel. */
static int build_tracking_event(struct perch_sampler *sampler, size_t index,
				const struct perch_options *options, struct perch_error *err)
{
	struct perch__sampler_event *event = &sampler->events[index];
	const struct perch_attr *first = &sampler->events[first_open(sampler)].attr;
	struct perch_event dummy = {
		.name = "dummy",
		.attr = { .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_DUMMY },
		.leader = (int)index,
		.members = 1,
		.first = (int)index,
		.scale = 1.0,
	};
	struct perch_options wanted = {
		.period = 1,
		.sample = options->sample & SAMPLE_ID_BITS,
		.read = options->read & ~(uint64_t)PERCH_FORMAT_GROUP,
		.sideband = options->sideband,
		.wakeup_events = options->wakeup_events,
		.wakeup_bytes = options->wakeup_bytes,
		.enabled = 1,
		.inherit = options->inherit,
		.inherit_thread = options->inherit_thread,
		.sample_id_all = 1,
		.exclude_kernel = first->exclude_kernel,
		.exclude_hv = first->exclude_hv,
		.remove_on_exec = options->remove_on_exec,
		.defer_output = options->defer_output,
		.use_clockid = options->use_clockid,
		.clockid = options->clockid,
		.optional = options->optional,
		.machine = options->machine,
	};

	memcpy(event->name, dummy.name, strlen(dummy.name) + 1);
	event->leader = event->first = (int)index;
	return perch_attr_build(&event->attr, &dummy, &wanted, err);
}

static int build_all(struct perch_sampler *sampler, const struct perch_events *events,
		     const struct perch_options *options, struct perch_error *err)
{
	int rc = 0;

	sampler->min_ring_bytes = 0;
	for (size_t i = 0; i < events->nr && rc >= 0; i++) {
		if (sampler->events[i].skipped)
			continue;
		rc = build_event(sampler, i, events, options, err);
		if (rc >= 0)
			rc = check_ring_size(sampler, i, err);
	}
	return rc;
}

int perch__sampler_build(struct perch_sampler *sampler, const struct perch_events *events,
			 const struct perch_sampler_options *options, struct perch_error *err)
{
	struct perch_options wanted = options->event;
	bool several = events->nr > 1;
	int rc;

	wanted.machine = sampler->machine;
	wanted.sample |= PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
			 (several ? PERCH_SAMPLE_IDENTIFIER : 0);
	wanted.sample_id_all = 1;
	sampler->tracking_event =
		(wanted.sideband || wanted.defer_output) &&
		(options->tracking_event || options->event_targets || options->overwrite);
	if (sampler->tracking_event)
		wanted.sample |= PERCH_SAMPLE_IDENTIFIER;
	rc = build_all(sampler, events, &wanted, err);
	if (rc < 0)
		return rc;
	if ((wanted.sideband || wanted.defer_output) && !sampler->tracking_event &&
	    !first_event_tracks_all(sampler, &wanted)) {
		sampler->tracking_event = true;
		wanted.sample |= PERCH_SAMPLE_IDENTIFIER;
		rc = build_all(sampler, events, &wanted, err);
	}
	sampler->nr_events = events->nr + sampler->tracking_event;
	if (rc >= 0 && sampler->tracking_event)
		rc = build_tracking_event(sampler, events->nr, &wanted, err);
	return rc;
}

void perch__sampler_break_group(struct perch_sampler *sampler, int leader)
{
	for (size_t i = 0; i < sampler->nr_events; i++)
		if (sampler->events[i].leader == leader)
			sampler->events[i].leader = (int)i;
}

int perch__sampler_skip_event(struct perch_sampler *sampler, size_t nr, size_t index,
			      const struct perch_error *reason, struct perch_error *err)
{
	struct perch__sampler_event *event = &sampler->events[index];
	size_t skipped = 0;
	int leader = -1;

	event->skipped = malloc(sizeof(*event->skipped));
	if (!event->skipped)
		return PERCH__NO_MEMORY(err, "for a sampler");
	*event->skipped = *reason;
	for (size_t i = index + 1; i < nr; i++) {
		if (sampler->events[i].leader != (int)index)
			continue;
		if (leader < 0 && !sampler->events[i].skipped)
			leader = (int)i;
		if (leader >= 0)
			sampler->events[i].leader = leader;
	}
	event->leader = (int)index;
	while (skipped < nr && sampler->events[skipped].skipped)
		skipped++;
	if (skipped < nr)
		return 0;
	if (err)
		*err = *sampler->events[0].skipped;
	return -sampler->events[0].skipped->errnum;
}
