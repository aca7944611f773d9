/* SPDX-License-Identifier: MIT */
/* Opens the events of one target of a sampler, and attaches their descriptors to a ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "internal.h"
#include "open/user_only.h"

/* Several attempts may fail before one succeeds. Only the error of the last attempt is reported. */
static int report_error(struct perch_error *err, const struct perch_error *attempt, int rc)
{
	if (err)
		*err = *attempt;
	return rc;
}

int perch__sampler_reserve_fds(struct perch_sampler *sampler, struct perch_error *err)
{
	size_t nr;

	if (__builtin_mul_overflow(sampler->nr_targets, sampler->nr_events, &nr) || nr > INT32_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "too many events, threads and CPUs for one sampler");
	if (PERCH__ARRAY_RESERVE(sampler->fds, sampler->fds_capacity, nr) ||
	    PERCH__ARRAY_RESERVE(sampler->fd_state, sampler->fd_state_capacity, nr))
		return PERCH__NO_MEMORY(err, "for a sampler");
	for (; sampler->nr_fds < nr; sampler->nr_fds++) {
		sampler->fds[sampler->nr_fds] = -1;
		sampler->fd_state[sampler->nr_fds] = PERCH__FD_OPEN;
	}
	return 0;
}

/* Makes one open call, or several to find the precision and the optional parts that the kernel
 * accepts. The attr is then what the kernel accepted. */
static int open_attempt(struct perch_sampler *sampler, struct perch__sampler_event *event,
			struct perch_attr *attr, const struct perch_target *target, int group,
			struct perch_error *attempt)
{
	for (;;) {
		struct perch_attr missing_features = { 0 };
		int fd = perch_open_optional(attr, sampler->optional, target, group, 0,
					     sampler->machine, &missing_features, attempt);

		for (size_t i = 0; fd >= 0 && i < sizeof(missing_features); i++)
			((unsigned char *)&event->missing_features)[i] |=
				((const unsigned char *)&missing_features)[i];
		if (fd >= 0 || !event->precise_max || !attr->precise_ip || fd == -ESRCH ||
		    fd == -EACCES)
			return fd;
		attr->precise_ip--;
	}
}

/* Errors that mean that the machine does not support the event, as in perf. */
static bool means_unsupported(int rc)
{
	return rc == -EINVAL || rc == -ENOSYS || rc == -ENOENT || rc == -EOPNOTSUPP || rc == -ENXIO;
}

/* Opens the event without the kernel's part, if the options allow it and the event has another. */
static int open_user_only(struct perch_sampler *sampler, size_t index,
			  const struct perch_target *target, int group, int refused,
			  struct perch_error *attempt)
{
	struct perch__sampler_event *event = &sampler->events[index];
	struct perch__user_only user_only;
	struct perch_error second = { 0 };
	int fd = refused;

	if (perch__user_only_begin(&user_only, sampler->may, refused, &event->attr, event->name,
				   sampler->machine)) {
		fd = open_attempt(sampler, event, &event->attr, target, group, &second);
		fd = perch__user_only_end(&user_only, &event->attr, fd);
		if (user_only.state == PERCH__USER_ONLY_REFUSED)
			*attempt = second;
	}
	event->user_only |= fd >= 0;
	perch__user_only_explain(user_only.state, attempt);
	if (perch__user_only_impossible(user_only.state) && sampler->may & PERCH_MAY_SKIP)
		sampler->unsupported = (int)index;
	return fd;
}

/*
 * An added thread starts disabled, and is enabled when all of its events are open. The other
 * parts of the attr are as the kernel has accepted them before.
 */
static int open_like_others(struct perch_sampler *sampler, size_t index,
			    const struct perch_target *target, int group,
			    struct perch_error *attempt)
{
	struct perch_attr attr = sampler->events[index].attr;

	if (sampler->events[index].leader == (int)index)
		attr.disabled = 1;
	return perch_open(&attr, target, group, 0, sampler->machine, attempt);
}

static int open_descriptor(struct perch_sampler *sampler, size_t index,
			   const struct perch_target *target, int group,
			   struct perch_error *attempt)
{
	struct perch__sampler_event *event = &sampler->events[index];
	int fd;

	if (sampler->decoder)
		return open_like_others(sampler, index, target, group, attempt);
	fd = open_attempt(sampler, event, &event->attr, target, group, attempt);
	return fd == -EACCES ? open_user_only(sampler, index, target, group, fd, attempt) : fd;
}

static bool is_on_cpu(const struct perch_cpus *cpus, int cpu)
{
	return cpu < 0 || perch_cpus_contains(cpus, cpu);
}

static bool has_event(const struct perch_sampler *sampler,
		      const struct perch__sampler_target *target, size_t index)
{
	const struct perch__sampler_event *event = &sampler->events[index];

	return event->list == target->list && !event->skipped &&
	       (!target->tracking_only || perch__is_tracking_event(sampler, index)) &&
	       is_on_cpu(event->cpus, target->target.cpu);
}

/* A thread that has ended before or during the open. */
static bool may_lose(const struct perch_sampler *sampler, const struct perch_target *target, int rc)
{
	return rc == -ESRCH && target->tid > 0 && !target->use_cgroup &&
	       sampler->may & PERCH_MAY_LOSE_TARGETS;
}

/* Returns 1 if opened; 0 if the event is not for this target, or if its thread has ended. */
static int open_one(struct perch_sampler *sampler, size_t index, size_t number,
		    struct perch_error *err)
{
	struct perch__sampler_event *event = &sampler->events[index];
	struct perch__sampler_target *target = &sampler->targets[number];
	int *fds = &sampler->fds[number * sampler->nr_events];
	bool leads = event->leader == (int)index;
	int group = leads ? -1 : fds[event->leader];
	struct perch_error attempt = { 0 };
	int fd;

	if (target->ended || !has_event(sampler, target, index))
		return 0;
	/* a member without its leader would be a group of its own, enabled from the start */
	if (!leads && group < 0)
		return 0;
	fd = open_descriptor(sampler, index, &target->target, group, &attempt);
	if (may_lose(sampler, &target->target, fd)) {
		target->ended = true;
		return 0;
	}
	if (!leads && event->weak && (fd == -EINVAL || fd == -EBADF))
		sampler->refused_group = event->leader;
	else if (means_unsupported(fd) && sampler->may & PERCH_MAY_SKIP &&
		 !perch__is_tracking_event(sampler, index))
		sampler->unsupported = (int)index;
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

/* ---- Rings ---- */

/* Returns the ring that the target's events write into, or PERCH__NO_INDEX if it is not mapped. */
static size_t find_ring(const struct perch_sampler *sampler,
			const struct perch__sampler_target *target, bool backward)
{
	if (sampler->per_thread)
		return target->ring[!backward];
	for (size_t i = sampler->nr_rings; i--;)
		if (sampler->rings[i].cpu == target->target.cpu &&
		    sampler->rings[i].backward == backward)
			return i;
	return PERCH__NO_INDEX;
}

/* A ring in a merge has an element for each of its indexes. */
static int add_to_merge(struct perch_sampler *sampler, size_t index, struct perch_error *err)
{
	struct perch__sampler_ring *ring = &sampler->rings[index];
	int rc;

	if (!sampler->merge || ring->backward)
		return 0;
	if (PERCH__ARRAY_RESERVE(sampler->merge_rings, sampler->merge_rings_capacity,
				 sampler->nr_rings + 1))
		return PERCH__NO_MEMORY(err, "for a sampler");
	rc = perch_merge_add(sampler->merge, ring->ring, &ring->merge_index, err);
	if (rc >= 0)
		sampler->merge_rings[ring->merge_index] = index;
	return rc;
}

/* Returns the index of a new element of rings; SIZE_MAX if out of memory. */
static size_t new_ring(struct perch_sampler *sampler)
{
	size_t index = 0;

	while (index < sampler->nr_rings && sampler->rings[index].ring)
		index++;
	if (PERCH__ARRAY_RESERVE(sampler->rings, sampler->rings_capacity, index + 1) ||
	    PERCH__ARRAY_RESERVE(sampler->polls, sampler->polls_capacity, index + 1))
		return PERCH__NO_INDEX;
	return index;
}

/*
 * Called when a ring cannot be smaller. True if all rings can be opened again with a smaller size:
 * earlier ones may be larger than this one. Each time the size is less than before.
 */
static bool shrink_all(struct perch_sampler *sampler, size_t page_bytes, bool tracking)
{
	size_t half = sampler->ring_pages / 2;

	if (!sampler->may_shrink || sampler->decoder || !sampler->nr_rings)
		return false;
	if (!tracking)
		return sampler->ring_pages < sampler->first_pages;
	if (half < PERCH__MIN_RING_PAGES || half * page_bytes <= sampler->min_ring_bytes)
		return false;
	sampler->ring_pages = half;
	return true;
}

static int map_sized(struct perch_sampler *sampler, struct perch__sampler_ring *ring, int fd,
		     struct perch_error *err)
{
	enum perch_ring_mode mode = ring->backward ? PERCH_RING_OVERWRITE : PERCH_RING_FORWARD;
	bool tracking = sampler->overwrite && !ring->backward;
	size_t *pages = tracking ? &sampler->tracking_pages : &sampler->ring_pages;
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct perch_error attempt = { 0 };
	int rc;

	if (sampler->decoder && sampler->per_thread && !tracking)
		perch__sampler_limit_added_ring(sampler);
	for (;;) {
		rc = perch_ring_open(&ring->ring, fd, *pages, mode, sampler->machine, &attempt);
		if (rc >= 0) {
			if (!sampler->nr_rings)
				sampler->first_pages = *pages;
			return rc;
		}
		if (rc != -EPERM || !(sampler->may_shrink || tracking) ||
		    *pages <= PERCH__MIN_RING_PAGES ||
		    (!tracking && *pages / 2 * page_bytes <= sampler->min_ring_bytes))
			break;
		*pages /= 2;
	}
	sampler->too_large = rc == -EPERM && shrink_all(sampler, page_bytes, tracking);
	if (attempt.cause == PERCH_CAUSE_MMAP_LOCKED && !sampler->too_large)
		perch__sampler_explain_ring_size(sampler, &attempt);
	return report_error(err, &attempt, rc);
}

/* Maps the ring of a descriptor (index in fds). Returns its index, or a negative errno. */
static int map_ring(struct perch_sampler *sampler, size_t owner, bool backward,
		    struct perch_error *err)
{
	struct perch__sampler_target *target = &sampler->targets[owner / sampler->nr_events];
	struct perch__sampler_ring ring = { .cpu = target->target.cpu,
					    .backward = backward,
					    .owner = owner,
					    .polled = owner,
					    .watched = -1 };
	size_t index = new_ring(sampler);
	int rc;

	if (index == PERCH__NO_INDEX)
		return PERCH__NO_MEMORY(err, "for a sampler");
	rc = map_sized(sampler, &ring, sampler->fds[owner], err);
	if (rc < 0)
		return rc;
	sampler->rings[index] = ring;
	/* a ring of mode OVERWRITE is never drained: wait only for the end of its targets */
	sampler->polls[index] = (struct pollfd){ sampler->fds[owner], backward ? 0 : POLLIN, 0 };
	if (index == sampler->nr_rings)
		sampler->nr_rings++;
	rc = add_to_merge(sampler, index, err);
	if (rc >= 0)
		return (int)index;
	perch_ring_close(ring.ring);
	sampler->polls[index].fd = -1;
	sampler->rings[index] = (struct perch__sampler_ring){ .cpu = -1, .watched = -1 };
	return rc;
}

/* Explains a failed ioctl by errno. owner_fd is the descriptor whose ring the events use. */
static int explain_ioctl(struct perch_sampler *sampler, size_t index,
			 const struct perch__id_info *info, unsigned long request,
			 struct perch_error *err)
{
	int errnum = errno;
	bool output = request == PERCH_IOC_SET_OUTPUT;
	size_t owner = output ? sampler->rings[info->ring].owner : 0;
	const struct perch_open_call_leader other = {
		.attr = &sampler->events[owner % sampler->nr_events].attr,
		.pid = sampler->targets[owner / sampler->nr_events].target.tid,
		.cpu = info->cpu,
		.has_ring = true,
	};
	const struct perch_operation operation = {
		.kind = PERCH_OPERATION_IOCTL,
		.errnum = errnum,
		.attr = &sampler->events[index].attr,
		.pid = info->tid,
		.cpu = info->cpu,
		.request = request,
		.argument = output ? (unsigned long)sampler->fds[owner] : 0,
		.other_fd = output ? sampler->fds[owner] : 0,
		.other = output ? &other : NULL,
	};
	struct perch_explanation explanation;

	perch_explain_operation(&operation, sampler->machine, &explanation);
	perch_explanation_error(&explanation, err);
	perch_error_prefix(err, "event '%s': ", sampler->events[index].name);
	return -errnum;
}

static int add_id(struct perch_sampler *sampler, size_t index, const struct perch__id_info *info,
		  uint64_t id, struct perch_error *err)
{
	struct perch__sampler_event *event = &sampler->events[index];

	if (PERCH__ARRAY_RESERVE(event->ids, event->ids_capacity, event->nr_ids + 1) ||
	    PERCH__ARRAY_RESERVE(event->id_info, event->id_info_capacity, event->nr_ids + 1))
		return PERCH__NO_MEMORY(err, "for a sampler");
	event->id_info[event->nr_ids] = *info;
	event->ids[event->nr_ids++] = id;
	return 0;
}

static int attach_to_ring(struct perch_sampler *sampler, size_t index, size_t number,
			  struct perch_error *err)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(sampler->machine);
	struct perch__sampler_target *target = &sampler->targets[number];
	size_t descriptor = number * sampler->nr_events + index;
	bool backward = perch__writes_backward(sampler, index);
	struct perch__id_info info = {
		.cpu = target->target.cpu,
		.tid = target->target.use_cgroup ? -1 : target->target.tid,
		.ring = find_ring(sampler, target, backward),
		.target = number,
		.fd = sampler->fds[descriptor],
	};
	uint64_t id = 0;
	int rc;

	if (calls->ioctl(calls->context, info.fd, PERCH_IOC_ID, (unsigned long)&id) < 0)
		return explain_ioctl(sampler, index, &info, PERCH_IOC_ID, err);
	if (info.ring == PERCH__NO_INDEX) {
		rc = map_ring(sampler, descriptor, backward, err);
		if (rc < 0)
			return rc;
		info.ring = (size_t)rc;
	} else if (calls->ioctl(calls->context, info.fd, PERCH_IOC_SET_OUTPUT,
				(unsigned long)sampler->fds[sampler->rings[info.ring].owner]) < 0) {
		return explain_ioctl(sampler, index, &info, PERCH_IOC_SET_OUTPUT, err);
	}
	target->ring[!backward] = info.ring;
	rc = add_id(sampler, index, &info, id, err);
	if (rc >= 0)
		sampler->rings[info.ring].nr_writers++;
	return rc;
}

int perch__sampler_open_target(struct perch_sampler *sampler, size_t target, bool backward,
			       struct perch_error *err)
{
	int rc = 0;

	for (size_t index = 0; index < sampler->nr_events && rc >= 0; index++) {
		if (perch__writes_backward(sampler, index) != backward)
			continue;
		rc = open_one(sampler, index, target, err);
		if (rc > 0)
			rc = attach_to_ring(sampler, index, target, err);
	}
	return rc;
}
