/* SPDX-License-Identifier: MIT */
/* Opens and closes a sampler: every event on every target, and the rings. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/reserved.h"
#include "base/no_memory.h"
#include "internal.h"
#include "record/group_decoder.h"

/* Closes all descriptors and rings. The events and targets stay and can be opened again. */
static void close_sampler_events(struct perch_sampler *sampler)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(sampler->machine);

	perch_merge_free(sampler->merge);
	sampler->merge = NULL;
	for (size_t i = 0; i < sampler->nr_rings; i++)
		perch_ring_close(sampler->rings[i].ring);
	for (size_t i = 0; i < sampler->nr_fds; i++) {
		if (sampler->fds[i] >= 0)
			calls->close(calls->context, sampler->fds[i]);
		sampler->fds[i] = -1;
	}
	for (size_t i = 0; i < sampler->nr_targets; i++) {
		sampler->targets[i].ring[0] = sampler->targets[i].ring[1] = PERCH__NO_INDEX;
		sampler->targets[i].ended = false;
	}
	for (size_t i = 0; sampler->events && i < sampler->nr_events; i++)
		sampler->events[i].nr_ids = 0;
	sampler->nr_rings = sampler->current = 0;
}

static void free_events(struct perch_sampler *sampler)
{
	for (size_t i = 0; sampler->events && i < sampler->nr_events; i++) {
		struct perch__sampler_event *event = &sampler->events[i];

		free(event->ids);
		free(event->id_info);
		free(event->filter);
		free(event->path);
		free(event->skipped);
	}
	free(sampler->events);
}

void perch_sampler_close(struct perch_sampler *sampler)
{
	if (!sampler)
		return;
	if (sampler->machine)
		close_sampler_events(sampler);
	if (sampler->epoll >= 0)
		close(sampler->epoll);
	if (sampler->timer >= 0)
		close(sampler->timer);
	perch_decoder_free(sampler->decoder);
	free_events(sampler);
	free(sampler->targets);
	free(sampler->fds);
	free(sampler->fd_state);
	free(sampler->rings);
	free(sampler->polls);
	free(sampler->merge_rings);
	if (sampler->own_machine)
		perch_machine_free(sampler->machine);
	free(sampler);
}

/* True if this event, or another one of the same name, was opened on any target. */
static bool is_open_somewhere(const struct perch_sampler *sampler, size_t index)
{
	for (size_t i = 0; i < sampler->nr_events; i++)
		if (sampler->events[i].nr_ids &&
		    sampler->events[i].first == sampler->events[index].first)
			return true;
	return false;
}

static bool all_have_ended(const struct perch_sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_targets; i++)
		if (!sampler->targets[i].ended)
			return false;
	return true;
}

/* An event that PERCH_MAY_SKIP allows to be missing has its reason. */
static int check_opened(struct perch_sampler *sampler, struct perch_error *err)
{
	for (size_t i = 0; i < sampler->nr_events; i++) {
		const struct perch__sampler_event *event = &sampler->events[i];

		if (event->skipped || is_open_somewhere(sampler, i))
			continue;
		if (all_have_ended(sampler))
			return perch_error_set(err, ESRCH, PERCH_ERROR_NO_PROCESS,
					       "all threads to sample have ended");
		if (sampler->may & PERCH_MAY_SKIP && !perch__is_tracking_event(sampler, i))
			sampler->unsupported = (int)i;
		perch_error_set(err, ENODEV, PERCH_ERROR_NO_CPU,
				"the PMU of '%s' has none of the requested CPUs", event->name);
		return -ENODEV;
	}
	return 0;
}

int perch__sampler_make_decoder(struct perch_sampler *sampler, struct perch_error *err)
{
	struct perch_decoder_event *events = calloc(sampler->nr_events, sizeof(*events));
	uint32_t *leader = calloc(sampler->nr_events, sizeof(*leader));
	struct perch_decoder *decoder;
	int rc = -ENOMEM;

	for (size_t i = 0; events && leader && i < sampler->nr_events; i++) {
		events[i].attr = &sampler->events[i].attr;
		events[i].ids = sampler->events[i].ids;
		events[i].nr_ids = sampler->events[i].nr_ids;
		leader[i] = (uint32_t)sampler->events[i].leader;
	}
	if (events && leader)
		rc = perch__group_decoder_new(&decoder, events, leader, sampler->nr_events,
					      PERCH_BYTES_NATIVE, err);
	else
		PERCH__NO_MEMORY(err, "for a sampler");
	free(events);
	free(leader);
	if (rc < 0)
		return rc;
	if (sampler->merge)
		perch__merge_set_decoder(sampler->merge, decoder);
	perch_decoder_free(sampler->decoder);
	sampler->decoder = decoder;
	return 0;
}

/* The rings of .overwrite precede the forward rings. */
static int open_targets(struct perch_sampler *sampler, struct perch_error *err)
{
	int rc = perch__sampler_reserve_fds(sampler, err);

	for (int backward = sampler->overwrite; rc >= 0 && backward >= 0; backward--)
		for (size_t i = 0; rc >= 0 && i < sampler->nr_targets; i++)
			rc = perch__sampler_open_target(sampler, i, backward, err);
	return rc;
}

static int open_everywhere(struct perch_sampler *sampler, const struct perch_events *events,
			   const struct perch_sampler_options *options, struct perch_error *err)
{
	int rc = perch__sampler_build(sampler, events, options, err);

	if (rc >= 0)
		rc = open_targets(sampler, err);
	return rc < 0 ? rc : check_opened(sampler, err);
}

/*
 * If the kernel refuses a weak group, the group is broken up, and an event that may be skipped is
 * left out. Then everything is opened again, because the group's other members are already open as
 * members, and the event may own a ring. So it is with smaller rings, if the limit of locked memory
 * leaves nothing for the last ones.
 */
static int open_all(struct perch_sampler *sampler, const struct perch_events *events,
		    const struct perch_sampler_options *options, struct perch_error *err)
{
	int rc;

	for (size_t i = 0; i < events->nr; i++)
		sampler->events[i].leader = events->event[i].leader;
	for (;;) {
		struct perch_error attempt = { 0 };

		sampler->refused_group = sampler->unsupported = -1;
		sampler->too_large = false;
		rc = open_everywhere(sampler, events, options, &attempt);
		if (rc >= 0)
			break;
		if (sampler->refused_group < 0 && sampler->unsupported < 0 && !sampler->too_large) {
			if (err)
				*err = attempt;
			return rc;
		}
		close_sampler_events(sampler);
		if (sampler->too_large)
			continue;
		if (sampler->refused_group >= 0) {
			perch__sampler_break_group(sampler, sampler->refused_group);
			continue;
		}
		rc = perch__sampler_skip_event(sampler, events->nr, (size_t)sampler->unsupported,
					       &attempt, err);
		if (rc < 0)
			return rc;
	}
	return perch__sampler_make_decoder(sampler, err);
}

static int check_events(const struct perch_events *events, struct perch_error *err)
{
	if (!events->nr || events->nr >= UINT16_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a sampler takes 1 to %u events, not %zu", UINT16_MAX - 1,
				       events->nr);
	if (PERCH__CHECK_RESERVED(events, "perch_events", err))
		return -EINVAL;
	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].leader < 0 || events->event[i].leader > (int)i)
			return perch_error_set(
				err, EINVAL, PERCH_ERROR_USAGE,
				"the leader of event '%s' is number %d, which does not precede it",
				events->event[i].name, events->event[i].leader);
	return 0;
}

/* The kernel opens a member only on the target of its leader. */
static int check_event_targets(const struct perch_events *events,
			       const struct perch_sampler_options *options, struct perch_error *err)
{
	for (size_t i = 0; options->event_targets && i < events->nr; i++) {
		const struct perch_event *event = &events->event[i],
					 *leader = &events->event[event->leader];

		if (options->event_targets[i] != options->event_targets[event->leader])
			return perch_error_set(
				err, EINVAL, PERCH_ERROR_BAD_GROUP,
				"'%s' has other .event_targets than its group leader '%s'",
				event->name, leader->name);
	}
	return 0;
}

static struct perch_sampler *new_sampler(const struct perch_sampler_options *options, size_t nr,
					 struct perch_error *err)
{
	struct perch_sampler *sampler = calloc(1, sizeof(*sampler));

	if (sampler)
		sampler->events = calloc(nr + 1, sizeof(*sampler->events));
	if (!sampler || !sampler->events) {
		free(sampler);
		PERCH__NO_MEMORY(err, "for a sampler");
		return NULL;
	}
	sampler->nr_events = nr;
	sampler->generation = perch__fork_generation();
	sampler->machine = options->event.machine;
	sampler->optional = options->event.optional;
	sampler->may = options->event.may;
	sampler->overwrite = options->overwrite;
	sampler->per_thread = options->per_thread;
	sampler->enabled = options->event.enabled;
	sampler->tracking = true;
	sampler->opener = gettid();
	sampler->epoll = sampler->timer = -1;
	return sampler;
}

int perch_sampler_open_events(struct perch_sampler **sampler, const struct perch_events *events,
			      const struct perch_targets *targets,
			      const struct perch_sampler_options *options, struct perch_error *err)
{
	static const struct perch_sampler_options defaults;
	struct perch_sampler *opened;
	int rc;

	*sampler = NULL;
	options = options ? options : &defaults;
	rc = PERCH__CHECK_RESERVED(options, "perch_sampler_options", err);
	if (rc >= 0)
		rc = check_events(events, err);
	if (rc >= 0)
		rc = check_event_targets(events, options, err);
	if (rc < 0)
		return rc;
	opened = new_sampler(options, events->nr, err);
	if (!opened)
		return -ENOMEM;
	if (!opened->machine) {
		opened->own_machine = true;
		rc = perch_machine_new(&opened->machine, NULL, NULL, err);
	}
	if (rc >= 0)
		rc = perch__sampler_resolve_targets(opened, targets, options, events->nr, err);
	if (rc >= 0) {
		perch__sampler_set_ring_sizes(opened, options);
		rc = open_all(opened, events, options, err);
	}
	opened->optional = NULL; /* the caller's memory */
	for (size_t i = 0; i < opened->nr_targets; i++)
		opened->targets[i].added = false;
	if (rc < 0) {
		perch_sampler_close(opened);
		return rc;
	}
	*sampler = opened;
	return 0;
}

int perch_sampler_open(struct perch_sampler **sampler, const char *events,
		       const struct perch_targets *targets,
		       const struct perch_sampler_options *options, struct perch_error *err)
{
	struct perch_events parsed = { 0 };
	int rc;

	*sampler = NULL;
	rc = perch_events_parse(&parsed, events, options ? options->event.machine : NULL, err);
	if (rc < 0)
		return rc;
	rc = perch_sampler_open_events(sampler, &parsed, targets, options, err);
	perch_events_clear(&parsed);
	return rc;
}
