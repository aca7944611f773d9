/* SPDX-License-Identifier: MIT */
/*
 * Builds an attr from an event and options, and opens it. Options that exclude each other are
 * refused before the system call. The attr has the smallest size that holds its fields, for old
 * kernels. Success costs one system call. A file calls only files below its own:
 *
 *	attr.c		an attr from an event and options
 *	  check.c	  options that contradict each other or would be ignored
 *	  terms.c	  the terms of an event's text, which override options
 *	  core_pmu.c	  core PMUs, and their bit for self-monitoring reads
 *	target_cpus.c	targets on certain CPUs
 *	  targets.c	  lists of targets, and the threads of a process
 *	  cgroup.c	  the directory of a cgroup
 *	control.c	every ioctl of an event, and prctl
 *	optional.c	opens without the optional parts that the kernel lacks, newest first
 *	open.c		opens an attr on a target: the only call of perf_event_open(2)
 *	user_only.c	repeats a refused open call without the kernel
 *	program.c	programs that wait for their events before exec
 *	clock.c		converts between the CPU's clock and times of samples
 *	signal.c	signals of events
 */
#ifndef PERCH_OPEN_INTERNAL_H
#define PERCH_OPEN_INTERNAL_H

#include <perch/explain.h>
#include <perch/open.h>

#include "base/nr.h"
#include "target.h"

/* True if an event opened with these options takes samples; otherwise it counts. */
bool perch__is_sampling(const struct perch_options *options);
/* Applies the terms of the event's text, which override the options. */
int perch__options_from_terms(struct perch_options *options, const struct perch_event *event,
			      struct perch_error *err);
/* Refuses options that the kernel would refuse or ignore. */
int perch__check_options(const struct perch_options *options, const struct perch_event *event,
			 struct perch_error *err);
/*
 * Returns the core PMU that counts the event: on a hybrid machine the PMU in type or in the upper
 * half of config, else the first one; NULL for an event of another PMU, and if there is no such
 * PMU.
 */
const struct perch_pmu *perch__core_pmu(const struct perch_attr *attr,
					struct perch_machine *machine);
/*
 * Returns the bit of config1 that requests user-space access (rdpmc) from the core PMU; 0 if the
 * PMU needs no bit or has no such access.
 */
uint64_t perch__rdpmc_bit(const struct perch_attr *attr, struct perch_machine *machine);

/* One perf_event_open(2), with what is needed to explain a refusal. */
struct perch__attempt {
	struct perch_attr attr; /* the kernel may have written into it */
	uint32_t size;		/* attr.size before the system call */
	struct perch_open_call call;
};
/* Checks the attr before the system call. */
int perch__check_call(const struct perch_attr *attr, struct perch_error *err);
/* Returns the descriptor, or -1 with the refusal in *attempt. */
int perch__attempt_open(struct perch__attempt *attempt, const struct perch_attr *attr,
			const struct perch_target *target, int group_fd, unsigned long flags,
			struct perch_machine *machine);
int perch__explain_attempt(struct perch__attempt *attempt, struct perch_machine *machine,
			   struct perch_error *err);

/* Makes space for more targets. */
int perch__targets_reserve(struct perch_targets *targets, size_t more, struct perch_error *err);
/*
 * Opens the directory of a cgroup. The path is relative to the cgroup mount point, or absolute and
 * below it.
 */
int perch__open_cgroup(const char *path, struct perch_machine *machine, struct perch_error *err);

#endif
