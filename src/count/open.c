/* SPDX-License-Identifier: MIT */
/* Opens an event that is read by counters, groups and sets, and explains refused group members. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "internal.h"
#include "open/target.h"
#include "open/user_only.h"

bool perch__any_feature(const struct perch_attr *attr)
{
	const unsigned char *bytes = (const unsigned char *)attr;

	for (size_t i = 0; i < sizeof(*attr); i++)
		if (bytes[i])
			return true;
	return false;
}

void perch__add_features(struct perch_attr *sum, const struct perch_attr *features)
{
	unsigned char *to = (unsigned char *)sum;
	const unsigned char *from = (const unsigned char *)features;

	for (size_t i = 0; i < sizeof(*sum); i++)
		to[i] |= from[i];
}

/* After an exec, remove_on_exec leaves groups without some members: ids identify the others. */
uint64_t perch__group_format(const struct perch_attr *attr)
{
	return PERCH_FORMAT_GROUP | (attr->remove_on_exec ? PERCH_FORMAT_ID : 0);
}

static int open_once(struct perch_attr *attr, const struct perch_attr *optional,
		     struct perch_attr *missing_features, const struct perch_target *target,
		     int group_fd, struct perch_machine *machine, struct perch_error *err)
{
	struct perch_attr omittable, omitted;
	int fd;

	if (!optional)
		return perch_open(attr, target, group_fd, 0, machine, err);
	/* parsing of reads relies on these */
	omittable = *optional;
	omittable.read_format &= ~(uint64_t)(PERCH__TIMES | PERCH_FORMAT_GROUP);
	fd = perch_open_optional(attr, &omittable, target, group_fd, 0, machine, &omitted, err);
	if (fd >= 0)
		perch__add_features(missing_features, &omitted);
	return fd;
}

int perch__open_counting(struct perch_attr *attr, const struct perch_attr *optional,
			 struct perch_attr *missing_features, const struct perch_target *target,
			 int group_fd, struct perch_machine *machine, struct perch_error *err)
{
	int fd = open_once(attr, optional, missing_features, target, group_fd, machine, err), other;
	struct perch_attr single;

	if (fd != -EINVAL || group_fd >= 0 || !attr->inherit ||
	    !(attr->read_format & PERCH_FORMAT_GROUP))
		return fd;
	single = *attr;
	single.read_format &= ~(uint64_t)PERCH_FORMAT_GROUP;
	other = open_once(&single, optional, missing_features, target, -1, machine, NULL);
	if (other < 0)
		return fd;
	*attr = single;
	return other;
}

int perch__check_may(const struct perch_options *options, struct perch_error *err)
{
	if (!(options->may & (PERCH_MAY_SKIP | PERCH_MAY_SKIP_ALL | PERCH_MAY_LOSE_TARGETS)))
		return 0;
	perch_error_set(
		err, EINVAL, PERCH_ERROR_USAGE,
		"PERCH_MAY_SKIP and PERCH_MAY_LOSE_TARGETS are for sets: a counter or group would have no event left");
	perch_error_field(err, "may", NULL);
	perch_error_remedy(err, "clear them, or use perch_set_open()");
	return -EINVAL;
}

void perch__set_name(struct perch__opened *opened, const char *name)
{
	size_t length = strnlen(name, sizeof(opened->name) - 1);

	memcpy(opened->name, name, length);
	opened->name[length] = '\0';
}

int perch__open_event(struct perch__opened *opened, const struct perch_event *event,
		      const struct perch_target *target, int group_fd,
		      const struct perch_options *options, struct perch_error *err)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(options->machine);
	struct perch_attr *attr = &opened->attr;
	struct perch__user_only user_only;
	struct perch_error first, second, *refusal = &first;
	int rc;

	opened->fd = perch__open_counting(attr, options->optional, &opened->missing_features,
					  target, group_fd, options->machine, err ? &first : NULL);
	user_only.state = PERCH__USER_ONLY_UNUSED;
	if (opened->fd < 0 && perch__user_only_begin(&user_only, options->may, opened->fd, attr,
						     event->name, options->machine)) {
		int fd = perch__open_counting(attr, options->optional, &opened->missing_features,
					      target, group_fd, options->machine,
					      err ? &second : NULL);

		opened->fd = perch__user_only_end(&user_only, attr, fd);
		if (user_only.state == PERCH__USER_ONLY_REFUSED)
			refusal = &second;
	}
	perch__set_name(opened, event->name);
	if (opened->fd < 0) {
		if (err) {
			*err = *refusal;
			perch__user_only_explain(user_only.state, err);
		}
		return opened->fd;
	}
	opened->user_only = user_only.state == PERCH__USER_ONLY_OPENED;
	opened->has_missing_features = options->optional &&
				       perch__any_feature(&opened->missing_features);
	rc = event->filter ? perch_event_set_filter(opened->fd, event->filter, attr,
						    options->machine, err)
			   : 0;
	if (rc)
		calls->close(calls->context, opened->fd);
	else
		perch__apply_cloexec(opened->fd, options);
	return rc;
}

/*
 * Returns the type of the PMU that counts the event; 0 for software events, which fit into any
 * group.
 */
static uint32_t pmu_of(const struct perch_attr *attr)
{
	switch (attr->type) {
	case PERCH_TYPE_SOFTWARE:
	case PERCH_TYPE_TRACEPOINT:
	case PERCH_TYPE_BREAKPOINT:
		return 0;
	case PERCH_TYPE_HARDWARE:
	case PERCH_TYPE_HW_CACHE:
		/* on hybrid machines the upper half of config is the type of a PMU */
		return attr->config >> PERCH_PMU_TYPE_SHIFT ? attr->config >> PERCH_PMU_TYPE_SHIFT
							    : PERCH_TYPE_RAW;
	}
	return attr->type;
}

void perch__group_constraints_add(struct perch__group_constraints *constraints,
				  const struct perch_attr *attr)
{
	uint32_t pmu = pmu_of(attr);

	if (!pmu)
		return;
	if (!constraints->counters++)
		constraints->pmu = pmu;
	constraints->mixed |= pmu != constraints->pmu;
}

bool perch__explain_group_member(const struct perch__group_constraints *constraints,
				 const struct perch_attr *attr, const struct perch_target *target,
				 struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(machine);
	struct perch__group_constraints with = *constraints;
	struct perch_attr without_group = *attr;
	struct perch_error attempt_err;
	int fd;

	without_group.disabled = 1;
	fd = perch_open(&without_group, target, -1, 0, machine, &attempt_err);
	if (fd == -EINVAL && err)
		*err = attempt_err; /* the group is not the cause */
	if (fd < 0)
		return fd == -EINVAL;
	calls->close(calls->context, fd);
	perch__group_constraints_add(&with, attr);
	if (!constraints->counters || with.counters == constraints->counters)
		return false;
	if (with.mixed) {
		perch_error_set(
			err, EINVAL, PERCH_ERROR_BAD_GROUP,
			"the event can be opened alone, but not in a group with the %zu before it: they need another PMU or "
			"all its counters",
			constraints->counters);
		perch_error_remedy(err, "make one group for each PMU");
	} else {
		perch_error_set(
			err, EINVAL, PERCH_ERROR_BAD_GROUP,
			"the group is too large: all members count at the same time, and the %zu before this one "
			"leave no counter for it",
			constraints->counters);
		perch_error_remedy(
			err,
			"put no more than %zu of them into a group, or make the group weak ({...}:W); "
			"the NMI watchdog may use a counter while kernel.nmi_watchdog is 1",
			constraints->counters);
	}
	perch_error_field(err, "group_fd", NULL);
	return true;
}
