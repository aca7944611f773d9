/* SPDX-License-Identifier: MIT */
/* Opens the events of a recorder. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "recorder/descendants/descendants.h"
#include "internal.h"

#define REPLACEMENT "cpu-clock"
#define NR(array)   (sizeof(array) / sizeof((array)[0]))

/* ---- build ids ---- */

/*
 * An event with attr.build_id harms other recordings: from Linux 5.12 on, perf_event_mmap_output()
 * writes one header for all events that record a mapping, and the mark of a build id stays in it
 * for the next event. Its record has a device and an inode, but the mark: readers take these for a
 * build id of an absurd size, and end or lose the name. All recordings of the CPU are next events,
 * and those of the same task after an event of a task. These releases make a header for each event.
 * Others of the same series may, too.
 */
static const struct {
	int major, minor, patch;
	bool later; /* all later releases, too */
} harmless[] = {
	{ 6, 12, 113, false },
	{ 7, 2, 11, false },
	{ 7, 3, 0, true },
};

static bool kernel_marks_others(struct perch_machine *machine)
{
	struct perch_release release;

	if (perch_machine_release(machine, &release, NULL) < 0)
		return true;
	for (size_t i = 0; i < NR(harmless); i++) {
		int series = release.major - harmless[i].major;

		if (!series)
			series = release.minor - harmless[i].minor;
		if (series > 0 ? harmless[i].later : !series && release.patch >= harmless[i].patch)
			return false;
	}
	return true;
}

/* ---- options ---- */

/*
 * On kernels that do not support these, the sampler leaves them out, because no option names them,
 * or because samples have the same contents without them.
 */
static const struct perch_attr optional = {
	.ksymbol = 1,
	.bpf_event = 1,
	.build_id = 1,
	.read_format = PERCH_FORMAT_LOST,
	.branch_sample_type = PERCH_SAMPLE_BRANCH_HW_INDEX,
	/* user call chains are taken at the sample otherwise, as in perf */
	.defer_callchain = 1,
	.defer_output = 1,
};

/* Each thread would read the FORK records of its own rings, and copies of rings lack old ones. */
int perch__recorder_check_descendants(const struct perch_recorder_options *options,
				      struct perch_error *err)
{
	const char *other = options->threads		     ? "threads that read the rings"
			    : options->sampler.overwrite     ? "copies of rings"
			    : options->off_cpu		     ? "off-CPU time"
			    : options->sampler.event_targets ? "lists of targets of events"
			    : options->sampler.event.sideband & PERCH_SIDEBAND_SWITCH
				    ? "context switches, which name other processes"
				    : NULL;

	if (!options->descendants_of || !other)
		return 0;
	return perch_error_set(err, EINVAL, PERCH_ERROR_CONFLICT,
			       "descendants of processes are not recorded with %s", other);
}

/* Adds what recordings always have. */
static void complete_options(struct perch_recorder *recorder, const struct perch_events *events)
{
	struct perch_recorder_options *options = &recorder->options;
	struct perch_options *event = &options->sampler.event;

	event->machine = recorder->machine;
	event->sample |= PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME;
	if (recorder->system_wide)
		event->sample |= PERCH_SAMPLE_CPU;
	event->read |= PERCH_FORMAT_ID | PERCH_FORMAT_LOST;
	event->sideband |= PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_COMM | PERCH_SIDEBAND_TASK |
			   PERCH_SIDEBAND_KSYMBOL;
	event->sample_id_all = 1;
	event->may |= PERCH_MAY_LOSE_TARGETS;
	if (!event->optional)
		event->optional = &optional;
	if (!options->no_bpf)
		event->sideband |= PERCH_SIDEBAND_BPF;
	if (options->map_ids == PERCH_RECORDER_IDS_DEFAULT)
		options->map_ids = kernel_marks_others(recorder->machine)
					   ? PERCH_RECORDER_IDS_OF_RECORDER
					   : PERCH_RECORDER_IDS_OF_KERNEL;
	if (options->map_ids == PERCH_RECORDER_IDS_OF_KERNEL)
		event->sideband |= PERCH_SIDEBAND_BUILD_ID;
	/* the data that copied stacks point to */
	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].terms.call_graph == PERCH_CALL_GRAPH_DWARF)
			event->sideband |= PERCH_SIDEBAND_MMAP_DATA;
	options->sampler.tracking_event |= options->disabled || recorder->system_wide ||
					   recorder->cpus.nr;
}

/* ---- events ---- */

/*
 * If two software events are equal, the kernel makes one sample, with the id of the first event,
 * and writes it for the second event too (seen on Linux 6.18). So samples of both need the same
 * fields; otherwise those of one event could not be decoded.
 */
static void equalize_software_events(struct perch_events *events)
{
	uint64_t fields[PERCH_COUNT_SW_MAX] = { 0 };

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < events->nr; i++) {
			struct perch_attr *attr = &events->event[i].attr;

			if (attr->type != PERCH_TYPE_SOFTWARE || attr->config >= PERCH_COUNT_SW_MAX)
				continue;
			fields[attr->config] |= attr->sample_type;
			attr->sample_type = pass ? fields[attr->config] : attr->sample_type;
		}
}

/* Replaces hardware cycles by the event cpu-clock. Returns false if there are none. */
static bool replace_cycles(struct perch_events *events)
{
	bool any = false;

	for (size_t i = 0; i < events->nr; i++) {
		struct perch_event *event = &events->event[i];
		struct perch_attr *attr = &event->attr;

		if (attr->type != PERCH_TYPE_HARDWARE || attr->config != PERCH_COUNT_HW_CPU_CYCLES)
			continue;
		attr->type = PERCH_TYPE_SOFTWARE;
		attr->config = PERCH_COUNT_SW_CPU_CLOCK;
		attr->precise_ip = 0;
		event->precise_max = false;
		if (!strncmp(event->name, "cycles", 6) || !strncmp(event->name, "cpu-cycles", 10))
			snprintf(event->name, sizeof(event->name), REPLACEMENT "%s",
				 attr->exclude_kernel ? ":u"
				 : attr->exclude_user ? ":k"
						      : "");
		any = true;
	}
	return any;
}

static bool not_on_this_machine(int rc)
{
	return rc == -ENOENT || rc == -ENODEV || rc == -EOPNOTSUPP || rc == -ENXIO;
}

static bool has_core_pmu(struct perch_machine *machine)
{
	const struct perch_pmu *pmus;
	size_t nr;

	if (perch_machine_pmus(machine, &pmus, &nr, NULL))
		return true; /* unknown */
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].core)
			return true;
	return false;
}

/* The kernel has refused the events: true if cycles shall be replaced. */
static bool may_replace(const struct perch_recorder *recorder, int rc,
			const struct perch_error *err)
{
	bool by_default = recorder->options.cycles == PERCH_RECORDER_CYCLES_DEFAULT;

	if (recorder->options.cycles == PERCH_RECORDER_CYCLES_REQUIRED)
		return false;
	/* without a core PMU, cycles fail with every clock */
	if (rc == -EINVAL && err->cause == PERCH_CAUSE_CLOCKID_NMI &&
	    !has_core_pmu(recorder->machine))
		return true;
	/* err->next is the predicted next refusal, which the replacement would get. -EOPNOTSUPP may
	 * be about the precision, which the user can change */
	return by_default ? not_on_this_machine(rc) || err->next[0]
			  : not_on_this_machine(rc) && rc != -EOPNOTSUPP;
}

static int try_open(struct perch_recorder *recorder, struct perch_events *events,
		    const struct perch_targets *targets, struct perch_error *err)
{
	int rc = perch__recorder_check_cost(recorder, events, err);

	if (rc < 0)
		return rc;
	equalize_software_events(events);
	return perch_sampler_open_events(&recorder->sampler, events, targets,
					 &recorder->options.sampler, err);
}

/* True if the kernel was excluded from all events, because this user may not profile it. */
static bool is_user_only(const struct perch_recorder *recorder, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!perch_sampler_user_only(recorder->sampler, i))
			return false;
	return true;
}

int perch__recorder_open_sampler(struct perch_recorder *recorder, struct perch_events *events,
				 const struct perch_targets *targets, struct perch_error *err)
{
	struct perch_error own;
	int rc;

	complete_options(recorder, events);
	rc = try_open(recorder, events, targets, &own);
	if (rc < 0 && may_replace(recorder, rc, &own) && replace_cycles(events)) {
		recorder->replaced_cycles = true;
		rc = try_open(recorder, events, targets, &own);
	}
	if (rc < 0 && err)
		*err = own;
	if (rc < 0)
		return rc;
	recorder->options.no_kernel |= is_user_only(recorder, events->nr);
	return 0;
}

/* FORK records are recorded already: the tracking event is enabled since it was opened. */
int perch__recorder_open_descendants(struct perch_recorder *recorder, struct perch_error *err)
{
	const struct perch_recorder_options *options = &recorder->options;

	if (!recorder->system_wide)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "descendants of processes are recorded on CPUs: the targets "
				       "must be CPUs");
	recorder->descendants = calloc(1, sizeof(*recorder->descendants));
	if (!recorder->descendants)
		return PERCH__NO_MEMORY(err, "to record with");
	recorder->rings.descendants = recorder->descendants;
	if (perch__recorder_descendants_init(recorder->descendants, recorder->events,
					     recorder->nr_own_events, &recorder->scan) < 0)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the samples of the events have the process at different "
				       "places");
	if (options->child && options->nr_descendants_of == 1 &&
	    options->descendants_of[0] == options->child)
		return perch__recorder_descendants_begin_child(recorder->descendants,
							       options->child, err);
	return perch__recorder_descendants_begin(recorder->descendants, options->descendants_of,
						 options->nr_descendants_of, recorder->machine,
						 err);
}
