/* SPDX-License-Identifier: MIT */
#ifndef PERCH_OPEN_INTERNAL_H
#define PERCH_OPEN_INTERNAL_H

#include <perch/explain.h>
#include <perch/open.h>

#define PERCH__NR(array) (sizeof(array) / sizeof((array)[0]))

/* Whether an event opened so takes samples; if not, it counts. */
bool perch__is_sampling(const struct perch_options *options);
/* What the text of an event says wins over the options. */
int perch__options_from_terms(struct perch_options *options, const struct perch_event *event,
			      struct perch_error *err);
/* What the kernel would refuse, or take and not do, told before it is asked. */
int perch__check_options(const struct perch_options *options, const struct perch_event *event,
			 struct perch_error *err);
/*
 * The PMU of the cores that count an event: of a hybrid machine's the one that the type or the
 * upper half of config names, else the first. NULL: no core's event, or no such PMU.
 */
const struct perch_pmu *perch__core_pmu(const struct perch_attr *attr,
					struct perch_machine *machine);
/* The config1 bit by which an event of a core PMU asks to be read by user space; 0: it needs none,
 * or cannot. */
uint64_t perch__rdpmc_bit(const struct perch_attr *attr, struct perch_machine *machine);

/* One call of perf_event_open(2), kept to be explained. */
struct perch__attempt {
	struct perch_attr given; /* the kernel may have written into it */
	uint32_t size;		 /* as it was before that */
	struct perch_open_call call;
};
/* What is wrong before the kernel is asked. */
int perch__check_call(const struct perch_attr *attr, struct perch_error *err);
/* The descriptor, or -1: what was refused is in *made. */
int perch__attempt_open(struct perch__attempt *made, const struct perch_attr *attr,
			const struct perch_target *target, int group_fd, unsigned long flags,
			struct perch_machine *machine);
int perch__explain_attempt(struct perch__attempt *made, struct perch_machine *machine,
			   struct perch_error *err);

/* Makes room for more targets. */
int perch__targets_reserve(struct perch_targets *targets, size_t more, struct perch_error *err);
/* Opens a cgroup's folder: a path from where cgroups are mounted, or an absolute one below that.
 * Never 0. */
int perch__open_cgroup(const char *path, struct perch_machine *machine, struct perch_error *err);

#endif
