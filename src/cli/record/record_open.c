/* SPDX-License-Identifier: MIT */
/* Opens the events of `perch record`. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "event_options.h"
#include "record.h"

/* The effects of flags on samples, counts and records. */
static const struct {
	uint64_t sample, read;
	uint32_t sideband;
} contents[RECORD_NR_CONTENT_FLAGS] = {
	[RECORD_DATA] = { PERCH_SAMPLE_ADDR | PERCH_SAMPLE_DATA_SRC, 0, PERCH_SIDEBAND_MMAP_DATA },
	[RECORD_PHYS_DATA] = { PERCH_SAMPLE_PHYS_ADDR, 0, 0 },
	[RECORD_DATA_PAGE_SIZE] = { PERCH_SAMPLE_DATA_PAGE_SIZE, 0, 0 },
	[RECORD_CODE_PAGE_SIZE] = { PERCH_SAMPLE_CODE_PAGE_SIZE, 0, 0 },
	[RECORD_WEIGHT] = { PERCH_SAMPLE_WEIGHT_STRUCT, 0, 0 },
	[RECORD_TRANSACTION] = { PERCH_SAMPLE_TRANSACTION, 0, 0 },
	[RECORD_RAW] = { PERCH_SAMPLE_RAW | PERCH_SAMPLE_CPU, 0, 0 },
	[RECORD_CPU] = { PERCH_SAMPLE_CPU, 0, 0 },
	[RECORD_IDENTIFIER] = { PERCH_SAMPLE_IDENTIFIER, 0, 0 },
	[RECORD_STAT] = { 0, PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING, 0 },
	[RECORD_RUNNING_TIME] = { 0,
				  PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING,
				  0 },
	[RECORD_NAMESPACES] = { 0, 0, PERCH_SIDEBAND_NAMESPACES },
	[RECORD_CGROUPS] = { PERCH_SAMPLE_CGROUP, 0, PERCH_SIDEBAND_CGROUP },
	[RECORD_SWITCHES] = { 0, 0, PERCH_SIDEBAND_SWITCH },
	[RECORD_DATA_MAPPINGS] = { 0, 0, PERCH_SIDEBAND_MMAP_DATA },
	[RECORD_PERIOD] = { PERCH_SAMPLE_PERIOD, 0, 0 },
};

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
	/* --call-graph fp,defer: otherwise user call chains are taken at the sample, as in perf */
	.defer_callchain = 1,
	.defer_output = 1,
};

static void add_flags(struct perch_options *event, const struct record_plan *plan,
		      const struct record_options *options)
{
	for (int i = 0; i < RECORD_NR_CONTENT_FLAGS; i++) {
		if (!options->flag[i])
			continue;
		event->sample |= contents[i].sample;
		event->read |= contents[i].read;
		event->sideband |= contents[i].sideband;
	}
	if (options->call_graph == PERCH_CALL_GRAPH_DWARF)
		event->sample |= contents[RECORD_DATA].sample;
	for (size_t i = 0; i < plan->events.nr; i++)
		if (plan->events.event[i].terms.call_graph == PERCH_CALL_GRAPH_DWARF)
			event->sideband |= contents[RECORD_DATA].sideband;
	if (!options->flag[RECORD_NO_BPF])
		event->sideband |= PERCH_SIDEBAND_BPF;
	if (plan->map_ids == RECORD_IDS_OF_KERNEL)
		event->sideband |= PERCH_SIDEBAND_BUILD_ID;
	if (plan->system_wide)
		event->sample |= PERCH_SAMPLE_CPU;
}

static void add_branches_and_registers(struct perch_options *event,
				       const struct record_options *options)
{
	if (options->branches) {
		event->sample |= PERCH_SAMPLE_BRANCH_STACK;
		event->branch_sample_type = options->branches;
	}
	if (options->regs_user) {
		event->sample |= PERCH_SAMPLE_REGS_USER;
		event->sample_regs_user = options->regs_user;
	}
	if (options->regs_intr) {
		event->sample |= PERCH_SAMPLE_REGS_INTR;
		event->sample_regs_intr = options->regs_intr;
	}
}

static struct perch_options event_options(const struct record_plan *plan,
					  const struct record_options *options)
{
	bool inherit = !options->no_inherit;
	struct perch_options event = {
		.period = options->period,
		.frequency = options->period ? 0 : plan->frequency,
		.sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME,
		.read = PERCH_FORMAT_ID | PERCH_FORMAT_LOST,
		.sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_COMM | PERCH_SIDEBAND_TASK |
			    PERCH_SIDEBAND_KSYMBOL,
		.inherit = inherit,
		.inherit_stat = inherit && options->flag[RECORD_STAT],
		.enable_on_exec = plan->program_only && !options->delayed,
		.sample_id_all = 1,
		.exclude_kernel = options->flag[RECORD_ALL_USER],
		.exclude_user = options->flag[RECORD_ALL_KERNEL],
		.exclude_callchain_kernel = options->flag[RECORD_USER_CALLCHAINS],
		.exclude_callchain_user = options->flag[RECORD_KERNEL_CALLCHAINS],
		.defer_callchain = options->defer_chains,
		.defer_output = options->defer_chains,
		.use_clockid = options->use_clock,
		.clockid = options->use_clock ? options->clock : 0,
		.optional = &optional,
		/* the events exclude the kernel then, but kernels differ about call chains */
		.may = PERCH_MAY_LOSE_TARGETS |
		       (plan->kernel_forbidden ? PERCH_MAY_EXCLUDE_KERNEL : 0),
		.machine = options->machine,
	};

	add_flags(&event, plan, options);
	add_branches_and_registers(&event, options);
	return event;
}

/* The program (pid), the threads of -p and -t, or CPUs. */
static int make_targets(struct perch_targets *targets, const struct record_plan *plan,
			const struct record_options *options, pid_t pid, struct perch_error *err)
{
	const struct perch_cpus *cpus = plan->cpus.nr ? &plan->cpus : NULL;
	struct perch_target target = { .tid = pid, .cpu = -1 };
	int rc = 0;

	if (plan->system_wide)
		return perch_targets_add_cpus(targets, cpus, options->machine, err);
	if (!plan->threads)
		rc = perch_targets_add(targets, &target, err);
	for (size_t i = 0; rc >= 0 && i < plan->nr_threads; i++) {
		target.tid = plan->threads[i];
		rc = perch_targets_add(targets, &target, err);
	}
	return rc < 0 || !cpus ? rc : perch_targets_split(targets, cpus, options->machine, err);
}

/* pid: that of the program. */
static int try_open(struct perch_sampler **sampler, struct record_plan *plan,
		    const struct record_options *options, pid_t pid, struct perch_error *err)
{
	struct perch_sampler_options sampler_options = {
		.event = event_options(plan, options),
		.ring_pages = options->ring_pages,
		.overwrite = options->overwrite,
		.per_thread = options->per_thread,
		.event_targets = plan->event_targets,
		.tracking_event = options->delayed || plan->system_wide || plan->cpus.nr,
	};
	struct perch_targets targets = { 0 };
	int rc = make_targets(&targets, plan, options, pid, err);

	plan->data_mappings = sampler_options.event.sideband & PERCH_SIDEBAND_MMAP_DATA;
	if (rc >= 0)
		rc = perch_sampler_open_events(sampler, &plan->events, &targets, &sampler_options,
					       err);
	perch_targets_clear(&targets);
	return rc;
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

static void print_events(const struct perch_sampler *sampler)
{
	const struct perch_attr *attr;
	const uint64_t *ids;
	const char *name;
	char features[256];
	size_t nr;

	for (size_t i = 0; (attr = perch_sampler_event(sampler, i, &name, &ids, &nr)); i++) {
		const struct perch_attr *missing = perch_sampler_missing_features(sampler, i);

		cli_note(RECORD_COMMAND,
			 "event %s: type %u, config %#llx, %s %llu, sample_type %#llx, "
			 "flags %#llx, precise_ip %u, %zu descriptors",
			 name, attr->type, (unsigned long long)attr->config,
			 attr->freq ? "frequency" : "period",
			 (unsigned long long)attr->sample_period,
			 (unsigned long long)attr->sample_type, (unsigned long long)attr->flags,
			 (unsigned)attr->precise_ip, nr);
		if (missing)
			cli_note(RECORD_COMMAND,
				 "event %s: opened without %s, which this kernel does not support",
				 name,
				 perch_format_attr_features(missing, features, sizeof(features)));
	}
	cli_note(RECORD_COMMAND, "%zu rings", perch_sampler_rings(sampler));
}

/* Prints that --call-graph fp,defer has no effect on this kernel. */
static void print_missing_deferral(const struct perch_sampler *sampler,
				   const struct record_plan *plan,
				   const struct record_options *options)
{
	struct perch_release release = { .text = "unknown" };
	const struct perch_attr *missing;
	bool any = false;

	for (size_t i = 0; options->defer_chains && i < plan->events.nr; i++) {
		missing = perch_sampler_missing_features(sampler, i);
		any |= missing && missing->defer_callchain;
	}
	if (!any)
		return;
	perch_machine_release(options->machine, &release, NULL);
	cli_note(RECORD_COMMAND,
		 "--call-graph fp,defer needs Linux 6.19 (currently %s): user call chains are "
		 "taken at each sample, as with -g",
		 release.text);
}

static void print_ignored(const struct perch_sampler *sampler, const struct perch_events *events,
			  struct perch_machine *machine)
{
	const struct perch_attr *attr;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	for (size_t i = 0; (attr = perch_sampler_event(sampler, i, &name, &ids, &nr)); i++)
		cli_note_ignored(RECORD_COMMAND, name, attr, machine);
	for (size_t i = 0; i < events->nr; i++)
		cli_note_filter(RECORD_COMMAND, &events->event[i], machine);
}

/* Prints weak groups that the kernel refused as groups. */
static void print_broken_groups(const struct perch_sampler *sampler,
				const struct perch_events *events)
{
	for (size_t i = 0; i < events->nr; i++) {
		const struct perch_event *event = &events->event[i];

		if (event->leader != (int)i && perch_sampler_leader(sampler, i) == i)
			cli_note(RECORD_COMMAND,
				 "'%s' is not grouped: its weak group does not fit the PMU",
				 event->name);
	}
}

/* Prints groups with the modifier S that this kernel does not inherit. */
static void print_uninherited_groups(const struct perch_sampler *sampler,
				     const struct record_plan *plan,
				     const struct record_options *options)
{
	struct perch_release release = { .text = "unknown" };
	const struct perch_attr *attr;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	if (options->no_inherit || plan->system_wide)
		return;
	for (size_t i = 0; i < plan->events.nr; i++) {
		const struct perch_event *event = &plan->events.event[i];

		attr = perch_sampler_event(sampler, i, &name, &ids, &nr);
		if (!event->leader_sampling || event->leader != (int)i || !attr || attr->inherit ||
		    event->terms.inherit == PERCH_TRISTATE_NO)
			continue;
		perch_machine_release(options->machine, &release, NULL);
		cli_note(
			RECORD_COMMAND,
			"%s (S) does not record new threads and child processes: the kernel inherits "
			"such groups since Linux 6.13 (currently %s), groups without S always",
			name, release.text);
	}
}

/* The user has not written the default event, so the message does not name it. */
static int default_open_error(const struct record_plan *plan, struct perch_error *err)
{
	const char *name = plan->events.event[0].name;
	size_t length = strlen(name);
	char message[sizeof(err->message)];

	if (!strncmp(err->message, name, length) && !strncmp(err->message + length, ": ", 2)) {
		snprintf(message, sizeof(message), "%s", err->message + length + 2);
		memcpy(err->message, message, sizeof(message));
	}
	return cli_open_error(RECORD_COMMAND, err);
}

void record_raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int record_open_sampler(struct perch_sampler **sampler, struct record_plan *plan,
			const struct record_options *options, pid_t program)
{
	bool by_default = !plan->events.nr;
	struct perch_error err;
	int rc;

	if (by_default && record_plan_default_event(plan, options))
		return CLI_EXIT_FAILURE;
	rc = try_open(sampler, plan, options, program, &err);
	/* without a core PMU, cycles fail with every clock */
	if (rc == -EINVAL && err.cause == PERCH_CAUSE_CLOCKID_NMI &&
	    !has_core_pmu(options->machine))
		rc = -ENOENT;
	/* -EOPNOTSUPP may be about the precision, which the user can change */
	if (not_on_this_machine(rc) && (by_default || rc != -EOPNOTSUPP) &&
	    record_plan_replace_cycles(plan)) {
		plan->default_replaced = true;
		rc = try_open(sampler, plan, options, program, &err);
	}
	/* err.next is the predicted next refusal, which the replacement would get */
	if (rc < 0 && by_default && !plan->default_replaced && err.next[0] &&
	    record_plan_replace_cycles(plan))
		rc = try_open(sampler, plan, options, program, &err);
	if (rc < 0)
		return by_default ? default_open_error(plan, &err)
				  : cli_open_error(RECORD_COMMAND, &err);
	if (options->verbose)
		print_events(*sampler);
	if (!options->quiet) {
		print_missing_deferral(*sampler, plan, options);
		print_broken_groups(*sampler, &plan->events);
		print_uninherited_groups(*sampler, plan, options);
		print_ignored(*sampler, &plan->events, options->machine);
	}
	return 0;
}
