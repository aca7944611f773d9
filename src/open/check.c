/* SPDX-License-Identifier: MIT */
/* Refuses options that contradict each other, and options that the kernel would ignore. */
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "base/reserved.h"
#include "internal.h"

#define BRANCHES(what) (options->branch_sample_type & PERCH_SAMPLE_BRANCH_##what)
#define OTHER_BRANCH_TYPES                                                                         \
	(PERCH_SAMPLE_BRANCH_ANY | PERCH_SAMPLE_BRANCH_ANY_CALL | PERCH_SAMPLE_BRANCH_ANY_RETURN | \
	 PERCH_SAMPLE_BRANCH_IND_CALL | PERCH_SAMPLE_BRANCH_COND | PERCH_SAMPLE_BRANCH_IND_JUMP |  \
	 PERCH_SAMPLE_BRANCH_CALL | PERCH_SAMPLE_BRANCH_ABORT_TX)
#define NMI_SAFE_CLOCK \
	(options->clockid == CLOCK_MONOTONIC || options->clockid == CLOCK_MONOTONIC_RAW)

#define SAMPLES(what)  (options->sample & PERCH_SAMPLE_##what)
#define SIDEBAND(what) (options->sideband & PERCH_SIDEBAND_##what)

static int contradictory_field(const char *field, const char *sentence, struct perch_error *err)
{
	perch_error_set(err, EINVAL, PERCH_ERROR_CONFLICT, "%s", sentence);
	perch_error_field(err, field, NULL);
	return -EINVAL;
}

/*
 * Refuses two options that contradict each other, or one option without another that it needs. The
 * sentence names both. This is straight code because a table of conditions would double the time
 * of perch_attr_build().
 */
#define REFUSE(condition, field, sentence)                                \
	do {                                                              \
		if (__builtin_expect(!!(condition), 0))                   \
			return contradictory_field(field, sentence, err); \
	} while (0)

static int check_sampling(const struct perch_options *options, struct perch_error *err)
{
	REFUSE(options->period && options->frequency, "sample_period",
	       "period and frequency cannot be used together: a sampling rate is one of the two");
	REFUSE(options->wakeup_events && options->wakeup_bytes, "wakeup_events",
	       "wakeup_events and wakeup_bytes cannot be used together: the kernel has one field for both");
	REFUSE(SAMPLES(WEIGHT) && SAMPLES(WEIGHT_STRUCT), "sample_type",
	       "PERCH_SAMPLE_WEIGHT and PERCH_SAMPLE_WEIGHT_STRUCT cannot be used together: a sample has one weight");
	REFUSE(options->clockid && !options->use_clockid, "clockid",
	       "clockid needs use_clockid: the kernel ignores it otherwise");
	REFUSE(options->precise && !perch__is_sampling(options), "precise_ip",
	       "precise needs period or frequency: only samples have an address");
	REFUSE(options->sideband >= PERCH_SIDEBAND_MAX, "sideband",
	       "sideband has a bit that is not a PERCH_SIDEBAND_* constant");
	REFUSE(options->may >= PERCH_MAY_MAX, "may",
	       "may has a bit that is not a PERCH_MAY_* constant");
	REFUSE(SIDEBAND(BUILD_ID) && !SIDEBAND(MMAP), "build_id",
	       "PERCH_SIDEBAND_BUILD_ID needs PERCH_SIDEBAND_MMAP: build ids come in MMAP2 records");
	return 0;
}

static int check_branches(const struct perch_options *options, struct perch_error *err)
{
	REFUSE(SAMPLES(BRANCH_STACK) &&
		       !(options->branch_sample_type & ~(uint64_t)PERCH_SAMPLE_BRANCH_PLM_ALL),
	       "branch_sample_type",
	       "PERCH_SAMPLE_BRANCH_STACK needs a branch type in branch_sample_type, like PERCH_SAMPLE_BRANCH_ANY");
	REFUSE(options->branch_sample_type && !SAMPLES(BRANCH_STACK), "branch_sample_type",
	       "branch_sample_type needs PERCH_SAMPLE_BRANCH_STACK in sample");
	REFUSE(BRANCHES(CALL_STACK) && options->branch_sample_type & OTHER_BRANCH_TYPES,
	       "branch_sample_type",
	       "PERCH_SAMPLE_BRANCH_CALL_STACK cannot be used with other branch types, like PERCH_SAMPLE_BRANCH_ANY");
	REFUSE(BRANCHES(CALL_STACK) && BRANCHES(COUNTERS), "branch_sample_type",
	       "PERCH_SAMPLE_BRANCH_CALL_STACK and PERCH_SAMPLE_BRANCH_COUNTERS cannot be used together");
	return 0;
}

static int check_stacks(const struct perch_options *options, struct perch_error *err)
{
	REFUSE(SAMPLES(REGS_USER) && !options->sample_regs_user, "sample_regs_user",
	       "PERCH_SAMPLE_REGS_USER needs a register mask in sample_regs_user");
	REFUSE(options->sample_regs_user && !SAMPLES(REGS_USER), "sample_regs_user",
	       "sample_regs_user needs PERCH_SAMPLE_REGS_USER in sample");
	REFUSE(SAMPLES(REGS_INTR) && !options->sample_regs_intr, "sample_regs_intr",
	       "PERCH_SAMPLE_REGS_INTR needs a register mask in sample_regs_intr");
	REFUSE(options->sample_regs_intr && !SAMPLES(REGS_INTR), "sample_regs_intr",
	       "sample_regs_intr needs PERCH_SAMPLE_REGS_INTR in sample");
	REFUSE(SAMPLES(STACK_USER) && !options->sample_stack_user, "sample_stack_user",
	       "PERCH_SAMPLE_STACK_USER needs a size in sample_stack_user");
	REFUSE(options->sample_stack_user && !SAMPLES(STACK_USER), "sample_stack_user",
	       "sample_stack_user needs PERCH_SAMPLE_STACK_USER in sample");
	REFUSE(options->sample_max_stack && !SAMPLES(CALLCHAIN), "sample_max_stack",
	       "sample_max_stack needs PERCH_SAMPLE_CALLCHAIN in sample");
	/* the user part is unwound from a copy of the stack */
	REFUSE(SAMPLES(CALLCHAIN) && !SAMPLES(STACK_USER) && options->exclude_callchain_user &&
		       options->exclude_callchain_kernel,
	       "exclude_callchain_user",
	       "exclude_callchain_user and exclude_callchain_kernel together leave PERCH_SAMPLE_CALLCHAIN empty");
	REFUSE(options->defer_callchain && !SAMPLES(CALLCHAIN), "defer_callchain",
	       "defer_callchain needs PERCH_SAMPLE_CALLCHAIN in sample");
	REFUSE(options->defer_callchain && options->exclude_callchain_user, "defer_callchain",
	       "defer_callchain and exclude_callchain_user cannot be used together: the user call chain is deferred");
	return 0;
}

static int check_aux(const struct perch_options *options, struct perch_error *err)
{
	REFUSE(options->aux_pause && options->aux_resume, "aux_action",
	       "aux_pause and aux_resume cannot be used together");
	REFUSE(options->aux_output && (options->aux_pause || options->aux_resume), "aux_output",
	       "aux_output cannot be used with aux_pause or aux_resume");
	REFUSE(options->aux_output && options->aux_sample_size, "aux_output",
	       "aux_output and aux_sample_size cannot be used together");
	REFUSE(options->aux_start_paused && (options->aux_pause || options->aux_resume),
	       "aux_start_paused",
	       "aux_start_paused cannot be used with aux_pause or aux_resume: the AUX event starts paused, other events of the group pause and resume it");
	REFUSE(options->aux_sample_size && !SAMPLES(AUX), "aux_sample_size",
	       "aux_sample_size needs PERCH_SAMPLE_AUX in sample");
	REFUSE(SAMPLES(AUX) && !options->aux_sample_size, "aux_sample_size",
	       "PERCH_SAMPLE_AUX needs a size in aux_sample_size");
	return 0;
}

static int check_scope(const struct perch_options *options, struct perch_error *err)
{
	REFUSE(options->inherit_thread && !options->inherit, "inherit_thread",
	       "inherit_thread needs inherit");
	REFUSE(options->inherit_stat && !options->inherit, "inherit_stat",
	       "inherit_stat needs inherit");
	REFUSE(options->inherit && SAMPLES(READ) && !SAMPLES(TID), "inherit",
	       "inherit with PERCH_SAMPLE_READ needs PERCH_SAMPLE_TID: each thread has a count of its own");
	REFUSE(options->enable_on_exec && options->remove_on_exec, "remove_on_exec",
	       "enable_on_exec and remove_on_exec cannot be used together");
	REFUSE(options->enabled && options->enable_on_exec, "enable_on_exec",
	       "enabled and enable_on_exec cannot be used together: the event starts at the open or at the exec");
	REFUSE(options->sigtrap && !options->remove_on_exec, "sigtrap",
	       "sigtrap needs remove_on_exec: a new program does not have the signal handler");
	REFUSE(options->sigtrap && !perch__is_sampling(options), "sigtrap",
	       "sigtrap needs period or frequency: each sample sends the signal");
	REFUSE(options->sig_data && !options->sigtrap, "sig_data", "sig_data needs sigtrap");
	return 0;
}

/* Refuses values that are out of range. */
static int check_ranges(const struct perch_options *options, struct perch_error *err)
{
	const char *field = NULL;

	if (options->period >> 63) {
		field = "sample_period";
		perch_error_set(err, EINVAL, PERCH_ERROR_PERIOD,
				"period must be at most 2^63-1 (currently %" PRIu64 ")",
				options->period);
	} else if (options->sample_stack_user % 8 || options->sample_stack_user >= 65535) {
		field = "sample_stack_user";
		perch_error_set(
			err, EINVAL, PERCH_ERROR_BAD_FIELD,
			"sample_stack_user must be a multiple of 8, 8..65528 (currently %" PRIu32
			")",
			options->sample_stack_user);
	} else if (options->aux_sample_size > UINT16_MAX) {
		field = "aux_sample_size";
		perch_error_set(err, EINVAL, PERCH_ERROR_BAD_FIELD,
				"aux_sample_size must be at most 65535 (currently %" PRIu32 ")",
				options->aux_sample_size);
	} else if (options->use_clockid && !NMI_SAFE_CLOCK && options->clockid != CLOCK_REALTIME &&
		   options->clockid != CLOCK_BOOTTIME && options->clockid != CLOCK_TAI) {
		field = "clockid";
		perch_error_set(err, EINVAL, PERCH_ERROR_BAD_FIELD,
				"events cannot use clockid %" PRId32, options->clockid);
		perch_error_remedy(
			err,
			"use CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_BOOTTIME or "
			"CLOCK_TAI");
	}
	if (!field)
		return 0;
	perch_error_field(err, field, NULL);
	return -EINVAL;
}

/* Hardware events, tracepoints and breakpoints may occur in an NMI, where not every clock can be
 * read. Other PMUs check the clock themselves. */
static int check_clock(const struct perch_options *options, const struct perch_event *event,
		       struct perch_error *err)
{
	uint32_t type = event->attr.type;

	if (!options->use_clockid || NMI_SAFE_CLOCK || type == PERCH_TYPE_SOFTWARE ||
	    type >= PERCH_TYPE_MAX)
		return 0;
	perch_error_set(
		err, EINVAL, PERCH_ERROR_CONFLICT,
		"clockid %s does not work with the type of '%s': the clock cannot be read in an NMI",
		options->clockid == CLOCK_REALTIME   ? "CLOCK_REALTIME"
		: options->clockid == CLOCK_BOOTTIME ? "CLOCK_BOOTTIME"
						     : "CLOCK_TAI",
		event->name);
	perch_error_field(err, "clockid", NULL);
	perch_error_cause(err, PERCH_CAUSE_CLOCKID_NMI);
	perch_error_remedy(err, "use CLOCK_MONOTONIC or CLOCK_MONOTONIC_RAW");
	return -EINVAL;
}

/*
 * To inherit a probe, the kernel creates it again in the process that forks. It reads the path from
 * the address in config1, which is an address of the process that opened the event: fork(2) fails
 * with EFAULT.
 */
static int check_path(const struct perch_options *options, const struct perch_event *event,
		      struct perch_error *err)
{
	if (!options->inherit || !event->path)
		return 0;
	perch_error_set(
		err, EINVAL, PERCH_ERROR_CONFLICT,
		"inherit does not work with '%s', whose config1 points to a path: fork(2) in the measured process "
		"would fail",
		event->name);
	perch_error_field(err, "inherit", NULL);
	perch_error_remedy(err, "do not set inherit, or measure all processes on all CPUs");
	return -EINVAL;
}

int perch__check_options(const struct perch_options *options, const struct perch_event *event,
			 struct perch_error *err)
{
	int (*const checks[])(const struct perch_options *options, struct perch_error *err) = {
		check_sampling, check_branches, check_stacks, check_aux, check_scope, check_ranges,
	};

	if (PERCH__CHECK_RESERVED(options, "perch_options", err) ||
	    PERCH__CHECK_RESERVED(event, "perch_event", err) ||
	    PERCH__CHECK_RESERVED(&event->terms, "perch_event_terms", err))
		return -EINVAL;
	for (size_t i = 0; i < PERCH__NR(checks); i++) {
		int rc = checks[i](options, err);

		if (rc)
			return rc;
	}
	if (check_path(options, event, err))
		return -EINVAL;
	return check_clock(options, event, err);
}
